//! What is known when a move begins: limits, clock, and what the tree holds already.

use super::units::{GamePly, Millis, Nodes, Plies};

/// From the point of view of the side to move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RootEvaluation {
    /// Win minus loss, `-1..=1`, visit-weighted over the tree.
    pub wl: f64,
    /// Probability of a draw, `None` without a WDL head.
    pub d: Option<f64>,
    /// Plies to the end of the game by the Moves Left Head, visit-weighted over the tree.
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
    pub limit: Limit,
    /// Kept back from every clock for lag and the GUI.
    pub overhead: Millis,
    /// Measured lag of one move. Zero under `nodestime`.
    pub lag: Millis,
    /// Kept back for longer games, see [`super::Timekeeper`].
    pub reserve: Millis,
    /// Since the `go` line was read.
    pub elapsed: Millis,
    /// What the clock had lost before, to the loading of a network.
    pub loading: Millis,
    /// Plies since the start of the game.
    pub game_ply: GamePly,
    /// Pieces and pawns on the board, kings included.
    pub pieces: u32,
    /// At the root, even under `searchmoves`. With endgame tables, those that keep the result.
    pub legal_moves: u32,
    /// Of the legal moves, captures, promotions and checks.
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
        self.limit
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
        let clock = self.limit.mover_clock()?;
        Some((clock.time + clock.inc * (moves - 1.0) - self.overhead).max(Millis::ZERO))
    }

    pub(crate) fn kept_nodes(&self) -> Nodes {
        self.reused_nodes.saturating_sub(self.pondered_nodes)
    }

    /// New nodes that the most visited move's lead saves by smart pruning.
    pub(crate) fn pruning_lead(&self) -> f64 {
        let most = MostVisits::of(&self.reused_visits);
        self.smart_pruning_factor * f64::from(most.best - most.second)
    }

    pub(crate) fn wants_best_move_only(&self) -> bool {
        self.lines <= 1 || self.limit.mover_clock().is_some()
    }

    /// A value takes all its nodes or time.
    pub(crate) fn wants_move_only(&self) -> bool {
        !self.asks_for_value || self.limit.mover_clock().is_some()
    }

    /// True with more than one legal move.
    pub fn has_choice(&self) -> bool {
        self.legal_moves > 1
    }
}

/// What ends a search.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Limit {
    /// Only `stop`.
    #[default]
    Infinite,
    /// Only `stop`. `ponderhit` puts the bounds in force, or makes it infinite.
    Ponder(Option<Bounds>),
    /// Whichever is reached first.
    Until(Bounds),
}

/// The bounds of one search.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// `wtime` or `btime`.
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
}

/// The clock of the side to move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MoverClock {
    /// Not negative.
    pub time: Millis,
    /// Not negative.
    pub inc: Millis,
    /// This move included, not 0.
    pub movestogo: Option<u32>,
}

impl Limit {
    /// Up to `nodes` visits of the root, earlier ones included.
    pub fn nodes(nodes: u64) -> Limit {
        Limit::Until(Bounds {
            nodes: Some(Nodes(nodes)),
            ..Bounds::default()
        })
    }

    /// A search of fixed time.
    pub fn movetime(time: impl Into<Millis>) -> Limit {
        Limit::Until(Bounds {
            movetime: Some(time.into()),
            ..Bounds::default()
        })
    }

    /// One move with `time` left on the clock of the side to move, which gains `inc` a move.
    pub fn clock(time: impl Into<Millis>, inc: impl Into<Millis>) -> Limit {
        Limit::Until(Bounds {
            time: Some(time.into()),
            inc: inc.into(),
            ..Bounds::default()
        })
    }

    /// The bounds in force: none in infinite and ponder searches.
    pub fn bounds(self) -> Bounds {
        match self {
            Limit::Until(bounds) => bounds,
            Limit::Infinite | Limit::Ponder(_) => Bounds::default(),
        }
    }

    /// The limit from `ponderhit` on. Others stay as they are.
    pub fn after_ponder_hit(self) -> Limit {
        match self {
            Limit::Ponder(bounds) => bounds.map_or(Limit::Infinite, Limit::Until),
            limit => limit,
        }
    }

    /// True for a search on the opponent's time.
    pub fn is_ponder(self) -> bool {
        matches!(self, Limit::Ponder(_))
    }

    /// True if the search is infinite, now or from `ponderhit` on.
    pub fn is_infinite(self) -> bool {
        self.after_ponder_hit() == Limit::Infinite
    }

    pub(crate) fn waits_for_stop(self) -> bool {
        !matches!(self, Limit::Until(_))
    }

    /// Some bound ends the search in any position. One to a mate does not.
    pub fn has_end(self) -> bool {
        let Bounds {
            time,
            movetime,
            nodes,
            depth,
            ..
        } = self.bounds();
        time.or(movetime).is_some() || nodes.is_some() || depth.is_some()
    }

    /// A time that is negative, infinite or no number, with its name.
    pub(crate) fn unusable_time(self) -> Option<(&'static str, Millis)> {
        let bounds = self.after_ponder_hit().bounds();
        let named = [
            ("movetime", bounds.movetime),
            ("the clock", bounds.time),
            ("the increment", Some(bounds.inc)),
        ];
        let mut times = named.into_iter().filter_map(|(name, time)| Some((name, time?)));
        times.find(|(_, time)| !time.0.is_finite() || time.0 < 0.0)
    }

    /// `None` without a clock, and in infinite and ponder searches.
    pub fn mover_clock(self) -> Option<MoverClock> {
        let bounds = self.bounds();
        Some(MoverClock {
            time: bounds.time?,
            inc: bounds.inc,
            movestogo: bounds.movestogo.filter(|&moves| moves > 0),
        })
    }
}

impl MoverClock {
    pub(crate) fn cap_moves_left(&self, moves: f64) -> f64 {
        let cap = self.movestogo.map_or(f64::INFINITY, f64::from);
        moves.min(cap).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn movestogo_caps_and_zero_means_none() {
        let with = |movestogo| {
            let limit = Limit::Until(Bounds {
                time: Some(Millis::ZERO),
                movestogo,
                ..Bounds::default()
            });
            limit.mover_clock().unwrap().cap_moves_left(30.0)
        };
        assert_eq!(with(None), 30.0);
        assert_eq!(with(Some(0)), 30.0);
        assert_eq!(with(Some(7)), 7.0);
        assert_eq!(MoverClock::default().cap_moves_left(0.2), 1.0);
    }

    #[test]
    fn open_ended_searches_have_no_clock() {
        let limit = Limit::Ponder(Some(Limit::clock(Millis(1000.0), Millis::ZERO).bounds()));
        assert_eq!(limit.mover_clock(), None);
    }
}
