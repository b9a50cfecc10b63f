//! What a search is given.

use std::num::NonZero;
use std::sync::Arc;

use super::clock::SearchClock;
use super::contempt::Rescale;
use super::params::SearchParams;
use crate::chess::{History, Move};
use crate::network::cache::EvalCache;
use crate::network::{BackendInfo, PositionEncoding};
use crate::search::tree::{Node, NodeId, NodeState, Tree};
use crate::tablebase::Tablebase;

/// Only tree and cache change during the search, through their own atomics and locks.
pub(crate) struct SearchContext {
    pub(crate) tree: Arc<Tree>,
    pub(crate) root: NodeId,
    pub(crate) history: History,
    /// The opponent's expected move while pondering. Reports are about the position after it.
    pub(crate) expected_move: Option<Move>,
    /// May be searched, or empty for all.
    pub(crate) root_moves: Vec<Move>,
    /// May be played after the expected move, or empty for all. All are searched.
    pub(crate) reply_moves: Vec<Move>,
    pub(crate) params: SearchParams,
    pub(crate) rescale: Rescale,
    pub(crate) cache: Arc<EvalCache>,
    /// Tables for leaves. `None` also where root moves were chosen by distance.
    pub(crate) tablebase: Option<Arc<Tablebase>>,
    pub(crate) tablebase_hits: u64,
    pub(crate) backend_info: BackendInfo,
    pub(crate) reporting: Reporting,
    pub(crate) clock: SearchClock,
}

impl SearchContext {
    pub(crate) fn root_node(&self) -> &Node {
        self.tree.node(self.root)
    }

    pub(crate) fn visits(&self) -> u32 {
        self.root_node().visits()
    }

    pub(crate) fn has_evaluated_root(&self) -> bool {
        self.root_node().state() == NodeState::Expanded
    }

    /// The moves to choose the answer from, or empty for all.
    pub(crate) fn answer_moves(&self) -> &[Move] {
        if self.expected_move.is_some() {
            &self.reply_moves
        } else {
            &self.root_moves
        }
    }

    pub(crate) fn encoding(&self) -> PositionEncoding {
        PositionEncoding {
            format: self.backend_info.input_format,
            history_fill: self.params.history_fill,
        }
    }

    pub(crate) fn batch_size(&self) -> u32 {
        let BackendInfo {
            preferred_batch,
            max_batch,
            ..
        } = self.backend_info;
        let chosen = self.params.minibatch_size.map(NonZero::get);
        chosen.unwrap_or(preferred_batch).clamp(1, max_batch) as u32
    }

    /// Of every root move, and not while pondering.
    pub(crate) fn reports_move_stats(&self, occasion: MoveStatsWhen) -> bool {
        let wanted = self.reporting.move_stats;
        let is_wanted = wanted == MoveStatsWhen::Always || wanted == occasion;
        is_wanted && self.expected_move.is_none()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MoveStatsWhen {
    #[default]
    Never,
    AtEnd,
    Always,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reporting {
    pub(crate) lines: usize,
    pub(crate) move_stats: MoveStatsWhen,
}
