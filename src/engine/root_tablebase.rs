//! The endgame tables in force, and the root moves that they leave to a search.

use std::sync::Arc;

use crate::chess::{History, Move};
use crate::options::option_group;
use crate::tablebase::{RootPace, RootTables, Tablebase};

option_group! {
    /// The options that name the endgame tables, and choose how they select the root moves.
    pub struct TablebaseOptions {
        /// Folders with Syzygy tables (.rtbw, .rtbz), separated by the platform's separator (: or, on Windows, ;).
        syzygy_path: String = String::new(), "SyzygyPath", "syzygy-paths", common;
        /// Search only the root moves that lead to the next capture, pawn move or mate soonest, not all that keep the win; needs DTZ tables.
        syzygy_fast_play: bool = false, "SyzygyFastPlay", "syzygy-fast-play";
    }
}

/// The tables that the options name, opened once.
#[derive(Clone, Debug, Default)]
pub(super) struct RootTablebase {
    /// The folders that were opened, or could not be.
    folders: String,
    tablebase: Option<Arc<Tablebase>>,
    /// True when the failure of a file has been reported.
    read_error_reported: bool,
}

/// The root moves of a search, and what else the tables say of the root.
#[derive(Debug)]
pub(super) struct FilteredRootMoves {
    /// Root moves to search; empty means all.
    pub(super) root_moves: Vec<Move>,
    /// The number of root moves that keep the best result; `None` where the tables don't know.
    pub(super) sound_moves: Option<usize>,
    /// Tables to probe below the root.
    pub(super) below: Option<Arc<Tablebase>>,
    /// Positions found in the tables.
    pub(super) hits: u64,
}

impl RootTablebase {
    /// Opens what `options` name, unless that is what was opened last. Returns what people should know, if that is
    /// anything new.
    pub(super) fn open_if_changed(&mut self, options: &TablebaseOptions) -> Option<String> {
        if options.syzygy_path == self.folders {
            return self.take_read_error();
        }
        *self = RootTablebase { folders: options.syzygy_path.clone(), ..RootTablebase::default() };
        if self.folders.is_empty() {
            return None;
        }
        match Tablebase::open(&self.folders) {
            Ok(tablebase) => Some(self.tablebase.insert(Arc::new(tablebase)).description()),
            Err(error) => Some(format!("ERROR: SyzygyPath: {error}; the search goes without tables")),
        }
    }

    /// Lets tables that could not be opened be tried again.
    pub(super) fn forget_failure(&mut self) {
        if self.tablebase.is_none() {
            self.folders.clear();
        }
    }

    /// Returns the message about a file that could not be read, once.
    fn take_read_error(&mut self) -> Option<String> {
        let error = self.tablebase.as_ref()?.read_error()?;
        let is_news = !std::mem::replace(&mut self.read_error_reported, true);
        is_news.then(|| format!("ERROR: SyzygyPath: {error}; positions in this table are searched instead"))
    }

    /// Keeps those of `wanted` (empty means all) that keep the best result, if the last position of `game` is in the
    /// tables.
    pub(super) fn filter_root_moves(
        &self,
        game: &History,
        wanted: Vec<Move>,
        options: &TablebaseOptions,
    ) -> FilteredRootMoves {
        let untouched = |root_moves| FilteredRootMoves {
            root_moves,
            sound_moves: None,
            below: self.tablebase.clone(),
            hits: 0,
        };
        let Some(tablebase) = &self.tablebase else { return untouched(wanted) };
        let pace = if options.syzygy_fast_play { RootPace::Fastest } else { RootPace::Free };
        let candidates = if wanted.is_empty() { game.legal_moves().to_vec() } else { wanted.clone() };
        let Some(found) = tablebase.root_moves(game, &candidates, pace) else { return untouched(wanted) };
        FilteredRootMoves {
            sound_moves: Some(found.moves.len()),
            root_moves: found.moves,
            // Where distances show the way every leaf in the tables would be the same win, and the search blind.
            below: self.tablebase.clone().filter(|_| found.tables == RootTables::Wdl),
            hits: found.hits,
        }
    }
}
