//! Reads attention bodies and attention policies.

use super::error::NetworkErrorKind;
use super::format::{EmbeddingKind, NetworkFormat};
use super::heads::PolicyLayers;
use super::layer::{self, DenseSize, Shape};
use super::message::{self, EncoderLayer, Ffn, Layer, Weights};
use super::network::{
    Activation, AttentionBody, AttentionPolicy, Embedding, Encoder, FeedForward, PieceEmbedding, SQUARES,
    Smolgen, SmolgenWeights,
};
use super::read;
use crate::network::PLANES;

/// Width of the constant table's rows.
pub const TABLE_WIDTH: usize = 64;
/// Planes of the current pieces: the first of the 112.
pub const PIECE_PLANES: usize = 12;
/// Pairs of squares: logits of one attention head.
const PAIRS: usize = SQUARES * SQUARES;
/// The epsilon of layer norms in bodies with [`Embedding::Table`] or a tower, and their policy encoders.
const EPSILON: f32 = 1e-6;
/// The epsilon of layer norms in bodies with [`Embedding::Pieces`]. Their policy encoders use [`EPSILON`] in Lc0's
/// reference evaluation.
const EPSILON_PIECES: f32 = 1e-3;

/// Reads the body; takes everything but the heads out of `weights`.
///
/// # Errors
/// Returns an error for the first part that is missing, of the wrong size, or not finite.
pub fn body(weights: Weights, format: &NetworkFormat) -> Result<AttentionBody, NetworkErrorKind> {
    if weights.encoder.is_empty() {
        let reason = "the format says attention body".into();
        return Err(NetworkErrorKind::Missing { part: "encoders".into(), reason });
    }
    let width = layer::count(&weights.ip_emb_b);
    let alpha = (2.0 * weights.encoder.len() as f32).powf(-0.25);
    let has_smolgen = layer::is_present(&weights.smolgen_w);
    let smolgen = if has_smolgen { Some(smolgen_weights(weights.smolgen_w)?) } else { None };
    let encoder_shape = EncoderShape {
        width,
        heads: weights.headcount.unwrap_or_default(),
        smolgen: smolgen.as_ref().map(|shared| shared.generated),
        smolgen_activation: format.smolgen_activation,
        ffn_activation: format.ffn_activation.unwrap_or(format.activation),
        alpha,
        epsilon: match format.embedding {
            EmbeddingKind::Pieces => EPSILON_PIECES,
            EmbeddingKind::None | EmbeddingKind::Table => EPSILON,
        },
    };

    let (embedding, inputs) = if !weights.residual.is_empty() {
        let tower = read::tower(weights.input, weights.residual)?;
        let filters = tower.filters();
        (Embedding::Tower(Box::new(tower)), filters)
    } else {
        match format.embedding {
            EmbeddingKind::Table => (Embedding::Table, PLANES + TABLE_WIDTH),
            EmbeddingKind::Pieces => {
                let layers = PieceLayers {
                    preprocess: (weights.ip_emb_preproc_w, weights.ip_emb_preproc_b),
                    norm1: (weights.ip_emb_ln_gammas, weights.ip_emb_ln_betas),
                    ffn: weights.ip_emb_ffn,
                    norm2: (weights.ip_emb_ffn_ln_gammas, weights.ip_emb_ffn_ln_betas),
                };
                let pieces = piece_embedding(layers, &encoder_shape)?;
                let inputs = PLANES + pieces.preprocess.outputs / SQUARES;
                (Embedding::Pieces(Box::new(pieces)), inputs)
            }
            EmbeddingKind::None => {
                let reason = "an attention body without a tower needs 1 PE_MAP or 2 PE_DENSE".into();
                return Err(NetworkErrorKind::Missing { part: "format.input_embedding".into(), reason });
            }
        }
    };
    let dense = layer::dense(weights.ip_emb_w, weights.ip_emb_b, "embedding", inputs)?;
    let words = format!("{width}x{SQUARES}");
    let gate = |layer: Option<Layer>, part: &str| {
        if !layer::is_present(&layer) {
            return Ok(None);
        }
        layer::sized(layer, part, Shape { what: "gates", len: width * SQUARES, words: &words }).map(Some)
    };
    let encoders = weights
        .encoder
        .into_iter()
        .enumerate()
        .map(|(index, layers)| encoder(layers, &format!("encoder {index}"), &encoder_shape))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(AttentionBody {
        embedding,
        dense,
        multiply_gate: gate(weights.ip_mult_gate, "multiply gate")?,
        add_gate: gate(weights.ip_add_gate, "add gate")?,
        encoders,
        smolgen,
        alpha,
    })
}

