//! What the search can be tuned by. Names and defaults are those of Lc0's options.

use super::{CollisionScaling, NoiseParams, TemperatureParams};
use crate::chess::Color;
use crate::network::encode::HistoryFill;

/// How the exploration constant grows with a node's visits: `init + factor · ln((visits + base) / base)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exploration {
    /// `CPuct`: the constant at few visits.
    pub init: f32,
    /// `CPuctBase`: visits over which it grows.
    pub base: f32,
    /// `CPuctFactor`: how fast it grows.
    pub factor: f32,
}

/// The value taken for a move without visits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FirstPlayUrgency {
    /// So much worse than the parent, per root of visited policy.
    Reduction(f32),
    /// This value.
    Absolute(f32),
}

/// Parameters of one search; fixed while it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchParams {
    /// The exploration constant of the PUCT formula, below the root.
    pub exploration: Exploration,
    /// The same at the root: `CPuctAtRoot`, `CPuctBaseAtRoot`, `CPuctFactorAtRoot`, if `RootHasOwnCpuctParams`.
    pub root_exploration: Exploration,
    /// `FpuStrategy` and `FpuValue`, below the root.
    pub fpu: FirstPlayUrgency,
    /// `FpuStrategyAtRoot` and `FpuValueAtRoot`.
    pub root_fpu: FirstPlayUrgency,
    /// `DrawScore`: what White gets for a draw, Black gets the opposite; a win is 1, a loss −1.
    pub draw_score: f32,
    /// `PolicyTemperature`: logits are divided by it before the softmax.
    pub policy_temperature: f32,
    /// `MinibatchSize`: positions per batch; 0 leaves it to the backend.
    pub minibatch_size: u32,
    /// `MaxCollisionEvents`: leaves under evaluation that one gathering may run into.
    pub max_collision_events: u32,
    /// `MaxCollisionVisits`: visits that one gathering may lose to such leaves.
    pub max_collision_visits: u32,
    /// How those visits grow with the tree.
    pub collision_scaling: CollisionScaling,
    /// `OutOfOrderEval`: leaves whose value is known at once take no places in a batch.
    pub out_of_order_eval: bool,
    /// `MaxOutOfOrderEvalsFactor`: visits to such leaves before a gathering goes to evaluation, in batch sizes.
    pub max_out_of_order_factor: f32,
    /// `NodesPerSecondLimit`: no more new visits per second than this; 0 is no limit.
    pub nps_limit: f64,
    /// `MaxPrefetch`: a batch that is shorter is filled up with positions that are likely to be wanted soon.
    pub max_prefetch: u32,
    /// `MovesLeftMaxEffect`: the most that the plies left can add to a value.
    pub moves_left_max_effect: f32,
    /// `MovesLeftThreshold`: values beyond which they count.
    pub moves_left_threshold: f32,
    /// `MovesLeftSlope`: effect of one ply.
    pub moves_left_slope: f32,
    /// `MovesLeftConstantFactor`, `MovesLeftScaledFactor`, `MovesLeftQuadraticFactor`: how the effect grows with the
    /// value.
    pub moves_left_factors: [f32; 3],
    /// `StickyEndgames`: a proven result of a move decides its parent where it can.
    pub sticky_endgames: bool,
    /// `TwoFoldDraws`: a position that repeats one in the tree is taken for a draw.
    pub two_fold_draws: bool,
    /// Noise on the root's policy.
    pub noise: NoiseParams,
    /// Drawing the move to play.
    pub temperature: TemperatureParams,
    /// `RandomSeed`: what noise and draws are made from, with the position; 0 makes them differ each time.
    pub seed: u64,
    /// `HistoryFill`: what stands for positions before the known game.
    pub history_fill: HistoryFill,
    /// How the network's values are changed for accuracy of play and contempt.
    pub rescale: super::Rescale,
}

impl SearchParams {
    /// What `side` gets for a draw.
    pub fn draw_score_for(&self, side: Color) -> f32 {
        side.fold_wb(self.draw_score, -self.draw_score)
    }

    /// The exploration constant and the first-play urgency of a node `plies` below the root.
    pub(crate) fn formula_at(&self, plies: usize) -> (&Exploration, FirstPlayUrgency) {
        match plies {
            0 => (&self.root_exploration, self.root_fpu),
            _ => (&self.exploration, self.fpu),
        }
    }
}

impl Default for SearchParams {
    fn default() -> Self {
        let exploration = Exploration { init: 1.745, base: 38739.0, factor: 3.894 };
        let fpu = FirstPlayUrgency::Reduction(0.33);
        SearchParams {
            exploration,
            root_exploration: exploration,
            fpu,
            root_fpu: fpu,
            draw_score: 0.0,
            policy_temperature: 1.359,
            minibatch_size: 0,
            max_collision_events: 917,
            max_collision_visits: 80_000,
            collision_scaling: CollisionScaling::default(),
            out_of_order_eval: true,
            max_out_of_order_factor: 2.4,
            nps_limit: 0.0,
            max_prefetch: 0,
            moves_left_max_effect: 0.0345,
            moves_left_threshold: 0.8,
            moves_left_slope: 0.0027,
            moves_left_factors: [0.0, 1.6521, -0.6521],
            sticky_endgames: true,
            two_fold_draws: true,
            noise: NoiseParams::default(),
            temperature: TemperatureParams::default(),
            seed: 0,
            history_fill: HistoryFill::FenOnly,
            rescale: super::Rescale::default(),
        }
    }
}
