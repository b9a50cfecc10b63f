//! The engine ties options, network, game and search together.
//!
//! A search reports to a [`Listener`]. Settings, game and process survive any failure.

#![warn(missing_docs)]

mod answer;
#[cfg(feature = "ndarray")]
pub mod arrays;
mod error;
mod game;
mod go;
mod listener;
mod memory;
mod network;
mod player;
mod quick_look;
mod request;
mod settings;
mod setup;
mod stop_handle;

use std::mem;
use std::num::NonZero;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam::channel::{Sender, unbounded};

pub use error::EngineError;
use game::OwnGame;
use go::{AskedSearch, Returned, Running, Task, Watcher};
pub use listener::{Listener, TimeReport};
pub use memory::MemoryOptions;
use network::{LoadedNetwork, open_without_wrong_parameters};
pub use network::{
    MovePolicy, NetworkOptions, OpenedBackend, PositionEvaluation, load_network, open_backend,
};
pub use player::{EnginePlayer, Played, SharedBatch};
pub use request::GoRequest;
pub use settings::{CLEAR_TREE, InfoOptions, ScoreType, Settings};
use setup::OwnManager;
pub use setup::Setup;
use stop_handle::Over;
pub use stop_handle::StopHandle;

use crate::chess::{History, Move, Variant};
use crate::network::backends::BackendConfig;
use crate::network::{Backend, BackendError, BackendInfo, BatchEvaluator, Health};
use crate::note::Note;
use crate::search::tree::Reclaimer;
use crate::search::{Outcome, Search, WorkerPoolError};
use crate::tablebase::TablesInForce;
use crate::time::{Limit, TimeManager};

/// Why there is no network of these options.
struct NetworkRefusal {
    options: NetworkOptions,
    reason: String,
    is_of_device: bool,
}

impl NetworkRefusal {
    fn error(&self) -> EngineError {
        let reason = self.reason.clone();
        if self.is_of_device {
            EngineError::Lost(reason)
        } else {
            EngineError::NetworkRefused(reason)
        }
    }
}

/// One game, and at most one search at a time. [`crate::serve`] searches many positions at once.
pub struct Engine {
    settings: Settings,
    position: History,
    position_refusal: Option<String>,
    network: Option<LoadedNetwork>,
    /// The host's own, until an option names another.
    own_backend: Option<OpenedBackend>,
    network_refusal: Option<NetworkRefusal>,
    /// Its file may be another one.
    wants_fresh_network: bool,
    tables: TablesInForce,
    running: Option<Running>,
    stop_handle: StopHandle,
    /// `None` before the first search, while one has it, and after one has lost it.
    own: Option<OwnGame>,
    wants_empty_tree: bool,
    own_manager: Option<OwnManager>,
}

impl Engine {
    /// At the start position, with nothing loaded. Fails if an option's text has wrong syntax.
    pub fn new(settings: Settings) -> Result<Engine, EngineError> {
        settings.check()?;
        Ok(Engine {
            running: None,
            stop_handle: StopHandle::default(),
            own: None,
            position: History::start(),
            position_refusal: None,
            network: None,
            own_backend: None,
            network_refusal: None,
            wants_fresh_network: false,
            tables: TablesInForce::default(),
            wants_empty_tree: false,
            own_manager: None,
            settings,
        })
    }

    /// An engine that evaluates with `backend`, until an option names another backend or network.
    ///
    /// Fails as [`Engine::new`] does, or if the backend has no room for an evaluator of each thread.
    pub fn with_backend(settings: Settings, backend: Arc<dyn Backend>) -> Result<Engine, EngineError> {
        let mut engine = Engine::new(settings)?;
        let opened = OpenedBackend::of(backend);
        let threads = engine.settings.threads(opened.backend.facts());
        engine.network = Some(LoadedNetwork::of(
            &engine.settings.network,
            threads,
            opened.clone(),
        )?);
        engine.own_backend = Some(opened);
        Ok(engine)
    }