/// Reads an attention policy on a body of `width` channels per square.
///
/// # Errors
/// Fails as [`body`] does.
pub fn policy(
    layers: PolicyLayers,
    width: usize,
    activation: Activation,
    format: &NetworkFormat,
) -> Result<AttentionPolicy, NetworkErrorKind> {
    let embedding = layer::dense(layers.ip_pol_w, layers.ip_pol_b, "policy embedding", width)?;
    let encoder_shape = EncoderShape {
        width: embedding.outputs,
        heads: layers.head_count,
        smolgen: None,
        smolgen_activation: format.smolgen_activation,
        ffn_activation: format.ffn_activation.unwrap_or(activation),
        alpha: 1.0,
        epsilon: EPSILON,
    };
    let encoders = layers
        .encoders
        .into_iter()
        .enumerate()
        .map(|(index, layers)| encoder(layers, &format!("policy encoder {index}"), &encoder_shape))
        .collect::<Result<Vec<_>, _>>()?;
    let query = layer::dense(layers.ip2_pol_w, layers.ip2_pol_b, "policy query", embedding.outputs)?;
    let size = DenseSize { inputs: embedding.outputs, outputs: query.outputs };
    let key = layer::dense_sized(layers.ip3_pol_w, layers.ip3_pol_b, "policy key", size)?;
    let words = format!("{}→4", query.outputs);
    let shape = Shape { what: "weights", len: 4 * query.outputs, words: &words };
    let promotion = layer::sized(layers.ip4_pol_w, "policy promotion", shape)?;
    Ok(AttentionPolicy { embedding, activation, encoders, query, key, promotion })
}

/// The properties that the encoders of one stack have in common.
struct EncoderShape {
    width: usize,
    heads: u32,
    /// Smolgen outputs per head, where the network has the shared matrix.
    smolgen: Option<usize>,
    smolgen_activation: Activation,
    ffn_activation: Activation,
    alpha: f32,
    epsilon: f32,
}

fn encoder(layers: EncoderLayer, part: &str, shape: &EncoderShape) -> Result<Encoder, NetworkErrorKind> {
    let Some(mha) = layers.mha else {
        return Err(NetworkErrorKind::Missing {
            part: format!("{part} attention"),
            reason: "encoders need it".into(),
        });
    };
    if mha.rpe_q.is_some() || mha.rpe_k.is_some() || mha.rpe_v.is_some() {
        return Err(NetworkErrorKind::Unsupported {
            part: format!("{part} attention"),
            found: "relative position encoding (RPE)".into(),
            supported: "none and smolgen".into(),
        });
    }
    let width = shape.width;
    let query = layer::dense(mha.q_w, mha.q_b, &format!("{part} query"), width)?;
    let model = query.outputs;
    let heads = shape.heads as usize;
    if heads == 0 || !model.is_multiple_of(heads) {
        let reason = format!("{heads} attention heads cannot share {model} channels");
        return Err(NetworkErrorKind::Mismatch { part: format!("{part} query"), reason });
    }
    let key = layer::dense_sized(
        mha.k_w,
        mha.k_b,
        &format!("{part} key"),
        DenseSize { inputs: width, outputs: model },
    )?;
    let value = layer::dense_sized(
        mha.v_w,
        mha.v_b,
        &format!("{part} value"),
        DenseSize { inputs: width, outputs: model },
    )?;
    let output = layer::dense_sized(
        mha.dense_w,
        mha.dense_b,
        &format!("{part} attention output"),
        DenseSize { inputs: model, outputs: width },
    )?;
    let smolgen = mha.smolgen.map(|layers| smolgen(layers, &format!("{part} smolgen"), shape)).transpose()?;
    Ok(Encoder {
        heads,
        query,
        key,
        value,
        output,
        smolgen,
        norm1: layer::layer_norm(layers.ln1_gammas, layers.ln1_betas, &format!("{part} norm1"), width)?,
        ffn: feed_forward(layers.ffn, &format!("{part} FFN"), shape)?,
        norm2: layer::layer_norm(layers.ln2_gammas, layers.ln2_betas, &format!("{part} norm2"), width)?,
        alpha: shape.alpha,
        epsilon: shape.epsilon,
    })
}

