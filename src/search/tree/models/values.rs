//! Visits that end while a node is proven, or while its visits are taken back.

use std::sync::Arc;

use super::children::{append, expanded};
use crate::search::sync::thread;
use crate::search::tree::node::Correction;
use crate::search::tree::{NodeId, NodeState, NodeValue, Proof, ProofOutcome, Tree, VisitSum};

/// A line of three nodes: root, child, grandchild.
type Line = [NodeId; 3];

/// Values whose sums are exact in all formats.
const OWN: NodeValue = NodeValue { v: 0.5, d: 0.25, m: 16.0 };
const OTHER: NodeValue = NodeValue { v: -0.25, d: 0.5, m: 32.0 };
const MATE: Proof = Proof { outcome: ProofOutcome::Win, plies: 0.0, is_mate: true };
const TABLE_LOSS: Proof = Proof { outcome: ProofOutcome::Loss, plies: 8.0, is_mate: false };

fn line() -> (Arc<Tree>, Line) {
    let (tree, root) = expanded(&[0.5, 0.5]);
    let child = append(&tree, root).unwrap();
    assert!(tree.node(child).claim());
    tree.expand(child, &[1.0]).unwrap();
    let grandchild = append(&tree, child).unwrap();
    (tree, [root, child, grandchild])
}

/// Makes visits along `path` and ends them with `value` at its last node.
fn visit(tree: &Tree, path: &[NodeId], visits: u32, value: NodeValue) {
    for &id in path {
        tree.node(id).start_visits(visits);
    }
    let mut sum = VisitSum::finished(visits, value);
    for &id in path.iter().rev() {
        sum = tree.node(id).end_visits(sum).at_parent();
    }
}

/// Proves the last node of `path` and revalues its visits in the others.
fn prove(tree: &Tree, path: &[NodeId], proof: Proof) {
    let Some((&last, ancestors)) = path.split_last() else { return };
    let Some(mut correction) = tree.node(last).prove(proof) else { return };
    for &id in ancestors.iter().rev() {
        correction = Correction::at_parent(correction);
        if !tree.node(id).correct(correction) {
            return;
        }
    }
}

/// Returns visits and mean of a node, at which no visit is under way.
fn end_state(tree: &Tree, id: NodeId) -> (u32, NodeValue) {
    let node = tree.node(id);
    assert_eq!(node.in_flight(), 0);
    (node.visits(), node.mean())
}

/// Checks a node against the visits and results that it should have had. Values are exact; other means are rounded.
fn expect(tree: &Tree, id: NodeId, results: &[(u32, NodeValue)]) {
    let (visits, mean) = end_state(tree, id);
    let n: u32 = results.iter().map(|(visits, _)| visits).sum();
    let mean_of = |part: fn(&NodeValue) -> f32| {
        results.iter().map(|(visits, value)| *visits as f32 * part(value)).sum::<f32>() / n as f32
    };
    assert_eq!((visits, mean.v), (n, mean_of(|value| value.v)));
    assert!((mean.d - mean_of(|value| value.d)).abs() < 1e-6, "{mean:?} of {results:?}");
    assert!((mean.m - mean_of(|value| value.m)).abs() < 1e-4, "{mean:?} of {results:?}");
}

/// Two threads end visits at one node, while a third visit is begun and cancelled.
pub(super) fn visits_that_end_at_once_count_for_what_they_are() {
    let (tree, root) = expanded(&[0.5, 0.5]);
    let other = {
        let tree = tree.clone();
        thread::spawn(move || visit(&tree, &[root], 3, OTHER))
    };
    tree.node(root).start_visits(2);
    visit(&tree, &[root], 1, OWN);
    tree.node(root).cancel_visits(2);
    other.join().unwrap();
    expect(&tree, root, &[(1, OWN), (3, OTHER)]);
}

/// One thread ends visits below a node that another one proves.
pub(super) fn a_proof_revalues_all_visits() {
    let (tree, [root, child, grandchild]) = line();
    visit(&tree, &[root], 1, OWN);
    visit(&tree, &[root, child], 1, OTHER);
    let other = {
        let tree = tree.clone();
        thread::spawn(move || visit(&tree, &[root, child, grandchild], 2, OWN))
    };
    prove(&tree, &[root, child], MATE);
    other.join().unwrap();
    expect(&tree, grandchild, &[(2, OWN)]);
    expect(&tree, child, &[(3, MATE.value())]);
    assert_eq!(tree.node(child).proof(), Some(MATE));
    expect(&tree, root, &[(1, OWN), (3, MATE.value().at_parent())]);
}

/// Two threads prove one node, one by a mate, the other by an endgame table.
pub(super) fn of_two_proofs_one_counts() {
    let (tree, [root, child, _]) = line();
    visit(&tree, &[root], 1, OWN);
    visit(&tree, &[root, child], 2, OTHER);
    let other = {
        let tree = tree.clone();
        thread::spawn(move || prove(&tree, &[root, child], MATE))
    };
    prove(&tree, &[root, child], TABLE_LOSS);
    // Whoever sees a proof sees the whole of it.
    let proof = tree.node(child).proof().unwrap();
    assert!(proof == MATE || proof == TABLE_LOSS, "{proof:?}");
    other.join().unwrap();
    assert_eq!(tree.node(child).proof(), Some(proof));
    expect(&tree, child, &[(2, proof.value())]);
    expect(&tree, root, &[(1, OWN), (2, proof.value().at_parent())]);
}

/// Two threads find that a draw by repetition is none any more, while visits end at its parent.
pub(super) fn visits_of_a_draw_are_taken_back_once() {
    let (tree, [root, child, grandchild]) = line();
    assert!(tree.node(grandchild).claim());
    tree.node(grandchild).set_two_fold_draw(2);
    visit(&tree, &[root, child], 1, OTHER);
    visit(&tree, &[root, child, grandchild], 3, NodeValue::DRAW);
    let other = {
        let tree = tree.clone();
        thread::spawn(move || {
            visit(&tree, &[root], 1, OWN);
            tree.revert_two_fold_draw(&[root, child, grandchild])
        })
    };
    let reverted = tree.revert_two_fold_draw(&[root, child, grandchild]);
    assert_eq!(reverted + other.join().unwrap(), 3);
    assert_eq!(end_state(&tree, grandchild).0, 0);
    expect(&tree, child, &[(1, OTHER)]);
    expect(&tree, root, &[(1, OWN), (1, OTHER.at_parent())]);
}

/// A regression: one thread made a draw by repetition a leaf again while another one looked at it, which then took it for the
/// end of the game and ended its visits there.
pub(super) fn a_draw_that_is_none_any_more_does_not_end_the_game() {
    let (tree, [root, child, grandchild]) = line();
    assert!(tree.node(grandchild).claim());
    tree.node(grandchild).set_two_fold_draw(2);
    visit(&tree, &[root, child, grandchild], 1, NodeValue::DRAW);
    let other = {
        let tree = tree.clone();
        thread::spawn(move || tree.node(grandchild).state())
    };
    assert_eq!(tree.revert_two_fold_draw(&[root, child, grandchild]), 1);
    let seen = other.join().unwrap();
    assert!(matches!(seen, NodeState::TwoFoldDraw(2) | NodeState::Unexpanded), "{seen:?}");
}
