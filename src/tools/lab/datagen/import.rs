//! `zeitnot datagen import`: turns other people's games into records.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::DatagenSummary;
use super::files::{create, fault, open, read};
use crate::lab::training::game::LabelledGame;
use crate::lab::training::record::RecordWriter;
use crate::lab::training::{pgn, teacher};
use crate::tools::Failure;
use crate::tools::output::eprint_message;

#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// PGN of tournament games with evaluations in comments, also compressed (.zst)
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pgn: Vec<PathBuf>,
    /// Games by a teacher with several variations per position, also compressed (.zst)
    #[arg(long, num_args = 1.., value_name = "FILE")]
    teacher: Vec<PathBuf>,
    /// The file of records to write; compressed if it ends in .zst
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
}

/// Runs the step.
pub(super) fn import(args: &ImportArgs) -> Result<DatagenSummary, Failure> {
    if args.pgn.is_empty() && args.teacher.is_empty() {
        return Err(Failure::Input("nothing to import: name files with --pgn or --teacher".into()));
    }
    // Under another name until it is whole: what fails leaves nothing behind, and an old file as it was.
    let is_ordinary = args.out.is_file() || !args.out.exists();
    let unfinished = match args.out.file_name().filter(|_| is_ordinary) {
        Some(name) => args.out.with_file_name(format!("unfinished-{}", name.to_string_lossy())),
        None => args.out.clone(),
    };
    let imported = import_into(args, &unfinished);
    if unfinished != args.out {
        let done = match &imported {
            Ok(_) => fs::rename(&unfinished, &args.out),
            Err(_) if unfinished.exists() => fs::remove_file(&unfinished),
            Err(_) => Ok(()),
        };
        done.map_err(|error| fault(&args.out, error.into()))?;
    }
    imported
}

fn import_into(args: &ImportArgs, out: &Path) -> Result<DatagenSummary, Failure> {
    let mut records = RecordWriter::new(create(out)?).map_err(|error| fault(out, error))?;
    let mut summary = DatagenSummary::default();
    let mut keep = |games: &[LabelledGame]| -> Result<(), Failure> {
        for game in games {
            records.write(game).map_err(|error| fault(out, error))?;
            summary.count(game);
        }
        Ok(())
    };
    let mut skipped = 0;
    for path in &args.pgn {
        let import = pgn::read_games(open(path)?).map_err(|error| fault(path, error))?;
        import.skipped.iter().for_each(|text| eprint_message(format_args!("{}: {text}", path.display())));
        skipped += import.skipped.len();
        keep(&import.games)?;
    }
    for path in &args.teacher {
        let games = teacher::read_games(&read(path)?).map_err(|error| fault(path, error))?;
        keep(&games)?;
    }
    summary.skipped = skipped;
    records.into_inner().flush().map_err(|error| fault(out, error.into()))?;
    Ok(summary)
}
