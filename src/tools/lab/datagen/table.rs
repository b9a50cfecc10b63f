//! `zeitnot datagen table`: expands records to the tables that the trainer maps into memory.

use std::fs;
use std::path::PathBuf;

use clap::Args;

use super::DatagenSummary;
use super::files::{create, each_game, fault};
use crate::lab::training::table::TableWriter;
use crate::tools::Failure;

#[derive(Debug, Args)]
pub(super) struct TableArgs {
    /// Files of records, also compressed (.zst)
    #[arg(required = true, value_name = "RECORDS")]
    records: Vec<PathBuf>,
    /// The folder to write rows.bin and moves.bin to
    #[arg(long, short, value_name = "FOLDER")]
    out: PathBuf,
}

/// Runs the step.
pub(super) fn expand(args: &TableArgs) -> Result<DatagenSummary, Failure> {
    fs::create_dir_all(&args.out).map_err(|error| fault(&args.out, error.into()))?;
    let mut table =
        TableWriter::new(create(&args.out.join("rows.bin"))?, create(&args.out.join("moves.bin"))?);
    let mut summary = DatagenSummary::default();
    each_game(&args.records, |path, game| {
        table.write_game(&game).map_err(|error| fault(path, error))?;
        summary.count(&game);
        Ok(())
    })?;
    table.finish().map_err(|error| fault(&args.out, error))?;
    Ok(summary)
}
