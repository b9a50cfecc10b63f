//! The rules that end a search by one limit each.

use std::fmt;

use super::facts::MoveFacts;
use super::report::MoveReport;
use super::stats::{Hints, SearchStats};
use super::units::{Millis, Nodes};
use crate::options::option_choice;

option_choice! {
    /// Why a rule ended a search, by its word in reports and recorded games.
    #[derive(Hash)]
    #[expect(missing_docs, reason = "the words say it")]
    pub enum StopReason {
        Nodes = "nodes",
        MoveTime = "movetime",
        Budget = "budget",
        TargetNodes = "target-nodes",
        /// The manager expects no gain from more time.
        Settled = "settled",
        Depth = "depth",
        /// `go mate` found the mate, or there is none.
        Mate = "mate",
        KldGain = "kld-gain",
        SmartPruning = "smart-pruning",
        OnlyMove = "only-move",
        ProvenWin = "proven-win",
        OthersLose = "others-lose",
        ProvenResult = "proven-result",
    }
}

/// A rule that may end a search. It lives for one search.
pub trait Stopper: Send + fmt::Debug {
    /// Why the search should end now. Tightens `hints`.
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason>;

    /// As [`Chain::deadline`](super::Chain::deadline).
    fn deadline(&self) -> Option<Millis> {
        None
    }

    /// How the budget was made. `None` for rules without one.
    fn report(&self) -> Option<MoveReport> {
        None
    }
}

/// Share of the clock that the wait for the first evaluation may take.
const GRACE_SHARE: f64 = 0.1;
/// On a nearly empty clock, within half of it: a tenth would be over before any thread starts.
const LEAST_GRACE: Millis = Millis(5.0);

/// Lets a search exceed its budget until its first evaluation is back: a move without any loses games, a
/// tenth of the clock does not. Where the root is known, only one near zero is exceeded.
#[derive(Clone, Debug)]
pub(crate) struct FirstEvaluationWait {
    grace: Millis,
    pub(crate) is_over: bool,
}

impl FirstEvaluationWait {
    pub(crate) fn new(facts: &MoveFacts) -> Self {
        let clock = facts.limit.mover_clock().unwrap_or_default();
        let least = LEAST_GRACE.min(clock.time / 2.0);
        let share = (clock.time - facts.reserve).max(Millis::ZERO) * GRACE_SHARE;
        // Loading was part of the move, for which half of the clock may go.
        let after_loading = (clock.time - facts.loading) / 2.0;
        let has_loaded = facts.loading > Millis::ZERO;
        let share = if has_loaded {
            share.max(after_loading)
        } else {
            share
        };
        let grace = if facts.root.is_some() {
            least
        } else {
            share.max(least)
        };
        FirstEvaluationWait {
            grace,
            is_over: false,
        }
    }

    pub(crate) fn observe(&mut self, stats: &SearchStats) {
        self.is_over |= stats.since_first_eval.is_some();
    }

    pub(crate) fn extend(&self, budget: Millis) -> Millis {
        if self.is_over {
            budget
        } else {
            budget.max(self.grace)
        }
    }
}

/// Ends a search at its budget, and later if no evaluation has come back by then.
#[derive(Clone, Debug)]
pub struct BudgetLimit {
    report: MoveReport,
    wait: FirstEvaluationWait,
}

impl BudgetLimit {
    /// `report` names the budget, counted from `go`.
    pub fn new(facts: &MoveFacts, report: MoveReport) -> Self {
        BudgetLimit {
            report,
            wait: FirstEvaluationWait::new(facts),
        }
    }
}

impl Stopper for BudgetLimit {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        self.wait.observe(stats);
        let deadline = self.deadline()?;
        hints.limit_remaining_time(deadline - stats.elapsed);
        (stats.elapsed >= deadline).then_some(StopReason::Budget)
    }

    fn deadline(&self) -> Option<Millis> {
        Some(self.wait.extend(self.report.budget))
    }

    fn report(&self) -> Option<MoveReport> {
        Some(self.report.clone())
    }
}

#[derive(Debug)]
pub(crate) struct NodeLimit {
    pub(crate) limit: Nodes,
    /// Counts visits in the tree, otherwise playouts of this search.
    pub(crate) counts_reused: bool,
}

impl Stopper for NodeLimit {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        let done = if self.counts_reused {
            stats.nodes
        } else {
            stats.new_nodes
        };
        hints.limit_remaining_visits(self.limit.saturating_sub(done).as_f64());
        (done >= self.limit).then_some(StopReason::Nodes)
    }
}

/// Kept from `movetime` for the way to the GUI, beside the lag measured …
const MOVETIME_RESERVE: Millis = Millis(10.0);
/// … at most this share of it. Lag takes at most half.
const LARGEST_RESERVE: f64 = 0.1;

