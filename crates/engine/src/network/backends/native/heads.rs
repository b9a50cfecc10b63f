//! Policy, value and moves left heads. Policies compute the logits of legal moves only, some thirty of 1858.

use super::encoder::{EncoderScratch, Encoders};
use super::layers::{Arithmetic, Buffer, Layer, Linear, Pass, Rows, padded, reordered};
use crate::network::eval_slot::EvalSlot;
use crate::network::layers::{
    self, Activation, AttentionPolicy, CONVOLUTION_POLICY_PLANES, Dense, PolicyHead, SQUARES, ScalarHead,
};
use crate::network::policy_map::{CONVOLUTION_CELLS, MOVES, piece};
use zeitnot_kernels::{BOARD_SQUARES, BOARD_STRIDE, Dot, Kernels, board_offset};

/// How a layer of a file reads the numbers of all squares.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// `[channels][64]`
    ChannelMajor,
    /// `[64][channels]`
    SquareMajor,
}

pub(crate) enum Policy {
    /// `dense(act(squares(x)))`
    Classical(Classical),
    /// `conv2(act(conv1(x)))`
    Convolution(ConvolutionPolicy),
    Attention(Box<AttentionHead>),
}

pub(crate) struct Classical {
    squares: Linear,
    /// `[1858][64][channels]`
    rows: Buffer,
    bias: Vec<f32>,
}

/// The first convolution is the tower's. The second is computed only at the origins of legal moves.
pub(crate) struct ConvolutionPolicy {
    kernels: Kernels,
    channels: usize,
    /// `[73][3][3][channels]`
    filters: Buffer,
    bias: Vec<f32>,
}

/// A body's output for the heads.
#[derive(Clone, Copy)]
pub(crate) struct Features<'a> {
    pub(crate) positions: usize,
    /// 64 rows per position.
    pub(crate) rows: &'a Rows,
    /// Outputs of a policy's first convolution, `[positions][10][10][channels]`, or empty.
    pub(crate) boards: &'a [f32],
}

pub(crate) struct PolicyScratch {
    squares: Buffer,
    attention: Option<AttentionScratch>,
}

impl Policy {
    pub(crate) fn new(
        arithmetic: Arithmetic,
        head: &PolicyHead,
        activation: Activation,
        inputs: usize,
    ) -> Policy {
        let kernels = arithmetic.kernels;
        match head {
            PolicyHead::Classical { squares, dense } => Policy::Classical(Classical::new(
                Linear::new(kernels, squares, inputs, activation),
                dense,
            )),
            PolicyHead::Convolution { conv2, .. } => {
                Policy::Convolution(ConvolutionPolicy::new(kernels, conv2))
            }
            PolicyHead::Attention(head) => Policy::Attention(Box::new(AttentionHead::new(arithmetic, head))),
        }
    }

    pub(crate) fn first_layer(&self) -> Option<&Layer> {
        match self {
            Policy::Attention(head) => Some(&head.embedding),
            _ => None,
        }
    }

    pub(crate) fn scratch(&self, arithmetic: Arithmetic, positions: usize) -> PolicyScratch {
        let (squares, attention) = match self {
            Policy::Classical(head) => (SQUARES * head.squares.outputs, None),
            Policy::Convolution(_) => (0, None),
            Policy::Attention(head) => (0, Some(head.scratch(arithmetic, positions))),
        };
        PolicyScratch {
            squares: Buffer::zeros(squares),
            attention,
        }
    }

    /// All policy indices of the slots must be below 1858.
    pub(crate) fn evaluate(
        &self,
        batch: &mut [EvalSlot],
        features: Features<'_>,
        scratch: &mut PolicyScratch,
    ) {
        batch.iter_mut().for_each(|slot| slot.logits.clear());
        match self {
            Policy::Attention(head) => {
                if let Some(scratch) = &mut scratch.attention {
                    head.evaluate(batch, features, scratch);
                }
            }
            Policy::Classical(head) => {
                let rows = features.rows.numbers.chunks_exact(SQUARES * head.squares.inputs);
                for (slot, rows) in batch.iter_mut().zip(rows) {
                    head.evaluate(rows, slot, &mut scratch.squares);
                }
            }
            Policy::Convolution(head) => {
                let boards = features.boards.chunks_exact(BOARD_SQUARES * head.channels);
                for (slot, board) in batch.iter_mut().zip(boards) {
                    head.evaluate(slot, board);
                }
            }
        }
    }
}