    /// Lets `make` make the time managers from now on, whatever the option TimeManager names.
    pub fn set_time_manager(&mut self, make: impl Fn() -> Box<dyn TimeManager> + Send + Sync + 'static) {
        self.own_manager = Some(OwnManager(Arc::new(make)));
    }

    /// The options in force from the next search on.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The last accepted position, with the game before it.
    pub fn position(&self) -> &History {
        &self.position
    }

    /// The position to search. Fails if the last one was refused.
    pub fn accepted_position(&self) -> Result<&History, EngineError> {
        match &self.position_refusal {
            Some(refusal) => Err(EngineError::NoPosition(refusal.clone())),
            None => Ok(&self.position),
        }
    }

    /// Sets an option from the next search on. After an error the old value stays.
    pub fn set_option(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        let mut settings = self.settings.clone();
        settings.set(name, value)?;
        settings.check()?;
        if !settings.network.names_as(&self.settings.network) {
            self.own_backend = None;
        }
        self.settings = settings;
        self.wants_fresh_network |= Settings::spec(name).is_ok_and(|spec| spec.name == "WeightsFile");
        self.forget_refusals();
        Ok(())
    }

    /// Opens network and threads as needed, and describes them if they have changed. A changed file is read
    /// anew after [`Engine::new_game`], or if the option names it again.
    ///
    /// After an error an earlier network stays in use. The refused one, which may take seconds, is retried
    /// only after [`Engine::set_option`] or [`Engine::new_game`].
    pub fn prepare(&mut self) -> Result<Option<String>, EngineError> {
        let wanted = &self.settings.network_to_play();
        if let Some(refusal) = &self.network_refusal
            && refusal.options == *wanted
        {
            return Err(refusal.error());
        }
        let threads = |opened: &OpenedBackend| self.settings.threads(opened.backend.facts());
        let wants_fresh = mem::take(&mut self.wants_fresh_network);
        let old = self
            .network
            .as_ref()
            .filter(|network| !(wants_fresh && network.opened.is_outdated()));
        if let Some(network) = old.filter(|network| network.is_of(wanted, threads(&network.opened))) {
            let Some(opened) = network.successor()? else {
                return Ok(None);
            };
            let replacement = LoadedNetwork::of(wanted, threads(&opened), opened)?;
            self.finish();
            // The tree and its evaluations are kept: they are of the same network.
            let replaced = self.network.replace(replacement);
            // Threads that wait for a silent device end late.
            std::thread::spawn(|| drop(replaced));
            return Ok(self.in_force());
        }
        let same = old.filter(|old| old.options.has_backend_of(wanted));
        let opened = match (&self.own_backend, same) {
            (Some(own), _) => Ok(own.clone()),
            (None, Some(old)) => Ok(old.opened.clone()),
            (None, None) => open_without_wrong_parameters(wanted),
        };
        let loaded = opened.and_then(|opened| LoadedNetwork::of(wanted, threads(&opened), opened));
        let network = loaded.inspect_err(|error| {
            let of_device = match error {
                EngineError::Backend(error) | EngineError::Workers(WorkerPoolError::Backend(error)) => {
                    error.of_device()
                }
                _ => None,
            };
            self.network_refusal = Some(NetworkRefusal {
                options: wanted.clone(),
                reason: of_device.map_or_else(|| error.to_string(), BackendError::to_string),
                is_of_device: of_device.is_some(),
            });
        })?;
        self.finish();
        self.network = Some(network);
        // Another network's evaluations are useless.
        self.own = None;
        Ok(self.in_force())
    }

    /// Fails if a device has failed for good, and nothing else evaluates. A host should then start anew.
    pub fn check_device(&self) -> Result<(), EngineError> {
        let health = self.opened_backend().map(|backend| backend.health());
        match (health, &self.network_refusal) {
            (Some(Health::Lost(reason)), _) => Err(EngineError::Lost(reason)),
            (None, Some(refusal)) if refusal.is_of_device => Err(refusal.error()),
            _ => Ok(()),
        }
    }

