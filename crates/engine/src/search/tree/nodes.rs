//! The nodes of a game, and how they hang together.
//!
//! ```text
//!  Node, 48 bytes                    run of policy cells, 2 moves each
//! ┌────────────────────────┐        ┌───────────┬───────────┬───────────┐
//! │ move and policy        │   ┌───►│ e2e4 d2d4 │ g1f3 TAKEN│ …         │   in the order of the legal moves
//! │ visits, q, d, m, proof │   │    └───────────┴───────────┴───────────┘
//! │ policy run ────────────┼───┘      TAKEN: the move has become a child
//! │ best unvisited: d2d4   │
//! │ first child ───────────┼───►┌──────┐   ┌──────┐   ┌──────┐   ┌──────┐   ┌──────┬──────┐
//! └────────────────────────┘    │ g1f3 ├──►│ c2c4 ├──►│  …   ├──►│      ├──►│      │ free │
//!                               └──────┘   └──────┘   └──────┘   └──────┘   └──────┴──────┘
//!                                run of 1   run of 1   run of 1   run of 1   run of 2, then 2, 4, 4, …
//! ```
//!
//! A child keeps its move and policy in itself. The node knows its best unvisited move, so that a descent
//! seldom looks at the policy. Most nodes are visited once: they cost a node and two bytes per legal move.
//!
//! Children lie in the order in which they were made. An eighth of all nodes is room for more.

use thiserror::Error;

use super::node::{Edge, Node};
use super::slab::{self, Run, RunClasses, Slab, Slot};
use crate::chess::Move;
use crate::network::{Value, cache};
use crate::search::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use crate::search::sync::{Mutex, RwLock};

/// Valid until the node's subtree is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(pub(super) u32);

/// The tree has grown to its limit, or all 2³² indices are in use.
#[derive(Clone, Copy, Debug, Error)]
#[error("the search tree has no room for another node")]
pub struct TreeFull;

pub(crate) struct Tree {
    pub(super) nodes: Slab<Node>,
    /// Of expanded nodes, two moves to a cell.
    policies: Slab<AtomicU32>,
    limit: AtomicU64,
    /// True if an allocation failed since the last pruning.
    pub(super) full: AtomicBool,
    /// Since the game last left something behind. Relaxed: only the thread that moves the root asks.
    pub(super) pruned: AtomicBool,
    /// A thread has died at work. Relaxed: whoever asks has seen it leave.
    damaged: AtomicBool,
    /// Changed under the exclusive lock below, and by the thread that moves the root.
    pub(super) pruning: Mutex<PruningWalk>,
    /// Held shared by users of nodes that may be pruned, exclusively for pruning.
    pub(super) traffic: RwLock<()>,
}

#[derive(Default)]
pub(super) struct PruningWalk {
    pub(super) root: Option<NodeId>,
    /// Nodes still to come, with all below them.
    pub(super) open: Vec<NodeId>,
    pub(super) most_visits: u32,
}

/// A tree's limit divided by this is kept for pruning's own notes.
const PRUNING_PART: u64 = 16;
/// Nothing is pruned where this part of all slots is free for runs of any length …
const ROOMY_PART: u64 = 8;
/// … or this many slots.
const ROOMY_SLOTS: u64 = 1 << 18;
/// Bytes: less is of no use to a search.
const MIN_LIMIT: u64 = 8_000_000;

/// Powers of two.
const NODE_RUNS: RunClasses = RunClasses {
    len: |class| 1 << class,
    within: |len| len.ilog2() as usize,
};
pub(super) const POLICY_RUNS: RunClasses = RunClasses {
    len: |class| class as u32,
    within: |len| (len as usize).min(slab::CLASSES - 1),
};

/// Marks the policy of a move that has a child. Larger than any policy.
const TAKEN: u16 = u16::MAX;
/// Above the rank of every unvisited move, not above that of a taken one.
const NO_RANK: u32 = (TAKEN as u32) << 8;

/// A move without a child, by its index among the legal moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unvisited {
    pub(crate) index: u8,
    policy: u16,
}

impl Unvisited {
    #[inline]
    pub(crate) fn policy(self) -> f32 {
        cache::expand(self.policy)
    }

    /// Larger for larger policies, then for earlier moves.
    #[inline]
    fn rank(self) -> u32 {
        u32::from(self.policy) << 8 | u32::from(u8::MAX - self.index)
    }

