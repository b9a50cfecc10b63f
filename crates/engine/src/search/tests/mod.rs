//! Whole searches on the synthetic backends: exact counts, invariants of the tree, determinism.

mod choices;
mod invariants;
mod proofs;
mod stepping;

use std::num::NonZero;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::tree::{GameTree, Node, NodeState, Past, Reclaimer};
use super::*;
use crate::chess::{History, Move, Variant};
use crate::network::backends::{BackendConfig, create};
use crate::network::cache::EvalCache;
use crate::network::{Backend, BackendInfo, EvalSlot};
use crate::time::{
    Bounds, Chain, Limit, Millis, MoveFacts, Nodes, NodesTimeOptions, SearchStats, StopReason, StopperOptions,
};
use invariants::{Kept, check_own_visits, check_tree};

const MATE_IN_ONE: &str = "fen 6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1";
const KIWIPETE: &str = "fen r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";

struct TestBench {
    pool: WorkerPool,
    backend: Arc<dyn Backend>,
    start_position: History,
    tree: GameTree,
    params: SearchParams,
}

impl TestBench {
    fn new(backend: &str, threads: usize, position: &str) -> TestBench {
        let backend = create(&BackendConfig::parse(backend, "").unwrap(), None).unwrap();
        let start_position = History::from_uci_position(position, Variant::Standard).unwrap();
        TestBench {
            pool: WorkerPool::new(&*backend, threads).unwrap(),
            backend,
            tree: GameTree::new(start_position.clone()).unwrap(),
            start_position,
            params: SearchParams::default(),
        }
    }

    fn search(&self, nodes: u64) -> (Arc<Search>, Outcome) {
        let search = self.start(Some(nodes));
        let result = run(&search, &mut |_| {});
        search.state.life.wait_for_workers(Duration::from_secs(60));
        (search, result)
    }

    /// Of all moves if there are none.
    fn search_moves(&mut self, nodes: u64, moves: &[&str]) -> (Arc<Search>, Outcome) {
        self.choose(moves);
        self.search(nodes)
    }

    fn choose(&mut self, moves: &[&str]) {
        let read = |text: &&str| self.tree.history.parse_move(text).unwrap();
        let moves: Vec<_> = moves.iter().map(read).collect();
        self.tree.choose_moves(&moves);
    }

    fn start(&self, nodes: Option<u64>) -> Arc<Search> {
        let visits = |n: u64| n.saturating_sub(self.visits().into());
        let limit = nodes.map_or(Limit::Infinite, Limit::nodes);
        self.start_within(limit, nodes.map_or(u64::MAX, visits))
    }

    fn start_within(&self, limit: Limit, visits: u64) -> Arc<Search> {
        let search = self.prepare(limit, visits);
        self.pool.assign(&search);
        search
    }

    fn prepare(&self, limit: Limit, visits: u64) -> Arc<Search> {
        let facts = MoveFacts {
            limit,
            legal_moves: 30,
            ..MoveFacts::default()
        };
        let options = StopperOptions {
            smart_pruning_factor: 0.0,
            ..StopperOptions::default()
        };
        let history = self.tree.history.clone();
        let context = SearchContext {
            root_moves: self.tree.chosen_moves().to_vec(),
            tree: self.tree.tree.clone(),
            root: self.tree.root,
            history,
            expected_move: None,
            reply_moves: Vec::new(),
            params: self.params.clone(),
            rescale: Rescale::default(),
            cache: Arc::new(EvalCache::new(10_000)),
            tablebase: None,
            tablebase_hits: 0,
            backend_info: self.backend.facts().clone(),
            reporting: Reporting {
                lines: 1,
                move_stats: MoveStatsWhen::Never,
            },
            clock: SearchClock::start(Instant::now(), self.backend.facts().virtual_pace),
        };
        let chain = Chain::new(&facts, &options, None);
        Arc::new(Search::new(context, chain, visits))
    }

    /// Nobody takes part any more when this returns.
    fn search_for(&self, time: Duration) -> Arc<Search> {
        let search = self.start(None);
        std::thread::sleep(time);
        search.request_stop();
        assert!(search.state.life.wait_for_workers(Duration::from_secs(60)));
        search
    }