    /// What evaluates and on how many threads, for people. `None` before anything is loaded.
    pub fn in_force(&self) -> Option<String> {
        let backend = self.backend()?;
        let threads = self.threads();
        let wanted = self.settings.network.threads;
        let asked = wanted.map_or(backend.preferred_threads, NonZero::get);
        let mut text = setup::describe(backend, threads);
        if threads < asked && !backend.has_virtual_time() {
            text += &format!(". There is no room for {asked} threads (RamLimitMb, or a limit of the system)");
        }
        Some(text)
    }

    /// The error with what holds instead, for people.
    pub fn describe_load_error(&self, error: &EngineError) -> String {
        match self.backend() {
            Some(info) => format!("{error}. Still in use: {}", info.description),
            None => format!("{error}. Without a network there is no bestmove"),
        }
    }

    /// Opens the tables that the options name, with a note if there is news.
    pub fn open_tablebase(&mut self) -> Option<Note> {
        self.tables.open_if_changed(&self.settings.tablebase)
    }

    /// Keeps nothing from the last game.
    pub fn new_game(&mut self) {
        self.drop_search();
        self.own = None;
        self.position = History::start();
        self.position_refusal = None;
        self.wants_fresh_network = true;
        self.forget_refusals();
    }

    fn forget_refusals(&mut self) {
        self.network_refusal = None;
        self.tables.forget_failure();
    }

    /// Lets the next search begin with an empty tree.
    pub fn clear_tree(&mut self) {
        self.wants_empty_tree = true;
    }

    /// Forgets all evaluations.
    pub fn clear_cache(&mut self) {
        self.finish();
        if let Some(own) = &mut self.own {
            own.clear_cache();
        }
    }

    /// Sets the position: `startpos [moves …]` or `fen FEN [moves …]`. Gives what was left out of the FEN.
    ///
    /// After an error the old position stays, but is not searched: the host means another one.
    pub fn set_position(&mut self, text: &str) -> Result<&[&'static str], EngineError> {
        let variant = Variant::of_chess960(self.settings.chess960);
        match History::from_uci_position(text, variant) {
            Ok(position) => {
                self.position = position;
                self.position_refusal = None;
                Ok(self.position.left_out())
            }
            Err(error) => {
                self.position_refusal = Some(error.to_string());
                Err(error.into())
            }
        }
    }

    /// Starts a search of the current position. A running search is dropped without an answer, unless it was
    /// told to stop.
    ///
    /// Fails if there is no network or the last position was refused. The listener hears so, and gets an
    /// answer without a move. Fails without an answer if [`Engine::check_device`] does.
    pub fn go(&mut self, request: GoRequest, listener: Box<dyn Listener>) -> Result<(), EngineError> {
        self.check_device()?;
        self.drop_search();
        let asked = AskedSearch {
            game: self.position.clone(),
            refusal: self.position_refusal.clone(),
            request,
            info: self.settings.info.clone(),
        };
        self.start_search(asked, listener)
    }

    /// Where there is nothing to search, an answer without a move comes at once, or in an open-ended search
    /// after `stop` or `ponderhit`.
    fn start_search(
        &mut self,
        asked: AskedSearch,
        mut listener: Box<dyn Listener>,
    ) -> Result<(), EngineError> {
        self.stop_handle.prepare();
        let refusal = match self.prepare_search(&asked, &mut *listener) {
            Ok(Some((watcher, search, own))) => {
                let is_pondering = asked.request.limit.is_ponder();
                let threads = self.threads();
                // The thread lives until it has a task.
                drop(watcher.tasks.send(Task {
                    search: search.clone(),
                    asked,
                    own,
                    listener,
                    threads,
                }));
                self.stop_handle.begin(&search);
                self.running = Some(Running {
                    search,
                    thread: watcher.thread,
                    is_pondering,
                });
                return Ok(());
            }
            Ok(None) => Ok(()),
            Err(error) => {
                self.check_device()?;
                listener.note(Note::Error(match self.network {
                    None if !matches!(error, EngineError::NoPosition(_)) => self.describe_load_error(&error),
                    _ => format!("{error}. There is no bestmove"),
                }));
                Err(error)
            }
        };
        self.stop_handle.begin_without_search(Over {
            listener,
            root: asked.game,
            is_pondering: asked.request.limit.is_ponder(),
        });
        if !asked.request.limit.waits_for_stop() {
            self.stop_handle.answer_without_search();
        }
        refusal
    }

