//! Models of what several threads do to the tree at once.
//!
//! `tests/models` runs them under loom, which tries all orders of a model's steps; a unit test runs them on real threads. So they are
//! small: two or three threads, a few steps each.

mod slab;

/// The models and their names.
pub(crate) const MODELS: &[(&str, fn())] =
    &[("slab: a run has one owner at a time", slab::a_run_has_one_owner_at_a_time)];

#[test]
fn models_hold_on_real_threads() {
    for (_, model) in MODELS {
        (0..1_000).for_each(|_| model());
    }
}
