//! The bounds of one gathering: leaves, visits to what is known already, and collisions.
//!
//! Called by `gather`. Names and defaults are those of Lc0's options.

use std::num::NonZero;

use crate::search::state::{CollisionScaling, SearchContext, SearchParams};

/// At most one leaf is under way, on all threads together, per this many visits of the root, where an evaluation needs a core:
/// visits that don't know of each other's results are ill spent.
const VISITS_PER_LEAF: u32 = 8;
/// Unless an option says otherwise, a gathering stops at leaves under evaluation at most once per this many leaves that are wanted, where an evaluation needs a
/// core: the more often descents end there, the more the search waits for what they will return, and the worse is what else it
/// finds …
const LEAVES_PER_COLLISION: u32 = 4;
/// … and at most this often, as in Lc0.
const MOST_COLLISIONS: u32 = 917;

/// By games in equal virtual time: what a visit is worth less where as many others as the tree has visits are under way beside it, for a device of its own.
const LOSS_UNDER_WAY: f32 = 0.25;

/// Returns how many leaves may be under way in a tree of `visits` visits, for a backend that takes `batch` of them at once and has
/// `queues` batches at once; 0 if an evaluation needs a core.
pub(crate) fn leaves_under_way(visits: u32, batch: u32, queues: usize) -> u32 {
    match queues {
        0 => visits / VISITS_PER_LEAF,
        _ => leaves_on_device(visits, batch),
    }
}

/// Returns the leaves that may be begun where `under_way` are, for a device that has `queues` batches at once.
pub(crate) fn leaves_that_may_begin(context: &SearchContext, under_way: u32, queues: usize) -> u32 {
    leaves_under_way(context.root_visits(), context.batch_size(), queues).saturating_sub(under_way)
}

/// Returns what each of `leaves` visits that don't know of each other's results is worth in a tree of `visits` visits: 1 is a visit
/// that knows all of them.
pub(crate) fn worth_under_way(leaves: u32, visits: u32) -> f32 {
    1.0 - LOSS_UNDER_WAY * (leaves as f32 / visits.max(1) as f32).min(1.0)
}

/// Returns how many leaves may be under way in a tree of `visits` visits, for a device of its own that computes `latency`
/// positions in the time that a batch of one takes.
///
/// With n leaves under way it evaluates n / (latency + n) of what it could, each worth 1 − loss · n / visits. The product is largest
/// where n² + 2 · latency · n = latency · visits / loss. The tree at most doubles.
fn leaves_on_device(visits: u32, latency: u32) -> u32 {
    let (latency, wanted) = (latency as f32, visits as f32 / LOSS_UNDER_WAY);
    visits.min(((latency * (latency + wanted)).sqrt() - latency) as u32)
}

impl CollisionScaling {
    /// Returns the visits that one gathering may lose in a tree of `nodes` visits, where it may lose `max` in the largest
    /// trees.
    fn allowed(&self, max: u32, nodes: u32) -> u32 {
        if nodes >= self.end {
            return max;
        }
        if nodes <= self.start {
            return 1;
        }
        let share = (nodes - self.start) as f32 / (self.end - self.start) as f32;
        1 + ((max - 1) as f32 * libm::powf(share, self.power)).round() as u32
    }
}

/// The counts of one gathering so far, beside its leaves.
#[derive(Debug, Default)]
pub(super) struct GatherCounts {
    /// Visits that ended in terminals and cache hits.
    pub(super) known: u32,
    /// Visits that stopped at leaves under evaluation.
    pub(super) collided: u32,
    /// Stops at leaves under evaluation.
    pub(super) collisions: u32,
    /// Visits that were not needed: the leaf took one visit only.
    pub(super) spare: u32,
    /// Draws by repetition that were none any more and became leaves again.
    pub(super) reopened: u32,
}

/// The bounds of one gathering.
#[derive(Debug)]
pub(super) struct Quota {
    /// Leaves wanted.
    leaves: u32,
    /// Visits that may end in terminals and cache hits.
    known: u32,
    /// True if those visits take places of the batch.
    known_take_places: bool,
    /// Visits that may stop at leaves under evaluation.
    collided: u32,
    /// Stops there.
    collisions: u32,
}

impl Quota {
    /// Returns the bounds of a gathering of `leaves` leaves in a tree of `nodes` visits, for a device that has `queues` batches
    /// at once.
    pub(super) fn new(params: &SearchParams, leaves: u32, nodes: u32, queues: usize) -> Quota {
        let per_leaves = if queues == 0 { leaves.div_ceil(LEAVES_PER_COLLISION) } else { u32::MAX };
        let usual = per_leaves.min(MOST_COLLISIONS);
        Quota {
            leaves,
            known: ((params.max_out_of_order_factor * leaves as f32) as u32).max(1),
            known_take_places: !params.out_of_order_eval,
            collided: params.collision_scaling.allowed(params.max_collision_visits, nodes),
            collisions: params.max_collision_events.map_or(usual, NonZero::get),
        }
    }

