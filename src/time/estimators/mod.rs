//! Estimators that managers use during a game: pure formulas and small running averages.

mod learned_share;
pub mod moves_left;
mod nps;

pub use learned_share::{LearnedShare, decay};
pub use moves_left::{LogLogistic, MovesLeftEstimate, MovesLeftEstimator, MovesLeftInput};
pub use nps::{NpsEstimator, NpsRule};
