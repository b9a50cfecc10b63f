//! One game's tree, cache and timekeepers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam::utils::CachePadded;

use super::error::EngineError;
use super::request::GoRequest;
use super::settings::Settings;
use super::setup::Setup;
use crate::chess::{History, Move};
use crate::network::cache::EvalCache;
use crate::network::encode::HistoryFill;
use crate::note::Note;
use crate::search::tree::{GameTree, MAX_VISITS, Node, Past, Reclaimer, TreeFull, continues};
use crate::search::{
    EndReason, Life, Rescale, Search, SearchClock, SearchContext, SearchParams, Stage, root_evaluation,
};
use crate::time::{
    Chain, GamePly, Limit, Millis, MoveFacts, Nodes, SearchEnd, SearchStats, StopReason, TimeManager,
    Timekeeper,
};

/// The longest wait of an analysis for the last search's batches.
const DRAINING_PATIENCE: Duration = Duration::from_secs(1);

/// Keeps nothing else of the search alive.
type Draining = Arc<CachePadded<Life>>;

pub(super) struct OwnGame {
    pub(super) setup: Arc<Setup>,
    cache: Arc<EvalCache>,
    tree: Option<GameTree>,
    /// Earlier searches whose workers may still touch the tree.
    draining: Vec<Draining>,
    /// The tree's policies and values depend on these.
    made_with: Option<(f32, HistoryFill)>,
    rescaled_by: Rescale,
    reclaimer: Reclaimer,
    /// White and Black: one process may play both.
    sides: [Timekeeper; 2],
    side: usize,
    /// Kept until our next move.
    before_pondering: Option<BeforePondering>,
    /// Up to the last search with a clock.
    last_clocked: Option<History>,
    /// What there is to tell, until it is told.
    pub(super) notes: Vec<Note>,
}

fn new_sides(setup: &Setup) -> Result<[Timekeeper; 2], EngineError> {
    let side = || {
        Ok::<_, EngineError>(Timekeeper::new(
            setup.time_manager()?,
            setup.settings.stoppers.clone(),
        ))
    };
    Ok([side()?, side()?])
}

impl OwnGame {
    pub(super) fn new(
        setup: Arc<Setup>,
        cache: Arc<EvalCache>,
        reclaimer: Reclaimer,
    ) -> Result<OwnGame, EngineError> {
        Ok(OwnGame {
            sides: new_sides(&setup)?,
            setup,
            cache,
            tree: None,
            draining: Vec::new(),
            made_with: None,
            rescaled_by: Rescale::default(),
            reclaimer,
            side: 0,
            before_pondering: None,
            last_clocked: None,
            notes: Vec::new(),
        })
    }

    /// Goes on under other options. Another manager begins a game.
    pub(super) fn take_up(&mut self, setup: Arc<Setup>) -> Result<(), EngineError> {
        let before = std::mem::replace(&mut self.setup, setup);
        if !self.setup.shares_evaluations(&before) {
            self.clear_cache();
        }
        if !self.setup.shares_managers(&before) {
            self.release_tree();
            self.sides = new_sides(&self.setup)?;
            (self.before_pondering, self.last_clocked) = (None, None);
        }
        Ok(())
    }

    pub(super) fn clear_cache(&mut self) {
        self.cache = self.setup.new_cache();
    }

