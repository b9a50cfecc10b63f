//! The tree of one game, which moves on as the game does.
//!
//! In an analysis the game also goes back: then what lies outside the new root is kept while there is memory.
//! Visits to a root don't count above it, so a former root gets its earlier visits back once a position above
//! it is searched. Its subtree stays.
//!
//! Likewise visits count only for the moves that a search could choose from. One of chosen moves begins with
//! those of searches of all moves, and leaves only its subtrees behind.

use std::sync::Arc;

use super::node::{Node, NodeState, SavedNode, VisitSum};
use super::nodes::{NodeId, Tree, TreeFull};
use super::prune::{Reclaimer, release_part};
use super::slab::Run;
use super::verdict;
use crate::chess::{History, Move};
use crate::search::sync::atomic::Ordering;

/// Trees kept for positions that did not follow from each other.
const MAX_KEPT: usize = 8;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Past {
    /// While there is memory, as the game may come back. No worker of an earlier search may still take part.
    Keep,
    Release,
}

pub(crate) struct GameTree {
    pub(crate) tree: Arc<Tree>,
    pub(crate) root: NodeId,
    /// `None` where all legal moves of the root may be played.
    choice: Option<Choice>,
    pub(crate) history: History,
    /// The root lies in the last one.
    kept: Vec<KeptTree>,
    way: Vec<NodeId>,
    /// Nodes of the way that were roots, from the top on, as they were before.
    stepped_into: Vec<(NodeId, SavedNode)>,
}

/// The moves that may be played at the root, whose visits and mean are of these alone.
struct Choice {
    moves: Vec<Move>,
    /// A visit with the root's mean over all moves, or none.
    of_root: VisitSum,
    /// Made while all moves could be played, of the children that there were.
    of_children: Vec<VisitSum>,
}

struct KeptTree {
    top: NodeId,
    run: Run,
    history: History,
}

struct Way {
    nodes: Vec<NodeId>,
    run: Run,
}

impl Way {
    fn end(&self) -> NodeId {
        self.nodes[self.nodes.len() - 1]
    }
}

impl GameTree {
    pub(crate) fn new(history: History) -> Result<GameTree, TreeFull> {
        let tree = Arc::new(Tree::new());
        let root = tree.new_root()?;
        let top = KeptTree {
            top: root,
            run: Run::single(root.0),
            history: history.clone(),
        };
        Ok(GameTree {
            tree,
            root,
            choice: None,
            history,
            kept: vec![top],
            way: vec![root],
            stepped_into: Vec::new(),
        })
    }

    /// Keeps the visits of the last position if the game came there through a kept tree. `reclaimer` frees
    /// the rest once `quiescence` has returned, when no earlier worker can touch it.
    pub(crate) fn advance(
        &mut self,
        history: History,
        past: Past,
        reclaimer: &Reclaimer,
        quiescence: impl FnOnce() + Send + 'static,
    ) -> Result<(), TreeFull> {
        let ways = self
            .kept
            .iter()
            .enumerate()
            .filter_map(|(index, kept)| Some((index, self.follow(kept, &history)?)));
        let way = match ways.max_by_key(|(index, way)| (self.tree.node(way.end()).visits(), *index)) {
            Some((index, way)) => {
                let kept = self.kept.remove(index);
                self.kept.push(kept);
                way
            }
            None => {
                let top = self.tree.new_root()?;
                let run = Run::single(top.0);
                self.kept.push(KeptTree {
                    top,
                    run,
                    history: history.clone(),
                });
                Way {
                    nodes: vec![top],
                    run,
                }
            }
        };
        let keeps = past == Past::Keep && !self.tree.is_short_of_memory();
        if way.end() != self.root {
            self.tree.end_pruning_walk();
            match self.choice.take() {
                Some(choice) if keeps => self.undo(&choice),
                _ => {}
            }
        }
        self.leave_way_for(&way.nodes);
        self.root = way.end();
        self.history = history;
        let released = if keeps {
            self.step_into(way);
            let excess = self.kept.len().saturating_sub(MAX_KEPT);
            self.kept.drain(..excess).collect()
        } else {
            self.stepped_into.clear();
            self.way = vec![self.root];
            self.tree.pruned.store(false, Ordering::Relaxed);
            let top = KeptTree {
                top: self.root,
                run: way.run,
                history: self.history.clone(),
            };
            std::mem::replace(&mut self.kept, vec![top])
        };
        self.tree.become_root(self.root);
        let tree = self.tree.clone();
        let keep = self.root;
        let parts: Vec<_> = released.into_iter().filter(|part| part.top != keep).collect();
        if !parts.is_empty() {
            reclaimer.add(move || {
                quiescence();
                parts
                    .iter()
                    .for_each(|part| release_part(&tree, part.top, part.run, keep));
            });
        }
        Ok(())
    }

    /// The moves that may be played at the root, or empty for all.
    pub(crate) fn chosen_moves(&self) -> &[Move] {
        self.choice.as_ref().map_or(&[], |choice| &choice.moves)
    }

