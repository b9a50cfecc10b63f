//! The PUCT formula, and the visits that a child takes before another one is preferred.
//!
//! A child's score is `q + u`: its mean value or first-play urgency, plus `cpuct · policy · √N / (1 + n)`.
//! `N` counts the finished visits of the node's children, `n` the child's visits, including those under way
//! (AlphaZero, Silver et al. 2018, with Lc0's growth of `cpuct` and reduction). Without the system's
//! mathematics library a search is the same on every machine.

use crate::network::Value;
use crate::search::state::{Exploration, FirstPlayUrgency, FpuStrategy, SearchParams};
use crate::search::tree::{NodeId, Unvisited};

/// Up to this batch size [`pending_gain`] takes nothing away.
const SMALL_BATCH: u32 = 16;
/// What it takes away for each doubling above that.
const LOSS_OF_GAIN_PER_DOUBLING: f32 = 0.05;
/// What it takes away for a device of its own, which idles while descents collide.
const LOSS_OF_GAIN_ON_DEVICE: f32 = 0.1;

/// `visits` are the node's finished visits, including its own.
fn cpuct(&Exploration { init, base, factor }: &Exploration, visits: u32) -> f32 {
    init + factor * approximate_ln((visits as f32 + base) / base)
}

/// About `ln(x)`: with `x = 2ⁿ (1 + f)`, n an integer and `0 <= f < 1`, it is `ln 2 (n + f (1 + k − k f))`
/// with k about 0.35. The two coefficients are Lc0's, which tuned its growth of `cpuct` with them.
fn approximate_ln(x: f32) -> f32 {
    const LINEAR: f32 = 1.346_555_2;
    const SQUARE: f32 = 0.346_555_23;
    const EXPONENT_SHIFT: u32 = 23;
    let n = (x.to_bits() >> EXPONENT_SHIFT) as i32 - 127;
    let f = f32::from_bits(1f32.to_bits() | x.to_bits() & ((1 << EXPONENT_SHIFT) - 1)) - 1.0;
    std::f32::consts::LN_2 * (f * (LINEAR - SQUARE * f) + n as f32)
}

pub(crate) fn exploration(params: &Exploration, children_visits: u32) -> f32 {
    cpuct(params, children_visits + 1) * (children_visits.max(1) as f32).sqrt()
}

/// `visited_policy` is the policy of all visited siblings.
pub(crate) fn fpu(urgency: FirstPlayUrgency, parent_q: f32, visited_policy: f32) -> f32 {
    let FirstPlayUrgency { strategy, value } = urgency;
    match strategy {
        FpuStrategy::Reduction => parent_q - value * visited_policy.sqrt(),
        FpuStrategy::Absolute => value,
    }
}

/// The value of a move whose first visit is under way. It returns more than the first-play urgency, since
/// promising moves go first.
pub(super) fn pending_q(parent_q: f32, gain: f32) -> f32 {
    (parent_q + gain).min(1.0)
}

/// A large gain makes more descents collide: large batches would not fill, and a device of its own would
/// wait.
pub(super) fn pending_gain(gain: f32, leaves: u32, has_device: bool) -> f32 {
    let doublings = (leaves / SMALL_BATCH).checked_ilog2().unwrap_or(0);
    let of_device = if has_device { LOSS_OF_GAIN_ON_DEVICE } else { 0.0 };
    gain - of_device - LOSS_OF_GAIN_PER_DOUBLING * doublings as f32
}

/// A child's value for the side that chooses, which gets `draw_score` for a draw.
#[inline]
pub(crate) fn child_q(mean: Value, draw_score: f32) -> f32 {
    mean.wl + draw_score * mean.d
}

/// A node's value for its side to move, which gets `draw_score` for a draw.
pub(crate) fn parent_q(mean: Value, draw_score: f32) -> f32 {
    draw_score * mean.d - mean.wl
}

/// As in Lc0, shorter wins and longer losses are better by the Moves Left Head.
#[derive(Clone, Copy)]
pub(crate) struct MovesLeftUtility<'a> {
    params: &'a SearchParams,
    parent_m: f32,
}

