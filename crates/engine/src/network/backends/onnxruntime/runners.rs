//! Runs batches in one session: planes in, outputs read back into the slots.
//!
//! On a CPU the session gets a view of the input. A GPU gets batches of few sizes, through tensors that are
//! made once for each in memory that it reaches itself, so that it copies without a detour.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::marker::PhantomData;

use half::{bf16, f16};
use ndarray::{ArrayD, Axis};
use ort::memory::{AllocationDevice, Allocator, AllocatorType, MemoryInfo, MemoryType};
use ort::session::{IoBinding, Session};
use ort::value::{Tensor, TensorRef};

use super::tensors::{
    BatchOutputs, InputElement, OutputElement, RunError, TensorElement, input_shape, output_array,
    write_batch,
};
use crate::network::weights::{DataType, InputForm, OnnxModel, TensorNames, ValueOutput};
use crate::network::{EvalSlot, POLICY_SIZE};

/// Runs batches of one model, whatever its number type.
pub(super) trait RunBatch: Debug + Send {
    /// Fills the outputs of `batch`, which fits the model's batch size.
    fn run(
        &mut self,
        session: &mut Session,
        model: &OnnxModel,
        batch: &mut [EvalSlot],
    ) -> Result<(), RunError>;
}

/// Returns the runner for the inputs and outputs of `model`. With `pinned_for` a GPU of NVIDIA's, batches
/// have few sizes, each with its tensors in memory from which and to which that GPU copies itself.
pub(super) fn runner(model: &OnnxModel, pinned_for: Option<u32>) -> Box<dyn RunBatch> {
    match (model.input_form, model.data_type) {
        (InputForm::Planes, DataType::Float32) => typed_runner::<f32, f32>(pinned_for),
        (InputForm::Planes, DataType::Float16) => typed_runner::<f16, f16>(pinned_for),
        (InputForm::Planes, DataType::Bfloat16) => typed_runner::<bf16, bf16>(pinned_for),
        (InputForm::Packed, DataType::Float32) => typed_runner::<u8, f32>(pinned_for),
        (InputForm::Packed, DataType::Float16) => typed_runner::<u8, f16>(pinned_for),
        (InputForm::Packed, DataType::Bfloat16) => typed_runner::<u8, bf16>(pinned_for),
    }
}

fn typed_runner<I: InputElement, T: OutputElement>(pinned_for: Option<u32>) -> Box<dyn RunBatch> {
    match pinned_for {
        None => {
            let input = ArrayD::default(input_shape::<I>(0));
            Box::new(PlainRunner::<I, T> { input, outputs: PhantomData })
        }
        Some(gpu) => Box::new(BoundRunner::<I, T>::new(AllocationDevice::CUDA_PINNED, gpu as i32)),
    }
}

/// Hands the session a view of the input and reads the outputs where the session has put them.
#[derive(Debug)]
struct PlainRunner<I, T> {
    /// As large as the largest batch so far.
    input: ArrayD<I>,
    outputs: PhantomData<T>,
}

impl<I: InputElement, T: OutputElement> RunBatch for PlainRunner<I, T> {
    fn run(
        &mut self,
        session: &mut Session,
        model: &OnnxModel,
        batch: &mut [EvalSlot],
    ) -> Result<(), RunError> {
        let positions = model.fixed_batch.unwrap_or(batch.len());
        if self.input.len_of(Axis(0)) < positions {
            self.input = ArrayD::default(input_shape::<I>(positions));
        }
        write_batch(batch, model.input_format, self.input.view_mut());
        let tensor = TensorRef::from_array_view(self.input.slice_axis(Axis(0), (..positions).into()))?;
        let outputs = session.run(ort::inputs![model.names.input.as_str() => tensor])?;
        BatchOutputs::<T>::of(&model.names, positions, |name| output_array(&outputs, name))?.read_into(batch)
    }
}

/// The size up to which a batch is filled up to the next power of two. A larger one is filled up to the next
/// multiple of it.
const STEP: usize = 32;

/// Runs batches through tensors that were made for their size.
#[derive(Debug)]
struct BoundRunner<I: TensorElement, T> {
    /// Memory of the host that the device reaches.
    host: AllocationDevice<'static>,
    device: i32,
    /// The tensors by batch size.
    bound: BTreeMap<usize, BoundTensors<I>>,
    outputs: PhantomData<T>,
}

/// The tensors of one batch size. The binding holds the outputs that the device writes.
#[derive(Debug)]
struct BoundTensors<I: TensorElement> {
    input: Tensor<I>,
    binding: IoBinding,
}

impl<I: InputElement, T: OutputElement> BoundRunner<I, T> {
    fn new(host: AllocationDevice<'static>, device: i32) -> BoundRunner<I, T> {
        BoundRunner { host, device, bound: BTreeMap::new(), outputs: PhantomData }
    }

