//! The parameters of `smooth` and their presets.

use crate::options::{OptionGroup, option_choice, option_group};
use crate::params::{ParamEntry, ParamError, Params};
use crate::time::estimators::moves_left::{estimator_from, estimator_names};
use crate::time::estimators::{LogLogistic, MovesLeftEstimate, MovesLeftEstimator, MovesLeftInput, NpsRule};
use crate::time::facts::MoverClock;

pub(super) const NAME: &str = "smooth";

option_choice! {
    /// The origin of the values that the other parameters have where they are not given.
    pub enum Preset {
        /// The values that Lc0's pull request 1195 documents.
        Pr1195 = "pr1195",
        /// The values of today's Lc0, with its reserve of time.
        Lc0 = "lc0",
        /// The Moves Left Head, more time for moves in which more is at stake, and first guesses that keep
        /// the first move near its share of the clock.
        Zeitnot = "zeitnot",
    }
}

impl Preset {
    /// Those that differ from the declared defaults, which are the pull request's.
    pub fn params(self) -> Result<Params, ParamError> {
        Params::parse(match self {
            Preset::Pr1195 => "",
            Preset::Lc0 => {
                "init-tree-reuse=0.52,max-tree-reuse=0.73,tree-reuse-update-rate=3.39,nps-update-period=20,min-timeuse=0.34,\
                 timeuse-update-rate=5.51,max-move-budget=0.42,min-pruned-share=0,init-piggybank=0.09,per-move-piggybank=0.12,\
                 mle-legacy(midpoint=45.2,steepness=5.93)"
            }
            Preset::Zeitnot => "init-tree-reuse=0.2,init-timeuse=1,move-weight=stakes,mle-mlh",
        })
    }
}

option_choice! {
    /// The unit of the nps estimate's step.
    pub enum NpsUnit {
        /// The step is in seconds of search.
        Seconds = "seconds",
        /// The step is in average move times.
        Moves = "moves",
    }
}

option_choice! {
    /// The choice of moves that get more nodes than others.
    pub enum MoveWeight {
        /// All moves receive the same.
        Even = "even",
        /// Moves in which more is at stake receive more. These are early moves, and more so if few games are
        /// drawn.
        Stakes = "stakes",
    }
}

option_choice! {
    /// The number that should be the same at the end of every move.
    pub enum NodeTarget {
        /// The nodes of the whole tree.
        Tree = "tree",
        /// The visits of the best move.
        BestMove = "bestmove",
    }
}

option_choice! {
    /// The unit in which the budget of a move is held.
    pub enum LimitKind {
        /// The move ends by time.
        Time = "time",
        /// The move ends by new nodes. The time limit is `max-move-budget`.
        Nodes = "nodes",
        /// The move ends by new nodes or by time, whichever comes first.
        Both = "both",
    }
}

option_choice! {
    pub enum ReuseCount {
        /// All nodes under the root count.
        Tree = "tree",
        /// Nodes count in proportion to the visits of their root move. Those under the best move count in
        /// full.
        Distribution = "distribution",
    }
}

option_choice! {
    /// How budgets allow for the time that smart pruning leaves unused.
    pub enum TimeUse {
        /// Every budget is divided by the average share that moves use.
        Average = "average",
        /// The lead that the best move has at the start of a search counts too. It ends the search early.
        Tree = "tree",
    }
}

