//! Many positions searched at once, which share the batches of one device.
//!
//! - `pool`: the search threads. Each has an evaluator and a batch of open searches, which it takes from one
//!   queue. Whoever submits an [`Order`] hears of its search as a [`Listener`](crate::engine::Listener).
//! - `searcher`: the pool with backend, options and cache.
//!
//! The analysis server takes orders from its clients. `analyse` and `solve` know all of their positions from
//! the beginning.

mod pool;
mod searcher;

pub use pool::{Order, PoolSize, PoolStatus, QueueFull, SearchPool};
pub use searcher::{Searcher, positions_at_once, searches_at_once};
