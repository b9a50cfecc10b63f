//! The limit of `go depth`.

use crate::time::stats::{Hints, SearchStats};
use crate::time::stopper::{StopReason, Stopper};

/// Stops when the average depth is reached, or when it cannot be reached because the result is certain or hardly anything is left
/// to be found.
#[derive(Clone, Copy, Debug)]
pub struct DepthLimit {
    depth: u32,
    /// True if the result of the best move is enough.
    ends_with_proof: bool,
}

impl DepthLimit {
    /// Makes the rule for an average depth of `depth` plies.
    pub fn new(depth: u32) -> Self {
        DepthLimit { depth, ends_with_proof: true }
    }

    /// Lets the search of several lines go on where the best one is certain.
    pub fn in_every_line(self) -> Self {
        DepthLimit { ends_with_proof: false, ..self }
    }
}

impl Stopper for DepthLimit {
    fn should_stop(&mut self, stats: &SearchStats, _: &mut Hints) -> Option<StopReason> {
        let is_certain = self.ends_with_proof && stats.root_is_certain;
        (stats.depth >= self.depth || is_certain || stats.is_exhausted()).then_some(StopReason::Depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::units::Nodes;

    #[test]
    fn stops_at_its_depth() {
        let at = |depth| SearchStats { depth, ..SearchStats::default() };
        assert_eq!(DepthLimit::new(5).should_stop(&at(4), &mut Hints::default()), None);
        assert_eq!(DepthLimit::new(5).should_stop(&at(5), &mut Hints::default()), Some(StopReason::Depth));
        let certain = SearchStats { root_is_certain: true, ..at(2) };
        assert_eq!(DepthLimit::new(5).should_stop(&certain, &mut Hints::default()), Some(StopReason::Depth));
    }

    #[test]
    fn stops_where_all_lines_soon_end() {
        let with = |new_nodes, terminal_visits| {
            let stats = SearchStats {
                depth: 2,
                new_nodes: Nodes(new_nodes),
                terminal_visits: Nodes(terminal_visits),
                ..SearchStats::default()
            };
            DepthLimit::new(5).should_stop(&stats, &mut Hints::default())
        };
        assert_eq!(with(1000, 999), None);
        assert_eq!(with(30_000, 28_000), None);
        assert_eq!(with(30_000, 29_000), Some(StopReason::Depth));
    }
}
