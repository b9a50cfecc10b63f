//! Encoder layers: attention between the 64 squares, then two dense layers per square, each with a layer
//! norm. Smolgen adds logits of attention that depend on the whole position (Lc0, BT2 and later).

use super::layers::{
    Arithmetic, Branch, Buffer, Layer, Norm, Pass, ROWS_AT_ONCE, Rows, in_parts, reordered, side_by_side,
};
use crate::network::layers::{self, Activation, Dense, SQUARES};
use zeitnot_kernels::{Attend, Product, Softmax, TILE_ROWS, Tiles};

pub(crate) struct Encoders {
    pub(super) list: Vec<Encoder>,
    /// Smolgen's last matrix.
    shared: Option<Layer>,
}

pub(super) struct Encoder {
    tiles: Option<Tiles>,
    heads: usize,
    depth: usize,
    /// `depth` with its padding.
    head_width: usize,
    /// Queries, keys and values side by side.
    project: Layer,
    smolgen: Option<Smolgen>,
    output: Branch,
    ffn: FeedForward,
}

pub(crate) struct FeedForward {
    /// Rows that go through both layers while they are in the cache.
    at_once: usize,
    hidden: Layer,
    output: Branch,
}

pub(crate) struct EncoderScratch {
    projected: Rows,
    attended: Rows,
    hidden: Rows,
    /// A branch's results in fp32.
    branch: Buffer,
    // Of smolgen, layer by layer.
    compressed: Rows,
    squeezed: Rows,
    generated: Rows,
    by_head: Rows,
    /// `[positions][heads][64][64]`
    additions: Rows,
    /// `[64][64]`
    scores: Buffer,
    /// A head's transposed keys, then its values, packed.
    packed: Buffer,
    packed_half: Buffer<u16>,
}

/// Extra numbers between two heads' additions in bf16: else the same squares of all heads share a few lines
/// of the L1 cache.
const SKEW: usize = 32;

impl Encoders {
    pub(crate) fn new(
        arithmetic: Arithmetic,
        encoders: &[layers::Encoder],
        shared: Option<&Dense>,
    ) -> Encoders {
        let layer = |dense| Layer::new(arithmetic, dense, Activation::None).with_gaps(SKEW);
        let list = encoders
            .iter()
            .map(|encoder| Encoder::new(arithmetic, encoder))
            .collect();
        Encoders {
            list,
            shared: shared.map(layer),
        }
    }

    /// Numbers of the widest row.
    pub(crate) fn widest(&self) -> usize {
        self.largest(|encoder| encoder.project.outputs.max(encoder.ffn.hidden.outputs))
    }

    fn largest(&self, size: impl Fn(&Encoder) -> usize) -> usize {
        self.list.iter().map(size).max().unwrap_or(0)
    }

