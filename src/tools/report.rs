//! `zeitnot report`: puts the rows of several runs together, such as those of shards, and reports on all of them.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{Failure, Output, Verdict, matches, movesleft, timelab};
use crate::report::columns_of_file;

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// Files of rows (CSV) that runs of one command wrote to their --out folders, in any order
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write the report (index.html) and all rows (CSV and Parquet) to this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Rows of movesleft")]
    estimators: movesleft::EstimatorArgs,
    #[command(flatten, next_help_heading = "Rows of match")]
    results: matches::ResultArgs,
}

/// What a command makes of its files.
type Report = fn(&ReportArgs, &mut Output) -> Result<Verdict, Failure>;

/// A command that writes rows.
struct Kind {
    name: &'static str,
    /// The columns of each of its files.
    columns: fn() -> Vec<Vec<String>>,
    report: Report,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "movesleft",
        columns: movesleft::columns,
        report: |args, output| movesleft::report(&args.files, &args.estimators, args.out.as_deref(), output),
    },
    Kind {
        name: "timelab",
        columns: timelab::columns,
        report: |args, output| timelab::report(&args.files, args.out.as_deref(), output),
    },
    Kind {
        name: "match",
        columns: matches::columns,
        report: |args, output| matches::report(&args.files, &args.results, args.out.as_deref(), output),
    },
];

/// Runs the command.
pub(super) fn run(args: &ReportArgs, output: &mut Output) -> Result<Verdict, Failure> {
    let mut found: Option<&Kind> = None;
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
    match found {
        Some(kind) => (kind.report)(args, output),
        None => Err(Failure::Input("name files of rows".into())),
    }
}

fn kind_of(path: &Path) -> Result<&'static Kind, Failure> {
    let columns = columns_of_file(path).map_err(|error| Failure::Input(error.to_string()))?;
    KINDS.iter().find(|kind| (kind.columns)().contains(&columns)).ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        Failure::Input(format!(
            "{}: these are no rows of a command that can be reported on ({})",
            path.display(),
            names.join(", ")
        ))
    })
}
