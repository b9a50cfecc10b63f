//! What must hold in a tree while no search is running. Sums of values are exact, means are rounded with each
//! visit.

use std::num::NonZero;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{KIWIPETE, TestBench};
use crate::chess::History;
use crate::network::{EvalSlot, Evaluator, Value};
use crate::search::leaf::select::{self, Candidate, CandidateMove};
use crate::search::leaf::{Gatherer, backup};
use crate::search::tree::verdict::{self, Verdict};
use crate::search::tree::{GameTree, Node, NodeId, NodeState, Past, ProofOutcome, Reclaimer, Tree, fixed};
use crate::search::{RootFpuStrategy, Search};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kept {
    Whole,
    /// A pruned node's own visits are those that it had as a leaf.
    Pruned,
}

/// The number of nodes.
pub(super) fn check_tree(tree: &Tree, root: NodeId, kept: Kept) -> u64 {
    let mut open = vec![root];
    let mut seen = 0;
    while let Some(id) = open.pop() {
        seen += 1;
        let node = tree.node(id);
        check_node(tree, node, kept);
        open.extend(tree.children(node).map(|(child, _)| child));
    }
    seen
}

fn check_node(tree: &Tree, node: &Node, kept: Kept) {
    assert_eq!(node.in_flight(), 0, "virtual loss is left");
    assert_ne!(node.state(), NodeState::Claimed, "a claim is left");
    let Value { wl, d, m } = node.mean();
    assert!(
        (-1.0..=1.0).contains(&wl) && (0.0..=1.0).contains(&d) && m >= 0.0,
        "{:?}",
        node.mean()
    );
    if let Some(proof) = node.proof()
        && node.visits() > 0
    {
        assert_eq!(
            node.value_sum(),
            i64::from(node.visits()) * fixed(proof.value().wl),
            "{proof:?}"
        );
        assert_eq!((d, m), (proof.value().d, proof.value().m), "{proof:?}");
        assert_eq!(proof.plies.fract(), 0.0, "{proof:?}");
    }
    if node.state() != NodeState::Expanded {
        assert_eq!(node.child_count(), 0);
        return;
    }
    let below: u32 = tree.children(node).map(|(_, child)| child.visits()).sum();
    match (node.proof(), kept) {
        // Once a node is decided, visits end there.
        (Some(_), _) | (None, Kept::Pruned) => assert!(node.visits() > below, "{} {below}", node.visits()),
        (None, Kept::Whole) => {
            assert_eq!(
                node.visits(),
                below + 1,
                "visits of the children and the node's own"
            );
        }
    }
    if let (Some(proof), Kept::Whole) = (node.proof(), kept)
        && proof.outcome != ProofOutcome::Draw
    {
        assert_eq!(verdict::of_moves(tree, node), Verdict::Proven(proof));
    }
    if node.proof().is_none() {
        let own = OwnVisits::of(tree, node);
        let (n, slack) = (f64::from(own.visits), own.slack);
        assert!(
            own.value_sum.abs() <= i64::from(own.visits) * fixed(1.0),
            "{own:?}"
        );
        assert!((-slack..=n + slack).contains(&own.d), "{own:?}");
        assert!(
            (-MOST_PLIES * slack..=MOST_PLIES * (n + slack)).contains(&own.m),
            "{own:?}"
        );
    }
}

const MOST_PLIES: f64 = 500.0;

/// The visits of a node that no child has, by the sums of the node and its children.
#[derive(Debug)]
struct OwnVisits {
    visits: u32,
    value_sum: i64,
    d: f64,
    m: f64,
    /// The error allowed in `d`, and in `m` in units of [`MOST_PLIES`].
    slack: f64,
}

