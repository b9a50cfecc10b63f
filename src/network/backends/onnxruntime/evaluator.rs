//! Evaluates batches in one session: planes in, views of the outputs read back into the slots.

use std::fmt::Debug;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use ort::memory::AllocationDevice;
use ort::session::{Session, SessionOutputs};
use ort::value::{PrimitiveTensorElementType, TensorRef};

use super::bound::BoundRunner;
use super::graphs::GraphRunner;
use crate::network::weights::{DataType, TensorNames, ValueOutput};
use crate::network::{EvalSlot, Evaluation, InputPlanes, PLANES, POLICY_SIZE};

/// Numbers of one position's input.
const INPUT_SIZE: usize = PLANES * 64;

/// How to call a model.
#[derive(Clone, Debug)]
pub(super) struct ModelInterface {
    pub names: TensorNames,
    /// The only batch size that the model takes, if it takes but one.
    pub fixed_batch: Option<usize>,
}

/// Runs batches of one model, whatever its number type.
pub(super) trait RunBatch: Debug + Send {
    /// Fills the outputs of `batch`, which fits the model's batch size; fails with the library's words.
    fn run(
        &mut self,
        session: &mut Session,
        interface: &ModelInterface,
        batch: &mut [EvalSlot],
    ) -> Result<(), String>;
}

/// Where a batch's numbers lie on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostMemory {
    /// Anywhere; sessions on a CPU read it there.
    Plain,
    /// Where a GPU of NVIDIA's can fetch and put them itself; batches then have few sizes, each with its tensors.
    Pinned { gpu: u32 },
    /// As before, and the GPU replays what it recorded of each batch size: [`GraphRunner`].
    Recorded { gpu: u32 },
}

/// The runner for models of this type.
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
            let memories = (AllocationDevice::CUDA, AllocationDevice::CUDA_PINNED);
            Box::new(GraphRunner::<T>::new(memories, gpu as i32))
        }
    }
}

/// A number type of models.
pub(super) trait TensorElement:
    PrimitiveTensorElementType + Copy + Debug + Default + Send + 'static
{
    /// Writes the dense tensor `[112, 8, 8]` into `out`.
    fn write_planes(planes: &InputPlanes, out: &mut [Self]);
    /// The number as `f32`.
    fn to_f32(self) -> f32;
}

impl TensorElement for f32 {
    fn write_planes(planes: &InputPlanes, out: &mut [f32]) {
        planes.write_dense(out);
    }

    fn to_f32(self) -> f32 {
        self
    }
}

impl TensorElement for f16 {
    fn write_planes(planes: &InputPlanes, out: &mut [f16]) {
        out.convert_from_f32_slice(&dense(planes));
    }

    fn to_f32(self) -> f32 {
        f16::to_f32(self)
    }
}

impl TensorElement for bf16 {
    fn write_planes(planes: &InputPlanes, out: &mut [bf16]) {
        out.convert_from_f32_slice(&dense(planes));
    }

    fn to_f32(self) -> f32 {
        bf16::to_f32(self)
    }
}

fn dense(planes: &InputPlanes) -> [f32; INPUT_SIZE] {
    let mut dense = [0.0; INPUT_SIZE];
    planes.write_dense(&mut dense);
    dense
}

/// Writes the planes of all positions, one behind the other, to `input`: `[batch, 112, 8, 8]`, or longer.
pub(super) fn write_batch<T: TensorElement>(batch: &[EvalSlot], input: &mut [T]) {
    for (slot, dense) in batch.iter().zip(input.chunks_exact_mut(INPUT_SIZE)) {
        T::write_planes(&slot.planes, dense);
    }
}

#[derive(Debug, Default)]
struct PlainRunner<T> {
    /// `[batch, 112, 8, 8]`, as long as the largest batch so far.
    input: Vec<T>,
}