    #[inline]
    fn ranked(rank: u32) -> Option<Unvisited> {
        (rank > 0).then(|| Unvisited {
            index: u8::MAX - rank as u8,
            policy: (rank >> 8) as u16,
        })
    }
}

/// The best rank in `cells` below `limit` that is not taken, or 0.
fn best_rank(cells: &[AtomicU32], limit: u32) -> u32 {
    let mut best = 0;
    for (cell, place) in cells.iter().zip(0u8..) {
        let pair = cell.load(Relaxed);
        let ranks = [(pair as u16, 2 * place), ((pair >> 16) as u16, 2 * place + 1)]
            .map(|(policy, index)| Unvisited { index, policy }.rank());
        for rank in ranks {
            best = best.max(if rank < limit { rank } else { 0 });
        }
    }
    best
}

impl Tree {
    pub(crate) fn new() -> Tree {
        Tree::with_policies(Slab::new(POLICY_RUNS))
    }

    pub(super) fn with_policies(policies: Slab<AtomicU32>) -> Tree {
        Tree {
            nodes: Slab::new(NODE_RUNS),
            policies,
            limit: AtomicU64::new(u64::MAX),
            full: AtomicBool::new(false),
            pruned: AtomicBool::new(false),
            damaged: AtomicBool::new(false),
            pruning: Mutex::default(),
            traffic: RwLock::new(()),
        }
    }

    #[inline]
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        self.nodes.slot(id.0)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.nodes.used() * size_of::<Node>() as u64 + self.policies.used() * size_of::<AtomicU32>() as u64
    }

    pub(crate) fn reserved_bytes(&self) -> u64 {
        self.nodes.reserved_bytes() + self.policies.reserved_bytes()
    }

    pub(crate) fn set_limit(&self, bytes: u64) {
        self.limit
            .store((bytes - bytes / PRUNING_PART).max(MIN_LIMIT), Relaxed);
    }

    pub(super) fn is_short_of_memory(&self) -> bool {
        self.pruned.load(Relaxed) || self.bytes() >= self.limit.load(Relaxed) / 2
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Relaxed)
    }

    pub(crate) fn mark_damaged(&self) {
        self.damaged.store(true, Relaxed);
    }

    /// Claims and visits under way may stay for ever.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged.load(Relaxed)
    }

    /// A tree at its limit takes free runs only.
    fn allocate<T: Slot>(&self, slab: &Slab<T>, len: u32) -> Result<u32, TreeFull> {
        let fits = || self.reserved_bytes() + slab.growth_bytes() <= self.limit.load(Relaxed);
        let grown = || if fits() { slab.grow(len) } else { None };
        slab.allocate(len)
            .or_else(grown)
            .or_else(|| slab.carve(len))
            .ok_or_else(|| {
                self.full.store(true, Relaxed);
                TreeFull
            })
    }

    pub(super) fn new_root(&self) -> Result<NodeId, TreeFull> {
        let id = NodeId(self.allocate(&self.nodes, 1)?);
        self.node(id).reset(Edge(0));
        Ok(id)
    }

    /// Ends the claim. `policy` is in the order of the move list.
    pub(crate) fn expand(&self, id: NodeId, policy: &[f32]) -> Result<(), TreeFull> {
        let len = policy_cells(policy.len());
        let start = self.allocate(&self.policies, len)?;
        let cells = self.policies.run(start, len as usize);
        for (cell, pair) in cells.iter().zip(policy.chunks(2)) {
            let high = u32::from(pair.get(1).map_or(TAKEN, |&p| cache::compress(p)));
            cell.store(high << 16 | u32::from(cache::compress(pair[0])), Relaxed);
        }
        let node = self.node(id);
        node.best_unvisited.store(best_rank(cells, NO_RANK), Relaxed);
        node.set_expanded(start, policy.len());
        Ok(())
    }

    #[inline]
    fn policy_cells(&self, node: &Node) -> &[AtomicU32] {
        match node.edge_count() {
            0 => &[],
            count => self.policies.run(node.policy_start(), count.div_ceil(2)),
        }
    }

    pub(crate) fn unvisited(&self, node: &Node) -> impl Iterator<Item = Unvisited> {
        let cells = self.policy_cells(node);
        (0..node.edge_count()).filter_map(|index| {
            let policy = (cells[index / 2].load(Relaxed) >> (index % 2 * 16)) as u16;
            (policy != TAKEN).then_some(Unvisited {
                index: index as u8,
                policy,
            })
        })
    }

    #[inline]
    pub(crate) fn best_unvisited(&self, node: &Node, last: Option<Unvisited>) -> Option<Unvisited> {
        Unvisited::ranked(match last {
            None => node.best_unvisited.load(Relaxed),
            Some(last) => best_rank(self.policy_cells(node), last.rank()),
        })
    }

    /// Makes the end of `path`, a draw by repetition that the root has moved past, a leaf again. Takes its
    /// visits back from the whole path.
    pub(crate) fn revert_two_fold_draw(&self, path: &[NodeId]) -> u32 {
        let draw = path.last().map_or(Value::DRAW, |&leaf| self.node(leaf).mean());
        let visits = path
            .last()
            .and_then(|&leaf| self.node(leaf).reopen())
            .unwrap_or(0);
        if visits > 0 {
            path.iter().rev().fold(draw, |value, &id| {
                self.node(id).take_back_visits(visits, value).at_parent()
            });
        }
        visits
    }

    pub(super) fn become_root(&self, id: NodeId) {
        let _alone = self.traffic.write();
        let node = self.node(id);
        node.become_root(self.children(node).map(|(_, child)| child));
    }

    pub(super) fn join_free_runs(&self) -> bool {
        let nodes = self.nodes.join_free_runs();
        let cells = self.policies.join_free_runs();
        let wanted = |extent: u64| (extent / ROOMY_PART).min(ROOMY_SLOTS);
        nodes >= wanted(self.nodes.extent()) && cells >= wanted(self.policies.extent())
    }

    pub(super) fn release_policy(&self, node: &Node) {
        self.policies.release(Run {
            start: node.policy_start(),
            len: policy_cells(node.edge_count()),
        });
    }
}

