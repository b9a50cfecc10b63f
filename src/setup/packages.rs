//! The packages to fetch from PyPI: ONNX Runtime, provider plugins, and libraries of NVIDIA.
//!
//! `packages.json` pins versions, wheels and SHA-256, of wheels for several Pythons CPython 3.12's. NVIDIA's
//! libraries are in the order of fetching.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Deserialize;

use zeitnot_engine::network::backends::onnxruntime::{Provider, finder, nvidia};

#[derive(Deserialize)]
pub(super) struct Package {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    /// Of the wheel, with the libraries in it or below.
    pub(super) folder: &'static str,
    /// The libraries of NVIDIA that it brings, on Linux …
    #[serde(default)]
    pub(super) linux_files: Vec<&'static str>,
    /// … and on Windows.
    #[serde(default)]
    windows_files: Vec<&'static str>,
    wheels: Vec<Wheel>,
}

#[derive(Deserialize)]
pub(super) struct Wheel {
    os: &'static str,
    arch: &'static str,
    pub(super) platform: &'static str,
    /// Rounded up.
    pub(super) size_mb: u32,
    pub(super) sha256: &'static str,
}

/// A test reads the file, which is a part of the program.
static PACKAGES: LazyLock<Vec<Package>> =
    LazyLock::new(|| serde_json::from_str(include_str!("packages.json")).unwrap_or_default());

/// The system this program was built for. Nothing is published for Linux with musl.
pub(super) fn own_os() -> &'static str {
    if cfg!(target_env = "musl") {
        "linux-musl"
    } else {
        std::env::consts::OS
    }
}

impl Package {
    fn named(name: &str) -> Option<&'static Package> {
        PACKAGES.iter().find(|package| package.name == name)
    }

    pub(super) fn runtime(provider: Provider) -> Option<&'static Package> {
        Package::named(provider.spec().runtime_package)
    }

    pub(super) fn plugin(provider: Provider) -> Option<&'static Package> {
        provider
            .plugin()
            .and_then(|plugin| Package::named(plugin.package))
    }

    pub(super) fn parts(provider: Provider) -> impl Iterator<Item = &'static Package> {
        let is_part = move |package: &&Package| provider == Provider::Cuda && !package.linux_files.is_empty();
        PACKAGES.iter().filter(is_part)
    }

    /// The package that brings a library, in any version.
    pub(super) fn with_library(file: &str) -> Option<&'static Package> {
        let stem = |file: &str| file.split(".so").next().map(str::to_owned);
        PACKAGES
            .iter()
            .find(|package| package.linux_files.iter().any(|own| stem(own) == stem(file)))
    }

    /// `None` if nothing is published for the system.
    pub(super) fn wheel(&self, os: &str, arch: &str) -> Option<&Wheel> {
        self.wheels
            .iter()
            .find(|wheel| wheel.os == os && wheel.arch == arch)
    }

    pub(super) fn destination(&self, cache: &Path) -> PathBuf {
        finder::fetched_folder(cache, self.name, self.version)
    }

    /// The system or one of `folders` has its libraries of NVIDIA.
    pub(super) fn is_here(&self, folders: &[PathBuf]) -> bool {
        let files = if cfg!(windows) {
            &self.windows_files
        } else {
            &self.linux_files
        };
        let is_in_a_folder = |file: &&str| folders.iter().any(|folder| folder.join(file).is_file());
        files
            .iter()
            .all(|file| is_in_a_folder(file) || nvidia::loads(file))
    }
}

pub(super) fn has_builds(provider: Provider, os: &str, arch: &str) -> bool {
    let is_built =
        |package: &Package| package.wheel(os, arch).is_some() && provider.only_on(os, arch).is_none();
    Package::runtime(provider).is_some_and(is_built)
        && (!provider.is_plugin() || Package::plugin(provider).is_some_and(is_built))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use zeitnot_engine::options::OptionChoice;

    use super::*;

    #[test]
    fn the_file_has_a_version_and_hashes_of_all_that_providers_need() {
        let all: Vec<Package> = serde_json::from_str(include_str!("packages.json")).unwrap();
        let mut needed: Vec<_> = Provider::all()
            .map(|provider| provider.spec().runtime_package)
            .collect();
        needed.extend(Provider::all().filter_map(|provider| Some(provider.plugin()?.package)));
        for name in needed {
            assert!(Package::named(name).is_some(), "{name}");
        }
        assert_eq!(Package::parts(Provider::Cuda).count(), 5);
        assert_eq!(Package::parts(Provider::TensorRtRtx).count(), 0);
        for Package {
            name,
            version,
            wheels,
            ..
        } in &all
        {
            // The last hyphen separates name and version in the cache's folders.
            assert!(
                version.starts_with(|c: char| c.is_ascii_digit()) && !version.contains('-'),
                "{name}"
            );
            assert!(!wheels.is_empty(), "{name}");
            for Wheel {
                os,
                arch,
                sha256,
                size_mb,
                ..
            } in wheels
            {
                assert!(["linux", "macos", "windows"].contains(os) && ["x86_64", "aarch64"].contains(arch));
                assert!(
                    sha256.len() == 64 && sha256.bytes().all(|b| b.is_ascii_hexdigit()),
                    "{name} {os}"
                );
                assert!(*size_mb > 0, "{name} {os}");
            }
        }
    }

    #[test]
    fn a_part_is_here_if_a_folder_has_all_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = if cfg!(windows) {
            "no-such.dll"
        } else {
            "no-such.so"
        };
        let cudnn = Package::named("nvidia-cudnn-cu13").unwrap();
        let part = Package {
            linux_files: vec![file],
            windows_files: vec![file],
            wheels: Vec::new(),
            ..*cudnn
        };
        let folders = [folder.path().to_path_buf()];
        assert!(!part.is_here(&folders));
        fs::write(folder.path().join(file), "").unwrap();
        assert!(part.is_here(&folders));
    }
}
