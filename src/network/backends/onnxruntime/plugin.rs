//! Plugins: providers that are libraries of their own, which any ONNX Runtime from 1.24.4 on takes in.
//!
//! A plugin is looked for beside ONNX Runtime, beside the program, in our cache folder and in the installed Python
//! package of its name, and fetched at last by `zeitnot setup`. [`Runtime`](super::Runtime) calls [`register`]; what it finds is then a
//! device of the environment, and sessions are made with that device.

use std::path::{Path, PathBuf};

use ort::environment::Environment;

use super::fetch;
use super::finder;
use super::library::{Library, LibraryError};
use super::nvidia;
use super::package::Package;
use super::provider::Provider;
use super::python;
use crate::network::folders;

/// The Vulkan loader, through which WebGPU reaches a GPU under Linux.
const VULKAN: &str = "libvulkan.so.1";

/// A provider that is a library of its own.
#[derive(Debug)]
pub(super) struct Plugin {
    /// The provider's name in ONNX Runtime; its options begin with it.
    pub ep_name: &'static str,
    /// The name of its file, without the system's beginning and ending.
    file_stem: &'static str,
    /// The package that brings it.
    package: &'static Package,
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
            python::site_folders().into_iter().map(|site| site.join(module)).find_map(in_folder)
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
    fn find_or_fetch(&self, provider: Provider, library: &Library) -> Result<PathBuf, LibraryError> {
        if let Some(file) = self.find(library.path.parent()) {
            return Ok(file);
        }
        let fetched = folders::cache().ok_or(fetch::FetchError::NoCacheFolder).and_then(|cache| {
            let usable = |folder: &Path| folder.join(self.file_name()).is_file();
            fetch::fetch(self.package, provider, &cache, usable)
        });
        match fetched {
            Ok(folder) => Ok(folder.join(self.file_name())),
            Err(reason) => Err(LibraryError::PluginNotFetched {
                package: self.package.name,
                file: self.file_name(),
                reason: Box::new(reason),
            }),
        }
    }
}

/// Returns whether `provider` is a plugin that is installed, or fetched already.
pub(super) fn is_installed(provider: Provider) -> bool {
    provider.plugin().is_some_and(|plugin| plugin.find(None).is_some())
}

/// Checks that what a plugin needs of the system is there, before anything is fetched.
///
/// # Errors
/// Returns [`LibraryError::PartsMissing`] with a remedy.
pub(super) fn check_system(provider: Provider) -> Result<(), LibraryError> {
    let needs_vulkan = provider == Provider::WebGpu && cfg!(target_os = "linux");
    if !needs_vulkan || ort::util::preload_dylib(VULKAN).is_ok() {
        return Ok(());
    }
    let part = format!(
        "the Vulkan loader ({VULKAN}): install it and the GPU's Vulkan driver (Debian, Ubuntu: apt install libvulkan1 \
         mesa-vulkan-drivers; NVIDIA's driver brings its own)"
    );
    Err(LibraryError::PartsMissing { provider, parts: vec![part] })
}

/// Finds or fetches the plugin of `provider` and registers it; sees to it that it has a device.
///
/// # Errors
/// Returns [`LibraryError`], with remedies.
pub(super) fn register(
    library: &Library,
    environment: &Environment,
    provider: Provider,
) -> Result<(), LibraryError> {
    let Some(plugin) = provider.plugin() else { return Ok(()) };
    let file = plugin.find_or_fetch(provider, library)?;
    load_parts(&file);
    environment.register_ep_library(plugin.ep_name, &file).map_err(|error| LibraryError::NotRegistered {
        provider,
        path: file.clone(),
        reason: error.to_string(),
    })
}

/// Loads the libraries beside `plugin` that it names as needed: a wheel has them under their full versions, so that the
/// system would not find them itself. What is missing here, the system may have.
fn load_parts(plugin: &Path) {
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
        assert!(Provider::Cuda.plugin().is_none() && !is_installed(Provider::Cuda));
    }
}
