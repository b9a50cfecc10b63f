//! Tuning: finds better values of numeric options by SPSA over games.
//!
//! Simultaneous perturbation stochastic approximation moves all parameters a little at once, each up or down by the toss of a
//! coin, lets the engine play against its own mirror image (each parameter moved the other way), and goes a small step
//! towards the winner. [`Parameter`] says what is tuned; [`Gains`] has the formulas; [`TuneRun`] is the state of a run, which
//! depends on nothing but its [`TunePlan`] and the results so far; [`play`](fn@play) lets the games of iterations be played by
//! [`matches`](crate::lab::matches), many at once; [`IterationFile`] keeps a row of each iteration, from which a run that was stopped
//! goes on; [`TuneStudy`] computes what was found, and [`page`](fn@page) shows it. The command `tune` calls this module.

mod file;
mod gains;
mod page;
mod parameter;
mod play;
mod run;
mod study;

pub use file::{IterationFile, IterationRow};
pub use gains::Gains;
pub use page::{TuneCommands, page, table};
pub use parameter::{Parameter, ParameterError};
pub use play::{TuneGames, play};
pub use run::{Iteration, Probe, TunePlan, TuneRun};
pub use study::{ParameterStudy, TuneStudy};

use std::path::PathBuf;

use thiserror::Error;

use crate::engine::EngineError;
use crate::lab::matches::MatchError;
use crate::lab::rows::RowError;

/// The reason why a tuning run cannot be made, go on, or be written down.
#[derive(Debug, Error)]
pub enum TuneError {
    /// The games cannot be played.
    #[error(transparent)]
    Match(#[from] MatchError),
    /// The engine refuses the options of a player.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A file cannot be read or written.
    #[error(transparent)]
    Rows(#[from] RowError),
    /// The folder holds another run.
    #[error(
        "{}: holds another run, with other parameters, games, seed or options; choose another --out, or the same options",
        path.display()
    )]
    OtherRun {
        /// The file with its rows.
        path: PathBuf,
    },
}
