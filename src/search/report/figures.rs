//! The figures of a search: for the stoppers and time managers while it runs, for benchmarks and logs when it is over.

use std::time::Duration;

use super::snapshot::{RootMove, RootSnapshot, moves_to_mate};
use crate::chess::Move;
use crate::search::state::CounterValues;
use crate::search::tree::{Proof, ProofOutcome};
use crate::time::{Nodes, RootEvaluation, SearchStats};

/// The value at or below which a move loses nearly for certain, as Lc0 has it.
const RESIGNABLE_Q: f32 = -0.98;

/// Returns the figures of `snapshot` that the stoppers are asked with.
pub(crate) fn stats(snapshot: &RootSnapshot) -> SearchStats {
    let RootSnapshot { elapsed, counts, root, children, .. } = snapshot;
    let allowed = || children.iter().filter(|root_move| root_move.is_allowed);
    let proofs = || allowed().filter_map(|root_move| root_move.node.proof);
    let outcomes = || proofs().map(|proof| proof.outcome);
    let is_win_by_mate = |proof: &Proof| proof.is_mate && proof.outcome == ProofOutcome::Win;
    // Moves that may not be searched can have visits from an earlier search, and moves that turned out to lose are not in
    // the race.
    let visits_in_the_race = |root_move: &RootMove| {
        if root_move.is_allowed && !root_move.node.is_lost() { root_move.node.visits } else { 0 }
    };
    SearchStats {
        elapsed: (*elapsed).into(),
        since_first_eval: snapshot.first_evaluation.map(|first| elapsed.saturating_sub(first).into()),
        nodes: snapshot.nodes.into(),
        new_nodes: Nodes(snapshot.new_nodes),
        terminal_visits: Nodes(counts.terminals),
        batches: counts.batches,
        depth: counts.mean_depth(),
        root_visits: children.iter().map(visits_in_the_race).collect(),
        best_by_q: (0..children.len())
            .filter(|&i| children[i].is_visited() && children[i].is_allowed)
            .max_by(|&a, &b| {
                let [x, y] = [a, b].map(|i| &children[i]);
                // Of equals the most visited one, and the first of those, as `most_visited` has it.
                x.q.total_cmp(&y.q).then(x.node.visits.cmp(&y.node.visits)).then(b.cmp(&a))
            }),
        root: snapshot.evaluation,
        proven_win: outcomes().any(|outcome| outcome == ProofOutcome::Win),
        // A result that only moves attain which may not be searched leaves the others open.
        root_is_certain: root.proof.is_some_and(|proof| {
            children.is_empty() || outcomes().any(|outcome| outcome == proof.outcome.flipped())
        }),
        losing_moves: outcomes().filter(|outcome| *outcome == ProofOutcome::Loss).count() as u32,
        is_resignable: allowed()
            .filter(|root_move| root_move.is_visited())
            .all(|root_move| root_move.q <= RESIGNABLE_Q),
        // The root keeps the first mate that was found; a shorter one can follow.
        mate_in: proofs().filter(is_win_by_mate).map(|proof| moves_to_mate(proof.plies + 1.0)).min(),
        // The root's proof is for the side that moved last.
        mated_in: root.proof.filter(is_win_by_mate).map(|proof| moves_to_mate(proof.plies)),
    }
}

/// Figures of a finished search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchSummary {
    /// Visits of the root, those of earlier searches included.
    pub nodes: u64,
    /// Visits made by this search.
    pub new_nodes: u64,
    /// Time from `go` to the answer.
    pub time: Duration,
    /// Time from `go` to the first evaluation; `None` if there was none.
    pub first_evaluation: Option<Duration>,
    /// What the search has counted.
    pub counts: CounterValues,
    /// Memory of the tree, bytes.
    pub tree_bytes: u64,
    /// Mean value, draws and plies left at the root, from the side to move's point of view; `None` if nothing was visited.
    pub root: Option<RootEvaluation>,
    /// The root's moves with their visits, in the order of their policy; moves that were never tried are missing.
    pub root_visits: Vec<(Move, u32)>,
}

/// Returns the figures of the search that `snapshot` is of; `tree_bytes` is the memory of its tree.
pub(crate) fn summary(snapshot: &RootSnapshot, tree_bytes: u64) -> SearchSummary {
    SearchSummary {
        nodes: snapshot.nodes.into(),
        new_nodes: snapshot.new_nodes,
        time: snapshot.elapsed,
        first_evaluation: snapshot.first_evaluation,
        counts: snapshot.counts,
        tree_bytes,
        root: snapshot.evaluation,
        root_visits: snapshot.children.iter().map(|child| (child.mv, child.node.visits)).collect(),
    }
}
