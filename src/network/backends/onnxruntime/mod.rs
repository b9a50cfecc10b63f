//! The `onnxruntime` backend: any network that can be written as ONNX, on any device that ONNX Runtime drives.
//!
//! [`OnnxRuntime`] is the backend, whose `session_pool` evaluates. The library is loaded at run time, when the first backend is made: [`Runtime`] is the
//! one that serves the whole process, [`finder`] finds it, `nvidia` loads what a GPU needs beside it,
//! `plugin` adds providers that are libraries of their own.
//! [`provider`] knows the kinds of devices, [`DeviceOptions`] what users choose of them.

pub mod finder;
pub mod library;
pub mod provider;

mod backend;
mod bound;
mod device_options;
mod evaluator;
mod fetch;
mod graphs;
mod nvidia;
mod observe;
mod package;
mod plugin;
mod process_environment;
mod progress_message;
mod python;
mod runtime;
mod session_pool;
mod tensors;

pub use backend::OnnxRuntime;
pub use device_options::{DeviceChoices, DeviceOptions, OnnxRuntimeParams};
pub use fetch::{FetchError, UnpackError};
pub use library::LibraryError;
pub use observe::observe;
pub use provider::Provider;
pub use python::{DownloadError, PythonError};
pub use runtime::Runtime;

/// The backend's name.
pub const NAME: &str = "onnxruntime";
/// A bound for the memory of one batch; far beyond the size at which throughput stops growing.
const MAX_BATCH: usize = 1024;
/// Two such batches fill a GPU with most networks.
const PREFERRED_GPU_BATCH: usize = 256;