    /// The caller evaluates.
    fn run_stepwise(&self, search: Arc<Search>) -> Outcome {
        let mut evaluator = self.backend.evaluator().unwrap();
        let mut stepped = SteppedSearch::new(search);
        while stepped.advance_within(u32::MAX) == Some(NextStep::Evaluate) {
            let mut slots: Vec<_> = (0..stepped.waiting()).map(|_| EvalSlot::default()).collect();
            stepped.swap_slots(&mut slots);
            evaluator.evaluate(&mut slots).unwrap();
            stepped.swap_slots(&mut slots);
            stepped.finish_batch();
        }
        stepped.result()
    }

    fn root(&self) -> &Node {
        self.tree.tree.node(self.tree.root)
    }

    fn visits(&self) -> u32 {
        self.root().visits()
    }

    fn nodes(&self) -> Vec<&Node> {
        let (tree, mut open, mut found) = (&self.tree.tree, vec![self.root()], Vec::new());
        while let Some(node) = open.pop() {
            let children: Vec<_> = tree.children(node).map(|(_, child)| child).collect();
            found.extend(&children);
            open.extend(children);
        }
        found
    }

    fn play(&mut self, moves: &[Move]) {
        let mut history = self.tree.history.clone();
        moves.iter().for_each(|&mv| history.push(mv));
        self.step_to(&history, Past::Release);
    }

    fn step_to(&mut self, history: &History, past: Past) {
        self.tree
            .advance(history.clone(), past, &Reclaimer::in_place(), || {})
            .unwrap();
    }

    fn check(&self, kept: Kept) {
        check_tree(&self.tree.tree, self.tree.root, kept);
    }
}

impl Search {
    fn context(&self) -> &SearchContext {
        &self.state.context
    }
}

#[test]
fn visits_are_exact_on_any_number_of_threads() {
    for backend in [
        "random",
        "trivial",
        "simulated(latency-us=200,per-position-ns=1000)",
    ] {
        for threads in [1, 2, 5] {
            let bench = TestBench::new(backend, threads, KIWIPETE);
            let (search, result) = bench.search(5_000);
            assert_eq!(
                result.figures.stats.nodes.0, 5_000,
                "{backend}, {threads} threads"
            );
            let counted = result.figures;
            assert_eq!(counted.counts.visits(), 5_000);
            bench.check(Kept::Whole);
            if backend == "random" {
                check_own_visits(&search, bench.backend.evaluator().unwrap());
            }
        }
    }
}

/// A regression: root moves were sorted by figures that workers changed meanwhile, and the sort panicked.
#[test]
fn a_search_is_reported_while_workers_change_it() {
    let bench = TestBench::new("random", 4, KIWIPETE);
    let search = bench.start(None);
    while search.context().visits() < 100_000 {
        let snapshot = search.snapshot();
        let ranked = snapshot.ranked_moves();
        assert!(ranked.len() <= search.state.root.moves.len());
        let _ = (
            snapshot.info(&ranked, &search.state.context.tree.enter()),
            snapshot.root_stats(),
            search.stats(),
        );
    }
    search.state.life.dismiss();
    search.state.life.wait_for_workers(Duration::from_secs(60));
    assert_eq!(
        search.snapshot().ranked_moves().len(),
        search.state.root.moves.len()
    );
}

/// A regression: information, move and figures were read one after the other and could differ.
#[test]
fn the_move_to_play_is_the_first_of_the_last_line() {
    let bench = TestBench::new("random", 4, KIWIPETE);
    let search = bench.start(None);
    let mut results = 0;
    while search.context().visits() < 100_000 {
        let result = conclude(&search, EndReason::Stopped);
        let Some(info) = result.info else { continue };
        let line = &info.lines[0].moves;
        assert_eq!(
            (result.best, result.ponder),
            (line.first().copied(), line.get(1).copied())
        );
        let summary = result.figures;
        let SearchStats { elapsed, nodes, .. } = summary.stats;
        assert_eq!((Nodes(info.nodes), info.time.into()), (nodes, elapsed));
        let found = |&(mv, visits): &(Move, u32)| (mv, u64::from(visits)) == (line[0], info.lines[0].nodes);
        assert!(summary.visits_by_move.iter().any(found) || info.lines[0].nodes == 0);
        results += 1;
    }
    search.request_stop();
    search.state.life.wait_for_workers(Duration::from_secs(60));
    assert!(results > 10);
}

