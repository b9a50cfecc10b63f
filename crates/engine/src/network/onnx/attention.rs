//! Attention bodies and policies as ONNX.
//!
//! Squares are rows: tensors are `[batch · 64, channels]`, so that every dense layer is one matrix product
//! with its weights as they lie in the file.

use super::graph::{Graph, Value, transposed};
use super::model::{Form, OUTPUT_POLICY};
use super::tower;
use crate::network::layers::{
    Activation, AttentionBody, AttentionPolicy, Branch, Dense, Embedding, Encoder, FeedForward, PIECE_PLANES,
    PieceEmbedding, SQUARES, Smolgen,
};
use crate::network::planes::PLANES;
use crate::network::policy_map::{ATTENTION_CELLS, PROMOTIONS, QUERIES};

const BOARD: i64 = SQUARES as i64;

/// `[batch, 112, 8, 8]` → `[batch · 64, embedding]`.
pub(crate) fn body(graph: &mut Graph, planes: &Value, body: AttentionBody, activation: Activation) -> Value {
    let width = body.width() as i64;
    let AttentionBody {
        embedding,
        dense: first,
        multiply_gate,
        add_gate,
        encoders,
        smolgen,
    } = body;
    let mut pieces = (None, None);
    let mut x = match embedding {
        Embedding::Table => table_embedding(graph, planes, first),
        Embedding::Pieces(layers) => {
            let PieceEmbedding {
                preprocess,
                norm,
                ffn,
            } = *layers;
            pieces = (Some(norm), Some(ffn));
            piece_embedding(graph, planes, preprocess, first)
        }
        Embedding::Tower(residual) => {
            let board = tower::tower(graph, planes, *residual, activation);
            let x = squares(graph, "/body/squares", &board, first.inputs);
            graph.dense("/body/embedding", &x, first)
        }
    };
    x = graph.activation("/body/embedding", &x, activation);
    if let Some(norm) = pieces.0 {
        x = graph.layer_norm("/body/norm1", &x, norm);
    }
    if multiply_gate.is_some() || add_gate.is_some() {
        x = graph.reshape("/body/gates/in", &x, &[-1, BOARD, width]);
        if let Some(gate) = multiply_gate {
            let gate = by_square(graph, "/body/gates/multiply/w", gate);
            x = graph.op("Mul", "/body/gates/multiply", &[&x, &gate]);
        }
        if let Some(gate) = add_gate {
            let gate = by_square(graph, "/body/gates/add/w", gate);
            x = graph.op("Add", "/body/gates/add", &[&x, &gate]);
        }
        x = graph.reshape("/body/gates/out", &x, &[-1, width]);
    }
    if let Some(ffn) = pieces.1 {
        x = feed_forward(graph, "/body", &x, ffn);
    }
    let shared =
        smolgen.map(|shared| graph.floats("/smolgen/w", &[shared.outputs, shared.inputs], shared.weights));
    for (index, layers) in encoders.into_iter().enumerate() {
        x = encoder(graph, &format!("/encoder{index}"), &x, layers, shared.as_ref());
    }
    x
}

/// `[batch, channels, 8, 8]` → `[batch · 64, channels]`.
pub(crate) fn squares(graph: &mut Graph, name: &str, board: &Value, channels: usize) -> Value {
    let x = graph.transpose(&format!("{name}/transpose"), board, &[0, 2, 3, 1]);
    graph.reshape(name, &x, &[-1, channels as i64])
}

fn table_embedding(graph: &mut Graph, planes: &Value, mut layer: Dense) -> Value {
    let width = layer.outputs;
    let constant = layer.split_off_table();
    let x = graph.reshape("/body/planes/flat", planes, &[-1, PLANES as i64, BOARD]);
    // Runtimes join this and the product, which no layer that flattens boards to rows allows.
    let x = graph.transpose("/body/planes", &x, &[0, 2, 1]);
    let weights = transposed(&layer.weights, width, PLANES);
    let weights = graph.floats("/body/embedding/w", &[PLANES, width], weights);
    let x = graph.op("MatMul", "/body/embedding/planes", &[&x, &weights]);
    let constant = graph.floats("/body/embedding/table", &[SQUARES, width], constant);
    let x = graph.op("Add", "/body/embedding", &[&x, &constant]);
    graph.reshape("/body/embedding/rows", &x, &[-1, width as i64])
}

