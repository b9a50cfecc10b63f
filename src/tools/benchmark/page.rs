//! Shows the report of a benchmark as a page with a plot.

use std::fs;
use std::path::Path;

use super::report::{BenchmarkReport, PositionResult};
use crate::report::{Bar, BarPlot, Page};
use crate::tools::Failure;

/// Returns the page as the text of one HTML file.
///
/// # Errors
/// Never fails in this build; a build without the laboratory has no page.
pub(super) fn html(report: &BenchmarkReport) -> Result<String, Failure> {
    Ok(page(report).to_html())
}

/// Writes `index.html` and `speed.svg` into `folder`.
///
/// # Errors
/// [`Failure::Output`] if a file cannot be written.
pub(super) fn write(report: &BenchmarkReport, folder: &Path) -> Result<(), Failure> {
    page(report).write(folder)?;
    Ok(fs::write(folder.join("speed.svg"), speeds(report))?)
}

fn page(report: &BenchmarkReport) -> Page {
    let mut page = Page::new("Zeitnot benchmark");
    for remark in report.remarks() {
        page = page.paragraph(&remark);
    }
    page.table(&report.fact_table())
        .figure(&speeds(report), "Nodes beyond evaluations came from the cache or were finished games.")
        .table(&report.position_table())
}

/// Returns the plot of nodes and evaluations per second by position, as SVG.
fn speeds(report: &BenchmarkReport) -> String {
    let names: Vec<_> = (1..=report.positions.len()).map(|number| number.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let bar = |value: f64| Bar { value, error: None };
    let rate = |count: u64, row: &PositionResult| count as f64 / (row.search.figures.time_ms / 1e3).max(1e-9);
    let rows = &report.positions;
    let nodes: Vec<_> = rows.iter().map(|row| bar(rate(row.search.figures.nodes, row))).collect();
    let evaluations: Vec<_> = rows.iter().map(|row| bar(rate(row.search.figures.evaluations, row))).collect();
    BarPlot::new("Speed by position", "per second", &names)
        .series("nodes", &nodes)
        .series("evaluations", &evaluations)
        .to_svg()
}
