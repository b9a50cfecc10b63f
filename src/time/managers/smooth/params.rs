//! The parameters of `smooth` and their presets.

use crate::params::{ParamError, Params};
use crate::time::estimators::moves_left::{ESTIMATOR_NAMES, estimator_from};
use crate::time::estimators::{LogLogistic, MovesLeftEstimate, MovesLeftEstimator, MovesLeftInput, NpsRule};
use crate::time::facts::RootEvaluation;
use crate::time::limits::GoLimits;

use super::move_weight;

/// What should be the same at every move's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeTarget {
    /// The nodes of the whole tree.
    Tree,
    /// The visits of the best move.
    BestMove,
}

/// In what a move's budget is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// Time.
    Time,
    /// New nodes; time only as far as the clock forces it.
    Nodes,
    /// Whichever is reached first.
    Both,
}

/// In what the nps estimate's step is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NpsUnit {
    /// Seconds of search.
    Seconds,
    /// Average move times.
    Moves,
}

/// Which reused nodes count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReuseCount {
    /// All nodes under the root.
    Tree,
    /// Nodes by how much their root move is visited: those under the best move in full, dead branches hardly.
    Distribution,
}

/// Which moves are to get more nodes than others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveWeight {
    /// All get the same.
    Even,
    /// Those in which more is at stake: early ones, and more so where few games are drawn.
    Stakes,
}

/// The reserve of today's Lc0, for moves that turn out to need more than their budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PiggybankParams {
    /// `init-piggybank`: share of the clock that is put aside at the first move.
    pub initial_share: f64,
    /// `per-move-piggybank`: share of its target time that each move pays in.
    pub per_move_share: f64,
    /// `max-piggybank-use`: share of the reserve that one move may draw.
    pub max_use: f64,
    /// `max-piggybank-moves`: the reserve's cap, average move times.
    pub max_moves: f64,
    /// `trend-nps-update-period-ms`: window over which the moves' visit rates are measured, ms.
    pub trend_window_ms: f64,
    /// `bestmove-optimism`: factor on the best move's rate.
    pub bestmove_optimism: f64,
    /// `overtaker-optimism`: factor on its rivals' rates.
    pub overtaker_optimism: f64,
    /// `force-piggybank-ms`: the reserve is open for so long after the first evaluation, ms.
    pub force_ms: f64,
}

/// All parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct SmoothParams {
    /// `init-tree-reuse`: share of the tree that is reused after a full move, first guess.
    pub init_tree_reuse: f64,
    /// `max-tree-reuse`: largest such share to reckon with.
    pub max_tree_reuse: f64,
    /// `tree-reuse-update-rate`: average moves that take the estimate halfway.
    pub tree_reuse_update_rate: f64,
    /// `init-nps`: first guess of new nodes per second.
    pub init_nps: f64,
    /// `init-nps-weight`: seconds of measuring that this guess is worth.
    pub init_nps_weight: f64,
    /// `nps-update-rate`: seconds (or average moves) that take the estimate halfway.
    pub nps_update_rate: f64,
    /// `nps-update-unit`
    pub nps_update_unit: NpsUnit,
    /// `nps-update-period`: seconds of Lc0's linear window instead of decay; 0 for decay.
    pub nps_update_period: f64,
    /// `init-timeuse`: share of a budget that is used, first guess.
    pub init_timeuse: f64,
    /// `min-timeuse`: smallest such share to reckon with.
    pub min_timeuse: f64,
    /// `timeuse-update-rate`: average moves that take the estimate halfway.
    pub timeuse_update_rate: f64,
    /// `max-move-budget`: largest share of the clock for one move.
    pub max_move_budget: f64,
    /// `min-move-share`: least search time of a move with a choice, as a share of the average move time.
    pub min_move_share: f64,
    /// `move-weight`
    pub move_weight: MoveWeight,
    /// `target`
    pub target: NodeTarget,
    /// `limit`
    pub limit: LimitKind,
    /// `reuse`
    pub reuse: ReuseCount,
    /// The reserve, if there is one.
    pub piggybank: PiggybankParams,
    /// The preset's `mle-legacy`, for lists that name that estimator without its parameters.
    pub curve: LogLogistic,
    /// The moves-left estimator.
    pub moves_left: MovesLeftEstimator,
}

