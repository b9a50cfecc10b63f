//! Stops once the best move cannot be overtaken. The last rule, as it reads the others' hints.

use super::stats::{Hints, SearchStats};
use super::stoppers::{StopReason, Stopper};
use super::units::{Millis, Nps};

/// Least time after the first evaluation, as in Lc0.
const TOLERANCE: Millis = Millis(200.0);
/// Added when the search's own rate is measured, as in Lc0.
const TOLERANCE_NODES: f64 = 300.0;

/// Longest wait for an only move's evaluation, which changes only the score shown.
const ONLY_MOVE_PATIENCE: Millis = Millis(200.0);

#[derive(Clone, Debug)]
pub(crate) struct SmartPruning {
    pub(crate) factor: f64,
    pub(crate) minimum_batches: u64,
    /// At the root, even under `searchmoves`, or 0 if unknown.
    pub(crate) legal_moves: u32,
    pub(crate) reply_patience: Millis,
    /// Otherwise only a certain result ends the search.
    pub(crate) ends_with_move: bool,
}

impl SmartPruning {
    fn is_only_move_ready(&self, stats: &SearchStats, hints: &Hints) -> bool {
        let has_clock = hints.remaining_time < Millis::INFINITY;
        if stats.root.is_none() {
            return has_clock && stats.elapsed >= ONLY_MOVE_PATIENCE;
        }
        // The first visit evaluates the move, the second a reply.
        let has_reply = stats.most_visits().best > 1 || stats.root_is_certain;
        let is_late = |since| since >= self.reply_patience;
        has_reply || self.reply_patience == Millis::ZERO || stats.since_first_eval.is_some_and(is_late)
    }

    fn remaining(&self, stats: &SearchStats, since_first_eval: Millis, hints: &Hints) -> f64 {
        let own_nps = (stats.new_nodes.as_f64() + TOLERANCE_NODES) / since_first_eval.0.max(1.0) * 1000.0;
        let nps = hints.nps.unwrap_or(Nps(own_nps));
        // 0 nodes/s for an infinite time: no limit, not NaN.
        let time = hints.remaining_time;
        let by_time = if time == Millis::INFINITY {
            f64::INFINITY
        } else {
            time.as_secs() * nps.0
        };
        by_time.min(hints.remaining_visits.0) / self.factor
    }
}

