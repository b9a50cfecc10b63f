//! Network files of Lc0: `.pb.gz`, `.pb`, files that embed an ONNX model, and bare `.onnx` models.
//!
//! [`NetworkFile::load`] is the entry. `container` opens and inflates, `message` is the protobuf, `format`
//! its enumerations, `heads` picks heads, `read` turns layers into a [`Network`] and checks each size, and
//! `onnx_model` checks models.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Buf;
use prost::Message;
use serde::Serialize;

mod container;
mod describe;
mod error;
mod format;
mod heads;
pub(crate) mod message;
mod onnx_model;
mod read;

pub(crate) use container::begins_as_network;
pub use error::{NetworkError, NetworkFault};
pub use heads::{HeadChoice, PolicyHeadName, ValueHeadName};

use container::{Content, FileKind, NETWORK_START};
use error::{Checked, fault, missing, unsupported};
use message::{EngineVersion, Format, Net};

use crate::network::layers::Network;
use crate::network::onnx::{OnnxModel, ValueOutput};

/// The newest Lc0 with known files: major, minor.
const KNOWN_VERSION: (u32, u32) = (0, 33);
/// An impossible version of an old training tool that Lc0 lets through.
const SIGNATURE_VERSION: [u32; 3] = [97, 98, 99];
/// From this version on a file may omit `weights_encoding`.
const FREE_ENCODING_SINCE: (u32, u32) = (0, 33);
/// The encoding that older files must name.
const LINEAR16: i32 = 1;
/// The Lc0 since which files may embed ONNX models: 0.28.
const ONNX_SINCE: EngineVersion = EngineVersion {
    major: Some(0),
    minor: Some(28),
    patch: None,
};
/// Lc0's number of the format of outputs and values that are win, draw and loss …
const FORMAT_WDL: i32 = 2;
/// … and of that in which they are a single number.
const FORMAT_CLASSICAL: i32 = 1;

#[derive(Clone, Debug)]
pub struct NetworkFile {
    /// The path, or an embedded network's name.
    pub path: PathBuf,
    /// Of the file on disk, in hexadecimal.
    pub sha256: String,
    /// On disk, in bytes.
    pub size: u64,
    pub metadata: NetworkMetadata,
    pub policy_heads: Vec<PolicyHeadName>,
    pub value_heads: Vec<ValueHeadName>,
    pub model: Model,
}

#[derive(Clone, Debug)]
pub enum Model {
    Layers(Arc<Network>),
    Onnx(OnnxModel),
}

/// How the network was made. Nothing here changes an evaluation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NetworkMetadata {
    pub license: Option<String>,
    /// The oldest Lc0 that reads it, like `0.21.0`.
    pub min_version: Option<String>,
    pub training_steps: Option<u32>,
    pub learning_rate: Option<f32>,
    /// Mean square error at the end of training.
    pub value_loss: Option<f32>,
    pub policy_loss: Option<f32>,
    /// Policy accuracy in percent.
    pub accuracy: Option<f32>,
    /// Lc0's options in the training games.
    pub training_params: Option<String>,
}

impl NetworkFile {
    /// Reads and checks `path`, with the heads of `choice` only. Nothing is allocated that a file merely
    /// claims to hold.
    pub fn load(path: &Path, choice: HeadChoice) -> Result<NetworkFile, NetworkError> {
        let read = || checked(path, container::open(path)?, choice);
        read().map_err(|fault| NetworkError::new(path, fault))
    }

    /// Likewise from memory. `path` is the name in messages.
    pub fn from_bytes(path: &Path, bytes: &[u8], choice: HeadChoice) -> Result<NetworkFile, NetworkError> {
        let read = || checked(path, container::read(bytes, bytes.len() as u64)?, choice);
        read().map_err(|fault| NetworkError::new(path, fault))
    }