    /// Whether a choice of moves ends where `wanted` ones are chosen.
    pub(crate) fn leaves_choice(&self, wanted: &[Move]) -> bool {
        self.choice.is_some() && self.chosen_moves() != self.choice_of(wanted)
    }

    /// The legal moves among `wanted`, or none if these are all.
    fn choice_of(&self, wanted: &[Move]) -> Vec<Move> {
        let legal = self.history.legal_moves();
        let mut moves = legal.to_vec();
        moves.retain(|mv| wanted.contains(mv));
        if moves.len() == legal.len() {
            moves.clear();
        }
        moves
    }

    /// Lets only `wanted` moves be played at the root, or all if there are none. No worker may still take
    /// part in a search of the choice that this ends.
    pub(crate) fn choose_moves(&mut self, wanted: &[Move]) {
        let moves = self.choice_of(wanted);
        if moves == self.chosen_moves() {
            return;
        }
        if let Some(choice) = self.choice.take() {
            self.undo(&choice);
        }
        if moves.is_empty() {
            return;
        }
        let _alone = self.tree.traffic.write();
        let root = self.tree.node(self.root);
        let children = || self.tree.children(root).map(|(_, child)| child);
        self.choice = Some(Choice {
            of_root: root.mean_visit(),
            of_children: children().map(Node::visit_sum).collect(),
            moves: moves.clone(),
        });
        let chosen = children().filter(|child| moves.contains(&child.edge().mv()));
        root.count_visits_of(VisitSum::default(), chosen);
    }

    /// Restores the visits that searches of all moves have made.
    fn undo(&self, choice: &Choice) {
        let _alone = self.tree.traffic.write();
        let root = self.tree.node(self.root);
        let children = || self.tree.children(root).map(|(_, child)| child);
        let before = choice.of_children.iter().copied();
        for (child, before) in children().zip(before.chain(std::iter::repeat(VisitSum::default()))) {
            child.put_back(before);
        }
        root.count_visits_of(choice.of_root, children());
    }

    /// Restores former roots for visits from above, except on the way to the next root.
    fn leave_way_for(&mut self, next: &[NodeId]) {
        // A search that is over may still be backing up a batch.
        let _alone = self.tree.traffic.write();
        let shared = self.way.iter().zip(next).take_while(|(a, b)| a == b).count();
        for depth in (shared.max(1)..self.way.len()).rev() {
            if let Some((id, before)) = self.stepped_into.pop_if(|(id, _)| *id == self.way[depth]) {
                self.tree.node(id).restore(before);
            }
            // Visits to a root don't count above it, so a correction of them stops there.
            let root = self.stepped_into.last().map(|(id, _)| *id);
            let from = self.way[..depth]
                .iter()
                .position(|id| Some(*id) == root)
                .unwrap_or(0);
            verdict::judge(&self.tree, &self.way[from..=depth]);
        }
    }

    fn step_into(&mut self, way: Way) {
        let tree = &self.tree;
        let is_below_others = way.nodes.len() > 1;
        if is_below_others && self.stepped_into.iter().all(|(id, _)| *id != way.end()) {
            let root = tree.node(way.end());
            self.stepped_into.push((way.end(), root.save()));
            root.count_visits_below(tree.children(root).map(|(_, child)| child));
        }
        self.way = way.nodes;
    }

    /// To the last position of `history`, if the game went through `kept`.
    fn follow(&self, kept: &KeptTree, history: &History) -> Option<Way> {
        if !continues(history, &kept.history) {
            return None;
        }
        let _inside = self.tree.enter();
        let mut way = Way {
            nodes: vec![kept.top],
            run: kept.run,
        };
        for index in kept.history.len()..history.len() {
            let before = history.position(index - 1);
            let after = history.position(index);
            let node = self.tree.node(way.end());
            if node.state() != NodeState::Expanded {
                return None;
            }
            let leads_there =
                |(_, child): &(NodeId, &Node)| before.play(child.edge().mv()).key() == after.key();
            let (id, _) = self.tree.children(node).find(leads_there)?;
            way.run = self
                .tree
                .runs(node)
                .map(|child_run| child_run.run)
                .find(|run| run.contains(id.0))?;
            way.nodes.push(id);
        }
        // After a draw that was not claimed, the tree's terminal node is of no use.
        (!self.tree.node(way.end()).is_terminal()).then_some(way)
    }
}

pub(crate) fn continues(history: &History, earlier: &History) -> bool {
    history.len() >= earlier.len()
        && (0..earlier.len()).all(|index| {
            let (a, b) = (history.position(index), earlier.position(index));
            a.key() == b.key() && a.rule50() == b.rule50()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    impl GameTree {
        pub(crate) fn reachable_bytes(&self) -> u64 {
            let tops =
                self.kept.iter().map(|kept| u64::from(kept.run.len)).sum::<u64>() * size_of::<Node>() as u64;
            tops + self
                .tree
                .bytes_below(self.kept.iter().map(|kept| kept.top).collect())
        }
    }
}
