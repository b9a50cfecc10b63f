//! The backends: everything that can evaluate a batch of positions, one folder or file each.
//!
//! A backend may use the rest of `network`, and no other backend. Only [`create`] and `auto_backend`, which
//! chooses for the user, know several of them.
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
pub mod multiplexing;
pub mod native;
pub mod onnxruntime;
pub mod synthetic;

use std::sync::Arc;

use super::instrumented::{Instrumented, with_notes};
use super::weights::{Model, NetworkFile};
use super::{Backend, BackendError};
use crate::note::Note;
use crate::options::{OptionGroup, OptionSpec};
use crate::params::Params;
pub use config::{BackendConfig, BackendName, Fallback};
use config::{DeviceConfig, FeedingParams};
use multiplexing::{Device, Outage};
use native::{Native, NativeParams};
use onnxruntime::OnnxRuntimeParams;
use synthetic::random::{self, Random, RandomParams};
use synthetic::simulated::{self, Simulated, SimulatedParams};
use synthetic::trivial::Trivial;

pub const AUTO: &str = "auto";

#[derive(Clone, Copy, Debug)]
pub struct Registered {
    pub name: &'static str,
    /// A simulated device and several devices decide for themselves.
    needs_network: bool,
    pub parameters: fn() -> Vec<OptionSpec>,
    make: Make,
}

/// A backend, or why there is none.
pub(crate) type Made = Result<Arc<dyn Backend>, BackendError>;
type Make = fn(&BackendConfig, Option<NetworkFile>) -> Made;

/// In the order of the help texts.
pub const BACKENDS: [Registered; 7] = [
    backend(AUTO, true, Vec::new, |config, file| {
        auto_backend::make(needed(config, file)?, &config.options)
    }),
    backend(native::NAME, true, NativeParams::declared, |config, file| {
        native_backend(&needed(config, file)?, &config.options)
    }),
    backend(
        onnxruntime::NAME,
        true,
        OnnxRuntimeParams::declared,
        |config, file| onnxruntime::open(needed(config, file)?, &config.options),
    ),
    backend(
        multiplexing::MULTIPLEXING,
        true,
        FeedingParams::declared,
        several_devices,
    ),
    backend("trivial", false, Vec::new, |config, _| {
        Ok(Arc::new(Trivial::backend(&config.options)?))
    }),
    backend(random::NAME, false, RandomParams::declared, |config, _| {
        Ok(Arc::new(Random::backend(&config.options)?))
    }),
    backend(
        simulated::NAME,
        false,
        SimulatedParams::declared,
        |config, file| {
            let answers = make(&config.whose_answers()?, file)?;
            Ok(Arc::new(Simulated::new(&config.options, answers)?))
        },
    ),
];

const fn backend(
    name: &'static str,
    needs_network: bool,
    parameters: fn() -> Vec<OptionSpec>,
    make: Make,
) -> Registered {
    Registered {
        name,
        needs_network,
        parameters,
        make,
    }
}

fn registered(name: &str) -> Option<&'static Registered> {
    BACKENDS.iter().find(|backend| backend.name == name)
}

fn names() -> impl Iterator<Item = &'static str> {
    BACKENDS.iter().map(|backend| backend.name)
}

fn needed(config: &BackendConfig, network: Option<NetworkFile>) -> Result<NetworkFile, BackendError> {
    network.ok_or_else(|| BackendError::NoNetwork {
        backend: config.name.clone(),
    })
}