fn feed_forward(ffn: Option<Ffn>, part: &str, shape: &EncoderShape) -> Result<FeedForward, NetworkErrorKind> {
    let ffn = ffn.unwrap_or_default();
    let hidden = layer::dense(ffn.dense1_w, ffn.dense1_b, &format!("{part} dense1"), shape.width)?;
    let size = DenseSize { inputs: hidden.outputs, outputs: shape.width };
    let output = layer::dense_sized(ffn.dense2_w, ffn.dense2_b, &format!("{part} dense2"), size)?;
    Ok(FeedForward { hidden, output, activation: shape.ffn_activation })
}

fn smolgen(layers: message::Smolgen, part: &str, shape: &EncoderShape) -> Result<Smolgen, NetworkErrorKind> {
    let Some(generated) = shape.smolgen else {
        let reason = "encoders have smolgen".into();
        return Err(NetworkErrorKind::Missing { part: "shared smolgen weights".into(), reason });
    };
    let width = shape.width;
    let compress = layer::numbers(layers.compress, &format!("{part} compress"))?;
    if width == 0 || !compress.len().is_multiple_of(width) {
        let reason = format!("{} weights are no whole number of rows of {width}", compress.len());
        return Err(NetworkErrorKind::Mismatch { part: format!("{part} compress"), reason });
    }
    let channels = compress.len() / width;
    let hidden =
        layer::dense(layers.dense1_w, layers.dense1_b, &format!("{part} dense1"), SQUARES * channels)?;
    let size = DenseSize { inputs: hidden.outputs, outputs: shape.heads as usize * generated };
    let output = layer::dense_sized(layers.dense2_w, layers.dense2_b, &format!("{part} dense2"), size)?;
    let norm =
        |gammas, betas, name: &str, size| layer::layer_norm(gammas, betas, &format!("{part} {name}"), size);
    Ok(Smolgen {
        norm1: norm(layers.ln1_gammas, layers.ln1_betas, "norm1", hidden.outputs)?,
        norm2: norm(layers.ln2_gammas, layers.ln2_betas, "norm2", output.outputs)?,
        compress,
        channels,
        hidden,
        output,
        activation: shape.smolgen_activation,
    })
}

fn smolgen_weights(layer: Option<Layer>) -> Result<SmolgenWeights, NetworkErrorKind> {
    let part = "shared smolgen weights";
    let weights = layer::numbers(layer, part)?;
    if !weights.len().is_multiple_of(PAIRS) {
        let reason = format!("{} weights are no multiple of {PAIRS}", weights.len());
        return Err(NetworkErrorKind::Mismatch { part: part.into(), reason });
    }
    Ok(SmolgenWeights { generated: weights.len() / PAIRS, weights })
}

/// Layers that only an embedding of all pieces has: `(weights, bias)` or `(gammas, betas)`.
struct PieceLayers {
    preprocess: (Option<Layer>, Option<Layer>),
    norm1: (Option<Layer>, Option<Layer>),
    ffn: Option<Ffn>,
    norm2: (Option<Layer>, Option<Layer>),
}

fn piece_embedding(layers: PieceLayers, shape: &EncoderShape) -> Result<PieceEmbedding, NetworkErrorKind> {
    let (weights, bias) = layers.preprocess;
    let preprocess = layer::dense(weights, bias, "piece embedding", SQUARES * PIECE_PLANES)?;
    if !preprocess.outputs.is_multiple_of(SQUARES) {
        let reason = format!("{} outputs cannot be shared by {SQUARES} squares", preprocess.outputs);
        return Err(NetworkErrorKind::Mismatch { part: "piece embedding".into(), reason });
    }
    let norm = |(gammas, betas), part| layer::layer_norm(gammas, betas, part, shape.width);
    Ok(PieceEmbedding {
        preprocess,
        norm1: norm(layers.norm1, "embedding norm1")?,
        ffn: feed_forward(layers.ffn, "embedding FFN", shape)?,
        norm2: norm(layers.norm2, "embedding norm2")?,
    })
}
