//! Evaluates batches in one session: planes in, views of the outputs read back into the slots.

use std::fmt::Debug;

use half::{bf16, f16};
use ort::session::{Session, SessionOutputs};
use ort::value::{PrimitiveTensorElementType, TensorRef};

use super::interface::{Interface, ValueOutput};
use crate::network::{EvalSlot, Evaluation, InputPlanes, PLANES, POLICY_SIZE};

/// Numbers of one position's input.
const INPUT_SIZE: usize = PLANES * 64;

/// A number type of models.
pub(super) trait Number: PrimitiveTensorElementType + Copy + Debug + Default + Send + 'static {
    /// Writes the dense tensor `[112, 8, 8]` into `out`.
    fn write_planes(planes: &InputPlanes, out: &mut [Self]);
    /// The number as `f32`.
    fn to_f32(self) -> f32;
}

impl Number for f32 {
    fn write_planes(planes: &InputPlanes, out: &mut [f32]) {
        planes.write_dense(out);
    }

    fn to_f32(self) -> f32 {
        self
    }
}

impl Number for f16 {
    fn write_planes(planes: &InputPlanes, out: &mut [f16]) {
        write_converted(planes, out, f16::from_f32);
    }

    fn to_f32(self) -> f32 {
        f16::to_f32(self)
    }
}

impl Number for bf16 {
    fn write_planes(planes: &InputPlanes, out: &mut [bf16]) {
        write_converted(planes, out, bf16::from_f32);
    }

    fn to_f32(self) -> f32 {
        bf16::to_f32(self)
    }
}

fn write_converted<T: Number>(planes: &InputPlanes, out: &mut [T], convert: fn(f32) -> T) {
    let mut dense = [0.0; INPUT_SIZE];
    planes.write_dense(&mut dense);
    for (cell, value) in out.iter_mut().zip(dense) {
        *cell = convert(value);
    }
}

/// Runs batches of a model whose numbers are `T`.
#[derive(Debug, Default)]
pub(super) struct Runner<T> {
    /// `[batch, 112, 8, 8]`, as long as the largest batch so far.
    input: Vec<T>,
}

impl<T: Number> Runner<T> {
    /// Fills the outputs of `batch`, which fits the model's batch size; fails with the library's words.
    pub fn run(
        &mut self,
        session: &mut Session,
        interface: &Interface,
        batch: &mut [EvalSlot],
    ) -> Result<(), String> {
        let positions = interface.fixed_batch.unwrap_or(batch.len());
        if self.input.len() < positions * INPUT_SIZE {
            self.input.resize(positions * INPUT_SIZE, T::default());
        }
        for (slot, dense) in batch.iter().zip(self.input.chunks_exact_mut(INPUT_SIZE)) {
            T::write_planes(&slot.planes, dense);
        }
        let input = &self.input[..positions * INPUT_SIZE];
        let text = |error: ort::Error| error.to_string();
        let tensor = TensorRef::from_array_view(([positions, PLANES, 8, 8], input)).map_err(text)?;
        let outputs = session.run(ort::inputs![interface.input.as_str() => tensor]).map_err(text)?;
        read_outputs::<T>(&outputs, interface, positions, batch)
    }
}

fn read_outputs<T: Number>(
    outputs: &SessionOutputs,
    interface: &Interface,
    positions: usize,
    batch: &mut [EvalSlot],
) -> Result<(), String> {
    let rows = |name: &str, width: usize| rows::<T>(outputs, name, positions * width);
    let policy = rows(&interface.policy, POLICY_SIZE)?;
    let moves_left = interface.moves_left.as_deref().map(|name| rows(name, 1)).transpose()?;
    let value = match &interface.value {
        ValueOutput::Wdl(name) => rows(name, 3)?,
        ValueOutput::Scalar(name) => rows(name, 1)?,
    };
    for (i, slot) in batch.iter_mut().enumerate() {
        let (q, d) = match &interface.value {
            ValueOutput::Wdl(_) => {
                let [win, draw, loss] = [0, 1, 2].map(|k| value[3 * i + k].to_f32());
                (win - loss, draw)
            }
            ValueOutput::Scalar(_) => (value[i].to_f32(), 0.0),
        };
        let m = moves_left.map_or(0.0, |plies| plies[i].to_f32().max(0.0));
        slot.evaluation = Evaluation { q, d, m };
        let logits = &policy[i * POLICY_SIZE..][..POLICY_SIZE];
        slot.logits.clear();
        slot.logits.extend(slot.moves.iter().map(|&index| logits[usize::from(index)].to_f32()));
    }
    Ok(())
}

/// The numbers of output `name`, which must be `count`.
fn rows<'a, T: Number>(outputs: &'a SessionOutputs, name: &str, count: usize) -> Result<&'a [T], String> {
    let output = outputs.get(name).ok_or_else(|| format!("the output \"{name}\" did not come"))?;
    let (shape, numbers) = output.try_extract_tensor::<T>().map_err(|error| error.to_string())?;
    if numbers.len() != count {
        return Err(format!(
            "the output \"{name}\" has the shape {shape}: {} numbers, not {count}",
            numbers.len()
        ));
    }
    Ok(numbers)
}
