//! One side of a game that is played with many others at once: searched step by step on the caller's thread.
//!
//! An [`EngineSetup`] is an engine's options with its network and tables made ready, for any number of games.
//! An [`EnginePlayer`] plays one side of one game with its setup: [`EnginePlayer::begin_move`], then
//! [`EnginePlayer::advance`] and [`SharedBatch::evaluate`] in turn until the search is over, then
//! [`EnginePlayer::end_move`]. Before that it may ponder in the same way, from
//! [`EnginePlayer::begin_pondering`] on. Used by [`crate::lab::matches`], and by `serve` for positions
//! without a game.

use std::sync::Arc;
use std::time::Duration;

use super::game::{GameState, SearchResources};
use super::memory::CacheSettings;
use super::network::{OpenedBackend, open_backend};
use super::{EngineError, GoRequest, Settings, in_force, quick_look};
use crate::chess::{History, Move};
use crate::network::cache::EvalCache;
use crate::network::{Backend, EvalSlot};
use crate::note::Note;
use crate::search::tree::Reclaimer;
use crate::search::{NextStep, PACE_WAIT, SearchInfo, SearchResult, SteppedSearch, WorkerPool, watch};
use crate::tablebase::TablesInForce;
use crate::time::{GoLimits, Millis, MoveReport, Nodes, NodesPerMilli};

/// Options, network and tables that many games share.
#[derive(Debug)]
pub struct EngineSetup {
    settings: Settings,
    opened: OpenedBackend,
    tables: TablesInForce,
    notes: Vec<Note>,
}

impl EngineSetup {
    /// Makes network and tables ready.
    ///
    /// # Errors
    /// Fails if an option is refused or the network cannot be had.
    pub fn new(settings: Settings) -> Result<EngineSetup, EngineError> {
        settings.check()?;
        let opened = open_backend(&settings.network)?;
        EngineSetup::with_opened(settings, opened)
    }

    /// Makes the tables ready, as [`EngineSetup::new`] does, and takes the backend of `other`.
    ///
    /// # Errors
    /// Fails if an option is refused.
    pub fn with_backend_of(other: &EngineSetup, settings: Settings) -> Result<EngineSetup, EngineError> {
        EngineSetup::with_opened(settings, other.opened.clone())
    }

    /// Makes the tables ready, and takes the backend `opened`.
    pub(crate) fn with_opened(settings: Settings, opened: OpenedBackend) -> Result<EngineSetup, EngineError> {
        settings.check()?;
        let mut tables = TablesInForce::default();
        let notes = tables.open_if_changed(&settings.tablebase).into_iter().collect();
        Ok(EngineSetup { settings, opened, tables, notes })
    }

    /// Returns a setup with other options but the same network and tables, which those options must not
    /// change. It is made in no time.
    ///
    /// # Errors
    /// Fails if an option is refused.
    pub fn with_settings(&self, settings: Settings) -> Result<EngineSetup, EngineError> {
        settings.check()?;
        let tables = self.tables.clone();
        Ok(EngineSetup { settings, opened: self.opened.clone(), tables, notes: Vec::new() })
    }

    /// Returns whether the options `settings` would make the very same backend as this setup's.
    pub fn has_backend_of(&self, settings: &Settings) -> bool {
        self.settings.network.has_backend_of(&settings.network)
    }

    /// Returns whether the evaluations that a search of `other` keeps are those that one of this setup would
    /// make.
    pub fn shares_evaluations(&self, other: &EngineSetup) -> bool {
        CacheSettings::of(&self.settings) == CacheSettings::of(&other.settings)
    }

    /// Returns the options.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the network on its device.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.opened.backend
    }

    /// Returns the SHA-256 of the network's file, in hexadecimal, or `None` without a network.
    pub fn network_sha256(&self) -> Option<&str> {
        self.opened.network_sha256.as_deref()
    }

    /// Returns what people should know of what was made ready for `threads` threads: first in one line what
    /// it is, then news of tables and backend.
    pub fn told(&self, threads: usize) -> Vec<Note> {
        let backend = &self.opened.backend;
        let first = format!("using {}", in_force(backend.info(), threads));
        [first.into()].into_iter().chain(self.notes.iter().cloned()).chain(backend.take_notes()).collect()
    }

    /// Returns the nodes that count as a millisecond with `pieces` pieces on the board, or `None` if real
    /// time counts.
    pub fn nodes_per_ms(&self, pieces: usize) -> Option<NodesPerMilli> {
        self.settings.stoppers.nodestime.rate(pieces as u32)
    }
}

