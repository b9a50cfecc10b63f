//! Network files of Lc0: `.pb.gz`, `.pb`, files that embed an ONNX model, and bare `.onnx` models.
//!
//! [`NetworkFile::load`] is the entry. `container` opens and inflates, `message` is the protobuf, `format`
//! its enumerations, `heads` picks heads, `read` turns layers into the [`Network`] of `network` and checks
//! each size.

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
mod network;
mod onnx_model;
mod read;

pub(crate) use container::begins_as_network;
pub use format::NetworkFormat;
pub use heads::{HeadChoice, PolicyHeadName, ValueHeadName};
pub use network::*;
pub use onnx_model::*;

use container::{Content, FileKind};
use message::Net;

use crate::foreign::in_our_words;

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
    Layers(Arc<Network>, NetworkFormat),
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
        read().map_err(|kind| NetworkError::new(path, kind))
    }

    /// Likewise from memory. `path` is the name in messages.
    pub fn from_bytes(path: &Path, bytes: &[u8], choice: HeadChoice) -> Result<NetworkFile, NetworkError> {
        let read = || checked(path, container::read(bytes, bytes.len() as u64)?, choice);
        read().map_err(|kind| NetworkError::new(path, kind))
    }
}

fn checked(path: &Path, content: Content, choice: HeadChoice) -> Result<NetworkFile, NetworkErrorKind> {
    let Content { kind, mut chunks, sha256, size } = content;
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
            let reason = "this file tells its own, and takes no other".into();
            return Err(NetworkErrorKind::Mismatch { part: "InputFormat".into(), reason });
        }
        FileKind::Lc0 => {
            let net: Net = chunks.decode()?;
            check_version(&net)?;
            let metadata = NetworkMetadata::of(&net);
            let declared = net.format.and_then(|format| format.network_format);
            match (net.weights, net.onnx_model) {
                (Some(weights), None) => {
                    let format = format::layers_format(declared, &weights)?;
                    let heads = (heads::policy_heads(&weights), heads::value_heads(&weights));
                    let network = read::network(weights, format, choice)?;
                    (metadata, heads, Model::Layers(Arc::new(network), format))
                }
                (None, Some(model)) => {
                    (metadata, only_heads, Model::Onnx(onnx_model::embedded(model, declared)?))
                }
                (weights, _) => return Err(one_body_only(weights.is_some())),
            }
        }
    };
    Ok(NetworkFile { path: path.into(), sha256, size, metadata, policy_heads, value_heads, model })
}

fn one_body_only(has_both: bool) -> NetworkErrorKind {
    let part = "weights".to_owned();
    if has_both {
        NetworkErrorKind::Mismatch { part, reason: "the file has layers and an ONNX model as well".into() }
    } else {
        NetworkErrorKind::Missing { part, reason: "a network needs layers or an ONNX model".into() }
    }
}

/// Refuses files for a newer Lc0, and old ones without their time's encoding.
fn check_version(net: &Net) -> Result<(), NetworkErrorKind> {
    let version = required_version(net).unwrap_or_default();
    let release = (version[0], version[1]);
    if version == SIGNATURE_VERSION {
        return Ok(());
    }
    if release > KNOWN_VERSION {
        return Err(NetworkErrorKind::Version {
            needed: version_text(version),
            known: format!("{}.{}", KNOWN_VERSION.0, KNOWN_VERSION.1),
        });
    }
    let encoding = net.format.as_ref().and_then(|format| format.weights_encoding).unwrap_or_default();
    if net.weights.is_some() && encoding != LINEAR16 && release < FREE_ENCODING_SINCE {
        return Err(NetworkErrorKind::Unsupported {
            part: "format.weights_encoding".into(),
            found: format!("{encoding} in a file for Lc0 {}", version_text(version)),
            supported: "1 LINEAR16 (files for 0.33 and newer may leave it out)".into(),
        });
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
#[error("{}: {kind}", path.display())]
pub struct NetworkError {
    pub path: PathBuf,
    #[source]
    pub kind: NetworkErrorKind,
}

impl NetworkError {
    fn new(path: &Path, kind: NetworkErrorKind) -> NetworkError {
        NetworkError { path: path.into(), kind }
    }
}

#[derive(Debug, Error)]
pub enum NetworkErrorKind {
    #[error("cannot be read: {reason}")]
    Read { reason: String },
    #[error("gzip: {reason} after {decoded} bytes, so the download may be incomplete or damaged")]
    Gzip { reason: String, decoded: u64 },
    #[error("gzip: {compressed} bytes inflate to more than {limit}: no network compresses like this")]
    TooLarge { compressed: u64, limit: u64 },
    #[error("content: {found}. An Lc0 network (.pb.gz, .pb) or an ONNX model is expected")]
    Foreign { found: String },
    #[error("protobuf: {reason}, so the file may be incomplete or damaged")]
    Protobuf { reason: String },
    #[error("min_version: made for Lc0 {needed} or newer. This program reads formats up to Lc0 {known}")]
    Version { needed: String, known: String },
    #[error("{part}: {found} is not supported. Supported: {supported}")]
    Unsupported { part: String, found: String, supported: String },
    #[error("{part}: missing, but {reason}")]
    Missing { part: String, reason: String },
    #[error("{part}: {expected} {what} expected for {shape}, found {found}")]
    Size { part: String, what: String, expected: usize, shape: String, found: usize },
    #[error("{part}: {reason}")]
    Mismatch { part: String, reason: String },
    #[error("{part}: value {index} is {value}, but weights must be finite")]
    NotFinite { part: String, index: usize, value: f32 },
    #[error("{kind} head: \"{wanted}\" is not in this network. Present: {present}")]
    Head { kind: &'static str, wanted: String, present: String },
}

impl From<std::io::Error> for NetworkErrorKind {
    fn from(error: std::io::Error) -> NetworkErrorKind {
        NetworkErrorKind::Read { reason: in_our_words(&error) }
    }
}

impl From<prost::DecodeError> for NetworkErrorKind {
    /// Keeps the path of the wrong field and rephrases prost's text.
    fn from(error: prost::DecodeError) -> NetworkErrorKind {
        let text = error.to_string();
        let reason = text.trim_start_matches("failed to decode Protobuf message: ");
        NetworkErrorKind::Protobuf { reason: reason.replace("buffer underflow", "data end early") }
    }
}
