//! A network as plain layers, built by [`super::weights`] with every size checked.
//!
//! Tensors are row-major. Squares run a1 = 0, b1, …, h8 = 63 as the side to move sees them.

use crate::network::encode::InputFormat;
use crate::network::planes::PLANES;
use crate::network::policy_map::MOVES;

pub use zeitnot_kernels::Activation;

pub(crate) const SQUARES: usize = 64;
/// Planes of a convolution policy that stand for moves, of usually 80.
pub const CONVOLUTION_POLICY_PLANES: usize = 73;
/// Row length of the table of [`Embedding::Table`].
pub(crate) const TABLE_WIDTH: usize = 64;
/// The current pieces are the first of the 112 planes.
pub(crate) const PIECE_PLANES: usize = 12;

/// `y = weights · x + bias`
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    pub inputs: usize,
    pub outputs: usize,
    /// `[outputs][inputs]`
    pub weights: Vec<f32>,
    /// `[outputs]`
    pub bias: Vec<f32>,
}

impl Dense {
    /// Removes the inputs of the constant table from the layer behind [`Embedding::Table`]. The result is
    /// their product with the table plus the bias, `[64][outputs]`, the same for every position.
    ///
    /// The table, `[square][other]`, is 1 where a queen or knight moves between them on an empty board, -1 on
    /// the square itself, else 0 (read from a model that Lc0 exported).
    pub(crate) fn split_off_table(&mut self) -> Vec<f32> {
        let mut table = [[0.0; SQUARES]; SQUARES];
        for m in MOVES.iter().filter(|m| m.promotion.is_none()) {
            table[usize::from(m.from)][usize::from(m.to)] = 1.0;
        }
        (0..SQUARES).for_each(|square| table[square][square] = -1.0);
        let mut constants = vec![0.0; SQUARES * self.outputs];
        let mut of_planes = Vec::with_capacity(self.outputs * PLANES);
        for (output, row) in self.weights.chunks_exact(self.inputs).enumerate() {
            let (planes, of_table) = row.split_at(PLANES);
            of_planes.extend_from_slice(planes);
            for (square, marks) in table.iter().enumerate() {
                let sum: f32 = of_table
                    .iter()
                    .zip(marks)
                    .map(|(weight, mark)| weight * mark)
                    .sum();
                constants[square * self.outputs + output] = sum + self.bias[output];
            }
        }
        self.inputs = PLANES;
        self.weights = of_planes;
        self.bias.fill(0.0);
        constants
    }
}

/// A 3×3 convolution over the board, stride 1, zero padding that keeps the size, batch norm folded in. 1×1
/// convolutions are a [`Dense`] layer per square.
#[derive(Clone, Debug, PartialEq)]
pub struct Convolution {
    pub inputs: usize,
    pub outputs: usize,
    /// `[outputs][inputs][3][3]`: ranks, then files.
    pub weights: Vec<f32>,
    /// `[outputs]`
    pub bias: Vec<f32>,
}

/// Squeeze and excitation over `F` channels: mean per channel → `squeeze` → activation → `excite`. The first
/// `F` outputs are scales (after a sigmoid), the rest are added.
#[derive(Clone, Debug, PartialEq)]
pub struct SqueezeExcite {
    /// `F` → hidden
    pub squeeze: Dense,
    /// hidden → `2F`
    pub excite: Dense,
}

/// `act(x + se(conv2(act(conv1(x)))))`
#[derive(Clone, Debug, PartialEq)]
pub struct ResidualBlock {
    pub conv1: Convolution,
    pub conv2: Convolution,
    /// Applied after `conv2`. A network may have it in some blocks only.
    pub se: Option<SqueezeExcite>,
}

/// `act(input(planes))`, then the blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Tower {
    /// 112 planes → filters
    pub input: Convolution,
    pub blocks: Vec<ResidualBlock>,
}

impl Tower {
    pub fn filters(&self) -> usize {
        self.input.outputs
    }
}

/// Normalises over the last axis, then `x · gammas + betas`.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerNorm {
    pub gammas: Vec<f32>,
    pub betas: Vec<f32>,
    /// Added to the variance.
    pub epsilon: f32,
}

/// `norm(x + factor · layer(y))`
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    pub layer: Dense,
    pub norm: LayerNorm,
    pub factor: f32,
}

/// `output(x, act(hidden(x)))`, per square.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedForward {
    /// embedding → hidden
    pub hidden: Dense,
    pub activation: Activation,
    /// hidden → embedding
    pub output: Branch,
}

