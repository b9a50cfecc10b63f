//! Checks what must hold in a tree whenever no search is running: after searches on several threads, stopped at any
//! moment, after the game has moved on, and after pruning.

use std::num::NonZero;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{KIWIPETE, TestBench};
use crate::search::tree::{
    GameTree, Node, NodeId, NodeState, NodeValue, Past, ProofOutcome, Reclaimer, Tree,
};
use crate::search::{RootFpuStrategy, Search};

/// The way in which visits were made, which decides how strict the check may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Made {
    /// One thread made them.
    ByOne,
    /// Several threads made them: a node can be proven while a visit passes through it, which then counts as it was
    /// before.
    ByMany,
    /// Several threads made them, in a tree that was pruned: a node's own visits are those that it had as a leaf.
    Pruned,
}

/// Visits that may be under way through a node at the moment when it is proven, in tests.
const MOST_PASSING: f64 = 64.0;

/// Walks the whole tree below `root` and checks what must hold when no search is running. Returns the nodes seen.
pub(super) fn check_tree(tree: &Tree, root: NodeId, made: Made) -> u64 {
    let mut open = vec![root];
    let mut seen = 0;
    while let Some(id) = open.pop() {
        seen += 1;
        let node = tree.node(id);
        check_node(tree, node, made);
        open.extend(tree.children(node).map(|(child, _)| child));
    }
    seen
}

fn check_node(tree: &Tree, node: &Node, made: Made) {
    assert_eq!(node.in_flight(), 0, "virtual loss is left");
    assert_ne!(node.state(), NodeState::Claimed, "a claim is left");
    let NodeValue { v, d, m } = node.mean();
    assert!((-1.0..=1.0).contains(&v) && (0.0..=1.0).contains(&d) && m >= 0.0, "{:?}", node.mean());
    if let Some(proof) = node.proof()
        && node.visits() > 0
    {
        let passing = if made == Made::ByOne { 0.0 } else { 2.0 * MOST_PASSING / f64::from(node.visits()) };
        assert!(f64::from((v - proof.value().v).abs()) <= passing + 1e-6, "{v} for {proof:?}");
        assert_eq!(proof.plies.fract(), 0.0, "{proof:?}");
    }
    if node.state() != NodeState::Expanded {
        assert_eq!(node.child_count(), 0);
        return;
    }
    let below: u32 = tree.children(node).map(|(_, child)| child.visits()).sum();
    match (node.proof(), made) {
        // Once a node is decided, visits end there.
        (Some(_), _) | (None, Made::Pruned) => assert!(node.visits() > below, "{} {below}", node.visits()),
        (None, _) => assert_eq!(node.visits(), below + 1, "visits of the children and the node's own"),
    }
    if node.proof().is_none() {
        check_means(tree, node, node.visits() - below, made);
    }
}

/// Checks that the worth of the node's own visits, which follows from its mean and its children's, lies in its range.
fn check_means(tree: &Tree, node: &Node, own: u32, made: Made) {
    let sums = |node: &Node| {
        let (NodeValue { v, d, m }, n) = (node.mean(), f64::from(node.visits()));
        [v, d, m].map(|mean| f64::from(mean) * n)
    };
    let [mut v, mut d, mut m] = sums(node);
    for (_, child) in tree.children(node) {
        let [child_v, child_d, child_m] = sums(child);
        v += child_v;
        d -= child_d;
        m -= child_m + f64::from(child.visits());
    }
    let (own, n) = (f64::from(own), f64::from(node.visits()));
    // Means are rounded, each time a little.
    let slack = 0.01 + n * 1e-5 + if made == Made::ByOne { 0.0 } else { 2.0 * MOST_PASSING };
    assert!(v.abs() <= own + slack, "own value {v} of {own} visits");
    assert!((-slack..=own + slack).contains(&d), "own draws {d} of {own} visits");
    assert!((-500.0 * slack..=500.0 * (own + slack)).contains(&m), "own plies left {m} of {own} visits");
}

/// Checks that all memory in use belongs to nodes that can be reached.
pub(super) fn check_memory(game: &GameTree) {
    let (used, reachable) = (game.tree().bytes(), game.reachable_bytes());
    let lost = game.tree().reserved_bytes() / 100;
    assert!((reachable..=reachable + lost).contains(&used), "{used} bytes in use, {reachable} reachable");
}

impl TestBench {
    /// Searches for `time`; nobody takes part any more when this returns.
    fn search_for(&self, time: Duration) -> std::sync::Arc<Search> {
        let search = self.start(None, &[]);
        std::thread::sleep(time);
        search.request_stop();
        search.progress.wait_idle(Duration::from_secs(60));
        assert!(search.progress.is_idle());
        search
    }

    /// Plays the first moves of the line that was visited most.
    fn play_on(&mut self, plies: usize) {
        let mut history = self.tree.history().clone();
        let tree = self.tree.tree().clone();
        let mut id = self.tree.root();
        for _ in 0..plies {
            let Some((next, child)) = tree.children(tree.node(id)).max_by_key(|(_, child)| child.visits())
            else {
                break;
            };
            history.push(child.edge().mv());
            id = next;
        }
        if history.legal_moves().is_empty() {
            history = self.start_position.clone();
        }
        self.tree.advance(history, Past::Release, &Reclaimer::in_place(), || {}).unwrap();
    }
}

