//! `zeitnot match`: plays engine A against engine B, many games at once, and computes what they prove.
//!
//! `args` reads the arguments, `side` those of one engine; the [laboratory](crate::lab::matches) plays, writes rows and shows
//! them; `report` does the same for rows of several runs.

mod args;
mod report;
mod side;

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::lab::matches::statistics::{Sprt, SprtVerdict};
use crate::lab::matches::{
    self, ForeignCommand, MatchConfig, MatchCounts, MatchFiles, MatchGameRow, MatchHeader, MatchMoveRow,
    MatchRules, MatchSummary, PgnTags, RunSpeed, Schedule, ScheduledGames, Team,
};
use crate::tools::lab::game_args::{argument_error, threads};
use crate::tools::lab::interruption::{interruption, tell_stopped};
use crate::tools::lab::progress::GameProgress;
use crate::tools::lab::run_id::RunId;
use crate::tools::{ExitStatus, Failure, Output};

pub(super) use args::MatchArgs;
pub(super) use report::{ResultArgs, report};

/// Runs the command.
pub(super) fn run(args: &MatchArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let mut sides = args::sides(args)?;
    let sprt =
        args.sprt.as_deref().map(Sprt::parse).transpose().map_err(|error| argument_error("sprt", error))?;
    let openings = args.game.read_openings(args.games.div_ceil(2))?;
    let rules = MatchRules {
        limits: args::limits(args, &sides)?,
        adjudication: args.game.adjudication()?,
        seed: args.game.seed,
    };
    let teams = args::teams(&mut sides, &rules)?;
    let config = MatchConfig {
        teams,
        variant: crate::tools::variant(args.settings.chess960),
        openings: &openings,
        threads: threads(&args.settings),
        concurrency: args::concurrency(args, &sides, &rules),
        rules,
    };
    let schedule = Schedule::new(args.games, |pair| args.shard.is_none_or(|shard| shard.takes(pair)));
    let names = [sides[0].name.as_str(), sides[1].name.as_str()];
    let match_id = match_id(args, &config, names);
    let header = MatchHeader { match_id: &match_id, names };
    let mut recorder = MatchRecorder {
        header,
        tags: PgnTags { event: "zeitnot match", names, limits: config.rules.limits },
        counts: MatchCounts::default(),
        sprt,
        files: None,
        progress: GameProgress::new(schedule.len(), 0),
        started: Instant::now(),
        nodes: 0,
    };
    if let Some(folder) = &args.out {
        let files = MatchFiles::open(folder, &schedule, header, &mut recorder.counts)?;
        recorder.files = Some(files);
    }
    let played_before = recorder.counts.tally.games();
    recorder.progress = GameProgress::new(schedule.len(), played_before);
    let stop = interruption()?;
    let mut written = Ok(());
    if !recorder.is_decided() {
        let games = ScheduledGames::new(&schedule, &config.teams, played_before, stop);
        let played = matches::play(&config, &games, played_before, |game| {
            written = recorder.add(&game);
            if written.is_err() || recorder.is_decided() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        // The terminal sends Ctrl-C to engines of others too, which end.
        if !stop.load(Ordering::Relaxed) {
            played?;
        }
    }
    written?;
    recorder.progress.finish();
    let summary = recorder.summary();
    if let Some(files) = recorder.files.take() {
        files.finish()?;
    }
    if let Some(folder) = &args.out {
        report::write_page(folder, sprt.as_ref())?;
    }
    let is_over = recorder.is_decided() || recorder.counts.tally.games() >= schedule.len();
    if !is_over {
        tell_stopped(args.out.is_some());
    }
    output.write(&summary, &summary)?;
    Ok(ExitStatus::Success)
}

/// Writes games down as they end, and counts their results.
struct MatchRecorder<'a> {
    header: MatchHeader<'a>,
    tags: PgnTags<'a>,
    counts: MatchCounts,
    sprt: Option<Sprt>,
    files: Option<MatchFiles>,
    progress: GameProgress,
    started: Instant,
    /// New nodes that this run has searched.
    nodes: u64,
}

impl MatchRecorder<'_> {
    fn add(&mut self, game: &matches::GameRecord) -> Result<(), Failure> {
        let row = MatchGameRow::new(self.header, game);
        let moves = MatchMoveRow::of_game(self.header, game);
        self.counts.add(&row);
        moves.iter().for_each(|row| self.counts.add_move(row));
        self.nodes += row.a_nodes + row.b_nodes;
        if let Some(files) = &mut self.files {
            files.add(&self.tags, game, (&row, &moves))?;
        }
        self.progress.show(self.counts.tally.games(), self.summary().line());
        Ok(())
    }

    /// Says whether the sequential test has accepted one of its hypotheses.
    fn is_decided(&self) -> bool {
        let state = self.sprt.map(|sprt| sprt.state(&self.counts.tally));
        state.is_some_and(|state| state.verdict() != SprtVerdict::Undecided)
    }

    fn summary(&self) -> MatchSummary {
        let speed = RunSpeed { nodes: self.nodes, seconds: self.started.elapsed().as_secs_f64() };
        MatchSummary::new(self.header.names, &self.counts, self.sprt.as_ref(), Some(speed))
    }
}

/// Returns a hash over all that the games depend on, except where files lie and how many games there are: it is equal for all
/// shards, and for a match that is to be made longer.
fn match_id(args: &MatchArgs, config: &MatchConfig<'_>, names: [&str; 2]) -> String {
    let mut id = RunId::new();
    for team in &config.teams {
        match team {
            Team::Own(setup) => id.add_engine(setup),
            Team::Foreign(engine) => {
                let command = engine.command();
                let file = std::path::Path::new(&command.program).file_name();
                let ForeignCommand { arguments, options, .. } = command;
                id.add(format!("{file:?} {} {arguments:?} {options:?}", engine.name()));
            }
        }
    }
    id.add_games(&names, &config.rules, config.openings, &args.game);
    id.finish()
}
