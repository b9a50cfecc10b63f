//! The network in force: its backend and the threads that search with it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::EngineError;
use crate::chess::Color;
use crate::network::backends::{self, BackendConfig};
use crate::network::encode::HistoryFill;
use crate::network::instrumented::Instrumented;
use crate::network::weights::{HeadChoice, UnknownHead};
use crate::network::{Backend, BackendInfo, discover};
use crate::options::Settings;
use crate::search::{
    CollisionScaling, ContemptError, ContemptParams, Exploration, FirstPlayUrgency, MoveStatsWhen,
    NoiseParams, Reporting, Rescale, SearchParams, TemperatureParams, WorkerPool, advantage_over,
};
use crate::time::GoLimits;

/// A loaded network with its workers.
#[derive(Debug)]
pub(super) struct LoadedNetwork {
    /// What the options said when it was loaded.
    key: NetworkKey,
    backend: Arc<dyn Backend>,
    workers: WorkerPool,
}

/// The options that decide which network is in force, on how many threads.
#[derive(Clone, Debug, PartialEq)]
struct NetworkKey {
    weights: String,
    backend: (String, String),
    heads: (String, String),
    /// 0 leaves it to the backend.
    threads: usize,
}

impl NetworkKey {
    fn of(settings: &Settings) -> NetworkKey {
        NetworkKey {
            weights: settings.weights_file.clone(),
            backend: (settings.backend.clone(), settings.backend_options.clone()),
            heads: (settings.policy_head.clone(), settings.value_head.clone()),
            threads: settings.threads as usize,
        }
    }
}

/// Makes the backend that `settings` ask for ready, with the network that they name or that is found.
///
/// # Errors
/// If the network cannot be found or read, or the backend cannot be made.
pub fn open_backend(settings: &Settings) -> Result<Arc<dyn Backend>, EngineError> {
    let config = BackendConfig::parse(&settings.backend, &settings.backend_options)?;
    let network = match config.needs_network() {
        true => Some(discover::load(weights_path(settings), heads(settings)?)?),
        false => None,
    };
    Ok(backends::create(&config, network)?)
}

/// Do both settings ask for the very same backend with the same network?
pub(super) fn same_backend(a: &Settings, b: &Settings) -> bool {
    let chosen = |settings: &Settings| NetworkKey { threads: 0, ..NetworkKey::of(settings) };
    chosen(a) == chosen(b)
}

/// What Lc0 has in the place of a file that is to be found.
const AUTODISCOVER: &str = "<autodiscover>";

/// The network file that `settings` name; `None` if it is to be found.
pub fn weights_path(settings: &Settings) -> Option<&Path> {
    let file = &settings.weights_file;
    (!file.is_empty() && file != AUTODISCOVER).then(|| Path::new(file))
}

/// The heads that `settings` ask for.
///
/// # Errors
/// If a name is no head of any network.
pub(super) fn heads(settings: &Settings) -> Result<HeadChoice, UnknownHead> {
    Ok(HeadChoice { policy: settings.policy_head.parse()?, value: settings.value_head.parse()? })
}

impl LoadedNetwork {
    /// Loads what `settings` ask for, unless that is what `old` is; `None` then.
    ///
    /// # Errors
    /// If the network cannot be read, or its backend or threads cannot be made.
    pub(super) fn load_if_changed(
        settings: &Settings,
        old: Option<&LoadedNetwork>,
    ) -> Result<Option<LoadedNetwork>, EngineError> {
        let key = NetworkKey::of(settings);
        if old.is_some_and(|old| old.key == key) {
            return Ok(None);
        }
        let same_backend = old.filter(|old| NetworkKey { threads: key.threads, ..old.key.clone() } == key);
        let backend = match same_backend {
            Some(old) => old.backend.clone(),
            None => Arc::new(Instrumented::new(open_backend(settings)?)),
        };
        let threads = match key.threads {
            0 => backend.info().preferred_threads,
            threads => threads,
        };
        let workers = WorkerPool::new(&*backend, threads)?;
        Ok(Some(LoadedNetwork { key, backend, workers }))
    }

    pub(super) fn info(&self) -> &BackendInfo {
        self.backend.info()
    }

    pub(super) fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    pub(super) fn busy_time(&self) -> Option<Duration> {
        self.backend.busy_time()
    }

    pub(super) fn workers(&self) -> &WorkerPool {
        &self.workers
    }
}

/// How values are to be rescaled when `turn` moves at the root.
///
/// # Errors
/// If an entry of the option `Contempt` is none.
pub(super) fn rescale(settings: &Settings, limits: &GoLimits, turn: Color) -> Result<Rescale, ContemptError> {
    let favoured = match settings.contempt_mode {
        "play" if !limits.infinite => Some(turn),
        "white_side_analysis" => Some(Color::White),
        "black_side_analysis" => Some(Color::Black),
        _ => None,
    };
    Ok(contempt(settings)?.rescale(favoured))
}

