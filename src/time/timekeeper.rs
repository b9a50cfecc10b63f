//! One game's time management: the manager and the options around it. What the engine holds.

use super::chain::{Chain, StopperOptions};
use super::facts::MoveFacts;
use super::manager::{MoveOutcome, TimeManager};
use super::stats::SearchStats;
use super::stopper::StopReason;

/// Keeps the time for one game. Make a new one at `ucinewgame` or when the option `TimeManager` changes.
#[derive(Debug)]
pub struct Timekeeper {
    manager: Box<dyn TimeManager>,
    options: StopperOptions,
}

/// How a search ended, as the engine tells it.
#[derive(Clone, Debug)]
pub struct SearchEnd<'a> {
    /// The last figures, counted from `go`, at the moment of `bestmove`.
    pub stats: &'a SearchStats,
    /// Which rule ended it ([`StopReason::Budget`] for the watchdog at the deadline); `None` for `stop`.
    pub reason: Option<StopReason>,
}

impl Timekeeper {
    /// A game's timekeeper.
    pub fn new(manager: Box<dyn TimeManager>, options: StopperOptions) -> Self {
        Timekeeper { manager, options }
    }

    /// Takes new options, from the next search on.
    pub fn set_options(&mut self, options: StopperOptions) {
        self.options = options;
    }

    /// Makes the chain of stoppers for a search.
    pub fn start_move(&mut self, facts: &MoveFacts) -> Chain {
        let stopper = self.manager.start_move(facts);
        Chain::new(facts, &self.options, stopper)
    }

    /// Goes on with a ponder search as a regular one. `facts` are those of this moment: limits without
    /// `ponder`, `reused_nodes` what is in the tree now, `elapsed_ms` since the `ponderhit` line was read.
    /// `stats` are the search's figures, counted from `go` as ever; the chain takes care of the difference.
    pub fn ponder_hit(&mut self, chain: &mut Chain, facts: &MoveFacts, stats: &SearchStats) {
        let kept_nodes = chain.reused_nodes();
        let stopper = self.manager.ponder_hit(facts, kept_nodes);
        let mut resumed = Chain::new(facts, &self.options, stopper);
        resumed.count_from(stats, facts.elapsed_ms);
        *chain = resumed;
    }

    /// A message for the user that came up since the last call, for an `info string`.
    pub fn take_notice(&mut self) -> Option<String> {
        self.manager.take_notice()
    }

    /// Tells the manager what became of the move. Call it once per search, after `bestmove`.
    pub fn finish_move(&mut self, chain: &Chain, end: &SearchEnd<'_>) {
        let Some(report) = chain.report() else { return };
        let stats = chain.counted_from_start(end.stats);
        self.manager.finish_move(&MoveOutcome {
            used_ms: stats.elapsed_ms,
            stats,
            legal_moves: chain.legal_moves(),
            reason: end.reason,
            report,
        });
    }
}
