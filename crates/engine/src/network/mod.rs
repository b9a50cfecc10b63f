//! Networks: files, input planes, policy indices, and the backends that evaluate.
//!
//! The search knows this module only through [`Backend`] and [`Evaluator`]. Nothing here knows of the search.
//!
//! | module | job |
//! |---|---|
//! | [`discover`], [`folders`] | find the network to use, and the cache folder |
//! | [`encode`], `planes`, [`packed_planes`], [`policy_map`] | input planes and policy indices of a position |
//! | `eval_slot`, `batch_evaluator` | a position of a batch with its input and outputs, batches for the tools |
//! | `backend`, `backend_info`, `backend_error` | the traits, what a backend says of itself, why it fails |
//! | [`layers`], `protobuf` | a network as plain layers, and how messages are declared |
//! | [`onnx`] | ONNX models, and how a network becomes one |
//! | [`weights`] | network files: Lc0's format and ONNX models, checked. They become layers or a model |
//! | [`backends`] | everything that evaluates, and the choice among them |
//! | [`instrumented`], `throughput` | how busy a backend is, how fast it is |
//! | `failover` | what takes the place of a backend that fails |
//! | [`timetable`] | when a simulated device is done |
//! | [`cache`] | evaluations of positions met before |

mod backend;
mod backend_error;
mod backend_info;
pub mod backends;
mod batch_evaluator;
pub mod cache;
pub mod discover;
pub mod encode;
mod eval_slot;
pub(crate) mod failover;
pub mod folders;
pub(crate) mod instrumented;
pub mod layers;
pub mod onnx;
pub mod packed_planes;
mod planes;
pub mod policy_map;
mod protobuf;
pub mod throughput;
pub(crate) mod timetable;
mod value;
pub mod weights;

pub use backend::{Backend, Evaluator, Health};
pub use backend_error::BackendError;
pub use backend_info::{BackendInfo, cores, without_folder};
pub use batch_evaluator::BatchEvaluator;
pub use eval_slot::{EvalSlot, MAX_MOVES, PositionEncoding, approximate_softmax};
pub use planes::{InputPlanes, PLANES};
pub use policy_map::POLICY_SIZE;
pub(crate) use timetable::DevicePace;
pub use value::Value;