impl SmoothParams {
    /// The manager as PR 1195 documents it: `preset=pr1195`, the default.
    pub fn pr1195() -> Self {
        SmoothParams {
            init_tree_reuse: 0.5,
            max_tree_reuse: 0.7,
            tree_reuse_update_rate: 4.0,
            init_nps: 20_000.0,
            init_nps_weight: 0.5,
            nps_update_rate: 5.0,
            nps_update_unit: NpsUnit::Seconds,
            nps_update_period: 0.0,
            init_timeuse: 0.7,
            min_timeuse: 0.3,
            timeuse_update_rate: 10.0,
            max_move_budget: 0.3,
            min_move_share: 0.1,
            move_weight: MoveWeight::Even,
            target: NodeTarget::Tree,
            limit: LimitKind::Time,
            reuse: ReuseCount::Tree,
            piggybank: PiggybankParams {
                initial_share: 0.0,
                per_move_share: 0.0,
                max_use: 0.94,
                max_moves: 36.5,
                trend_window_ms: 3_000.0,
                bestmove_optimism: 0.2,
                overtaker_optimism: 4.0,
                force_ms: 1_000.0,
            },
            curve: LogLogistic::default(),
            moves_left: MovesLeftEstimator::LogLogistic(LogLogistic::default()),
        }
    }

    /// The figures of today's Lc0, with its reserve: `preset=lc0`.
    pub fn lc0() -> Self {
        let documented = SmoothParams::pr1195();
        let curve = LogLogistic { midpoint: 45.2, steepness: 5.93 };
        SmoothParams {
            init_tree_reuse: 0.52,
            max_tree_reuse: 0.73,
            tree_reuse_update_rate: 3.39,
            nps_update_period: 20.0,
            init_timeuse: 0.7,
            min_timeuse: 0.34,
            timeuse_update_rate: 5.51,
            max_move_budget: 0.42,
            piggybank: PiggybankParams { initial_share: 0.09, per_move_share: 0.12, ..documented.piggybank },
            curve,
            moves_left: MovesLeftEstimator::LogLogistic(curve),
            ..documented
        }
    }

    /// Reads the parameters of `smooth(…)`.
    ///
    /// # Errors
    /// Unknown keys or estimators and values out of range, each naming what is valid.
    pub fn from_params(params: &Params) -> Result<Self, ParamError> {
        params.allow_only("smooth", &KEYS, &ESTIMATOR_NAMES)?;
        let base = match params.choice("preset", "pr1195", &["pr1195", "lc0"])? {
            "lc0" => SmoothParams::lc0(),
            _ => SmoothParams::pr1195(),
        };
        let share = |key, default| params.number(key, default, 0.0..=0.99);
        let positive_share = |key, default| params.number(key, default, 0.01..=1.0);
        let rate = |key, default| params.number(key, default, 0.01..=1e6);
        Ok(SmoothParams {
            init_tree_reuse: share("init-tree-reuse", base.init_tree_reuse)?,
            max_tree_reuse: share("max-tree-reuse", base.max_tree_reuse)?,
            tree_reuse_update_rate: rate("tree-reuse-update-rate", base.tree_reuse_update_rate)?,
            init_nps: params.number("init-nps", base.init_nps, 0.1..=1e9)?,
            init_nps_weight: params.number("init-nps-weight", base.init_nps_weight, 0.0..=1e6)?,
            nps_update_rate: rate("nps-update-rate", base.nps_update_rate)?,
            nps_update_unit: match params.choice("nps-update-unit", "seconds", &["seconds", "moves"])? {
                "moves" => NpsUnit::Moves,
                _ => NpsUnit::Seconds,
            },
            nps_update_period: params.number("nps-update-period", base.nps_update_period, 0.0..=1e6)?,
            init_timeuse: positive_share("init-timeuse", base.init_timeuse)?,
            min_timeuse: positive_share("min-timeuse", base.min_timeuse)?,
            timeuse_update_rate: rate("timeuse-update-rate", base.timeuse_update_rate)?,
            max_move_budget: positive_share("max-move-budget", base.max_move_budget)?,
            min_move_share: params.number("min-move-share", base.min_move_share, 0.0..=1.0)?,
            move_weight: match params.choice("move-weight", "even", &["even", "stakes"])? {
                "stakes" => MoveWeight::Stakes,
                _ => MoveWeight::Even,
            },
            target: match params.choice("target", "tree", &["tree", "bestmove"])? {
                "bestmove" => NodeTarget::BestMove,
                _ => NodeTarget::Tree,
            },
            limit: match params.choice("limit", "time", &["time", "nodes", "both"])? {
                "nodes" => LimitKind::Nodes,
                "both" => LimitKind::Both,
                _ => LimitKind::Time,
            },
            reuse: match params.choice("reuse", "tree", &["tree", "distribution"])? {
                "distribution" => ReuseCount::Distribution,
                _ => ReuseCount::Tree,
            },
            piggybank: PiggybankParams::from_params(params, &base.piggybank)?,
            curve: base.curve,
            moves_left: estimator_from("smooth", params, base.curve)?.unwrap_or(base.moves_left),
        })
    }

    /// Moves left, capped by `movestogo`, and what part of the rest of the game they are.
    pub(super) fn moves_left_within(
        &self,
        limits: &GoLimits,
        position: &MovesLeftInput,
    ) -> (MovesLeftEstimate, f64) {
        let estimate = self.moves_left.estimate(position);
        let moves = limits.cap_moves_left(estimate.moves);
        (MovesLeftEstimate { moves, ..estimate }, moves / estimate.moves)
    }