fn piece_embedding(graph: &mut Graph, planes: &Value, preprocess: Dense, first: Dense) -> Value {
    let per_square = (preprocess.outputs / SQUARES) as i64;
    let boards = graph.transpose("/body/planes/transpose", planes, &[0, 2, 3, 1]);
    let boards = graph.reshape("/body/planes", &boards, &[-1, BOARD, PLANES as i64]);
    let pieces = graph.slice("/body/pieces", &boards, &[(2, 0..PIECE_PLANES as i64)]);
    let pieces = graph.reshape(
        "/body/pieces/flat",
        &pieces,
        &[-1, (SQUARES * PIECE_PLANES) as i64],
    );
    let pieces = graph.dense("/body/pieces/dense", &pieces, preprocess);
    let pieces = graph.reshape("/body/pieces/boards", &pieces, &[-1, BOARD, per_square]);
    let x = graph.concat("/body/input", &[&boards, &pieces], 2);
    let x = graph.reshape("/body/input/rows", &x, &[-1, first.inputs as i64]);
    graph.dense("/body/embedding", &x, first)
}

/// A gate `[embedding][64]` as a constant `[64, embedding]`.
fn by_square(graph: &mut Graph, name: &str, gate: Vec<f32>) -> Value {
    let width = gate.len() / SQUARES;
    let turned = transposed(&gate, width, SQUARES);
    graph.floats(name, &[SQUARES, width], turned)
}

/// `parts` are the names of the branch's layer, of its sum with the trunk, and of the norm.
fn join(graph: &mut Graph, name: &str, parts: [&str; 3], x: &Value, (y, branch): (&Value, Branch)) -> Value {
    let names = parts.map(|part| format!("{name}/{part}"));
    let [last, sum, name] = names.each_ref().map(String::as_str);
    let Branch { layer, norm, factor } = branch;
    let layer = scaled(layer, factor);
    if graph.form == Form::Fused {
        return graph.skip_norm([last, name], (y, layer), x, norm);
    }
    let y = graph.dense(last, y, layer);
    let y = graph.op("Add", sum, &[&y, x]);
    graph.layer_norm(name, &y, norm)
}

fn feed_forward(graph: &mut Graph, name: &str, x: &Value, ffn: FeedForward) -> Value {
    let y = graph.dense(&format!("{name}/ffn/dense1"), x, ffn.hidden);
    let y = graph.activation(&format!("{name}/ffn/dense1"), &y, ffn.activation);
    join(graph, name, ["ffn/dense2", "ffn", "norm2"], x, (&y, ffn.output))
}

fn scaled(mut layer: Dense, factor: f32) -> Dense {
    layer
        .weights
        .iter_mut()
        .chain(&mut layer.bias)
        .for_each(|number| *number *= factor);
    layer
}

/// One layer with the outputs of several that have the same inputs.
pub(super) fn stacked(mut first: Dense, others: impl IntoIterator<Item = Dense>) -> Dense {
    for layer in others {
        first.outputs += layer.outputs;
        first.weights.extend(layer.weights);
        first.bias.extend(layer.bias);
    }
    first
}

fn encoder(graph: &mut Graph, name: &str, x: &Value, layers: Encoder, shared: Option<&Value>) -> Value {
    let model = layers.query.outputs;
    let heads = layers.heads as i64;
    let depth = (model / layers.heads) as i64;
    let scale = 1.0 / (depth as f32).sqrt();
    let extra = layers.smolgen.zip(shared).map(|(smolgen, shared)| {
        smolgen_logits(graph, &format!("{name}/smolgen"), x, smolgen, heads, shared)
    });
    let query = scaled(layers.query, scale);
    let y = if graph.form == Form::Fused {
        let boards = graph.reshape(&format!("{name}/boards"), x, &[-1, BOARD, query.inputs as i64]);
        let layer = stacked(query, [layers.key, layers.value]);
        graph.attention(&format!("{name}/mixed"), (&boards, layer), extra.as_ref(), heads)
    } else {
        let mut split = |part: &str, layer: Dense, order: &[i64]| {
            let y = graph.dense(&format!("{name}/{part}"), x, layer);
            let y = graph.reshape(&format!("{name}/{part}/heads"), &y, &[-1, BOARD, heads, depth]);
            graph.transpose(&format!("{name}/{part}/by_head"), &y, order)
        };
        let query = split("query", query, &[0, 2, 1, 3]);
        let key = split("key", layers.key, &[0, 2, 3, 1]);
        let value = split("value", layers.value, &[0, 2, 1, 3]);
        let mut logits = graph.op("MatMul", &format!("{name}/logits"), &[&query, &key]);
        if let Some(extra) = extra {
            logits = graph.op("Add", &format!("{name}/logits/smolgen"), &[&logits, &extra]);
        }
        let attention = graph.softmax(&format!("{name}/attention"), &logits);
        let y = graph.op("MatMul", &format!("{name}/mixed"), &[&attention, &value]);
        graph.transpose(&format!("{name}/mixed/by_square"), &y, &[0, 2, 1, 3])
    };
    let y = graph.reshape(&format!("{name}/mixed/rows"), &y, &[-1, model as i64]);
    let y = join(graph, name, ["output", "skip", "norm1"], x, (&y, layers.output));
    feed_forward(graph, name, &y, layers.ffn)
}

