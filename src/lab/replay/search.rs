//! Searches in virtual time: batches come back, visits spread over root moves, the chain is asked.

use crate::time::{Chain, Hints, Millis, MoveFacts, Nodes, Nps, RootEvaluation, SearchStats, StopReason};

use super::ReplayMove;
use super::course::CourseState;
use super::model::EngineModel;
use super::random::ReplayRandom;

/// The chain is asked again when this share of the time to the deadline has passed, …
const ASK_TIME: f64 = 1.0 / 64.0;
/// … or the search has made this share of new nodes, whichever comes first. A real search asks after every batch;
/// far from any limit that only costs time.
const ASK_NODES: f64 = 1.0 / 16.0;

/// Share of the moves at which two moves are about equally good.
const CONTESTED: f64 = 0.4;
/// Share of the new visits that a move gets more, and the other of the two less, when it has become the favourite and is to
/// overtake.
const CATCHING_UP: f64 = 0.05;

/// A search that is under way.
#[derive(Debug)]
pub struct VirtualSearch<'a> {
    model: &'a EngineModel,
    stats: SearchStats,
    nps: f64,
    /// Shares of new visits that go to the favourite and the other of the two leading moves.
    best_share: f64,
    second_share: f64,
    /// New visits of the two leading moves.
    new_visits: [f64; 2],
    reused_visits: Vec<u32>,
    /// The evaluation that the search begins with.
    root: RootEvaluation,
    /// See [`ReplayMove::plies_to_mate`].
    plies_to_mate: Option<u32>,
    course: CourseState,
    random: &'a mut ReplayRandom,
}

impl<'a> VirtualSearch<'a> {
    /// Returns a search that has not begun yet.
    pub fn new(
        model: &'a EngineModel,
        facts: &MoveFacts,
        position: &ReplayMove,
        random: &'a mut ReplayRandom,
    ) -> Self {
        let is_contested = random.unit() < CONTESTED;
        let best_share = if is_contested { random.between(0.4, 0.55) } else { random.between(0.6, 0.95) };
        let stats = SearchStats {
            nodes: facts.reused_nodes,
            root_visits: facts.root_visits.clone(),
            ..SearchStats::default()
        };
        VirtualSearch {
            model,
            nps: model.speed(position.pieces, random),
            best_share,
            second_share: ((1.0 - best_share) * 0.7).min(0.9 * best_share),
            new_visits: [0.0; 2],
            reused_visits: facts.root_visits.clone(),
            root: position.root.unwrap_or_default(),
            plies_to_mate: position.plies_to_mate,
            course: CourseState::new(model.course, is_contested && facts.has_choice()),
            random,
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
        stats.batches += u64::from(batches);
        self.course.advance(stats.nodes.0, self.random);
        stats.root = Some(drifted(self.root, self.course.drift));
        if let Some(plies) = self.plies_to_mate.filter(|&plies| stats.nodes >= nodes_to_find_mate(plies)) {
            let moves = plies.div_ceil(2);
            stats.proven_win = plies % 2 == 1;
            (stats.mate_in, stats.mated_in) =
                if stats.proven_win { (Some(moves), None) } else { (None, Some(moves)) };
        }
        stats.best_by_q = self.course.best_by_q.filter(|&index| index < stats.root_visits.len());
        let favourite = self.course.favourite;
        let shift = if favourite == 0 { 0.0 } else { CATCHING_UP.min(self.second_share) };
        self.new_visits[favourite] += nodes as f64 * (self.best_share + shift);
        self.new_visits[1 - favourite] += nodes as f64 * (self.second_share - shift);
        for (i, new) in self.new_visits.into_iter().enumerate() {
            if let (Some(visits), Some(reused)) = (stats.root_visits.get_mut(i), self.reused_visits.get(i)) {
                *visits = reused + new as u32;
            }
        }
    }
}

/// Returns the size of the tree in which half of the mates so many plies away are found. Measured from 2 to 7 plies on 40 positions each,
/// see `docs/results/time-management.md`.
fn nodes_to_find_mate(plies: u32) -> Nodes {
    Nodes(3u64.saturating_pow(plies.saturating_sub(2)))
}

/// Returns the evaluation with Q moved by `drift`; the probability of a draw stays possible.
fn drifted(root: RootEvaluation, drift: f64) -> RootEvaluation {
    let q = (root.q + drift).clamp(-1.0, 1.0);
    RootEvaluation { q, d: root.d.map(|d| d.min(1.0 - q.abs())), ..root }
}
