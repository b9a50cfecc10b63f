//! The arguments of `zeitnot match`, and what they ask for.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::side::SideArgs;
use crate::engine::EngineSetup;
use crate::engine::Settings;
use crate::lab::matches::{
    Adjudication, DrawRule, ForeignEngine, MatchRules, Openings, SideLimit, Team, WinRule,
};
use crate::params::{ParamError, Params};
use crate::tablebase::Tablebase;
use crate::time::TimeControl;
use crate::tools::Failure;
use crate::tools::lab::shard::Shard;
use crate::tools::output::eprint_message;

/// Games at once per thread where clocks are virtual: enough for large batches.
const GAMES_PER_THREAD: usize = 32;

#[derive(Debug, Args)]
pub(in crate::tools) struct MatchArgs {
    /// Options of engine A that differ from the common ones: Name=Value,…; also name=…, nodes=…, tc=…. Another engine: cmd=PROGRAM, args=…, option.NAME=…
    #[arg(long, value_name = "LIST", default_value = "")]
    pub(super) a: String,
    /// The same for engine B
    #[arg(long, value_name = "LIST", default_value = "")]
    pub(super) b: String,
    /// Games of the whole match, two from each opening with colours swapped
    #[arg(long, short, value_name = "N", default_value_t = 100)]
    pub(super) games: u64,
    /// Nodes of every move; smart pruning is off then
    #[arg(long, value_name = "N", conflicts_with = "tc", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) nodes: Option<u64>,
    /// Clocks: SECONDS, SECONDS+INCREMENT or MOVES/SECONDS+INCREMENT; virtual ones under --nodestime
    #[arg(long, value_name = "TIME")]
    pub(super) tc: Option<TimeControl>,
    /// Openings: EPD or FEN lines, or PGN games (.pgn); also compressed (.gz, .zst, .bz2, .zip) [default: the start position]
    #[arg(long, value_name = "FILE")]
    pub(super) openings: Option<PathBuf>,
    /// Take at most N plies of each PGN opening
    #[arg(long, value_name = "N")]
    pub(super) opening_plies: Option<usize>,
    /// Take the openings in the order of the file, not shuffled
    #[arg(long)]
    pub(super) sequential: bool,
    /// Seed of the order of the openings and of random draws
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,
    /// Games at once [default: 32 for each thread; one for each thread with real clocks]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) concurrency: Option<u64>,
    /// Play only part i of n, for several machines; `zeitnot report` puts the parts together
    #[arg(long, value_name = "i/n")]
    pub(super) shard: Option<Shard>,
    /// End as soon as one hypothesis is proven: elo0=0,elo1=5[,alpha=0.05][,beta=0.05][,model=normalized|logistic]
    #[arg(long, value_name = "LIST")]
    pub(super) sprt: Option<String>,
    /// Draws by evaluation: move=40,count=8,score=10 (from move 40 on, both sides within 10 centipawns for 8 moves each)
    #[arg(long, value_name = "LIST")]
    pub(super) adjudicate_draw: Option<String>,
    /// Wins by evaluation: count=3,score=600 (both sides agree on at least 600 centipawns for 3 moves each)
    #[arg(long, value_name = "LIST")]
    pub(super) adjudicate_win: Option<String>,
    /// Results from the Syzygy tables in these folders
    #[arg(long, value_name = "FOLDERS")]
    pub(super) adjudicate_syzygy: Option<String>,
    /// Draw games that reach N plies, those of the opening not counted
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_plies: Option<u32>,
    /// Folder for games.pgn, rows (CSV and Parquet) and the report (index.html); a match that was stopped goes on there
    #[arg(long, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) settings: Settings,
}

pub(super) fn argument_error(flag: &str, error: impl std::fmt::Display) -> Failure {
    Failure::Input(format!("--{flag}: {error}"))
}

pub(super) fn sides(args: &MatchArgs) -> Result<[SideArgs; 2], Failure> {
    Ok([SideArgs::parse(&args.a, &args.settings, "A")?, SideArgs::parse(&args.b, &args.settings, "B")?])
}

/// Returns what each side may spend: its own limit, or the common one.
pub(super) fn limits(args: &MatchArgs, sides: &[SideArgs; 2]) -> Result<[SideLimit; 2], Failure> {
    let common = args.nodes.map(SideLimit::Nodes).or(args.tc.map(SideLimit::Clock));
    let limit = |side: &SideArgs| {
        side.limit.or(common).ok_or_else(|| Failure::Input("say how long to think: --nodes or --tc".into()))
    };
    Ok([limit(&sides[0])?, limit(&sides[1])?])
}