#[derive(Debug)]
pub(crate) struct MoveTimeLimit {
    limit: Millis,
}

impl MoveTimeLimit {
    /// Without a `lag`, the answer's way to the GUI, no reserve is kept.
    pub(crate) fn new(movetime: Millis, lag: Option<Millis>) -> Self {
        let kept = |lag: Millis| lag.min(movetime / 2.0) + MOVETIME_RESERVE.min(movetime * LARGEST_RESERVE);
        MoveTimeLimit {
            limit: (movetime - lag.map_or(Millis::ZERO, kept)).max(Millis::ZERO),
        }
    }
}

impl Stopper for MoveTimeLimit {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        hints.limit_remaining_time(self.limit - stats.elapsed);
        (stats.elapsed >= self.limit).then_some(StopReason::MoveTime)
    }

    fn deadline(&self) -> Option<Millis> {
        Some(self.limit)
    }
}

/// Also stops when the result is certain.
#[derive(Debug)]
pub(crate) struct DepthLimit {
    pub(crate) depth: u32,
    /// False if several lines are searched.
    pub(crate) ends_with_proof: bool,
}

impl Stopper for DepthLimit {
    fn should_stop(&mut self, stats: &SearchStats, _: &mut Hints) -> Option<StopReason> {
        let is_certain = self.ends_with_proof && stats.root_is_certain;
        (stats.depth >= self.depth || is_certain || stats.is_exhausted()).then_some(StopReason::Depth)
    }
}

#[derive(Debug)]
pub(crate) struct MateLimit {
    pub(crate) moves: u32,
}

impl Stopper for MateLimit {
    fn should_stop(&mut self, stats: &SearchStats, _: &mut Hints) -> Option<StopReason> {
        let is_found = stats.has_mate_in(self.moves);
        // A proven longer mate may still give way to a shorter one.
        let is_decided = stats.mate_in.is_none() && stats.root_is_certain;
        let is_hopeless = is_decided || stats.is_exhausted() || self.moves == 0;
        (is_found || is_hopeless).then_some(StopReason::Mate)
    }
}

/// Stops when the root's visit distribution has settled.
///
/// The gain is the divergence, Σ p·ln(p/q) with p old and q new, per node made in between (Lc0's rule and
/// units).
#[derive(Debug)]
pub(crate) struct KldGain {
    minimum: f64,
    interval: u64,
    earlier: Vec<u32>,
}

impl KldGain {
    pub(crate) fn new(minimum: f64, interval: u64) -> Self {
        KldGain {
            minimum,
            interval,
            earlier: Vec::new(),
        }
    }
}

impl Stopper for KldGain {
    fn should_stop(&mut self, stats: &SearchStats, _: &mut Hints) -> Option<StopReason> {
        let before: u64 = total(&self.earlier);
        let now: u64 = total(&stats.race_visits);
        if now < before + self.interval {
            return None;
        }
        // New moves are appended.
        let gain =
            (before > 0).then(|| divergence(&self.earlier, &stats.race_visits) / (now - before) as f64);
        self.earlier.clone_from(&stats.race_visits);
        gain.is_some_and(|gain| gain < self.minimum)
            .then_some(StopReason::KldGain)
    }
}

fn total(visits: &[u32]) -> u64 {
    visits.iter().map(|&n| u64::from(n)).sum()
}

