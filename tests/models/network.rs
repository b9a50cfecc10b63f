//! The packing of policies, which the tree uses.

#[path = "../../crates/engine/src/network/cache.rs"]
pub(crate) mod cache;

/// The place of what a position is worth.
pub(crate) mod value {
    pub(crate) use zeitnot_engine::network::Value;
}
pub(crate) use value::Value;