    fn prepare_search(
        &mut self,
        asked: &AskedSearch,
        listener: &mut dyn Listener,
    ) -> Result<Option<(Watcher, Arc<Search>, OwnGame)>, EngineError> {
        if let Some(refusal) = &asked.refusal {
            return Err(EngineError::NoPosition(refusal.clone()));
        }
        if asked.game.legal_moves().is_empty() {
            listener.note("there is no legal move in this position".into());
            listener.game_is_over(asked.game.current().is_check());
            return Ok(None);
        }
        let began = Instant::now();
        self.make_ready(listener)?;
        let took = began.elapsed();
        let Some(network) = &self.network else {
            unreachable!("made ready above")
        };
        let backend = network.opened.backend.facts();
        let is_real_time = self.settings.stoppers.nodestime.nodes_per_ms == 0 && !backend.has_virtual_time();
        let request = asked
            .request
            .after_loading(if is_real_time { took } else { Duration::ZERO });
        let settings = Settings {
            info: asked.info.clone(),
            ..self.settings.clone()
        };
        let setup = Arc::new(Setup {
            settings,
            opened: network.opened.clone(),
            tables: self.tables.clone(),
            own_manager: self.own_manager.clone(),
            notes: Vec::new(),
        });
        let watcher = Watcher::start()?;
        let mut own = match self.own.take() {
            Some(own) => own,
            None => OwnGame::new(setup.clone(), setup.new_cache(), Reclaimer::new())?,
        };
        own.take_up(setup)?;
        if mem::take(&mut self.wants_empty_tree) {
            own.release_tree();
        }
        let search = Arc::new(own.begin(&asked.game, &request)?);
        listener.hear(own.notes.drain(..));
        if let Some(network) = &self.network {
            network.workers.assign(&search);
        }
        Ok(Some((watcher, search, own)))
    }

    fn make_ready(&mut self, listener: &mut dyn Listener) -> Result<(), EngineError> {
        match self.prepare() {
            Ok(Some(in_force)) => {
                listener.note(in_force.into());
                listener.hear(self.take_notes());
            }
            Ok(None) => {}
            Err(error) if self.network.is_some() => {
                listener.note(Note::Error(self.describe_load_error(&error)));
            }
            Err(error) => return Err(error),
        }
        listener.hear(self.open_tablebase());
        Ok(())
    }

    /// From a search that is about to end. Who waits for an answer gets none.
    fn take_back(&mut self) -> Option<(AskedSearch, Box<dyn Listener>)> {
        let thread = self.running.take()?.thread;
        // `None` where the thread lost the game.
        let Returned { own, unanswered } = thread.join().unwrap_or_default();
        self.own = own;
        unanswered
    }

    /// Ends the running search, whose answer goes out at once.
    pub fn stop(&mut self) {
        self.stop_handle.stop_begun();
    }

    /// What stops this engine's searches from other threads.
    pub fn stopper(&self) -> StopHandle {
        self.stop_handle.clone()
    }

    /// The opponent has played the pondered move: the search goes on with our clock from `received`.
    pub fn ponder_hit(&mut self, received: Instant) -> Result<(), EngineError> {
        if self.stop_handle.waits_without_search() == Some(true) {
            self.stop_handle.answer_without_search();
        }
        let is_hit = |running: &&Running| running.is_pondering && !running.life().was_told_to_stop();
        let Some(pondering) = self.running.as_ref().filter(is_hit) else {
            return Ok(());
        };
        if pondering.life().failure().is_some() {
            pondering.search.request_stop();
            return Ok(());
        }
        // Another search continues it, which ends without an answer.
        pondering.life().answer();
        match self.take_back() {
            Some((asked, listener)) => self.start_search(asked.after_ponder_hit(received), listener),
            None => Ok(()),
        }
    }

