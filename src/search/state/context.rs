//! What a search is given, which stays the same while it runs; only its time passes.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::contempt::Rescale;
use super::params::SearchParams;
use crate::chess::{History, Move};
use crate::network::{BackendInfo, PositionEncoding, cache::EvalCache};
use crate::search::tree::{Node, NodeId, NodeState, Tree};
use crate::tablebase::Tablebase;

/// The things that a search works on: the tree, the game, the parameters and the evaluations. Nothing here changes while the search
/// runs, but the tree and the cache are written through their own atomics and locks.
#[derive(Debug)]
pub(crate) struct SearchContext {
    /// The game's tree.
    pub(crate) tree: Arc<Tree>,
    /// The node of the position to search.
    pub(crate) root: NodeId,
    /// The game up to the root.
    pub(crate) history: History,
    /// While pondering, the move that the opponent is expected to play at the root: what is reported follows it.
    pub(crate) expected_move: Option<Move>,
    /// Root moves that may be searched; empty means all.
    pub(crate) root_moves: Vec<Move>,
    /// While pondering, the moves that may be played after the expected one; empty means all. All are searched.
    pub(crate) reply_moves: Vec<Move>,
    /// The options of the search.
    pub(crate) params: SearchParams,
    /// The change of the network's values for accuracy of play and contempt.
    pub(crate) rescale: Rescale,
    /// Evaluations of earlier visits.
    pub(crate) cache: Arc<EvalCache>,
    /// Endgame tables for leaves; `None` also when the root moves were chosen by distance and every leaf would be
    /// the same win.
    pub(crate) tablebase: Option<Arc<Tablebase>>,
    /// Positions found in the endgame tables before the search.
    pub(crate) tablebase_hits: u64,
    /// The description of the backend, whose evaluators the workers have.
    pub(crate) backend_info: BackendInfo,
    /// The selection of what the search reports.
    pub(crate) reporting: Reporting,
    /// The time since the `go` line was read.
    pub(crate) clock: SearchClock,
}

impl SearchContext {
    /// Returns the root's node.
    pub(crate) fn root_node(&self) -> &Node {
        self.tree.node(self.root)
    }

    /// Returns the visits of the root so far.
    pub(crate) fn root_visits(&self) -> u32 {
        self.root_node().visits()
    }

    /// Returns whether the root is evaluated: from then on there is something to choose a move by.
    pub(crate) fn has_evaluated_root(&self) -> bool {
        self.root_node().state() == NodeState::Expanded
    }

    /// Returns the moves that may be answered with, one of which is played; empty means all.
    pub(crate) fn answer_moves(&self) -> &[Move] {
        if self.expected_move.is_some() { &self.reply_moves } else { &self.root_moves }
    }

    /// Returns how the positions of the search are encoded for the network.
    pub(crate) fn encoding(&self) -> PositionEncoding {
        PositionEncoding { format: self.backend_info.input_format, history_fill: self.params.history_fill }
    }

    /// Returns the number of positions in a full batch: as many as the user wants, or the backend.
    pub(crate) fn batch_size(&self) -> u32 {
        let BackendInfo { preferred_batch, max_batch, .. } = self.backend_info;
        let chosen = self.params.minibatch_size.map(NonZero::get);
        chosen.unwrap_or(preferred_batch).clamp(1, max_batch) as u32
    }

    /// Returns whether figures of every root move are reported on this occasion, [`MoveStatsWhen::AtEnd`] or
    /// [`MoveStatsWhen::Always`]. They are not while pondering, where the root's moves are the opponent's.
    pub(crate) fn reports_move_stats(&self, occasion: MoveStatsWhen) -> bool {
        let wanted = self.reporting.move_stats;
        let is_wanted = wanted == MoveStatsWhen::Always || wanted == occasion;
        is_wanted && self.expected_move.is_none()
    }
}

/// Decides when a search reports figures of every root move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MoveStatsWhen {
    /// They are not reported.
    #[default]
    Never,
    /// They come with the last report.
    AtEnd,
    /// They come with every report.
    Always,
}

/// The selection of what a search reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reporting {
    /// The number of lines, best first.
    pub lines: usize,
    /// The occasions on which figures of every root move are reported.
    pub move_stats: MoveStatsWhen,
}

/// The time of one search.
#[derive(Debug)]
pub(crate) enum SearchClock {
    /// Real time since the `go` line was read.
    Real(Instant),
    /// Time that passes only when somebody says so, nanoseconds. Relaxed: one thread searches, others only look.
    Virtual(AtomicU64),
}

impl SearchClock {
    /// Returns a clock of virtual time that stands at 0.
    pub(crate) fn new_virtual() -> SearchClock {
        SearchClock::Virtual(AtomicU64::new(0))
    }

    /// Returns the time since the search began.
    pub(crate) fn elapsed(&self) -> Duration {
        match self {
            SearchClock::Real(started) => started.elapsed(),
            SearchClock::Virtual(nanos) => Duration::from_nanos(nanos.load(Ordering::Relaxed)),
        }
    }

    /// Lets virtual time pass up to `time`, unless it is later already.
    pub(crate) fn pass_until(&self, time: Duration) {
        if let SearchClock::Virtual(nanos) = self {
            nanos.fetch_max(time.as_nanos() as u64, Ordering::Relaxed);
        }
    }

    /// Returns when the search began; `None` where time is virtual.
    pub(crate) fn started(&self) -> Option<Instant> {
        match self {
            SearchClock::Real(started) => Some(*started),
            SearchClock::Virtual(_) => None,
        }
    }
}
