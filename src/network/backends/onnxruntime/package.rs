//! The packages on PyPI that bring ONNX Runtime or one of its providers, with the files that are known of each.
//!
//! A file is fetched by its name, version and platform, and taken only if it has the SHA-256 that stands here.
//! `fetch` fetches them; a provider says which package it is in.

use std::path::{Path, PathBuf};

use super::fetch::FetchError;
use super::provider::Provider;

/// A wheel on PyPI that has the library for one platform.
#[derive(Debug)]
pub struct Release {
    os: &'static str,
    arch: &'static str,
    /// Its platform tag.
    pub(super) platform: &'static str,
    /// SHA-256 of the wheel: of that for CPython 3.12, or the only one there is.
    pub(super) sha256: &'static str,
}

/// A build of ONNX Runtime, or a plugin with a provider, that its makers publish on PyPI.
#[derive(Debug)]
pub struct Package {
    /// Its name on PyPI.
    pub name: &'static str,
    /// The version that is fetched.
    pub version: &'static str,
    /// Megabytes to download, at most.
    pub(super) size_mb: u32,
    /// The folder inside the wheel in which the libraries lie.
    pub(super) library_folder: &'static str,
    releases: &'static [Release],
}

impl Package {
    /// The build that evaluates on CPUs, on Apple's with CoreML; plugins add other providers.
    pub const PLAIN: Package = Package {
        name: "onnxruntime",
        version: "1.31.1",
        size_mb: 24,
        library_folder: "onnxruntime/capi",
        releases: &[
            Release {
                os: "linux",
                arch: "x86_64",
                platform: "manylinux_2_28_x86_64",
                sha256: "1f3dea47f2f0e5117c2404cea7d21fd253ae7836a3bf167a501cdfbb2600d536",
            },
            Release {
                os: "linux",
                arch: "aarch64",
                platform: "manylinux_2_28_aarch64",
                sha256: "0b9a492176886992e0e875f06bc0367e333f5fff11711a2d642e18b02f3009cc",
            },
            Release {
                os: "macos",
                arch: "aarch64",
                platform: "macosx_14_0_arm64",
                sha256: "96dd2564b10ea7153ad9c207e7cd8e5917cb3ba521e0e0a62ac03486fdc8d56c",
            },
            Release {
                os: "windows",
                arch: "x86_64",
                platform: "win_amd64",
                sha256: "ae8a9a351efda685cc59a66226cdefaa37a126c1d66872ca23a2de9425326130",
            },
            Release {
                os: "windows",
                arch: "aarch64",
                platform: "win_arm64",
                sha256: "fe8b9ac1ae8e894e12c47ee82e4f6dfc1835768133687257866469fda80d0bf1",
            },
        ],
    };

    /// The build with CUDA and TensorRT, for CUDA 13. The libraries of NVIDIA are not in it.
    pub const GPU: Package = Package {
        name: "onnxruntime-gpu",
        version: "1.31.1",
        size_mb: 256,
        library_folder: "onnxruntime/capi",
        releases: &[
            Release {
                os: "linux",
                arch: "x86_64",
                platform: "manylinux_2_28_x86_64",
                sha256: "05d548956197b9d01f59b625de740e0d6be3593f874e241a12dc0362650ecdf7",
            },
            Release {
                os: "linux",
                arch: "aarch64",
                platform: "manylinux_2_34_aarch64",
                sha256: "a0f1725c5a6d1ef82d63498b5ebc25e2c90c9560e91dc76db9be4a49162d4d33",
            },
            Release {
                os: "windows",
                arch: "x86_64",
                platform: "win_amd64",
                sha256: "2bb1e9373baba88f6415257f5b6a589d23e23c16004f7d89adf4344eada5749e",
            },
        ],
    };

    /// The build with DirectML, for Windows.
    pub const DIRECTML: Package = Package {
        name: "onnxruntime-directml",
        version: "1.24.4",
        size_mb: 26,
        library_folder: "onnxruntime/capi",
        releases: &[Release {
            os: "windows",
            arch: "x86_64",
            platform: "win_amd64",
            sha256: "f2ecb68b7b7b259d2ef3112ae760149f9b5a1e7c0fbb73d539da6250a648a614",
        }],
    };

