//! `smooth`: the same number of nodes in the tree at every move's end, and all time used by the end of the
//! game.
//!
//! It learns the search's speed, the share of the tree that survives a move, and the share of a budget that
//! is used. `piggybank` belongs to `preset=lc0`.

mod params;
mod piggybank;
mod plan;
mod stopper;

pub use params::Preset;
pub(crate) use params::with_preset;
pub(crate) use params::{MoveWeight, NodeTarget, ReuseCount, SmoothConfig, SmoothValues, TimeUse};
pub(crate) use plan::PlanInput;

use std::sync::Arc;

use parking_lot::Mutex;

use crate::params::{ParamError, Params};
use crate::time::estimators::{LearnedShare, MovesLeftInput, NpsEstimator};
use crate::time::facts::{MoveFacts, MoverClock};
use crate::time::manager::{MoveOutcome, TimeManager};
use crate::time::parameters::Named;
use crate::time::stoppers::{FirstEvaluationWait, Stopper};
use crate::time::units::Millis;

use piggybank::{Piggybank, VisitRates};
use stopper::SmoothStopper;

/// The best move's share of visits, guessed, and its learning step in average moves.
const BEST_SHARE: f64 = 0.6;
const BEST_SHARE_RATE: f64 = 4.0;

#[derive(Clone, Copy, Debug)]
struct PreviousMove {
    /// At its end, as the target counts them.
    nodes: f64,
    /// Share of the final tree made on our own clock. The rest shortens no later move.
    own_share: f64,
    weight: f64,
}

/// The default manager.
#[derive(Clone, Debug)]
pub struct Smooth {
    config: SmoothConfig,
    /// After the last move.
    nps: NpsEstimator,
    /// Of the move under way.
    measuring: Option<Arc<Mutex<NpsEstimator>>>,
    tree_reuse: LearnedShare,
    timeuse: LearnedShare,
    best_share: LearnedShare,
    previous: Option<PreviousMove>,
    /// Pondered nodes in the tree at the move's start.
    gift_nodes: f64,
    lead_nodes: f64,
    piggybank: Piggybank,
    message: Option<String>,
}

impl Smooth {
    fn with(config: SmoothConfig) -> Self {
        let own = config.values.params;
        let rate = own.tree_reuse_update_rate;
        Smooth {
            nps: NpsEstimator::new(own.nps_rule(0.0), own.init_nps, 0.0),
            measuring: None,
            tree_reuse: LearnedShare::new(own.init_tree_reuse, rate, 0.0, own.max_tree_reuse),
            timeuse: LearnedShare::new(own.init_timeuse, own.timeuse_update_rate, own.min_timeuse, 1.0),
            best_share: LearnedShare::new(BEST_SHARE, BEST_SHARE_RATE, 0.05, 1.0),
            previous: None,
            gift_nodes: 0.0,
            lead_nodes: 0.0,
            piggybank: Piggybank::default(),
            message: None,
            config,
        }
    }

    fn plan_move(&mut self, facts: &MoveFacts, clock: MoverClock) -> Box<dyn Stopper> {
        let (time_ms, inc_ms) = (clock.time.0, clock.inc.0);
        let own_share = self.previous.map_or(1.0, |previous| previous.own_share);
        self.gift_nodes = facts.reused_nodes.as_f64() - facts.kept_nodes().as_f64() * own_share;
        let reused_nodes = self.counted_reuse(facts) * own_share;
        if let Some(previous) = self.previous.take().filter(|previous| previous.nodes > 0.0) {
            self.tree_reuse
                .learn(reused_nodes / previous.nodes, previous.weight);
        }
        let position = moves_left_input(facts);
        let (estimate, share_of_game) = self.config.planned_moves(&clock, &position);
        // The network keeps its heads in this game.
        if !facts.has_moves_left && self.config.moves_left.uses_head() {
            self.config.moves_left = self.config.moves_left.clone().without_head();
            let text = "The network has no Moves Left Head: moves left are estimated without it";
            self.message = Some(format!("{text} ({}).", estimate.source));
        }
        let moves_left = estimate.moves;
        let SmoothValues {
            params,
            piggybank: bank,
            ..
        } = self.config.values;
        let to_control = facts.time_to_control(moves_left).unwrap_or_default();
        let cap_ms = bank.max_moves * to_control.0 / moves_left;
        self.piggybank.prepare(&bank, time_ms, cap_ms);
        let piggybank_ms = self.piggybank.balance_ms();
        self.lead_nodes = match params.timeuse {
            TimeUse::Tree => facts.pruning_lead(),
            TimeUse::Average => 0.0,
        };
        let input = PlanInput {
            time_ms,
            inc_ms,
            overhead_ms: facts.overhead.0,
            movestogo: clock.movestogo,
            moves_left,
            future_weight: params.future_weight(facts.root, share_of_game),
            nps: self.nps.value,
            tree_reuse: self.tree_reuse.value,
            reused_nodes,
            share_of_new: match params.target {
                NodeTarget::Tree => 1.0,
                NodeTarget::BestMove => self.best_share.value,
            },
            timeuse: self.timeuse.value,
            min_timeuse: params.min_timeuse,
            lead_nodes: self.lead_nodes,
            max_move_budget: params.max_move_budget,
            min_move_share: if facts.has_choice() {
                params.min_move_share
            } else {
                0.0
            },
            reserve_ms: facts.reserve.0,
            piggybank_ms,
            deposit_share: bank.per_move_share,
            deposit_room_ms: cap_ms - piggybank_ms,
        };
        let plan = input.plan();
        let rule = params.nps_rule(plan.average_ms);
        let nps = NpsEstimator::new(rule, self.nps.value, self.nps.measured_s);
        let nps = self.measuring.insert(Arc::new(Mutex::new(nps))).clone();
        Box::new(SmoothStopper {
            config: self.config.clone(),
            clock,
            position,
            moves_left: estimate,
            input,
            plan,
            average_ms: plan.average_ms,
            draw_ms: bank.max_use * piggybank_ms,
            wait: FirstEvaluationWait::new(facts),
            began_ms: facts.elapsed.0,
            nps,
            visit_rates: VisitRates::new(bank),
            revised_at: 0.0,
            may_draw: false,
            drawn_ms: 0.0,
        })
    }

