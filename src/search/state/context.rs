//! Holds what stays the same while a search runs.

use std::sync::Arc;

use super::params::SearchParams;
use super::wdl::Rescale;
use crate::chess::{History, Move};
use crate::network::{BackendInfo, PositionEncoding, cache::EvalCache};
use crate::search::report::info::Reporting;
use crate::search::state::clock::SearchClock;
use crate::search::tree::{Node, NodeId, Tree};
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

    /// Returns the moves that may be answered with, one of which is played; empty means all.
    pub(crate) fn answer_moves(&self) -> &[Move] {
        if self.expected_move.is_some() { &self.reply_moves } else { &self.root_moves }
    }

    /// Returns how the positions of the search are encoded for the network.
    pub(crate) fn encoding(&self) -> PositionEncoding {
        PositionEncoding { format: self.backend_info.input_format, history_fill: self.params.history_fill }
    }
}
