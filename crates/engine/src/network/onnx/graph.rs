//! A small language for ONNX graphs, opset 17: each method adds an operation and gives its result.
//!
//! Constants stay `f32` until [`Graph::serialize`] writes them once, in the graph's precision, straight into
//! the model's bytes, and frees them on the way: no second copy ever exists.

use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};

use super::message::{
    Attribute, GRAPH_INITIALIZER, Graph as GraphMessage, MODEL_GRAPH, Metadata, Model, Node, OperatorSet,
    TENSOR_RAW_DATA, Tensor, ValueInfo,
};
use super::model::{DataType, Form};
use crate::network::layers::{Activation, Convolution, Dense, LayerNorm};

/// As Lc0's own converter writes.
const IR_VERSION: i64 = 8;
/// The first version with `LayerNormalization`.
const OPSET: i64 = 17;
/// The domain of ONNX Runtime's own operations …
const CONTRIB: &str = "com.microsoft";
/// … of which these are used.
const ATTENTION: &str = "Attention";
// Values of `Attribute::kind`.
const KIND_FLOAT: i32 = 1;
const KIND_INT: i32 = 2;
const KIND_INTS: i32 = 7;
const SKIP_NORM: &str = "SkipLayerNormalization";
/// SELU is `gamma · elu(x, alpha)`.
const SELU_ALPHA: f32 = 1.673_263_2;
const SELU_GAMMA: f32 = 1.050_701;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value(String);

pub(crate) struct Graph {
    data_type: DataType,
    pub(super) form: Form,
    message: GraphMessage,
    constants: Vec<Constant>,
}

impl Graph {
    pub(crate) fn new(name: &str, data_type: DataType, form: Form) -> Graph {
        let message = GraphMessage {
            name: Some(name.into()),
            ..Default::default()
        };
        Graph {
            data_type,
            form,
            message,
            constants: Vec::new(),
        }
    }

    /// `element_type` is ONNX's number, and `None` the free batch size.
    pub(crate) fn input(&mut self, name: &str, shape: &[Option<usize>], element_type: i32) -> Value {
        self.message.input.push(ValueInfo::new(name, shape, element_type));
        Value(name.into())
    }

    /// `value` must have been made under its name.
    pub(crate) fn output(&mut self, value: &Value, shape: &[Option<usize>], data_type: DataType) {
        self.message
            .output
            .push(ValueInfo::new(&value.0, shape, data_type as i32));
    }

    pub(crate) fn floats(&mut self, name: &str, dims: &[usize], data: Vec<f32>) -> Value {
        debug_assert_eq!(dims.iter().product::<usize>(), data.len(), "{name}");
        self.constant(name, dims, self.data_type as i32, Data::Floats(data))
    }

    fn integers(&mut self, name: &str, data: impl IntoIterator<Item = i64>) -> Value {
        let bytes: Vec<u8> = data.into_iter().flat_map(i64::to_le_bytes).collect();
        self.constant(
            name,
            &[bytes.len() / size_of::<i64>()],
            TYPE_INT64,
            Data::Bytes(bytes),
        )
    }

    pub(crate) fn words(&mut self, name: &str, dims: &[usize], data: Vec<i32>) -> Value {
        let bytes = data.into_iter().flat_map(i32::to_le_bytes).collect();
        self.constant(name, dims, TYPE_INT32, Data::Bytes(bytes))
    }

    fn constant(&mut self, name: &str, dims: &[usize], element_type: i32, data: Data) -> Value {
        let dims = dims.iter().map(|&size| size as i64).collect();
        let name = name.to_owned();
        let data_type = Some(element_type);
        let head = Tensor {
            dims,
            data_type,
            name: Some(name.clone()),
            external_data: Vec::new(),
        };
        self.constants.push(Constant { head, data });
        Value(name)
    }

    /// A layer's weights and biases.
    fn layer(&mut self, name: &str, dims: &[usize], weights: Vec<f32>, bias: Vec<f32>) -> [Value; 2] {
        let weights = self.floats(&format!("{name}/w"), dims, weights);
        [weights, self.floats(&format!("{name}/b"), &[bias.len()], bias)]
    }