/// Smolgen's attention logits: `[batch · 64, embedding]` → `[batch, heads, 64, 64]`.
fn smolgen_logits(
    graph: &mut Graph,
    name: &str,
    x: &Value,
    layers: Smolgen,
    heads: i64,
    shared: &Value,
) -> Value {
    let Smolgen {
        compress, activation, ..
    } = layers;
    let generated = layers.output.outputs as i64 / heads;
    let channels = compress.outputs;
    let dims = [compress.outputs, compress.inputs];
    let compress = graph.floats(&format!("{name}/compress/w"), &dims, compress.weights);
    let y = graph.dense_without_bias(&format!("{name}/compress"), x, &compress);
    let y = graph.reshape(&format!("{name}/flat"), &y, &[-1, BOARD * channels as i64]);
    let y = graph.dense(&format!("{name}/dense1"), &y, layers.hidden);
    let y = graph.activation(&format!("{name}/dense1"), &y, activation);
    let y = graph.layer_norm(&format!("{name}/norm1"), &y, layers.norm1);
    let y = graph.dense(&format!("{name}/dense2"), &y, layers.output);
    let y = graph.activation(&format!("{name}/dense2"), &y, activation);
    let y = graph.layer_norm(&format!("{name}/norm2"), &y, layers.norm2);
    let y = graph.reshape(&format!("{name}/heads"), &y, &[-1, generated]);
    let y = graph.dense_without_bias(&format!("{name}/generate"), &y, shared);
    graph.reshape(name, &y, &[-1, heads, BOARD, BOARD])
}

/// `[batch · 64, embedding]`, behind the head's own embedding → 1858 logits, the model's output.
pub(crate) fn policy(graph: &mut Graph, embedded: Value, head: AttentionPolicy) -> Value {
    let width = head.query.outputs;
    let mut x = embedded;
    for (index, layers) in head.encoders.into_iter().enumerate() {
        x = encoder(graph, &format!("/policy/encoder{index}"), &x, layers, None);
    }
    let query = scaled(head.query, 1.0 / (width as f32).sqrt());
    let [query, key] = queries_and_keys(graph, &x, [query, head.key], &head.promotion);
    let turned = graph.transpose("/policy/key/turned", &key, &[0, 2, 1]);
    let logits = graph.op("MatMul", "/policy/logits", &[&query, &turned]);
    let logits = graph.reshape("/policy/logits/flat", &logits, &[-1, (QUERIES * QUERIES) as i64]);
    graph.gather(OUTPUT_POLICY, &logits, &ATTENTION_CELLS)
}

/// A query for each square, then those of [`PROMOTIONS`] for each file, and a key for each square: `[batch ·
/// 64, inputs]` → twice `[batch, 88, width]`. The last keys are not used: CUDA wants no table of places from
/// the host where both parts have one size.
fn queries_and_keys(graph: &mut Graph, x: &Value, layers: [Dense; 2], promotion: &[f32]) -> [Value; 2] {
    let [query, key] = layers;
    let (width, inputs) = (query.outputs, query.inputs);
    let biases = [query.bias.clone(), key.bias.clone()];
    let weights = stacked(query, [key]).weights;
    let weights = graph.floats("/policy/pairs/w", &[2 * width, inputs], weights);
    let rows = graph.dense_without_bias("/policy/pairs", x, &weights);
    // Each square has the row of its query, then that of its key.
    let rows = graph.reshape("/policy/pairs/rows", &rows, &[-1, 2 * BOARD, width as i64]);
    let promoting = (48..56).flat_map(|square| [square; PROMOTIONS]);
    let squares: Vec<u16> = (0..64).chain(promoting).collect();
    let of = |part: u16| squares.iter().map(move |square| 2 * square + part);
    let taken: Vec<u16> = of(0).chain(of(1)).collect();
    let rows = graph.gather("/policy/rows", &rows, &taken);
    // What a promotion adds to its logit is a product with the key too.
    let added = |row: usize, channel: usize| {
        let of = |part: usize| promotion[part * width + channel];
        match row {
            0..SQUARES => biases[0][channel],
            SQUARES..QUERIES => biases[0][channel] + of((row - SQUARES) % PROMOTIONS) + of(PROMOTIONS),
            _ => biases[1][channel],
        }
    };
    let added = (0..taken.len() * width).map(|place| added(place / width, place % width));
    let added = graph.floats("/policy/rows/b", &[taken.len(), width], added.collect());
    let rows = graph.op("Add", "/policy/rows/sum", &[&rows, &added]);
    graph.split(["/policy/queries", "/policy/keys"], &rows, (1, [QUERIES; 2]))
}
