//! The root, read once for stoppers, reports and the choice of the move. Workers go on meanwhile, so the
//! figures of two moves may be from slightly different moments.

use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::time::Duration;

use crate::chess::{History, Move};
use crate::network::{BackendInfo, Value};
use crate::search::leaf::select;
use crate::search::state::{CounterValues, FoundMate, SearchContext, SearchState};
use crate::search::tree::verdict::{MoveProof, Verdict};
use crate::search::tree::{
    Inside, Node, NodeId, NodeState, Proof, ProofOutcome, ProvenBounds, Tree, verdict,
};
use crate::time::{Nodes, Plies, RootEvaluation, SearchStats};

#[derive(Clone)]
pub(crate) struct RootSnapshot<'a> {
    pub(crate) state: &'a SearchState,
    pub(crate) elapsed: Duration,
    pub(crate) nodes: u32,
    pub(crate) new_nodes: u64,
    pub(crate) counts: CounterValues,
    pub(crate) root: NodeReading,
    /// For the side to move, `None` without visits.
    evaluation: Option<RootEvaluation>,
    /// Like all that is read here, of moves that may be played.
    pub(crate) children: Vec<RootMove>,
    /// In the order of the move list. Empty after [`RootSnapshot::read_children`].
    unvisited: Vec<RootMove>,
    /// Plies below the search's root: 0, or 1 after the move that is pondered on.
    pub(crate) plies: usize,
}

/// A node at one moment. Values are for the side that moved into it.
#[derive(Clone, Copy)]
pub(crate) struct NodeReading {
    pub(crate) visits: u32,
    pub(crate) in_flight: u32,
    /// Meaningless without finished visits.
    pub(crate) mean: Value,
    /// At the root it follows from the moves that may be searched.
    pub(crate) proof: Option<Proof>,
    bounds: ProvenBounds,
    pub(crate) is_certain: bool,
}

#[derive(Clone)]
pub(crate) struct RootMove {
    pub(crate) mv: Move,
    pub(crate) child: Option<NodeId>,
    /// Without visits or proofs if there is no child.
    pub(crate) node: NodeReading,
    /// Value for the side to move at the root, including the draw score. Meaningless without visits.
    pub(crate) q: f32,
    /// Without noise.
    pub(super) network_policy: f32,
    /// With the search's noise.
    pub(crate) policy: f32,
}

impl NodeReading {
    const NONE: NodeReading = NodeReading {
        visits: 0,
        in_flight: 0,
        mean: Value {
            wl: 0.0,
            d: 0.0,
            m: 0.0,
        },
        proof: None,
        bounds: ProvenBounds::OPEN,
        is_certain: false,
    };

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

    fn is_lost(&self) -> bool {
        self.proof.is_some_and(Proof::is_loss)
    }
}

impl RootMove {
    fn unvisited(mv: Move, policy: f32) -> RootMove {
        let node = NodeReading::NONE;
        RootMove {
            mv,
            child: None,
            node,
            q: 0.0,
            network_policy: policy,
            policy,
        }
    }

    fn of_child(id: NodeId, child: &Node, draw_score: f32) -> RootMove {
        let edge = child.edge();
        let node = NodeReading::of(child);
        let q = select::child_q(node.mean, draw_score);
        RootMove {
            child: Some(id),
            node,
            q,
            ..RootMove::unvisited(edge.mv(), edge.policy())
        }
    }

    fn mating(history: &History, leaf: &NodeReading) -> Option<RootMove> {
        let loss = leaf.proof.filter(|proof| proof.is_loss() && proof.is_mate)?;
        let mate = FoundMate::by_checks(history, moves_to_mate(loss.plies))?;
        let mut root_move = RootMove {
            node: *leaf,
            ..RootMove::unvisited(mate.mv, 0.0)
        };
        root_move.prove(mate.proof);
        Some(root_move)
    }

    fn prove(&mut self, proof: Proof) {
        let mean = proof.value();
        let bounds = ProvenBounds::certain(proof.outcome);
        let visits = self.node.visits.max(1);
        self.node = NodeReading {
            visits,
            mean,
            proof: Some(proof),
            bounds,
            is_certain: true,
            ..self.node
        };
        self.q = mean.wl;
    }

