//! The protobuf messages of ONNX models: only the fields that Zeitnot reads or writes, with the numbers of
//! `onnx.proto`. Tensors have no data here: reading skips them, and [`super::graph`] writes them without a
//! second copy.

use prost::Message;

use crate::network::protobuf::messages;

// Numbers of fields, for what is written or rewritten without its message.
pub(super) const MODEL_GRAPH: u32 = 7;
pub(super) const GRAPH_NODE: u32 = 1;
pub(super) const GRAPH_INITIALIZER: u32 = 5;
pub(super) const NODE_INPUT: u32 = 1;
pub(super) const TENSOR_RAW_DATA: u32 = 9;

messages! {
    /// A whole model, without its graph where it is written.
    Model {
        ir_version: Option<i64> [int64, optional] = 1,
        producer_name: Option<String> [string, optional] = 2,
        producer_version: Option<String> [string, optional] = 3,
        graph: Option<Graph> [message, optional] = 7,
        opset_import: Vec<OperatorSet> [message, repeated] = 8,
        metadata: Vec<Metadata> [message, repeated] = 14,
    }

    OperatorSet {
        domain: Option<String> [string, optional] = 1,
        version: Option<i64> [int64, optional] = 2,
    }

    Metadata {
        key: Option<String> [string, optional] = 1,
        value: Option<String> [string, optional] = 2,
    }

    Graph {
        node: Vec<Node> [message, repeated] = 1,
        name: Option<String> [string, optional] = 2,
        initializer: Vec<Tensor> [message, repeated] = 5,
        input: Vec<ValueInfo> [message, repeated] = 11,
        output: Vec<ValueInfo> [message, repeated] = 12,
    }

    /// An operation.
    Node {
        input: Vec<String> [string, repeated] = 1,
        output: Vec<String> [string, repeated] = 2,
        name: Option<String> [string, optional] = 3,
        op_type: Option<String> [string, optional] = 4,
        attribute: Vec<Attribute> [message, repeated] = 5,
        /// Empty for ONNX's own.
        domain: Option<String> [string, optional] = 7,
    }

    Attribute {
        name: Option<String> [string, optional] = 1,
        f: Option<f32> [float, optional] = 2,
        i: Option<i64> [int64, optional] = 3,
        ints: Vec<i64> [int64, repeated, packed = "false"] = 8,
        /// The field above that counts: 1 `f`, 2 `i`, 7 `ints`.
        kind: Option<i32> [int32, optional] = 20,
    }

    /// A constant's head. Field 9, the raw data, follows in the file, unless they lie in a file of their
    /// own.
    Tensor {
        dims: Vec<i64> [int64, repeated, packed = "false"] = 1,
        data_type: Option<i32> [int32, optional] = 2,
        name: Option<String> [string, optional] = 8,
        external_data: Vec<Metadata> [message, repeated] = 13,
    }

    /// Name, type and shape of an input or output.
    ValueInfo {
        name: Option<String> [string, optional] = 1,
        kind: Option<Type> [message, optional] = 2,
    }

    Type {
        tensor: Option<TensorType> [message, optional] = 1,
    }

    TensorType {
        elem_type: Option<i32> [int32, optional] = 1,
        shape: Option<Shape> [message, optional] = 2,
    }

    Shape {
        dim: Vec<Dimension> [message, repeated] = 1,
    }

    /// A size, or a name for a size that is free.
    Dimension {
        value: Option<i64> [int64, optional] = 1,
        name: Option<String> [string, optional] = 2,
    }
}

impl ValueInfo {
    /// A tensor with these sizes, of which `None` is free, and elements of this type.
    pub(crate) fn new(name: &str, shape: &[Option<usize>], element: i32) -> ValueInfo {
        let dimension = |size: &Option<usize>| Dimension {
            value: size.map(|size| size as i64),
            name: size.is_none().then(|| "batch".into()),
        };
        let tensor = TensorType {
            elem_type: Some(element),
            shape: Some(Shape {
                dim: shape.iter().map(dimension).collect(),
            }),
        };
        ValueInfo {
            name: Some(name.into()),
            kind: Some(Type { tensor: Some(tensor) }),
        }
    }
}
