//! All rules that may end a search, in their order.

use std::borrow::Cow;

use super::facts::MoveFacts;
use super::nodestime::NodesTimeOptions;
use super::report::MoveReport;
use super::smart_pruning::SmartPruning;
use super::stats::{Hints, SearchStats};
use super::stopper::{StopReason, Stopper};
use super::stoppers::{DepthLimit, KldGain, MateLimit, MoveTimeLimit, NodeLimit, PlayoutLimit};
use crate::options::option_group;

option_group! {
    /// The options of the rules that end a search.
    pub struct StopperOptions {
        /// Nodes in the place of time.
        nodestime: NodesTimeOptions;
        /// Stop when the best move cannot be overtaken in the remaining visits divided by this; 0 is off.
        smart_pruning_factor: f64 = 1.33, in 0.0..=10.0, "SmartPruningFactor", "smart-pruning-factor";
        /// Batches before smart pruning may stop a search.
        smart_pruning_minimum_batches: u64 = 0, in 0..=10_000, "SmartPruningMinimumBatches", "smart-pruning-minimum-batches";
        /// Stop when a node changes the distribution of visits by less than this; 0 is off.
        minimum_kld_gain: f64 = 0.0, in 0.0..=1.0, "MinimumKLDGainPerNode", "minimum-kldgain-per-node";
        /// Nodes between two looks at that change.
        kld_gain_interval: u64 = 100, in 1..=10_000_000, "KLDGainAverageInterval", "kldgain-average-interval";
        /// `go nodes` counts the visits of this search only, not those kept from earlier ones.
        nodes_as_playouts: bool = false, "NodesAsPlayouts", "nodes-as-playouts";
    }
}

/// Where counting began, for searches that began as ponder searches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct StatsOffset {
    elapsed_ms: f64,
    new_nodes: u64,
    batches: u64,
}

/// The rules of one search. The search asks it after every batch, the watchdog in between.
#[derive(Debug)]
pub struct Chain {
    stoppers: Vec<Box<dyn Stopper>>,
    offset: StatsOffset,
    open_ended: bool,
    legal_moves: u32,
    reused_nodes: u64,
    inc_ms: f64,
    /// Under `nodestime`: nodes that pass for one ms.
    nodes_per_ms: Option<f64>,
    /// What the clock shows, or the account in its place, ms.
    clock_ms: Option<f64>,
}

impl Chain {
    /// Puts the rules for `facts` in their order around the manager's own.
    pub fn new(facts: &MoveFacts, options: &StopperOptions, managers: Option<Box<dyn Stopper>>) -> Chain {
        let open_ended = facts.limits.is_open_ended();
        let mut stoppers: Vec<Box<dyn Stopper>> = Vec::new();
        if !open_ended {
            push_limits_before_manager(&mut stoppers, facts, options);
            stoppers.extend(managers);
            push_limits_after_manager(&mut stoppers, facts, options);
        }
        Chain {
            stoppers,
            offset: StatsOffset::default(),
            open_ended,
            legal_moves: facts.legal_moves,
            reused_nodes: facts.reused_nodes,
            inc_ms: facts.limits.inc_ms.max(0.0),
            nodes_per_ms: options.nodestime.rate(facts.pieces),
            clock_ms: facts.limits.game_clock().map(|(time_ms, _)| time_ms),
        }
    }

