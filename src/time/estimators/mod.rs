//! Estimators that managers use during a game: pure formulas and small running averages.

mod decay;
mod learned_share;
pub mod moves_left;
mod nps;

pub use decay::decay;
pub use learned_share::LearnedShare;
pub use moves_left::{LogLogistic, MovesLeftEstimate, MovesLeftEstimator, MovesLeftInput};
pub use nps::{NpsEstimator, NpsRule};
