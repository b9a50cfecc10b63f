//! Who hears of a search.

use std::fmt;
use std::ops::ControlFlow;

use crate::chess::History;
use crate::note::Note;
use crate::search::{EndReason, Outcome, SearchInfo};
use crate::time::{Millis, MoveReport, SearchStats};

/// Receives a search's reports, on its thread. `root` is the game up to the root.
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
    /// How a clock's time is planned, after each report, and was used, before the answer.
    fn time_report(&mut self, _report: &TimeReport) {}
    /// Whether the search waited for its device or for its tree, for people.
    fn device_report(&mut self, _text: &str) {}
    /// Nothing to search: mate or stalemate at the root.
    fn game_is_over(&mut self, _is_mate: bool) {}
    /// Called exactly once, last. `None` if there was no search.
    fn answer(&mut self, root: &History, outcome: Option<Outcome>);
}

impl dyn Listener + '_ {
    /// Passes on notes in their order.
    pub(crate) fn hear(&mut self, notes: impl IntoIterator<Item = Note>) {
        notes.into_iter().for_each(|note| self.note(note));
    }
}

/// How the time of a move with a clock is planned and used.
#[derive(Clone, Debug)]
pub struct TimeReport {
    /// The manager's plan, which may change while the search runs.
    pub plan: MoveReport,
    /// Of the clock, under `nodestime` by the new nodes.
    pub used: Millis,
    /// The search so far.
    pub stats: SearchStats,
    /// The lead with which no move can overtake the most visited one. `None` if nothing limits the search
    /// yet.
    pub decisive_lead: Option<u32>,
    /// `None` while it runs.
    pub end: Option<EndReason>,
}

/// In one line as `key=value …`.
impl fmt::Display for TimeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SearchStats { nodes, new_nodes, .. } = self.stats;
        write!(f, "{} used_ms={:.1}", self.plan, self.used.0)?;
        write!(f, " new_nodes={new_nodes} nodes={nodes}")?;
        self.end.iter().try_for_each(|end| write!(f, " end={end}"))
    }
}
