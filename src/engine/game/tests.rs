//! The game beyond whole searches: what one move leaves to the next.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::chess::Variant;
use crate::network::{BackendError, EvalSlot, Evaluator, backends};
use crate::search::{WorkerPool, run};
use crate::time::GoLimits;

/// A backend with an evaluator that panics once, at its third batch.
#[derive(Debug)]
struct PanickingOnce {
    backend: Arc<dyn Backend>,
    is_done: Arc<AtomicBool>,
}

struct PanickingEvaluator {
    evaluator: Box<dyn Evaluator>,
    batches: u32,
    is_done: Arc<AtomicBool>,
}

impl Backend for PanickingOnce {
    fn info(&self) -> &BackendInfo {
        self.backend.info()
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        let (evaluator, is_done) = (self.backend.evaluator()?, self.is_done.clone());
        Ok(Box::new(PanickingEvaluator { evaluator, batches: 0, is_done }))
    }
}

impl Evaluator for PanickingEvaluator {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        self.batches += 1;
        let panics = self.batches > 2 && !self.is_done.swap(true, Ordering::Relaxed);
        assert!(!panics, "this is how the test wants it");
        self.evaluator.evaluate(batch)
    }
}

/// Returns what searches need, with no search of before under way.
fn resources<'a>(
    settings: &'a Settings,
    tables: &'a RootTablebase,
    cache: &'a Arc<EvalCache>,
    backend: &'a Arc<dyn Backend>,
) -> SearchResources<'a> {
    SearchResources { settings, tables, cache, backend, draining: &[] }
}

/// A regression: the claims and visits under way of a search thread that had panicked stayed in the tree for the rest of
/// the game, so that no search ever came to what they held.
#[test]
fn a_tree_in_which_a_search_thread_died_is_dropped() {
    let settings = Settings::default();
    let config = backends::BackendConfig::parse("random", "").unwrap();
    let backend: Arc<dyn Backend> = Arc::new(PanickingOnce {
        backend: backends::create(&config, None).unwrap(),
        is_done: Arc::default(),
    });
    let workers = WorkerPool::new(&*backend, 1).unwrap();
    let mut game = GameState::new(&settings).unwrap();
    let position = History::start();
    let tables = RootTablebase::default();
    let cache = Arc::new(EvalCache::new(0));
    let resources = resources(&settings, &tables, &cache, &backend);
    let mut failures = Vec::new();
    for _ in 0..2 {
        let limits = GoLimits { nodes: Some(Nodes(500)), ..GoLimits::default() };
        let request = GoRequest::new(limits);
        let search = Arc::new(game.begin_search(&position, &request, &resources).unwrap());
        workers.assign(&search);
        let result = run(&search, &mut |_| {});
        search.state.progress.wait_idle(Duration::from_secs(60));
        let in_flight = search.state.context.root_node().in_flight();
        failures.push((
            result.failure.is_some(),
            in_flight > 0,
            result.summary.nodes == result.summary.new_nodes,
        ));
    }
    assert_eq!(failures, [(true, true, true), (false, false, true)]);
}

/// A regression: a game that began without `ucinewgame` went on with what the time management knew of the last one; under
/// `nodestime` that was a drained clock.
#[test]
fn a_position_that_does_not_continue_the_game_begins_another_one() {
    let mut settings = Settings::default();
    settings.stoppers.nodestime.nodes_per_ms = 1;
    let config = backends::BackendConfig::parse("random", "").unwrap();
    let backend: Arc<dyn Backend> = backends::create(&config, None).unwrap();
    let (tables, cache) = (RootTablebase::default(), Arc::new(EvalCache::new(0)));
    let resources = resources(&settings, &tables, &cache, &backend);
    let mut game = GameState::new(&settings).unwrap();
    // Returns the nodes on the clock; each move uses 4,000.
    let mut nodes_before_move = |position: &str, ponder| {
        let position = History::from_uci_position(position, Variant::Standard).unwrap();
        let limits = GoLimits { time: Some(Millis(10_000.0)), ponder, ..GoLimits::default() };
        let request = GoRequest::new(limits);
        let search = game.begin_search(&position, &request, &resources).unwrap();
        let nodes = search.stop_controller.with_chain(|chain| chain.max_new_nodes());
        let stats = SearchStats { new_nodes: Nodes(4_000), ..SearchStats::default() };
        game.finish_move(&search, EndReason::Rule(StopReason::Budget), &stats);
        nodes.map(|nodes| nodes.0)
    };
    assert_eq!(nodes_before_move("startpos", false), Some(10_000));
    assert_eq!(nodes_before_move("startpos moves e2e4 e7e5", false), Some(6_000));
    assert_eq!(nodes_before_move("startpos moves e2e4 e7e5 g1f3 b8c6", true), None);
    assert_eq!(nodes_before_move("startpos moves e2e4 e7e5 g1f3 g8f6", false), Some(2_000), "a miss");
    assert_eq!(nodes_before_move("fen 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", false), Some(10_000));
    assert_eq!(nodes_before_move("fen 3k4/8/8/8/8/8/4P3/3K4 w - - 2 2", false), Some(6_000));
    assert_eq!(nodes_before_move("startpos", false), Some(10_000));
    assert_eq!(nodes_before_move("startpos moves e2e4 e7e5", false), Some(6_000));
    assert_eq!(nodes_before_move("startpos", false), Some(10_000), "a step back");
}