/// One side of one game, which its caller drives step by step.
#[derive(Debug)]
pub struct EnginePlayer {
    setup: Arc<EngineSetup>,
    /// The setup's options, with a seed of the player's own.
    settings: Settings,
    game: GameState,
    /// In a game the player's own cache, so that the game does not depend on what others have looked at.
    cache: Arc<EvalCache>,
    /// The search of the present move or of the last one.
    stepped: Option<SteppedSearch>,
    /// The reply that was expected when the last move was made.
    expected: Option<Move>,
    /// The time for which the present search ponders, if it does.
    ponder_time: Option<Millis>,
}

/// A move with what the search found.
#[derive(Clone, Debug)]
pub struct PlayerMove {
    /// The move. `None` only where there is no legal one.
    pub best: Option<Move>,
    /// The time that the clock lost. Under `nodestime` what the new nodes count for.
    pub used: Millis,
    pub result: SearchResult,
    /// The report on the move's budget, if a clock was watched.
    pub report: Option<MoveReport>,
}

impl EnginePlayer {
    /// Returns a player before its first move. What it draws at random depends on `seed`.
    ///
    /// # Errors
    /// Fails if the options name no time manager.
    pub fn new(setup: Arc<EngineSetup>, seed: u64) -> Result<EnginePlayer, EngineError> {
        // 0 would draw anew each time.
        let mut settings = setup.settings.clone();
        settings.search.seed = 1 + seed % (i32::MAX as u64);
        let cache = Arc::new(EvalCache::new(settings.memory.cache_capacity()));
        EnginePlayer::with_cache(setup, settings, cache)
    }

    /// Returns a player for a single search, whose seed is that of the options. It shares `cache` with
    /// others.
    pub(crate) fn of_search(
        setup: Arc<EngineSetup>,
        cache: Arc<EvalCache>,
    ) -> Result<EnginePlayer, EngineError> {
        let settings = setup.settings.clone();
        EnginePlayer::with_cache(setup, settings, cache)
    }

    fn with_cache(
        setup: Arc<EngineSetup>,
        settings: Settings,
        cache: Arc<EvalCache>,
    ) -> Result<EnginePlayer, EngineError> {
        let game = GameState::new(&settings, Reclaimer::in_place())?;
        Ok(EnginePlayer { setup, settings, game, cache, stepped: None, expected: None, ponder_time: None })
    }

    /// Returns the engine that it plays for.
    pub fn setup(&self) -> &Arc<EngineSetup> {
        &self.setup
    }

    /// Begins the search of the last position of `position`, which must have a legal move.
    ///
    /// # Errors
    /// Fails if the tree is full.
    pub fn begin_move(&mut self, position: &History, limits: GoLimits) -> Result<(), EngineError> {
        self.begin_search(position, GoRequest::new(limits))
    }

    /// Begins a search as [`EnginePlayer::begin_move`] does, of the root moves that `request` names.
    pub(crate) fn begin_search(&mut self, position: &History, request: GoRequest) -> Result<(), EngineError> {
        self.ponder_time = None;
        self.begin(position, request, u64::MAX)
    }

    /// Ponders on the reply that was expected with the last move, if `Ponder` is on and there was one:
    /// searches the last position of `before`, in which the opponent is to move, for `time`, ms, or as many
    /// nodes as count for it. The clock's `limits` tell the time manager nothing yet. Returns whether it
    /// does.
    ///
    /// # Errors
    /// Fails if the tree is full.
    pub fn begin_pondering(
        &mut self,
        before: &History,
        limits: GoLimits,
        time: Millis,
    ) -> Result<bool, EngineError> {
        let expected = self.expected.filter(|reply| before.legal_moves().contains(reply));
        let Some(reply) = expected.filter(|_| self.settings.ponder) else { return Ok(false) };
        let rate = self.setup.nodes_per_ms(before.current().piece_count());
        let mut position = before.clone();
        position.push(reply);
        self.ponder_time = rate.is_none().then_some(time);
        let nodes = rate.map_or(u64::MAX, |rate| rate.nodes_in(time).0);
        self.begin(&position, GoRequest::new(GoLimits { ponder: true, ..limits }), nodes)?;
        Ok(true)
    }

