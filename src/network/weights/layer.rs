//! Decodes single layers into `f32` and checks their sizes.
//!
//! Layers are taken by value so that their encoded form is freed as soon as the numbers exist: the memory peak of
//! loading stays near the size of the decoded network.

use half::{bf16, f16};

use super::error::NetworkErrorKind;
use super::message::{ConvBlock, Layer};
use super::network::{Convolution, Dense, LayerNorm};

/// Added to variances before the square root when batch norms are folded.
const BATCH_NORM_EPSILON: f32 = 1e-5;

/// The size that a layer must have, for checks and their messages.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    /// `weights`, `biases`, …
    pub what: &'a str,
    /// The number of numbers.
    pub len: usize,
    /// The shape in words, like `64→64 3x3`.
    pub words: &'a str,
}

/// Returns whether `layer` is there. Lc0 writes some absent layers as empty ones; one with a bad encoding is there, and
/// refused later.
pub fn is_present(layer: &Option<Layer>) -> bool {
    count(layer) > 0 || layer.as_ref().is_some_and(|layer| Encoding::of(layer).is_none())
}

/// Returns how many numbers `layer` holds.
pub fn count(layer: &Option<Layer>) -> usize {
    let Some(layer) = layer else { return 0 };
    let bytes = layer.params.as_ref().map_or(0, Vec::len);
    match Encoding::of(layer) {
        Some(Encoding::Float32) => bytes / 4,
        _ => bytes / 2,
    }
}

#[derive(Clone, Copy)]
enum Encoding {
    Linear16,
    Float16,
    Bfloat16,
    Float32,
}

impl Encoding {
    /// Returns the encoding of `layer`; `None` for a number that is no encoding. A layer that does not say is LINEAR16,
    /// whatever the file says.
    fn of(layer: &Layer) -> Option<Encoding> {
        match layer.encoding {
            None | Some(1) => Some(Encoding::Linear16),
            Some(2) => Some(Encoding::Float16),
            Some(3) => Some(Encoding::Bfloat16),
            Some(4) => Some(Encoding::Float32),
            Some(_) => None,
        }
    }
}

/// Returns all numbers of a layer that must be there, however many they are.
///
/// # Errors
/// Returns [`NetworkErrorKind::Missing`], [`NetworkErrorKind::Unsupported`] for unknown encodings,
/// [`NetworkErrorKind::Size`] for odd bytes, or [`NetworkErrorKind::NotFinite`].
pub fn numbers(layer: Option<Layer>, part: &str) -> Result<Vec<f32>, NetworkErrorKind> {
    let layer = layer.unwrap_or_default();
    let encoding = Encoding::of(&layer).ok_or_else(|| NetworkErrorKind::Unsupported {
        part: format!("{part} encoding"),
        found: layer.encoding.unwrap_or_default().to_string(),
        supported: "1 LINEAR16, 2 FLOAT16, 3 BFLOAT16, 4 FLOAT32".into(),
    })?;
    let params = layer.params.unwrap_or_default();
    if params.is_empty() {
        return Err(NetworkErrorKind::Missing {
            part: part.into(),
            reason: "the network's format needs it".into(),
        });
    }
    let width = if matches!(encoding, Encoding::Float32) { 4 } else { 2 };
    if !params.len().is_multiple_of(width) {
        let reason = format!("{} bytes are no whole number of {width}-byte values", params.len());
        return Err(NetworkErrorKind::Mismatch { part: part.into(), reason });
    }
    let halves = || params.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    let values: Vec<f32> = match encoding {
        Encoding::Linear16 => {
            let (min, max) = (layer.min_val.unwrap_or(0.0), layer.max_val.unwrap_or(0.0));
            halves()
                .map(|bits| {
                    let theta = f32::from(bits) / f32::from(u16::MAX);
                    min * (1.0 - theta) + max * theta
                })
                .collect()
        }
        Encoding::Float16 => halves().map(|bits| f16::from_bits(bits).to_f32()).collect(),
        Encoding::Bfloat16 => halves().map(|bits| bf16::from_bits(bits).to_f32()).collect(),
        Encoding::Float32 => {
            params.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
        }
    };
    require_finite(values, part)
}

/// Returns `values` if all are finite.
fn require_finite(values: Vec<f32>, part: &str) -> Result<Vec<f32>, NetworkErrorKind> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(values),
        Some(index) => Err(NetworkErrorKind::NotFinite { part: part.into(), index, value: values[index] }),
    }
}

/// Returns the numbers of a layer that must have exactly the size that `shape` says.
///
/// # Errors
/// Fails as [`numbers`] does, and with [`NetworkErrorKind::Size`].
pub fn sized(layer: Option<Layer>, part: &str, shape: Shape) -> Result<Vec<f32>, NetworkErrorKind> {
    let values = numbers(layer, part)?;
    if values.len() != shape.len {
        return Err(NetworkErrorKind::Size {
            part: part.into(),
            what: shape.what.into(),
            expected: shape.len,
            shape: shape.words.into(),
            found: values.len(),
        });
    }
    Ok(values)
}