    /// True until the running search has answered.
    pub fn is_searching(&self) -> bool {
        match &self.running {
            None => self.stop_handle.waits_without_search().is_some(),
            Some(running) => !running.life().stage().is_answered(),
        }
    }

    /// Whether only `stop` ends the running search.
    pub fn still_waits_for_stop(&self) -> bool {
        match &self.running {
            None => self.stop_handle.waits_without_search().is_some(),
            Some(running) => running.life().still_waits_for_stop(),
        }
    }

    /// Blocks until the running search has answered.
    pub fn wait(&mut self) {
        self.take_back();
    }

    fn finish(&mut self) {
        self.stop();
        self.wait();
    }

    /// A search that was told to stop still answers.
    fn drop_search(&mut self) {
        if let Some(running) = &self.running
            && !running.life().was_told_to_stop()
        {
            running.life().answer();
        }
        self.take_back();
        self.stop_handle.clear();
    }

    /// Searches the current position, and waits for the move to play and how it was found.
    ///
    /// Fails as [`Engine::go`] does, with [`EngineError::Endless`] if no limit ends the search, and with
    /// [`EngineError::NoResult`] if the search fails or there is no legal move.
    pub fn search(&mut self, limit: Limit) -> Result<(Move, Outcome), EngineError> {
        if !limit.has_end() {
            return Err(EngineError::Endless);
        }
        let (sender, answers) = unbounded();
        self.go(
            GoRequest::new(limit),
            Box::new(AnswerCollector {
                answers: sender,
                notes: Vec::new(),
            }),
        )?;
        self.wait();
        let (outcome, notes) = answers.try_recv().unwrap_or_default();
        let reason = match outcome {
            Some(Outcome {
                failure: Some(failure),
                ..
            }) => failure,
            Some(outcome @ Outcome { best: Some(best), .. }) => {
                return Ok((best, Outcome { notes, ..outcome }));
            }
            _ => Note::join(&notes),
        };
        Err(EngineError::NoResult {
            position: self.position().current().to_fen(),
            reason,
        })
    }

    fn opened_backend(&self) -> Option<&Arc<dyn Backend>> {
        Some(&self.network.as_ref()?.opened.backend)
    }

    /// What evaluates. `None` before anything is loaded.
    pub fn backend(&self) -> Option<&BackendInfo> {
        Some(self.opened_backend()?.facts())
    }

    /// As [`Engine::backend`], after a failure what replaces it, `None` if nothing does.
    pub fn backend_in_force(&self) -> Option<BackendInfo> {
        let backend = self.opened_backend()?;
        match backend.health() {
            Health::Good | Health::Silent(_) => Some(backend.facts().clone()),
            Health::Replaced(backend) => Some(backend.facts().clone()),
            Health::Lost(_) => None,
        }
    }

    /// The hash of the network's file in hexadecimal. `None` without a network.
    pub fn network_sha256(&self) -> Option<&str> {
        self.network.as_ref()?.opened.network_sha256.as_deref()
    }

    /// News of the backend. A running search's listener hears them instead.
    pub fn take_notes(&self) -> Vec<Note> {
        self.opened_backend()
            .map(|backend| backend.take_notes())
            .unwrap_or_default()
    }

    /// 0 without a network.
    pub fn threads(&self) -> usize {
        self.network.as_ref().map_or(0, |network| network.workers.len())
    }

    /// Positions per batch, by option or the backend's choice, or 0 without a network.
    pub fn batch_size(&self) -> usize {
        self.backend()
            .map_or(0, |backend| self.settings.batch_size(backend))
    }

