//! Makes backends.

use std::sync::Arc;

use super::auto_backend;
use super::config::{BackendConfig, DeviceConfig, Fallback, unknown_name};
use super::multiplexing::{self, Device, Outage};
use super::registry::{Kind, registered};
use super::synthetic::random::Random;
use super::synthetic::simulated::Simulated;
use super::synthetic::trivial::Trivial;
use super::{native, onnxruntime};
use crate::network::backend::Made;
use crate::network::backend_error::BackendError;
use crate::network::instrumented::Instrumented;
use crate::network::weights::NetworkFile;
use crate::note::Note;
use crate::params::Params;

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
    let backend = registered(&config.name).ok_or_else(|| unknown_name(&config.name))?;
    let options = &config.options;
    match backend.kind {
        Kind::Auto => auto_backend::make(needed(config, network)?, options),
        Kind::Native => native::open(&needed(config, network)?, options),
        Kind::OnnxRuntime => onnxruntime::open(needed(config, network)?, options),
        Kind::Multiplexing => several_devices(config, network),
        Kind::Trivial => Ok(Arc::new(Trivial::backend(options)?)),
        Kind::Random => Ok(Arc::new(Random::backend(options)?)),
        Kind::Simulated => {
            let answers = make(&config.whose_answers()?, network)?;
            Ok(Arc::new(Simulated::new(options, answers)?))
        }
    }
}

fn needed(config: &BackendConfig, network: Option<NetworkFile>) -> Result<NetworkFile, BackendError> {
    network.ok_or_else(|| BackendError::NoNetwork {
        backend: config.name.clone(),
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::backends::BACKENDS;

    fn error_of(backend: &str, options: &str) -> String {
        match BackendConfig::parse(backend, options).and_then(|config| create(&config, None)) {
            Ok(backend) => panic!("{backend:?} was made"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_listed_synthetic_name_makes_a_backend_of_that_name() {
        for registered in BACKENDS.iter().filter(|backend| !backend.needs_network()) {
            let name = registered.name;
            let config = BackendConfig::parse(name, "").unwrap();
            assert!(!config.needs_network());
            let backend = create(&config, None).unwrap();
            assert_eq!(backend.facts().name, name);
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
