//! `go nodes`, counted as visits in the tree or as playouts of this search.

use crate::time::stats::{Hints, SearchStats};
use crate::time::stopper::{StopReason, Stopper};
use crate::time::units::Nodes;

/// Stops at a number of visits in the tree, reused ones included.
#[derive(Clone, Copy, Debug)]
pub struct NodeLimit {
    limit: Nodes,
}

impl NodeLimit {
    /// Makes the rule for `limit` visits.
    pub fn new(limit: Nodes) -> Self {
        NodeLimit { limit }
    }
}

impl Stopper for NodeLimit {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        stop_at(self.limit, stats.nodes, hints)
    }
}

/// Stops after a number of playouts of this search.
#[derive(Clone, Copy, Debug)]
pub struct PlayoutLimit {
    limit: Nodes,
}

impl PlayoutLimit {
    /// Makes the rule for `limit` playouts.
    pub fn new(limit: Nodes) -> Self {
        PlayoutLimit { limit }
    }
}

impl Stopper for PlayoutLimit {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        stop_at(self.limit, stats.playouts, hints)
    }
}

fn stop_at(limit: Nodes, done: Nodes, hints: &mut Hints) -> Option<StopReason> {
    hints.limit_remaining_visits(limit.saturating_sub(done).as_f64());
    (done >= limit).then_some(StopReason::Nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_and_playouts_are_told_apart() {
        let stats = SearchStats { nodes: Nodes(100), playouts: Nodes(60), ..SearchStats::default() };
        let mut hints = Hints::default();
        assert_eq!(NodeLimit::new(Nodes(100)).should_stop(&stats, &mut hints), Some(StopReason::Nodes));
        let mut hints = Hints::default();
        assert_eq!(PlayoutLimit::new(Nodes(100)).should_stop(&stats, &mut hints), None);
        assert_eq!(hints.remaining_visits.0, 40.0);
    }
}