/// Position-dependent additions to the attention logits.
///
/// All squares → `compress` (per square) → `hidden` → activation → `norm1` → `output` → activation → `norm2`,
/// split by head. [`AttentionBody::smolgen`] turns each part into 64x64 logits.
#[derive(Clone, Debug, PartialEq)]
pub struct Smolgen {
    /// embedding → channels, with no bias
    pub compress: Dense,
    /// `64 · channels` → hidden
    pub hidden: Dense,
    /// Over hidden.
    pub norm1: LayerNorm,
    /// hidden → `heads · generated`
    pub output: Dense,
    /// Over `heads · generated`.
    pub norm2: LayerNorm,
    pub activation: Activation,
}

/// `ffn(output(x, attention(x)))`
#[derive(Clone, Debug, PartialEq)]
pub struct Encoder {
    /// Divides the model width.
    pub heads: usize,
    /// As `key` and `value`, embedding → model width
    pub query: Dense,
    pub key: Dense,
    pub value: Dense,
    /// Added to the logits, which are `query · key / sqrt(width / heads)`.
    pub smolgen: Option<Smolgen>,
    /// model width → embedding
    pub output: Branch,
    pub ffn: FeedForward,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Embedding {
    /// The 112 planes and a constant 64x64 table.
    Table,
    /// The 112 planes and a dense layer's outputs from the twelve piece planes.
    Pieces(Box<PieceEmbedding>),
    Tower(Box<Tower>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct PieceEmbedding {
    /// `64 · 12` (square-major) → `64 · channels` (square-major), no activation
    pub(crate) preprocess: Dense,
    /// After the embedding's activation.
    pub norm: LayerNorm,
    /// After the gates.
    pub ffn: FeedForward,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AttentionBody {
    pub embedding: Embedding,
    /// Per square: inputs of the embedding → embedding, then the default activation.
    pub dense: Dense,
    /// `[embedding][64]`, multiplied.
    pub multiply_gate: Option<Vec<f32>>,
    /// `[embedding][64]`, then added.
    pub add_gate: Option<Vec<f32>>,
    pub encoders: Vec<Encoder>,
    /// generated → `from · 64 + to`, with no bias, shared by the encoders that have smolgen.
    pub smolgen: Option<Dense>,
}

impl AttentionBody {
    pub fn width(&self) -> usize {
        self.dense.outputs
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    Tower(Tower),
    Attention(AttentionBody),
}

impl Body {
    /// Channels per square that the heads read.
    pub fn width(&self) -> usize {
        match self {
            Body::Tower(tower) => tower.filters(),
            Body::Attention(body) => body.width(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum PolicyHead {
    /// `dense(act(squares(x)))`, where `dense` reads channel-major `[channels · 64]`.
    Classical {
        /// Per square.
        squares: Dense,
        /// → 1858
        dense: Dense,
    },
    /// `conv2(act(conv1(x)))`, whose first 73 planes are mapped to the 1858 moves.
    Convolution {
        conv1: Convolution,
        /// At least 73 outputs.
        conv2: Convolution,
    },
    Attention(Box<AttentionPolicy>),
}

/// `query(from) · key(to) / sqrt(width)`, plus offsets for promotions.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionPolicy {
    /// Per square: body → policy embedding.
    pub embedding: Dense,
    pub activation: Activation,
    pub encoders: Vec<Encoder>,
    /// Policy embedding → width.
    pub query: Dense,
    pub key: Dense,
    /// `[4][width]`: queen, rook, bishop and a part common to all three, applied to the keys of the last
    /// rank. The sum is added to the logit without the division by `sqrt(width)`.
    pub promotion: Vec<f32>,
}

/// `output(act(hidden(act(squares(x)))))`, for value and moves left.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarHead {
    /// Per square. Behind a tower the results are flattened channel-major `[channels · 64]`, behind an
    /// attention body square-major `[64 · channels]`.
    pub squares: Dense,
    /// `channels · 64` → hidden
    pub hidden: Dense,
    /// Value: 3 logits of win, draw, loss (softmax follows), or 1 (tanh follows). Moves left: 1 (ReLU
    /// follows), in plies.
    pub output: Dense,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    pub input_format: InputFormat,
    /// Where no other is named.
    pub activation: Activation,
    pub body: Body,
    pub policy: PolicyHead,
    pub value: ScalarHead,
    /// In plies to the end of the game.
    pub moves_left: Option<ScalarHead>,
}

impl Network {
    pub fn has_wdl(&self) -> bool {
        self.value.output.outputs == 3
    }
}
