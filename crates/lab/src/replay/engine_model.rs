//! The modelled engine. [`VirtualSearch`] is one search in virtual time.

use zeitnot_engine::time::{
    Chain, Hints, Millis, MoveFacts, Nodes, Nps, RootEvaluation, SearchStats, StopReason,
};

use super::ReplayMove;
use zeitnot_engine::chance::{GOLDEN, mix};

/// New nodes per second, linear in the pieces: cache hits and terminals make endgames faster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    pub opening: f64,
    pub endgame: f64,
}

impl Speed {
    pub fn constant(nps: f64) -> Speed {
        Speed {
            opening: nps,
            endgame: nps,
        }
    }

    fn nps(self, pieces: u32) -> f64 {
        let gone = f64::from(32 - pieces.clamp(2, 32)) / 30.0;
        self.opening + (self.endgame - self.opening) * gone
    }
}

/// All figures are means, which `replay` scatters from move to move.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineModel {
    pub speed: Speed,
    /// From move to move, as a share.
    pub nps_scatter: f64,
    pub batch: u32,
    pub batch_latency_ms: f64,
    /// Score and best move change as recorded, see [`Fluctuation`].
    pub fluctuates: bool,
    /// From the end of the search to the GUI's clock.
    pub lag_ms: f64,
}

impl Default for EngineModel {
    fn default() -> Self {
        EngineModel {
            speed: Speed {
                opening: 10_000.0,
                endgame: 16_000.0,
            },
            nps_scatter: 0.15,
            batch: 128,
            batch_latency_ms: 5.0,
            fluctuates: true,
            lag_ms: 5.0,
        }
    }
}

#[derive(Debug)]
pub(super) struct KeptNodes {
    pub(super) searched: u64,
    pub(super) pondered: u64,
}

/// Share of the tree that survives our move and the expected reply.
const REUSE: f64 = 0.55;
/// Probability of a reply after which hardly anything survives.
const SURPRISE: f64 = 0.25;
/// From the deadline to `bestmove` with a batch in flight.
pub(super) const REACTION_MS: f64 = 2.0;

/// Each further root move's share of the visits left.
const TAIL_SHARE: f64 = 0.5;
const VISITED_MOVES: i32 = 6;

impl EngineModel {
    /// What survives of `nodes` and of those pondered for `opponent_ms`.
    pub(super) fn kept_nodes(
        &self,
        nodes: u64,
        opponent_ms: f64,
        pieces: u32,
        random: &mut ReplayRandom,
    ) -> KeptNodes {
        let is_surprise = random.unit() < SURPRISE;
        let mut share = (REUSE + 0.15 * random.normal()).clamp(0.0, 0.95);
        if is_surprise {
            share = 0.03;
        }
        let pondered = self.speed.nps(pieces) * opponent_ms / 1000.0;
        KeptNodes {
            searched: (nodes as f64 * share) as u64,
            pondered: (pondered * share.sqrt()) as u64,
        }
    }

    fn speed(&self, pieces: u32, random: &mut ReplayRandom) -> f64 {
        self.speed.nps(pieces) * (1.0 + self.nps_scatter * random.normal()).max(0.2)
    }

    pub(super) fn race_visits(nodes: u64, legal_moves: u32) -> Vec<u32> {
        let left = |place: i32| nodes as f64 * (1.0 - TAIL_SHARE).powi(place);
        (0..VISITED_MOVES.min(legal_moves as i32))
            .map(|place| (left(place) * TAIL_SHARE) as u32)
            .collect()
    }
}

/// Share of the time to the deadline after which the chain is asked again, …
const ASK_TIME: f64 = 1.0 / 64.0;
/// … or share of new nodes. A real search asks after every batch, which would cost time here.
const ASK_NODES: f64 = 1.0 / 16.0;

/// Share of moves with two about equally good candidates.
const CONTESTED: f64 = 0.4;
/// Share of the new visits that shifts to a new favourite while it overtakes.
const CATCHING_UP: f64 = 0.05;

#[derive(Debug)]
pub(super) struct VirtualSearch<'a> {
    model: &'a EngineModel,
    stats: SearchStats,
    nps: f64,
    best_share: f64,
    second_share: f64,
    new_visits: [f64; 2],
    reused_visits: Vec<u32>,
    root: RootEvaluation,
    plies_to_mate: Option<u32>,
    /// `None` if score and best move stay.
    fluctuation: Option<Fluctuation>,
    random: &'a mut ReplayRandom,
}

