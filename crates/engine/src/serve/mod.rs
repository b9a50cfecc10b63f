//! Many positions searched at once, which share the batches of one device. `pool` has the search threads and
//! the queue of [`Order`]s, `searcher` adds backend, options and cache.

mod pool;
mod searcher;

pub use pool::{Order, PoolSize, PoolStatus, QueueFull, Searcher};
pub use searcher::{positions_at_once, searches_at_once};
