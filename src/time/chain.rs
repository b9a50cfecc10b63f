//! All rules that may end a search, in their order.

use super::facts::MoveFacts;
use super::report::MoveReport;
use super::smart_pruning::SmartPruning;
use super::stats::{Hints, SearchStats};
use super::stopper::{StopReason, Stopper};
use super::stoppers::{DepthLimit, KldGain, MateLimit, MemoryLimit, MoveTime, NodeLimit, PlayoutLimit};

/// The UCI options that shape the chain.
#[derive(Clone, Debug, PartialEq)]
pub struct StopperOptions {
    /// `SmartPruningFactor`; 0 switches smart pruning off.
    pub smart_pruning_factor: f64,
    /// `SmartPruningMinimumBatches`.
    pub smart_pruning_minimum_batches: u64,
    /// `RamLimitMb` in bytes; 0 is no limit.
    pub memory_limit_bytes: u64,
    /// `NodesAsPlayouts`: `go nodes` counts playouts of this search instead of visits in the tree.
    pub nodes_as_playouts: bool,
    /// `MinimumKLDGainPerNode`; 0 switches the rule off.
    pub minimum_kld_gain: f64,
    /// `KLDGainAverageInterval`, nodes.
    pub kld_gain_interval: u64,
}

impl Default for StopperOptions {
    fn default() -> Self {
        StopperOptions {
            smart_pruning_factor: 1.33,
            smart_pruning_minimum_batches: 0,
            memory_limit_bytes: 0,
            nodes_as_playouts: false,
            minimum_kld_gain: 0.0,
            kld_gain_interval: 100,
        }
    }
}

/// Where counting began, for searches that began as ponder searches.
#[derive(Clone, Copy, Debug, Default)]
struct Origin {
    elapsed_ms: f64,
    new_nodes: u64,
    batches: u64,
}

/// The rules of one search. The search asks it after every batch, the watchdog in between.
#[derive(Debug)]
pub struct Chain {
    stoppers: Vec<Box<dyn Stopper>>,
    origin: Origin,
    open_ended: bool,
    legal_moves: u32,
    reused_nodes: u64,
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
        } else if options.memory_limit_bytes > 0 {
            stoppers.push(Box::new(MemoryLimit::new(options.memory_limit_bytes)));
        }
        Chain {
            stoppers,
            origin: Origin::default(),
            open_ended,
            legal_moves: facts.legal_moves,
            reused_nodes: facts.reused_nodes,
        }
    }

    /// Asks every rule in turn until one wants to stop. `hints` are reset first and tightened on the way.
    pub fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        *hints = Hints::default();
        let stats = self.counted_from_start(stats);
        self.stoppers.iter_mut().find_map(|stopper| stopper.should_stop(&stats, hints))
    }

    /// The moment, ms since `go`, by which `bestmove` must be out even if a batch is in flight; `None` if no
    /// clock is watched. Ask again after every [`Chain::should_stop`]: managers revise their budgets.
    pub fn deadline_ms(&self) -> Option<f64> {
        let deadlines = self.stoppers.iter().filter_map(|stopper| stopper.deadline_ms());
        deadlines.reduce(f64::min).map(|ms| ms + self.origin.elapsed_ms)
    }

    /// True while `bestmove` must be held back until `stop` or `ponderhit`, even if the chain says stop
    /// (which then only memory can make it do).
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
        self.origin = Origin {
            elapsed_ms: (stats.elapsed_ms - since_ms).max(0.0),
            new_nodes: stats.new_nodes,
            batches: stats.batches,
        };
    }

    /// `stats` as counted from the moment when our clock began to run.
    pub(super) fn counted_from_start(&self, stats: &SearchStats) -> SearchStats {
        let elapsed_ms = (stats.elapsed_ms - self.origin.elapsed_ms).max(0.0);
        SearchStats {
            elapsed_ms,
            since_first_eval_ms: stats.since_first_eval_ms.map(|ms| ms.min(elapsed_ms)),
            new_nodes: stats.new_nodes.saturating_sub(self.origin.new_nodes),
            batches: stats.batches.saturating_sub(self.origin.batches),
            ..stats.clone()
        }
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
    if options.memory_limit_bytes > 0 {
        stoppers.push(Box::new(MemoryLimit::new(options.memory_limit_bytes)));
    }
    if let Some(ms) = facts.limits.movetime_ms {
        stoppers.push(Box::new(MoveTime::new(ms, facts.overhead_ms)));
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
