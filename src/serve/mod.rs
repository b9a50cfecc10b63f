//! The analysis server: many positions searched at once, which share the batches of one device.
//!
//! - `pool`: the search threads. Each has an evaluator and a batch of open searches, which it takes from one
//!   queue. It knows nothing of JSON: whoever submits an order hears of its search as a
//!   [`Listener`](crate::engine::Listener).
//! - `searcher`: the pool with backend, options and cache, for whoever has many positions: the server, and
//!   the commands that know all of their positions from the beginning.
//! - `query`: reads a line of JSON as a query or an action, and names the field that is wrong.
//! - `answer`: what is written: answers, reports, errors.
//! - `server`: the clients, each with a thread that reads and one that writes.
//!
//! `tools` starts it on stdin and stdout, or on a port. `analyse` and `solve` use the searcher alone. Uses
//! `engine` and what lies below it.

mod answer;
mod pool;
mod query;
mod searcher;
mod server;

pub(crate) use pool::Order;
pub(crate) use searcher::{Searcher, positions_at_once};
pub(crate) use server::{Server, ServerLimits};