    /// The content of a file, not compressed, that embeds `model`.
    pub fn with_model(model: &OnnxModel) -> Vec<u8> {
        let name = |name: &str| Some(name.to_owned());
        let (output_wdl, output_value) = match &model.names.value {
            ValueOutput::Wdl(wdl) => (name(wdl), None),
            ValueOutput::Scalar(value) => (None, name(value)),
        };
        let value = Some(if output_wdl.is_some() {
            FORMAT_WDL
        } else {
            FORMAT_CLASSICAL
        });
        let network_format = message::NetworkFormat {
            input: Some(model.input_format.into()),
            output: value,
            network: Some(format::ONNX),
            policy: Some(1),
            value,
            moves_left: Some(model.names.moves_left.is_some().into()),
            ..message::NetworkFormat::default()
        };
        let net = Net {
            min_version: Some(ONNX_SINCE),
            format: Some(Format {
                weights_encoding: None,
                network_format: Some(network_format),
            }),
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

fn checked(path: &Path, content: Content, choice: HeadChoice) -> Checked<NetworkFile> {
    let Content {
        kind,
        mut chunks,
        sha256,
        size,
    } = content;
    let only_heads = (vec![PolicyHeadName::Vanilla], vec![ValueHeadName::Winner]);
    let (metadata, (policy_heads, value_heads), model) = match kind {
        FileKind::Onnx => {
            let bytes = chunks.copy_to_bytes(chunks.remaining());
            (
                NetworkMetadata::default(),
                only_heads,
                Model::Onnx(onnx_model::bare(path, bytes, None, choice.input_format)?),
            )
        }
        FileKind::Lc0 if choice.input_format.is_some() => {
            return Err(fault(
                "InputFormat",
                "this file tells its own, and takes no other",
            ));
        }
        FileKind::Lc0 => {
            let net: Net = chunks.decode()?;
            check_version(&net)?;
            let metadata = NetworkMetadata::of(&net);
            let declared = net.format.and_then(|format| format.network_format);
            match (net.weights, net.onnx_model) {
                (Some(mut weights), None) => {
                    let format = format::layers_format(declared, &weights)?;
                    let (policy, policy_heads) = heads::take_policy(&mut weights, choice.policy)?;
                    let (value, value_heads) = heads::take_value(&mut weights, choice.value)?;
                    let network = read::network(weights, format, policy, value)?;
                    (
                        metadata,
                        (policy_heads, value_heads),
                        Model::Layers(Arc::new(network)),
                    )
                }
                (None, Some(model)) => (
                    metadata,
                    only_heads,
                    Model::Onnx(onnx_model::embedded(model, declared)?),
                ),
                (Some(_), Some(_)) => {
                    return Err(fault("weights", "the file has layers and an ONNX model as well"));
                }
                (None, None) => {
                    return Err(missing("weights", "a network needs layers or an ONNX model"));
                }
            }
        }
    };
    Ok(NetworkFile {
        path: path.into(),
        sha256,
        size,
        metadata,
        policy_heads,
        value_heads,
        model,
    })
}

/// Refuses files for a newer Lc0, and old ones without their time's encoding.
fn check_version(net: &Net) -> Checked<()> {
    let version = required_version(net).unwrap_or_default();
    let release = (version[0], version[1]);
    if version == SIGNATURE_VERSION {
        return Ok(());
    }
    if release > KNOWN_VERSION {
        let (needed, (major, minor)) = (version_text(version), KNOWN_VERSION);
        let reason =
            format!("made for Lc0 {needed} or newer. This program reads formats up to Lc0 {major}.{minor}");
        return Err(fault("min_version", reason));
    }
    let encoding = net
        .format
        .as_ref()
        .and_then(|format| format.weights_encoding)
        .unwrap_or_default();
    if net.weights.is_some() && encoding != LINEAR16 && release < FREE_ENCODING_SINCE {
        let found = format!("{encoding} in a file for Lc0 {}", version_text(version));
        let supported = "1 LINEAR16 (files for 0.33 and newer may leave it out)";
        return Err(unsupported("format.weights_encoding", found, supported));
    }
    Ok(())
}

/// The oldest Lc0 that can read it: major, minor, patch.
fn required_version(net: &Net) -> Option<[u32; 3]> {
    let version = net.min_version.as_ref()?;
    Some([version.major, version.minor, version.patch].map(Option::unwrap_or_default))
}

fn version_text([major, minor, patch]: [u32; 3]) -> String {
    format!("{major}.{minor}.{patch}")
}

impl NetworkMetadata {
    fn of(net: &Net) -> NetworkMetadata {
        let training = net.training_params.clone().unwrap_or_default();
        NetworkMetadata {
            license: net.license.clone(),
            min_version: required_version(net).map(version_text),
            training_steps: training.training_steps,
            learning_rate: training.learning_rate,
            value_loss: training.mse_loss,
            policy_loss: training.policy_loss,
            accuracy: training.accuracy,
            training_params: training.lc0_params,
        }
    }
}
