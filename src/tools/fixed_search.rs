//! The engine for commands that compare searches: each search ends at the limit that it is given, by no other rule.

use std::time::Duration;

use super::Failure;
use super::output::eprint_message;
use crate::engine::{Engine, Settings};

/// Returns an engine that is ready to search with `settings`, without smart pruning, and without the overhead for a
/// GUI, since nobody waits for the answer. Its notes go to stderr.
///
/// # Errors
/// [`Failure`] if the network or the backend cannot be had.
pub(super) fn engine(settings: &Settings) -> Result<Engine, Failure> {
    let mut settings = settings.clone();
    settings.stoppers.smart_pruning_factor = 0.0;
    settings.time.move_overhead = Duration::ZERO;
    let mut engine = Engine::new(settings)?;
    engine.prepare()?;
    engine.take_notes().iter().for_each(eprint_message);
    Ok(engine)
}
