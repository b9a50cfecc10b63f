//! One side of a game, searched step by step on the caller's thread.
//!
//! A [`Setup`] serves any number of games. Each search is [`EnginePlayer::begin_move`] or
//! [`EnginePlayer::begin_pondering`], [`EnginePlayer::advance`] and [`SharedBatch::evaluate`] in turn until
//! it is over, [`EnginePlayer::end_move`].

use std::sync::Arc;
use std::time::Duration;

use super::answer::complete;
use super::error::EngineError;
use super::game::OwnGame;
use super::request::GoRequest;
use super::settings::{InfoOptions, Settings};
use super::setup::Setup;
use crate::chess::{History, Move};
use crate::network::EvalSlot;
use crate::network::cache::EvalCache;
use crate::note::Note;
use crate::search::tree::Reclaimer;
use crate::search::{NextStep, Outcome, PACE_WAIT, SearchInfo, SteppedSearch, WorkerPool, watch};
use crate::time::{Limit, Millis, MoveReport};

/// One side of a game, or a single search.
pub struct EnginePlayer {
    own: OwnGame,
    stepped: Option<SteppedSearch>,
    limit: Limit,
    expected: Option<Move>,
    ponder_time: Option<Millis>,
}

/// The move of a player, and its time.
#[derive(Clone, Debug)]
pub struct Played {
    /// The search that found it.
    pub outcome: Outcome,
    /// Time taken off the clock, under `nodestime` converted from the new nodes.
    pub used: Millis,
    /// How the time was budgeted, `None` without a clock.
    pub report: Option<MoveReport>,
}

impl EnginePlayer {
    /// A player with a cache of its own, so that games do not depend on others. `seed` is that of its random
    /// draws. Fails if the options name no time manager.
    pub fn new(setup: &Setup, seed: u64) -> Result<EnginePlayer, EngineError> {
        let mut setup = setup.clone();
        // Seed 0 would draw anew each time.
        setup.settings.search.seed = 1 + seed % (i32::MAX as u64);
        let cache = setup.new_cache();
        EnginePlayer::of_search(Arc::new(setup), cache)
    }

    /// For a single search with the options' seed and a shared `cache`.
    pub(crate) fn of_search(setup: Arc<Setup>, cache: Arc<EvalCache>) -> Result<EnginePlayer, EngineError> {
        Ok(EnginePlayer {
            own: OwnGame::new(setup, cache, Reclaimer::in_place())?,
            stepped: None,
            limit: Limit::Infinite,
            expected: None,
            ponder_time: None,
        })
    }

    /// What it was made with, and its own seed.
    pub fn setup(&self) -> &Setup {
        &self.own.setup
    }

    /// Begins the search of the last position, which must have a legal move. Fails if the tree is full.
    pub fn begin_move(&mut self, game: &History, limit: Limit) -> Result<(), EngineError> {
        self.begin_search(game, GoRequest::new(limit))
    }

    /// As `begin_move`, for a request with root moves.
    pub(crate) fn begin_search(&mut self, game: &History, request: GoRequest) -> Result<(), EngineError> {
        self.ponder_time = None;
        self.begin(game, request, u64::MAX)
    }

    /// If `Ponder` is on and a reply was expected, ponders for `time` ms, or the nodes that count for it, on
    /// the last position of `before`, with the opponent to move. True if it ponders. Fails if the tree is
    /// full.
    pub fn begin_pondering(
        &mut self,
        before: &History,
        limit: Limit,
        time: Millis,
    ) -> Result<bool, EngineError> {
        let expected = self.expected.filter(|reply| before.legal_moves().contains(reply));
        let Some(reply) = expected.filter(|_| self.setup().settings.ponder) else {
            return Ok(false);
        };
        let rate = self.setup().nodes_per_ms(before.current().piece_count());
        let mut game = before.clone();
        game.push(reply);
        self.ponder_time = rate.is_none().then_some(time);
        let nodes = rate.map_or(u64::MAX, |rate| rate.nodes_in(time).0);
        self.begin(&game, GoRequest::new(Limit::Ponder(Some(limit.bounds()))), nodes)?;
        Ok(true)
    }