impl<'a> VirtualSearch<'a> {
    pub(super) fn new(
        model: &'a EngineModel,
        facts: &MoveFacts,
        position: &ReplayMove,
        random: &'a mut ReplayRandom,
    ) -> Self {
        let is_contested = random.unit() < CONTESTED;
        let best_share = if is_contested {
            random.between(0.4, 0.55)
        } else {
            random.between(0.6, 0.95)
        };
        let stats = SearchStats {
            nodes: facts.reused_nodes,
            race_visits: facts.reused_visits.clone(),
            ..SearchStats::default()
        };
        VirtualSearch {
            model,
            nps: model.speed(position.pieces, random),
            best_share,
            second_share: ((1.0 - best_share) * 0.7).min(0.9 * best_share),
            new_visits: [0.0; 2],
            reused_visits: facts.reused_visits.clone(),
            root: position.root.unwrap_or_default(),
            plies_to_mate: position.plies_to_mate,
            fluctuation: model.fluctuates.then(|| Fluctuation {
                is_contested: is_contested && facts.has_choice(),
                ..Fluctuation::default()
            }),
            random,
            stats,
        }
    }

    pub(super) fn stats(&self) -> &SearchStats {
        &self.stats
    }

    /// Searches until the chain stops. A batch in flight at the deadline is abandoned.
    pub(super) fn run(&mut self, chain: &mut Chain) -> StopReason {
        let mut hints = Hints::default();
        loop {
            if let Some(reason) = chain.should_stop(&self.stats, &mut hints) {
                return reason;
            }
            let batch = hints.batch_cap(self.model.batch, Nps(self.nps));
            let batch_ms = self.model.batch_latency_ms + f64::from(batch) / self.nps * 1000.0;
            let back_ms = self.stats.elapsed.0 + batch_ms;
            let deadline_ms = chain.deadline().map(|deadline| deadline.0);
            let end_ms = deadline_ms.map_or(f64::INFINITY, |ms| ms + REACTION_MS);
            if back_ms > end_ms {
                self.stats.elapsed = self.stats.elapsed.max(Millis(end_ms));
                return StopReason::Budget;
            }
            let left_ms = deadline_ms.map_or(f64::INFINITY, |ms| ms - self.stats.elapsed.0);
            let by_time = left_ms * ASK_TIME / batch_ms;
            let by_nodes = self.stats.new_nodes.as_f64() * ASK_NODES / f64::from(batch);
            let until_asked = by_time.min(by_nodes);
            self.take_batches(until_asked.max(1.0) as u32, batch, batch_ms);
        }
    }

    fn take_batches(&mut self, batches: u32, batch: u32, batch_ms: f64) {
        let stats = &mut self.stats;
        let time = Millis(f64::from(batches) * batch_ms);
        let nodes = u64::from(batches) * u64::from(batch);
        stats.elapsed += time;
        stats.since_first_eval = match stats.since_first_eval {
            Some(since) => Some(since + time),
            None => Some(Millis::ZERO),
        };
        stats.new_nodes.0 += nodes;
        stats.nodes.0 += nodes;
        stats.batches += u64::from(batches);
        if let Some(fluctuation) = &mut self.fluctuation {
            fluctuation.advance(stats.nodes.0, self.random);
        }
        let Fluctuation {
            drift,
            favourite,
            best_by_q,
            ..
        } = self.fluctuation.unwrap_or_default();
        stats.root = Some(drifted(self.root, drift));
        if let Some(plies) = self.plies_to_mate
            && stats.nodes >= nodes_to_find_mate(plies)
        {
            let moves = plies.div_ceil(2);
            stats.proven_win = plies % 2 == 1;
            if stats.proven_win {
                stats.mate_in = Some(moves);
            } else {
                stats.mated_in = Some(moves);
            }
        }
        stats.best_by_q = best_by_q.filter(|&index| index < stats.race_visits.len());
        let shift = if favourite == 0 {
            0.0
        } else {
            CATCHING_UP.min(self.second_share)
        };
        self.new_visits[favourite] += nodes as f64 * (self.best_share + shift);
        self.new_visits[1 - favourite] += nodes as f64 * (self.second_share - shift);
        let visits = stats.race_visits.iter_mut().zip(&self.reused_visits);
        for ((visits, reused), new) in visits.zip(self.new_visits) {
            *visits = reused + new as u32;
        }
    }
}

/// The tree that finds half of the mates in so many plies, see `docs/results/time-management.md`.
fn nodes_to_find_mate(plies: u32) -> Nodes {
    Nodes(3u64.saturating_pow(plies.saturating_sub(2)))
}

/// Q moved by `drift`, with d kept possible.
fn drifted(root: RootEvaluation, drift: f64) -> RootEvaluation {
    let wl = (root.wl + drift).clamp(-1.0, 1.0);
    RootEvaluation {
        wl,
        d: root.d.map(|d| d.min(1.0 - wl.abs())),
        ..root
    }
}

/// Standard deviation of the change of Q per doubling of the nodes, …
const DRIFT: f64 = 0.017;
/// … and in doublings that find something, …
const JUMP: f64 = 0.085;
/// … which are this share: the distribution has a long tail.
const JUMPS: f64 = 0.08;

/// Share of doublings that change the most visited move, in trees of 16 and of 16,384 nodes.
const CHANGES: [f64; 2] = [0.28, 0.11];
/// The same of those after which it is not the best by Q, apart from new favourites.
const DISAGREEMENTS: [f64; 2] = [0.12, 0.02];

