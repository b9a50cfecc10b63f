//! Runs a model that tells the ranges of its inner tensors, for quantisation.

use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::TensorRef;

use super::backend::NAME;
use super::provider::Provider;
use super::runtime::Runtime;
use crate::network::onnx::Ranges;
use crate::network::weights::OnnxModel;
use crate::network::{BackendError, EvalSlot, PLANES};

/// Positions that are evaluated at once; only memory depends on it.
const BATCH: usize = 32;

/// The ranges of the inner tensors of `model` over `positions`.
///
/// The model must take any batch size and be built in [`Float32`](crate::network::onnx::Precision::Float32) with
/// [`Observe`](crate::network::onnx::Quantization::Observe).
///
/// # Errors
/// [`BackendError::Library`] if there is no ONNX Runtime, [`BackendError::Evaluation`] if it fails.
pub fn observe(model: &OnnxModel, positions: &[EvalSlot]) -> Result<Ranges, BackendError> {
    let runtime = Runtime::get(Provider::Cpu)?;
    let failed =
        |error: ort::Error| BackendError::Evaluation { backend: NAME.into(), reason: error.to_string() };
    let mut session = open(runtime, &model.bytes).map_err(failed)?;
    let mut ranges = Ranges::default();
    for batch in positions.chunks(BATCH) {
        record(&mut session, &model.names.input, batch, &mut ranges).map_err(failed)?;
    }
    Ok(ranges)
}

fn open(runtime: &Runtime, model: &[u8]) -> ort::Result<Session> {
    Session::builder(runtime.environment())?
        .with_optimization_level(GraphOptimizationLevel::Level1)?
        .with_intra_threads(1)?
        .commit_from_memory(model)
}

fn record(session: &mut Session, input: &str, batch: &[EvalSlot], ranges: &mut Ranges) -> ort::Result<()> {
    let mut planes = vec![0.0; batch.len() * PLANES * 64];
    for (slot, dense) in batch.iter().zip(planes.chunks_exact_mut(PLANES * 64)) {
        slot.planes.write_dense(dense);
    }
    let tensor = TensorRef::from_array_view(([batch.len(), PLANES, 8, 8], planes.as_slice()))?;
    let outputs = session.run(ort::inputs![input => tensor])?;
    for (name, value) in outputs.iter() {
        if let (_, [number]) = value.try_extract_tensor::<f32>()? {
            ranges.record(name, *number);
        }
    }
    Ok(())
}