/// Of moves with as many visits the line has the one that its own side values most.
#[test]
fn draws_count_in_a_line_for_the_side_that_moves() {
    let mut bench = TestBench::new("random", 1, KIWIPETE);
    bench.params.draw_score = 1.0;
    let mut ties = 0;
    for nodes in 10..1_500 {
        let (search, _) = bench.search(nodes);
        let (snapshot, tree) = (search.snapshot(), &bench.tree.tree);
        let info = snapshot.info(&snapshot.ranked_moves(), &tree.enter()).unwrap();
        let mut node = bench.root();
        for (plies, mv) in info.lines[0].moves.iter().enumerate() {
            let children: Vec<&Node> = tree.children(node).map(|(_, child)| child).collect();
            // The line goes on to a mate without nodes.
            let Some(chosen) = children.iter().find(|child| child.edge().mv() == *mv) else {
                break;
            };
            let q = |child: &Node| leaf::select::child_q(child.mean(), search.state.root.draw_score(plies));
            let is_rival = |child: &&&Node| {
                child.edge().mv() != *mv && child.visits() == chosen.visits() && child.proof().is_none()
            };
            for rival in children.iter().filter(is_rival).filter(|_| plies > 0) {
                assert!(q(chosen) >= q(rival), "{nodes} nodes, {plies} plies below");
                ties += 1;
            }
            node = chosen;
        }
    }
    assert!(ties > 0);
}

/// A regression: eight threads could have as many visits under way as the tree had.
#[test]
fn threads_share_the_visits_that_may_be_under_way() {
    let bench = TestBench::new("random", 1, KIWIPETE);
    let (search, _) = bench.search(400);
    assert_eq!(
        leaf::leaves_that_may_begin(&search.state.context, search.state.budget.leaves_under_way(), 0),
        50
    );
    for left in [8, 0] {
        search.state.budget.begin_leaves(42);
        assert_eq!(
            leaf::leaves_that_may_begin(&search.state.context, search.state.budget.leaves_under_way(), 0),
            left
        );
    }
}

#[test]
fn a_visit_for_which_the_tree_has_no_room_may_be_made_again() {
    let bench = TestBench::new("random", 1, "startpos");
    let search = bench.prepare(Limit::nodes(1), 1);
    let mut gatherer = leaf::Gatherer::new(bench.start_position.clone(), 0);
    gatherer.gather(&search.state);
    let mut batch = gatherer.take_batch();
    let mut evaluator = bench.backend.evaluator().unwrap();
    evaluator.evaluate(batch.slots_mut()).unwrap();
    // All memory of the least limit is taken.
    bench.tree.tree.set_limit(0);
    while bench.tree.tree.expand(bench.tree.root, &[0.05; 20]).is_ok() {}
    leaf::backup::finish_batch(&search.state, &mut batch);
    assert_eq!((bench.visits(), search.state.budget.reserve(2)), (0, 1));
}

#[test]
fn a_device_that_is_busy_gets_no_leaf_beyond_the_quota() {
    for (under_way, begun) in [(0, 1), (1, 0)] {
        let bench = TestBench::new("random", 1, "startpos");
        let search = bench.prepare(Limit::nodes(100), 100);
        search.state.budget.begin_leaves(under_way);
        let mut gatherer = leaf::Gatherer::new(bench.start_position.clone(), 1);
        gatherer.gather(&search.state);
        assert_eq!(gatherer.waiting_leaves(), begun);
    }
}

const VIRTUAL: &str = "simulated(network=trivial,latency-us=4000,per-position-ns=50000,clock=virtual)";

#[test]
fn one_thread_with_a_device_is_deterministic_in_real_and_in_virtual_time() {
    let visits = |backend: &str| {
        TestBench::new(backend, 1, KIWIPETE)
            .search(3_000)
            .1
            .figures
            .visits_by_move
    };
    let in_virtual_time = visits(VIRTUAL);
    assert_eq!(
        in_virtual_time,
        visits("simulated(network=trivial,latency-us=200,per-position-ns=2500)")
    );
    assert_ne!(
        in_virtual_time,
        visits("trivial"),
        "more is under way than on a core"
    );
}

