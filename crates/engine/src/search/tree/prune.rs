//! Frees memory: of a tree at its limit, and of what the game has left.
//!
//! In a full tree the least visited positions become leaves again, which keep their visits and mean. All
//! threads wait meanwhile, so each pruning covers a part of a large tree, and the next one continues there.

use std::time::Duration;

use crossbeam::channel::{Sender, unbounded};

use super::node::{Node, NodeState};
use super::nodes::{ChildRun, NodeId, PruningWalk, Tree};
use super::slab::Run;
use crate::search::sync::RwLockReadGuard;
use crate::search::sync::atomic::Ordering;

/// Nodes with more visits are never pruned.
const MAX_PRUNED_VISITS: usize = 4096;
/// Share of the nodes that a whole walk is to free.
const FREED_SHARE: f64 = 0.25;
/// Nodes between two checks whether the search is over.
const NODES_PER_LOOK: u64 = 4096;
/// All threads wait for one pruning: some hundredths of a second.
const BOUNDS: PruningBounds = PruningBounds {
    freed: 1 << 17,
    seen: 1 << 18,
};
/// Places sampled to find the least visited quarter.
const SAMPLES: u64 = 1 << 14;

/// Nothing is pruned while this guard lives.
pub(crate) type Inside<'a> = RwLockReadGuard<'a, ()>;

struct PruningBounds {
    /// Nodes to free. The last subtree may exceed it.
    freed: u64,
    seen: u64,
}

impl Tree {
    /// For the use of nodes below the root's children.
    pub(crate) fn enter(&self) -> Inside<'_> {
        self.traffic.read()
    }

    pub(crate) fn try_enter(&self) -> Option<Inside<'_>> {
        self.traffic.try_read()
    }

    pub(crate) fn enter_within(&self, patience: Duration) -> Option<Inside<'_>> {
        self.traffic.try_read_for(patience)
    }

    /// Frees nodes whose parents have the fewest visits and none under way: about a quarter of a small tree,
    /// less of a large one, nothing if another thread has just pruned. The caller must not hold
    /// [`Tree::enter`].
    pub(crate) fn prune(&self, root: NodeId, is_over: impl Fn() -> bool) {
        self.prune_within(BOUNDS, root, is_over);
    }

    fn prune_within(&self, bounds: PruningBounds, root: NodeId, is_over: impl Fn() -> bool) {
        let _alone = self.traffic.write();
        if !self.is_full() || is_over() {
            return;
        }
        // What the game has left may have other lengths than needed.
        let begins_to_prune = self.pruning.lock().root != Some(root);
        if !(begins_to_prune && self.join_free_runs()) {
            self.walk_on(bounds, root, is_over);
            self.join_free_runs();
            self.pruned.store(true, Ordering::Relaxed);
        }
        self.full.store(false, Ordering::Relaxed);
    }

    /// Nodes that the walk has still to visit may be released afterwards.
    pub(super) fn end_pruning_walk(&self) {
        *self.pruning.lock() = PruningWalk::default();
    }

    fn walk_on(&self, bounds: PruningBounds, root: NodeId, is_over: impl Fn() -> bool) {
        let mut walk = self.pruning.lock();
        if walk.root != Some(root) {
            *walk = PruningWalk {
                root: Some(root),
                ..PruningWalk::default()
            };
        }
        let mut freed = 0;
        let mut seen = 0;
        // The end of a walk may free nothing: then another one begins.
        for _ in 0..2 {
            if walk.open.is_empty() {
                walk.open.push(root);
                walk.most_visits = self.visits_to_prune();
            }
            while let Some(id) = walk.open.pop() {
                let node = self.node(id);
                let is_idle = node.in_flight() == 0 && node.proof().is_none();
                if id != root && is_idle && node.visits() <= walk.most_visits {
                    freed += release_subtree(self, id, NodeId(0));
                } else {
                    let children = self.children(node).filter(|(_, child)| has_children(child));
                    walk.open.extend(children.map(|(child, _)| child));
                }
                seen += 1;
                let is_done = freed >= bounds.freed || seen >= bounds.seen;
                if is_done || (seen % NODES_PER_LOOK == 0 && is_over()) {
                    return;
                }
            }
            if freed > 0 {
                return;
            }
        }
    }

    /// Estimated from nodes at equal distances in memory.
    fn visits_to_prune(&self) -> u32 {
        let mut children = vec![0u64; MAX_PRUNED_VISITS + 1];
        let mut all = 0;
        let extent = self.nodes.extent();
        for index in (1..extent).step_by((extent / SAMPLES).max(1) as usize) {
            let node = self.node(NodeId(index as u32));
            if has_children(node) {
                let count = node.child_count() as u64;
                all += count;
                if let Some(counted) = children.get_mut(node.visits() as usize) {
                    *counted += count;
                }
            }
        }
        let wanted = (all as f64 * FREED_SHARE) as u64;
        let mut freed = 0;
        let enough = children.iter().position(|&count| {
            freed += count;
            freed > wanted
        });
        enough.unwrap_or(MAX_PRUNED_VISITS) as u32
    }
}

