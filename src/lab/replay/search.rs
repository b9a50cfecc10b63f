//! Searches in virtual time: batches come back, visits spread over root moves, the chain is asked.

use crate::time::{Chain, Hints, Millis, MoveFacts, Nodes, Nps, RootEvaluation, SearchStats, StopReason};

use super::ReplayMove;
use super::model::EngineModel;
use super::random::ReplayRandom;

/// The chain is asked again when this share of the time to the deadline has passed, …
const ASK_TIME: f64 = 1.0 / 64.0;
/// … or the search has made this share of new nodes, whichever comes first. A real search asks after every batch;
/// far from any limit that only costs time.
const ASK_NODES: f64 = 1.0 / 16.0;

/// Share of the moves at which two moves are about equally good.
const CONTESTED: f64 = 0.4;

/// A search that is under way.
#[derive(Debug)]
pub struct VirtualSearch<'a> {
    model: &'a EngineModel,
    stats: SearchStats,
    nps: f64,
    /// Shares of new visits that go to the best and the second move.
    best_share: f64,
    second_share: f64,
    new_best: f64,
    new_second: f64,
    reused_visits: Vec<u32>,
    root: RootEvaluation,
}

impl<'a> VirtualSearch<'a> {
    /// Returns a search that has not begun yet.
    pub fn new(
        model: &'a EngineModel,
        facts: &MoveFacts,
        position: &ReplayMove,
        random: &mut ReplayRandom,
    ) -> Self {
        let best_share =
            if random.unit() < CONTESTED { random.between(0.4, 0.55) } else { random.between(0.6, 0.95) };
        let stats = SearchStats {
            nodes: facts.reused_nodes,
            root_visits: facts.root_visits.clone(),
            ..SearchStats::default()
        };
        VirtualSearch {
            model,
            nps: model.speed(position.pieces, random),
            best_share,
            second_share: (1.0 - best_share) * 0.7,
            new_best: 0.0,
            new_second: 0.0,
            reused_visits: facts.root_visits.clone(),
            root: position.root.unwrap_or_default(),
            stats,
        }
    }

    /// Returns the search's figures.
    pub fn stats(&self) -> &SearchStats {
        &self.stats
    }

    /// Searches until the chain wants to stop. A batch that is still out at the deadline is abandoned.
    pub fn run(&mut self, chain: &mut Chain) -> StopReason {
        let mut hints = Hints::default();
        loop {
            if let Some(reason) = chain.should_stop(&self.stats, &mut hints) {
                return reason;
            }
            let batch = hints.batch_cap(self.model.batch, Nps(self.nps));
            let batch_ms = self.model.batch_latency_ms + f64::from(batch) / self.nps * 1000.0;
            let back_ms = self.stats.elapsed.0 + batch_ms;
            let deadline_ms = chain.deadline().map(|deadline| deadline.0);
            match deadline_ms {
                Some(deadline_ms) if back_ms > deadline_ms + self.model.reaction_ms => {
                    let end_ms = deadline_ms + self.model.reaction_ms;
                    self.stats.elapsed = self.stats.elapsed.max(Millis(end_ms));
                    return StopReason::Budget;
                }
                _ => {
                    let by_time = deadline_ms.map_or(f64::INFINITY, |deadline_ms| {
                        (deadline_ms - self.stats.elapsed.0) * ASK_TIME / batch_ms
                    });
                    let by_nodes = self.stats.new_nodes.as_f64() * ASK_NODES / f64::from(batch);
                    let batches = by_time.min(by_nodes).max(1.0) as u32;
                    self.take_batches(batches, batch, batch_ms);
                }
            }
        }
    }

    fn take_batches(&mut self, batches: u32, batch: u32, batch_ms: f64) {
        let stats = &mut self.stats;
        let (ms, nodes) = (f64::from(batches) * batch_ms, u64::from(batches) * u64::from(batch));
        stats.elapsed += Millis(ms);
        stats.since_first_eval =
            Some(stats.since_first_eval.map_or(Millis::ZERO, |since| since + Millis(ms)));
        stats.new_nodes += Nodes(nodes);
        stats.nodes += Nodes(nodes);
        stats.playouts += Nodes(nodes);
        stats.batches += u64::from(batches);
        stats.root = Some(self.root);
        self.new_best += nodes as f64 * self.best_share;
        self.new_second += nodes as f64 * self.second_share;
        for (i, new) in [self.new_best, self.new_second].into_iter().enumerate() {
            if let (Some(visits), Some(reused)) = (stats.root_visits.get_mut(i), self.reused_visits.get(i)) {
                *visits = reused + new as u32;
            }
        }
    }
}