#[test]
fn a_device_is_busy_in_virtual_time_once_the_tree_is_large() {
    let bench = TestBench::new(VIRTUAL, 1, "startpos");
    let Figures {
        stats,
        counts,
        device_busy,
        ..
    } = bench.search(60_000).1.figures;
    assert!(
        device_busy.is_some_and(|busy| busy > stats.elapsed.to_duration().unwrap().mul_f32(0.9)),
        "{device_busy:?} of {stats:?}"
    );
    assert!(
        counts.evaluations > 60 * counts.batches,
        "a batch of 80 computes while another one travels"
    );
    assert!(counts.waited_for_device > counts.waited_for_tree, "{counts:?}");
}

#[test]
fn a_device_has_its_queues_full_and_the_next_batch_waiting() {
    let mut bench = TestBench::new(
        "simulated(network=trivial,latency-us=0,per-position-ns=0)",
        1,
        KIWIPETE,
    );
    bench.params.minibatch_size = NonZero::new(64);
    let counts = bench.search(20_000).1.figures.counts;
    assert!(counts.evaluations > 40 * counts.batches, "{counts:?}");
    assert!(
        counts.evaluations + counts.prefetched <= 64 * counts.batches,
        "{counts:?}"
    );
}

#[test]
fn a_batch_of_one_never_collides() {
    let mut bench = TestBench::new("random", 1, "startpos");
    bench.params.minibatch_size = NonZero::new(1);
    assert_eq!(bench.search(2_000).1.figures.counts.collisions, 0);
}

/// A regression: a win by an excluded move made the result of the others certain.
#[test]
fn stoppers_hear_of_allowed_root_moves_only() {
    let mut bench = TestBench::new("random", 1, MATE_IN_ONE);
    let stats = bench.search(2_000).0.stats();
    assert!(stats.proven_win && stats.root_is_certain);
    let (search, result) = bench.search_moves(2_500, &["d1d2", "h2h3"]);
    let stats = search.stats();
    assert!(
        !stats.proven_win && !stats.root_is_certain,
        "the mate may not be played"
    );
    let visits: Vec<_> = result.figures.visits_by_move.iter().map(|(_, n)| *n).collect();
    assert_eq!((visits.len(), &stats.race_visits), (2, &visits));
}

#[test]
fn the_subtree_is_kept_over_several_plies_and_the_rest_freed() {
    let mut bench = TestBench::new("random", 1, "startpos");
    let (search, result) = bench.search(20_000);
    let reclaimer = Reclaimer::new();
    let mut history = search.context().history.clone();
    let line = &result.info.unwrap().lines[0].moves;
    line[..2].iter().for_each(|&mv| history.push(mv));
    let before = bench.tree.tree.bytes();
    bench
        .tree
        .advance(history.clone(), Past::Release, &reclaimer, || {})
        .unwrap();
    let kept = bench.visits();
    assert!(kept > 1, "the expected line was searched");
    let deadline = Instant::now() + Duration::from_secs(10);
    while bench.tree.tree.bytes() > before / 2 {
        assert!(Instant::now() < deadline, "the discarded part is not freed");
        std::thread::sleep(Duration::from_millis(1));
    }
    let (_, result) = bench.search(u64::from(kept) + 500);
    assert_eq!(result.figures.stats.new_nodes.0, 500);
    bench.check(Kept::Whole);
}

#[test]
fn a_position_that_does_not_follow_starts_afresh() {
    let mut bench = TestBench::new("random", 1, "startpos moves e2e4");
    bench.search(1_000);
    let other = History::from_uci_position("startpos moves d2d4 d7d5", Variant::Standard).unwrap();
    bench.step_to(&other, Past::Release);
    assert_eq!(bench.visits(), 0);
}

#[test]
fn a_position_with_another_fifty_move_count_starts_afresh() {
    let position = |rule50: u32| format!("fen 8/8/4k3/8/8/4K3/4P3/8 w - - {rule50} 80");
    let mut bench = TestBench::new("random", 1, &position(10));
    bench.search(100);
    for (rule50, kept) in [(10, 100), (11, 0)] {
        let next = History::from_uci_position(&position(rule50), Variant::Standard).unwrap();
        bench.step_to(&next, Past::Release);
        assert_eq!(bench.visits(), kept);
    }
}

