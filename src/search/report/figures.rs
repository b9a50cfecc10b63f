//! Figures of a running search, for the stoppers and the time managers.

use crate::network::BackendInfo;
use crate::search::report::snapshot::{RootMove, RootSnapshot};
use crate::search::tree::{Node, NodeId, Proof, ProofOutcome, Tree};
use crate::time::{Millis, Nodes, Nps, Plies, RootEvaluation, SearchStats};

/// The value at or below which a move loses nearly for certain, as Lc0 has it.
const RESIGNABLE_Q: f32 = -0.98;

/// Returns the figures of `snapshot` that the stoppers are asked with.
pub(crate) fn of(snapshot: &RootSnapshot) -> SearchStats {
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

/// Returns the moves of the winning side, or of the losing one, until a mate that is `plies` away.
pub(crate) fn moves_to_mate(plies: f32) -> u32 {
    (plies as u32).div_ceil(2)
}

/// Returns the visits of the root's moves, in the order in which their children were made; moves without a child are
/// missing.
pub(crate) fn root_visits(tree: &Tree, root: NodeId) -> Vec<u32> {
    tree.children(tree.node(root)).map(|(_, child)| child.visits()).collect()
}

/// Returns the mean at `root`, for the side to move; `None` without visits.
pub(crate) fn root_evaluation(tree: &Tree, root: NodeId, backend: &BackendInfo) -> Option<RootEvaluation> {
    let node = tree.node(root);
    if node.visits() == 0 {
        return None;
    }
    let mean = node.mean();
    let m = backend.has_moves_left.then_some(Plies(mean.m.into()));
    Some(RootEvaluation {
        q: -f64::from(mean.v),
        d: backend.has_wdl.then_some(mean.d.into()),
        m,
        m_spread: m.and_then(|m| moves_left_spread(tree, node, m)),
    })
}

/// The share of the root's visits down to which a line of play is followed …
const LINE_SHARE: f64 = 1.0 / 16.0;
/// … and the number of plies for which it is.
const LINE_PLIES: u32 = 6;

/// Returns the standard deviation of the plies left over the lines of the searched tree, by visits. What is below a line's end counts
/// with its mean, so that asking costs the same for a tree of any size. While the tree is being pruned, for which nobody waits
/// here, only the root's moves count: they stay.
fn moves_left_spread(tree: &Tree, root: &Node, mean: Plies) -> Option<Plies> {
    let inside = tree.try_enter();
    let mut lines = MovesLeftSums {
        tree,
        plies: if inside.is_some() { LINE_PLIES } else { 1 },
        mean: mean.0,
        least: LINE_SHARE * f64::from(root.visits()),
        visits: 0.0,
        squares: 0.0,
    };
    lines.add_below(root, 1);
    (lines.visits > 0.0).then(|| Plies((lines.squares / lines.visits).sqrt()))
}

/// Sums of the plies left over lines of play.
struct MovesLeftSums<'a> {
    tree: &'a Tree,
    /// The number of plies for which lines are followed.
    plies: u32,
    /// Plies left at the root.
    mean: f64,
    /// The fewest visits with which a line is followed.
    least: f64,
    visits: f64,
    /// Squared distances of the plies left from `mean`, by visits.
    squares: f64,
}

impl MovesLeftSums<'_> {
    /// Adds the lines through `node`, whose children are `plies` below the root.
    fn add_below(&mut self, node: &Node, plies: u32) {
        for (_, child) in self.tree.children(node) {
            let n = f64::from(child.visits());
            if n > self.least && plies < self.plies && child.child_count() > 0 {
                self.add_below(child, plies + 1);
            } else {
                self.visits += n;
                self.squares += n * (f64::from(child.mean().m) + f64::from(plies) - self.mean).powi(2);
            }
        }
    }
}

/// Returns the new nodes per second since `go`, the wait for the first evaluation included; `None` before that is back.
pub(crate) fn nps(stats: &SearchStats) -> Option<Nps> {
    stats.since_first_eval?;
    (stats.elapsed > Millis::ZERO).then(|| Nps(stats.new_nodes.as_f64() / stats.elapsed.as_secs()))
}
