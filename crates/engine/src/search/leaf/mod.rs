//! The way of a leaf. Descents `gather` leaves by the formula in `select`, within a `quota`, into a batch.
//! Once it is evaluated, they are backed up (`backup`).

pub(super) mod backup;
mod gather;
mod quota;
pub(super) mod select;

pub(super) use backup::Batch;
pub(crate) use backup::buffer_bytes;
pub(super) use gather::{Gathered, Gatherer};
#[cfg(test)]
pub(super) use quota::leaves_that_may_begin;
pub use quota::worth_under_way;