    /// Prepares a search of the last position, or as [`root_of`] says.
    pub(super) fn begin(&mut self, game: &History, request: &GoRequest) -> Result<Search, EngineError> {
        check(game, request)?;
        let setup = self.setup.clone();
        let limit = request.limit;
        let backend = setup.backend().facts();
        let weakening = setup.settings.strength.weakening(game, limit);
        let settings = &setup.settings.for_search(weakening);
        let rescale = settings
            .contempt
            .rescale(game.current().turn(), limit.is_infinite())?;
        let (history, expected_move) = root_of(game, limit);
        let wanted = request.root_moves.clone();
        // The opponent may play any move.
        let (root_moves, reply_moves) = match expected_move {
            Some(_) => (Vec::new(), wanted),
            None => (wanted, Vec::new()),
        };
        let tables = setup
            .tables
            .filter_root_moves(&history, root_moves, &settings.tablebase);
        let chosen = match expected_move {
            Some(_) => &[],
            None => &tables.root_moves[..],
        };
        if weakening.is_some() {
            // A reused tree would make it stronger than asked for.
            self.release_tree();
        }
        self.release_unfit_tree(&settings.search, rescale);
        let tree = self.pick_tree(&history, chosen, limit)?;
        let root = tree.root;
        let root_moves = tree.chosen_moves().to_vec();
        let tree = tree.tree.clone();
        tree.set_limit(settings.tree_limit(backend));
        let reused = Nodes::from(tree.node(root).visits());
        self.side = usize::from(game.current().turn().is_black());
        if limit.mover_clock().is_some() {
            self.renew_clocks_in_a_new_game(game)?;
        }
        let clock = SearchClock::start(request.received, backend.virtual_pace);
        let chain = self.make_chain(request, clock.elapsed(), tables.choices);
        let affordable = [chain.max_new_nodes(), weakening.map(|weakening| weakening.nodes)];
        let affordable = affordable.into_iter().flatten().min().unwrap_or(Nodes::MAX);
        let visits = new_visits(limit, settings, reused, affordable);
        let mut params = settings.search.clone();
        if settings.stoppers.smart_pruning_factor > 0.0 && !limit.is_infinite() {
            // No gain beside smart pruning, which already gives the last visits to moves that can still
            // overtake.
            params.lcb_factor = 0.0;
        }
        self.gather_notes(limit)?;
        let context = SearchContext {
            tree,
            root,
            history,
            expected_move,
            root_moves,
            reply_moves,
            params,
            rescale,
            cache: self.cache.clone(),
            tablebase: tables.below,
            tablebase_hits: tables.hits,
            backend_info: backend.clone(),
            reporting: setup.settings.info.reporting(),
            clock,
        };
        let search = Search::new(context, chain, visits);
        self.draining.push(search.state.life.clone());
        Ok(search)
    }

    fn gather_notes(&mut self, limit: Limit) -> Result<(), EngineError> {
        let settings = &self.setup.settings;
        if !settings.strength.analyse_mode && settings.contempt.lacks_side(limit.is_infinite())? {
            let note = "contempt favours no side in infinite search. ContemptMode can choose one";
            self.notes.push(note.into());
        }
        let message = self.sides[self.side].manager.take_message();
        self.notes.extend(message.map(Note::from));
        Ok(())
    }

    pub(super) fn manager(&self) -> &dyn TimeManager {
        &*self.sides[self.side].manager
    }

    /// If a search thread has damaged it, or these options would give other values.
    fn release_unfit_tree(&mut self, params: &SearchParams, rescale: Rescale) {
        let made_with = Some((params.policy_temperature, params.history_fill));
        let is_damaged = self.tree.as_ref().is_some_and(|tree| tree.tree.is_damaged());
        if self.made_with != made_with || !self.rescaled_by.gives_same_values(&rescale) || is_damaged {
            self.release_tree();
        }
        self.made_with = made_with;
        self.rescaled_by = rescale;
    }

    /// The tree with the last position as its root, where `moves` may be played, or all if there are none.
    fn pick_tree(&mut self, game: &History, moves: &[Move], limit: Limit) -> Result<&GameTree, EngineError> {
        self.draining.retain(|life| life.stage() != Stage::Drained);
        let past = past_to_keep(limit, &self.draining);
        let advanced = self.tree.as_mut().map(|tree| {
            let draining = self.draining.clone();
            let wait = move || {
                for life in &draining {
                    life.wait_for_workers(Duration::MAX);
                }
            };
            tree.advance(game.clone(), past, &self.reclaimer, wait)
        });
        if let Some(Err(TreeFull)) = advanced {
            self.release_tree();
        }
        let is_idle = self.draining.iter().all(|life| life.stage() == Stage::Drained);
        // Visits in flight would count for the wrong moves.
        if self.tree.as_ref().is_some_and(|tree| tree.leaves_choice(moves)) && !is_idle {
            self.release_tree();
        }
        let kept = match self.tree.take() {
            Some(tree) => tree,
            None => GameTree::new(game.clone())?,
        };
        let tree = self.tree.insert(kept);
        tree.choose_moves(moves);
        if limit.is_ponder()
            && self
                .before_pondering
                .as_ref()
                .is_none_or(|before| !before.is_of(game))
        {
            self.before_pondering = Some(BeforePondering::read(tree));
        }
        Ok(tree)
    }

