//! Runs batches in a session: positions in, numbers out.

use half::{bf16, f16};
use ort::memory::Allocator;
use ort::session::{IoBinding, Session};
use ort::value::{DynValue, DynValueRefMut, TensorElementType};

use super::host_memory::HostMemory;
use super::tensors::{Numbers, RunError, read_batch, write_batch, write_half};
use crate::network::onnx::{DataType, InputForm, OnnxModel};
use crate::network::{EvalSlot, InputPlanes};

/// The memory of one evaluator's batches. What only a session may do stands apart, so that nobody waits for a
/// session that fills or reads.
pub(super) struct Runner {
    allocator: Allocator,
    /// A GPU of NVIDIA's copies outputs to memory of the allocator itself.
    binds: bool,
    input: HostMemory,
    /// In the order of the model's outputs.
    outputs: [HostMemory; 3],
}

impl Runner {
    /// With an allocator of memory that the GPU reaches itself, all tensors lie there.
    pub(super) fn new(pinned: Option<Allocator>) -> Runner {
        let (binds, allocator) = (pinned.is_some(), pinned.unwrap_or_default());
        Runner {
            allocator,
            binds,
            input: HostMemory::default(),
            outputs: Default::default(),
        }
    }

    /// The input of `positions`, of which those of `batch` are written.
    pub(super) fn input(
        &mut self,
        model: &OnnxModel,
        batch: &[EvalSlot],
        positions: usize,
    ) -> ort::Result<DynValueRefMut<'_>> {
        let sizes = model.input_form.sizes();
        let (shape, size) = ([&[positions], sizes].concat(), sizes.iter().product());
        macro_rules! filled {
            ($element:ty, $write:expr) => {{
                let mut tensor = self.input.tensor::<$element>(&self.allocator, &shape)?;
                write_batch(batch, size, tensor.extract_tensor_mut().1, $write);
                Ok(tensor.into_dyn())
            }};
        }
        match (model.input_form, model.data_type) {
            (InputForm::Packed, _) => filled!(u8, |planes, out| planes.write_packed(model.input_format, out)),
            (InputForm::Planes, DataType::Float32) => filled!(f32, InputPlanes::write_dense),
            (InputForm::Planes, DataType::Float16) => filled!(f16, write_half),
            (InputForm::Planes, DataType::Bfloat16) => filled!(bf16, write_half),
        }
    }

    /// Runs what was filled in, and gives the outputs in the order of the model's.
    pub(super) fn run(
        &mut self,
        session: &mut Session,
        model: &OnnxModel,
        positions: usize,
    ) -> Result<Vec<DynValue>, RunError> {
        let binding;
        let mut outputs = if self.binds {
            binding = self.binding(session, model, positions)?;
            session.run_binding(&binding)?
        } else {
            let input = self.input(model, &[], positions)?;
            session.run(ort::inputs![model.names.input.as_str() => input])?
        };
        let taken = model.names.outputs().map(|(name, _)| {
            outputs
                .remove(name)
                .ok_or_else(|| RunError::Output(name.into(), "is missing".into()))
        });
        taken.collect()
    }

    fn binding(&mut self, session: &Session, model: &OnnxModel, positions: usize) -> ort::Result<IoBinding> {
        let mut binding = session.create_binding()?;
        // Sends the positions to the device. A session whose input is the host's, where the CPU helps, must
        // not come here: `ort` would copy the tensor by a session of its own, and wait for itself.
        binding.bind_input(model.names.input.as_str(), &*self.input(model, &[], positions)?)?;
        let allocator = &self.allocator;
        for ((name, width), memory) in model.names.outputs().zip(&mut self.outputs) {
            let output = session.outputs().iter().find(|output| output.name() == name);
            let dtype = output.map(|output| output.dtype());
            // As the model declares it: a column may be [batch], [batch, 1] or [batch, 1, 1].
            let sizes = dtype
                .and_then(|dtype| dtype.tensor_shape())
                .and_then(|shape| shape.get(1..));
            let sizes = sizes.filter(|sizes| sizes.iter().product::<i64>() == width as i64);
            let sizes = sizes.map_or(vec![width], |sizes| {
                sizes.iter().map(|&size| size as usize).collect()
            });
            let shape = [vec![positions], sizes].concat();
            match dtype.and_then(|dtype| dtype.tensor_type()) {
                Some(TensorElementType::Float16) => {
                    binding.bind_output(name, memory.tensor::<f16>(allocator, &shape)?)?;
                }
                Some(TensorElementType::Bfloat16) => {
                    binding.bind_output(name, memory.tensor::<bf16>(allocator, &shape)?)?;
                }
                _ => binding.bind_output(name, memory.tensor::<f32>(allocator, &shape)?)?,
            }
        }
        Ok(binding)
    }
}

/// Fills the slots of `batch` with the outputs of a run with `positions`.
pub(super) fn read(
    model: &OnnxModel,
    outputs: &[DynValue],
    batch: &mut [EvalSlot],
    positions: usize,
) -> Result<(), RunError> {
    let numbers = outputs.iter().zip(model.names.outputs());
    let numbers = numbers.map(|(value, output)| Numbers::of(value, output, positions));
    read_batch(&model.names, &numbers.collect::<Result<Vec<_>, _>>()?, batch)
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
            let mut slot = EvalSlot {
                key: number,
                ..EvalSlot::default()
            };
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
        let Model::Layers(network) = file.model else {
            panic!("no layers")
        };
        let runtime = match Runtime::get(Provider::Cpu) {
            Ok(runtime) => runtime,
            Err(reason) => return eprintln!("SKIPPED: {reason}"),
        };
        let environment = &runtime.environment;
        let open = |input| {
            let model = onnx::build(
                network.clone(),
                &BuildOptions {
                    input,
                    ..Default::default()
                },
            );
            let session = Session::builder(environment)
                .unwrap()
                .commit_from_memory(&model.bytes)
                .unwrap();
            (session, model)
        };
        let mut runner = Runner::new(None);
        let (mut session, model) = open(InputForm::Planes);
        let (mut packed_session, packed_model) = open(InputForm::Packed);
        let mut run = |session: &mut Session, model: &OnnxModel, batch: &mut [EvalSlot], positions: usize| {
            runner.input(model, batch, positions).unwrap();
            let outputs = runner.run(session, model, positions).unwrap();
            read(model, &outputs, batch, positions).unwrap();
        };
        for (round, (size, filled_up)) in [(1, 1), (3, 4), (4, 4), (33, 64), (3, 3)].into_iter().enumerate() {
            // Other positions each time, so that a tensor that was left as it was shows.
            let mut expected = slots(size + round).split_off(round);
            let input = expected.clone();
            run(&mut session, &model, &mut expected, size);
            // Tensors in pinned memory are tried on a GPU that computes nothing.
            let mut found = input;
            run(&mut packed_session, &packed_model, &mut found, filled_up);
            for (found, expected) in found.iter().zip(&expected) {
                assert!(
                    (found.evaluation.wl - expected.evaluation.wl).abs() < 1e-5,
                    "batch of {size}"
                );
                let logits = found.logits.iter().zip(&expected.logits);
                assert!(logits.len() == 3 && logits.into_iter().all(|(a, b)| (a - b).abs() < 1e-4));
            }
        }
    }
}
