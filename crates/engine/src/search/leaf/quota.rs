//! How much one gathering takes: the leaves that may be under way, and the visits that may be lost to
//! collisions and known leaves.

use std::num::NonZero;

use crate::search::state::{CollisionScaling, SearchContext, SearchCounters, SearchParams};

/// Visits of the root per leaf under way: visits without each other's results are poorly placed.
const VISITS_PER_LEAF: u32 = 8;
/// Leaves per collision at which a gathering ends by default, where evaluations need a core: later descents
/// find worse leaves …
const LEAVES_PER_COLLISION: u32 = 4;
/// … and after at most this many, as in Lc0.
const MOST_COLLISIONS: u32 = 917;

/// What a visit on a device is worth less where as many as the tree has are under way. Fitted by games in
/// equal virtual time.
const LOSS_UNDER_WAY: f32 = 0.25;

/// `queues` is 0 if an evaluation needs a core.
pub(crate) fn leaves_that_may_begin(context: &SearchContext, under_way: u32, queues: usize) -> u32 {
    let most = match queues {
        0 => context.visits() / VISITS_PER_LEAF,
        _ => leaves_on_device(context.visits(), context.batch_size()),
    };
    most.saturating_sub(under_way)
}

/// A visit that knows all results is worth 1.
pub fn worth_under_way(leaves: u32, visits: u32) -> f32 {
    1.0 - LOSS_UNDER_WAY * (leaves as f32 / visits.max(1) as f32).min(1.0)
}

/// For a device that computes `latency` positions in the time that a batch of one takes.
///
/// With n leaves under way it evaluates n / (latency + n) of what it could, each worth 1 − loss · n / visits.
/// The product is largest where n² + 2 · latency · n = latency · visits / loss. The tree at most doubles.
fn leaves_on_device(visits: u32, latency: u32) -> u32 {
    let latency = latency as f32;
    let wanted = visits as f32 / LOSS_UNDER_WAY;
    visits.min(((latency * (latency + wanted)).sqrt() - latency) as u32)
}

impl CollisionScaling {
    /// Visits that collisions may cost in a tree of `nodes` visits, at most `max`.
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

#[derive(Default)]
pub(super) struct GatherCounts {
    pub(super) known: u32,
    pub(super) collided: u32,
    pub(super) collisions: u32,
    /// Visits cancelled because their leaf took only one.
    pub(super) spare: u32,
    /// Draws by repetition that became leaves again.
    pub(super) reopened: u32,
    pub(super) cache_hits: u32,
    pub(super) depth_sum: usize,
    pub(super) max_depth: usize,
}

impl GatherCounts {
    /// All at once, as threads share the counters.
    pub(super) fn add_to(&self, counters: &SearchCounters) {
        let mut counters = counters.lock();
        counters.collisions += u64::from(self.collisions);
        counters.cache_hits += u64::from(self.cache_hits);
        counters.terminals += u64::from(self.known - self.cache_hits);
        counters.count_depths(self.depth_sum, self.max_depth);
    }
}

pub(super) struct Quota {
    leaves: u32,
    known: u32,
    known_take_places: bool,
    collided: u32,
    collisions: u32,
}

impl Quota {
    pub(super) fn new(params: &SearchParams, leaves: u32, nodes: u32, queues: usize) -> Quota {
        let per_leaves = if queues == 0 {
            leaves.div_ceil(LEAVES_PER_COLLISION)
        } else {
            u32::MAX
        };
        let usual = per_leaves.min(MOST_COLLISIONS);
        Quota {
            leaves,
            known: ((params.max_out_of_order_factor * leaves as f32) as u32).max(1),
            known_take_places: !params.out_of_order_eval,
            collided: params
                .collision_scaling
                .allowed(params.max_collision_visits, nodes),
            collisions: params.max_collision_events.map_or(usual, NonZero::get),
        }
    }

    pub(super) fn places(&self, found: u32, counts: &GatherCounts) -> u32 {
        let known = if self.known_take_places { counts.known } else { 0 };
        self.leaves.saturating_sub(found + known)
    }

    pub(super) fn has_enough_known(&self, counts: &GatherCounts) -> bool {
        counts.known >= self.known
    }

    /// Even if the batch is not full.
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
        assert_eq!(scaling.allowed(80_000, 72_514), 33_636);
        assert_eq!(
            [145_000, u32::MAX].map(|nodes| scaling.allowed(80_000, nodes)),
            [80_000; 2]
        );
        assert_eq!(CollisionScaling { end: 0, ..scaling }.allowed(80_000, 0), 80_000);
        let crossed = CollisionScaling {
            start: 100,
            end: 50,
            power: 1.0,
        };
        assert_eq!([0, 49, 50].map(|nodes| crossed.allowed(9, nodes)), [1, 1, 9]);
    }

    /// A regression: up to 917 descents collided before a small batch was sent.
    #[test]
    fn a_gathering_ends_after_a_collision_for_every_fourth_leaf() {
        let is_spent = |leaves, collisions| {
            let counts = GatherCounts {
                collisions,
                ..GatherCounts::default()
            };
            Quota::new(&SearchParams::default(), leaves, 100_000, 0).is_spent(&counts)
        };
        assert_eq!([0, 1].map(|n| is_spent(1, n)), [false, true]);
        assert_eq!([1, 2].map(|n| is_spent(6, n)), [false, true]);
        assert_eq!([3, 4].map(|n| is_spent(16, n)), [false, true]);
        assert_eq!([916, 917].map(|n| is_spent(100_000, n)), [false, true]);
    }

    /// A regression: the option's value was capped at a quarter of the batch.
    #[test]
    fn the_collisions_that_the_option_sets_are_allowed_in_every_batch() {
        let is_spent = |set, leaves, collisions| {
            let params = SearchParams {
                max_collision_events: NonZero::new(set),
                ..SearchParams::default()
            };
            let counts = GatherCounts {
                collisions,
                ..GatherCounts::default()
            };
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
        // All that the tree has where only the latency counts, and hardly more than for a core where it
        // doesn't.
        assert_eq!(
            [1, 16, 65_536].map(|latency| leaves_on_device(1_000, latency)),
            [62, 237, 1_000]
        );
    }

    #[test]
    fn known_leaves_take_places_if_the_option_says_so() {
        let params = SearchParams::default();
        let counts = GatherCounts {
            known: 5,
            ..GatherCounts::default()
        };
        assert_eq!(Quota::new(&params, 16, 1000, 0).places(6, &counts), 10);
        let in_order = SearchParams {
            out_of_order_eval: false,
            ..params
        };
        assert_eq!(Quota::new(&in_order, 16, 1000, 0).places(6, &counts), 5);
    }

    #[test]
    fn a_gathering_ends_after_so_many_known_leaves() {
        let params = SearchParams::default();
        let is_spent = |params: &SearchParams, leaves, known| {
            Quota::new(params, leaves, 1000, 0).is_spent(&GatherCounts {
                known,
                ..GatherCounts::default()
            })
        };
        assert_eq!(
            (is_spent(&params, 16, 37), is_spent(&params, 16, 38)),
            (false, true)
        );
        let none = SearchParams {
            max_out_of_order_factor: 0.0,
            ..params
        };
        assert_eq!((is_spent(&none, 16, 0), is_spent(&none, 16, 1)), (false, true));
    }
}
