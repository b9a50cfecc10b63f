//! The parameters of the search, with Lc0's names and defaults.

use std::num::NonZero;

use crate::chess::Color;
use crate::network::encode::HistoryFill;
use crate::options::{option_choice, option_group};

/// The exploration constant, which grows with a node's visits: `init + factor · ln((visits + base) / base)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exploration {
    /// The constant at few visits (`CPuct`).
    pub(crate) init: f32,
    /// The visits over which it grows (`CPuctBase`).
    pub(crate) base: f32,
    /// The rate at which it grows (`CPuctFactor`).
    pub(crate) factor: f32,
}

/// The rule for the value of a move without visits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FirstPlayUrgency {
    /// The value is the parent's, less this much per square root of visited policy.
    Reduction(f32),
    /// The value is this.
    Absolute(f32),
}

option_choice! {
    /// The meaning of the number in `FpuValue`.
    pub enum FpuStrategy {
        /// The amount by which an unvisited move is taken to be worse than its parent.
        Reduction = "reduction",
        /// The value of an unvisited move.
        Absolute = "absolute",
    }
}

impl FpuStrategy {
    fn with(self, value: f32) -> FirstPlayUrgency {
        match self {
            FpuStrategy::Reduction => FirstPlayUrgency::Reduction(value),
            FpuStrategy::Absolute => FirstPlayUrgency::Absolute(value),
        }
    }
}

option_choice! {
    /// The meaning of the number in `FpuValueAtRoot`.
    pub enum RootFpuStrategy {
        /// The amount by which an unvisited move is taken to be worse than the root.
        Reduction = "reduction",
        /// The value of an unvisited move.
        Absolute = "absolute",
        /// No meaning: the root's moves are treated like all others.
        Same = "same",
    }
}

option_group! {
    /// The noise that is mixed into the root's policy: its share and its shape.
    #[derive(Copy)]
    pub struct NoiseParams {
        /// Share of noise in the policy of the root's moves.
        epsilon: f32 = 0.0, in 0.0..=1.0, "DirichletNoiseEpsilon", "noise-epsilon", hidden;
        /// Shape of the noise (Dirichlet's alpha): the smaller, the fewer moves get most of it.
        alpha: f64 = 0.3, in 0.0..=1e7, "DirichletNoiseAlpha", "noise-alpha", hidden;
    }
}

option_group! {
    /// The options for drawing the move. By default, with all 0 but the cutoff of values, the best move is played.
    #[derive(Copy)]
    pub struct TemperatureParams {
        /// Temperature of the draw: a move's chance is its visits to the power of 1 / temperature. 0 plays the best.
        initial: f32 = 0.0, in 0.0..=100.0, "Temperature", "temperature", hidden;
        /// Moves of the game over which the temperature falls to 0; 0: it does not fall.
        decay_moves: u32 = 0, in 0..=640, "TempDecayMoves", "tempdecay-moves", hidden;
        /// Moves of the game before the temperature begins to fall.
        decay_delay_moves: u32 = 0, in 0..=100, "TempDecayDelayMoves", "tempdecay-delay-moves", hidden;
        /// Move of the game from which on TempEndgame is the temperature; 0: never.
        cutoff_move: u32 = 0, in 0..=1000, "TempCutoffMove", "temp-cutoff-move", hidden;
        /// Temperature from TempCutoffMove on, and the least to which it falls before.
        endgame: f32 = 0.0, in 0.0..=100.0, "TempEndgame", "temp-endgame", hidden;
        /// Expected score, percent, by which a move may fall short of the most visited one's and still be drawn.
        value_cutoff: f32 = 100.0, in 0.0..=100.0, "TempValueCutoff", "temp-value-cutoff", hidden;
        /// Number that is added to each move's visits before the draw; moves below 0 are not drawn.
        visit_offset: f32 = 0.0, in -1000.0..=1000.0, "TempVisitOffset", "temp-visit-offset", hidden;
    }
}

option_group! {
    /// The growth of the visits that a gathering may lose to collisions: from 1 at `start` visits of the root to all
    /// that are allowed at `end`, along a power of the way between.
    #[derive(Copy)]
    pub struct CollisionScaling {
        /// Visits of the root up to which only one visit may be lost to collisions.
        start: u32 = 28, in 1..=100_000, "MaxCollisionVisitsScalingStart", "max-collision-visits-scaling-start";
        /// Visits of the root from which on MaxCollisionVisits may be lost; 0: in any tree.
        end: u32 = 145_000, in 0..=100_000_000, "MaxCollisionVisitsScalingEnd", "max-collision-visits-scaling-end";
        /// Power by which the visits that may be lost grow between these two: 1 is evenly, more is late.
        power: f32 = 1.25, in 0.01..=100.0, "MaxCollisionVisitsScalingPower", "max-collision-visits-scaling-power";
    }
}

