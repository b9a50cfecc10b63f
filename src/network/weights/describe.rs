//! A network in words, for people who want to know what they have.

use super::network::{
    Activation, AttentionBody, Body, Embedding, Network, PolicyHead, SQUARES, ScalarHead, Tower,
};

/// Channels of a value head's input in the networks of the Lc0 project.
const USUAL_VALUE_CHANNELS: usize = 32;
/// Hidden units of their value heads.
const USUAL_VALUE_HIDDEN: usize = 128;
/// Planes of their convolution policies.
const USUAL_POLICY_PLANES: usize = 80;

impl Network {
    /// Describes the body, like `tower of 6 blocks, 64 filters, SE`.
    pub fn describe_body(&self) -> String {
        match &self.body {
            Body::Tower(tower) => describe_tower(tower),
            Body::Attention(body) => describe_attention(body),
        }
    }

    /// Describes the policy head.
    pub fn describe_policy(&self) -> String {
        match &self.policy {
            PolicyHead::Classical { convolution, .. } => {
                format!("classical, {} channels", convolution.outputs)
            }
            PolicyHead::Convolution { conv2, .. } => format!("convolution, {} planes", conv2.outputs),
            PolicyHead::Attention(head) => format!(
                "attention, embedding {}, width {}, {}",
                head.embedding.outputs,
                head.query.outputs,
                counted(head.encoders.len(), "encoder")
            ),
        }
    }

    /// Describes the value head.
    pub fn describe_value(&self) -> String {
        let kind = if self.has_wdl() { "win, draw, loss" } else { "scalar" };
        format!("{kind}; {}", describe_head(&self.value))
    }

    /// Describes the Moves Left Head, if there is one.
    pub fn describe_moves_left(&self) -> Option<String> {
        self.moves_left.as_ref().map(describe_head)
    }

    /// Returns what sets this network apart from those that the Lc0 project publishes, in a few words each.
    pub fn unusual(&self) -> Vec<String> {
        let mut unusual = Vec::new();
        match &self.body {
            Body::Tower(tower) => unusual_tower(tower, &mut unusual),
            Body::Attention(body) => unusual_attention(body, &mut unusual),
        }
        match &self.policy {
            PolicyHead::Convolution { conv2, .. } if conv2.outputs != USUAL_POLICY_PLANES => {
                unusual.push(format!("convolution policy with {} planes instead of 80", conv2.outputs));
            }
            PolicyHead::Attention(head) if !head.encoders.is_empty() => {
                unusual.push(format!("{} in the policy head", counted(head.encoders.len(), "encoder")));
            }
            _ => {}
        }
        let (channels, hidden) = (self.value.input.channels(), self.value.hidden.outputs);
        if matches!(self.body, Body::Tower(_))
            && (channels, hidden) != (USUAL_VALUE_CHANNELS, USUAL_VALUE_HIDDEN)
        {
            unusual.push(format!(
                "value head with {channels} channels and {hidden} hidden units instead of 32 and 128"
            ));
        }
        if self.activation == Activation::Mish && matches!(self.body, Body::Tower(_)) {
            unusual.push("Mish in a tower: slower than ReLU on most devices".into());
        }
        unusual
    }
}

fn counted(number: usize, noun: &str) -> String {
    match number {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

fn describe_head(head: &ScalarHead) -> String {
    format!("{} channels, {} hidden units", head.input.channels(), head.hidden.outputs)
}

fn describe_tower(tower: &Tower) -> String {
    let blocks = counted(tower.blocks.len(), "block");
    match tower.blocks.iter().find_map(|block| block.se.as_ref()) {
        Some(se) => format!("tower of {blocks}, {} filters, SE with {}", tower.filters(), se.squeeze.outputs),
        None => format!("tower of {blocks}, {} filters, no SE", tower.filters()),
    }
}

fn describe_attention(body: &AttentionBody) -> String {
    let embedding = match &body.embedding {
        Embedding::Table => "position table".into(),
        Embedding::Pieces(pieces) => {
            format!("{} channels from all pieces", pieces.preprocess.outputs / SQUARES)
        }
        Embedding::Tower(tower) => describe_tower(tower),
    };
    let encoders = counted(body.encoders.len(), "encoder");
    let (heads, model, ffn) = body
        .encoders
        .first()
        .map_or((0, 0, 0), |first| (first.heads, first.query.outputs, first.ffn.hidden.outputs));
    let smolgen = if body.smolgen.is_some() { "smolgen" } else { "no smolgen" };
    format!(
        "attention body of {encoders}, embedding {} ({embedding}), width {model}, {heads} heads, FFN {ffn}, {smolgen}",
        body.width()
    )
}

fn unusual_tower(tower: &Tower, unusual: &mut Vec<String>) {
    let with_se = tower.blocks.iter().filter(|block| block.se.is_some()).count();
    if with_se != 0 && with_se != tower.blocks.len() {
        unusual.push(format!("SE in {with_se} of {} blocks", tower.blocks.len()));
    }
}

fn unusual_attention(body: &AttentionBody, unusual: &mut Vec<String>) {
    if let Embedding::Tower(tower) = &body.embedding {
        unusual.push("an attention body behind a residual tower".into());
        unusual_tower(tower, unusual);
    }
    if body.multiply_gate.is_some() != body.add_gate.is_some() {
        unusual.push("only one of the two input gates".into());
    }
    let with_smolgen = body.encoders.iter().filter(|encoder| encoder.smolgen.is_some()).count();
    if with_smolgen != 0 && with_smolgen != body.encoders.len() {
        unusual.push(format!("smolgen in {with_smolgen} of {} encoders", body.encoders.len()));
    }
}
