//! What managers guess and learn during a game.

mod decay;
mod log_logistic;

pub use decay::decay;
pub use log_logistic::LogLogistic;
