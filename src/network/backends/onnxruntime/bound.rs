//! Evaluates batches of few sizes through tensors that are made once for each, in memory that the device reaches itself.
//!
//! A GPU copies from and to such memory without a detour, and a session sees the same few shapes again and again.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use ort::memory::{AllocationDevice, Allocator, AllocatorType, MemoryInfo, MemoryType};
use ort::session::{IoBinding, Session};
use ort::value::Tensor;

use super::evaluator::{ModelInterface, RunBatch};
use super::tensors::{
    BatchOutputs, InputElement, OutputElement, RunError, TensorElement, input_shape, output_array,
    write_batch,
};
use crate::network::weights::{TensorNames, ValueOutput};
use crate::network::{EvalSlot, POLICY_SIZE};

/// The size up to which a batch is filled up to the next power of two; a larger one is filled up to the next multiple
/// of it.
const STEP: usize = 32;

/// Runs batches through tensors that were made for their size.
#[derive(Debug)]
pub(super) struct BoundRunner<I: TensorElement, T> {
    /// The kind of memory of the tensors.
    memory: AllocationDevice<'static>,
    /// The number of the device that reaches it.
    device: i32,
    /// The tensors by batch size.
    bound: BTreeMap<usize, BoundTensors<I>>,
    outputs: PhantomData<T>,
}

/// The tensors of one batch size; the binding holds the outputs.
#[derive(Debug)]
struct BoundTensors<I: TensorElement> {
    input: Tensor<I>,
    binding: IoBinding,
}

impl<I: InputElement, T: OutputElement> BoundRunner<I, T> {
    /// Returns a runner with tensors in `memory`, which belongs to the device of number `device`.
    pub(super) fn new(memory: AllocationDevice<'static>, device: i32) -> BoundRunner<I, T> {
        BoundRunner { memory, device, bound: BTreeMap::new(), outputs: PhantomData }
    }

    /// Makes the tensors for batches of `positions` positions.
    fn bind(
        &self,
        session: &Session,
        interface: &ModelInterface,
        positions: usize,
    ) -> ort::Result<BoundTensors<I>> {
        let allocator = |kind| {
            let memory = MemoryInfo::new(self.memory.clone(), self.device, AllocatorType::Device, kind)?;
            Allocator::new(session, memory)
        };
        let input = Tensor::<I>::new(&allocator(MemoryType::CPUInput)?, input_shape::<I>(positions))?;
        let outputs = allocator(MemoryType::CPUOutput)?;
        let mut binding = session.create_binding()?;
        for (name, width) in output_widths(&interface.names) {
            binding.bind_output(name, Tensor::<T>::new(&outputs, [positions, width])?)?;
        }
        Ok(BoundTensors { input, binding })
    }
}

impl<I: InputElement, T: OutputElement> RunBatch for BoundRunner<I, T> {
    fn run(
        &mut self,
        session: &mut Session,
        interface: &ModelInterface,
        batch: &mut [EvalSlot],
    ) -> Result<(), RunError> {
        let positions = interface.fixed_batch.unwrap_or_else(|| filled_up(batch.len()));
        if !self.bound.contains_key(&positions) {
            let new = self.bind(session, interface, positions)?;
            self.bound.insert(positions, new);
        }
        let Some(bound) = self.bound.get_mut(&positions) else { unreachable!("it was inserted above") };
        write_batch(batch, interface.input_format, bound.input.extract_array_mut());
        // Sends the numbers to the device; so it must be done for each batch.
        bound.binding.bind_input(interface.names.input.as_str(), &bound.input)?;
        let outputs = session.run_binding(&bound.binding)?;
        BatchOutputs::<T>::of(&interface.names, positions, |name| output_array(&outputs, name))?
            .read_into(batch)
    }
}

/// Returns the name of each output and how many numbers it has for each position.
pub(super) fn output_widths(names: &TensorNames) -> impl Iterator<Item = (&str, usize)> {
    let value = match &names.value {
        ValueOutput::Wdl(name) => (name.as_str(), 3),
        ValueOutput::Scalar(name) => (name.as_str(), 1),
    };
    let moves_left = names.moves_left.as_deref().map(|name| (name, 1));
    [(names.policy.as_str(), POLICY_SIZE), value].into_iter().chain(moves_left)
}

