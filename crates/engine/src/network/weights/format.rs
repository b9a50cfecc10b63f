//! The checked format fields of a network file, with defaults for old files.

use super::NetworkErrorKind;
use super::message::{self, Weights};
use super::network::Activation;
use crate::network::encode::InputFormat;

/// After the corrections for old files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkFormat {
    pub input: InputFormat,
    pub body: BodyKind,
    pub policy: PolicyKind,
    pub value: ValueKind,
    pub moves_left: bool,
    /// Where no other is named.
    pub activation: Activation,
    pub(crate) smolgen_activation: Activation,
    /// In feed-forward parts. `None` means that of the surrounding part.
    pub(crate) ffn_activation: Option<Activation>,
    pub embedding: EmbeddingKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// With or without squeeze and excitation per block.
    Tower,
    Attention,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    Classical,
    /// Two convolutions, mapped to moves.
    Convolution,
    Attention,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// One output through tanh.
    Classical,
    Wdl,
}

/// What an attention body reads per square besides the planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingKind {
    /// Not named: only possible behind a tower.
    None,
    /// A constant table (Lc0's PE_MAP).
    Table,
    /// A dense layer over all pieces (Lc0's PE_DENSE).
    Pieces,
}

// `NetworkFormat.network` in Lc0's proto.
const CLASSICAL: i32 = 1;
const SE: i32 = 2;
const CLASSICAL_WITH_HEADFORMAT: i32 = 3;
const SE_WITH_HEADFORMAT: i32 = 4;
pub(super) const ONNX: i32 = 5;
const ATTENTION_BODY: i32 = 6;
const ATTENTION_BODY_MULTIHEAD: i32 = 7;
const ATTENTION_BODY_MULTIHEAD_LEGACY: i32 = 134;

const RELU_2: i32 = 8;
const SWISH: i32 = 7;
const TABLE: i32 = 1;
const PIECES: i32 = 2;

pub(crate) fn layers_format(
    declared: Option<message::NetworkFormat>,
    weights: &Weights,
) -> Result<NetworkFormat, NetworkErrorKind> {
    let fields = correct_old(declared, weights);
    let body = match fields.network.unwrap_or_default() {
        CLASSICAL_WITH_HEADFORMAT | SE_WITH_HEADFORMAT => BodyKind::Tower,
        ATTENTION_BODY | ATTENTION_BODY_MULTIHEAD => BodyKind::Attention,
        ONNX => {
            let reason = "the format says ONNX, but the file holds layers".into();
            return Err(NetworkErrorKind::Mismatch { part: "format.network".into(), reason });
        }
        found => {
            let supported = "1 classical, 2 SE, 3 and 4 the same with head formats, 5 ONNX, 6 attention body, \
                             7 and 134 attention body with several heads";
            return Err(unsupported("format.network", found, supported));
        }
    };
    let policy = match fields.policy.unwrap_or_default() {
        1 => PolicyKind::Classical,
        2 => PolicyKind::Convolution,
        3 => PolicyKind::Attention,
        found => {
            return Err(unsupported("format.policy", found, "1 classical, 2 convolution, 3 attention"));
        }
    };
    if body == BodyKind::Attention && policy != PolicyKind::Attention {
        let found = format!("{policy:?} policy on an attention body");
        return Err(NetworkErrorKind::Unsupported {
            part: "format.policy".into(),
            found,
            supported: "3 attention".into(),
        });
    }
    let value = match fields.value.unwrap_or_default() {
        1 => ValueKind::Classical,
        2 => ValueKind::Wdl,
        found => return Err(unsupported("format.value", found, "1 classical, 2 WDL")),
    };
    let moves_left = match fields.moves_left.unwrap_or_default() {
        0 => false,
        1 => true,
        found => return Err(unsupported("format.moves_left", found, "0 none, 1 V1")),
    };
    let activation = match fields.default_activation.unwrap_or_default() {
        0 => Activation::Relu,
        1 => Activation::Mish,
        found => return Err(unsupported("format.default_activation", found, "0 ReLU, 1 Mish")),
    };
    let embedding = match fields.input_embedding.unwrap_or_default() {
        0 => EmbeddingKind::None,
        TABLE => EmbeddingKind::Table,
        PIECES => EmbeddingKind::Pieces,
        found => return Err(unsupported("format.input_embedding", found, "0 none, 1 PE_MAP, 2 PE_DENSE")),
    };
    let smolgen = activation_of("format.smolgen_activation", fields.smolgen_activation)?;
    Ok(NetworkFormat {
        input: input_format(fields.input)?,
        body,
        policy,
        value,
        moves_left,
        activation,
        smolgen_activation: smolgen.unwrap_or(activation),
        ffn_activation: activation_of("format.ffn_activation", fields.ffn_activation)?,
        embedding,
    })
}

