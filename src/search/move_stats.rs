//! Figures of every root move, for people who want to look into a search.
//!
//! All values are from the point of view of the side to move at the root. Collected by `controller` when options ask
//! for it; `uci` writes them as text.

use super::select::{self, MovesLeftUtility};
use super::shared::Search;
use super::tree::{Node, NodeState};
use crate::chess::{History, Move};
use crate::network::encode::Transform;
use crate::network::policy_map;

/// The mean of a node's visits, free of contempt as far as the objectivity goes. For the side to move at the root.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanStats {
    /// Win minus loss.
    pub wl: f32,
    /// Draw probability.
    pub d: f32,
    /// Plies from the node to the end of the game.
    pub m: f32,
    /// Win minus loss, and what the draws are worth.
    pub q: f32,
}

/// What the search knows of the root, or of the position after a root move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeStats {
    /// Finished visits.
    pub visits: u32,
    /// Visits under way.
    pub in_flight: u32,
    /// Policy of the move; at the root that of all visited moves together.
    pub policy: f32,
    /// `None` without visits.
    pub mean: Option<MeanStats>,
    /// The value that the move is chosen by, contempt and all; first-play urgency without visits.
    pub q: f32,
    /// What the network says of the position, or the result if it is certain; `None` if that is not known any more.
    pub v: Option<f32>,
    /// Is the result certain?
    pub is_certain: bool,
}

/// A root move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoveStats {
    /// The move.
    pub mv: Move,
    /// Its index in the network's policy.
    pub policy_index: u16,
    /// The position after it.
    pub node: NodeStats,
    /// What is added to Q for exploration.
    pub u: f32,
    /// The score by which the next visit is given.
    pub s: f32,
}

/// The root with its moves.
#[derive(Clone, Debug, PartialEq)]
pub struct RootStats {
    /// The moves with the fewest visits first, and the ones with equal visits by rising Q + U.
    pub moves: Vec<MoveStats>,
    /// The root itself.
    pub root: NodeStats,
}

/// Reads the present figures. Workers may go on meanwhile; a move that becomes a child at this moment is left out.
pub(crate) fn collect(search: &Search) -> RootStats {
    let root = search.tree.node(search.root);
    let unvisited: Vec<_> = search.tree.unvisited(root).collect();
    let children: Vec<&Node> = search.tree.children(root).map(|(_, child)| child).collect();
    let policy = |child: &Node| search.root_policy(child.edge().mv(), child.edge().policy());
    let visited_policy = children.iter().filter(|child| child.visits() > 0).map(|child| policy(child)).sum();
    let mean = root.mean();
    let (exploration, fpu) = search.params.formula_at(0);
    let scale = ScoreTerms {
        fpu: select::fpu(fpu, select::parent_q(mean, search.draw_score(0)), visited_policy),
        exploration: select::exploration(exploration, root.visits()),
        moves_left: MovesLeftUtility::new(&search.params, search.backend.has_moves_left, (mean.v, mean.m)),
    };
    let mut history = search.history.clone();
    let mut moves = Vec::new();
    for (index, mv) in search.moves().iter().copied().enumerate() {
        let child = children.iter().copied().find(|child| child.edge().mv() == mv);
        let unvisited = unvisited.iter().find(|unvisited| usize::from(unvisited.index) == index);
        let policy = child.map(policy).or(unvisited.map(|&edge| search.unvisited_root_policy(edge)));
        if let Some(policy) = policy {
            moves.push(move_stats(search, &mut history, MoveView { mv, policy, child }, &scale));
        }
    }
    moves.sort_by(|a, b| {
        a.node.visits.cmp(&b.node.visits).then((a.node.q + a.u).total_cmp(&(b.node.q + b.u)))
    });
    RootStats { moves, root: root_stats(search, &history, root, visited_policy) }
}

/// What the scores of all moves have in common.
struct ScoreTerms<'a> {
    fpu: f32,
    exploration: f32,
    moves_left: Option<MovesLeftUtility<'a>>,
}

struct MoveView<'a> {
    mv: Move,
    policy: f32,
    child: Option<&'a Node>,
}

fn move_stats(search: &Search, history: &mut History, root_move: MoveView, scale: &ScoreTerms) -> MoveStats {
    let MoveView { mv, policy, child } = root_move;
    let policy_index = policy_map::index(mv, history.current().turn(), Transform::NONE);
    history.push(mv);
    let started = child.map_or(0, |child| child.visits() + child.in_flight());
    let visited = child.filter(|child| child.visits() > 0);
    let q = visited.map_or(scale.fpu, |child| select::child_q(child.mean(), search.draw_score(0)));
    let node = NodeStats {
        visits: visited.map_or(0, Node::visits),
        in_flight: child.map_or(0, Node::in_flight),
        policy,
        mean: visited.map(|child| mean(search, child, 1.0)),
        q,
        v: visited.and_then(|child| match is_certain(child) {
            true => Some(q),
            false => network_value(search, history).map(|q| -q),
        }),
        is_certain: visited.is_some_and(is_certain),
    };
    history.pop();
    let u = policy * scale.exploration / (1 + started) as f32;
    let moves_left =
        scale.moves_left.zip(visited).map_or(0.0, |(utility, node)| utility.of(q, node.mean().m));
    MoveStats { mv, policy_index, node, u, s: q + u + moves_left }
}

fn is_certain(node: &Node) -> bool {
    node.state() == NodeState::Terminal || node.proof().is_some()
}

fn root_stats(search: &Search, history: &History, root: &Node, visited_policy: f32) -> NodeStats {
    NodeStats {
        visits: root.visits(),
        in_flight: root.in_flight(),
        policy: visited_policy,
        mean: (root.visits() > 0).then(|| mean(search, root, -1.0)),
        q: select::parent_q(root.mean(), search.draw_score(0)),
        v: network_value(search, history),
        is_certain: is_certain(root),
    }
}

/// The mean of `node`; `sign` turns its value to the point of view of the side to move at the root.
fn mean(search: &Search, node: &Node, sign: f32) -> MeanStats {
    let mean = node.mean();
    let shown = search.params.rescale.shown((sign * mean.v, mean.d), search.history.current().turn());
    MeanStats { wl: shown.wl, d: shown.d, m: mean.m, q: shown.wl + search.draw_score(0) * shown.d }
}

/// What the network said of the last position, for its side to move, if the cache still knows.
fn network_value(search: &Search, history: &History) -> Option<f32> {
    let moves = history.legal_moves().len();
    search.cache.get(history.evaluation_key(), moves, &mut Vec::new()).map(|evaluation| evaluation.q)
}
