//! Frees subtrees that the game has left behind, in the background, so that nobody waits for it.

use std::sync::Arc;

use crossbeam::channel::{Sender, unbounded};

use super::node::NodeState;
use super::nodes::{ChildRun, NodeId, Tree};
use super::slab::Run;

/// Subtrees that the game has left.
pub(super) struct Discard {
    /// The tree that they lie in.
    pub(super) tree: Arc<Tree>,
    /// Their roots, with the runs that hold them.
    pub(super) parts: Vec<(NodeId, Run)>,
    /// The root of the part to keep, if it lies inside of one of them.
    pub(super) keep: NodeId,
    /// Waits until no worker of an earlier search can touch the discarded nodes any more.
    pub(super) quiescence: Box<dyn FnOnce() + Send>,
}

/// A task of the reclaimer.
type ReclaimTask = Box<dyn FnOnce() + Send>;

/// Walks discarded subtrees and gives their memory back, on a thread of its own or at once.
#[derive(Debug)]
pub(crate) struct Reclaimer {
    /// `None` if everything is freed at once, on the thread that discards.
    queue: Option<Sender<ReclaimTask>>,
}

impl Reclaimer {
    /// Starts the thread; it ends when the reclaimer is dropped and its tasks are done.
    pub(crate) fn new() -> Reclaimer {
        let (queue, tasks) = unbounded::<ReclaimTask>();
        std::thread::spawn(move || tasks.into_iter().for_each(|task| task()));
        Reclaimer { queue: Some(queue) }
    }

    /// Returns a reclaimer without a thread, for searches whose answer nobody waits for: what is discarded is free at once.
    pub(crate) fn in_place() -> Reclaimer {
        Reclaimer { queue: None }
    }

    fn add(&self, task: impl FnOnce() + Send + 'static) {
        match &self.queue {
            // The receiver lives as long as the queue.
            Some(queue) => drop(queue.send(Box::new(task))),
            None => task(),
        }
    }

    /// Frees what a game has left, once nobody can touch it any more.
    pub(super) fn release(&self, discard: Discard) {
        self.add(|| discard.run());
    }

    /// Drops a whole tree; its workers may still hold on to it for a while.
    pub(crate) fn release_tree(&self, tree: impl Send + 'static) {
        self.add(|| drop(tree));
    }
}

impl Discard {
    fn run(self) {
        (self.quiescence)();
        for (root, run) in self.parts {
            release_subtree(&self.tree, root, self.keep);
            self.tree.release_nodes(run);
        }
    }
}

/// A step that is left to do of a walk through a discarded subtree.
enum ReleaseStep {
    /// Release what is below this node, then its policy.
    Below(NodeId),
    /// Release this run of nodes; all of them have been dealt with.
    Nodes(Run),
}

/// Gives back everything below `root`, which becomes a leaf, but not `keep`, what is below it, and the run that holds it.
/// Returns how many nodes those were.
pub(super) fn release_subtree(tree: &Tree, root: NodeId, keep: NodeId) -> u64 {
    let mut steps = vec![ReleaseStep::Below(root)];
    let mut released = 0;
    while let Some(step) = steps.pop() {
        let id = match step {
            ReleaseStep::Below(id) => id,
            ReleaseStep::Nodes(run) => {
                tree.release_nodes(run);
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
            steps.extend(ids.map(NodeId).filter(|&child| child != keep).map(ReleaseStep::Below));
        }
        tree.release_policy(node);
        // Whoever looks at places of the tree without a way there finds nothing below it.
        node.collapse();
    }
    released
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Move;

    /// Expands nodes breadth first until there are `nodes`; returns the root.
    fn grow(tree: &Tree, root: NodeId, nodes: usize) {
        let mut queue = std::collections::VecDeque::from([root]);
        let mut made = 1;
        while made < nodes {
            let id = queue.pop_front().unwrap();
            let node = tree.node(id);
            assert!(node.claim());
            let moves = 1 + made % 37;
            tree.expand(id, &vec![0.5; moves]).unwrap();
            for _ in 0..moves {
                let best = tree.best_unvisited(node, None).unwrap();
                let child = tree.new_child(node, best, Move::from_bits(best.index.into()));
                queue.push_back(child.unwrap().unwrap());
                made += 1;
            }
        }
    }

    #[test]
    fn all_memory_comes_back() {
        let tree = Arc::new(Tree::new());
        let root = tree.new_root().unwrap();
        grow(&tree, root, 5_000);
        let (kept, _) = tree.children(tree.node(root)).next().unwrap();
        let before = tree.bytes();
        release_subtree(&tree, root, kept);
        tree.release_nodes(Run::single(root.0));
        let between = tree.bytes();
        assert!(between < before && between > 0);
        assert_eq!(tree.node(kept).state(), NodeState::Expanded, "the kept part is untouched");
        release_subtree(&tree, kept, NodeId(0));
        tree.release_nodes(Run::single(kept.0));
        assert_eq!(tree.bytes(), 0);
    }
}
