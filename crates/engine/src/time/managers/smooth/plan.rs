//! A budget from the clock, in the steps of PR 1195.
//!
//! Differences: the increment counts ML − 1 times, as the last comes too late. Overhead, `movestogo` and
//! `min-move-share` enter the plan, which is revised during the search.

use super::params::{MoveWeight, SmoothParams};
use crate::time::facts::RootEvaluation;

#[derive(Debug)]
pub(crate) struct PlanInput {
    pub time_ms: f64,
    pub inc_ms: f64,
    pub overhead_ms: f64,
    pub movestogo: Option<u32>,
    /// Full moves of our side, capped by `movestogo`, at least 1.
    pub moves_left: f64,
    pub future_weight: f64,
    pub nps: f64,
    /// Below 1.
    pub tree_reuse: f64,
    pub reused_nodes: f64,
    /// Share of the new nodes that count: the best move's for `target=bestmove`.
    pub share_of_new: f64,
    /// Expected share of a budget that is used, less the lead.
    pub timeuse: f64,
    /// Least expected share, lead included.
    pub min_timeuse: f64,
    /// New nodes that the best move's lead at the start saves.
    pub lead_nodes: f64,
    /// Largest share of the clock for one move.
    pub max_move_budget: f64,
    pub min_move_share: f64,
    /// Kept for longer games: no single move may use it.
    pub reserve_ms: f64,
    pub piggybank_ms: f64,
    /// Share of the target time for the piggybank, and the room there.
    pub deposit_share: f64,
    pub deposit_room_ms: f64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// For moves that weigh as much as this one.
    pub average_ms: f64,
    pub target_new_nodes: f64,
    pub saved_ms: f64,
    pub budget_ms: f64,
}

impl PlanInput {
    pub(crate) fn plan(&self) -> Plan {
        let clock_ms = self.time_ms + self.inc_ms * (self.moves_left - 1.0) - self.overhead_ms;
        let game_ms = (clock_ms - self.piggybank_ms).max(0.0);
        let average_ms = game_ms / (1.0 + (self.moves_left - 1.0) * self.future_weight);
        let average_new_nodes = average_ms / 1000.0 * self.nps * self.share_of_new;
        let average_total_nodes = average_new_nodes / (1.0 - self.tree_reuse);
        let wanted = (average_total_nodes - self.reused_nodes).max(0.0) / self.share_of_new;
        // Without a rate the target must not be endless.
        let needed_ms = if self.nps > 0.0 {
            wanted / self.nps * 1000.0
        } else {
            average_ms
        };
        let target_ms = needed_ms.max(self.min_move_share * average_ms);
        let saved_ms = (target_ms * self.deposit_share)
            .min(self.deposit_room_ms)
            .max(0.0);
        let spent_ms = target_ms - saved_ms;
        let lead_ms = if self.nps > 0.0 {
            self.lead_nodes / self.nps * 1000.0
        } else {
            0.0
        };
        let unused_included_ms = (spent_ms / self.timeuse + lead_ms).min(spent_ms / self.min_timeuse);
        let budget_ms = unused_included_ms.min(self.max_move_ms());
        Plan {
            average_ms,
            target_new_nodes: target_ms / 1000.0 * self.nps,
            saved_ms,
            budget_ms,
        }
    }

    pub(crate) fn available_ms(&self) -> f64 {
        (self.time_ms - self.overhead_ms - self.reserve_ms).max(0.0)
    }

    /// Before a time control an even share is allowed.
    pub(crate) fn max_move_ms(&self) -> f64 {
        let even_share = self.movestogo.map_or(0.0, |n| 1.0 / f64::from(n));
        (self.time_ms * self.max_move_budget.max(even_share)).min(self.available_ms())
    }
}

impl SmoothParams {
    /// Average weight of the moves ahead, this one's being 1. `part` as in [`stakes_ahead`].
    pub(super) fn future_weight(&self, root: Option<RootEvaluation>, part: f64) -> f64 {
        let Some(root) = root else { return 1.0 };
        match self.move_weight {
            MoveWeight::Even => 1.0,
            MoveWeight::Stakes => stakes_ahead(root, part),
        }
    }
}

