//! Places the children of a node in memory, and makes new ones.
//!
//! They lie in the order in which they were made, in runs of 1, 1, 1, 1, 2, 2, 4, 4, 8, 8, … nodes; the last node of a run leads to the
//! next run. An eighth of all nodes is room for more children.

use super::slab::Run;
use super::{Edge, NO_RANK, Node, NodeId, TAKEN, Tree, TreeFull, Unvisited, best_rank};
use crate::chess::Move;
use crate::search::sync::atomic::Ordering;

/// A run of siblings.
pub(super) struct ChildRun {
    /// The slots.
    pub(super) run: Run,
    /// The number of slots that hold children; the others are room for more.
    pub(super) children: u32,
}

/// Iterates over a node's children; see [`Tree::children`].
#[derive(Debug)]
pub(crate) struct Children<'a> {
    tree: &'a Tree,
    /// The next child, while `index < count`.
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
        self.id = if starts_run(self.index) { node.next_run() } else { self.id + 1 };
        Some((id, node))
    }
}

/// Returns the first child of the run that holds child `index`, and the length of that run: children whose indices have
/// the same length and the same two highest bits lie together.
#[inline]
fn run_of_child(index: usize) -> (usize, usize) {
    if index < 4 {
        (index, 1)
    } else {
        let len = 1 << (index.ilog2() - 1);
        (index & !(len - 1), len)
    }
}

/// Returns whether child `index` (not 0) is the first of its run.
#[inline]
fn starts_run(index: usize) -> bool {
    let below_the_highest_bit = index << index.leading_zeros() << 1;
    below_the_highest_bit << 1 == 0
}

impl Tree {
    /// Makes the child of an unvisited move; `mv` is that move. Returns `None` if another worker is appending to this node
    /// right now, or has made this child.
    ///
    /// # Errors
    /// Fails if the tree has no room for another node.
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
        let cell = self.policies.slot(node.policy_start() + u32::from(unvisited.index / 2));
        let is_taken = (cell.load(Ordering::Relaxed) >> shift) as u16 == TAKEN;
        let place = if is_taken { Ok(None) } else { self.next_place(node).map(Some) };
        let Ok(Some(child)) = place else {
            node.unlock();
            return place;
        };
        self.node(child).reset(Edge::packed(mv, unvisited.policy));
        cell.fetch_or(u32::from(TAKEN) << shift, Ordering::Relaxed);
        node.set_best_unvisited(best_rank(self.policy_cells(node), NO_RANK));
        node.unlock_with_new_child();
        Ok(Some(child))
    }

    /// Returns where the next child of a node goes, whose lock for growth is held.
    fn next_place(&self, node: &Node) -> Result<NodeId, TreeFull> {
        let count = node.child_count();
        let (start, len) = run_of_child(count);
        let last = self.children(node).last();
        if count != start {
            // The run has room behind the last child.
            return last.map(|(NodeId(last), _)| NodeId(last + 1)).ok_or(TreeFull);
        }
        let run = self.allocate_nodes(len as u32)?;
        match last {
            None => node.set_first_child(run),
            Some((_, last)) => last.set_next_run(run),
        }
        Ok(NodeId(run))
    }

    /// Asks the processor to fetch the first child of a node that is about to be visited.
    #[inline]
    pub(crate) fn fetch_first_child(&self, node: &Node) {
        if node.child_count() > 0 {
            self.nodes.fetch(node.first_child());
        }
    }

    /// Asks the processor to fetch the policy of an expanded node, of which a child is about to be made.
    #[inline]
    pub(crate) fn fetch_policy(&self, node: &Node) {
        self.policies.fetch(node.policy_start());
    }

    /// Returns all children that exist, in the order in which they were made.
    #[inline]
    pub(crate) fn children(&self, node: &Node) -> Children<'_> {
        let count = node.child_count();
        Children { tree: self, id: node.first_child(), index: 0, count }
    }

    /// Returns the runs of a node's children, each with the number of its slots that hold children.
    pub(super) fn runs(&self, node: &Node) -> impl Iterator<Item = ChildRun> {
        let count = node.child_count();
        self.children(node).enumerate().filter_map(move |(index, (id, _))| {
            let (start, len) = run_of_child(index);
            let run = Run { start: id.0, len: len as u32 };
            (index == start).then_some(ChildRun { run, children: len.min(count - index) as u32 })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
