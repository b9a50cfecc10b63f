//! `zeitnot report`: puts the rows of several runs together, such as those of shards, and reports on all of
//! them.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{matches, movesleft, timelab};
use crate::commands::running::origin;
use crate::output::{ExitStatus, Failure, Output};
use zeitnot_lab::matches::MatchGameRow;
use zeitnot_lab::move_rows::MoveRow;
use zeitnot_lab::moves_left::PositionRow;
use zeitnot_lab::replay::ReplayGameRow;
use zeitnot_lab::rows::{RowReader, has_rows_of};
use zeitnot_lab::run::{Origin, Run, check_unused};

#[derive(Clone, Debug, Args)]
pub(crate) struct ReportArgs {
    /// The --out folders of runs of one command, or the files of rows (CSV) in them, in any order
    #[arg(required = true, value_name = "FOLDER")]
    files: Vec<PathBuf>,
    /// Write the report (index.html) and all rows (CSV) to this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Rows of movesleft")]
    estimators: movesleft::EstimatorArgs,
    #[command(flatten, next_help_heading = "Rows of match")]
    results: matches::ResultArgs,
}

/// What a report replaces.
const WRITTEN: [&str; 4] = ["games.csv", "moves.csv", "movesleft.csv", "index.html"];

/// The command that wrote rows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Writer {
    Movesleft,
    Timelab,
    Match,
}

impl Writer {
    fn name(self) -> &'static str {
        ["movesleft", "timelab", "match"][self as usize]
    }

    /// `None` for the rows of moves if there are none: they may belong to either.
    fn of(path: &Path) -> Result<Option<Writer>, Failure> {
        if has_rows_of::<MoveRow>(path)? {
            let first = RowReader::<MoveRow>::open(path)?.next().transpose()?;
            return Ok(first.map(|row| if row.is_of_match() { Writer::Match } else { Writer::Timelab }));
        }
        let kinds = [has_rows_of::<PositionRow>, has_rows_of::<ReplayGameRow>, has_rows_of::<MatchGameRow>];
        for (has_rows, writer) in kinds.into_iter().zip([Writer::Movesleft, Writer::Timelab, Writer::Match]) {
            if has_rows(path)? {
                return Ok(Some(writer));
            }
        }
        Err(Failure::Input(format!(
            "{}: these are no rows of a command that can be reported on (movesleft, timelab, match)",
            path.display(),
        )))
    }
}

pub(crate) fn run(args: &ReportArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    for path in args.files.iter().chain(&args.out) {
        check_unused(if path.is_dir() { path } else { path.parent().unwrap_or(path) })?;
        if path.join("games.csv").exists()
            && !path.join("moves.csv").exists()
            && args.out.as_ref() != Some(path)
        {
            let text = format!("{}: lacks moves.csv; bring it back, or name games.csv alone", path.display());
            return Err(Failure::Input(text));
        }
    }
    let files: Vec<_> = args.files.iter().flat_map(|path| files_of(path)).collect();
    let mut found = None;
    for path in &files {
        let Some(writer) = Writer::of(path)? else { continue };
        if *found.get_or_insert(writer) != writer {
            return Err(Failure::Input(format!(
                "{}: rows of {}, which have no report in common with those of the files before",
                path.display(),
                writer.name()
            )));
        }
    }
    let Some(writer) = found else {
        return Err(Failure::Input("no game is in these files: nothing to report".into()));
    };
    let flags = [
        ("--estimator", Writer::Movesleft, args.estimators.are_given()),
        ("--sprt", Writer::Match, args.results.sprt.is_some()),
    ];
    if let Some((flags, other, _)) =
        flags.into_iter().find(|&(_, other, is_given)| is_given && other != writer)
    {
        let text = format!("{flags}: for rows of {}; these are rows of {}", other.name(), writer.name());
        return Err(Failure::Input(text));
    }
    let out = args.out.as_deref();
    if let Some(folder) = out {
        check_overwriting(&files, folder, &WRITTEN)?;
    }
    let origin = Origin { run: format!("report on {}", writer.name()), ..origin::<&str>(&[]) };
    let _run = out.map(|folder| Run::claim(folder, origin, &WRITTEN)).transpose()?;
    match writer {
        Writer::Movesleft => movesleft::report(&files, &args.estimators, out, output),
        Writer::Timelab => timelab::report(&files, out, output),
        Writer::Match => matches::report(&files, &args.results, out, output),
    }
}

/// The files of rows in a folder. Any other path stands for itself, as does a folder without rows.
fn files_of(path: &Path) -> Vec<PathBuf> {
    let rows: Vec<_> = WRITTEN[..3].iter().map(|name| path.join(name)).filter(|file| file.exists()).collect();
    if rows.is_empty() { vec![path.to_owned()] } else { rows }
}

/// Refuses a folder in which a file that is `written` would replace one that is to be read.
pub(super) fn check_overwriting(files: &[PathBuf], folder: &Path, written: &[&str]) -> Result<(), Failure> {
    for name in written {
        // What is not there yet is no input.
        let Ok(written) = folder.join(name).canonicalize() else { continue };
        let is_written = |file: &&PathBuf| file.canonicalize().is_ok_and(|file| file == written);
        if let Some(file) = files.iter().find(is_written) {
            return Err(Failure::Input(format!(
                "--out {}: this would overwrite {}, which is to be read; name another folder",
                folder.display(),
                file.display()
            )));
        }
    }
    Ok(())
}
