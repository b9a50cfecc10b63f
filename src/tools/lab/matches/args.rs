//! The arguments of `zeitnot match`, and what they ask for.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::side::SideArgs;
use crate::engine::{EngineSetup, Settings};
use crate::lab::matches::{ForeignEngine, MatchRules, SideLimit, Team};
use crate::tools::Failure;
use crate::tools::lab::game_args::{self, GameArgs};
use crate::tools::lab::shard::Shard;
use crate::tools::output::eprint_message;

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
    /// Play only part i of n, for several machines; `zeitnot report` puts the parts together
    #[arg(long, value_name = "i/n")]
    pub(super) shard: Option<Shard>,
    /// End as soon as one hypothesis is proven: elo0=0,elo1=5[,alpha=0.05][,beta=0.05][,model=normalized|logistic]
    #[arg(long, value_name = "LIST")]
    pub(super) sprt: Option<String>,
    /// Folder for games.pgn, rows (CSV and Parquet) and the report (index.html); a match that was stopped goes on there
    #[arg(long, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) game: GameArgs,
    #[command(flatten)]
    pub(super) settings: Settings,
}

pub(super) fn sides(args: &MatchArgs) -> Result<[SideArgs; 2], Failure> {
    Ok([SideArgs::parse(&args.a, &args.settings, "A")?, SideArgs::parse(&args.b, &args.settings, "B")?])
}

/// Returns what each side may spend: its own limit, or the common one.
pub(super) fn limits(args: &MatchArgs, sides: &[SideArgs; 2]) -> Result<[SideLimit; 2], Failure> {
    let common = args.game.limit();
    let limit = |side: &SideArgs| side.limit.or(common).ok_or_else(game_args::missing_limit);
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
    let settings = game_args::settings_under(limit, side.settings.clone());
    let setup = match other {
        Some(Team::Own(other)) if other.has_backend_of(&settings) => {
            EngineSetup::with_backend_of(other, settings)?
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

pub(super) fn concurrency(args: &MatchArgs, sides: &[SideArgs; 2], rules: &MatchRules) -> usize {
    let runs_in_real_time = sides
        .iter()
        .zip(rules.limits)
        .any(|(side, limit)| side.foreign.is_some() || game_args::runs_in_real_time(limit, &side.settings));
    args.game.concurrency(game_args::threads(&args.settings), runs_in_real_time)
}
