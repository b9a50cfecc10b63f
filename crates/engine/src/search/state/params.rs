//! The parameters of the search, with Lc0's names and defaults.

use std::num::NonZero;

use crate::network::encode::HistoryFill;
use crate::options::{option_choice, option_group};

/// The exploration constant, which grows with a node's visits: `init + factor · ln((visits + base) / base)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exploration {
    pub(crate) init: f32,
    pub(crate) base: f32,
    pub(crate) factor: f32,
}

/// The value of an unvisited move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstPlayUrgency {
    pub(crate) strategy: FpuStrategy,
    pub(crate) value: f32,
}

option_choice! {
    /// The meaning of the number in `FpuValue`.
    pub enum FpuStrategy {
        /// The amount by which an unvisited move is assumed to be worse than its parent.
        Reduction = "reduction",
        /// The value of an unvisited move.
        Absolute = "absolute",
    }
}

option_choice! {
    /// The meaning of the number in `FpuValueAtRoot`.
    pub enum RootFpuStrategy {
        /// The amount by which an unvisited move is assumed to be worse than the root.
        Reduction = "reduction",
        /// The value of an unvisited move.
        Absolute = "absolute",
        /// The root's moves are treated like all others, and the number is not used.
        Same = "same",
    }
}

option_group! {
    /// The noise that is mixed into the root's policy: its share and its shape.
    #[derive(Copy)]
    pub struct NoiseParams {
        /// Share of noise in the policy of the root's moves.
        epsilon: f32 = 0.0, in 0.0..=1.0, "DirichletNoiseEpsilon", "noise-epsilon", hidden;
        /// Alpha of the Dirichlet noise. Smaller values concentrate the noise on fewer moves.
        alpha: f64 = 0.3, in 0.0..=1e7, "DirichletNoiseAlpha", "noise-alpha", hidden;
    }
}

option_group! {
    /// The options for drawing the move. By default, with all 0 but the cutoff of values, the best move is
    /// played.
    #[derive(Copy)]
    pub struct TemperatureParams {
        /// Temperature of the random choice of a move. A move's probability is proportional to its visits to
        /// the power of 1 / temperature. 0 plays the best move.
        initial: f32 = 0.0, in 0.0..=100.0, "Temperature", "temperature", hidden;
        /// Number of moves of the game over which the temperature falls to 0. 0 keeps it constant.
        decay_moves: u32 = 0, in 0..=640, "TempDecayMoves", "tempdecay-moves", hidden;
        /// Number of moves of the game before the temperature begins to fall.
        decay_delay_moves: u32 = 0, in 0..=100, "TempDecayDelayMoves", "tempdecay-delay-moves", hidden;
        /// Move of the game from which the temperature is TempEndgame. 0 means never.
        cutoff_move: u32 = 0, in 0..=1000, "TempCutoffMove", "temp-cutoff-move", hidden;
        /// Temperature from TempCutoffMove on. The temperature never falls below it before that move either.
        endgame: f32 = 0.0, in 0.0..=100.0, "TempEndgame", "temp-endgame", hidden;
        /// Largest deficit in expected score, in percent, of a move that can be chosen at random. It is
        /// measured against the most visited move.
        value_cutoff: f32 = 100.0, in 0.0..=100.0, "TempValueCutoff", "temp-value-cutoff", hidden;
        /// Number that is added to each move's visits before the random choice. Moves below 0 are not chosen.
        visit_offset: f32 = 0.0, in -1000.0..=1000.0, "TempVisitOffset", "temp-visit-offset", hidden;
    }
}

option_group! {
    /// The growth of the visits that a gathering may lose to collisions: from 1 at `start` visits of the root
    /// to all that are allowed at `end`, along a power of the way between.
    #[derive(Copy)]
    pub struct CollisionScaling {
        /// Root visits up to which collisions may cost only one visit.
        start: u32 = 28, in 1..=100_000, "MaxCollisionVisitsScalingStart", "max-collision-visits-scaling-start";
        /// Root visits from which collisions may cost MaxCollisionVisits. 0 allows that in any tree.
        end: u32 = 145_000, in 0..=100_000_000, "MaxCollisionVisitsScalingEnd", "max-collision-visits-scaling-end";
        /// Power with which the limit of collision visits grows between these two. 1 is linear, and larger
        /// values grow later.
        power: f32 = 1.25, in 0.01..=100.0, "MaxCollisionVisitsScalingPower", "max-collision-visits-scaling-power";
    }
}

