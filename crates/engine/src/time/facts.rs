//! Holds what is known when a search begins, from which a manager budgets the move.

use super::units::{GamePly, Millis, Nodes, Plies};

/// The evaluation of the root, from the point of view of the side to move there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RootEvaluation {
    /// Expected result, win minus loss, in `-1..=1`. The visit-weighted average where there is a tree.
    pub q: f64,
    /// Probability of a draw, or `None` for networks without a WDL head.
    pub d: Option<f64>,
    /// Plies to the end of the game by the Moves Left Head: the visit-weighted average over the searched
    /// tree, or the raw output where there is no tree yet. `None` for networks without the head.
    pub m: Option<Plies>,
    /// Standard deviation of M over the tree, or `None` where it is unknown.
    pub m_spread: Option<Plies>,
}

/// The visits of the two most visited root moves, or 0 where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MostVisits {
    /// Visits of the most visited move.
    pub best: u32,
    /// Visits of the move after it.
    pub second: u32,
}

impl MostVisits {
    pub(super) fn of(visits: &[u32]) -> MostVisits {
        visits.iter().fold(MostVisits::default(), |MostVisits { best, second }, &n| {
            if n > best {
                MostVisits { best: n, second: best }
            } else {
                MostVisits { best, second: second.max(n) }
            }
        })
    }
}

/// Everything that is known when a search begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MoveFacts {
    /// The `go` command.
    pub limits: GoLimits,
    /// `MoveOverheadMs`: time kept back from every clock for lag and the GUI.
    pub overhead: Millis,
    /// Lag of one move, as the clock has shown it so far. Zero under `nodestime`.
    pub lag: Millis,
    /// Time kept back in games that may last longer than expected. See [`super::Timekeeper`].
    pub reserve: Millis,
    /// Time that has passed since the `go` line was read.
    pub elapsed: Millis,
    /// Plies played in the game so far, as the position counts them.
    pub game_ply: GamePly,
    /// Pieces and pawns on the board, kings included.
    pub pieces: u32,
    /// Legal moves at the root, all of them even under `searchmoves`. Where endgame tables know the position,
    /// those that keep the result.
    pub legal_moves: u32,
    /// Captures, promotions and checks among the legal moves.
    pub tactical_moves: u32,
    /// True for the first move that the engine makes in this game.
    pub first_move: bool,
    /// Visits under the root kept from earlier searches.
    pub reused_nodes: Nodes,
    /// Those of them that were made while pondering on the opponent's move. They are a gift: they shorten no
    /// move, and tell nothing of how much of a tree survives one.
    pub pondered_nodes: Nodes,
    /// Visits of the root's moves among them, in any order, empty for a fresh root.
    pub root_visits: Vec<u32>,
    /// `SmartPruningFactor`, or 0 where smart pruning is off.
    pub smart_pruning_factor: f64,
    /// The root's evaluation, if the tree was kept.
    pub root: Option<RootEvaluation>,
    /// True if the network has a Moves Left Head.
    pub has_moves_left: bool,
    /// The lines that are shown (`MultiPV`).
    pub lines: usize,
    /// The UCI option `Ponder`: the GUI may let the engine think on the opponent's time.
    pub ponder_enabled: bool,
    /// True with `UCI_AnalyseMode` or `searchmoves`: without a clock the value is wanted, not a move to play.
    pub asks_for_value: bool,
}

impl MoveFacts {
    /// Returns the clock minus the overhead, not negative, or `None` where no clock limits the search.
    pub(crate) fn clock_less_overhead(&self) -> Option<Millis> {
        self.limits.mover_clock().map(|clock| (clock.time - self.overhead).max(Millis::ZERO))
    }

    /// Returns the time that may be spent on this move at most: the clock minus overhead and reserve, not
    /// negative. `None` where no clock limits the search.
    pub(crate) fn available(&self) -> Option<Millis> {
        self.clock_less_overhead().map(|time| (time - self.reserve).max(Millis::ZERO))
    }

    /// Returns all time to the next time control if `moves` moves are still to be made before it. The
    /// increment of the last move comes too late to be used. `None` where no clock limits the search.
    pub(crate) fn time_to_control(&self, moves: f64) -> Option<Millis> {
        let clock = self.limits.mover_clock()?;
        Some((clock.time + clock.inc * (moves - 1.0) - self.overhead).max(Millis::ZERO))
    }

