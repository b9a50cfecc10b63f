//! The commands of the [laboratory](zeitnot_lab): measurements with many games.

pub(crate) mod analyse;
mod game_args;
pub(crate) mod matches;
pub(crate) mod movesleft;
pub(crate) mod report;
mod run;
pub(crate) mod timelab;
pub(crate) mod tune;
