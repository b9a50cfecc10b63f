//! The root at one moment, and all that is read from it.

mod best_move;
mod info;
mod snapshot;

pub use info::{LineValue, MeanStats, MoveStats, NodeStats, PvLine, RootStats, SearchInfo};
pub(super) use snapshot::RootSnapshot;
pub use snapshot::SearchSummary;
pub(crate) use snapshot::root_evaluation;
