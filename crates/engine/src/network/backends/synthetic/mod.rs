//! Backends without a network, for tests and for measuring the search alone or against an accelerator.
//!
//! They compute with integers and exactly rounded floats only, so that whole searches can be compared by a
//! signature on any machine.

mod backend;
pub mod random;
pub mod simulated;
pub mod trivial;

pub use backend::Synthetic;
