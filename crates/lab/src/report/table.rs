//! Tables: text on the terminal, `<table>` in a page.

use std::{fmt, io};

use itertools::Itertools;

const GAP: usize = 2;
/// A word is broken behind punctuation only if it is longer, characters.
const LONG_WORD: usize = 24;
/// The least room of a text beside its name, characters.
const LEAST_ROOM: usize = 20;

#[derive(Debug)]
pub struct Table {
    pub(super) caption: String,
    /// Each with its name, and whether its cells are numbers.
    pub(super) columns: Vec<(String, bool)>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    pub fn of<T>(caption: impl Into<String>, rows: impl IntoIterator<Item = T>) -> TableOf<T> {
        let rows: Vec<T> = rows.into_iter().collect();
        let table = Table {
            caption: caption.into(),
            columns: Vec::new(),
            rows: vec![Vec::new(); rows.len()],
        };
        TableOf { rows, table }
    }
}

/// A table in the making, whose columns say what their cells show of the rows.
pub struct TableOf<T> {
    rows: Vec<T>,
    table: Table,
}

impl<T> TableOf<T> {
    pub fn words<W: ToString>(self, name: &str, text: impl Fn(&T) -> W) -> TableOf<T> {
        self.column(name, false, text)
    }

    /// Give all numbers of a column the same decimals.
    pub fn numbers<N: ToString>(self, name: &str, text: impl Fn(&T) -> N) -> TableOf<T> {
        self.column(name, true, text)
    }

    fn column<W: ToString>(mut self, name: &str, has_numbers: bool, text: impl Fn(&T) -> W) -> TableOf<T> {
        self.table.columns.push((name.to_owned(), has_numbers));
        for (row, cells) in self.rows.iter().zip(&mut self.table.rows) {
            cells.push(text(row).to_string());
        }
        self
    }

    pub fn table(self) -> Table {
        self.table
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, terminal_width())
    }
}

/// The width of the terminal, characters, or `None` where stdout is none.
pub fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into())
}

/// Writes `name` and, from the column `indent` on, `value`. On a terminal lines break between words.
pub fn write_fact(f: &mut impl fmt::Write, name: &str, indent: usize, value: &str) -> fmt::Result {
    write_fact_in(f, name, indent, value, terminal_width())
}

pub fn write_fact_in(
    f: &mut impl fmt::Write,
    name: &str,
    indent: usize,
    value: &str,
    width: Option<usize>,
) -> fmt::Result {
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(indent).max(LEAST_ROOM));
    let mut name = name;
    for line in wrapped(value, room) {
        writeln!(f, "{}", format!("{name:<indent$}{line}").trim_end())?;
        name = "";
    }
    Ok(())
}

impl Table {
    /// Writes the table in at most `width` characters, if it is given. No number and no word is broken. Where
    /// the columns have no room beside each other, each row becomes a block.
    pub fn write(&self, f: &mut impl fmt::Write, width: Option<usize>) -> fmt::Result {
        write_fact_in(f, "", 0, &self.caption, width)?;
        let gaps = GAP * self.columns.len().saturating_sub(1);
        let least = self.widths(longest_piece).sum::<usize>() + gaps;
        let Some(mut room) = width.unwrap_or(usize::MAX).checked_sub(least) else {
            return self.write_blocks(f, width);
        };
        let widths = self.widths(longest_piece).zip(self.widths(length));
        let widths = widths.map(|(least, whole)| {
            let more = (whole - least).min(room);
            room -= more;
            least + more
        });
        let widths: Vec<usize> = widths.collect();
        let names: Vec<_> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        self.write_row(f, &names, &widths)?;
        writeln!(f, "{}", "─".repeat(widths.iter().sum::<usize>() + gaps))?;
        for row in &self.rows {
            self.write_row(f, row, &widths)?;
        }
        Ok(())
    }

    /// Of each column the largest that `measure` says of its texts. Numbers are never broken.
    fn widths(&self, measure: fn(&str) -> usize) -> impl Iterator<Item = usize> {
        let columns = self.columns.iter().enumerate();
        columns.map(move |(column, (name, has_numbers))| {
            let of_cell = if *has_numbers { length } else { measure };
            let cells = self.rows.iter().map(|row| of_cell(&row[column]));
            cells.fold(measure(name), usize::max)
        })
    }

