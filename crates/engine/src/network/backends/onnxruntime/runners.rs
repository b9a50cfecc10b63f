//! Runs batches in one session: planes in, outputs read back into the slots.
//!
//! On a CPU the session gets a view of the input. A GPU of NVIDIA's gets batches in pinned memory, from which
//! and to which it copies itself.

use std::fmt::Debug;
use std::marker::PhantomData;

use half::{bf16, f16};
use ndarray::{ArrayD, Axis};
use ort::memory::Allocator;
use ort::session::Session;
use ort::value::TensorRef;

use super::pinned::PinnedMemory;
use super::tensors::{
    BatchOutputs, InputElement, OutputElement, RunError, input_shape, output_array, write_batch,
};
use crate::network::weights::{DataType, InputForm, OnnxModel, TensorNames, ValueOutput};
use crate::network::{EvalSlot, POLICY_SIZE};

/// Runs batches of one model, whatever its number type.
pub(super) trait RunBatch: Debug + Send {
    /// Fills the outputs of `batch`, which is filled up to `positions` on its way to the device.
    fn run(
        &mut self,
        session: &mut Session,
        model: &OnnxModel,
        batch: &mut [EvalSlot],
        positions: usize,
    ) -> Result<(), RunError>;
}

/// Returns the runner for the inputs and outputs of `model`. With an allocator of pinned memory, batches lie
/// there.
pub(super) fn runner(model: &OnnxModel, pinned: Option<Allocator>) -> Box<dyn RunBatch> {
    match (model.input_form, model.data_type) {
        (InputForm::Planes, DataType::Float32) => typed_runner::<f32, f32>(pinned),
        (InputForm::Planes, DataType::Float16) => typed_runner::<f16, f16>(pinned),
        (InputForm::Planes, DataType::Bfloat16) => typed_runner::<bf16, bf16>(pinned),
        (InputForm::Packed, DataType::Float32) => typed_runner::<u8, f32>(pinned),
        (InputForm::Packed, DataType::Float16) => typed_runner::<u8, f16>(pinned),
        (InputForm::Packed, DataType::Bfloat16) => typed_runner::<u8, bf16>(pinned),
    }
}

fn typed_runner<I: InputElement, T: OutputElement>(pinned: Option<Allocator>) -> Box<dyn RunBatch> {
    match pinned {
        None => {
            let input = ArrayD::default(input_shape::<I>(0));
            Box::new(PlainRunner::<I, T> { input, outputs: PhantomData })
        }
        Some(allocator) => Box::new(BoundRunner::<I, T>::new(allocator)),
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
        positions: usize,
    ) -> Result<(), RunError> {
        if self.input.len_of(Axis(0)) < positions {
            self.input = ArrayD::default(input_shape::<I>(positions));
        }
        write_batch(batch, model.input_format, self.input.view_mut());
        let tensor = TensorRef::from_array_view(self.input.slice_axis(Axis(0), (..positions).into()))?;
        let outputs = session.run(ort::inputs![model.names.input.as_str() => tensor])?;
        BatchOutputs::<T>::of(&model.names, positions, |name| output_array(&outputs, name))?.read_into(batch)
    }
}

/// Binds tensors in memory of `allocator` to the session's input and outputs.
#[derive(Debug)]
struct BoundRunner<I: InputElement, T: OutputElement> {
    allocator: Allocator,
    input: PinnedMemory<I>,
    /// In the order of [`output_widths`].
    outputs: [PinnedMemory<T>; 3],
}

impl<I: InputElement, T: OutputElement> BoundRunner<I, T> {
    fn new(allocator: Allocator) -> BoundRunner<I, T> {
        BoundRunner { allocator, input: PinnedMemory::default(), outputs: Default::default() }
    }
}

impl<I: InputElement, T: OutputElement> RunBatch for BoundRunner<I, T> {
    fn run(
        &mut self,
        session: &mut Session,
        model: &OnnxModel,
        batch: &mut [EvalSlot],
        positions: usize,
    ) -> Result<(), RunError> {
        let mut binding = session.create_binding()?;
        let mut input = self.input.tensor(&self.allocator, input_shape::<I>(positions))?;
        write_batch(batch, model.input_format, input.extract_array_mut());
        // Sends the positions to the device.
        binding.bind_input(model.names.input.as_str(), &*input)?;
        for ((name, width), memory) in output_widths(&model.names).zip(&mut self.outputs) {
            let shape = output_shape(session, name, positions, width);
            binding.bind_output(name, memory.tensor(&self.allocator, shape)?)?;
        }
        let outputs = session.run_binding(&binding)?;
        BatchOutputs::<T>::of(&model.names, positions, |name| output_array(&outputs, name))?.read_into(batch)
    }
}

/// Returns the shape of an output with `width` numbers for each position as the model declares it: a column
/// may be `[batch]`, `[batch, 1]` or `[batch, 1, 1]`.
fn output_shape(session: &Session, name: &str, positions: usize, width: usize) -> Vec<usize> {
    let output = session.outputs().iter().find(|output| output.name() == name);
    let declared = output.and_then(|output| output.dtype().tensor_shape());
    let of_one = declared
        .and_then(|shape| shape.get(1..))
        .filter(|sizes| sizes.iter().product::<i64>() == width as i64);
    let of_one = of_one.map_or(vec![width], |sizes| sizes.iter().map(|&size| size as usize).collect());
    [vec![positions], of_one].concat()
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

    /// Runs on a CPU. `tests/gpu` does this with memory that is pinned.
    #[test]
    #[ignore = "needs ONNX Runtime in the cache, where `zeitnot setup` puts it"]
    fn packed_inputs_give_the_same_as_planes_for_every_size_of_batch() {
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
        let mut packed = runner(&packed_model, None);
        for (round, (size, filled_up)) in [(1, 1), (3, 4), (4, 4), (33, 64), (3, 3)].into_iter().enumerate() {
            // Other positions each time, so that a tensor that was left as it was shows.
            let mut expected = slots(size + round).split_off(round);
            let input = expected.clone();
            plain.run(&mut session, &model, &mut expected, size).unwrap();
            // Tensors in pinned memory are tried on a GPU that computes nothing.
            let mut found = input;
            packed.run(&mut packed_session, &packed_model, &mut found, filled_up).unwrap();
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found.evaluation.wl - expected.evaluation.wl).abs() < 1e-5, "batch of {size}");
                let logits = found.logits.iter().zip(&expected.logits);
                assert!(logits.len() == 3 && logits.into_iter().all(|(a, b)| (a - b).abs() < 1e-4));
            }
        }
    }
}
