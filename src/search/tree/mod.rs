//! The search tree: compact nodes in slabs, children in runs that double, no lock on the way down.
//!
//! An expanded node has a run of edges (move and policy), sorted by falling policy. Unvisited siblings share one
//! estimate of their value, so the one with the largest policy always comes next: the children that exist are
//! those of the first edges. A child keeps its edge in itself; the cells of edges that have a child are free,
//! and some of them hold where the children are: children 0 and 1 lie in a run whose index stands in edge cell 0,
//! children 2 and 3 in cell 2, 4–7 in cell 4, 8–15 in cell 8, and so on.
//!
//! Nodes don't know their parents, and nothing that depends on the path is stored as if it were the position's.
//! Used by the other files of `search`; uses `chess` only for moves.

mod node;
mod reclaim;
mod root;
mod slab;

pub(crate) use node::{Edge, Node, State, Value};
pub(crate) use reclaim::Reclaimer;
pub(crate) use root::GameTree;

use std::sync::atomic::{AtomicU32, Ordering};

use thiserror::Error;

use slab::Slab;

/// Where a node lives. Valid until the node's subtree is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(u32);

/// No memory is left for the tree's next node: all 2³² indices are in use.
#[derive(Clone, Copy, Debug, Error)]
#[error("the search tree has no index left for another node")]
pub(crate) struct TreeFull;

/// The nodes of all searches of a game. Shared by all threads.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: Slab<Node>,
    edges: Slab<AtomicU32>,
}

/// Edge cells are handed out in multiples of this.
const EDGE_STEP: usize = 4;

/// The first child of the run that holds child `index`, and the length of that run.
#[inline]
fn run_of_child(index: usize) -> (usize, usize) {
    if index < 2 {
        (0, 2)
    } else {
        let start = 1 << index.ilog2();
        (start, start)
    }
}

impl Tree {
    pub(crate) fn new() -> Tree {
        Tree { nodes: Slab::new(), edges: Slab::new() }
    }

    #[inline]
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        self.nodes.slot(id.0)
    }

    /// Bytes that nodes and edges in use take.
    pub(crate) fn bytes(&self) -> u64 {
        self.nodes.used() * size_of::<Node>() as u64 + self.edges.used() * size_of::<AtomicU32>() as u64
    }

    /// A fresh node without a parent.
    fn new_root(&self) -> Result<NodeId, TreeFull> {
        let id = NodeId(self.allocate_nodes(2)?);
        self.node(id).reset(Edge(0));
        Ok(id)
    }

    /// Gives a claimed node its edges, which the caller has sorted by falling policy, and ends the claim.
    pub(crate) fn expand(&self, id: NodeId, edges: &[Edge]) -> Result<(), TreeFull> {
        let (class, len) = edge_class(edges.len());
        let start = self.edges.allocate(class, len).ok_or(TreeFull)?;
        for (cell, edge) in self.edges.run(start, edges.len()).iter().zip(edges) {
            cell.store(edge.0, Ordering::Relaxed);
        }
        self.node(id).set_expanded(start, edges.len());
        Ok(())
    }

    /// The edge `index` of an expanded node that has no child there yet.
    #[inline]
    pub(crate) fn unvisited_edge(&self, node: &Node, index: usize) -> Edge {
        Edge(self.edges.slot(node.edges_start() + index as u32).load(Ordering::Relaxed))
    }

    /// The child of edge `index`, which exists (`index < child_count`).
    #[inline]
    pub(crate) fn child(&self, node: &Node, index: usize) -> NodeId {
        let (start, _) = run_of_child(index);
        let run = self.edges.slot(node.edges_start() + start as u32).load(Ordering::Relaxed);
        NodeId(run + (index - start) as u32)
    }

    /// All children that exist, in the order of their edges.
    pub(crate) fn children(&self, node: &Node) -> Children<'_> {
        Children { tree: self, edges: node.edges_start(), next: 0, count: node.child_count(), run: 0 }
    }

    /// The child of edge `index`, made if `index` is the first edge without one.
    /// `Ok(None)`: another worker is appending right now, or `index` is further on.
    pub(crate) fn child_or_new(&self, node: &Node, index: usize) -> Result<Option<NodeId>, TreeFull> {
        if index < node.child_count() {
            return Ok(Some(self.child(node, index)));
        }
        if !node.lock_for_growth(index) {
            return Ok(None);
        }
        let edge = self.unvisited_edge(node, index);
        let (start, len) = run_of_child(index);
        if index == start {
            match self.allocate_nodes(len as u32) {
                Ok(run) => {
                    self.edges.slot(node.edges_start() + start as u32).store(run, Ordering::Relaxed);
                }
                Err(full) => {
                    node.unlock();
                    return Err(full);
                }
            }
        }
        let child = self.child(node, index);
        self.node(child).reset(edge);
        node.unlock_with_new_child();
        Ok(Some(child))
    }

    fn allocate_nodes(&self, len: u32) -> Result<u32, TreeFull> {
        self.nodes.allocate(len.ilog2() as usize, len).ok_or(TreeFull)
    }

    fn release_nodes(&self, run: u32, len: u32) {
        self.nodes.release(len.ilog2() as usize, run, len);
    }

    fn release_edges(&self, node: &Node) {
        let (class, len) = edge_class(node.edge_count());
        self.edges.release(class, node.edges_start(), len);
    }
}

