//! One game's time management: the manager and the options around it. What the engine holds.

use super::chain::{Chain, StopperOptions};
use super::facts::MoveFacts;
use super::lag::LagMeter;
use super::manager::{MoveOutcome, TimeManager};
use super::nodestime::NodeClock;
use super::stats::SearchStats;
use super::stopper::StopReason;

/// Keeps the time for one game. Make a new one at `ucinewgame` or when the option `TimeManager` changes.
#[derive(Debug)]
pub struct Timekeeper {
    manager: Box<dyn TimeManager>,
    options: StopperOptions,
    nodestime: NodeClock,
    /// The clock at the first move of the game, ms.
    first_clock_ms: Option<f64>,
    lag: LagMeter,
    /// The GUI's clock at the last `go`, ms.
    clock_ms: Option<f64>,
}

/// Lag may be this much larger than the largest that was seen.
const LAG_MARGIN: f64 = 2.0;

/// A game may always last so many moves longer than expected.
const RESERVE_MOVES: f64 = 40.0;
/// What each of them costs beyond the increment, as a share of the overhead.
const RESERVE_COST: f64 = 0.5;
/// The most that may be kept back for them, as a share of the game's first clock.
const RESERVE_SHARE: f64 = 0.1;

/// How a search ended, as the engine tells it.
#[derive(Clone, Debug)]
pub struct SearchEnd<'a> {
    /// The last figures, counted from `go`, at the moment of `bestmove`.
    pub stats: &'a SearchStats,
    /// Which rule ended it ([`StopReason::Budget`] for the watchdog at the deadline); `None` for `stop`.
    pub reason: Option<StopReason>,
}

impl Timekeeper {
    /// A game's timekeeper.
    pub fn new(manager: Box<dyn TimeManager>, options: StopperOptions) -> Self {
        Timekeeper {
            manager,
            options,
            nodestime: NodeClock::default(),
            first_clock_ms: None,
            lag: LagMeter::default(),
            clock_ms: None,
        }
    }

    /// Takes new options, from the next search on.
    pub fn set_options(&mut self, options: StopperOptions) {
        self.options = options;
    }

    /// Makes the chain of stoppers for a search.
    pub fn start_move(&mut self, facts: &MoveFacts) -> Chain {
        self.clock_ms = facts.limits.time_ms.filter(|_| !facts.limits.infinite);
        if let Some(clock_ms) = self.clock_ms {
            self.lag.clock_read(clock_ms);
        }
        let facts = &self.prepare(facts);
        let stopper = self.manager.start_move(facts);
        Chain::new(facts, &self.options, stopper)
    }

    /// Goes on with a ponder search as a regular one. `facts` are those of this moment: limits without
    /// `ponder`, `reused_nodes` what is in the tree now, `elapsed_ms` since the `ponderhit` line was read.
    /// `stats` are the search's figures, counted from `go` as ever; the chain takes care of the difference.
    pub fn ponder_hit(&mut self, chain: &mut Chain, facts: &MoveFacts, stats: &SearchStats) {
        let facts = &self.prepare(facts);
        let kept_nodes = chain.reused_nodes();
        let stopper = self.manager.ponder_hit(facts, kept_nodes);
        let mut resumed = Chain::new(facts, &self.options, stopper);
        resumed.count_from(stats, facts.elapsed_ms);
        *chain = resumed;
    }

    /// A message for the user that came up since the last call, for an `info string`.
    pub fn take_message(&mut self) -> Option<String> {
        self.manager.take_message()
    }

    /// Tells the manager what became of the move. Call it once per search, after `bestmove`.
    pub fn finish_move(&mut self, chain: &Chain, end: &SearchEnd<'_>) {
        let Some(report) = chain.report() else { return };
        let stats = chain.counted_from_start(end.stats);
        self.nodestime.charge(stats.elapsed_ms, chain.inc_ms());
        if let Some(clock_ms) = self.clock_ms.take() {
            self.lag.move_made(clock_ms, stats.elapsed_ms, chain.inc_ms());
        }
        self.manager.finish_move(&MoveOutcome {
            used_ms: stats.elapsed_ms,
            stats: stats.into_owned(),
            legal_moves: chain.legal_moves(),
            reason: end.reason,
            report,
        });
    }

    /// The facts as managers are to see them: under `nodestime` with the account of nodes in the place of the
    /// clock, and with the reserve for long games.
    fn prepare(&mut self, facts: &MoveFacts) -> MoveFacts {
        let facts = match self.options.nodestime.rate(facts.pieces) {
            Some(_) => self.nodestime.replace_clock(facts),
            None => {
                let overhead_ms = facts.overhead_ms.max(LAG_MARGIN * self.lag.lag_ms());
                MoveFacts { overhead_ms, ..facts.clone() }
            }
        };
        MoveFacts { reserve_ms: self.reserve_ms(&facts), ..facts }
    }

