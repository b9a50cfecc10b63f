//! Models of several threads at work in the tree.
//!
//! `tests/models` runs them under loom, a unit test on real threads.

use std::sync::Arc;

use crate::chess::Move;
use crate::network::Value;
use crate::search::sync::atomic::{AtomicU32, Ordering};
use crate::search::sync::thread;
use crate::search::tree::nodes::POLICY_RUNS;
use crate::search::tree::prune::release_part;
use crate::search::tree::slab::{Run, Slab};
use crate::search::tree::{NodeId, NodeState, Proof, ProofOutcome, Tree, VisitSum};

/// What each model shows, and a function that panics if it does not hold.
pub(crate) const MODELS: &[(&str, fn())] = &[
    (
        "slab: a free run that is taken has one owner",
        a_free_run_that_is_taken_has_one_owner,
    ),
    (
        "slab: threads that share a chunk cut it at different places",
        threads_that_share_a_chunk_cut_it_at_different_places,
    ),
    (
        "children: one worker claims a leaf, and whoever sees it expanded sees its policy",
        whoever_sees_a_node_expanded_sees_its_policy,
    ),
    (
        "children: a child is whole once it is counted",
        a_child_is_whole_once_it_is_counted,
    ),
    (
        "children: no child is lost or made twice",
        no_child_is_lost_or_made_twice,
    ),
    (
        "values: visits that end at once count for what they are",
        visits_that_end_at_once_count_for_what_they_are,
    ),
    (
        "values: a proof revalues all visits of its node and its ancestors",
        a_proof_revalues_all_visits,
    ),
    (
        "values: of two proofs of one node one counts",
        of_two_proofs_one_counts,
    ),
    (
        "values: visits of a draw that is none any more are taken back",
        visits_of_a_draw_are_taken_back_once,
    ),
    (
        "values: a draw that is none any more does not end the game",
        a_draw_that_is_none_any_more_does_not_end_the_game,
    ),
    (
        "tree: a descent and pruning keep out of each other's way",
        a_descent_and_pruning_keep_apart,
    ),
    (
        "tree: what the game has left is freed beside a search that goes on",
        what_the_game_has_left_is_freed_beside_a_search,
    ),
];

#[test]
fn models_hold_on_real_threads() {
    for (_, model) in MODELS {
        (0..100).for_each(|_| model());
    }
}

fn beside<R: Send + 'static>(
    tree: &Arc<Tree>,
    work: impl FnOnce(&Tree) -> R + Send + 'static,
) -> thread::JoinHandle<R> {
    let tree = tree.clone();
    thread::spawn(move || work(&tree))
}

pub(super) fn expanded(policy: &[f32]) -> (Arc<Tree>, NodeId) {
    let tree = Tree::new();
    let root = tree.new_root().unwrap();
    assert!(tree.node(root).claim());
    tree.expand(root, policy).unwrap();
    (Arc::new(tree), root)
}

/// Makes the child with the largest policy, unless another thread is doing so.
pub(super) fn append(tree: &Tree, parent: NodeId) -> Option<NodeId> {
    let node = tree.node(parent);
    let best = tree.best_unvisited(node, None)?;
    tree.new_child(node, best, Move::from_bits(u16::from(best.index) + 1))
        .unwrap()
}

fn moves(tree: &Tree, parent: NodeId, moves: u16) -> Vec<u16> {
    let bits = |child: NodeId| tree.node(child).edge().mv().to_bits();
    let found: Vec<u16> = tree
        .children(tree.node(parent))
        .map(|(child, _)| bits(child))
        .collect();
    assert!(found.iter().all(|mv| (1..=moves).contains(mv)), "{found:?}");
    found
}

/// One of two threads claims and expands a leaf. The other sees nothing of it or all of it.
fn whoever_sees_a_node_expanded_sees_its_policy() {
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
                tree.best_unvisited(node, None)
                    .map(|best| (best.index, best.policy())),
                Some((1, 0.5))
            );
            let policies: Vec<f32> = tree.unvisited(node).map(|unvisited| unvisited.policy()).collect();
            assert_eq!(policies, [0.25, 0.5, 0.25]);
        }
        is_claimed
    };
    let other = beside(&tree, move |tree| work(tree));
    let claims = [work(&tree), other.join().unwrap()];
    assert!(claims[0] != claims[1], "one worker evaluates a leaf");
}