    fn node(&mut self, op: &str, name: &str, inputs: &[&Value], attribute: Vec<Attribute>) -> Value {
        self.message.node.push(Node {
            input: inputs.iter().map(|value| value.0.clone()).collect(),
            output: vec![name.into()],
            name: Some(name.into()),
            op_type: Some(op.into()),
            domain: [ATTENTION, SKIP_NORM].contains(&op).then(|| CONTRIB.into()),
            attribute,
        });
        Value(name.into())
    }

    pub(crate) fn op(&mut self, op: &str, name: &str, inputs: &[&Value]) -> Value {
        self.node(op, name, inputs, vec![])
    }

    /// A 3×3 convolution of `[batch, in, 8, 8]`.
    pub(crate) fn convolution(&mut self, name: &str, x: &Value, layer: Convolution) -> Value {
        let dims = [layer.outputs, layer.inputs, 3, 3];
        let [weights, bias] = self.layer(name, &dims, layer.weights, layer.bias);
        let attributes = vec![ints("kernel_shape", &[3; 2]), ints("pads", &[1; 4])];
        self.node("Conv", name, &[x, &weights, &bias], attributes)
    }

    /// A dense layer over single squares of `[batch, in, 8, 8]`.
    pub(crate) fn pointwise(&mut self, name: &str, x: &Value, layer: Dense) -> Value {
        let dims = [layer.outputs, layer.inputs, 1, 1];
        let [weights, bias] = self.layer(name, &dims, layer.weights, layer.bias);
        let attributes = vec![ints("kernel_shape", &[1; 2]), ints("pads", &[0; 4])];
        self.node("Conv", name, &[x, &weights, &bias], attributes)
    }

    /// A dense layer of `[rows, in]`.
    pub(crate) fn dense(&mut self, name: &str, x: &Value, layer: Dense) -> Value {
        let dims = [layer.outputs, layer.inputs];
        let [weights, bias] = self.layer(name, &dims, layer.weights, layer.bias);
        self.node("Gemm", name, &[x, &weights, &bias], vec![int("transB", 1)])
    }

    /// `x · weightsᵀ` for `x` `[rows, in]`, `weights` `[out, in]`.
    pub(crate) fn dense_without_bias(&mut self, name: &str, x: &Value, weights: &Value) -> Value {
        self.node("Gemm", name, &[x, weights], vec![int("transB", 1)])
    }

    pub(crate) fn softmax(&mut self, name: &str, x: &Value) -> Value {
        self.node("Softmax", name, &[x], vec![int("axis", -1)])
    }

    pub(crate) fn activation(&mut self, name: &str, x: &Value, activation: Activation) -> Value {
        match activation {
            Activation::None => x.clone(),
            Activation::Relu => self.op("Relu", &format!("{name}/relu"), &[x]),
            Activation::Tanh => self.op("Tanh", &format!("{name}/tanh"), &[x]),
            Activation::Sigmoid => self.op("Sigmoid", &format!("{name}/sigmoid"), &[x]),
            // WebGPU has no `Selu`.
            Activation::Selu => {
                let elu = self.node(
                    "Elu",
                    &format!("{name}/selu/elu"),
                    &[x],
                    vec![float("alpha", SELU_ALPHA)],
                );
                let gamma = self.floats(&format!("{name}/selu/gamma"), &[1], vec![SELU_GAMMA]);
                self.op("Mul", &format!("{name}/selu"), &[&elu, &gamma])
            }
            Activation::Swish => {
                let sigmoid = self.op("Sigmoid", &format!("{name}/swish/sigmoid"), &[x]);
                self.op("Mul", &format!("{name}/swish"), &[x, &sigmoid])
            }
            Activation::Relu2 => {
                let relu = self.op("Relu", &format!("{name}/relu2/relu"), &[x]);
                self.op("Mul", &format!("{name}/relu2"), &[&relu, &relu])
            }
            Activation::Mish => {
                let softplus = self.op("Softplus", &format!("{name}/mish/softplus"), &[x]);
                let tanh = self.op("Tanh", &format!("{name}/mish/tanh"), &[&softplus]);
                self.op("Mul", &format!("{name}/mish"), &[x, &tanh])
            }
        }
    }

    pub(crate) fn layer_norm(&mut self, name: &str, x: &Value, norm: LayerNorm) -> Value {
        let ([gammas, betas], epsilon) = self.norm(name, norm);
        self.node("LayerNormalization", name, &[x, &gammas, &betas], vec![epsilon])
    }

