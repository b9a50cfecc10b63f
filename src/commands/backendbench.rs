//! `zeitnot backendbench`: measures a backend's evaluations per second by batch size.
//!
//! Batch sizes take turns, so that a change of the machine's speed affects all of them. `benchmark`
//! recommends settings.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde::Serialize;

use super::engine_args::{NetworkArgs, count};
use super::measure::{claim, write_report};
use crate::output::{ExitStatus, Output};
use zeitnot_engine::VERSION;
use zeitnot_engine::chess::{History, Variant};
use zeitnot_engine::network::BackendInfo;
use zeitnot_engine::network::throughput::{BatchSizeSeries, RoundLength, SortedSamples, ThroughputMeter};
use zeitnot_lab::report::{Page, Plot, Table};

/// Default sizes: around every multiple where devices are known to have cliffs.
const SIZES: [usize; 24] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 32, 33, 48, 64, 65, 96, 97, 128, 129, 192, 256,
];
/// Default of the largest size, as in Lc0.
const LARGEST: usize = 256;

#[derive(Debug, Args)]
pub(crate) struct BackendbenchArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// Batch sizes to measure. As in Lc0 a single number beside one of the three flags that follow is instead
    /// the number of batches of each size
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = count())]
    batches: Vec<usize>,
    /// Measure every size from this one on [default: 1]
    #[arg(long, value_name = "N", value_parser = count())]
    start_batch_size: Option<usize>,
    /// The largest size [default: 256, or what the backend takes]
    #[arg(long, value_name = "N", value_parser = count())]
    max_batch_size: Option<usize>,
    /// Step between the sizes to measure [default: 1 with --start-batch-size, else a choice of sizes]
    #[arg(long, value_name = "N", value_parser = count())]
    batch_step: Option<usize>,
    /// Threads that evaluate, each with batches of its own
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = count().range(..=256))]
    threads: usize,
    /// Measurements of each batch size
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = count())]
    rounds: usize,
    /// Shortest time of a measurement, ms. It is at least one batch
    #[arg(long, value_name = "MS", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    round_ms: u64,
    /// Evaluate copies of this position, as Lc0 does, in place of positions of games
    #[arg(long, value_name = "FEN")]
    fen: Option<String>,
    /// Folder for a page with the curves (index.html) and the figures (backendbench.json)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Debug)]
struct MeasurementPlan {
    sizes: Vec<usize>,
    rounds: usize,
    round_length: RoundLength,
}

impl BackendbenchArgs {
    fn plan(&self, info: &BackendInfo) -> Result<MeasurementPlan> {
        let has_range =
            self.start_batch_size.is_some() || self.max_batch_size.is_some() || self.batch_step.is_some();
        let largest = self.max_batch_size.unwrap_or(LARGEST.min(info.max_batch));
        let mut sizes: Vec<_> = match (self.start_batch_size, self.batch_step) {
            _ if !has_range && !self.batches.is_empty() => self.batches.clone(),
            (None, None) => SIZES
                .into_iter()
                .filter(|&size| size < largest)
                .chain([largest])
                .collect(),
            (start, step) => (start.unwrap_or(1)..=largest)
                .step_by(step.unwrap_or(1))
                .collect(),
        };
        sizes.sort_unstable();
        sizes.dedup();
        let size = *sizes
            .last()
            .context("--start-batch-size lies above --max-batch-size")?;
        let most = info.max_batch;
        ensure!(
            size <= most,
            "a batch of {size} is too large: {} takes up to {most}",
            info.name
        );
        let mut plan = MeasurementPlan {
            sizes,
            rounds: self.rounds,
            round_length: RoundLength::Time(Duration::from_millis(self.round_ms)),
        };
        match self.batches[..] {
            [count] if has_range => {
                plan.rounds = self.rounds.min(count);
                plan.round_length = RoundLength::Batches(count.div_ceil(plan.rounds));
            }
            [_, _, ..] if has_range => bail!(
                "--batches with several sizes leaves no room for --start-batch-size, --max-batch-size or --batch-step: \
                 give one or the other"
            ),
            _ => {}
        }
        Ok(plan)
    }
}

