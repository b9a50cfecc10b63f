//! `zeitnot backendbench`: measures how many positions a backend evaluates in a second, by batch size.
//!
//! Batch sizes take turns, round after round ([`crate::network::throughput`]), so that a machine that slows down or has other work meets all
//! of them. What was measured becomes a row per size ([`summary`]); from the rows come cliffs and recommendations
//! ([`advice`]), the table and the files ([`report`]). Where throughput falls between two sizes that are not neighbours, the
//! sizes between them are measured too, until the edge is known.

mod advice;
#[cfg(feature = "lab")]
mod page;
#[cfg(not(feature = "lab"))]
#[path = "no_page.rs"]
mod page;
mod report;
mod summary;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::RangedU64ValueParser;

use super::{ExitStatus, Failure, NetworkArgs, Output};
use crate::chess::{History, Variant};
use crate::engine::EngineError;
use crate::network::BackendInfo;
use crate::network::throughput::{BatchSizeSeries, RoundLength, ThroughputMeter};
use report::ThroughputReport;
use summary::summarize;

/// Sizes that are measured unless the user names others: around every multiple where devices are known to have cliffs.
const SIZES: [usize; 24] =
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 32, 33, 48, 64, 65, 96, 97, 128, 129, 192, 256];
/// The largest size unless the user names another; Lc0's default.
const LARGEST: usize = 256;
/// Measurements of a cliff's middle before it is left as wide as it is.
const MAX_SEARCHES: usize = 12;

#[derive(Debug, Args)]
pub(super) struct BackendbenchArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// Batch sizes to measure. As in Lc0 a single number beside one of the three flags that follow is instead the number of
    /// batches of each size
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    batches: Vec<usize>,
    /// Measure every size from this one on [default: 1]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    start_batch_size: Option<usize>,
    /// The largest size [default: 256, or what the backend takes]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    max_batch_size: Option<usize>,
    /// Step between the sizes to measure [default: 1 with --start-batch-size, else a choice of sizes]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    batch_step: Option<usize>,
    /// Threads that evaluate, each with batches of its own
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: u32,
    /// Measurements of each batch size
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Shortest time of a measurement, ms; it is at least one batch
    #[arg(long, value_name = "MS", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    round_ms: u64,
    /// Evaluate copies of this position, as Lc0 does, in place of positions of games
    #[arg(long, value_name = "FEN")]
    fen: Option<String>,
    /// Show the recommendation only
    #[arg(long)]
    clippy: bool,
    /// Folder for the curve (throughput.svg, latency.svg), the figures (backendbench.json) and a page of all (index.html)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The sizes to measure, and the time for each of them.
#[derive(Debug, PartialEq)]
struct MeasurementPlan {
    sizes: Vec<usize>,
    round_length: RoundLength,
    rounds: u32,
    /// True if the user named the sizes: no others are measured.
    is_fixed: bool,
}

impl BackendbenchArgs {
    fn plan(&self, info: &BackendInfo) -> Result<MeasurementPlan, Failure> {
        let round_length = RoundLength::Time(Duration::from_millis(self.round_ms));
        let plan = |sizes, is_fixed| MeasurementPlan { sizes, round_length, rounds: self.rounds, is_fixed };
        let has_range =
            self.start_batch_size.is_some() || self.max_batch_size.is_some() || self.batch_step.is_some();
        let largest = self.max_batch_size.unwrap_or(LARGEST.min(info.max_batch));
        let plan = match (&self.batches[..], has_range) {
            ([], false) => plan(SIZES.into(), false),
            (sizes, false) => plan(sizes.into(), true),
            (counts, true) => {
                let start = self.start_batch_size.unwrap_or(1);
                let is_choice = self.start_batch_size.is_none() && self.batch_step.is_none();
                let sizes: Vec<_> = if is_choice {
                    SIZES.into_iter().filter(|&size| size < largest).chain([largest]).collect()
                } else {
                    (start..=largest).step_by(self.batch_step.unwrap_or(1)).collect()
                };
                match counts {
                    [] => plan(sizes, !is_choice),
                    [count] => {
                        let rounds = self.rounds.min(u32::try_from(*count).unwrap_or(u32::MAX));
                        let round_length = RoundLength::Batches(count.div_ceil(rounds as usize));
                        MeasurementPlan { sizes, round_length, rounds, is_fixed: !is_choice }
                    }
                    _ => {
                        let text = "--batches with several sizes leaves no room for --start-batch-size, \
                                    --max-batch-size or --batch-step: give one or the other";
                        return Err(Failure::Input(text.into()));
                    }
                }
            }
        };
        self.check(plan, info)
    }

