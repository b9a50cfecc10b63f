//! Searches for tests: a tree of one game, and workers that search it with a synthetic backend.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::chess::{History, Variant};
use crate::network::backends::{BackendConfig, create};
use crate::network::cache::EvalCache;
use crate::search::tree::{GameTree, Node, NodeId, Tree};
use crate::search::*;
use crate::time::{Chain, GoLimits, MoveFacts, Nodes, StopperOptions};

/// A position with many kinds of moves.
pub(super) const KIWIPETE: &str = "fen r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";

pub(super) fn nodes_below(tree: &Tree, root: NodeId) -> Vec<&Node> {
    let (mut open, mut found) = (vec![root], Vec::new());
    while let Some(id) = open.pop() {
        found.extend(tree.children(tree.node(id)).map(|(_, child)| child));
        open.extend(tree.children(tree.node(id)).map(|(child, _)| child));
    }
    found
}

pub(super) struct TestBench {
    pub(super) pool: WorkerPool,
    pub(super) backend: Arc<dyn crate::network::Backend>,
    pub(super) start_position: History,
    pub(super) tree: GameTree,
    pub(super) params: SearchParams,
}

impl TestBench {
    pub(super) fn new(backend: &str, threads: usize, position: &str) -> TestBench {
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

    /// Searches until the root has `nodes` visits, and waits until all workers have left.
    pub(super) fn search(&self, nodes: u64) -> (Arc<Search>, SearchResult) {
        self.search_moves(nodes, &[])
    }

    pub(super) fn search_moves(&self, nodes: u64, root_moves: &[&str]) -> (Arc<Search>, SearchResult) {
        let search = self.start(Some(nodes), root_moves);
        let result = run(&search, &mut |_| {});
        search.state.progress.wait_idle(Duration::from_secs(60));
        (search, result)
    }

    /// Lets the workers begin a search that ends when the root has `nodes` visits, or when it is asked to stop.
    pub(super) fn start(&self, nodes: Option<u64>, root_moves: &[&str]) -> Arc<Search> {
        let visits = |n: u64| n.saturating_sub(self.tree.tree().node(self.tree.root()).visits().into());
        let limits = GoLimits { nodes: nodes.map(Nodes), infinite: nodes.is_none(), ..GoLimits::default() };
        self.start_within(limits, nodes.map_or(u64::MAX, visits), root_moves)
    }

    /// Does the same with these limits and at most `visits` visits.
    pub(super) fn start_within(&self, limits: GoLimits, visits: u64, root_moves: &[&str]) -> Arc<Search> {
        let search = self.prepare(limits, visits, root_moves);
        self.pool.assign(&search);
        search
    }

    /// Returns such a search before anybody takes part in it.
    pub(super) fn prepare(&self, limits: GoLimits, visits: u64, root_moves: &[&str]) -> Arc<Search> {
        let (tree, root) = (self.tree.tree().clone(), self.tree.root());
        let facts = MoveFacts { limits, legal_moves: 30, ..MoveFacts::default() };
        let options = StopperOptions { smart_pruning_factor: 0.0, ..StopperOptions::default() };
        let history = self.tree.history().clone();
        let context = SearchContext {
            root_moves: root_moves.iter().map(|text| history.parse_move(text).unwrap()).collect(),
            tree,
            root,
            history,
            expected_move: None,
            reply_moves: Vec::new(),
            params: self.params.clone(),
            rescale: Rescale::default(),
            cache: Arc::new(EvalCache::new(10_000)),
            tablebase: None,
            tablebase_hits: 0,
            backend_info: self.backend.info().clone(),
            reporting: Reporting { lines: 1, move_stats: MoveStatsWhen::Never },
            clock: match self.backend.info().virtual_pace {
                Some(_) => SearchClock::new_virtual(),
                None => SearchClock::Real(Instant::now()),
            },
        };
        let chain = Chain::new(&facts, &options, None);
        Arc::new(Search::new(context, chain, visits))
    }
}
