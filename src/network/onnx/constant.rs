//! The constants of a graph, and how they are written: straight into the model's bytes.

use bytes::{BufMut, BytesMut};
use half::f16;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};

use super::Precision;
use crate::network::weights::onnx_message::Tensor;

/// Field of `TensorProto` that is written by hand.
const TENSOR_RAW_DATA: u32 = 9;
// Element types, besides those of `DataType`.
pub(super) const TYPE_UINT8: i32 = 2;
const TYPE_INT8: i32 = 3;
pub(super) const TYPE_INT32: i32 = 6;
const TYPE_INT64: i32 = 7;

/// A constant before it is written.
#[derive(Debug)]
pub(super) enum Data {
    /// Written in the graph's precision.
    Floats(Vec<f32>),
    /// Shapes and indices.
    Integers(Vec<i64>),
    /// Quantised weights.
    SignedBytes(Vec<i8>),
    /// Quantised biases.
    Words(Vec<i32>),
    /// A zero point.
    Byte(u8),
}

#[derive(Debug)]
pub(super) struct Constant {
    pub name: String,
    pub dims: Vec<i64>,
    pub data: Data,
}

/// A constant's message without its data, and how many bytes the data will take.
pub(super) struct TensorHead {
    head: Tensor,
    data_len: usize,
}

impl TensorHead {
    pub fn of(constant: &Constant, precision: Precision) -> TensorHead {
        let (data_type, data_len) = match &constant.data {
            Data::Integers(data) => (TYPE_INT64, 8 * data.len()),
            Data::SignedBytes(data) => (TYPE_INT8, data.len()),
            Data::Words(data) => (TYPE_INT32, 4 * data.len()),
            Data::Byte(_) => (TYPE_UINT8, 1),
            Data::Floats(data) => (precision.data_type() as i32, precision.size() * data.len()),
        };
        let head = Tensor {
            dims: constant.dims.clone(),
            data_type: Some(data_type),
            name: Some(constant.name.clone()),
        };
        TensorHead { head, data_len }
    }

    /// Returns the bytes of the message.
    pub fn tensor_len(&self) -> usize {
        self.head.encoded_len() + field_len(TENSOR_RAW_DATA, self.data_len)
    }

    /// Writes the message's content, then `data`.
    pub fn put(&self, out: &mut BytesMut, data: Data, precision: Precision) {
        self.head.encode_raw(out);
        put_length(out, TENSOR_RAW_DATA, self.data_len);
        put_data(out, data, precision);
    }
}

/// Returns the bytes of a length-delimited field with `len` bytes of content.
pub(super) fn field_len(tag: u32, len: usize) -> usize {
    key_len(tag) + encoded_len_varint(len as u64) + len
}

pub(super) fn put_length(out: &mut BytesMut, tag: u32, len: usize) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(len as u64, out);
}

fn put_data(out: &mut BytesMut, data: Data, precision: Precision) {
    match data {
        Data::Integers(data) => data.into_iter().for_each(|number| out.put_i64_le(number)),
        Data::SignedBytes(data) => data.into_iter().for_each(|number| out.put_i8(number)),
        Data::Words(data) => data.into_iter().for_each(|number| out.put_i32_le(number)),
        Data::Byte(number) => out.put_u8(number),
        Data::Floats(data) => match precision {
            Precision::Float32 => data.into_iter().for_each(|number| out.put_f32_le(number)),
            Precision::Float16 => {
                data.into_iter().for_each(|number| out.put_u16_le(f16::from_f32(number).to_bits()));
            }
        },
    }
}