/// False for a node that was given back.
fn has_children(node: &Node) -> bool {
    node.state() == NodeState::Expanded && node.child_count() > 0
}

type ReclaimTask = Box<dyn FnOnce() + Send>;

pub(crate) struct Reclaimer {
    /// `None` frees at once, on the thread that discards.
    queue: Option<Sender<ReclaimTask>>,
}

impl Reclaimer {
    /// On a thread that outlives the drop until its last task, or in place if the system has none to spare.
    pub(crate) fn new() -> Reclaimer {
        let (queue, tasks) = unbounded::<ReclaimTask>();
        let thread = std::thread::Builder::new().name("reclaim".into());
        let spawned = thread.spawn(move || tasks.into_iter().for_each(|task| task()));
        Reclaimer {
            queue: spawned.is_ok().then_some(queue),
        }
    }

    pub(crate) fn in_place() -> Reclaimer {
        Reclaimer { queue: None }
    }

    pub(crate) fn add(&self, task: impl FnOnce() + Send + 'static) {
        match &self.queue {
            Some(queue) => drop(queue.send(Box::new(task))),
            None => task(),
        }
    }
}

/// Frees the root in `run` and its subtree, except that of `keep`. No worker may still touch them.
pub(super) fn release_part(tree: &Tree, root: NodeId, run: Run, keep: NodeId) {
    release_subtree(tree, root, keep);
    tree.nodes.release(run);
}

enum ReleaseStep {
    Below(NodeId),
    Nodes(Run),
}

