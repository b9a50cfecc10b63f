//! The `onnxruntime` backend: any network that can be written as ONNX, on any device that ONNX Runtime
//! drives.
//!
//! [`OnnxRuntime`] is the backend: a model, its facts, and the `SessionPool` that evaluates with it through
//! `runners`, `graphs` and `tensors`. [`Runtime`] is the library, loaded when the first backend is made:
//! [`finder`] finds it, `nvidia` loads what a GPU needs beside it. [`provider`] knows the kinds of devices,
//! [`DeviceOptions`] what users choose of them. Nothing is fetched here.

pub mod finder;
pub mod provider;

mod backend;
mod batch_sizes;
pub mod causes;
mod device_options;
mod fallback;
mod graphs;
mod host_memory;
pub mod nvidia;
mod process_environment;
mod runners;
mod runtime;
mod sessions;
mod tensors;

pub use backend::OnnxRuntime;
pub use device_options::DeviceOptions;
pub(crate) use device_options::OnnxRuntimeParams;
pub(super) use fallback::open;
pub use finder::LibraryError;
pub use process_environment::software_counts_as_gpu;
pub use provider::{NAME, Provider, SystemPart};
pub use runtime::Runtime;
pub use sessions::TRIED;
