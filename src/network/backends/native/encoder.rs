//! Encoder layers: attention between the 64 squares, then two dense layers per square, each with a layer norm. Smolgen makes
//! additions to the logits of attention that depend on the whole position (Lc0, BT2 and later).
//!
//! A position's squares are rows of numbers; rows of several positions follow one another. Attention bodies ([`super::body`])
//! and attention policies ([`super::heads`]) use them.

use super::kernels::{Kernels, Product, Softmax};
use super::layers::{
    Arithmetic, Branch, Buffer, InputSize, Layer, Norm, Rounded, Rows, activate, padded, room, stride,
};
use crate::network::weights::{self, Activation, Dense, SQUARES};

#[derive(Debug)]
pub(crate) struct Encoder {
    heads: usize,
    /// Numbers of a head's query.
    depth: usize,
    /// Computes queries, keys and values side by side.
    project: Layer,
    smolgen: Option<Smolgen>,
    output: Layer,
    norm1: Norm,
    ffn: FeedForward,
    norm2: Norm,
    alpha: f32,
}

/// The two dense layers of an encoder.
#[derive(Debug)]
pub(crate) struct FeedForward {
    hidden: Layer,
    activation: Activation,
    output: Layer,
}

/// Scratch memory of encoders: rows of all positions, but for the last three.
#[derive(Debug)]
pub(crate) struct EncoderScratch {
    projected: Buffer,
    /// The heads' results side by side.
    attended: Buffer,
    branch: Buffer,
    hidden: Buffer,
    pub(crate) compressed: Buffer,
    pub(crate) squeezed: Buffer,
    pub(crate) generated: Buffer,
    /// The generated numbers, a row for each head.
    pub(crate) by_head: Buffer,
    /// `[positions][heads][64][64]`: smolgen's additions.
    pub(crate) additions: Buffer,
    pub(crate) rounded: Rounded,
    /// `[64][64]`
    scores: Buffer,
    /// A head's keys, transposed, then its values; packed.
    packed: Buffer,
    /// A head's result, `[64][depth]`.
    result: Buffer,
}

/// One head's attention in one position of a group.
#[derive(Clone, Copy, Debug)]
struct HeadOfPosition {
    position: usize,
    head: usize,
}

/// Rows that begin `stride` numbers apart.
#[derive(Clone, Copy, Debug)]
struct StridedRows<'a> {
    rows: &'a [f32],
    stride: usize,
}

/// A stack of encoders, with the layers that use the same scratch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack<'a> {
    pub(crate) encoders: &'a [Encoder],
    /// The matrix that their smolgens share.
    pub(crate) shared: Option<&'a Layer>,
    /// Dense layers beside those of the encoders.
    pub(crate) ffn: Option<&'a FeedForward>,
    /// Length of the rows with their padding.
    pub(crate) width: usize,
}

