//! Evaluates batches in one session: planes in, outputs read back into the slots.

use std::fmt::Debug;
use std::marker::PhantomData;

use half::{bf16, f16};
use ndarray::{ArrayD, Axis};
use ort::memory::AllocationDevice;
use ort::session::Session;
use ort::value::TensorRef;

use super::bound::BoundRunner;
use super::graphs::GraphRunner;
use super::tensors::{
    BatchOutputs, InputElement, OutputElement, RunError, input_shape, output_array, write_batch,
};
use crate::network::EvalSlot;
use crate::network::encode::InputFormat;
use crate::network::weights::{DataType, InputForm, TensorNames};

/// The names, the encoding and the batch size by which a model is called.
#[derive(Clone, Debug)]
pub(super) struct ModelInterface {
    /// The names of its input and outputs.
    pub names: TensorNames,
    /// The way positions become planes.
    pub input_format: InputFormat,
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

/// Returns the runner for models with such inputs and outputs, with tensors in `memory`.
pub(super) fn runner(input: InputForm, outputs: DataType, memory: HostMemory) -> Box<dyn RunBatch> {
    match outputs {
        DataType::Float32 => runner_of::<f32>(input, memory),
        DataType::Float16 => runner_of::<f16>(input, memory),
        DataType::Bfloat16 => runner_of::<bf16>(input, memory),
    }
}

fn runner_of<T: InputElement + OutputElement>(input: InputForm, memory: HostMemory) -> Box<dyn RunBatch> {
    match input {
        InputForm::Planes => typed_runner::<T, T>(memory),
        InputForm::Packed => typed_runner::<u8, T>(memory),
    }
}

fn typed_runner<I: InputElement, T: OutputElement>(memory: HostMemory) -> Box<dyn RunBatch> {
    match memory {
        HostMemory::Plain => Box::new(PlainRunner::<I, T>::default()),
        HostMemory::Pinned { gpu } => {
            Box::new(BoundRunner::<I, T>::new(AllocationDevice::CUDA_PINNED, gpu as i32))
        }
        HostMemory::Recorded { gpu } => Box::new(GraphRunner::<I, T>::new(
            AllocationDevice::CUDA,
            AllocationDevice::CUDA_PINNED,
            gpu as i32,
        )),
    }
}

/// Hands the session a view of the input and reads the outputs where the session has put them.
#[derive(Debug)]
struct PlainRunner<I, T> {
    /// As large as the largest batch so far.
    input: ArrayD<I>,
    outputs: PhantomData<T>,
}

impl<I: InputElement, T> Default for PlainRunner<I, T> {
    fn default() -> Self {
        PlainRunner { input: ArrayD::default(input_shape::<I>(0)), outputs: PhantomData }
    }
}

impl<I: InputElement, T: OutputElement> RunBatch for PlainRunner<I, T> {
    fn run(
        &mut self,
        session: &mut Session,
        interface: &ModelInterface,
        batch: &mut [EvalSlot],
    ) -> Result<(), RunError> {
        let positions = interface.fixed_batch.unwrap_or(batch.len());
        if self.input.len_of(Axis(0)) < positions {
            self.input = ArrayD::default(input_shape::<I>(positions));
        }
        write_batch(batch, interface.input_format, self.input.view_mut());
        let tensor = TensorRef::from_array_view(self.input.slice_axis(Axis(0), (..positions).into()))?;
        let outputs = session.run(ort::inputs![interface.names.input.as_str() => tensor])?;
        BatchOutputs::<T>::of(&interface.names, positions, |name| output_array(&outputs, name))?
            .read_into(batch)
    }
}
