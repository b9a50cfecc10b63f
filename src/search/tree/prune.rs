//! Making room in a tree that has grown to its limit: the positions that were visited least become leaves again.
//!
//! A pruned node keeps its visits and their mean; what lay below it is freed, and found again when it is visited
//! again. So a search goes on at its limit, with its best lines untouched. Called by `worker`.

use std::sync::{PoisonError, TryLockError};

use super::reclaim::release_subtree;
use super::{NodeId, NodeState, Tree};
use crate::search::sync::RwLockReadGuard;
use crate::search::sync::atomic::Ordering;

/// Nodes with more visits are never pruned.
const MAX_PRUNED_VISITS: usize = 4096;
/// Share of the nodes in use that a pruning frees, if it can.
const FREED_SHARE: f64 = 0.25;
/// The number of nodes between two looks at whether the search is over.
const NODES_PER_LOOK: usize = 4096;

impl Tree {
    /// Returns a guard to be held while nodes below the root's children are used: nothing is pruned meanwhile.
    pub(crate) fn enter(&self) -> RwLockReadGuard<'_, ()> {
        self.traffic.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the guard of [`Tree::enter`], unless the tree is being pruned or about to be.
    pub(crate) fn try_enter(&self) -> Option<RwLockReadGuard<'_, ()>> {
        match self.traffic.try_read() {
            Ok(inside) => Some(inside),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Frees about a quarter of the nodes below `root`, those in whose parents the fewest visits are; nothing if another
    /// thread has just done so. Gives up when `is_over` says that the search is over. The caller must not be inside
    /// ([`Tree::enter`]); nodes with visits under way are left alone.
    pub(crate) fn prune(&self, root: NodeId, is_over: impl Fn() -> bool) {
        let _alone = self.traffic.write().unwrap_or_else(PoisonError::into_inner);
        if !self.is_full() {
            return;
        }
        if self.join_free_runs() {
            // The game has moved on, and what it left has other lengths than what is needed now.
            self.full.store(false, Ordering::Relaxed);
            return;
        }
        let most_visits = self.visits_to_prune(root, &is_over);
        self.walk(root, &is_over, |id| {
            let node = self.node(id);
            if node.visits() > most_visits || node.in_flight() > 0 || node.proof().is_some() {
                return true;
            }
            release_subtree(self, id, NodeId(0));
            node.collapse();
            false
        });
        self.join_free_runs();
        self.full.store(false, Ordering::Relaxed);
    }

    /// Returns the number of visits up to which nodes are to be pruned, so that enough of their children are freed.
    fn visits_to_prune(&self, root: NodeId, is_over: &impl Fn() -> bool) -> u32 {
        // Children by the visits of their parents.
        let mut children = vec![0u64; MAX_PRUNED_VISITS + 1];
        self.walk(root, is_over, |id| {
            let node = self.node(id);
            if let Some(count) = children.get_mut(node.visits() as usize) {
                *count += node.child_count() as u64;
            }
            true
        });
        let wanted = (self.nodes.used() as f64 * FREED_SHARE) as u64;
        let mut freed = 0;
        let enough = children.iter().position(|&count| {
            freed += count;
            freed >= wanted
        });
        enough.unwrap_or(MAX_PRUNED_VISITS) as u32
    }

    /// Calls `visit` for every node below `root` that has children, and goes below a node only if `visit` says so.
    fn walk(&self, root: NodeId, is_over: &impl Fn() -> bool, mut visit: impl FnMut(NodeId) -> bool) {
        let mut open = vec![root];
        let mut seen = 0;
        while let Some(id) = open.pop() {
            seen += 1;
            if seen % NODES_PER_LOOK == 0 && is_over() {
                return;
            }
            if id != root && !visit(id) {
                continue;
            }
            let has_children =
                |node: &super::Node| node.state() == NodeState::Expanded && node.child_count() > 0;
            let inner = self.children(self.node(id)).filter(|(_, child)| has_children(child));
            open.extend(inner.map(|(child, _)| child));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Move;
    use crate::search::tree::slab::Slab;
    use crate::search::tree::{NodeValue, VisitSum};

    /// Makes an expanded child of the last node of `path`, with one visit that is counted in the nodes of `path` too.
    fn grow(tree: &Tree, path: &[NodeId]) -> Option<NodeId> {
        let parent = tree.node(path[path.len() - 1]);
        let best = tree.best_unvisited(parent, None)?;
        let child = tree.new_child(parent, best, Move::from_bits(best.index.into())).ok()??;
        assert!(tree.node(child).claim());
        tree.expand(child, &[0.1; 10]).ok()?;
        for &id in path.iter().chain([&child]) {
            tree.node(id).start_visits(1);
            tree.node(id).end_visits(VisitSum::finished(1, NodeValue { v: 0.5, d: 0.0, m: 1.0 }));
        }
        Some(child)
    }

    /// Returns a random path, more often to earlier children; it ends where a child is made.
    fn random_path(tree: &Tree, root: NodeId, rng: &mut fastrand::Rng) -> Vec<NodeId> {
        let mut path = vec![root];
        while let Some(next) =
            tree.children(tree.node(path[path.len() - 1])).nth((rng.f32().powi(4) * 11.0) as usize)
        {
            if tree.node(next.0).state() != NodeState::Expanded {
                break;
            }
            path.push(next.0);
        }
        path
    }

    #[test]
    fn a_full_tree_loses_its_least_visited_nodes_and_stays_within_its_limit() {
        const LIMIT: u64 = 14_000_000;
        let tree = Tree::new();
        tree.set_limit(LIMIT);
        let root = tree.new_root().unwrap();
        assert!(tree.node(root).claim());
        tree.expand(root, &[0.1; 10]).unwrap();
        let mut rng = fastrand::Rng::with_seed(1);
        let mut prunings = 0;
        for _ in 0..1_000_000 {
            let path = random_path(&tree, root, &mut rng);
            let _ = grow(&tree, &path);
            if tree.is_full() {
                let kept = tree.children(tree.node(root)).next().unwrap().0;
                let visits = tree.node(kept).visits();
                let used = tree.bytes();
                tree.prune(root, || false);
                assert!(!tree.is_full() && tree.bytes() < used * 9 / 10, "{used} {}", tree.bytes());
                assert_eq!(tree.node(kept).visits(), visits);
                prunings += 1;
            }
            assert!(tree.reserved_bytes() <= LIMIT);
        }
        assert!(prunings > 3, "{prunings}");
    }

    /// A regression: where all indices of policies were in use, pruning made room that was never used again, so that every
    /// further expansion pruned in vain.
    #[test]
    fn a_tree_whose_indices_are_all_in_use_is_pruned_and_grows_on() {
        // Five cells for each policy: room for 26,000 of them.
        let tree = Tree::with_policies(Slab::ending_at(1 << 17));
        let root = tree.new_root().unwrap();
        assert!(tree.node(root).claim());
        tree.expand(root, &[0.1; 10]).unwrap();
        let mut rng = fastrand::Rng::with_seed(1);
        let (mut prunings, mut grown) = (0, 0);
        for _ in 0..100_000 {
            let path = random_path(&tree, root, &mut rng);
            grown += u32::from(grow(&tree, &path).is_some());
            if tree.is_full() {
                tree.prune(root, || false);
                prunings += 1;
            }
        }
        assert!(prunings > 0 && prunings < grown / 1000, "{prunings} prunings for {grown} new nodes");
        assert!(grown > 40_000, "{grown}");
    }

    #[test]
    fn nodes_with_visits_under_way_are_kept() {
        let tree = Tree::new();
        let root = tree.new_root().unwrap();
        assert!(tree.node(root).claim());
        tree.expand(root, &[0.1; 10]).unwrap();
        let busy = grow(&tree, &[root]).unwrap();
        let idle = grow(&tree, &[root]).unwrap();
        grow(&tree, &[root, busy]).unwrap();
        grow(&tree, &[root, idle]).unwrap();
        tree.node(busy).start_visits(1);
        tree.full.store(true, Ordering::Relaxed);
        tree.prune(root, || false);
        assert_eq!(
            (tree.node(busy).state(), tree.node(idle).state()),
            (NodeState::Expanded, NodeState::Unexpanded)
        );
        assert_eq!((tree.node(idle).visits(), tree.node(idle).q()), (2, 0.5));
    }
}
