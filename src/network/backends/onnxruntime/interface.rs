//! The inputs and outputs of a model, matched by name with what an evaluation needs.

use ort::session::Session;
use ort::value::{Outlet, TensorElementType, ValueType};
use thiserror::Error;

use crate::network::{PLANES, POLICY_SIZE};

/// The names that a model gives its tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorNames {
    /// Input planes, `[batch, 112, 8, 8]`.
    pub input: String,
    /// Policy logits, `[batch, 1858]`.
    pub policy: String,
    /// Probabilities of win, draw, loss, `[batch, 3]`; a model has this or `value`.
    pub wdl: String,
    /// Expected result in `-1..=1`, `[batch, 1]`.
    pub value: String,
    /// Plies left, `[batch, 1]`; a model may lack it.
    pub moves_left: String,
}

impl Default for TensorNames {
    /// The names in models that Lc0 writes.
    fn default() -> Self {
        TensorNames {
            input: "/input/planes".into(),
            policy: "/output/policy".into(),
            wdl: "/output/wdl".into(),
            value: "/output/value".into(),
            moves_left: "/output/mlh".into(),
        }
    }
}

/// Why a model cannot be used as a network.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum InterfaceError {
    /// A tensor is missing.
    #[error("the model has no {role} \"{wanted}\"; it has {found}")]
    Missing {
        /// Its part in an evaluation.
        role: &'static str,
        /// The name looked for.
        wanted: String,
        /// The names found.
        found: String,
    },
    /// A tensor is not what it should be.
    #[error("the model's \"{name}\" is {found}, expected {expected}")]
    Tensor {
        /// Its name.
        name: String,
        /// Its type and shape.
        found: String,
        /// What would do.
        expected: String,
    },
}

/// The number type of a model's input and outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    F32,
    F16,
    Bf16,
}

/// How to call a model.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    pub input: String,
    pub policy: String,
    pub value: ValueOutput,
    pub moves_left: Option<String>,
    pub element: Element,
    /// The only batch size that the model takes, if it takes but one.
    pub fixed_batch: Option<usize>,
}

/// The value head's output, by name.
#[derive(Clone, Debug)]
pub(super) enum ValueOutput {
    /// `[batch, 3]`: win, draw, loss.
    Wdl(String),
    /// `[batch, 1]`: the expected result.
    Scalar(String),
}

impl Interface {
    /// Finds `names` in `session` and checks types and shapes.
    pub fn of(session: &Session, names: &TensorNames) -> Result<Interface, InterfaceError> {
        let missing = |role, wanted: &str| InterfaceError::Missing {
            role,
            wanted: wanted.into(),
            found: listing(session),
        };
        let find = |name: &str| session.outputs().iter().find(|output| output.name() == name);
        let input = session.inputs().iter().find(|input| input.name() == names.input);
        let input = input.ok_or_else(|| missing("input", &names.input))?;
        let (element, fixed_batch) = input_type(input)?;
        let policy = find(&names.policy).ok_or_else(|| missing("policy output", &names.policy))?;
        check_output(policy, element, POLICY_SIZE)?;
        let value = match (find(&names.wdl), find(&names.value)) {
            (Some(wdl), _) => {
                check_output(wdl, element, 3)?;
                ValueOutput::Wdl(names.wdl.clone())
            }
            (None, Some(value)) => {
                check_output(value, element, 1)?;
                ValueOutput::Scalar(names.value.clone())
            }
            (None, None) => return Err(missing("value output", &names.wdl)),
        };
        let moves_left = find(&names.moves_left);
        moves_left.map(|output| check_output(output, element, 1)).transpose()?;
        Ok(Interface {
            input: names.input.clone(),
            policy: names.policy.clone(),
            value,
            moves_left: moves_left.map(|_| names.moves_left.clone()),
            element,
            fixed_batch,
        })
    }
}

/// All names of a model, for messages.
fn listing(session: &Session) -> String {
    let names = |outlets: &[Outlet]| outlets.iter().map(Outlet::name).collect::<Vec<_>>().join(", ");
    format!("inputs {}; outputs {}", names(session.inputs()), names(session.outputs()))
}

fn input_type(input: &Outlet) -> Result<(Element, Option<usize>), InterfaceError> {
    let fault = || InterfaceError::Tensor {
        name: input.name().into(),
        found: input.dtype().to_string(),
        expected: format!("a tensor of f32, f16 or bf16 of shape [batch, {PLANES}, 8, 8]"),
    };
    let ValueType::Tensor { ty, shape, .. } = input.dtype() else { return Err(fault()) };
    let element = match ty {
        TensorElementType::Float32 => Element::F32,
        TensorElementType::Float16 => Element::F16,
        TensorElementType::Bfloat16 => Element::Bf16,
        _ => return Err(fault()),
    };
    match shape[..] {
        [batch, planes, 8, 8] if planes == PLANES as i64 && batch != 0 => {
            Ok((element, usize::try_from(batch).ok()))
        }
        _ => Err(fault()),
    }
}

/// Checks that `output` has `width` numbers per position; unknown dimensions pass, evaluation checks them again.
fn check_output(output: &Outlet, element: Element, width: usize) -> Result<(), InterfaceError> {
    let fault = || InterfaceError::Tensor {
        name: output.name().into(),
        found: output.dtype().to_string(),
        expected: format!("a tensor of the input's number type of shape [batch, {width}]"),
    };
    let ValueType::Tensor { ty, shape, .. } = output.dtype() else { return Err(fault()) };
    let expected = match element {
        Element::F32 => TensorElementType::Float32,
        Element::F16 => TensorElementType::Float16,
        Element::Bf16 => TensorElementType::Bfloat16,
    };
    let per_position = shape.get(1).copied().unwrap_or(-1);
    if *ty == expected && (per_position < 0 || per_position == width as i64) { Ok(()) } else { Err(fault()) }
}
