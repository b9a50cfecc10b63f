//! The packing of policies, which the tree uses.

#[path = "../../src/network/cache.rs"]
pub(crate) mod cache;

pub(crate) use zeitnot::network::Evaluation;