impl Classical {
    fn new(squares: Linear, dense: &Dense) -> Classical {
        let dense = after_squares(dense, squares.outputs, Order::ChannelMajor);
        let rows = Buffer::padded(&dense.weights, dense.weights.len());
        Classical {
            squares,
            rows,
            bias: dense.bias,
        }
    }

    fn evaluate(&self, rows: &[f32], slot: &mut EvalSlot, squares: &mut [f32]) {
        self.squares.apply(SQUARES, rows, squares);
        let kernels = self.squares.kernels;
        let length = squares.len();
        for &index in &slot.moves {
            let index = usize::from(index);
            let row = &self.rows[index * length..][..length];
            slot.logits
                .push(kernels.run(Dot { a: row, b: squares }) + self.bias[index]);
        }
    }
}

/// `dense`, which reads numbers of all squares in `order`, for `[64][stride]` with padding.
fn after_squares(dense: &Dense, stride: usize, order: Order) -> Dense {
    let channels = dense.inputs / SQUARES;
    reordered(dense, SQUARES * stride, |input| {
        let (square, channel) = (input / stride, input % stride);
        (channel < channels).then(|| match order {
            Order::ChannelMajor => channel * SQUARES + square,
            Order::SquareMajor => square * channels + channel,
        })
    })
}

impl ConvolutionPolicy {
    fn new(kernels: Kernels, conv2: &layers::Convolution) -> ConvolutionPolicy {
        let channels = padded(conv2.inputs);
        let mut filters = Buffer::zeros(CONVOLUTION_POLICY_PLANES * 9 * channels);
        for (plane, filter) in filters.chunks_exact_mut(9 * channels).enumerate() {
            for (tap, to) in filter.chunks_exact_mut(channels).enumerate() {
                for (channel, to) in to.iter_mut().enumerate().take(conv2.inputs) {
                    *to = conv2.weights[(plane * conv2.inputs + channel) * 9 + tap];
                }
            }
        }
        let bias = conv2.bias[..CONVOLUTION_POLICY_PLANES].to_vec();
        ConvolutionPolicy {
            kernels,
            channels,
            filters,
            bias,
        }
    }

    fn evaluate(&self, slot: &mut EvalSlot, board: &[f32]) {
        let channels = self.channels;
        let row = 3 * channels;
        for &index in &slot.moves {
            let cell = usize::from(CONVOLUTION_CELLS[usize::from(index)]);
            let (plane, square) = (cell / 64, cell % 64);
            let filter = &self.filters[plane * 3 * row..];
            let around = &board[board_offset(square, channels) - (BOARD_STRIDE + 1) * channels..];
            let of_rank = |rank: usize| {
                let a = &around[rank * BOARD_STRIDE * channels..][..row];
                self.kernels.run(Dot {
                    a,
                    b: &filter[rank * row..][..row],
                })
            };
            slot.logits
                .push((0..3).map(of_rank).sum::<f32>() + self.bias[plane]);
        }
    }
}

pub(crate) struct AttentionHead {
    embedding: Layer,
    encoders: Encoders,
    query: Layer,
    key: Layer,
    /// `[3][width]`: a last-rank key's part in a promotion to queen, rook or bishop.
    promotion: Buffer,
    /// `1 / sqrt(width)`
    scale: f32,
}

pub(crate) struct AttentionScratch {
    embedded: Rows,
    query: Rows,
    key: Rows,
    encoders: EncoderScratch,
}

impl AttentionHead {
    pub(crate) fn new(arithmetic: Arithmetic, head: &AttentionPolicy) -> AttentionHead {
        let layer = |dense: &Dense| Layer::new(arithmetic, dense, Activation::None);
        let key = layer(&head.key);
        let width = head.key.outputs;
        let mut promotion = Buffer::zeros(3 * key.outputs);
        let common = &head.promotion[3 * width..];
        let pieces = &head.promotion[..3 * width];
        for (to, piece) in promotion
            .chunks_exact_mut(key.outputs)
            .zip(pieces.chunks_exact(width))
        {
            for ((to, piece), common) in to.iter_mut().zip(piece).zip(common) {
                *to = piece + common;
            }
        }
        AttentionHead {
            embedding: Layer::new(arithmetic, &head.embedding, head.activation),
            encoders: Encoders::new(arithmetic, &head.encoders, None),
            query: layer(&head.query),
            key,
            promotion,
            scale: 1.0 / (width as f32).sqrt(),
        }
    }

