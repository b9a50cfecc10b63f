//! Turns a file's layers into a [`Network`] and checks every size against the format.
//!
//! Layers are taken by value, so that their encoded form is freed as soon as the numbers exist.

use half::{bf16, f16};

use super::error::{Checked, NetworkFault, fault, missing, unsupported};
use super::format::{EmbeddingKind, NetworkFormat, PolicyKind};
use super::message::{self, ConvBlock, EncoderLayer, Ffn, Layer, SeUnit, Weights};
use crate::network::layers::{
    Activation, AttentionBody, AttentionPolicy, Body, Branch, CONVOLUTION_POLICY_PLANES, Convolution, Dense,
    Embedding, Encoder, FeedForward, LayerNorm, Network, PIECE_PLANES, PieceEmbedding, PolicyHead,
    ResidualBlock, SQUARES, ScalarHead, Smolgen, SqueezeExcite, TABLE_WIDTH, Tower,
};
use crate::network::planes::PLANES;
use crate::network::policy_map::POLICY_SIZE;

/// Added to variances before the square root.
const BATCH_NORM_EPSILON: f32 = 1e-5;
const PAIRS: usize = SQUARES * SQUARES;
/// Layer norms in bodies with [`Embedding::Table`] or a tower, and their policy encoders.
const EPSILON: f32 = 1e-6;
/// Layer norms in bodies with [`Embedding::Pieces`], and in smolgen. Policy encoders use [`EPSILON`] in Lc0's
/// reference evaluation.
const LARGE_EPSILON: f32 = 1e-3;

/// Weights and biases, or gammas and betas.
type Pair = (Option<Layer>, Option<Layer>);

/// The error names the first part that is missing, of the
/// wrong size, or not finite.
pub(super) fn network(
    mut weights: Weights,
    format: NetworkFormat,
    policy: message::PolicyHead,
    value: message::ValueHead,
) -> Checked<Network> {
    let moves_left = message::ValueHead {
        value: weights.moves_left.take(),
        ip_val_w: weights.ip_mov_w.take(),
        ip_val_b: weights.ip_mov_b.take(),
        ip1_val_w: weights.ip1_mov_w.take(),
        ip1_val_b: weights.ip1_mov_b.take(),
        ip2_val_w: weights.ip2_mov_w.take(),
        ip2_val_b: weights.ip2_mov_b.take(),
    };
    let body = if format.has_encoders {
        Body::Attention(attention_body(weights, &format)?)
    } else {
        Body::Tower(tower(weights.input, weights.residual)?)
    };
    let policy = policy_head(policy, &body, &format)?;
    let value = scalar_head(value, "value", format.value_outputs, &body)?;
    let moves_left = format
        .moves_left
        .then(|| scalar_head(moves_left, "moves left", 1, &body))
        .transpose()?;
    Ok(Network {
        input_format: format.input,
        activation: format.activation,
        body,
        policy,
        value,
        moves_left,
    })
}

// Encodings of a layer. One without any is LINEAR16, whatever the file says.
const LINEAR16: i32 = 1;
const FLOAT16: i32 = 2;
const BFLOAT16: i32 = 3;
const FLOAT32: i32 = 4;

/// `None` for an unknown number.
fn encoding(layer: &Layer) -> Option<i32> {
    Some(layer.encoding.unwrap_or(LINEAR16)).filter(|number| (LINEAR16..=FLOAT32).contains(number))
}

/// Lc0 writes some absent layers as empty ones. One with a bad encoding is present, and refused later.
fn is_present(layer: &Option<Layer>) -> bool {
    count(layer) > 0 || layer.as_ref().is_some_and(|layer| encoding(layer).is_none())
}

fn count(layer: &Option<Layer>) -> usize {
    let Some(layer) = layer else { return 0 };
    let bytes = layer.params.as_ref().map_or(0, Vec::len);
    if layer.encoding == Some(FLOAT32) {
        bytes / 4
    } else {
        bytes / 2
    }
}

