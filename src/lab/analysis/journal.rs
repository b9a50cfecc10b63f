//! The journal of a run: a row of each game that is done. A run that was stopped goes on behind the last one.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::analyst::SearchEffort;
use super::page::{ViewedGame, viewed_game};
use super::pgn::write_pgn;
use super::{AnalysedGame, AnalysisSummary};
use crate::lab::pgn::RecordedGame;
use crate::lab::rows::{JsonLines, RowError, make_folder};

/// The journal in the folder of a run. It is there as long as the run is unfinished.
const JOURNAL: &str = "unfinished.jsonl";
/// The name of the file with the games in the folder of a run.
pub(crate) const GAMES: &str = "games.pgn";

/// What is kept of an analysed game.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AnalysisRow {
    /// The run that it belongs to: a hash over all that the analysis depends on.
    run: String,
    /// A hash over the game as it was read.
    game: String,
    /// The game with comments.
    pub(crate) pgn: String,
    pub(crate) summary: AnalysisSummary,
    /// What the page shows.
    pub(super) viewed: ViewedGame,
    /// That of the game's searches.
    pub(crate) effort: SearchEffort,
}

impl AnalysisRow {
    /// Returns the row of a game of the run `run`. `engine` describes what analysed it.
    pub(crate) fn new(run: &str, game: &AnalysedGame, engine: &str) -> AnalysisRow {
        let mut pgn = Vec::new();
        // Writing into memory cannot fail.
        let _ = write_pgn(&mut pgn, game, engine);
        AnalysisRow {
            run: run.to_owned(),
            game: fingerprint(&game.recorded),
            pgn: String::from_utf8_lossy(&pgn).into_owned(),
            summary: AnalysisSummary::of(game),
            viewed: viewed_game(game),
            effort: SearchEffort {
                new_nodes: game.positions.iter().map(|found| found.new_nodes).sum(),
                time_ms: game.positions.iter().map(|found| found.time_ms).sum(),
            },
        }
    }
}

/// The reason why a run cannot go on or be written down.
#[derive(Debug, Error)]
pub(crate) enum AnalysisError {
    #[error(transparent)]
    Rows(#[from] RowError),
    /// The folder holds another run.
    #[error(
        "{}: holds an unfinished analysis of other games or with other options; choose another --out, or the same games and options",
        path.display()
    )]
    OtherRun { path: PathBuf },
}

/// The files of a run: its journal, and the games with comments.
#[derive(Debug)]
pub(crate) struct AnalysisJournal {
    folder: PathBuf,
    file: JsonLines,
    pgn: File,
    /// Rows of an earlier part of the run whose games have not been met yet.
    known: VecDeque<AnalysisRow>,
}

impl AnalysisJournal {
    /// Opens or makes the files of the run `run` in `folder`.
    pub(crate) fn open(folder: &Path, run: &str) -> Result<AnalysisJournal, AnalysisError> {
        make_folder(folder)?;
        let mut known = VecDeque::new();
        let path = folder.join(JOURNAL);
        let file = JsonLines::resume(&path, |row: AnalysisRow| {
            if row.run != run {
                return Err(AnalysisError::OtherRun { path: path.clone() });
            }
            known.push_back(row);
            Ok(())
        })?;
        let pgn_path = folder.join(GAMES);
        let pgn = File::create(&pgn_path).and_then(|mut pgn| {
            known.iter().try_for_each(|row| pgn.write_all(row.pgn.as_bytes()))?;
            Ok(pgn)
        });
        let pgn = pgn.map_err(RowError::io(&pgn_path))?;
        Ok(AnalysisJournal { folder: folder.to_owned(), file, pgn, known })
    }

    /// Says whether a folder has the journal of an unfinished run.
    pub(crate) fn is_in(folder: &Path) -> bool {
        folder.join(JOURNAL).exists()
    }

    /// Returns the row of the game that the run meets next, if it was analysed before.
    pub(crate) fn known(&mut self, game: &RecordedGame) -> Result<Option<AnalysisRow>, AnalysisError> {
        match self.known.pop_front() {
            Some(row) if row.game != fingerprint(game) => Err(self.other_run()),
            row => Ok(row),
        }
    }

    /// Adds a game, which then survives the end of the program.
    pub(crate) fn add(&mut self, row: &AnalysisRow) -> Result<(), RowError> {
        self.file.add(row)?;
        self.pgn.write_all(row.pgn.as_bytes()).map_err(RowError::io(&self.folder.join(GAMES)))
    }

    /// Takes the journal away: the run is whole and written down.
    pub(crate) fn finish(self) -> Result<(), AnalysisError> {
        if !self.known.is_empty() {
            return Err(self.other_run());
        }
        let path = self.folder.join(JOURNAL);
        Ok(fs::remove_file(&path).map_err(RowError::io(&path))?)
    }

    fn other_run(&self) -> AnalysisError {
        AnalysisError::OtherRun { path: self.folder.join(JOURNAL) }
    }
}

/// Returns a hash over what was read of a game.
fn fingerprint(game: &RecordedGame) -> String {
    let RecordedGame { tags, start, variant, moves, .. } = game;
    let hash = Sha256::digest(format!("{tags:?} {} {variant:?} {moves:?}", start.to_fen()));
    hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}
