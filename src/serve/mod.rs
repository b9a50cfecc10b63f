//! The analysis server: many positions searched at once, which share the batches of one device.
//!
//! - `query`: reads a line of JSON as a query or an action, and names the field that is wrong.
//! - `answer`: what is written: answers, reports, errors.
//! - `server`: the clients, each with a thread that reads and one that writes.
//!
//! The searches themselves are the engine's ([`Searcher`](zeitnot_engine::serve::Searcher)).

mod answer;
mod query;
mod server;

pub(crate) use answer::Figures;
pub(crate) use server::{Server, ServerLimits};