    pub(super) fn is_visited(&self) -> bool {
        self.node.visits > 0
    }

    fn rank(&self) -> MoveRank {
        rank(&self.node, self.q, self.network_policy)
    }
}

impl<'a> RootSnapshot<'a> {
    /// A move that becomes a child at this moment is left out.
    pub(crate) fn read(state: &'a SearchState) -> RootSnapshot<'a> {
        // Before the children, so that a move that becomes one meanwhile is recognised.
        let mut unvisited = unvisited_moves(state);
        let mut snapshot = RootSnapshot::read_children(state);
        unvisited.retain(|edge| snapshot.children.iter().all(|child| child.mv != edge.mv));
        snapshot.unvisited = unvisited;
        snapshot
    }

    /// Without the moves that have no child, for the stoppers after every batch.
    pub(crate) fn read_children(state: &'a SearchState) -> RootSnapshot<'a> {
        let SearchState {
            context,
            root,
            counters,
            ..
        } = state;
        let tree = &context.tree;
        let node = context.root_node();
        let draw_score = root.draw_score(0);
        let mut children: Vec<RootMove> = tree
            .children(node)
            .filter(|(_, child)| root.allows(child.edge().mv()))
            .map(|(id, child)| RootMove {
                policy: root.policy_of_child(child),
                ..RootMove::of_child(id, child, draw_score)
            })
            .collect();
        tell_mate(state, &mut children);
        let counts = *counters.lock();
        let proof = root_proof(state, &children);
        let reading = NodeReading {
            proof,
            is_certain: proof.is_some(),
            ..NodeReading::of(node)
        };
        let nodes = reading.visits + counts.reverted;
        RootSnapshot {
            state,
            elapsed: context.clock.elapsed(),
            nodes,
            new_nodes: nodes.saturating_sub(root.reused_visits).into(),
            counts,
            root: reading,
            evaluation: root_evaluation(tree, context.root, &context.backend_info),
            children,
            unvisited: Vec::new(),
            plies: 0,
        }
    }

    pub(crate) fn reported(&self, inside: &Inside<'_>) -> Option<Cow<'_, RootSnapshot<'a>>> {
        match self.state.context.expected_move {
            None => Some(Cow::Borrowed(self)),
            Some(mv) => self.after(mv, inside).map(Cow::Owned),
        }
    }

    /// The position after `mv` as if it were the root. Counts stay those of the whole search.
    fn after(&self, mv: Move, _inside: &Inside<'_>) -> Option<RootSnapshot<'a>> {
        let SearchContext {
            tree,
            history,
            reply_moves,
            backend_info,
            ..
        } = &self.state.context;
        let id = self.children.iter().find(|root_move| root_move.mv == mv)?.child?;
        let node = tree.node(id);
        let draw_score = -self.draw_score();
        let mut after = history.clone();
        after.push(mv);
        let moves = after.legal_moves();
        let evaluation = root_evaluation(tree, id, backend_info);
        let reading = NodeReading::of(node);
        let allows = |mv: Move| reply_moves.is_empty() || reply_moves.contains(&mv);
        let is_allowed = |root_move: &RootMove| allows(root_move.mv);
        let (children, unvisited) = if node.state() == NodeState::Expanded {
            let unvisited = tree
                .unvisited(node)
                .map(|edge| RootMove::unvisited(moves[usize::from(edge.index)], edge.policy()));
            let mut unvisited: Vec<_> = unvisited.filter(is_allowed).collect();
            let children = tree
                .children(node)
                .map(|(id, child)| RootMove::of_child(id, child, draw_score));
            let children: Vec<_> = children.filter(is_allowed).collect();
            unvisited.retain(|edge| children.iter().all(|child| child.mv != edge.mv));
            (children, unvisited)
        } else {
            let mate = RootMove::mating(&after, &reading).filter(|mate| allows(mate.mv))?;
            let others = moves.into_iter().filter(|&mv| mv != mate.mv && allows(mv));
            let others = others.map(|mv| RootMove::unvisited(mv, 0.0)).collect();
            (vec![mate], others)
        };
        Some(RootSnapshot {
            root: reading,
            evaluation,
            children,
            unvisited,
            plies: 1,
            ..*self
        })
    }

    /// The worth of a draw to the side to move.
    pub(super) fn draw_score(&self) -> f32 {
        self.state.root.draw_score(self.plies)
    }

    pub(crate) fn moves(&self) -> impl Iterator<Item = &RootMove> {
        self.children.iter().chain(&self.unvisited)
    }

    pub(crate) fn visited_policy(&self) -> f32 {
        self.children
            .iter()
            .filter(|child| child.is_visited())
            .map(|child| child.policy)
            .sum()
    }

    /// Best first: wins, visited moves by visits, Q and policy, unvisited moves, certain losses. The open
    /// move with the best lower bound goes before open ones with more visits.
    pub(crate) fn ranked_moves(&self) -> Vec<&RootMove> {
        let (mut visited, mut others): (Vec<_>, Vec<_>) =
            self.moves().partition(|root_move| root_move.is_visited());
        visited.sort_by(|a, b| compare(&b.rank(), &a.rank()));
        let losses = visited.split_off(visited.partition_point(|root_move| !root_move.node.is_lost()));
        if let Some(best) = best_by_bound(&visited, self.state.context.params.lcb_factor) {
            visited[..=best].rotate_right(1);
        }
        others.sort_by(|a, b| b.policy.total_cmp(&a.policy));
        visited.extend(others);
        visited.extend(losses);
        visited
    }

    pub(super) fn per_second(&self, count: u64) -> u64 {
        (count as f64 / self.elapsed.as_secs_f64().max(1e-6)) as u64
    }
}

/// Share of the most visits from which on a move's lower bound counts.
const LCB_SHARE: f32 = 0.05;

/// The open move with the best lower confidence bound, value − `factor` / √visits, among those with enough
/// visits. `None` if the first move is certain.
fn best_by_bound(ranked: &[&RootMove], factor: f32) -> Option<usize> {
    let first = ranked
        .first()
        .filter(|first| factor > 0.0 && !first.node.is_certain)?;
    let enough = LCB_SHARE * first.node.visits as f32;
    let bound = |root_move: &RootMove| root_move.q - factor / (root_move.node.visits as f32).sqrt();
    let open = ranked
        .iter()
        .enumerate()
        .filter(|(_, root_move)| !root_move.node.is_certain && root_move.node.visits as f32 >= enough);
    // `max_by` prefers the last of equals, and the first has most visits.
    let best = open.rev().max_by(|(_, a), (_, b)| bound(a).total_cmp(&bound(b)));
    best.map(|(place, _)| place)
}

fn tell_mate(state: &SearchState, children: &mut Vec<RootMove>) {
    let is_evaluated = state.context.has_evaluated_root();
    let Some(mate) = state
        .root
        .mate
        .filter(|mate| is_evaluated && state.root.allows(mate.mv))
    else {
        return;
    };
    let is_first_move = |root_move: &RootMove| root_move.mv == mate.mv;
    if !children.iter().any(is_first_move) {
        children.extend(unvisited_moves(state).into_iter().find(is_first_move));
    }
    let is_as_near = |known: Proof| known.is_mate && known.plies <= mate.proof.plies;
    if let Some(root_move) = children.iter_mut().find(|root_move| root_move.mv == mate.mv)
        && !root_move.node.proof.is_some_and(is_as_near)
    {
        root_move.prove(mate.proof);
    }
}

fn unvisited_moves(SearchState { context, root, .. }: &SearchState) -> Vec<RootMove> {
    let unvisited = context.tree.unvisited(context.root_node());
    let allowed = unvisited.filter(|edge| root.allows_index(edge.index));
    let moves = allowed.map(|edge| RootMove {
        policy: root.policy_of_unvisited(edge),
        ..RootMove::unvisited(root.moves[usize::from(edge.index)], edge.policy())
    });
    moves.collect()
}

/// The proof is for the side that moved last, by the moves that may be searched.
fn root_proof(SearchState { context, root, .. }: &SearchState, children: &[RootMove]) -> Option<Proof> {
    if !context.has_evaluated_root() {
        return None;
    }
    let is_unvisited = children.len() < root.choices();
    let proofs = children.iter().map(
        |&RootMove {
             node: NodeReading { bounds, proof, .. },
             ..
         }| MoveProof { bounds, proof },
    );
    let moves = is_unvisited.then_some(MoveProof::OPEN).into_iter().chain(proofs);
    match verdict::verdict(moves) {
        Verdict::Proven(proof) => Some(proof),
        Verdict::Bounded(_) => None,
    }
}

/// What is proven of a move, ascending.
#[derive(PartialEq, PartialOrd)]
enum Standing {
    IsMated,
    LosesByTable,
    Open,
    WinsByTable,
    Mates,
}

/// Moves are ordered by the first field that differs.
#[derive(PartialEq, PartialOrd)]
pub(super) struct MoveRank {
    standing: Standing,
    /// Plies to a loss, less those to a win.
    delay: f32,
    visits: u32,
    q: f32,
    policy: f32,
}

pub(super) fn rank(node: &NodeReading, q: f32, policy: f32) -> MoveRank {
    let (standing, delay) = match node.proof {
        Some(proof) if proof.outcome == ProofOutcome::Win && proof.is_mate => (Standing::Mates, -proof.plies),
        Some(proof) if proof.outcome == ProofOutcome::Win => (Standing::WinsByTable, -proof.plies),
        Some(proof) if proof.is_loss() && proof.is_mate => (Standing::IsMated, proof.plies),
        Some(proof) if proof.is_loss() => (Standing::LosesByTable, proof.plies),
        _ => (Standing::Open, 0.0),
    };
    MoveRank {
        standing,
        delay,
        visits: node.visits,
        q,
        policy,
    }
}

pub(super) fn compare(a: &MoveRank, b: &MoveRank) -> Ordering {
    a.partial_cmp(b).unwrap_or(Ordering::Equal)
}

pub(super) fn moves_to_mate(plies: f32) -> u32 {
    (plies as u32).div_ceil(2)
}

pub(crate) fn root_evaluation(tree: &Tree, root: NodeId, backend: &BackendInfo) -> Option<RootEvaluation> {
    let node = tree.node(root);
    if node.visits() == 0 {
        return None;
    }
    let mean = node.mean();
    let m = backend.has_moves_left.then_some(Plies(mean.m.into()));
    Some(RootEvaluation {
        wl: -f64::from(mean.wl),
        d: backend.has_wdl.then_some(mean.d.into()),
        m,
        m_spread: m.and_then(|m| moves_left_spread(tree, node, m)),
    })
}

/// Lines are followed down to this share of the root's visits, for at most [`LINE_PLIES`] plies.
const LINE_SHARE: f64 = 1.0 / 16.0;
const LINE_PLIES: u32 = 6;

/// While the tree is pruned only root moves count.
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

struct MovesLeftSums<'a> {
    tree: &'a Tree,
    plies: u32,
    mean: f64,
    least: f64,
    visits: f64,
    squares: f64,
}

impl MovesLeftSums<'_> {
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

/// Lc0's limit for a nearly certain loss.
const RESIGNABLE_Q: f32 = -0.98;

impl RootSnapshot<'_> {
    pub(crate) fn stats(&self) -> SearchStats {
        let RootSnapshot {
            elapsed,
            counts,
            root,
            children,
            ..
        } = self;
        let proofs = || children.iter().filter_map(|root_move| root_move.node.proof);
        let outcomes = || proofs().map(|proof| proof.outcome);
        let is_win_by_mate = |proof: &Proof| proof.is_mate && proof.outcome == ProofOutcome::Win;
        let visits_in_the_race = |root_move: &RootMove| {
            if root_move.node.is_lost() {
                0
            } else {
                root_move.node.visits
            }
        };
        SearchStats {
            elapsed: (*elapsed).into(),
            since_first_eval: counts
                .first_evaluation
                .map(|first| elapsed.saturating_sub(first).into()),
            nodes: self.nodes.into(),
            new_nodes: Nodes(self.new_nodes),
            terminal_visits: Nodes(counts.terminals),
            batches: counts.batches,
            depth: counts.mean_depth(),
            race_visits: children.iter().map(visits_in_the_race).collect(),
            best_by_q: (0..children.len())
                .filter(|&i| children[i].is_visited())
                .max_by(|&a, &b| {
                    let [x, y] = [a, b].map(|i| &children[i]);
                    // Of equals the most visited one, and the first of those, as `most_visited` has it.
                    x.q.total_cmp(&y.q)
                        .then(x.node.visits.cmp(&y.node.visits))
                        .then(b.cmp(&a))
                }),
            root: self.evaluation,
            proven_win: outcomes().any(|outcome| outcome == ProofOutcome::Win),
            // A draw that only bounds prove has no line yet.
            root_is_certain: root.proof.is_some_and(|proof| {
                children.is_empty() || outcomes().any(|outcome| outcome == proof.outcome.flipped())
            }),
            losing_moves: outcomes()
                .filter(|outcome| *outcome == ProofOutcome::Loss)
                .count() as u32,
            is_resignable: children
                .iter()
                .filter(|root_move| root_move.is_visited())
                .all(|root_move| root_move.q <= RESIGNABLE_Q),
            // The root keeps the first mate found. A shorter one can follow.
            mate_in: proofs()
                .filter(is_win_by_mate)
                .map(|proof| moves_to_mate(proof.plies + 1.0))
                .min(),
            // The root's proof is for the side that moved last.
            mated_in: root
                .proof
                .filter(is_win_by_mate)
                .map(|proof| moves_to_mate(proof.plies)),
        }
    }

    pub(crate) fn figures(&self) -> Figures {
        let SearchContext { clock, tree, .. } = &self.state.context;
        Figures {
            stats: self.stats(),
            counts: self.counts,
            device_busy: clock.device_busy(),
            tree_bytes: tree.bytes(),
            visits_by_move: self
                .children
                .iter()
                .map(|child| (child.mv, child.node.visits))
                .collect(),
        }
    }
}

/// The figures of a search at its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Those that the rules of time see.
    pub stats: SearchStats,
    /// What the search's threads counted.
    pub counts: CounterValues,
    /// How long the device computed. `None` in real time.
    pub device_busy: Option<Duration>,
    pub tree_bytes: u64,
    /// Visited root moves in the order of their policy.
    pub visits_by_move: Vec<(Move, u32)>,
}