/// Returns the size to which a batch of `positions` positions is filled up.
pub(super) fn filled_up(positions: usize) -> usize {
    if positions <= STEP { positions.next_power_of_two() } else { positions.next_multiple_of(STEP) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::evaluator::{HostMemory, runner};
    use super::super::graphs::GraphRunner;
    use super::super::{Provider, Runtime};
    use super::*;
    use crate::network::onnx::{self, BuildOptions};
    use crate::network::weights::{DataType, HeadChoice, InputForm, Model, NetworkFile};

    fn slots(count: usize) -> Vec<EvalSlot> {
        let slot = |number| {
            let mut slot = EvalSlot { key: number, ..EvalSlot::default() };
            slot.planes
                .masks
                .iter_mut()
                .zip(number..)
                .for_each(|(mask, n)| *mask = n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            // Whole planes of the fifty-move counter are what is packed.
            slot.planes.masks[109] = !0;
            slot.planes.values[109] = number as f32;
            slot.moves.extend([0, 700, 1857]);
            slot
        };
        (1..=count as u64).map(slot).collect()
    }

    /// Runs on a CPU, whose memory stands for a GPU's.
    #[test]
    fn bound_tensors_and_packed_inputs_give_the_same_as_views_for_every_size_of_batch() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/goldens/nets/tiny.pb.gz");
        let file = NetworkFile::load(&path, HeadChoice::default()).unwrap();
        let Model::Layers(network, _) = file.model else { panic!("no layers") };
        crate::network::folders::allow_fetching();
        let environment = Runtime::get(Provider::Cpu).unwrap().environment();
        let open = |input| {
            let model = onnx::build((*network).clone(), &BuildOptions { input, ..Default::default() });
            let session = Session::builder(environment).unwrap().commit_from_memory(&model.bytes).unwrap();
            let input_format = model.input_format;
            (session, ModelInterface { names: model.names, input_format, fixed_batch: None })
        };
        let (mut session, interface) = open(InputForm::Planes);
        let (mut packed_session, packed_interface) = open(InputForm::Packed);
        let mut plain = runner(InputForm::Planes, DataType::Float32, HostMemory::Plain);
        let cpu = AllocationDevice::CPU;
        let mut bound = BoundRunner::<f32, f32>::new(cpu.clone(), 0);
        let mut graphs = GraphRunner::<f32, f32>::new(cpu.clone(), cpu.clone(), 0);
        let mut packed = runner(InputForm::Packed, DataType::Float32, HostMemory::Plain);
        let mut packed_bound = BoundRunner::<u8, f32>::new(cpu.clone(), 0);
        let mut packed_graphs = GraphRunner::<u8, f32>::new(cpu.clone(), cpu, 0);
        for (round, size) in [1, 3, 4, 33, 3].into_iter().enumerate() {
            // Other positions each time, so that a tensor that was left as it was shows.
            let mut expected = slots(size + round).split_off(round);
            let input = expected.clone();
            plain.run(&mut session, &interface, &mut expected).unwrap();
            let runs: [(&mut dyn RunBatch, _); 5] = [
                (&mut bound, false),
                (&mut graphs, false),
                (&mut *packed, true),
                (&mut packed_bound, true),
                (&mut packed_graphs, true),
            ];
            for (run, is_packed) in runs {
                let mut found = input.clone();
                if is_packed {
                    run.run(&mut packed_session, &packed_interface, &mut found).unwrap();
                } else {
                    run.run(&mut session, &interface, &mut found).unwrap();
                }
                for (found, expected) in found.iter().zip(&expected) {
                    assert!((found.evaluation.q - expected.evaluation.q).abs() < 1e-5, "batch of {size}");
                    let logits = found.logits.iter().zip(&expected.logits);
                    assert!(logits.len() == 3 && logits.into_iter().all(|(a, b)| (a - b).abs() < 1e-4));
                }
            }
        }
        assert_eq!(bound.bound.keys().copied().collect::<Vec<_>>(), [1, 4, 64]);
    }
}