impl EncoderScratch {
    /// Makes scratch memory for up to `positions`.
    pub(crate) fn new(arithmetic: Arithmetic, positions: usize, stack: Stack<'_>) -> EncoderScratch {
        let Stack { encoders, shared, ffn, width } = stack;
        let largest = |size: fn(&Encoder) -> usize| encoders.iter().map(size).max().unwrap_or(0);
        let of_smolgen = |size: fn(&Smolgen) -> usize| {
            encoders.iter().filter_map(|encoder| encoder.smolgen.as_ref()).map(size).max().unwrap_or(0)
        };
        let rows = positions * SQUARES;
        let heads = largest(|encoder| encoder.heads);
        let depth = largest(|encoder| padded(encoder.depth));
        let attended = largest(|encoder| encoder.output.inputs());
        let hidden = ffn.map_or(0, |ffn| ffn.hidden.outputs());
        let hidden = hidden.max(largest(|encoder| encoder.ffn.hidden.outputs()));
        let flat = of_smolgen(|smolgen| smolgen.hidden.inputs());
        let squeezed = of_smolgen(|smolgen| smolgen.hidden.outputs());
        let by_head = shared.map_or(0, Layer::inputs);
        let inputs = [
            InputSize { rows, length: width.max(attended).max(hidden) },
            InputSize { rows: positions, length: flat.max(squeezed) },
            InputSize { rows: positions * heads, length: by_head },
        ];
        EncoderScratch {
            projected: Buffer::zeros(rows * largest(|encoder| encoder.project.outputs())),
            attended: Buffer::zeros(rows * attended),
            branch: Buffer::zeros(rows * width),
            hidden: Buffer::zeros(rows * hidden),
            compressed: Buffer::zeros(positions * flat),
            squeezed: Buffer::zeros(room(positions) * squeezed),
            generated: Buffer::zeros(room(positions) * of_smolgen(|smolgen| smolgen.output.outputs())),
            by_head: Buffer::zeros(positions * heads * by_head),
            additions: Buffer::zeros(shared.map_or(0, |shared| room(positions * heads) * shared.outputs())),
            rounded: Rounded::new(arithmetic, &inputs),
            scores: Buffer::zeros(SQUARES * SQUARES),
            packed: Buffer::zeros(SQUARES * depth),
            result: Buffer::zeros(SQUARES * depth),
        }
    }
}

impl Encoder {
    pub(crate) fn new(arithmetic: Arithmetic, encoder: &weights::Encoder) -> Encoder {
        Encoder {
            heads: encoder.heads,
            depth: encoder.query.outputs / encoder.heads,
            project: Layer::new(arithmetic, &side_by_side([&encoder.query, &encoder.key, &encoder.value])),
            smolgen: encoder.smolgen.as_ref().map(|smolgen| Smolgen::new(arithmetic, smolgen)),
            output: Layer::new(arithmetic, &encoder.output),
            norm1: Norm::new(&encoder.norm1, encoder.epsilon),
            ffn: FeedForward::new(arithmetic, &encoder.ffn),
            norm2: Norm::new(&encoder.norm2, encoder.epsilon),
            alpha: encoder.alpha,
        }
    }

    /// Returns the length of the longest row that it writes.
    pub(crate) fn widest(&self) -> usize {
        self.project.outputs().max(self.ffn.hidden.outputs())
    }

    /// Evaluates the layer on the rows `x` of whole positions, in place; `shared` is the matrix that smolgens share.
    pub(crate) fn evaluate(
        &self,
        kernels: Kernels,
        x: &mut [f32],
        shared: Option<&Layer>,
        scratch: &mut EncoderScratch,
    ) {
        let count = x.len() / self.norm1.row_length();
        let positions = count / SQUARES;
        let rows = Rows { count, numbers: x };
        self.project.apply(kernels, rows, &mut scratch.projected, &mut scratch.rounded);
        let has_additions = match (&self.smolgen, shared) {
            (Some(smolgen), Some(shared)) => {
                smolgen.evaluate(kernels, rows, SharedMatrix { heads: self.heads, layer: shared }, scratch);
                true
            }
            _ => false,
        };
        for position in 0..positions {
            for head in 0..self.heads {
                self.attend(kernels, HeadOfPosition { position, head }, has_additions, scratch);
            }
        }
        let attended = Rows { count, numbers: &scratch.attended };
        self.output.apply(kernels, attended, &mut scratch.branch, &mut scratch.rounded);
        self.norm1.apply(kernels, x, Some(Branch { rows: &scratch.branch, factor: self.alpha }));
        let branch = self.ffn.evaluate(kernels, Rows { count, numbers: x }, scratch);
        self.norm2.apply(kernels, x, Some(Branch { rows: branch, factor: self.alpha }));
    }