impl Stopper for SmartPruning {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        if self.ends_with_move && self.legal_moves == 1 {
            return self
                .is_only_move_ready(stats, hints)
                .then_some(StopReason::OnlyMove);
        }
        if stats.proven_win {
            return Some(StopReason::ProvenWin);
        }
        // Where every move seems to lose, the last one is searched too, to prove the mate.
        let left_open = if stats.is_resignable { 0 } else { 1 };
        if self.ends_with_move && self.legal_moves > 1 && stats.losing_moves + left_open >= self.legal_moves {
            return Some(StopReason::OthersLose);
        }
        if stats.root_is_certain && stats.root.is_some() {
            return Some(StopReason::ProvenResult);
        }
        // Until then all moves are searched, so that the lead may shrink.
        if !self.ends_with_move || stats.elapsed < hints.least_time {
            return None;
        }
        hints.prunes_root_moves = true;
        let since_first_eval = stats.since_first_eval?;
        if since_first_eval < TOLERANCE || stats.new_nodes.0 == 0 {
            return None;
        }
        let remaining = self.remaining(stats, since_first_eval, hints);
        hints.limit_remaining_visits(remaining);
        let most = stats.most_visits();
        let decided = remaining < f64::from(most.best) - f64::from(most.second);
        (decided && stats.batches >= self.minimum_batches).then_some(StopReason::SmartPruning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::facts::RootEvaluation;
    use crate::time::units::{ExpectedNodes, Nodes};

    fn pruning(factor: f64, minimum_batches: u64, legal_moves: u32, reply_patience: Millis) -> SmartPruning {
        SmartPruning {
            factor,
            minimum_batches,
            legal_moves,
            reply_patience,
            ends_with_move: true,
        }
    }

    /// 1 s after the first evaluation, 1,000 new nodes, visits 900 and 400.
    fn stats() -> SearchStats {
        SearchStats {
            elapsed: Millis(1100.0),
            since_first_eval: Some(Millis(1000.0)),
            new_nodes: Nodes(1000),
            batches: 10,
            race_visits: vec![400, 900],
            ..SearchStats::default()
        }
    }

    fn hints(nps: Option<f64>, remaining_time: f64) -> Hints {
        Hints {
            nps: nps.map(Nps),
            remaining_time: Millis(remaining_time),
            ..Hints::default()
        }
    }

    #[test]
    fn stops_when_the_lead_is_out_of_reach() {
        let mut pruning = pruning(1.33, 0, 20, Millis::ZERO);
        for (nps, remaining_ms, expected) in [
            // 1000 nodes/s · 0.66 s / 1.33 = 496.2 < 900 - 400. 0.67 s give 503.8.
            (Some(1000.0), 660.0, Some(StopReason::SmartPruning)),
            (Some(1000.0), 670.0, None),
            // Its own rate: (1000 + 300) nodes/s · 0.51 s / 1.33 = 498.5. 0.52 s give 508.3.
            (None, 510.0, Some(StopReason::SmartPruning)),
            (None, 520.0, None),
        ] {
            assert_eq!(
                pruning.should_stop(&stats(), &mut hints(nps, remaining_ms)),
                expected
            );
        }
    }

    #[test]
    fn a_lead_that_can_be_made_up_exactly_is_within_reach() {
        let mut pruning = pruning(2.0, 0, 20, Millis::ZERO);
        // 1000 nodes/s · 1 s / 2 = 500 = 900 - 400.
        let reason = pruning.should_stop(&stats(), &mut hints(Some(1000.0), 1000.0));
        assert_eq!(reason, None);
        let reason = pruning.should_stop(&stats(), &mut hints(Some(1000.0), 998.0));
        assert_eq!(reason, Some(StopReason::SmartPruning));
    }

    #[test]
    fn playouts_count_too_and_the_hint_is_tightened() {
        let mut pruning = pruning(2.0, 0, 20, Millis::ZERO);
        let mut hints = Hints {
            remaining_visits: ExpectedNodes(1002.0),
            ..Hints::default()
        };
        assert_eq!(pruning.should_stop(&stats(), &mut hints), None);
        assert_eq!(
            (hints.remaining_visits, hints.decisive_lead()),
            (ExpectedNodes(501.0), Some(501))
        );
        let unlimited = Hints {
            prunes_root_moves: true,
            ..Hints::default()
        };
        assert_eq!(unlimited.decisive_lead(), None);
        assert_eq!(
            Hints {
                prunes_root_moves: false,
                ..hints
            }
            .decisive_lead(),
            None,
            "smart pruning is off"
        );
    }

    #[test]
    fn not_too_soon_and_not_before_the_minimum_of_batches() {
        let ask = |pruning: &mut SmartPruning, since: Option<f64>, batches| {
            let stats = SearchStats {
                since_first_eval: since.map(Millis),
                batches,
                ..stats()
            };
            pruning.should_stop(&stats, &mut hints(Some(1000.0), 100.0))
        };
        let mut pruning = pruning(1.33, 10, 20, Millis::ZERO);
        assert_eq!(ask(&mut pruning, None, 10), None);
        assert_eq!(ask(&mut pruning, Some(199.0), 10), None);
        assert_eq!(ask(&mut pruning, Some(200.0), 9), None);
        assert_eq!(ask(&mut pruning, Some(200.0), 10), Some(StopReason::SmartPruning));
    }

    #[test]
    fn a_lead_waits_for_the_least_time_and_what_is_proven_does_not() {
        let ask = |legal_moves, stats: &SearchStats| {
            let mut hints = Hints {
                least_time: Millis(1_200.0),
                ..hints(Some(1000.0), 100.0)
            };
            let reason = pruning(1.33, 0, legal_moves, Millis::ZERO).should_stop(stats, &mut hints);
            (reason, hints.prunes_root_moves)
        };
        assert_eq!(
            ask(20, &stats()),
            (None, false),
            "all moves are searched until then"
        );
        let late = SearchStats {
            elapsed: Millis(1_200.0),
            ..stats()
        };
        assert_eq!(ask(20, &late), (Some(StopReason::SmartPruning), true));
        let won = SearchStats {
            proven_win: true,
            ..stats()
        };
        assert_eq!(ask(20, &won).0, Some(StopReason::ProvenWin));
        let evaluated = SearchStats {
            root: Some(RootEvaluation::default()),
            ..stats()
        };
        assert_eq!(ask(1, &evaluated).0, Some(StopReason::OnlyMove));
    }

    /// A regression: an only move was played without a score or a reply.
    #[test]
    fn an_only_move_gets_a_score_and_a_reply_to_ponder_on() {
        let root = Some(RootEvaluation::default());
        let at = |elapsed, since: Option<f64>, visits: &[u32], root| SearchStats {
            elapsed: Millis(elapsed),
            since_first_eval: since.map(Millis),
            race_visits: visits.into(),
            root,
            ..SearchStats::default()
        };
        let ask = |pruning: SmartPruning, stats: &SearchStats, clock| {
            pruning.clone().should_stop(stats, &mut hints(None, clock))
        };
        let (no_clock, only_move) = (f64::INFINITY, Some(StopReason::OnlyMove));
        let plain = || pruning(1.33, 0, 1, Millis::ZERO);
        assert_eq!(
            ask(plain(), &at(10.0, None, &[], None), 1e4),
            None,
            "no score yet"
        );
        assert_eq!(
            ask(plain(), &at(200.0, None, &[], None), 1e4),
            only_move,
            "the clock runs"
        );
        assert_eq!(ask(plain(), &at(900.0, None, &[], None), no_clock), None);
        assert_eq!(ask(plain(), &at(10.0, Some(0.0), &[], root), 1e4), only_move);
        assert_eq!(
            ask(plain(), &at(10.0, None, &[], root), 1e4),
            only_move,
            "a reused tree"
        );
        let pondering = || pruning(1.33, 0, 1, Millis(50.0));
        assert_eq!(
            ask(pondering(), &at(10.0, Some(0.0), &[1], root), 1e4),
            None,
            "no reply yet"
        );
        assert_eq!(ask(pondering(), &at(10.0, Some(0.0), &[2], root), 1e4), only_move);
        assert_eq!(
            ask(pondering(), &at(60.0, Some(50.0), &[1], root), 1e4),
            only_move,
            "long enough"
        );
        let mated = SearchStats {
            root_is_certain: true,
            ..at(10.0, Some(0.0), &[0], root)
        };
        assert_eq!(ask(pondering(), &mated, 1e4), only_move, "there is no reply");
    }

    /// A regression: the last unproven move was played at once.
    #[test]
    fn a_lost_position_is_searched_until_the_mate_is_proven() {
        let ask = |losing_moves, is_resignable| {
            let stats = SearchStats {
                losing_moves,
                is_resignable,
                ..SearchStats::default()
            };
            pruning(1.33, 0, 5, Millis::ZERO).should_stop(&stats, &mut Hints::default())
        };
        assert_eq!(ask(4, true), None);
        assert_eq!(ask(5, true), Some(StopReason::OthersLose));
        assert_eq!(ask(4, false), Some(StopReason::OthersLose));
    }

    #[test]
    fn proven_results_stop_at_once() {
        let ask = |legal, stats: SearchStats| {
            pruning(1.33, 0, legal, Millis::ZERO).should_stop(&stats, &mut Hints::default())
        };
        let won = SearchStats {
            proven_win: true,
            ..SearchStats::default()
        };
        assert_eq!(ask(5, won), Some(StopReason::ProvenWin));
        let losing = |losing_moves| SearchStats {
            losing_moves,
            ..SearchStats::default()
        };
        assert_eq!(ask(5, losing(3)), None);
        assert_eq!(ask(5, losing(4)), Some(StopReason::OthersLose));
        assert_eq!(ask(0, losing(0)), None, "an unknown number of moves");
        // A regression: a proven draw was searched to the end of its budget.
        let drawn = |root| SearchStats {
            root_is_certain: true,
            root,
            ..stats()
        };
        let root = Some(RootEvaluation::default());
        assert_eq!(ask(5, drawn(root)), Some(StopReason::ProvenResult));
        assert_eq!(ask(5, drawn(None)), None, "no score yet");
    }
}
