//! The arguments of `zeitnot tune`, and what they ask for.

use std::path::PathBuf;

use clap::Args;

use crate::engine::Settings;
use crate::lab::matches::SideLimit;
use crate::lab::tuning::{Gains, Parameter, TunePlan, TuneStudy};
use crate::tools::Failure;
use crate::tools::lab::game_args::{GameArgs, argument_error};
use crate::tools::output::eprint_message;

/// Pairs of games between the beginning of an iteration and the latest result that it knows of, by default: enough to keep two
/// threads busy.
const PAIRS_LATE: u64 = 64;
/// Most of a run by which results are late by default.
const PART_LATE: u64 = 20;

#[derive(Debug, Args)]
pub(in crate::tools) struct TuneArgs {
    /// What is tuned: options that take numbers, each with start and perturbation at the end of the run, also with bounds: NAME=START:STEP[:MIN:MAX],…
    #[arg(long, value_name = "LIST")]
    pub(super) params: String,
    /// Games of the whole run, two from each opening with colours swapped
    #[arg(long, short, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
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
pub(super) fn limit(args: &TuneArgs) -> Result<SideLimit, Failure> {
    args.game.limit().ok_or_else(|| Failure::Input("say how long to think: --nodes or --tc".into()))
}

/// Says so if results are waited for where more games could run.
pub(super) fn note_idle_places(plan: &TunePlan, concurrency: usize) {
    let most = plan.lag * plan.games_of_iteration();
    if most < concurrency as u64 {
        let lag = (concurrency as u64).div_ceil(plan.games_of_iteration());
        eprint_message(format_args!(
            "at most {most} games run at once, though {concurrency} could: --lag {lag} lets them, with results that are later known"
        ));
    }
}

/// Returns a command that lets what was found play against the start.
pub(super) fn check_command(args: &TuneArgs, study: &TuneStudy) -> String {
    let mut command = String::from("zeitnot match --games 1000");
    let mut add = |flag: &str, value: Option<String>| {
        if let Some(value) = value {
            command += &format!(" --{flag}={}", quoted(&value));
        }
    };
    add("nodes", args.game.nodes.map(|nodes| nodes.to_string()));
    add("tc", args.game.tc.map(|control| control.to_string()));
    add("openings", args.game.openings.as_ref().map(|path| path.display().to_string()));
    for (flag, value) in args.settings.changed() {
        add(flag, Some(value));
    }
    // Openings that the run has not seen, if there are enough.
    add("seed", Some((args.game.seed + 1).to_string()));
    add("a", Some(format!("name=tuned,{}", study.list)));
    add("b", Some(format!("name=start,{}", study.start_list)));
    command
}

/// Returns `text` as a shell reads it as one word.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,=:".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
