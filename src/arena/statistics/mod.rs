//! What games prove: the pentanomial of pairs, Elo with its error, and the sequential test.
//!
//! A pair is two games from one opening with colours swapped; its results depend on each other, so that pairs, not games, are
//! counted. Pure numbers; knows nothing of chess or of how games are played.

mod elo;
mod sprt;
mod tally;

pub use elo::Elo;
pub use sprt::{EloModel, Sprt, SprtError, SprtState, SprtVerdict};
pub use tally::{PAIR_SCORES, Tally};
