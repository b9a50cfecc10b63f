//! `zeitnot tune`: compares values of many options at once by games, with the
//! [laboratory](zeitnot_lab::tuning).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;

use super::game_args::{self, GameArgs, argument_error};
use super::run::{RunId, Running};
use crate::commands::engine_args::EngineArgs;
use crate::commands::running::{Progress, engine_facts};
use crate::output::{ExitStatus, Output, Told, eprint_message};
use zeitnot_engine::engine::{Settings, Setup};
use zeitnot_engine::search::RootFpuStrategy;
use zeitnot_lab::matches::SideLimit;
use zeitnot_lab::run::Journal;
use zeitnot_lab::tuning::{self, PAIRS, Parameter, TunePlan, TuneStudy};

const PAGE_EVERY: Duration = Duration::from_secs(60);
/// The options that count under RootHasOwnCpuctParams only.
const CPUCT_AT_ROOT: [&str; 3] = ["CPuctAtRoot", "CPuctBaseAtRoot", "CPuctFactorAtRoot"];

#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// What is compared: values of any option, and of parameters inside TimeManager by name
    /// (TimeManager.mle-mlh.scale=1|0.9), with the first one: NAME=VALUE|VALUE,…. Of the time manager also
    /// lists of entries: TimeManager=(mle-mlh)|(mle-legacy)
    #[arg(long, value_name = "LIST")]
    params: String,
    /// Games of the whole run, two from each opening with colours swapped
    #[arg(long, short, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    games: u64,
    /// Folder for the pairs (pairs.jsonl) and the report (index.html). A run that was stopped goes on there
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    #[command(flatten)]
    game: GameArgs,
    #[command(flatten)]
    settings: EngineArgs,
}

pub(crate) fn run(args: &TuneArgs, output: &mut Output) -> Result<ExitStatus> {
    let parameters = Parameter::parse_list(&args.params, &args.settings.0);
    let parameters = parameters.map_err(|error| argument_error("params", error))?;
    let limit = limit(args, &parameters)?;
    let plan = TunePlan {
        parameters,
        pairs: args.games.div_ceil(2),
        seed: args.game.seed,
        limit,
    };
    let (openings, _) = args.game.read_openings(2 * plan.pairs, false)?;
    let settings = game_args::settings_under(limit, args.settings.0.clone());
    let setup = Arc::new(Setup::new(settings)?);
    let in_real_time = game_args::runs_in_real_time(limit, &args.settings.0);
    let config = args.game.config(&args.settings.0, &openings, in_real_time, 0)?;
    setup.told(config.threads).iter().for_each(eprint_message);
    if let Some(text) = game_args::idle_options(limit, &args.settings.0) {
        eprint_message(text);
    }
    let mut told = Told::default();
    note_idle_options(&plan, &args.settings.0, &mut told);
    for note in tuning::foretold(&plan, &setup)? {
        told.tell(note);
    }
    let mut id = RunId::default();
    id.add_engine(&setup);
    id.add(format!("{plan:?}"));
    id.add_games(&[], &[limit; 2], &config.rules, &openings, &args.game);
    let mut facts = engine_facts(Some(setup.backend().facts()), &args.settings.0);
    facts.push(("limit of a move or game", limit.to_string()));
    facts.extend(args.game.facts());
    facts.extend(told.facts());
    let running = Running::begin(
        Some(&args.out),
        id.finish(),
        &facts,
        &[PAIRS, "index.html"],
        output,
    )?;
    let Some(run) = &running.run else {
        unreachable!("it has a folder")
    };
    let mut rows = Vec::new();
    let mut journal = Journal::open(run, |row| {
        rows.push(row);
        Ok(())
    })?;
    let write_page = |study: &TuneStudy| tuning::page(study, run.origin()).write(run.folder());
    let done = rows.len() as u64;
    let mut progress = Progress::new("games", Some(2 * plan.pairs), 2 * done);
    let mut shown = Instant::now();
    tuning::play(&config, &plan, done, &setup, running.stop, |row, notes| {
        notes.iter().for_each(|note| told.tell(note));
        journal.add(&row)?;
        rows.push(row);
        progress.show(2 * rows.len() as u64, String::new());
        if shown.elapsed() >= PAGE_EVERY {
            shown = Instant::now();
            write_page(&TuneStudy::new(&plan, &rows))?;
        }
        Ok(())
    })?;
    progress.finish();
    journal.sync()?;
    let study = TuneStudy::new(&plan, &rows);
    output.tell_page(write_page(&study)?);
    output.write(&study, &tuning::table(&study))?;
    Ok(running.end(study.is_whole(), 0))
}

fn limit(args: &TuneArgs, parameters: &[Parameter]) -> Result<SideLimit> {
    let limit = args.game.limit(None)?;
    let is_off = !game_args::prunes_smartly(limit, &args.settings.0);
    let needs_clock = |name: &str| name == "SmartPruningFactor" || name.starts_with("TimeManager");
    let idle = parameters
        .iter()
        .find(|parameter| is_off && needs_clock(&parameter.name));
    if let Some(Parameter { name, .. }) = idle {
        bail!("--params: {name}: has no effect at fixed nodes; give clocks, as --tc 5+0.05 --nodestime 1");
    }
    Ok(limit)
}

/// Options that are compared while another one switches them off.
fn note_idle_options(plan: &TunePlan, settings: &Settings, told: &mut Told) {
    let search = &settings.search;
    let switches = [
        (
            &CPUCT_AT_ROOT[..],
            search.root_has_own_cpuct_params,
            "RootHasOwnCpuctParams=true",
        ),
        (
            &["FpuValueAtRoot"],
            search.fpu_strategy_at_root != RootFpuStrategy::Same,
            "FpuStrategyAtRoot=reduction",
        ),
    ];
    for (names, is_on, switch) in switches {
        for parameter in plan
            .parameters
            .iter()
            .filter(|parameter| !is_on && names.contains(&&*parameter.name))
        {
            told.tell(format_args!("{} has no effect without {switch}", parameter.name));
        }
    }
}
