//! The root at one moment, read once for all who want to know: stoppers, information for the GUI, the move to play, figures
//! of root moves, and benchmarks.
//!
//! Workers go on while it is read, so that the numbers of two moves may be from moments a little apart; but whoever is given
//! the same snapshot sees the same numbers.

use std::borrow::Cow;
use std::time::Duration;

use crate::chess::{History, Move};
use crate::search::drive::search::Search;
use crate::search::leaf::select;
use crate::search::report::best_move::MoveRank;
use crate::search::report::figures::{moves_to_mate, root_evaluation};
use crate::search::state::context::SearchContext;
use crate::search::state::counters::CounterValues;
use crate::search::tree::verdict::{self, MoveProof, Verdict};
use crate::search::tree::{Bounds, Node, NodeId, NodeState, NodeValue, Proof, ProofOutcome};
use crate::time::RootEvaluation;

/// The state of a search, read at one moment.
#[derive(Clone, Debug)]
pub(crate) struct RootSnapshot {
    /// Time since `go`.
    pub(crate) elapsed: Duration,
    /// Time from `go` to the end of the first evaluation, if there was one.
    pub(crate) first_evaluation: Option<Duration>,
    /// Visits that earlier searches left, and those made by this one.
    pub(crate) nodes: u32,
    /// Visits made by this search.
    pub(crate) new_nodes: u64,
    /// The counters of the search.
    pub(crate) counts: CounterValues,
    /// The root itself.
    pub(crate) root: NodeReading,
    /// Value, draws and plies left at the root for the side to move; `None` without visits.
    pub(crate) evaluation: Option<RootEvaluation>,
    /// Root moves that have a child, in the order in which the children were made.
    pub(crate) children: Vec<RootMove>,
    /// Root moves without a child, in the order of the rules; none after [`RootSnapshot::read_children`].
    pub(crate) unvisited: Vec<RootMove>,
    /// Plies from the search's root down to this one: 0, or 1 for the position after the move that is pondered on.
    pub(crate) plies: usize,
}

/// A node at one moment. Values are from the point of view of the side that moved into it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeReading {
    /// Finished visits.
    pub(crate) visits: u32,
    /// Visits under way.
    pub(crate) in_flight: u32,
    /// Mean of the finished visits; meaningless without any.
    pub(crate) mean: NodeValue,
    /// The proof of its result, if there is one. At the root it follows from the moves that may be searched.
    pub(crate) proof: Option<Proof>,
    /// The results that are still possible.
    pub(crate) bounds: Bounds,
    /// True if the game is over here or the result is proven.
    pub(crate) is_certain: bool,
}

/// A root move at one moment.
#[derive(Clone, Debug)]
pub(crate) struct RootMove {
    /// The move.
    pub(crate) mv: Move,
    /// The child that it leads to, if that exists.
    pub(crate) child: Option<NodeId>,
    /// The figures of the child; no visits and nothing proven without a child.
    pub(crate) node: NodeReading,
    /// Value for the side to move at the root, which gets the draw score for a draw; meaningless without visits.
    pub(crate) q: f32,
    /// The network's policy.
    pub(crate) network_policy: f32,
    /// The policy with the noise of the search.
    pub(crate) policy: f32,
    /// True if the move may be searched.
    pub(crate) is_allowed: bool,
}

impl NodeReading {
    /// The reading of a node that does not exist yet.
    const NONE: NodeReading = NodeReading {
        visits: 0,
        in_flight: 0,
        mean: NodeValue { v: 0.0, d: 0.0, m: 0.0 },
        proof: None,
        bounds: Bounds::OPEN,
        is_certain: false,
    };

    /// Reads `node`.
    pub(crate) fn of(node: &Node) -> NodeReading {
        let (visits, started) = node.finished_and_started();
        let MoveProof { bounds, proof } = MoveProof::of(node);
        NodeReading {
            visits,
            in_flight: started - visits,
            mean: node.mean(),
            proof,
            bounds,
            is_certain: proof.is_some() || node.is_terminal(),
        }
    }

    /// Returns whether the side that moved into the node certainly loses.
    pub(crate) fn is_lost(&self) -> bool {
        self.proof.is_some_and(Proof::is_loss)
    }
}

impl RootMove {
    /// Returns a move without a child, with the network's policy and no noise.
    fn unvisited(mv: Move, policy: f32) -> RootMove {
        let node = NodeReading::NONE;
        RootMove { mv, child: None, node, q: 0.0, network_policy: policy, policy, is_allowed: true }
    }

    /// Returns the move that leads to `child`, with the network's policy and no noise.
    fn of_child(id: NodeId, child: &Node, draw_score: f32) -> RootMove {
        let (edge, node) = (child.edge(), NodeReading::of(child));
        let q = select::child_q(node.mean, draw_score);
        RootMove { child: Some(id), node, q, ..RootMove::unvisited(edge.mv(), edge.policy()) }
    }