    /// For rows of `width` numbers, also for those of `ffn`.
    pub(crate) fn scratch(
        &self,
        arithmetic: Arithmetic,
        positions: usize,
        width: usize,
        ffn: Option<&FeedForward>,
    ) -> EncoderScratch {
        let (rows, heads) = (positions * SQUARES, self.largest(|encoder| encoder.heads));
        let head = SQUARES * self.largest(|encoder| encoder.head_width);
        let hidden = ffn.map_or(0, |ffn| ffn.hidden.outputs);
        let hidden = hidden.max(self.largest(|encoder| encoder.ffn.hidden.outputs));
        let rows_of = |width: usize| Rows::new(arithmetic, rows, width);
        let of_smolgen =
            |size: fn(&Smolgen) -> usize| self.largest(|encoder| encoder.smolgen.as_ref().map_or(0, size));
        let tiled_rows = positions.next_multiple_of(TILE_ROWS) * SQUARES;
        let exact = |rows: usize, width: usize| Rows::exact(arithmetic, rows, width);
        // Attention reads what layers write.
        let unread = |rows: usize, width: usize| match arithmetic.tiles() {
            Some(_) => Rows::new(arithmetic, rows, width),
            None => Rows::plain(arithmetic.kernels, rows, width),
        };
        let (single, half) = if arithmetic.tiles().is_none() {
            (1, 0)
        } else {
            (0, 1)
        };
        let additions = self.shared.as_ref().map_or(0, |shared| shared.outputs + SKEW);
        EncoderScratch {
            projected: unread(rows, self.largest(|encoder| encoder.project.outputs)),
            attended: rows_of(self.largest(|encoder| encoder.output.layer.inputs)),
            hidden: rows_of(hidden),
            branch: Buffer::zeros(single * ROWS_AT_ONCE * width),
            compressed: Rows::new(
                arithmetic,
                tiled_rows,
                of_smolgen(|smolgen| smolgen.compress.outputs),
            ),
            squeezed: exact(positions, of_smolgen(|smolgen| smolgen.hidden.outputs)),
            generated: exact(positions, of_smolgen(|smolgen| smolgen.output.outputs)),
            by_head: exact(
                positions * heads,
                self.shared.as_ref().map_or(0, |shared| shared.inputs),
            ),
            additions: unread(positions * heads, additions),
            scores: Buffer::zeros(single * SQUARES * SQUARES),
            packed: Buffer::zeros(single * head),
            packed_half: Buffer::zeros(half * 2 * head),
        }
    }

    /// Changes `rows` of positions. `next` reads them.
    pub(crate) fn evaluate(
        &self,
        positions: usize,
        (rows, next): (&mut Rows, Option<&Layer>),
        scratch: &mut EncoderScratch,
    ) {
        for (i, encoder) in self.list.iter().enumerate() {
            let smolgen = encoder.smolgen.as_ref().zip(self.shared.as_ref());
            encoder.attend(positions, rows, smolgen, scratch);
            let next = self.list.get(i + 1).map(|next| &next.project).or(next);
            encoder.ffn.evaluate(positions * SQUARES, (rows, next), scratch);
        }
    }
}

impl Encoder {
    fn new(arithmetic: Arithmetic, encoder: &layers::Encoder) -> Encoder {
        let heads = encoder.heads;
        let depth = encoder.query.outputs / heads;
        let head_width = arithmetic.padded(depth);
        let project = side_by_side(&[&encoder.query, &encoder.key, &encoder.value], heads, head_width);
        let output = reordered(&encoder.output.layer, heads * head_width, |input| {
            let (head, place) = (input / head_width, input % head_width);
            (place < depth).then_some(head * depth + place)
        });
        Encoder {
            tiles: arithmetic.tiles(),
            heads,
            depth,
            head_width,
            project: Layer::new(arithmetic, &project, Activation::None),
            smolgen: encoder
                .smolgen
                .as_ref()
                .map(|smolgen| Smolgen::new(arithmetic, smolgen)),
            output: Branch::new(arithmetic, &output, &encoder.output),
            ffn: FeedForward::new(arithmetic, &encoder.ffn),
        }
    }

    /// Adds to `x` what attention finds.
    fn attend(
        &self,
        positions: usize,
        x: &mut Rows,
        smolgen: Option<(&Smolgen, &Layer)>,
        scratch: &mut EncoderScratch,
    ) {
        let rows = 0..positions * SQUARES;
        let after_project = smolgen.map_or(&self.output.layer, |(smolgen, _)| &smolgen.compress);
        let projected = &mut scratch.projected;
        self.project.apply(Pass {
            rows: rows.clone(),
            input: x,
            output: projected,
            next: Some(after_project),
        });
        if let Some((smolgen, shared)) = smolgen {
            smolgen.evaluate(x, positions, (shared, self.heads), scratch);
        }
        self.mix(positions, smolgen.map(|(_, shared)| shared), scratch);
        let EncoderScratch { attended, branch, .. } = scratch;
        let pass = Pass {
            rows,
            input: attended,
            output: x,
            next: Some(&self.ffn.hidden),
        };
        self.output.add(pass, branch);
    }