    /// Returns the places of the batch that are still free after `found` leaves.
    pub(super) fn places(&self, found: u32, counts: &GatherCounts) -> u32 {
        let known = if self.known_take_places { counts.known } else { 0 };
        self.leaves.saturating_sub(found + known)
    }

    /// Returns whether the gathering ends because so many visits ended in what is known.
    pub(super) fn has_enough_known(&self, counts: &GatherCounts) -> bool {
        counts.known >= self.known
    }

    /// Returns whether the gathering ends, whether the batch is full or not.
    pub(super) fn is_spent(&self, counts: &GatherCounts) -> bool {
        self.has_enough_known(counts)
            || counts.collisions >= self.collisions
            || counts.collided >= self.collided
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collisions_are_allowed_as_the_tree_grows() {
        let scaling = CollisionScaling::default();
        assert_eq!([0, 28, 29].map(|nodes| scaling.allowed(80_000, nodes)), [1, 1, 1]);
        // 1 + 79,999 · ((72,514 − 28) / (145,000 − 28))^1.25 = 1 + 79,999 · 0.5^1.25
        assert_eq!(scaling.allowed(80_000, 72_514), 33_636);
        assert_eq!([145_000, u32::MAX].map(|nodes| scaling.allowed(80_000, nodes)), [80_000; 2]);
        assert_eq!(CollisionScaling { end: 0, ..scaling }.allowed(80_000, 0), 80_000);
        let crossed = CollisionScaling { start: 100, end: 50, power: 1.0 };
        assert_eq!([0, 49, 50].map(|nodes| crossed.allowed(9, nodes)), [1, 1, 9]);
    }

    /// A regression: up to 917 descents ended at leaves under evaluation before a batch was sent, also where it had few places.
    #[test]
    fn a_gathering_ends_after_a_collision_for_every_fourth_leaf() {
        let is_spent = |leaves, collisions| {
            let counts = GatherCounts { collisions, ..GatherCounts::default() };
            Quota::new(&SearchParams::default(), leaves, 100_000, 0).is_spent(&counts)
        };
        assert_eq!([0, 1].map(|n| is_spent(1, n)), [false, true]);
        assert_eq!([1, 2].map(|n| is_spent(6, n)), [false, true]);
        assert_eq!([3, 4].map(|n| is_spent(16, n)), [false, true]);
        assert_eq!([916, 917].map(|n| is_spent(100_000, n)), [false, true]);
    }

    /// A regression: what the option set was capped at a quarter of the batch.
    #[test]
    fn the_collisions_that_the_option_sets_are_allowed_in_every_batch() {
        let is_spent = |set, leaves, collisions| {
            let params = SearchParams { max_collision_events: NonZero::new(set), ..SearchParams::default() };
            let counts = GatherCounts { collisions, ..GatherCounts::default() };
            Quota::new(&params, leaves, 100_000, 0).is_spent(&counts)
        };
        for leaves in [1, 16, 100_000] {
            assert_eq!([11, 12].map(|n| is_spent(12, leaves, n)), [false, true]);
            assert_eq!([1999, 2000].map(|n| is_spent(2000, leaves, n)), [false, true]);
        }
    }

    #[test]
    fn the_larger_the_tree_and_the_longer_the_latency_the_more_is_under_way() {
        assert_eq!(
            [0, 1, 100, 1_000, 10_000].map(|visits| leaves_on_device(visits, 256)),
            [0, 1, 100, 787, 2_954]
        );
        // All that the tree has, where the latency is all that counts, and hardly more than a core would get where it isn't.
        assert_eq!([1, 16, 65_536].map(|latency| leaves_on_device(1_000, latency)), [62, 237, 1_000]);
    }

    #[test]
    fn known_leaves_take_places_if_the_option_says_so() {
        let params = SearchParams::default();
        let counts = GatherCounts { known: 5, ..GatherCounts::default() };
        assert_eq!(Quota::new(&params, 16, 1000, 0).places(6, &counts), 10);
        let in_order = SearchParams { out_of_order_eval: false, ..params };
        assert_eq!(Quota::new(&in_order, 16, 1000, 0).places(6, &counts), 5);
    }

    #[test]
    fn a_gathering_ends_after_so_many_known_leaves() {
        let params = SearchParams::default();
        let is_spent = |params: &SearchParams, leaves, known| {
            Quota::new(params, leaves, 1000, 0).is_spent(&GatherCounts { known, ..GatherCounts::default() })
        };
        // 2.4 · 16 = 38.4
        assert_eq!((is_spent(&params, 16, 37), is_spent(&params, 16, 38)), (false, true));
        let none = SearchParams { max_out_of_order_factor: 0.0, ..params };
        assert_eq!((is_spent(&none, 16, 0), is_spent(&none, 16, 1)), (false, true));
    }
}