option_group! {
    /// The parameters of one search, which are fixed while it runs. Names and defaults are those of Lc0's options.
    pub struct SearchParams {
        /// Positions per batch; 0 takes as many as the backend prefers.
        minibatch_size: Option<NonZero<usize>> = None, in 0..=65536, "MinibatchSize", "minibatch-size";
        /// Exploration constant of the PUCT formula.
        cpuct: f32 = 1.745, in 0.0..=100.0, "CPuct", "cpuct";
        /// Visits over which the exploration constant grows.
        cpuct_base: f32 = 38739.0, in 1.0..=1e9, "CPuctBase", "cpuct-base";
        /// Rate at which the exploration constant grows.
        cpuct_factor: f32 = 3.894, in 0.0..=1000.0, "CPuctFactor", "cpuct-factor";
        /// Use the three options that follow for the exploration constant at the root, not the ones above.
        root_has_own_cpuct_params: bool = false, "RootHasOwnCpuctParams", "root-has-own-cpuct-params", hidden;
        /// Exploration constant at the root, under RootHasOwnCpuctParams.
        cpuct_at_root: f32 = 1.745, in 0.0..=100.0, "CPuctAtRoot", "cpuct-at-root", hidden;
        /// Visits over which it grows, under RootHasOwnCpuctParams.
        cpuct_base_at_root: f32 = 38739.0, in 1.0..=1e9, "CPuctBaseAtRoot", "cpuct-base-at-root", hidden;
        /// Rate at which it grows, under RootHasOwnCpuctParams.
        cpuct_factor_at_root: f32 = 3.894, in 0.0..=1000.0, "CPuctFactorAtRoot", "cpuct-factor-at-root", hidden;
        /// Meaning of FpuValue: the amount by which an unvisited move is worse than its parent, or the move's value.
        fpu_strategy: FpuStrategy = FpuStrategy::Reduction, "FpuStrategy", "fpu-strategy";
        /// Amount by which an unvisited move is worse than its parent, per root of visited policy; or the move's value.
        fpu_value: f32 = 0.33, in -100.0..=100.0, "FpuValue", "fpu-value";
        /// FpuStrategy for the root's moves; `same` takes FpuStrategy and FpuValue there too.
        fpu_strategy_at_root: RootFpuStrategy = RootFpuStrategy::Same, "FpuStrategyAtRoot", "fpu-strategy-at-root", hidden;
        /// FpuValue for the root's moves, unless FpuStrategyAtRoot is `same`.
        fpu_value_at_root: f32 = 1.0, in -100.0..=100.0, "FpuValueAtRoot", "fpu-value-at-root", hidden;
        /// Value of a move whose first visit is under way, above that of its parent: what the visit is expected to return. In
        /// batches of 32 and more it is 0.05 less with each doubling.
        pending_visit_gain: f32 = 0.1, in -2.0..=2.0, "PendingVisitGain", "pending-visit-gain", hidden;
        /// Worth of a draw to White, and with the other sign to Black; a win is 1. -1 is Armageddon: Black wins a draw.
        draw_score: f32 = 0.0, in -1.0..=1.0, "DrawScore", "draw-score";
        /// Divisor of the policy's logits before the softmax.
        policy_temperature: f32 = 1.359, in 0.1..=10.0, "PolicyTemperature", "policy-softmax-temp";
        /// Noise on the policy of the root's moves.
        noise: NoiseParams;
        /// The options for drawing the move to play.
        temperature: TemperatureParams;
        /// Seed of noise and random moves: equal seeds give equal ones in the same position. 0: they differ each time.
        seed: u64 = 0, in 0..=2_147_483_647, "RandomSeed", "random-seed", hidden;
        /// Input of the network for positions before the known game.
        history_fill: HistoryFill = HistoryFill::FenOnly, "HistoryFill", "history-fill";
        /// Most that the Moves Left Head can add to a move's value.
        moves_left_max_effect: f32 = 0.0345, in 0.0..=1.0, "MovesLeftMaxEffect", "moves-left-max-effect";
        /// Least value, of either sign, at which the Moves Left Head counts.
        moves_left_threshold: f32 = 0.8, in 0.0..=1.0, "MovesLeftThreshold", "moves-left-threshold";
        /// Change of a move's value per ply less or more.
        moves_left_slope: f32 = 0.0027, in 0.0..=1.0, "MovesLeftSlope", "moves-left-slope";
        /// Part of that effect that does not depend on the value.
        moves_left_constant_factor: f32 = 0.0, in -1.0..=1.0, "MovesLeftConstantFactor", "moves-left-constant-factor";
        /// Part of that effect that grows with the value.
        moves_left_scaled_factor: f32 = 1.6521, in -2.0..=2.0, "MovesLeftScaledFactor", "moves-left-scaled-factor";
        /// Part of that effect that grows with the square of the value.
        moves_left_quadratic_factor: f32 = -0.6521, in -1.0..=1.0, "MovesLeftQuadraticFactor", "moves-left-quadratic-factor";
        /// Let a move that certainly wins, loses or draws decide the position before it where it can.
        sticky_endgames: bool = true, "StickyEndgames", "sticky-endgames";
        /// Longest mate by checks, in moves, that is looked for at a new leaf before it is evaluated; 0 looks for none.
        leaf_mate_search: u32 = 2, in 0..=3, "LeafMateSearch", "leaf-mate-search", hidden;
        /// Take a position that repeats one in the tree for a draw.
        two_fold_draws: bool = true, "TwoFoldDraws", "two-fold-draws";
        /// Most leaves under evaluation that the gathering of one batch may run into; 0 is one for every fourth place in the batch.
        max_collision_events: Option<NonZero<u32>> = None, in 0..=65536, "MaxCollisionEvents", "max-collision-events";
        /// Most visits that the gathering of one batch may lose to such leaves.
        max_collision_visits: u32 = 80_000, in 1..=100_000_000, "MaxCollisionVisits", "max-collision-visits";
        /// The growth of the visits that may be lost to collisions with the tree.
        collision_scaling: CollisionScaling;
        /// Give no places in a batch to leaves whose value is known at once: finished games, mates found at the leaf, positions in the tables and in the cache. They are backed up on the spot in any case.
        out_of_order_eval: bool = true, "OutOfOrderEval", "out-of-order-eval";
        /// Visits to such leaves, in batch sizes, after which a batch is evaluated however short it is.
        max_out_of_order_factor: f32 = 2.4, in 0.0..=100.0, "MaxOutOfOrderEvalsFactor", "max-out-of-order-evals-factor";
        /// Batch size up to which a shorter batch is filled with positions that are likely to be wanted soon; 1 fills none. 0 leaves it to the backend: a quarter of a batch for an accelerator, to which a few more cost little, and none on a CPU, where each costs its time. Lc0's default is 32.
        max_prefetch: Option<NonZero<u32>> = None, in 0..=1024, "MaxPrefetch", "max-prefetch";
        /// Most visits per second of a search; 0 is no limit.
        nps_limit: f64 = 0.0, in 0.0..=1e6, "NodesPerSecondLimit", "nps-limit";
    }
}