fn edge_class(edges: usize) -> (usize, u32) {
    let class = edges.div_ceil(EDGE_STEP);
    (class, (class * EDGE_STEP) as u32)
}

/// Iterates over a node's children; see [`Tree::children`].
#[derive(Debug)]
pub(crate) struct Children<'a> {
    tree: &'a Tree,
    edges: u32,
    next: usize,
    count: usize,
    /// Index of the node that child 0 would have if the present run reached back to it.
    run: u32,
}

impl<'a> Iterator for Children<'a> {
    type Item = (NodeId, &'a Node);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.count {
            return None;
        }
        let (start, _) = run_of_child(self.next);
        if start == self.next {
            let run = self.tree.edges.slot(self.edges + start as u32).load(Ordering::Relaxed);
            self.run = run.wrapping_sub(start as u32);
        }
        let id = NodeId(self.run.wrapping_add(self.next as u32));
        self.next += 1;
        Some((id, self.tree.node(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Move;

    fn expanded(tree: &Tree, edges: u16) -> NodeId {
        let root = tree.new_root().unwrap();
        assert!(tree.node(root).claim());
        let edges: Vec<_> =
            (0..edges).map(|i| Edge::new(Move::from_bits(i), 1.0 / f32::from(i + 1))).collect();
        tree.expand(root, &edges).unwrap();
        root
    }

    #[test]
    fn children_keep_their_edges_in_order() {
        let tree = Tree::new();
        let root = tree.node(expanded(&tree, 218));
        for index in 0..218 {
            assert!(tree.child_or_new(root, index + 1).unwrap().is_none(), "children are made in order");
            let child = tree.child_or_new(root, index).unwrap().unwrap();
            assert_eq!(tree.child(root, index), child);
            assert_eq!(root.child_count(), index + 1);
        }
        for (index, (id, child)) in tree.children(root).enumerate() {
            assert_eq!(id, tree.child(root, index));
            assert_eq!(child.edge().mv(), Move::from_bits(index as u16));
        }
        assert_eq!(tree.children(root).count(), 218);
    }

    #[test]
    fn one_worker_claims_and_one_appends() {
        let tree = Tree::new();
        for _ in 0..200 {
            let id = expanded(&tree, 40);
            let root = tree.node(id);
            let claims = AtomicU32::new(0);
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        while root.child_count() < 40 {
                            let count = root.child_count();
                            if let Some(child) = tree.child_or_new(root, count.min(39)).unwrap()
                                && tree.node(child).claim()
                            {
                                claims.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    });
                }
            });
            let seen: std::collections::HashSet<_> = tree.children(root).map(|(id, _)| id).collect();
            assert_eq!(seen.len(), 40);
            assert!(claims.into_inner() <= 40);
        }
    }
}
