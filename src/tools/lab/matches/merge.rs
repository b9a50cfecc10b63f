//! `zeitnot report` on rows of matches: puts shards together, and several matches side by side.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::args::fault;
use super::journal::{row_fault, write_rows};
use super::page::{self, Curves, MatchSection};
use super::ranking::Ranking;
use super::rows::{MatchGameRow, MatchMoveRow};
use super::summary::{MatchCounts, MatchSummary};
use crate::lab::matches::statistics::Sprt;
use crate::lab::rows::{MergedGames, files_of};
use crate::tools::{ExitStatus, Failure, Output};

/// How results of matches are looked at.
#[derive(Debug, Args)]
pub(in crate::tools) struct ResultArgs {
    /// Where this test stands in each match: elo0=0,elo1=5[,alpha=0.05][,beta=0.05][,model=normalized|logistic]
    #[arg(long, value_name = "LIST")]
    sprt: Option<String>,
}

impl ResultArgs {
    /// Has the user asked for any of it?
    pub(in crate::tools) fn are_given(&self) -> bool {
        self.sprt.is_some()
    }

    fn sprt(&self) -> Result<Option<Sprt>, Failure> {
        self.sprt.as_deref().map(Sprt::parse).transpose().map_err(|error| fault("sprt", error))
    }
}

/// The rows of one match.
#[derive(Default)]
struct MatchRows {
    /// In the order of their numbers.
    games: Vec<MatchGameRow>,
    curves: Curves,
}

/// All matches.
#[derive(Serialize)]
struct MatchesReport {
    matches: Vec<MatchSummary>,
    /// Of three players and more, if their matches hang together.
    ranking: Option<Ranking>,
}

impl fmt::Display for MatchesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [summary] = &self.matches[..] {
            return summary.fmt(f);
        }
        page::table(&self.matches).fmt(f)?;
        self.ranking.iter().try_for_each(|ranking| write!(f, "\n{}", ranking.table()))
    }
}

/// Matches by their id.
type Matches = BTreeMap<String, MatchRows>;

/// Reports on files of [`MatchGameRow`]s and [`MatchMoveRow`]s, in any order.
///
/// # Errors
/// If a file cannot be read, a game is in two of them, the folder cannot be written, or the test makes no sense.
pub(in crate::tools) fn report(
    files: &[PathBuf],
    args: &ResultArgs,
    out: Option<&Path>,
    output: &mut Output,
) -> Result<ExitStatus, Failure> {
    let sprt = args.sprt()?;
    let matches = read(files)?;
    if matches.values().all(|of_match| of_match.games.is_empty()) {
        return Err(Failure::Input("no game is in these files: nothing to report".into()));
    }
    if let Some(folder) = out {
        write_rows(files, folder)?;
    }
    let sections = sections(matches, sprt.as_ref());
    let ranking = ranking(&sections);
    if let Some(folder) = out {
        page::page(&sections, ranking.as_ref()).write(folder)?;
    }
    let matches = sections.into_iter().map(|section| section.summary).collect();
    let answer = MatchesReport { matches, ranking };
    output.write(&answer, &answer)?;
    Ok(ExitStatus::Success)
}

/// Writes the page of the rows that lie in `folder`.
pub(super) fn write_page(folder: &Path, sprt: Option<&Sprt>) -> Result<(), Failure> {
    let files = ["games.csv", "moves.csv"].map(|name| folder.join(name));
    page::page(&sections(read(&files)?, sprt), None).write(folder)?;
    Ok(())
}

fn ranking(sections: &[MatchSection]) -> Option<Ranking> {
    Ranking::of(sections.iter().map(|section| &section.games[..]))
}

/// Reads all rows.
fn read(files: &[PathBuf]) -> Result<Matches, Failure> {
    let mut matches = Matches::new();
    for game in MergedGames::<MatchGameRow>::open(&files_of::<MatchGameRow>(files).map_err(row_fault)?)
        .map_err(row_fault)?
    {
        for row in game.map_err(row_fault)? {
            matches.entry(row.match_id.clone()).or_default().games.push(row);
        }
    }
    for game in MergedGames::<MatchMoveRow>::open(&files_of::<MatchMoveRow>(files).map_err(row_fault)?)
        .map_err(row_fault)?
    {
        for row in game.map_err(row_fault)? {
            matches.entry(row.match_id.clone()).or_default().curves.add(&row);
        }
    }
    Ok(matches)
}

/// Adds each match up.
fn sections(matches: Matches, sprt: Option<&Sprt>) -> Vec<MatchSection> {
    let section = |MatchRows { games, curves }: MatchRows| {
        let first = games.first()?;
        let mut counts = MatchCounts::default();
        games.iter().for_each(|row| counts.add(row));
        let summary = MatchSummary::new([&first.a, &first.b], &counts, sprt, None);
        Some(MatchSection { summary, games, curves })
    };
    matches.into_values().filter_map(section).collect()
}