impl OwnVisits {
    fn of(tree: &Tree, node: &Node) -> OwnVisits {
        let sums = |node: &Node| {
            let (Value { d, m, .. }, n) = (node.mean(), f64::from(node.visits()));
            (n * f64::from(d), n * f64::from(m))
        };
        let ((d, m), n) = (sums(node), f64::from(node.visits()));
        // Each of `n` visits may round a mean by half a unit of its last place, a sum by `n` times that, in
        // either direction: the standard deviation is at most `n · √n · ε / 2`, for children and node alike.
        // Visits that were taken back leave their roundings behind.
        let slack = 0.01 + 4.0 * n * n.sqrt() * f64::from(f32::EPSILON);
        let own = OwnVisits {
            visits: node.visits(),
            value_sum: node.value_sum(),
            d,
            m,
            slack,
        };
        tree.children(node).fold(own, |own, (_, child)| {
            let (d, m) = sums(child);
            OwnVisits {
                visits: own.visits.saturating_sub(child.visits()),
                value_sum: own.value_sum + child.value_sum(),
                d: own.d - d,
                m: own.m - m - f64::from(child.visits()),
                slack,
            }
        })
    }
}

/// Each open node's own visit has the backend's value of its position.
pub(super) fn check_own_visits(search: &Search, evaluator: Box<dyn Evaluator>) {
    let mut history = search.context().history.clone();
    let mut walk = OwnVisitsWalk {
        search,
        evaluator,
        path: vec![search.context().root],
        checked: 0,
    };
    walk.check_below(&mut history);
    assert!(walk.checked > 0);
}

struct OwnVisitsWalk<'a> {
    search: &'a Search,
    evaluator: Box<dyn Evaluator>,
    path: Vec<NodeId>,
    checked: usize,
}

impl OwnVisitsWalk<'_> {
    fn check_below(&mut self, history: &mut History) {
        let tree = &self.search.context().tree;
        let node = tree.node(self.path[self.path.len() - 1]);
        if node.state() == NodeState::Expanded && node.proof().is_none() {
            let mut slot = EvalSlot::of(history, self.search.context().encoding());
            self.evaluator.evaluate(std::slice::from_mut(&mut slot)).unwrap();
            let expected = backup::leaf_value(&self.search.state.context, self.path.len(), slot.evaluation);
            let own = OwnVisits::of(tree, node);
            assert_eq!((own.visits, own.value_sum), (1, fixed(expected.wl)));
            assert!(
                (own.d - f64::from(expected.d)).abs() <= own.slack,
                "{own:?} for {expected:?}"
            );
            let m_error = (own.m - f64::from(expected.m)).abs();
            assert!(m_error <= MOST_PLIES * own.slack, "{own:?} for {expected:?}");
            self.checked += 1;
        }
        for (id, child) in tree.children(node) {
            history.push(child.edge().mv());
            self.path.push(id);
            self.check_below(history);
            self.path.pop();
            history.pop();
        }
    }
}

pub(super) fn check_memory(game: &GameTree) {
    let (used, reachable) = (game.tree.bytes(), game.reachable_bytes());
    let lost = game.tree.reserved_bytes() / 100;
    assert!(
        (reachable..=reachable + lost).contains(&used),
        "{used} bytes in use, {reachable} reachable"
    );
}

impl TestBench {
    fn play_on(&mut self, plies: usize) {
        let mut history = self.tree.history.clone();
        let tree = self.tree.tree.clone();
        let mut id = self.tree.root;
        for _ in 0..plies {
            let Some((next, child)) = tree
                .children(tree.node(id))
                .max_by_key(|(_, child)| child.visits())
            else {
                break;
            };
            history.push(child.edge().mv());
            id = next;
        }
        if history.legal_moves().is_empty() {
            history = self.start_position.clone();
        }
        self.step_to(&history, Past::Release);
    }
}

fn stress(bench: &mut TestBench) {
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..60 {
        bench.search_for(Duration::from_micros(rng.u64(0..20_000)));
        bench.check(Kept::Whole);
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
        stress(&mut TestBench::new(backend, 3, position));
    }
}

pub(super) fn is_pruned(node: &Node) -> bool {
    node.state() == NodeState::Unexpanded && node.visits() > 1
}

#[test]
fn trees_are_sound_after_pruning() {
    for threads in [1, 3] {
        let mut bench = TestBench::new("random", threads, KIWIPETE);
        bench.tree.tree.set_limit(0);
        let mut prunings = 0;
        for _ in 0..3 {
            let before = bench.visits();
            bench.search(u64::from(before) + 120_000);
            bench.search_for(Duration::from_millis(20));
            prunings += u32::from(bench.nodes().into_iter().any(is_pruned));
            bench.check(Kept::Pruned);
            check_memory(&bench.tree);
            bench.play_on(1);
        }
        assert!(prunings > 0, "nothing was pruned");
    }
}

