//! `zeitnot tune`: finds better values of numeric options by SPSA over games. The
//! [laboratory](zeitnot_lab::tuning) decides what is tried, lets the games be played, and keeps, studies and
//! shows the iterations.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use super::game_args::{self, GameArgs, argument_error};
use super::run::{Progress, RunId, interruption, origin, quoted, tell_stopped};
use crate::tools::output::eprint_message;
use crate::tools::{ExitStatus, Failure, Output};
use zeitnot_engine::engine::{EngineSetup, Settings};
use zeitnot_engine::search::RootFpuStrategy;
use zeitnot_lab::matches::{MatchConfig, MatchRules, SideLimit, Team};
use zeitnot_lab::rows::RowError;
use zeitnot_lab::tuning::{self, Gains, IterationRow, Parameter, TunePlan, TuneRun, TuneStudy};

/// The time after which the page is written anew while games are played.
const PAGE_EVERY: Duration = Duration::from_secs(60);
/// Pairs of games between the beginning of an iteration and the latest result that it knows of, by default:
/// enough to keep two threads busy.
const PAIRS_LATE: u64 = 64;
/// Most of a run by which results are late by default.
const PART_LATE: u64 = 20;
/// The options that count under RootHasOwnCpuctParams only.
const CPUCT_AT_ROOT: [&str; 3] = ["CPuctAtRoot", "CPuctBaseAtRoot", "CPuctFactorAtRoot"];

#[derive(Debug, Args)]
pub(in crate::tools) struct TuneArgs {
    /// What is tuned: options that take numbers, and numbers inside TimeManager by name
    /// (TimeManager.mle-mlh.scale), each with start and perturbation at the end of the run, also with bounds:
    /// NAME=START:STEP[:MIN:MAX],… With --r-end 0 values of any option are compared with the first one:
    /// NAME=VALUE|VALUE, of the time manager also lists of entries: TimeManager=(mle-mlh)|(mle-legacy)
    #[arg(long, value_name = "LIST")]
    params: String,
    /// Games of the whole run, two from each opening with colours swapped
    #[arg(long, short, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    games: u64,
    /// Pairs of games of an iteration, which try the same values
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pairs: u64,
    /// How far a parameter moves at the end of the run for a game won, in perturbations. 0 moves nothing and
    /// only measures steps
    #[arg(long, value_name = "R", default_value_t = 0.002)]
    r_end: f64,
    /// Iterations that may begin before the first of them has ended. Results are always applied in their
    /// order [default: as many as 64 pairs, at most a twentieth of the run]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    lag: Option<u64>,
    /// Folder for the iterations (iterations.jsonl) and the report (index.html). A run that was stopped goes
    /// on there
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    #[command(flatten)]
    game: GameArgs,
    #[command(flatten)]
    settings: Settings,
}

pub(super) fn run(args: &TuneArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let plan = plan(args)?;
    let limit = limit(args, &plan)?;
    let openings = args.game.read_openings(plan.games() / 2)?;
    let rules =
        MatchRules { limits: [limit; 2], adjudication: args.game.adjudication()?, seed: args.game.seed };
    let settings = game_args::settings_under(limit, args.settings.clone());
    let setup = Arc::new(EngineSetup::new(settings)?);
    let network = setup.backend().info().description.clone();
    let threads = game_args::threads(&args.settings);
    setup.told(threads).iter().for_each(eprint_message);
    game_args::idle_options(limit, &args.settings).iter().for_each(eprint_message);
    let in_real_time = game_args::runs_in_real_time(limit, &args.settings);
    let config = MatchConfig {
        teams: [Team::Own(setup.clone()), Team::Own(setup.clone())],
        variant: crate::tools::variant(args.settings.chess960),
        openings: &openings,
        threads,
        concurrency: args.game.concurrency(threads, in_real_time),
        rules,
    };
    note_idle_places(&plan, config.concurrency);
    note_idle_options(&plan, &args.settings);
    let mut id = RunId::new();
    id.add_engine(&setup);
    id.add(format!("{plan:?}"));
    id.add_games(&[], &config.rules, &openings, &args.game);
    let mut run = TuneRun::new(plan.clone(), &id.finish());
    let (mut file, mut rows) = tuning::open_iterations(&args.out, &mut run)?;
    let games = |rows: &[IterationRow]| rows.len() as u64 * plan.games_of_iteration();
    let mut progress = Progress::new(Some(plan.games()), games(&rows));
    let mut shown = Instant::now();
    tuning::play(&config, run, &setup, interruption()?, |row| {
        file.add(&row)?;
        let values = plan.parameters.iter().zip(&row.theta);
        let texts: Vec<_> = values
            .filter(|_| !plan.gains.only_measures())
            .map(|(parameter, &value)| format!("{} {}", parameter.name, parameter.text(value)))
            .collect();
        rows.push(row);
        progress.show(games(&rows), texts.join(" "));
        if shown.elapsed() >= PAGE_EVERY {
            shown = Instant::now();
            TuneResult::new(args, &plan, &rows, &network).write_page().map_err(RowError::io(&args.out))?;
        }
        Ok(())
    })?;
    progress.finish();
    let result = TuneResult::new(args, &plan, &rows, &network);
    output.tell_page(result.write_page()?);
    if !result.study.is_whole() {
        tell_stopped(true);
    }
    output.write(&result, &result)?;
    Ok(ExitStatus::Success)
}