impl SearchParams {
    /// Returns what `side` gets for a draw; a win is 1, a loss −1.
    pub(crate) fn draw_score_for(&self, side: Color) -> f32 {
        side.fold_wb(self.draw_score, -self.draw_score)
    }

    pub(crate) fn exploration(&self) -> Exploration {
        Exploration { init: self.cpuct, base: self.cpuct_base, factor: self.cpuct_factor }
    }

    fn root_exploration(&self) -> Exploration {
        if self.root_has_own_cpuct_params {
            Exploration {
                init: self.cpuct_at_root,
                base: self.cpuct_base_at_root,
                factor: self.cpuct_factor_at_root,
            }
        } else {
            self.exploration()
        }
    }

    pub(crate) fn fpu(&self) -> FirstPlayUrgency {
        self.fpu_strategy.with(self.fpu_value)
    }

    pub(crate) fn root_fpu(&self) -> FirstPlayUrgency {
        match self.fpu_strategy_at_root {
            RootFpuStrategy::Reduction => FirstPlayUrgency::Reduction(self.fpu_value_at_root),
            RootFpuStrategy::Absolute => FirstPlayUrgency::Absolute(self.fpu_value_at_root),
            RootFpuStrategy::Same => self.fpu(),
        }
    }

    pub(crate) fn formula_at(&self, plies: usize) -> (Exploration, FirstPlayUrgency) {
        match plies {
            0 => (self.root_exploration(), self.root_fpu()),
            _ => (self.exploration(), self.fpu()),
        }
    }
}
