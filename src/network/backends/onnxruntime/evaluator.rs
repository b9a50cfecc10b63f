//! Evaluates batches in one session: planes in, outputs read back into the slots.

use std::fmt::Debug;

use half::{bf16, f16};
use ndarray::{Array4, s};
use ort::memory::AllocationDevice;
use ort::session::Session;
use ort::value::TensorRef;

use super::bound::BoundRunner;
use super::graphs::GraphRunner;
use super::tensors::{BatchOutputs, RunError, TensorElement, output_array, write_batch};
use crate::network::weights::{DataType, TensorNames};
use crate::network::{EvalSlot, PLANES};

/// The names and the batch size by which a model is called.
#[derive(Clone, Debug)]
pub(super) struct ModelInterface {
    /// The names of its input and outputs.
    pub names: TensorNames,
    /// The only batch size that the model takes, if it takes but one.
    pub fixed_batch: Option<usize>,
}

/// Runs batches of one model, whatever its number type.
pub(super) trait RunBatch: Debug + Send {
    /// Fills the outputs of `batch`, which fits the model's batch size.
    ///
    /// # Errors
    /// Fails if the library fails or its outputs are not those of the model.
    fn run(
        &mut self,
        session: &mut Session,
        interface: &ModelInterface,
        batch: &mut [EvalSlot],
    ) -> Result<(), RunError>;
}

/// The kind of memory in which a batch's numbers lie on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostMemory {
    /// Any memory; sessions on a CPU read it there.
    Plain,
    /// Memory from which and to which a GPU of NVIDIA's copies itself; batches then have few sizes, each with its
    /// tensors.
    Pinned {
        /// The number of the device.
        gpu: u32,
    },
    /// Pinned, and the GPU replays what it recorded of each batch size: [`GraphRunner`].
    Recorded {
        /// The number of the device.
        gpu: u32,
    },
}

/// Returns the runner for models of `data_type` with tensors in `memory`.
pub(super) fn runner(data_type: DataType, memory: HostMemory) -> Box<dyn RunBatch> {
    match data_type {
        DataType::Float32 => typed_runner::<f32>(memory),
        DataType::Float16 => typed_runner::<f16>(memory),
        DataType::Bfloat16 => typed_runner::<bf16>(memory),
    }
}

fn typed_runner<T: TensorElement>(memory: HostMemory) -> Box<dyn RunBatch> {
    match memory {
        HostMemory::Plain => Box::new(PlainRunner::<T>::default()),
        HostMemory::Pinned { gpu } => {
            Box::new(BoundRunner::<T>::new(AllocationDevice::CUDA_PINNED, gpu as i32))
        }
        HostMemory::Recorded { gpu } => {
            Box::new(GraphRunner::<T>::new(AllocationDevice::CUDA, AllocationDevice::CUDA_PINNED, gpu as i32))
        }
    }
}

/// Hands the session a view of the input and reads the outputs where the session has put them.
#[derive(Debug, Default)]
struct PlainRunner<T> {
    /// `[batch, 112, 8, 8]`, as large as the largest batch so far.
    input: Array4<T>,
}

impl<T: TensorElement> RunBatch for PlainRunner<T> {
    fn run(
        &mut self,
        session: &mut Session,
        interface: &ModelInterface,
        batch: &mut [EvalSlot],
    ) -> Result<(), RunError> {
        let positions = interface.fixed_batch.unwrap_or(batch.len());
        if self.input.dim().0 < positions {
            self.input = Array4::default((positions, PLANES, 8, 8));
        }
        write_batch(batch, self.input.view_mut());
        let tensor = TensorRef::from_array_view(self.input.slice(s![..positions, .., .., ..]))?;
        let outputs = session.run(ort::inputs![interface.names.input.as_str() => tensor])?;
        BatchOutputs::<T>::of(&interface.names, positions, |name| output_array(&outputs, name))?
            .read_into(batch)
    }
}
