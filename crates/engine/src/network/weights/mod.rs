//! Network files of Lc0: `.pb.gz`, `.pb`, files that embed an ONNX model, and bare `.onnx` models.
//!
//! [`NetworkFile::load`] is the entry. `container` opens and inflates, `message` is the protobuf, `format`
//! its enumerations, `heads` picks heads, `read` turns layers into a [`Network`] and checks each size, and
//! `onnx_model` checks models.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Buf;
use serde::Serialize;
use thiserror::Error;

mod container;
mod describe;
mod format;
mod heads;
pub(crate) mod message;
mod onnx_model;
mod read;

pub(crate) use container::begins_as_network;
pub use heads::{HeadChoice, PolicyHeadName, ValueHeadName};

use container::{Content, FileKind};
use message::Net;

use crate::foreign::in_our_words;
use crate::network::layers::Network;
use crate::network::onnx::OnnxModel;

/// The newest Lc0 with known files: major, minor.
const KNOWN_VERSION: (u32, u32) = (0, 33);
/// An impossible version of an old training tool that Lc0 lets through.
const SIGNATURE_VERSION: [u32; 3] = [97, 98, 99];
/// From this version on a file may omit `weights_encoding`.
const FREE_ENCODING_SINCE: (u32, u32) = (0, 33);
/// The encoding that older files must name.
const LINEAR16: i32 = 1;

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
    /// Reads and checks `path`, with the heads of `choice` only.
    ///
    /// Damaged files cost little time and memory: nothing is allocated that a file merely claims to hold.
    pub fn load(path: &Path, choice: HeadChoice) -> Result<NetworkFile, NetworkError> {
        let read = || checked(path, container::open(path)?, choice);
        read().map_err(|fault| NetworkError::new(path, fault))
    }

    /// Likewise from memory. `path` is the name in messages.
    pub fn from_bytes(path: &Path, bytes: &[u8], choice: HeadChoice) -> Result<NetworkFile, NetworkError> {
        let read = || checked(path, container::read(bytes, bytes.len() as u64)?, choice);
        read().map_err(|fault| NetworkError::new(path, fault))
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

#[derive(Debug, Error)]
#[error("{}: {fault}", path.display())]
pub struct NetworkError {
    pub path: PathBuf,
    #[source]
    pub fault: NetworkFault,
}

impl NetworkError {
    fn new(path: &Path, fault: NetworkFault) -> NetworkError {
        NetworkError {
            path: path.into(),
            fault,
        }
    }
}

/// The part of a file that is wrong, and why.
#[derive(Debug, Error)]
#[error("{part}: {reason}")]
pub struct NetworkFault {
    part: String,
    reason: String,
}

type Checked<T> = Result<T, NetworkFault>;

fn fault(part: impl Into<String>, reason: impl Into<String>) -> NetworkFault {
    NetworkFault {
        part: part.into(),
        reason: reason.into(),
    }
}

fn missing(part: &str, reason: &str) -> NetworkFault {
    fault(part, format!("missing, but {reason}"))
}

fn unsupported(part: impl Into<String>, found: impl Display, supported: &str) -> NetworkFault {
    fault(part, format!("{found} is not supported. Supported: {supported}"))
}

fn foreign(found: &str) -> NetworkFault {
    let expected = "An Lc0 network (.pb.gz, .pb) or an ONNX model is expected";
    fault("content", format!("{found}. {expected}"))
}

fn protobuf(reason: &str) -> NetworkFault {
    fault(
        "protobuf",
        format!("{reason}, so the file may be incomplete or damaged"),
    )
}

impl From<std::io::Error> for NetworkFault {
    fn from(error: std::io::Error) -> NetworkFault {
        fault("cannot be read", in_our_words(&error))
    }
}

impl From<prost::DecodeError> for NetworkFault {
    /// Keeps the path of the wrong field and rephrases prost's text.
    fn from(error: prost::DecodeError) -> NetworkFault {
        let text = error.to_string();
        let reason = text.trim_start_matches("failed to decode Protobuf message: ");
        protobuf(&reason.replace("buffer underflow", "data end early"))
    }
}
