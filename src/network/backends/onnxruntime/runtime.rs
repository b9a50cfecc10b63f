//! The one ONNX Runtime of this process: loaded when it is first needed, and kept; with the plugins that it has taken in.
//!
//! Plugins are providers that are libraries of their own, which any ONNX Runtime from 1.24.4 on takes in. A plugin is looked for
//! beside ONNX Runtime, beside the program, in our cache folder and in the installed Python package of its name, and fetched at
//! last by `zeitnot setup`. What [`Runtime`] registers is then a device of the environment, and sessions are made with that device.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{RecvTimeoutError, Sender, bounded};
use ort::device::Device;
use ort::environment::Environment;
use ort::ep::{self, ExecutionProvider};
use ort::logging::LogLevel;
use ort::memory::DeviceType;

use super::fetch::{FetchError, Package, fetch, site_folders};
use super::finder::{self, Library, LibraryError};
use super::process_environment::set_variables;
use super::provider::Provider;
use super::{in_our_words, machine, nvidia};
use crate::foreign::{ONNX_RUNTIME, SYSTEM, record};
use crate::network::folders;

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
        finder::check_system(provider)?;
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
            register(&self.library, &self.environment, provider)?;
            registered.push(provider);
        }
        Ok(self)
    }

    fn start(library: Library) -> Result<Runtime, LibraryError> {
        let not_started = |reason: String| LibraryError::NotStarted { path: library.path.clone(), reason };
        let environment = ort::init_from(&library.path)
            .map_err(|error| {
                record(SYSTEM, &error);
                not_started("the system cannot load it".into())
            })?
            .with_name("zeitnot")
            .with_telemetry(false)
            .with_logger(Arc::new(|level: LogLevel, _: &str, _: &str, _: &str, message: &str| {
                if level >= LogLevel::Error {
                    record(ONNX_RUNTIME, &message);
                }
            }))
            .build()
            .map_err(|error| not_started(in_our_words(&error)))?;
        Ok(Runtime { library, environment, registered: Mutex::default() })
    }

    /// Loads `provider`, and checks that a plugin finds the device for which it is there: OpenVINO's the processor, others a GPU.
    /// Whether other providers find theirs shows when a session is made.
    pub(crate) fn check_device(provider: Provider) -> Result<(), LibraryError> {
        // Software that stands for a GPU says that it is a CPU.
        let suits = |device: &Device<'_>| match device.hardware_device().ty() {
            DeviceType::GPU => provider.is_accelerator(),
            DeviceType::CPU => !provider.is_accelerator() || machine::software_counts_as_gpu(),
            _ => false,
        };
        let devices = Runtime::get(provider)?.devices(provider);
        if provider.is_plugin() && !devices.iter().any(suits) {
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
        macro_rules! add_built_in {
            ($($provider:ident),*) => {
                $(names.extend(matches!(ep::$provider::is_available(), Ok(true)).then_some(ep::$provider::NAME));)*
            };
        }
        add_built_in!(
            TensorRT, NVRTX, CUDA, MIGraphX, ROCm, OpenVINO, CoreML, DirectML, WebGPU, OneDNN, XNNPACK, CPU
        );
        names
    }
}

#[derive(Debug)]
pub(super) struct Plugin {
    /// The provider's name in ONNX Runtime; its options begin with it.
    pub(super) ep_name: &'static str,
    /// The name of its file, without the system's beginning and ending.
    file_stem: &'static str,
    pub(super) package: &'static Package,
}

const WEBGPU: Plugin = Plugin {
    ep_name: "WebGpuExecutionProvider",
    file_stem: "onnxruntime_providers_webgpu",
    package: &Package::WEBGPU,
};
const OPENVINO: Plugin = Plugin {
    ep_name: "OpenVINOExecutionProvider",
    file_stem: "onnxruntime_providers_openvino_plugin",
    package: &Package::OPENVINO,
};
const TENSORRT_RTX: Plugin = Plugin {
    ep_name: "NvTensorRTRTXExecutionProvider",
    file_stem: "onnxruntime_providers_nv_tensorrt_rtx",
    package: &Package::TENSORRT_RTX,
};

impl Provider {
    /// Returns the plugin that brings the provider; `None` if ONNX Runtime is built with it.
    pub(super) fn plugin(self) -> Option<&'static Plugin> {
        match self {
            Provider::WebGpu => Some(&WEBGPU),
            Provider::OpenVino => Some(&OPENVINO),
            Provider::TensorRtRtx => Some(&TENSORRT_RTX),
            _ => None,
        }
    }
}