fn a_child_is_whole_once_it_is_counted() {
    let (tree, root) = expanded(&[0.5, 0.25, 0.25]);
    let other = beside(&tree, move |tree| {
        let made = [append(tree, root), append(tree, root)];
        made.into_iter().flatten().count()
    });
    let seen = moves(&tree, root, 3);
    assert_eq!(
        seen,
        (1..=3).take(seen.len()).collect::<Vec<_>>(),
        "in the order of their policies"
    );
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

fn no_child_is_lost_or_made_twice() {
    let (tree, root) = expanded(&[0.5, 0.25, 0.25]);
    let work = move |tree: &Tree| {
        let made = [append(tree, root), append(tree, root)];
        made.into_iter()
            .flatten()
            .filter(|&child| tree.node(child).claim())
            .count()
    };
    let other = beside(&tree, move |tree| work(tree));
    let made = work(&tree) + other.join().unwrap();
    let mut found = moves(&tree, root, 3);
    assert_eq!(found.len(), made);
    while let Some(best) = tree.best_unvisited(tree.node(root), None) {
        let child = append(&tree, root).expect("the lock is free, and the move has no child");
        found.push(tree.node(child).edge().mv().to_bits());
        assert_eq!(found.last(), Some(&(u16::from(best.index) + 1)));
    }
    assert_eq!(found, [1, 2, 3]);
}

type Line = [NodeId; 3];

/// Sums of these are exact in all formats.
const OWN: Value = Value {
    wl: 0.5,
    d: 0.25,
    m: 16.0,
};
const OTHER: Value = Value {
    wl: -0.25,
    d: 0.5,
    m: 32.0,
};
const MATE: Proof = Proof {
    outcome: ProofOutcome::Win,
    plies: 0.0,
    is_mate: true,
};
const TABLE_LOSS: Proof = Proof {
    outcome: ProofOutcome::Loss,
    plies: 8.0,
    is_mate: false,
};

fn line() -> (Arc<Tree>, Line) {
    let (tree, root) = expanded(&[0.5, 0.5]);
    let child = append(&tree, root).unwrap();
    assert!(tree.node(child).claim());
    tree.expand(child, &[1.0]).unwrap();
    let grandchild = append(&tree, child).unwrap();
    (tree, [root, child, grandchild])
}

fn visit(tree: &Tree, path: &[NodeId], visits: u32, value: Value) {
    for &id in path {
        tree.node(id).start_visits(visits);
    }
    let mut sum = VisitSum::finished(visits, value);
    for &id in path.iter().rev() {
        sum = tree.node(id).end_visits(sum).at_parent();
    }
}

fn prove(tree: &Tree, path: &[NodeId], proof: Proof) {
    let Some((&last, ancestors)) = path.split_last() else {
        return;
    };
    let Some(mut correction) = tree.node(last).prove(proof) else {
        return;
    };
    for &id in ancestors.iter().rev() {
        match tree.node(id).correct(correction.at_parent()) {
            Some(above) => correction = above,
            None => return,
        }
    }
}

fn end_state(tree: &Tree, id: NodeId) -> (u32, Value) {
    let node = tree.node(id);
    assert_eq!(node.in_flight(), 0);
    (node.visits(), node.mean())
}

/// Values are exact, other means rounded.
fn expect(tree: &Tree, id: NodeId, results: &[(u32, Value)]) {
    let (visits, mean) = end_state(tree, id);
    let n: u32 = results.iter().map(|(visits, _)| visits).sum();
    let mean_of = |part: fn(&Value) -> f32| {
        results
            .iter()
            .map(|(visits, value)| *visits as f32 * part(value))
            .sum::<f32>()
            / n as f32
    };
    assert_eq!((visits, mean.wl), (n, mean_of(|value| value.wl)));
    assert!(
        (mean.d - mean_of(|value| value.d)).abs() < 1e-6,
        "{mean:?} of {results:?}"
    );
    assert!(
        (mean.m - mean_of(|value| value.m)).abs() < 1e-4,
        "{mean:?} of {results:?}"
    );
}

fn visits_that_end_at_once_count_for_what_they_are() {
    let (tree, root) = expanded(&[0.5, 0.5]);
    let other = beside(&tree, move |tree| visit(tree, &[root], 3, OTHER));
    tree.node(root).start_visits(2);
    visit(&tree, &[root], 1, OWN);
    tree.node(root).cancel_visits(2);
    other.join().unwrap();
    expect(&tree, root, &[(1, OWN), (3, OTHER)]);
}

fn a_proof_revalues_all_visits() {
    let (tree, [root, child, grandchild]) = line();
    visit(&tree, &[root], 1, OWN);
    visit(&tree, &[root, child], 1, OTHER);
    let other = beside(&tree, move |tree| visit(tree, &[root, child, grandchild], 2, OWN));
    prove(&tree, &[root, child], MATE);
    other.join().unwrap();
    expect(&tree, grandchild, &[(2, OWN)]);
    expect(&tree, child, &[(3, MATE.value())]);
    assert_eq!(tree.node(child).proof(), Some(MATE));
    expect(&tree, root, &[(1, OWN), (3, MATE.value().at_parent())]);
}

/// One thread proves a mate, the other a table result.
fn of_two_proofs_one_counts() {
    let (tree, [root, child, _]) = line();
    visit(&tree, &[root], 1, OWN);
    visit(&tree, &[root, child], 2, OTHER);
    let other = beside(&tree, move |tree| prove(tree, &[root, child], MATE));
    prove(&tree, &[root, child], TABLE_LOSS);
    // Whoever sees a proof sees all of it.
    let proof = tree.node(child).proof().unwrap();
    assert!(proof == MATE || proof == TABLE_LOSS, "{proof:?}");
    other.join().unwrap();
    assert_eq!(tree.node(child).proof(), Some(proof));
    expect(&tree, child, &[(2, proof.value())]);
    expect(&tree, root, &[(1, OWN), (2, proof.value().at_parent())]);
}

fn visits_of_a_draw_are_taken_back_once() {
    let (tree, [root, child, grandchild]) = line();
    assert!(tree.node(grandchild).claim());
    tree.node(grandchild).set_two_fold_draw(2);
    visit(&tree, &[root, child], 1, OTHER);
    visit(&tree, &[root, child, grandchild], 3, Value::DRAW);
    let other = beside(&tree, move |tree| {
        visit(tree, &[root], 1, OWN);
        tree.revert_two_fold_draw(&[root, child, grandchild])
    });
    let reverted = tree.revert_two_fold_draw(&[root, child, grandchild]);
    assert_eq!(reverted + other.join().unwrap(), 3);
    assert_eq!(end_state(&tree, grandchild).0, 0);
    expect(&tree, child, &[(1, OTHER)]);
    expect(&tree, root, &[(1, OWN), (1, OTHER.at_parent())]);
}

/// A regression: a thread took a draw that another one was reopening for the end of the game.
fn a_draw_that_is_none_any_more_does_not_end_the_game() {
    let (tree, [root, child, grandchild]) = line();
    assert!(tree.node(grandchild).claim());
    tree.node(grandchild).set_two_fold_draw(2);
    visit(&tree, &[root, child, grandchild], 1, Value::DRAW);
    let other = beside(&tree, move |tree| tree.node(grandchild).state());
    assert_eq!(tree.revert_two_fold_draw(&[root, child, grandchild]), 1);
    let seen = other.join().unwrap();
    assert!(
        matches!(seen, NodeState::TwoFoldDraw(2) | NodeState::Unexpanded),
        "{seen:?}"
    );
}

const LEN: u32 = 1;

/// A slab, and for each of its first slots a mark of the thread that owns it, or 0.
struct Ledger {
    slab: Slab<AtomicU32>,
    owners: [AtomicU32; 16],
}

impl Ledger {
    fn new() -> Arc<Ledger> {
        let ledger = Ledger {
            slab: Slab::new(POLICY_RUNS),
            owners: Default::default(),
        };
        let first = ledger.slab.grow(LEN);
        assert_eq!(first, Some(1));
        Arc::new(ledger)
    }

    fn take(&self, thread: u32) -> Option<u32> {
        let start = self.slab.allocate(LEN)?;
        let owner = &self.owners[start as usize];
        // Relaxed: the slab orders what owners do, so that the cleared mark of the last owner is seen.
        assert_eq!(owner.load(Ordering::Relaxed), 0, "a run has two owners");
        owner.store(thread, Ordering::Relaxed);
        Some(start)
    }

    fn give_back(&self, thread: u32, start: u32) {
        let owner = &self.owners[start as usize];
        assert_eq!(owner.load(Ordering::Relaxed), thread, "a run has two owners");
        owner.store(0, Ordering::Relaxed);
        self.slab.release(Run { start, len: LEN });
    }
}

/// One of two threads takes both free runs and gives the upper one back (the ABA problem).
fn a_free_run_that_is_taken_has_one_owner() {
    let ledger = Ledger::new();
    let next = ledger.slab.allocate(LEN).unwrap();
    [next, 1]
        .into_iter()
        .for_each(|run| ledger.slab.release(Run { start: run, len: LEN }));
    let other = {
        let ledger = ledger.clone();
        thread::spawn(move || {
            let (top, next) = (ledger.take(1), ledger.take(1));
            top.into_iter().for_each(|run| ledger.give_back(1, run));
            next
        })
    };
    let mut held: Vec<u32> = [ledger.take(2)]
        .into_iter()
        .chain([other.join().unwrap()])
        .flatten()
        .collect();
    assert_eq!(ledger.slab.used(), held.len() as u64);
    held.extend([ledger.take(3), ledger.take(3)].into_iter().flatten());
    held.sort();
    assert!(held.is_sorted_by(|a, b| a < b), "{held:?}");
}

/// Both threads may have to replace the chunk that they share.
fn threads_that_share_a_chunk_cut_it_at_different_places() {
    const LONG: u32 = 7;
    let take = |slab: &Slab<AtomicU32>| slab.allocate(LONG).or_else(|| slab.grow(LONG)).unwrap();
    let ledger = Ledger::new();
    let other = {
        let ledger = ledger.clone();
        thread::spawn(move || take(&ledger.slab))
    };
    let (first, second) = (take(&ledger.slab), other.join().unwrap());
    assert!(
        first.abs_diff(second) >= LONG,
        "runs at {first} and {second} overlap"
    );
    assert_eq!(ledger.slab.used(), u64::from(1 + 2 * LONG));
}

fn inner(tree: &Tree, parent: NodeId) -> NodeId {
    let child = append(tree, parent).unwrap();
    assert!(tree.node(child).claim());
    tree.expand(child, &[1.0]).unwrap();
    tree.node(child).start_visits(1);
    tree.node(child).end_visits(VisitSum::finished(1, Value::DRAW));
    child
}

fn descend(tree: &Tree, root: NodeId) {
    let _inside = tree.enter();
    let Some((id, node)) = tree.children(tree.node(root)).next() else {
        return;
    };
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
    node.end_visits(VisitSum::finished(1, Value::DRAW));
}

fn a_descent_and_pruning_keep_apart() {
    let (tree, root) = expanded(&[0.5, 0.5]);
    let child = inner(&tree, root);
    append(&tree, child).unwrap();
    // More visits than below it, so that the child is pruned.
    tree.node(root).start_visits(10);
    tree.node(root).end_visits(VisitSum::finished(10, Value::DRAW));
    tree.full.store(true, Ordering::Relaxed);
    let other = beside(&tree, move |tree| descend(tree, root));
    tree.prune(root, || false);
    other.join().unwrap();
    assert!(!tree.is_full());
    let node = tree.node(child);
    assert_eq!((node.visits(), node.in_flight(), node.child_count()), (2, 0, 0));
    assert_eq!(
        tree.bytes(),
        tree.bytes_below(vec![root]) + root_bytes(),
        "all that is in use can be reached"
    );
}

/// A worker is still below the old root when the game moves on.
fn what_the_game_has_left_is_freed_beside_a_search() {
    let (tree, root) = expanded(&[0.5, 0.5]);
    let (kept, left) = (inner(&tree, root), inner(&tree, root));
    append(&tree, left).unwrap();
    let late = beside(&tree, move |tree| descend(tree, root));
    let search = beside(&tree, move |tree| {
        let _inside = tree.enter();
        append(tree, kept);
    });
    late.join().unwrap();
    release_part(&tree, root, Run::single(root.0), kept);
    search.join().unwrap();
    let node = tree.node(kept);
    assert_eq!(
        (node.state(), node.child_count(), node.visits()),
        (NodeState::Expanded, 1, 2)
    );
    assert_eq!(
        tree.bytes(),
        tree.bytes_below(vec![kept]) + root_bytes(),
        "all that is in use can be reached"
    );
}

fn root_bytes() -> u64 {
    size_of::<crate::search::tree::Node>() as u64
}
