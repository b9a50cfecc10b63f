//! Positions become the numbers of an input, and the numbers of outputs become evaluations. They are read and
//! written where they lie, in the tensors' own memory.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use ort::value::{DynValue, TensorElementType};
use thiserror::Error;

use super::causes::{in_our_words, is_out_of_memory};
use super::provider::NAME;
use crate::network::backend_error::BackendError;
use crate::network::eval_slot::{EvalSlot, ROUNDING};
use crate::network::onnx::{TensorNames, ValueOutput};
use crate::network::planes::{InputPlanes, PLANES};
use crate::network::policy_map::POLICY_SIZE;
use crate::network::value::Value;

#[derive(Debug, Error)]
pub(super) enum RunError {
    #[error(transparent)]
    Library(#[from] ort::Error),
    /// What is wrong with an output of the model.
    #[error("the output \"{0}\" {1}")]
    Output(String, String),
    #[error(
        "the network gives {} for win, draw and loss, which are no probabilities: if its model has no softmax, \
         `zeitnot onnx2leela --fix-wdl-softmax` adds one", .0.map(|share| format!("{share:.2}")).join(", ")
    )]
    NoProbabilities([f32; 3]),
    #[error(
        "the network gives a value of {0:.2}, and −1 to 1 is expected: its model has no tanh, or this is another \
         output, and `zeitnot onnx2leela --onnx-output-value` names the right one"
    )]
    NoValue(f32),
    #[error(
        "the network's policy adds up to 1, which are probabilities, and raw logits are expected: export the \
         model without the softmax of its policy, or name the output before it: `zeitnot onnx2leela \
         --onnx-output-policy`"
    )]
    NoLogits,
}

impl RunError {
    /// Whether a smaller batch might run.
    pub(super) fn is_out_of_memory(&self) -> bool {
        matches!(self, RunError::Library(error) if is_out_of_memory(&error.to_string()))
    }

    pub(super) fn into_failure(self) -> BackendError {
        let reason = match &self {
            RunError::Library(error) => in_our_words(error),
            own => own.to_string(),
        };
        BackendError::Evaluation {
            backend: NAME.into(),
            reason,
        }
    }
}

/// Writes the positions of `batch`, `size` numbers each, into the beginning of `input`.
pub(super) fn write_batch<T>(
    batch: &[EvalSlot],
    size: usize,
    input: &mut [T],
    write: impl Fn(&InputPlanes, &mut [T]),
) {
    batch
        .iter()
        .zip(input.chunks_exact_mut(size))
        .for_each(|(slot, out)| write(&slot.planes, out));
}

/// Writes `[112, 8, 8]` in 16 bits.
pub(super) fn write_half<T>(planes: &InputPlanes, out: &mut [T])
where
    [T]: HalfFloatSliceExt,
{
    let mut dense = [0.0; PLANES * 64];
    planes.write_dense(&mut dense);
    out.convert_from_f32_slice(&dense);
}

