//! A network as layers: plain numbers in named structs, ready for any evaluator.
//!
//! [`super::read`] builds it with every size checked. The ONNX graph builder and the native evaluator use it.
//! Activations between layers are stated here in words and fixed by the architecture. All tensors are
//! row-major. Squares are numbered a1 = 0, b1, …, h8 = 63 as the side to move sees them.

use crate::network::PLANES;
use crate::network::encode::InputFormat;
use crate::network::policy_map::MOVES;

/// Squares of the board: the spatial positions of every plane.
pub(crate) const SQUARES: usize = 64;
/// Planes of a convolution policy that stand for moves. Files usually have 80.
pub const CONVOLUTION_POLICY_PLANES: usize = 73;
/// Width of the rows of the constant table of [`Embedding::Table`].
pub(crate) const TABLE_WIDTH: usize = 64;
/// Planes of the current pieces: the first of the 112.
pub(crate) const PIECE_PLANES: usize = 12;

/// A nonlinearity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `max(x, 0)`
    Relu,
    /// `x tanh(ln(1 + e^x))`
    Mish,
    /// `x`
    None,
    /// `tanh x`
    Tanh,
    /// `1 / (1 + e^-x)`
    Sigmoid,
    /// `1.0507 x` above 0, `1.0507 · 1.67326 (e^x - 1)` below
    Selu,
    /// `x / (1 + e^-x)`
    Swish,
    /// `max(x, 0)²`
    Relu2,
}

/// A fully connected layer: `y = weights · x + bias`.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// Length of `x`.
    pub inputs: usize,
    /// Length of `y`.
    pub outputs: usize,
    /// `[outputs][inputs]`
    pub weights: Vec<f32>,
    /// `[outputs]`
    pub bias: Vec<f32>,
}

impl Dense {
    /// Takes out of the layer behind [`Embedding::Table`] what it makes of the constant table, and its bias:
    /// `[64][outputs]`, the same for every position. The layer then reads the planes only.
    ///
    /// The table, `[square][other]`, is 1 where a queen or a knight goes from the one to the other on an
    /// empty board, -1 on the square itself, else 0. (Read from a model that Lc0 exported.)
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
                let sum: f32 = of_table.iter().zip(marks).map(|(weight, mark)| weight * mark).sum();
                constants[square * self.outputs + output] = sum + self.bias[output];
            }
        }
        self.inputs = PLANES;
        self.weights = of_planes;
        self.bias.fill(0.0);
        constants
    }
}

/// A convolution over the 8x8 board, stride 1, zero padding that keeps the size. Batch norm already folded
/// in.
#[derive(Clone, Debug, PartialEq)]
pub struct Convolution {
    /// Input channels.
    pub inputs: usize,
    /// Output channels.
    pub outputs: usize,
    /// Edge of the kernel: 1 or 3.
    pub kernel: usize,
    /// `[outputs][inputs][kernel][kernel]`. The kernel's first axis runs along ranks, the second along files.
    pub weights: Vec<f32>,
    /// `[outputs]`
    pub bias: Vec<f32>,
}

/// Squeeze and excitation over `F` channels: mean per channel → `squeeze` → activation → `excite`. The first
/// `F` outputs are scales (after a sigmoid), the last `F` are added.
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
    /// First convolution, 3x3.
    pub conv1: Convolution,
    /// Second convolution, 3x3.
    pub conv2: Convolution,
    /// Applied after `conv2` where present. A network may have it in some blocks only.
    pub se: Option<SqueezeExcite>,
}

/// A residual tower: `act(input(planes))`, then the blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Tower {
    /// 112 planes → filters, 3x3
    pub input: Convolution,
    /// The blocks or encoders in their order.
    pub blocks: Vec<ResidualBlock>,
}

impl Tower {
    /// Returns the channels of the tower.
    pub fn filters(&self) -> usize {
        self.input.outputs
    }
}

/// Normalises over the last axis, then `x · gammas + betas`.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerNorm {
    /// Scales.
    pub gammas: Vec<f32>,
    /// Shifts.
    pub betas: Vec<f32>,
}

/// The two fully connected layers of an encoder: `output(act(hidden(x)))`, per square.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedForward {
    /// embedding → hidden
    pub hidden: Dense,
    /// hidden → embedding
    pub output: Dense,
    /// The activation between the two.
    pub activation: Activation,
}

/// Makes position-dependent additions to the attention logits.
///
/// All squares → `compress` (per square) → `hidden` → activation → `norm1` → `output` → activation → `norm2`.
/// The result is split by head, and [`AttentionBody::smolgen`] turns each part into 64x64 logits.
#[derive(Clone, Debug, PartialEq)]
pub struct Smolgen {
    /// `[channels][embedding]`, no bias
    pub compress: Vec<f32>,
    /// Output channels of `compress` per square.
    pub channels: usize,
    /// `64 · channels` → hidden
    pub hidden: Dense,
    /// Over hidden.
    pub norm1: LayerNorm,
    /// hidden → `heads · generated`
    pub output: Dense,
    /// Over `heads · generated`.
    pub norm2: LayerNorm,
    /// After `hidden` and `output`.
    pub activation: Activation,
}

/// The matrix that all encoders share to turn smolgen's outputs into attention logits.
#[derive(Clone, Debug, PartialEq)]
pub struct SmolgenWeights {
    /// Inputs: smolgen outputs per head.
    pub generated: usize,
    /// `[4096][generated]`, outputs `from · 64 + to`
    pub weights: Vec<f32>,
}

