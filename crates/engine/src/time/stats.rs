//! What stoppers get from the search, and their hints.

use super::facts::{MostVisits, RootEvaluation};
use super::units::{ExpectedNodes, Millis, Nodes, Nps};

/// Counters start at `go`, or at `ponderhit`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchStats {
    /// Since the `go` line was read.
    pub elapsed: Millis,
    /// Since this search's first evaluation, from the network or the cache.
    pub since_first_eval: Option<Millis>,
    /// Visits under the root, reused ones included.
    pub nodes: Nodes,
    /// Visits made by this search.
    pub new_nodes: Nodes,
    /// New visits that ended at terminals, proven nodes and in endgame tables.
    pub terminal_visits: Nodes,
    /// Batches that were evaluated.
    pub batches: u64,
    /// Average, plies.
    pub depth: u32,
    /// Of root moves in a fixed order. 0 for forbidden ones and certain losses.
    pub race_visits: Vec<u32>,
    /// Index into `race_visits`.
    pub best_by_q: Option<usize>,
    /// The root's value, `None` before it is evaluated.
    pub root: Option<RootEvaluation>,
    /// True if a move is known to win.
    pub proven_win: bool,
    /// More visits tell nothing new.
    pub root_is_certain: bool,
    /// Moves that are known to lose.
    pub losing_moves: u32,
    /// All root moves lose almost certainly: a better one is worth more than time.
    pub is_resignable: bool,
    /// Moves to the shortest mate that was found.
    pub mate_in: Option<u32>,
    /// Moves to the mate that cannot be avoided.
    pub mated_in: Option<u32>,
}

impl SearchStats {
    pub(crate) fn has_mate_in(&self, moves: u32) -> bool {
        self.mate_in.is_some_and(|found| found <= moves)
    }

    pub(crate) fn most_visits(&self) -> MostVisits {
        MostVisits::of(&self.race_visits)
    }

    /// Visits by which the most visited root move leads the next one.
    pub fn lead(&self) -> u32 {
        let most = self.most_visits();
        most.best - most.second
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        const LEAST_NODES: Nodes = Nodes(20_000);
        let not_terminal = self.new_nodes.saturating_sub(self.terminal_visits);
        self.new_nodes >= LEAST_NODES && not_terminal.0 < self.new_nodes.0 / 20
    }

    /// Index of the most visited root move, the first of equals.
    pub fn most_visited(&self) -> Option<usize> {
        let most = self.most_visits().best;
        self.race_visits.iter().position(|&n| n == most && n > 0)
    }
}

/// Each stopper tightens them for later ones and the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hints {
    /// Expected nodes per second.
    pub nps: Option<Nps>,
    /// Until the clock ends the search, infinite without one.
    pub remaining_time: Millis,
    /// Until a limit ends the search, infinite without one.
    pub remaining_visits: ExpectedNodes,
    /// Since `go`. Before it no lead ends the search.
    pub least_time: Millis,
    /// Root moves that cannot become the most visited need no visits.
    pub prunes_root_moves: bool,
}

impl Default for Hints {
    fn default() -> Self {
        Hints {
            nps: None,
            remaining_time: Millis::INFINITY,
            remaining_visits: ExpectedNodes(f64::INFINITY),
            least_time: Millis::ZERO,
            prunes_root_moves: false,
        }
    }
}

impl Hints {
    pub(crate) fn limit_remaining_time(&mut self, time: Millis) {
        self.remaining_time = self.remaining_time.min(time.max(Millis::ZERO));
    }

    pub(crate) fn limit_remaining_visits(&mut self, visits: f64) {
        self.remaining_visits = ExpectedNodes(self.remaining_visits.0.min(visits.max(0.0)));
    }

    pub(crate) fn decisive_lead(&self) -> Option<u32> {
        let lead = self.remaining_visits.0 as u32;
        (self.prunes_root_moves && lead < u32::MAX).then_some(lead)
    }

    /// The largest batch that should be back before the search ends. Half of the remaining time is a margin,
    /// as single batches scatter.
    pub fn batch_cap(&self, wanted: u32, nps: Nps) -> u32 {
        let by_time = self.remaining_time.as_secs() * nps.0.max(0.0) / 2.0;
        let cap = if by_time.is_nan() { f64::INFINITY } else { by_time };
        cap.min(self.remaining_visits.0).min(f64::from(wanted)).max(1.0) as u32
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::time) fn at(elapsed_ms: f64, nodes: u64, q: f64, best: usize) -> SearchStats {
        let mut race_visits = vec![0, 0];
        race_visits[best] = nodes as u32;
        SearchStats {
            elapsed: Millis(elapsed_ms),
            since_first_eval: Some(Millis(elapsed_ms)),
            nodes: Nodes(nodes),
            new_nodes: Nodes(nodes),
            race_visits,
            root: Some(RootEvaluation {
                wl: q,
                ..RootEvaluation::default()
            }),
            ..SearchStats::default()
        }
    }

    #[test]
    fn most_visits_in_any_order() {
        let stats = |visits: &[u32]| SearchStats {
            race_visits: visits.into(),
            ..SearchStats::default()
        };
        assert_eq!(stats(&[]).most_visits(), MostVisits { best: 0, second: 0 });
        assert_eq!(stats(&[]).most_visited(), None);
        assert_eq!(stats(&[0, 0]).most_visited(), None);
        assert_eq!(stats(&[3, 9, 5]).most_visits(), MostVisits { best: 9, second: 5 });
        assert_eq!(stats(&[9, 3, 9]).most_visits(), MostVisits { best: 9, second: 9 });
        assert_eq!(stats(&[3, 9, 5]).most_visited(), Some(1));
    }

    #[test]
    fn batches_shrink_when_the_deadline_is_near() {
        let mut hints = Hints::default();
        assert_eq!(hints.batch_cap(256, Nps(1000.0)), 256);
        assert_eq!(hints.batch_cap(256, Nps(0.0)), 256, "no clock, no cap");
        hints.limit_remaining_time(Millis(100.0));
        // 1000 nodes/s for 0.1 s are 100 nodes. Half of that is safe.
        assert_eq!(hints.batch_cap(256, Nps(1000.0)), 50);
        assert_eq!(hints.batch_cap(256, Nps(0.0)), 1);
        hints.limit_remaining_visits(7.0);
        assert_eq!(hints.batch_cap(256, Nps(1000.0)), 7);
        hints.limit_remaining_time(Millis(-1.0));
        assert_eq!(hints.batch_cap(256, Nps(1000.0)), 1);
    }
}
