//! The root at one moment, and all that is read from it.

mod best_move;
mod figures;
pub(super) mod info;
pub(super) mod move_stats;
mod snapshot;

pub(super) use best_move::{choose, principal_variation};
pub use figures::SearchSummary;
pub(super) use figures::{stats, summary};
pub use info::{PvLine, SearchInfo};
pub use move_stats::{MeanStats, MoveStats, NodeStats, RootStats};
pub(super) use snapshot::RootSnapshot;
pub(crate) use snapshot::root_evaluation;
