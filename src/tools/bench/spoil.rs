//! `zeitnot bench --spoil`: how far batches and threads lead the search away from the one that knows every result at once.
//!
//! Leaves of a batch are chosen without knowing of each other's results, and so are those of several threads. Each position
//! is searched by one thread with batches of one, then with other sizes and numbers of threads; the distance of the root's
//! visits and the agreement of the best move show what that costs.

use std::collections::BTreeMap;
use std::fmt;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use serde::Serialize;

use super::super::output::OutputFormat;
use super::super::{ExitStatus, Failure, Output};
use super::{BenchArgs, BenchFigures, MoveVisits, open, positions, search};
use crate::engine::Engine;
use crate::time::GoLimits;

#[derive(Debug, Args)]
pub(super) struct SpoilArgs {
    /// Measure what batches and threads cost instead: how far the root's visits are from those of one thread with batches of 1,
    /// 400 visits per position, 60 built-in positions
    #[arg(long, conflicts_with = "movetime")]
    pub(super) spoil: bool,
    /// Batch sizes to measure; 0 is the size that the engine chooses
    #[arg(long, value_name = "N,…", value_delimiter = ',', requires = "spoil", default_values_t = [2, 4, 8, 16, 32, 0],
          value_parser = RangedU64ValueParser::<usize>::new().range(..=65536))]
    batches: Vec<usize>,
    /// Numbers of threads to measure, each with all batch sizes
    #[arg(long, value_name = "N,…", value_delimiter = ',', requires = "spoil", default_values_t = [1, 2, 4],
          value_parser = RangedU64ValueParser::<usize>::new().range(1..=256))]
    thread_counts: Vec<usize>,
    /// Searches of each position with more than one thread, where no two are the same
    #[arg(long, value_name = "N", requires = "spoil", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
}

/// What is measured together: a batch size with a number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Manner {
    threads: usize,
    /// The batch size that was asked for; 0 is the engine's choice.
    batch: usize,
}

/// The search that the others are compared with.
const REFERENCE: Manner = Manner { threads: 1, batch: 1 };

/// What a search decided.
#[derive(Debug)]
struct Decision {
    best_move: String,
    visits: Vec<MoveVisits>,
}

/// One row of the table.
#[derive(Clone, Debug, Serialize)]
struct SpoilRow {
    #[serde(flatten)]
    manner: Manner,
    /// Searches of each position.
    repeats: u32,
    /// Mean over the positions of the distance (total variation) of the root's visits, 0 to 1.
    distance: f64,
    /// Half the 95 % interval of that mean, from how the positions differ.
    distance_error: f64,
    /// The largest distance of a position, mean of its searches.
    largest_distance: f64,
    /// The position with that distance.
    farthest_position: String,
    /// Share of the searches that chose the same move.
    same_best_move: f64,
    /// The batch size in force at the end: the one asked for, or what the engine chose.
    batch_in_force: usize,
    /// Evaluations per batch.
    mean_batch: f64,
    /// Visits per second.
    nps: u64,
}

/// The whole report.
#[derive(Debug, Serialize)]
struct SpoilReport {
    nodes: u64,
    positions: usize,
    backend: String,
    description: String,
    rows: Vec<SpoilRow>,
}

/// Runs the command.
pub(super) fn run(args: &BenchArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let settings = &args.settings;
    if settings.search.minibatch_size.is_some() || settings.network.threads.is_some() {
        let text = "--spoil sets batch size and threads itself: give --batches and --thread-counts instead of \
                    --minibatch-size and --threads";
        return Err(Failure::Input(text.into()));
    }
    let positions = args.positions.read_or(positions::for_spoil)?;
    let limits = args.limits()?;
    let (mut engine, backend) = open(args)?;
    let mut report = SpoilReport {
        nodes: limits.nodes.map_or(0, |nodes| nodes.0),
        positions: positions.len(),
        backend: backend.name,
        description: backend.description,
        rows: Vec::new(),
    };
    if output.format() == OutputFormat::Text {
        output.write(&(), &format_args!("{}: {}\n{HEAD}", report.backend, report.description))?;
    }
    let mut reference = Vec::new();
    for manner in manners(&args.spoil) {
        let repeats = if manner.threads == 1 { 1 } else { args.spoil.repeats };
        let (decisions, figures) = decide_all(&mut engine, manner, &positions, (repeats, &limits))?;
        // The reference is compared with itself: its row shows the speed.
        let compared = if manner == REFERENCE { &decisions } else { &reference };
        let mut row = row(manner, &positions, compared, &decisions, &figures);
        row.batch_in_force = engine.batch_size();
        report.rows.push(row);
        if manner == REFERENCE {
            reference = decisions;
        }
        if let (OutputFormat::Text, Some(row)) = (output.format(), report.rows.last()) {
            output.write(&(), row)?;
            output.flush()?;
        }
    }
    if output.format() == OutputFormat::Json {
        output.write(&report, &"")?;
    }
    Ok(ExitStatus::Success)
}

/// Returns what is to be measured, the reference first.
fn manners(args: &SpoilArgs) -> Vec<Manner> {
    let mut manners = vec![REFERENCE];
    for &threads in &args.thread_counts {
        for &batch in &args.batches {
            let manner = Manner { threads, batch };
            if !manners.contains(&manner) {
                manners.push(manner);
            }
        }
    }
    manners
}