/// Makes the two engines ready; they share a backend if they can. Engines of others get their own name, unless the user has chosen one.
pub(super) fn teams(sides: &mut [SideArgs; 2], rules: &MatchRules) -> Result<[Team; 2], Failure> {
    let a = team(&mut sides[0], rules.limits[0], None)?;
    let b = team(&mut sides[1], rules.limits[1], Some(&a))?;
    for (letter, team) in [("A", &a), ("B", &b)] {
        match team {
            Team::Own(setup) => {
                eprint_message(format_args!("{letter}: {}", setup.backend().info().description));
                setup.notes().iter().for_each(|note| eprint_message(format_args!("{letter}: {note}")));
            }
            Team::Foreign(engine) => eprint_message(format_args!("{letter}: {}", engine.name())),
        }
    }
    make_names_differ(sides);
    Ok([a, b])
}

fn team(side: &mut SideArgs, limit: SideLimit, other: Option<&Team>) -> Result<Team, Failure> {
    if let Some(command) = &side.foreign {
        let engine =
            ForeignEngine::new(command.clone()).map_err(|error| Failure::Input(error.to_string()))?;
        if !side.is_named {
            side.name = engine.name().to_owned();
        }
        return Ok(Team::Foreign(Arc::new(engine)));
    }
    let mut settings = side.settings.clone();
    if matches!(limit, SideLimit::Nodes(_)) && settings.stoppers.nodestime.nodes_per_ms == 0 {
        // The rule looks at real time; games would not be the same again.
        settings.stoppers.smart_pruning_factor = 0.0;
    }
    let setup = match other {
        Some(Team::Own(other)) if other.has_backend_of(&settings) => {
            EngineSetup::with_backend(settings, other.backend().clone())?
        }
        _ => EngineSetup::new(settings)?,
    };
    Ok(Team::Own(Arc::new(setup)))
}

fn make_names_differ(sides: &mut [SideArgs; 2]) {
    if sides[0].name == sides[1].name {
        sides[0].name += " (A)";
        sides[1].name += " (B)";
    }
}

pub(super) fn openings(args: &MatchArgs) -> Result<Openings, Failure> {
    let Some(path) = &args.openings else { return Ok(Openings::standard()) };
    let mut openings =
        Openings::read(path, args.opening_plies).map_err(|error| argument_error("openings", error))?;
    if !args.sequential {
        openings.shuffle(args.seed);
    }
    let pairs = args.games.div_ceil(2);
    if pairs > openings.len() as u64 {
        eprint_message(format_args!(
            "{pairs} pairs of games, but {} openings: some are played again",
            openings.len()
        ));
    }
    Ok(openings)
}

pub(super) fn adjudication(args: &MatchArgs) -> Result<Adjudication, Failure> {
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
    let params_error = |flag| move |error: ParamError| argument_error(flag, error);
    let tables = args.adjudicate_syzygy.as_deref().map(Tablebase::open).transpose();
    Ok(Adjudication {
        draw: args
            .adjudicate_draw
            .as_deref()
            .map(draw)
            .transpose()
            .map_err(params_error("adjudicate-draw"))?,
        win: args.adjudicate_win.as_deref().map(win).transpose().map_err(params_error("adjudicate-win"))?,
        tables: tables.map_err(|error| argument_error("adjudicate-syzygy", error))?.map(Arc::new),
        max_plies: args.max_plies,
    })
}

pub(super) fn threads(args: &MatchArgs) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    args.settings.network.threads.map_or_else(cores, NonZero::get)
}

pub(super) fn concurrency(args: &MatchArgs, sides: &[SideArgs; 2], rules: &MatchRules) -> usize {
    let runs_in_real_time = sides.iter().zip(rules.limits).any(|(side, limit)| {
        let has_clock = matches!(limit, SideLimit::Clock(_));
        side.foreign.is_some() || has_clock && side.settings.stoppers.nodestime.nodes_per_ms == 0
    });
    let per_thread = if runs_in_real_time { 1 } else { GAMES_PER_THREAD };
    args.concurrency.map_or(threads(args) * per_thread, |games| games as usize)
}