/// Mandatory, of any size.
fn numbers(layer: Option<Layer>, part: &str) -> Checked<Vec<f32>> {
    let layer = layer.unwrap_or_default();
    let encoding = encoding(&layer).ok_or_else(|| {
        let found = layer.encoding.unwrap_or_default();
        let supported = "1 LINEAR16, 2 FLOAT16, 3 BFLOAT16, 4 FLOAT32";
        unsupported(format!("{part} encoding"), found, supported)
    })?;
    let params = layer.params.unwrap_or_default();
    if params.is_empty() {
        return Err(missing(part, "the network's format needs it"));
    }
    let width = if encoding == FLOAT32 { 4 } else { 2 };
    if !params.len().is_multiple_of(width) {
        let reason = format!(
            "{} bytes are no whole number of {width}-byte values",
            params.len()
        );
        return Err(fault(part, reason));
    }
    if encoding == FLOAT32 {
        let (bytes, _) = params.as_chunks::<4>();
        return require_finite(
            bytes.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect(),
            part,
        );
    }
    let (min, max) = (layer.min_val.unwrap_or(0.0), layer.max_val.unwrap_or(0.0));
    let number = |&bytes: &[u8; 2]| {
        let bits = u16::from_le_bytes(bytes);
        match encoding {
            FLOAT16 => f16::from_bits(bits).to_f32(),
            BFLOAT16 => bf16::from_bits(bits).to_f32(),
            _ => {
                let theta = f32::from(bits) / f32::from(u16::MAX);
                min * (1.0 - theta) + max * theta
            }
        }
    };
    let (bytes, _) = params.as_chunks::<2>();
    require_finite(bytes.iter().map(number).collect(), part)
}

fn require_finite(values: Vec<f32>, part: &str) -> Checked<Vec<f32>> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(values),
        Some(index) => {
            let reason = format!("value {index} is {}, but weights must be finite", values[index]);
            Err(fault(part, reason))
        }
    }
}

/// Mandatory, with exactly `len` of `what`, such as weights. `words` say why, like `64→64 3x3`.
fn sized(layer: Option<Layer>, part: &str, what: &str, len: usize, words: &str) -> Checked<Vec<f32>> {
    let values = numbers(layer, part)?;
    if values.len() != len {
        return Err(wrong_size(part, what, len, words, values.len()));
    }
    Ok(values)
}

fn wrong_size(part: &str, what: &str, expected: usize, shape: &str, found: usize) -> NetworkFault {
    fault(
        part,
        format!("{expected} {what} expected for {shape}, found {found}"),
    )
}

/// Without `outputs` there is one per bias.
fn dense((weights, bias): Pair, part: &str, inputs: usize, outputs: Option<usize>) -> Checked<Dense> {
    let bias_part = format!("{part} biases");
    let bias = match outputs {
        Some(len) => sized(bias, &bias_part, "values", len, &format!("{inputs}→{len}"))?,
        None => numbers(bias, &bias_part)?,
    };
    let outputs = bias.len();
    let words = format!("{inputs}→{outputs}");
    let weights = sized(weights, part, "weights", inputs * outputs, &words)?;
    Ok(Dense {
        inputs,
        outputs,
        weights,
        bias,
    })
}

fn layer_norm((gammas, betas): Pair, part: &str, size: usize, epsilon: f32) -> Checked<LayerNorm> {
    let words = format!("a layer norm over {size}");
    let gammas = sized(gammas, part, "gammas", size, &words)?;
    let betas = sized(betas, part, "betas", size, &words)?;
    Ok(LayerNorm {
        gammas,
        betas,
        epsilon,
    })
}

/// A 3×3 convolution. Without `outputs` the file decides.
fn convolution(
    block: Option<ConvBlock>,
    part: &str,
    inputs: usize,
    outputs: Option<usize>,
) -> Checked<Convolution> {
    let (weights, bias) = convolved(block, part, inputs, outputs, 3)?;
    Ok(Convolution {
        inputs,
        outputs: bias.len(),
        weights,
        bias,
    })
}

/// A 1×1 convolution.
fn per_square(block: Option<ConvBlock>, part: &str, inputs: usize) -> Checked<Dense> {
    let (weights, bias) = convolved(block, part, inputs, None, 1)?;
    Ok(Dense {
        inputs,
        outputs: bias.len(),
        weights,
        bias,
    })
}

