//! What games are played with. Other options make another one.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::error::EngineError;
use super::network::{OpenedBackend, open_backend};
use super::settings::Settings;
use crate::network::cache::EvalCache;
use crate::network::{Backend, BackendInfo, discover};
use crate::note::{Note, counted};
use crate::tablebase::TablesInForce;
use crate::time::{NodesPerMilli, TimeManager};

/// Options, backend and tables, shared by any number of games.
#[derive(Clone, Debug)]
pub struct Setup {
    pub(super) settings: Settings,
    pub(crate) opened: OpenedBackend,
    pub(super) tables: TablesInForce,
    pub(super) own_manager: Option<OwnManager>,
    pub(super) notes: Vec<Note>,
}

#[derive(Clone)]
pub(super) struct OwnManager(pub(super) Arc<dyn Fn() -> Box<dyn TimeManager> + Send + Sync>);

impl fmt::Debug for OwnManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnManager")
    }
}

impl PartialEq for OwnManager {
    fn eq(&self, other: &OwnManager) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Setup {
    /// Loads what the options name. Fails if it cannot be had.
    pub fn new(settings: Settings) -> Result<Setup, EngineError> {
        settings.check()?;
        let opened = open_backend(&settings.network_to_play())?;
        Setup::with_opened(settings, opened)
    }

    /// As [`Setup::new`], with a backend of one's own in the place of what the options name.
    pub fn with_backend(settings: Settings, backend: Arc<dyn Backend>) -> Result<Setup, EngineError> {
        Setup::with_opened(settings, OpenedBackend::of(backend))
    }

    pub(crate) fn with_opened(settings: Settings, opened: OpenedBackend) -> Result<Setup, EngineError> {
        let (notes, tables) = (Vec::new(), TablesInForce::default());
        let setup = Setup {
            settings: Settings::default(),
            opened,
            tables,
            own_manager: None,
            notes,
        };
        setup.with_settings(settings)
    }

    /// The same network under other options. Instant, unless they name other tables.
    pub fn with_settings(&self, settings: Settings) -> Result<Setup, EngineError> {
        settings.check()?;
        let mut tables = self.tables.clone();
        let notes = tables.open_if_changed(&settings.tablebase).into_iter().collect();
        Ok(Setup {
            settings,
            tables,
            notes,
            ..self.clone()
        })
    }

    /// True if `settings` name the same backend and network.
    pub fn has_backend_of(&self, settings: &Settings) -> bool {
        self.settings.network.has_backend_of(&settings.network)
    }

    /// Whether both setups would make the same evaluations for one cache.
    pub fn shares_evaluations(&self, other: &Setup) -> bool {
        let depends_on = |Setup { settings, .. }: &Setup| {
            let search = &settings.search;
            (
                settings.memory.cache_capacity(),
                search.policy_temperature,
                search.history_fill,
            )
        };
        depends_on(self) == depends_on(other)
    }

    pub(super) fn shares_managers(&self, other: &Setup) -> bool {
        let chosen_by = |setup: &Setup| {
            let time = &setup.settings.time;
            (
                time.time_manager.clone(),
                time.slowmover,
                setup.own_manager.clone(),
            )
        };
        chosen_by(self) == chosen_by(other)
    }

    pub(super) fn time_manager(&self) -> Result<Box<dyn TimeManager>, EngineError> {
        match &self.own_manager {
            Some(OwnManager(make)) => Ok(make()),
            None => Ok(self.settings.time.manager()?),
        }
    }

    pub(super) fn new_cache(&self) -> Arc<EvalCache> {
        Arc::new(EvalCache::new(self.settings.memory.cache_capacity()))
    }

    /// The options.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What evaluates.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.opened.backend
    }

    /// In hexadecimal, `None` without a network.
    pub fn network_sha256(&self) -> Option<&str> {
        self.opened.network_sha256.as_deref()
    }

    /// A line that describes the setup, then news of tables and backend.
    pub fn told(&self, threads: usize) -> Vec<Note> {
        let backend = &self.opened.backend;
        let first = format!("using {}", describe(backend.facts(), threads));
        [first.into()]
            .into_iter()
            .chain(self.notes.iter().cloned())
            .chain(backend.take_notes())
            .collect()
    }

    /// With so many pieces. `None` without `nodestime`.
    pub fn nodes_per_ms(&self, pieces: usize) -> Option<NodesPerMilli> {
        self.settings.stoppers.nodestime.rate(pieces as u32)
    }
}

pub(super) fn describe(backend: &BackendInfo, threads: usize) -> String {
    let advice = if discover::is_built_in(Path::new(&backend.network)) {
        ". `zeitnot setup --network` fetches a stronger network"
    } else {
        ""
    };
    format!("{}, {}{advice}", backend.description, counted(threads, "thread"))
}
