//! One game's manager, and the options around it.

use super::chain::{Chain, StopperOptions};
use super::facts::{Bounds, MoveFacts};
use super::manager::{MoveOutcome, TimeManager};
use super::nodestime::NodeClock;
use super::stats::SearchStats;
use super::stoppers::StopReason;
use super::units::Millis;

/// Of one side in one game. `ucinewgame` and a change of `TimeManager` start a new one.
#[derive(Debug)]
pub struct Timekeeper {
    pub(crate) manager: Box<dyn TimeManager>,
    pub(crate) options: StopperOptions,
    nodestime: NodeClock,
    first_clock: Option<Millis>,
    lag: LagMeter,
    /// Of the move under way.
    begun: Option<BegunMove>,
    has_moved: bool,
}

#[derive(Debug)]
struct BegunMove {
    /// What the GUI's clock showed.
    clock: Option<Millis>,
    inc: Millis,
    legal_moves: u32,
}

/// The overhead is at least this multiple of the largest lag seen.
const LAG_MARGIN: f64 = 2.0;

/// Moves that a game may last longer than expected, …
const RESERVE_MOVES: f64 = 40.0;
/// … the lag of each that the plan leaves out, as a share of the overhead, …
const RESERVE_COST: f64 = 0.5;
/// … and the largest reserve for them, as a share of the game's first clock.
const RESERVE_SHARE: f64 = 0.1;

/// The end of a search, as a timekeeper hears it.
#[derive(Clone, Debug)]
pub struct SearchEnd<'a> {
    /// Counted from `go`.
    pub stats: &'a SearchStats,
    /// [`StopReason::Budget`] where the controller ended the search at the deadline. `None` after `stop` and
    /// failures.
    pub reason: Option<StopReason>,
}

impl Timekeeper {
    /// The time management of a new game.
    pub fn new(manager: Box<dyn TimeManager>, options: StopperOptions) -> Self {
        Timekeeper {
            manager,
            options,
            nodestime: NodeClock::default(),
            first_clock: None,
            lag: LagMeter::default(),
            begun: None,
            has_moved: false,
        }
    }

    /// Ponder searches are not planned and teach nothing.
    pub fn start_move(&mut self, facts: &MoveFacts) -> Chain {
        if facts.limit.is_ponder() {
            return Chain::new(facts, &self.options, None);
        }
        let Bounds { time: clock, inc, .. } = facts.limit.bounds();
        match clock {
            Some(clock) => self.lag.clock_read(clock),
            None => self.lag.clock_is_unwatched(),
        }
        let inc = inc.max(Millis::ZERO);
        let legal_moves = facts.legal_moves;
        self.begun = Some(BegunMove {
            clock,
            inc,
            legal_moves,
        });
        let facts = &self.prepare(facts);
        let stopper = self.manager.start_move(facts);
        Chain::new(facts, &self.options, stopper)
    }

    /// Notes that somebody has set the clock: its change is no lag.
    pub fn clock_was_set(&mut self) {
        self.lag.clock_is_unwatched();
    }

    /// Call it once per search, after `bestmove`.
    pub fn finish_move(&mut self, chain: &Chain, end: &SearchEnd<'_>) {
        let Some((report, begun)) = chain.report().zip(self.begun.take()) else {
            return;
        };
        let BegunMove {
            clock,
            inc,
            legal_moves,
        } = begun;
        self.has_moved = true;
        let stats = chain.on_our_clock(end.stats);
        self.nodestime.press(stats.elapsed, inc);
        if let Some(clock) = clock {
            self.lag.move_made(clock, stats.elapsed, inc);
        }
        self.manager.finish_move(&MoveOutcome {
            used: stats.elapsed,
            stats: stats.into_owned(),
            legal_moves,
            reason: end.reason,
            report,
        });
    }

    /// The node clock under `nodestime`, else an overhead that covers the lag, and the reserve.
    fn prepare(&mut self, facts: &MoveFacts) -> MoveFacts {
        let facts = match self.options.nodestime.rate(facts.pieces) {
            Some(_) => self.nodestime.replace_clock(facts),
            None => {
                let lag = self.lag.lag;
                MoveFacts {
                    overhead: facts.overhead.max(lag * LAG_MARGIN),
                    lag,
                    ..facts.clone()
                }
            }
        };
        let smart_pruning_factor = if facts.wants_best_move_only() {
            self.options.smart_pruning_factor
        } else {
            0.0
        };
        let reserve = self.reserve(&facts);
        let first_move = !self.has_moved;
        MoveFacts {
            reserve,
            smart_pruning_factor,
            first_move,
            ..facts
        }
    }

