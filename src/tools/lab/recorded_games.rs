//! Reads recorded games from the files of the command line, for the commands that measure on them.

use std::path::PathBuf;

use crate::lab::pgn::{GameError, Games, RecordedGame};
use crate::tools::output::eprint_message;

/// The games of all files, numbered from 1 across them. Broken ones count, and are named on stderr.
pub(super) struct RecordedGames {
    files: std::vec::IntoIter<PathBuf>,
    open: Option<(PathBuf, Games<'static>)>,
    /// Games read, broken ones included.
    pub(super) read: u64,
    pub(super) broken: u64,
}

impl RecordedGames {
    pub(super) fn new(files: &[PathBuf]) -> RecordedGames {
        RecordedGames { files: files.to_vec().into_iter(), open: None, read: 0, broken: 0 }
    }
}

impl Iterator for RecordedGames {
    type Item = Result<RecordedGame, GameError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.open.is_none() {
                let path = self.files.next()?;
                match Games::open(&path) {
                    Ok(games) => self.open = Some((path, games)),
                    Err(error) => return Some(Err(error)),
                }
            }
            let (path, games) = self.open.as_mut()?;
            let Some(game) = games.next() else {
                self.open = None;
                continue;
            };
            self.read += 1;
            match game {
                Ok(game) => return Some(Ok(RecordedGame { number: self.read, ..game })),
                Err(broken @ GameError::Broken { .. }) => {
                    self.broken += 1;
                    eprint_message(format_args!("{}: {broken}", path.display()));
                }
                Err(fatal) => return Some(Err(fatal)),
            }
        }
    }
}
