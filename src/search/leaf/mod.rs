//! The way of a leaf, in the order in which it happens: gathered, sent off in a batch, backed up.

pub(crate) mod backup;
pub(crate) mod batch;
pub(crate) mod gather;
pub(crate) mod prefetch;
pub(crate) mod proof;
pub(crate) mod quota;
pub(crate) mod select;