    pub(crate) fn scratch(&self, arithmetic: Arithmetic, positions: usize) -> AttentionScratch {
        let rows = positions * SQUARES;
        let width = self.embedding.outputs;
        AttentionScratch {
            embedded: Rows::exact(arithmetic, rows, width),
            query: Rows::plain(arithmetic.kernels, rows, self.query.outputs),
            key: Rows::plain(arithmetic.kernels, rows, self.key.outputs),
            encoders: self.encoders.scratch(arithmetic, positions, width, None),
        }
    }

    pub(crate) fn evaluate(
        &self,
        batch: &mut [EvalSlot],
        features: Features<'_>,
        scratch: &mut AttentionScratch,
    ) {
        let AttentionScratch {
            embedded,
            query,
            key,
            encoders,
        } = scratch;
        let rows = 0..batch.len() * SQUARES;
        let next = Some(&self.query);
        self.embedding.apply(Pass {
            rows: rows.clone(),
            input: features.rows,
            output: embedded,
            next,
        });
        self.encoders.evaluate(batch.len(), (embedded, next), encoders);
        let input = &*embedded;
        self.query.apply(Pass {
            rows: rows.clone(),
            input,
            output: query,
            next: Some(&self.key),
        });
        self.key.apply(Pass {
            rows,
            input,
            output: key,
            next: None,
        });
        let queries = query.numbers.chunks(SQUARES * self.query.outputs);
        let keys = key.numbers.chunks(SQUARES * self.key.outputs);
        for ((slot, query), key) in batch.iter_mut().zip(queries).zip(keys) {
            self.push_logits(slot, query, key);
        }
    }

    /// Logits are products of queries and keys, `[64][width]`.
    fn push_logits(&self, slot: &mut EvalSlot, query: &[f32], key: &[f32]) {
        let (kernels, width) = (self.key.kernels, self.key.outputs);
        let row = |square: usize| square * width..(square + 1) * width;
        for m in slot.moves.iter().map(|&index| MOVES[usize::from(index)]) {
            let key = &key[row(m.to as usize)];
            let mut logit = kernels.run(Dot {
                a: &query[row(m.from as usize)],
                b: key,
            }) * self.scale;
            if let Some(piece) = piece(m.promotion) {
                let promotion = &self.promotion[usize::from(piece) * width..][..width];
                logit += kernels.run(Dot { a: key, b: promotion });
            }
            slot.logits.push(logit);
        }
    }
}

/// `output(act(hidden(act(squares(x)))))`, in fp32: rounding matters most in the value.
pub(crate) struct Head {
    squares: Linear,
    hidden: Linear,
    output: Linear,
}

pub(crate) struct HeadScratch {
    squares: Buffer,
    hidden: Buffer,
    output: Buffer,
}

impl Head {
    /// `order` is that of the inputs of `hidden` in the file.
    pub(crate) fn new(
        kernels: Kernels,
        head: &ScalarHead,
        order: Order,
        activation: Activation,
        inputs: usize,
    ) -> Head {
        let squares = Linear::new(kernels, &head.squares, inputs, activation);
        let hidden = after_squares(&head.hidden, squares.outputs, order);
        let hidden = Linear::new(kernels, &hidden, hidden.inputs, activation);
        let output = Linear::new(kernels, &head.output, hidden.outputs, Activation::None);
        Head {
            squares,
            hidden,
            output,
        }
    }

    pub(crate) fn scratch(&self, positions: usize) -> HeadScratch {
        HeadScratch {
            squares: Buffer::zeros(positions * self.hidden.inputs),
            hidden: Buffer::zeros(positions * self.hidden.outputs),
            output: Buffer::zeros(positions * self.output.outputs),
        }
    }

    /// Yields each position's outputs, with padding behind them.
    pub(crate) fn evaluate<'a>(
        &self,
        Features { positions, rows, .. }: Features<'_>,
        scratch: &'a mut HeadScratch,
    ) -> impl Iterator<Item = &'a [f32]> + use<'a> {
        let HeadScratch {
            squares,
            hidden,
            output,
        } = scratch;
        self.squares.apply(positions * SQUARES, &rows.numbers, squares);
        self.hidden.apply(positions, squares, hidden);
        self.output.apply(positions, hidden, output);
        output.chunks_exact(self.output.outputs).take(positions)
    }
}