/// The numbers of an output, the value head's in single precision whatever the others have.
#[derive(Clone, Copy)]
pub(super) enum Numbers<'a> {
    Single(&'a [f32]),
    Half(&'a [f16]),
    Brain(&'a [bf16]),
}

impl<'a> Numbers<'a> {
    /// Those of `width` for each of `positions`. A column may be `[batch]`, `[batch, 1]` or
    /// `[batch, 1, 1]`.
    pub(super) fn of(
        value: &'a DynValue,
        (name, width): (&str, usize),
        positions: usize,
    ) -> Result<Numbers<'a>, RunError> {
        let expected = positions * width;
        let shape = value.shape();
        let numbers: i64 = shape.iter().product();
        if numbers != expected as i64 {
            let fault = format!("has the shape {shape:?}: {numbers} numbers, not {expected}");
            return Err(RunError::Output(name.into(), fault));
        }
        Ok(match value.dtype().tensor_type() {
            Some(TensorElementType::Float16) => Numbers::Half(value.try_extract_tensor()?.1),
            Some(TensorElementType::Bfloat16) => Numbers::Brain(value.try_extract_tensor()?.1),
            _ => Numbers::Single(value.try_extract_tensor()?.1),
        })
    }

    fn at(self, place: usize) -> f32 {
        match self {
            Numbers::Single(numbers) => numbers[place],
            Numbers::Half(numbers) => numbers[place].into(),
            Numbers::Brain(numbers) => numbers[place].into(),
        }
    }
}

/// Fills the outputs of all slots of `batch` from those of the network, which are in the order of
/// [`TensorNames::outputs`].
pub(super) fn read_batch(
    names: &TensorNames,
    outputs: &[Numbers<'_>],
    batch: &mut [EvalSlot],
) -> Result<(), RunError> {
    let [policy, value, moves_left @ ..] = outputs else {
        return Err(RunError::Output(names.policy.clone(), "is missing".into()));
    };
    for (row, slot) in batch.iter_mut().enumerate() {
        let (wl, d) = match &names.value {
            ValueOutput::Wdl(_) => value_of([0, 1, 2].map(|column| value.at(3 * row + column)))?,
            ValueOutput::Scalar(_) => (scalar_value(value.at(row))?, 0.0),
        };
        let plies = moves_left.first().map_or(0.0, |plies| plies.at(row));
        // NaN must stay.
        slot.evaluation = Value {
            wl,
            d,
            m: if plies < 0.0 { 0.0 } else { plies },
        };
        let logit = |index: usize| policy.at(row * POLICY_SIZE + index);
        slot.logits.clear();
        slot.logits
            .extend(slot.moves.iter().map(|&index| logit(index.into())));
        let is_share = |logit: &f32| (0.0..=1.0).contains(logit);
        if slot.logits.iter().all(is_share) && !slot.logits.is_empty() {
            let shares = (0..POLICY_SIZE).map(logit);
            let sum: f32 = shares
                .map(|share| if is_share(&share) { share } else { f32::INFINITY })
                .sum();
            if (sum - 1.0).abs() <= ROUNDING {
                return Err(RunError::NoLogits);
            }
        }
    }
    Ok(())
}

/// Wl and d of win, draw and loss. What is no number is refused where that is checked of all backends.
fn value_of(wdl: [f32; 3]) -> Result<(f32, f32), RunError> {
    let [win, draw, loss] = wdl;
    let are_shares = wdl
        .iter()
        .all(|share| (-ROUNDING..=1.0 + ROUNDING).contains(share));
    match are_shares && (win + draw + loss - 1.0).abs() <= ROUNDING {
        false if wdl.iter().all(|share| share.is_finite()) => Err(RunError::NoProbabilities(wdl)),
        _ => Ok((win - loss, draw)),
    }
}

fn scalar_value(value: f32) -> Result<f32, RunError> {
    match value.abs() <= 1.0 + ROUNDING || !value.is_finite() {
        true => Ok(value),
        false => Err(RunError::NoValue(value)),
    }
}

#[cfg(test)]
mod tests {
    use ort::value::Tensor;

    use super::*;

    fn names() -> TensorNames {
        TensorNames {
            input: "input".into(),
            policy: "policy".into(),
            value: ValueOutput::Wdl("wdl".into()),
            moves_left: Some("mlh".into()),
        }
    }

    fn slot() -> EvalSlot {
        EvalSlot {
            moves: [3, 1857].into_iter().collect(),
            ..EvalSlot::default()
        }
    }

    /// Reads a batch of 2 whose policy logits are their own places.
    fn read(wdl: &[f32], mlh: &[f32]) -> Result<Vec<EvalSlot>, RunError> {
        let policy: Vec<_> = (0..2 * POLICY_SIZE).map(|place| place as f32).collect();
        let mut batch = vec![slot(); 2];
        read_batch(&names(), &[&policy, wdl, mlh].map(Numbers::Single), &mut batch)?;
        Ok(batch)
    }

    #[test]
    fn every_position_gets_its_row() {
        let batch = read(&[0.5, 0.25, 0.25, 0.125, 0.5, 0.375], &[7.0, -1.0]).unwrap();
        assert_eq!(
            batch[0].evaluation,
            Value {
                wl: 0.25,
                d: 0.25,
                m: 7.0
            }
        );
        assert_eq!(
            batch[1].evaluation,
            Value {
                wl: -0.25,
                d: 0.5,
                m: 0.0
            }
        );
        assert_eq!(batch[1].logits[..], [1861.0, 3715.0]);
    }

    /// A regression: NaN became 0.
    #[test]
    fn what_is_no_number_stays() {
        assert!(
            !read(&[f32::INFINITY; 6], &[0.0; 2]).unwrap()[0]
                .evaluation
                .wl
                .is_finite()
        );
        let batch = read(&[0.5, 0.25, 0.25].repeat(2), &[1.0, f32::NAN]).unwrap();
        assert!(batch[1].evaluation.m.is_nan());
    }

    /// A regression: a model without softmax played.
    #[test]
    fn values_outside_their_range_are_refused_with_the_remedy() {
        let error = value_of([1.52, -1.647, 1.127]).unwrap_err().to_string();
        assert!(
            error.contains("1.52, -1.65, 1.13") && error.contains("--fix-wdl-softmax"),
            "{error}"
        );
        for wdl in [[50.0, 25.0, 25.0], [0.5, 0.5, 0.5], [0.2; 3]] {
            assert!(
                matches!(value_of(wdl), Err(RunError::NoProbabilities(_))),
                "{wdl:?}"
            );
        }
        assert_eq!(
            value_of([0.5, 0.25, 0.26]).unwrap(),
            (0.5 - 0.26, 0.25),
            "rounding"
        );
        assert!(
            scalar_value(4.46)
                .unwrap_err()
                .to_string()
                .contains("value of 4.46")
        );
        assert_eq!(scalar_value(-1.01).unwrap(), -1.01);
    }

    /// A regression: a second softmax made all moves of such a policy alike.
    #[test]
    fn a_policy_of_probabilities_is_refused_with_the_remedy() {
        let read = |share: f32| {
            let mut policy = [0.0; POLICY_SIZE];
            (policy[3], policy[1000]) = (0.75, share);
            let outputs: [&[f32]; 3] = [&policy, &[0.5, 0.25, 0.25], &[0.0]];
            read_batch(&names(), &outputs.map(Numbers::Single), &mut [slot()])
        };
        assert!(
            read(0.25)
                .unwrap_err()
                .to_string()
                .contains("--onnx-output-policy")
        );
        assert!(read(0.5).is_ok() && read(-0.25).is_ok(), "logits of another sum");
    }

    #[test]
    fn a_batch_fills_the_beginning_of_its_input() {
        let mut slot = EvalSlot::default();
        slot.planes.masks[1] = 1 << 63;
        slot.planes.values[1] = 0.5;
        let mut input = vec![bf16::ZERO; 3 * PLANES * 64];
        write_batch(&[slot.clone(), slot.clone()], PLANES * 64, &mut input, write_half);
        let set: Vec<_> = (0..input.len())
            .filter(|&place| input[place] == bf16::from_f32(0.5))
            .collect();
        assert_eq!(set, [127, PLANES * 64 + 127]);
        assert_eq!(
            input.iter().filter(|number| f32::from(**number) != 0.0).count(),
            2
        );
    }

    #[test]
    #[ignore = "needs ONNX Runtime in the cache, where `zeitnot setup` puts it"]
    fn an_output_has_any_type_and_no_other_size() {
        if let Err(reason) = super::super::Runtime::get(super::super::Provider::Cpu) {
            return eprintln!("SKIPPED: {reason}");
        }
        let column = Tensor::from_array(([2, 1, 1], vec![f16::ONE, f16::ZERO]))
            .unwrap()
            .into_dyn();
        assert_eq!(Numbers::of(&column, ("mlh", 1), 2).unwrap().at(0), 1.0);
        let error = Numbers::of(&column, ("mlh", 1), 3).err().unwrap().to_string();
        assert_eq!(
            error,
            "the output \"mlh\" has the shape [2, 1, 1]: 2 numbers, not 3"
        );
    }
}