/// p and q are shares of the visits in `old` and `new`.
fn divergence(old: &[u32], new: &[u32]) -> f64 {
    let (old_total, new_total) = (total(old) as f64, total(new) as f64);
    let share = |n: u32, total: f64| f64::from(n) / total;
    let visited = old.iter().zip(new).filter(|(p, q)| **p > 0 && **q > 0);
    visited
        .map(|(&p, &q)| share(p, old_total) * (share(p, old_total) / share(q, new_total)).ln())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::facts::{Limit, RootEvaluation};
    use crate::time::units::Nodes;

    fn stats(elapsed: f64, since_first_eval: Option<f64>) -> SearchStats {
        let (elapsed, since_first_eval) = (Millis(elapsed), since_first_eval.map(Millis));
        SearchStats {
            elapsed,
            since_first_eval,
            ..SearchStats::default()
        }
    }

    #[test]
    fn stops_when_the_budget_is_spent_and_tells_what_is_left() {
        let report = MoveReport {
            budget: Millis(100.0),
            ..MoveReport::default()
        };
        let mut budget = BudgetLimit::new(&MoveFacts::default(), report);
        let mut hints = Hints::default();
        assert_eq!(budget.should_stop(&stats(60.0, Some(1.0)), &mut hints), None);
        assert_eq!(hints.remaining_time, Millis(40.0));
        assert_eq!(
            budget.should_stop(&stats(100.0, Some(41.0)), &mut hints),
            Some(StopReason::Budget)
        );
        assert_eq!(budget.deadline(), Some(Millis(100.0)));
    }

    #[test]
    fn waits_a_tenth_of_the_clock_for_the_first_evaluation() {
        let limit = Limit::clock(Millis(120.0), Millis::ZERO);
        let facts = MoveFacts {
            limit,
            overhead: Millis(200.0),
            ..MoveFacts::default()
        };
        let mut budget = BudgetLimit::new(&facts, MoveReport::default());
        let mut hints = Hints::default();
        assert_eq!(budget.deadline(), Some(Millis(12.0)));
        assert_eq!(budget.should_stop(&stats(10.0, None), &mut hints), None);
        assert_eq!(
            budget.should_stop(&stats(11.0, Some(0.1)), &mut hints),
            Some(StopReason::Budget)
        );
        let mut late = BudgetLimit::new(&facts, MoveReport::default());
        assert_eq!(
            late.should_stop(&stats(12.0, None), &mut hints),
            Some(StopReason::Budget)
        );
    }

    /// A regression: a move with a kept tree waited for a batch, too.
    #[test]
    fn a_root_that_is_evaluated_already_is_not_waited_for() {
        let deadline = |budget: f64| {
            let limit = Limit::clock(Millis(6_000.0), Millis::ZERO);
            let facts = MoveFacts {
                limit,
                root: Some(RootEvaluation::default()),
                ..MoveFacts::default()
            };
            let report = MoveReport {
                budget: Millis(budget),
                ..MoveReport::default()
            };
            let mut stopper = BudgetLimit::new(&facts, report);
            assert_eq!(
                stopper.should_stop(&stats(4.0, None), &mut Hints::default()),
                None
            );
            stopper.deadline()
        };
        assert_eq!(deadline(89.0), Some(Millis(89.0)));
        assert_eq!(deadline(0.0), Some(LEAST_GRACE));
    }

    #[test]
    fn a_slow_network_is_waited_for_where_the_clock_has_the_time() {
        let limit = Limit::clock(Millis(10_000.0), Millis::ZERO);
        let facts = MoveFacts {
            limit,
            overhead: Millis(200.0),
            ..MoveFacts::default()
        };
        let report = MoveReport {
            budget: Millis(200.0),
            ..MoveReport::default()
        };
        let mut budget = BudgetLimit::new(&facts, report);
        assert_eq!(
            budget.should_stop(&stats(400.0, None), &mut Hints::default()),
            None
        );
        let evaluated = stats(401.0, Some(0.5));
        assert_eq!(
            budget.should_stop(&evaluated, &mut Hints::default()),
            Some(StopReason::Budget)
        );
    }

    /// 10 s at `go`, of which loading took 3 s: half of them may go before the first evaluation.
    #[test]
    fn after_loading_half_of_the_clock_may_go_for_the_first_evaluation() {
        let limit = Limit::clock(Millis(7_000.0), Millis::ZERO);
        let facts = MoveFacts {
            limit,
            loading: Millis(3_000.0),
            ..MoveFacts::default()
        };
        assert_eq!(
            FirstEvaluationWait::new(&facts).extend(Millis(300.0)),
            Millis(2_000.0)
        );
    }

    #[test]
    fn visits_and_playouts_are_told_apart() {
        let stats = SearchStats {
            nodes: Nodes(100),
            new_nodes: Nodes(60),
            ..SearchStats::default()
        };
        let ask = |mut limit: NodeLimit, hints: &mut Hints| limit.should_stop(&stats, hints);
        let mut hints = Hints::default();
        assert_eq!(
            ask(
                NodeLimit {
                    limit: Nodes(100),
                    counts_reused: true
                },
                &mut hints
            ),
            Some(StopReason::Nodes)
        );
        let mut hints = Hints::default();
        assert_eq!(
            ask(
                NodeLimit {
                    limit: Nodes(100),
                    counts_reused: false
                },
                &mut hints
            ),
            None
        );
        assert_eq!(hints.remaining_visits.0, 40.0);
    }

    /// A regression: the overhead of a clock halved a short `movetime`.
    #[test]
    fn a_fixed_time_is_used_but_for_lag_and_a_small_reserve() {
        let deadline = |movetime, lag: Option<f64>| {
            MoveTimeLimit::new(Millis(movetime), lag.map(Millis))
                .deadline()
                .unwrap()
                .0
        };
        assert_eq!(
            [400.0, 100.0, 50.0].map(|time| deadline(time, Some(0.0))),
            [390.0, 90.0, 45.0]
        );
        assert_eq!(
            [400.0, 100.0].map(|time| deadline(time, Some(120.0))),
            [270.0, 40.0]
        );
        assert_eq!(deadline(-1.0, Some(0.0)), 0.0);
        assert_eq!(deadline(100.0, None), 100.0, "nodes as time");
        let mut stopper = MoveTimeLimit::new(Millis(300.0), Some(Millis(20.0)));
        let mut hints = Hints::default();
        assert_eq!(stopper.should_stop(&stats(269.0, None), &mut hints), None);
        assert_eq!(hints.remaining_time, Millis(1.0));
        assert_eq!(
            stopper.should_stop(&stats(270.0, None), &mut hints),
            Some(StopReason::MoveTime)
        );
    }

    fn depth_limit() -> DepthLimit {
        DepthLimit {
            depth: 5,
            ends_with_proof: true,
        }
    }

    #[test]
    fn stops_at_its_depth() {
        let at = |depth| SearchStats {
            depth,
            ..SearchStats::default()
        };
        assert_eq!(depth_limit().should_stop(&at(4), &mut Hints::default()), None);
        assert_eq!(
            depth_limit().should_stop(&at(5), &mut Hints::default()),
            Some(StopReason::Depth)
        );
        let certain = SearchStats {
            root_is_certain: true,
            ..at(2)
        };
        assert_eq!(
            depth_limit().should_stop(&certain, &mut Hints::default()),
            Some(StopReason::Depth)
        );
    }

    #[test]
    fn stops_where_all_lines_soon_end() {
        let with = |new_nodes, terminal_visits| {
            let stats = SearchStats {
                depth: 2,
                new_nodes: Nodes(new_nodes),
                terminal_visits: Nodes(terminal_visits),
                ..SearchStats::default()
            };
            depth_limit().should_stop(&stats, &mut Hints::default())
        };
        assert_eq!(with(1000, 999), None);
        assert_eq!(with(30_000, 28_000), None);
        assert_eq!(with(30_000, 29_000), Some(StopReason::Depth));
    }

    #[test]
    fn stops_at_short_mates_only() {
        let with = |mate_in| SearchStats {
            mate_in,
            ..SearchStats::default()
        };
        let mut stopper = MateLimit { moves: 3 };
        assert_eq!(stopper.should_stop(&with(None), &mut Hints::default()), None);
        assert_eq!(stopper.should_stop(&with(Some(4)), &mut Hints::default()), None);
        assert_eq!(
            stopper.should_stop(&with(Some(3)), &mut Hints::default()),
            Some(StopReason::Mate)
        );
        let drawn = SearchStats {
            root_is_certain: true,
            ..SearchStats::default()
        };
        assert_eq!(
            stopper.should_stop(&drawn, &mut Hints::default()),
            Some(StopReason::Mate),
            "there is none"
        );
        let end = MateLimit { moves: 0 }.should_stop(&with(None), &mut Hints::default());
        assert_eq!(end, Some(StopReason::Mate), "no mate is as short");
    }

    fn visited(visits: &[u32]) -> SearchStats {
        SearchStats {
            race_visits: visits.into(),
            ..SearchStats::default()
        }
    }

    #[test]
    fn divergence_by_hand() {
        // Old 50:50, new 75:25 of 100 and 200: 0.5·ln(0.5/0.75) + 0.5·ln(0.5/0.25)
        // = 0.5·(-0.405465) + 0.5·0.693147 = 0.143841
        assert!((divergence(&[50, 50], &[150, 50]) - 0.143_841).abs() < 1e-6);
    }

    #[test]
    fn stops_when_the_distribution_has_settled() {
        let mut stopper = KldGain::new(1e-4, 100);
        let mut ask = |visits| stopper.should_stop(&visited(visits), &mut Hints::default());
        assert_eq!(ask(&[50, 50]), None);
        assert_eq!(ask(&[80, 60]), None, "the interval is not over");
        assert_eq!(ask(&[150, 50]), None, "a gain of 0.1438 in 100 nodes");
        assert_eq!(
            ask(&[225, 75]),
            Some(StopReason::KldGain),
            "the same shares again"
        );
    }

    /// A regression: a check was skipped whenever a new move had been tried.
    #[test]
    fn a_new_move_does_not_hide_that_the_others_have_settled() {
        let mut stopper = KldGain::new(1e-4, 100);
        let mut ask = |visits| stopper.should_stop(&visited(visits), &mut Hints::default());
        assert_eq!(ask(&[75, 25]), None);
        assert_eq!(ask(&[150, 50, 1]), Some(StopReason::KldGain));
    }
}