    fn write_row(&self, f: &mut impl fmt::Write, cells: &[String], widths: &[usize]) -> fmt::Result {
        let cells = cells.iter().zip(widths);
        let cells: Vec<_> = cells.map(|(cell, &width)| wrapped(cell, width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for index in 0..height {
            let cells = cells.iter().zip(widths).zip(&self.columns);
            let mut parts = cells.map(|((cell, &width), (_, has_numbers))| {
                let part = cell.get(index).map_or("", String::as_str);
                if *has_numbers {
                    format!("{part:>width$}")
                } else {
                    format!("{part:<width$}")
                }
            });
            writeln!(f, "{}", parts.join(&" ".repeat(GAP)).trim_end())?;
        }
        Ok(())
    }

    fn write_blocks(&self, f: &mut impl fmt::Write, width: Option<usize>) -> fmt::Result {
        let names = self.columns.iter().map(|(name, _)| length(name));
        let indent = GAP + names.max().unwrap_or(0);
        for row in &self.rows {
            writeln!(f)?;
            for ((name, _), cell) in self.columns.iter().zip(row) {
                write_fact_in(f, name, indent, cell, width)?;
            }
        }
        Ok(())
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn longest_piece(text: &str) -> usize {
    pieces(text).map(|(_, piece)| length(piece)).max().unwrap_or(0)
}

/// The parts of a text that stay whole, and whether a blank stands before each: words, and parts of long
/// words that end in punctuation.
fn pieces(text: &str) -> impl Iterator<Item = (bool, &str)> {
    text.split(' ').flat_map(|word| {
        let mut places = vec![0];
        if length(word) > LONG_WORD {
            for ((_, char), (place, next)) in word.char_indices().tuple_windows() {
                if ",;(/=&".contains(char) && !next.is_ascii_digit() {
                    places.push(place);
                }
            }
        }
        places.push(word.len());
        let pieces = places.into_iter().tuple_windows();
        pieces.map(move |(begin, end)| (begin == 0, &word[begin..end]))
    })
}

/// What stays whole may be longer than `room`.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (begins_word, piece) in pieces(text) {
        // Invariant: there is a first line.
        let line = lines.last_mut().expect("a line");
        let is_fresh = line.is_empty();
        let blank = usize::from(begins_word && !is_fresh);
        if !is_fresh && length(line) + blank + length(piece) > room {
            lines.push(piece.into());
        } else {
            line.push_str(&" "[..blank]);
            line.push_str(piece);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [("a", "1.0"), ("longer", "123456.0"), ("short", "")];
        let table = Table::of("Caption", rows)
            .words("name", |row| row.0)
            .numbers("value", |row| row.1)
            .table();
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Caption");
        assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["name", "value"]);
        let widths: Vec<_> = lines[3..5].iter().map(|line| line.chars().count()).collect();
        assert_eq!(widths[0], widths[1], "{text}");
        assert!(lines[5].starts_with("short"), "{text}");
    }

    fn written(table: &Table, width: Option<usize>) -> String {
        let mut text = String::new();
        table.write(&mut text, width).unwrap();
        text
    }

    fn widest(text: &str) -> usize {
        text.lines().map(length).max().unwrap()
    }

    /// A regression: at 80 columns 17571 was printed as 1757 over 1, and as wide a table as that of several
    /// backends always was.
    #[test]
    fn a_table_fits_the_terminal_and_breaks_no_number() {
        let names = [
            "nps",
            "evals/s",
            "mean batch",
            "busy %",
            "ready s",
            "first ms",
            "W",
            "nodes/J",
            "± %",
            "insta-moves",
        ];
        let number = |row: usize, column: usize| format!("{}.{column}", 17_571 * (row + 1) + column);
        let manager = "smooth(mle-pieces,move-weight=stakes,init-tree-reuse=0.2,init-timeuse=1)";
        let table = Table::of("Caption", 0..3).words("time manager", |_| manager);
        let columns = names.iter().enumerate();
        let table = columns
            .fold(table, |table, (column, name)| {
                table.numbers(name, |&row| number(row, column))
            })
            .table();
        let natural = widest(&written(&table, None));
        assert_eq!(written(&table, Some(natural)), written(&table, None));
        for width in [40, 60, 80, 120] {
            let text = written(&table, Some(width));
            assert!(widest(&text) <= width, "{width}: {text}");
            for row in 0..3 {
                for column in 0..names.len() {
                    let whole = text.split_whitespace().any(|word| word == number(row, column));
                    assert!(whole, "{}, {width}: {text}", number(row, column));
                }
            }
            for name in names.iter().flat_map(|name| name.split(' ')) {
                assert!(
                    text.split_whitespace().any(|word| word == name),
                    "{name}, {width}: {text}"
                );
            }
        }
    }

    #[test]
    fn texts_are_broken_between_words_and_behind_the_punctuation_of_long_ones() {
        assert_eq!(wrapped("some words here", 10), ["some words", "here"]);
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(
            wrapped("12345678901234567890,12345678901", 5),
            ["12345678901234567890,12345678901"]
        );
        assert_eq!(
            wrapped("smooth(mle-pieces,move-weight=x)", 18),
            ["smooth(mle-pieces,", "move-weight=x)"]
        );
        let mut text = String::new();
        write_fact_in(&mut text, "name", 6, "a value that is long, in words", Some(26)).unwrap();
        assert_eq!(text, "name  a value that is\n      long, in words\n");
    }
}