pub(super) fn run(args: &BackendbenchArgs, output: &mut Output) -> Result<ExitStatus> {
    let run = claim(args.out.as_deref(), "backendbench.json")?;
    let backend = args.network.backend()?;
    let plan = args.plan(backend.facts())?;
    let position = args
        .fen
        .as_deref()
        .map(|fen| History::from_fen(fen, Variant::Standard))
        .transpose()?;
    let mut meter = ThroughputMeter::new(&*backend, args.threads, position.as_ref())?;
    if let Some(&largest) = plan.sizes.last() {
        meter.warm_up(largest)?;
    }
    let mut series = Vec::new();
    for &size in &plan.sizes {
        series.push(meter.begin(size, plan.round_length)?);
    }
    meter.measure(&mut series, plan.rounds, plan.round_length)?;
    let mut report = ThroughputReport {
        version: VERSION,
        backend: backend.facts().name.clone(),
        description: backend.facts().description.clone(),
        threads: args.threads,
        rows: series.iter().map(summarize).collect(),
    };
    if let [.., smaller, larger] = &mut report.rows[..] {
        smaller.change_ms = Some(meter.change_ms([smaller.batch, larger.batch])?);
        larger.change_ms = smaller.change_ms;
    }
    write_report(run, || report.page(), &report, output)?;
    let rows = report.rows.iter().map(|row| RowWithOrigin {
        row,
        version: report.version,
        network: &report.description,
        threads: report.threads,
    });
    output.write(&rows.collect::<Vec<_>>(), &report)
}

/// The document is a list of rows: each says what made it.
#[derive(Serialize)]
struct RowWithOrigin<'a> {
    #[serde(flatten)]
    row: &'a BatchSizeRow,
    version: &'static str,
    /// With device and precision.
    network: &'a str,
    threads: usize,
}

/// Rates are of all threads together, times of one batch on its thread.
#[derive(Serialize)]
struct BatchSizeRow {
    batch: usize,
    mean_nps: f64,
    median_nps: f64,
    min_nps: f64,
    max_nps: f64,
    /// Standard deviation over the rounds, 0 for a single one.
    deviation_nps: f64,
    /// Median over the rounds, per second of CPU time, if the system measures it.
    cpu_nps: Option<f64>,
    first_ms: f64,
    /// How much longer a batch takes after one of another size, for the two largest.
    change_ms: Option<f64>,
    mean_ms: f64,
    deviation_ms: f64,
    p50_ms: f64,
    p90_ms: f64,
    p99_ms: f64,
    batches: usize,
}

impl BatchSizeRow {
    /// Relative, over the rounds.
    fn deviation(&self) -> f64 {
        self.deviation_nps / self.mean_nps.max(1e-9)
    }
}

fn summarize(series: &BatchSizeSeries) -> BatchSizeRow {
    let nps = SortedSamples::of(&series.nps);
    let ms = SortedSamples::of(&series.batch_ms);
    BatchSizeRow {
        batch: series.size,
        mean_nps: nps.mean(),
        median_nps: nps.percentile(50.0),
        min_nps: nps.percentile(0.0),
        max_nps: nps.percentile(100.0),
        deviation_nps: nps.deviation(),
        cpu_nps: (!series.cpu_nps.is_empty()).then(|| SortedSamples::of(&series.cpu_nps).percentile(50.0)),
        first_ms: series.first_ms,
        change_ms: None,
        mean_ms: ms.mean(),
        deviation_ms: ms.deviation(),
        p50_ms: ms.percentile(50.0),
        p90_ms: ms.percentile(90.0),
        p99_ms: ms.percentile(99.0),
        batches: series.batch_ms.len(),
    }
}

const NOISY: f64 = 0.05;

#[derive(Serialize)]
struct ThroughputReport {
    version: &'static str,
    backend: String,
    description: String,
    threads: usize,
    rows: Vec<BatchSizeRow>,
}

impl ThroughputReport {
    fn change(&self) -> Option<String> {
        let [.., smaller, larger] = &self.rows[..] else {
            return None;
        };
        let ms = larger.change_ms?.max(0.0);
        Some(format!(
            "A change between {} and {} positions costs {ms:.2} ms.",
            smaller.batch, larger.batch
        ))
    }

    fn warning(&self) -> Option<String> {
        let deviations: Vec<_> = self.rows.iter().map(BatchSizeRow::deviation).collect();
        let usual = SortedSamples::of(&deviations).percentile(50.0);
        (usual > NOISY).then(|| {
            format!(
                "The machine was noisy: rates of one size differ by {:.0} % from round to round. Smaller differences \
                 between sizes mean nothing.",
                100.0 * usual
            )
        })
    }

    fn title(&self) -> String {
        let threads = if self.threads == 1 {
            String::new()
        } else {
            format!(", {} threads", self.threads)
        };
        format!("{}: {}{threads}", self.backend, self.description)
    }