/// `keep` and its subtree stay. Returns the number of freed nodes.
fn release_subtree(tree: &Tree, root: NodeId, keep: NodeId) -> u64 {
    let mut steps = vec![ReleaseStep::Below(root)];
    let mut released = 0;
    while let Some(step) = steps.pop() {
        let id = match step {
            ReleaseStep::Below(id) => id,
            ReleaseStep::Nodes(run) => {
                tree.nodes.release(run);
                released += u64::from(run.len);
                continue;
            }
        };
        let node = tree.node(id);
        if node.state() != NodeState::Expanded {
            continue;
        }
        for ChildRun { run, children } in tree.runs(node) {
            let ids = run.start..run.start + children;
            if !ids.contains(&keep.0) {
                steps.push(ReleaseStep::Nodes(run));
            }
            steps.extend(
                ids.map(NodeId)
                    .filter(|&child| child != keep)
                    .map(ReleaseStep::Below),
            );
        }
        tree.release_policy(node);
        // So samples find nothing below it.
        node.collapse();
    }
    released
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Move;
    use crate::network::Value;
    use crate::search::tree::node::VisitSum;
    use crate::search::tree::nodes::POLICY_RUNS;
    use crate::search::tree::slab::Slab;

    fn grow(tree: &Tree, path: &[NodeId]) -> Option<NodeId> {
        let parent = tree.node(path[path.len() - 1]);
        let best = tree.best_unvisited(parent, None)?;
        let child = tree
            .new_child(parent, best, Move::from_bits(best.index.into()))
            .ok()??;
        assert!(tree.node(child).claim());
        tree.expand(child, &[0.1; 10]).ok()?;
        for &id in path.iter().chain([&child]) {
            tree.node(id).start_visits(1);
            tree.node(id).end_visits(VisitSum::finished(
                1,
                Value {
                    wl: 0.5,
                    d: 0.0,
                    m: 1.0,
                },
            ));
        }
        Some(child)
    }

    /// The path prefers earlier children and ends where a child is made.
    fn random_path(tree: &Tree, root: NodeId, rng: &mut fastrand::Rng) -> Vec<NodeId> {
        let mut path = vec![root];
        while let Some(next) = tree
            .children(tree.node(path[path.len() - 1]))
            .nth((rng.f32().powi(4) * 11.0) as usize)
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
                assert!(
                    !tree.is_full() && tree.bytes() < used * 9 / 10,
                    "{used} {}",
                    tree.bytes()
                );
                assert_eq!(tree.node(kept).visits(), visits);
                prunings += 1;
            }
            assert!(tree.reserved_bytes() <= LIMIT);
        }
        assert!(prunings > 3, "{prunings}");
    }

    /// A regression: where all indices of policies were in use, pruning made room that was never used again.
    #[test]
    fn a_tree_whose_indices_are_all_in_use_is_pruned_and_grows_on() {
        // Five cells for each policy: room for 26,000 of them.
        let tree = Tree::with_policies(Slab::ending_at(1 << 17, POLICY_RUNS));
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
        assert!(
            prunings > 0 && prunings < grown / 1000,
            "{prunings} prunings for {grown} new nodes"
        );
        assert!(grown > 40_000, "{grown}");
    }

    fn grown(tree: &Tree, nodes: usize) -> NodeId {
        let root = tree.new_root().unwrap();
        assert!(tree.node(root).claim());
        tree.expand(root, &[0.1; 10]).unwrap();
        let mut rng = fastrand::Rng::with_seed(2);
        let mut made = 0;
        while made < nodes {
            made += usize::from(grow(tree, &random_path(tree, root, &mut rng)).is_some());
        }
        tree.mark_full();
        root
    }

    /// A regression: a pruning that learnt at once that the search was over freed thousands of subtrees.
    #[test]
    fn nothing_is_pruned_once_the_search_is_over() {
        let tree = Tree::new();
        let root = grown(&tree, 20_000);
        let used = tree.bytes();
        tree.prune(root, || true);
        assert_eq!((tree.bytes(), tree.is_full()), (used, true));
    }

    /// A regression: memory that the game had left counted too, and most of the present tree was pruned.
    #[test]
    fn what_the_game_has_left_costs_the_present_tree_nothing() {
        let tree = Tree::new();
        grown(&tree, 30_000);
        let left = tree.nodes.used();
        let root = grown(&tree, 10_000);
        let present = tree.nodes.used() - left;
        tree.prune(root, || false);
        let freed = left + present - tree.nodes.used();
        assert!(
            (present / 10..present / 2).contains(&freed),
            "{freed} of {present}"
        );
    }

    /// A regression: a pruning went through a whole large tree at once, and all threads waited for seconds.
    #[test]
    fn a_pruning_is_bounded_and_the_next_one_goes_on_where_it_ended() {
        let tree = Tree::new();
        let root = grown(&tree, 30_000);
        let all = tree.nodes.used();
        let mut prunings = 0;
        while prunings == 0 || !tree.pruning.lock().open.is_empty() {
            let before = tree.nodes.used();
            tree.mark_full();
            tree.walk_on(
                PruningBounds {
                    freed: 500,
                    seen: 1000,
                },
                root,
                || false,
            );
            let freed = before - tree.nodes.used();
            assert!(freed < 500 + MAX_PRUNED_VISITS as u64, "{freed}");
            prunings += 1;
        }
        assert!(prunings > 10, "{prunings}");
        let freed = all - tree.nodes.used();
        assert!((all / 8..all / 2).contains(&freed), "{freed} of {all}");
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
        tree.mark_full();
        tree.prune(root, || false);
        assert_eq!(
            (tree.node(busy).state(), tree.node(idle).state()),
            (NodeState::Expanded, NodeState::Unexpanded)
        );
        assert_eq!((tree.node(idle).visits(), tree.node(idle).wl()), (2, 0.5));
    }

    #[test]
    fn all_memory_comes_back() {
        let tree = Tree::new();
        let root = grown(&tree, 5_000);
        let (kept, _) = tree.children(tree.node(root)).next().unwrap();
        let before = tree.bytes();
        release_subtree(&tree, root, kept);
        tree.nodes.release(Run::single(root.0));
        let between = tree.bytes();
        assert!(between < before && between > 0);
        assert_eq!(
            tree.node(kept).state(),
            NodeState::Expanded,
            "the kept part is untouched"
        );
        release_subtree(&tree, kept, NodeId(0));
        tree.nodes.release(Run::single(kept.0));
        assert_eq!(tree.bytes(), 0);
    }
}