/// The weights and biases of a convolution, with its batch norm folded in.
fn convolved(
    block: Option<ConvBlock>,
    part: &str,
    inputs: usize,
    outputs: Option<usize>,
    kernel: usize,
) -> Checked<(Vec<f32>, Vec<f32>)> {
    let block = block.ok_or_else(|| missing(part, "the network's format needs it"))?;
    let per_channel = [&block.biases, &block.bn_means, &block.bn_variances];
    let counted = per_channel.into_iter().map(count).find(|&n| n > 0);
    let Some(outputs) = outputs.or(counted) else {
        let part = format!("{part} biases");
        return Err(missing(&part, "a convolution needs biases or a batch norm"));
    };
    let words = format!("{inputs}→{outputs} {kernel}x{kernel}");
    let of_channels = |layer, what| sized(layer, part, what, outputs, &words);

    let fan_in = inputs * kernel * kernel;
    let mut weights = sized(block.weights, part, "weights", fan_in * outputs, &words)?;
    let has_norm = is_present(&block.bn_means);
    let mut bias = if is_present(&block.biases) || !has_norm {
        of_channels(block.biases, "biases")?
    } else {
        vec![0.0; outputs]
    };
    if has_norm {
        let means = of_channels(block.bn_means, "batch norm means")?;
        let variances = of_channels(block.bn_variances, "batch norm variances")?;
        let (gammas, betas) = if is_present(&block.bn_betas) {
            (
                of_channels(block.bn_gammas, "batch norm gammas")?,
                of_channels(block.bn_betas, "batch norm betas")?,
            )
        } else {
            (vec![1.0; outputs], vec![0.0; outputs])
        };
        for channel in 0..outputs {
            let variance = variances[channel];
            if variance < 0.0 {
                let reason = format!("batch norm variance {channel} is {variance}, below zero");
                return Err(fault(part, reason));
            }
            let scale = gammas[channel] * (1.0 / (variance + BATCH_NORM_EPSILON).sqrt());
            for weight in &mut weights[channel * fan_in..(channel + 1) * fan_in] {
                *weight *= scale;
            }
            bias[channel] = betas[channel] - scale * (means[channel] - bias[channel]);
        }
    }
    Ok((require_finite(weights, part)?, require_finite(bias, part)?))
}

fn tower(input: Option<ConvBlock>, residual: Vec<message::Residual>) -> Checked<Tower> {
    let input = convolution(input, "input convolution", PLANES, None)?;
    let filters = input.outputs;
    let blocks = residual
        .into_iter()
        .enumerate()
        .map(|(index, block)| residual_block(block, &format!("block {index}"), filters))
        .collect::<Result<Vec<_>, _>>()?;
    if blocks.is_empty() {
        return Err(missing(
            "residual blocks",
            "a tower needs at least one residual block",
        ));
    }
    Ok(Tower { input, blocks })
}

fn residual_block(block: message::Residual, part: &str, filters: usize) -> Checked<ResidualBlock> {
    let conv = |block, name| convolution(block, &format!("{part} {name}"), filters, Some(filters));
    Ok(ResidualBlock {
        conv1: conv(block.conv1, "conv1")?,
        conv2: conv(block.conv2, "conv2")?,
        se: block
            .se
            .map(|se| squeeze_excite(se, &format!("{part} SE"), filters))
            .transpose()?,
    })
}

fn squeeze_excite(se: SeUnit, part: &str, filters: usize) -> Checked<SqueezeExcite> {
    let squeeze = dense((se.w1, se.b1), &format!("{part} squeeze"), filters, None)?;
    let excite = dense(
        (se.w2, se.b2),
        &format!("{part} excite"),
        squeeze.outputs,
        Some(2 * filters),
    )?;
    Ok(SqueezeExcite { squeeze, excite })
}

