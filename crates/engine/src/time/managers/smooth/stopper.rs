//! Holds a move to its plan and revises that during the search.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::time::estimators::{MovesLeftEstimate, MovesLeftInput, NpsEstimator};
use crate::time::facts::MoverClock;
use crate::time::report::MoveReport;
use crate::time::stats::{Hints, SearchStats};
use crate::time::stoppers::{FirstEvaluationWait, StopReason, Stopper};
use crate::time::units::{ExpectedNodes, Millis, Nps};

use super::params::{LimitKind, NAME, SmoothConfig};
use super::piggybank::VisitRates;
use super::plan::{Plan, PlanInput};

const REVISION_GROWTH: f64 = 1.1;

#[derive(Debug)]
pub(crate) struct SmoothStopper {
    pub config: SmoothConfig,
    pub clock: MoverClock,
    pub position: MovesLeftInput,
    pub moves_left: MovesLeftEstimate,
    pub input: PlanInput,
    pub plan: Plan,
    /// Measure for the weight of what is learnt.
    pub average_ms: f64,
    pub draw_ms: f64,
    pub wait: FirstEvaluationWait,
    /// On the move's clock.
    pub began_ms: f64,
    /// Shared with the manager, which remembers it.
    pub nps: Arc<Mutex<NpsEstimator>>,
    pub visit_rates: VisitRates,
    pub revised_at: f64,
    pub may_draw: bool,
    pub drawn_ms: f64,
}

impl SmoothStopper {
    /// At the first evaluation, then whenever the tree has grown by a tenth.
    fn revise(&mut self, stats: &SearchStats) {
        if !self.wait.is_over || (stats.nodes.as_f64()) < self.revised_at * REVISION_GROWTH {
            return;
        }
        self.revised_at = (stats.nodes.as_f64()).max(1.0);
        if let Some(root) = stats.root.filter(|root| root.m.is_some()) {
            self.position.m = root.m;
            self.position.m_spread = root.m_spread;
        }
        let (moves_left, share_of_game) = self.config.planned_moves(&self.clock, &self.position);
        self.moves_left = moves_left;
        let input = PlanInput {
            nps: self.nps(),
            moves_left: moves_left.moves,
            future_weight: self.config.values.params.future_weight(stats.root, share_of_game),
            ..self.input
        };
        self.plan = input.plan();
    }

    fn needs_more_time(&self, stats: &SearchStats) -> bool {
        if self.draw_ms <= 0.0 {
            return false;
        }
        let just_began = stats
            .since_first_eval
            .is_none_or(|since| since.0 <= self.config.values.piggybank.force_ms);
        let best_is_in_doubt = stats.best_by_q.is_some() && stats.best_by_q != stats.most_visited();
        just_began
            || best_is_in_doubt
            || self
                .visit_rates
                .is_best_overtaken(self.regular_ms() + self.draw_limit_ms())
    }

    fn draw_limit_ms(&self) -> f64 {
        self.draw_ms
            .min(self.input.available_ms() - self.plan.budget_ms)
            .max(0.0)
    }

    /// Without the reserve, ms. With budgets in nodes only the clock limits the time.
    fn regular_ms(&self) -> f64 {
        match self.config.values.params.limit {
            LimitKind::Time | LimitKind::Both => self.plan.budget_ms,
            LimitKind::Nodes => self.input.max_move_ms(),
        }
    }

    fn nps(&self) -> f64 {
        self.nps.lock().optimistic()
    }

    fn node_budget(&self) -> Option<f64> {
        let nodes = self.plan.budget_ms / 1000.0 * self.nps();
        (self.config.values.params.limit != LimitKind::Time).then_some(nodes.max(1.0))
    }
}

impl Stopper for SmoothStopper {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        self.wait.observe(stats);
        self.nps.lock().observe(stats, self.began_ms / 1000.0);
        if self.draw_ms > 0.0 {
            self.visit_rates.observe(stats);
        }
        self.revise(stats);
        self.may_draw = self.needs_more_time(stats);
        self.drawn_ms = if self.may_draw {
            (stats.elapsed.0 - self.plan.budget_ms).max(0.0)
        } else {
            self.drawn_ms
        };

        hints.nps = Some(Nps(self.nps()));
        hints.least_time = Millis(self.config.values.params.min_pruned_share * self.average_ms);
        let deadline = self.deadline()?;
        hints.limit_remaining_time(deadline - stats.elapsed);
        if let Some(nodes) = self.node_budget() {
            hints.limit_remaining_visits(nodes - stats.new_nodes.as_f64());
            if self.wait.is_over && stats.new_nodes.as_f64() >= nodes && !self.may_draw {
                return Some(StopReason::TargetNodes);
            }
        }
        (stats.elapsed >= deadline).then_some(StopReason::Budget)
    }

    fn deadline(&self) -> Option<Millis> {
        let reserve = if self.may_draw { self.draw_limit_ms() } else { 0.0 };
        let limit = (self.regular_ms() + reserve).min(self.input.available_ms());
        Some(self.wait.extend(Millis(limit)))
    }

    fn report(&self) -> Option<MoveReport> {
        Some(MoveReport {
            manager: NAME,
            budget: Millis(self.plan.budget_ms),
            average: Some(Millis(self.average_ms)),
            target_nodes: Some(ExpectedNodes(self.plan.target_new_nodes)),
            tree_reuse: Some(self.input.tree_reuse),
            reused_nodes: Some(ExpectedNodes(self.input.reused_nodes)),
            timeuse: Some(self.input.timeuse),
            nps: Some(Nps(self.nps.lock().after_the_move().value)),
            moves_left: Some(self.moves_left.moves),
            moves_left_source: Some(self.moves_left.source),
            m: self.position.m,
            m_spread: self.position.m_spread,
            overdraft: Millis(self.drawn_ms),
            saved: Millis(self.plan.saved_ms),
        })
    }
}