    /// `softmax(Q Kᵀ / sqrt(depth) + additions) V` of all heads side by side, with additions of `shared`.
    fn mix(&self, positions: usize, shared: Option<&Layer>, scratch: &mut EncoderScratch) {
        let Some(tiles) = self.tiles else {
            for head in 0..positions * self.heads {
                self.mix_single(head, shared.is_some(), scratch);
            }
            let width = self.output.layer.inputs;
            scratch.attended.round(positions * SQUARES, width);
            return;
        };
        let EncoderScratch {
            projected,
            attended,
            additions,
            packed_half,
            ..
        } = scratch;
        tiles.attend(Attend {
            positions,
            heads: self.heads,
            depth: self.head_width,
            projected: &projected.half,
            scale: 1.0 / (self.depth as f32).sqrt(),
            additions: shared.and_then(|shared| shared.half_results(additions)),
            attended: &mut attended.half,
            scratch: packed_half,
            next: self.output.layer.half_weights(),
        });
    }

    /// Likewise for one of the heads of all positions, in fp32.
    fn mix_single(&self, head: usize, has_additions: bool, scratch: &mut EncoderScratch) {
        let EncoderScratch {
            projected,
            attended,
            additions,
            scores,
            packed,
            ..
        } = scratch;
        let kernels = self.project.kernels;
        let from = self.project.outputs;
        let to = self.output.layer.inputs;
        let width = self.head_width;
        let (first, column) = (head / self.heads * SQUARES, head % self.heads * width);
        let query = &projected.numbers[first * from + column..];
        let keys = &query[to..];
        let values = &query[2 * to..];
        pack_transposed(
            kernels.panel(),
            (keys, from),
            width,
            &mut packed[..SQUARES * width],
        );
        kernels.run(Product {
            count: 1,
            rows: SQUARES,
            inner: width,
            width: SQUARES,
            a: query,
            a_row: from,
            b: packed,
            c: scores,
            c_row: SQUARES,
            ..Product::default()
        });
        kernels.run(Softmax {
            rows: SQUARES,
            width: SQUARES,
            x: scores,
            scale: 1.0 / (self.depth as f32).sqrt(),
            added: has_additions.then(|| &additions.numbers[head * SQUARES * SQUARES..]),
        });
        pack_rows(kernels.panel(), (values, from), width, packed);
        kernels.run(Product {
            count: 1,
            rows: SQUARES,
            inner: SQUARES,
            width,
            a: scores,
            a_row: SQUARES,
            b: packed,
            c: &mut attended.numbers[first * to + column..],
            c_row: to,
            ..Product::default()
        });
    }
}

impl FeedForward {
    pub(crate) fn new(arithmetic: Arithmetic, ffn: &layers::FeedForward) -> FeedForward {
        let output = Branch::new(arithmetic, &ffn.output.layer, &ffn.output);
        let at_once = if arithmetic.tiles().is_some() {
            usize::MAX
        } else {
            ROWS_AT_ONCE
        };
        FeedForward {
            at_once,
            hidden: Layer::new(arithmetic, &ffn.hidden, ffn.activation),
            output,
        }
    }

    /// Changes `x`, which `next` reads.
    pub(crate) fn evaluate(
        &self,
        rows: usize,
        (x, next): (&mut Rows, Option<&Layer>),
        scratch: &mut EncoderScratch,
    ) {
        let EncoderScratch { hidden, branch, .. } = scratch;
        for rows in in_parts(0..rows, self.at_once) {
            self.hidden.apply(Pass {
                rows: rows.clone(),
                input: x,
                output: hidden,
                next: Some(&self.output.layer),
            });
            self.output.add(
                Pass {
                    rows,
                    input: hidden,
                    output: x,
                    next,
                },
                branch,
            );
        }
    }
}