    fn norm(&mut self, name: &str, norm: LayerNorm) -> ([Value; 2], Attribute) {
        let values = [("gammas", norm.gammas), ("betas", norm.betas)]
            .map(|(part, numbers)| self.floats(&format!("{name}/{part}"), &[numbers.len()], numbers));
        (values, float("epsilon", norm.epsilon))
    }

    /// The norm of `layer(x) + skip`. The layer's product is called `last`.
    pub(crate) fn skip_norm(
        &mut self,
        [last, name]: [&str; 2],
        (x, layer): (&Value, Dense),
        skip: &Value,
        norm: LayerNorm,
    ) -> Value {
        let dims = [layer.outputs, layer.inputs];
        let [weights, bias] = self.layer(last, &dims, layer.weights, layer.bias);
        let x = self.dense_without_bias(last, x, &weights);
        let ([gammas, betas], epsilon) = self.norm(name, norm);
        self.node(
            SKIP_NORM,
            name,
            &[&x, skip, &gammas, &betas, &bias],
            vec![epsilon],
        )
    }

    /// Attention of `x` `[batch, 64, in]`. `layer` makes scaled queries, keys and values, one behind the
    /// other. `extra` `[batch, heads, 64, 64]` is added to the logits.
    pub(crate) fn attention(
        &mut self,
        name: &str,
        (x, layer): (&Value, Dense),
        extra: Option<&Value>,
        heads: i64,
    ) -> Value {
        let weights = transposed(&layer.weights, layer.outputs, layer.inputs);
        let [weights, bias] = self.layer(name, &[layer.inputs, layer.outputs], weights, layer.bias);
        // A mask and keys of the past.
        let none = Value(String::new());
        let mut inputs = vec![x, &weights, &bias];
        if let Some(extra) = extra {
            inputs.extend([&none, &none, extra]);
        }
        let attributes = vec![int("num_heads", heads), float("scale", 1.0)];
        self.node(ATTENTION, name, &inputs, attributes)
    }

    /// One size may be -1.
    pub(crate) fn reshape(&mut self, name: &str, x: &Value, shape: &[i64]) -> Value {
        let shape = self.integers(&format!("{name}/shape"), shape.iter().copied());
        self.op("Reshape", name, &[x, &shape])
    }

    pub(crate) fn transpose(&mut self, name: &str, x: &Value, order: &[i64]) -> Value {
        self.node("Transpose", name, &[x], vec![ints("perm", order)])
    }

    pub(crate) fn concat(&mut self, name: &str, parts: &[&Value], axis: i64) -> Value {
        self.node("Concat", name, parts, vec![int("axis", axis)])
    }

    /// The part of `x` within the ranges of some axes. Others stay whole.
    pub(crate) fn slice(&mut self, name: &str, x: &Value, ranges: &[(i64, Range<i64>)]) -> Value {
        let starts = self.integers(
            &format!("{name}/starts"),
            ranges.iter().map(|(_, range)| range.start),
        );
        let ends = self.integers(&format!("{name}/ends"), ranges.iter().map(|(_, range)| range.end));
        let axes = self.integers(&format!("{name}/axes"), ranges.iter().map(|&(axis, _)| axis));
        self.op("Slice", name, &[x, &starts, &ends, &axes])
    }

    /// The parts of `x` along an axis that have these sizes.
    pub(crate) fn split<const N: usize>(
        &mut self,
        names: [&str; N],
        x: &Value,
        (axis, sizes): (i64, [usize; N]),
    ) -> [Value; N] {
        let sizes = sizes.map(|size| size as i64);
        let sizes = self.integers(&format!("{}/sizes", names[0]), sizes);
        self.node("Split", names[0], &[x, &sizes], vec![int("axis", axis)]);
        let names = names.map(str::to_owned);
        if let Some(node) = self.message.node.last_mut() {
            node.output = names.to_vec();
        }
        names.map(Value)
    }

    /// `x[:, indices]` for `x` `[batch, n]`.
    pub(crate) fn gather(&mut self, name: &str, x: &Value, indices: &[u16]) -> Value {
        let indices = self.integers(
            &format!("{name}/indices"),
            indices.iter().map(|&index| index.into()),
        );
        self.node("Gather", name, &[x, &indices], vec![int("axis", 1)])
    }

