//! The stopper of `smooth`: holds a move to its plan and revises it during the search.

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

#[derive(Clone, Debug)]
pub(crate) struct MoveContext {
    pub config: SmoothConfig,
    pub clock: MoverClock,
    pub position: MovesLeftInput,
    pub input: PlanInput,
    pub draw_ms: f64,
    pub wait: FirstEvaluationWait,
    /// On the move's clock.
    pub began_ms: f64,
    /// Shared with the manager, which remembers it.
    pub nps: Arc<Mutex<NpsEstimator>>,
}

#[derive(Clone, Debug)]
pub(crate) struct SmoothStopper {
    context: MoveContext,
    moves_left: MovesLeftEstimate,
    plan: Plan,
    /// Measure for the weight of what is learnt.
    average_ms: f64,
    visit_rates: VisitRates,
    revised_at: f64,
    may_draw: bool,
    drawn_ms: f64,
}

impl SmoothStopper {
    pub(crate) fn new(context: MoveContext) -> Self {
        let plan = context.input.plan();
        SmoothStopper {
            moves_left: context.config.planned_moves(&context.clock, &context.position).0,
            plan,
            average_ms: plan.average_ms,
            visit_rates: VisitRates::new(context.config.values.piggybank),
            revised_at: 0.0,
            may_draw: false,
            drawn_ms: 0.0,
            context,
        }
    }

    /// Plans again at the first evaluation, then whenever the tree has grown by a tenth.
    fn revise(&mut self, stats: &SearchStats) {
        if !self.context.wait.is_over || (stats.nodes.as_f64()) < self.revised_at * REVISION_GROWTH {
            return;
        }
        self.revised_at = (stats.nodes.as_f64()).max(1.0);
        if let Some(root) = stats.root.filter(|root| root.m.is_some()) {
            self.context.position.m = root.m;
            self.context.position.m_spread = root.m_spread;
        }
        let MoveContext {
            config,
            clock,
            position,
            ..
        } = &self.context;
        let (moves_left, share_of_game) = config.planned_moves(clock, position);
        self.moves_left = moves_left;
        let input = PlanInput {
            nps: self.nps(),
            moves_left: moves_left.moves,
            future_weight: config.values.params.future_weight(stats.root, share_of_game),
            ..self.context.input
        };
        self.plan = input.plan();
    }

    fn needs_more_time(&self, stats: &SearchStats) -> bool {
        if self.context.draw_ms <= 0.0 {
            return false;
        }
        let just_began = stats
            .since_first_eval
            .is_none_or(|since| since.0 <= self.context.config.values.piggybank.force_ms);
        let best_is_in_doubt = stats.best_by_q.is_some() && stats.best_by_q != stats.most_visited();
        just_began
            || best_is_in_doubt
            || self
                .visit_rates
                .is_best_overtaken(self.regular_ms() + self.draw_limit_ms())
    }

    fn draw_limit_ms(&self) -> f64 {
        self.context
            .draw_ms
            .min(self.context.input.available_ms() - self.plan.budget_ms)
            .max(0.0)
    }

    /// Without the reserve, ms. With budgets in nodes only the clock limits the time.
    fn regular_ms(&self) -> f64 {
        match self.context.config.values.params.limit {
            LimitKind::Time | LimitKind::Both => self.plan.budget_ms,
            LimitKind::Nodes => self.context.input.max_move_ms(),
        }
    }

    fn nps(&self) -> f64 {
        self.context.nps.lock().optimistic()
    }

    fn node_budget(&self) -> Option<f64> {
        let nodes = self.plan.budget_ms / 1000.0 * self.nps();
        (self.context.config.values.params.limit != LimitKind::Time).then_some(nodes.max(1.0))
    }
}

impl Stopper for SmoothStopper {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        self.context.wait.observe(stats);
        self.context
            .nps
            .lock()
            .observe(stats, self.context.began_ms / 1000.0);
        if self.context.draw_ms > 0.0 {
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
        hints.least_time = Millis(self.context.config.values.params.min_pruned_share * self.average_ms);
        let deadline = self.deadline()?;
        hints.limit_remaining_time(deadline - stats.elapsed);
        if let Some(nodes) = self.node_budget() {
            hints.limit_remaining_visits(nodes - stats.new_nodes.as_f64());
            if self.context.wait.is_over && stats.new_nodes.as_f64() >= nodes && !self.may_draw {
                return Some(StopReason::TargetNodes);
            }
        }
        (stats.elapsed >= deadline).then_some(StopReason::Budget)
    }

    fn deadline(&self) -> Option<Millis> {
        let reserve = if self.may_draw { self.draw_limit_ms() } else { 0.0 };
        let limit = (self.regular_ms() + reserve).min(self.context.input.available_ms());
        Some(self.context.wait.extend(Millis(limit)))
    }

    fn report(&self) -> Option<MoveReport> {
        Some(MoveReport {
            manager: NAME,
            budget: Millis(self.plan.budget_ms),
            average: Some(Millis(self.average_ms)),
            target_nodes: Some(ExpectedNodes(self.plan.target_new_nodes)),
            tree_reuse: Some(self.context.input.tree_reuse),
            reused_nodes: Some(ExpectedNodes(self.context.input.reused_nodes)),
            timeuse: Some(self.context.input.timeuse),
            nps: Some(Nps(self.context.nps.lock().after_the_move().value)),
            moves_left: Some(self.moves_left.moves),
            moves_left_source: Some(self.moves_left.source),
            m: self.context.position.m,
            m_spread: self.context.position.m_spread,
            overdraft: Millis(self.drawn_ms),
            saved: Millis(self.plan.saved_ms),
        })
    }
}
