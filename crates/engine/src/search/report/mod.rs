//! The root at one moment, and all that is read from it.

mod best_move;
mod info;
mod snapshot;

pub(super) use best_move::choose;
pub use info::{MeanStats, MoveStats, NodeStats, PvLine, RootStats, SearchInfo};
pub(super) use info::{root_stats, search_info};
pub use snapshot::SearchSummary;
pub(crate) use snapshot::root_evaluation;
pub(super) use snapshot::{RootSnapshot, stats, summary};
