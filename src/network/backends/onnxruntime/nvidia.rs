//! Libraries that NVIDIA's providers need beside ONNX Runtime: the driver, CUDA, cuDNN, TensorRT.
//!
//! The provider's file names the libraries that it needs, so that any build with any version of CUDA is served. Each
//! one is loaded before the provider is, from where the system finds it or from the folders of NVIDIA's wheels and
//! installers; the system then takes what is loaded. A library that is found nowhere is named with a remedy. Libraries
//! are loaded so on Linux only: elsewhere the system's own search path must do.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use object::Endianness;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::ReadCache;
use object::read::elf::{Dyn, FileHeader};

use super::fetch::site_folders;
use super::finder::{Library, LibraryError};
use super::provider::Provider;

/// The driver's part that programs call.
const DRIVER: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };
/// The file of cuDNN, which the provider's file does not name and loads when it meets the first convolution.
const CUDNN: &str = "libcudnn.so.9";

/// Checks that a driver is there if `provider` is NVIDIA's.
pub(super) fn check_driver(provider: Provider) -> Result<(), LibraryError> {
    if !is_nvidias(provider) || ort::util::preload_dylib(DRIVER).is_ok() {
        return Ok(());
    }
    Err(LibraryError::PartsMissing { provider, parts: vec![describe_missing(DRIVER, &[])] })
}

/// Loads the libraries that `provider`, if it is NVIDIA's, needs beside `library`.
pub(super) fn load_parts(library: &Library, provider: Provider) -> Result<(), LibraryError> {
    if !is_nvidias(provider) || provider.plugin().is_some() || !cfg!(target_os = "linux") {
        return Ok(());
    }
    let folder = library.path.parent().unwrap_or(Path::new(""));
    let mut wanted: Vec<String> = [Provider::Cuda, provider]
        .iter()
        .filter_map(|provider| needed(&folder.join(provider.file_name()?)).ok())
        .flatten()
        .filter(|name| name.starts_with("libcu") || name.starts_with("libnv"))
        .chain([CUDNN.to_owned()])
        .collect();
    wanted.sort();
    wanted.dedup();
    wanted.retain(|name| ort::util::preload_dylib(name).is_err());
    if wanted.is_empty() {
        return Ok(());
    }
    let folders = folders(folder);
    // One library may need another of the list: go round as long as that helps.
    loop {
        let before = wanted.len();
        wanted
            .retain(|name| !folders.iter().any(|folder| ort::util::preload_dylib(folder.join(name)).is_ok()));
        if wanted.len() == before {
            break;
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let parts = wanted.iter().map(|name| describe_missing(name, &folders)).collect();
    Err(LibraryError::PartsMissing { provider, parts })
}

fn is_nvidias(provider: Provider) -> bool {
    matches!(provider, Provider::Cuda | Provider::TensorRt | Provider::TensorRtRtx)
}

/// Returns the name and memory of a GPU, as the driver's own tool tells them: `NVIDIA H200, 143771 MiB`.
pub(super) fn device_name(gpu: u32) -> Option<String> {
    let index = gpu.to_string();
    let output = Command::new("nvidia-smi")
        .args(["--query-gpu=name,memory.total", "--format=csv,noheader", "--id", &index])
        .output()
        .ok()?;
    let line = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !line.is_empty()).then_some(line)
}

/// Returns the libraries that a shared library names as needed.
pub(super) fn needed(path: &Path) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let data = ReadCache::new(File::open(path)?);
    let header = FileHeader64::<Endianness>::parse(&data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, &data)?;
    let Some((entries, link)) = sections.dynamic(endian, &data)? else { return Ok(Vec::new()) };
    let strings = sections.strings(endian, &data, link)?;
    let names = entries.iter().filter(|entry| entry.tag(endian) == DT_NEEDED);
    names.map(|entry| Ok(String::from_utf8_lossy(entry.string(endian, strings)?).into_owned())).collect()
}