    /// Drops the tree. Nobody waits until its memory is free.
    pub(super) fn release_tree(&mut self) {
        if let Some(tree) = self.tree.take() {
            self.reclaimer.add(|| drop(tree));
        }
    }

    /// Without `ucinewgame`. A step back counts as a new game, as in Lc0.
    fn renew_clocks_in_a_new_game(&mut self, game: &History) -> Result<(), EngineError> {
        let goes_on = |last: &History| {
            let [before, now] = [last, game].map(History::game_ply);
            continues(game, last) || now == before + 2 && agree(game, last)
        };
        if self.last_clocked.as_ref().is_some_and(|last| !goes_on(last)) {
            self.sides = new_sides(&self.setup)?;
        }
        self.last_clocked = Some(game.clone());
        Ok(())
    }

    /// `choices` are the moves that the endgame tables leave, if they know the position.
    fn make_chain(&mut self, request: &GoRequest, elapsed: Duration, choices: Option<usize>) -> Chain {
        let mut facts = self.facts(request);
        facts.elapsed = elapsed.into();
        if let Some(choices) = choices {
            facts.legal_moves = choices as u32;
        }
        if !request.limit.is_ponder() {
            self.before_pondering = None;
        }
        if request.limit.after_ponder_hit().bounds().time.is_none() {
            self.sides.iter_mut().for_each(Timekeeper::clock_was_set);
        }
        let timekeeper = &mut self.sides[self.side];
        timekeeper.options = self.setup.settings.stoppers.clone();
        timekeeper.start_move(&facts)
    }

    fn facts(&self, request: &GoRequest) -> MoveFacts {
        let settings = &self.setup.settings;
        let backend = self.setup.backend().facts();
        let mut facts = MoveFacts {
            limit: request.limit,
            loading: request.loading,
            overhead: Millis(settings.time.move_overhead.as_millis() as f64),
            has_moves_left: backend.has_moves_left,
            lines: settings.info.multi_pv,
            ponder_enabled: settings.ponder,
            asks_for_value: settings.strength.analyse_mode || !request.root_moves.is_empty(),
            ..MoveFacts::default()
        };
        if let Some(tree) = &self.tree {
            let position = tree.history.current();
            let root = tree.tree.node(tree.root);
            facts.game_ply = GamePly(position.game_ply());
            facts.pieces = position.piece_count() as u32;
            let legal = position.legal_moves();
            let is_tactical = |&&m: &&Move| position.is_tactical(m);
            facts.legal_moves = legal.len() as u32;
            facts.tactical_moves = legal.iter().filter(is_tactical).count() as u32;
            facts.reused_nodes = root.visits().into();
            let kept = self
                .before_pondering
                .as_ref()
                .and_then(|before| before.visits_of(&tree.history));
            facts.pondered_nodes = kept.map_or(Nodes(0), |kept| facts.reused_nodes.saturating_sub(kept));
            let chosen = tree.chosen_moves();
            let is_chosen = |child: &&Node| chosen.is_empty() || chosen.contains(&child.edge().mv());
            let children = tree.tree.children(root).map(|(_, child)| child);
            facts.reused_visits = children.filter(is_chosen).map(Node::visits).collect();
            facts.root = root_evaluation(&tree.tree, tree.root, backend);
        }
        facts
    }

    /// `stats` are the last figures of the move's search.
    pub(super) fn finish_move(&mut self, search: &Search, end: EndReason, stats: &SearchStats) {
        let reason = match end {
            EndReason::Rule(rule) => Some(rule),
            EndReason::Deadline => Some(StopReason::Budget),
            EndReason::Stopped | EndReason::Failure => None,
        };
        let timekeeper = &mut self.sides[self.side];
        search
            .stop_controller
            .with_chain(|chain| timekeeper.finish_move(chain, &SearchEnd { stats, reason }));
    }
}

fn agree(a: &History, b: &History) -> bool {
    let first = |game: &History| game.position(0).game_ply();
    let start = first(a).max(first(b));
    let end = a.game_ply().min(b.game_ply());
    let key = |game: &History, ply: u32| game.position((ply - first(game)) as usize).key();
    (start..=end).all(|ply| key(a, ply) == key(b, ply))
}