/// A regression: where children were lost to pruning, a node explored as if they still had their visits.
#[test]
fn exploration_counts_the_visits_that_pruning_has_left() {
    let bench = TestBench::new("random", 1, KIWIPETE);
    bench.tree.tree.set_limit(0);
    let (search, _) = bench.search(120_000);
    let tree = &search.context().tree;
    let mut cases = 0;
    for node in bench.nodes() {
        let below: u32 = tree.children(node).map(|(_, child)| child.visits()).sum();
        if below == 0 || node.visits() == below + 1 || node.proof().is_some() {
            continue;
        }
        let mut gatherer = Gatherer::new(search.context().history.clone(), 0);
        gatherer.path = vec![search.context().root; 2];
        gatherer.push_candidates(&search.state, node, 0);
        let exploration = select::exploration(&search.context().params.exploration_at(1), below);
        for Candidate { pu, target, .. } in gatherer.candidates {
            let CandidateMove::Child(child) = target else {
                continue;
            };
            assert_eq!(pu, tree.node(child).edge().policy() * exploration);
            cases += 1;
        }
    }
    assert!(cases > 100, "{cases}");
}

/// A regression: visits of a draw by repetition went on to count once the root had moved past it.
#[test]
fn visits_to_two_fold_draws_are_taken_back_once_the_root_has_moved_past() {
    for threads in [1, 3, 8] {
        let mut bench = TestBench::new("trivial", threads, "fen 7k/8/8/8/8/8/P7/K7 w - - 0 1");
        let mut reverted = 0;
        for _ in 0..6 {
            let before = bench.visits();
            let (search, result) = bench.search(u64::from(before) + 20_000);
            let taken_back = search.state.counters.lock().reverted;
            assert_eq!(result.figures.stats.new_nodes.0, 20_000);
            assert_eq!(search.context().visits() + taken_back, before + 20_000);
            bench.check(Kept::Whole);
            reverted += taken_back;
            bench.play_on(2);
        }
        assert!(reverted > 0, "kings shuffle back and forth");
    }
}

/// A regression: a node that was proven while visits were under way took their results into its mean.
#[test]
fn visits_under_way_leave_a_proven_mate_where_it_is() {
    let mut bench = TestBench::new("random", 1, "fen 6k1/5ppp/8/8/8/8/Q4PPP/3R2K1 b - - 0 1");
    bench.params.minibatch_size = NonZero::new(32);
    bench.search(20_000);
    bench.check(Kept::Whole);
    let is_won = |node: &&Node| {
        node.proof()
            .is_some_and(|proof| proof.outcome == ProofOutcome::Win)
    };
    assert!(bench.nodes().into_iter().filter(is_won).count() > 10);
}

/// A regression: a move that certainly loses was preferred to moves that were not tried yet.
#[test]
fn an_untried_move_is_better_than_a_certain_loss() {
    let is_loss = |node: &Node| {
        node.proof()
            .is_some_and(|proof| proof.outcome == ProofOutcome::Loss)
            && node.visits() > 0
    };
    let mut cases = 0;
    for (nodes, rule50) in (2..40).flat_map(|nodes| (50..54).map(move |rule50| (nodes, rule50))) {
        // After Kh1 Black mates. Other moves are tried only when that is certain. Positions with such
        // counters have evaluations of their own.
        let mut bench = TestBench::new(
            "random",
            1,
            &format!("fen 1r4k1/5ppp/8/8/8/8/5PPP/6K1 w - - {rule50} 30"),
        );
        bench.params.fpu_strategy_at_root = RootFpuStrategy::Absolute;
        bench.params.fpu_value_at_root = -1.0;
        bench.params.root_has_own_cpuct_params = true;
        bench.params.cpuct_at_root = 0.01;
        bench.params.cpuct_base_at_root = 1.0;
        bench.params.cpuct_factor_at_root = 0.0;
        let (search, result) = bench.search_moves(nodes, &["g1h1", "h2h3"]);
        let (tree, root) = (&search.context().tree, search.context().root_node());
        let best = result.best.unwrap();
        let has_untried = tree
            .children(root)
            .filter(|(_, child)| child.visits() > 0)
            .count()
            < 2;
        let loses = |mv| {
            tree.children(root)
                .any(|(_, child)| child.edge().mv() == mv && is_loss(child))
        };
        assert!(!(has_untried && loses(best)), "{nodes} {rule50}");
        cases += usize::from(has_untried && search.state.root.moves.iter().any(|&mv| loses(mv)));
    }
    assert!(cases > 0);
}

