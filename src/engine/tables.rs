//! The endgame tables in force, and what they make of a search order.

use std::sync::Arc;

use crate::chess::{History, Move};
use crate::options::Settings;
use crate::tablebase::{Pace, RootTables, Tablebase};

/// The tables that the options name, opened once.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// What was opened, or could not be.
    folders: String,
    tablebase: Option<Arc<Tablebase>>,
    /// The fault of a file has been told.
    fault_told: bool,
}

/// A search order after the tables have been asked.
#[derive(Debug)]
pub(super) struct Narrowed {
    /// Root moves to search; empty means all.
    pub(super) root_moves: Vec<Move>,
    /// How many root moves keep the best result; `None` where the tables don't know.
    pub(super) sound_moves: Option<usize>,
    /// Tables to probe below the root.
    pub(super) below: Option<Arc<Tablebase>>,
    /// Positions found in the tables.
    pub(super) hits: u64,
}

impl Tables {
    /// Opens what `settings` name, unless that is what was opened last. Returns what people should know, if that is
    /// anything new.
    pub(super) fn open_if_changed(&mut self, settings: &Settings) -> Option<String> {
        if settings.syzygy_path == self.folders {
            return self.take_fault();
        }
        *self = Tables { folders: settings.syzygy_path.clone(), ..Tables::default() };
        if self.folders.is_empty() {
            return None;
        }
        match Tablebase::open(&self.folders) {
            Ok(tablebase) => Some(self.tablebase.insert(Arc::new(tablebase)).description()),
            Err(error) => Some(format!("error: SyzygyPath: {error}; the search goes without tables")),
        }
    }

    fn take_fault(&mut self) -> Option<String> {
        let fault = self.tablebase.as_ref()?.fault()?;
        let is_news = !std::mem::replace(&mut self.fault_told, true);
        is_news.then(|| format!("error: SyzygyPath: {fault}; positions in this table are searched instead"))
    }

    /// Keeps those of `wanted` (empty means all) that keep the best result, if the last position of `game` is in the
    /// tables.
    pub(super) fn narrow(&self, game: &History, wanted: Vec<Move>, settings: &Settings) -> Narrowed {
        let untouched =
            |root_moves| Narrowed { root_moves, sound_moves: None, below: self.tablebase.clone(), hits: 0 };
        let Some(tablebase) = &self.tablebase else { return untouched(wanted) };
        let pace = if settings.syzygy_fast_play { Pace::Fastest } else { Pace::Free };
        let candidates = if wanted.is_empty() { game.legal_moves().to_vec() } else { wanted.clone() };
        let Some(found) = tablebase.root_moves(game, &candidates, pace) else { return untouched(wanted) };
        Narrowed {
            sound_moves: Some(found.moves.len()),
            root_moves: found.moves,
            // Where distances show the way every leaf in the tables would be the same win, and the search blind.
            below: self.tablebase.clone().filter(|_| found.tables == RootTables::Wdl),
            hits: found.hits,
        }
    }
}
