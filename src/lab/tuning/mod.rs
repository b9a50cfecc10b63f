//! Tuning: finds better values of numeric options by SPSA over games.
//!
//! Simultaneous perturbation stochastic approximation moves all parameters a little at once, each up or down by the toss of a
//! coin, lets the engine play against its own mirror image (each parameter moved the other way), and goes a small step
//! towards the winner. `parameter` says what is tuned. `run` has the formulas and the state of a run, which depends on nothing but its
//! plan and the results so far. `play` lets the games of iterations be played by [`matches`](crate::lab::matches) and keeps a row of
//! each iteration. `study` computes what was found, and shows it. The command `tune` calls this module.

mod parameter;
mod play;
mod run;
mod study;

pub(crate) use parameter::Parameter;
pub(crate) use play::{open_iterations, play};
pub(crate) use run::{Gains, IterationRow, TunePlan, TuneRun};
pub(crate) use study::{TuneCommands, TuneStudy, page, table};
