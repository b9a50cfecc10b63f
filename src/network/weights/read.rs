//! Turns the layers of a file into a [`Network`], checking every size against the format on the way.

use super::error::NetworkErrorKind;
use super::format::{BodyKind, NetworkFormat, PolicyKind, ValueKind};
use super::heads::{PolicyLayers, ValueLayers};
use super::layer::{self, ConvolutionShape, DenseSize};
use super::message::{ConvBlock, Layer, Residual, SeUnit, Weights};
use super::network::{
    Activation, Body, CONVOLUTION_POLICY_PLANES, HeadInput, Network, PolicyHead, ResidualBlock, SQUARES,
    ScalarHead, SqueezeExcite, Tower,
};
use super::{HeadChoice, attention};
use crate::network::{PLANES, POLICY_SIZE};

/// Returns the network with the heads of `choice`; all other heads are dropped undecoded.
///
/// # Errors
/// Returns an error for the first part that is missing, of the wrong size, or not finite.
pub fn network(
    mut weights: Weights,
    format: NetworkFormat,
    choice: HeadChoice,
) -> Result<Network, NetworkErrorKind> {
    let policy_layers = PolicyLayers::take(&mut weights, choice.policy)?;
    let value_layers = ValueLayers::take(&mut weights, choice.value)?;
    let moves_left_layers = MovesLeftLayers::take(&mut weights);

    let body = match format.body {
        BodyKind::Tower => Body::Tower(tower(weights.input, weights.residual)?),
        BodyKind::Attention => Body::Attention(attention::body(weights, &format)?),
    };
    let policy = policy_head(policy_layers, &body, &format)?;
    let value = value_head(value_layers, &body, &format)?;
    let moves_left = if format.moves_left { Some(moves_left_layers.head(&body)?) } else { None };
    Ok(Network { input_format: format.input, activation: format.activation, body, policy, value, moves_left })
}

/// Returns the residual tower.
///
/// # Errors
/// Fails as [`network`] does.
pub(super) fn tower(input: Option<ConvBlock>, residual: Vec<Residual>) -> Result<Tower, NetworkErrorKind> {
    let shape = ConvolutionShape { inputs: PLANES, outputs: None, kernel: 3 };
    let input = layer::convolution(input, "input convolution", shape)?;
    let filters = input.outputs;
    let blocks = residual
        .into_iter()
        .enumerate()
        .map(|(index, block)| residual_block(block, &format!("block {index}"), filters))
        .collect::<Result<Vec<_>, _>>()?;
    if blocks.is_empty() {
        let reason = "a tower needs at least one residual block".into();
        return Err(NetworkErrorKind::Missing { part: "residual blocks".into(), reason });
    }
    Ok(Tower { input, blocks })
}

fn residual_block(block: Residual, part: &str, filters: usize) -> Result<ResidualBlock, NetworkErrorKind> {
    let shape = ConvolutionShape { inputs: filters, outputs: Some(filters), kernel: 3 };
    Ok(ResidualBlock {
        conv1: layer::convolution(block.conv1, &format!("{part} conv1"), shape)?,
        conv2: layer::convolution(block.conv2, &format!("{part} conv2"), shape)?,
        se: block.se.map(|se| squeeze_excite(se, &format!("{part} SE"), filters)).transpose()?,
    })
}

fn squeeze_excite(se: SeUnit, part: &str, filters: usize) -> Result<SqueezeExcite, NetworkErrorKind> {
    let squeeze = layer::dense(se.w1, se.b1, &format!("{part} squeeze"), filters)?;
    let size = DenseSize { inputs: squeeze.outputs, outputs: 2 * filters };
    let excite = layer::dense_sized(se.w2, se.b2, &format!("{part} excite"), size)?;
    Ok(SqueezeExcite { squeeze, excite })
}