    fn begin(&mut self, game: &History, request: GoRequest, nodes: u64) -> Result<(), EngineError> {
        let mut search = self.own.begin(game, &request)?;
        self.limit = request.limit;
        search.state.limit_visits(nodes);
        let search = Arc::new(search);
        match &mut self.stepped {
            Some(stepped) => stepped.take_up(search),
            stepped => *stepped = Some(SteppedSearch::new(search)),
        }
        Ok(())
    }

    /// Searches on until a batch waits for its evaluation, or the search is over.
    pub fn advance(&mut self) -> NextStep {
        let Some(stepped) = &mut self.stepped else {
            return NextStep::Over;
        };
        let search = &stepped.search;
        let is_over = |time: Millis| Millis::from(search.state.context.clock.elapsed()).0 >= time.0;
        if self.ponder_time.is_some_and(is_over) {
            search.request_stop();
        }
        stepped.advance_within(u32::MAX).unwrap_or(NextStep::Wait)
    }

    /// As [`EnginePlayer::advance`], for at most `rounds` gatherings. `None` if there is more to gather.
    pub(crate) fn advance_within(&mut self, rounds: u32) -> Option<NextStep> {
        self.stepped
            .as_mut()
            .map_or(Some(NextStep::Over), |stepped| stepped.advance_within(rounds))
    }

    /// Lets idle `workers` go on with the begun search, as under UCI.
    pub(crate) fn assign_to(&mut self, workers: &WorkerPool) {
        if let Some(stepped) = &mut self.stepped {
            stepped.settle_all();
            workers.assign(&stepped.search);
        }
    }

    /// Waits until the workers have left. The search is not over.
    pub(crate) fn recall(&self) {
        self.stepped
            .iter()
            .for_each(|stepped| stepped.search.state.life.recall());
    }

    /// True if workers have finished the search. `goes_on` is asked every few milliseconds, and may end the
    /// wait: the workers then search on.
    pub(crate) fn wait_for_workers(&self, goes_on: &mut dyn FnMut() -> bool) -> bool {
        let Some(search) = self.stepped.as_ref().map(|stepped| &stepped.search) else {
            return true;
        };
        let is_over = watch(search, &mut |_| goes_on()).is_some();
        if is_over {
            search.state.life.wait_for_workers(Duration::MAX);
        }
        is_over
    }

    pub(crate) fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.own.notes)
    }

    pub(crate) fn stop(&self) {
        self.stepped
            .iter()
            .for_each(|stepped| stepped.search.request_stop());
    }

    pub(crate) fn report(&self) -> Option<SearchInfo> {
        self.stepped.as_ref()?.report()
    }

    /// The time manager learns from the move. `None` before the first search.
    pub fn end_move(&mut self) -> Option<Played> {
        let stepped = self.stepped.as_ref()?;
        let search = stepped.search.clone();
        let mut outcome = stepped.result();
        search.state.life.answer();
        let context = &search.state.context;
        let pieces = context.history.current().piece_count();
        let used = match self.setup().nodes_per_ms(pieces) {
            Some(rate) => rate.time_of(outcome.figures.stats.new_nodes),
            None if context.clock.is_real() => context.clock.elapsed().into(),
            None => stepped
                .over_at
                .min(search.stop_controller.ready_at().unwrap_or(Duration::MAX))
                .into(),
        };
        let report = search.stop_controller.with_chain(|chain| chain.report());
        self.own
            .finish_move(&search, outcome.reason, &outcome.figures.stats);
        self.expected = outcome.ponder;
        outcome.notes = self.take_notes();
        complete(&mut outcome, &context.history, context, self.limit, false);
        Some(Played {
            outcome,
            used,
            report,
        })
    }
}