/// By the number in Lc0's proto.
pub(crate) fn input_format(number: Option<i32>) -> Result<InputFormat, NetworkErrorKind> {
    let number = number.unwrap_or_default();
    InputFormat::from_number(number).ok_or_else(|| {
        unsupported("format.input", number, "1, 2, 3, 4, 5, 132 and 133 (112 planes in Lc0's variants)")
    })
}

/// Corrects formats from before a field existed, or from tools that wrote it wrong.
fn correct_old(declared: Option<message::NetworkFormat>, weights: &Weights) -> message::NetworkFormat {
    let Some(mut fields) = declared else {
        return message::NetworkFormat {
            input: Some(1),
            network: Some(CLASSICAL_WITH_HEADFORMAT),
            policy: Some(1),
            value: Some(1),
            ..Default::default()
        };
    };
    match fields.network.unwrap_or_default() {
        old @ (CLASSICAL | SE) => {
            let new = if old == SE { SE_WITH_HEADFORMAT } else { CLASSICAL_WITH_HEADFORMAT };
            fields.network = Some(new);
            fields.policy = Some(1);
            fields.value = Some(1);
        }
        SE_WITH_HEADFORMAT if !weights.encoder.is_empty() => {
            fields.network = Some(ATTENTION_BODY);
            if weights.smolgen_w.is_some() {
                fields.ffn_activation = Some(RELU_2);
                fields.smolgen_activation = Some(SWISH);
            }
        }
        ATTENTION_BODY_MULTIHEAD_LEGACY => fields.network = Some(ATTENTION_BODY_MULTIHEAD),
        _ => {}
    }
    if fields.network == Some(ATTENTION_BODY) {
        if weights.policy_heads.is_some() && weights.value_heads.is_some() {
            fields.network = Some(ATTENTION_BODY_MULTIHEAD);
            fields.input_embedding = Some(PIECES);
        }
        fields.input_embedding.get_or_insert(TABLE);
    }
    fields
}

/// `None` for "the default".
fn activation_of(part: &str, number: Option<i32>) -> Result<Option<Activation>, NetworkErrorKind> {
    match number.unwrap_or_default() {
        0 => Ok(None),
        1 => Ok(Some(Activation::Mish)),
        2 => Ok(Some(Activation::Relu)),
        3 => Ok(Some(Activation::None)),
        4 => Ok(Some(Activation::Tanh)),
        5 => Ok(Some(Activation::Sigmoid)),
        6 => Ok(Some(Activation::Selu)),
        SWISH => Ok(Some(Activation::Swish)),
        RELU_2 => Ok(Some(Activation::Relu2)),
        found => Err(unsupported(
            part,
            found,
            "0 default, 1 Mish, 2 ReLU, 3 none, 4 tanh, 5 sigmoid, 6 SELU, 7 Swish, 8 ReLU²",
        )),
    }
}

fn unsupported(part: &str, found: i32, supported: &str) -> NetworkErrorKind {
    NetworkErrorKind::Unsupported { part: part.into(), found: found.to_string(), supported: supported.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use message::{PolicyHeads, ValueHeads};

    fn declared(network: i32) -> message::NetworkFormat {
        let mut fields = message::NetworkFormat { input: Some(1), ..Default::default() };
        (fields.network, fields.policy, fields.value) = (Some(network), Some(3), Some(2));
        fields
    }

    #[test]
    fn heads_in_the_plural_mean_an_embedding_of_pieces_unless_the_format_is_new() {
        let weights = Weights {
            policy_heads: Some(PolicyHeads::default()),
            value_heads: Some(ValueHeads::default()),
            ..Default::default()
        };
        let embedding = |network, embedding| {
            let fields = message::NetworkFormat { input_embedding: embedding, ..declared(network) };
            layers_format(Some(fields), &weights).unwrap().embedding
        };
        assert_eq!(embedding(ATTENTION_BODY, None), EmbeddingKind::Pieces);
        assert_eq!(embedding(ATTENTION_BODY_MULTIHEAD, Some(TABLE)), EmbeddingKind::Table);
        assert_eq!(embedding(ATTENTION_BODY_MULTIHEAD_LEGACY, Some(PIECES)), EmbeddingKind::Pieces);
    }
}
