//! Encoder layers: attention between the 64 squares, then two dense layers per square, each with a layer
//! norm. Smolgen adds logits of attention that depend on the whole position (Lc0, BT2 and later).
//!
//! Each square is a row of numbers, and rows of several positions follow one another.

use super::layers::{
    Activations, Arithmetic, Branch, Buffer, Input, Layer, Norm, Output, Pass, Stream, padded, stride,
};
use crate::network::weights::{self, Dense, SQUARES};
use zeitnot_kernels::{Attend, Kernels, Layout, Product, Softmax, Tiles};

#[derive(Debug)]
pub(crate) struct Encoder {
    tiles: Option<Tiles>,
    heads: usize,
    depth: usize,
    /// Queries, keys and values side by side, [`Encoder::head_width`] numbers per head.
    project: Layer,
    smolgen: Option<Smolgen>,
    output: Layer,
    norm1: Norm,
    ffn: FeedForward,
    norm2: Norm,
    alpha: f32,
}

#[derive(Debug)]
pub(crate) struct FeedForward {
    hidden: Layer,
    output: Layer,
}

#[derive(Debug)]
pub(crate) struct EncoderScratch {
    projected: Activations,
    attended: Activations,
    pub(crate) branch: Buffer,
    pub(crate) hidden: Activations,
    of_smolgen: SmolgenScratch,
    /// `[positions][heads][64][64]`, from smolgen.
    additions: Activations,
    /// `[64][64]`
    scores: Buffer,
    /// A head's transposed keys, then its values, packed.
    packed: Buffer,
    packed_half: Buffer<u16>,
    /// `[64][depth]`
    result: Buffer,
}

#[derive(Debug)]
struct SmolgenScratch {
    compressed: Activations,
    squeezed: Buffer,
    generated: Buffer,
    by_head: Buffer,
    rounded: Activations,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack<'a> {
    pub(crate) encoders: &'a [Encoder],
    pub(crate) shared: Option<&'a Layer>,
    pub(crate) ffn: Option<&'a FeedForward>,
    pub(crate) width: usize,
}

/// Extra numbers between two heads' additions in bf16, so that the same squares of all heads don't share a
/// few lines of the L1 cache.
const SKEW: usize = 32;

impl EncoderScratch {
    pub(crate) fn new(arithmetic: Arithmetic, positions: usize, stack: Stack<'_>) -> EncoderScratch {
        let Stack { encoders, shared, ffn, width } = stack;
        let largest = |size: fn(&Encoder) -> usize| encoders.iter().map(size).max().unwrap_or(0);
        let rows = positions * SQUARES;
        let heads = largest(|encoder| encoder.heads);
        let depth = largest(|encoder| padded(encoder.depth).max(encoder.head_width()));
        let hidden = ffn.map_or(0, |ffn| ffn.hidden.outputs);
        let hidden = hidden.max(largest(|encoder| encoder.ffn.hidden.outputs));
        let activations = |width: usize| Activations::new(arithmetic, rows, width);
        let (single, half) = if arithmetic.tiles.is_none() { (1, 0) } else { (0, 1) };
        let additions = shared.map_or(0, |layer| layer.outputs);
        EncoderScratch {
            projected: activations(largest(|encoder| encoder.project.outputs)),
            attended: activations(largest(|encoder| encoder.output.inputs)),
            branch: Buffer::zeros(single * rows * width),
            hidden: activations(hidden),
            of_smolgen: SmolgenScratch::new(arithmetic, positions, stack),
            additions: Activations::with_layout(
                arithmetic,
                (positions * heads, additions),
                Layout::rows(additions + SKEW),
            ),
            scores: Buffer::zeros(single * SQUARES * SQUARES),
            packed: Buffer::zeros(single * SQUARES * depth),
            packed_half: Buffer::zeros(half * 2 * SQUARES * depth),
            result: Buffer::zeros(single * SQUARES * depth),
        }
    }
}