fn policy_head(layers: message::PolicyHead, body: &Body, format: &NetworkFormat) -> Checked<PolicyHead> {
    let width = body.width();
    match format.policy {
        PolicyKind::Classical => {
            let squares = per_square(layers.policy, "policy convolution", width)?;
            let inputs = squares.outputs * SQUARES;
            let dense = dense(
                (layers.ip_pol_w, layers.ip_pol_b),
                "policy dense",
                inputs,
                Some(POLICY_SIZE),
            )?;
            Ok(PolicyHead::Classical { squares, dense })
        }
        PolicyKind::Convolution => {
            let conv1 = convolution(layers.policy1, "policy conv1", width, Some(width))?;
            let conv2 = convolution(layers.policy, "policy conv2", width, None)?;
            if conv2.outputs < CONVOLUTION_POLICY_PLANES {
                let expected = CONVOLUTION_POLICY_PLANES;
                let found = conv2.outputs;
                return Err(wrong_size("policy conv2", "planes", expected, "the moves", found));
            }
            Ok(PolicyHead::Convolution { conv1, conv2 })
        }
        PolicyKind::Attention => {
            // Lc0 always uses SELU here in towers.
            let activation = if format.has_encoders {
                format.activation
            } else {
                Activation::Selu
            };
            Ok(PolicyHead::Attention(Box::new(attention_policy(
                layers, width, activation, format,
            )?)))
        }
    }
}

/// A value or moves left head. Towers feed it by a 1x1 convolution, attention bodies by a dense layer per
/// square.
fn scalar_head(layers: message::ValueHead, head: &str, outputs: usize, body: &Body) -> Checked<ScalarHead> {
    let squares = match body {
        Body::Tower(_) => per_square(layers.value, &format!("{head} convolution"), body.width())?,
        Body::Attention(_) => {
            let pair = (layers.ip_val_w, layers.ip_val_b);
            dense(pair, &format!("{head} embedding"), body.width(), None)?
        }
    };
    let inputs = squares.outputs * SQUARES;
    let hidden = dense(
        (layers.ip1_val_w, layers.ip1_val_b),
        &format!("{head} dense1"),
        inputs,
        None,
    )?;
    let pair = (layers.ip2_val_w, layers.ip2_val_b);
    let output = dense(pair, &format!("{head} dense2"), hidden.outputs, Some(outputs))?;
    Ok(ScalarHead {
        squares,
        hidden,
        output,
    })
}

fn attention_body(weights: Weights, format: &NetworkFormat) -> Checked<AttentionBody> {
    if weights.encoder.is_empty() {
        return Err(missing("encoders", "the format says attention body"));
    }
    let width = count(&weights.ip_emb_b);
    let has_smolgen = is_present(&weights.smolgen_w);
    let smolgen = has_smolgen
        .then(|| shared_smolgen(weights.smolgen_w))
        .transpose()?;
    let shape = EncoderShape {
        width,
        heads: weights.headcount.unwrap_or_default(),
        smolgen: smolgen.as_ref().map(|shared| shared.inputs),
        smolgen_activation: format.smolgen_activation,
        ffn_activation: format.ffn_activation.unwrap_or(format.activation),
        alpha: (2.0 * weights.encoder.len() as f32).powf(-0.25),
        epsilon: match format.embedding {
            EmbeddingKind::Pieces => LARGE_EPSILON,
            EmbeddingKind::None | EmbeddingKind::Table => EPSILON,
        },
    };

    let (embedding, inputs) = if !weights.residual.is_empty() {
        let tower = tower(weights.input, weights.residual)?;
        let filters = tower.filters();
        (Embedding::Tower(Box::new(tower)), filters)
    } else {
        match format.embedding {
            EmbeddingKind::Table => (Embedding::Table, PLANES + TABLE_WIDTH),
            EmbeddingKind::Pieces => {
                let pair = (weights.ip_emb_preproc_w, weights.ip_emb_preproc_b);
                let preprocess = dense(pair, "piece embedding", SQUARES * PIECE_PLANES, None)?;
                if !preprocess.outputs.is_multiple_of(SQUARES) {
                    let reason = format!(
                        "{} outputs cannot be shared by {SQUARES} squares",
                        preprocess.outputs
                    );
                    return Err(fault("piece embedding", reason));
                }
                let inputs = PLANES + preprocess.outputs / SQUARES;
                let norm = (weights.ip_emb_ln_gammas, weights.ip_emb_ln_betas);
                let ffn_norm = (weights.ip_emb_ffn_ln_gammas, weights.ip_emb_ffn_ln_betas);
                let pieces = PieceEmbedding {
                    preprocess,
                    norm: layer_norm(norm, "embedding norm1", width, shape.epsilon)?,
                    ffn: feed_forward((weights.ip_emb_ffn, ffn_norm), "embedding", &shape)?,
                };
                (Embedding::Pieces(Box::new(pieces)), inputs)
            }
            EmbeddingKind::None => {
                let reason = "an attention body without a tower needs 1 PE_MAP or 2 PE_DENSE";
                return Err(missing("format.input_embedding", reason));
            }
        }
    };
    let dense = dense((weights.ip_emb_w, weights.ip_emb_b), "embedding", inputs, None)?;
    let words = format!("{width}x{SQUARES}");
    let gate = |layer: Option<Layer>, part: &str| {
        is_present(&layer)
            .then(|| sized(layer, part, "gates", width * SQUARES, &words))
            .transpose()
    };
    Ok(AttentionBody {
        embedding,
        dense,
        encoders: encoders(weights.encoder, "encoder", &shape)?,
        multiply_gate: gate(weights.ip_mult_gate, "multiply gate")?,
        add_gate: gate(weights.ip_add_gate, "add gate")?,
        smolgen,
    })
}

