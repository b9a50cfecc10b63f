//! Builds an 8-bit model: lets the network play against itself, observes its activations there, and quantises.

use crate::chess::{History, MoveList};
use crate::network::backends::onnxruntime::{DeviceOptions, OnnxRuntime, observe};
use crate::network::onnx::{self, BuildOptions, Quantization};
use crate::network::weights::{Network, OnnxModel};
use crate::network::{Backend, BackendError, EvalSlot};

/// Games that are played side by side.
const GAMES: usize = 32;
/// Positions of each game.
const PLIES: usize = 40;
/// The seed for the draws of moves, so that a conversion can be repeated.
const SEED: u64 = 8;

/// Builds the quantised model of a network whose body is a tower; the other options are those of `options`.
///
/// # Errors
/// [`BackendError`] if ONNX Runtime, which observes the activations, is missing or fails.
pub(super) fn build(network: Network, options: BuildOptions) -> Result<OnnxModel, BackendError> {
    let observed = BuildOptions { quantization: Quantization::Observe, ..BuildOptions::default() };
    let observed = onnx::build(network.clone(), &observed);
    let ranges = observe(&observed, &self_play(observed.clone())?)?;
    Ok(onnx::build(network, &BuildOptions { quantization: Quantization::Static(ranges), ..options }))
}

/// Returns the positions of games with moves drawn from the network's policy.
fn self_play(model: OnnxModel) -> Result<Vec<EvalSlot>, BackendError> {
    let backend = OnnxRuntime::new(model, "the network", &DeviceOptions::default())?;
    let format = backend.info().input_format;
    let mut evaluator = backend.evaluator()?;
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut games = vec![History::start(); GAMES];
    let mut positions = Vec::with_capacity(GAMES * PLIES);
    for _ in 0..PLIES {
        let legal: Vec<MoveList> = games.iter().map(History::legal_moves).collect();
        let mut batch: Vec<_> = games.iter().map(|game| EvalSlot::of(game, format.into())).collect();
        evaluator.evaluate(&mut batch)?;
        for ((game, legal), slot) in games.iter_mut().zip(&legal).zip(&batch) {
            match draw(&slot.policy(), random.f32()).and_then(|index| legal.get(index)) {
                Some(&m) => game.push(m),
                None => *game = History::start(),
            }
        }
        positions.extend(batch);
    }
    Ok(positions)
}

/// Returns the index into `probabilities` at which their sum exceeds `number`, the last one at the latest; `None` if empty.
fn draw(probabilities: &[f32], mut number: f32) -> Option<usize> {
    let passed = probabilities.iter().position(|probability| {
        number -= probability;
        number < 0.0
    });
    passed.or(probabilities.len().checked_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_drawn_by_their_probability() {
        let probabilities = [0.25, 0.0, 0.75];
        assert_eq!(draw(&probabilities, 0.0), Some(0));
        assert_eq!(draw(&probabilities, 0.3), Some(2));
        assert_eq!(draw(&probabilities, 1.0), Some(2));
        assert_eq!(draw(&[], 0.5), None);
    }
}