    fn bind(&self, session: &Session, model: &OnnxModel, positions: usize) -> ort::Result<BoundTensors<I>> {
        let allocator = |kind| {
            let memory = MemoryInfo::new(self.host.clone(), self.device, AllocatorType::Device, kind)?;
            Allocator::new(session, memory)
        };
        let input = Tensor::<I>::new(&allocator(MemoryType::CPUInput)?, input_shape::<I>(positions))?;
        let outputs = allocator(MemoryType::CPUOutput)?;
        let mut binding = session.create_binding()?;
        for (name, width) in output_widths(&model.names) {
            binding.bind_output(name, Tensor::<T>::new(&outputs, [positions, width])?)?;
        }
        Ok(BoundTensors { input, binding })
    }
}

impl<I: InputElement, T: OutputElement> RunBatch for BoundRunner<I, T> {
    fn run(
        &mut self,
        session: &mut Session,
        model: &OnnxModel,
        batch: &mut [EvalSlot],
    ) -> Result<(), RunError> {
        let positions = model.fixed_batch.unwrap_or_else(|| filled_up(batch.len()));
        if !self.bound.contains_key(&positions) {
            let new = self.bind(session, model, positions)?;
            self.bound.insert(positions, new);
        }
        let Some(bound) = self.bound.get_mut(&positions) else { unreachable!("it was inserted above") };
        write_batch(batch, model.input_format, bound.input.extract_array_mut());
        // Sends the numbers to the device, so it must be done for each batch.
        bound.binding.bind_input(model.names.input.as_str(), &bound.input)?;
        let outputs = session.run_binding(&bound.binding)?;
        BatchOutputs::<T>::of(&model.names, positions, |name| output_array(&outputs, name))?.read_into(batch)
    }
}

/// Returns the name of each output and how many numbers it has for each position.
fn output_widths(names: &TensorNames) -> impl Iterator<Item = (&str, usize)> {
    let value = match &names.value {
        ValueOutput::Wdl(name) => (name.as_str(), 3),
        ValueOutput::Scalar(name) => (name.as_str(), 1),
    };
    let moves_left = names.moves_left.as_deref().map(|name| (name, 1));
    [(names.policy.as_str(), POLICY_SIZE), value].into_iter().chain(moves_left)
}

/// Returns the size to which a batch of `positions` positions is filled up.
fn filled_up(positions: usize) -> usize {
    if positions <= STEP { positions.next_power_of_two() } else { positions.next_multiple_of(STEP) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Provider, Runtime};
    use super::*;
    use crate::network::onnx::{self, BuildOptions};
    use crate::network::weights::{HeadChoice, Model, NetworkFile};

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
    #[ignore = "needs ONNX Runtime in the cache, where `zeitnot setup` puts it"]
    fn bound_tensors_and_packed_inputs_give_the_same_as_views_for_every_size_of_batch() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/goldens/nets/tiny.pb.gz");
        let file = NetworkFile::load(&path, HeadChoice::default()).unwrap();
        let Model::Layers(network, _) = file.model else { panic!("no layers") };
        let runtime = match Runtime::get(Provider::Cpu) {
            Ok(runtime) => runtime,
            Err(reason) => return eprintln!("SKIPPED: {reason}"),
        };
        let environment = runtime.environment();
        let open = |input| {
            let model = onnx::build(network.clone(), &BuildOptions { input, ..Default::default() });
            let session = Session::builder(environment).unwrap().commit_from_memory(&model.bytes).unwrap();
            (session, model)
        };
        let (mut session, model) = open(InputForm::Planes);
        let (mut packed_session, packed_model) = open(InputForm::Packed);
        let mut plain = runner(&model, None);
        let cpu = AllocationDevice::CPU;
        let mut bound = BoundRunner::<f32, f32>::new(cpu.clone(), 0);
        let mut packed = runner(&packed_model, None);
        let mut packed_bound = BoundRunner::<u8, f32>::new(cpu, 0);
        for (round, size) in [1, 3, 4, 33, 3].into_iter().enumerate() {
            // Other positions each time, so that a tensor that was left as it was shows.
            let mut expected = slots(size + round).split_off(round);
            let input = expected.clone();
            plain.run(&mut session, &model, &mut expected).unwrap();
            let runs: [(&mut dyn RunBatch, _); 3] =
                [(&mut bound, false), (&mut *packed, true), (&mut packed_bound, true)];
            for (run, is_packed) in runs {
                let mut found = input.clone();
                if is_packed {
                    run.run(&mut packed_session, &packed_model, &mut found).unwrap();
                } else {
                    run.run(&mut session, &model, &mut found).unwrap();
                }
                for (found, expected) in found.iter().zip(&expected) {
                    assert!((found.evaluation.wl - expected.evaluation.wl).abs() < 1e-5, "batch of {size}");
                    let logits = found.logits.iter().zip(&expected.logits);
                    assert!(logits.len() == 3 && logits.into_iter().all(|(a, b)| (a - b).abs() < 1e-4));
                }
            }
        }
        assert_eq!(bound.bound.keys().copied().collect::<Vec<_>>(), [1, 4, 64]);
    }
}