/// Makes the backend of `config`, with `network` if it [needs one](BackendConfig::needs_network).
///
/// An unavailable GPU or library is an error. With [`Fallback::Cpu`] the CPU evaluates instead, and the
/// backend's first notes say so.
pub fn create(config: &BackendConfig, network: Option<NetworkFile>) -> Made {
    let config = &*auto_backend::resolve(config, network.as_ref())?;
    let mut notes = config.notes.clone();
    let spare = network.clone().filter(|_| config.wants_more_than_a_cpu());
    let backend = match (make(config, network), spare) {
        (Err(error), Some(network)) if !error.is_user_error() => {
            if config.fallback == Fallback::Nothing {
                return Err(BackendError::NotAvailable(Box::new(error)));
            }
            notes.push(Note::Error(error.to_string()));
            let backend = auto_backend::make(network, &Params::default())?;
            notes.push(format!("the CPU evaluates instead: {}", backend.facts().description).into());
            backend
        }
        (made, _) => made?,
    };
    Ok(Arc::new(Instrumented::new(backend, notes)))
}

/// What evaluates `network` where a device has failed.
pub(crate) fn create_on_cpu(network: NetworkFile) -> Made {
    let backend = auto_backend::make(network, &Params::default())?;
    Ok(Arc::new(Instrumented::new(backend, Vec::new())))
}

fn make(config: &BackendConfig, network: Option<NetworkFile>) -> Made {
    let backend = registered(&config.name).ok_or_else(|| config::unknown_name(&config.name))?;
    (backend.make)(config, network)
}

/// Joins all devices into one backend. With [`Fallback::Cpu`], devices that do not open are left out, and its
/// first notes say why.
fn several_devices(config: &BackendConfig, network: Option<NetworkFile>) -> Made {
    let mut devices = Vec::new();
    let mut left_out = Vec::new();
    let mut last_error = None;
    for DeviceConfig {
        label,
        backend,
        threads,
        join_up_to,
    } in config.devices.clone()
    {
        match make(&backend, network.clone()) {
            Ok(backend) => {
                let backend = Arc::new(Instrumented::new(backend, Vec::new()));
                devices.push(Device {
                    label,
                    backend,
                    threads,
                    join_up_to,
                    outage: Outage::default(),
                });
            }
            Err(error) if error.is_user_error() || config.fallback == Fallback::Nothing => return Err(error),
            Err(error) => {
                left_out.push(Note::Error(format!(
                    "{}: {label} is left out: {error}",
                    config.name
                )));
                last_error = Some(error);
            }
        }
    }
    match last_error {
        Some(error) if devices.is_empty() => Err(error),
        _ => multiplexing::join(devices, left_out),
    }
}

fn native_backend(network: &NetworkFile, options: &Params) -> Made {
    match &network.model {
        Model::Layers(layers) => Ok(Arc::new(Native::new(
            layers,
            &network.path.display().to_string(),
            options,
        )?)),
        Model::Onnx(_) => Err(BackendError::Model {
            backend: native::NAME.into(),
            reason: "it is an ONNX model, but this backend evaluates layers. Use --backend=onnxruntime"
                .into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(backend: &str, options: &str) -> String {
        match BackendConfig::parse(backend, options).and_then(|config| create(&config, None)) {
            Ok(backend) => panic!("{backend:?} was made"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_listed_synthetic_name_makes_a_backend_of_that_name() {
        for Registered { name, .. } in BACKENDS.iter().filter(|backend| !backend.needs_network) {
            let config = BackendConfig::parse(name, "").unwrap();
            assert!(!config.needs_network());
            let backend = create(&config, None).unwrap();
            assert_eq!(backend.facts().name, *name);
        }
    }

    #[test]
    fn unknown_names_and_options_are_refused_with_what_is_valid() {
        assert_eq!(
            error_of("auto", ""),
            "the backend auto needs a network (option WeightsFile, flag --weights)"
        );
        assert_eq!(
            error_of("random", "sed=1"),
            "unknown parameter of random \"sed\". Valid: seed"
        );
        assert_eq!(
            error_of("trivial", "x"),
            "unknown parameter of trivial \"x\". Valid: none"
        );
        assert_eq!(
            error_of("simulated", "max-batch=0"),
            "max-batch=0: expected an integer from 1 to 65536"
        );
    }
}
