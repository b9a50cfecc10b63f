//! `go nodes`, counted as visits in the tree or as playouts of this search.

use crate::time::stats::{Hints, SearchStats};
use crate::time::stopper::{StopReason, Stopper};
use crate::time::units::Nodes;

/// Stops at a number of nodes.
#[derive(Clone, Copy, Debug)]
pub struct NodeLimit {
    limit: Nodes,
    counts_reused: bool,
}

impl NodeLimit {
    /// Makes the rule for `limit` visits in the tree, reused ones included.
    pub fn of_visits(limit: Nodes) -> Self {
        NodeLimit { limit, counts_reused: true }
    }

    /// Makes the rule for `limit` playouts of this search.
    pub fn of_playouts(limit: Nodes) -> Self {
        NodeLimit { limit, counts_reused: false }
    }
}

impl Stopper for NodeLimit {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        let done = if self.counts_reused { stats.nodes } else { stats.new_nodes };
        hints.limit_remaining_visits(self.limit.saturating_sub(done).as_f64());
        (done >= self.limit).then_some(StopReason::Nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_and_playouts_are_told_apart() {
        let stats = SearchStats { nodes: Nodes(100), new_nodes: Nodes(60), ..SearchStats::default() };
        let ask = |mut limit: NodeLimit, hints: &mut Hints| limit.should_stop(&stats, hints);
        let mut hints = Hints::default();
        assert_eq!(ask(NodeLimit::of_visits(Nodes(100)), &mut hints), Some(StopReason::Nodes));
        let mut hints = Hints::default();
        assert_eq!(ask(NodeLimit::of_playouts(Nodes(100)), &mut hints), None);
        assert_eq!(hints.remaining_visits.0, 40.0);
    }
}
