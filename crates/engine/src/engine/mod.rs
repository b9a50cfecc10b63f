//! The engine ties options, network, game and search together.
//!
//! A search runs on its own threads and reports to a [`Listener`]. Settings, game and process survive any
//! failure.

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
use std::time::Duration;

pub use error::EngineError;
use game::OwnGame;
use go::Running;
pub use listener::{Listener, TimeReport};
pub use memory::MemoryOptions;
use network::LoadedNetwork;
pub use network::{
    MovePolicy, NetworkOptions, OpenedBackend, PositionEvaluation, load_network, open_backend,
};
pub use player::{EnginePlayer, Played, SharedBatch};
pub use request::GoRequest;
pub use settings::{CLEAR_TREE, InfoOptions, ScoreType, Settings};
use setup::OwnManager;
pub use setup::Setup;
pub use stop_handle::StopHandle;

use crate::chess::{History, Variant};
use crate::network::backends::BackendConfig;
use crate::network::{Backend, BackendError, BackendInfo, BatchEvaluator, Health};
use crate::note::Note;
use crate::search::WorkerPoolError;
use crate::tablebase::TablesInForce;
use crate::time::TimeManager;

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

/// One game, its network, its time managers, and at most one search at a time. [`crate::serve`] searches many
/// positions at once.
pub struct Engine {
    settings: Settings,
    position: History,
    position_refusal: Option<String>,
    network: Option<LoadedNetwork>,
    /// The host's own, until an option names another.
    own_backend: Option<OpenedBackend>,
    network_refusal: Option<NetworkRefusal>,
    /// The network was named again, or a game is new: its file may be another one.
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
        engine.network = Some(LoadedNetwork::of(
            &engine.settings.network,
            |info| engine.settings.threads(info),
            opened.clone(),
        )?);
        engine.own_backend = Some(opened);
        Ok(engine)
    }

    /// Lets `make` make the time managers of all games from now on, whatever the option TimeManager names.
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

    /// Opens network and threads as needed, and describes them if they have changed. A file that changed
    /// under its name is read anew after [`Engine::new_game`], or if the option named it again.
    ///
    /// After an error an earlier network stays in use. The refused one is retried only after
    /// [`Engine::set_option`] or [`Engine::new_game`], since a refusal may take seconds.
    pub fn prepare(&mut self) -> Result<Option<String>, EngineError> {
        let wanted = &self.settings.network_to_play();
        if let Some(refusal) = &self.network_refusal
            && refusal.options == *wanted
        {
            return Err(refusal.error());
        }
        let threads = |backend: &BackendInfo| self.settings.threads(backend);
        let wants_fresh = mem::take(&mut self.wants_fresh_network);
        let old = self
            .network
            .as_ref()
            .filter(|network| !(wants_fresh && network.opened.is_outdated()));
        if let Some(network) = old.filter(|network| network.is_of(wanted, threads)) {
            let Some(opened) = network.successor()? else {
                return Ok(None);
            };
            let replacement = LoadedNetwork::of(wanted, threads, opened)?;
            self.finish();
            // The tree and its evaluations are kept: they are of the same network.
            let replaced = self.network.replace(replacement);
            // Threads that wait for a silent device end late.
            std::thread::spawn(|| drop(replaced));
            return Ok(self.in_force());
        }
        let loaded = match &self.own_backend {
            Some(own) => LoadedNetwork::of(wanted, threads, own.clone()),
            None => LoadedNetwork::load(wanted, threads, old),
        };
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

    /// Fails if a device has failed for good, and nothing else evaluates. A host should start the engine anew
    /// then.
    pub fn check_device(&self) -> Result<(), EngineError> {
        let health = self
            .network
            .as_ref()
            .map(|network| network.opened.backend.health());
        match (health, &self.network_refusal) {
            (Some(Health::Lost(reason)), _) => Err(EngineError::Lost(reason)),
            (None, Some(refusal)) if refusal.is_of_device => Err(refusal.error()),
            _ => Ok(()),
        }
    }

    /// What evaluates and on how many threads, for people. `None` before anything is loaded.
    pub fn in_force(&self) -> Option<String> {
        let (backend, threads) = (self.backend()?, self.threads());
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

    /// Opens the tables that the options name, with a note if there is news. A search does not need them.
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

    /// Sets the position to search next: `startpos [moves …]` or `fen FEN [moves …]`. Gives what was left out
    /// of the FEN.
    ///
    /// After an error the old position stays, but is not searched, because the host means another one.
    pub fn set_position(&mut self, text: &str) -> Result<&[&'static str], EngineError> {
        let variant = if self.settings.chess960 {
            Variant::Chess960
        } else {
            Variant::Standard
        };
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

    /// What evaluates. `None` before anything is loaded.
    pub fn backend(&self) -> Option<&BackendInfo> {
        self.network
            .as_ref()
            .map(|network| network.opened.backend.facts())
    }

    /// As [`Engine::backend`], after a failure what the next search will use. `None` if that is lost.
    pub fn backend_in_force(&self) -> Option<BackendInfo> {
        let backend = &self.network.as_ref()?.opened.backend;
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
        self.network
            .as_ref()
            .map(|network| network.opened.backend.take_notes())
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
        self.network.as_ref()?.opened.backend.busy_time()
    }

    /// Evaluates the last positions of `games` in their order, by the network alone, in batches on this
    /// thread. Loads the network first, as [`Engine::prepare`] does.
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
