//! The stopper of `smooth`: holds a move to its plan and revises the plan as the search learns.

use crate::time::estimators::{MovesLeftEstimate, MovesLeftInput, NpsEstimator};
use crate::time::limits::GoLimits;
use crate::time::report::MoveReport;
use crate::time::stats::{Hints, SearchStats};
use crate::time::stopper::{StopReason, Stopper};

use super::params::{Limit, SmoothParams};
use super::plan::{Plan, PlanInput};
use super::trend::Trend;

/// The plan is revised each time the tree has grown by this factor.
const REVISION_GROWTH: f64 = 1.1;

/// What a move is planned from, and may be planned from again.
#[derive(Clone, Debug)]
pub struct Basis {
    /// The manager's parameters.
    pub params: SmoothParams,
    /// The `go` command.
    pub limits: GoLimits,
    /// What the moves-left estimator knows.
    pub position: MovesLeftInput,
    /// The plan's input at the start of the move.
    pub input: PlanInput,
    /// Time that may be drawn from the reserve, ms.
    pub draw_ms: f64,
    /// Wait for the first evaluation, ms.
    pub grace_ms: f64,
}

impl Basis {
    /// As [`SmoothParams::moves_left_within`].
    fn moves_left(&self) -> (MovesLeftEstimate, f64) {
        self.params.moves_left_within(&self.limits, &self.position)
    }
}

/// Holds one move to its plan.
#[derive(Clone, Debug)]
pub struct SmoothStopper {
    basis: Basis,
    moves_left: MovesLeftEstimate,
    plan: Plan,
    nps: NpsEstimator,
    trend: Trend,
    revised_at: f64,
    evaluated: bool,
    may_draw: bool,
    drawn_ms: f64,
}

impl SmoothStopper {
    /// Starts a move.
    pub fn new(basis: Basis, nps: NpsEstimator) -> Self {
        let (moves_left, _) = basis.moves_left();
        SmoothStopper {
            moves_left,
            plan: basis.input.plan(),
            nps,
            trend: Trend::new(&basis.params.piggybank),
            revised_at: 0.0,
            evaluated: false,
            may_draw: false,
            drawn_ms: 0.0,
            basis,
        }
    }

    /// Plans again with what the search has found out about the game's length and its own speed: at the first
    /// evaluation, and then whenever the tree has grown by a tenth.
    fn revise(&mut self, stats: &SearchStats) {
        if !self.evaluated || (stats.nodes as f64) < self.revised_at * REVISION_GROWTH {
            return;
        }
        self.revised_at = (stats.nodes as f64).max(1.0);
        if let Some(root) = stats.root.filter(|root| root.m.is_some()) {
            self.basis.position.m = root.m;
            self.basis.position.m_spread = root.m_spread;
        }
        let (moves_left, part) = self.basis.moves_left();
        self.moves_left = moves_left;
        let input = PlanInput {
            nps: self.nps.cautious(),
            moves_left: moves_left.moves,
            weight_ahead: self.basis.params.weight_ahead(stats.root, part),
            ..self.basis.input
        };
        self.plan = input.plan();
    }

    /// True if the move may go beyond its budget into the reserve.
    fn needs_more_time(&self, stats: &SearchStats) -> bool {
        if self.basis.draw_ms <= 0.0 {
            return false;
        }
        let just_began =
            stats.since_first_eval_ms.is_none_or(|ms| ms <= self.basis.params.piggybank.force_ms);
        let best_is_in_doubt = stats.best_by_q.is_some() && stats.best_by_q != stats.most_visited();
        just_began
            || best_is_in_doubt
            || self.trend.is_best_overtaken(self.regular_ms() + self.draw_limit_ms())
    }

    /// What the reserve gives beyond the budget, as far as the clock allows it, ms.
    fn draw_limit_ms(&self) -> f64 {
        self.basis.draw_ms.min(self.basis.input.available_ms() - self.plan.budget_ms).max(0.0)
    }

    /// The end of the move without the reserve, ms. Budgets in nodes leave the clock as the only limit in time.
    fn regular_ms(&self) -> f64 {
        match self.basis.params.limit {
            Limit::Time | Limit::Both => self.plan.budget_ms,
            Limit::Nodes => self.basis.input.most_for_one_move(),
        }
    }

    /// New nodes that end the move, where the budget is held in nodes.
    fn node_budget(&self) -> Option<f64> {
        let nodes = self.plan.budget_ms / 1000.0 * self.nps.cautious();
        (self.basis.params.limit != Limit::Time).then_some(nodes.max(1.0))
    }
}

impl Stopper for SmoothStopper {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        self.evaluated |= stats.since_first_eval_ms.is_some();
        self.nps.observe(stats);
        if self.basis.draw_ms > 0.0 {
            self.trend.observe(stats);
        }
        self.revise(stats);
        self.may_draw = self.needs_more_time(stats);
        self.drawn_ms =
            if self.may_draw { (stats.elapsed_ms - self.plan.budget_ms).max(0.0) } else { self.drawn_ms };

        hints.nps = Some(self.nps.cautious());
        let deadline_ms = self.deadline_ms()?;
        hints.limit_remaining_ms(deadline_ms - stats.elapsed_ms);
        if let Some(nodes) = self.node_budget() {
            hints.limit_remaining_playouts(nodes - stats.new_nodes as f64);
            if self.evaluated && stats.new_nodes as f64 >= nodes && !self.may_draw {
                return Some(StopReason::TargetNodes);
            }
        }
        (stats.elapsed_ms >= deadline_ms).then_some(StopReason::Budget)
    }

    fn deadline_ms(&self) -> Option<f64> {
        let reserve = if self.may_draw { self.draw_limit_ms() } else { 0.0 };
        let grace = if self.evaluated { 0.0 } else { self.basis.grace_ms };
        let limit = (self.regular_ms() + reserve).min(self.basis.input.available_ms());
        Some(limit.max(grace))
    }

    fn report(&self) -> Option<MoveReport> {
        Some(MoveReport {
            manager: "smooth",
            budget_ms: self.plan.budget_ms,
            average_ms: Some(self.plan.average_ms),
            target_nodes: Some(self.plan.target_new_nodes),
            tree_reuse: Some(self.basis.input.tree_reuse),
            reused_nodes: Some(self.basis.input.reused_nodes),
            timeuse: Some(self.basis.input.timeuse),
            nps: Some(self.nps.value()),
            moves_left: Some(self.moves_left.moves),
            moves_left_source: Some(self.moves_left.source),
            m: self.basis.position.m,
            m_spread: self.basis.position.m_spread,
            overdraft_ms: self.drawn_ms,
            saved_ms: self.plan.saved_ms,
        })
    }
}