/// Packs the columns of rows with their stride transposed, for [`Product`].
fn pack_transposed(panel: usize, (rows, stride): (&[f32], usize), depth: usize, to: &mut [f32]) {
    let panel = panel.min(SQUARES);
    for (to, rows) in to
        .chunks_exact_mut(panel * depth)
        .zip(rows.chunks(panel * stride))
    {
        for (i, to) in to.chunks_exact_mut(panel).enumerate() {
            for (to, row) in to.iter_mut().zip(rows.chunks(stride)) {
                *to = row[i];
            }
        }
    }
}

/// Packs the columns, for [`Product`].
fn pack_rows(panel: usize, (rows, stride): (&[f32], usize), depth: usize, to: &mut [f32]) {
    let panels = to[..SQUARES * depth].chunks_mut(panel * SQUARES);
    for (first, to) in (0..depth).step_by(panel).zip(panels) {
        let width = to.len() / SQUARES;
        for (to, row) in to.chunks_exact_mut(width).zip(rows.chunks(stride)) {
            to.copy_from_slice(&row[first..][..width]);
        }
    }
}

/// All encoders share the last matrix, which is not in it.
struct Smolgen {
    compress: Layer,
    hidden: Layer,
    norm1: Norm,
    output: Layer,
    norm2: Norm,
}

impl Smolgen {
    fn new(arithmetic: Arithmetic, smolgen: &layers::Smolgen) -> Smolgen {
        let channels = smolgen.compress.outputs;
        let activation = smolgen.activation;
        let compress = Layer::new(arithmetic, &smolgen.compress, Activation::None);
        let each = compress.outputs;
        let hidden = reordered(&smolgen.hidden, SQUARES * each, |input| {
            let (square, channel) = arithmetic.square_and_channel(input, each);
            (channel < channels).then_some(square * channels + channel)
        });
        Smolgen {
            compress,
            hidden: Layer::new(arithmetic, &hidden, activation).after_squares(),
            norm1: Norm::new(arithmetic, &smolgen.norm1),
            output: Layer::new(arithmetic, &smolgen.output, activation),
            norm2: Norm::new(arithmetic, &smolgen.norm2),
        }
    }

    fn evaluate(
        &self,
        input: &Rows,
        positions: usize,
        (shared, heads): (&Layer, usize),
        scratch: &mut EncoderScratch,
    ) {
        let EncoderScratch {
            compressed,
            squeezed,
            generated,
            by_head,
            additions,
            ..
        } = scratch;
        let next = Some(&self.hidden);
        self.compress.apply(Pass {
            rows: 0..positions * SQUARES,
            input,
            output: compressed,
            next,
        });
        compressed.round(positions, self.hidden.inputs);
        let pass = Pass {
            rows: 0..positions,
            input: compressed,
            output: squeezed,
            next: Some(&self.output),
        };
        self.hidden.apply(pass);
        let width = self.hidden.outputs;
        self.norm1
            .apply(&mut squeezed.numbers[..positions * width], None, None);
        squeezed.round(positions, width);
        let pass = Pass {
            rows: 0..positions,
            input: squeezed,
            output: generated,
            next: Some(shared),
        };
        self.output.apply(pass);
        let generated = &mut generated.numbers[..positions * self.output.outputs];
        self.norm2.apply(generated, None, None);
        let each = self.norm2.size / heads;
        let of_heads = generated
            .chunks_exact(self.output.outputs)
            .flat_map(|generated| generated[..heads * each].chunks_exact(each));
        for (to, from) in by_head.numbers.chunks_exact_mut(shared.inputs).zip(of_heads) {
            to[..each].copy_from_slice(from);
        }
        let rows = positions * heads;
        by_head.round(rows, shared.inputs);
        shared.apply(Pass {
            rows: 0..rows,
            input: by_head,
            output: additions,
            next: None,
        });
    }
}
