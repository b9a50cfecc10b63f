//! Which move to play, and the line that follows it.

use std::cmp::Ordering;

use super::job::Job;
use super::select;
use super::temperature::Candidate;
use super::tree::{Node, NodeId, Outcome, Proof, State, Tree};
use crate::chess::Move;

/// The longest principal variation that is told, plies.
const MAX_PV: usize = 64;

/// A root move with what the search found for it.
#[derive(Clone, Debug)]
pub(crate) struct RootMove {
    pub(crate) mv: Move,
    /// `None` without visits.
    pub(crate) node: Option<NodeId>,
    policy: f32,
}

/// The root moves, best first: certain wins, then by visits, Q, policy, then those without visits by policy, then
/// certain losses. None before the root is evaluated.
pub(crate) fn ranked_root_moves(job: &Job) -> Vec<RootMove> {
    let root = job.tree.node(job.root);
    let draw_score = job.draw_score(0);
    let root_move = |node: Option<NodeId>, child: &Node| {
        let mv = child.edge().mv();
        RootMove { mv, node, policy: job.root_policy(mv, child.edge().policy()) }
    };
    let allowed = || job.tree.children(root).filter(|(_, child)| job.allows(child.edge().mv()));
    let mut visited: Vec<_> = allowed().filter(|(_, child)| child.visits() > 0).collect();
    visited.sort_by(|(_, a), (_, b)| compare(b, a, draw_score));
    let losses = visited.split_off(visited.partition_point(|(_, child)| !child.is_lost()));
    let children =
        allowed().filter(|(_, child)| child.visits() == 0).map(|(_, child)| root_move(None, child));
    let mut others: Vec<_> = children.chain(moves_without_child(job, root)).collect();
    others.sort_by(|a, b| b.policy.total_cmp(&a.policy));
    let of_visited = |(id, child)| root_move(Some(id), child);
    visited.into_iter().map(of_visited).chain(others).chain(losses.into_iter().map(of_visited)).collect()
}

fn moves_without_child(job: &Job, root: &Node) -> impl Iterator<Item = RootMove> {
    let allowed = job.tree.unvisited(root).filter(|edge| job.allows_index(edge.index));
    allowed.map(|edge| RootMove {
        mv: job.moves()[usize::from(edge.index)],
        node: None,
        policy: job.unvisited_root_policy(edge),
    })
}

/// The one of `ranked` to play: the first, or one that is drawn by the temperature.
pub(crate) fn choose<'a>(job: &Job, ranked: &'a [RootMove]) -> Option<&'a RootMove> {
    let params = &job.params.temperature;
    let temperature = params.at(job.history.game_ply());
    if temperature <= 0.0 {
        return ranked.first();
    }
    let candidates = candidates(job, ranked);
    params
        .draw(temperature, &candidates, &mut job.rng.clone())
        .map_or(ranked.first(), |drawn| ranked.get(drawn))
}

/// What `ranked` are to the draw of a move.
fn candidates(job: &Job, ranked: &[RootMove]) -> Vec<Candidate> {
    let draw_score = job.draw_score(0);
    let visited_policy = ranked.iter().filter(|root_move| root_move.node.is_some()).map(|m| m.policy).sum();
    let parent_q = select::parent_q(job.tree.node(job.root).mean(), draw_score);
    let fpu = select::fpu(job.params.root_fpu, parent_q, visited_policy);
    ranked
        .iter()
        .map(|root_move| {
            let node = root_move.node.map(|id| job.tree.node(id));
            Candidate {
                visits: node.map_or(0, Node::visits),
                q: node.map_or(fpu, |node| select::child_q(node.mean(), draw_score)),
                policy: root_move.policy,
            }
        })
        .collect()
}

/// The expected line that begins with `first`, that move included.
pub(crate) fn principal_variation(job: &Job, first: &RootMove) -> Vec<Move> {
    let mut line = vec![first.mv];
    let Some(mut id) = first.node else { return line };
    // Nobody waits for a tree that is being pruned, the clock least of all.
    let Some(_inside) = job.tree.try_enter() else { return line };
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