option_group! {
    /// Parameters of the plan and of what `smooth` learns.
    #[derive(Copy)]
    pub struct SmoothParams {
        /// Initial estimate of the share of the tree that is reused after a full move.
        init_tree_reuse: f64 = 0.5, in 0.0..=0.99, "init-tree-reuse";
        /// Maximum tree reuse that the plan assumes.
        max_tree_reuse: f64 = 0.7, in 0.0..=0.99, "max-tree-reuse";
        /// Half-life of the estimate of tree reuse, in average move times.
        tree_reuse_update_rate: f64 = 4.0, in 0.01..=1e6, "tree-reuse-update-rate";
        /// Initial estimate of the new nodes per second.
        init_nps: f64 = 20_000.0, in 0.1..=1e9, "init-nps";
        /// Weight of `init-nps`, in seconds of measurement. 0 discards it at the first measurement. Values
        /// from `nps-update-rate`/ln 2 follow pull request 1195 exactly, 7.3 for the default rate.
        init_nps_weight: f64 = 0.0, in 0.0..=1e6, "init-nps-weight";
        /// Half-life of the nps estimate, in seconds of search or in average move times.
        nps_update_rate: f64 = 5.0, in 0.01..=1e6, "nps-update-rate";
        /// Unit of `nps-update-rate`.
        nps_update_unit: NpsUnit = NpsUnit::Seconds, "nps-update-unit";
        /// Length of Lc0's linear window for the nps estimate, in seconds. The estimate rises at once and
        /// falls slowly. 0 uses exponential decay by `nps-update-rate`.
        nps_update_period: f64 = 0.0, in 0.0..=1e6, "nps-update-period";
        /// How budgets allow for the time that smart pruning leaves unused.
        timeuse: TimeUse = TimeUse::Average, "timeuse";
        /// Initial estimate of the share of its budget that a move uses.
        init_timeuse: f64 = 0.7, in 0.01..=1.0, "init-timeuse";
        /// Minimum share of a used budget that the plan assumes.
        min_timeuse: f64 = 0.3, in 0.01..=1.0, "min-timeuse";
        /// Half-life of the estimate of used budgets, in average move times.
        timeuse_update_rate: f64 = 10.0, in 0.01..=1e6, "timeuse-update-rate";
        /// Maximum share of the clock for one move.
        max_move_budget: f64 = 0.3, in 0.01..=1.0, "max-move-budget";
        /// Minimum target time of a move that is not forced, as a share of the average move time.
        min_move_share: f64 = 0.1, in 0.0..=1.0, "min-move-share";
        /// Time before which smart pruning ends no move that is not forced, as a share of the average move
        /// time. It never exceeds the budget.
        min_pruned_share: f64 = 0.1, in 0.0..=1.0, "min-pruned-share";
        /// Which moves of the game receive more nodes than others.
        move_weight: MoveWeight = MoveWeight::Even, "move-weight";
        /// Number that should be the same at the end of every move.
        target: NodeTarget = NodeTarget::Tree, "target";
        /// Unit of the budget of a move.
        limit: LimitKind = LimitKind::Time, "limit";
        /// Which reused nodes count.
        reuse: ReuseCount = ReuseCount::Tree, "reuse";
    }
}

option_group! {
    /// Parameters of the piggybank, the reserve of today's Lc0 for moves that turn out to need more than
    /// their budget.
    #[derive(Copy)]
    pub struct PiggybankParams {
        /// Share of the clock that is put into the reserve at the first move.
        initial_share: f64 = 0.0, in 0.0..=1.0, "init-piggybank";
        /// Share of its target time that each move puts into the reserve.
        per_move_share: f64 = 0.0, in 0.0..=1.0, "per-move-piggybank";
        /// Maximum share of the reserve that one move can use.
        max_use: f64 = 0.94, in 0.0..=1.0, "max-piggybank-use";
        /// Maximum size of the reserve, in average move times.
        max_moves: f64 = 36.5, in 0.0..=1e6, "max-piggybank-moves";
        /// Length of the window in which the visit rates of the root moves are measured, in milliseconds.
        trend_window_ms: f64 = 3_000.0, in 0.0..=1e9, "trend-nps-update-period-ms";
        /// Factor on the visit rate of the best move.
        bestmove_optimism: f64 = 0.2, in 0.0..=100.0, "bestmove-optimism";
        /// Factor on the visit rates of the other moves.
        overtaker_optimism: f64 = 4.0, in 0.0..=100.0, "overtaker-optimism";
        /// Time after the first evaluation during which the reserve is available, in milliseconds.
        force_ms: f64 = 1_000.0, in 0.0..=1e9, "force-piggybank-ms";
    }
}

