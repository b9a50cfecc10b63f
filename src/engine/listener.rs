//! The input and output of a search: the request, the listener that hears of it, the answer.

use std::time::Instant;

use crate::chess::{History, Move};
use crate::search::{SearchInfo, SearchResult};
use crate::time::GoLimits;

/// A command to search the present position.
#[derive(Clone, Debug)]
pub struct GoRequest {
    /// The limits of the search.
    pub limits: GoLimits,
    /// Root moves to search; empty means all.
    pub root_moves: Vec<Move>,
    /// The time at which the command was received; the clock runs since then.
    pub received: Instant,
}

impl GoRequest {
    /// Returns the command, given now, to search all moves.
    pub fn new(limits: GoLimits) -> GoRequest {
        GoRequest { limits, root_moves: Vec::new(), received: Instant::now() }
    }
}

/// The engine's answer to a command to search: UCI's `bestmove`, and the search's result.
#[derive(Clone, Debug, Default)]
pub struct SearchAnswer {
    /// The move to play; `None` only where there is no legal move, or the search failed before it had evaluated
    /// anything. No move is made up then: the `failure` of `result` says what was wrong.
    pub best: Option<Move>,
    /// The reply that is expected.
    pub ponder: Option<Move>,
    /// The result of the search; `None` if there was none.
    pub result: Option<SearchResult>,
}

/// Receives what a search reports. Called from the search's own thread; `root` is the game up to the root.
pub trait Listener: Send {
    /// Receives news of the search.
    fn info(&mut self, root: &History, info: &SearchInfo);
    /// Receives a message for people: a failure, a choice that was made.
    fn note(&mut self, text: &str);
    /// Receives a line on how the search's time was budgeted and used.
    fn time_report(&mut self, _text: &str) {}
    /// Hears that there is nothing to search: the game is over at the root, by mate or by stalemate.
    fn game_is_over(&mut self, _is_mate: bool) {}
    /// Receives the answer of the search that is over. Called exactly once, last.
    fn answer(&mut self, root: &History, answer: SearchAnswer);
}
