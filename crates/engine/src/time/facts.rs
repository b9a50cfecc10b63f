//! What is known when a move begins: the limits of `go`, the clock, and what the tree holds already.

use super::units::{GamePly, Millis, Nodes, Plies};

/// From the point of view of the side to move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RootEvaluation {
    /// Win minus loss, `-1..=1`, visit-weighted where there is a tree.
    pub wl: f64,
    /// Probability of a draw, `None` without a WDL head.
    pub d: Option<f64>,
    /// Plies to the end of the game by the Moves Left Head, visit-weighted over the tree if there is one.
    pub m: Option<Plies>,
    /// Standard deviation of M over the tree.
    pub m_spread: Option<Plies>,
}

/// Visits of the two most visited root moves, or 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MostVisits {
    pub best: u32,
    pub second: u32,
}

impl MostVisits {
    pub(super) fn of(visits: &[u32]) -> MostVisits {
        visits
            .iter()
            .fold(MostVisits::default(), |MostVisits { best, second }, &n| {
                MostVisits {
                    best: best.max(n),
                    second: second.max(n.min(best)),
                }
            })
    }
}

/// What a time manager is told of a move at its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MoveFacts {
    /// What ends the search.
    pub limits: GoLimits,
    /// Kept back from every clock for lag and the GUI.
    pub overhead: Millis,
    /// Measured lag of one move. Zero under `nodestime`.
    pub lag: Millis,
    /// Kept back for longer games, see [`super::Timekeeper`].
    pub reserve: Millis,
    /// Since the `go` line was read.
    pub elapsed: Millis,
    /// What the clock had lost before, because a network was loaded first.
    pub loading: Millis,
    /// Plies since the start of the game.
    pub game_ply: GamePly,
    /// Pieces and pawns on the board, kings included.
    pub pieces: u32,
    /// At the root, even under `searchmoves`. With endgame tables, those that keep the result.
    pub legal_moves: u32,
    /// Of the legal moves, captures and promotions.
    pub tactical_moves: u32,
    /// True for the side's first move of this game here.
    pub first_move: bool,
    /// Visits under the root from earlier searches.
    pub reused_nodes: Nodes,
    /// Made while pondering. They shorten no move and do not teach tree reuse.
    pub pondered_nodes: Nodes,
    /// Reused visits of the root moves, in any order, empty for a fresh root.
    pub reused_visits: Vec<u32>,
    /// 0 where smart pruning is off.
    pub smart_pruning_factor: f64,
    /// The root's value in the tree, `None` for a fresh root.
    pub root: Option<RootEvaluation>,
    /// True if the network has a Moves Left Head.
    pub has_moves_left: bool,
    /// Principal variations to be shown.
    pub lines: usize,
    /// True if the GUI lets the engine ponder.
    pub ponder_enabled: bool,
    /// `UCI_AnalyseMode` or `searchmoves`: without a clock the value is wanted, not a move.
    pub asks_for_value: bool,
}

impl MoveFacts {
    /// Not negative. `None` where no clock limits the search.
    pub(crate) fn clock_less_overhead(&self) -> Option<Millis> {
        self.limits
            .mover_clock()
            .map(|clock| (clock.time - self.overhead).max(Millis::ZERO))
    }

    /// The clock minus overhead and reserve, not negative. `None` without a clock.
    pub fn available(&self) -> Option<Millis> {
        self.clock_less_overhead()
            .map(|time| (time - self.reserve).max(Millis::ZERO))
    }

    /// Time for the next `moves` moves. The last increment comes too late.
    pub(crate) fn time_to_control(&self, moves: f64) -> Option<Millis> {
        let clock = self.limits.mover_clock()?;
        Some((clock.time + clock.inc * (moves - 1.0) - self.overhead).max(Millis::ZERO))
    }

    pub(crate) fn kept_nodes(&self) -> Nodes {
        self.reused_nodes.saturating_sub(self.pondered_nodes)
    }

    /// New nodes that the most visited move's lead saves: smart pruning stops when the remaining nodes,
    /// divided by its factor, are fewer.
    pub(crate) fn pruning_lead(&self) -> f64 {
        let most = MostVisits::of(&self.reused_visits);
        self.smart_pruning_factor * f64::from(most.best - most.second)
    }

