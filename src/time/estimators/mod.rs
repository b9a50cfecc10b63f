//! Estimators that managers use during a game: pure formulas and small running averages.

pub(crate) mod learned_share;
pub mod moves_left;
mod nps;

pub(crate) use learned_share::LearnedShare;
pub(crate) use moves_left::{LogLogistic, MovesLeftEstimate, MovesLeftEstimator, MovesLeftInput};
pub(crate) use nps::{NpsEstimator, NpsRule};