// Beside a search in the same tree: last batches of an earlier one, the reclaimer, pruning.

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl TestBench {
    fn after_best_move(&self) -> History {
        let (tree, mut history) = (&self.tree.tree, self.tree.history.clone());
        let children = tree.children(tree.node(self.tree.root)).map(|(_, child)| child);
        history.push(children.max_by_key(|child| child.visits()).unwrap().edge().mv());
        history
    }

    fn move_on(&mut self, search: &Arc<Search>, reclaimer: &Reclaimer) {
        let (history, draining) = (self.after_best_move(), search.clone());
        let quiescence = move || assert!(draining.state.life.wait_for_workers(Duration::from_secs(60)));
        self.tree
            .advance(history, Past::Release, reclaimer, quiescence)
            .unwrap();
    }

    fn wait_until_reclaimed(&self) {
        let lost = self.tree.tree.reserved_bytes() / 100;
        let reachable = self.tree.reachable_bytes();
        wait_until("the reclaimer frees what the game has left", || {
            (reachable..=reachable + lost).contains(&self.tree.tree.bytes())
        });
    }
}

#[test]
fn batches_that_come_back_after_the_game_has_moved_on_count_in_the_kept_part() {
    let mut bench = TestBench::new("simulated(latency-us=20000,per-position-ns=1000)", 3, KIWIPETE);
    let reclaimer = Reclaimer::new();
    let (mut late, mut round) = (0, 0);
    while round < 5 || late == 0 && round < 100 {
        let search = bench.start(None);
        let wanted = bench.visits() + 100;
        wait_until("visits are made", || search.context().visits() >= wanted);
        search.request_stop();
        bench.move_on(&search, &reclaimer);
        late += u32::from(bench.root().in_flight() > 0);
        let before = bench.visits();
        let (next, _) = bench.search(u64::from(before) + 50 + round);
        for draining in [search, next] {
            assert!(draining.state.life.wait_for_workers(Duration::from_secs(60)));
        }
        bench.check(Kept::Whole);
        bench.wait_until_reclaimed();
        round += 1;
    }
    assert!(late > 0, "no batch was late");
}

#[test]
fn a_search_goes_on_while_the_reclaimer_frees_what_the_game_has_left() {
    let mut bench = TestBench::new("random", 3, KIWIPETE);
    let reclaimer = Reclaimer::new();
    let (mut search, _) = bench.search(6_000);
    for _ in 0..3 {
        bench.move_on(&search, &reclaimer);
        let before = bench.visits();
        search = bench.search(u64::from(before) + 2_000).0;
        bench.check(Kept::Whole);
        bench.wait_until_reclaimed();
    }
}

#[test]
fn a_full_tree_is_pruned_while_the_reclaimer_frees_what_the_game_has_left() {
    let mut bench = TestBench::new("random", 3, KIWIPETE);
    bench.tree.tree.set_limit(0);
    let reclaimer = Reclaimer::new();
    // How much the reclaimer frees before the tree is full again depends on the machine.
    let (mut rounds, mut prunings) = (0, 0);
    while rounds < 2 || prunings == 0 {
        assert!(rounds < 20, "nothing was pruned");
        rounds += 1;
        let tree = bench.tree.tree.clone();
        let search = bench.start(None);
        wait_until("the tree is full", || tree.is_full());
        search.request_stop();
        bench.move_on(&search, &reclaimer);
        let before = tree.node(bench.tree.root).visits();
        let (next, _) = bench.search(u64::from(before) + 20_000);
        for draining in [search, next] {
            assert!(draining.state.life.wait_for_workers(Duration::from_secs(60)));
        }
        bench.check(Kept::Pruned);
        bench.wait_until_reclaimed();
        prunings += u32::from(bench.nodes().into_iter().any(is_pruned));
    }
}