    fn begin(&mut self, position: &History, request: GoRequest, nodes: u64) -> Result<(), EngineError> {
        let resources = SearchResources {
            settings: &self.settings,
            info: &self.settings.info,
            tables: &self.setup.tables,
            cache: &self.cache,
            backend: self.setup.backend(),
            draining: &[],
        };
        let mut search = self.game.begin_search(position, &request, &resources)?;
        search.state.limit_visits(nodes);
        let search = Arc::new(search);
        match &mut self.stepped {
            Some(stepped) => stepped.take_up(search),
            stepped => *stepped = Some(SteppedSearch::new(search)),
        }
        Ok(())
    }

    /// Searches until the next evaluation or the end of the search.
    pub fn advance(&mut self) -> NextStep {
        let Some(stepped) = &mut self.stepped else { return NextStep::Over };
        let search = stepped.search();
        let is_over = |time: Millis| Millis::from(search.state.context.clock.elapsed()).0 >= time.0;
        if self.ponder_time.is_some_and(is_over) {
            search.request_stop();
        }
        stepped.advance()
    }

    /// Searches likewise, but for at most `rounds` gatherings, or `None` if there is more to gather.
    pub(crate) fn advance_within(&mut self, rounds: u32) -> Option<NextStep> {
        self.stepped.as_mut().map_or(Some(NextStep::Over), |stepped| stepped.advance_within(rounds))
    }

    /// Lets `workers`, which must be idle, make the search that was begun, as under UCI, and waits until it
    /// is over. `on_tick` is called every few milliseconds meanwhile.
    pub(crate) fn search_with(&self, workers: &WorkerPool, on_tick: &mut dyn FnMut()) {
        let Some(search) = self.stepped.as_ref().map(SteppedSearch::search) else { return };
        workers.assign(search);
        watch(search, &mut |_| on_tick());
        search.state.progress.wait_idle(Duration::MAX);
    }

    /// Lets the search end as soon as its root is evaluated.
    pub(crate) fn stop(&self) {
        self.stepped.iter().for_each(|stepped| stepped.search().request_stop());
    }

    /// Returns the present state of the search with the figures of every root move, or `None` before the root
    /// is evaluated.
    pub(crate) fn report(&self) -> Option<SearchInfo> {
        self.stepped.as_ref()?.report()
    }

    /// Returns the move of the search that is over, from which the time manager then learns, or `None` before
    /// the first search.
    pub fn end_move(&mut self) -> Option<PlayerMove> {
        let stepped = self.stepped.as_ref()?;
        let search = stepped.search().clone();
        let result = stepped.result();
        let context = &search.state.context;
        let pieces = context.history.current().piece_count();
        let used = match self.setup.nodes_per_ms(pieces) {
            Some(rate) => rate.time_of(Nodes(result.summary.new_nodes)),
            None if context.clock.is_real() => context.clock.elapsed().into(),
            None => stepped.elapsed().min(search.stop_controller.ready_at().unwrap_or(Duration::MAX)).into(),
        };
        let report = search.stop_controller.with_chain(|chain| chain.report());
        self.game.finish_move(&search, result.reason, &result.stats);
        let look = || quick_look(&context.history, &context.root_moves, &context.cache).map(|look| look.mv);
        let best = result.best.or_else(look);
        self.expected = result.ponder;
        Some(PlayerMove { best, used, result, report })
    }
}

/// The batch that many players share, whose searches wait for one network.
#[derive(Debug, Default)]
pub struct SharedBatch {
    /// Reused, grows to the largest batch.
    slots: Vec<EvalSlot>,
}

