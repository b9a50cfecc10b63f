//! Syzygy endgame tables: exact results of positions with few pieces, and moves that keep them.
//!
//! The search probes leaves ([`Tablebase::probe`]), the engine asks for root moves
//! ([`Tablebase::root_moves`]): by distances to the next capture or pawn move (DTZ) exactly under the
//! fifty-move rule, else by results alone.
//!
//! The crate `shakmaty-syzygy` reads the files.

#[cfg(not(feature = "tablebases"))]
mod absent;
#[cfg(feature = "tablebases")]
mod syzygy;

use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

#[cfg(not(feature = "tablebases"))]
pub use absent::Tablebase;
#[cfg(feature = "tablebases")]
pub use syzygy::Tablebase;

use crate::chess::{History, Move};
use crate::note::Note;
use crate::options::option_group;

const WDL_EXTENSION: &str = "rtbw";

/// Why no tables are in use. The texts follow the option's name.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum TablebaseError {
    #[error("there is no folder {}", .0.display())]
    Missing(PathBuf),
    #[error("cannot read the folder {}: {reason}. Name folders that hold .{WDL_EXTENSION} files", path.display())]
    Folder { path: PathBuf, reason: String },
    #[error("no .{WDL_EXTENSION} file in {0}. Name folders that hold Syzygy tables")]
    Empty(String),
    #[cfg(not(feature = "tablebases"))]
    #[error("this program was built without the feature tablebases")]
    NotBuilt,
    #[error("no table can be used: {}", .0.join("; "))]
    Unusable(Vec<String>),
}

/// With best play under the fifty-move rule, for the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeResult {
    Win,
    /// Includes wins and losses that the fifty-move rule prevents.
    Draw,
    Loss,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootPace {
    /// Any winning move. The search chooses among them.
    Free,
    Fastest,
}

/// The tables that root moves were chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootTables {
    Dtz,
    /// Results only: a win is kept, but not brought nearer.
    Wdl,
}

/// Root moves that keep the best result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootMoves {
    pub moves: Vec<Move>,
    pub tables: RootTables,
}

option_group! {
    /// The options that name the endgame tables, and choose how they select the root moves.
    pub struct TablebaseOptions {
        /// Folders with Syzygy tables (.rtbw, .rtbz), separated by a colon, or on Windows by a semicolon.
        syzygy_path: String = String::new(), "SyzygyPath", "syzygy-paths", common;
        /// Search only the root moves that lead soonest to the next capture, pawn move or mate. Otherwise all
        /// moves that keep the win are searched. It needs DTZ tables.
        syzygy_fast_play: bool = false, "SyzygyFastPlay", "syzygy-fast-play";
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct TablesInForce {
    folders: String,
    tablebase: Option<Arc<Tablebase>>,
    read_error_reported: bool,
}

pub(crate) struct FilteredRootMoves {
    pub(crate) root_moves: Vec<Move>,
    /// `None` if the tables don't know, or only some moves were wanted.
    pub(crate) choices: Option<usize>,
    pub(crate) below: Option<Arc<Tablebase>>,
    pub(crate) hits: u64,
}

impl TablesInForce {
    pub(crate) fn open_if_changed(&mut self, options: &TablebaseOptions) -> Option<Note> {
        if options.syzygy_path == self.folders {
            return self.take_read_error();
        }
        *self = TablesInForce {
            folders: options.syzygy_path.clone(),
            ..TablesInForce::default()
        };
        if self.folders.is_empty() {
            return None;
        }
        Some(match Tablebase::open(&self.folders) {
            Ok(tablebase) => self.tablebase.insert(Arc::new(tablebase)).description().into(),
            // GUIs name a folder for tables whether there are any or not.
            Err(error @ TablebaseError::Missing(_)) => {
                format!("SyzygyPath: {error}, so there are no tables").into()
            }
            Err(error) => Note::Error(format!(
                "SyzygyPath: {error}. The search continues without tables"
            )),
        })
    }

    pub(crate) fn forget_failure(&mut self) {
        if self.tablebase.is_none() {
            self.folders.clear();
        }
    }

    fn take_read_error(&mut self) -> Option<Note> {
        let error = self.tablebase.as_ref()?.read_error()?;
        let is_news = !std::mem::replace(&mut self.read_error_reported, true);
        let note = || {
            Note::Error(format!(
                "SyzygyPath: {error}. Positions of this table are searched instead"
            ))
        };
        is_news.then(note)
    }

    pub(crate) fn filter_root_moves(
        &self,
        game: &History,
        wanted: Vec<Move>,
        options: &TablebaseOptions,
    ) -> FilteredRootMoves {
        let untouched = |root_moves| FilteredRootMoves {
            root_moves,
            choices: None,
            below: self.tablebase.clone(),
            hits: 0,
        };
        let Some(tablebase) = &self.tablebase else {
            return untouched(wanted);
        };
        let pace = if options.syzygy_fast_play {
            RootPace::Fastest
        } else {
            RootPace::Free
        };
        let candidates = if wanted.is_empty() {
            game.legal_moves().to_vec()
        } else {
            wanted.clone()
        };
        let Some(found) = tablebase.root_moves(game, &candidates, pace) else {
            return untouched(wanted);
        };
        FilteredRootMoves {
            choices: wanted.is_empty().then_some(found.moves.len()),
            root_moves: found.moves,
            // With distances every leaf in the tables would be the same win, and the search blind.
            below: self.tablebase.clone().filter(|_| found.tables == RootTables::Wdl),
            hits: candidates.len() as u64,
        }
    }
}
