//! Counts the visits that a search may still begin.

use std::sync::atomic::{AtomicU64, Ordering};

/// The visits that a search may make. Workers take theirs before they descend and give back what they could not use, so
/// that the limit is kept exactly on any number of threads.
#[derive(Debug)]
pub(crate) struct VisitBudget {
    total: u64,
    /// Visits that may still be begun. Relaxed: a counter that publishes nothing else.
    left: AtomicU64,
}

impl VisitBudget {
    /// Returns a budget of `total` visits.
    pub(crate) fn new(total: u64) -> VisitBudget {
        VisitBudget { total, left: AtomicU64::new(total) }
    }

    /// Returns the number of visits that the whole search may make.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Takes up to `wanted` visits and returns how many it got.
    pub(crate) fn reserve(&self, wanted: u32) -> u32 {
        let mut left = self.left.load(Ordering::Relaxed);
        loop {
            let taken = left.min(wanted.into());
            match self.left.compare_exchange_weak(left, left - taken, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return taken as u32,
                Err(now) => left = now,
            }
        }
    }

    /// Takes back `visits` visits that were reserved and not made.
    pub(crate) fn give_back(&self, visits: u32) {
        self.left.fetch_add(visits.into(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_gives_no_more_than_it_has() {
        let budget = VisitBudget::new(10);
        assert_eq!((budget.reserve(7), budget.reserve(7)), (7, 3));
        assert_eq!(budget.reserve(1), 0);
        budget.give_back(2);
        assert_eq!((budget.reserve(7), budget.total()), (2, 10));
    }
}
