//! Shows the report of a benchmark as a page with a plot.

use std::fs;
use std::path::Path;

use super::document::{Document, SpeedBars};
use crate::report::{Bar, BarPlot, Page};
use crate::tools::Failure;

/// Returns the page as the text of one HTML file.
///
/// # Errors
/// Never fails in this build; a build without the laboratory has no page.
pub(super) fn html(document: &Document) -> Result<String, Failure> {
    Ok(page(document).to_html())
}

/// Writes `index.html` and `speed.svg` into `folder`.
///
/// # Errors
/// [`Failure::Output`] if a file cannot be written.
pub(super) fn write(document: &Document, folder: &Path) -> Result<(), Failure> {
    page(document).write(folder)?;
    Ok(fs::write(folder.join("speed.svg"), speeds(&document.speeds))?)
}

fn page(document: &Document) -> Page {
    let mut page = Page::new(document.title);
    for paragraph in &document.paragraphs {
        page = page.paragraph(paragraph);
    }
    if let Some(card) = &document.card {
        page = page.code(card);
    }
    let caption = "Nodes beyond evaluations came from the cache or were finished games.";
    let mut tables = document.tables.iter();
    if let Some(first) = tables.next() {
        page = page.table(first);
    }
    page = page.figure(&speeds(&document.speeds), caption);
    tables.fold(page, Page::table)
}

/// Returns the plot of nodes and evaluations per second, as SVG.
fn speeds(speeds: &SpeedBars) -> String {
    let names: Vec<&str> = speeds.names.iter().map(String::as_str).collect();
    let bars =
        |values: &[f64]| -> Vec<Bar> { values.iter().map(|&value| Bar { value, error: None }).collect() };
    BarPlot::new(speeds.title, "per second", &names)
        .series("nodes", &bars(&speeds.nodes))
        .series("evaluations", &bars(&speeds.evaluations))
        .to_svg()
}
