//! Reactions: what a search finds makes its move longer or shorter than planned.
//!
//! Each looks at one sign of a difficult move and multiplies the budget; all are off by default. The manager learns the share of
//! the budget *without* them that moves use, so that they move time between moves and do not spend more of the clock.

use crate::options::option_group;
use crate::time::stats::SearchStats;

/// Part of the distance to a new Q that the mean over earlier moves goes with each move.
const MOVE_STEP: f64 = 0.5;
/// Nodes that halve what earlier values and changes count within a move: a tree of twice the size.
const HALF_LIFE_DOUBLINGS: f64 = 1.0;
/// Weight of a fall within the move, where the fall since earlier moves has 1.
const FALL_WITHIN_MOVE: f64 = 0.5;
/// Share of new visits of the best move that is neither much nor little.
const USUAL_EFFORT: f64 = 0.6;
/// Least visits of a move whose better Q counts as disagreement, as a share of those of the most visited move.
const LEAST_RIVAL_VISITS: f64 = 0.1;
/// Least factor of a single reaction.
const LEAST_FACTOR: f64 = 0.1;

option_group! {
    /// Parameters of the reactions. 0 turns a reaction off.
    #[derive(Copy)]
    pub(crate) struct ReactionParams {
        /// Extra time for a fall of Q by 1, as a share of the budget. Q is compared with the last moves and, at half the weight, with earlier values of this move. A rise of Q shortens the move.
        falling_eval: f64 = 0.0, in 0.0..=100.0, "falling-eval";
        /// Extra time for each change of the best move, as a share of the budget. A change counts half as much once the tree has doubled.
        instability: f64 = 0.0, in 0.0..=100.0, "instability";
        /// Extra time if the best move receives less than the usual 60 % of the new visits, as a share of the budget. It is proportional to the missing share of visits. A larger share of visits shortens the move.
        effort: f64 = 0.0, in 0.0..=100.0, "effort";
        /// Extra time while the most visited move does not have the best Q, as a share of the budget.
        disagreement: f64 = 0.0, in 0.0..=100.0, "disagreement";
        /// Minimum factor of all reactions together.
        min_factor: f64 = 0.5, in 0.1..=1.0, "min-reaction";
        /// Maximum factor of all reactions together. `max-move-budget` still applies.
        max_factor: f64 = 2.0, in 1.0..=10.0, "max-reaction";
    }
}

impl ReactionParams {
    /// Returns true if any reaction is on.
    pub(super) fn are_on(&self) -> bool {
        [self.falling_eval, self.instability, self.effort, self.disagreement].iter().any(|&gain| gain > 0.0)
    }
}

/// Returns the decayed mean of Q over the moves of a game, after one more.
pub(super) fn mean_q(before: Option<f64>, q: f64) -> f64 {
    before.map_or(q, |before| before + (q - before) * MOVE_STEP)
}

/// The signs of one move.
#[derive(Clone, Debug)]
pub(crate) struct Reactions {
    params: ReactionParams,
    /// Mean Q of the moves before this one.
    last_moves_q: Option<f64>,
    seen: Option<Seen>,
}

/// What earlier looks at this move's search have shown.
#[derive(Clone, Debug)]
struct Seen {
    nodes: f64,
    /// Decayed mean of Q.
    q: f64,
    best: Option<usize>,
    /// Changes of the best move, decayed.
    changes: f64,
    /// Visits of the root's moves at the first look.
    first_visits: Vec<u32>,
}

impl Reactions {
    /// Begins a move after moves whose mean Q was `last_moves_q`.
    pub(crate) fn new(params: ReactionParams, last_moves_q: Option<f64>) -> Self {
        Reactions { params, last_moves_q, seen: None }
    }

    /// Looks at the search, from time to time, and returns the factor on the budget; 1 before there is an evaluation.
    pub(crate) fn observe(&mut self, stats: &SearchStats) -> f64 {
        let (Some(root), best) = (stats.root, stats.most_visited()) else { return 1.0 };
        let nodes = stats.nodes.as_f64().max(1.0);
        let seen = self.seen.get_or_insert_with(|| Seen {
            nodes,
            q: root.q,
            best,
            changes: 0.0,
            first_visits: stats.root_visits.clone(),
        });
        let kept = 0.5_f64.powf((nodes / seen.nodes).max(1.0).log2() / HALF_LIFE_DOUBLINGS);
        seen.nodes = nodes;
        seen.changes = seen.changes * kept + if best == seen.best { 0.0 } else { 1.0 };
        seen.best = best;
        let since_last_moves = self.last_moves_q.map_or(0.0, |before| before - root.q);
        let fall = since_last_moves + FALL_WITHIN_MOVE * (seen.q - root.q);
        seen.q = root.q + (seen.q - root.q) * kept;
        let missing_effort = best_share(stats, seen).map_or(0.0, |share| USUAL_EFFORT - share);
        let disagreement = if values_disagree(stats) { 1.0 } else { 0.0 };
        let signs = [
            (self.params.falling_eval, fall),
            (self.params.instability, seen.changes),
            (self.params.effort, missing_effort),
            (self.params.disagreement, disagreement),
        ];
        let product: f64 = signs.iter().map(|(gain, sign)| (1.0 + gain * sign).max(LEAST_FACTOR)).product();
        product.clamp(self.params.min_factor, self.params.max_factor)
    }
}

