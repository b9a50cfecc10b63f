//! The root at one moment, and all that is read from it.

pub(crate) mod best_move;
pub(crate) mod figures;
pub(crate) mod info;
pub(crate) mod move_stats;
pub(crate) mod snapshot;
pub(crate) mod summary;
pub(crate) mod temperature;
