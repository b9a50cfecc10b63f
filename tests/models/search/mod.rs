//! The place of the tree in this crate: the same path as in the engine, with another `sync` beside it.

pub(crate) mod sync;
#[path = "../../../crates/engine/src/search/tree/mod.rs"]
pub(crate) mod tree;
