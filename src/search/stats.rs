//! Figures of a running search, read off the tree.

use std::sync::atomic::Ordering;

use super::select;
use super::shared::Search;
use super::tree::{Node, NodeId, Proof, ProofOutcome, Tree};
use crate::network::BackendInfo;
use crate::time::{RootEvaluation, SearchStats};

/// What the stoppers are asked with.
pub(crate) fn collect(search: &Search) -> SearchStats {
    let root = search.tree.node(search.root);
    let elapsed = search.started.elapsed();
    let new_nodes = search.new_nodes();
    let children: Vec<&Node> = search.tree.children(root).map(|(_, child)| child).collect();
    let is_allowed = |child: &Node| search.allows(child.edge().mv());
    let proofs = || children.iter().filter(|child| is_allowed(child)).filter_map(|child| child.proof());
    let outcomes = || proofs().map(|proof| proof.outcome);
    let is_win_by_mate = |proof: &Proof| proof.is_mate && proof.outcome == ProofOutcome::Win;
    let q = |child: &Node| select::child_q(child.mean(), search.draw_score(0));
    SearchStats {
        elapsed_ms: elapsed.as_secs_f64() * 1000.0,
        since_first_eval_ms: search
            .first_evaluation()
            .map(|first| elapsed.saturating_sub(first).as_secs_f64() * 1000.0),
        nodes: search.nodes().into(),
        new_nodes,
        playouts: new_nodes,
        terminal_visits: search.counters.terminals.load(Ordering::Relaxed),
        batches: search.counters.batches.load(Ordering::Relaxed),
        depth: depth(search),
        // Moves that may not be searched can have visits from an earlier search, and moves that turned out to lose are
        // not in the race.
        root_visits: children
            .iter()
            .map(|child| if is_allowed(child) && !child.is_lost() { child.visits() } else { 0 })
            .collect(),
        best_by_q: (0..children.len())
            .filter(|&i| children[i].visits() > 0 && is_allowed(children[i]))
            .max_by(|&a, &b| q(children[a]).total_cmp(&q(children[b]))),
        root: root_evaluation(&search.tree, search.root, &search.backend),
        proven_win: outcomes().any(|outcome| outcome == ProofOutcome::Win),
        root_is_certain: root.proof().is_some(),
        losing_moves: outcomes().filter(|outcome| *outcome == ProofOutcome::Loss).count() as u32,
        // The root keeps the first mate that was found; a shorter one can follow.
        mate_in: proofs().filter(is_win_by_mate).map(|proof| moves_to_mate(proof.plies + 1.0)).min(),
        // The root's proof is for the side that moved last.
        mated_in: root.proof().filter(is_win_by_mate).map(|proof| moves_to_mate(proof.plies)),
    }
}

/// Moves of the winning side, or of the losing one, until a mate that is `plies` away.
pub(crate) fn moves_to_mate(plies: f32) -> u32 {
    (plies as u32).div_ceil(2)
}

/// Average depth of this search's visits: positions on their way, the root included, as Lc0 counts.
pub(crate) fn depth(search: &Search) -> u32 {
    let visits = search.counters.visits().max(1);
    (search.counters.depth_sum.load(Ordering::Relaxed) / visits) as u32
}

/// Visits of the moves of `root`, in the order of the edges; the unvisited ones at the end are missing.
pub(crate) fn root_visits(tree: &Tree, root: NodeId) -> Vec<u32> {
    tree.children(tree.node(root)).map(|(_, child)| child.visits()).collect()
}

/// The mean at `root`, for the side to move; `None` without visits.
pub(crate) fn root_evaluation(tree: &Tree, root: NodeId, backend: &BackendInfo) -> Option<RootEvaluation> {
    let node = tree.node(root);
    if node.visits() == 0 {
        return None;
    }
    let mean = node.mean();
    let m = backend.has_moves_left.then_some(f64::from(mean.m));
    Some(RootEvaluation {
        q: -f64::from(mean.v),
        d: backend.has_wdl.then_some(mean.d.into()),
        m,
        m_spread: m.and_then(|m| moves_left_spread(tree, node, m)),
    })
}

/// A line of play is followed while it has more than this share of the root's visits …
const LINE_SHARE: f64 = 1.0 / 16.0;
/// … and for so many plies.
const LINE_PLIES: u32 = 6;

/// Standard deviation of the plies left over the lines of the searched tree, by visits. What is below a line's end counts
/// with its mean, so that asking costs the same for a tree of any size.
fn moves_left_spread(tree: &Tree, root: &Node, mean: f64) -> Option<f64> {
    let mut lines =
        MovesLeftSums { tree, mean, least: LINE_SHARE * f64::from(root.visits()), visits: 0.0, squares: 0.0 };
    lines.add_below(root, 1);
    (lines.visits > 0.0).then(|| (lines.squares / lines.visits).sqrt())
}

/// Sums over lines of play.
struct MovesLeftSums<'a> {
    tree: &'a Tree,
    /// Plies left at the root.
    mean: f64,
    /// Visits from which on a line is followed.
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
            if n > self.least && plies < LINE_PLIES && child.child_count() > 0 {
                self.add_below(child, plies + 1);
            } else {
                self.visits += n;
                self.squares += n * (f64::from(child.mean().m) + f64::from(plies) - self.mean).powi(2);
            }
        }
    }
}

/// New nodes per second since `go`, the wait for the first evaluation included; `None` before that is back.
pub(crate) fn nps(stats: &SearchStats) -> Option<f64> {
    stats.since_first_eval_ms?;
    (stats.elapsed_ms > 0.0).then(|| stats.new_nodes as f64 / (stats.elapsed_ms / 1000.0))
}
