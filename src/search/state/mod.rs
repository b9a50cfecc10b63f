//! What a search is given, and what its threads count. It decides nothing.

pub(crate) mod clock;
pub(crate) mod contempt;
pub(crate) mod context;
pub(crate) mod counters;
pub(crate) mod noise;
pub(crate) mod params;
pub(crate) mod progress;
pub(crate) mod root;
pub(crate) mod visit_budget;
pub(crate) mod wdl;
