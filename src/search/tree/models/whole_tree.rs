//! Descents beside those who free nodes: pruning, and the reclaimer after the game has moved on.

use super::children::{append, expanded};
use crate::search::sync::atomic::{AtomicU32, Ordering};
use crate::search::sync::thread;
use crate::search::tree::reclaim::Discard;
use crate::search::tree::slab::Run;
use crate::search::tree::{NodeId, NodeState, NodeValue, Reclaimer, Tree, VisitSum};

/// Makes a child with a policy of one move, with one visit.
fn inner(tree: &Tree, parent: NodeId) -> NodeId {
    let child = append(tree, parent).unwrap();
    assert!(tree.node(child).claim());
    tree.expand(child, &[1.0]).unwrap();
    tree.node(child).start_visits(1);
    tree.node(child).end_visits(VisitSum::finished(1, NodeValue::DRAW));
    child
}

/// Returns the nodes that can be reached from `root`, in runs as they were allocated, and the cells with their policies.
fn reachable(tree: &Tree, root: NodeId) -> u64 {
    let (mut open, mut bytes) = (vec![root], 0);
    while let Some(id) = open.pop() {
        let node = tree.node(id);
        if node.state() == NodeState::Expanded {
            bytes += u64::from(crate::search::tree::nodes::policy_class(node.edge_count()).1)
                * size_of::<AtomicU32>() as u64;
        }
        let slots: u64 = tree.runs(node).map(|siblings| u64::from(siblings.run.len)).sum();
        bytes += slots * size_of::<crate::search::tree::Node>() as u64;
        open.extend(tree.children(node).map(|(child, _)| child));
    }
    bytes
}

/// Descends from `root` to its first child and makes a child there, or, where the child has become a leaf, expands it.
fn descend(tree: &Tree, root: NodeId) {
    let _inside = tree.enter();
    let Some((id, node)) = tree.children(tree.node(root)).next() else { return };
    assert_ne!(node.edge().mv().to_bits(), 0, "a node of the tree has a move");
    node.start_visits(1);
    if node.state() == NodeState::Expanded {
        for (_, child) in tree.children(node) {
            assert_eq!(child.edge().mv().to_bits(), 1, "its only move");
            assert_eq!(child.state(), NodeState::Unexpanded);
        }
        append(tree, id);
    } else if node.claim() {
        tree.expand(id, &[1.0]).unwrap();
    }
    node.end_visits(VisitSum::finished(1, NodeValue::DRAW));
}

/// A descent goes through a node while another thread prunes it.
pub(super) fn a_descent_and_pruning_keep_apart() {
    let (tree, root) = expanded(&[0.5, 0.5]);
    let child = inner(&tree, root);
    append(&tree, child).unwrap();
    // More than below it, so that the child is what is pruned.
    tree.node(root).start_visits(10);
    tree.node(root).end_visits(VisitSum::finished(10, NodeValue::DRAW));
    tree.full.store(true, Ordering::Relaxed);
    let other = {
        let tree = tree.clone();
        thread::spawn(move || descend(&tree, root))
    };
    tree.prune(root, || false);
    other.join().unwrap();
    assert!(!tree.is_full());
    let node = tree.node(child);
    assert_eq!((node.visits(), node.in_flight(), node.child_count()), (2, 0, 0));
    assert_eq!(tree.bytes(), reachable(&tree, root) + root_bytes(), "all that is in use can be reached");
}

/// A worker of an earlier search is still below the old root when the game moves on to the root's first child; its nodes are freed once
/// it has left, while a search below the new root takes others.
pub(super) fn what_the_game_has_left_is_freed_beside_a_search() {
    let (tree, root) = expanded(&[0.5, 0.5]);
    let (kept, left) = (inner(&tree, root), inner(&tree, root));
    append(&tree, left).unwrap();
    let late = {
        let tree = tree.clone();
        thread::spawn(move || descend(&tree, root))
    };
    let search = {
        let tree = tree.clone();
        thread::spawn(move || {
            let _inside = tree.enter();
            append(&tree, kept);
        })
    };
    let discard = Discard {
        tree: tree.clone(),
        parts: vec![(root, Run::single(root.0))],
        keep: kept,
        quiescence: Box::new(move || late.join().unwrap()),
    };
    Reclaimer::in_place().release(discard);
    search.join().unwrap();
    let node = tree.node(kept);
    assert_eq!((node.state(), node.child_count(), node.visits()), (NodeState::Expanded, 1, 2));
    assert_eq!(tree.bytes(), reachable(&tree, kept) + root_bytes(), "all that is in use can be reached");
}

/// Returns the bytes of the root's own run.
fn root_bytes() -> u64 {
    size_of::<crate::search::tree::Node>() as u64
}
