//! `zeitnot tune`: finds better values of numeric options by SPSA over games.
//!
//! `args` reads the arguments; the [laboratory](crate::lab::tuning) decides what is tried, lets the games be played, and keeps,
//! studies and shows the iterations.

mod args;

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::command_line::command_line;
use super::game_args;
use super::interruption::{interruption, tell_stopped};
use super::progress::GameProgress;
use super::run_id::RunId;
use crate::engine::EngineSetup;
use crate::lab::matches::{MatchConfig, MatchRules, Team};
use crate::lab::tuning::{
    self, IterationFile, IterationRow, TuneCommands, TuneError, TuneGames, TunePlan, TuneRun, TuneStudy,
};
use crate::report::Table;
use crate::tools::output::eprint_message;
use crate::tools::{ExitStatus, Failure, Output};

pub(in crate::tools) use args::TuneArgs;

/// The time after which the page is written anew while games are played.
const PAGE_EVERY: Duration = Duration::from_secs(60);

/// Runs the command.
pub(super) fn run(args: &TuneArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let plan = args::plan(args)?;
    let limit = args::limit(args, &plan)?;
    let openings = args.game.read_openings(plan.games() / 2)?;
    let rules =
        MatchRules { limits: [limit; 2], adjudication: args.game.adjudication()?, seed: args.game.seed };
    let settings = game_args::settings_under(limit, args.settings.clone());
    let setup = Arc::new(EngineSetup::new(settings)?);
    eprint_message(&setup.backend().info().description);
    setup.notes().iter().for_each(eprint_message);
    let threads = game_args::threads(&args.settings);
    let in_real_time = game_args::runs_in_real_time(limit, &args.settings);
    let config = MatchConfig {
        teams: [Team::Own(setup.clone()), Team::Own(setup.clone())],
        variant: crate::tools::variant(args.settings.chess960),
        openings: &openings,
        threads,
        concurrency: args.game.concurrency(threads, in_real_time),
        rules,
    };
    args::note_idle_places(&plan, config.concurrency);
    args::note_idle_options(&plan, &args.settings);
    let mut id = RunId::new();
    id.add_engine(&setup);
    id.add(format!("{plan:?}"));
    id.add_games(&[], &config.rules, &openings, &args.game);
    let id = id.finish();

    let mut run = TuneRun::new(plan.clone());
    let (file, rows) = IterationFile::open(&args.out, &mut run, &id)?;
    let stop = interruption()?;
    let recorder = TuneRecorder::new(args, plan, rows, file);
    let result = recorder.play(&config, TuneGames::new(run, &setup, stop), &id, stop)?;
    result.report(&args.out, output)
}

/// Writes iterations down as they end.
struct TuneRecorder<'a> {
    args: &'a TuneArgs,
    plan: TunePlan,
    rows: Vec<IterationRow>,
    file: IterationFile,
    progress: GameProgress,
    /// When the page was written.
    shown: Instant,
}

impl<'a> TuneRecorder<'a> {
    fn new(
        args: &'a TuneArgs,
        plan: TunePlan,
        rows: Vec<IterationRow>,
        file: IterationFile,
    ) -> TuneRecorder<'a> {
        let progress = GameProgress::new(plan.games(), rows.len() as u64 * plan.games_of_iteration());
        TuneRecorder { args, plan, rows, file, progress, shown: Instant::now() }
    }

    /// Plays what is left, until the end or until the user stops it.
    fn play(
        mut self,
        config: &MatchConfig<'_>,
        games: TuneGames<'_>,
        id: &str,
        stop: &AtomicBool,
    ) -> Result<TuneResult<'a>, Failure> {
        let mut written = Ok(());
        tuning::play(config, &games, id, |row| {
            written = self.add(row);
            let is_over = written.is_err() || stop.load(Ordering::Relaxed);
            if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        written?;
        self.progress.finish();
        Ok(TuneResult::new(self.args, self.plan, &self.rows))
    }

    fn add(&mut self, row: IterationRow) -> Result<(), Failure> {
        self.file.add(&row)?;
        let values = self.plan.parameters.iter().zip(&row.theta);
        let texts: Vec<_> = values
            .map(|(parameter, &value)| format!("{} {}", parameter.name, parameter.text(value)))
            .collect();
        self.rows.push(row);
        let games = self.rows.len() as u64 * self.plan.games_of_iteration();
        self.progress.show(games, texts.join(" "));
        if self.shown.elapsed() >= PAGE_EVERY {
            self.shown = Instant::now();
            TuneResult::new(self.args, self.plan.clone(), &self.rows).write_page(&self.args.out)?;
        }
        Ok(())
    }
}

/// What a run has found, and how to check it. Its fields are the keys of the JSON document.
#[derive(Serialize)]
struct TuneResult<'a> {
    #[serde(flatten)]
    study: TuneStudy,
    /// A command that lets what was found play against the start.
    check: String,
    #[serde(skip)]
    plan: TunePlan,
    #[serde(skip)]
    args: &'a TuneArgs,
}

impl<'a> TuneResult<'a> {
    fn new(args: &'a TuneArgs, plan: TunePlan, rows: &[IterationRow]) -> TuneResult<'a> {
        let study = TuneStudy::new(&plan, rows);
        TuneResult { check: args::check_command(args, &study), study, plan, args }
    }

    fn write_page(&self, folder: &Path) -> Result<(), Failure> {
        let commands = TuneCommands { run: &command_line(), check: &self.check };
        tuning::page(&self.plan, &self.study, commands).write(folder)?;
        Ok(())
    }

    fn table(&self) -> Table {
        tuning::table(&self.plan, &self.study)
    }

    fn report(&self, folder: &Path, output: &mut Output) -> Result<ExitStatus, Failure> {
        self.write_page(folder)?;
        if !self.study.is_whole() {
            tell_stopped(true);
        }
        output.write(self, self)?;
        Ok(ExitStatus::Success)
    }
}

impl fmt::Display for TuneResult<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TuneResult { study, check, args, .. } = self;
        writeln!(f, "{}", self.table())?;
        writeln!(f, "Paths of the parameters: {}", args.out.join("index.html").display())?;
        writeln!(f, "Only a match tells whether that is stronger than the start:\n{check}\n")?;
        writeln!(f, "{}\n{}", study.uci_lines, study.flags)
    }
}

impl From<TuneError> for Failure {
    fn from(error: TuneError) -> Failure {
        Failure::Measurement(Box::new(error))
    }
}
