//! The arguments of `zeitnot tune`, and what they ask for.

use std::path::PathBuf;

use clap::Args;

use crate::engine::Settings;
use crate::lab::matches::SideLimit;
use crate::lab::tuning::{Gains, Parameter, TunePlan, TuneStudy};
use crate::search::RootFpuStrategy;
use crate::tools::Failure;
use crate::tools::lab::command_line::quoted;
use crate::tools::lab::game_args::{self, GameArgs, argument_error};
use crate::tools::output::eprint_message;

/// Pairs of games between the beginning of an iteration and the latest result that it knows of, by default: enough to keep two
/// threads busy.
const PAIRS_LATE: u64 = 64;
/// Most of a run by which results are late by default.
const PART_LATE: u64 = 20;
/// The options that count under RootHasOwnCpuctParams only.
const CPUCT_AT_ROOT: [&str; 3] = ["CPuctAtRoot", "CPuctBaseAtRoot", "CPuctFactorAtRoot"];

#[derive(Debug, Args)]
pub(in crate::tools) struct TuneArgs {
    /// What is tuned: options that take numbers, and numbers inside TimeManager by name (TimeManager.mle-mlh.scale), each with start and perturbation at the end of the run, also with bounds: NAME=START:STEP[:MIN:MAX],…
    #[arg(long, value_name = "LIST")]
    pub(super) params: String,
    /// Games of the whole run, two from each opening with colours swapped
    #[arg(long, short, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(super) games: u64,
    /// Pairs of games of an iteration, which try the same values
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) pairs: u64,
    /// How far a parameter moves at the end of the run for a game won, in perturbations
    #[arg(long, value_name = "R", default_value_t = 0.002)]
    pub(super) r_end: f64,
    /// Iterations that may begin before the first of them has ended; results are always applied in their order [default: as many as 64 pairs, at most a twentieth of the run]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) lag: Option<u64>,
    /// Folder for the iterations (iterations.jsonl) and the report (index.html); a run that was stopped goes on there
    #[arg(long, value_name = "FOLDER")]
    pub(super) out: PathBuf,
    #[command(flatten)]
    pub(super) game: GameArgs,
    #[command(flatten)]
    pub(super) settings: Settings,
}

/// Returns what the run depends on.
pub(super) fn plan(args: &TuneArgs) -> Result<TunePlan, Failure> {
    let parameters = Parameter::parse_list(&args.params, &args.settings);
    let parameters = parameters.map_err(|error| argument_error("params", error))?;
    if !(args.r_end > 0.0 && args.r_end <= 1.0) {
        return Err(argument_error("r-end", "must be above 0 and at most 1"));
    }
    let iterations = args.games.div_ceil(2 * args.pairs);
    let lag = PAIRS_LATE.div_ceil(args.pairs).min(iterations / PART_LATE).max(1);
    Ok(TunePlan {
        parameters,
        gains: Gains { iterations, r_end: args.r_end },
        pairs: args.pairs,
        lag: args.lag.unwrap_or(lag),
        seed: args.game.seed,
    })
}

/// Returns what both sides may spend.
pub(super) fn limit(args: &TuneArgs, plan: &TunePlan) -> Result<SideLimit, Failure> {
    let limit = args.game.limit().ok_or_else(game_args::missing_limit)?;
    let is_off = !game_args::prunes_smartly(limit, &args.settings);
    let needs_clock = |name: &str| name == "SmartPruningFactor" || name.starts_with("TimeManager.");
    let idle = plan.parameters.iter().find(|parameter| is_off && needs_clock(&parameter.name));
    if let Some(parameter) = idle {
        let reason = format!(
            "{}: has no effect at fixed nodes; give clocks, as --tc 5+0.05 --nodestime 1",
            parameter.name
        );
        return Err(argument_error("params", reason));
    }
    Ok(limit)
}

/// Says so if results are waited for where more games could run.
pub(super) fn note_idle_places(plan: &TunePlan, concurrency: usize) {
    let (most, possible) = (plan.lag * plan.games_of_iteration(), plan.games().min(concurrency as u64));
    if most < possible {
        let lag = possible.div_ceil(plan.games_of_iteration());
        eprint_message(format_args!(
            "at most {most} games run at once, though {possible} could; with --lag {lag} they do, and results count later"
        ));
    }
}

/// Says so if an option that is tuned has no effect because another one switches it off.
pub(super) fn note_idle_options(plan: &TunePlan, settings: &Settings) {
    let search = &settings.search;
    let switches = [
        (&CPUCT_AT_ROOT[..], search.root_has_own_cpuct_params, "RootHasOwnCpuctParams=true"),
        (
            &["FpuValueAtRoot"],
            search.fpu_strategy_at_root != RootFpuStrategy::Same,
            "FpuStrategyAtRoot=reduction",
        ),
    ];
    for (names, is_on, switch) in switches {
        for parameter in
            plan.parameters.iter().filter(|parameter| !is_on && names.contains(&&*parameter.name))
        {
            eprint_message(format_args!("{} has no effect without {switch}", parameter.name));
        }
    }
}

/// Returns a command that lets what was found play against the start.
pub(super) fn check_command(args: &TuneArgs, study: &TuneStudy) -> String {
    let game = &args.game;
    let mut flags: Vec<(&str, Option<String>)> = vec![
        ("games", Some("1000".into())),
        ("nodes", game.nodes.map(|nodes| nodes.to_string())),
        ("tc", game.tc.map(|control| control.to_string())),
        ("openings", game.openings.as_ref().map(|path| path.display().to_string())),
        ("opening-plies", game.opening_plies.map(|plies| plies.to_string())),
        ("adjudicate-draw", game.adjudicate_draw.clone()),
        ("adjudicate-win", game.adjudicate_win.clone()),
        ("adjudicate-syzygy", game.adjudicate_syzygy.clone()),
        ("max-plies", game.max_plies.map(|plies| plies.to_string())),
    ];
    flags.extend(args.settings.changed().into_iter().map(|(flag, value)| (flag, Some(value))));
    // Another order of the openings, so that most are ones that the run has not seen.
    flags.push(("seed", Some((game.seed.wrapping_add(1)).to_string())));
    flags.push(("a", Some(format!("name=tuned,{}", study.list))));
    flags.push(("b", Some(format!("name=start,{}", study.start_list))));
    let given = flags.into_iter().filter_map(|(flag, value)| Some(format!(" --{flag}={}", quoted(&value?))));
    format!("zeitnot match{}", given.collect::<String>())
}