    pub(crate) fn wants_best_move_only(&self) -> bool {
        self.lines <= 1 || self.limits.mover_clock().is_some()
    }

    /// A value takes all its nodes or time, however clear the move is.
    pub(crate) fn wants_move_only(&self) -> bool {
        !self.asks_for_value || self.limits.mover_clock().is_some()
    }

    /// True with more than one legal move.
    pub fn has_choice(&self) -> bool {
        self.legal_moves > 1
    }
}

/// The limits of one `go`, with the clock of the side to move.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GoLimits {
    /// `wtime` or `btime`. Some GUIs send negative times.
    pub time: Option<Millis>,
    /// `winc` or `binc`.
    pub inc: Millis,
    /// This move included. 0, which some GUIs send, means none.
    pub movestogo: Option<u32>,
    /// Fixed time of the search.
    pub movetime: Option<Millis>,
    /// Visits in the tree, or playouts of this search with `NodesAsPlayouts`.
    pub nodes: Option<Nodes>,
    /// Average depth, plies.
    pub depth: Option<u32>,
    /// Ends the search at a mate in as many moves.
    pub mate: Option<u32>,
    /// True if only `stop` ends the search.
    pub infinite: bool,
    /// True for a search on the opponent's time.
    pub ponder: bool,
}

/// The clock of the side to move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MoverClock {
    /// Not negative.
    pub time: Millis,
    /// Not negative.
    pub inc: Millis,
}

impl GoLimits {
    /// A search up to `nodes` visits of the root, those of earlier searches included.
    pub fn nodes(nodes: u64) -> GoLimits {
        GoLimits {
            nodes: Some(Nodes(nodes)),
            ..GoLimits::default()
        }
    }

    /// A search of fixed time.
    pub fn movetime(time: impl Into<Millis>) -> GoLimits {
        GoLimits {
            movetime: Some(time.into()),
            ..GoLimits::default()
        }
    }

    /// One move of a game with `time` left on the clock of the side to move, which gains `inc` a move.
    pub fn clock(time: impl Into<Millis>, inc: impl Into<Millis>) -> GoLimits {
        GoLimits {
            time: Some(time.into()),
            inc: inc.into(),
            ..GoLimits::default()
        }
    }

    /// A search that ends when it is told so.
    pub fn infinite() -> GoLimits {
        GoLimits {
            infinite: true,
            ..GoLimits::default()
        }
    }

    /// Some limit ends the search in any position. That to a mate does not, as there may be none.
    pub fn has_end(&self) -> bool {
        let ends =
            self.time.is_some() || self.movetime.is_some() || self.nodes.is_some() || self.depth.is_some();
        ends && !self.is_open_ended()
    }

    pub(crate) fn is_open_ended(&self) -> bool {
        self.infinite || self.ponder
    }

    /// The clock to budget: `None` without one, and in infinite and ponder searches.
    pub fn mover_clock(&self) -> Option<MoverClock> {
        let time = self.time.filter(|_| !self.is_open_ended())?;
        Some(MoverClock {
            time: time.max(Millis::ZERO),
            inc: self.inc.max(Millis::ZERO),
        })
    }

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
        let with = |movestogo| {
            GoLimits {
                movestogo,
                ..GoLimits::default()
            }
            .cap_moves_left(30.0)
        };
        assert_eq!(with(None), 30.0);
        assert_eq!(with(Some(0)), 30.0);
        assert_eq!(with(Some(7)), 7.0);
        assert_eq!(GoLimits::default().cap_moves_left(0.2), 1.0);
    }

    #[test]
    fn negative_clocks_count_as_empty() {
        let limits = GoLimits {
            time: Some(Millis(-5.0)),
            inc: Millis(-1.0),
            ..GoLimits::default()
        };
        assert_eq!(limits.mover_clock(), Some(MoverClock::default()));
    }

    #[test]
    fn open_ended_searches_have_no_clock() {
        let limits = GoLimits {
            time: Some(Millis(1000.0)),
            ponder: true,
            ..GoLimits::default()
        };
        assert_eq!(limits.mover_clock(), None);
    }
}
