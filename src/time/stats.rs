//! What the search tells the stoppers, and what the stoppers tell the search.

use super::facts::RootEvaluation;

/// Figures of a running search. Counters start at `go`, also when the search began as a ponder search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchStats {
    /// Time since the `go` line was read, ms.
    pub elapsed_ms: f64,
    /// Time since the first evaluation of this search came back, ms; `None` before it.
    pub since_first_eval_ms: Option<f64>,
    /// Visits under the root, reused ones included.
    pub nodes: u64,
    /// Visits made by this search.
    pub new_nodes: u64,
    /// Descents from the root made by this search; several may end in one visit and one may carry several.
    pub playouts: u64,
    /// Visits made by this search that ended where the result was known: at terminals, proven nodes and in endgame tables.
    pub terminal_visits: u64,
    /// Batches that came back.
    pub batches: u64,
    /// Average depth, plies.
    pub depth: u32,
    /// Visits of the root's moves, in a fixed order during one search; empty before the root is expanded. 0 for moves that
    /// may not be searched or certainly lose.
    pub root_visits: Vec<u32>,
    /// Index into `root_visits` of the move with the best Q among those visited.
    pub best_by_q: Option<usize>,
    /// The root's evaluation: visit-weighted averages; `None` before the first evaluation.
    pub root: Option<RootEvaluation>,
    /// True if a root move wins by force.
    pub proven_win: bool,
    /// True if the root's result is certain: more visits tell nothing new.
    pub root_is_certain: bool,
    /// Root moves that are proven to lose.
    pub losing_moves: u32,
    /// Moves to the mate that was found for the side to move, if any.
    pub mate_in: Option<u32>,
    /// Moves to the mate that was found against the side to move, if any.
    pub mated_in: Option<u32>,
}

impl SearchStats {
    /// The largest and the second largest number of visits of a root move; 0 where there is none.
    pub fn two_most_visits(&self) -> (u32, u32) {
        self.root_visits.iter().fold(
            (0, 0),
            |(first, second), &n| {
                if n > first { (n, first) } else { (first, second.max(n)) }
            },
        )
    }

    /// Do all but few visits end where the result is known already, so that hardly anything is left to be found?
    pub fn is_exhausted(&self) -> bool {
        const TRIED: u64 = 20_000;
        let new = self.new_nodes.saturating_sub(self.terminal_visits);
        self.new_nodes >= TRIED && new < self.new_nodes / 20
    }

    /// Index of the most visited root move, the first of equals.
    pub fn most_visited(&self) -> Option<usize> {
        let (most, _) = self.two_most_visits();
        self.root_visits.iter().position(|&n| n == most && n > 0)
    }
}

/// What stoppers leave for those after them in the chain and for the search. Reset before each round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hints {
    /// New nodes per second that the manager reckons with, where it has an estimate.
    pub nps: Option<f64>,
    /// Time until the search will be stopped by the clock, ms; infinite where no clock is watched.
    pub remaining_ms: f64,
    /// Visits that can still be made before a limit ends the search; infinite where there is none.
    pub remaining_playouts: f64,
    /// Root moves that cannot become the most visited in what remains need no further visits: smart pruning is on.
    pub prunes_root_moves: bool,
}

impl Default for Hints {
    fn default() -> Self {
        Hints {
            nps: None,
            remaining_ms: f64::INFINITY,
            remaining_playouts: f64::INFINITY,
            prunes_root_moves: false,
        }
    }
}

impl Hints {
    /// Lowers the remaining time to `ms` if it is longer.
    pub fn limit_remaining_ms(&mut self, ms: f64) {
        self.remaining_ms = self.remaining_ms.min(ms.max(0.0));
    }

    /// Lowers the remaining playouts to `playouts` if they are more.
    pub fn limit_remaining_playouts(&mut self, playouts: f64) {
        self.remaining_playouts = self.remaining_playouts.min(playouts.max(0.0));
    }

    /// The lead in visits that no root move can make up any more; `None` while there is no such lead.
    pub fn decisive_lead(&self) -> Option<u32> {
        // Saturates; more visits than that are not made.
        let lead = self.remaining_playouts as u32;
        (self.prunes_root_moves && lead < u32::MAX).then_some(lead)
    }

    /// The largest batch, `1..=wanted`, that should be back before the search ends, if `nps` evaluations are
    /// made per second (the device's measured rate; the manager's estimate will do).
    ///
    /// Half of the remaining time is left as a margin, because the rate of a single batch scatters.
    pub fn batch_cap(&self, wanted: u32, nps: f64) -> u32 {
        let by_time = self.remaining_ms / 1000.0 * nps.max(0.0) / 2.0;
        let cap = if by_time.is_nan() { f64::INFINITY } else { by_time };
        cap.min(self.remaining_playouts).min(f64::from(wanted)).max(1.0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_visits_in_any_order() {
        let stats = |visits: &[u32]| SearchStats { root_visits: visits.into(), ..SearchStats::default() };
        assert_eq!(stats(&[]).two_most_visits(), (0, 0));
        assert_eq!(stats(&[]).most_visited(), None);
        assert_eq!(stats(&[0, 0]).most_visited(), None);
        assert_eq!(stats(&[3, 9, 5]).two_most_visits(), (9, 5));
        assert_eq!(stats(&[9, 3, 9]).two_most_visits(), (9, 9));
        assert_eq!(stats(&[3, 9, 5]).most_visited(), Some(1));
    }

    #[test]
    fn batches_shrink_when_the_deadline_is_near() {
        let mut hints = Hints::default();
        assert_eq!(hints.batch_cap(256, 1000.0), 256);
        assert_eq!(hints.batch_cap(256, 0.0), 256, "no clock, no cap");
        hints.limit_remaining_ms(100.0);
        // 1000 nodes/s for 0.1 s are 100 nodes; half of that is safe.
        assert_eq!(hints.batch_cap(256, 1000.0), 50);
        assert_eq!(hints.batch_cap(256, 0.0), 1);
        hints.limit_remaining_playouts(7.0);
        assert_eq!(hints.batch_cap(256, 1000.0), 7);
        hints.limit_remaining_ms(-1.0);
        assert_eq!(hints.batch_cap(256, 1000.0), 1);
    }
}