impl SharedBatch {
    /// Lets `evaluate` fill the positions for which `players` wait, after [`NextStep::Evaluate`], and hands
    /// the results back. Where all players are in [`NextStep::Wait`], time passes.
    ///
    /// # Errors
    /// Fails as `evaluate` does. The searches of the players cannot go on then.
    pub fn evaluate<E>(
        &mut self,
        players: &mut [&mut EnginePlayer],
        evaluate: impl FnOnce(&mut [EvalSlot]) -> Result<(), E>,
    ) -> Result<(), E> {
        let is_unused = players.is_empty();
        let searches = players.iter_mut().filter_map(|player| player.stepped.as_mut());
        let mut searches: Vec<_> = searches.filter(|search| search.waiting() > 0).collect();
        if searches.is_empty() && !is_unused {
            std::thread::sleep(PACE_WAIT);
            return Ok(());
        }
        let waiting = searches.iter().map(|search| search.waiting()).sum();
        if self.slots.len() < waiting {
            self.slots.resize_with(waiting, EvalSlot::default);
        }
        let slots = &mut self.slots[..waiting];
        swap_slots(&mut searches, slots);
        evaluate(slots)?;
        swap_slots(&mut searches, slots);
        searches.into_iter().for_each(SteppedSearch::finish_batch);
        Ok(())
    }
}

