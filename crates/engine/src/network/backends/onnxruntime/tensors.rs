//! The border to ONNX Runtime: batches become arrays of planes or of packed planes, arrays of known shapes
//! become outputs.
//!
//! All runners fill and read tensors through this module, whatever memory the tensors lie in. The arrays are
//! views of that memory. Nothing is copied that need not be converted.

use std::fmt::Debug;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use ndarray::{ArrayView1, ArrayView2, ArrayViewD, ArrayViewMutD, Axis};
use ort::session::SessionOutputs;
use ort::value::PrimitiveTensorElementType;
use thiserror::Error;

use crate::network::encode::InputFormat;
use crate::network::weights::{InputForm, TensorNames, ValueOutput};
use crate::network::{EvalSlot, InputPlanes, PLANES, POLICY_SIZE, Value};

#[derive(Debug, Error)]
pub(super) enum RunError {
    #[error(transparent)]
    Library(#[from] ort::Error),
    #[error("the output \"{name}\" is missing")]
    MissingOutput { name: String },
    #[error("the output \"{name}\" has the shape {shape:?}: {} numbers, not {expected}", .shape.iter().product::<usize>())]
    OutputShape { name: String, shape: Vec<usize>, expected: usize },
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

pub(super) trait TensorElement:
    PrimitiveTensorElementType + Copy + Debug + Default + Send + 'static
{
}

impl<T: PrimitiveTensorElementType + Copy + Debug + Default + Send + 'static> TensorElement for T {}

pub(super) trait InputElement: TensorElement {
    const FORM: InputForm;
    /// Writes the tensor of one position into `out`.
    fn write(planes: &InputPlanes, format: InputFormat, out: &mut [Self]);
}

impl InputElement for u8 {
    const FORM: InputForm = InputForm::Packed;

    fn write(planes: &InputPlanes, format: InputFormat, out: &mut [u8]) {
        planes.write_packed(format, out);
    }
}

impl InputElement for f32 {
    const FORM: InputForm = InputForm::Planes;

    fn write(planes: &InputPlanes, _: InputFormat, out: &mut [f32]) {
        planes.write_dense(out);
    }
}

/// A number type of outputs, which are read where the device has put them.
pub(super) trait OutputElement: TensorElement + Into<f32> {}

impl<T: TensorElement + Into<f32>> OutputElement for T {}

macro_rules! half_precision {
    ($($half:ident),*) => { $(
        impl InputElement for $half {
            const FORM: InputForm = InputForm::Planes;

            fn write(planes: &InputPlanes, _: InputFormat, out: &mut [$half]) {
                out.convert_from_f32_slice(&dense(planes));
            }
        }
    )* };
}

half_precision!(f16, bf16);

fn dense(planes: &InputPlanes) -> [f32; PLANES * 64] {
    let mut dense = [0.0; _];
    planes.write_dense(&mut dense);
    dense
}

pub(super) fn input_shape<I: InputElement>(positions: usize) -> Vec<usize> {
    [&[positions], I::FORM.sizes()].concat()
}

/// Writes the inputs of all positions of `batch`, encoded in `format`, into the first rows of `input`, whose
/// [shape](input_shape) is for as many positions or more.
///
/// # Panics
/// Panics if `input` is not in standard layout, in which all tensors of ONNX Runtime are.
pub(super) fn write_batch<I: InputElement>(
    batch: &[EvalSlot],
    format: InputFormat,
    mut input: ArrayViewMutD<'_, I>,
) {
    for (slot, mut row) in batch.iter().zip(input.outer_iter_mut()) {
        I::write(&slot.planes, format, row.as_slice_mut().expect("tensors are in standard layout"));
    }
}

/// The outputs of a batch. Each array has one row for each position.
pub(super) struct BatchOutputs<'a, T> {
    /// `[batch, 1858]`, raw logits.
    policy: ArrayView2<'a, T>,
    value: ValueRows<'a, T>,
    /// `[batch]`, plies, or `None` without a Moves Left Head.
    moves_left: Option<ArrayView1<'a, T>>,
}

enum ValueRows<'a, T> {
    /// `[batch, 3]`: probabilities of win, draw and loss for the side to move.
    Wdl(ArrayView2<'a, T>),
    /// `[batch]`: the expected result of the side to move in `-1..=1`.
    Scalar(ArrayView1<'a, T>),
}

impl<'a, T: OutputElement> BatchOutputs<'a, T> {
    /// Takes the outputs of `positions` positions. `output` returns the array of an output by its name.
    pub(super) fn of(
        names: &TensorNames,
        positions: usize,
        output: impl Fn(&str) -> Result<ArrayViewD<'a, T>, RunError>,
    ) -> Result<BatchOutputs<'a, T>, RunError> {
        let rows = |name: &str, width: usize| {
            let array = output(name)?;
            let shape = array.shape().to_vec();
            // Files differ in how they write a column of numbers: [batch], [batch, 1] or [batch, 1, 1].
            array.into_shape_with_order((positions, width)).map_err(|_| RunError::OutputShape {
                name: name.to_owned(),
                shape,
                expected: positions * width,
            })
        };
        let column = |name: &str| Ok::<_, RunError>(rows(name, 1)?.index_axis_move(Axis(1), 0));
        Ok(BatchOutputs {
            policy: rows(&names.policy, POLICY_SIZE)?,
            value: match &names.value {
                ValueOutput::Wdl(name) => ValueRows::Wdl(rows(name, 3)?),
                ValueOutput::Scalar(name) => ValueRows::Scalar(column(name)?),
            },
            moves_left: names.moves_left.as_deref().map(column).transpose()?,
        })
    }

    /// Fills the outputs of all slots of `batch` from the rows of their places.
    pub(super) fn read_into(&self, batch: &mut [EvalSlot]) -> Result<(), RunError> {
        batch.iter_mut().enumerate().try_for_each(|(row, slot)| self.read_row(row, slot))
    }

    fn read_row(&self, row: usize, slot: &mut EvalSlot) -> Result<(), RunError> {
        let (q, d) = match &self.value {
            ValueRows::Wdl(wdl) => value_of([0, 1, 2].map(|column| wdl[[row, column]].into()))?,
            ValueRows::Scalar(value) => (scalar_value(value[row].into())?, 0.0),
        };
        let plies = self.moves_left.map_or(0.0, |plies| plies[row].into());
        // NaN must stay.
        let m = if plies < 0.0 { 0.0 } else { plies };
        slot.evaluation = Value { wl: q, d, m };
        let policy = self.policy.row(row);
        slot.logits.clear();
        slot.logits.extend(slot.moves.iter().map(|&index| policy[usize::from(index)].into()));
        let is_share = |logit: &f32| (0.0..=1.0).contains(logit);
        if slot.logits.iter().all(is_share) && !slot.logits.is_empty() {
            let shares = policy.iter().map(|&logit| logit.into());
            let sum: f32 = shares.map(|share| if is_share(&share) { share } else { f32::INFINITY }).sum();
            if (sum - 1.0).abs() <= ROUNDING {
                return Err(RunError::NoLogits);
            }
        }
        Ok(())
    }
}

/// Probabilities and values may be outside their range, and sums of probabilities beside 1, by this: numbers
/// of 16 bits round.
const ROUNDING: f32 = 0.03;

/// Returns q and d of win, draw and loss. What is no number is refused where that is checked of all backends.
fn value_of(wdl: [f32; 3]) -> Result<(f32, f32), RunError> {
    let [win, draw, loss] = wdl;
    let are_shares = wdl.iter().all(|share| (-ROUNDING..=1.0 + ROUNDING).contains(share));
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

pub(super) fn output_array<'a, T: OutputElement>(
    outputs: &'a SessionOutputs,
    name: &str,
) -> Result<ArrayViewD<'a, T>, RunError> {
    let output = outputs.get(name).ok_or_else(|| RunError::MissingOutput { name: name.to_owned() })?;
    Ok(output.try_extract_array()?)
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, Array2, Array3, ArrayD};

    use super::*;

    fn names() -> TensorNames {
        TensorNames {
            input: "input".into(),
            policy: "policy".into(),
            value: ValueOutput::Wdl("wdl".into()),
            moves_left: Some("mlh".into()),
        }
    }

    /// Reads a batch of 2 whose policy logits are their own places, with the array `mlh`.
    fn read(wdl: &Array2<f32>, mlh: ArrayViewD<'_, f32>) -> Result<Vec<EvalSlot>, RunError> {
        let policy = Array2::from_shape_fn((2, POLICY_SIZE), |(row, column)| (10_000 * row + column) as f32);
        let slot = EvalSlot { moves: [3, 1857].into_iter().collect(), ..EvalSlot::default() };
        let mut batch = vec![slot; 2];
        let output = |name: &str| match name {
            "policy" => Ok(policy.view().into_dyn()),
            "wdl" => Ok(wdl.view().into_dyn()),
            "mlh" => Ok(mlh.clone()),
            _ => Err(RunError::MissingOutput { name: name.into() }),
        };
        BatchOutputs::of(&names(), 2, output)?.read_into(&mut batch)?;
        Ok(batch)
    }

    #[test]
    fn every_position_gets_its_row() {
        let wdl = Array2::from_shape_vec((2, 3), vec![0.5, 0.25, 0.25, 0.125, 0.5, 0.375]).unwrap();
        for mlh in [
            Array1::from_vec(vec![7.0, -1.0]).into_dyn(),
            Array3::from_shape_vec((2, 1, 1), vec![7.0, -1.0]).unwrap().into_dyn(),
        ] {
            let batch = read(&wdl, mlh.view()).unwrap();
            assert_eq!(batch[0].evaluation, Value { wl: 0.25, d: 0.25, m: 7.0 });
            assert_eq!(batch[1].evaluation, Value { wl: -0.25, d: 0.5, m: 0.0 });
            assert_eq!(batch[1].logits[..], [10_003.0, 11_857.0]);
        }
    }

    #[test]
    fn outputs_of_another_shape_are_refused_and_what_is_no_number_stays() {
        let wdl = Array2::from_elem((2, 3), 1.0 / 3.0);
        let error = read(&wdl, Array1::from_vec(vec![1.0; 3]).view().into_dyn()).unwrap_err().to_string();
        assert_eq!(error, "the output \"mlh\" has the shape [3]: 3 numbers, not 2");
        let infinite = read(&Array2::from_elem((2, 3), f32::INFINITY), Array1::zeros(2).view().into_dyn());
        assert!(!infinite.unwrap()[0].evaluation.wl.is_finite());
        // A regression: NaN became 0.
        let wdl = Array2::from_shape_vec((2, 3), [0.5, 0.25, 0.25].repeat(2)).unwrap();
        let batch = read(&wdl, Array1::from_vec(vec![1.0, f32::NAN]).view().into_dyn()).unwrap();
        assert!(batch[1].evaluation.m.is_nan());
    }

    /// A regression: a model without softmax played.
    #[test]
    fn values_outside_their_range_are_refused_with_the_remedy() {
        let error = value_of([1.52, -1.647, 1.127]).unwrap_err().to_string();
        assert!(error.contains("1.52, -1.65, 1.13") && error.contains("--fix-wdl-softmax"), "{error}");
        for wdl in [[50.0, 25.0, 25.0], [0.5, 0.5, 0.5], [0.2; 3]] {
            assert!(matches!(value_of(wdl), Err(RunError::NoProbabilities(_))), "{wdl:?}");
        }
        assert_eq!(value_of([0.5, 0.25, 0.26]).unwrap(), (0.5 - 0.26, 0.25), "rounding");
        assert!(scalar_value(4.46).unwrap_err().to_string().contains("value of 4.46"));
        assert_eq!(scalar_value(-1.01).unwrap(), -1.01);
    }

    /// A regression: a second softmax made all moves of such a policy alike.
    #[test]
    fn a_policy_of_probabilities_is_refused_with_the_remedy() {
        let read = |share: f32| {
            let mut policy = Array2::from_elem((1, POLICY_SIZE), 0.0_f32);
            (policy[[0, 3]], policy[[0, 1000]]) = (0.75, share);
            let wdl = Array2::from_shape_vec((1, 3), vec![0.5, 0.25, 0.25]).unwrap();
            let mlh = Array1::<f32>::zeros(1);
            let output = |name: &str| match name {
                "policy" => Ok(policy.view().into_dyn()),
                "wdl" => Ok(wdl.view().into_dyn()),
                _ => Ok(mlh.view().into_dyn()),
            };
            let mut batch = [EvalSlot { moves: [3, 1857].into_iter().collect(), ..EvalSlot::default() }];
            BatchOutputs::of(&names(), 1, output)?.read_into(&mut batch)
        };
        assert!(read(0.25).unwrap_err().to_string().contains("--onnx-output-policy"));
        assert!(read(0.5).is_ok() && read(-0.25).is_ok(), "logits of another sum");
    }

    #[test]
    fn a_batch_fills_the_first_rows_of_its_array() {
        let mut slot = EvalSlot::default();
        slot.planes.masks[1] = 1 << 63;
        slot.planes.values[1] = 0.5;
        let mut input = ArrayD::<bf16>::default(input_shape::<bf16>(3));
        write_batch(&[slot.clone(), slot.clone()], InputFormat::default(), input.view_mut());
        let half = bf16::from_f32(0.5);
        let is_set = |square: &[usize]| input[square] == half;
        assert!(is_set(&[0, 1, 7, 7]) && is_set(&[1, 1, 7, 7]));
        assert_eq!(input.iter().filter(|number| f32::from(**number) != 0.0).count(), 2);
        slot.planes.values[1] = 1.0;
        let mut packed = ArrayD::<u8>::default(input_shape::<u8>(2));
        write_batch(&[slot], InputFormat::default(), packed.view_mut());
        assert_eq!(
            (packed[[0, 1, 7].as_slice()], packed.iter().filter(|&&byte| byte != 0).count()),
            (128, 1)
        );
    }
}
