//! Iterations for managers that were made for iterative deepening.
//!
//! One ends each time the number of nodes reaches the next power of two, so that its number, log2(nodes),
//! grows like a depth.

use std::fmt::Debug;

use crate::time::facts::MoveFacts;
use crate::time::report::MoveReport;
use crate::time::stats::{Hints, SearchStats};
use crate::time::stoppers::{FirstEvaluationWait, StopReason, Stopper};
use crate::time::units::Millis;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Iteration {
    /// log2 of the nodes.
    pub number: u32,
    pub best_move: usize,
    /// From the side to move, `-1..=1`.
    pub q: f64,
}

/// The latest iteration that ended since `last`, beyond a reused tree's size.
fn iteration_after(last: Option<Iteration>, stats: &SearchStats) -> Option<Iteration> {
    stats.since_first_eval?;
    let number = stats.nodes.0.checked_ilog2()?;
    let before = stats.nodes.saturating_sub(stats.new_nodes).0.checked_ilog2();
    if last
        .map(|last| last.number)
        .or(before)
        .is_some_and(|last| number <= last)
    {
        return None;
    }
    Some(Iteration {
        number,
        best_move: stats.most_visited()?,
        q: stats.root?.wl,
    })
}

/// What such a manager makes of a move.
pub(crate) trait IterationRule: Debug + Send {
    const MANAGER: &'static str;

    /// Called whenever the search asks, before an iteration may end.
    fn observe(&mut self, _stats: &SearchStats, _last: Option<Iteration>) {}
    fn finish_iteration(&mut self, before: Option<Iteration>, ended: Iteration);
    /// Whether the search is over with this iteration.
    fn is_enough(&self, stats: &SearchStats, ended: Iteration) -> bool;
    fn optimum_ms(&self) -> f64;
    /// When the search ends in any case.
    fn limit_ms(&self) -> f64;
}

#[derive(Debug)]
pub(crate) struct IterationStopper<Rule> {
    pub(super) rule: Rule,
    wait: FirstEvaluationWait,
    last: Option<Iteration>,
}

impl<Rule: IterationRule> IterationStopper<Rule> {
    pub(crate) fn new(facts: &MoveFacts, rule: Rule) -> Self {
        IterationStopper {
            rule,
            wait: FirstEvaluationWait::new(facts),
            last: None,
        }
    }
}

impl<Rule: IterationRule> Stopper for IterationStopper<Rule> {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        self.wait.observe(stats);
        self.rule.observe(stats, self.last);
        let ended = iteration_after(self.last, stats);
        if let Some(ended) = ended {
            self.rule.finish_iteration(self.last.replace(ended), ended);
        }
        let deadline = self.deadline()?;
        hints.limit_remaining_time(deadline - stats.elapsed);
        if stats.elapsed >= deadline {
            return Some(StopReason::Budget);
        }
        self.rule.is_enough(stats, ended?).then_some(StopReason::Settled)
    }

    fn deadline(&self) -> Option<Millis> {
        Some(self.wait.extend(Millis(self.rule.limit_ms())))
    }

    fn report(&self) -> Option<MoveReport> {
        Some(MoveReport {
            manager: Rule::MANAGER,
            budget: Millis(self.rule.limit_ms()),
            average: Some(Millis(self.rule.optimum_ms())),
            ..MoveReport::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::facts::RootEvaluation;
    use crate::time::units::Nodes;

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
        let mut last = None;
        let mut number = |nodes| {
            let ended = iteration_after(last, &at(nodes, nodes));
            last = ended.or(last);
            ended.map(|iteration| iteration.number)
        };
        assert_eq!(number(0), None);
        assert_eq!(number(5), Some(2));
        assert_eq!(number(7), None);
        assert_eq!(number(8), Some(3));
        assert_eq!(number(100), Some(6), "several at once");
    }

    #[test]
    fn a_reused_tree_is_no_iteration() {
        assert_eq!(iteration_after(None, &at(1_010, 10)), None);
        assert_eq!(
            iteration_after(None, &at(1_024, 24)).map(|iteration| iteration.number),
            Some(10)
        );
    }
}
