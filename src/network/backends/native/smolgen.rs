//! Smolgen: additions to the logits of attention that depend on the whole position (Lc0, BT2 and later).

use super::encoder::EncoderScratch;
use super::kernels::Kernels;
use super::layer::{Arithmetic, Layer, Rows};
use super::linear::activate;
use super::norm::Norm;
use crate::network::weights::{self, Dense, SQUARES};

/// Epsilon of the layer norms inside smolgen.
const SMOLGEN_EPSILON: f32 = 1e-3;

/// Makes additions to the attention's logits that depend on the whole position; the matrix that all encoders share is not
/// in it.
#[derive(Debug)]
pub(super) struct Smolgen {
    pub(super) compress: Layer,
    pub(super) hidden: Layer,
    norm1: Norm,
    pub(super) output: Layer,
    norm2: Norm,
    activation: weights::Activation,
}

/// The matrix that all smolgens share, with the heads that it is applied to.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedMatrix<'a> {
    pub(super) heads: usize,
    pub(super) layer: &'a Layer,
}

impl Smolgen {
    /// Packs the weights.
    pub(super) fn new(arithmetic: Arithmetic<'_>, smolgen: &weights::Smolgen) -> Smolgen {
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
    pub(super) fn evaluate(
        &self,
        kernels: &dyn Kernels,
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
