//! The place of the tree in this crate: the same path as in the engine, with another `sync` beside it.

#[path = "../../../crates/engine/src/search/state/life.rs"]
pub(crate) mod life;
/// The place of a search's life.
pub(crate) mod state {
    pub(crate) use super::life;
}
#[path = "../../../crates/engine/src/search/state/models.rs"]
pub(crate) mod life_models;
pub(crate) mod sync;
#[path = "../../../crates/engine/src/search/tree/mod.rs"]
pub(crate) mod tree;
