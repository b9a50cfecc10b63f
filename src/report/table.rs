//! Tables: text on the terminal, `<table>` in a page.

use std::fmt;
use std::io;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, TableStyle, Width};

/// The space behind a column.
const PADDING: u16 = 2;

/// Side of a column's cells that lines up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// The left side, for words.
    Left,
    /// The right side, for numbers; give all numbers of a column the same decimals.
    Right,
}

/// A table of ready-made texts, with a caption that says what its numbers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub(super) caption: String,
    pub(super) columns: Vec<(String, Align)>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(caption: impl Into<String>, columns: &[(&str, Align)]) -> Table {
        let columns = columns.iter().map(|&(name, align)| (name.to_owned(), align)).collect();
        Table { caption: caption.into(), columns, rows: Vec::new() }
    }

    /// Returns an empty table with columns of words, then columns of numbers.
    pub fn of_columns(caption: impl Into<String>, words: &[&str], numbers: &[&str]) -> Table {
        let words = words.iter().map(|&name| (name, Align::Left));
        let columns: Vec<_> = words.chain(numbers.iter().map(|&name| (name, Align::Right))).collect();
        Table::new(caption, &columns)
    }

    /// Appends a row. Cells beyond the last column are left out, missing ones are empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) -> &mut Table {
        let mut cells: Vec<String> = cells.into_iter().take(self.columns.len()).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
        self
    }

    pub(crate) fn to_markdown(&self) -> String {
        let escaped = |cell: &String| cell.replace('|', "\\|");
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let rule = |align: &Align| if *align == Align::Right { "---:".into() } else { "---".into() };
        let names = line(self.columns.iter().map(|(name, _)| escaped(name)).collect());
        let rules = line(self.columns.iter().map(|(_, align)| rule(align)).collect());
        let rows: String = self.rows.iter().map(|row| line(row.iter().map(escaped).collect())).collect();
        format!("{}:\n\n{names}{rules}{rows}", self.caption)
    }
}

impl fmt::Display for Table {
    /// Writes the table for a terminal: the caption, the columns' names, a rule, the rows. Where stdout is a terminal, cells are
    /// wrapped so that the table fits its width.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0))
    }
}

impl Table {
    fn least_widths(&self) -> Vec<u16> {
        let longest = |text: &str| text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
        let of_column = |(index, (name, _)): (usize, &(String, Align))| {
            let cells = self.rows.iter().map(|row| longest(&row[index]));
            let width = cells.fold(longest(name), usize::max);
            u16::try_from(width).unwrap_or(u16::MAX).saturating_add(PADDING)
        };
        self.columns.iter().enumerate().map(of_column).collect()
    }

    /// Writes the table in at most `width` columns, or as wide as it is.
    fn write(&self, f: &mut impl fmt::Write, width: Option<u16>) -> fmt::Result {
        let mut text = comfy_table::Table::new();
        let style = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
        text.load_style(style).set_content_arrangement(ContentArrangement::Disabled);
        if let Some(width) = width {
            text.set_width(width).set_content_arrangement(ContentArrangement::Dynamic);
        }
        text.set_header(self.columns.iter().map(|(name, _)| name));
        for row in &self.rows {
            text.add_row(row);
        }
        for (column, (_, align)) in text.column_iter_mut().zip(&self.columns) {
            column.set_padding((0, PADDING));
            column.set_cell_alignment(match align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
        }
        let least = self.least_widths();
        // Words stay whole where there is room for that, and for the border between two columns.
        let total = least.iter().map(|width| usize::from(*width) + 1).sum::<usize>();
        if width.is_some_and(|width| total <= usize::from(width)) {
            for (column, &least) in text.column_iter_mut().zip(&least) {
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
            }
        }
        writeln!(f, "{}", self.caption)?;
        for line in text.lines() {
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new("Caption", &[("name", Align::Left), ("value", Align::Right)]);
        table.row(["a".into(), "1.0".into()]);
        table.row(["longer".into(), "123456.0".into()]);
        table.row(["short".into()]);
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Caption");
        assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["name", "value"]);
        let widths: Vec<_> = lines[3..5].iter().map(|line| line.chars().count()).collect();
        assert_eq!(widths[0], widths[1], "{text}");
        assert!(lines[5].starts_with("short"), "{text}");
    }

    #[test]
    fn markdown_lines_up_numbers_and_escapes_bars() {
        let mut table = Table::new("T", &[("a|b", Align::Left), ("n", Align::Right)]);
        table.row(["x".into(), "1".into()]);
        assert_eq!(table.to_markdown(), "T:\n\n| a\\|b | n |\n| --- | ---: |\n| x | 1 |\n");
    }

    /// A regression: lines wider than the terminal were broken by it, wherever its edge was.
    #[test]
    fn a_table_fits_the_terminal_and_loses_nothing() {
        let mut table = Table::new("Caption", &[("name", Align::Left), ("points given away", Align::Right)]);
        table.row(["some words that are wrapped".into(), "1.0".into()]);
        let write = |width| {
            let mut text = String::new();
            table.write(&mut text, width).unwrap();
            text
        };
        let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
        let (whole, narrow) = (write(None), write(Some(20)));
        let natural = widest(&whole);
        assert!(widest(&narrow) <= 20, "{narrow}");
        for word in ["some", "words", "that", "are", "wrapped", "points", "given", "away", "1.0"] {
            assert!(narrow.contains(word), "{word}: {narrow}");
        }
        assert_eq!(write(Some(natural as u16)), whole);
    }
}
