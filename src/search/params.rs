//! What the search can be tuned by. Names and defaults are those of Lc0's options.

/// Parameters of one search; fixed while it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchParams {
    /// `CPuct`: the exploration constant of the PUCT formula at few visits.
    pub cpuct: f32,
    /// `CPuctBase`: visits over which the exploration constant grows.
    pub cpuct_base: f32,
    /// `CPuctFactor`: how fast it grows.
    pub cpuct_factor: f32,
    /// `FpuValue`: how much worse than its parent an unvisited node is taken to be, per root of visited policy.
    pub fpu_reduction: f32,
    /// `PolicyTemperature`: logits are divided by it before the softmax.
    pub policy_temperature: f32,
    /// `MinibatchSize`: positions per batch; 0 leaves it to the backend.
    pub minibatch_size: u32,
    /// `MaxCollisionEvents`: leaves under evaluation that one gathering may run into.
    pub max_collision_events: u32,
    /// `MaxCollisionVisits`: visits that one gathering may lose to such leaves.
    pub max_collision_visits: u32,
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
    /// `HistoryFill`: what stands for positions before the known game.
    pub history_fill: crate::network::encode::HistoryFill,
    /// How the network's values are changed for accuracy of play and contempt.
    pub rescale: super::Rescale,
}

impl Default for SearchParams {
    fn default() -> Self {
        SearchParams {
            cpuct: 1.745,
            cpuct_base: 38739.0,
            cpuct_factor: 3.894,
            fpu_reduction: 0.33,
            policy_temperature: 1.359,
            minibatch_size: 0,
            max_collision_events: 917,
            max_collision_visits: 80_000,
            moves_left_max_effect: 0.0345,
            moves_left_threshold: 0.8,
            moves_left_slope: 0.0027,
            moves_left_factors: [0.0, 1.6521, -0.6521],
            sticky_endgames: true,
            two_fold_draws: true,
            history_fill: crate::network::encode::HistoryFill::FenOnly,
            rescale: super::Rescale::default(),
        }
    }
}
