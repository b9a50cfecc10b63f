//! The checked format fields of a network file, with defaults for old files.

use super::error::{Checked, fault, unsupported};
use super::message::{self, Weights};
use crate::network::encode::InputFormat;
use crate::network::layers::Activation;

pub(super) struct NetworkFormat {
    pub(super) input: InputFormat,
    /// A body of encoders, or a tower.
    pub(super) has_encoders: bool,
    pub(super) policy: PolicyKind,
    /// 3 for win, draw and loss, or 1.
    pub(super) value_outputs: usize,
    pub(super) moves_left: bool,
    /// Where no other is named.
    pub(super) activation: Activation,
    pub(super) smolgen_activation: Activation,
    /// In feed-forward parts. `None` means that of the surrounding part.
    pub(super) ffn_activation: Option<Activation>,
    pub(super) embedding: EmbeddingKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PolicyKind {
    Classical,
    /// Two convolutions, mapped to moves.
    Convolution,
    Attention,
}

/// What an attention body reads per square besides the planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EmbeddingKind {
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

pub(super) fn layers_format(
    declared: Option<message::NetworkFormat>,
    weights: &Weights,
) -> Checked<NetworkFormat> {
    let fields = correct_old(declared, weights);
    let has_encoders = match fields.network.unwrap_or_default() {
        CLASSICAL_WITH_HEADFORMAT | SE_WITH_HEADFORMAT => false,
        ATTENTION_BODY | ATTENTION_BODY_MULTIHEAD => true,
        ONNX => {
            let reason = "the format says ONNX, but the file holds layers";
            return Err(fault("format.network", reason));
        }
        found => {
            let supported = "1 classical, 2 SE, 3 and 4 the same with head formats, 5 ONNX, 6 attention body, \
                             7 and 134 attention body with several heads";
            return Err(unsupported("format.network", found, supported));
        }
    };
    let policies = [
        (1, PolicyKind::Classical, "classical"),
        (2, PolicyKind::Convolution, "convolution"),
        (3, PolicyKind::Attention, "attention"),
    ];
    let policy = kind_of("format.policy", fields.policy, &policies)?;
    if has_encoders && policy != PolicyKind::Attention {
        let found = format!("{policy:?} policy on an attention body");
        return Err(unsupported("format.policy", found, "3 attention"));
    }
    let defaults = [(0, Activation::Relu, "ReLU"), (1, Activation::Mish, "Mish")];
    let embeddings = [
        (0, EmbeddingKind::None, "none"),
        (TABLE, EmbeddingKind::Table, "PE_MAP"),
        (PIECES, EmbeddingKind::Pieces, "PE_DENSE"),
    ];
    let activation = kind_of("format.default_activation", fields.default_activation, &defaults)?;
    let smolgen = kind_of(
        "format.smolgen_activation",
        fields.smolgen_activation,
        &ACTIVATIONS,
    )?;
    Ok(NetworkFormat {
        input: input_format(fields.input)?,
        has_encoders,
        policy,
        value_outputs: kind_of(
            "format.value",
            fields.value,
            &[(1, 1, "classical"), (2, 3, "WDL")],
        )?,
        moves_left: kind_of(
            "format.moves_left",
            fields.moves_left,
            &[(0, false, "none"), (1, true, "V1")],
        )?,
        activation,
        smolgen_activation: smolgen.unwrap_or(activation),
        ffn_activation: kind_of("format.ffn_activation", fields.ffn_activation, &ACTIVATIONS)?,
        embedding: kind_of("format.input_embedding", fields.input_embedding, &embeddings)?,
    })
}

/// By the number in Lc0's proto.
pub(crate) fn input_format(number: Option<i32>) -> Checked<InputFormat> {
    let number = number.unwrap_or_default();
    InputFormat::try_from(number).map_err(|_| {
        let supported = "1, 2, 3, 4, 5, 132 and 133 (112 planes in Lc0's variants)";
        unsupported("format.input", number, supported)
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
            let new = if old == SE {
                SE_WITH_HEADFORMAT
            } else {
                CLASSICAL_WITH_HEADFORMAT
            };
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

/// `None` is the default.
const ACTIVATIONS: [(i32, Option<Activation>, &str); 9] = [
    (0, None, "default"),
    (1, Some(Activation::Mish), "Mish"),
    (2, Some(Activation::Relu), "ReLU"),
    (3, Some(Activation::None), "none"),
    (4, Some(Activation::Tanh), "tanh"),
    (5, Some(Activation::Sigmoid), "sigmoid"),
    (6, Some(Activation::Selu), "SELU"),
    (SWISH, Some(Activation::Swish), "Swish"),
    (RELU_2, Some(Activation::Relu2), "ReLU²"),
];

/// Of the `kinds` with their numbers in Lc0's proto and their names. A number that is not set is 0.
fn kind_of<T: Copy>(part: &str, number: Option<i32>, kinds: &[(i32, T, &str)]) -> Checked<T> {
    let number = number.unwrap_or_default();
    let names = || {
        kinds
            .iter()
            .map(|(known, _, name)| format!("{known} {name}"))
            .collect::<Vec<_>>()
    };
    let kind = kinds
        .iter()
        .find(|(known, ..)| *known == number)
        .map(|&(_, kind, _)| kind);
    kind.ok_or_else(|| unsupported(part, number, &names().join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use message::{PolicyHeads, ValueHeads};

    fn declared(network: i32) -> message::NetworkFormat {
        let mut fields = message::NetworkFormat {
            input: Some(1),
            ..Default::default()
        };
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
            let fields = message::NetworkFormat {
                input_embedding: embedding,
                ..declared(network)
            };
            layers_format(Some(fields), &weights).unwrap().embedding
        };
        assert_eq!(embedding(ATTENTION_BODY, None), EmbeddingKind::Pieces);
        assert_eq!(
            embedding(ATTENTION_BODY_MULTIHEAD, Some(TABLE)),
            EmbeddingKind::Table
        );
        assert_eq!(
            embedding(ATTENTION_BODY_MULTIHEAD_LEGACY, Some(PIECES)),
            EmbeddingKind::Pieces
        );
    }
}