fn policy_head(
    layers: PolicyLayers,
    body: &Body,
    format: &NetworkFormat,
) -> Result<PolicyHead, NetworkErrorKind> {
    let width = body.width();
    match format.policy {
        PolicyKind::Classical => {
            let shape = ConvolutionShape { inputs: width, outputs: None, kernel: 1 };
            let convolution = layer::convolution(layers.policy, "policy convolution", shape)?;
            let size = DenseSize { inputs: convolution.outputs * SQUARES, outputs: POLICY_SIZE };
            let dense = layer::dense_sized(layers.ip_pol_w, layers.ip_pol_b, "policy dense", size)?;
            Ok(PolicyHead::Classical { convolution, dense })
        }
        PolicyKind::Convolution => {
            let shape = ConvolutionShape { inputs: width, outputs: Some(width), kernel: 3 };
            let conv1 = layer::convolution(layers.policy1, "policy conv1", shape)?;
            let shape = ConvolutionShape { outputs: None, ..shape };
            let conv2 = layer::convolution(layers.policy, "policy conv2", shape)?;
            if conv2.outputs < CONVOLUTION_POLICY_PLANES {
                return Err(NetworkErrorKind::Size {
                    part: "policy conv2".into(),
                    what: "planes".into(),
                    expected: CONVOLUTION_POLICY_PLANES,
                    shape: "the moves".into(),
                    found: conv2.outputs,
                });
            }
            Ok(PolicyHead::Convolution { conv1, conv2 })
        }
        PolicyKind::Attention => {
            // Lc0 gives towers SELU here whatever the format says.
            let activation = match format.body {
                BodyKind::Tower => Activation::Selu,
                BodyKind::Attention => format.activation,
            };
            let policy = attention::policy(layers, width, activation, format)?;
            Ok(PolicyHead::Attention(Box::new(policy)))
        }
    }
}

fn value_head(
    layers: ValueLayers,
    body: &Body,
    format: &NetworkFormat,
) -> Result<ScalarHead, NetworkErrorKind> {
    let outputs = match format.value {
        ValueKind::Classical => 1,
        ValueKind::Wdl => 3,
    };
    let input = head_input(layers.value, layers.ip_val_w, layers.ip_val_b, "value", body)?;
    let inputs = input.channels() * SQUARES;
    let hidden = layer::dense(layers.ip1_val_w, layers.ip1_val_b, "value dense1", inputs)?;
    let size = DenseSize { inputs: hidden.outputs, outputs };
    let output = layer::dense_sized(layers.ip2_val_w, layers.ip2_val_b, "value dense2", size)?;
    Ok(ScalarHead { input, hidden, output })
}

/// Returns the layer that reads a head's input. Towers read it by a 1x1 convolution, attention bodies by a dense layer
/// per square.
fn head_input(
    convolution: Option<ConvBlock>,
    weights: Option<Layer>,
    bias: Option<Layer>,
    head: &str,
    body: &Body,
) -> Result<HeadInput, NetworkErrorKind> {
    let inputs = body.width();
    match body {
        Body::Tower(_) => {
            let shape = ConvolutionShape { inputs, outputs: None, kernel: 1 };
            layer::convolution(convolution, &format!("{head} convolution"), shape).map(HeadInput::Convolution)
        }
        Body::Attention(_) => {
            layer::dense(weights, bias, &format!("{head} embedding"), inputs).map(HeadInput::PerSquare)
        }
    }
}

/// The layers of the Moves Left Head.
struct MovesLeftLayers {
    moves_left: Option<ConvBlock>,
    ip_mov_w: Option<Layer>,
    ip_mov_b: Option<Layer>,
    ip1_mov_w: Option<Layer>,
    ip1_mov_b: Option<Layer>,
    ip2_mov_w: Option<Layer>,
    ip2_mov_b: Option<Layer>,
}

impl MovesLeftLayers {
    fn take(weights: &mut Weights) -> MovesLeftLayers {
        MovesLeftLayers {
            moves_left: weights.moves_left.take(),
            ip_mov_w: weights.ip_mov_w.take(),
            ip_mov_b: weights.ip_mov_b.take(),
            ip1_mov_w: weights.ip1_mov_w.take(),
            ip1_mov_b: weights.ip1_mov_b.take(),
            ip2_mov_w: weights.ip2_mov_w.take(),
            ip2_mov_b: weights.ip2_mov_b.take(),
        }
    }

    fn head(self, body: &Body) -> Result<ScalarHead, NetworkErrorKind> {
        let input = head_input(self.moves_left, self.ip_mov_w, self.ip_mov_b, "moves left", body)?;
        let inputs = input.channels() * SQUARES;
        let hidden = layer::dense(self.ip1_mov_w, self.ip1_mov_b, "moves left dense1", inputs)?;
        let size = DenseSize { inputs: hidden.outputs, outputs: 1 };
        let output = layer::dense_sized(self.ip2_mov_w, self.ip2_mov_b, "moves left dense2", size)?;
        Ok(ScalarHead { input, hidden, output })
    }
}
