//! The analysis server: many positions searched at once, which share the batches of one device.
//!
//! - `pool`: the search threads. Each has an evaluator and a batch of open searches, which it takes from one queue. It knows nothing of
//!   JSON: whoever submits an order hears of its search as a [`Listener`](crate::engine::Listener).
//! - `query`: reads a line of JSON as a query or an action, and names the field that is wrong.
//! - `answer`: what is written: answers, reports, errors.
//! - `server`: the clients, each with a thread that reads and one that writes.
//!
//! `tools` starts it on stdin and stdout, or on a port. Uses `engine` and what lies below it.

mod answer;
mod pool;
mod query;
mod server;

pub(crate) use server::{Server, ServerLimits};