    /// The time for which the backend has computed so far.
    pub fn busy_time(&self) -> Option<Duration> {
        self.opened_backend()?.busy_time()
    }

    /// Evaluates the last positions of `games` by the network alone, in batches on this thread. Loads the
    /// network first, as [`Engine::prepare`] does.
    pub fn evaluate_all(&mut self, games: &[History]) -> Result<Vec<PositionEvaluation>, EngineError> {
        let prepared = self.prepare();
        // After an error an earlier network stays in use.
        let Some(network) = &self.network else {
            return prepared.map(|_| Vec::new());
        };
        let backend = &*network.opened.backend;
        let has_moves_left = backend.facts().has_moves_left;
        let fill = self.settings.search.history_fill;
        let mut batch = BatchEvaluator::new(backend, fill, self.batch_size().min(games.len()))?;
        let mut evaluations = Vec::with_capacity(games.len());
        for part in games.chunks(batch.capacity()) {
            for game in part {
                let legal = game.legal_moves();
                batch.push((game, legal.clone()), game, &legal);
            }
            let evaluated = batch.evaluate()?;
            evaluations.extend(
                evaluated
                    .map(|((game, legal), slot)| PositionEvaluation::of(game, &legal, slot, has_moves_left)),
            );
        }
        Ok(evaluations)
    }

    /// Evaluates the current position, as [`Engine::evaluate_all`] does.
    pub fn evaluate(&mut self) -> Result<PositionEvaluation, EngineError> {
        let game = self.accepted_position()?.clone();
        let Some(evaluation) = self.evaluate_all(&[game])?.pop() else {
            unreachable!("one for each game")
        };
        Ok(evaluation)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Settings {
    /// Fails if the text of an option has wrong syntax.
    pub fn check(&self) -> Result<(), EngineError> {
        self.time.manager()?;
        BackendConfig::parse(&self.network.backend, &self.network.backend_options)?;
        self.contempt.advantage()?;
        Ok(())
    }
}

struct AnswerCollector {
    answers: Sender<(Option<Outcome>, Vec<Note>)>,
    notes: Vec<Note>,
}

impl Listener for AnswerCollector {
    fn note(&mut self, note: Note) {
        self.notes.push(note);
    }

    fn answer(&mut self, _: &History, outcome: Option<Outcome>) {
        let _ = self.answers.send((outcome, mem::take(&mut self.notes)));
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::time::Duration;

    use crossbeam::channel::{Sender, unbounded};

    use super::*;
    use crate::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator};
    use crate::search::SearchInfo;

    struct PanickingListener(Sender<Option<Outcome>>);

    impl Listener for PanickingListener {
        fn info(&mut self, _: &History, _: &SearchInfo) -> ControlFlow<()> {
            panic!("this is how the test wants it");
        }

        fn answer(&mut self, _: &History, answer: Option<Outcome>) {
            self.0.send(answer).unwrap();
        }
    }

    #[test]
    fn a_panic_of_the_controller_costs_no_move() {
        let mut engine = random();
        for _ in 0..2 {
            engine.set_position("startpos").unwrap();
            let (sender, answers) = unbounded();
            let limit = Limit::Infinite;
            engine
                .go(GoRequest::new(limit), Box::new(PanickingListener(sender)))
                .unwrap();
            let outcome = answers.recv_timeout(Duration::from_secs(60)).unwrap().unwrap();
            assert!(outcome.best.is_some());
            assert!(outcome.failure.unwrap().contains("panicked"));
            engine.wait();
        }
    }

    /// Evaluates one batch, and then its device is lost.
    #[derive(Debug)]
    struct Lost(BackendInfo);

    struct LostEvaluator(u32);

    impl Backend for Lost {
        fn facts(&self) -> &BackendInfo {
            &self.0
        }

        fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
            Ok(Box::new(LostEvaluator(0)))
        }
    }

    impl Evaluator for LostEvaluator {
        fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
            self.0 += 1;
            batch
                .iter_mut()
                .for_each(|slot| slot.logits = slot.moves.iter().map(|_| 0.0).collect());
            if self.0 > 1 {
                Err(BackendError::Evaluation {
                    backend: "lost".into(),
                    reason: "it is gone".into(),
                })
            } else {
                Ok(())
            }
        }
    }

