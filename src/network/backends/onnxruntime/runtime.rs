//! The one ONNX Runtime of this process: loaded when it is first needed, and kept.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ort::device::Device;
use ort::environment::Environment;
use ort::ep::{self, ExecutionProvider};
use ort::logging::LogLevel;
use ort::memory::DeviceType;

use super::finder;
use super::library::{Library, LibraryError};
use super::nvidia;
use super::plugin;
use super::process_environment::set_variables;
use super::progress_message::eprint_message;
use super::provider::Provider;

/// A loaded library and its environment, from which sessions are made.
#[derive(Debug)]
pub struct Runtime {
    library: Library,
    environment: Environment,
    /// The plugins that the environment has taken in.
    registered: Mutex<Vec<Provider>>,
}

/// Set once, by the first caller that succeeds.
static RUNTIME: OnceLock<Runtime> = OnceLock::new();
/// Held while a library is looked for, so that threads don't fetch it twice.
static SEARCH: Mutex<()> = Mutex::new(());

impl Runtime {
    /// Returns the process's runtime, which has `provider`; the first call finds or fetches the library, which may take
    /// long and writes to stderr.
    ///
    /// # Errors
    /// Returns [`LibraryError`], with remedies; also if a library without `provider` is in use. The next call tries
    /// again.
    pub fn get(provider: Provider) -> Result<&'static Runtime, LibraryError> {
        set_variables();
        let _guard = SEARCH.lock().unwrap_or_else(PoisonError::into_inner);
        let occupied = RUNTIME.get().filter(|runtime| !runtime.library.has(provider));
        if let Some(runtime) = occupied {
            return Err(LibraryError::Occupied { path: runtime.library.path.clone(), provider });
        }
        // Without a driver there is no use in fetching a quarter of a gigabyte.
        nvidia::check_driver(provider)?;
        plugin::check_system(provider)?;
        if let Some(runtime) = RUNTIME.get() {
            return runtime.ready_for(provider);
        }
        let library = finder::find_or_fetch(provider)?;
        let runtime = Runtime::start(library)?;
        RUNTIME.get_or_init(|| runtime).ready_for(provider)
    }

    /// Loads what `provider` needs beside the library, once.
    fn ready_for(&self, provider: Provider) -> Result<&Runtime, LibraryError> {
        nvidia::load_parts(&self.library, provider)?;
        let mut registered = self.registered.lock().unwrap_or_else(PoisonError::into_inner);
        if provider.plugin().is_some() && !registered.contains(&provider) {
            plugin::register(&self.library, &self.environment, provider)?;
            registered.push(provider);
        }
        Ok(self)
    }

    fn start(library: Library) -> Result<Runtime, LibraryError> {
        let not_started = |reason: String| LibraryError::NotStarted { path: library.path.clone(), reason };
        let environment = ort::init_from(&library.path)
            .map_err(|error| not_started(error.to_string()))?
            .with_name("zeitnot")
            .with_telemetry(false)
            .with_logger(Arc::new(|level: LogLevel, _: &str, _: &str, _: &str, message: &str| {
                if level >= LogLevel::Error {
                    eprint_message(format_args!("onnxruntime: {message}"));
                }
            }))
            .build()
            .map_err(|error| not_started(error.to_string()))?;
        Ok(Runtime { library, environment, registered: Mutex::default() })
    }

    /// Loads `provider`, and checks that a plugin finds the device for which it is there: OpenVINO's the processor, others a GPU.
    /// Whether other providers find theirs shows when a session is made.
    ///
    /// # Errors
    /// Returns [`LibraryError`]; [`LibraryError::NoHardware`] also where only software stands for a GPU.
    pub fn check_device(provider: Provider) -> Result<(), LibraryError> {
        // Software that stands for a GPU says that it is a CPU.
        let wanted = if provider.is_accelerator() { DeviceType::GPU } else { DeviceType::CPU };
        let devices = Runtime::get(provider)?.devices(provider);
        if provider.is_plugin() && !devices.iter().any(|device| device.hardware_device().ty() == wanted) {
            return Err(LibraryError::NoHardware(provider));
        }
        Ok(())
    }

    /// Returns the library in use.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Returns the environment from which sessions are made.
    pub(super) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the device of this number among those of a plugin's provider. OpenVINO's is the processor.
    ///
    /// # Errors
    /// Returns [`LibraryError::NoDevice`] if there is none.
    pub(super) fn device(&self, provider: Provider, number: u32) -> Result<Device<'_>, LibraryError> {
        let devices = self.devices(provider);
        let found = devices.len();
        let no_device = LibraryError::NoDevice { provider, number, found };
        devices.into_iter().nth(number as usize).ok_or(no_device)
    }

    /// Returns the devices of a plugin's provider; none before it is registered.
    fn devices(&self, provider: Provider) -> Vec<Device<'_>> {
        let Some(plugin) = provider.plugin() else { return Vec::new() };
        // Software that stands for a GPU says that it is a CPU.
        let is_wanted = |device: &Device<'_>| {
            device.ep().is_ok_and(|name| name == plugin.ep_name)
                && (provider != Provider::OpenVino || device.hardware_device().ty() == DeviceType::CPU)
        };
        self.environment.devices().filter(is_wanted).collect()
    }

    /// Returns the execution providers that the library was built with or has taken in, as ONNX Runtime names them.
    ///
    /// Only making a session with a provider shows whether it works on this machine.
    pub fn providers(&self) -> Vec<&'static str> {
        let registered = self.registered.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<_> =
            registered.iter().filter_map(|provider| Some(provider.plugin()?.ep_name)).collect();
        name_if_built_in::<ep::TensorRT>(&mut names);
        name_if_built_in::<ep::NVRTX>(&mut names);
        name_if_built_in::<ep::CUDA>(&mut names);
        name_if_built_in::<ep::MIGraphX>(&mut names);
        name_if_built_in::<ep::ROCm>(&mut names);
        name_if_built_in::<ep::OpenVINO>(&mut names);
        name_if_built_in::<ep::CoreML>(&mut names);
        name_if_built_in::<ep::DirectML>(&mut names);
        name_if_built_in::<ep::WebGPU>(&mut names);
        name_if_built_in::<ep::OneDNN>(&mut names);
        name_if_built_in::<ep::XNNPACK>(&mut names);
        name_if_built_in::<ep::CPU>(&mut names);
        names
    }
}

fn name_if_built_in<P: ExecutionProvider>(names: &mut Vec<&'static str>) {
    if matches!(P::is_available(), Ok(true)) {
        names.push(P::NAME);
    }
}
