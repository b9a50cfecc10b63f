//! `zeitnot report`: puts the rows of several runs together, such as those of shards.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::run::origins;
use super::{matches, movesleft, timelab};
use crate::commands::running::origin;
use crate::output::{ExitStatus, Output};
use zeitnot_engine::options::option_choice;
use zeitnot_lab::matches::MatchGameRow;
use zeitnot_lab::move_rows::MoveRow;
use zeitnot_lab::moves_left::PositionRow;
use zeitnot_lab::replay::ReplayGameRow;
use zeitnot_lab::rows::{RowReader, has_rows_of};
use zeitnot_lab::run::{Origin, Run, check_unused};

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The --out folders of runs of one command, or the files of rows (CSV) in them, in any order
    #[arg(required = true, value_name = "FOLDER")]
    files: Vec<PathBuf>,
    /// Write the report (index.html) and all rows (CSV) to this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Rows of movesleft")]
    estimators: movesleft::EstimatorArgs,
    /// Show the state of this test in each match:
    /// elo0=0,elo1=5[,alpha=0.05][,beta=0.05][,model=normalized|logistic]
    #[arg(long, value_name = "LIST", help_heading = "Rows of match")]
    sprt: Option<String>,
}

/// What a report replaces.
const WRITTEN: [&str; 4] = ["games.csv", "moves.csv", "movesleft.csv", "index.html"];

option_choice! {
    /// The command that wrote rows.
    enum Writer {
        Movesleft = "movesleft",
        Timelab = "timelab",
        Match = "match",
    }
}

impl Writer {
    /// `None` for the rows of moves if there are none: they may belong to either.
    fn of(path: &Path) -> Result<Option<Writer>> {
        if has_rows_of::<MoveRow>(path)? {
            let first = RowReader::<MoveRow>::open(path)?.next().transpose()?;
            return Ok(first.map(|row| match &*row.match_id {
                "" => Writer::Timelab,
                _ => Writer::Match,
            }));
        }
        if has_rows_of::<PositionRow>(path)? {
            Ok(Some(Writer::Movesleft))
        } else if has_rows_of::<ReplayGameRow>(path)? {
            Ok(Some(Writer::Timelab))
        } else if has_rows_of::<MatchGameRow>(path)? {
            Ok(Some(Writer::Match))
        } else {
            let path = path.display();
            bail!(
                "{path}: these are no rows of a command that can be reported on (movesleft, timelab, match)"
            )
        }
    }
}

pub(crate) fn run(args: &ReportArgs, output: &mut Output) -> Result<ExitStatus> {
    for path in args.files.iter().chain(&args.out) {
        check_unused(if path.is_dir() {
            path
        } else {
            path.parent().unwrap_or(path)
        })?;
        let [has_games, has_moves] = ["games.csv", "moves.csv"].map(|name| path.join(name).exists());
        ensure!(
            !has_games || has_moves || args.out.as_ref() == Some(path),
            "{}: lacks moves.csv; bring it back, or name games.csv alone",
            path.display()
        );
    }
    let files: Vec<_> = args.files.iter().flat_map(|path| files_of(path)).collect();
    let mut found = None;
    for path in &files {
        let Some(writer) = Writer::of(path)? else { continue };
        ensure!(
            *found.get_or_insert(writer) == writer,
            "{}: rows of {writer}, which have no report in common with those of the files before",
            path.display()
        );
    }
    let writer = found.context("no game is in these files: nothing to report")?;
    for (flag, other, is_given) in [
        (
            "--estimator",
            Writer::Movesleft,
            !args.estimators.estimator.is_empty(),
        ),
        ("--sprt", Writer::Match, args.sprt.is_some()),
    ] {
        ensure!(
            !is_given || other == writer,
            "{flag}: for rows of {other}; these are rows of {writer}"
        );
    }
    let out = args.out.as_deref();
    if let Some(folder) = out {
        check_overwriting(&files, folder, &WRITTEN)?;
    }
    let origin = Origin {
        run: format!("report on {writer}"),
        ..origin::<&str>(&[])
    };
    let _run = out
        .map(|folder| Run::claim(folder, origin, &WRITTEN))
        .transpose()?;
    output.tell_origins(origins(&files));
    match writer {
        Writer::Movesleft => movesleft::report(&files, &args.estimators, out, output),
        Writer::Timelab => timelab::report(&files, out, output),
        Writer::Match => matches::report(&files, args.sprt.as_deref(), out, output),
    }
}

/// The files of rows in a folder. Any other path stands for itself, as does a folder without rows.
fn files_of(path: &Path) -> Vec<PathBuf> {
    let rows: Vec<_> = WRITTEN[..3]
        .iter()
        .map(|name| path.join(name))
        .filter(|file| file.exists())
        .collect();
    if rows.is_empty() {
        vec![path.to_owned()]
    } else {
        rows
    }
}

/// Refuses a folder in which a file that is `written` would replace one that is to be read.
pub(super) fn check_overwriting(files: &[PathBuf], folder: &Path, written: &[&str]) -> Result<()> {
    for name in written {
        // What is not there yet is no input.
        let Ok(written) = folder.join(name).canonicalize() else {
            continue;
        };
        let is_written = |file: &&PathBuf| file.canonicalize().is_ok_and(|file| file == written);
        if let Some(file) = files.iter().find(is_written) {
            let folder = folder.display();
            let file = file.display();
            bail!("--out {folder}: this would overwrite {file}, which is to be read; name another folder");
        }
    }
    Ok(())
}