/// Returns the folders into which NVIDIA's wheels and installers put libraries.
fn folders(library_folder: &Path) -> Vec<PathBuf> {
    // A wheel has the library in site-packages/onnxruntime/capi.
    let beside = library_folder.ancestors().nth(2).map(Path::to_path_buf);
    let mut folders = Vec::new();
    for site in beside.into_iter().chain(site_folders()) {
        folders.push(site.join("tensorrt_libs"));
        let wheels = fs::read_dir(site.join("nvidia")).into_iter().flatten().flatten();
        folders.extend(wheels.map(|wheel| wheel.path().join("lib")));
    }
    let roots = ["CUDA_PATH", "CUDA_HOME", "CUDNN_PATH", "TENSORRT_HOME"].into_iter().filter_map(env::var_os);
    for root in roots.map(PathBuf::from).chain(installed_versions()) {
        folders.extend(["lib64", "lib", "targets/x86_64-linux/lib"].map(|sub| root.join(sub)));
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

/// Returns the folders of installed versions of CUDA: `/usr/local/cuda`, `/usr/local/cuda-13.1` and the like.
fn installed_versions() -> Vec<PathBuf> {
    let entries = ["/usr/local", "/opt"].into_iter().flat_map(fs::read_dir).flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("cuda"))
        .map(|entry| entry.path())
        .collect()
}

/// Describes a missing library: what it is, whether another version of it is here, and how to get it.
fn describe_missing(name: &str, folders: &[PathBuf]) -> String {
    let (stem, version) = name.split_once(".so.").unwrap_or((name, ""));
    let text = match stem {
        "libcuda" | "nvcuda.dll" => format!(
            "the NVIDIA driver ({name}): install it, or in a container start that with access to the GPU, as \
             `docker run --gpus all` does"
        ),
        "libcudnn" => format!("cuDNN {version} ({name}): pip install nvidia-cudnn-cu13"),
        "libnvinfer" | "libnvonnxparser" => format!("TensorRT {version} ({name}): pip install tensorrt-cu13"),
        _ => format!("CUDA's {name}: pip install {}", wheel_of(stem)),
    };
    let others = folders.iter().flat_map(|folder| other_versions(folder, stem)).collect::<Vec<_>>();
    if others.is_empty() {
        text
    } else {
        format!("{text} (found {}, which is another version)", others.join(", "))
    }
}

/// Returns the wheel, for the newest CUDA, that brings a library.
fn wheel_of(stem: &str) -> &'static str {
    match stem {
        "libcublas" | "libcublasLt" => "nvidia-cublas",
        "libcurand" => "nvidia-curand",
        "libcufft" => "nvidia-cufft",
        "libnvrtc" => "nvidia-cuda-nvrtc",
        _ => "nvidia-cuda-runtime",
    }
}

fn other_versions(folder: &Path, stem: &str) -> Vec<String> {
    let start = format!("{stem}.so.");
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    names
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&start))
        .map(|entry| entry.path().display().to_string())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_parts_are_named_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("libcublas.so.12");
        fs::write(&other, "").unwrap();
        let folders = [folder.path().to_path_buf()];
        assert!(describe_missing(DRIVER, &folders).starts_with("the NVIDIA driver ("));
        assert_eq!(
            describe_missing(CUDNN, &folders),
            "cuDNN 9 (libcudnn.so.9): pip install nvidia-cudnn-cu13"
        );
        assert_eq!(
            describe_missing("libnvinfer.so.10", &folders),
            "TensorRT 10 (libnvinfer.so.10): pip install tensorrt-cu13"
        );
        assert_eq!(
            describe_missing("libcublas.so.13", &folders),
            format!(
                "CUDA's libcublas.so.13: pip install nvidia-cublas (found {}, which is another version)",
                other.display()
            )
        );
    }

    #[test]
    fn other_providers_need_no_driver() {
        for provider in [Provider::Cpu, Provider::OpenVino, Provider::CoreMl] {
            assert!(check_driver(provider).is_ok());
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_library_tells_what_it_needs() {
        let program = env::current_exe().unwrap();
        assert!(needed(&program).unwrap().iter().any(|name| name.starts_with("libc.so")));
        let folder = tempfile::tempdir().unwrap();
        let junk = folder.path().join("junk.so");
        fs::write(&junk, "no library").unwrap();
        assert!(needed(&junk).is_err());
    }
}