    /// Returns the move that mates at the last position of `history`, where that was found when `leaf`, its node, was opened,
    /// with the visits that ended there.
    fn mating(history: &History, leaf: &NodeReading) -> Option<RootMove> {
        let loss = leaf.proof.filter(|proof| proof.is_loss() && proof.is_mate)?;
        let mate = FoundMate::by_checks(history, moves_to_mate(loss.plies))?;
        let mut root_move = RootMove { node: *leaf, ..RootMove::unvisited(mate.mv, 0.0) };
        root_move.prove(mate.proof);
        Some(root_move)
    }

    /// Makes the move a visited one with this proof.
    fn prove(&mut self, proof: Proof) {
        let (mean, bounds) = (proof.value(), Bounds::certain(proof.outcome));
        let visits = self.node.visits.max(1);
        self.node = NodeReading { visits, mean, proof: Some(proof), bounds, is_certain: true, ..self.node };
        self.q = mean.v;
    }
}

/// A mate that was found without the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundMate {
    /// Its first move.
    pub(crate) mv: Move,
    /// What it proves of that move.
    pub(crate) proof: Proof,
}

impl FoundMate {
    /// Looks for a mate by checks in at most `moves` moves at the last position of `history`.
    pub(crate) fn by_checks(history: &History, moves: u32) -> Option<FoundMate> {
        let line = history.mate_by_checks(moves);
        let plies = line.len() as f32 - 1.0;
        let proof = Proof { outcome: ProofOutcome::Win, plies, is_mate: true };
        line.first().map(|&mv| FoundMate { mv, proof })
    }
}

impl RootSnapshot {
    /// Reads the present state. A move that becomes a child at this moment is left out.
    pub(crate) fn read(search: &Search) -> RootSnapshot {
        // Before the children: what becomes one meanwhile is told from the others by its move.
        let unvisited = unvisited_moves(search);
        let mut snapshot = RootSnapshot::read_children(search);
        let RootSnapshot { children, unvisited: rest, .. } = &mut snapshot;
        *rest = unvisited;
        if rest.len() + children.len() > search.context.root_node().edge_count() {
            rest.retain(|edge| children.iter().all(|child| child.mv != edge.mv));
        }
        snapshot
    }

    /// Reads the present state without the moves that have no child. The stoppers don't need those, and are asked after every
    /// batch.
    pub(crate) fn read_children(search: &Search) -> RootSnapshot {
        let context = &search.context;
        let (tree, root) = (&context.tree, context.root_node());
        let draw_score = search.draw_score(0);
        let policies = &search.root_policy;
        let mut children: Vec<RootMove> = tree
            .children(root)
            .map(|(id, child)| RootMove {
                policy: policies.of_child(child),
                is_allowed: policies.allows(child.edge().mv()),
                ..RootMove::of_child(id, child, draw_score)
            })
            .collect();
        tell_mate(search, &mut children);
        let counts = search.counters.read();
        let proof = root_proof(search, &children);
        let root_reading = NodeReading { proof, is_certain: proof.is_some(), ..NodeReading::of(root) };
        let nodes = root_reading.visits + counts.reverted;
        RootSnapshot {
            elapsed: context.clock.elapsed(),
            first_evaluation: search.progress.first_evaluation(),
            nodes,
            new_nodes: nodes.saturating_sub(search.reused_visits).into(),
            counts,
            root: root_reading,
            evaluation: root_evaluation(tree, context.root, &context.backend_info),
            children,
            unvisited: Vec::new(),
            plies: 0,
        }
    }

