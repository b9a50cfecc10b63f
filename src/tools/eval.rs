//! `zeitnot eval`: what the network says of positions, one line each.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::output::say;
use super::{Failure, NetworkArgs, Output, Verdict};
use crate::chess::{History, MoveList, Variant};
use crate::network::encode::{HistoryFill, encode};
use crate::network::{Backend, BackendInfo, EvalSlot, Evaluator, policy_map};
use crate::options::Settings;

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

/// What the network says of one position, from the point of view of the side to move.
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
    policy: Vec<MoveReport>,
}

#[derive(Serialize)]
struct MoveReport {
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
pub(super) fn run(args: &EvalArgs, output: &mut Output) -> Result<Verdict, Failure> {
    let source = PositionSource::open(args.positions.as_ref())?;
    let backend = args.network.backend()?;
    let mut evaluation = PositionEvaluator::new(&*backend, &args.network.settings)?;
    let mut verdict = Verdict::Yes;
    let mut lines = source.lines;
    let mut number = 0;
    let mut text = String::new();
    loop {
        text.clear();
        let length = lines
            .read_line(&mut text)
            .map_err(|error| Failure::Input(format!("{}: {error}", source.name)))?;
        number += 1;
        if let Err(fault) = evaluation.queue(text.trim()) {
            say(format_args!("{}, line {number}: {fault}", source.name));
            verdict = Verdict::BadInput;
        }
        let waits_for_more = lines.buffer().is_empty();
        if length == 0 || waits_for_more || evaluation.is_full() {
            evaluation.finish(output)?;
        }
        if length == 0 {
            return Ok(verdict);
        }
    }
}

/// Where the lines come from.
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

/// Collects positions into batches and reports what the network says of them, in their order.
struct PositionEvaluator {
    info: BackendInfo,
    evaluator: Box<dyn Evaluator>,
    variant: Variant,
    fill: HistoryFill,
    queued: Vec<Queued>,
    slots: Vec<EvalSlot>,
}

impl PositionEvaluator {
    fn new(backend: &dyn Backend, settings: &Settings) -> Result<PositionEvaluator, Failure> {
        Ok(PositionEvaluator {
            info: backend.info().clone(),
            evaluator: backend.evaluator()?,
            variant: super::variant(settings.chess960),
            // The option's choices are the names of the variants.
            fill: settings.history_fill.parse().unwrap_or_default(),
            queued: Vec::new(),
            slots: Vec::new(),
        })
    }

    /// Adds the position that a line tells; empty lines tell none.
    fn queue(&mut self, text: &str) -> Result<(), crate::chess::PositionError> {
        if text.is_empty() {
            return Ok(());
        }
        let history = History::to_evaluate(text, self.variant)?;
        let legal = history.legal_moves();
        let mut slot = EvalSlot { key: history.evaluation_key(), ..EvalSlot::default() };
        let transform = encode(&history, self.info.input_format, self.fill, &mut slot.planes);
        let color = history.current().turn();
        slot.moves = legal.iter().map(|&m| policy_map::index(m, color, transform)).collect();
        self.slots.push(slot);
        self.queued.push(Queued { text: text.into(), history, legal });
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.slots.len() >= self.info.max_batch.min(MAX_BATCH)
    }

    /// Evaluates what is queued and reports it.
    fn finish(&mut self, output: &mut Output) -> Result<(), Failure> {
        if self.slots.is_empty() {
            return Ok(());
        }
        self.evaluator.evaluate(&mut self.slots)?;
        for (queued, slot) in self.queued.drain(..).zip(self.slots.drain(..)) {
            let report = report(queued, &slot, self.info.has_moves_left);
            output.write(&report, &report)?;
        }
        output.flush()
    }
}

fn report(queued: Queued, slot: &EvalSlot, has_moves_left: bool) -> PositionReport {
    let Queued { text, history, legal } = queued;
    let evaluation = slot.evaluation;
    let mut policy: Vec<MoveReport> = legal
        .iter()
        .zip(&slot.moves)
        .zip(slot.logits.iter().zip(softmax(&slot.logits)))
        .map(|((&m, &index), (&logit, p))| MoveReport { r#move: history.format_move(m), index, logit, p })
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

/// Probabilities at temperature 1.
pub(super) fn softmax(logits: &[f32]) -> Vec<f32> {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f32> = logits.iter().map(|logit| libm::expf(logit - highest)).collect();
    let sum: f32 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_sum_to_one_whatever_the_logits() {
        for logits in [&[0.0, 0.0][..], &[1000.0, -1000.0, 999.0], &[3.5]] {
            let sum: f32 = softmax(logits).iter().sum();
            assert!((sum - 1.0).abs() < 1e-6, "{logits:?}: {sum}");
        }
        assert!(softmax(&[]).is_empty());
        assert_eq!(softmax(&[1.0, 1.0]), [0.5, 0.5]);
    }
}