    /// The plugin with WebGPU: Vulkan, Metal or Direct3D 12.
    pub const WEBGPU: Package = Package {
        name: "onnxruntime-ep-webgpu",
        version: "0.4.0",
        size_mb: 15,
        library_folder: "onnxruntime_ep_webgpu",
        releases: &[
            Release {
                os: "linux",
                arch: "x86_64",
                platform: "manylinux_2_28_x86_64",
                sha256: "5d8c961eda91a88961cad1fb7621f389f006b18497d6ea9ecf96f729f066cbfb",
            },
            Release {
                os: "linux",
                arch: "aarch64",
                platform: "manylinux_2_28_aarch64",
                sha256: "17f660db53b1a509c63e721ac6784a2daa1c4e91a968523ee9986505ee5b0a55",
            },
            Release {
                os: "macos",
                arch: "aarch64",
                platform: "macosx_14_0_universal2",
                sha256: "8d0a91d44b43d931c3068b9134aed9770f27803e353c2b58c93e1700bb68bcca",
            },
            Release {
                os: "windows",
                arch: "x86_64",
                platform: "win_amd64",
                sha256: "7db646669d1a2390551da675115ea125e68cb3d4d2c3a2d6e463372bf8d6ea87",
            },
            Release {
                os: "windows",
                arch: "aarch64",
                platform: "win_arm64",
                sha256: "a9586f6744370776059edd794c11bca2f563258a5bd2707864aefff31d3af39f",
            },
        ],
    };

    /// The plugin with OpenVINO, whose libraries are in it.
    pub const OPENVINO: Package = Package {
        name: "onnxruntime-ep-openvino",
        version: "1.8.1",
        size_mb: 60,
        library_folder: "onnxruntime_ep_openvino",
        releases: &[
            Release {
                os: "linux",
                arch: "x86_64",
                platform: "manylinux_2_28_x86_64",
                sha256: "3832643158c8c187fcab6db661cde2a8c06a2b3559d95d0f2411ac0e51c5e924",
            },
            Release {
                os: "windows",
                arch: "x86_64",
                platform: "win_amd64",
                sha256: "1acd878be173b02bb8b953460f2f59b121e5f6e47ebc6aad490c0590cf6718fb",
            },
        ],
    };

    /// The plugin with TensorRT for RTX, for CUDA 13. It needs the driver and nothing else of NVIDIA.
    pub const TENSORRT_RTX: Package = Package {
        name: "onnxruntime-ep-nv-tensorrt-rtx-cu13",
        version: "0.5.0",
        size_mb: 147,
        library_folder: "onnxruntime_ep_nv_tensorrt_rtx",
        releases: &[
            Release {
                os: "linux",
                arch: "x86_64",
                platform: "manylinux_2_28_x86_64",
                sha256: "32f575c633d171b4edf4b53d3bb22b72a6c9c0a850d2982ce9a788a5d40d3298",
            },
            Release {
                os: "linux",
                arch: "aarch64",
                platform: "manylinux_2_35_aarch64",
                sha256: "1f0bb2b89bb3dfd43096fccb8ec1f581c266c5852c4e6ba672b7bf790c8c96c2",
            },
            Release {
                os: "windows",
                arch: "x86_64",
                platform: "win_amd64",
                sha256: "609b19f7236c8522ef005a9f763003a78f492e5d871afad39fe1b247760eb3c7",
            },
            Release {
                os: "windows",
                arch: "aarch64",
                platform: "win_arm64",
                sha256: "b60932e1acd243722915953e3dc6714327038d4f1db6b728de20cead0bc7c4ac",
            },
        ],
    };

    /// Returns the package with the ONNX Runtime for `provider`: one that was built with it, or the plain one if the
    /// provider is a plugin.
    pub fn runtime_for(provider: Provider) -> Option<&'static Package> {
        match provider {
            Provider::Cpu | Provider::CoreMl => Some(&Package::PLAIN),
            Provider::OpenVino | Provider::WebGpu | Provider::TensorRtRtx => Some(&Package::PLAIN),
            Provider::Cuda | Provider::TensorRt => Some(&Package::GPU),
            Provider::DirectMl => Some(&Package::DIRECTML),
            Provider::MiGraphX => None,
        }
    }

    /// Returns the folder in `cache` that holds the libraries once they are fetched: machines of different kinds may
    /// share a cache.
    pub fn destination(&self, cache: &Path) -> PathBuf {
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        cache.join(format!("{}-{}-{os}-{arch}", self.name, self.version))
    }

    /// Returns the file for this machine.
    ///
    /// # Errors
    /// Returns [`FetchError::NoRelease`] if there is none.
    pub(super) fn release(&self) -> Result<&'static Release, FetchError> {
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        let fits =
            |release: &&Release| release.os == os && release.arch == arch && !cfg!(target_env = "musl");
        let (name, version) = (self.name, self.version);
        self.releases.iter().find(fits).ok_or(FetchError::NoRelease { name, version, os, arch })
    }
}