fn policy_cells(moves: usize) -> u32 {
    moves.div_ceil(2).max(1) as u32
}

pub(super) struct ChildRun {
    pub(super) run: Run,
    pub(super) children: u32,
}

pub(crate) struct Children<'a> {
    tree: &'a Tree,
    id: u32,
    index: usize,
    count: usize,
}

impl<'a> Iterator for Children<'a> {
    type Item = (NodeId, &'a Node);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.index == self.count {
            return None;
        }
        let id = NodeId(self.id);
        let node = self.tree.node(id);
        self.index += 1;
        self.id = if starts_run(self.index) {
            node.next.load(Relaxed)
        } else {
            self.id + 1
        };
        Some((id, node))
    }
}

/// The first child of the run that holds child `index`, and its length.
#[inline]
fn run_of_child(index: usize) -> (usize, usize) {
    if index < 4 {
        (index, 1)
    } else {
        let len = 1 << (index.ilog2() - 1);
        (index & !(len - 1), len)
    }
}

/// True if child `index` (not 0) is the first of its run.
#[inline]
fn starts_run(index: usize) -> bool {
    let below_the_highest_bit = index << index.leading_zeros() << 1;
    below_the_highest_bit << 1 == 0
}

impl Tree {
    /// `None` if another worker is appending here, or has made this child.
    pub(crate) fn new_child(
        &self,
        node: &Node,
        unvisited: Unvisited,
        mv: Move,
    ) -> Result<Option<NodeId>, TreeFull> {
        if !node.lock_for_growth() {
            return Ok(None);
        }
        let shift = unvisited.index % 2 * 16;
        let cell = self
            .policies
            .slot(node.policy_start() + u32::from(unvisited.index / 2));
        let is_taken = (cell.load(Relaxed) >> shift) as u16 == TAKEN;
        let place = if is_taken {
            Ok(None)
        } else {
            self.next_place(node).map(Some)
        };
        let Ok(Some(child)) = place else {
            node.unlock();
            return place;
        };
        self.node(child).reset(Edge::packed(mv, unvisited.policy));
        cell.fetch_or(u32::from(TAKEN) << shift, Relaxed);
        node.best_unvisited
            .store(best_rank(self.policy_cells(node), NO_RANK), Relaxed);
        node.unlock_with_new_child();
        Ok(Some(child))
    }

    fn next_place(&self, node: &Node) -> Result<NodeId, TreeFull> {
        let count = node.child_count();
        let (start, len) = run_of_child(count);
        let last = self.children(node).last();
        if count != start {
            return last.map(|(NodeId(last), _)| NodeId(last + 1)).ok_or(TreeFull);
        }
        let run = self.allocate(&self.nodes, len as u32)?;
        match last {
            None => node.first_child.store(run, Relaxed),
            Some((_, last)) => last.next.store(run, Relaxed),
        }
        Ok(NodeId(run))
    }

