//! Who hears of a search.

use std::ops::ControlFlow;

use crate::chess::History;
use crate::note::Note;
use crate::search::{Outcome, SearchInfo};

/// Receives a search's reports, on the search's own thread. `root` is the game up to the root.
pub trait Listener: Send {
    /// A report of the running search, or its last one. `Break` ends the search as `stop` does.
    fn info(&mut self, _root: &History, _info: &SearchInfo) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// A message for people.
    fn note(&mut self, _note: Note) {}
    /// Whether it can take an answer. A pool begins no search for one that cannot.
    fn has_room(&self) -> bool {
        true
    }
    /// How the search's time was budgeted and used.
    fn time_report(&mut self, _text: &str) {}
    /// Nothing to search: mate or stalemate at the root.
    fn game_is_over(&mut self, _is_mate: bool) {}
    /// Called exactly once, last. `None` if there was no search.
    fn answer(&mut self, root: &History, outcome: Option<Outcome>);
}
