//! What a node is to those above it, kept while it is searched as the root and its visits don't count for them.

use super::{Node, meta};
use crate::search::sync::atomic::Ordering;
use crate::search::tree::value::{NodeValue, VisitSum};

/// The visits of a node, their worth, and what is proven of it, at one moment.
#[derive(Clone, Copy, Debug)]
pub(in crate::search::tree) struct Standing {
    visits: u32,
    value_sum: i64,
    means: (f32, f32),
    proof: u32,
}

impl Node {
    /// Returns what the node is to those above it.
    pub(in crate::search::tree) fn standing(&self) -> Standing {
        Standing {
            visits: self.visits(),
            value_sum: self.value_sum.load(Ordering::Relaxed),
            means: self.means.get(),
            proof: self.meta.load(Ordering::Relaxed) & (meta::PROOF | meta::MATE),
        }
    }

    /// Makes the node what it was to those above it. Visits under way go on.
    pub(in crate::search::tree) fn restore(&self, before: Standing) {
        let visits = self.lock_sums();
        self.value_sum.store(before.value_sum, Ordering::Relaxed);
        self.means.set(before.means.0, before.means.1);
        self.meta.fetch_or(before.proof, Ordering::Release);
        self.unlock_with_visits(visits, before.visits);
    }

    /// Gives the node all visits of its `children` and one of its own, if it has fewer: they were made when it was the root.
    /// Nobody else changes it or its children meanwhile.
    pub(in crate::search::tree) fn count_visits_below<'a>(&self, children: impl Iterator<Item = &'a Node>) {
        let sum = with_visits_below(self.mean(), children);
        if sum.finished > self.visits() && self.proof().is_none() {
            let visits = self.lock_sums();
            self.value_sum.store(sum.value_sum, Ordering::Relaxed);
            self.means.set(sum.d, sum.m);
            self.unlock_with_visits(visits, sum.finished);
        }
    }
}

/// Returns one visit with the result `own` of a node, and those of its `children` as the node sees them. Nobody else changes
/// them meanwhile.
pub(super) fn with_visits_below<'a>(own: NodeValue, children: impl Iterator<Item = &'a Node>) -> VisitSum {
    children.fold(VisitSum::finished(1, own), |sum, child| {
        let NodeValue { d, m, .. } = child.mean();
        let value_sum = child.value_sum.load(Ordering::Relaxed);
        let visits = VisitSum { finished: child.visits(), value_sum, d, m, ..VisitSum::default() };
        sum.and(visits.at_parent())
    })
}