/// An encoder layer: `y = norm1(x + alpha · attention(x))`, then `norm2(y + alpha · ffn(y))`.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoder {
    /// Attention heads. Divides the model width.
    pub heads: usize,
    /// embedding → model width
    pub query: Dense,
    /// embedding → model width
    pub key: Dense,
    /// embedding → model width
    pub value: Dense,
    /// model width → embedding
    pub output: Dense,
    /// Added to the logits, which are `query · key / sqrt(width / heads)`.
    pub smolgen: Option<Smolgen>,
    /// After the attention.
    pub norm1: LayerNorm,
    /// Feed-forward part.
    pub ffn: FeedForward,
    /// After the feed-forward part.
    pub norm2: LayerNorm,
    /// Scales both branches.
    pub alpha: f32,
    /// The epsilon of both norms.
    pub epsilon: f32,
}

/// The input that the embedding has for each square.
#[derive(Clone, Debug, PartialEq)]
pub enum Embedding {
    /// The 112 planes and a constant 64x64 table that distinguishes squares.
    Table,
    /// The 112 planes and, from the twelve planes of the current pieces, a dense layer's outputs for the
    /// square.
    Pieces(Box<PieceEmbedding>),
    /// The channels of a residual tower.
    Tower(Box<Tower>),
}

/// Parts that only the embedding by a dense layer over the pieces has.
#[derive(Clone, Debug, PartialEq)]
pub struct PieceEmbedding {
    /// `64 · 12` (square-major) → `64 · channels` (square-major), no activation
    pub(crate) preprocess: Dense,
    /// After the embedding's activation.
    pub norm1: LayerNorm,
    /// After the gates.
    pub ffn: FeedForward,
    /// After the feed-forward part.
    pub norm2: LayerNorm,
}

/// A body of encoder layers.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionBody {
    /// The input of `dense`.
    pub embedding: Embedding,
    /// Per square: inputs of the embedding → embedding, then the default activation.
    pub dense: Dense,
    /// `[embedding][64]`: multiplied after the embedding.
    pub multiply_gate: Option<Vec<f32>>,
    /// `[embedding][64]`: added after the embedding.
    pub add_gate: Option<Vec<f32>>,
    /// The blocks or encoders in their order.
    pub encoders: Vec<Encoder>,
    /// Shared by the encoders that have smolgen.
    pub smolgen: Option<SmolgenWeights>,
    /// Scales the feed-forward branches: `(2 · encoders)^-0.25`.
    pub alpha: f32,
}

impl AttentionBody {
    /// Returns the channels per square.
    pub fn width(&self) -> usize {
        self.dense.outputs
    }
}

/// The part of a network between the planes and the heads.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Convolutions.
    Tower(Tower),
    /// Encoders.
    Attention(AttentionBody),
}

impl Body {
    /// Returns the channels per square that the heads get.
    pub fn width(&self) -> usize {
        match self {
            Body::Tower(tower) => tower.filters(),
            Body::Attention(body) => body.width(),
        }
    }
}

/// The layers from the body's output to 1858 logits.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyHead {
    /// `dense(act(convolution(x)))`. `dense` reads channel-major `[channels · 64]` and gives the 1858 logits.
    Classical {
        /// 1x1
        convolution: Convolution,
        /// → 1858
        dense: Dense,
    },
    /// `conv2(act(conv1(x)))`, whose planes are mapped to the 1858 moves (the first 73 planes count).
    Convolution {
        /// 3x3
        conv1: Convolution,
        /// 3x3, at least 73 outputs
        conv2: Convolution,
    },
    /// Attention between from-squares and to-squares.
    Attention(Box<AttentionPolicy>),
}

/// Logits as attention: `query(from) · key(to) / sqrt(width)`, and offsets for promotions.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionPolicy {
    /// Per square: body → policy embedding.
    pub embedding: Dense,
    /// After `embedding`.
    pub activation: Activation,
    /// The encoders in their order. Often there are none.
    pub encoders: Vec<Encoder>,
    /// Policy embedding → width.
    pub query: Dense,
    /// Policy embedding → width.
    pub key: Dense,
    /// `[4][width]`: queen, rook, bishop and a part common to all three, applied to the keys of the last
    /// rank. The sum is added to the move's logit and not divided by `sqrt(width)`.
    pub promotion: Vec<f32>,
}

/// The layer by which the body's output becomes one vector for a head's fully connected layers.
#[derive(Clone, Debug, PartialEq)]
pub enum HeadInput {
    /// 1x1 convolution and activation, flattened channel-major `[channels · 64]`.
    Convolution(Convolution),
    /// Per square dense layer and activation, flattened square-major `[64 · channels]`.
    PerSquare(Dense),
}

impl HeadInput {
    /// Returns the channels per square.
    pub fn channels(&self) -> usize {
        match self {
            HeadInput::Convolution(convolution) => convolution.outputs,
            HeadInput::PerSquare(dense) => dense.outputs,
        }
    }
}

/// `output(act(hidden(input)))`: the value and moves left heads.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarHead {
    /// Makes a vector of the body's output.
    pub input: HeadInput,
    /// `channels · 64` → hidden
    pub hidden: Dense,
    /// Value: hidden → 3 logits of win, draw, loss (softmax follows), or 1 (tanh follows).
    /// Moves left: hidden → 1 (ReLU follows), in plies.
    pub output: Dense,
}

/// A network: planes in, policy, value and moves left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The way positions become planes.
    pub input_format: InputFormat,
    /// The activation where nothing else is said.
    pub activation: Activation,
    /// The layers between planes and heads.
    pub body: Body,
    /// 1858 logits.
    pub policy: PolicyHead,
    /// Win, draw, loss or a scalar.
    pub value: ScalarHead,
    /// Plies to the end of the game.
    pub moves_left: Option<ScalarHead>,
}

impl Network {
    /// Returns whether the value head gives draws a probability of their own.
    pub fn has_wdl(&self) -> bool {
        self.value.output.outputs == 3
    }
}
