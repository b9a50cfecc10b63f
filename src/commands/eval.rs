//! `zeitnot eval`: evaluates with the network alone. `zeitnot perft`: counts legal paths.

use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use serde::Serialize;

use super::engine_args::NetworkArgs;
use super::measure::open_positions;
use crate::output::{ExitStatus, Output, Told};
use zeitnot_engine::chess::{
    History, MAX_PERFT_DEPTH, MoveList, PerftReport, Position, PositionLines, Variant,
};
use zeitnot_engine::engine::{OpenedBackend, PositionEvaluation};
use zeitnot_engine::files::Lines;
use zeitnot_engine::network::BatchEvaluator;

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
struct PositionReport<'a> {
    position: String,
    /// Counted from 1, where the position stands in the source.
    line: u64,
    #[serde(flatten)]
    evaluation: PositionEvaluation,
    backend: &'a str,
    network_sha256: Option<&'a str>,
}

pub(super) fn run(args: &EvalArgs, output: &mut Output) -> Result<ExitStatus> {
    let (source, content) = open(&args.positions)?;
    let opened = args.network.open()?;
    let settings = &args.network.0;
    let mut evaluation = PositionEvaluator {
        lines: PositionLines::default(),
        batch: BatchEvaluator::new(&*opened.backend, settings.search.history_fill, MAX_BATCH)?,
        opened,
        variant: Variant::of_chess960(settings.chess960),
    };
    let mut status = ExitStatus::Success;
    let mut lines = Lines::new(BufReader::new(content));
    let mut told = Told::default();
    while let Some(line) = lines.next() {
        let (number, line) = line.map_err(|error| anyhow!("{source}: {error}"))?;
        if let Err(error) = evaluation.queue(number, &line) {
            told.tell_kind(
                "line that cannot be read",
                format_args!("{source}, line {number}: {error}"),
            );
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

fn open(words: &[String]) -> Result<(String, Box<dyn Read + Send>)> {
    let file = match words {
        [] => "-",
        // A file of this name comes first.
        [text, rest @ ..] if is_position(text, rest) => {
            return Ok((words.join(" "), Box::new(Cursor::new(words.join(" ")))));
        }
        [file] => file,
        _ => bail!("expected one file, or a position that begins with startpos or fen"),
    };
    let source = if file == "-" { "standard input" } else { file };
    Ok((source.to_owned(), open_positions(Path::new(file))?))
}

fn is_position(text: &str, rest: &[String]) -> bool {
    let begins_so = text
        .split(' ')
        .next()
        .is_some_and(|word| ["startpos", "fen"].contains(&word));
    begins_so && (!rest.is_empty() || !Path::new(text).exists())
}

struct PositionEvaluator {
    lines: PositionLines,
    /// Positions with their lines, texts and legal moves.
    batch: BatchEvaluator<(u64, String, History, MoveList)>,
    opened: OpenedBackend,
    variant: Variant,
}

impl PositionEvaluator {
    fn queue(&mut self, line: u64, content: &str) -> Result<()> {
        let Some(listed) = self.lines.read(content) else {
            return Ok(());
        };
        let text = listed?.uci_position();
        let history = History::to_evaluate(&text, self.variant)?;
        let legal = history.legal_moves();
        self.batch
            .push((line, text, history.clone(), legal.clone()), &history, &legal);
        Ok(())
    }

    fn finish(&mut self, output: &mut Output) -> Result<()> {
        let facts = self.opened.backend.facts();
        let backend = &facts.description_without_folder();
        for ((line, position, history, legal), slot) in self.batch.evaluate()? {
            let evaluation = PositionEvaluation::of(&history, &legal, slot, facts.has_moves_left);
            let text = format!("{position}\n{evaluation}\n");
            let report = PositionReport {
                position,
                line,
                evaluation,
                backend,
                network_sha256: self.opened.network_sha256.as_deref(),
            };
            output.write(&report, &text)?;
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

pub(super) fn perft(args: &PerftArgs, output: &mut Output) -> Result<ExitStatus> {
    let position = if args.fen.is_empty() {
        Position::start()
    } else {
        Position::from_fen(&args.fen.join(" "))?
    };
    let variant = Variant::of_chess960(args.chess960);
    match PerftReport::count_while(&position, args.depth, variant, |_| true) {
        Some(report) => output.report(&report),
        None => Ok(ExitStatus::Stopped),
    }
}