    /// What the moves ahead weigh on average against this one, of which `root` is known; `part` as for [`move_weight::future_weight`].
    pub(super) fn future_weight(&self, root: Option<RootEvaluation>, part: f64) -> f64 {
        match self.move_weight {
            MoveWeight::Even => 1.0,
            MoveWeight::Stakes => move_weight::future_weight(root, part),
        }
    }

    /// The nps rule for a move whose average move time is `average_ms`.
    pub fn nps_rule(&self, average_ms: f64) -> NpsRule {
        if self.nps_update_period > 0.0 {
            return NpsRule::Window { window_s: self.nps_update_period };
        }
        let step_s = match self.nps_update_unit {
            NpsUnit::Seconds => self.nps_update_rate,
            NpsUnit::Moves => self.nps_update_rate * average_ms / 1000.0,
        };
        NpsRule::Decay { step_s, guess_s: self.init_nps_weight }
    }
}

impl PiggybankParams {
    fn from_params(params: &Params, base: &PiggybankParams) -> Result<Self, ParamError> {
        Ok(PiggybankParams {
            initial_share: params.number("init-piggybank", base.initial_share, 0.0..=1.0)?,
            per_move_share: params.number("per-move-piggybank", base.per_move_share, 0.0..=1.0)?,
            max_use: params.number("max-piggybank-use", base.max_use, 0.0..=1.0)?,
            max_moves: params.number("max-piggybank-moves", base.max_moves, 0.0..=1e6)?,
            trend_window_ms: params.number("trend-nps-update-period-ms", base.trend_window_ms, 0.0..=1e9)?,
            bestmove_optimism: params.number("bestmove-optimism", base.bestmove_optimism, 0.0..=100.0)?,
            overtaker_optimism: params.number("overtaker-optimism", base.overtaker_optimism, 0.0..=100.0)?,
            force_ms: params.number("force-piggybank-ms", base.force_ms, 0.0..=1e9)?,
        })
    }
}

/// Every key that `smooth` knows, in the order of its documentation.
const KEYS: [&str; 26] = [
    "preset",
    "init-tree-reuse",
    "max-tree-reuse",
    "tree-reuse-update-rate",
    "init-nps",
    "init-nps-weight",
    "nps-update-rate",
    "nps-update-unit",
    "nps-update-period",
    "init-timeuse",
    "min-timeuse",
    "timeuse-update-rate",
    "max-move-budget",
    "min-move-share",
    "move-weight",
    "target",
    "limit",
    "reuse",
    "init-piggybank",
    "per-move-piggybank",
    "max-piggybank-use",
    "max-piggybank-moves",
    "trend-nps-update-period-ms",
    "bestmove-optimism",
    "overtaker-optimism",
    "force-piggybank-ms",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SmoothParams, ParamError> {
        SmoothParams::from_params(&Params::parse(text).unwrap())
    }

    #[test]
    fn the_documented_table_is_the_default() {
        assert_eq!(read(""), Ok(SmoothParams::pr1195()));
        assert_eq!(read("preset=pr1195"), Ok(SmoothParams::pr1195()));
        assert_eq!(read("preset=lc0"), Ok(SmoothParams::lc0()));
    }

    #[test]
    fn keys_override_the_preset_in_any_order() {
        let params = read("init-nps=12345,preset=lc0,limit=both,mle-legacy(steepness=12.0)").unwrap();
        // What is not named is the preset's, in the estimator too.
        let curve = LogLogistic { midpoint: 45.2, steepness: 12.0 };
        let expected = SmoothParams {
            init_nps: 12_345.0,
            limit: LimitKind::Both,
            moves_left: MovesLeftEstimator::LogLogistic(curve),
            ..SmoothParams::lc0()
        };
        assert_eq!(params, expected);
    }

    #[test]
    fn faults_name_what_is_valid() {
        let fault = |text: &str| read(text).unwrap_err().to_string();
        assert!(fault("init-npz=1").contains("valid: preset, init-tree-reuse"));
        assert!(fault("init-npz=1").contains("mle-pieces"));
        assert_eq!(fault("max-tree-reuse=1"), "max-tree-reuse=1: expected a number from 0 to 0.99");
        assert_eq!(fault("target=king"), "target=king: expected one of tree, bestmove");
        assert_eq!(fault("preset=lc1"), "preset=lc1: expected one of pr1195, lc0");
    }

    #[test]
    fn the_nps_step_may_count_moves() {
        let params = read("nps-update-unit=moves,nps-update-rate=3").unwrap();
        assert_eq!(params.nps_rule(2_000.0), NpsRule::Decay { step_s: 6.0, guess_s: 0.5 });
    }
}
