//! Computes what games prove: the pentanomial of pairs, Elo with its error, the sequential test, ratings of many players.
//!
//! A pair is two games from one opening with colours swapped; its results depend on each other, so that pairs, not games, are
//! counted. These are pure numbers; nothing here knows of chess or of how games are played.

mod elo;
mod rating;
mod sprt;
mod tally;

pub use elo::Elo;
pub use rating::{MatchResult, Rating, ratings};
pub use sprt::{EloModel, Sprt, SprtError, SprtState, SprtVerdict};
pub use tally::{PAIR_SCORES, ResultTally};
