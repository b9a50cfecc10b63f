//! The rules that may end a search. Each sees the hints of those before it.

use std::borrow::Cow;

use super::facts::{MoveFacts, MoverClock};
use super::nodestime::{NodesPerMilli, NodesTimeOptions};
use super::report::MoveReport;
use super::smart_pruning::SmartPruning;
use super::stats::{Hints, SearchStats};
use super::stoppers::{DepthLimit, KldGain, MateLimit, MoveTimeLimit, NodeLimit, StopReason, Stopper};
use super::units::{Millis, Nodes};
use crate::options::option_group;

option_group! {
    /// The options of the rules that end a search.
    pub struct StopperOptions {
        /// Nodes as time.
        nodestime: NodesTimeOptions;
        /// Stop when no move can overtake the best move in the remaining visits divided by this factor. 0
        /// turns smart pruning off.
        smart_pruning_factor: f64 = 1.33, in 0.0..=10.0, "SmartPruningFactor", "smart-pruning-factor";
        /// Minimum number of batches before smart pruning can stop a search.
        smart_pruning_minimum_batches: u64 = 0, in 0..=10_000, "SmartPruningMinimumBatches", "smart-pruning-minimum-batches";
        /// Stop when a new node changes the distribution of visits by less than this (KLD gain). 0 turns this
        /// off.
        minimum_kld_gain: f64 = 0.0, in 0.0..=1.0, "MinimumKLDGainPerNode", "minimum-kldgain-per-node", hidden;
        /// Number of nodes between two measurements of the KLD gain.
        kld_gain_interval: u64 = 100, in 1..=10_000_000, "KLDGainAverageInterval", "kldgain-average-interval", hidden;
        /// Count only the visits of this search for `go nodes`, without those kept from earlier searches.
        nodes_as_playouts: bool = false, "NodesAsPlayouts", "nodes-as-playouts", hidden;
    }
}

/// Longest wait of an only move for a reply to ponder on.
const REPLY_PATIENCE: Millis = Millis(50.0);

/// Workers ask after every batch, the controller thread as time passes.
#[derive(Debug)]
pub struct Chain {
    stoppers: Vec<Box<dyn Stopper>>,
    pub(crate) waits_for_stop: bool,
    node_rate: Option<NodesPerMilli>,
    clock: Option<Millis>,
}

impl Chain {
    /// The rules of one search: those of `options` and the manager's own.
    pub fn new(facts: &MoveFacts, options: &StopperOptions, managers: Option<Box<dyn Stopper>>) -> Chain {
        let waits_for_stop = facts.limit.waits_for_stop();
        Chain {
            stoppers: if waits_for_stop {
                Vec::new()
            } else {
                rules(facts, options, managers)
            },
            waits_for_stop,
            node_rate: options.nodestime.rate(facts.pieces),
            clock: facts.limit.mover_clock().map(|clock| clock.time),
        }
    }

    /// Resets `hints`, which each rule then tightens.
    pub fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        *hints = Hints::default();
        let stats = self.on_our_clock(stats);
        let reason = self
            .stoppers
            .iter_mut()
            .find_map(|stopper| stopper.should_stop(&stats, hints));
        if let Some(NodesPerMilli(rate)) = self.node_rate {
            // Batches must not depend on the machine's speed.
            hints.limit_remaining_visits(hints.remaining_time.0 * rate);
            hints.remaining_time = Millis::INFINITY;
        }
        reason
    }

    /// Time since `go` by which `bestmove` must be sent. `None` without a clock and under `nodestime`.
    /// Managers may revise it.
    pub fn deadline(&self) -> Option<Millis> {
        if self.node_rate.is_some() {
            return None;
        }
        let deadlines = self.stoppers.iter().filter_map(|stopper| stopper.deadline());
        deadlines.reduce(Millis::min)
    }

    /// At least one: under `nodestime` the counterpart of [`Chain::deadline`].
    pub(crate) fn max_new_nodes(&self) -> Option<Nodes> {
        let nodes = |(rate, clock): (NodesPerMilli, Millis)| ((rate.0 * clock.0).ceil() as u64).max(1);
        self.node_rate.zip(self.clock).map(nodes).map(Nodes)
    }

    /// How the manager has budgeted. `None` without a clock.
    pub fn report(&self) -> Option<MoveReport> {
        self.stoppers.iter().find_map(|stopper| stopper.report())
    }

    /// Time used on the rules' clock: under `nodestime` by the new nodes.
    pub(crate) fn time_used(&self, elapsed: Millis, new_nodes: Nodes) -> Millis {
        self.node_rate.map_or(elapsed, |rate| rate.time_of(new_nodes))
    }

    /// On the rules' clock.
    pub(super) fn on_our_clock<'a>(&self, stats: &'a SearchStats) -> Cow<'a, SearchStats> {
        if self.node_rate.is_none() {
            return Cow::Borrowed(stats);
        }
        let elapsed = self.time_used(stats.elapsed, stats.new_nodes);
        let since_first_eval = stats.since_first_eval.map(|_| elapsed);
        Cow::Owned(SearchStats {
            elapsed,
            since_first_eval,
            ..stats.clone()
        })
    }
}

