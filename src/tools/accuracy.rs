//! `zeitnot accuracy`: measures the distance of a backend's evaluations from those of a reference.
//!
//! The positions are those of games that the reference plays against itself, each move drawn from its policy: what a search
//! meets, with the network's own weaknesses.

use std::fmt;

use clap::Args;
use serde::Serialize;

use super::{ExitStatus, Failure, NetworkArgs, Output};
use crate::chess::{History, Variant};
use crate::network::encode::InputFormat;
use crate::network::{Backend, EvalSlot, Evaluator};

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
/// Games that are played side by side; also the batch size.
const GAMES: usize = 32;
/// The greatest length of a game, plies.
const GAME_PLIES: usize = 120;

#[derive(Debug, Args)]
pub(super) struct AccuracyArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// The backend to compare with; parameters may follow in parentheses
    #[arg(long, value_name = "BACKEND", default_value = "onnxruntime(provider=cpu)")]
    reference: String,
    /// Positions to compare
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    positions: u32,
}

/// Runs the command.
pub(super) fn run(args: &AccuracyArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    // The tested one first: it may need a library of its own, and a program has but one. Any will do for the reference.
    let tested = args.network.backend()?;
    let mut settings = args.network.settings.clone();
    settings.network.backend = args.reference.as_str().into();
    settings.network.backend_options.clear();
    let reference = NetworkArgs { settings }.backend()?;
    let (format, other) = (reference.info().input_format, tested.info().input_format);
    if format != other {
        return Err(Failure::Input("the two backends want positions encoded differently".into()));
    }
    let expected = play(&mut *reference.evaluator()?, format, args.positions as usize)?;
    let mut found = expected.clone();
    let mut evaluator = tested.evaluator()?;
    for batch in found.chunks_mut(GAMES.min(tested.info().max_batch)) {
        evaluator.evaluate(batch)?;
    }
    let report = AccuracyReport::new(
        EvaluatedBy { backend: &*tested, slots: &found },
        EvaluatedBy { backend: &*reference, slots: &expected },
    );
    output.write(&report, &report)?;
    Ok(ExitStatus::Success)
}

/// Returns `count` positions of games that `evaluator` plays, evaluated.
fn play(evaluator: &mut dyn Evaluator, format: InputFormat, count: usize) -> Result<Vec<EvalSlot>, Failure> {
    let start = || match History::from_fen(START, Variant::Standard) {
        Ok(history) => history,
        Err(error) => unreachable!("START is legal: {error}"),
    };
    let mut random = fastrand::Rng::with_seed(1);
    let mut games: Vec<(History, usize)> = (0..GAMES).map(|_| (start(), 0)).collect();
    let mut positions = Vec::with_capacity(count + GAMES);
    while positions.len() < count {
        let mut batch: Vec<_> = games.iter().map(|(game, _)| EvalSlot::of(game, format.into())).collect();
        evaluator.evaluate(&mut batch)?;
        for ((game, plies), slot) in games.iter_mut().zip(&batch) {
            let legal = game.legal_moves();
            game.push(legal[draw(&slot.policy(), random.f32())]);
            *plies += 1;
            if *plies >= GAME_PLIES || game.legal_moves().is_empty() {
                (*game, *plies) = (start(), 0);
            }
        }
        positions.append(&mut batch);
    }
    positions.truncate(count);
    Ok(positions)
}

/// Returns the place in `probabilities` at which their sum passes `share` (`0..1`).
fn draw(probabilities: &[f32], share: f32) -> usize {
    let mut sum = 0.0;
    let passed = probabilities.iter().position(|p| {
        sum += p;
        sum > share
    });
    passed.unwrap_or(probabilities.len().saturating_sub(1))
}

/// The mean and the largest of some errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct ErrorSpread {
    pub(super) mean: f64,
    pub(super) max: f64,
}

impl ErrorSpread {
    fn of(numbers: impl Iterator<Item = f64>) -> ErrorSpread {
        let (mut sum, mut max, mut count) = (0.0, 0.0f64, 0);
        for number in numbers {
            sum += number;
            max = max.max(number);
            count += 1;
        }
        ErrorSpread { mean: sum / f64::from(count.max(1)), max }
    }
}

