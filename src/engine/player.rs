//! One side of a game that is played with many others at once: searched step by step on the caller's thread.
//!
//! A [`Team`] is an engine's options with its network and tables made ready, for any number of games. A [`Player`] plays
//! one side of one game for its team: [`Player::begin_move`], then [`Player::advance`] and evaluations of its slots in
//! turn until the search is over, then [`Player::end_move`]. Used by [`crate::lab::matches`].

use std::sync::Arc;
use std::time::Instant;

use super::game::{Game, Surroundings};
use super::tables::Tables;
use super::{EngineError, GoRequest, check, loading};
use crate::chess::{History, Move};
use crate::network::cache::EvalCache;
use crate::network::{Backend, EvalSlot};
use crate::options::Settings;
use crate::search::tree::Reclaimer;
use crate::search::{SearchResult, Step, Stepwise};
use crate::time::{GoLimits, MoveReport, NodesTimeOptions};

/// Options, network and tables that many games share.
#[derive(Debug)]
pub struct Team {
    settings: Settings,
    backend: Arc<dyn Backend>,
    tables: Tables,
    notes: Vec<String>,
}

impl Team {
    /// Makes network and tables ready.
    ///
    /// # Errors
    /// If an option is no good or the network cannot be had.
    pub fn new(settings: Settings) -> Result<Team, EngineError> {
        check(&settings)?;
        let backend = loading::open_backend(&settings)?;
        Team::with_backend(settings, backend)
    }

    /// As [`Team::new`], with a backend that is ready already.
    ///
    /// # Errors
    /// If an option is no good.
    pub fn with_backend(settings: Settings, backend: Arc<dyn Backend>) -> Result<Team, EngineError> {
        check(&settings)?;
        let mut tables = Tables::default();
        let notes = tables.open_if_changed(&settings).into_iter().collect();
        Ok(Team { settings, backend, tables, notes })
    }

    /// Would the options `settings` make the very same backend as this team's?
    pub fn has_backend_of(&self, settings: &Settings) -> bool {
        loading::same_backend(&self.settings, settings)
    }

    /// The options.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The network on its device.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// What people should know of what was made ready.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Nodes that count as a millisecond with so many pieces on the board; `None` if real time counts.
    pub fn nodes_per_ms(&self, pieces: usize) -> Option<f64> {
        let options = NodesTimeOptions {
            nodes_per_ms: self.settings.nodestime as f64,
            dynamic: self.settings.nodestime_dynamic,
        };
        options.rate(pieces as u32)
    }
}

/// See the module.
#[derive(Debug)]
pub struct Player {
    team: Arc<Team>,
    /// The team's, with a seed of the player's own.
    settings: Settings,
    game: Game,
    /// Its own, so that a game does not depend on what others have looked at.
    cache: Arc<EvalCache>,
    /// The search of the present move or of the last one.
    search: Option<Stepwise>,
    started: Instant,
}

/// A move with what the search found.
#[derive(Clone, Debug)]
pub struct PlayerMove {
    /// The move; `None` only where there is no legal one.
    pub best: Option<Move>,
    /// What the clock lost, ms: under `nodestime` what the new nodes count for.
    pub used_ms: f64,
    /// How the search went.
    pub result: SearchResult,
    /// How the move was budgeted, if a clock was watched.
    pub report: Option<MoveReport>,
}

impl Player {
    /// A player before its first move. What it draws at random depends on `seed`.
    ///
    /// # Errors
    /// If the time manager is no good.
    pub fn new(team: Arc<Team>, seed: u64) -> Result<Player, EngineError> {
        // 0 would draw anew each time.
        let random_seed = 1 + (seed % (i32::MAX as u64)) as i64;
        let settings = Settings { random_seed, ..team.settings.clone() };
        let game = Game::with_reclaimer(&settings, Reclaimer::in_place())?;
        let cache = Arc::new(EvalCache::new(settings.nn_cache_size as usize));
        Ok(Player { team, settings, game, cache, search: None, started: Instant::now() })
    }

    /// Who it plays for.
    pub fn team(&self) -> &Arc<Team> {
        &self.team
    }

    /// Begins the search of the last position of `position`, which must have a legal move.
    ///
    /// # Errors
    /// If the tree is full.
    pub fn begin_move(&mut self, position: &History, limits: GoLimits) -> Result<(), EngineError> {
        self.started = Instant::now();
        let request = GoRequest { limits, root_moves: Vec::new(), received: self.started };
        let around = Surroundings {
            settings: &self.settings,
            tables: &self.team.tables,
            cache: &self.cache,
            backend: &self.team.backend,
            late: &[],
        };
        let job = Arc::new(self.game.begin_search(position, request, &around)?);
        match &mut self.search {
            Some(search) => search.take_up(job),
            search => *search = Some(Stepwise::new(job)),
        }
        Ok(())
    }

    /// Searches until the next evaluation or the end of the search.
    pub fn advance(&mut self) -> Step {
        self.search.as_mut().map_or(Step::Over, Stepwise::advance)
    }

    /// Positions that wait for evaluation, after [`Step::Evaluate`].
    pub fn waiting(&self) -> usize {
        self.search.as_ref().map_or(0, Stepwise::leaves)
    }

    /// Exchanges the waiting positions, [`Player::waiting`] of them, for `slots`: once to lend them, and once more to take
    /// them back.
    pub fn swap_slots(&mut self, slots: &mut [EvalSlot]) {
        if let Some(search) = &mut self.search {
            search.swap_slots(slots);
        }
    }

    /// The waiting positions have been evaluated and are back.
    pub fn evaluated(&mut self) {
        if let Some(search) = &mut self.search {
            search.finish_batch();
        }
    }

    /// The move of the search that is over, after which the time manager learns from it. `None` before the first search.
    pub fn end_move(&mut self) -> Option<PlayerMove> {
        let search = self.search.as_ref()?;
        let job = search.job().clone();
        let result = search.result();
        let pieces = job.history.current().piece_count();
        let used_ms = match self.team.nodes_per_ms(pieces) {
            Some(nodes_per_ms) => result.summary.new_nodes as f64 / nodes_per_ms,
            None => self.started.elapsed().as_secs_f64() * 1000.0,
        };
        let report = job.referee.with_chain(|chain| chain.report());
        self.game.finish_move(&job, result.reason);
        let fallback =
            || job.root_moves.first().copied().or_else(|| job.history.legal_moves().first().copied());
        let best = result.best.or_else(fallback);
        Some(PlayerMove { best, used_ms, result, report })
    }
}