fn plan(args: &TuneArgs) -> Result<TunePlan, Failure> {
    let parameters = Parameter::parse_list(&args.params, &args.settings);
    let parameters = parameters.map_err(|error| argument_error("params", error))?;
    if !(0.0..=1.0).contains(&args.r_end) {
        return Err(argument_error("r-end", "must be from 0 to 1"));
    }
    if let Some(compared) =
        parameters.iter().find(|parameter| args.r_end > 0.0 && !parameter.choices.is_empty())
    {
        let reason =
            format!("{}: values are compared by a run with --r-end 0; only numbers can move", compared.name);
        return Err(argument_error("params", reason));
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

fn limit(args: &TuneArgs, plan: &TunePlan) -> Result<SideLimit, Failure> {
    let limit = args.game.limit().ok_or_else(game_args::missing_limit)?;
    let is_off = !game_args::prunes_smartly(limit, &args.settings);
    let needs_clock = |name: &str| name == "SmartPruningFactor" || name.starts_with("TimeManager");
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
fn note_idle_places(plan: &TunePlan, concurrency: usize) {
    let (most, possible) = (plan.lag * plan.games_of_iteration(), plan.games().min(concurrency as u64));
    if most < possible {
        let lag = possible.div_ceil(plan.games_of_iteration());
        eprint_message(format_args!(
            "at most {most} games run at once, though {possible} could; with --lag {lag} they do, and results count later"
        ));
    }
}

/// Says so if an option that is tuned has no effect because another one switches it off.
fn note_idle_options(plan: &TunePlan, settings: &Settings) {
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
fn check_command(args: &TuneArgs, study: &TuneStudy) -> String {
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

/// What a run has found, and how to check it. Its fields are the keys of the JSON document.
#[derive(Serialize)]
struct TuneResult<'a> {
    #[serde(flatten)]
    study: TuneStudy,
    /// A command that lets what was found play against the start.
    check: String,
    #[serde(skip)]
    plan: &'a TunePlan,
    #[serde(skip)]
    args: &'a TuneArgs,
    #[serde(skip)]
    facts: Vec<(&'static str, String)>,
}

impl<'a> TuneResult<'a> {
    fn new(args: &'a TuneArgs, plan: &'a TunePlan, rows: &[IterationRow], network: &str) -> TuneResult<'a> {
        let study = TuneStudy::new(plan, rows);
        let limit = args.game.limit().map(|limit| limit.to_string());
        let mut facts =
            vec![("network", network.to_owned()), ("limit of a move or game", limit.unwrap_or_default())];
        facts.extend(args.game.facts());
        TuneResult { check: check_command(args, &study), study, plan, args, facts }
    }

    fn write_page(&self) -> io::Result<PathBuf> {
        tuning::page(self.plan, &self.study, &origin(&self.facts), &self.check).write(&self.args.out)
    }
}

impl fmt::Display for TuneResult<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TuneResult { study, check, plan, .. } = self;
        writeln!(f, "{}", tuning::table(plan, study))?;
        if plan.gains.only_measures() {
            return Ok(());
        }
        writeln!(f, "Only a match tells whether that is stronger than the start:\n{check}\n")?;
        writeln!(f, "{}\n{}", study.uci_lines, study.flags)
    }
}
