//! Which move to play, and the line that follows it.

use std::cmp::Ordering;

use super::job::Job;
use super::select;
use super::tree::{Node, NodeId, Outcome, Proof, State, Tree};
use crate::chess::Move;

/// The longest principal variation that is told, plies.
const MAX_PV: usize = 64;

/// A root move with what the search found for it.
#[derive(Clone, Debug)]
pub(crate) struct RootMove {
    pub(crate) mv: Move,
    pub(crate) node: NodeId,
}

/// The visited root moves, best first: certain wins, then by visits, Q, policy, then certain losses.
pub(crate) fn ranked_root_moves(job: &Job) -> Vec<RootMove> {
    let root = job.tree.node(job.root);
    let mut moves: Vec<_> =
        visited(&job.tree, root).filter(|(_, child)| job.allows(child.edge().mv())).collect();
    let draw_score = job.draw_score(0);
    moves.sort_by(|(_, a), (_, b)| compare(b, a, draw_score));
    moves.into_iter().map(|(node, child)| RootMove { mv: child.edge().mv(), node }).collect()
}

/// The expected line that begins with `first`, that move included.
pub(crate) fn principal_variation(job: &Job, first: &RootMove) -> Vec<Move> {
    let mut line = vec![first.mv];
    let mut id = first.node;
    while line.len() < MAX_PV {
        let node = job.tree.node(id);
        let Some((next, child)) = best_child(&job.tree, node, job.draw_score(line.len())) else { break };
        line.push(child.edge().mv());
        id = next;
    }
    line
}

fn best_child<'a>(tree: &'a Tree, node: &'a Node, draw_score: f32) -> Option<(NodeId, &'a Node)> {
    if node.state() != State::Expanded {
        return None;
    }
    // `max_by` prefers the last of equals; children were made by falling policy.
    visited(tree, node).max_by(|(_, a), (_, b)| compare(a, b, draw_score).then(Ordering::Greater))
}

fn visited<'a>(tree: &'a Tree, node: &'a Node) -> impl Iterator<Item = (NodeId, &'a Node)> {
    tree.children(node).filter(|(_, child)| child.visits() > 0)
}

/// Is `a` the better move to play? A certain win is best, by mate before by the endgame tables, the shortest first; a
/// certain loss is worst, the longest last to go. The side that chooses gets `draw_score` for a draw.
fn compare(a: &Node, b: &Node, draw_score: f32) -> Ordering {
    let q = |node: &Node| select::child_q(node.mean(), draw_score);
    let rank = |node: &Node| match node.proof() {
        Some(Proof { outcome: Outcome::Win, plies, is_mate }) => (3 + i8::from(is_mate), -plies),
        Some(Proof { outcome: Outcome::Loss, plies, is_mate }) => (1 - i8::from(is_mate), plies),
        _ => (2, 0.0),
    };
    let ((a_class, a_plies), (b_class, b_plies)) = (rank(a), rank(b));
    (a_class.cmp(&b_class))
        .then(a_plies.total_cmp(&b_plies))
        .then(a.visits().cmp(&b.visits()))
        .then_with(|| q(a).total_cmp(&q(b)))
        .then(a.edge().policy().total_cmp(&b.edge().policy()))
}
