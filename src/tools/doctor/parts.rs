//! Drivers and libraries: what is here, and why the rest is not.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::network::backends::onnxruntime::{Provider, finder};

/// A driver or library.
#[derive(Debug, Serialize)]
pub(super) struct Part {
    name: String,
    is_here: bool,
    /// Where it is, or why it is not.
    detail: String,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_here { "✓" } else { "–" };
        write!(f, "{mark} {:<24} {}", self.name, self.detail)
    }
}

/// Returns all parts that backends may need.
pub(super) fn all() -> Vec<Part> {
    let mut parts = vec![onnx_runtime()];
    parts.extend(Provider::ALL.into_iter().filter(|provider| provider.is_plugin()).map(plugin));
    parts.push(system_part("NVIDIA driver", Provider::Cuda));
    if cfg!(target_os = "linux") {
        parts.push(system_part("Vulkan loader", Provider::WebGpu));
        parts.push(listed("Vulkan drivers", vulkan_drivers(), "none is registered"));
        parts.push(listed(
            "GPU devices",
            device_files(),
            "there is none in /dev; in a container start that with access to the GPU",
        ));
    }
    parts
}

fn onnx_runtime() -> Part {
    let (library, refused) = finder::look_for(Provider::Cpu);
    let is_here = library.is_some();
    let mut detail = library.map_or_else(
        || "none is installed; `zeitnot setup` fetches it".to_owned(),
        |library| format!("{} {} ({})", library.version, library.path.display(), library.source),
    );
    for reason in refused {
        detail += &format!("; refused: {reason}");
    }
    Part { name: "ONNX Runtime".into(), is_here, detail }
}

fn plugin(provider: Provider) -> Part {
    let file = finder::plugin_file(provider);
    let is_here = file.is_some();
    let detail = file.map_or_else(
        || format!("not installed; `zeitnot setup --provider {provider}` fetches it"),
        |file| file.display().to_string(),
    );
    Part { name: format!("plugin {provider}"), is_here, detail }
}

/// Returns what the system must have for `provider`.
fn system_part(name: &str, provider: Provider) -> Part {
    let obstacle = finder::obstacle(provider);
    Part {
        name: name.into(),
        is_here: obstacle.is_none(),
        detail: obstacle.map_or("loads".into(), |error| error.to_string()),
    }
}

fn listed(name: &str, found: Vec<PathBuf>, otherwise: &str) -> Part {
    let texts: Vec<_> = found.iter().map(|path| path.display().to_string()).collect();
    let detail = if texts.is_empty() { otherwise.to_owned() } else { texts.join(", ") };
    Part { name: name.into(), is_here: !found.is_empty(), detail }
}

/// Returns the files by which Vulkan's loader finds drivers.
fn vulkan_drivers() -> Vec<PathBuf> {
    let named = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].into_iter().find_map(std::env::var_os);
    if let Some(named) = named {
        return std::env::split_paths(&named).filter(|path| path.is_file()).collect();
    }
    let folders = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"];
    folders.iter().flat_map(|folder| files_in(Path::new(folder), "")).collect()
}

/// Returns the files in /dev through which programs reach GPUs.
fn device_files() -> Vec<PathBuf> {
    let mut files = files_in(Path::new("/dev/dri"), "renderD");
    files.extend(files_in(Path::new("/dev"), "nvidia"));
    files.extend(files_in(Path::new("/dev"), "kfd"));
    files
}

fn files_in(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files
}
