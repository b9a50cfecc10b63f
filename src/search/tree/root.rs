//! The tree of one game: it knows its root, and moves on as the game does.

use std::sync::Arc;

use super::reclaim::Discard;
use super::slab::Run;
use super::{Node, NodeId, NodeState, Reclaimer, Tree, TreeFull};
use crate::chess::History;

/// A tree with the game position that its root stands for.
#[derive(Debug)]
pub(crate) struct GameTree {
    tree: Arc<Tree>,
    root: NodeId,
    /// The run that holds the root; released with it.
    root_run: Run,
    history: History,
}

impl GameTree {
    /// Returns a tree without visits for the last position of `history`.
    ///
    /// # Errors
    /// Fails if the system has no memory for a node.
    pub(crate) fn new(history: History) -> Result<GameTree, TreeFull> {
        let tree = Arc::new(Tree::new());
        let root = tree.new_root()?;
        Ok(GameTree { root_run: Run::single(root.0), tree, root, history })
    }

    /// Returns the nodes.
    pub(crate) fn tree(&self) -> &Arc<Tree> {
        &self.tree
    }

    /// Returns the node of the position to search.
    pub(crate) fn root(&self) -> NodeId {
        self.root
    }

    /// Returns the game up to the root.
    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// Returns the bytes of all nodes and policies that can be reached from the root.
    #[cfg(test)]
    pub(crate) fn reachable_bytes(&self) -> u64 {
        let (mut nodes, mut cells) = (u64::from(self.root_run.len), 0);
        let mut open = vec![self.root];
        while let Some(id) = open.pop() {
            let node = self.tree.node(id);
            if node.state() == NodeState::Expanded {
                cells += u64::from(super::policy_class(node.edge_count()).1);
            }
            nodes += self.tree.runs(node).map(|siblings| u64::from(siblings.run.len)).sum::<u64>();
            open.extend(self.tree.children(node).map(|(child, _)| child));
        }
        nodes * size_of::<Node>() as u64 + cells * size_of::<u32>() as u64
    }

    /// Makes the last position of `history` the root. If the game went on from the present root by any number of
    /// plies, the visits of that line are kept; all else goes to `reclaimer`, which frees it after `quiescence` has
    /// returned: when no worker of an earlier search can touch it any more.
    ///
    /// # Errors
    /// Fails if the tree has no room for a new root.
    pub(crate) fn advance(
        &mut self,
        history: History,
        reclaimer: &Reclaimer,
        quiescence: impl FnOnce() + Send + 'static,
    ) -> Result<(), TreeFull> {
        let (root, run) = match self.follow(&history) {
            Some(found) => found,
            None => {
                let root = self.tree.new_root()?;
                (root, Run::single(root.0))
            }
        };
        if root != self.root {
            self.tree.end_pruning_walk();
            reclaimer.release(Discard {
                tree: self.tree.clone(),
                root: self.root,
                root_run: self.root_run,
                keep: root,
                quiescence: Box::new(quiescence),
            });
            (self.root, self.root_run) = (root, run);
        }
        self.history = history;
        Ok(())
    }

    /// Returns the node of the last position of `history` and its run, if the game led there through the tree.
    fn follow(&self, history: &History) -> Option<(NodeId, Run)> {
        if !continues(history, &self.history) {
            return None;
        }
        let _inside = self.tree.enter();
        let (mut id, mut run) = (self.root, self.root_run);
        for index in self.history.len()..history.len() {
            let (before, after) = (history.position(index - 1), history.position(index));
            let node = self.tree.node(id);
            if node.state() != NodeState::Expanded {
                return None;
            }
            let leads_there =
                |(_, child): &(NodeId, &Node)| before.play(child.edge().mv()).key() == after.key();
            (id, _) = self.tree.children(node).find(leads_there)?;
            run = self.tree.runs(node).map(|child_run| child_run.run).find(|run| run.contains(id.0))?;
        }
        // A game goes on after a draw that was not claimed: what the tree holds for an ended game is of no use.
        (self.tree.node(id).state() != NodeState::Terminal).then_some((id, run))
    }
}

/// Returns whether `history` begins with all positions of `earlier`.
fn continues(history: &History, earlier: &History) -> bool {
    history.len() >= earlier.len()
        && (0..earlier.len()).all(|index| {
            let (a, b) = (history.position(index), earlier.position(index));
            a.key() == b.key() && a.rule50() == b.rule50()
        })
}