/// Fails if the limit's times or a root move cannot be searched.
fn check(game: &History, request: &GoRequest) -> Result<(), EngineError> {
    if let Some((name, Millis(ms))) = request.limit.unusable_time() {
        return Err(EngineError::Time { name, ms });
    }
    for &mv in &request.root_moves {
        game.current().check_move(mv)?;
    }
    Ok(())
}

/// The game to search, and the move expected there. Pondering searches the position before the last, so that
/// every reply keeps its subtree.
fn root_of(game: &History, limit: Limit) -> (History, Option<Move>) {
    let mut before = game.clone();
    before.pop();
    let leads_back = |mv: &Move| before.current().play(*mv).key() == game.current().key();
    let last_move = before.legal_moves().into_iter().find(leads_back);
    if limit.is_ponder() && last_move.is_some() && before.len() < game.len() {
        (before, last_move)
    } else {
        (game.clone(), None)
    }
}

/// May wait for earlier searches' batches.
fn past_to_keep(limit: Limit, draining: &[Draining]) -> Past {
    let are_idle = wants_idle_tree(limit) && are_idle_soon(draining);
    // Only an analysis goes back.
    if limit == Limit::Infinite && are_idle {
        Past::Keep
    } else {
        Past::Release
    }
}

fn wants_idle_tree(limit: Limit) -> bool {
    // Late backups would add to the requested nodes. A clock does not wait for them.
    let bounds = limit.bounds();
    let is_counted = bounds.nodes.is_some() && bounds.time.or(bounds.movetime).is_none();
    limit == Limit::Infinite || is_counted
}

/// New visits for a root with `reused`, up to `affordable`.
fn new_visits(limit: Limit, settings: &Settings, reused: Nodes, affordable: Nodes) -> u64 {
    let asked = limit.bounds().nodes.map(|nodes| {
        if settings.stoppers.nodes_as_playouts {
            nodes
        } else {
            nodes.saturating_sub(reused)
        }
    });
    let countable = Nodes::from(MAX_VISITS).saturating_sub(reused);
    let Nodes(visits) = asked.unwrap_or(Nodes::MAX).min(affordable).min(countable);
    // A root needs one visit to have a move at all, also for `go nodes 0`.
    visits.max((reused == Nodes(0)).into())
}

/// Waits briefly. True if no worker can touch the tree any more.
fn are_idle_soon(searches: &[Draining]) -> bool {
    let deadline = Instant::now() + DRAINING_PATIENCE;
    searches
        .iter()
        .all(|life| life.wait_for_workers(deadline.saturating_duration_since(Instant::now())))
}

impl Drop for OwnGame {
    fn drop(&mut self) {
        self.release_tree();
    }
}

struct BeforePondering {
    len: usize,
    root: (u64, Nodes),
    replies: Vec<(u64, Nodes)>,
}

impl BeforePondering {
    fn read(game: &GameTree) -> BeforePondering {
        let tree = &game.tree;
        let position = game.history.current();
        let root = tree.node(game.root);
        let replies = tree.children(root).map(|(_, child)| {
            let after = position.play(child.edge().mv());
            (after.key(), Nodes::from(child.visits()))
        });
        BeforePondering {
            len: game.history.len(),
            root: (position.key(), root.visits().into()),
            replies: replies.collect(),
        }
    }

    fn is_of(&self, game: &History) -> bool {
        (game.len(), game.current().key()) == (self.len, self.root.0)
    }