    /// Asks every rule in turn until one wants to stop. `hints` are reset first and tightened on the way.
    pub fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        *hints = Hints::default();
        let stats = self.counted_from_start(stats);
        let reason = self.stoppers.iter_mut().find_map(|stopper| stopper.should_stop(&stats, hints));
        if let Some(nodes_per_ms) = self.nodes_per_ms {
            // What is left is nodes, not time: batches must not depend on how fast the machine is.
            let nodes_left = hints.remaining_ms * nodes_per_ms;
            hints.limit_remaining_playouts(nodes_left);
            hints.remaining_ms = f64::INFINITY;
        }
        reason
    }

    /// The moment, ms since `go`, by which `bestmove` must be out even if a batch is in flight; `None` if no
    /// clock is watched, as under `nodestime`. Ask again after every [`Chain::should_stop`]: managers revise
    /// their budgets.
    pub fn deadline_ms(&self) -> Option<f64> {
        if self.nodes_per_ms.is_some() {
            return None;
        }
        let deadlines = self.stoppers.iter().filter_map(|stopper| stopper.deadline_ms());
        deadlines.reduce(f64::min).map(|ms| ms + self.offset.elapsed_ms)
    }

    /// Under `nodestime`: new nodes that the account allows at most, at least one; what [`Chain::deadline_ms`] is to a real
    /// clock. `None` where no nodes are counted.
    pub fn max_new_nodes(&self) -> Option<u64> {
        // Rounded up, so that the account is empty when all are made.
        self.nodes_per_ms.zip(self.clock_ms).map(|(rate, clock_ms)| ((rate * clock_ms).ceil() as u64).max(1))
    }

    /// True under `nodestime`: what has passed depends on nodes alone.
    pub fn counts_nodes_as_time(&self) -> bool {
        self.nodes_per_ms.is_some()
    }

    /// True while `bestmove` must be held back until `stop` or `ponderhit`, even if the chain says stop
    /// (which the reserve of visits alone can make it do).
    pub fn is_open_ended(&self) -> bool {
        self.open_ended
    }

    /// The manager's figures on this move; `None` where no clock is watched.
    pub fn report(&self) -> Option<MoveReport> {
        self.stoppers.iter().find_map(|stopper| stopper.report())
    }

    /// Legal moves at the root.
    pub(super) fn legal_moves(&self) -> u32 {
        self.legal_moves
    }

    /// Nodes that were in the tree when the search began.
    pub(super) fn reused_nodes(&self) -> u64 {
        self.reused_nodes
    }

    /// From now on the clock, new nodes and batches count from `stats`, taken `since_ms` after the new start.
    pub(super) fn count_from(&mut self, stats: &SearchStats, since_ms: f64) {
        self.offset = StatsOffset {
            elapsed_ms: (stats.elapsed_ms - since_ms).max(0.0),
            new_nodes: stats.new_nodes,
            batches: stats.batches,
        };
    }

    /// The mover's increment, ms.
    pub(super) fn inc_ms(&self) -> f64 {
        self.inc_ms
    }

    /// `stats` as counted from the moment when our clock began to run; under `nodestime` in the time that the
    /// new nodes stand for.
    pub(super) fn counted_from_start<'a>(&self, stats: &'a SearchStats) -> Cow<'a, SearchStats> {
        if self.nodes_per_ms.is_none() && self.offset == StatsOffset::default() {
            return Cow::Borrowed(stats);
        }
        let new_nodes = stats.new_nodes.saturating_sub(self.offset.new_nodes);
        let elapsed_ms = match self.nodes_per_ms {
            Some(nodes_per_ms) => new_nodes as f64 / nodes_per_ms,
            None => (stats.elapsed_ms - self.offset.elapsed_ms).max(0.0),
        };
        let since_first_eval_ms = match self.nodes_per_ms {
            Some(_) => stats.since_first_eval_ms.map(|_| elapsed_ms),
            None => stats.since_first_eval_ms.map(|ms| ms.min(elapsed_ms)),
        };
        Cow::Owned(SearchStats {
            elapsed_ms,
            since_first_eval_ms,
            new_nodes,
            batches: stats.batches.saturating_sub(self.offset.batches),
            ..stats.clone()
        })
    }
}

fn push_limits_before_manager(
    stoppers: &mut Vec<Box<dyn Stopper>>,
    facts: &MoveFacts,
    options: &StopperOptions,
) {
    match facts.limits.nodes {
        Some(nodes) if options.nodes_as_playouts => stoppers.push(Box::new(PlayoutLimit::new(nodes))),
        Some(nodes) => stoppers.push(Box::new(NodeLimit::new(nodes))),
        None => {}
    }
    if let Some(ms) = facts.limits.movetime_ms {
        stoppers.push(Box::new(MoveTimeLimit::new(ms, facts.overhead_ms)));
    }
}

