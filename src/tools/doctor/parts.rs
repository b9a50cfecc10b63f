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

/// Returns why a machine with the processor `cpu` and the GPUs' device files `devices` has no use for `provider`, whatever is
/// installed there; `None` where it may have, or where nothing is known.
pub(super) fn unsuited(provider: Provider, cpu: &str, devices: &[PathBuf]) -> Option<String> {
    let has = |names: &[&str]| {
        let file_names = devices.iter().filter_map(|path| path.file_name()?.to_str());
        file_names.into_iter().any(|file| names.iter().any(|name| file.starts_with(name)))
    };
    // Elsewhere GPUs have no files. Windows shows its GPUs to Linux as `dxg`.
    let lacks = |names: &[&str]| cfg!(target_os = "linux") && !has(names) && !has(&["dxg"]);
    let makers = ["AMD", "ARM", "Apple", "Qualcomm", "VIA", "Zhaoxin", "Hygon", "aarch64"];
    match provider {
        Provider::OpenVino if makers.iter().any(|maker| cpu.contains(maker)) => {
            Some(format!("OpenVINO's plugin computes on Intel processors, and this one is {cpu}"))
        }
        Provider::Cuda | Provider::TensorRt | Provider::TensorRtRtx if lacks(&["nvidia"]) => {
            Some("there is no NVIDIA GPU (/dev/nvidia*), or this container was not given it".into())
        }
        Provider::MiGraphX if lacks(&["kfd"]) => {
            Some("there is no AMD GPU (/dev/kfd), or this container was not given it".into())
        }
        Provider::WebGpu if lacks(&["renderD", "nvidia"]) => {
            Some("there is no GPU (/dev/dri/renderD*), or this container was not given it".into())
        }
        _ => None,
    }
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
pub(super) fn device_files() -> Vec<PathBuf> {
    let mut files = files_in(Path::new("/dev/dri"), "renderD");
    files.extend(files_in(Path::new("/dev"), "nvidia"));
    files.extend(files_in(Path::new("/dev"), "kfd"));
    files.extend(files_in(Path::new("/dev"), "dxg"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_unsuited_only_where_its_maker_s_device_is_missing() {
        let names = |cpu: &str, devices: &[&str]| -> Vec<&str> {
            let devices: Vec<PathBuf> = devices.iter().map(PathBuf::from).collect();
            let all = Provider::ALL.into_iter();
            all.filter(|&provider| unsuited(provider, cpu, &devices).is_some()).map(Provider::name).collect()
        };
        assert_eq!(names("AMD EPYC", &["/dev/dri/renderD128", "/dev/nvidia0", "/dev/kfd"]), ["openvino"]);
        assert_eq!(names("Intel(R) Xeon(R)", &["/dev/dxg"]), [] as [&str; 0]);
        if cfg!(target_os = "linux") {
            let none = ["cuda", "tensorrt", "tensorrt-rtx", "webgpu", "migraphx"];
            assert_eq!(names("Intel(R) Xeon(R)", &[]), none);
            assert_eq!(names("Intel(R) Xeon(R)", &["/dev/nvidia0"]), ["migraphx"]);
        }
    }
}
