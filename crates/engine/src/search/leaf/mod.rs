//! The way of a leaf, in the order in which it happens. Descents `gather` leaves, found by the formula in
//! `select`, into a batch. Once it is evaluated, they are backed up (`backup`).

pub(super) mod backup;
mod gather;
pub(super) mod select;

pub(super) use backup::Batch;
pub(crate) use backup::buffer_bytes;
#[cfg(test)]
pub(super) use gather::leaves_that_may_begin;
pub use gather::worth_under_way;
pub(super) use gather::{Gathered, Gatherer};
