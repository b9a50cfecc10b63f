//! `zeitnot accuracy`: compares a backend's evaluations with a reference.
//!
//! The positions come from the reference's games against itself with moves drawn from its policy. The first
//! games begin with positions that are hard to compute.

use std::{fmt, iter};

use anyhow::{Result, ensure};
use clap::Args;
use serde::Serialize;

use super::engine_args::{NetworkArgs, OptionArgs, count};
use super::running::{engine_facts, origin};
use crate::output::{ExitStatus, Output};
use zeitnot_engine::chance;
use zeitnot_engine::chess::{History, Variant};
use zeitnot_engine::network::backends::onnxruntime::TRIED;
use zeitnot_engine::network::encode::InputFormat;
use zeitnot_engine::network::throughput::SortedSamples;
use zeitnot_engine::network::{Backend, BackendError, EvalSlot, Evaluator};

#[derive(Debug, Args)]
pub(crate) struct AccuracyArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// The backend to compare with. Parameters may follow in parentheses
    #[arg(long, value_name = "BACKEND", default_value = "onnxruntime(provider=cpu)")]
    reference: String,
    /// Positions to compare
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = count())]
    positions: usize,
    /// Threads that evaluate
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = count().range(..=256))]
    threads: usize,
}

pub(super) fn run(args: &AccuracyArgs, output: &mut Output) -> Result<ExitStatus> {
    // It may need a library of its own, and a program has only one.
    let tested = args.network.backend()?;
    let mut settings = args.network.0.clone();
    settings.network.backend = args.reference.as_str().into();
    settings.network.backend_options.clear();
    let reference = NetworkArgs::backend(&OptionArgs(settings))?;
    let format = reference.facts().input_format;
    ensure!(
        format == tested.facts().input_format,
        "the two backends want positions encoded differently"
    );
    let evaluators = |backend: &dyn Backend| -> Result<Vec<_>, BackendError> {
        (0..args.threads).map(|_| backend.evaluator()).collect()
    };
    let expected = self_play(&mut evaluators(&*reference)?, format, args.positions)?;
    let mut found = expected.clone();
    let batch = GAMES.min(tested.facts().max_batch);
    evaluate_all(&mut evaluators(&*tested)?, &mut found, batch)?;
    let report = AccuracyReport {
        backend: tested.facts().description.clone(),
        reference: reference.facts().description.clone(),
        accuracy: Accuracy::new(&found, &expected),
    };
    let facts = engine_facts(Some(tested.facts()), &args.network.0);
    output.tell_origins(vec![origin(&facts)]);
    output.report(&report)
}

/// Games side by side, also the batch size.
const GAMES: usize = 32;
const GAME_PLIES: usize = 120;
const SEED: u64 = 1;

fn self_play(
    evaluators: &mut [Box<dyn Evaluator>],
    format: InputFormat,
    count: usize,
) -> Result<Vec<EvalSlot>, BackendError> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let hard = TRIED
        .iter()
        .filter_map(|fen| History::from_fen(fen, Variant::Standard).ok());
    let games = hard.chain(iter::repeat_with(History::start)).take(GAMES);
    let mut games: Vec<(History, usize)> = games.map(|game| (game, 0)).collect();
    let mut positions = Vec::with_capacity(count + GAMES);
    while positions.len() < count {
        let mut batch: Vec<_> = games
            .iter()
            .map(|(game, _)| EvalSlot::of(game, format.into()))
            .collect();
        evaluate_all(evaluators, &mut batch, GAMES)?;
        for ((game, plies), slot) in games.iter_mut().zip(&batch) {
            let legal = game.legal_moves();
            let policy: Vec<_> = slot.policy().iter().map(|&p| f64::from(p)).collect();
            game.push(legal[chance::draw(&policy, random.f32().into()).unwrap_or(0)]);
            *plies += 1;
            if *plies >= GAME_PLIES || game.legal_moves().is_empty() {
                *game = History::start();
                *plies = 0;
            }
        }
        positions.append(&mut batch);
    }
    positions.truncate(count);
    Ok(positions)
}

