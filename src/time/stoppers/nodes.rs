//! `go nodes`, counted as visits in the tree or as playouts of this search.

use crate::time::stats::{Hints, SearchStats};
use crate::time::stopper::{StopReason, Stopper};

/// Stops when the tree holds so many visits, reused ones included.
#[derive(Clone, Copy, Debug)]
pub struct NodeLimit {
    limit: u64,
}

impl NodeLimit {
    /// Stops at `limit` visits.
    pub fn new(limit: u64) -> Self {
        NodeLimit { limit }
    }
}

impl Stopper for NodeLimit {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        stop_at(self.limit, stats.nodes, hints)
    }
}

/// Stops after so many playouts of this search.
#[derive(Clone, Copy, Debug)]
pub struct PlayoutLimit {
    limit: u64,
}

impl PlayoutLimit {
    /// Stops after `limit` playouts.
    pub fn new(limit: u64) -> Self {
        PlayoutLimit { limit }
    }
}

impl Stopper for PlayoutLimit {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        stop_at(self.limit, stats.playouts, hints)
    }
}

fn stop_at(limit: u64, done: u64, hints: &mut Hints) -> Option<StopReason> {
    hints.limit_remaining_playouts(limit.saturating_sub(done) as f64);
    (done >= limit).then_some(StopReason::Nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_and_playouts_are_told_apart() {
        let stats = SearchStats { nodes: 100, playouts: 60, ..SearchStats::default() };
        let mut hints = Hints::default();
        assert_eq!(NodeLimit::new(100).should_stop(&stats, &mut hints), Some(StopReason::Nodes));
        let mut hints = Hints::default();
        assert_eq!(PlayoutLimit::new(100).should_stop(&stats, &mut hints), None);
        assert_eq!(hints.remaining_playouts, 40.0);
    }
}
