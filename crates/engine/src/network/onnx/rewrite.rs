//! Changes of a finished model, in its bytes: protobuf merges what is added in front or behind.

use prost::Message;
use prost::encoding::{self, DecodeContext, WireType};

use super::message::{
    GRAPH_INITIALIZER, GRAPH_NODE, Graph, MODEL_GRAPH, Model, NODE_INPUT, Node, TENSOR_RAW_DATA, Tensor,
    ValueInfo,
};
use super::model::{OnnxModel, ValueOutput};
use crate::network::planes::PLANES;

impl OnnxModel {
    /// Adds the softmax that its win, draw and loss lack.
    pub fn with_wdl_softmax(mut self) -> OnnxModel {
        let ValueOutput::Wdl(logits) = &self.names.value else {
            return self;
        };
        let name = format!("{logits}/softmax");
        let output = ValueInfo::new(&name, &[self.fixed_batch, Some(3)], self.data_type as i32);
        let node = operation("Softmax", &name, vec![logits.clone()]);
        let graph = Graph {
            node: vec![node],
            output: vec![output],
            ..Graph::default()
        };
        let addition = Model {
            graph: Some(graph),
            ..Model::default()
        }
        .encode_to_vec();
        self.bytes = [&self.bytes[..], &addition].concat().into();
        self.names.value = ValueOutput::Wdl(name);
        self
    }

    /// Scales the fifty-move counter as models of TensorFlow need it, which were trained on 99ths.
    pub fn with_scaled_rule50(mut self) -> OnnxModel {
        const COUNTER: usize = 109;
        const UNIT: f32 = 99.0;
        let path = [MODEL_GRAPH, GRAPH_NODE, NODE_INPUT];
        let [scaled, factors] = ["rule50", "rule50_factors"].map(|end| format!("{}/{end}", self.names.input));
        let Ok(taken) = renamed(&self.bytes, &path, &self.names.input, &scaled) else {
            return self;
        };
        let factor = |plane| if plane == COUNTER { 1.0 / UNIT } else { 1.0 };
        let mut raw: Vec<u8> = Vec::new();
        (0..PLANES)
            .map(factor)
            .for_each(|factor| self.data_type.put(factor, &mut raw));
        let dims = vec![PLANES as i64, 1, 1];
        let data_type = Some(self.data_type as i32);
        let tensor = Tensor {
            dims,
            data_type,
            name: Some(factors.clone()),
            external_data: Vec::new(),
        };
        let node = operation("Mul", &scaled, vec![self.names.input.clone(), factors]);
        let mut tensor = tensor.encode_to_vec();
        encoding::bytes::encode(TENSOR_RAW_DATA, &raw, &mut tensor);
        let mut graph = Graph {
            node: vec![node],
            ..Graph::default()
        }
        .encode_to_vec();
        encoding::bytes::encode(GRAPH_INITIALIZER, &tensor, &mut graph);
        let mut model = Vec::new();
        encoding::bytes::encode(MODEL_GRAPH, &graph, &mut model);
        self.bytes = [model, taken].concat().into();
        self
    }
}

fn operation(op_type: &str, name: &str, input: Vec<String>) -> Node {
    let (output, name, op_type) = (
        vec![name.to_owned()],
        Some(name.to_owned()),
        Some(op_type.to_owned()),
    );
    Node {
        input,
        output,
        name,
        op_type,
        ..Node::default()
    }
}

/// Copies a protobuf message. Where `path` leads, field by field, the text `from` becomes `to`.
fn renamed(mut message: &[u8], path: &[u32], from: &str, to: &str) -> Result<Vec<u8>, prost::DecodeError> {
    let Some((field, path)) = path.split_first() else {
        return Ok(if message == from.as_bytes() {
            to.into()
        } else {
            message.into()
        });
    };
    let mut copy = Vec::new();
    while !message.is_empty() {
        let begin = message;
        let (tag, kind) = encoding::decode_key(&mut message)?;
        if tag == *field && kind == WireType::LengthDelimited {
            let mut content = Vec::new();
            encoding::bytes::merge(kind, &mut content, &mut message, DecodeContext::default())?;
            encoding::bytes::encode(tag, &renamed(&content, path, from, to)?, &mut copy);
        } else {
            encoding::skip_field(kind, tag, &mut message, DecodeContext::default())?;
            copy.extend(&begin[..begin.len() - message.len()]);
        }
    }
    Ok(copy)
}