option_group! {
    /// All that can be set for `smooth` but the moves-left estimator.
    #[derive(Copy)]
    pub struct SmoothValues {
        /// Origin of the default values of the other parameters.
        preset: Preset = Preset::Pr1195, "preset";
        /// The plan and what is learned.
        params: SmoothParams;
        /// The reserve, which stays empty by default.
        piggybank: PiggybankParams;
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SmoothConfig {
    pub values: SmoothValues,
    pub moves_left: MovesLeftEstimator,
}

impl From<SmoothValues> for SmoothConfig {
    fn from(values: SmoothValues) -> Self {
        SmoothConfig {
            values,
            moves_left: MovesLeftEstimator::LogLogistic(LogLogistic::default()),
        }
    }
}

/// Fills what `smooth(…)` does not name from its preset.
pub(crate) fn with_preset(list: &Params) -> Result<Params, ParamError> {
    let mut named = SmoothValues::default();
    named.take(list)?;
    let preset = named.preset.params()?;
    let known: Vec<_> = list.names().collect();
    let mut whole = list.inheriting(&preset.without(&known));
    for (name, values) in preset.lists() {
        let completed = whole.with_list(name, |own| {
            let known: Vec<_> = own.names().collect();
            Some(own.inheriting(&values.without(&known)))
        });
        match completed {
            Some(completed) => whole = completed,
            None if list.lists().next().is_none() => {
                whole.push(ParamEntry::List {
                    name: name.to_owned(),
                    params: values.clone(),
                });
            }
            None => {}
        }
    }
    Ok(whole)
}

impl SmoothConfig {
    pub(crate) fn from_params(list: &Params) -> Result<Self, ParamError> {
        let list = with_preset(list)?;
        let values = SmoothValues::default().read(NAME, &list, &estimator_names())?;
        let config = SmoothConfig::from(values);
        let estimator = estimator_from(NAME, &list)?;
        Ok(SmoothConfig {
            moves_left: estimator.unwrap_or(config.moves_left),
            ..config
        })
    }

    /// Moves that share the time, capped by `movestogo`, and their share of all moves left.
    pub(super) fn planned_moves(
        &self,
        clock: &MoverClock,
        position: &MovesLeftInput,
    ) -> (MovesLeftEstimate, f64) {
        let estimate = self.moves_left.estimate(position);
        let moves = clock.cap_moves_left(estimate.moves);
        (MovesLeftEstimate { moves, ..estimate }, moves / estimate.moves)
    }
}

impl SmoothParams {
    pub(crate) fn nps_rule(&self, average_ms: f64) -> NpsRule {
        if self.nps_update_period > 0.0 {
            return NpsRule::Window {
                window_s: self.nps_update_period,
            };
        }
        let step_s = match self.nps_update_unit {
            NpsUnit::Seconds => self.nps_update_rate,
            NpsUnit::Moves => self.nps_update_rate * average_ms / 1000.0,
        };
        NpsRule::Decay {
            step_s,
            guess_s: self.init_nps_weight,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::estimators::moves_left::{MovesLeftHead, PieceCountTable};

    fn read(text: &str) -> Result<SmoothConfig, ParamError> {
        SmoothConfig::from_params(&Params::parse(text).unwrap())
    }

    /// A regression: presets were compared with themselves. These are the sources' numbers.
    #[test]
    fn the_presets_have_the_values_of_their_sources() {
        let pr1195 = SmoothParams {
            init_tree_reuse: 0.5,
            max_tree_reuse: 0.7,
            tree_reuse_update_rate: 4.0,
            init_nps: 20_000.0,
            init_nps_weight: 0.0,
            nps_update_rate: 5.0,
            nps_update_unit: NpsUnit::Seconds,
            nps_update_period: 0.0,
            timeuse: TimeUse::Average,
            init_timeuse: 0.7,
            min_timeuse: 0.3,
            timeuse_update_rate: 10.0,
            max_move_budget: 0.3,
            min_move_share: 0.1,
            min_pruned_share: 0.1,
            move_weight: MoveWeight::Even,
            target: NodeTarget::Tree,
            limit: LimitKind::Time,
            reuse: ReuseCount::Tree,
        };
        let no_piggybank = PiggybankParams {
            initial_share: 0.0,
            per_move_share: 0.0,
            max_use: 0.94,
            max_moves: 36.5,
            trend_window_ms: 3_000.0,
            bestmove_optimism: 0.2,
            overtaker_optimism: 4.0,
            force_ms: 1_000.0,
        };
        let curve =
            |midpoint, steepness| MovesLeftEstimator::LogLogistic(LogLogistic { midpoint, steepness });
        let default = SmoothConfig {
            values: SmoothValues {
                preset: Preset::Pr1195,
                params: pr1195,
                piggybank: no_piggybank,
            },
            moves_left: curve(51.5, 7.0),
        };
        assert_eq!(
            [read("").unwrap(), read("preset=pr1195").unwrap()],
            [default.clone(), default]
        );
        let lc0 = SmoothParams {
            init_tree_reuse: 0.52,
            max_tree_reuse: 0.73,
            tree_reuse_update_rate: 3.39,
            nps_update_period: 20.0,
            init_timeuse: 0.7,
            min_timeuse: 0.34,
            timeuse_update_rate: 5.51,
            max_move_budget: 0.42,
            min_pruned_share: 0.0,
            ..pr1195
        };
        let piggybank = PiggybankParams {
            initial_share: 0.09,
            per_move_share: 0.12,
            ..no_piggybank
        };
        assert_eq!(
            read("preset=lc0").unwrap(),
            SmoothConfig {
                values: SmoothValues {
                    preset: Preset::Lc0,
                    params: lc0,
                    piggybank
                },
                moves_left: curve(45.2, 5.93)
            }
        );
        let zeitnot = SmoothParams {
            init_tree_reuse: 0.2,
            init_timeuse: 1.0,
            move_weight: MoveWeight::Stakes,
            ..pr1195
        };
        assert_eq!(
            read("preset=zeitnot").unwrap(),
            SmoothConfig {
                values: SmoothValues {
                    preset: Preset::Zeitnot,
                    params: zeitnot,
                    piggybank: no_piggybank
                },
                moves_left: MovesLeftEstimator::Head(MovesLeftHead::default()),
            }
        );
    }

    #[test]
    fn keys_override_the_preset_in_any_order() {
        let lc0 = read("preset=lc0").unwrap().values;
        let params = SmoothParams {
            init_nps: 12_345.0,
            limit: LimitKind::Both,
            ..lc0.params
        };
        let expected = SmoothConfig {
            values: SmoothValues { params, ..lc0 },
            moves_left: MovesLeftEstimator::LogLogistic(LogLogistic {
                midpoint: 45.2,
                steepness: 12.0,
            }),
        };
        assert_eq!(
            read("init-nps=12345,preset=lc0,limit=both,mle-legacy(steepness=12.0)").unwrap(),
            expected
        );
        let other = read("preset=lc0,mle-pieces").unwrap();
        assert_eq!(
            (other.values, other.moves_left),
            (lc0, MovesLeftEstimator::Pieces(PieceCountTable::default()))
        );
    }

    #[test]
    fn errors_name_what_is_valid() {
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert!(error("init-npz=1").contains("Valid: preset, init-tree-reuse"));
        assert!(error("init-npz=1").contains("mle-pieces"));
        assert_eq!(
            error("max-tree-reuse=1"),
            "max-tree-reuse=1: expected a number from 0 to 0.99"
        );
        assert_eq!(
            error("target=king"),
            "target=king: expected one of tree, bestmove"
        );
        assert_eq!(
            error("preset=lc1"),
            "preset=lc1: expected one of pr1195, lc0, zeitnot"
        );
    }

    #[test]
    fn the_nps_step_may_count_moves() {
        let params = read("nps-update-unit=moves,nps-update-rate=3").unwrap();
        assert_eq!(
            params.values.params.nps_rule(2_000.0),
            NpsRule::Decay {
                step_s: 6.0,
                guess_s: 0.0
            }
        );
    }
}
