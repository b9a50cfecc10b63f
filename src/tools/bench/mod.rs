//! `zeitnot bench`: searches a set of positions and reports speed and a fingerprint of the search.

mod number;
mod positions;
mod report;
mod spoil;

use std::time::Instant;

use clap::Args;

use super::output::{OutputFormat, eprint_message};
use super::{ExitStatus, Failure, Output};
use crate::chess::History;
use crate::engine::{Engine, FinishedSearch, Settings};
use crate::network::{BackendInfo, Processor};
use crate::search::{SearchResult, SearchSummary};
use crate::time::{GoLimits, Millis, Nodes};
use crate::version::VERSION;

pub(super) use crate::cpu_time::cpu_time;
pub(super) use positions::{PositionArgs, position_in};
pub(super) use report::{BenchFigures, BenchRow, HEAD};
use report::{BenchReport, MoveVisits, Signature};
use spoil::SpoilArgs;

/// The number of nodes per position unless the user says something else …
const DEFAULT_NODES: u64 = 2000;
/// … and the time at which a slower machine ends each search, so that all of them take some seconds.
const DEFAULT_MOVE_TIME_MS: u64 = 700;
/// The same with `--spoil`: small trees are where batches cost most.
const DEFAULT_SPOIL_NODES: u64 = 400;
/// The backends whose answers are the same on every machine.
const REPRODUCIBLE: [&str; 2] = ["random", "trivial"];

#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    /// Visits per position; -1 is no limit [default: 2000 or what 0.7 s allow, with --spoil 400]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    nodes: Option<i64>,
    /// Time per position, ms; -1 is no limit
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    movetime: Option<i64>,
    #[command(flatten)]
    positions: PositionArgs,
    #[command(flatten)]
    spoil: SpoilArgs,
    #[command(flatten)]
    settings: Settings,
}

impl BenchArgs {
    /// Returns what ends each search.
    fn limits(&self) -> Result<GoLimits, Failure> {
        let positive = |number: Option<i64>| number.filter(|&number| number > 0).map(i64::unsigned_abs);
        let (nodes, movetime) = (positive(self.nodes), positive(self.movetime));
        let is_endless = self.nodes.or(self.movetime).is_some() && nodes.is_none() && movetime.is_none();
        if is_endless {
            return Err(Failure::Input(
                "the searches need an end: give --nodes or --movetime above 0".into(),
            ));
        }
        let (nodes, movetime) = match (nodes, movetime) {
            (None, None) if self.spoil.spoil => (Some(DEFAULT_SPOIL_NODES), None),
            // A backend that says the same everywhere also searches the same everywhere.
            (None, None) if self.is_reproducible() => (Some(DEFAULT_NODES), None),
            (None, None) => (Some(DEFAULT_NODES), Some(DEFAULT_MOVE_TIME_MS)),
            given => given,
        };
        let movetime = movetime.map(|ms| Millis(ms as f64));
        Ok(GoLimits { nodes: nodes.map(Nodes), movetime, ..GoLimits::default() })
    }

    /// Returns whether the backend's answers are the same on every machine.
    fn is_reproducible(&self) -> bool {
        REPRODUCIBLE.contains(&&*self.settings.network.backend)
    }

    /// Returns whether nothing says what to search.
    fn is_plain(&self) -> bool {
        self.nodes.is_none() && self.movetime.is_none() && self.positions.is_default()
    }
}

/// Runs the command.
pub(super) fn run(args: &BenchArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    if args.spoil.spoil {
        return spoil::run(args, output);
    }
    let limits = args.limits()?;
    let positions = args.positions.read_or(|| positions::BUILT_IN.map(String::from).into())?;
    let (mut engine, backend) = open(args)?;
    if output.format() == OutputFormat::Text {
        output.write(&(), &HEAD)?;
    }
    let (wall, cpu, busy) = (Instant::now(), cpu_time(), engine.busy_time());
    let (mut total, mut signature, mut rows) = (BenchFigures::default(), Signature::new(), Vec::new());
    for position in positions {
        let (row, result) = search(&mut engine, position, limits.clone())?;
        total.add(&result.summary);
        signature.add(&result.summary);
        if output.format() == OutputFormat::Text {
            output.write(&(), &row)?;
            output.flush()?;
        }
        rows.push(row);
    }
    let cpu = cpu.zip(cpu_time()).map(|(before, after)| (after - before).as_secs_f64());
    let device_busy = busy
        .zip(engine.busy_time())
        .map(|(before, after)| (after - before).as_secs_f64() / wall.elapsed().as_secs_f64());
    let device_busy = total.virtual_busy(&backend).or(device_busy);
    let threads = engine.threads();
    let reproducible =
        threads == 1 && limits.movetime.is_none() && REPRODUCIBLE.contains(&backend.name.as_str());
    drop(engine);
    let number = if args.is_plain() { number::compute(&args.settings)? } else { None };
    let report = BenchReport {
        figures: total,
        bench: number,
        cpu_s: cpu,
        device_busy,
        version: VERSION,
        backend: backend.name,
        description: backend.description,
        threads,
        signature: reproducible.then(|| signature.text()),
        positions: rows,
    };
    output.write(&report, &report)?;
    Ok(ExitStatus::Success)
}

/// Returns an engine with its backend made ready.
fn open(args: &BenchArgs) -> Result<(Engine, BackendInfo), Failure> {
    // No rule but the limit ends a search.
    let mut settings = args.settings.clone();
    settings.stoppers.smart_pruning_factor = 0.0;
    let mut engine = Engine::new(settings)?;
    engine.prepare()?;
    engine.take_notes().iter().for_each(eprint_message);
    let backend = engine.backend().cloned().ok_or_else(|| Failure::Input("no backend".into()))?;
    // One core unless the user wants more.
    if args.settings.network.threads.is_none() && backend.processor == Processor::Cpu {
        engine.set_option("Threads", "1")?;
        engine.prepare()?;
    }
    Ok((engine, backend))
}

/// Searches one position with nothing kept from before.
///
/// # Errors
/// [`Failure`] if the position is refused or the search fails.
pub(super) fn search(
    engine: &mut Engine,
    position: String,
    limits: GoLimits,
) -> Result<(BenchRow, SearchResult), Failure> {
    engine.new_game();
    engine.set_position(&position)?;
    let FinishedSearch { best, result, .. } = engine.search(limits)?;
    let best_move = engine.position().format_move(best);
    let visits = root_moves(engine.position(), &result.summary);
    let row = BenchRow { position, best_move, figures: BenchFigures::of(&result.summary), visits };
    Ok((row, result))
}

fn root_moves(root: &History, summary: &SearchSummary) -> Vec<MoveVisits> {
    let mut moves: Vec<_> = summary
        .root_visits
        .iter()
        .filter(|(_, visits)| *visits > 0)
        .map(|&(mv, visits)| MoveVisits { r#move: root.format_move(mv), visits })
        .collect();
    moves.sort_by(|a, b| b.visits.cmp(&a.visits).then_with(|| a.r#move.cmp(&b.r#move)));
    moves
}
