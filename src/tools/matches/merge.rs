//! `zeitnot report` on rows of matches: puts shards together, and several matches side by side.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::journal::{RowFiles, row_fault};
use super::page::{self, Curves, Section};
use super::rows::{GameRow, MoveRow};
use super::summary::{Counts, Summary};
use crate::report::{Row, RowReader, columns_of_file};
use crate::tools::{Failure, Output, Verdict};

/// The rows of one match.
#[derive(Default)]
struct Match {
    /// By number, so that a game that is in two files counts once.
    games: BTreeMap<u64, GameRow>,
    curves: Curves,
}

/// All matches.
#[derive(Serialize)]
struct Answer {
    matches: Vec<Summary>,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [summary] = &self.matches[..] {
            return summary.fmt(f);
        }
        page::table(&self.matches).fmt(f)
    }
}

/// Matches by their id.
type Matches = BTreeMap<String, Match>;

/// Reports on files of [`GameRow`]s and [`MoveRow`]s, in any order.
///
/// # Errors
/// If a file cannot be read or the folder not written.
pub(in crate::tools) fn report(
    files: &[PathBuf],
    out: Option<&Path>,
    output: &mut Output,
) -> Result<Verdict, Failure> {
    let mut merged = out.map(RowFiles::create).transpose()?;
    let matches = read(files, |row| merged.as_mut().map_or(Ok(()), |merged| merged.write_move(row)))?;
    if let Some(mut merged) = merged {
        let mut games = matches.values().flat_map(|of_match| of_match.games.values());
        games.try_for_each(|row| merged.write_game(row))?;
        merged.finish()?;
    }
    let sections = sections(matches);
    if let Some(folder) = out {
        page::page(&sections).write(folder)?;
    }
    let answer = Answer { matches: sections.into_iter().map(|section| section.summary).collect() };
    output.write(&answer, &answer)?;
    Ok(Verdict::Yes)
}

/// Writes the page of the rows that lie in `folder`.
pub(super) fn write_page(folder: &Path) -> Result<(), Failure> {
    let files = ["games.csv", "moves.csv"].map(|name| folder.join(name));
    page::page(&sections(read(&files, |_| Ok(()))?)).write(folder)?;
    Ok(())
}

/// Reads all rows; `moved` gets those of moves.
fn read(
    files: &[PathBuf],
    mut moved: impl FnMut(&MoveRow) -> Result<(), Failure>,
) -> Result<Matches, Failure> {
    let mut matches = Matches::new();
    for path in files {
        if columns_of_file(path).map_err(row_fault)? == MoveRow::columns() {
            for row in RowReader::<MoveRow>::open(path).map_err(row_fault)? {
                let row = row.map_err(row_fault)?;
                moved(&row)?;
                matches.entry(row.match_id.clone()).or_default().curves.add(&row);
            }
        } else {
            for row in RowReader::<GameRow>::open(path).map_err(row_fault)? {
                let row = row.map_err(row_fault)?;
                matches.entry(row.match_id.clone()).or_default().games.insert(row.game, row);
            }
        }
    }
    Ok(matches)
}

/// Adds each match up.
fn sections(matches: Matches) -> Vec<Section> {
    let section = |Match { games, curves }: Match| {
        let first = games.values().next()?;
        let mut counts = Counts::default();
        games.values().for_each(|row| counts.add(row));
        let summary = Summary::new([&first.a, &first.b], &counts, None, None);
        Some(Section { summary, games: games.into_values().collect(), curves })
    };
    matches.into_values().filter_map(section).collect()
}
