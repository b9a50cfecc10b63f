//! The table of backends, which `create` makes.

use super::multiplexing::{FeedingParams, MULTIPLEXING};
use super::native::{self, NativeParams};
use super::onnxruntime::{self, OnnxRuntimeParams};
use super::synthetic::random::{self, RandomParams};
use super::synthetic::simulated::{self, SimulatedParams};
use crate::options::{OptionGroup, OptionSpec};

pub const AUTO: &str = "auto";

#[derive(Clone, Copy, Debug)]
pub struct Registered {
    pub name: &'static str,
    pub(super) kind: Kind,
    pub parameters: fn() -> Vec<OptionSpec>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Auto,
    Native,
    OnnxRuntime,
    Multiplexing,
    Trivial,
    Random,
    Simulated,
}

/// In the order of the help texts.
pub const BACKENDS: [Registered; 7] = [
    backend(AUTO, Kind::Auto, Vec::new),
    backend(native::NAME, Kind::Native, NativeParams::declared),
    backend(onnxruntime::NAME, Kind::OnnxRuntime, OnnxRuntimeParams::declared),
    backend(MULTIPLEXING, Kind::Multiplexing, FeedingParams::declared),
    backend("trivial", Kind::Trivial, Vec::new),
    backend(random::NAME, Kind::Random, RandomParams::declared),
    backend(simulated::NAME, Kind::Simulated, SimulatedParams::declared),
];

const fn backend(name: &'static str, kind: Kind, parameters: fn() -> Vec<OptionSpec>) -> Registered {
    Registered {
        name,
        kind,
        parameters,
    }
}

impl Registered {
    /// A simulated device and several devices decide for themselves.
    pub(super) fn needs_network(&self) -> bool {
        !matches!(self.kind, Kind::Trivial | Kind::Random | Kind::Simulated)
    }
}

pub(super) fn registered(name: &str) -> Option<&'static Registered> {
    BACKENDS.iter().find(|backend| backend.name == name)
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    BACKENDS.iter().map(|backend| backend.name)
}