impl<'a> MovesLeftUtility<'a> {
    /// `None` if the game is not decided enough.
    #[inline]
    pub(crate) fn new(
        params: &'a SearchParams,
        has_moves_left: bool,
        parent: Value,
    ) -> Option<MovesLeftUtility<'a>> {
        let counts = has_moves_left && parent.wl.abs() > params.moves_left_threshold;
        counts.then_some(MovesLeftUtility {
            params,
            parent_m: parent.m,
        })
    }

    pub(crate) fn of(&self, q: f32, m: f32) -> f32 {
        let params = self.params;
        let max = params.moves_left_max_effect;
        let length = (params.moves_left_slope * (m - self.parent_m)).clamp(-max, max);
        let threshold = params.moves_left_threshold;
        let x = if threshold > 0.0 && threshold < 1.0 {
            (q.abs() - threshold).max(0.0) / (1.0 - threshold)
        } else {
            q.abs()
        };
        let share = params.moves_left_constant_factor
            + params.moves_left_scaled_factor * x
            + params.moves_left_quadratic_factor * x * x;
        -length * q.signum() * share
    }
}

pub(super) struct UnvisitedTerms {
    pub(super) urgency: FirstPlayUrgency,
    pub(super) parent_q: f32,
    pub(super) pending_q: f32,
    pub(super) visited_policy: f32,
    pub(super) fpu: f32,
    pub(crate) exploration: f32,
}

