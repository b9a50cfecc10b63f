//! Iterations for managers that were made for iterative deepening.
//!
//! A search by visits has none: one ends each time the number of nodes reaches the next power of two, so that
//! its number, log2(nodes), grows like a depth.

use crate::time::stats::SearchStats;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Iteration {
    /// log2 of the nodes.
    pub number: u32,
    pub best_move: usize,
    /// From the side to move, `-1..=1`.
    pub q: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IterationTracker {
    last_number: Option<u32>,
}

impl IterationTracker {
    /// The latest that ended since the last call, beyond a reused tree's size.
    pub(crate) fn observe(&mut self, stats: &SearchStats) -> Option<Iteration> {
        stats.since_first_eval?;
        let number = stats.nodes.0.checked_ilog2()?;
        let before = stats.nodes.saturating_sub(stats.new_nodes).0.checked_ilog2();
        let last = self.last_number.or(before);
        if last.is_some_and(|last| number <= last) {
            return None;
        }
        let iteration = Iteration { number, best_move: stats.most_visited()?, q: stats.root?.wl };
        self.last_number = Some(number);
        Some(iteration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::facts::RootEvaluation;
    use crate::time::units::{Millis, Nodes};

    fn at(nodes: u64, new_nodes: u64) -> SearchStats {
        SearchStats {
            since_first_eval: Some(Millis(1.0)),
            nodes: Nodes(nodes),
            new_nodes: Nodes(new_nodes),
            race_visits: vec![1, 3],
            root: Some(RootEvaluation::default()),
            ..SearchStats::default()
        }
    }

    #[test]
    fn an_iteration_ends_when_the_nodes_have_doubled() {
        let mut iterations = IterationTracker::default();
        let mut number = |nodes| iterations.observe(&at(nodes, nodes)).map(|iteration| iteration.number);
        assert_eq!(number(0), None);
        assert_eq!(number(5), Some(2));
        assert_eq!(number(7), None);
        assert_eq!(number(8), Some(3));
        assert_eq!(number(100), Some(6), "several at once");
    }

    #[test]
    fn a_reused_tree_is_no_iteration() {
        let mut iterations = IterationTracker::default();
        assert_eq!(iterations.observe(&at(1_010, 10)), None);
        assert_eq!(iterations.observe(&at(1_024, 24)).map(|iteration| iteration.number), Some(10));
    }
}
