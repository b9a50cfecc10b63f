//! The packed input: a look-up in a table expands its bytes to planes, exactly, with operators that all providers have.

use super::graph::{Graph, Value};
use crate::network::PLANES;
use crate::network::encode::InputFormat;
use crate::network::packed_planes::{PLANE_BYTES, first_rows, table};
use crate::network::weights::{INPUT_PACKED, INPUT_PLANES};

/// Declares the input `[batch, 112, 8]` of bytes and adds the planes `[batch, 112, 8, 8]` that they stand for.
pub fn input(graph: &mut Graph, batch: Option<usize>, format: InputFormat) -> Value {
    let bytes = graph.byte_input(INPUT_PACKED, &[batch, Some(PLANES), Some(PLANE_BYTES)]);
    let words = graph.words_of("/input/bytes", &bytes);
    let first_rows = graph.words("/input/first_rows", &[PLANES, 1], first_rows());
    let rows = graph.add("/input/rows", &words, &first_rows);
    let table = table(format);
    let table = graph.floats("/input/table", &[table.len() / 8, 8], table);
    graph.look_up(INPUT_PLANES, &table, &rows)
}