/// Searches that end at any moment, with the game going on between them.
fn stress(bench: &mut TestBench, made: Made) {
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..60 {
        let search = bench.search_for(Duration::from_micros(rng.u64(0..20_000)));
        check_tree(&search.context.tree, search.context.root, made);
        check_memory(&bench.tree);
        bench.play_on(rng.usize(0..3));
    }
}

#[test]
fn trees_are_sound_wherever_a_search_stops_and_however_the_game_goes_on() {
    for (backend, position) in [
        ("random", KIWIPETE),
        ("simulated(latency-us=300,per-position-ns=1000)", "startpos"),
        ("trivial", "fen 7k/8/8/8/8/8/P7/K7 w - - 0 1"),
        ("random", "fen k7/3R4/2K5/8/8/8/8/8 w - - 0 1"),
    ] {
        stress(&mut TestBench::new(backend, 3, position), Made::ByMany);
    }
}

#[test]
fn trees_are_sound_after_pruning() {
    for threads in [1, 3] {
        let mut bench = TestBench::new("random", threads, KIWIPETE);
        // The least that a tree may take.
        bench.tree.tree().set_limit(0);
        let mut prunings = 0;
        for _ in 0..3 {
            let before = bench.tree.tree().node(bench.tree.root()).visits();
            bench.search(u64::from(before) + 120_000);
            let search = bench.search_for(Duration::from_millis(20));
            let leaves_with_visits =
                count(&search, |node| node.state() == NodeState::Unexpanded && node.visits() > 1);
            prunings += u32::from(leaves_with_visits > 0);
            check_tree(&search.context.tree, search.context.root, Made::Pruned);
            check_memory(&bench.tree);
            bench.play_on(1);
        }
        assert!(prunings > 0, "nothing was pruned");
    }
}

fn count(search: &Search, is_counted: impl Fn(&Node) -> bool) -> usize {
    let (mut open, mut counted) = (vec![search.context.root], 0);
    while let Some(id) = open.pop() {
        let node = search.context.tree.node(id);
        counted += usize::from(is_counted(node));
        open.extend(search.context.tree.children(node).map(|(child, _)| child));
    }
    counted
}

/// A regression: a draw by repetition was searched again once the root had moved past, but the visits that it had as a
/// draw went on to count for its whole line.
#[test]
fn visits_to_two_fold_draws_are_taken_back_once_the_root_has_moved_past() {
    for threads in [1, 3] {
        let made = if threads == 1 { Made::ByOne } else { Made::ByMany };
        let mut bench = TestBench::new("trivial", threads, "fen 7k/8/8/8/8/8/P7/K7 w - - 0 1");
        let mut reverted = 0;
        for _ in 0..6 {
            let before = bench.tree.tree().node(bench.tree.root()).visits();
            let (search, result) = bench.search(u64::from(before) + 20_000);
            let taken_back = search.counters.reverted.load(Ordering::Relaxed);
            assert_eq!(result.summary.new_nodes, 20_000);
            assert_eq!(search.root_visits() + taken_back, before + 20_000);
            check_tree(&search.context.tree, search.context.root, made);
            reverted += taken_back;
            bench.play_on(2);
        }
        assert!(reverted > 0, "kings shuffle back and forth");
    }
}

/// A regression: a node that was proven while visits below it were under way took their results into its mean, and with
/// them its distance from the mate.
#[test]
fn visits_under_way_leave_a_proven_mate_where_it_is() {
    let mut bench = TestBench::new("random", 1, "fen 6k1/5ppp/8/8/8/8/Q4PPP/3R2K1 b - - 0 1");
    bench.params.minibatch_size = NonZero::new(32);
    let (search, _) = bench.search(20_000);
    check_tree(&search.context.tree, search.context.root, Made::ByOne);
    assert!(count(&search, |node| node.proof().is_some_and(|proof| proof.outcome == ProofOutcome::Win)) > 10);
}

/// A regression: before a move that certainly loses, moves that were not tried yet are to be played.
#[test]
fn an_untried_move_is_better_than_a_certain_loss() {
    let is_loss = |node: &Node| {
        node.proof().is_some_and(|proof| proof.outcome == ProofOutcome::Loss) && node.visits() > 0
    };
    let mut cases = 0;
    for (nodes, rule50) in (2..40).flat_map(|nodes| (0..4).map(move |rule50| (nodes, rule50))) {
        // After Kh1 Black mates; other moves are tried only when that is certain.
        let mut bench =
            TestBench::new("random", 1, &format!("fen 1r4k1/5ppp/8/8/8/8/5PPP/6K1 w - - {rule50} 30"));
        bench.params.fpu_strategy_at_root = RootFpuStrategy::Absolute;
        bench.params.fpu_value_at_root = -1.0;
        bench.params.root_has_own_cpuct_params = true;
        bench.params.cpuct_at_root = 0.01;
        bench.params.cpuct_base_at_root = 1.0;
        bench.params.cpuct_factor_at_root = 0.0;
        let (search, result) = bench.search_moves(nodes, &["g1h1", "h2h3"]);
        let root = search.context.tree.node(search.context.root);
        let best = result.best.unwrap();
        let has_untried =
            search.context.tree.children(root).filter(|(_, child)| child.visits() > 0).count() < 2;
        let loses = |mv| {
            search.context.tree.children(root).any(|(_, child)| child.edge().mv() == mv && is_loss(child))
        };
        assert!(!(has_untried && loses(best)), "{nodes} {rule50}");
        cases += usize::from(has_untried && search.root_policy.moves().iter().any(|&mv| loses(mv)));
    }
    assert!(cases > 0);
}
