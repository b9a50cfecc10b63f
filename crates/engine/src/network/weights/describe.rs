//! A network in words and numbers: its parts, and what it costs.

use crate::network::layers::{
    AttentionBody, AttentionPolicy, Body, Branch, Convolution, Dense, Embedding, Encoder, FeedForward,
    LayerNorm, Network, PolicyHead, SQUARES, ScalarHead, Smolgen, SqueezeExcite, Tower,
};
use crate::note::counted;

impl Network {
    pub fn describe_body(&self) -> String {
        match &self.body {
            Body::Tower(tower) => describe_tower(tower),
            Body::Attention(body) => describe_attention(body),
        }
    }

    pub fn describe_policy(&self) -> String {
        match &self.policy {
            PolicyHead::Classical { squares, .. } => format!("classical, {} channels", squares.outputs),
            PolicyHead::Convolution { conv2, .. } => format!("convolution, {} planes", conv2.outputs),
            PolicyHead::Attention(head) => format!(
                "attention, embedding {}, width {}, {}",
                head.embedding.outputs,
                head.query.outputs,
                counted(head.encoders.len(), "encoder")
            ),
        }
    }

    pub fn describe_value(&self) -> String {
        let kind = if self.has_wdl() {
            "win, draw, loss"
        } else {
            "scalar"
        };
        format!("{kind}; {}", describe_head(&self.value))
    }

    pub fn describe_moves_left(&self) -> Option<String> {
        self.moves_left.as_ref().map(describe_head)
    }
}

fn describe_head(head: &ScalarHead) -> String {
    format!(
        "{} channels, {} hidden units",
        head.squares.outputs, head.hidden.outputs
    )
}

fn describe_tower(tower: &Tower) -> String {
    let blocks = counted(tower.blocks.len(), "block");
    let unit = tower.blocks.iter().find_map(|block| block.se.as_ref());
    let unit = unit.map_or("no SE".into(), |se| format!("SE with {}", se.squeeze.outputs));
    format!("tower of {blocks}, {} filters, {unit}", tower.filters())
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
    let (heads, model, ffn) = body.encoders.first().map_or((0, 0, 0), |first| {
        (first.heads, first.query.outputs, first.ffn.hidden.outputs)
    });
    let smolgen = if body.smolgen.is_some() {
        "smolgen"
    } else {
        "no smolgen"
    };
    format!(
        "attention body of {encoders}, embedding {} ({embedding}), width {model}, {heads} heads, FFN {ffn}, {smolgen}",
        body.width()
    )
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Weights and biases.
    pub parameters: u64,
    /// Multiplications with their additions, per position.
    pub macs: u64,
}

impl Network {
    pub fn cost(&self) -> Cost {
        let mut cost = Cost::default();
        match &self.body {
            Body::Tower(tower) => cost.tower(tower),
            Body::Attention(body) => cost.attention_body(body),
        }
        match &self.policy {
            PolicyHead::Classical { squares, dense } => {
                cost.dense(squares, SQUARES);
                cost.dense(dense, 1);
            }
            PolicyHead::Convolution { conv1, conv2 } => {
                cost.convolution(conv1);
                cost.convolution(conv2);
            }
            PolicyHead::Attention(head) => cost.attention_policy(head),
        }
        cost.scalar_head(&self.value);
        self.moves_left.iter().for_each(|head| cost.scalar_head(head));
        cost
    }
}

impl Cost {
    fn layer(&mut self, parameters: usize, macs: usize) {
        self.parameters += parameters as u64;
        self.macs += macs as u64;
    }

    fn convolution(&mut self, layer: &Convolution) {
        let weights = layer.weights.len();
        self.layer(weights + layer.bias.len(), weights * SQUARES);
    }

    fn dense(&mut self, layer: &Dense, rows: usize) {
        let weights = layer.weights.len();
        self.layer(weights + layer.bias.len(), weights * rows);
    }

    fn norm(&mut self, norm: &LayerNorm) {
        self.layer(2 * norm.gammas.len(), 0);
    }

    fn tower(&mut self, tower: &Tower) {
        self.convolution(&tower.input);
        for block in &tower.blocks {
            self.convolution(&block.conv1);
            self.convolution(&block.conv2);
            if let Some(SqueezeExcite { squeeze, excite }) = &block.se {
                self.dense(squeeze, 1);
                self.dense(excite, 1);
            }
        }
    }

    fn attention_body(&mut self, body: &AttentionBody) {
        match &body.embedding {
            Embedding::Table => {}
            Embedding::Tower(tower) => self.tower(tower),
            Embedding::Pieces(pieces) => {
                self.dense(&pieces.preprocess, 1);
                self.norm(&pieces.norm);
                self.feed_forward(&pieces.ffn);
            }
        }
        self.dense(&body.dense, SQUARES);
        for gate in [&body.multiply_gate, &body.add_gate].into_iter().flatten() {
            self.layer(gate.len(), 0);
        }
        if let Some(shared) = &body.smolgen {
            self.layer(shared.weights.len(), 0);
        }
        for encoder in &body.encoders {
            self.encoder(encoder);
            if let (Some(smolgen), Some(shared)) = (&encoder.smolgen, &body.smolgen) {
                self.smolgen(smolgen);
                self.layer(0, shared.weights.len() * encoder.heads);
            }
        }
    }

    fn encoder(&mut self, encoder: &Encoder) {
        for layer in [&encoder.query, &encoder.key, &encoder.value] {
            self.dense(layer, SQUARES);
        }
        // Logits, and the values that they weigh.
        let pairs = SQUARES * SQUARES;
        self.layer(0, 2 * pairs * encoder.query.outputs);
        self.branch(&encoder.output);
        self.feed_forward(&encoder.ffn);
    }

    fn branch(&mut self, branch: &Branch) {
        self.dense(&branch.layer, SQUARES);
        self.norm(&branch.norm);
    }

    fn feed_forward(&mut self, ffn: &FeedForward) {
        self.dense(&ffn.hidden, SQUARES);
        self.branch(&ffn.output);
    }

    fn smolgen(&mut self, smolgen: &Smolgen) {
        let weights = smolgen.compress.weights.len();
        self.layer(weights, weights * SQUARES);
        self.dense(&smolgen.hidden, 1);
        self.norm(&smolgen.norm1);
        self.dense(&smolgen.output, 1);
        self.norm(&smolgen.norm2);
    }

    fn attention_policy(&mut self, head: &AttentionPolicy) {
        self.dense(&head.embedding, SQUARES);
        head.encoders.iter().for_each(|encoder| self.encoder(encoder));
        self.dense(&head.query, SQUARES);
        self.dense(&head.key, SQUARES);
        self.layer(0, SQUARES * SQUARES * head.query.outputs);
        self.layer(head.promotion.len(), head.promotion.len() * 8);
    }

    fn scalar_head(&mut self, head: &ScalarHead) {
        self.dense(&head.squares, SQUARES);
        self.dense(&head.hidden, 1);
        self.dense(&head.output, 1);
    }
}
