//! Builds an 8-bit model: lets the network play against itself, observes its activations there, and quantises.

use super::super::self_play;
use crate::network::backends::onnxruntime::{DeviceOptions, OnnxRuntime, observe};
use crate::network::onnx::{self, BuildOptions, Quantization};
use crate::network::weights::{Network, OnnxModel};
use crate::network::{Backend, BackendError};

/// Positions in which the activations are observed.
const POSITIONS: usize = 1280;

/// Builds the quantised model of a network whose body is a tower; the other options are those of `options`.
///
/// # Errors
/// [`BackendError`] if ONNX Runtime, which observes the activations, is missing or fails.
pub(super) fn build(network: Network, options: BuildOptions) -> Result<OnnxModel, BackendError> {
    let observed = BuildOptions { quantization: Quantization::Observe, ..BuildOptions::default() };
    let observed = onnx::build(network.clone(), &observed);
    let player = OnnxRuntime::new(observed.clone(), "the network", &DeviceOptions::default())?;
    let format = player.info().input_format;
    let positions = self_play::positions(&mut [player.evaluator()?], format, POSITIONS)?;
    let ranges = observe(&observed, &positions)?;
    Ok(onnx::build(network, &BuildOptions { quantization: Quantization::Static(ranges), ..options }))
}