    /// Returns what is reported of the search: all this, or while pondering what there is of it after the expected move.
    /// `None` while nothing is known of that.
    pub(crate) fn reported(&self, search: &Search) -> Option<Cow<'_, RootSnapshot>> {
        match search.context.expected_move {
            None => Some(Cow::Borrowed(self)),
            Some(mv) => self.after(mv, search).map(Cow::Owned),
        }
    }

    /// Returns the position after the root move `mv` as if it were the root; the counts stay those of the whole search.
    fn after(&self, mv: Move, search: &Search) -> Option<RootSnapshot> {
        let SearchContext { tree, history, reply_moves, backend_info, .. } = &search.context;
        // Nobody waits for a tree that is being pruned.
        let _inside = tree.try_enter()?;
        let id = self.children.iter().find(|root_move| root_move.mv == mv)?.child?;
        let (node, draw_score) = (tree.node(id), search.draw_score(1));
        let mut after = history.clone();
        after.push(mv);
        let moves = after.legal_moves();
        let evaluation = root_evaluation(tree, id, backend_info);
        let reading = NodeReading::of(node);
        let allows = |mv: Move| reply_moves.is_empty() || reply_moves.contains(&mv);
        let limited = |root_move: RootMove| RootMove { is_allowed: allows(root_move.mv), ..root_move };
        if node.state() != NodeState::Expanded {
            let mate = RootMove::mating(&after, &reading).filter(|mate| allows(mate.mv))?;
            let others = moves.into_iter().filter(|&mv| mv != mate.mv);
            let unvisited = others.map(|mv| limited(RootMove::unvisited(mv, 0.0))).collect();
            let children = vec![mate];
            return Some(RootSnapshot { root: reading, evaluation, children, unvisited, plies: 1, ..*self });
        }
        let unvisited = tree
            .unvisited(node)
            .map(|edge| limited(RootMove::unvisited(moves[usize::from(edge.index)], edge.policy())));
        let mut unvisited: Vec<_> = unvisited.collect();
        let children =
            tree.children(node).map(|(id, child)| limited(RootMove::of_child(id, child, draw_score)));
        let children: Vec<_> = children.collect();
        unvisited.retain(|edge| children.iter().all(|child| child.mv != edge.mv));
        Some(RootSnapshot { root: reading, evaluation, children, unvisited, plies: 1, ..*self })
    }

    /// Returns all root moves: those with a child first.
    pub(crate) fn moves(&self) -> impl Iterator<Item = &RootMove> {
        self.children.iter().chain(&self.unvisited)
    }

    /// Returns the policy of all visited root moves together.
    pub(crate) fn visited_policy(&self) -> f32 {
        self.children.iter().filter(|child| child.is_visited()).map(|child| child.policy).sum()
    }

    /// Returns the root moves that may be searched, best first: certain wins, then by visits, Q, policy, then those without
    /// visits by policy, then certain losses. There are none before the root is evaluated.
    pub(crate) fn ranked_moves(&self) -> Vec<&RootMove> {
        let allowed = self.moves().filter(|root_move| root_move.is_allowed);
        let (mut visited, mut others): (Vec<_>, Vec<_>) =
            allowed.partition(|root_move| root_move.is_visited());
        visited.sort_by(|a, b| b.rank().compare(&a.rank()));
        let losses = visited.split_off(visited.partition_point(|root_move| !root_move.node.is_lost()));
        others.sort_by(|a, b| b.policy.total_cmp(&a.policy));
        visited.extend(others);
        visited.extend(losses);
        visited
    }

    /// Returns `count` divided by the seconds since `go`.
    pub(crate) fn per_second(&self, count: u64) -> u64 {
        (count as f64 / self.elapsed.as_secs_f64().max(1e-6)) as u64
    }
}

/// Tells `children`, the root's moves that have a child, of the mate that was found at the root, once that is evaluated and unless the
/// tree knows one as near.
fn tell_mate(search: &Search, children: &mut Vec<RootMove>) {
    let is_evaluated = search.context.root_node().state() == NodeState::Expanded;
    let Some(mate) = search.mate.filter(|mate| is_evaluated && search.root_policy.allows(mate.mv)) else {
        return;
    };
    let is_first_move = |root_move: &RootMove| root_move.mv == mate.mv;
    if !children.iter().any(is_first_move) {
        children.extend(unvisited_moves(search).into_iter().find(is_first_move));
    }
    let is_as_near = |known: Proof| known.is_mate && known.plies <= mate.proof.plies;
    if let Some(root_move) = children.iter_mut().find(|root_move| root_move.mv == mate.mv)
        && !root_move.node.proof.is_some_and(is_as_near)
    {
        root_move.prove(mate.proof);
    }
}

/// Reads the root moves that have no child, in the order of the rules.
fn unvisited_moves(search: &Search) -> Vec<RootMove> {
    let (context, policies) = (&search.context, &search.root_policy);
    let unvisited = context.tree.unvisited(context.root_node());
    let moves = unvisited.map(|edge| RootMove {
        policy: policies.of_unvisited(edge),
        is_allowed: policies.allows_index(edge.index),
        ..RootMove::unvisited(policies.moves()[usize::from(edge.index)], edge.policy())
    });
    moves.collect()
}

/// Returns the certain result of the root, from the point of view of the side that moved last, where those of its moves that may
/// be searched decide it; `children` are the moves that have a child.
fn root_proof(search: &Search, children: &[RootMove]) -> Option<Proof> {
    let (tree, root) = (&search.context.tree, search.context.root_node());
    // A move that becomes a child at this moment is in neither list.
    let is_unvisited = children.len() < root.edge_count()
        && (tree.unvisited(root).any(|edge| search.root_policy.allows_index(edge.index))
            || tree.unvisited(root).count() + children.len() < root.edge_count());
    let allowed = children.iter().filter(|root_move| root_move.is_allowed);
    let proofs =
        allowed.map(|&RootMove { node: NodeReading { bounds, proof, .. }, .. }| MoveProof { bounds, proof });
    let mut moves = is_unvisited.then_some(MoveProof::OPEN).into_iter().chain(proofs).peekable();
    moves.peek()?;
    match verdict::verdict(moves) {
        Verdict::Proven(proof) => Some(proof),
        Verdict::Open | Verdict::Bounded(_) => None,
    }
}

impl RootMove {
    /// Returns whether a visit has ended below the move.
    pub(crate) fn is_visited(&self) -> bool {
        self.node.visits > 0
    }

    /// Returns what the move is judged by as one to play.
    fn rank(&self) -> MoveRank {
        MoveRank::new(&self.node, self.q, self.network_policy)
    }
}
