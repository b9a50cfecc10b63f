//! `stockfish`: Stockfish's time manager of 2013, for a search by visits.
//!
//! The clock is shared out by the importance of this move against that of the moves to come (`limits`,
//! `importance`). Each end of an iteration is a chance to stop; an unstable best move gets extra time, and a
//! score that falls or rises much may use the maximum (`stopper`).

mod importance;
mod limits;
mod stopper;

pub use limits::{StockfishParams, TimeLimits, TimeLimitsInput};

use crate::time::facts::MoveFacts;
use crate::time::manager::{MoveOutcome, TimeManager};
use crate::time::parameters::Named;
use crate::time::stopper::Stopper;

use stopper::StockfishStopper;

/// The manager; it remembers nothing from move to move.
#[derive(Clone, Copy, Debug)]
pub struct Stockfish {
    params: StockfishParams,
}

impl Named for Stockfish {
    const NAME: &'static str = "stockfish";
    const SUMMARY: &'static str =
        "Stockfish's manager of 2013: optimum and maximum time by the importance of the move.";
    type Params = StockfishParams;

    fn new(params: StockfishParams) -> Self {
        Stockfish { params }
    }
}

impl TimeManager for Stockfish {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn start_move(&mut self, facts: &MoveFacts) -> Option<Box<dyn Stopper>> {
        let available_ms = facts.available()?.0;
        let clock = facts.limits.mover_clock()?;
        let (time_ms, inc_ms) = (clock.time.0, clock.inc.0);
        let input = TimeLimitsInput {
            time_ms,
            inc_ms,
            movestogo: facts.limits.movestogo,
            game_ply: facts.game_ply.0,
            ponder_enabled: facts.ponder_enabled,
        };
        let limits = self.params.time_limits(&input).limited_to(available_ms);
        Some(Box::new(StockfishStopper::new(facts, self.params, limits)))
    }

    fn finish_move(&mut self, _: &MoveOutcome) {}
}