    fn table(&self) -> Table {
        let caption = "Evaluations per second of all threads, and per second of CPU time; time of a batch on its thread, ms";
        let rate = |nps: f64| format!("{nps:.0}");
        let time = |ms: f64| {
            if ms < 0.1 {
                format!("{ms:.5}")
            } else {
                format!("{ms:.3}")
            }
        };
        Table::of(caption, &self.rows)
            .numbers("batch", |row| row.batch)
            .numbers("mean", |row| rate(row.mean_nps))
            .numbers("median", |row| rate(row.median_nps))
            .numbers("min", |row| rate(row.min_nps))
            .numbers("max", |row| rate(row.max_nps))
            .numbers("± %", |row| format!("{:.1}", 100.0 * row.deviation()))
            .numbers("/CPU s", |row| row.cpu_nps.map_or(String::new(), rate))
            .numbers("first ms", |row| time(row.first_ms))
            .numbers("mean ms", |row| time(row.mean_ms))
            .numbers("p50", |row| time(row.p50_ms))
            .numbers("p90", |row| time(row.p90_ms))
            .numbers("p99", |row| time(row.p99_ms))
            .table()
    }

    fn page(&self) -> Page {
        let points = |value: fn(&BatchSizeRow) -> f64| {
            let rows = self.rows.iter();
            rows.map(move |row| (row.batch as f64, value(row)))
        };
        let rows = self.rows.iter();
        let band = rows.map(|row| (row.batch as f64, [row.min_nps, row.max_nps]));
        let throughput = Plot::new(
            "Throughput by batch size",
            "batch size, positions",
            "evaluations per second",
        )
        .band("median", band)
        .line("median", points(|row| row.median_nps))
        .log_x()
        .y_from(0.0);
        let latency = Plot::new("Time of a batch", "batch size, positions", "time of a batch, ms")
            .line("median", points(|row| row.p50_ms))
            .line("99 of 100 are faster", points(|row| row.p99_ms))
            .line("first batch", points(|row| row.first_ms))
            .log_x()
            .log_y();
        let fastest = self
            .rows
            .iter()
            .max_by(|a, b| a.median_nps.total_cmp(&b.median_nps));
        let (batch, nps) = fastest.map_or((0, 0.0), |row| (row.batch, row.median_nps));
        let sentence = format!(
            "with batches of {batch} positions, the fastest size. {}.",
            self.title()
        );
        let figure = format!("{nps:.0} evaluations per second");
        let mut page = Page::new("Backend speed by batch size").key_figure(&figure, &sentence);
        if let Some(warning) = self.warning() {
            page = page.paragraph(&warning);
        }
        page = page
            .plot(
                &throughput,
                "The band reaches from the slowest round to the fastest.",
            )
            .plot(&latency, "As one thread sees it.")
            .table(&self.table());
        if let Some(change) = self.change() {
            page = page.paragraph(&change);
        }
        page
    }
}

impl fmt::Display for ThroughputReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title())?;
        write!(f, "{}", self.table())?;
        for remark in self.change().into_iter().chain(self.warning()) {
            writeln!(f, "{remark}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use zeitnot_engine::network::backends::{self, BackendConfig};

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
        args.plan(backend.facts()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn sizes_are_those_asked_for() {
        assert_eq!(plan("--batches 8,1,8").unwrap().sizes, [1, 8]);
        assert_eq!(
            plan("").unwrap().sizes.last(),
            Some(&100),
            "what the backend takes"
        );
        assert_eq!(
            plan("--max-batch-size 10").unwrap().sizes,
            [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
        );
        let range = plan("--start-batch-size 8 --max-batch-size 12 --batch-step 2").unwrap();
        assert_eq!(range.sizes, [8, 10, 12]);
        assert!(
            plan("--batches 128")
                .unwrap_err()
                .contains("simulated takes up to 100")
        );
        assert!(
            plan("--start-batch-size 9 --max-batch-size 8")
                .unwrap_err()
                .contains("above")
        );
        assert!(
            plan("--batches 1,2 --batch-step 2")
                .unwrap_err()
                .contains("one or the other")
        );
    }

    #[test]
    fn one_number_beside_a_range_counts_batches_as_in_lc0() {
        let plan = plan("--batches 100 --start-batch-size 8 --max-batch-size 8").unwrap();
        assert_eq!(
            (plan.sizes, plan.rounds, plan.round_length),
            (vec![8], 11, RoundLength::Batches(10))
        );
    }

    #[test]
    fn a_row_tells_the_middle_the_ends_and_the_spread() {
        let series = BatchSizeSeries {
            size: 4,
            first_ms: 9.0,
            nps: vec![3.0, 1.0, 8.0],
            cpu_nps: vec![5.0, 4.0, 6.0],
            batch_ms: (0..=100).map(f64::from).collect(),
        };
        let row = summarize(&series);
        assert_eq!(
            (row.mean_nps, row.median_nps, row.min_nps, row.max_nps),
            (4.0, 3.0, 1.0, 8.0)
        );
        assert_eq!(
            (row.p50_ms, row.p90_ms, row.p99_ms, row.batches),
            (50.0, 90.0, 99.0, 101)
        );
        assert!((row.deviation_nps - 13f64.sqrt()).abs() < 1e-12);
        assert_eq!(row.cpu_nps, Some(5.0));
    }
}
