//! Evaluates batches by CUDA graphs: a device records the work of each batch size once and replays it by one call.
//!
//! A replay runs nothing but what was recorded, at the addresses of that time: so each batch size has its own tensors
//! on the device, bound once and for all, and copies to and from the host are made here. Whether recordings can be used
//! is tried at start-up: see [`super::backend`].

use std::collections::BTreeMap;
use std::fmt;

use ort::memory::{AllocationDevice, Allocator, AllocatorType, MemoryInfo, MemoryType};
use ort::session::{IoBinding, NoSelectedOutputs, RunOptions, Session};
use ort::value::{Tensor, TensorValueType};

use super::bound::{filled_up, output_widths};
use super::evaluator::{ModelInterface, RunBatch};
use super::tensors::{
    BatchOutputs, InputElement, OutputElement, RunError, TensorElement, input_shape, write_batch,
};
use crate::network::EvalSlot;

/// The key under which providers take the number of a graph among those of a session.
const GRAPH_NUMBER: &str = "gpu_graph_id";

/// Runs batches by work that the device has recorded for their size.
#[derive(Debug)]
pub(super) struct GraphRunner<I: TensorElement, T: TensorElement> {
    /// Memory of the device.
    device: AllocationDevice<'static>,
    /// Memory of the host that the device reaches.
    host: AllocationDevice<'static>,
    /// The number of the device.
    number: i32,
    /// The recorded work by batch size.
    graphs: BTreeMap<usize, RecordedBatch<I, T>>,
}

/// The tensors of one batch size; the binding holds those of the device's outputs.
struct RecordedBatch<I: TensorElement, T: TensorElement> {
    input: Tensor<I>,
    device_input: Tensor<I>,
    /// The outputs on the host by their names.
    outputs: BTreeMap<String, Tensor<T>>,
    binding: IoBinding,
    options: RunOptions<NoSelectedOutputs>,
}

impl<I: InputElement, T: OutputElement> GraphRunner<I, T> {
    /// Returns a runner for the device of this number with tensors in the memory of the `device` and of the `host`.
    pub(super) fn new(
        device: AllocationDevice<'static>,
        host: AllocationDevice<'static>,
        number: i32,
    ) -> GraphRunner<I, T> {
        GraphRunner { device, host, number, graphs: BTreeMap::new() }
    }

    /// Makes the tensors for batches of `positions` positions.
    fn prepare(
        &self,
        session: &Session,
        interface: &ModelInterface,
        positions: usize,
    ) -> ort::Result<RecordedBatch<I, T>> {
        let allocator = |memory: &AllocationDevice<'static>, kind| {
            let memory = MemoryInfo::new(memory.clone(), self.number, AllocatorType::Device, kind)?;
            Allocator::new(session, memory)
        };
        let on_device = allocator(&self.device, MemoryType::Default)?;
        let from_device = allocator(&self.host, MemoryType::CPUOutput)?;
        let shape = input_shape::<I>(positions);
        let input = Tensor::new(&allocator(&self.host, MemoryType::CPUInput)?, shape.clone())?;
        let device_input = Tensor::<I>::new(&on_device, shape)?;
        let mut binding = session.create_binding()?;
        binding.bind_input(interface.names.input.as_str(), &device_input)?;
        let mut outputs = BTreeMap::new();
        for (name, width) in output_widths(&interface.names) {
            binding.bind_output(name, Tensor::<T>::new(&on_device, [positions, width])?)?;
            outputs.insert(name.to_owned(), Tensor::new(&from_device, [positions, width])?);
        }
        let mut options = RunOptions::new()?;
        options.set(GRAPH_NUMBER, positions.to_string())?;
        Ok(RecordedBatch { input, device_input, outputs, binding, options })
    }
}

impl<I: TensorElement, T: TensorElement> fmt::Debug for RecordedBatch<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedBatch").field("input", &self.input).finish_non_exhaustive()
    }
}

impl<I: InputElement, T: OutputElement> RecordedBatch<I, T> {
    /// Sends the input, runs the batch and fetches the outputs.
    fn run(&mut self, session: &mut Session) -> Result<(), RunError> {
        self.input.copy_into(&mut self.device_input)?;
        let outputs = session.run_binding_with_options(&self.binding, &self.options)?;
        for (name, host) in &mut self.outputs {
            let output = outputs.get(name).ok_or_else(|| RunError::MissingOutput { name: name.clone() })?;
            output.view().downcast::<TensorValueType<T>>()?.copy_into(host)?;
        }
        Ok(())
    }
}

impl<I: InputElement, T: OutputElement> RunBatch for GraphRunner<I, T> {
    fn run(
        &mut self,
        session: &mut Session,
        interface: &ModelInterface,
        batch: &mut [EvalSlot],
    ) -> Result<(), RunError> {
        let positions = interface.fixed_batch.unwrap_or_else(|| filled_up(batch.len()));
        if !self.graphs.contains_key(&positions) {
            let new = self.prepare(session, interface, positions)?;
            self.graphs.insert(positions, new);
        }
        let Some(graph) = self.graphs.get_mut(&positions) else { unreachable!("it was inserted above") };
        write_batch(batch, interface.input_format, graph.input.extract_array_mut());
        graph.run(session)?;
        BatchOutputs::of(&interface.names, positions, |name| match graph.outputs.get(name) {
            Some(output) => Ok(output.extract_array()),
            None => Err(RunError::MissingOutput { name: name.to_owned() }),
        })?
        .read_into(batch)
    }
}