    /// Rows of `table` `[n, m]` by index: the shape of `rows` gets `m` as a last axis.
    pub(crate) fn look_up(&mut self, name: &str, table: &Value, rows: &Value) -> Value {
        self.node("Gather", name, &[table, rows], vec![int("axis", 0)])
    }

    /// `element_type` is ONNX's number.
    pub(crate) fn cast(&mut self, name: &str, x: &Value, element_type: i32) -> Value {
        self.node("Cast", name, &[x], vec![int("to", element_type.into())])
    }

    pub(crate) fn serialize(self, metadata: Vec<(String, String)>) -> Bytes {
        let Graph {
            data_type,
            form,
            message,
            constants,
        } = self;
        let set = |domain: Option<&str>, version| OperatorSet {
            domain: domain.map(Into::into),
            version: Some(version),
        };
        let mut sets = vec![set(None, OPSET)];
        if form == Form::Fused {
            sets.push(set(Some(CONTRIB), 1));
        }
        let model = Model {
            ir_version: Some(IR_VERSION),
            producer_name: Some("zeitnot".into()),
            producer_version: Some(env!("CARGO_PKG_VERSION").into()),
            graph: None,
            opset_import: sets,
            metadata: metadata
                .into_iter()
                .map(|(key, value)| Metadata {
                    key: Some(key),
                    value: Some(value),
                })
                .collect(),
        };
        let constants_len = |constant: &Constant| field_len(GRAPH_INITIALIZER, constant.len(data_type));
        let graph_len = message.encoded_len() + constants.iter().map(constants_len).sum::<usize>();
        let mut out = BytesMut::with_capacity(model.encoded_len() + field_len(MODEL_GRAPH, graph_len));
        model.encode_raw(&mut out);
        put_length(&mut out, MODEL_GRAPH, graph_len);
        message.encode_raw(&mut out);
        // Last in, first out lets the allocator return memory at once, so that network and model never stand
        // in memory side by side.
        for constant in constants.into_iter().rev() {
            put_length(&mut out, GRAPH_INITIALIZER, constant.len(data_type));
            constant.put(&mut out, data_type);
        }
        out.freeze()
    }
}

/// `[rows][columns]` → `[columns][rows]`
pub(super) fn transposed(matrix: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..columns)
        .flat_map(|column| (0..rows).map(move |row| matrix[row * columns + column]))
        .collect()
}

fn int(name: &str, value: i64) -> Attribute {
    Attribute {
        name: Some(name.into()),
        i: Some(value),
        kind: Some(KIND_INT),
        ..Default::default()
    }
}

fn ints(name: &str, values: &[i64]) -> Attribute {
    Attribute {
        name: Some(name.into()),
        ints: values.into(),
        kind: Some(KIND_INTS),
        ..Default::default()
    }
}

fn float(name: &str, value: f32) -> Attribute {
    Attribute {
        name: Some(name.into()),
        f: Some(value),
        kind: Some(KIND_FLOAT),
        ..Default::default()
    }
}

// Element types, besides those of `DataType`.
pub(super) const TYPE_UINT8: i32 = 2;
pub(super) const TYPE_INT32: i32 = 6;
const TYPE_INT64: i32 = 7;

enum Data {
    Floats(Vec<f32>),
    Bytes(Vec<u8>),
}

struct Constant {
    head: Tensor,
    data: Data,
}

impl Constant {
    fn data_len(&self, floats: DataType) -> usize {
        match &self.data {
            Data::Floats(numbers) => floats.size() * numbers.len(),
            Data::Bytes(bytes) => bytes.len(),
        }
    }

    fn len(&self, floats: DataType) -> usize {
        self.head.encoded_len() + field_len(TENSOR_RAW_DATA, self.data_len(floats))
    }

    fn put(self, out: &mut BytesMut, floats: DataType) {
        self.head.encode_raw(out);
        put_length(out, TENSOR_RAW_DATA, self.data_len(floats));
        match self.data {
            Data::Bytes(bytes) => out.put_slice(&bytes),
            Data::Floats(numbers) => numbers.into_iter().for_each(|number| floats.put(number, out)),
        }
    }
}

fn field_len(tag: u32, len: usize) -> usize {
    key_len(tag) + encoded_len_varint(len as u64) + len
}

fn put_length(out: &mut BytesMut, tag: u32, len: usize) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(len as u64, out);
}