    /// Former visits of the pondered position or a reply to it, `None` for others.
    fn visits_of(&self, game: &History) -> Option<Nodes> {
        if self.is_of(game) {
            return Some(self.root.1);
        }
        let follows = game.len() == self.len + 1 && game.position(self.len - 1).key() == self.root.0;
        let reply = || {
            self.replies
                .iter()
                .find(|(reply, _)| *reply == game.current().key())
        };
        follows.then(|| reply().map(|(_, visits)| *visits).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::chess::Variant;
    use crate::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator, backends};
    use crate::search::{WorkerPool, run};
    use crate::time::{Bounds, Hints, Limit, RootEvaluation};

    #[test]
    fn replies_without_visits_and_other_games_are_told_apart() {
        let game = |moves: &str| {
            History::from_uci_position(&format!("startpos moves {moves}"), Variant::Standard).unwrap()
        };
        let before = BeforePondering {
            len: 2,
            root: (game("e2e4").current().key(), Nodes(100)),
            replies: vec![(game("e2e4 e7e5").current().key(), Nodes(70))],
        };
        assert_eq!(before.visits_of(&game("e2e4")), Some(Nodes(100)));
        assert_eq!(before.visits_of(&game("e2e4 e7e5")), Some(Nodes(70)));
        assert_eq!(
            before.visits_of(&game("e2e4 a7a6")),
            Some(Nodes(0)),
            "never looked at"
        );
        assert_eq!(before.visits_of(&game("d2d4 e7e5")), None, "another game");
        assert_eq!(before.visits_of(&game("e2e4 e7e5 g1f3")), None, "too far on");
    }

    /// An evaluator panics once, at its third batch.
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
        fn facts(&self) -> &BackendInfo {
            self.backend.facts()
        }

        fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
            let (evaluator, is_done) = (self.backend.evaluator()?, self.is_done.clone());
            Ok(Box::new(PanickingEvaluator {
                evaluator,
                batches: 0,
                is_done,
            }))
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

    fn game_with(settings: Settings, backend: Arc<dyn Backend>) -> OwnGame {
        let setup = Arc::new(Setup::with_backend(settings, backend).unwrap());
        OwnGame::new(setup, Arc::new(EvalCache::new(0)), Reclaimer::new()).unwrap()
    }

    /// A regression: the claims of a panicked search thread stayed in the tree and blocked later searches.
    #[test]
    fn a_tree_in_which_a_search_thread_died_is_dropped() {
        let config = backends::BackendConfig::parse("random", "").unwrap();
        let backend: Arc<dyn Backend> = Arc::new(PanickingOnce {
            backend: backends::create(&config, None).unwrap(),
            is_done: Arc::default(),
        });
        let workers = WorkerPool::new(&*backend, 1).unwrap();
        let mut game = game_with(Settings::default(), backend);
        let position = History::start();
        let mut failures = Vec::new();
        for _ in 0..2 {
            let limit = Limit::nodes(500);
            let request = GoRequest::new(limit);
            let search = Arc::new(game.begin(&position, &request).unwrap());
            workers.assign(&search);
            let result = run(&search, &mut |_| {});
            search.state.life.wait_for_workers(Duration::from_secs(60));
            let in_flight = search.state.context.root_node().in_flight();
            let is_damaged = search.state.context.tree.is_damaged();
            assert_eq!(is_damaged, result.failure.is_some());
            failures.push((
                result.failure.is_some(),
                in_flight > 0,
                result.figures.stats.nodes.0 == result.figures.stats.new_nodes.0,
            ));
        }
        assert_eq!(failures, [(true, true, true), (false, false, true)]);
    }

    /// A regression: time management carried over into a game without `ucinewgame`.
    #[test]
    fn a_position_that_does_not_continue_the_game_begins_another_one() {
        let mut settings = Settings::default();
        settings.stoppers.nodestime.nodes_per_ms = 1;
        let config = backends::BackendConfig::parse("random", "").unwrap();
        let backend: Arc<dyn Backend> = backends::create(&config, None).unwrap();
        let mut game = game_with(settings, backend);
        // Each move uses 4,000 nodes.
        let mut nodes_before_move = |position: &str, ponder| {
            let position = History::from_uci_position(position, Variant::Standard).unwrap();
            let clock = Limit::clock(Millis(10_000.0), Millis::ZERO);
            let request = GoRequest::new(if ponder {
                Limit::Ponder(Some(clock.bounds()))
            } else {
                clock
            });
            let search = game.begin(&position, &request).unwrap();
            let nodes = search.stop_controller.with_chain(|chain| chain.max_new_nodes());
            let stats = SearchStats {
                new_nodes: Nodes(4_000),
                ..SearchStats::default()
            };
            game.finish_move(&search, EndReason::Rule(StopReason::Budget), &stats);
            nodes.map(|nodes| nodes.0)
        };
        assert_eq!(nodes_before_move("startpos", false), Some(10_000));
        assert_eq!(nodes_before_move("startpos moves e2e4 e7e5", false), Some(6_000));
        assert_eq!(
            nodes_before_move("startpos moves e2e4 e7e5 g1f3 b8c6", true),
            None
        );
        assert_eq!(
            nodes_before_move("startpos moves e2e4 e7e5 g1f3 g8f6", false),
            Some(2_000),
            "a miss"
        );
        assert_eq!(
            nodes_before_move("fen 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", false),
            Some(10_000)
        );
        assert_eq!(
            nodes_before_move("fen 3k4/8/8/8/8/8/4P3/3K4 w - - 2 2", false),
            Some(6_000)
        );
        assert_eq!(nodes_before_move("startpos", false), Some(10_000));
        assert_eq!(nodes_before_move("startpos moves e2e4 e7e5", false), Some(6_000));
        assert_eq!(nodes_before_move("startpos", false), Some(10_000), "a step back");
        assert_eq!(
            nodes_before_move("startpos moves e2e4", false),
            Some(10_000),
            "the other side's clock"
        );
        assert_eq!(nodes_before_move("startpos moves e2e4 e7e5", false), Some(6_000));
        // A regression: any game two plies further counted as the same.
        assert_eq!(
            nodes_before_move("startpos moves d2d4 d7d5 c2c4 e7e6", false),
            Some(10_000)
        );
        let after = "fen rnbqkbnr/ppp2ppp/4p3/3p4/2PP4/8/PP2PPPP/RNBQKBNR w KQkq - 0 3 moves b1c3 g8f6";
        assert_eq!(
            nodes_before_move(after, false),
            Some(6_000),
            "told from another position on"
        );
    }

    const VIRTUAL: &str = "simulated(network=random,clock=virtual)";

    fn create(backend: &str) -> Arc<dyn Backend> {
        let config = backends::BackendConfig::parse(backend, "").unwrap();
        backends::create(&config, None).unwrap()
    }

    fn position(moves: &str) -> History {
        History::from_uci_position(&format!("startpos moves {moves}"), Variant::Standard).unwrap()
    }

    fn settings(options: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::default();
        for (name, value) in options {
            settings.set(name, value).unwrap();
        }
        settings
    }

    #[test]
    fn a_tree_is_kept_where_the_options_that_shape_it_stay_and_strength_is_whole() {
        let visits_found = |options: &[(&str, &str)]| {
            let backend = create("random");
            let workers = WorkerPool::new(&*backend, 1).unwrap();
            let mut game = game_with(Settings::default(), backend.clone());
            let request = GoRequest::new(Limit::nodes(50));
            let search = Arc::new(game.begin(&History::start(), &request).unwrap());
            workers.assign(&search);
            run(&search, &mut |_| {});
            search.state.life.wait_for_workers(Duration::from_secs(60));
            let setup = Setup::with_backend(settings(options), backend).unwrap();
            game.take_up(Arc::new(setup)).unwrap();
            let search = game.begin(&History::start(), &request).unwrap();
            search.state.context.root_node().visits()
        };
        assert_eq!(visits_found(&[]), 50);
        assert_eq!(visits_found(&[("MoveOverheadMs", "7")]), 50);
        assert_eq!(visits_found(&[("PolicyTemperature", "2")]), 0);
        assert_eq!(visits_found(&[("HistoryFill", "no")]), 0);
        assert_eq!(visits_found(&[("Contempt", "100")]), 0);
        let weakened = [("UCI_LimitStrength", "true"), ("UCI_Elo", "1500")];
        assert_eq!(visits_found(&weakened), 0);
    }

    #[test]
    fn visits_made_while_pondering_are_told_from_those_kept() {
        let backend = create("random");
        let workers = WorkerPool::new(&*backend, 1).unwrap();
        let mut game = game_with(Settings::default(), backend);
        let nodes = GoRequest::new(Limit::nodes(100));
        let search = Arc::new(game.begin(&position("e2e4"), &nodes).unwrap());
        workers.assign(&search);
        run(&search, &mut |_| {});
        search.state.life.wait_for_workers(Duration::from_secs(60));
        // It searches the position before the move that is expected.
        let ponder = GoRequest::new(Limit::Ponder(None));
        let search = Arc::new(game.begin(&position("e2e4 e7e5"), &ponder).unwrap());
        workers.assign(&search);
        while search.state.counters.lock().visits() < 60 {
            std::thread::yield_now();
        }
        search.request_stop();
        search.state.life.wait_for_workers(Duration::from_secs(60));
        let facts = game.facts(&ponder);
        assert!(facts.pondered_nodes >= Nodes(60));
        assert_eq!(facts.kept_nodes(), Nodes(100));
    }

    #[test]
    fn only_a_search_by_nodes_alone_or_an_analysis_waits_for_earlier_ones() {
        let nodes = Limit::nodes(100).bounds();
        let waits = |bounds: Bounds| wants_idle_tree(Limit::Until(bounds));
        assert!(waits(nodes) && wants_idle_tree(Limit::Infinite));
        let clock = Bounds {
            time: Some(Millis(60_000.0)),
            ..nodes
        };
        let movetime = Bounds {
            movetime: Some(Millis(100.0)),
            ..nodes
        };
        assert!(!waits(clock) && !waits(movetime) && !waits(Bounds::default()));
    }

    #[test]
    fn the_only_move_that_tables_leave_is_played_at_once() {
        let mut game = game_with(Settings::default(), create(VIRTUAL));
        let request = GoRequest::new(Limit::clock(Millis(60_000.0), Millis::ZERO));
        game.begin(&History::start(), &request).unwrap();
        let stats = SearchStats {
            root: Some(RootEvaluation::default()),
            race_visits: vec![2],
            ..SearchStats::default()
        };
        let mut end_with = |choices| {
            let mut chain = game.make_chain(&request, Duration::ZERO, choices);
            chain.should_stop(&stats, &mut Hints::default())
        };
        assert_eq!(end_with(None), None);
        assert_eq!(end_with(Some(2)), None);
        assert_eq!(end_with(Some(1)), Some(StopReason::OnlyMove));
    }

    #[test]
    fn bounds_choose_the_move_only_without_smart_pruning() {
        let lcb_factor = |options: &[(&str, &str)], limit: Limit| {
            let mut game = game_with(settings(options), create("random"));
            let search = game.begin(&History::start(), &GoRequest::new(limit)).unwrap();
            search.state.context.params.lcb_factor
        };
        assert_eq!(lcb_factor(&[], Limit::nodes(50)), 0.0);
        assert_eq!(lcb_factor(&[("SmartPruningFactor", "0")], Limit::nodes(50)), 1.0);
        assert_eq!(lcb_factor(&[], Limit::Infinite), 1.0);
    }

    /// The budget of the last search, which follows on others, each of 100 ms with this clock (or none) and
    /// this end. Nothing is searched.
    fn last_budget(searches: &[(&str, Option<f64>, EndReason)]) -> Millis {
        let mut game = game_with(Settings::default(), create(VIRTUAL));
        let stats = SearchStats {
            elapsed: Millis(100.0),
            since_first_eval: Some(Millis(99.0)),
            nodes: Nodes(1_000),
            new_nodes: Nodes(1_000),
            race_visits: vec![600, 399],
            ..SearchStats::default()
        };
        let mut budget = None;
        for &(moves, time, end) in searches {
            let limit = time.map_or(Limit::Infinite, |time| Limit::clock(Millis(time), Millis::ZERO));
            let search = game.begin(&position(moves), &GoRequest::new(limit)).unwrap();
            budget = search.stop_controller.with_chain(|chain| chain.report());
            game.finish_move(&search, end, &stats);
        }
        budget.unwrap().budget
    }

    #[test]
    fn a_search_that_the_deadline_ended_teaches_as_one_that_used_its_budget() {
        let after = |end| last_budget(&[("", Some(60_000.0), end), ("e2e4 e7e5", Some(60_000.0), end)]);
        let by_budget = after(EndReason::Rule(StopReason::Budget));
        assert_eq!(after(EndReason::Deadline), by_budget);
        assert_ne!(after(EndReason::Stopped), by_budget);
    }

    #[test]
    fn a_clock_that_changed_while_another_position_was_analysed_shows_no_lag() {
        let first = ("", Some(60_000.0), EndReason::Deadline);
        let analysis = ("e2e4", None, EndReason::Stopped);
        // 400 ms are missing.
        let last = ("e2e4 e7e5", Some(59_500.0), EndReason::Deadline);
        assert!(last_budget(&[first, analysis, last]) > last_budget(&[first, last]));
    }
}
