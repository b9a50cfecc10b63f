//! The one ONNX Runtime of this process, loaded when it is first needed, with the plugins in it.
//!
//! Plugins are libraries of their own, which any ONNX Runtime from 1.24.4 on takes in. One that is registered
//! is a device of the environment, and sessions are made with that device.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use ort::device::Device;
use ort::environment::Environment;
use ort::ep::{self, ExecutionProvider};
use ort::logging::LogLevel;
use ort::memory::DeviceType;
use parking_lot::Mutex;

use super::causes::{cause, in_our_words, wrong_processor};
use super::finder::{self, Library, LibraryError};
use super::nvidia;
use super::process_environment::{set_variables, software_counts_as_gpu};
use super::provider::{Plugin, Provider};
use crate::foreign::{ONNX_RUNTIME, SYSTEM, record};
use crate::system::gpus::nvidia_gpus;
use crate::system::{cpu_name, entries_named};

#[derive(Debug)]
pub struct Runtime {
    pub library: Library,
    pub(super) environment: Environment,
    registered: Mutex<Vec<Provider>>,
}

/// Set once, by the first caller that succeeds.
static RUNTIME: OnceLock<Runtime> = OnceLock::new();
/// Held while a library is looked for, so that threads don't load two.
static SEARCH: Mutex<()> = Mutex::new(());

impl Runtime {
    /// The process's runtime, which has `provider`. The first call finds the library, and after an error the
    /// next tries again.
    pub fn get(provider: Provider) -> Result<&'static Runtime, LibraryError> {
        set_variables();
        let _guard = SEARCH.lock();
        let occupied = RUNTIME.get().filter(|runtime| !runtime.library.has(provider));
        if let Some(runtime) = occupied {
            return Err(LibraryError::Occupied {
                path: runtime.library.path.clone(),
                provider,
            });
        }
        finder::check_system(provider)?;
        if let Some(runtime) = RUNTIME.get() {
            return runtime.ready_for(provider);
        }
        let library = finder::library_for(provider)?;
        let runtime = Runtime::start(library)?;
        RUNTIME.get_or_init(|| runtime).ready_for(provider)
    }

    fn ready_for(&self, provider: Provider) -> Result<&Runtime, LibraryError> {
        nvidia::load_parts(&self.library, provider)?;
        let mut registered = self.registered.lock();
        if let Some(plugin) = provider.plugin().filter(|_| !registered.contains(&provider)) {
            self.register(provider, plugin)?;
            registered.push(provider);
        }
        Ok(self)
    }

    fn register(&self, provider: Provider, plugin: &Plugin) -> Result<(), LibraryError> {
        let file = finder::plugin_file(plugin, self.library.path.parent()).ok_or_else(|| {
            let package = plugin.package;
            let file = plugin.file_name();
            LibraryError::NoPlugin {
                provider,
                package,
                file,
            }
        })?;
        load_parts_of(&file);
        self.environment
            .register_ep_library(plugin.ep_name, &file)
            .map_err(|error| {
                let reason = in_our_words(&error);
                LibraryError::NotRegistered {
                    provider,
                    path: file,
                    reason,
                }
            })
    }

    fn start(library: Library) -> Result<Runtime, LibraryError> {
        let not_started = |reason: String| LibraryError::NotStarted {
            path: library.path.clone(),
            reason,
        };
        let environment = ort::init_from(&library.path)
            .map_err(|error| {
                record(SYSTEM, &error);
                not_started(cause(&error.to_string()))
            })?
            .with_name("zeitnot")
            .with_telemetry(false)
            .with_logger(Arc::new(
                |level: LogLevel, _: &str, _: &str, _: &str, message: &str| {
                    if level >= LogLevel::Error {
                        record(ONNX_RUNTIME, &message);
                    }
                },
            ))
            .build()
            .map_err(|error| not_started(in_our_words(&error)))?;
        Ok(Runtime {
            library,
            environment,
            registered: Mutex::default(),
        })
    }

    /// Loads `provider`, and checks that a plugin finds its device: OpenVINO's the processor, others a GPU.
    pub fn check_device(provider: Provider) -> Result<(), LibraryError> {
        // Software that stands for a GPU says that it is a CPU.
        let suits = |device: &Device<'_>| match device.hardware_device().ty() {
            DeviceType::GPU => provider.is_accelerator(),
            DeviceType::CPU => !provider.is_accelerator() || software_counts_as_gpu(),
            _ => false,
        };
        let devices = Runtime::get(provider)?.devices(provider);
        if provider.is_plugin() && !devices.iter().any(suits) {
            return Err(LibraryError::NoHardware(provider));
        }
        let gpus = nvidia_gpus();
        if gpus.is_empty() || gpus.iter().any(|gpu| provider.has_code_for(gpu) != Some(false)) {
            return Ok(());
        }
        let gpus: Vec<_> = gpus
            .iter()
            .map(|gpu| format!("{gpu}, {}", gpu.details()))
            .collect();
        Err(LibraryError::NoCode {
            provider,
            gpu: gpus.join(", "),
        })
    }

    /// By its number among those of a plugin's provider. OpenVINO's is the processor.
    pub(super) fn device(&self, provider: Provider, number: u32) -> Result<Device<'_>, LibraryError> {
        let devices = self.devices(provider);
        let found = devices.len();
        devices.into_iter().nth(number as usize).ok_or_else(|| {
            let remedy = wrong_processor(provider, &cpu_name()).unwrap_or_else(|| {
                "`zeitnot doctor` shows whether it can work here and what is missing".into()
            });
            LibraryError::NoDevice {
                provider,
                number,
                found,
                remedy,
            }
        })
    }

    /// None before the plugin is registered.
    fn devices(&self, provider: Provider) -> Vec<Device<'_>> {
        let Some(plugin) = provider.plugin() else {
            return Vec::new();
        };
        let is_wanted = |device: &Device<'_>| {
            device.ep().is_ok_and(|name| name == plugin.ep_name)
                && (provider != Provider::OpenVino || device.hardware_device().ty() == DeviceType::CPU)
        };
        self.environment.devices().filter(is_wanted).collect()
    }

    /// The execution providers that the library was built with or has taken in, as ONNX Runtime names
    /// them.
    pub fn providers(&self) -> Vec<&'static str> {
        let registered = self.registered.lock();
        let mut names: Vec<_> = registered
            .iter()
            .filter_map(|provider| Some(provider.plugin()?.ep_name))
            .collect();
        names.extend(matches!(ep::CUDA::is_available(), Ok(true)).then_some(ep::CUDA::NAME));
        names.push(ep::CPU::NAME);
        names
    }
}

/// Loads the libraries beside `plugin` that it needs: a wheel has them under their full versions, by which
/// the system does not find them.
fn load_parts_of(plugin: &Path) {
    let Some(folder) = plugin.parent().filter(|_| cfg!(target_os = "linux")) else {
        return;
    };
    let mut wanted = nvidia::needed(plugin).unwrap_or_default();
    wanted.retain(|name| ort::util::preload_dylib(name).is_err());
    for name in wanted {
        if let Some(path) = entries_named(folder, |file| file.starts_with(&name)).first() {
            // The plugin's registration names what does not load.
            let _ = ort::util::preload_dylib(path);
        }
    }
}
