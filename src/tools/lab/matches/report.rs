//! `zeitnot report` on rows of matches: puts shards together, and several matches side by side.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::lab::matches::statistics::Sprt;
use crate::lab::matches::{self, MatchGameRow, MatchMoveRow, MatchStudy, MatchSummary, Ranking};
use crate::lab::rows::write_merged_rows;
use crate::tools::lab::game_args::argument_error;
use crate::tools::{ExitStatus, Failure, Output};

/// The arguments of `report` that are for rows of matches.
#[derive(Debug, Args)]
pub(in crate::tools::lab) struct ResultArgs {
    /// Show the state of this test in each match: elo0=0,elo1=5[,alpha=0.05][,beta=0.05][,model=normalized|logistic]
    #[arg(long, value_name = "LIST")]
    sprt: Option<String>,
}

impl ResultArgs {
    /// Says whether the user has given any of them.
    pub(in crate::tools::lab) fn are_given(&self) -> bool {
        self.sprt.is_some()
    }

    fn sprt(&self) -> Result<Option<Sprt>, Failure> {
        self.sprt.as_deref().map(Sprt::parse).transpose().map_err(|error| argument_error("sprt", error))
    }
}

/// The results of all matches. Its fields are the keys of the JSON document.
#[derive(Serialize)]
struct MatchesReport {
    matches: Vec<MatchSummary>,
    /// The ranking of three players or more, if all can be compared.
    ranking: Option<Ranking>,
}

impl fmt::Display for MatchesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [summary] = &self.matches[..] {
            return summary.fmt(f);
        }
        matches::table(&self.matches).fmt(f)?;
        let pruning = matches::pruning_table(&self.matches);
        let tables = self.ranking.iter().map(Ranking::table).chain(pruning);
        tables.into_iter().try_for_each(|table| write!(f, "\n{table}"))
    }
}

/// Reports on files of rows of games and of moves, in any order.
///
/// # Errors
/// [`Failure`] if a file cannot be read, a game is in two of them, the folder cannot be written, or the test makes no sense.
pub(in crate::tools::lab) fn report(
    files: &[PathBuf],
    args: &ResultArgs,
    out: Option<&Path>,
    output: &mut Output,
) -> Result<ExitStatus, Failure> {
    let sprt = args.sprt()?;
    let studies = MatchStudy::read(files, sprt.as_ref())?;
    if studies.is_empty() {
        return Err(Failure::Input("no game is in these files: nothing to report".into()));
    }
    if let Some(folder) = out {
        write_merged_rows::<MatchGameRow, MatchMoveRow>(files, folder)?;
    }
    let ranking = MatchStudy::ranking(&studies);
    if let Some(folder) = out {
        matches::page(&studies, ranking.as_ref()).write(folder)?;
    }
    let matches = studies.into_iter().map(|study| study.summary).collect();
    let report = MatchesReport { matches, ranking };
    output.write(&report, &report)?;
    Ok(ExitStatus::Success)
}

/// Writes the page of the rows that lie in `folder`.
///
/// # Errors
/// [`Failure`] if the rows cannot be read or the page not be written.
pub(super) fn write_page(folder: &Path, sprt: Option<&Sprt>) -> Result<(), Failure> {
    let files = ["games.csv", "moves.csv"].map(|name| folder.join(name));
    matches::page(&MatchStudy::read(&files, sprt)?, None).write(folder)?;
    Ok(())
}
