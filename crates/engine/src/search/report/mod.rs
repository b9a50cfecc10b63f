//! The root at one moment, and what is read from it.

mod best_move;
mod info;
mod snapshot;

pub use info::{LineValue, MeanStats, MoveStats, NodeStats, PvLine, RootStats, SearchInfo};
pub use snapshot::Figures;
pub(super) use snapshot::RootSnapshot;
pub(crate) use snapshot::root_evaluation;