/// Exchanges the waiting positions of all `searches` for `slots`.
fn swap_slots(searches: &mut [&mut SteppedSearch], slots: &mut [EvalSlot]) {
    let mut rest = slots;
    for search in searches {
        let (own, others) = rest.split_at_mut(search.waiting());
        search.swap_slots(own);
        rest = others;
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::*;
    use crate::engine::memory::MemoryOptions;
    use crate::options::{OptionGroup, OptionKind, OptionSpec};
    use crate::search::{ContemptOptions, EndReason, SearchParams};
    use crate::time::{StopReason, StopperOptions};

    /// Makes a search with these options, in steps or by a worker. Returns evaluations, visits of the root's
    /// moves, and the time.
    fn search(options: &[(&str, &str)], nodes: u64, in_steps: bool) -> (u64, Vec<(Move, u32)>, Duration) {
        let mut settings = Settings::default();
        settings.network.backend = "random".into();
        // It also goes by the time that has passed.
        settings.stoppers.smart_pruning_factor = 0.0;
        for (name, value) in options {
            settings.set(name, value).unwrap();
        }
        let mut player = EnginePlayer::new(Arc::new(EngineSetup::new(settings).unwrap()), 0).unwrap();
        let limits = GoLimits { nodes: Some(Nodes(nodes)), ..GoLimits::default() };
        player.begin_move(&History::start(), limits).unwrap();
        if in_steps {
            let mut evaluator = player.setup().backend().evaluator().unwrap();
            let mut batch = SharedBatch::default();
            while player.advance() != NextStep::Over {
                batch.evaluate(&mut [&mut player], |slots| evaluator.evaluate(slots)).unwrap();
            }
        } else {
            player.search_with(&WorkerPool::new(&**player.setup().backend(), 1).unwrap(), &mut || {});
        }
        let summary = player.end_move().unwrap().result.summary;
        (summary.counts.evaluations, summary.root_visits, summary.time)
    }

    /// Returns other values than the default, as far as a search of 800 nodes can use them.
    fn other_values(spec: &OptionSpec) -> Vec<String> {
        match &spec.kind {
            OptionKind::Switch { default } => vec![(!default).to_string()],
            OptionKind::Integer { min, max, .. } => {
                [*min, 1, 5, 60].map(|value| value.clamp(*min, *max).to_string()).into()
            }
            OptionKind::Decimal { min, max, .. } => {
                [min.max(-1.0), 0.3, max.min(3.0)].map(|value| value.clamp(*min, *max).to_string()).into()
            }
            OptionKind::Choice { choices, .. } => choices.iter().map(|value| (*value).to_owned()).collect(),
            OptionKind::Text { .. } | OptionKind::Button => Vec::new(),
        }
    }

    /// A regression: there were two loops, and `MaxPrefetch` and `NodesPerSecondLimit` acted in one of them
    /// only. All options of the search, of contempt, of its memory, and of its end are tried in steps, as in
    /// matches and for `serve`, and by a worker, as under UCI.
    #[test]
    fn options_act_the_same_however_a_search_is_driven() {
        const PLAIN: (&str, &str) = ("MinibatchSize", "8");
        // What others need to act.
        const PARTNERS: &[(&str, &str)] = &[
            PLAIN,
            ("RootHasOwnCpuctParams", "true"),
            ("FpuStrategyAtRoot", "absolute"),
            ("DirichletNoiseEpsilon", "0.3"),
            ("MovesLeftThreshold", "0"),
            ("Contempt", "200"),
            ("MinimumKLDGainPerNode", "0.0002"),
        ];
        // They choose the move, or act in other positions, with a clock, or with another number of nodes.
        const ELSEWHERE: &[&str] = &[
            "RootHasOwnCpuctParams",
            "LcbFactor",
            "Temperature",
            "TempDecayMoves",
            "TempDecayDelayMoves",
            "TempCutoffMove",
            "TempEndgame",
            "TempValueCutoff",
            "TempVisitOffset",
            "RandomSeed",
            "HistoryFill",
            "StickyEndgames",
            "TwoFoldDraws",
            "Contempt",
            "WDLEvalObjectivity",
            "UCI_Opponent",
            "RamLimitMb",
            "nodestime",
            "NodestimeDynamic",
            "SmartPruningMinimumBatches",
            "NodesAsPlayouts",
        ];
        let groups = [
            SearchParams::declared(),
            ContemptOptions::declared(),
            MemoryOptions::declared(),
            StopperOptions::declared(),
        ];
        let plain = [&[PLAIN], PARTNERS].map(|base| (base, search(base, 800, true)));
        let mut without_effect = Vec::new();
        for spec in groups.iter().flatten().filter(|spec| spec.name != "NodesPerSecondLimit") {
            let mut acts = false;
            for (value, (base, plain)) in
                other_values(spec).iter().flat_map(|value| plain.iter().map(move |plain| (value, plain)))
            {
                let options = [*base, &[(spec.name, value.as_str())]].concat();
                let [stepped, worker] = [true, false].map(|in_steps| search(&options, 800, in_steps));
                assert_eq!((stepped.0, &stepped.1), (worker.0, &worker.1), "{}={value}", spec.name);
                acts |= (stepped.0, &stepped.1) != (plain.0, &plain.1);
            }
            if !acts {
                without_effect.push(spec.name);
            }
        }
        assert_eq!(without_effect, ELSEWHERE);
        for in_steps in [true, false] {
            let (_, _, time) = search(&[PLAIN, ("NodesPerSecondLimit", "1000")], 200, in_steps);
            assert!(time >= Duration::from_millis(150), "{time:?}, in steps: {in_steps}");
        }
    }

    /// A regression: once the tree had grown to its limit, every further move was played without a search.
    #[test]
    fn a_game_under_a_memory_limit_searches_every_move() {
        const NODES: u64 = 60_000;
        let mut settings = Settings::default();
        settings.network.backend = "trivial".into();
        // So many threads would take up what the limit leaves: the tree has no more than the least.
        settings.network.threads = NonZero::new(64);
        settings.memory.ram_limit_mb = NonZero::new(20);
        settings.memory.nn_cache_size = 0;
        settings.stoppers.smart_pruning_factor = 0.0;
        settings.search.minibatch_size = NonZero::new(64);
        let mut player = EnginePlayer::new(Arc::new(EngineSetup::new(settings).unwrap()), 0).unwrap();
        let mut evaluator = player.setup().backend().evaluator().unwrap();
        let mut position = History::start();
        for _ in 0..2 {
            let limits = GoLimits { nodes: Some(Nodes(NODES)), ..GoLimits::default() };
            player.begin_move(&position, limits).unwrap();
            let mut batch = SharedBatch::default();
            while player.advance() == NextStep::Evaluate {
                batch.evaluate(&mut [&mut player], |slots| evaluator.evaluate(slots)).unwrap();
            }
            let played = player.end_move().unwrap();
            let summary = &played.result.summary;
            assert_eq!(played.result.reason, EndReason::Rule(StopReason::Nodes), "{summary:?}");
            assert_eq!(summary.nodes, NODES);
            assert!(summary.tree_bytes < 7_500_000);
            position.push(played.best.unwrap());
        }
    }
}
