//! Runs a model whose outputs are the ranges of its inner tensors, for quantisation.

use ndarray::ArrayD;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::TensorRef;

use super::NAME;
use super::provider::Provider;
use super::runtime::Runtime;
use super::tensors::{input_shape, write_batch};
use crate::network::onnx::Ranges;
use crate::network::weights::OnnxModel;
use crate::network::{BackendError, EvalSlot};

/// Positions that are evaluated at once; only memory depends on it.
const BATCH: usize = 32;

/// Returns the ranges of the inner tensors of `model` over `positions`.
///
/// The model must take any batch size and be built in [`Float32`](crate::network::onnx::Precision::Float32) with
/// [`Observe`](crate::network::onnx::Quantization::Observe).
///
/// # Errors
/// Returns [`BackendError::Library`] if there is no ONNX Runtime, [`BackendError::Evaluation`] if it fails.
pub fn observe(model: &OnnxModel, positions: &[EvalSlot]) -> Result<Ranges, BackendError> {
    let runtime = Runtime::get(Provider::Cpu)?;
    let failed =
        |error: ort::Error| BackendError::Evaluation { backend: NAME.into(), reason: error.to_string() };
    let mut session = open(runtime, &model.bytes).map_err(failed)?;
    let mut ranges = Ranges::default();
    for batch in positions.chunks(BATCH) {
        record(&mut session, model, batch, &mut ranges).map_err(failed)?;
    }
    Ok(ranges)
}

fn open(runtime: &Runtime, model: &[u8]) -> ort::Result<Session> {
    Session::builder(runtime.environment())?
        .with_optimization_level(GraphOptimizationLevel::Level1)?
        .with_intra_threads(1)?
        .commit_from_memory(model)
}

/// Evaluates `batch` and widens the ranges by the numbers of all outputs that hold but one.
fn record(
    session: &mut Session,
    model: &OnnxModel,
    batch: &[EvalSlot],
    ranges: &mut Ranges,
) -> ort::Result<()> {
    let mut planes = ArrayD::<f32>::default(input_shape::<f32>(batch.len()));
    write_batch(batch, model.input_format, planes.view_mut());
    let outputs =
        session.run(ort::inputs![model.names.input.as_str() => TensorRef::from_array_view(&planes)?])?;
    for (name, value) in outputs.iter() {
        if let (_, [number]) = value.try_extract_tensor::<f32>()? {
            ranges.record(name, *number);
        }
    }
    Ok(())
}
