//! Runs batches in a session: positions in, numbers out.

use half::{bf16, f16};
use ort::memory::Allocator;
use ort::session::{RunOptions, Session};
use ort::value::{DynValue, DynValueRefMut, TensorElementType};

use super::host_memory::{Described, HostMemory};
use super::tensors::{Numbers, RunError, read_batch, write_batch, write_half};
use crate::network::eval_slot::EvalSlot;
use crate::network::onnx::{DataType, InputForm, OnnxModel};
use crate::network::planes::InputPlanes;

/// The memory of one evaluator's batches. A session is only needed to run them.
pub(super) struct Runner {
    allocator: Allocator,
    travel: Travel,
    input: HostMemory,
    /// In the order of the model's outputs …
    outputs: [HostMemory; 3],
    /// … of which these are the forms, where outputs are bound to that memory.
    bound: Vec<Form>,
}

/// How numbers come to the device and back.
enum Travel {
    /// As ONNX Runtime does it.
    Usual,
    /// A GPU of NVIDIA's copies them, from and to memory that it reaches itself.
    Copied,
    /// It computes with them where they lie, in a graph of this name.
    Captured(RunOptions),
}

/// The outputs of a batch, in the order of the model's.
pub(super) enum Outputs<'a> {
    Made(Vec<DynValue>),
    Bound(Vec<DynValueRefMut<'a>>),
}

impl Runner {
    /// With an allocator of memory that the GPU reaches itself, all tensors lie there.
    pub(super) fn new(pinned: Option<Allocator>) -> Runner {
        let travel = if pinned.is_some() {
            Travel::Copied
        } else {
            Travel::Usual
        };
        Runner {
            allocator: pinned.unwrap_or_default(),
            travel,
            input: HostMemory::default(),
            outputs: Default::default(),
            bound: Vec::new(),
        }
    }

    /// For batches of one size, which become a graph with this number.
    pub(super) fn of_graph(pinned: Allocator, number: usize) -> ort::Result<Runner> {
        let mut options = RunOptions::new()?;
        options.set("gpu_graph_id", number.to_string())?;
        Ok(Runner {
            travel: Travel::Captured(options),
            ..Runner::new(Some(pinned))
        })
    }

    /// The input of `positions`, of which those of `batch` are written.
    pub(super) fn input(
        &mut self,
        model: &OnnxModel,
        batch: &[EvalSlot],
        positions: usize,
    ) -> ort::Result<DynValueRefMut<'_>> {
        let sizes = model.input_form.sizes();
        let shape = [&[positions], sizes].concat();
        let size = sizes.iter().product();
        let described = match self.travel {
            Travel::Captured(_) => Described::Itself,
            _ => Described::Host,
        };
        macro_rules! filled {
            ($element:ty, $write:expr) => {{
                let mut tensor = self
                    .input
                    .tensor::<$element>(&self.allocator, &shape, described)?;
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

    pub(super) fn run(
        &mut self,
        session: &mut Session,
        model: &OnnxModel,
        positions: usize,
    ) -> Result<Outputs<'_>, RunError> {
        if matches!(self.travel, Travel::Usual) {
            let input = self.input(model, &[], positions)?;
            let mut outputs = session.run(ort::inputs![model.names.input.as_str() => input])?;
            let taken = model.names.outputs().map(|(name, _)| {
                outputs
                    .remove(name)
                    .ok_or_else(|| RunError::Output(name.into(), "is missing".into()))
            });
            return Ok(Outputs::Made(taken.collect::<Result<_, _>>()?));
        }
        let mut binding = session.create_binding()?;
        // Sends the positions to the device. A session whose input is the host's, where the CPU helps, must
        // not come here: `ort` would copy the tensor by a session of its own, and wait for itself.
        binding.bind_input(model.names.input.as_str(), &*self.input(model, &[], positions)?)?;
        let described = match self.travel {
            Travel::Captured(_) => Described::Device,
            _ => Described::Host,
        };
        self.bound = model
            .names
            .outputs()
            .map(|output| form_of(session, output, positions))
            .collect();
        for ((name, _), tensor) in model.names.outputs().zip(self.bound(described)?) {
            binding.bind_output(name, tensor)?;
        }
        match &self.travel {
            Travel::Captured(options) => session.run_binding_with_options(&binding, options)?,
            _ => session.run_binding(&binding)?,
        };
        Ok(self.outputs()?)
    }

    /// What was computed into bound memory.
    pub(super) fn outputs(&mut self) -> ort::Result<Outputs<'_>> {
        Ok(Outputs::Bound(self.bound(Described::Host)?))
    }

    fn bound(&mut self, described: Described) -> ort::Result<Vec<DynValueRefMut<'_>>> {
        let tensors = self.outputs.iter_mut().zip(&self.bound);
        let tensors = tensors.map(|(memory, form)| tensor(memory, &self.allocator, form, described));
        tensors.collect()
    }
}

type Form = (TensorElementType, Vec<usize>);

fn tensor<'a>(
    memory: &'a mut HostMemory,
    allocator: &Allocator,
    (element, shape): &Form,
    described: Described,
) -> ort::Result<DynValueRefMut<'a>> {
    Ok(match element {
        TensorElementType::Float16 => memory.tensor::<f16>(allocator, shape, described)?.into_dyn(),
        TensorElementType::Bfloat16 => memory.tensor::<bf16>(allocator, shape, described)?.into_dyn(),
        _ => memory.tensor::<f32>(allocator, shape, described)?.into_dyn(),
    })
}

/// As the model declares an output.
fn form_of(session: &Session, (name, width): (&str, usize), positions: usize) -> Form {
    let output = session.outputs().iter().find(|output| output.name() == name);
    let dtype = output.map(|output| output.dtype());
    let sizes = dtype
        .and_then(|dtype| dtype.tensor_shape())
        .and_then(|shape| shape.get(1..));
    let sizes = sizes.filter(|sizes| sizes.iter().product::<i64>() == width as i64);
    let sizes = sizes.map_or(vec![width], |sizes| {
        sizes.iter().map(|&size| size as usize).collect()
    });
    let element = dtype.and_then(|dtype| dtype.tensor_type());
    (
        element.unwrap_or(TensorElementType::Float32),
        [vec![positions], sizes].concat(),
    )
}

/// Fills the slots of `batch` with the outputs of a run with `positions`.
pub(super) fn read(
    model: &OnnxModel,
    outputs: &Outputs<'_>,
    batch: &mut [EvalSlot],
    positions: usize,
) -> Result<(), RunError> {
    let values: Vec<&DynValue> = match outputs {
        Outputs::Made(values) => values.iter().collect(),
        Outputs::Bound(values) => values.iter().map(|value| &**value).collect(),
    };
    let numbers = values.into_iter().zip(model.names.outputs());
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