impl UnvisitedTerms {
    pub(super) fn begin_first_visit(&mut self, candidate: &mut Candidate) {
        self.visited_policy += candidate.policy;
        self.fpu = fpu(self.urgency, self.parent_q, self.visited_policy);
        candidate.q = self.pending_q;
        candidate.take(1);
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Candidate {
    /// For the side that chooses.
    q: f32,
    policy: f32,
    /// Policy times [`exploration`].
    pub(crate) pu: f32,
    /// `q + u` after `started` visits.
    pub(crate) score: f32,
    /// Visits finished and under way, including `taken`.
    pub(crate) started: u32,
    pub(crate) taken: u32,
    pub(crate) target: CandidateMove,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CandidateMove {
    Child(NodeId),
    Unvisited(Unvisited),
}

impl Candidate {
    #[inline]
    pub(crate) fn new(
        q: f32,
        policy: f32,
        exploration: f32,
        started: u32,
        target: CandidateMove,
    ) -> Candidate {
        let pu = policy * exploration;
        Candidate {
            q,
            policy,
            pu,
            score: score(q, pu, started),
            started,
            taken: 0,
            target,
        }
    }

    #[inline]
    pub(crate) fn take(&mut self, visits: u32) -> u32 {
        self.started += visits;
        self.taken += visits;
        self.score = score(self.q, self.pu, self.started);
        visits
    }

    /// The further visits above `level`, and how fast their number falls as it rises. 0 for an unvisited
    /// candidate.
    fn visits_above(&self, level: f64) -> (f64, f64) {
        // q + pu / (started + k) > level  ⇔  k < pu / (level − q) − started
        let lead = level - f64::from(self.q);
        let per_lead = f64::from(self.pu) / lead;
        let visits = per_lead - f64::from(self.started);
        if visits > 0.0 && self.started > 0 {
            (visits, per_lead / lead)
        } else {
            (0.0, 0.0)
        }
    }

    /// The fewest further visits, at most `limit`, that bring the score below `rival`.
    pub(super) fn visits_until_below(&self, rival: f32, limit: u32) -> u32 {
        let lead = rival - self.q;
        if lead <= 0.0 {
            return limit;
        }
        // q + pu / (1 + started + k) < rival  ⇔  k > pu / (rival − q) − 1 − started
        let bound = self.pu / lead - 1.0 - self.started as f32;
        (bound as u32).saturating_add(1).min(limit)
    }
}

#[inline]
fn score(q: f32, pu: f32, started: u32) -> f32 {
    q + pu / (1 + started) as f32
}

pub(super) fn best_two(candidates: &[Candidate]) -> Option<(usize, f32)> {
    let mut best = 0;
    let (mut best_score, mut second) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
    // Without a branch, which would be mispredicted.
    for (index, candidate) in candidates.iter().enumerate() {
        let score = candidate.score;
        let is_better = score > best_score;
        let lower = if is_better { best_score } else { score };
        second = if lower > second { lower } else { second };
        best_score = if is_better { score } else { best_score };
        best = if is_better { index } else { best };
    }
    (!candidates.is_empty()).then_some((best, second))
}

/// With this many visits per candidate [`take_together`] is cheaper.
const MANY_VISITS: usize = 8;
/// Newton's method needs fewer steps.
const MAX_STEPS: u32 = 16;

/// Splits most of many `visits` at once: candidates get those that single visits would place above a common
/// level. 0 if single runs are better.
#[inline]
pub(super) fn take_together(candidates: &mut [Candidate], visits: u32) -> u32 {
    if (visits as usize) < MANY_VISITS * candidates.len() {
        0
    } else {
        take_many(candidates, visits)
    }
}

fn take_many(candidates: &mut [Candidate], visits: u32) -> u32 {
    // Where the best alone had all visits is below the level sought, which Newton's steps don't pass.
    let lowest = |&Candidate {
                      q,
                      pu,
                      score,
                      started,
                      ..
                  }: &Candidate| match started {
        0 => f64::from(score),
        _ => f64::from(q) + f64::from(pu) / (f64::from(started) + f64::from(visits)),
    };
    let mut level = candidates.iter().map(lowest).fold(f64::NEG_INFINITY, f64::max);
    for _ in 0..MAX_STEPS {
        let add = |(sum, slope), candidate: &Candidate| {
            let (visits, fall) = candidate.visits_above(level);
            (sum + visits, slope + fall)
        };
        let (sum, slope) = candidates.iter().fold((0.0, 0.0), add);
        if sum <= f64::from(visits) {
            return candidates.iter_mut().fold(0, |taken, candidate| {
                let run = candidate.visits_above(level).0 as u32;
                taken + candidate.take(run.min(visits - taken))
            });
        }
        level += (sum - f64::from(visits - 1)) / slope;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cpuct_grows_with_visits() {
        let params = SearchParams::default().exploration_at(1);
        assert_eq!(cpuct(&params, 0), 1.745);
        assert!((cpuct(&params, 38739) - 4.444_115).abs() < 1e-4);
    }

    #[test]
    fn the_approximate_logarithm_is_near() {
        assert_eq!((approximate_ln(1.0), approximate_ln(4.0)), (0.0, 4f32.ln()));
        for x in (1..1000).map(|i| 0.1 * i as f32) {
            assert!(
                (approximate_ln(x) - x.ln()).abs() < 0.006,
                "{x}: {} {}",
                approximate_ln(x),
                x.ln()
            );
        }
    }

    #[test]
    fn exploration_counts_the_visits_of_children() {
        let params = Exploration {
            factor: 0.0,
            ..SearchParams::default().exploration_at(1)
        };
        assert_eq!(exploration(&params, 0), 1.745);
        assert_eq!(exploration(&params, 100), 17.45);
        // The parent's own visit counts in the growth alone.
        let growing = SearchParams::default().exploration_at(1);
        assert_eq!(exploration(&growing, 100), 10.0 * cpuct(&growing, 101));
    }

    #[test]
    fn fpu_falls_with_visited_policy() {
        let strategy = SearchParams::default().fpu_at(1);
        assert_eq!(fpu(strategy, 0.25, 0.0), 0.25);
        assert!((fpu(strategy, 0.25, 0.49) - 0.019).abs() < 1e-6);
        assert_eq!(
            fpu(
                FirstPlayUrgency {
                    strategy: FpuStrategy::Absolute,
                    value: -0.7
                },
                0.25,
                0.49
            ),
            -0.7
        );
    }

    /// A regression: a first visit under way did not lower its siblings' first-play urgency, and one batch
    /// spread too widely.
    #[test]
    fn a_first_visit_under_way_counts_as_visited() {
        let strategy = SearchParams::default().fpu_at(1);
        let target = CandidateMove::Child(
            crate::search::tree::GameTree::new(crate::chess::History::start())
                .unwrap()
                .root,
        );
        let (urgency, parent_q, visited_policy, exploration) = (strategy, 0.25, 0.0, 2.0);
        let (pending_q, fpu) = (
            super::pending_q(parent_q, 0.1),
            fpu(urgency, parent_q, visited_policy),
        );
        let mut terms = UnvisitedTerms {
            urgency,
            parent_q,
            pending_q,
            visited_policy,
            fpu,
            exploration,
        };
        let mut candidate = Candidate::new(terms.fpu, 0.49, exploration, 0, target);
        terms.begin_first_visit(&mut candidate);
        assert!((candidate.q - 0.35).abs() < 1e-6 && (terms.fpu - 0.019).abs() < 1e-6);
        assert!((candidate.score - (0.35 + 0.98 / 2.0)).abs() < 1e-6);
        assert_eq!((candidate.started, candidate.taken), (1, 1));
        assert_eq!(super::pending_q(0.95, 0.1), 1.0);
    }

    #[test]
    fn less_is_expected_of_visits_under_way_in_large_batches() {
        let gains =
            [1, 16, 31, 32, 256, 1024].map(|leaves| (pending_gain(0.1, leaves, false) * 100.0).round());
        assert_eq!(gains, [10.0, 10.0, 10.0, 5.0, -10.0, -20.0]);
        assert_eq!((pending_gain(0.1, 256, true) * 100.0).round(), -20.0);
    }

    #[test]
    fn draws_count_for_one_side_and_against_the_other() {
        let mean = Value {
            wl: 0.25,
            d: 0.5,
            m: 0.0,
        };
        assert_eq!((child_q(mean, 0.5), child_q(mean, -0.5)), (0.5, 0.0));
        assert_eq!((parent_q(mean, 0.5), parent_q(mean, -0.5)), (0.0, -0.5));
    }

    #[test]
    fn short_wins_and_long_losses_are_better() {
        let params = SearchParams::default();
        let parent = |wl| Value { wl, d: 0.0, m: 40.0 };
        assert!(MovesLeftUtility::new(&params, false, parent(0.9)).is_none());
        assert!(MovesLeftUtility::new(&params, true, parent(0.8)).is_none());
        let utility = MovesLeftUtility::new(&params, true, parent(-0.9)).unwrap();
        assert!((utility.of(0.9, 30.0) - 0.017_901_7).abs() < 1e-6);
        assert!((utility.of(-0.9, 30.0) + 0.017_901_7).abs() < 1e-6);
        assert!((utility.of(1.0, 400.0) + 0.0345).abs() < 1e-6);
        assert_eq!(utility.of(0.5, 10.0), 0.0);
    }

    proptest! {
        #[test]
        fn runs_of_visits_equal_single_ones(
            children in prop::collection::vec((-1f32..1.0, 0.001f32..5.0, 0u32..50), 1..12),
            visits in 1u32..2000,
        ) {
            let target = CandidateMove::Child(crate::search::tree::GameTree::new(crate::chess::History::start()).unwrap().root);
            let fresh: Vec<_> = children
                .iter()
                .map(|&(q, pu, started)| Candidate::new(q, pu, 1.0, started, target))
                .collect();
            let split = |by_runs, together| {
                let mut candidates = fresh.clone();
                let mut left = visits;
                while left > 0 {
                    let (best, rival) = best_two(&candidates).unwrap();
                    let run = if by_runs { candidates[best].visits_until_below(rival, left) } else { 1 };
                    left -= match if together { take_together(&mut candidates, left) } else { 0 } {
                        0 => candidates[best].take(run),
                        taken => taken,
                    };
                }
                candidates.iter().map(|c| c.taken).collect::<Vec<_>>()
            };
            let singles = split(false, false);
            for taken in [split(true, false), split(false, true)] {
                prop_assert!(taken.iter().zip(&singles).all(|(run, single)| run.abs_diff(*single) <= 1));
            }
        }
    }
}
