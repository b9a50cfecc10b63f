//! What the report of a benchmark says for people, in a form of which Markdown and the page are made.

use std::fs;
use std::path::Path;

use super::page;
use crate::report::{Align, Table};
use crate::tools::Failure;

/// A report for people. It is passed on, so that it names no folder.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) title: &'static str,
    /// The headline first: machine, network, speed.
    pub(super) paragraphs: Vec<String>,
    /// The [card](super::card), in one line.
    pub(super) card: Option<String>,
    pub(super) tables: Vec<Table>,
    #[cfg_attr(not(feature = "lab"), expect(dead_code, reason = "only the page has plots"))]
    pub(super) speeds: SpeedBars,
}

/// Speeds side by side.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "lab"), expect(dead_code, reason = "only the page has plots"))]
pub(super) struct SpeedBars {
    pub(super) title: &'static str,
    pub(super) names: Vec<String>,
    /// Nodes per second.
    pub(super) nodes: Vec<f64>,
    /// Evaluations per second.
    pub(super) evaluations: Vec<f64>,
}

impl Document {
    /// Returns the report as Markdown.
    pub(super) fn to_markdown(&self) -> String {
        let mut text = format!("# {}\n", self.title);
        for paragraph in &self.paragraphs {
            text += &format!("\n{paragraph}\n");
        }
        if let Some(card) = &self.card {
            text += &format!("\n`{card}`\n");
        }
        for table in &self.tables {
            text += &format!("\n{}", markdown(table));
        }
        text
    }

    /// Writes `report.md` and, in a build with the laboratory, `index.html` and `speed.svg` into `folder`.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        page::write(self, folder)?;
        Ok(fs::write(folder.join("report.md"), self.to_markdown())?)
    }
}

/// Returns `table` as Markdown.
fn markdown(table: &Table) -> String {
    let escaped = |cell: &str| cell.replace('|', "\\|");
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = format!("{}:\n\n", table.caption());
    text += &line(table.columns().iter().map(|(name, _)| escaped(name)).collect());
    let rule = |align: &Align| if *align == Align::Right { "---:" } else { "---" };
    text += &line(table.columns().iter().map(|(_, align)| rule(align).into()).collect());
    for row in table.rows() {
        text += &line(row.iter().map(|cell| escaped(cell)).collect());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_lines_up_numbers_and_escapes_bars() {
        let mut table = Table::new("T", &[("a|b", Align::Left), ("n", Align::Right)]);
        table.row(["x".into(), "1".into()]);
        assert_eq!(markdown(&table), "T:\n\n| a\\|b | n |\n| --- | ---: |\n| x | 1 |\n");
    }
}