    fn check(&self, mut plan: MeasurementPlan, info: &BackendInfo) -> Result<MeasurementPlan, Failure> {
        let largest = info.max_batch;
        let is_named = plan.is_fixed || self.max_batch_size.is_some();
        if is_named && let Some(size) = plan.sizes.iter().find(|&&size| size > largest) {
            let text = format!("a batch of {size} is too large: {} takes up to {largest}", info.name);
            return Err(Failure::Input(text));
        }
        plan.sizes.retain(|&size| size <= largest);
        plan.sizes.sort_unstable();
        plan.sizes.dedup();
        if plan.sizes.is_empty() {
            return Err(Failure::Input("--start-batch-size lies above --max-batch-size".into()));
        }
        Ok(plan)
    }
}

/// Runs the command.
pub(super) fn run(args: &BackendbenchArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let backend = args.network.backend()?;
    let plan = args.plan(backend.info())?;
    let threads = args.threads as usize;
    let mut meter = match &args.fen {
        Some(fen) => {
            let position = History::from_fen(fen, Variant::Standard).map_err(EngineError::from)?;
            ThroughputMeter::of_position(&*backend, threads, &position)?
        }
        None => ThroughputMeter::new(&*backend, threads)?,
    };
    meter.warm_up(plan.sizes.last().copied().unwrap_or(1))?;
    let mut series = Vec::new();
    for &size in &plan.sizes {
        series.push(meter.begin(size, plan.round_length)?);
    }
    let all: Vec<usize> = (0..series.len()).collect();
    measure(&mut meter, &mut series, &all, &plan)?;
    if !plan.is_fixed {
        find_edges(&mut meter, &mut series, &plan)?;
    }
    let report = ThroughputReport::new(backend.info(), args.threads, &series);
    if let Some(folder) = &args.out {
        report.write_files(folder)?;
    }
    if args.clippy {
        output.write(&report.rows, &report.recommendation())?;
    } else {
        output.write(&report.rows, &report)?;
    }
    Ok(ExitStatus::Success)
}

/// Measures those of `series` that stand at `places`, in turn, for as many rounds as planned.
fn measure(
    meter: &mut ThroughputMeter,
    series: &mut [BatchSizeSeries],
    places: &[usize],
    plan: &MeasurementPlan,
) -> Result<(), Failure> {
    for _ in 0..plan.rounds {
        for &place in places {
            meter.measure_round(&mut series[place], plan.round_length)?;
        }
    }
    Ok(())
}

/// Halves the distance between sizes around a cliff until it lies between neighbours.
fn find_edges(
    meter: &mut ThroughputMeter,
    series: &mut Vec<BatchSizeSeries>,
    plan: &MeasurementPlan,
) -> Result<(), Failure> {
    for _ in 0..MAX_SEARCHES {
        let rows: Vec<_> = series.iter().map(summarize).collect();
        let cliffs = advice::cliffs(&rows);
        let Some(wide) = cliffs.iter().find(|cliff| cliff.to - cliff.from > 1) else { break };
        let middle = wide.from + (wide.to - wide.from) / 2;
        let place = series.partition_point(|series| series.size < middle);
        series.insert(place, meter.begin(middle, plan.round_length)?);
        // With its neighbours, so that all three meet the same machine.
        measure(meter, series, &[place - 1, place, place + 1], plan)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::backends::{self, BackendConfig};
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct TestCommandLine {
        #[command(flatten)]
        args: BackendbenchArgs,
    }

    fn plan(line: &str) -> Result<MeasurementPlan, String> {
        let words = ["backendbench"].into_iter().chain(line.split_ascii_whitespace());
        let args = TestCommandLine::try_parse_from(words).unwrap().args;
        let config = BackendConfig::parse("simulated(max-batch=100)", "").unwrap();
        let backend = backends::create(&config, None).unwrap();
        args.plan(backend.info()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn sizes_are_those_asked_for() {
        assert_eq!(plan("--batches 8,1,8").unwrap().sizes, [1, 8]);
        assert_eq!(plan("").unwrap().sizes.last(), Some(&97), "what the backend takes");
        assert_eq!(plan("--max-batch-size 10").unwrap().sizes, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        let range = plan("--start-batch-size 8 --max-batch-size 12 --batch-step 2").unwrap();
        assert_eq!((range.sizes, range.is_fixed), (vec![8, 10, 12], true));
        assert!(plan("--batches 128").unwrap_err().contains("simulated takes up to 100"));
        assert!(plan("--start-batch-size 9 --max-batch-size 8").unwrap_err().contains("above"));
        assert!(plan("--batches 1,2 --batch-step 2").unwrap_err().contains("one or the other"));
    }

    #[test]
    fn one_number_beside_a_range_counts_batches_as_in_lc0() {
        let plan = plan("--batches 100 --start-batch-size 8 --max-batch-size 8").unwrap();
        assert_eq!((plan.sizes, plan.rounds, plan.round_length), (vec![8], 11, RoundLength::Batches(10)));
    }
}