/// On a body of `width` channels per square.
fn attention_policy(
    layers: message::PolicyHead,
    width: usize,
    activation: Activation,
    format: &NetworkFormat,
) -> Checked<AttentionPolicy> {
    let embedding = dense(
        (layers.ip_pol_w, layers.ip_pol_b),
        "policy embedding",
        width,
        None,
    )?;
    let width = embedding.outputs;
    let shape = EncoderShape {
        width,
        heads: layers.pol_headcount.unwrap_or_default(),
        smolgen: None,
        smolgen_activation: format.smolgen_activation,
        ffn_activation: format.ffn_activation.unwrap_or(activation),
        alpha: 1.0,
        epsilon: EPSILON,
    };
    let encoders = encoders(layers.pol_encoder, "policy encoder", &shape)?;
    let query = dense((layers.ip2_pol_w, layers.ip2_pol_b), "policy query", width, None)?;
    let key = dense(
        (layers.ip3_pol_w, layers.ip3_pol_b),
        "policy key",
        width,
        Some(query.outputs),
    )?;
    let words = format!("{}→4", query.outputs);
    let promotion = sized(
        layers.ip4_pol_w,
        "policy promotion",
        "weights",
        4 * query.outputs,
        &words,
    )?;
    Ok(AttentionPolicy {
        embedding,
        activation,
        encoders,
        query,
        key,
        promotion,
    })
}

struct EncoderShape {
    width: usize,
    heads: u32,
    /// Outputs per head, with a shared matrix.
    smolgen: Option<usize>,
    smolgen_activation: Activation,
    ffn_activation: Activation,
    alpha: f32,
    epsilon: f32,
}

fn encoders(stack: Vec<EncoderLayer>, part: &str, shape: &EncoderShape) -> Checked<Vec<Encoder>> {
    let stack = stack.into_iter().enumerate();
    stack
        .map(|(index, layers)| encoder(layers, &format!("{part} {index}"), shape))
        .collect()
}

fn encoder(layers: EncoderLayer, part: &str, shape: &EncoderShape) -> Checked<Encoder> {
    let attention = format!("{part} attention");
    let mha = layers
        .mha
        .ok_or_else(|| missing(&attention, "encoders need it"))?;
    if mha.rpe_q.is_some() || mha.rpe_k.is_some() || mha.rpe_v.is_some() {
        let found = "relative position encoding (RPE)";
        return Err(unsupported(attention, found, "none and smolgen"));
    }
    let width = shape.width;
    let query_part = format!("{part} query");
    let query = dense((mha.q_w, mha.q_b), &query_part, width, None)?;
    let model = query.outputs;
    let heads = shape.heads as usize;
    if heads == 0 || !model.is_multiple_of(heads) {
        let reason = format!("{heads} attention heads cannot share {model} channels");
        return Err(fault(query_part, reason));
    }
    let key = dense((mha.k_w, mha.k_b), &format!("{part} key"), width, Some(model))?;
    let value = dense((mha.v_w, mha.v_b), &format!("{part} value"), width, Some(model))?;
    let output = dense(
        (mha.dense_w, mha.dense_b),
        &format!("{attention} output"),
        model,
        Some(width),
    )?;
    let smolgen = mha
        .smolgen
        .map(|layers| smolgen(layers, &format!("{part} smolgen"), shape))
        .transpose()?;
    let norm = (layers.ln1_gammas, layers.ln1_betas);
    let output = branch(output, norm, &format!("{part} norm1"), shape)?;
    let ffn = feed_forward((layers.ffn, (layers.ln2_gammas, layers.ln2_betas)), part, shape)?;
    Ok(Encoder {
        heads,
        query,
        key,
        value,
        smolgen,
        output,
        ffn,
    })
}

