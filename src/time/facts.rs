//! The snapshot of facts from which a manager budgets a move.

use super::limits::GoLimits;

/// What the search knows of the root, from the point of view of the side to move there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RootEvaluation {
    /// Expected result, win minus loss, in `-1..=1`; the visit-weighted average where there is a tree.
    pub q: f64,
    /// Probability of a draw; `None` for networks that don't tell.
    pub d: Option<f64>,
    /// Plies to the end of the game by the Moves Left Head: the visit-weighted average over the searched tree,
    /// or the raw output where there is no tree yet. `None` for networks without the head.
    pub m: Option<f64>,
    /// Standard deviation of M over the tree, plies; `None` where unknown.
    pub m_spread: Option<f64>,
}

/// Everything that is known when a search begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MoveFacts {
    /// The `go` command.
    pub limits: GoLimits,
    /// `MoveOverheadMs`: kept back from every clock for lag and the GUI, ms.
    pub overhead_ms: f64,
    /// Kept back in games that may last longer than expected, ms; see [`super::Timekeeper`].
    pub reserve_ms: f64,
    /// Time already gone since the `go` line was read, ms.
    pub elapsed_ms: f64,
    /// Plies played in the game so far, as the position counts them (0 = the first move of White).
    pub game_ply: u32,
    /// Pieces and pawns on the board, kings included.
    pub pieces: u32,
    /// Legal moves at the root, all of them even under `searchmoves`; where endgame tables know the position, those
    /// that keep the result.
    pub legal_moves: u32,
    /// How many of them are captures, promotions or checks.
    pub tactical_moves: u32,
    /// True for the first move that the engine makes in this game.
    pub first_move: bool,
    /// Visits under the root kept from earlier searches.
    pub reused_nodes: u64,
    /// How those visits are spread over the root's moves, in any order; empty for a fresh root.
    pub root_visits: Vec<u32>,
    /// The root's evaluation, if the tree was kept.
    pub root: Option<RootEvaluation>,
    /// True if the network has a Moves Left Head.
    pub has_moves_left: bool,
    /// The UCI option `Ponder`: the GUI may let the engine think on the opponent's time.
    pub ponder_enabled: bool,
}

impl MoveFacts {
    /// The clock minus the overhead, ms, not negative. `None` where there is no clock to watch.
    pub fn clock_less_overhead_ms(&self) -> Option<f64> {
        self.limits.game_clock().map(|(time, _)| (time - self.overhead_ms).max(0.0))
    }

    /// Time that may be spent on this move at most, ms: the clock minus overhead and reserve, not negative.
    /// `None` where there is no clock to watch.
    pub fn available_ms(&self) -> Option<f64> {
        self.clock_less_overhead_ms().map(|ms| (ms - self.reserve_ms).max(0.0))
    }

    /// All time to the next time control, ms, if `moves` moves are still to be made before it: the increment
    /// of the last move comes too late to be used.
    pub fn time_to_control_ms(&self, moves: f64) -> Option<f64> {
        let (time, inc) = self.limits.game_clock()?;
        Some((time + inc * (moves - 1.0) - self.overhead_ms).max(0.0))
    }

    /// True if there is something to decide.
    pub fn has_choice(&self) -> bool {
        self.legal_moves > 1
    }
}