/// Returns the share of the visits since the first look that went to the most visited move.
fn best_share(stats: &SearchStats, seen: &Seen) -> Option<f64> {
    let new_visits = |(&now, &first): (&u32, &u32)| f64::from(now.saturating_sub(first));
    let all: f64 = stats.root_visits.iter().zip(&seen.first_visits).map(new_visits).sum();
    let best = seen.best?;
    let of_best = new_visits((stats.root_visits.get(best)?, seen.first_visits.get(best)?));
    (all > 0.0).then(|| of_best / all)
}

/// Returns whether a move with enough visits has a better Q than the most visited one.
fn values_disagree(stats: &SearchStats) -> bool {
    let visits = |index: Option<usize>| index.and_then(|index| stats.root_visits.get(index)).copied();
    let (most, by_q) = (stats.most_visited(), stats.best_by_q);
    match (visits(most), visits(by_q)) {
        (Some(of_most), Some(of_rival)) => {
            most != by_q && f64::from(of_rival) >= LEAST_RIVAL_VISITS * f64::from(of_most)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::facts::RootEvaluation;
    use crate::time::units::Nodes;
    use proptest::prelude::*;

    fn at(nodes: u64, q: f64, root_visits: &[u32]) -> SearchStats {
        SearchStats {
            nodes: Nodes(nodes),
            root_visits: root_visits.into(),
            root: Some(RootEvaluation { q, ..RootEvaluation::default() }),
            ..SearchStats::default()
        }
    }

    fn off() -> ReactionParams {
        ReactionParams::default()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn a_falling_evaluation_makes_a_move_longer_and_a_rising_one_shorter() {
        let mut move_after = Reactions::new(ReactionParams { falling_eval: 2.0, ..off() }, Some(0.3));
        assert!(close(move_after.observe(&at(100, 0.2, &[60, 40])), 1.2), "0.1 since the last moves");
        // 0.2 since the last moves and half of 0.1 within this one.
        assert!(close(move_after.observe(&at(200, 0.1, &[120, 80])), 1.5));
        // The tree has doubled: of this move's 0.2 the mean has gone half the way to 0.1.
        assert!(close(move_after.observe(&at(200, 0.15, &[120, 80])), 1.3));
        assert!(close(move_after.observe(&at(200, 0.9, &[120, 80])), 0.5), "the least factor");
        let mut first_move = Reactions::new(ReactionParams { falling_eval: 2.0, ..off() }, None);
        assert!(close(first_move.observe(&at(100, -0.5, &[60, 40])), 1.0));
    }

    #[test]
    fn changes_of_the_best_move_count_less_with_each_doubling() {
        let mut reactions = Reactions::new(ReactionParams { instability: 0.4, ..off() }, None);
        assert!(close(reactions.observe(&at(100, 0.0, &[60, 40])), 1.0));
        assert!(close(reactions.observe(&at(110, 0.0, &[54, 56])), 1.4));
        assert!(close(reactions.observe(&at(220, 0.0, &[54, 166])), 1.2));
        assert!(close(reactions.observe(&at(440, 0.0, &[274, 166])), 1.5), "0.4·(1/4 + 1)");
    }

    #[test]
    fn visits_that_leave_the_best_move_make_a_move_longer() {
        let mut reactions = Reactions::new(ReactionParams { effort: 0.5, ..off() }, None);
        assert!(close(reactions.observe(&at(100, 0.0, &[90, 10])), 1.0), "no new visits");
        // 20 of 100 new visits: 1 + 0.5·(0.6 − 0.2); then 170 of 200: 1 + 0.5·(0.6 − 0.85).
        assert!(close(reactions.observe(&at(200, 0.0, &[110, 90])), 1.2));
        assert!(close(reactions.observe(&at(300, 0.0, &[260, 40])), 0.875));
    }

    #[test]
    fn a_better_value_elsewhere_makes_a_move_longer() {
        let mut reactions = Reactions::new(ReactionParams { disagreement: 0.25, ..off() }, None);
        let with_best = |best_by_q, visits: &[u32]| SearchStats { best_by_q, ..at(100, 0.0, visits) };
        assert!(close(reactions.observe(&with_best(Some(0), &[60, 40])), 1.0));
        assert!(close(reactions.observe(&with_best(Some(1), &[60, 40])), 1.25));
        assert!(close(reactions.observe(&with_best(Some(1), &[95, 5])), 1.0), "too few visits to tell");
        assert!(close(reactions.observe(&with_best(None, &[60, 40])), 1.0));
    }

    #[test]
    fn the_mean_over_moves_follows_by_half() {
        assert_eq!(mean_q(None, 0.4), 0.4);
        assert!(close(mean_q(Some(0.4), 0.2), 0.3));
    }

    proptest! {
        #[test]
        fn the_product_stays_within_its_bounds_and_off_is_one(
            looks in proptest::collection::vec((-1.0..=1.0, 0u32..1000, 0u32..1000, proptest::option::of(0usize..3)), 1..20),
            gains in proptest::array::uniform4(0.0..=100.0), last_moves_q in proptest::option::of(-1.0..=1.0),
        ) {
            let [falling_eval, instability, effort, disagreement] = gains;
            let on = ReactionParams { falling_eval, instability, effort, disagreement, ..off() };
            let mut reactions = [on, off()].map(|params| Reactions::new(params, last_moves_q));
            for (q, a, b, best_by_q) in looks {
                let stats = SearchStats { best_by_q, ..at(u64::from(a) + u64::from(b), q, &[a, b]) };
                let [on, off] = [0, 1].map(|i: usize| reactions[i].observe(&stats));
                prop_assert!((0.5..=2.0).contains(&on), "{}", on);
                prop_assert_eq!(off, 1.0);
            }
        }
    }
}