/// Do the options ask for contempt, in a search that favours no side?
///
/// # Errors
/// If an entry of the option `Contempt` is none.
pub(super) fn is_contempt_without_side(
    settings: &Settings,
    limits: &GoLimits,
) -> Result<bool, ContemptError> {
    let is_sideless = settings.contempt_mode == "play" && limits.infinite;
    Ok(is_sideless && contempt(settings)?.rescale(None).has_contempt())
}

/// What the options say about contempt and accuracy of play.
///
/// # Errors
/// If an entry of the option `Contempt` is none.
pub(super) fn contempt(settings: &Settings) -> Result<ContemptParams, ContemptError> {
    Ok(ContemptParams {
        advantage: advantage_over(&settings.opponent, &settings.contempt, settings.rating_advantage)?,
        max_advantage: settings.contempt_max_value,
        attenuation: settings.wdl_contempt_attenuation,
        calibration_elo: settings.wdl_calibration_elo,
        draw_rate_reference: settings.wdl_draw_rate_reference,
        draw_rate_target: settings.wdl_draw_rate_target,
        book_exit_bias: settings.wdl_book_exit_bias,
        max_s: settings.wdl_max_s,
        objectivity: settings.wdl_eval_objectivity,
    })
}

/// What the options want to be told.
pub(super) fn reporting(settings: &Settings) -> Reporting {
    let has_reader = settings.verbose_move_stats || !settings.log_file.is_empty();
    let move_stats = match (has_reader, settings.log_live_stats) {
        (true, true) => MoveStatsWhen::Always,
        (true, false) => MoveStatsWhen::AtEnd,
        (false, _) => MoveStatsWhen::Never,
    };
    Reporting { lines: settings.multi_pv as usize, move_stats }
}

/// The search parameters among the options.
pub(super) fn search_params(settings: &Settings, rescale: Rescale) -> SearchParams {
    let exploration = Exploration {
        init: settings.cpuct as f32,
        base: settings.cpuct_base as f32,
        factor: settings.cpuct_factor as f32,
    };
    let root_exploration = Exploration {
        init: settings.cpuct_at_root as f32,
        base: settings.cpuct_base_at_root as f32,
        factor: settings.cpuct_factor_at_root as f32,
    };
    let fpu = first_play_urgency(settings.fpu_strategy, settings.fpu_value);
    SearchParams {
        rescale,
        exploration,
        root_exploration: if settings.root_has_own_cpuct_params { root_exploration } else { exploration },
        fpu,
        root_fpu: match settings.fpu_strategy_at_root {
            "same" => fpu,
            strategy => first_play_urgency(strategy, settings.fpu_value_at_root),
        },
        draw_score: settings.draw_score as f32,
        policy_temperature: settings.policy_temperature as f32,
        minibatch_size: settings.minibatch_size as u32,
        max_collision_events: settings.max_collision_events as u32,
        max_collision_visits: settings.max_collision_visits as u32,
        collision_scaling: CollisionScaling {
            start: settings.collision_scaling_start as u32,
            end: settings.collision_scaling_end as u32,
            power: settings.collision_scaling_power as f32,
        },
        out_of_order_eval: settings.out_of_order_eval,
        max_out_of_order_factor: settings.max_out_of_order_evals_factor as f32,
        nps_limit: settings.nps_limit,
        max_prefetch: settings.max_prefetch as u32,
        moves_left_max_effect: settings.moves_left_max_effect as f32,
        moves_left_threshold: settings.moves_left_threshold as f32,
        moves_left_slope: settings.moves_left_slope as f32,
        moves_left_factors: [
            settings.moves_left_constant_factor as f32,
            settings.moves_left_scaled_factor as f32,
            settings.moves_left_quadratic_factor as f32,
        ],
        sticky_endgames: settings.sticky_endgames,
        two_fold_draws: settings.two_fold_draws,
        noise: NoiseParams { epsilon: settings.noise_epsilon as f32, alpha: settings.noise_alpha },
        temperature: TemperatureParams {
            initial: settings.temperature as f32,
            decay_moves: settings.temp_decay_moves as u32,
            decay_delay_moves: settings.temp_decay_delay_moves as u32,
            cutoff_move: settings.temp_cutoff_move as u32,
            endgame: settings.temp_endgame as f32,
            value_cutoff: settings.temp_value_cutoff as f32,
            visit_offset: settings.temp_visit_offset as f32,
        },
        seed: settings.random_seed as u64,
        // The option's choices are the names of the variants.
        history_fill: settings.history_fill.parse().unwrap_or(HistoryFill::FenOnly),
    }
}

/// The first-play urgency of this name, which is one of the option's choices.
fn first_play_urgency(strategy: &str, value: f64) -> FirstPlayUrgency {
    match strategy {
        "absolute" => FirstPlayUrgency::Absolute(value as f32),
        _ => FirstPlayUrgency::Reduction(value as f32),
    }
}
