//! `argo`: ArGO's manager, which thinks longer about moves that turn out to be difficult.
//!
//! A time limit is computed from the clock and a difficulty (`limits`); the difficulty follows the search
//! from iteration to iteration (`stopper`).

mod limits;
mod stopper;

pub use limits::{ArgoClock, ArgoParams};

use crate::time::facts::MoveFacts;
use crate::time::manager::{MoveOutcome, TimeManager};
use crate::time::parameters::Named;
use crate::time::stopper::Stopper;

use stopper::ArgoStopper;

/// The manager; it remembers nothing from move to move.
#[derive(Clone, Copy, Debug)]
pub struct Argo {
    params: ArgoParams,
}

impl Named for Argo {
    const NAME: &'static str = "argo";
    const SUMMARY: &'static str = "ArGO's manager: a limit that follows the difficulty of the move.";
    type Params = ArgoParams;

    fn new(params: ArgoParams) -> Self {
        Argo { params }
    }
}

impl TimeManager for Argo {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn start_move(&mut self, facts: &MoveFacts) -> Option<Box<dyn Stopper>> {
        let clock = ArgoClock::new(facts)?;
        Some(Box::new(ArgoStopper::new(facts, self.params, clock)))
    }

    fn finish_move(&mut self, _: &MoveOutcome) {}
}
