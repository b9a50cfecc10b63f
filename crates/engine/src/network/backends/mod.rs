//! The backends: everything that can evaluate a batch of positions, one folder or file each.
//!
//! A backend may use the rest of `network`, and no other backend. Only [`create`] and `auto_backend`, which
//! chooses for the user, make several of them. `registry` lists all.
//!
//! | name | what |
//! |---|---|
//! | `auto` | a GPU that is at hand, else `native`, or ONNX Runtime on the CPU for ONNX models (`auto_backend`) |
//! | `native` | networks in Lc0's format on the CPU, with nothing but this crate ([`mod@native`]) |
//! | `onnxruntime` | any network, through the ONNX Runtime library ([`mod@onnxruntime`]), on a CPU unless `provider=` says otherwise |
//! | `openvino`, `cuda`, `tensorrt-rtx`, `webgpu` | short for `onnxruntime` with that provider ([`aliases`]) |
//! | `trivial` | material and a uniform policy, no network ([`synthetic::trivial`]) |
//! | `random` | numbers drawn from a hash of the position ([`synthetic::random`]) |
//! | `simulated` | `random`, or a network, at the pace of an accelerator ([`synthetic::simulated`]) |
//! | `multiplexing` | several devices as one ([`mod@multiplexing`]) |
//!
//! [`config`] reads which one the user wants. [`aliases`] knows short names and Lc0's.

pub mod aliases;
pub mod auto_backend;
pub mod config;
mod create;
pub mod multiplexing;
pub mod native;
pub mod onnxruntime;
mod registry;
pub mod synthetic;

pub use config::{BackendConfig, BackendName, Fallback};
pub use create::create;
pub(crate) use create::create_on_cpu;
pub use registry::{AUTO, BACKENDS, Registered};