#[test]
fn a_game_that_goes_on_after_a_third_repetition_is_searched() {
    let shuffle = "g1f3 g8f6 f3g1 f6g8 ".repeat(2);
    let bench = TestBench::new("random", 1, &format!("startpos moves {shuffle}"));
    assert_eq!(bench.tree.history.repetitions(), 2);
    let (_, result) = bench.search(300);
    assert_eq!((result.figures.stats.nodes.0, result.best.is_some()), (300, true));
}

#[test]
fn the_fifty_move_rule_and_repetitions_are_draws_in_the_tree() {
    let bench = TestBench::new("random", 1, "fen 7k/8/8/8/8/8/P7/K7 w - - 99 80");
    let (search, result) = bench.search(500);
    assert!(result.figures.counts.terminals > 0);
    for (_, child) in bench.tree.tree.children(bench.root()) {
        let is_quiet = !search
            .context()
            .history
            .format_move(child.edge().mv())
            .starts_with("a2");
        assert_eq!(child.is_terminal(), is_quiet);
        assert!(!is_quiet || child.wl() == 0.0);
    }
}

#[test]
fn proofs_reach_the_root() {
    for (position, shortest) in [
        (MATE_IN_ONE, 1),
        // 1.Kb6 Kb8 2.Rd8#
        ("fen k7/3R4/2K5/8/8/8/8/8 w - - 0 1", 2),
        // Black's only move is Kb8, and then Rd8 mates.
        ("fen k7/3R4/1K6/8/8/8/8/8 b - - 0 1", -1),
    ] {
        let bench = TestBench::new("random", 1, position);
        let (_, result) = bench.search(20_000);
        bench.check(Kept::Whole);
        let mate = result.info.unwrap().lines[0].mate().unwrap();
        assert_eq!(mate.signum(), i32::signum(shortest), "{position}: {mate}");
        assert!(mate.abs() >= shortest.abs(), "{position}: {mate}");
    }
}

#[test]
fn two_fold_draws_are_searched_again_once_the_root_has_moved_past() {
    let mut bench = TestBench::new("random", 1, "fen 7k/8/8/8/8/8/P7/K7 w - - 0 1");
    let (_, result) = bench.search(20_000);
    assert!(
        result.figures.counts.terminals > 0,
        "kings shuffle back and forth"
    );
    bench.check(Kept::Whole);
    bench.play(&result.info.unwrap().lines[0].moves[..2]);
    let kept = bench.visits();
    let (_, result) = bench.search(u64::from(kept) + 5_000);
    assert_eq!(result.figures.stats.new_nodes.0, 5_000);
}

/// A regression: a stepwise search ended when a gathering found only draws by repetition to reopen.
#[test]
fn draws_that_are_opened_again_do_not_end_a_stepwise_search() {
    let mut bench = TestBench::new("random", 1, "fen 7k/8/8/8/8/8/P7/K7 w - - 0 1");
    bench.params.minibatch_size = NonZero::new(1);
    bench.params.max_collision_visits = 1;
    for _ in 0..6 {
        let result = bench.run_stepwise(bench.prepare(Limit::nodes(u64::MAX), 3_000));
        assert_eq!(result.figures.stats.new_nodes.0, 3_000, "{}", result.reason);
        bench.play(&result.info.unwrap().lines[0].moves[..2]);
    }
}

#[test]
fn visits_for_which_a_cached_leaf_has_no_use_are_made_elsewhere() {
    let bench = TestBench::new("random", 1, KIWIPETE);
    let search = bench.prepare(Limit::nodes(3_000), 3_000);
    bench.run_stepwise(search.clone());
    let cache = search.context().cache.clone();
    let again = TestBench::new("random", 1, KIWIPETE);
    let mut search = again.prepare(Limit::nodes(3_000), 3_000);
    Arc::get_mut(&mut search).unwrap().state.context.cache = cache;
    let result = again.run_stepwise(search);
    assert_eq!(result.figures.stats.new_nodes.0, 3_000);
    again.check(Kept::Whole);
}

