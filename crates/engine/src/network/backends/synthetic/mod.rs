//! Backends without a network: for tests, for measuring the search alone, and for trying it against an
//! accelerator.
//!
//! [`super::create`] makes them. Their answers are computed with integers and exactly rounded float
//! operations only, so that they are the same on every machine: whole searches can be compared by a
//! signature.

pub mod random;
pub mod simulated;
pub mod trivial;

/// A batch size that costs the search little and fills a vector machine. Any other would do as well.
const PREFERRED_BATCH: usize = 32;
/// The largest batch of a backend that has no limit of its own.
const MAX_BATCH: usize = 65_536;