option_group! {
    /// The parameters of one search, which are fixed while it runs. Names and defaults are those of Lc0's
    /// options.
    pub struct SearchParams {
        /// Number of positions per batch. 0 uses the number that the backend prefers.
        minibatch_size: Option<NonZero<usize>> = None, in 0..=65536, "MinibatchSize", "minibatch-size";
        /// Exploration constant of the PUCT formula.
        cpuct: f32 = 1.745, in 0.0..=100.0, "CPuct", "cpuct";
        /// Number of visits over which the exploration constant grows.
        cpuct_base: f32 = 38739.0, in 1.0..=1e9, "CPuctBase", "cpuct-base";
        /// Rate at which the exploration constant grows.
        cpuct_factor: f32 = 3.894, in 0.0..=1000.0, "CPuctFactor", "cpuct-factor";
        /// Use CPuctAtRoot, CPuctBaseAtRoot and CPuctFactorAtRoot at the root, instead of the values for
        /// other nodes.
        root_has_own_cpuct_params: bool = false, "RootHasOwnCpuctParams", "root-has-own-cpuct-params", hidden;
        /// Exploration constant at the root, under RootHasOwnCpuctParams.
        cpuct_at_root: f32 = 1.745, in 0.0..=100.0, "CPuctAtRoot", "cpuct-at-root", hidden;
        /// Number of visits over which the exploration constant grows at the root, under
        /// RootHasOwnCpuctParams.
        cpuct_base_at_root: f32 = 38739.0, in 1.0..=1e9, "CPuctBaseAtRoot", "cpuct-base-at-root", hidden;
        /// Rate at which the exploration constant grows at the root, under RootHasOwnCpuctParams.
        cpuct_factor_at_root: f32 = 3.894, in 0.0..=1000.0, "CPuctFactorAtRoot", "cpuct-factor-at-root", hidden;
        /// Meaning of FpuValue: a reduction from the parent's value, or the value of an unvisited move
        /// itself.
        fpu_strategy: FpuStrategy = FpuStrategy::Reduction, "FpuStrategy", "fpu-strategy";
        /// Amount by which an unvisited move is worse than its parent, multiplied by the square root of the
        /// visited policy. With FpuStrategy `absolute` it is the move's value.
        fpu_value: f32 = 0.33, in -100.0..=100.0, "FpuValue", "fpu-value";
        /// FpuStrategy for the root's moves. `same` uses FpuStrategy and FpuValue at the root too.
        fpu_strategy_at_root: RootFpuStrategy = RootFpuStrategy::Same, "FpuStrategyAtRoot", "fpu-strategy-at-root", hidden;
        /// FpuValue for the root's moves, unless FpuStrategyAtRoot is `same`.
        fpu_value_at_root: f32 = 1.0, in -100.0..=100.0, "FpuValueAtRoot", "fpu-value-at-root", hidden;
        /// Value of a move whose first visit is not yet evaluated, relative to its parent's value. At batch
        /// sizes of 32 and more, each doubling lowers it by 0.05.
        pending_visit_gain: f32 = 0.1, in -2.0..=2.0, "PendingVisitGain", "pending-visit-gain", hidden;
        /// Value of a draw for White, where a win is 1. For Black it has the opposite sign. -1 is Armageddon:
        /// a draw is a win for Black.
        draw_score: f32 = 0.0, in -1.0..=1.0, "DrawScore", "draw-score";
        /// Softmax temperature of the policy. Higher values make the policy flatter.
        policy_temperature: f32 = 1.359, in 0.1..=10.0, "PolicyTemperature", "policy-softmax-temp";
        /// Noise on the policy of the root's moves.
        noise: NoiseParams;
        /// Width of the lower confidence bound by which the move to play is chosen: its value less this,
        /// divided by the square root of its visits. Applies with SmartPruningFactor 0 and under `go
        /// infinite`. 0 plays the most visited move, as Lc0 does.
        lcb_factor: f32 = 1.0, in 0.0..=100.0, "LcbFactor", "lcb-factor", hidden;
        /// The options for drawing the move to play.
        temperature: TemperatureParams;
        /// Seed of noise and random moves. Equal seeds give equal results in the same position. 0 gives
        /// different results each time.
        seed: u64 = 0, in 0..=2_147_483_647, "RandomSeed", "random-seed", hidden;
        /// Input of the network for the positions before the known game.
        history_fill: HistoryFill = HistoryFill::FenOnly, "HistoryFill", "history-fill";
        /// Maximum that the Moves Left Head can add to a move's value.
        moves_left_max_effect: f32 = 0.0345, in 0.0..=1.0, "MovesLeftMaxEffect", "moves-left-max-effect";
        /// Minimum absolute value at which the Moves Left Head takes effect.
        moves_left_threshold: f32 = 0.8, in 0.0..=1.0, "MovesLeftThreshold", "moves-left-threshold";
        /// Change of a move's value per ply of difference in the estimated game length.
        moves_left_slope: f32 = 0.0027, in 0.0..=1.0, "MovesLeftSlope", "moves-left-slope";
        /// Part of the Moves Left effect that does not depend on the value.
        moves_left_constant_factor: f32 = 0.0, in -1.0..=1.0, "MovesLeftConstantFactor", "moves-left-constant-factor";
        /// Part of the Moves Left effect that grows with the value.
        moves_left_scaled_factor: f32 = 1.6521, in -2.0..=2.0, "MovesLeftScaledFactor", "moves-left-scaled-factor";
        /// Part of the Moves Left effect that grows with the square of the value.
        moves_left_quadratic_factor: f32 = -0.6521, in -1.0..=1.0, "MovesLeftQuadraticFactor", "moves-left-quadratic-factor";
        /// Propagate certain wins, losses and draws to the parent position where they decide it.
        sticky_endgames: bool = true, "StickyEndgames", "sticky-endgames";
        /// Maximum length, in moves, of the mates by checks that are searched for at each new leaf. 0 turns
        /// this search off.
        leaf_mate_search: u32 = 2, in 0..=3, "LeafMateSearch", "leaf-mate-search", hidden;
        /// Score a position that repeats one in the tree as a draw.
        two_fold_draws: bool = true, "TwoFoldDraws", "two-fold-draws";
        /// Maximum number of collisions while a batch is gathered. A collision is a visit to a leaf that is
        /// still being evaluated. 0 allows one collision for every four positions of the batch.
        max_collision_events: Option<NonZero<u32>> = None, in 0..=65536, "MaxCollisionEvents", "max-collision-events";
        /// Maximum number of visits that collisions may cost while a batch is gathered.
        max_collision_visits: u32 = 80_000, in 1..=100_000_000, "MaxCollisionVisits", "max-collision-visits";
        /// The growth of the visits that may be lost to collisions with the tree.
        collision_scaling: CollisionScaling;
        /// Do not count leaves that need no network evaluation towards the batch size. These are finished
        /// games, mates, and positions in the tablebases or the cache. They are backed up immediately in any
        /// case.
        out_of_order_eval: bool = true, "OutOfOrderEval", "out-of-order-eval";
        /// Maximum number of visits to leaves that need no network evaluation, as a multiple of the batch
        /// size. A batch is then evaluated even if it is not full.
        max_out_of_order_factor: f32 = 2.4, in 0.0..=100.0, "MaxOutOfOrderEvalsFactor", "max-out-of-order-evals-factor";
        /// Size up to which a batch is filled with positions that are likely to be needed soon. 1 turns
        /// prefetching off. 0 lets the backend choose: a quarter of a batch on accelerators, and none on a
        /// CPU, where each position costs time. Lc0's default is 32.
        max_prefetch: Option<NonZero<u32>> = None, in 0..=1024, "MaxPrefetch", "max-prefetch";
        /// Maximum number of visits per second. 0 means no limit.
        nps_limit: f64 = 0.0, in 0.0..=1e6, "NodesPerSecondLimit", "nps-limit";
    }
}

impl SearchParams {
    /// At a node so many plies below the root.
    pub(crate) fn exploration_at(&self, plies: usize) -> Exploration {
        let (init, base, factor) = if plies == 0 && self.root_has_own_cpuct_params {
            (
                self.cpuct_at_root,
                self.cpuct_base_at_root,
                self.cpuct_factor_at_root,
            )
        } else {
            (self.cpuct, self.cpuct_base, self.cpuct_factor)
        };
        Exploration { init, base, factor }
    }

    /// Of the moves of a node so many plies below the root.
    pub(crate) fn fpu_at(&self, plies: usize) -> FirstPlayUrgency {
        let (strategy, value) = match self.fpu_strategy_at_root {
            RootFpuStrategy::Reduction if plies == 0 => (FpuStrategy::Reduction, self.fpu_value_at_root),
            RootFpuStrategy::Absolute if plies == 0 => (FpuStrategy::Absolute, self.fpu_value_at_root),
            _ => (self.fpu_strategy, self.fpu_value),
        };
        FirstPlayUrgency { strategy, value }
    }
}