#[test]
fn a_return_to_the_root_is_a_two_fold_draw() {
    let bench = TestBench::new("random", 1, "fen 7k/8/8/8/8/8/P7/K7 w - - 0 1");
    bench.search(20_000);
    let (mut history, mut node) = (bench.start_position.clone(), bench.root());
    for text in ["a1b1", "h8g8", "b1a1", "g8h8"] {
        let mv = history.parse_move(text).unwrap();
        history.push(mv);
        let mut children = bench.tree.tree.children(node).map(|(_, child)| child);
        node = children.find(|child| child.edge().mv() == mv).unwrap();
    }
    assert_eq!(node.state(), NodeState::TwoFoldDraw(4));
}

#[test]
fn the_spread_of_moves_left_is_that_of_the_lines_searched() {
    let bench = TestBench::new("random", 1, KIWIPETE);
    let (search, _) = bench.search(2_000);
    let SearchContext {
        tree,
        root: root_id,
        backend_info,
        ..
    } = &search.state.context;
    let root = tree.node(*root_id);
    let found = root_evaluation(tree, *root_id, backend_info).unwrap();
    assert!((found.m.unwrap().0 - f64::from(root.mean().m)).abs() < 1e-6);
    let children = || tree.children(root).map(|(_, child)| child);
    let visits: f64 = children().map(|child| f64::from(child.visits())).sum();
    let distance = |child: &super::tree::Node| f64::from(child.mean().m) + 1.0 - found.m.unwrap().0;
    let variance = children()
        .map(|child| f64::from(child.visits()) * distance(child).powi(2))
        .sum::<f64>()
        / visits;
    let spread = found.m_spread.unwrap().0;
    assert!(
        spread >= 0.99 * variance.sqrt() && spread > 0.0,
        "{spread} {}",
        variance.sqrt()
    );
    // A regression: lines below the root were followed while others freed their nodes.
    tree.mark_full();
    let is_over = || {
        let found = root_evaluation(tree, *root_id, backend_info).unwrap();
        let at_root = found.m_spread.unwrap().0;
        assert!(
            (at_root - variance.sqrt()).abs() < 1e-3 && at_root < spread,
            "{at_root} {spread}"
        );
        true
    };
    tree.prune(*root_id, is_over);
    let headless = BackendInfo {
        has_moves_left: false,
        has_wdl: false,
        ..backend_info.clone()
    };
    let found = root_evaluation(tree, *root_id, &headless).unwrap();
    assert_eq!((found.m_spread, found.d), (None, None), "no heads, no figures");
}

/// A regression: the controller asked the chain in the middle of a batch, so that searches without a clock
/// depended on load.
#[test]
fn rules_without_a_clock_are_asked_by_workers_only() {
    let bench = TestBench::new("random", 1, "startpos");
    let done = bench.search(50).0.stats();
    let without_clock = Limit::nodes(10);
    let with_clock = Limit::Until(Bounds {
        movetime: Some(Millis(1e6)),
        ..without_clock.bounds()
    });
    let nodestime = StopperOptions {
        nodestime: NodesTimeOptions {
            nodes_per_ms: 1,
            dynamic: false,
        },
        ..StopperOptions::default()
    };
    let by_nodes = Some(EndReason::Rule(StopReason::Nodes));
    for (limit, options, by_clock) in [
        (with_clock, StopperOptions::default(), by_nodes),
        (without_clock, StopperOptions::default(), None),
        (with_clock, nodestime, None),
    ] {
        let facts = MoveFacts {
            limit,
            legal_moves: 20,
            ..MoveFacts::default()
        };
        let stop_controller = super::drive::StopController::new(Chain::new(&facts, &options, None), true);
        assert_eq!(
            stop_controller.check_by_clock(&done, 1_000, &Default::default()),
            by_clock
        );
        assert_eq!(stop_controller.check(&done, 1_000, &Default::default()), by_nodes);
    }
}