impl Figures {
    /// The visited moves with their visits, most visited first.
    pub fn visits(&self) -> Vec<(Move, u32)> {
        let mut visits: Vec<_> = self
            .visits_by_move
            .iter()
            .copied()
            .filter(|&(_, n)| n > 0)
            .collect();
        visits.sort_by_key(|&(_, n)| Reverse(n));
        visits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_move(visits: u32, q: f32) -> RootMove {
        let mv = History::start().legal_moves()[0];
        RootMove {
            q,
            node: NodeReading {
                visits,
                ..NodeReading::NONE
            },
            ..RootMove::unvisited(mv, 0.1)
        }
    }

    fn best(factor: f32, moves: &[RootMove]) -> Option<usize> {
        best_by_bound(&moves.iter().collect::<Vec<_>>(), factor)
    }

    #[test]
    fn a_better_value_may_go_before_more_visits() {
        let moves = [
            open_move(400, 0.2),
            open_move(100, 0.3),
            open_move(20, 0.5),
            open_move(18, 0.9),
        ];
        assert_eq!(best(1.0, &moves[..2]), Some(1));
        assert_eq!(
            best(1.0, &moves),
            Some(2),
            "18 visits are less than a twentieth of 400"
        );
        assert_eq!(best(2.0, &[open_move(400, 0.2), open_move(100, 0.25)]), Some(0));
        assert_eq!(
            best(1.0, &[open_move(25, 0.5), open_move(25, 0.5)]),
            Some(0),
            "the first of equals"
        );
        assert_eq!(best(0.0, &moves), None);
        assert_eq!(best(1.0, &[]), None);
    }

    #[test]
    fn certain_moves_are_not_weighed_by_bounds() {
        let certain = |mut root_move: RootMove, outcome| {
            root_move.prove(Proof {
                outcome,
                plies: 3.0,
                is_mate: false,
            });
            root_move
        };
        let draw = || certain(open_move(30, 0.0), ProofOutcome::Draw);
        assert_eq!(best(1.0, &[open_move(100, -0.2), draw()]), Some(0));
        assert_eq!(best(1.0, &[draw(), open_move(20, 0.9)]), None);
    }
}