/// Returns a fully connected layer with `inputs` inputs and as many outputs as it has biases.
///
/// # Errors
/// Fails as [`sized`] does.
pub fn dense(
    weights: Option<Layer>,
    bias: Option<Layer>,
    part: &str,
    inputs: usize,
) -> Result<Dense, NetworkErrorKind> {
    let bias = numbers(bias, &format!("{part} biases"))?;
    let outputs = bias.len();
    let words = format!("{inputs}→{outputs}");
    let shape = Shape { what: "weights", len: inputs * outputs, words: &words };
    let weights = sized(weights, part, shape)?;
    Ok(Dense { inputs, outputs, weights, bias })
}

/// The size of a fully connected layer.
#[derive(Clone, Copy, Debug)]
pub struct DenseSize {
    /// Numbers that it reads.
    pub inputs: usize,
    /// Numbers that it gives.
    pub outputs: usize,
}

/// Returns a fully connected layer of known size.
///
/// # Errors
/// Fails as [`sized`] does.
pub fn dense_sized(
    weights: Option<Layer>,
    bias: Option<Layer>,
    part: &str,
    size: DenseSize,
) -> Result<Dense, NetworkErrorKind> {
    let DenseSize { inputs, outputs } = size;
    let words = format!("{inputs}→{outputs}");
    let shape = |what, len| Shape { what, len, words: &words };
    let bias = sized(bias, &format!("{part} biases"), shape("values", outputs))?;
    let weights = sized(weights, part, shape("weights", inputs * outputs))?;
    Ok(Dense { inputs, outputs, weights, bias })
}

/// Returns a layer norm over `size` values.
///
/// # Errors
/// Fails as [`sized`] does.
pub fn layer_norm(
    gammas: Option<Layer>,
    betas: Option<Layer>,
    part: &str,
    size: usize,
) -> Result<LayerNorm, NetworkErrorKind> {
    let words = format!("a layer norm over {size}");
    let gammas = sized(gammas, part, Shape { what: "gammas", len: size, words: &words })?;
    let betas = sized(betas, part, Shape { what: "betas", len: size, words: &words })?;
    Ok(LayerNorm { gammas, betas })
}

/// The shape that a convolution must have.
#[derive(Clone, Copy, Debug)]
pub struct ConvolutionShape {
    /// Input channels.
    pub inputs: usize,
    /// Output channels; `None` takes what the file has.
    pub outputs: Option<usize>,
    /// Edge of the square kernel: 1 or 3.
    pub kernel: usize,
}

/// Returns a convolution with its batch norm folded into weights and bias.
///
/// # Errors
/// Fails as [`sized`] does, for every layer of the block; with [`NetworkErrorKind::Mismatch`] for a negative variance.
pub fn convolution(
    block: Option<ConvBlock>,
    part: &str,
    shape: ConvolutionShape,
) -> Result<Convolution, NetworkErrorKind> {
    let Some(block) = block else {
        return Err(NetworkErrorKind::Missing {
            part: part.into(),
            reason: "the network's format needs it".into(),
        });
    };
    let per_channel = [&block.biases, &block.bn_means, &block.bn_variances];
    let counted = per_channel.into_iter().map(count).find(|&n| n > 0);
    let Some(outputs) = shape.outputs.or(counted) else {
        let reason = "a convolution needs biases or a batch norm".into();
        return Err(NetworkErrorKind::Missing { part: format!("{part} biases"), reason });
    };
    let (inputs, kernel) = (shape.inputs, shape.kernel);
    let words = format!("{inputs}→{outputs} {kernel}x{kernel}");
    let size = |what| Shape { what, len: outputs, words: &words };

    let fan_in = inputs * kernel * kernel;
    let mut weights =
        sized(block.weights, part, Shape { what: "weights", len: fan_in * outputs, words: &words })?;
    let has_norm = is_present(&block.bn_means);
    let mut bias = if is_present(&block.biases) || !has_norm {
        sized(block.biases, part, size("biases"))?
    } else {
        vec![0.0; outputs]
    };
    if has_norm {
        let means = sized(block.bn_means, part, size("batch norm means"))?;
        let variances = sized(block.bn_variances, part, size("batch norm variances"))?;
        let (gammas, betas) = if is_present(&block.bn_betas) {
            (
                sized(block.bn_gammas, part, size("batch norm gammas"))?,
                sized(block.bn_betas, part, size("batch norm betas"))?,
            )
        } else {
            (vec![1.0; outputs], vec![0.0; outputs])
        };
        for channel in 0..outputs {
            let variance = variances[channel];
            if variance < 0.0 {
                let reason = format!("batch norm variance {channel} is {variance}, below zero");
                return Err(NetworkErrorKind::Mismatch { part: part.into(), reason });
            }
            let scale = gammas[channel] * (1.0 / (variance + BATCH_NORM_EPSILON).sqrt());
            for weight in &mut weights[channel * fan_in..(channel + 1) * fan_in] {
                *weight *= scale;
            }
            bias[channel] = betas[channel] - scale * (means[channel] - bias[channel]);
        }
    }
    let weights = require_finite(weights, part)?;
    let bias = require_finite(bias, part)?;
    Ok(Convolution { inputs, outputs, kernel, weights, bias })
}