#[test]
fn prefetched_positions_are_found_in_the_cache() {
    let mut bench = TestBench::new("random", 1, KIWIPETE);
    bench.params.minibatch_size = NonZero::new(4);
    let (_, plain) = bench.search(1_000);
    assert_eq!(plain.figures.counts.prefetched, 0);
    let mut bench = TestBench::new("random", 1, KIWIPETE);
    bench.params.minibatch_size = NonZero::new(4);
    bench.params.max_prefetch = NonZero::new(32);
    let (_, result) = bench.search(1_000);
    let counts = result.figures.counts;
    assert!(
        counts.cache_hits > plain.figures.counts.cache_hits + 200,
        "{counts:?}"
    );
    assert!(counts.evaluations + counts.prefetched <= 32 * counts.batches);
    assert_eq!(counts.visits(), 1_000);
    bench.check(Kept::Whole);
}

/// A regression: positions were prefetched that the search proves without the network.
#[test]
fn positions_that_mate_by_checks_are_not_prefetched() {
    // After Kh1 Black mates by Ra1. Positions with such counters have evaluations of their own.
    for rule50 in 50..60 {
        let position = format!("fen 7k/6pp/8/8/8/8/r5PP/6K1 w - - {rule50} 30");
        let mut bench = TestBench::new("random", 1, &position);
        bench.params.max_prefetch = NonZero::new(32);
        let (search, result) = bench.search(20);
        assert!(result.figures.counts.prefetched > 0);
        let mut history = search.context().history.clone();
        history.push(history.parse_move("g1h1").unwrap());
        let (key, moves) = (history.evaluation_key(), history.legal_moves().len());
        assert!(
            search.context().cache.get(key, moves, &mut Vec::new()).is_none(),
            "{rule50}"
        );
    }
}

#[test]
fn stoppers_hear_of_the_shortest_mate_that_may_be_played() {
    // Qa8# at once, and many mates in more moves.
    let position = "fen 6k1/5ppp/8/8/8/8/Q4PPP/6K1 w - - 0 1";
    let mut bench = TestBench::new("random", 1, position);
    let (search, _) = bench.search_moves(3_000, &["a2d5", "a2c4", "a2b3", "a2a7", "a2a6", "a2a5"]);
    let longer = search.stats().mate_in;
    assert!(longer.is_none_or(|moves| moves > 1), "{longer:?}");
    let (search, _) = bench.search_moves(6_000, &[]);
    assert_eq!(search.stats().mate_in, Some(1));
    let (search, _) = bench.search_moves(6_500, &["h2h3"]);
    assert_ne!(search.stats().mate_in, Some(1), "the mate may not be played");
}

/// A regression: of moves with the same Q the last one was taken for the best.
#[test]
fn of_moves_with_the_same_q_the_most_visited_is_the_best() {
    let bench = TestBench::new("random", 1, "fen 8/8/8/3k4/8/8/8/R3K3 w - - 99 100");
    let stats = bench.search(500).0.stats();
    assert!(stats.root_is_certain && !stats.proven_win);
    assert_eq!(stats.best_by_q, stats.most_visited());
}

/// A regression: a search for an unreachable depth never ended once it could make no more visits.
#[test]
fn a_search_that_can_make_no_more_visits_ends() {
    let bench = TestBench::new("random", 2, "startpos");
    let search = bench.start_within(
        Limit::Until(Bounds {
            depth: Some(100),
            ..Bounds::default()
        }),
        500,
    );
    let result = run(&search, &mut |_| {});
    assert_eq!(
        (result.reason, result.figures.stats.nodes.0),
        (EndReason::Rule(StopReason::Nodes), 500)
    );
}

#[test]
fn a_search_without_exploration_makes_its_visits() {
    let mut bench = TestBench::new("random", 2, "startpos");
    (bench.params.cpuct, bench.params.cpuct_factor) = (0.0, 0.0);
    let stats = bench.search(2_000).0.stats();
    assert_eq!(stats.nodes.0, 2_000);
    bench.check(Kept::Whole);
}

/// A move leaves bare kings, and no other one is better.
#[test]
fn a_search_whose_moves_are_settled_makes_its_visits() {
    let bench = TestBench::new("random", 2, "fen 8/8/8/8/8/5k2/7r/6K1 w - - 0 1");
    let stats = bench.search(10_000).0.stats();
    assert!(stats.root_is_certain, "{stats:?}");
    assert_eq!(stats.nodes.0, 10_000);
}