fn rules(
    facts: &MoveFacts,
    options: &StopperOptions,
    managers: Option<Box<dyn Stopper>>,
) -> Vec<Box<dyn Stopper>> {
    let bounds = facts.limit.bounds();
    let mut rules: Vec<Box<dyn Stopper>> = Vec::new();
    if let Some(limit) = bounds.nodes {
        rules.push(Box::new(NodeLimit {
            limit,
            counts_reused: !options.nodes_as_playouts,
        }));
    }
    if let Some(movetime) = bounds.movetime {
        let lag = options
            .nodestime
            .rate(facts.pieces)
            .is_none()
            .then_some(facts.lag);
        rules.push(Box::new(MoveTimeLimit::new(movetime, lag)));
    }
    rules.extend(managers);
    // Whatever the manager says, or if it says nothing.
    if let Some(MoverClock { time, .. }) = facts.limit.mover_clock() {
        let all = (time - facts.overhead).max(time / 2.0);
        rules.push(Box::new(MoveTimeLimit::new(all, None)));
    }
    if let Some(depth) = bounds.depth {
        rules.push(Box::new(DepthLimit {
            depth,
            ends_with_proof: facts.wants_best_move_only(),
        }));
    }
    if let Some(moves) = bounds.mate {
        rules.push(Box::new(MateLimit { moves }));
        return rules;
    }
    if options.minimum_kld_gain > 0.0 {
        rules.push(Box::new(KldGain::new(
            options.minimum_kld_gain,
            options.kld_gain_interval,
        )));
    }
    if options.smart_pruning_factor > 0.0 && facts.wants_best_move_only() {
        rules.push(Box::new(SmartPruning {
            factor: options.smart_pruning_factor,
            minimum_batches: options.smart_pruning_minimum_batches,
            legal_moves: facts.legal_moves,
            reply_patience: if facts.ponder_enabled {
                REPLY_PATIENCE
            } else {
                Millis::ZERO
            },
            ends_with_move: facts.wants_move_only(),
        }));
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::facts::{Bounds, Limit};

    fn chain(limit: Limit, options: &StopperOptions) -> Chain {
        Chain::new(
            &MoveFacts {
                limit,
                legal_moves: 20,
                ..MoveFacts::default()
            },
            options,
            None,
        )
    }

    fn stats(elapsed: f64, nodes: u64) -> SearchStats {
        SearchStats {
            elapsed: Millis(elapsed),
            since_first_eval: Some(Millis(elapsed)),
            nodes: Nodes(nodes),
            new_nodes: Nodes(nodes),
            race_visits: vec![nodes as u32 / 2; 2],
            ..SearchStats::default()
        }
    }

    #[test]
    fn smart_pruning_reads_the_hints_of_those_before_it() {
        let limit = Limit::nodes(1_000);
        let mut chain = chain(limit, &StopperOptions::default());
        let mut hints = Hints::default();
        assert_eq!(chain.should_stop(&stats(300.0, 800), &mut hints), None);
        // 200 nodes are left: 200/1.33 < 600 − 150.
        let decided = SearchStats {
            race_visits: vec![600, 150],
            ..stats(300.0, 800)
        };
        assert_eq!(
            chain.should_stop(&decided, &mut hints),
            Some(StopReason::SmartPruning)
        );
        assert_eq!(
            chain.should_stop(&stats(300.0, 1_000), &mut hints),
            Some(StopReason::Nodes)
        );
    }

    #[test]
    fn open_ended_searches_do_not_end_by_themselves() {
        for limit in [
            Limit::Infinite,
            Limit::Ponder(Some(Bounds {
                movetime: Some(Millis(1.0)),
                mate: Some(9),
                ..Bounds::default()
            })),
        ] {
            let mut chain = chain(limit, &StopperOptions::default());
            let won = SearchStats {
                proven_win: true,
                mate_in: Some(1),
                depth: 99,
                ..stats(1e9, 1_000_000)
            };
            assert_eq!(chain.should_stop(&won, &mut Hints::default()), None);
            assert!(chain.waits_for_stop && chain.deadline().is_none());
        }
    }

    /// A regression: a mate ended the search before the other lines were searched.
    #[test]
    fn where_several_lines_are_shown_a_mate_ends_the_search_in_a_game_only() {
        let options = StopperOptions::default();
        let stops = |limit: Limit, lines| {
            let facts = MoveFacts {
                limit,
                legal_moves: 20,
                lines,
                ..MoveFacts::default()
            };
            let won = SearchStats {
                proven_win: true,
                root_is_certain: true,
                ..stats(300.0, 800)
            };
            Chain::new(&facts, &options, None)
                .should_stop(&won, &mut Hints::default())
                .is_some()
        };
        let depth = Limit::Until(Bounds {
            depth: Some(9),
            ..Bounds::default()
        });
        for analysis in [Limit::nodes(1_000), depth] {
            assert_eq!([1, 3].map(|lines| stops(analysis, lines)), [true, false]);
        }
        assert_eq!(
            [1, 3].map(|lines| stops(Limit::clock(Millis(60_000.0), Millis::ZERO), lines)),
            [true, true]
        );
    }

    #[test]
    fn a_search_for_mate_is_not_pruned() {
        let limit = Limit::Until(Bounds {
            mate: Some(3),
            ..Bounds::default()
        });
        let mut chain = chain(limit, &StopperOptions::default());
        let found = |mate_in| SearchStats {
            proven_win: true,
            mate_in,
            ..stats(1_000.0, 100)
        };
        assert_eq!(chain.should_stop(&found(Some(4)), &mut Hints::default()), None);
        assert_eq!(
            chain.should_stop(&found(Some(3)), &mut Hints::default()),
            Some(StopReason::Mate)
        );
    }

    #[test]
    fn the_nearest_deadline_counts() {
        let limit = Limit::movetime(Millis(500.0));
        assert_eq!(
            chain(limit, &StopperOptions::default()).deadline(),
            Some(Millis(490.0))
        );
        assert_eq!(
            chain(Limit::default(), &StopperOptions::default()).deadline(),
            None
        );
    }

    #[test]
    fn under_nodestime_only_nodes_pass() {
        let nodestime = NodesTimeOptions {
            nodes_per_ms: 10,
            dynamic: false,
        };
        let options = StopperOptions {
            nodestime,
            smart_pruning_factor: 0.0,
            ..StopperOptions::default()
        };
        let limit = Limit::movetime(Millis(100.0));
        let clock = |time| Limit::clock(Millis(time), Millis::ZERO);
        let most_nodes = |time| chain(clock(time), &options).max_new_nodes();
        assert_eq!(
            (most_nodes(1.23), most_nodes(0.0)),
            (Some(Nodes(13)), Some(Nodes(1)))
        );
        let mut chain = chain(limit, &options);
        assert_eq!(chain.max_new_nodes(), None);
        let mut hints = Hints::default();
        assert_eq!(
            chain.should_stop(&stats(1e6, 999), &mut hints),
            None,
            "the real clock is ignored"
        );
        assert_eq!(chain.deadline(), None);
        assert!((hints.remaining_visits.0 - 1.0).abs() < 1e-6 && hints.remaining_time == Millis::INFINITY);
        assert_eq!(
            chain.should_stop(&stats(0.1, 1_000), &mut hints),
            Some(StopReason::MoveTime)
        );
    }
}