/// The differences between two backends.
#[derive(Debug, Serialize)]
pub(super) struct AccuracyReport {
    backend: String,
    reference: String,
    positions: usize,
    /// Kullback-Leibler divergence of the policy from the reference's, nats.
    pub(super) policy_kl: ErrorSpread,
    /// Difference of the expected result, of `-1..=1`.
    pub(super) q_error: ErrorSpread,
    /// Difference of the probability of a draw.
    d_error: ErrorSpread,
    /// Difference of the moves left, plies.
    m_error: ErrorSpread,
    /// Share of positions in which both find the same move likeliest.
    pub(super) top1_agreement: f64,
}

/// Positions as a backend has evaluated them.
pub(super) struct EvaluatedBy<'a> {
    pub(super) backend: &'a dyn Backend,
    pub(super) slots: &'a [EvalSlot],
}

impl AccuracyReport {
    /// Compares evaluations of the same positions.
    pub(super) fn new(tested: EvaluatedBy<'_>, reference: EvaluatedBy<'_>) -> AccuracyReport {
        let pairs = || tested.slots.iter().zip(reference.slots);
        let spread = |difference: fn(&EvalSlot, &EvalSlot) -> f64| {
            ErrorSpread::of(pairs().map(|(a, b)| difference(a, b)))
        };
        let same = pairs().filter(|(a, b)| likeliest(a) == likeliest(b)).count();
        AccuracyReport {
            backend: tested.backend.info().description.clone(),
            reference: reference.backend.info().description.clone(),
            positions: reference.slots.len(),
            policy_kl: spread(|a, b| divergence(&b.policy(), &a.policy())),
            q_error: spread(|a, b| f64::from((a.evaluation.q - b.evaluation.q).abs())),
            d_error: spread(|a, b| f64::from((a.evaluation.d - b.evaluation.d).abs())),
            m_error: spread(|a, b| f64::from((a.evaluation.m - b.evaluation.m).abs())),
            top1_agreement: same as f64 / reference.slots.len().max(1) as f64,
        }
    }
}

fn likeliest(slot: &EvalSlot) -> Option<usize> {
    (0..slot.logits.len()).max_by(|&a, &b| slot.logits[a].total_cmp(&slot.logits[b]))
}

/// Returns the Kullback-Leibler divergence of `q` from `p`, `Σ p ln(p / q)`, in nats.
fn divergence(p: &[f32], q: &[f32]) -> f64 {
    let term = |(&p, &q): (&f32, &f32)| {
        if p > 0.0 { f64::from(p) * f64::from(p / q.max(f32::MIN_POSITIVE)).ln() } else { 0.0 }
    };
    p.iter().zip(q).map(term).sum::<f64>().max(0.0)
}

impl fmt::Display for AccuracyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "backend         {}", self.backend)?;
        writeln!(f, "reference       {}", self.reference)?;
        writeln!(f, "positions       {}", self.positions)?;
        writeln!(f, "                      mean         max")?;
        for (name, spread) in [
            ("policy KL", self.policy_kl),
            ("q error", self.q_error),
            ("d error", self.d_error),
            ("m error, plies", self.m_error),
        ] {
            writeln!(f, "{name:<15} {:>10.6}  {:>10.6}", spread.mean, spread.max)?;
        }
        writeln!(f, "same best move  {:>9.2} %", 100.0 * self.top1_agreement)
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

    #[test]
    fn draws_follow_the_probabilities() {
        let p = [0.25, 0.5, 0.25];
        assert_eq!([0.0, 0.24, 0.26, 0.74, 0.76, 1.0].map(|share| draw(&p, share)), [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn spreads_tell_mean_and_maximum() {
        assert_eq!(ErrorSpread::of([1.0, 3.0, 2.0].into_iter()), ErrorSpread { mean: 2.0, max: 3.0 });
        assert_eq!(ErrorSpread::of(std::iter::empty()), ErrorSpread::default());
    }
}
