//! What is kept of a move in a match, whoever made it.

use crate::score::MoveScore;
use zeitnot_engine::chess::Move;

#[derive(Clone, Debug)]
pub(crate) struct MoveRecord {
    pub(crate) mv: Move,
    /// The mover's clock after it, ms, or `None` where only nodes count.
    pub(crate) clock_ms: Option<f64>,
    /// Time that the move cost the clock, ms: real time, or nodes under `nodestime`.
    pub(crate) used_ms: f64,
    /// Visits of the root at the end, those of earlier searches included.
    pub(crate) nodes: u64,
    pub(crate) new_nodes: u64,
    /// The search's score, or `None` if it saw nothing below the root.
    pub(crate) score: Option<MoveScore>,
    /// Plies to the end of the game, as the search saw it, if the network knows.
    pub(crate) moves_left: Option<f32>,
    /// The manager's budget, ms, if a clock was watched.
    pub(crate) budget_ms: Option<f64>,
    /// Full moves that the mover still had to make, as the time manager estimated.
    pub(crate) managers_moves_left: Option<f64>,
    /// The rule that ended the search. Of external engines `bestmove`.
    pub(crate) end: String,
}
