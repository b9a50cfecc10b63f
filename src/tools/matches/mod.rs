//! `zeitnot match`: engine A against engine B, many games at once, and what they prove.

mod side;
mod summary;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::{Failure, Output, Verdict};
use crate::arena::statistics::{Sprt, SprtVerdict};
use crate::arena::{
    self, Adjudication, DrawRule, Floor, Openings, Pace, PgnTags, Rules, Schedule, Shard, WinRule,
};
use crate::engine::Team;
use crate::options::Settings;
use crate::params::Params;
use crate::tablebase::Tablebase;

use side::Side;
use summary::{Counts, Summary};

/// Games at once per thread where clocks are virtual: enough for large batches.
const GAMES_PER_THREAD: usize = 32;

#[derive(Debug, Args)]
pub(super) struct MatchArgs {
    /// Options of engine A that differ from the common ones: Name=Value,…; also name=…, nodes=…, tc=…
    #[arg(long, value_name = "LIST", default_value = "")]
    a: String,
    /// The same for engine B
    #[arg(long, value_name = "LIST", default_value = "")]
    b: String,
    /// Games of the whole match, two from each opening with colours swapped
    #[arg(long, short, value_name = "N", default_value_t = 100)]
    games: u64,
    /// Nodes of every move; smart pruning is off then
    #[arg(long, value_name = "N", conflicts_with = "tc", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Clocks: SECONDS, SECONDS+INCREMENT or MOVES/SECONDS+INCREMENT; virtual ones under --nodestime
    #[arg(long, value_name = "TIME")]
    tc: Option<Pace>,
    /// Openings: EPD or FEN lines, or PGN games (.pgn); also compressed (.gz, .zst, .zip) [default: the start position]
    #[arg(long, value_name = "FILE")]
    openings: Option<PathBuf>,
    /// Take at most so many plies of each PGN opening
    #[arg(long, value_name = "N")]
    opening_plies: Option<usize>,
    /// Take the openings in the order of the file, not shuffled
    #[arg(long)]
    sequential: bool,
    /// Another seed takes other openings
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Games at once [default: 32 for each thread; one for each thread with real clocks]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    concurrency: Option<u64>,
    /// Play only part i of n, for several machines; `zeitnot report` puts the parts together
    #[arg(long, value_name = "i/n", default_value = "1/1")]
    shard: Shard,
    /// End as soon as one hypothesis is proven: elo0=0,elo1=5[,alpha=0.05][,beta=0.05][,model=normalized|logistic]
    #[arg(long, value_name = "LIST")]
    sprt: Option<String>,
    /// Draws by evaluation: move=40,count=8,score=10 (from that move on, both sides, so many moves each, centipawns)
    #[arg(long, value_name = "LIST")]
    adjudicate_draw: Option<String>,
    /// Wins by evaluation: count=3,score=600 (both sides agree, for so many moves each, centipawns)
    #[arg(long, value_name = "LIST")]
    adjudicate_win: Option<String>,
    /// Results from the Syzygy tables in these folders
    #[arg(long, value_name = "FOLDERS")]
    adjudicate_syzygy: Option<String>,
    /// Draw games of so many plies, those of the opening not counted
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_plies: Option<u32>,
    /// Folder for games.pgn
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
}