    #[inline]
    pub(crate) fn fetch_first_child(&self, node: &Node) {
        if node.child_count() > 0 {
            self.nodes.fetch(node.first_child.load(Relaxed));
        }
    }

    #[inline]
    pub(crate) fn fetch_policy(&self, node: &Node) {
        self.policies.fetch(node.policy_start());
    }

    #[inline]
    pub(crate) fn children(&self, node: &Node) -> Children<'_> {
        let count = node.child_count();
        Children {
            tree: self,
            id: node.first_child.load(Relaxed),
            index: 0,
            count,
        }
    }

    pub(super) fn runs(&self, node: &Node) -> impl Iterator<Item = ChildRun> {
        let count = node.child_count();
        self.children(node)
            .enumerate()
            .filter_map(move |(index, (id, _))| {
                let (start, len) = run_of_child(index);
                let run = Run {
                    start: id.0,
                    len: len as u32,
                };
                (index == start).then_some(ChildRun {
                    run,
                    children: len.min(count - index) as u32,
                })
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Tree {
        /// Counts nodes in runs as allocated, and all policies.
        pub(in super::super) fn bytes_below(&self, roots: Vec<NodeId>) -> u64 {
            let (mut open, mut bytes) = (roots, 0);
            while let Some(id) = open.pop() {
                let node = self.node(id);
                let is_expanded = node.state() == super::super::node::NodeState::Expanded;
                let cells = if is_expanded {
                    policy_cells(node.edge_count())
                } else {
                    0
                };
                let slots: u32 = self.runs(node).map(|siblings| siblings.run.len).sum();
                bytes += u64::from(cells) * size_of::<AtomicU32>() as u64
                    + u64::from(slots) * size_of::<Node>() as u64;
                open.extend(self.children(node).map(|(child, _)| child));
            }
            bytes
        }

        pub(crate) fn mark_full(&self) {
            self.full.store(true, Relaxed);
        }
    }

    fn expanded(tree: &Tree, moves: u16) -> NodeId {
        let root = tree.new_root().unwrap();
        assert!(tree.node(root).claim());
        let policy: Vec<_> = (0..moves).map(|i| 1.0 / f32::from((i * 7) % moves + 1)).collect();
        tree.expand(root, &policy).unwrap();
        root
    }

    #[test]
    fn moves_are_taken_by_falling_policy() {
        for moves in [1, 2, 3, 20, 218] {
            let tree = Tree::new();
            let root = tree.node(expanded(&tree, moves));
            let mut last = None;
            for made in 0..usize::from(moves) {
                assert_eq!(tree.unvisited(root).count(), usize::from(moves) - made);
                let best = tree.best_unvisited(root, None).unwrap();
                assert!(last.is_none_or(|policy| policy >= best.policy()));
                last = Some(best.policy());
                let mv = Move::from_bits(best.index.into());
                let child = tree.new_child(root, best, mv).unwrap().unwrap();
                assert!(tree.new_child(root, best, mv).unwrap().is_none(), "made twice");
                assert_eq!(tree.node(child).edge().policy(), best.policy());
                let moves: Vec<_> = tree.children(root).map(|(_, child)| child.edge().mv()).collect();
                assert_eq!((moves.len(), moves[made]), (made + 1, mv));
            }
            assert_eq!(tree.best_unvisited(root, None), None);
        }
    }

    #[test]
    fn unvisited_moves_can_be_walked_without_taking_them() {
        let tree = Tree::new();
        let root = tree.node(expanded(&tree, 33));
        let walk = std::iter::successors(tree.best_unvisited(root, None), |&last| {
            tree.best_unvisited(root, Some(last))
        });
        let policies: Vec<_> = walk.map(Unvisited::policy).collect();
        assert_eq!(policies.len(), 33);
        assert!(policies.is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn runs_follow_each_other() {
        let (mut next, mut lens) = (0, Vec::new());
        while next < 256 {
            let (start, len) = run_of_child(next);
            assert_eq!(start, next);
            for index in start..start + len {
                assert_eq!(run_of_child(index), (start, len));
                assert!(index == 0 || starts_run(index) == (index == start), "{index}");
            }
            lens.push(len);
            next += len;
        }
        assert_eq!(lens, [1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 16, 32, 32, 64, 64]);
    }
}