/// Batches of at most `batch`, one thread per evaluator.
pub(super) fn evaluate_all(
    evaluators: &mut [Box<dyn Evaluator>],
    slots: &mut [EvalSlot],
    batch: usize,
) -> Result<(), BackendError> {
    let share = slots.len().div_ceil(evaluators.len().max(1)).max(1);
    std::thread::scope(|scope| {
        let parts = slots.chunks_mut(share).zip(evaluators);
        let threads: Vec<_> = parts
            .map(|(part, evaluator)| {
                scope.spawn(move || {
                    part.chunks_mut(batch)
                        .try_for_each(|batch| evaluator.evaluate(batch))
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct ErrorSpread {
    pub(super) mean: f64,
    pub(super) max: f64,
}

impl ErrorSpread {
    fn of(numbers: impl Iterator<Item = f64>) -> ErrorSpread {
        let sorted = SortedSamples::of(&numbers.collect::<Vec<_>>());
        ErrorSpread {
            mean: sorted.mean(),
            max: sorted.percentile(100.0),
        }
    }
}

#[derive(Serialize)]
struct AccuracyReport {
    backend: String,
    reference: String,
    #[serde(flatten)]
    accuracy: Accuracy,
}

#[derive(Debug, Serialize)]
pub(super) struct Accuracy {
    positions: usize,
    /// Kullback-Leibler divergence from the reference's policy, nats.
    pub(super) policy_kl: ErrorSpread,
    /// Expected result, `-1..=1`.
    pub(super) q_error: ErrorSpread,
    /// Probability of a draw.
    d_error: ErrorSpread,
    /// Moves left, plies.
    m_error: ErrorSpread,
    /// Share of positions with the same likeliest move.
    pub(super) top1_agreement: f64,
}

impl Accuracy {
    /// Of the same positions as two backends have evaluated them.
    pub(super) fn new(tested: &[EvalSlot], reference: &[EvalSlot]) -> Accuracy {
        let pairs = || tested.iter().zip(reference);
        let spread = |difference: fn(&EvalSlot, &EvalSlot) -> f64| {
            ErrorSpread::of(pairs().map(|(a, b)| difference(a, b)))
        };
        let same = pairs().filter(|(a, b)| likeliest(a) == likeliest(b)).count();
        Accuracy {
            positions: reference.len(),
            policy_kl: spread(|a, b| divergence(&b.policy(), &a.policy())),
            q_error: spread(|a, b| f64::from((a.evaluation.wl - b.evaluation.wl).abs())),
            d_error: spread(|a, b| f64::from((a.evaluation.d - b.evaluation.d).abs())),
            m_error: spread(|a, b| f64::from((a.evaluation.m - b.evaluation.m).abs())),
            top1_agreement: same as f64 / reference.len().max(1) as f64,
        }
    }
}

fn likeliest(slot: &EvalSlot) -> Option<usize> {
    (0..slot.logits.len()).max_by(|&a, &b| slot.logits[a].total_cmp(&slot.logits[b]))
}

/// Kullback-Leibler divergence of `q` from `p`, `Σ p ln(p / q)`, in nats.
fn divergence(p: &[f32], q: &[f32]) -> f64 {
    let term = |(&p, &q): (&f32, &f32)| {
        if p > 0.0 {
            f64::from(p) * f64::from(p / q.max(f32::MIN_POSITIVE)).ln()
        } else {
            0.0
        }
    };
    p.iter().zip(q).map(term).sum::<f64>().max(0.0)
}

impl fmt::Display for AccuracyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "backend         {}", self.backend)?;
        writeln!(f, "reference       {}", self.reference)?;
        let accuracy = &self.accuracy;
        writeln!(f, "positions       {}", accuracy.positions)?;
        writeln!(f, "                      mean         max")?;
        for (name, spread) in [
            ("policy KL", accuracy.policy_kl),
            ("q error", accuracy.q_error),
            ("d error", accuracy.d_error),
            ("m error, plies", accuracy.m_error),
        ] {
            writeln!(f, "{name:<15} {:>10.6}  {:>10.6}", spread.mean, spread.max)?;
        }
        writeln!(f, "same best move  {:>9.2} %", 100.0 * accuracy.top1_agreement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divergence_is_zero_for_the_same_and_grows_with_the_difference() {
        let p = [0.5, 0.25, 0.25];
        assert_eq!(divergence(&p, &p), 0.0);
        assert!((divergence(&[1.0, 0.0], &[0.5, 0.5]) - std::f64::consts::LN_2).abs() < 1e-6);
        assert!(divergence(&p, &[0.1, 0.6, 0.3]) > divergence(&p, &[0.4, 0.3, 0.3]));
    }
}
