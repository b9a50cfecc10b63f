//! The report: table, recommendation, and with `--out` figures and a page.

use std::fmt;
use std::path::Path;

use serde::Serialize;

use super::advice::{Cliff, GAMES, cliffs, recommended};
use super::page;
use super::summary::{BatchSizeRow, summarize};
use crate::network::BackendInfo;
use crate::network::throughput::{BatchSizeSeries, SortedSamples};
use crate::report::{Align, Table};
use crate::tools::Failure;
use crate::tools::output::pretty_json;

/// The relative deviation of the rounds' rates from which the report warns of noise.
const NOISY: f64 = 0.05;

/// All that was measured, and what follows from it.
#[derive(Debug, Serialize)]
pub(super) struct ThroughputReport {
    backend: String,
    description: String,
    threads: u32,
    pub(super) rows: Vec<BatchSizeRow>,
    #[serde(skip)]
    cliffs: Vec<Cliff>,
    recommended: Vec<Recommendation>,
}

#[derive(Debug, Serialize)]
struct Recommendation {
    game: &'static str,
    seconds_per_move: f64,
    batch: usize,
}

impl ThroughputReport {
    pub(super) fn new(info: &BackendInfo, threads: u32, series: &[BatchSizeSeries]) -> ThroughputReport {
        let mut rows: Vec<_> = series.iter().map(summarize).collect();
        let cliffs = cliffs(&rows);
        for cliff in &cliffs {
            for row in rows.iter_mut().filter(|row| row.batch == cliff.to) {
                row.cliff = Some(cliff.to_string());
            }
        }
        let recommended = GAMES.map(|(game, seconds)| {
            let batch = recommended(&rows, seconds, info.queues);
            for row in rows.iter_mut().filter(|row| row.batch == batch) {
                row.recommended_for.push(game);
            }
            Recommendation { game, seconds_per_move: seconds, batch }
        });
        let (backend, description) = (info.name.clone(), info.description.clone());
        ThroughputReport { backend, description, threads, rows, cliffs, recommended: recommended.into() }
    }

    /// Returns the part about the size to play with.
    pub(super) fn recommendation(&self) -> String {
        let mut text = String::from(
            "Recommended --minibatch-size (by the search's own rules, among the sizes measured):\n",
        );
        for Recommendation { game, seconds_per_move, batch } in &self.recommended {
            text += &format!("  {game:<7} {seconds_per_move:>4} s a move  {batch:>4}\n");
        }
        text
    }

    /// Returns remarks on the figures, one for each line.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<_> = self.cliffs.iter().map(|cliff| format!("Cliff: {cliff}.")).collect();
        if self.cliffs.is_empty() {
            remarks.push("No cliffs between these sizes.".into());
        }
        let deviations: Vec<_> =
            self.rows.iter().map(|row| row.deviation_nps / row.mean_nps.max(1e-9)).collect();
        let usual = SortedSamples::of(&deviations).percentile(50.0);
        if usual > NOISY {
            remarks.push(format!(
                "The machine was noisy: rates of one size differ by {:.0} % from round to round. Smaller differences between \
                 sizes mean nothing, nor does a recommendation that rests on them.",
                100.0 * usual
            ));
        }
        remarks
    }

    pub(super) fn title(&self) -> String {
        let threads = if self.threads == 1 { String::new() } else { format!(", {} threads", self.threads) };
        format!("{}: {}{threads}", self.backend, self.description)
    }

    pub(super) fn table(&self) -> Table {
        let caption = "Evaluations per second of all threads, and per second of CPU time; time of a batch on its thread, ms";
        let names = [
            "batch", "mean", "median", "min", "max", "± %", "/CPU s", "first ms", "mean ms", "p50", "p90",
            "p99",
        ];
        let mut table = Table::new(caption, &names.map(|name| (name, Align::Right)));
        for row in &self.rows {
            let deviation = 100.0 * row.deviation_nps / row.mean_nps.max(1e-9);
            let rates = [row.mean_nps, row.median_nps, row.min_nps, row.max_nps];
            let times = [row.first_ms, row.mean_ms, row.p50_ms, row.p90_ms, row.p99_ms];
            let cells = [row.batch.to_string()]
                .into_iter()
                .chain(rates.map(|rate| format!("{rate:.0}")))
                .chain([
                    format!("{deviation:.1}"),
                    row.cpu_nps.map_or("".into(), |rate| format!("{rate:.0}")),
                ])
                .chain(times.map(|ms| if ms < 0.1 { format!("{ms:.5}") } else { format!("{ms:.3}") }));
            table.row(cells);
        }
        table
    }

    /// Writes `backendbench.json` and, in a build with the laboratory, `throughput.svg`, `latency.svg` and `index.html` into `folder`,
    /// which is made if need be.
    pub(super) fn write_files(&self, folder: &Path) -> Result<(), Failure> {
        std::fs::create_dir_all(folder)?;
        page::write(self, folder)?;
        std::fs::write(folder.join("backendbench.json"), pretty_json(self)?)?;
        Ok(())
    }
}

impl fmt::Display for ThroughputReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title())?;
        write!(f, "{}", self.table())?;
        for line in self.remarks() {
            writeln!(f, "{line}")?;
        }
        write!(f, "{}", self.recommendation())
    }
}