/// Searches every position `repeats` times. The decisions are in the order of the positions, those of one position together.
fn decide_all(
    engine: &mut Engine,
    manner: Manner,
    positions: &[String],
    (repeats, limits): (u32, &GoLimits),
) -> Result<(Vec<Decision>, BenchFigures), Failure> {
    engine.set_option("Threads", &manner.threads.to_string())?;
    engine.set_option("MinibatchSize", &manner.batch.to_string())?;
    engine.prepare()?;
    let (mut decisions, mut figures) = (Vec::new(), BenchFigures::default());
    for position in positions {
        for _ in 0..repeats {
            // An evaluation that is in the cache waits for no batch: what was searched before must not matter.
            engine.clear_cache();
            let (row, result) = search(engine, position.clone(), limits.clone())?;
            figures.add(&result.summary);
            decisions.push(Decision { best_move: row.best_move, visits: row.visits });
        }
    }
    Ok((decisions, figures))
}

/// Compares `decisions` with those of the reference, which has one for each position.
fn row(
    manner: Manner,
    positions: &[String],
    reference: &[Decision],
    decisions: &[Decision],
    figures: &BenchFigures,
) -> SpoilRow {
    let repeats = decisions.len() / positions.len();
    let of_position = decisions.chunks(repeats).zip(reference);
    let (mut distances, mut same) = (Vec::new(), 0);
    for (searches, reference) in of_position {
        let sum: f64 = searches.iter().map(|decision| distance(&decision.visits, &reference.visits)).sum();
        distances.push(sum / repeats as f64);
        same += searches.iter().filter(|decision| decision.best_move == reference.best_move).count();
    }
    let (distance, error) = mean_and_error(&distances);
    let farthest = distances.iter().zip(positions).max_by(|a, b| a.0.total_cmp(b.0));
    SpoilRow {
        manner,
        repeats: repeats as u32,
        distance,
        distance_error: 1.96 * error,
        largest_distance: farthest.map_or(0.0, |(distance, _)| *distance),
        farthest_position: farthest.map(|(_, position)| position.clone()).unwrap_or_default(),
        same_best_move: same as f64 / decisions.len() as f64,
        batch_in_force: manner.batch,
        mean_batch: figures.mean_batch,
        nps: figures.nps,
    }
}

/// Returns the total variation of two distributions of visits: the share of the visits that went elsewhere, 0 to 1.
fn distance(a: &[MoveVisits], b: &[MoveVisits]) -> f64 {
    let total = |visits: &[MoveVisits]| visits.iter().map(|mv| f64::from(mv.visits)).sum::<f64>().max(1.0);
    let (total_a, total_b) = (total(a), total(b));
    let mut differences: BTreeMap<&str, f64> = BTreeMap::new();
    for mv in a {
        *differences.entry(&mv.r#move).or_default() += f64::from(mv.visits) / total_a;
    }
    for mv in b {
        *differences.entry(&mv.r#move).or_default() -= f64::from(mv.visits) / total_b;
    }
    differences.values().map(|difference| difference.abs()).sum::<f64>() / 2.0
}

/// Returns the mean of `values` and its standard error, which is 0 for a single one.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0).max(1.0) / count).sqrt())
}

/// The heads of the columns of [`SpoilRow`].
const HEAD: &str = "threads       batch  distance  95 % ±   largest  same move  mean batch       nps\n";

impl fmt::Display for SpoilRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = self.manner.threads;
        let kind = if self.manner.batch == 0 { "default " } else { "" };
        let batch = format!("{kind}{}", self.batch_in_force);
        writeln!(
            f,
            "{threads:7} {batch:>11} {:9.4} {:7.4} {:9.4} {:>8.1} % {:11.2} {:9}",
            self.distance,
            self.distance_error,
            self.largest_distance,
            self.same_best_move * 100.0,
            self.mean_batch,
            self.nps,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visits(moves: &[(&str, u32)]) -> Vec<MoveVisits> {
        moves.iter().map(|&(mv, visits)| MoveVisits { r#move: mv.into(), visits }).collect()
    }

    #[test]
    fn distance_is_the_share_of_visits_that_went_elsewhere() {
        let reference = visits(&[("e2e4", 60), ("d2d4", 40)]);
        assert_eq!(distance(&reference, &reference), 0.0);
        assert_eq!(distance(&reference, &visits(&[("g1f3", 7)])), 1.0);
        let moved = visits(&[("e2e4", 100), ("d2d4", 80), ("c2c4", 20)]);
        assert!((distance(&reference, &moved) - 0.1).abs() < 1e-12, "other totals, 10 % of them moved");
        assert_eq!(distance(&moved, &reference), distance(&reference, &moved));
    }

    #[test]
    fn a_row_averages_over_positions_and_repeats() {
        let decision = |best: &str, moves| Decision { best_move: best.into(), visits: visits(moves) };
        let reference = [decision("a2a3", &[("a2a3", 10)]), decision("b2b3", &[("b2b3", 10)])];
        let searches = [
            decision("a2a3", &[("a2a3", 10)]),
            decision("a2a3", &[("a2a3", 8), ("c2c3", 2)]),
            decision("b2b3", &[("b2b3", 6), ("c2c3", 4)]),
            decision("c2c3", &[("c2c3", 10)]),
        ];
        let manner = Manner { threads: 2, batch: 8 };
        let positions = ["first".to_owned(), "second".to_owned()];
        let row = row(manner, &positions, &reference, &searches, &BenchFigures::default());
        assert!((row.distance - (0.1 + 0.7) / 2.0).abs() < 1e-12, "{row:?}");
        assert!((row.largest_distance - 0.7).abs() < 1e-12, "{row:?}");
        assert_eq!((row.farthest_position.as_str(), row.repeats), ("second", 2));
        assert_eq!(row.same_best_move, 0.75);
    }
}
