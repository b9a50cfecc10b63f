//! `zeitnot eval`: evaluates positions, one line each, with the network alone.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::output::eprint_message;
use super::{ExitStatus, Failure, NetworkArgs, Output};
use crate::chess::{History, MoveList, Variant};
use crate::engine::Settings;
use crate::network::{Backend, BatchEvaluator, EvalSlot};

/// The largest batch; more would only delay the first answers.
const MAX_BATCH: usize = 256;

#[derive(Debug, Args)]
pub(super) struct EvalArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// Positions, one a line: "startpos [moves …]" or "fen FEN [moves …]" [default: -, standard input]; with --json the answer is one
    /// JSON document a line (JSON Lines)
    #[arg(value_name = "FILE")]
    positions: Option<PathBuf>,
}

/// The evaluation of one position, from the point of view of the side to move.
#[derive(Serialize)]
struct PositionReport {
    position: String,
    q: f32,
    w: f32,
    d: f32,
    l: f32,
    /// Plies to the end; `None` without a Moves Left Head.
    m: Option<f32>,
    /// Legal moves, likeliest first.
    policy: Vec<MovePolicy>,
}

#[derive(Serialize)]
struct MovePolicy {
    r#move: String,
    index: u16,
    logit: f32,
    p: f32,
}

impl fmt::Display for PositionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.position)?;
        write!(f, "q {:+.4}  w {:.4}  d {:.4}  l {:.4}", self.q, self.w, self.d, self.l)?;
        match self.m {
            Some(plies) => writeln!(f, "  m {plies:.1} plies")?,
            None => writeln!(f)?,
        }
        writeln!(f, "  move   index     logit         p")?;
        for m in &self.policy {
            writeln!(f, "  {:<6} {:>5} {:>9.4} {:>7.2} %", m.r#move, m.index, m.logit, 100.0 * m.p)?;
        }
        writeln!(f)
    }
}

/// Runs the command.
pub(super) fn run(args: &EvalArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let source = PositionSource::open(args.positions.as_ref())?;
    let backend = args.network.backend()?;
    let mut evaluation = PositionEvaluator::new(&*backend, &args.network.settings)?;
    let mut status = ExitStatus::Success;
    let mut lines = source.lines;
    let mut number = 0;
    let mut text = String::new();
    loop {
        text.clear();
        let length = lines
            .read_line(&mut text)
            .map_err(|error| Failure::Input(format!("{}: {error}", source.name)))?;
        number += 1;
        if let Err(error) = evaluation.queue(text.trim()) {
            eprint_message(format_args!("{}, line {number}: {error}", source.name));
            status = ExitStatus::BadInput;
        }
        let waits_for_more = lines.buffer().is_empty();
        if length == 0 || waits_for_more || evaluation.batch.is_full() {
            evaluation.finish(output)?;
        }
        if length == 0 {
            return Ok(status);
        }
    }
}

/// The file or stream from which the lines come.
struct PositionSource {
    name: String,
    lines: BufReader<Box<dyn Read>>,
}

impl PositionSource {
    fn open(path: Option<&PathBuf>) -> Result<PositionSource, Failure> {
        match path.filter(|path| path.as_os_str() != "-") {
            None => Ok(PositionSource {
                name: "standard input".into(),
                lines: BufReader::new(Box::new(io::stdin())),
            }),
            Some(path) => {
                let file = File::open(path)
                    .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
                Ok(PositionSource { name: path.display().to_string(), lines: BufReader::new(Box::new(file)) })
            }
        }
    }
}

/// A position that waits for its batch.
struct Queued {
    text: String,
    history: History,
    legal: MoveList,
}

/// Collects positions into batches and reports their evaluations, in their order.
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
            variant: super::variant(settings.chess960),
        })
    }

    /// Adds the position in a line; an empty line holds none.
    fn queue(&mut self, text: &str) -> Result<(), crate::chess::PositionError> {
        if text.is_empty() {
            return Ok(());
        }
        let history = History::to_evaluate(text, self.variant)?;
        let legal = history.legal_moves();
        let queued = Queued { text: text.into(), history: history.clone(), legal: legal.clone() };
        self.batch.push(queued, &history, &legal);
        Ok(())
    }

    /// Evaluates the queued positions and reports them.
    fn finish(&mut self, output: &mut Output) -> Result<(), Failure> {
        if self.batch.waiting().is_empty() {
            return Ok(());
        }
        for (queued, slot) in self.batch.evaluate()? {
            let report = report(queued, slot, self.has_moves_left);
            output.write(&report, &report)?;
        }
        output.flush()
    }
}

fn report(queued: Queued, slot: &EvalSlot, has_moves_left: bool) -> PositionReport {
    let Queued { text, history, legal } = queued;
    let evaluation = slot.evaluation;
    let mut policy: Vec<MovePolicy> = legal
        .iter()
        .zip(&slot.moves)
        .zip(slot.logits.iter().zip(slot.policy()))
        .map(|((&m, &index), (&logit, p))| MovePolicy { r#move: history.format_move(m), index, logit, p })
        .collect();
    policy.sort_by(|a, b| b.p.total_cmp(&a.p));
    PositionReport {
        position: text,
        q: evaluation.q,
        w: (1.0 + evaluation.q - evaluation.d) / 2.0,
        d: evaluation.d,
        l: (1.0 - evaluation.q - evaluation.d) / 2.0,
        m: has_moves_left.then_some(evaluation.m),
        policy,
    }
}
