//! Expanding a node, and appending children to it.

use std::sync::Arc;

use crate::chess::Move;
use crate::search::sync::thread;
use crate::search::tree::{NodeId, NodeState, Tree};

/// Returns a tree with a root that has these policies.
pub(super) fn expanded(policy: &[f32]) -> (Arc<Tree>, NodeId) {
    let tree = Tree::new();
    let root = tree.new_root().unwrap();
    assert!(tree.node(root).claim());
    tree.expand(root, policy).unwrap();
    (Arc::new(tree), root)
}

/// Makes the child with the largest policy, unless another thread is doing so. Moves are their places plus one.
pub(super) fn append(tree: &Tree, parent: NodeId) -> Option<NodeId> {
    let node = tree.node(parent);
    let best = tree.best_unvisited(node, None)?;
    tree.new_child(node, best, Move::from_bits(u16::from(best.index) + 1)).unwrap()
}

/// Returns the moves of all children, each of which must be one of `moves`.
fn moves(tree: &Tree, parent: NodeId, moves: u16) -> Vec<u16> {
    let bits = |child: NodeId| tree.node(child).edge().mv().to_bits();
    let found: Vec<u16> = tree.children(tree.node(parent)).map(|(child, _)| bits(child)).collect();
    assert!(found.iter().all(|mv| (1..=moves).contains(mv)), "{found:?}");
    found
}

/// One of two threads claims a leaf and expands it; the other sees nothing of it or all of it.
pub(super) fn whoever_sees_a_node_expanded_sees_its_policy() {
    let tree = Arc::new(Tree::new());
    let root = tree.new_root().unwrap();
    let work = move |tree: &Tree| {
        let node = tree.node(root);
        let is_claimed = node.claim();
        if is_claimed {
            tree.expand(root, &[0.25, 0.5, 0.25]).unwrap();
        }
        if node.state() == NodeState::Expanded {
            assert_eq!(
                tree.best_unvisited(node, None).map(|best| (best.index, best.policy())),
                Some((1, 0.5))
            );
            let policies: Vec<f32> = tree.unvisited(node).map(|unvisited| unvisited.policy()).collect();
            assert_eq!(policies, [0.25, 0.5, 0.25]);
        }
        is_claimed
    };
    let other = {
        let tree = tree.clone();
        thread::spawn(move || work(&tree))
    };
    let claims = [work(&tree), other.join().unwrap()];
    assert!(claims[0] != claims[1], "one worker evaluates a leaf");
}

/// One thread makes children, another walks through them.
pub(super) fn a_child_is_whole_once_it_is_counted() {
    let (tree, root) = expanded(&[0.5, 0.25, 0.25]);
    let other = {
        let tree = tree.clone();
        thread::spawn(move || {
            let made = [append(&tree, root), append(&tree, root)];
            made.into_iter().flatten().count()
        })
    };
    let seen = moves(&tree, root, 3);
    assert_eq!(seen, (1..=3).take(seen.len()).collect::<Vec<_>>(), "in the order of their policies");
    let node = tree.node(root);
    if let Some(best) = tree.best_unvisited(node, None) {
        assert!(
            usize::from(best.index) >= seen.len(),
            "a move that was seen to have a child is no candidate"
        );
    }
    assert_eq!(other.join().unwrap(), 2);
    assert_eq!(moves(&tree, root, 3), [1, 2]);
}

/// Two threads make children of one node.
pub(super) fn no_child_is_lost_or_made_twice() {
    let (tree, root) = expanded(&[0.5, 0.25, 0.25]);
    let work = move |tree: &Tree| {
        let made = [append(tree, root), append(tree, root)];
        made.into_iter().flatten().filter(|&child| tree.node(child).claim()).count()
    };
    let other = {
        let tree = tree.clone();
        thread::spawn(move || work(&tree))
    };
    let made = work(&tree) + other.join().unwrap();
    let mut found = moves(&tree, root, 3);
    assert_eq!(found.len(), made);
    // What is left can be made: nobody holds the lock, and the best move without a child is known.
    while let Some(best) = tree.best_unvisited(tree.node(root), None) {
        let child = append(&tree, root).expect("the lock is free, and the move has no child");
        found.push(tree.node(child).edge().mv().to_bits());
        assert_eq!(found.last(), Some(&(u16::from(best.index) + 1)));
    }
    assert_eq!(found, [1, 2, 3]);
}
