//! `zeitnot eval`: evaluates with the network alone. `zeitnot perft`: counts legal paths.

use std::fmt;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::measure::open_positions;
use crate::commands::engine_args::{NetworkArgs, variant};
use crate::output::{ExitStatus, Failure, Output, Told};
use zeitnot_engine::chess::{
    History, ListedPosition, MAX_PERFT_DEPTH, MoveList, PerftReport, Position, PositionError, Variant,
};
use zeitnot_engine::engine::{PositionEvaluation, Settings};
use zeitnot_engine::files::Lines;
use zeitnot_engine::network::{Backend, BatchEvaluator};

/// More would only delay the first answers.
const MAX_BATCH: usize = 256;

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// A position as after UCI's `position`, such as `startpos moves e2e4`, or a file with one a line: those,
    /// FEN or EPD [default: -, standard input]. With --json the answer is one JSON document a line (JSON
    /// Lines)
    #[arg(value_name = "FILE", num_args = 0..)]
    positions: Vec<String>,
}

#[derive(Serialize)]
struct PositionReport {
    position: String,
    #[serde(flatten)]
    evaluation: PositionEvaluation,
}

impl fmt::Display for PositionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}", self.position, self.evaluation)
    }
}

pub(super) fn run(args: &EvalArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let (source, content) = open(&args.positions)?;
    let refuse = |error: String| Failure::Input(format!("{source}: {error}"));
    let backend = args.network.backend()?;
    let mut evaluation = PositionEvaluator::new(&*backend, &args.network.0)?;
    let mut status = ExitStatus::Success;
    let (mut lines, mut told) = (Lines::new(BufReader::new(content)), Told::default());
    while let Some(line) = lines.next() {
        let (number, line) = line.map_err(|error| refuse(error.to_string()))?;
        let position = match ListedPosition::read(&line) {
            None => Ok(()),
            Some(Ok(listed)) => evaluation.queue(listed.uci_position()).map_err(|error| error.to_string()),
            Some(Err(error)) => Err(error.to_string()),
        };
        if let Err(error) = position {
            told.tell_kind("line that cannot be read", format_args!("{source}, line {number}: {error}"));
            status = ExitStatus::BadInput;
        }
        let waits_for_more = lines.input().buffer().is_empty();
        if waits_for_more || evaluation.batch.is_full() {
            evaluation.finish(output)?;
        }
    }
    evaluation.finish(output)?;
    Ok(status)
}

fn open(words: &[String]) -> Result<(String, Box<dyn Read + Send>), Failure> {
    let file = match words {
        [] => "-",
        // A file of this name comes first.
        [text, rest @ ..] if is_position(text, rest) => {
            return Ok((words.join(" "), Box::new(Cursor::new(words.join(" ")))));
        }
        [file] => file,
        _ => {
            let text = "expected one file, or a position that begins with startpos or fen".to_owned();
            return Err(Failure::Input(text));
        }
    };
    let source = if file == "-" { "standard input" } else { file };
    Ok((source.to_owned(), open_positions(Path::new(file))?))
}

fn is_position(text: &str, rest: &[String]) -> bool {
    let begins_so = text.split(' ').next().is_some_and(|word| ["startpos", "fen"].contains(&word));
    begins_so && (!rest.is_empty() || !Path::new(text).exists())
}

struct Queued {
    text: String,
    history: History,
    legal: MoveList,
}

struct PositionEvaluator {
    batch: BatchEvaluator<Queued>,
    has_moves_left: bool,
    variant: Variant,
}

impl PositionEvaluator {
    fn new(backend: &dyn Backend, settings: &Settings) -> Result<PositionEvaluator, Failure> {
        Ok(PositionEvaluator {
            batch: BatchEvaluator::new(backend, settings.search.history_fill, MAX_BATCH)?,
            has_moves_left: backend.info().has_moves_left,
            variant: variant(settings.chess960),
        })
    }

    fn queue(&mut self, text: String) -> Result<(), PositionError> {
        let history = History::to_evaluate(&text, self.variant)?;
        let legal = history.legal_moves();
        let queued = Queued { text, history: history.clone(), legal: legal.clone() };
        self.batch.push(queued, &history, &legal);
        Ok(())
    }

    fn finish(&mut self, output: &mut Output) -> Result<(), Failure> {
        if self.batch.waiting().is_empty() {
            return Ok(());
        }
        for (queued, slot) in self.batch.evaluate()? {
            let Queued { text: position, history, legal } = queued;
            let evaluation = PositionEvaluation::of(&history, &legal, slot, self.has_moves_left);
            let report = PositionReport { position, evaluation };
            output.write(&report, &report)?;
        }
        output.flush()
    }
}

#[derive(Debug, Args)]
pub(crate) struct PerftArgs {
    /// Plies to look ahead
    #[arg(value_parser = clap::value_parser!(u32).range(0..=i64::from(MAX_PERFT_DEPTH)))]
    depth: u32,
    /// The position [default: the start position]
    #[arg(num_args = 0.., value_name = "FEN")]
    fen: Vec<String>,
    /// Write castling as king takes rook
    #[arg(long)]
    chess960: bool,
}

pub(super) fn perft(args: &PerftArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let position = if args.fen.is_empty() {
        Position::start()
    } else {
        Position::from_fen(&args.fen.join(" ")).map_err(|error| Failure::Input(error.to_string()))?
    };
    let count = PerftReport::count(&position, args.depth, variant(args.chess960));
    output.report(&count)
}