/// Average weight ahead, `0.5..=1`, if a move weighs what is at stake. 1 without draws.
///
/// Better play gains in proportion to 1 − wl² (the derivative of a logistic function of an advantage). wl
/// wanders without drift, so the mean of wl² rises evenly to that of the final results, 1 − d: the mean
/// weight falls from 1 − wl² to d.
///
/// `part` is the share of the remaining game that is planned for.
fn stakes_ahead(root: RootEvaluation, part: f64) -> f64 {
    let RootEvaluation { wl, d: Some(d), .. } = root else {
        return 1.0;
    };
    let now = 1.0 - wl * wl;
    // d ≤ 1 − |wl| ≤ 1 − wl², up to rounding.
    let end = if now > 0.0 { (d / now).clamp(0.0, 1.0) } else { 1.0 };
    1.0 - (1.0 - end) * part / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 100 s + 1 s, 200 ms overhead, 41 moves left, 1000 nodes/s, half the tree reused.
    fn input() -> PlanInput {
        PlanInput {
            time_ms: 100_000.0,
            inc_ms: 1_000.0,
            overhead_ms: 200.0,
            movestogo: None,
            moves_left: 41.0,
            future_weight: 1.0,
            nps: 1_000.0,
            tree_reuse: 0.5,
            reused_nodes: 2_000.0,
            share_of_new: 1.0,
            timeuse: 0.7,
            min_timeuse: 0.3,
            lead_nodes: 0.0,
            max_move_budget: 0.3,
            min_move_share: 0.0,
            reserve_ms: 0.0,
            piggybank_ms: 0.0,
            deposit_share: 0.0,
            deposit_room_ms: 0.0,
        }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b.abs().max(1.0)
    }

    #[test]
    fn step_by_step() {
        let plan = input().plan();
        // T = 100,000 + 1,000·40 − 200 = 139,800. /41 = 3,409.756 ms. 3,409.756 new nodes per move. /(1 −
        // 0.5) = 6,819.512 in total. − 2,000 = 4,819.512 new. At 1,000/s as many ms. /0.7 = 6,885.017.
        assert!(close(plan.average_ms, 3_409.756_098));
        assert!(close(plan.target_new_nodes, 4_819.512_195));
        assert!(close(plan.budget_ms, 6_885.017_422));
    }

    #[test]
    fn a_move_that_weighs_more_than_those_ahead_gets_more() {
        let plan = PlanInput {
            future_weight: 0.6,
            ..input()
        }
        .plan();
        assert!(close(plan.average_ms, 5_592.0));
    }

    #[test]
    fn four_kinds_of_time_control() {
        let budget = |inc_ms, movestogo: Option<u32>| {
            let moves_left = movestogo.map_or(50.0, f64::from);
            PlanInput {
                inc_ms,
                movestogo,
                moves_left,
                reused_nodes: 0.0,
                ..input()
            }
            .plan()
            .budget_ms
        };
        // 2·99,800/50/0.7. (99,800 + 49,000). 20 moves. (99,800 + 19,000)/20.
        assert!(close(budget(0.0, None), 5_702.857_143));
        assert!(close(budget(1_000.0, None), 8_502.857_143));
        assert!(close(budget(0.0, Some(20)), 14_257.142_857));
        assert!(close(budget(1_000.0, Some(20)), 16_971.428_571));
    }

    #[test]
    fn one_move_takes_a_share_of_the_clock_at_most() {
        let plan = PlanInput {
            moves_left: 3.0,
            ..input()
        }
        .plan();
        assert!(close(plan.budget_ms, 30_000.0));
    }

    /// Lc0's defect: max-move-budget throws most of a period's last move away.
    #[test]
    fn the_last_move_before_the_control_may_take_all() {
        let with = |n: u32| {
            PlanInput {
                movestogo: Some(n),
                moves_left: f64::from(n),
                ..input()
            }
            .plan()
        };
        assert!(close(with(1).budget_ms, 99_800.0));
        assert!(close(with(2).budget_ms, 50_000.0));
        assert!(close(with(4).budget_ms, 30_000.0));
    }

    #[test]
    fn a_clock_below_the_overhead_gives_nothing() {
        let plan = PlanInput {
            time_ms: 150.0,
            inc_ms: 0.0,
            ..input()
        }
        .plan();
        assert_eq!(plan.budget_ms, 0.0);
        assert_eq!(
            PlanInput {
                time_ms: 150.0,
                ..input()
            }
            .plan()
            .budget_ms,
            0.0
        );
    }

    #[test]
    fn a_tree_that_is_large_enough_still_gets_the_least_share() {
        let full = PlanInput {
            reused_nodes: 1e6,
            ..input()
        };
        assert_eq!(full.plan().budget_ms, 0.0);
        let plan = PlanInput {
            min_move_share: 0.1,
            ..full
        }
        .plan();
        // 0.1·3,409.756/0.7
        assert!(close(plan.budget_ms, 487.108_014));
    }

    #[test]
    fn saving_pays_into_the_reserve() {
        let saving = PlanInput {
            deposit_share: 0.12,
            deposit_room_ms: 1e9,
            ..input()
        };
        let plan = PlanInput {
            piggybank_ms: 9_000.0,
            ..saving
        }
        .plan();
        // T = 130,800. /41 = 3,190.244. ·2 = 6,380.488 − 2,000 = 4,380.488. 12 % are 525.659. The rest /0.7 =
        // 5,506.899.
        assert!(close(plan.saved_ms, 525.658_537));
        assert!(close(plan.budget_ms, 5_506.898_955));
    }

    #[test]
    fn a_best_move_target_counts_its_share_of_new_nodes() {
        // 60 % of 3,409.756 new nodes = 2,045.854 visits for the best move. ·2 = 4,091.707. − 1,000 reused.
        // 3,091.707/0.6 = 5,152.846 new nodes.
        let plan = PlanInput {
            share_of_new: 0.6,
            reused_nodes: 1_000.0,
            ..input()
        }
        .plan();
        assert!(close(plan.target_new_nodes, 5_152.845_528));
    }

    proptest! {
        #[test]
        fn within_the_clock_and_monotone_in_time(
            time_ms in 0.0..1e9, more_ms in 0.0..1e8, inc_ms in 0.0..1e6, overhead_ms in 0.0..1e4,
            movestogo in proptest::option::of(0u32..100), moves_left in 1.0..300.0, nps in 0.0..1e7,
            tree_reuse in 0.0..0.95, reused_nodes in 0.0..1e9, timeuse in 0.05..1.0,
        ) {
            let input = PlanInput {
                time_ms, inc_ms, overhead_ms, movestogo, moves_left, nps, tree_reuse, reused_nodes, timeuse,
                min_move_share: 0.05, ..input()
            };
            let plan = input.plan();
            prop_assert!(plan.budget_ms >= 0.0 && plan.budget_ms <= (time_ms - overhead_ms).max(0.0));
            let richer = PlanInput { time_ms: time_ms + more_ms, ..input }.plan();
            prop_assert!(richer.budget_ms >= plan.budget_ms * (1.0 - 1e-9) - 1e-6);
        }
    }

    fn root(wl: f64, d: f64) -> RootEvaluation {
        RootEvaluation {
            wl,
            d: Some(d),
            ..RootEvaluation::default()
        }
    }

    #[test]
    fn draws_keep_what_is_at_stake() {
        let weight = |q, d, part| stakes_ahead(root(q, d), part);
        // No draws: the weights fall to 0, half on average. Only draws: they stay.
        assert!(close(weight(0.0, 0.0, 1.0), 0.5));
        assert!(close(weight(0.0, 1.0, 1.0), 1.0));
        // q 0.6, 20 % draws: from 0.64 to 0.2, the mean 0.42 is 0.65625 of 0.64.
        assert!(close(weight(0.6, 0.2, 1.0), 0.656_25));
        // Halfway: from 0.64 to 0.42, the mean 0.53.
        assert!(close(weight(0.6, 0.2, 0.5), 0.53 / 0.64));
    }

    #[test]
    fn certain_and_unknown_results() {
        assert_eq!(stakes_ahead(root(1.0, 0.0), 1.0), 1.0);
        assert_eq!(stakes_ahead(root(-0.5, 0.9), 1.0), 1.0, "rounded figures");
        assert_eq!(
            stakes_ahead(RootEvaluation::default(), 1.0),
            1.0,
            "a network without draws"
        );
    }

    proptest! {
        #[test]
        fn weights_ahead_are_positive_and_not_above_one(q in -1.0..=1.0, d in 0.0..=1.0, part in 0.001..=1.0) {
            let weight = stakes_ahead(root(q, d), part);
            prop_assert!(weight > 0.0 && weight <= 1.0 + 1e-9, "{}", weight);
        }
    }
}