    /// For a game that lasts much longer than expected, since each move loses some lag that no plan includes.
    /// None where the increment covers the lag, or beyond the time control.
    fn reserve(&mut self, facts: &MoveFacts) -> Millis {
        let Some(clock) = facts.limit.mover_clock() else {
            return Millis::ZERO;
        };
        let first_clock = *self.first_clock.get_or_insert(clock.time);
        let to_control = clock.movestogo.map_or(f64::INFINITY, |n| f64::from(n) - 1.0);
        let cost = (facts.overhead * RESERVE_COST - clock.inc).max(Millis::ZERO);
        (cost * to_control.min(RESERVE_MOVES)).min(first_clock * RESERVE_SHARE)
    }
}

/// Share of the largest lag that is kept after a move without lag.
const DECAY: f64 = 0.9;
/// A larger loss (a stalled or reset clock) counts only up to that on the move before.
const MAX_SINGLE_LAG: Millis = Millis(500.0);

#[derive(Debug, Default)]
struct LagMeter {
    expected: Option<Millis>,
    /// What the clock had lost at the last `go`.
    last_missing: Millis,
    lag: Millis,
}

impl LagMeter {
    fn clock_read(&mut self, time: Millis) {
        // Passing a time control adds time and hides the lag.
        if let Some(expected) = self.expected.take() {
            let missing = expected - time;
            let seen = if missing <= MAX_SINGLE_LAG {
                missing
            } else {
                missing.min(self.last_missing)
            };
            self.last_missing = missing;
            self.lag = seen.max(self.lag * DECAY);
        }
    }

    /// What the clock loses from now on is not lag.
    fn clock_is_unwatched(&mut self) {
        self.expected = None;
    }

