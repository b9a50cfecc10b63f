//! Which move to play, and the line that follows it.

use std::cmp::Ordering;

use super::select;
use super::shared::Search;
use super::temperature::DrawCandidate;
use super::tree::{Node, NodeId, NodeState, Proof, ProofOutcome, Tree};
use crate::chess::Move;

/// The longest principal variation that is told, plies.
const MAX_PV: usize = 64;

/// A root move with what the search found for it.
#[derive(Clone, Debug)]
pub(crate) struct RankedMove {
    pub(crate) mv: Move,
    /// `None` without visits.
    pub(crate) node: Option<NodeId>,
    policy: f32,
}

/// The root moves, best first: certain wins, then by visits, Q, policy, then those without visits by policy, then
/// certain losses. None before the root is evaluated.
pub(crate) fn ranked_root_moves(search: &Search) -> Vec<RankedMove> {
    let root = search.tree.node(search.root);
    let draw_score = search.draw_score(0);
    let root_move = |node: Option<NodeId>, child: &Node| {
        let mv = child.edge().mv();
        RankedMove { mv, node, policy: search.root_policy(mv, child.edge().policy()) }
    };
    // The figures change while workers are at it: each is looked at once.
    let allowed = search.tree.children(root).filter(|(_, child)| search.allows(child.edge().mv()));
    let ranks = allowed.map(|(id, child)| (MoveRank::of(child, draw_score), id, child));
    let (mut visited, unvisited): (Vec<_>, Vec<_>) = ranks.partition(|(rank, ..)| rank.visits > 0);
    visited.sort_by(|(a, ..), (b, ..)| b.compare(a));
    let losses = visited.split_off(visited.partition_point(|(rank, ..)| !rank.is_lost()));
    let children = unvisited.into_iter().map(|(_, _, child)| root_move(None, child));
    let mut others: Vec<_> = children.chain(moves_without_child(search, root)).collect();
    others.sort_by(|a, b| b.policy.total_cmp(&a.policy));
    let of_visited = |(_, id, child)| root_move(Some(id), child);
    visited.into_iter().map(of_visited).chain(others).chain(losses.into_iter().map(of_visited)).collect()
}

fn moves_without_child(search: &Search, root: &Node) -> impl Iterator<Item = RankedMove> {
    let allowed = search.tree.unvisited(root).filter(|edge| search.allows_index(edge.index));
    allowed.map(|edge| RankedMove {
        mv: search.moves()[usize::from(edge.index)],
        node: None,
        policy: search.unvisited_root_policy(edge),
    })
}

/// The one of `ranked` to play: the first, or one that is drawn by the temperature.
pub(crate) fn choose<'a>(search: &Search, ranked: &'a [RankedMove]) -> Option<&'a RankedMove> {
    let params = &search.params.temperature;
    let temperature = params.at(search.history.game_ply());
    if temperature <= 0.0 {
        return ranked.first();
    }
    let candidates = candidates(search, ranked);
    params
        .draw(temperature, &candidates, &mut search.rng.clone())
        .map_or(ranked.first(), |drawn| ranked.get(drawn))
}

/// What `ranked` are to the draw of a move.
fn candidates(search: &Search, ranked: &[RankedMove]) -> Vec<DrawCandidate> {
    let draw_score = search.draw_score(0);
    let visited_policy = ranked.iter().filter(|root_move| root_move.node.is_some()).map(|m| m.policy).sum();
    let parent_q = select::parent_q(search.tree.node(search.root).mean(), draw_score);
    let fpu = select::fpu(search.params.root_fpu, parent_q, visited_policy);
    ranked
        .iter()
        .map(|root_move| {
            let node = root_move.node.map(|id| search.tree.node(id));
            DrawCandidate {
                visits: node.map_or(0, Node::visits),
                q: node.map_or(fpu, |node| select::child_q(node.mean(), draw_score)),
                policy: root_move.policy,
            }
        })
        .collect()
}

/// The expected line that begins with `first`, that move included.
pub(crate) fn principal_variation(search: &Search, first: &RankedMove) -> Vec<Move> {
    let mut line = vec![first.mv];
    let Some(mut id) = first.node else { return line };
    // Nobody waits for a tree that is being pruned, the clock least of all.
    let Some(_inside) = search.tree.try_enter() else { return line };
    while line.len() < MAX_PV {
        let node = search.tree.node(id);
        let Some((next, child)) = best_child(&search.tree, node, search.draw_score(line.len())) else {
            break;
        };
        line.push(child.edge().mv());
        id = next;
    }
    line
}

fn best_child<'a>(tree: &'a Tree, node: &'a Node, draw_score: f32) -> Option<(NodeId, &'a Node)> {
    if node.state() != NodeState::Expanded {
        return None;
    }
    let ranks = visited(tree, node).map(|(id, child)| (MoveRank::of(child, draw_score), id, child));
    // `max_by` prefers the last of equals; children were made by falling policy.
    let best = ranks.max_by(|(a, ..), (b, ..)| a.compare(b).then(Ordering::Greater));
    best.map(|(_, id, child)| (id, child))
}

fn visited<'a>(tree: &'a Tree, node: &'a Node) -> impl Iterator<Item = (NodeId, &'a Node)> {
    tree.children(node).filter(|(_, child)| child.visits() > 0)
}

/// What a move is judged by, at one moment.
#[derive(Clone, Copy, Debug)]
struct MoveRank {
    class: ProofClass,
    /// To the certain end of the game, the longer the better; 0 without one.
    delay: f32,
    visits: u32,
    q: f32,
    policy: f32,
}

/// From worst to best: a certain loss is worst, the longest last to go, by mate before by the endgame tables; a certain win is
/// best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ProofClass {
    Mated,
    LostByTables,
    Open,
    WonByTables,
    Mate,
}

impl MoveRank {
    /// That of the move that leads to `child`. The side that chooses gets `draw_score` for a draw.
    fn of(child: &Node, draw_score: f32) -> MoveRank {
        let (class, delay) = match child.proof() {
            Some(Proof { outcome: ProofOutcome::Win, plies, is_mate: true }) => (ProofClass::Mate, -plies),
            Some(Proof { outcome: ProofOutcome::Win, plies, is_mate: false }) => {
                (ProofClass::WonByTables, -plies)
            }
            Some(Proof { outcome: ProofOutcome::Loss, plies, is_mate: false }) => {
                (ProofClass::LostByTables, plies)
            }
            Some(Proof { outcome: ProofOutcome::Loss, plies, is_mate: true }) => (ProofClass::Mated, plies),
            _ => (ProofClass::Open, 0.0),
        };
        MoveRank {
            class,
            delay,
            visits: child.visits(),
            q: select::child_q(child.mean(), draw_score),
            policy: child.edge().policy(),
        }
    }

    fn is_lost(&self) -> bool {
        self.class < ProofClass::Open
    }

    /// Is this the better move to play?
    fn compare(&self, other: &MoveRank) -> Ordering {
        (self.class.cmp(&other.class))
            .then(self.delay.total_cmp(&other.delay))
            .then(self.visits.cmp(&other.visits))
            .then(self.q.total_cmp(&other.q))
            .then(self.policy.total_cmp(&other.policy))
    }
}
