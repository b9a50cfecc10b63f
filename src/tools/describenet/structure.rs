//! Describes a network's architecture in numbers and fixed words, for scripts; the words for people are in `weights::describe`.

use serde::Serialize;

use crate::network::weights::{AttentionBody, Body, Embedding, Network, PolicyHead, ScalarHead, Tower};

/// The layers of a network. Counts are channels, layers or units.
#[derive(Serialize)]
pub(super) struct Structure {
    body: BodyStructure,
    policy: PolicyStructure,
    value: ValueStructure,
    /// The Moves Left Head; `None` without one.
    moves_left: Option<HeadStructure>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum BodyStructure {
    Tower(TowerStructure),
    Attention {
        /// Channels per square.
        embedding: usize,
        /// The embedding's input besides the planes, or instead of them: `table`, `pieces` or `tower`.
        embedding_kind: &'static str,
        encoders: usize,
        /// Attention heads of the first encoder; `width` and `ffn` are its sizes too.
        heads: usize,
        /// Width of queries, keys and values, all heads together.
        width: usize,
        /// Hidden units of the feed-forward part.
        ffn: usize,
        smolgen: bool,
        /// The tower before the encoders, in hybrids.
        tower: Option<TowerStructure>,
    },
}

#[derive(Serialize)]
struct TowerStructure {
    blocks: usize,
    filters: usize,
    /// Hidden units of squeeze and excitation; `None` without it.
    se_units: Option<usize>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum PolicyStructure {
    Classical { channels: usize },
    Convolution { planes: usize },
    Attention { embedding: usize, width: usize, encoders: usize },
}

#[derive(Serialize)]
struct ValueStructure {
    /// `wdl` or `scalar`.
    kind: &'static str,
    #[serde(flatten)]
    head: HeadStructure,
}

#[derive(Serialize)]
struct HeadStructure {
    /// Channels per square that the head reads.
    channels: usize,
    hidden_units: usize,
}

impl From<&Network> for Structure {
    fn from(network: &Network) -> Structure {
        Structure {
            body: match &network.body {
                Body::Tower(tower) => BodyStructure::Tower(tower.into()),
                Body::Attention(body) => attention(body),
            },
            policy: match &network.policy {
                PolicyHead::Classical { convolution, .. } => {
                    PolicyStructure::Classical { channels: convolution.outputs }
                }
                PolicyHead::Convolution { conv2, .. } => {
                    PolicyStructure::Convolution { planes: conv2.outputs }
                }
                PolicyHead::Attention(head) => PolicyStructure::Attention {
                    embedding: head.embedding.outputs,
                    width: head.query.outputs,
                    encoders: head.encoders.len(),
                },
            },
            value: ValueStructure {
                kind: if network.has_wdl() { "wdl" } else { "scalar" },
                head: (&network.value).into(),
            },
            moves_left: network.moves_left.as_ref().map(HeadStructure::from),
        }
    }
}

fn attention(body: &AttentionBody) -> BodyStructure {
    let (embedding_kind, tower) = match &body.embedding {
        Embedding::Table => ("table", None),
        Embedding::Pieces(_) => ("pieces", None),
        Embedding::Tower(tower) => ("tower", Some(TowerStructure::from(&**tower))),
    };
    let first = body.encoders.first();
    BodyStructure::Attention {
        embedding: body.width(),
        embedding_kind,
        encoders: body.encoders.len(),
        heads: first.map_or(0, |encoder| encoder.heads),
        width: first.map_or(0, |encoder| encoder.query.outputs),
        ffn: first.map_or(0, |encoder| encoder.ffn.hidden.outputs),
        smolgen: body.smolgen.is_some(),
        tower,
    }
}

impl From<&Tower> for TowerStructure {
    fn from(tower: &Tower) -> TowerStructure {
        let se = tower.blocks.iter().find_map(|block| block.se.as_ref());
        TowerStructure {
            blocks: tower.blocks.len(),
            filters: tower.filters(),
            se_units: se.map(|se| se.squeeze.outputs),
        }
    }
}

impl From<&ScalarHead> for HeadStructure {
    fn from(head: &ScalarHead) -> HeadStructure {
        HeadStructure { channels: head.input.channels(), hidden_units: head.hidden.outputs }
    }
}
