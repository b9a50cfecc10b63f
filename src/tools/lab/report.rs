//! `zeitnot report`: puts the rows of several runs together, such as those of shards, and reports on all of
//! them.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{matches, movesleft, timelab};
use crate::tools::{ExitStatus, Failure, Output};
use zeitnot_lab::matches::MatchRowFiles;
use zeitnot_lab::moves_left::PositionRow;
use zeitnot_lab::rows::{Row, are_columns_of, columns_of_file};

#[derive(Clone, Debug, Args)]
pub(in crate::tools) struct ReportArgs {
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

struct RowKind {
    name: &'static str,
    columns: fn() -> Vec<Vec<String>>,
    /// The names of the files that it writes to the folder of --out.
    writes: &'static [&'static str],
    /// The flags that apply to its rows only.
    flags: &'static str,
    are_given: fn(&ReportArgs) -> bool,
    report: fn(&ReportArgs, &mut Output) -> Result<ExitStatus, Failure>,
}

const KINDS: [RowKind; 3] = [
    RowKind {
        name: "movesleft",
        columns: || vec![PositionRow::columns()],
        writes: &["movesleft.csv", "index.html"],
        flags: "--estimator and --fit",
        are_given: |args| args.estimators.are_given(),
        report: |args, output| movesleft::report(&args.files, &args.estimators, args.out.as_deref(), output),
    },
    RowKind {
        name: "timelab",
        columns: zeitnot_lab::replay::ReplayFiles::columns,
        writes: &["games.csv", "moves.csv", "index.html"],
        flags: "",
        are_given: |_| false,
        report: |args, output| timelab::report(&args.files, args.out.as_deref(), output),
    },
    RowKind {
        name: "match",
        columns: MatchRowFiles::columns,
        writes: &["games.csv", "moves.csv", "index.html"],
        flags: "--sprt",
        are_given: |args| args.results.sprt.is_some(),
        report: |args, output| matches::report(&args.files, &args.results, args.out.as_deref(), output),
    },
];

pub(super) fn run(args: &ReportArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let args =
        &ReportArgs { files: args.files.iter().flat_map(|path| files_of(path)).collect(), ..args.clone() };
    let mut found: Option<&RowKind> = None;
    for path in &args.files {
        let kind = kind_of(path)?;
        if found.is_some_and(|found| found.name != kind.name) {
            return Err(Failure::Input(format!(
                "{}: rows of {}, which have no report in common with those of the files before",
                path.display(),
                kind.name
            )));
        }
        found = Some(kind);
    }
    let Some(kind) = found else { return Err(Failure::Input("name files of rows".into())) };
    if let Some(other) = KINDS.iter().find(|other| other.name != kind.name && (other.are_given)(args)) {
        let text = format!("{}: for rows of {}; these are rows of {}", other.flags, other.name, kind.name);
        return Err(Failure::Input(text));
    }
    if let Some(folder) = &args.out {
        check_overwriting(&args.files, folder, kind.writes)?;
    }
    (kind.report)(args, output)
}

/// The files of rows in a folder. Any other path stands for itself, as does a folder without rows.
fn files_of(path: &Path) -> Vec<PathBuf> {
    let rows = ["games.csv", "moves.csv", "movesleft.csv"].map(|name| path.join(name));
    let rows: Vec<_> = rows.into_iter().filter(|file| file.exists()).collect();
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

fn kind_of(path: &Path) -> Result<&'static RowKind, Failure> {
    let columns = columns_of_file(path).map_err(|error| Failure::Input(error.to_string()))?;
    let holds = |kind: &&RowKind| (kind.columns)().iter().any(|own| are_columns_of(&columns, own));
    KINDS.iter().find(holds).ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        Failure::Input(format!(
            "{}: these are no rows of a command that can be reported on ({})",
            path.display(),
            names.join(", ")
        ))
    })
}