impl SmolgenScratch {
    fn new(arithmetic: Arithmetic, positions: usize, stack: Stack<'_>) -> SmolgenScratch {
        let largest = |size: fn(&Smolgen) -> usize| {
            let smolgens = stack.encoders.iter().filter_map(|encoder| encoder.smolgen.as_ref());
            smolgens.map(size).max().unwrap_or(0)
        };
        let heads = stack.encoders.iter().map(|encoder| encoder.heads).max().unwrap_or(0);
        let squeezed = largest(|smolgen| smolgen.hidden.outputs);
        let by_head = heads * stack.shared.map_or(0, |layer| layer.inputs);
        let rows = positions * heads.max(1);
        SmolgenScratch {
            compressed: Activations::of_positions(
                arithmetic,
                positions,
                largest(|smolgen| smolgen.compress.outputs),
            ),
            squeezed: Buffer::zeros(positions * squeezed),
            generated: Buffer::zeros(positions * largest(|smolgen| smolgen.output.outputs)),
            by_head: Buffer::zeros(positions * by_head),
            rounded: Activations::new(
                arithmetic,
                rows,
                squeezed.max(stack.shared.map_or(0, |layer| layer.inputs)),
            ),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a> {
    pub(crate) positions: usize,
    pub(crate) shared: Option<&'a Layer>,
    pub(crate) next: Option<&'a Layer>,
}

pub(crate) fn evaluate(
    encoders: &[Encoder],
    kernels: Kernels,
    stream: &mut Stream,
    surroundings: Surroundings<'_>,
    scratch: &mut EncoderScratch,
) {
    for (i, encoder) in encoders.iter().enumerate() {
        let next = encoders.get(i + 1).map(|next| &next.project).or(surroundings.next);
        encoder.evaluate(kernels, stream, Surroundings { next, ..surroundings }, scratch);
    }
}

impl Encoder {
    pub(crate) fn new(arithmetic: Arithmetic, encoder: &weights::Encoder) -> Encoder {
        let heads = encoder.heads;
        let depth = encoder.query.outputs / heads;
        let width = head_width(arithmetic.tiles, depth);
        let project = side_by_side(arithmetic, [&encoder.query, &encoder.key, &encoder.value], heads, width);
        let output =
            Layer::with_inputs(arithmetic, &encoder.output, arithmetic.padded(heads * width), |input| {
                (input / width < heads && input % width < depth)
                    .then(|| input / width * depth + input % width)
            });
        Encoder {
            tiles: arithmetic.tiles,
            heads,
            depth,
            project: Layer::new(arithmetic, &project),
            smolgen: encoder.smolgen.as_ref().map(|smolgen| Smolgen::new(arithmetic, smolgen)),
            output,
            norm1: Norm::new(arithmetic, &encoder.norm1, encoder.epsilon),
            ffn: FeedForward::new(arithmetic, &encoder.ffn),
            norm2: Norm::new(arithmetic, &encoder.norm2, encoder.epsilon),
            alpha: encoder.alpha,
        }
    }

    pub(crate) fn widest(&self) -> usize {
        self.project.outputs.max(self.ffn.hidden.outputs)
    }

    fn head_width(&self) -> usize {
        head_width(self.tiles, self.depth)
    }

    fn evaluate(
        &self,
        kernels: Kernels,
        stream: &mut Stream,
        Surroundings { positions, shared, next }: Surroundings<'_>,
        scratch: &mut EncoderScratch,
    ) {
        let rows = positions * SQUARES;
        let smolgen = self.smolgen.as_ref().zip(shared);
        let input = stream.input();
        let after_project = smolgen.map_or(&self.output, |(smolgen, _)| &smolgen.compress);
        let output = scratch.projected.output();
        self.project.apply(kernels, Pass { rows, input, output, next: Some(after_project) });
        if let Some((smolgen, shared)) = smolgen {
            let EncoderScratch { of_smolgen, additions, .. } = &mut *scratch;
            let shared = (shared, self.heads);
            smolgen.evaluate(kernels, input, positions, shared, (of_smolgen, additions.output()));
        }
        self.attend(kernels, positions, smolgen.is_some(), scratch);
        let EncoderScratch { attended, branch, hidden, .. } = scratch;
        let attention = Branch {
            layer: &self.output,
            input: attended.input(),
            norm: &self.norm1,
            factor: self.alpha,
            next: Some(&self.ffn.hidden),
        };
        stream.add(kernels, rows, attention, branch);
        let ffn = Sublayer { ffn: &self.ffn, norm: &self.norm2, factor: self.alpha, next };
        ffn.evaluate(kernels, rows, stream, (hidden, branch));
    }

    /// `softmax(Q Kᵀ / sqrt(depth) + additions) V` of all heads side by side.
    fn attend(&self, kernels: Kernels, positions: usize, has_additions: bool, scratch: &mut EncoderScratch) {
        let EncoderScratch { projected, attended, additions, packed_half, .. } = &mut *scratch;
        if let (Some(tiles), Input::Half(projected), Output::Half(attended, _)) =
            (self.tiles, projected.input(), attended.output())
        {
            tiles.attend(Attend {
                positions,
                heads: self.heads,
                depth: self.head_width(),
                projected: projected.numbers,
                scale: 1.0 / (self.depth as f32).sqrt(),
                additions: match additions.input() {
                    Input::Half(additions) if has_additions => Some(additions),
                    _ => None,
                },
                attended,
                scratch: packed_half,
                next: self.output.half_weights(),
            });
            return;
        }
        for (position, head) in
            (0..positions).flat_map(|position| (0..self.heads).map(move |head| (position, head)))
        {
            self.attend_single(kernels, (position, head), has_additions, scratch);
        }
    }

    fn attend_single(
        &self,
        kernels: Kernels,
        (position, head): (usize, usize),
        has_additions: bool,
        scratch: &mut EncoderScratch,
    ) {
        let EncoderScratch { projected, attended, additions, scores, packed, result, .. } = scratch;
        let (Input::Single(projected), Output::Single(attended)) = (projected.input(), attended.output())
        else {
            return;
        };
        let (depth, columns) = (self.depth, padded(self.depth));
        let (from, to) = (self.project.outputs, self.output.inputs);
        let projected = &projected[position * SQUARES * from + head * depth..];
        let (keys, values) = (&projected[to..], &projected[2 * to..]);
        pack_transposed(kernels.panel(), (keys, from), depth, &mut packed[..SQUARES * depth]);
        kernels.run(Product {
            count: 1,
            rows: SQUARES,
            inner: depth,
            width: SQUARES,
            a: projected,
            a_row: from,
            b: packed,
            c: scores,
            c_row: SQUARES,
            ..Product::default()
        });
        let first = (position * self.heads + head) * SQUARES * SQUARES;
        kernels.run(Softmax {
            rows: SQUARES,
            width: SQUARES,
            x: scores,
            scale: 1.0 / (depth as f32).sqrt(),
            added: match additions.input() {
                Input::Single(additions) if has_additions => Some(&additions[first..]),
                _ => None,
            },
        });
        pack_rows(kernels.panel(), (values, from), depth, packed);
        kernels.run(Product {
            count: 1,
            rows: SQUARES,
            inner: SQUARES,
            width: columns,
            a: scores,
            a_row: SQUARES,
            b: packed,
            c: result,
            c_row: columns,
            ..Product::default()
        });
        let attended = attended[position * SQUARES * to..].chunks_exact_mut(to);
        for (attended, result) in attended.zip(result.chunks_exact(columns)).take(SQUARES) {
            attended[head * depth..][..depth].copy_from_slice(&result[..depth]);
        }
    }
}

fn head_width(tiles: Option<Tiles>, depth: usize) -> usize {
    tiles.map_or(depth, |_| stride(depth))
}

impl FeedForward {
    pub(crate) fn new(arithmetic: Arithmetic, ffn: &weights::FeedForward) -> FeedForward {
        FeedForward {
            hidden: Layer::new(arithmetic, &ffn.hidden).activated(ffn.activation),
            output: Layer::new(arithmetic, &ffn.output),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sublayer<'a> {
    pub(crate) ffn: &'a FeedForward,
    pub(crate) norm: &'a Norm,
    pub(crate) factor: f32,
    pub(crate) next: Option<&'a Layer>,
}

impl Sublayer<'_> {
    pub(crate) fn evaluate(
        self,
        kernels: Kernels,
        rows: usize,
        stream: &mut Stream,
        (hidden, branch): (&mut Activations, &mut [f32]),
    ) {
        let Sublayer { ffn: FeedForward { hidden: first, output: second }, norm, factor, next } = self;
        let (input, output) = (stream.input(), hidden.output());
        first.apply(kernels, Pass { rows, input, output, next: Some(second) });
        let result = Branch { layer: second, input: hidden.input(), norm, factor, next };
        stream.add(kernels, rows, result, branch);
    }
}

/// Each head has `width` outputs of each layer, from a padded offset on.
fn side_by_side(arithmetic: Arithmetic, layers: [&Dense; 3], heads: usize, width: usize) -> Dense {
    let mut all = Dense { inputs: layers[0].inputs, outputs: 0, weights: Vec::new(), bias: Vec::new() };
    let pad = |all: &mut Dense, outputs: usize| {
        all.outputs = outputs;
        all.weights.resize(outputs * all.inputs, 0.0);
        all.bias.resize(outputs, 0.0);
    };
    for layer in layers {
        let depth = layer.outputs / heads;
        for head in 0..heads {
            all.weights.extend_from_slice(&layer.weights[head * depth * all.inputs..][..depth * all.inputs]);
            all.bias.extend_from_slice(&layer.bias[head * depth..][..depth]);
            let outputs = all.outputs + width;
            pad(&mut all, outputs);
        }
        let outputs = arithmetic.padded(all.outputs);
        pad(&mut all, outputs);
    }
    all
}

/// Packs the columns of rows with their stride transposed, for [`Product`].
fn pack_transposed(panel: usize, (rows, stride): (&[f32], usize), depth: usize, to: &mut [f32]) {
    let panel = panel.min(SQUARES);
    for (to, rows) in to.chunks_exact_mut(panel * depth).zip(rows.chunks(panel * stride)) {
        for (column, row) in rows.chunks(stride).enumerate().take(panel) {
            for (to, &number) in to[column..].iter_mut().step_by(panel).zip(&row[..depth]) {
                *to = number;
            }
        }
    }
}

/// Packs the columns padded, for [`Product`].
fn pack_rows(panel: usize, (rows, stride): (&[f32], usize), depth: usize, to: &mut [f32]) {
    let columns = padded(depth);
    let mut to = to;
    for first in (0..columns).step_by(panel) {
        let width = panel.min(columns - first);
        let own = width.min(depth.saturating_sub(first));
        let part = to.split_off_mut(..width * SQUARES).unwrap_or_default();
        for (to, row) in part.chunks_exact_mut(width).zip(rows.chunks(stride)) {
            to[..own].copy_from_slice(&row[first.min(depth)..][..own]);
            to[own..].fill(0.0);
        }
    }
}

const SMOLGEN_EPSILON: f32 = 1e-3;

/// All encoders share the last matrix, which is not in it.
#[derive(Debug)]
struct Smolgen {
    compress: Layer,
    hidden: Layer,
    norm1: Norm,
    output: Layer,
    norm2: Norm,
}

impl Smolgen {
    fn new(arithmetic: Arithmetic, smolgen: &weights::Smolgen) -> Smolgen {
        let channels = smolgen.channels;
        let compress = Dense {
            inputs: smolgen.compress.len() / channels,
            outputs: channels,
            weights: smolgen.compress.clone(),
            bias: vec![0.0; channels],
        };
        let compress = Layer::new(arithmetic, &compress);
        let each = compress.outputs;
        let hidden = Layer::with_inputs(arithmetic, &smolgen.hidden, SQUARES * each, |input| {
            let (square, channel) = arithmetic.square_and_channel(input, each);
            (channel < channels).then_some(square * channels + channel)
        });
        Smolgen {
            compress,
            hidden: hidden.activated(smolgen.activation),
            norm1: Norm::new(arithmetic, &smolgen.norm1, SMOLGEN_EPSILON),
            output: Layer::new(arithmetic, &smolgen.output).activated(smolgen.activation),
            norm2: Norm::new(arithmetic, &smolgen.norm2, SMOLGEN_EPSILON),
        }
    }

    fn evaluate(
        &self,
        kernels: Kernels,
        input: Input<'_>,
        positions: usize,
        (shared, heads): (&Layer, usize),
        (scratch, output): (&mut SmolgenScratch, Output<'_>),
    ) {
        let SmolgenScratch { compressed, squeezed, generated, by_head, rounded } = scratch;
        let pass =
            Pass { rows: positions * SQUARES, input, output: compressed.output(), next: Some(&self.hidden) };
        self.compress.apply(kernels, pass);
        let squeezed = &mut squeezed[..positions * self.hidden.outputs];
        let input = compressed.flat(self.compress.outputs);
        let pass =
            Pass { rows: positions, input, output: Output::Single(squeezed), next: Some(&self.output) };
        self.hidden.apply(kernels, pass);
        self.norm1.apply(kernels, squeezed, None, None);
        let generated = &mut generated[..positions * self.output.outputs];
        let input = rounded.hold(kernels, (positions, self.output.inputs), squeezed);
        let pass = Pass { rows: positions, input, output: Output::Single(generated), next: Some(shared) };
        self.output.apply(kernels, pass);
        self.norm2.apply(kernels, generated, None, None);
        let each = self.norm2.size / heads;
        let of_heads = generated
            .chunks_exact(self.output.outputs)
            .flat_map(|generated| generated[..heads * each].chunks_exact(each));
        for (to, from) in by_head.chunks_exact_mut(shared.inputs).zip(of_heads) {
            to[..each].copy_from_slice(from);
        }
        let rows = positions * heads;
        let input = rounded.hold(kernels, (rows, shared.inputs), by_head);
        shared.apply(kernels, Pass { rows, input, output, next: None });
    }
}
