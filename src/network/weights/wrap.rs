//! Puts an ONNX model into a file of Lc0's format.

use std::path::Path;

use bytes::Bytes;
use prost::Message;

use super::container::NETWORK_START;
use super::message::{self, EngineVersion, Format, Net};
use super::onnx_model::{self, OnnxModel, TensorNames, ValueOutput};
use super::{NetworkError, NetworkFile, format};

/// The Lc0 since which files may embed ONNX models: 0.28.
const ONNX_SINCE: EngineVersion = EngineVersion { major: Some(0), minor: Some(28), patch: None };
/// Lc0's number of the format in which outputs are win, draw and loss.
const OUTPUT_WDL_FORMAT: i32 = 2;
/// Lc0's number of the format in which the value is a single number.
const OUTPUT_CLASSICAL_FORMAT: i32 = 1;

impl OnnxModel {
    /// Reads a bare model; its tensors have these names, or Lc0's. `path` is its name in messages.
    ///
    /// # Errors
    /// Fails if the bytes are no model, or if a tensor is missing or of another shape.
    pub fn from_bytes(
        path: &Path,
        bytes: Bytes,
        names: Option<TensorNames>,
    ) -> Result<OnnxModel, NetworkError> {
        onnx_model::bare(bytes, names).map_err(|kind| NetworkError::new(path, kind))
    }
}

impl NetworkFile {
    /// Returns the content of a file, not compressed, that embeds `model`.
    pub fn with_model(model: &OnnxModel) -> Vec<u8> {
        let name = |name: &str| Some(name.to_owned());
        let (output_wdl, output_value) = match &model.names.value {
            ValueOutput::Wdl(wdl) => (name(wdl), None),
            ValueOutput::Scalar(value) => (None, name(value)),
        };
        let has_wdl = output_wdl.is_some();
        let network_format = message::NetworkFormat {
            input: Some(model.input_format.number()),
            output: Some(if has_wdl { OUTPUT_WDL_FORMAT } else { OUTPUT_CLASSICAL_FORMAT }),
            network: Some(format::ONNX),
            policy: Some(1),
            value: Some(if has_wdl { 2 } else { 1 }),
            moves_left: Some(model.names.moves_left.is_some().into()),
            ..message::NetworkFormat::default()
        };
        let net = Net {
            min_version: Some(ONNX_SINCE),
            format: Some(Format { weights_encoding: None, network_format: Some(network_format) }),
            onnx_model: Some(message::OnnxModel {
                model: Some(model.bytes.clone()),
                data_type: Some(model.data_type as i32),
                input_planes: name(&model.names.input),
                output_value,
                output_wdl,
                output_policy: name(&model.names.policy),
                output_mlh: model.names.moves_left.clone(),
            }),
            ..Net::default()
        };
        let mut file = NETWORK_START.to_vec();
        file.extend(net.encode_to_vec());
        file
    }
}