    /// Computes `softmax(Q Kᵀ / sqrt(depth) + additions) V` of one head, into its columns of the scratch's `attended`.
    fn attend(
        &self,
        kernels: Kernels,
        HeadOfPosition { position, head }: HeadOfPosition,
        has_additions: bool,
        scratch: &mut EncoderScratch,
    ) {
        let (depth, columns) = (self.depth, padded(self.depth));
        let (from, to) = (self.project.outputs(), self.output.inputs());
        let projected = &scratch.projected[position * SQUARES * from + head * depth..];
        let (keys, values) = (&projected[to..], &projected[2 * to..]);
        pack_transposed(
            kernels.panel(),
            StridedRows { rows: keys, stride: from },
            depth,
            &mut scratch.packed[..SQUARES * depth],
        );
        kernels.run(Product {
            count: 1,
            rows: SQUARES,
            inner: depth,
            width: SQUARES,
            a: projected,
            a_row: from,
            b: &scratch.packed,
            c: &mut scratch.scores,
            c_row: SQUARES,
            ..Product::default()
        });
        let additions = (position * self.heads + head) * SQUARES * SQUARES;
        kernels.run(Softmax {
            rows: SQUARES,
            width: SQUARES,
            x: &mut scratch.scores,
            scale: 1.0 / (depth as f32).sqrt(),
            added: has_additions.then(|| &scratch.additions[additions..]),
        });
        pack_rows(kernels.panel(), StridedRows { rows: values, stride: from }, depth, &mut scratch.packed);
        kernels.run(Product {
            count: 1,
            rows: SQUARES,
            inner: SQUARES,
            width: columns,
            a: &scratch.scores,
            a_row: SQUARES,
            b: &scratch.packed,
            c: &mut scratch.result,
            c_row: columns,
            ..Product::default()
        });
        let attended = scratch.attended[position * SQUARES * to..].chunks_exact_mut(to);
        for (attended, result) in attended.zip(scratch.result.chunks_exact(columns)).take(SQUARES) {
            attended[head * depth..][..depth].copy_from_slice(&result[..depth]);
        }
    }
}

impl FeedForward {
    pub(crate) fn new(arithmetic: Arithmetic, ffn: &weights::FeedForward) -> FeedForward {
        FeedForward {
            hidden: Layer::new(arithmetic, &ffn.hidden),
            activation: ffn.activation,
            output: Layer::new(arithmetic, &ffn.output),
        }
    }

    /// Evaluates the layers on rows; the result lies in the scratch.
    pub(crate) fn evaluate<'a>(
        &self,
        kernels: Kernels,
        rows: Rows<'_>,
        scratch: &'a mut EncoderScratch,
    ) -> &'a [f32] {
        self.hidden.apply(kernels, rows, &mut scratch.hidden, &mut scratch.rounded);
        activate(kernels, self.activation, &mut scratch.hidden[..rows.count * self.hidden.outputs()]);
        let hidden = Rows { count: rows.count, numbers: &scratch.hidden };
        self.output.apply(kernels, hidden, &mut scratch.branch, &mut scratch.rounded);
        &scratch.branch
    }
}

/// Joins layers with the same inputs to one; the outputs of each begin at a multiple of what padding makes of their
/// number.
fn side_by_side(layers: [&Dense; 3]) -> Dense {
    let mut all = Dense { inputs: layers[0].inputs, outputs: 0, weights: Vec::new(), bias: Vec::new() };
    for layer in layers {
        all.weights.extend_from_slice(&layer.weights);
        all.bias.extend_from_slice(&layer.bias);
        all.outputs += stride(layer.outputs);
        all.weights.resize(all.outputs * all.inputs, 0.0);
        all.bias.resize(all.outputs, 0.0);
    }
    all
}

/// Packs the first `depth` columns of 64 rows, transposed, as a [`Product`] reads them.
fn pack_transposed(
    panel: usize,
    StridedRows { rows, stride }: StridedRows<'_>,
    depth: usize,
    to: &mut [f32],
) {
    let panel = panel.min(SQUARES);
    for (to, rows) in to.chunks_exact_mut(panel * depth).zip(rows.chunks(panel * stride)) {
        for (column, row) in rows.chunks(stride).enumerate().take(panel) {
            for (to, &number) in to[column..].iter_mut().step_by(panel).zip(&row[..depth]) {
                *to = number;
            }
        }
    }
}