/// Evaluates the batches of several players together.
#[derive(Debug, Default)]
pub struct SharedBatch {
    slots: Vec<EvalSlot>,
}

impl SharedBatch {
    /// Lets `evaluate` fill the positions for which `players` wait after [`NextStep::Evaluate`]. Sleeps if
    /// all are in [`NextStep::Wait`]. After an error the searches cannot go on.
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

fn swap_slots(searches: &mut [&mut SteppedSearch], slots: &mut [EvalSlot]) {
    let mut rest = slots;
    for search in searches {
        let (own, others) = rest.split_at_mut(search.waiting());
        search.swap_slots(own);
        rest = others;
    }
}

impl Setup {
    /// What a player tells at its first move, and settings that are equal for setups that play alike.
    pub fn as_played(&self, limit: Limit) -> Result<(Vec<Note>, Settings), EngineError> {
        let mut player = EnginePlayer::new(self, 0)?;
        player.begin_move(&History::start(), limit)?;
        let mut settings = self.settings.clone();
        settings.network.weights_file = self.network_sha256().unwrap_or_default().into();
        settings.info = InfoOptions::default();
        // Without a clock no manager has a say.
        settings.time.time_manager = match limit.mover_clock() {
            Some(_) => format!("{:?}", player.own.manager()),
            None => String::new(),
        };
        Ok((player.take_notes(), settings))
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::*;
    use crate::engine::MemoryOptions;
    use crate::options::{OptionGroup, OptionKind, OptionSpec};
    use crate::search::{ContemptOptions, EndReason, SearchParams};
    use crate::time::{Nodes, StopReason, StopperOptions};

    /// Makes a search with these options, in steps or by a worker. Returns evaluations, visits of the root's
    /// moves, and the time.
    fn search(options: &[(&str, &str)], nodes: u64, in_steps: bool) -> (u64, Vec<(Move, u32)>, Millis) {
        let mut settings = Settings::default();
        settings.network.backend = "random".into();
        // It also goes by the time that has passed.
        settings.stoppers.smart_pruning_factor = 0.0;
        for (name, value) in options {
            settings.set(name, value).unwrap();
        }
        let mut player = EnginePlayer::new(&Setup::new(settings).unwrap(), 0).unwrap();
        let limit = Limit::nodes(nodes);
        player.begin_move(&History::start(), limit).unwrap();
        if in_steps {
            let mut evaluator = player.setup().backend().evaluator().unwrap();
            let mut batch = SharedBatch::default();
            while player.advance() != NextStep::Over {
                batch
                    .evaluate(&mut [&mut player], |slots| evaluator.evaluate(slots))
                    .unwrap();
            }
        } else {
            let workers = WorkerPool::new(&**player.setup().backend(), 1).unwrap();
            player.assign_to(&workers);
            assert!(player.wait_for_workers(&mut || true));
        }
        let summary = player.end_move().unwrap().outcome.figures;
        (
            summary.counts.evaluations,
            summary.visits_by_move,
            summary.stats.elapsed,
        )
    }

    /// A non-default value for every option that changes a search of 800 nodes.
    fn other_values(spec: &OptionSpec) -> Vec<String> {
        match &spec.kind {
            OptionKind::Switch => vec![(spec.default == "false").to_string()],
            OptionKind::Integer { min, max } => [*min, 1, 5, 60]
                .map(|value| value.clamp(*min, *max).to_string())
                .into(),
            OptionKind::Decimal { min, max } => [min.max(-1.0), 0.3, max.min(3.0)]
                .map(|value| value.clamp(*min, *max).to_string())
                .into(),
            OptionKind::Choice(choices) => choices.iter().map(|value| (*value).to_owned()).collect(),
            OptionKind::Text | OptionKind::Button => Vec::new(),
        }
    }

    /// A regression: of two search loops only one obeyed `MaxPrefetch` and `NodesPerSecondLimit`. All options
    /// of search, contempt, memory and stoppers are tried in steps, as in matches and `serve`, and by a
    /// worker, as under UCI.
    #[test]
    fn options_act_the_same_however_a_search_is_driven() {
        // Smart pruning goes by a clock, which must not depend on the machine.
        const PLAIN: [(&str, &str); 2] = [("MinibatchSize", "8"), ("nodestime", "1")];
        // Options that others need to take effect.
        const PARTNERS: &[(&str, &str)] = &[
            PLAIN[0],
            PLAIN[1],
            ("RootHasOwnCpuctParams", "true"),
            ("FpuStrategyAtRoot", "absolute"),
            ("DirichletNoiseEpsilon", "0.3"),
            ("MovesLeftThreshold", "0"),
            ("Contempt", "200"),
            ("MinimumKLDGainPerNode", "0.0002"),
        ];
        // They only choose the move, or act in other positions, with a clock, or with other node counts.
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
        let plain = [&PLAIN, PARTNERS].map(|base| (base, search(base, 800, true)));
        let mut without_effect = Vec::new();
        for spec in groups
            .iter()
            .flatten()
            .filter(|spec| spec.name != "NodesPerSecondLimit")
        {
            let mut acts = false;
            for (value, (base, plain)) in other_values(spec)
                .iter()
                .flat_map(|value| plain.iter().map(move |plain| (value, plain)))
            {
                let options = [*base, &[(spec.name, value.as_str())]].concat();
                let [stepped, worker] = [true, false].map(|in_steps| search(&options, 800, in_steps));
                assert_eq!(
                    (stepped.0, &stepped.1),
                    (worker.0, &worker.1),
                    "{}={value}",
                    spec.name
                );
                acts |= (stepped.0, &stepped.1) != (plain.0, &plain.1);
            }
            if !acts {
                without_effect.push(spec.name);
            }
        }
        assert_eq!(without_effect, ELSEWHERE);
        for in_steps in [true, false] {
            let (_, _, time) = search(&[PLAIN[0], ("NodesPerSecondLimit", "1000")], 200, in_steps);
            assert!(time >= Millis(150.0), "{time:?}, in steps: {in_steps}");
        }
    }

    /// A regression: once the tree had reached its limit, every further move was played without a search.
    #[test]
    fn a_game_under_a_memory_limit_searches_every_move() {
        const NODES: u64 = 60_000;
        let mut settings = Settings::default();
        settings.network.backend = "trivial".into();
        // So many threads use up the limit: only the least tree is left.
        settings.network.threads = NonZero::new(64);
        settings.memory.ram_limit_mb = NonZero::new(20);
        settings.memory.nn_cache_size = 0;
        settings.stoppers.smart_pruning_factor = 0.0;
        settings.search.minibatch_size = NonZero::new(64);
        let mut player = EnginePlayer::new(&Setup::new(settings).unwrap(), 0).unwrap();
        let mut evaluator = player.setup().backend().evaluator().unwrap();
        let mut position = History::start();
        for _ in 0..2 {
            let limit = Limit::nodes(NODES);
            player.begin_move(&position, limit).unwrap();
            let mut batch = SharedBatch::default();
            while player.advance() == NextStep::Evaluate {
                batch
                    .evaluate(&mut [&mut player], |slots| evaluator.evaluate(slots))
                    .unwrap();
            }
            let played = player.end_move().unwrap();
            let summary = &played.outcome.figures;
            assert_eq!(
                played.outcome.reason,
                EndReason::Rule(StopReason::Nodes),
                "{summary:?}"
            );
            assert_eq!(summary.stats.nodes, Nodes(NODES));
            assert!(summary.tree_bytes < 7_500_000);
            position.push(played.outcome.best.unwrap());
        }
    }
}