    pub(crate) fn kept_nodes(&self) -> Nodes {
        self.reused_nodes.saturating_sub(self.pondered_nodes)
    }

    /// Returns the new nodes by which the lead of the most visited move over the second shortens the search:
    /// smart pruning stops it when what remains, divided by its factor, is less than the lead.
    pub(crate) fn pruning_lead(&self) -> f64 {
        let most = MostVisits::of(&self.root_visits);
        self.smart_pruning_factor * f64::from(most.best - most.second)
    }

    /// Returns true if the search is over once the best move is certain: it is played, or nothing else is
    /// shown.
    pub(crate) fn wants_best_move_only(&self) -> bool {
        self.lines <= 1 || self.limits.mover_clock().is_some()
    }

    /// Whether a move to play is enough. A value takes all its nodes or its time, however clear the move is.
    pub(crate) fn wants_move_only(&self) -> bool {
        !self.asks_for_value || self.limits.mover_clock().is_some()
    }

    pub fn has_choice(&self) -> bool {
        self.legal_moves > 1
    }
}

/// The limits of one `go`. The clock fields are those of the side to move.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GoLimits {
    /// `wtime` or `btime`: the time on the mover's clock. Some GUIs send negative times.
    pub time: Option<Millis>,
    /// `winc` or `binc`: the time that is added to the mover's clock after each move.
    pub inc: Millis,
    /// `movestogo`: moves to the next time control, this one included. 0, which some GUIs send, means that
    /// there is none.
    pub movestogo: Option<u32>,
    /// `movetime`: the time that the search is to take.
    pub movetime: Option<Millis>,
    /// `nodes`: visits in the tree, or playouts of this search with `NodesAsPlayouts`.
    pub nodes: Option<Nodes>,
    /// `depth`: average depth, plies.
    pub depth: Option<u32>,
    /// `mate`: the search stops when it has found a mate in this many moves.
    pub mate: Option<u32>,
    /// `infinite`: the search goes on until `stop`.
    pub infinite: bool,
    /// `ponder`: the search goes on until `ponderhit` or `stop`.
    pub ponder: bool,
}

/// The clock of the side to move, as a manager plans with it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MoverClock {
    /// The time left, not negative.
    pub time: Millis,
    /// The increment, not negative.
    pub inc: Millis,
}

impl GoLimits {
    /// Returns true while the search must not end by itself: after `infinite`, and after `ponder` before
    /// `ponderhit`.
    pub(crate) fn is_open_ended(&self) -> bool {
        self.infinite || self.ponder
    }

    /// Returns the mover's clock where a manager has to budget, or `None` without a clock or while the search
    /// must not end by itself.
    pub fn mover_clock(&self) -> Option<MoverClock> {
        let time = self.time.filter(|_| !self.is_open_ended())?;
        Some(MoverClock { time: time.max(Millis::ZERO), inc: self.inc.max(Millis::ZERO) })
    }

    /// Returns `moves` capped by `movestogo`, if that is given and above 0, never less than 1.
    pub(crate) fn cap_moves_left(&self, moves: f64) -> f64 {
        let cap = self.movestogo.filter(|&n| n > 0).map_or(f64::INFINITY, f64::from);
        moves.min(cap).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn movestogo_caps_and_zero_means_none() {
        let with = |movestogo| GoLimits { movestogo, ..GoLimits::default() }.cap_moves_left(30.0);
        assert_eq!(with(None), 30.0);
        assert_eq!(with(Some(0)), 30.0);
        assert_eq!(with(Some(7)), 7.0);
        assert_eq!(GoLimits::default().cap_moves_left(0.2), 1.0);
    }

    #[test]
    fn negative_clocks_count_as_empty() {
        let limits = GoLimits { time: Some(Millis(-5.0)), inc: Millis(-1.0), ..GoLimits::default() };
        assert_eq!(limits.mover_clock(), Some(MoverClock::default()));
    }

    #[test]
    fn open_ended_searches_have_no_clock() {
        let limits = GoLimits { time: Some(Millis(1000.0)), ponder: true, ..GoLimits::default() };
        assert_eq!(limits.mover_clock(), None);
    }
}