    fn counted_reuse(&self, facts: &MoveFacts) -> f64 {
        let in_tree = facts.reused_nodes.as_f64();
        let most = facts.reused_visits.iter().copied().max().map_or(0.0, f64::from);
        let counted = match (self.config.values.params.target, self.config.values.params.reuse) {
            (NodeTarget::BestMove, _) => most,
            (NodeTarget::Tree, ReuseCount::Distribution) if most > 0.0 => facts
                .reused_visits
                .iter()
                .map(|&n| f64::from(n) * f64::from(n) / most)
                .sum(),
            (NodeTarget::Tree, _) => in_tree,
        };
        if in_tree > 0.0 {
            counted * (facts.kept_nodes().as_f64() / in_tree)
        } else {
            0.0
        }
    }
}

fn moves_left_input(facts: &MoveFacts) -> MovesLeftInput {
    MovesLeftInput {
        game_ply: facts.game_ply,
        pieces: facts.pieces,
        m: facts.root.and_then(|root| root.m),
        m_spread: facts.root.and_then(|root| root.m_spread),
    }
}

impl From<SmoothValues> for Smooth {
    fn from(params: SmoothValues) -> Self {
        Smooth::with(params.into())
    }
}

impl Named for Smooth {
    const NAME: &'static str = params::NAME;
    const SUMMARY: &'static str = "Ends every move with the same number of nodes in the tree, and uses all time by the end of the game.";
    type Params = SmoothValues;

    fn from_list(list: &Params) -> Result<Self, ParamError> {
        SmoothConfig::from_params(list).map(Smooth::with)
    }
}

impl TimeManager for Smooth {
    fn start_move(&mut self, facts: &MoveFacts) -> Option<Box<dyn Stopper>> {
        let Some(clock) = facts.limit.mover_clock() else {
            // The next move finds this search's nodes in its tree.
            self.previous = None;
            return None;
        };
        Some(self.plan_move(facts, clock))
    }

    fn finish_move(&mut self, outcome: &MoveOutcome) {
        let report = &outcome.report;
        if let Some(nps) = self.measuring.take() {
            self.nps = nps.lock().after_the_move();
        }
        let is_overdrawn = report.overdraft > Millis::ZERO;
        // The stopper's last figures may be a batch old.
        let drawn_ms = if is_overdrawn {
            (outcome.used - report.budget).0
        } else {
            0.0
        };
        self.piggybank.book(report.saved.0, drawn_ms.max(0.0));
        let weight = match report.average {
            Some(average) if average > Millis::ZERO => outcome.used.0 / average.0,
            _ => 0.0,
        };
        let stats = &outcome.stats;
        let best = f64::from(stats.most_visits().best);
        let nodes = match self.config.values.params.target {
            NodeTarget::Tree => stats.nodes.as_f64(),
            NodeTarget::BestMove => best,
        };
        let own_share = 1.0 - (self.gift_nodes / stats.nodes.as_f64().max(1.0)).clamp(0.0, 1.0);
        self.previous = Some(PreviousMove {
            nodes: nodes * own_share,
            own_share,
            weight,
        });
        // Forced and stopped moves do not show how much of a budget is used.
        if outcome.legal_moves <= 1 || outcome.reason.is_none() {
            return;
        }
        // The use beyond the initial lead is proportional to the budget beyond it.
        let nps = self.nps.value;
        let lead_ms = if nps > 0.0 {
            self.lead_nodes / nps * 1000.0
        } else {
            0.0
        };
        let beyond_lead_ms = report.budget.0 - lead_ms;
        let used_share = if is_overdrawn {
            1.0
        } else {
            outcome.used.0 / beyond_lead_ms
        };
        if beyond_lead_ms > 0.0 {
            self.timeuse.learn(used_share, weight);
        }
        if stats.nodes.0 > 0 {
            self.best_share.learn(best / stats.nodes.as_f64(), weight);
        }
    }

    fn asks_network(&self, has_moves_left: bool) -> bool {
        self.config.values.params.move_weight != MoveWeight::Even
            || has_moves_left && self.config.moves_left.uses_head()
    }

    fn take_message(&mut self) -> Option<String> {
        self.message.take()
    }
}

#[cfg(test)]
mod tests;