    struct Notes(Sender<String>);

    impl Listener for Notes {
        fn note(&mut self, note: Note) {
            self.0.send(note.to_string()).unwrap();
        }

        fn answer(&mut self, _: &History, answer: Option<Outcome>) {
            self.0
                .send(format!(
                    "bestmove {}",
                    answer.is_some_and(|outcome| outcome.best.is_some())
                ))
                .unwrap();
        }
    }

    /// A regression: the failure of an open-ended search was told at `stop` only.
    #[test]
    fn a_failure_is_told_at_once_and_not_again() {
        let backend = Arc::new(Lost(BackendInfo::new("lost", "")));
        let mut engine = Engine::with_backend(Settings::default(), backend).unwrap();
        let (sender, told) = unbounded();
        engine
            .go(GoRequest::new(Limit::Infinite), Box::new(Notes(sender)))
            .unwrap();
        let first = told.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(first.contains("it is gone"), "{first}");
        engine.stop();
        assert_eq!(
            told.recv_timeout(Duration::from_secs(60)).unwrap(),
            "bestmove true"
        );
    }

    fn random() -> Engine {
        let mut settings = Settings::default();
        settings.network.backend = "random".into();
        Engine::new(settings).unwrap()
    }

    const MATED: &str = "fen 7k/5KQ1/8/8/8/8/8/8 b - - 0 1";

    /// A regression: the position sent after `go ponder` was looked at, not the one to search.
    #[test]
    fn a_ponder_hit_searches_what_was_pondered_on() {
        for next in [MATED, "fen nonsense"] {
            let mut engine = random();
            engine.set_position("startpos moves e2e4 e7e5").unwrap();
            let (sender, answers) = unbounded();
            let limit = Limit::Ponder(Some(Limit::nodes(50).bounds()));
            engine.go(GoRequest::new(limit), Box::new(Notes(sender))).unwrap();
            let _ = engine.set_position(next);
            engine.ponder_hit(Instant::now()).unwrap();
            engine.wait();
            assert_eq!(answers.iter().last().as_deref(), Some("bestmove true"), "{next}");
        }
    }

    /// A regression: `ponderhit` answered an infinite search of a finished game.
    #[test]
    fn a_ponder_hit_answers_only_who_ponders() {
        for (limit, heard) in [(Limit::Infinite, 0), (Limit::Ponder(None), 1)] {
            let mut engine = random();
            engine.set_position(MATED).unwrap();
            let (sender, answers) = unbounded();
            engine.go(GoRequest::new(limit), Box::new(Notes(sender))).unwrap();
            let is_answer = |said: &String| said == "bestmove false";
            assert_eq!(answers.try_iter().filter(is_answer).count(), 0);
            engine.ponder_hit(Instant::now()).unwrap();
            assert_eq!(answers.try_iter().filter(is_answer).count(), heard);
            engine.stop();
            assert_eq!(answers.try_iter().filter(is_answer).count(), 1 - heard);
        }
    }

    #[test]
    fn a_search_ends_with_a_result_or_the_reason_why_there_is_none() {
        let mut engine = random();
        let limit = Limit::nodes(10);
        let (best, outcome) = engine.search(limit).unwrap();
        assert_eq!(outcome.best, Some(best));
        assert_eq!(outcome.figures.stats.nodes.0, 10);
        engine.set_position(MATED).unwrap();
        let error = engine.search(limit).unwrap_err().to_string();
        assert_eq!(
            error,
            "no result for 7k/5KQ1/8/8/8/8/8/8 b - - 0 1: there is no legal move in this position"
        );
        engine.set_position("fen nonsense").unwrap_err();
        assert!(matches!(engine.search(limit), Err(EngineError::NoPosition(_))));
    }
}