fn push_limits_after_manager(
    stoppers: &mut Vec<Box<dyn Stopper>>,
    facts: &MoveFacts,
    options: &StopperOptions,
) {
    if let Some(depth) = facts.limits.depth {
        stoppers.push(Box::new(DepthLimit::new(depth)));
    }
    if let Some(moves) = facts.limits.mate {
        // A search for mate goes on until it is found: no rule may call it hopeless.
        stoppers.push(Box::new(MateLimit::new(moves)));
        return;
    }
    if options.minimum_kld_gain > 0.0 {
        stoppers.push(Box::new(KldGain::new(options.minimum_kld_gain, options.kld_gain_interval)));
    }
    if options.smart_pruning_factor > 0.0 {
        let batches = options.smart_pruning_minimum_batches;
        let pruning = SmartPruning::new(options.smart_pruning_factor, batches, facts.legal_moves);
        stoppers.push(Box::new(pruning));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::limits::GoLimits;

    fn chain(limits: GoLimits, options: &StopperOptions) -> Chain {
        Chain::new(&MoveFacts { limits, legal_moves: 20, ..MoveFacts::default() }, options, None)
    }

    fn stats(elapsed_ms: f64, nodes: u64) -> SearchStats {
        SearchStats {
            elapsed_ms,
            since_first_eval_ms: Some(elapsed_ms),
            nodes,
            new_nodes: nodes,
            playouts: nodes,
            root_visits: vec![nodes as u32 / 2; 2],
            ..SearchStats::default()
        }
    }

    #[test]
    fn smart_pruning_reads_the_hints_of_those_before_it() {
        let limits = GoLimits { nodes: Some(1_000), ..GoLimits::default() };
        let mut chain = chain(limits, &StopperOptions::default());
        let mut hints = Hints::default();
        assert_eq!(chain.should_stop(&stats(300.0, 800), &mut hints), None);
        // 200 nodes are left; 200/1.33 < 600 − 150.
        let decided = SearchStats { root_visits: vec![600, 150], ..stats(300.0, 800) };
        assert_eq!(chain.should_stop(&decided, &mut hints), Some(StopReason::SmartPruning));
        assert_eq!(chain.should_stop(&stats(300.0, 1_000), &mut hints), Some(StopReason::Nodes));
    }

    #[test]
    fn open_ended_searches_do_not_end_by_themselves() {
        for limits in [
            GoLimits { infinite: true, nodes: Some(1), depth: Some(1), ..GoLimits::default() },
            GoLimits { ponder: true, movetime_ms: Some(1.0), mate: Some(9), ..GoLimits::default() },
        ] {
            let mut chain = chain(limits, &StopperOptions::default());
            let won = SearchStats { proven_win: true, mate_in: Some(1), depth: 99, ..stats(1e9, 1_000_000) };
            assert_eq!(chain.should_stop(&won, &mut Hints::default()), None);
            assert!(chain.is_open_ended() && chain.deadline_ms().is_none());
        }
    }

    #[test]
    fn a_search_for_mate_is_not_pruned() {
        let limits = GoLimits { mate: Some(3), ..GoLimits::default() };
        let mut chain = chain(limits, &StopperOptions::default());
        let found = |mate_in| SearchStats { proven_win: true, mate_in, ..stats(1_000.0, 100) };
        assert_eq!(chain.should_stop(&found(Some(4)), &mut Hints::default()), None);
        assert_eq!(chain.should_stop(&found(Some(3)), &mut Hints::default()), Some(StopReason::Mate));
    }

    #[test]
    fn the_nearest_deadline_counts() {
        let limits = GoLimits { movetime_ms: Some(500.0), ..GoLimits::default() };
        assert_eq!(chain(limits, &StopperOptions::default()).deadline_ms(), Some(500.0));
        assert_eq!(chain(GoLimits::default(), &StopperOptions::default()).deadline_ms(), None);
    }

    #[test]
    fn under_nodestime_only_nodes_pass() {
        let nodestime = NodesTimeOptions { nodes_per_ms: 10, dynamic: false };
        let options = StopperOptions { nodestime, smart_pruning_factor: 0.0, ..StopperOptions::default() };
        let limits = GoLimits { movetime_ms: Some(100.0), ..GoLimits::default() };
        let clock = |time_ms| GoLimits { time_ms: Some(time_ms), ..GoLimits::default() };
        let most_nodes = |time_ms| chain(clock(time_ms), &options).max_new_nodes();
        assert_eq!((most_nodes(1.23), most_nodes(0.0)), (Some(13), Some(1)));
        let mut chain = chain(limits, &options);
        assert_eq!(chain.max_new_nodes(), None);
        let mut hints = Hints::default();
        assert_eq!(chain.should_stop(&stats(1e6, 999), &mut hints), None, "the real clock is ignored");
        assert_eq!(chain.deadline_ms(), None);
        assert!((hints.remaining_playouts - 1.0).abs() < 1e-6 && hints.remaining_ms.is_infinite());
        assert_eq!(chain.should_stop(&stats(0.1, 1_000), &mut hints), Some(StopReason::MoveTime));
    }
}
