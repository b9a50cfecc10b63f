//! `RamLimitMb`.

use crate::time::stats::{Hints, SearchStats};
use crate::time::stopper::{StopReason, Stopper};

/// Stops when the tree has grown to its limit, and tells how many visits still fit.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimit {
    limit_bytes: u64,
}

impl MemoryLimit {
    /// Stops at `limit_bytes` bytes.
    pub fn new(limit_bytes: u64) -> Self {
        MemoryLimit { limit_bytes }
    }
}

impl Stopper for MemoryLimit {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        if stats.nodes > 0 && stats.tree_bytes > 0 {
            let bytes_per_node = stats.tree_bytes as f64 / stats.nodes as f64;
            let room = self.limit_bytes.saturating_sub(stats.tree_bytes) as f64;
            hints.limit_remaining_playouts(room / bytes_per_node);
        }
        (stats.tree_bytes >= self.limit_bytes).then_some(StopReason::Memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_room_in_visits() {
        let mut hints = Hints::default();
        let stats = SearchStats { nodes: 100, tree_bytes: 6_000, ..SearchStats::default() };
        // 60 bytes a node; 4,000 bytes are left.
        assert_eq!(MemoryLimit::new(10_000).should_stop(&stats, &mut hints), None);
        assert!((hints.remaining_playouts - 4_000.0 / 60.0).abs() < 1e-9);
        assert_eq!(MemoryLimit::new(6_000).should_stop(&stats, &mut hints), Some(StopReason::Memory));
    }
}
