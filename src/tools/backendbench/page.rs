//! The report as a page with plots of throughput and latency.

use std::fs;
use std::path::Path;

use super::report::ThroughputReport;
use super::summary::BatchSizeRow;
use crate::report::{Page, Plot};
use crate::tools::Failure;

/// Writes `throughput.svg`, `latency.svg` and `index.html` into `folder`.
///
/// # Errors
/// [`Failure::Output`] if a file cannot be written.
pub(super) fn write(report: &ThroughputReport, folder: &Path) -> Result<(), Failure> {
    let (throughput, latency) = (throughput(report), latency(report));
    let mut page = Page::new("Backend speed by batch size").paragraph(&report.title());
    for line in report.remarks() {
        page = page.paragraph(&line);
    }
    page.figure(&throughput, "The band reaches from the slowest round to the fastest.")
        .figure(&latency, "As one thread sees it.")
        .code(&report.recommendation())
        .table(&report.table())
        .write(folder)?;
    fs::write(folder.join("throughput.svg"), throughput)?;
    Ok(fs::write(folder.join("latency.svg"), latency)?)
}

/// Returns the points of a curve over the batch size.
fn points(report: &ThroughputReport, value: fn(&BatchSizeRow) -> f64) -> Vec<(f64, f64)> {
    report.rows.iter().map(|row| (row.batch as f64, value(row))).collect()
}

fn throughput(report: &ThroughputReport) -> String {
    let band: Vec<_> = report.rows.iter().map(|row| (row.batch as f64, row.min_nps, row.max_nps)).collect();
    let median = points(report, |row| row.median_nps);
    let marked = report.rows.iter().filter(|row| !row.recommended_for.is_empty());
    let marked: Vec<_> = marked.map(|row| (row.batch as f64, row.median_nps)).collect();
    Plot::new("Throughput by batch size", "batch size, positions", "evaluations per second")
        .band("median", &band)
        .line("median", &median)
        .scatter("recommended", &marked)
        .log_x()
        .y_from(0.0)
        .to_svg()
}

fn latency(report: &ThroughputReport) -> String {
    Plot::new("Time of a batch", "batch size, positions", "time of a batch, ms")
        .line("median", &points(report, |row| row.p50_ms))
        .line("99 of 100 are faster", &points(report, |row| row.p99_ms))
        .line("first batch", &points(report, |row| row.first_ms))
        .log_x()
        .log_y()
        .to_svg()
}
