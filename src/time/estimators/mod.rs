//! What managers guess and learn during a game. Pure formulas and small running averages; used by `managers`.

mod decay;
mod learned_share;
pub mod moves_left;
mod nps;

pub use decay::decay;
pub use learned_share::LearnedShare;
pub use moves_left::{LogLogistic, MovesLeftEstimate, MovesLeftEstimator, MovesLeftInput};
pub use nps::{NpsEstimator, NpsRule};