impl Plugin {
    fn file_name(&self) -> String {
        let stem = self.file_stem;
        if cfg!(windows) {
            format!("{stem}.dll")
        } else if cfg!(target_os = "macos") {
            format!("lib{stem}.dylib")
        } else {
            format!("lib{stem}.so")
        }
    }

    /// Returns the file, if it is installed in the folder `beside` or elsewhere.
    pub(super) fn find(&self, beside: Option<&Path>) -> Option<PathBuf> {
        let file = self.file_name();
        let in_folder = |folder: PathBuf| Some(folder.join(&file)).filter(|path| path.is_file());
        let known = beside.map(Path::to_path_buf).into_iter().chain(self.known_folders());
        known.into_iter().find_map(in_folder).or_else(|| {
            let module = self.package.library_folder;
            site_folders().into_iter().map(|site| site.join(module)).find_map(in_folder)
        })
    }

    /// Returns whether the file lies beside the program or in the cache.
    pub(super) fn is_known(&self) -> bool {
        let file = self.file_name();
        self.known_folders().iter().any(|folder| folder.join(&file).is_file())
    }

    fn known_folders(&self) -> Vec<PathBuf> {
        let mut folders = finder::folders_beside_the_program();
        folders.extend(folders::cache().map(|cache| self.package.destination(&cache)));
        folders
    }

    /// Returns the file of `provider`'s plugin; one that is installed nowhere is fetched if this process may.
    pub(super) fn find_or_fetch(
        &self,
        provider: Provider,
        beside: Option<&Path>,
    ) -> Result<PathBuf, LibraryError> {
        if let Some(file) = self.find(beside) {
            return Ok(file);
        }
        let fetched = folders::cache().ok_or(FetchError::NoCacheFolder).and_then(|cache| {
            let usable = |folder: &Path| folder.join(self.file_name()).is_file();
            fetch(self.package, provider, &cache, usable)
        });
        match fetched {
            Ok(folder) => Ok(folder.join(self.file_name())),
            Err(reason) => Err(LibraryError::PluginNotFetched {
                package: self.package.name,
                file: self.file_name(),
                reason: reason.with_remedy(self.package),
            }),
        }
    }
}

/// Finds or fetches the plugin of `provider` and registers it; sees to it that it has a device.
fn register(library: &Library, environment: &Environment, provider: Provider) -> Result<(), LibraryError> {
    let Some(plugin) = provider.plugin() else { return Ok(()) };
    let file = plugin.find_or_fetch(provider, library.path.parent())?;
    load_parts_of(&file);
    environment.register_ep_library(plugin.ep_name, &file).map_err(|error| LibraryError::NotRegistered {
        provider,
        path: file.clone(),
        reason: in_our_words(&error),
    })
}

/// Loads the libraries beside `plugin` that it names as needed: a wheel has them under their full versions, so that the
/// system would not find them itself. What is missing here, the system may have.
fn load_parts_of(plugin: &Path) {
    let Some(folder) = plugin.parent().filter(|_| cfg!(target_os = "linux")) else { return };
    let mut wanted = nvidia::needed(plugin).unwrap_or_default();
    wanted.retain(|name| ort::util::preload_dylib(name).is_err());
    for name in wanted {
        let has_name = |path: &PathBuf| {
            path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name.as_str()))
        };
        let files = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        if let Some(path) = files.into_iter().find(has_name) {
            // What does not load is named by the error of the plugin's registration.
            let _ = ort::util::preload_dylib(path);
        }
    }
}

/// The time between two lines.
const INTERVAL: Duration = Duration::from_secs(10);

/// Writes messages until it is dropped.
pub(super) struct ProgressMessage {
    /// Closed when this is dropped, which ends the thread.
    _stop: Sender<()>,
}

impl ProgressMessage {
    /// Writes that `what` begins, and every ten seconds how long it has taken.
    pub(super) fn start(what: String) -> ProgressMessage {
        let (stop, stopped) = bounded::<()>(0);
        let start = Instant::now();
        eprint_message(format_args!("{what}. The first time this takes minutes."));
        thread::spawn(move || {
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                eprint_message(format_args!("{what}: {} s so far", start.elapsed().as_secs()));
            }
        });
        ProgressMessage { _stop: stop }
    }
}

/// Writes a line to stderr. Where nobody can read it, the work goes on.
pub(super) fn eprint_message(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_found_beside_the_library_under_the_name_of_the_system() {
        let folder = tempfile::tempdir().unwrap();
        let plugin = Provider::WebGpu.plugin().unwrap();
        let path = folder.path().join(plugin.file_name());
        std::fs::write(&path, "").unwrap();
        assert_eq!(plugin.find(Some(folder.path())), Some(path));
        assert!(Provider::Cuda.plugin().is_none());
    }
}