    /// Kept back from every move, ms. Each move costs the clock some lag that no plan sees; without increment
    /// a game that lasts much longer than expected would be lost by that alone. Nothing is kept back where the
    /// increment pays for it, nor before a time control for more moves than are to go.
    fn reserve_ms(&mut self, facts: &MoveFacts) -> f64 {
        let Some((time_ms, inc_ms)) = facts.limits.game_clock() else { return 0.0 };
        let first_clock_ms = *self.first_clock_ms.get_or_insert(time_ms);
        let to_control =
            facts.limits.movestogo.filter(|&n| n > 0).map_or(f64::INFINITY, |n| f64::from(n) - 1.0);
        let cost_ms = (facts.overhead_ms * RESERVE_COST - inc_ms).max(0.0);
        (cost_ms * to_control.min(RESERVE_MOVES)).min(first_clock_ms * RESERVE_SHARE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::limits::GoLimits;
    use crate::time::managers::manager_from;
    use crate::time::nodestime::NodesTimeOptions;
    use crate::time::stats::Hints;

    /// Plays 30 moves at a speed that changes all the time and returns the nodes of each.
    fn game_under_nodestime(manager: &str, speed: impl Fn(u64) -> f64) -> Vec<u64> {
        let nodestime = NodesTimeOptions { nodes_per_ms: 1, dynamic: true };
        let options = StopperOptions { nodestime, ..StopperOptions::default() };
        let mut keeper = Timekeeper::new(manager_from(manager).unwrap(), options);
        let mut nodes_of_moves = Vec::new();
        for i in 0..30 {
            let limits = GoLimits { time_ms: Some(speed(i) * 1e5), inc_ms: 100.0, ..GoLimits::default() };
            let limits = if i == 0 { GoLimits { time_ms: Some(30_000.0), ..limits } } else { limits };
            let (game_ply, pieces) = (2 * i as u32, 32 - i as u32 / 2);
            let facts = MoveFacts {
                limits,
                overhead_ms: 50.0,
                game_ply,
                pieces,
                legal_moves: 30,
                ..MoveFacts::default()
            };
            let mut chain = keeper.start_move(&facts);
            let mut hints = Hints::default();
            let mut stats = SearchStats::default();
            let reason = loop {
                stats.new_nodes += 7;
                stats.nodes += 7;
                stats.batches += 1;
                stats.elapsed_ms += speed(i + stats.new_nodes);
                stats.since_first_eval_ms = Some(stats.elapsed_ms);
                stats.root_visits = vec![(stats.nodes / 2) as u32; 2];
                if let Some(reason) = chain.should_stop(&stats, &mut hints) {
                    break reason;
                }
            };
            keeper.finish_move(&chain, &SearchEnd { stats: &stats, reason: Some(reason) });
            nodes_of_moves.push(stats.new_nodes);
        }
        nodes_of_moves
    }

    #[test]
    fn long_games_without_increment_keep_a_reserve() {
        let reserve = |time_ms, inc_ms, movestogo| {
            let limits = GoLimits { time_ms: Some(time_ms), inc_ms, movestogo, ..GoLimits::default() };
            let facts = MoveFacts { limits, overhead_ms: 50.0, ..MoveFacts::default() };
            Timekeeper::new(manager_from("smooth").unwrap(), StopperOptions::default()).reserve_ms(&facts)
        };
        // 40 moves at 50/2 ms
        assert_eq!(reserve(300_000.0, 0.0, None), 1_000.0);
        assert_eq!(reserve(3_000.0, 0.0, None), 300.0, "a tenth of the first clock");
        assert_eq!(reserve(300_000.0, 600.0, None), 0.0, "the increment pays");
        assert_eq!(reserve(300_000.0, 10.0, None), 600.0);
        assert_eq!(reserve(300_000.0, 0.0, Some(3)), 50.0);
        assert_eq!(reserve(300_000.0, 0.0, Some(1)), 0.0);
    }

    #[test]
    fn the_same_game_at_any_speed_under_every_manager() {
        for manager in ["smooth", "smooth(preset=lc0)", "legacy", "alphazero", "simple", "stockfish", "argo"]
        {
            let steady = game_under_nodestime(manager, |_| 1.0);
            let jumpy = game_under_nodestime(manager, |n| 0.1 + (n % 13) as f64);
            assert_eq!(steady, jumpy, "{manager}");
            let total: u64 = steady.iter().sum();
            // The account: 30,000 nodes and 100 after each move, up to half as much again by the dynamic rate.
            assert!(total <= 33_000 * 3 / 2, "{manager} {total}");
        }
    }
}
