//! The way of a leaf, in the order in which it happens. Descents `gather` leaves, within the bounds in `quota`, and find them by the
//! formula in `select`. They go into a `batch`, which `prefetch` may fill up. Once it is evaluated, they are backed up (`backup`).

pub(super) mod backup;
mod batch;
mod gather;
mod prefetch;
mod quota;
pub(super) mod select;

pub(super) use batch::Batch;
pub(crate) use batch::buffer_bytes;
pub(super) use gather::{Gathered, Gatherer};
#[cfg(test)]
pub(super) use quota::leaves_that_may_begin;
pub(crate) use quota::{leaves_under_way, worth_under_way};