fn branch(layer: Dense, norm: Pair, part: &str, shape: &EncoderShape) -> Checked<Branch> {
    let norm = layer_norm(norm, part, shape.width, shape.epsilon)?;
    Ok(Branch {
        layer,
        norm,
        factor: shape.alpha,
    })
}

/// The feed-forward layers of `part`, and the norm behind them.
fn feed_forward((ffn, norm): (Option<Ffn>, Pair), part: &str, shape: &EncoderShape) -> Checked<FeedForward> {
    let ffn = ffn.unwrap_or_default();
    let hidden = dense(
        (ffn.dense1_w, ffn.dense1_b),
        &format!("{part} FFN dense1"),
        shape.width,
        None,
    )?;
    let pair = (ffn.dense2_w, ffn.dense2_b);
    let output = dense(
        pair,
        &format!("{part} FFN dense2"),
        hidden.outputs,
        Some(shape.width),
    )?;
    let output = branch(output, norm, &format!("{part} norm2"), shape)?;
    Ok(FeedForward {
        hidden,
        activation: shape.ffn_activation,
        output,
    })
}

fn smolgen(layers: message::Smolgen, part: &str, shape: &EncoderShape) -> Checked<Smolgen> {
    let missing = || missing("shared smolgen weights", "encoders have smolgen");
    let generated = shape.smolgen.ok_or_else(missing)?;
    let width = shape.width;
    let compress = without_bias(layers.compress, &format!("{part} compress"), width)?;
    let channels = compress.outputs;
    let pair = (layers.dense1_w, layers.dense1_b);
    let hidden = dense(pair, &format!("{part} dense1"), SQUARES * channels, None)?;
    let pair = (layers.dense2_w, layers.dense2_b);
    let outputs = shape.heads as usize * generated;
    let output = dense(pair, &format!("{part} dense2"), hidden.outputs, Some(outputs))?;
    let norm = |pair, name: &str, size| layer_norm(pair, &format!("{part} {name}"), size, LARGE_EPSILON);
    Ok(Smolgen {
        norm1: norm((layers.ln1_gammas, layers.ln1_betas), "norm1", hidden.outputs)?,
        norm2: norm((layers.ln2_gammas, layers.ln2_betas), "norm2", output.outputs)?,
        compress,
        hidden,
        output,
        activation: shape.smolgen_activation,
    })
}

/// As many outputs as there are rows of weights.
fn without_bias(layer: Option<Layer>, part: &str, inputs: usize) -> Checked<Dense> {
    let weights = numbers(layer, part)?;
    if inputs == 0 || !weights.len().is_multiple_of(inputs) {
        let reason = format!(
            "{} weights are no whole number of rows of {inputs}",
            weights.len()
        );
        return Err(fault(part, reason));
    }
    let outputs = weights.len() / inputs;
    Ok(Dense {
        inputs,
        outputs,
        weights,
        bias: vec![0.0; outputs],
    })
}

/// The matrix from what smolgen generates to all pairs of squares.
fn shared_smolgen(layer: Option<Layer>) -> Checked<Dense> {
    let part = "shared smolgen weights";
    let weights = numbers(layer, part)?;
    if !weights.len().is_multiple_of(PAIRS) {
        let reason = format!("{} weights are no multiple of {PAIRS}", weights.len());
        return Err(fault(part, reason));
    }
    Ok(Dense {
        inputs: weights.len() / PAIRS,
        outputs: PAIRS,
        weights,
        bias: vec![0.0; PAIRS],
    })
}