/// Runs the command.
pub(super) fn run(args: &MatchArgs, output: &mut Output) -> Result<Verdict, Failure> {
    let sides = sides(args)?;
    let sprt = args.sprt.as_deref().map(Sprt::parse).transpose().map_err(|error| fault("sprt", error))?;
    let openings = openings(args)?;
    let rules = Rules { paces: paces(args, &sides)?, adjudication: adjudication(args)? };
    let floor = Floor {
        teams: teams(&sides, &rules)?,
        variant: super::variant(args.settings.chess960),
        openings: &openings,
        schedule: Schedule { games: args.games, shard: args.shard },
        threads: threads(args),
        concurrency: concurrency(args, &sides, &rules),
        rules,
    };
    let mut pgn = args.out.as_deref().map(create_pgn).transpose()?;
    let names = [sides[0].name.as_str(), sides[1].name.as_str()];
    let tags = PgnTags { event: "zeitnot match", names, paces: floor.rules.paces };
    let progress = progress_bar(floor.schedule.len());
    let started = Instant::now();
    let mut counts = Counts::default();
    let mut write_fault = None;
    let played = arena::play(&floor, 0, |game| {
        counts.add(&game);
        let written =
            pgn.as_mut().map_or(Ok(()), |pgn| arena::write_pgn(pgn, &game, &tags).and_then(|()| pgn.flush()));
        if let Err(error) = written {
            write_fault = Some(error);
            return ControlFlow::Break(());
        }
        let seconds = started.elapsed().as_secs_f64();
        let summary = Summary::new(names, &counts, sprt.as_ref(), (counts.all_nodes(), seconds));
        progress.set_position(counts.tally.games());
        progress.set_message(summary.line());
        let is_decided =
            sprt.is_some_and(|sprt| sprt.state(&counts.tally).verdict() != SprtVerdict::Undecided);
        if is_decided { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    progress.finish_and_clear();
    played?;
    if let Some(error) = write_fault {
        return Err(error.into());
    }
    let seconds = started.elapsed().as_secs_f64();
    let summary = Summary::new(names, &counts, sprt.as_ref(), (counts.all_nodes(), seconds));
    output.write(&summary, &summary)?;
    Ok(Verdict::Yes)
}

fn fault(flag: &str, error: impl std::fmt::Display) -> Failure {
    Failure::Input(format!("--{flag}: {error}"))
}

fn sides(args: &MatchArgs) -> Result<[Side; 2], Failure> {
    let mut sides = [Side::parse(&args.a, &args.settings, "A")?, Side::parse(&args.b, &args.settings, "B")?];
    if sides[0].name == sides[1].name {
        sides[0].name += " (A)";
        sides[1].name += " (B)";
    }
    Ok(sides)
}

/// What each side may spend: its own pace, or the common one.
fn paces(args: &MatchArgs, sides: &[Side; 2]) -> Result<[Pace; 2], Failure> {
    let common = args.nodes.map(Pace::Nodes).or(args.tc);
    let pace = |side: &Side| {
        side.pace.or(common).ok_or_else(|| Failure::Input("say how long to think: --nodes or --tc".into()))
    };
    Ok([pace(&sides[0])?, pace(&sides[1])?])
}

/// The teams; they share a backend if they can.
fn teams(sides: &[Side; 2], rules: &Rules) -> Result<[Arc<Team>; 2], Failure> {
    let settings = [0, 1].map(|index| {
        let mut settings = sides[index].settings.clone();
        if matches!(rules.paces[index], Pace::Nodes(_)) && settings.nodestime == 0 {
            // The rule looks at real time; games would not be the same again.
            settings.smart_pruning_factor = 0.0;
        }
        settings
    });
    let [a, b] = settings;
    let a = Team::new(a)?;
    let b = if a.has_backend_of(&b) { Team::with_backend(b, a.backend().clone())? } else { Team::new(b)? };
    for (letter, team) in [("A", &a), ("B", &b)] {
        eprintln!("zeitnot: {letter}: {}", team.backend().info().description);
        team.notes().iter().for_each(|note| eprintln!("zeitnot: {letter}: {note}"));
    }
    Ok([Arc::new(a), Arc::new(b)])
}

fn openings(args: &MatchArgs) -> Result<Openings, Failure> {
    let Some(path) = &args.openings else { return Ok(Openings::standard()) };
    let mut openings = Openings::read(path, args.opening_plies).map_err(|error| fault("openings", error))?;
    if !args.sequential {
        openings.shuffle(args.seed);
    }
    let pairs = args.games.div_ceil(2);
    if pairs > openings.len() as u64 {
        eprintln!("zeitnot: {pairs} pairs of games, but {} openings: some are played again", openings.len());
    }
    Ok(openings)
}

fn adjudication(args: &MatchArgs) -> Result<Adjudication, Failure> {
    let draw = |text: &str| {
        let params = Params::parse(text)?;
        params.allow_only("draws", &["move", "count", "score"], &[])?;
        Ok(DrawRule {
            move_number: params.integer("move", 40, 1..=10_000)? as u32,
            moves: params.integer("count", 8, 1..=10_000)? as u32,
            centipawns: params.integer("score", 10, 0..=100_000)? as i32,
        })
    };
    let win = |text: &str| {
        let params = Params::parse(text)?;
        params.allow_only("wins", &["count", "score"], &[])?;
        Ok(WinRule {
            moves: params.integer("count", 3, 1..=10_000)? as u32,
            centipawns: params.integer("score", 600, 1..=100_000)? as i32,
        })
    };
    let params_fault = |flag| move |error: crate::params::ParamError| fault(flag, error);
    let tables = args.adjudicate_syzygy.as_deref().map(Tablebase::open).transpose();
    Ok(Adjudication {
        draw: args
            .adjudicate_draw
            .as_deref()
            .map(draw)
            .transpose()
            .map_err(params_fault("adjudicate-draw"))?,
        win: args.adjudicate_win.as_deref().map(win).transpose().map_err(params_fault("adjudicate-win"))?,
        tables: tables.map_err(|error| fault("adjudicate-syzygy", error))?.map(Arc::new),
        max_plies: args.max_plies,
    })
}

fn threads(args: &MatchArgs) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    if args.settings.threads == 0 { cores() } else { args.settings.threads as usize }
}

fn concurrency(args: &MatchArgs, sides: &[Side; 2], rules: &Rules) -> usize {
    let runs_in_real_time = sides
        .iter()
        .zip(rules.paces)
        .any(|(side, pace)| matches!(pace, Pace::Clock { .. }) && side.settings.nodestime == 0);
    let per_thread = if runs_in_real_time { 1 } else { GAMES_PER_THREAD };
    args.concurrency.map_or(threads(args) * per_thread, |games| games as usize)
}

fn create_pgn(folder: &Path) -> Result<BufWriter<File>, Failure> {
    fs::create_dir_all(folder).map_err(|error| fault("out", error))?;
    let path = folder.join("games.pgn");
    let file = File::create(&path).map_err(|error| fault("out", format!("{}: {error}", path.display())))?;
    Ok(BufWriter::new(file))
}

fn progress_bar(games: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{pos}/{len} games {wide_bar} {msg}  {per_sec} {eta}");
    ProgressBar::new(games).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
