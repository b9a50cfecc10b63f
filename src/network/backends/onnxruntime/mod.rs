//! The `onnxruntime` backend: any network that can be written as ONNX, on any device that ONNX Runtime drives.
//!
//! [`OnnxRuntime`] is the backend. The library is loaded at run time, when the first backend is made: [`Runtime`] is the
//! one that serves the whole process, [`finder`] says where it comes from.

pub mod finder;
pub mod library;

mod backend;
mod evaluator;
mod fetch;
mod observe;
mod python;
mod runtime;

pub use backend::{NAME, OnnxRuntime};
pub use library::LibraryError;
pub use observe::observe;
pub use runtime::Runtime;