impl<T: TensorElement> RunBatch for PlainRunner<T> {
    fn run(
        &mut self,
        session: &mut Session,
        interface: &ModelInterface,
        batch: &mut [EvalSlot],
    ) -> Result<(), String> {
        let positions = interface.fixed_batch.unwrap_or(batch.len());
        if self.input.len() < positions * INPUT_SIZE {
            self.input.resize(positions * INPUT_SIZE, T::default());
        }
        write_batch(batch, &mut self.input);
        let input = &self.input[..positions * INPUT_SIZE];
        let text = |error: ort::Error| error.to_string();
        let tensor = TensorRef::from_array_view(([positions, PLANES, 8, 8], input)).map_err(text)?;
        let outputs = session.run(ort::inputs![interface.names.input.as_str() => tensor]).map_err(text)?;
        let outputs =
            Outputs::<T>::of(&interface.names, positions, |name, count| numbers(&outputs, name, count))?;
        batch.iter_mut().enumerate().try_for_each(|(row, slot)| outputs.read(row, slot))
    }
}

/// Views of a batch's outputs, checked for their sizes.
pub(super) struct Outputs<'a, T> {
    /// `[batch, 1858]`
    policy: &'a [T],
    value: ValueRows<'a, T>,
    /// `[batch, 1]`
    moves_left: Option<&'a [T]>,
}

enum ValueRows<'a, T> {
    /// `[batch, 3]`
    Wdl(&'a [T]),
    /// `[batch, 1]`
    Scalar(&'a [T]),
}

impl<'a, T: TensorElement> Outputs<'a, T> {
    /// `numbers` finds those of an output by its name and makes sure of their count.
    pub(super) fn of(
        names: &TensorNames,
        positions: usize,
        numbers: impl Fn(&str, usize) -> Result<&'a [T], String>,
    ) -> Result<Outputs<'a, T>, String> {
        let rows = |name: &str, width: usize| numbers(name, positions * width);
        Ok(Outputs {
            policy: rows(&names.policy, POLICY_SIZE)?,
            value: match &names.value {
                ValueOutput::Wdl(name) => ValueRows::Wdl(rows(name, 3)?),
                ValueOutput::Scalar(name) => ValueRows::Scalar(rows(name, 1)?),
            },
            moves_left: names.moves_left.as_deref().map(|name| rows(name, 1)).transpose()?,
        })
    }

    /// Fills the outputs of `slot` from row `row`.
    pub(super) fn read(&self, row: usize, slot: &mut EvalSlot) -> Result<(), String> {
        let (q, d) = match &self.value {
            ValueRows::Wdl(wdl) => {
                let [win, draw, loss] = [0, 1, 2].map(|i| wdl[3 * row + i].to_f32());
                (win - loss, draw)
            }
            ValueRows::Scalar(value) => (value[row].to_f32(), 0.0),
        };
        let m = self.moves_left.map_or(0.0, |plies| plies[row].to_f32().max(0.0));
        slot.evaluation = Evaluation { q, d, m };
        let policy = &self.policy[row * POLICY_SIZE..][..POLICY_SIZE];
        slot.logits.clear();
        slot.logits.extend(slot.moves.iter().map(|&index| policy[usize::from(index)].to_f32()));
        let is_finite = (q + d + m + slot.logits.iter().sum::<f32>()).is_finite();
        if is_finite { Ok(()) } else { Err("the network gave numbers that are not finite".into()) }
    }
}

/// The numbers of output `name`, which must be `count`.
pub(super) fn numbers<'a, T: TensorElement>(
    outputs: &'a SessionOutputs,
    name: &str,
    count: usize,
) -> Result<&'a [T], String> {
    let output = outputs.get(name).ok_or_else(|| format!("the output \"{name}\" did not come"))?;
    let (shape, numbers) = output.try_extract_tensor::<T>().map_err(|error| error.to_string())?;
    if numbers.len() != count {
        let found = numbers.len();
        return Err(format!("the output \"{name}\" has the shape {shape}: {found} numbers, not {count}"));
    }
    Ok(numbers)
}
