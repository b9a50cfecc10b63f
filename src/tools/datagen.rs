//! `zeitnot datagen`: makes training data: imports labelled games, and expands them to the trainer's tables.

use std::fmt;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;

use super::{Failure, Output, Verdict};
use crate::training::game::Game;
use crate::training::record::{RecordReader, RecordWriter};
use crate::training::table::TableWriter;
use crate::training::{TrainingDataError, pgn, teacher};

/// Of `.zst` files; higher gains a few percent and takes minutes.
const COMPRESSION_LEVEL: i32 = 9;

#[derive(Debug, Args)]
pub(super) struct DatagenArgs {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Read labelled games and write them as records, at most 12 bytes per position
    Import(ImportArgs),
    /// Expand records to tables, one row per position, for models/training/train.py
    Table(TableArgs),
}

#[derive(Debug, Args)]
struct ImportArgs {
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

#[derive(Debug, Args)]
struct TableArgs {
    /// Files of records, also compressed (.zst)
    #[arg(required = true, value_name = "RECORDS")]
    records: Vec<PathBuf>,
    /// The folder to write rows.bin and moves.bin to
    #[arg(long, short, value_name = "FOLDER")]
    out: PathBuf,
}

#[derive(Debug, Default, Serialize)]
struct Summary {
    games: usize,
    skipped: usize,
    positions: usize,
    held_out_positions: usize,
}

impl Summary {
    fn count(&mut self, game: &Game) {
        self.games += 1;
        self.positions += game.plies.len();
        self.held_out_positions += if game.held_out { game.plies.len() } else { 0 };
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { games, skipped, positions, held_out_positions } = self;
        writeln!(
            f,
            "{games} games ({skipped} skipped), {positions} positions, {held_out_positions} of them held out"
        )
    }
}

/// Runs the command.
pub(super) fn run(args: &DatagenArgs, output: &mut Output) -> Result<Verdict, Failure> {
    let summary = match &args.step {
        Step::Import(args) => import(args)?,
        Step::Table(args) => expand(args)?,
    };
    output.write(&summary, &summary)?;
    Ok(Verdict::Yes)
}

fn import(args: &ImportArgs) -> Result<Summary, Failure> {
    if args.pgn.is_empty() && args.teacher.is_empty() {
        return Err(Failure::Input("nothing to import: name files with --pgn or --teacher".into()));
    }
    let mut records = RecordWriter::new(create(&args.out)?).map_err(|error| fault(&args.out, error))?;
    let mut summary = Summary::default();
    let mut keep = |games: &[Game]| -> Result<(), Failure> {
        for game in games {
            records.write(game).map_err(|error| fault(&args.out, error))?;
            summary.count(game);
        }
        Ok(())
    };
    let mut skipped = 0;
    for path in &args.pgn {
        let import = pgn::read_games(open(path)?).map_err(|error| fault(path, error))?;
        skipped += import.skipped;
        keep(&import.games)?;
    }
    for path in &args.teacher {
        let games = teacher::read_games(&read(path)?).map_err(|error| fault(path, error))?;
        keep(&games)?;
    }
    summary.skipped = skipped;
    records.into_inner().flush().map_err(|error| fault(&args.out, error.into()))?;
    Ok(summary)
}

fn expand(args: &TableArgs) -> Result<Summary, Failure> {
    fs::create_dir_all(&args.out).map_err(|error| fault(&args.out, error.into()))?;
    let mut table =
        TableWriter::new(create(&args.out.join("rows.bin"))?, create(&args.out.join("moves.bin"))?);
    let mut summary = Summary::default();
    for path in &args.records {
        let bytes = read(path)?;
        for game in RecordReader::new(&bytes).map_err(|error| fault(path, error))? {
            let game = game.map_err(|error| fault(path, error))?;
            table.write_game(&game).map_err(|error| fault(path, error))?;
            summary.count(&game);
        }
    }
    table.finish().map_err(|error| fault(&args.out, error))?;
    Ok(summary)
}

fn fault(path: &Path, error: TrainingDataError) -> Failure {
    Failure::Input(format!("{}: {error}", path.display()))
}

fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    let file = File::open(path).map_err(|error| fault(path, error.into()))?;
    if is_compressed(path) {
        let decoder = zstd::Decoder::new(file).map_err(|error| fault(path, error.into()))?;
        return Ok(Box::new(decoder));
    }
    Ok(Box::new(BufReader::new(file)))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map_err(|error| fault(path, error.into()))?;
    Ok(bytes)
}

fn create(path: &Path) -> Result<Box<dyn Write>, Failure> {
    let file = File::create(path).map_err(|error| fault(path, error.into()))?;
    if is_compressed(path) {
        let encoder =
            zstd::Encoder::new(file, COMPRESSION_LEVEL).map_err(|error| fault(path, error.into()))?;
        return Ok(Box::new(BufWriter::new(encoder.auto_finish())));
    }
    Ok(Box::new(BufWriter::new(file)))
}
