//! The packing of policies, which the tree uses.

#[path = "../../crates/engine/src/network/cache.rs"]
pub(crate) mod cache;

pub(crate) use zeitnot_engine::network::Value;