/// Falls linearly with the number of doublings, within the recorded range.
fn share_at(number: u32, [at_16_nodes, at_16384_nodes]: [f64; 2]) -> f64 {
    let way = (f64::from(number.clamp(4, 14)) - 4.0) / 10.0;
    at_16_nodes + (at_16384_nodes - at_16_nodes) * way
}

/// Factors on the changes in contested positions and in others: half of the recorded ones see one change at
/// most.
const CONTESTED_FACTOR: f64 = 1.7;
const CLEAR_FACTOR: f64 = 0.53;

/// How score and best move have changed within one search.
///
/// The figures above come from recorded searches (commit a7379f6, `scripts/course.py`): 300 positions of TCEC
/// games, searched with `models/tiny/zeitnot-tiny.pb.gz` from 8 to 16,384 nodes, sampled at each doubling.
#[derive(Clone, Copy, Debug, Default)]
struct Fluctuation {
    is_contested: bool,
    /// log2 of the nodes at the last doubling.
    number: Option<u32>,
    /// At the last doubling and at the next, since the first evaluation.
    drifts: [f64; 2],
    drift: f64,
    favourite: usize,
    /// 0 or 1, `None` if unknown.
    best_by_q: Option<usize>,
}

impl Fluctuation {
    fn advance(&mut self, nodes: u64, random: &mut ReplayRandom) {
        let Some(number) = nodes.checked_ilog2() else {
            return;
        };
        let first = self.number.replace(number).map_or(number, |last| last + 1);
        for number in first..=number {
            self.begin_doubling(number, random);
        }
        let way = (nodes as f64).log2() - f64::from(number);
        let [from, to] = self.drifts;
        self.drift = from + (to - from) * way;
    }

    /// Draws the events up to twice as many nodes.
    fn begin_doubling(&mut self, number: u32, random: &mut ReplayRandom) {
        let deviation = if random.unit() < JUMPS { JUMP } else { DRIFT };
        self.drifts = [self.drifts[1], self.drifts[1] + deviation * random.normal()];
        let factor = if self.is_contested {
            CONTESTED_FACTOR
        } else {
            CLEAR_FACTOR
        };
        if random.unit() < factor * share_at(number + 1, CHANGES) {
            self.favourite = 1 - self.favourite;
        }
        let disagrees = random.unit() < share_at(number, DISAGREEMENTS);
        self.best_by_q = Some(if disagrees {
            1 - self.favourite
        } else {
            self.favourite
        });
    }
}

/// SplitMix64: the same seed gives the same numbers on every machine.
#[derive(Debug)]
pub(super) struct ReplayRandom {
    state: u64,
}

impl ReplayRandom {
    pub(super) fn new(seed: u64) -> Self {
        ReplayRandom { state: seed }
    }

    /// In `0.0..1.0`.
    pub(super) fn unit(&mut self) -> f64 {
        let mixed = mix(self.state);
        self.state = self.state.wrapping_add(GOLDEN);
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Standard normal: the sum of twelve uniform numbers.
    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endgames_are_faster_and_trees_shrink() {
        let model = EngineModel {
            nps_scatter: 0.0,
            ..EngineModel::default()
        };
        let mut random = ReplayRandom::new(7);
        let speeds = [32, 17, 2].map(|pieces| model.speed(pieces, &mut random));
        assert_eq!(speeds, [10_000.0, 13_000.0, 16_000.0]);
        let mut kept = |opponent_ms| model.kept_nodes(1_000, opponent_ms, 32, &mut random);
        assert!((0..100).all(|_| kept(0.0).searched <= 950 && kept(0.0).pondered == 0));
        assert!(
            (0..100).all(|_| (1..=975).contains(&kept(100.0).pondered)),
            "1,000 nodes in 100 ms"
        );
        assert_eq!(EngineModel::race_visits(1_000, 3), [500, 250, 125]);
        assert!(EngineModel::race_visits(1_000, 0).is_empty());
    }

    /// Recorded in 300 positions from 64 to 16,384 nodes: Q changed by more than 0.02 in 28 % of the
    /// doublings, by more than 0.1 in 1.7 %.
    #[test]
    fn scores_drift_as_recorded() {
        let mut random = ReplayRandom::new(5);
        let mut changes = Vec::new();
        for _ in 0..2_000 {
            let mut state = Fluctuation::default();
            for number in 6..=14 {
                let before = state.drift;
                state.advance(1 << number, &mut random);
                changes.push((state.drift - before).abs());
            }
        }
        let share = |least: f64| {
            let beyond = changes.iter().filter(|change| **change > least).count();
            beyond as f64 / (8.0 / 9.0 * changes.len() as f64)
        };
        assert!((0.23..0.31).contains(&share(0.02)), "{}", share(0.02));
        assert!((0.010..0.022).contains(&share(0.1)), "{}", share(0.1));
    }
}