    fn move_made(&mut self, time: Millis, used: Millis, inc: Millis) {
        self.expected = Some(time - used + inc);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::facts::{Bounds, Limit};
    use crate::time::managers::manager_from;
    use crate::time::nodestime::NodesTimeOptions;
    use crate::time::stats::Hints;
    use crate::time::units::{GamePly, Nps};

    /// Nodes of 30 moves at a varying speed, with the manager's nps at the end.
    fn game_under_nodestime(manager: &str, speed: impl Fn(u64) -> f64) -> Vec<(u64, Option<Nps>)> {
        let nodestime = NodesTimeOptions {
            nodes_per_ms: 1,
            dynamic: true,
        };
        let options = StopperOptions {
            nodestime,
            ..StopperOptions::default()
        };
        let mut keeper = Timekeeper::new(manager_from(manager).unwrap(), options);
        let mut moves = Vec::new();
        for i in 0..30 {
            let time = if i == 0 { 30_000.0 } else { speed(i) * 1e5 };
            let limit = Limit::clock(Millis(time), Millis(100.0));
            let (game_ply, pieces) = (GamePly(2 * i as u32), 17 - i as u32 / 2);
            let facts = MoveFacts {
                limit,
                overhead: Millis(50.0),
                game_ply,
                pieces,
                legal_moves: 30,
                ..MoveFacts::default()
            };
            let mut chain = keeper.start_move(&facts);
            let mut hints = Hints::default();
            let mut stats = SearchStats::default();
            let reason = loop {
                stats.new_nodes.0 += 7;
                stats.nodes.0 += 7;
                stats.batches += 1;
                stats.elapsed += Millis(speed(i + stats.new_nodes.0));
                stats.since_first_eval = Some(stats.elapsed);
                stats.race_visits = vec![(stats.nodes.0 / 2) as u32; 2];
                if let Some(reason) = chain.should_stop(&stats, &mut hints) {
                    break reason;
                }
            };
            keeper.finish_move(
                &chain,
                &SearchEnd {
                    stats: &stats,
                    reason: Some(reason),
                },
            );
            moves.push((stats.new_nodes.0, chain.report().and_then(|report| report.nps)));
        }
        moves
    }

    #[test]
    fn long_games_without_increment_keep_a_reserve() {
        let reserve = |time, inc, movestogo| {
            let limit = Limit::Until(Bounds {
                time: Some(Millis(time)),
                inc: Millis(inc),
                movestogo,
                ..Bounds::default()
            });
            let facts = MoveFacts {
                limit,
                overhead: Millis(50.0),
                ..MoveFacts::default()
            };
            Timekeeper::new(manager_from("smooth").unwrap(), StopperOptions::default())
                .reserve(&facts)
                .0
        };
        // 40 moves at 50/2 ms
        assert_eq!(reserve(300_000.0, 0.0, None), 1_000.0);
        assert_eq!(reserve(3_000.0, 0.0, None), 300.0, "a tenth of the first clock");
        assert_eq!(reserve(300_000.0, 600.0, None), 0.0, "the increment pays");
        assert_eq!(reserve(300_000.0, 10.0, None), 600.0);
        assert_eq!(reserve(300_000.0, 0.0, Some(3)), 50.0);
        assert_eq!(reserve(300_000.0, 0.0, Some(1)), 0.0);
    }

    /// A regression: the guess of 20,000 nodes/s was given up too slowly.
    #[test]
    fn the_first_moves_show_the_real_nodes_per_second() {
        for manager in ["smooth", "smooth(preset=lc0)"] {
            for (_, nps) in &game_under_nodestime(manager, |_| 1.0)[..3] {
                let nps = nps.unwrap().0;
                assert!((800.0..1_200.0).contains(&nps), "{manager} {nps}");
            }
        }
    }

    #[test]
    fn the_same_game_at_any_speed_under_every_manager() {
        for manager in [
            "smooth",
            "smooth(preset=lc0)",
            "legacy",
            "alphazero",
            "simple",
            "stockfish",
            "argo",
        ] {
            let steady = game_under_nodestime(manager, |_| 1.0);
            let jumpy = game_under_nodestime(manager, |n| 0.1 + (n % 13) as f64);
            assert_eq!(steady, jumpy, "{manager}");
            let total: u64 = steady.iter().map(|(nodes, _)| nodes).sum();
            // The dynamic rate may add 60 %.
            assert!(total <= 33_000 * 8 / 5, "{manager} {total}");
        }
    }

    #[test]
    fn lag_is_what_the_clock_lost_beyond_our_use() {
        let mut meter = LagMeter::default();
        meter.clock_read(Millis(1000.0));
        assert_eq!(meter.lag, Millis(0.0));
        // 1000 − 40 + 10 should be left, 958 are: 12 ms were lost.
        meter.move_made(Millis(1000.0), Millis(40.0), Millis(10.0));
        meter.clock_read(Millis(958.0));
        assert_eq!(meter.lag, Millis(12.0));
        meter.move_made(Millis(958.0), Millis(8.0), Millis(10.0));
        meter.clock_read(Millis(960.0));
        assert!((meter.lag.0 - 10.8).abs() < 1e-9);
        meter.move_made(Millis(960.0), Millis(10.0), Millis(0.0));
        meter.clock_read(Millis(60_950.0));
        assert!((meter.lag.0 - 9.72).abs() < 1e-9);
    }

    #[test]
    fn twice_the_lag_is_kept_from_the_clock_unless_the_overhead_is_more() {
        let mut keeper = Timekeeper::new(manager_from("simple").unwrap(), StopperOptions::default());
        keeper.lag.lag = Millis(40.0);
        let mut prepared = |overhead| {
            let facts = MoveFacts {
                overhead: Millis(overhead),
                ..MoveFacts::default()
            };
            let facts = keeper.prepare(&facts);
            (facts.overhead.0, facts.lag.0)
        };
        assert_eq!(prepared(50.0), (80.0, 40.0));
        assert_eq!(prepared(100.0), (100.0, 40.0));
    }

    /// A regression: a lag of 501 ms on each move was ignored.
    #[test]
    fn a_large_lag_counts_when_it_comes_again() {
        let lags = |missing: &[f64]| {
            let mut meter = LagMeter::default();
            let lag_after = |&missing: &f64| {
                meter.move_made(Millis(60_000.0), Millis(100.0), Millis(600.0));
                meter.clock_read(Millis(60_500.0 - missing));
                meter.lag.0
            };
            missing.iter().map(lag_after).collect::<Vec<_>>()
        };
        assert_eq!(lags(&[900.0, 900.0, 700.0]), [0.0, 900.0, 810.0]);
        assert_eq!(lags(&[501.0, 520.0]), [0.0, 501.0]);
        assert_eq!(lags(&[30.0, 9_000.0, 30.0]), [30.0, 30.0, 30.0], "one stall");
        assert_eq!(lags(&[480.0, 480.0]), [480.0, 480.0]);
        assert_eq!(
            lags(&[-30_000.0, 9_000.0]),
            [0.0, 0.0],
            "a time control, and one stall"
        );
    }

    /// A regression: a short analysis between two moves counted as lag.
    #[test]
    fn clocks_set_by_hand_analyses_and_moves_without_a_budget_show_no_lag() {
        let made = |meter: &mut LagMeter| meter.move_made(Millis(60_000.0), Millis(100.0), Millis::ZERO);
        let lag_after = |before: &dyn Fn(&mut LagMeter), clock| {
            let mut meter = LagMeter::default();
            before(&mut meter);
            meter.clock_read(Millis(clock));
            meter.lag
        };
        assert_eq!(lag_after(&made, 30_000.0), Millis::ZERO);
        let analysis = |meter: &mut LagMeter| {
            made(meter);
            meter.clock_is_unwatched();
        };
        assert_eq!(lag_after(&analysis, 59_500.0), Millis::ZERO);
        assert_eq!(
            lag_after(&|meter| meter.clock_read(Millis(1_000.0)), 500.0),
            Millis::ZERO
        );
    }
}