/// Packs the first `depth` columns of 64 rows as a [`Product`] reads them, with padding.
fn pack_rows(panel: usize, StridedRows { rows, stride }: StridedRows<'_>, depth: usize, to: &mut [f32]) {
    let columns = padded(depth);
    let mut to = to;
    for first in (0..columns).step_by(panel) {
        let width = panel.min(columns - first);
        let own = width.min(depth.saturating_sub(first));
        let part = to.split_off_mut(..width * SQUARES).unwrap_or_default();
        for (to, row) in part.chunks_exact_mut(width).zip(rows.chunks(stride)) {
            to[..own].copy_from_slice(&row[first..][..own]);
            to[own..].fill(0.0);
        }
    }
}

/// Epsilon of the layer norms inside smolgen.
const SMOLGEN_EPSILON: f32 = 1e-3;

/// Makes additions to the attention's logits that depend on the whole position; the matrix that all encoders share is not
/// in it.
#[derive(Debug)]
pub(crate) struct Smolgen {
    pub(crate) compress: Layer,
    pub(crate) hidden: Layer,
    norm1: Norm,
    pub(crate) output: Layer,
    norm2: Norm,
    activation: weights::Activation,
}

/// The matrix that all smolgens share, with the heads that it is applied to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedMatrix<'a> {
    pub(crate) heads: usize,
    pub(crate) layer: &'a Layer,
}

impl Smolgen {
    pub(crate) fn new(arithmetic: Arithmetic, smolgen: &weights::Smolgen) -> Smolgen {
        let channels = smolgen.channels;
        let compress = Dense {
            inputs: smolgen.compress.len() / channels,
            outputs: channels,
            weights: smolgen.compress.clone(),
            bias: vec![0.0; channels],
        };
        let compress = Layer::new(arithmetic, &compress);
        let each = compress.outputs();
        let hidden = Layer::with_inputs(arithmetic, &smolgen.hidden, SQUARES * each, |input| {
            (input % each < channels).then_some(input / each * channels + input % each)
        });
        Smolgen {
            compress,
            hidden,
            norm1: Norm::new(&smolgen.norm1, SMOLGEN_EPSILON),
            output: Layer::new(arithmetic, &smolgen.output),
            norm2: Norm::new(&smolgen.norm2, SMOLGEN_EPSILON),
            activation: smolgen.activation,
        }
    }

    /// Evaluates it for the rows of whole positions, into the scratch's `additions`.
    pub(crate) fn evaluate(
        &self,
        kernels: Kernels,
        rows: Rows<'_>,
        shared: SharedMatrix<'_>,
        scratch: &mut EncoderScratch,
    ) {
        let EncoderScratch { compressed, squeezed, generated, by_head, additions, rounded, .. } = scratch;
        let SharedMatrix { heads, layer: shared } = shared;
        let positions = rows.count / SQUARES;
        self.compress.apply(kernels, rows, compressed, rounded);
        self.hidden.apply(kernels, Rows { count: positions, numbers: compressed }, squeezed, rounded);
        let squeezed = &mut squeezed[..positions * self.hidden.outputs()];
        activate(kernels, self.activation, squeezed);
        self.norm1.apply(kernels, squeezed, None);
        self.output.apply(kernels, Rows { count: positions, numbers: squeezed }, generated, rounded);
        let generated = &mut generated[..positions * self.output.outputs()];
        activate(kernels, self.activation, generated);
        self.norm2.apply(kernels, generated, None);
        let each = self.norm2.size / heads;
        let of_heads = generated
            .chunks_exact(self.output.outputs())
            .flat_map(|generated| generated[..heads * each].chunks_exact(each));
        for (to, from) in by_head.chunks_exact_mut(shared.inputs()).zip(of_heads) {
            to[..each].copy_from_slice(from);
        }
        shared.apply(kernels, Rows { count: positions * heads, numbers: by_head }, additions, rounded);
    }
}
