//! Execution providers, ONNX Runtime's interfaces to kinds of devices.
//!
//! A provider other than the CPU's needs a library that was built with it ([`super::finder`]) and registers
//! with each session. Only that shows whether it works: a provider's own answer before cannot be trusted.

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::process_environment::set_variables;
use crate::network::onnx::Form;
use crate::options::option_choice;
use crate::system::gpus::Gpu;

pub const NAME: &str = "onnxruntime";

option_choice! {
    /// A kind of device.
    pub enum Provider {
        /// Any CPU.
        Cpu = "cpu",
        /// x86 CPUs, through Intel's library.
        OpenVino = "openvino",
        /// NVIDIA GPUs.
        Cuda = "cuda",
        /// NVIDIA GeForce RTX GPUs, which need only the NVIDIA driver.
        TensorRtRtx = "tensorrt-rtx",
        /// Any GPU, through Vulkan, Metal or Direct3D 12.
        WebGpu = "webgpu",
        /// GPU and Neural Engine of Apple's chips.
        CoreMl = "coreml",
    }
}

option_choice! {
    /// The precision that a user asks for.
    pub(crate) enum WantedPrecision {
        /// fp16 on GPUs, bf16 with `openvino` where the CPU supports it, and fp32 elsewhere.
        Auto = "auto",
        /// Single precision.
        Fp32 = "fp32",
        /// Half precision.
        Fp16 = "fp16",
        /// bfloat16, with `openvino`.
        Bf16 = "bf16",
    }
}

/// The first and the last compute capability of NVIDIA's for which a library holds code.
pub type Capabilities = RangeInclusive<(u32, u32)>;

#[derive(Debug)]
pub struct ProviderSpec {
    /// It computes on a device beside the processor. On the processor each of many sessions has one thread.
    pub is_accelerator: bool,
    pub plugin: Option<Plugin>,
    /// The package on PyPI with an ONNX Runtime that has it or takes it in.
    pub runtime_package: &'static str,
    /// The systems that it is for, in words …
    systems: &'static str,
    /// … and by system and processor.
    is_for: fn(&str, &str) -> bool,
    needs: fn(&str) -> Option<SystemPart>,
    /// The number formats in which it computes, the usual one first. Not every processor has bf16.
    pub(super) precisions: &'static [WantedPrecision],
    /// No two of its sessions may run at the same time. Those of WebGPU crash: microsoft/onnxruntime#32561,
    /// #31627, #27592.
    pub(super) runs_one_at_a_time: bool,
    /// Of NVIDIA's GPUs. Empty for any GPU.
    pub capabilities: &'static [Capabilities],
    /// It compiles a model for one size of batch, which it is to be given as a constant.
    pub(super) fixed_batch: Option<usize>,
    pub(super) form: Form,
    /// Its library beside ONNX Runtime, without the system's beginning and ending, or `None` if it is part of
    /// that or a plugin.
    file_stem: Option<&'static str>,
}

/// Any ONNX Runtime on any CPU, from which the others differ.
const CPU: ProviderSpec = ProviderSpec {
    is_accelerator: false,
    plugin: None,
    runtime_package: "onnxruntime",
    systems: "all systems",
    is_for: |_, _| true,
    needs: |_| None,
    precisions: &[WantedPrecision::Fp32],
    runs_one_at_a_time: false,
    capabilities: &[],
    fixed_batch: None,
    form: Form::Plain,
    file_stem: None,
};

const GPU: ProviderSpec = ProviderSpec {
    is_accelerator: true,
    precisions: &[WantedPrecision::Fp16, WantedPrecision::Fp32],
    ..CPU
};

const NVIDIA: ProviderSpec = ProviderSpec {
    systems: "Linux and Windows",
    is_for: |os, _| os != "macos",
    needs: |_| Some(SystemPart::NvidiaDriver),
    ..GPU
};

const OPENVINO: ProviderSpec = ProviderSpec {
    plugin: Some(Plugin {
        ep_name: "OpenVINOExecutionProvider",
        file_stem: "onnxruntime_providers_openvino_plugin",
        package: "onnxruntime-ep-openvino",
        module: "onnxruntime_ep_openvino",
    }),
    systems: "Linux and Windows on x86_64",
    is_for: |os, arch| os != "macos" && arch == "x86_64",
    precisions: &[WantedPrecision::Bf16, WantedPrecision::Fp32],
    ..CPU
};

const CUDA: ProviderSpec = ProviderSpec {
    runtime_package: "onnxruntime-gpu",
    // Its library has code for 7.5, 8.0, 8.6, 8.9, 9.0 and 12.0, which later GPUs of a series run too.
    capabilities: &[(7, 5)..=(9, 0), (12, 0)..=(12, u32::MAX)],
    form: Form::Fused,
    file_stem: Some("onnxruntime_providers_cuda"),
    ..NVIDIA
};

const TENSORRT_RTX: ProviderSpec = ProviderSpec {
    plugin: Some(Plugin {
        ep_name: "NvTensorRTRTXExecutionProvider",
        file_stem: "onnxruntime_providers_nv_tensorrt_rtx",
        package: "onnxruntime-ep-nv-tensorrt-rtx-cu13",
        module: "onnxruntime_ep_nv_tensorrt_rtx",
    }),
    capabilities: &[(8, 6)..=(8, 6), (8, 9)..=(8, 9), (12, 0)..=(12, 0)],
    ..NVIDIA
};

const WEBGPU: ProviderSpec = ProviderSpec {
    plugin: Some(Plugin {
        ep_name: "WebGpuExecutionProvider",
        file_stem: "onnxruntime_providers_webgpu",
        package: "onnxruntime-ep-webgpu",
        module: "onnxruntime_ep_webgpu",
    }),
    needs: |os| os.starts_with("linux").then_some(SystemPart::VulkanLoader),
    runs_one_at_a_time: true,
    ..GPU
};

const COREML: ProviderSpec = ProviderSpec {
    systems: "macOS",
    is_for: |os, _| os == "macos",
    fixed_batch: Some(COREML_BATCH),
    ..GPU
};

/// Lc0 gives CoreML batches of 16, 32, 48 and 64.
const COREML_BATCH: usize = 32;

impl Provider {
    pub fn spec(self) -> &'static ProviderSpec {
        match self {
            Provider::Cpu => &CPU,
            Provider::OpenVino => &OPENVINO,
            Provider::Cuda => &CUDA,
            Provider::TensorRtRtx => &TENSORRT_RTX,
            Provider::WebGpu => &WEBGPU,
            Provider::CoreMl => &COREML,
        }
    }

    pub fn is_accelerator(self) -> bool {
        self.spec().is_accelerator
    }

    pub fn is_plugin(self) -> bool {
        self.plugin().is_some()
    }

    pub fn plugin(self) -> Option<&'static Plugin> {
        self.spec().plugin.as_ref()
    }

    /// The systems that it is for, if `os` on `arch` is none of them.
    pub fn only_on(self, os: &str, arch: &str) -> Option<&'static str> {
        (!(self.spec().is_for)(os, arch)).then_some(self.spec().systems)
    }

    /// What it cannot do without on `os`.
    pub fn needed_part(self, os: &str) -> Option<SystemPart> {
        (self.spec().needs)(os)
    }

    /// Whether its library holds code for `gpu`. `None` if that is not known.
    pub fn has_code_for(self, gpu: &Gpu) -> Option<bool> {
        let known = self.spec().capabilities;
        let capability = if known.is_empty() {
            return Some(true);
        } else {
            gpu.capability()?
        };
        Some(known.iter().any(|range| range.contains(&capability)))
    }

    /// The file beside ONNX Runtime that holds it. `None` if it is part of the library or a plugin.
    pub(super) fn file_name(self) -> Option<String> {
        self.spec().file_stem.map(library_name)
    }
}

pub(super) fn computes_bfloat16() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512bf16");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

fn library_name(stem: &str) -> String {
    format!(
        "{}{stem}{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    )
}

#[derive(Debug)]
pub struct Plugin {
    /// The provider's name in ONNX Runtime. Its options begin with it.
    pub(super) ep_name: &'static str,
    /// The name of its file, without the system's beginning and ending.
    file_stem: &'static str,
    /// The package on PyPI that brings it …
    pub package: &'static str,
    /// … and the folder in which that is installed.
    pub(super) module: &'static str,
}

impl Plugin {
    pub fn file_name(&self) -> String {
        library_name(self.file_stem)
    }
}

/// A part that the system must have before a provider can work: a library of its driver, or that finds
/// drivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SystemPart {
    NvidiaDriver,
    VulkanLoader,
}

impl SystemPart {
    fn library(self) -> &'static str {
        match self {
            SystemPart::NvidiaDriver if cfg!(windows) => "nvcuda.dll",
            SystemPart::NvidiaDriver => "libcuda.so.1",
            SystemPart::VulkanLoader => "libvulkan.so.1",
        }
    }

    pub fn is_here(self) -> bool {
        set_variables();
        ort::util::preload_dylib(self.library()).is_ok()
    }
}

impl fmt::Display for SystemPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            SystemPart::NvidiaDriver => "the NVIDIA driver",
            SystemPart::VulkanLoader => "the Vulkan loader",
        };
        write!(f, "{name} ({})", self.library())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::gpus::Maker;

    #[test]
    fn code_for_a_gpu_is_known_by_its_series() {
        let has_code = |provider: Provider, capability: &str| {
            let capability = Some(capability.to_owned()).filter(|text| !text.is_empty());
            let (name, driver, version) = (None, None, None);
            let gpu = Gpu {
                maker: Maker::Nvidia,
                name,
                driver,
                version,
                memory_mb: None,
                capability,
            };
            provider.has_code_for(&gpu)
        };
        for yes in ["7.5", "8.0", "8.7", "8.9", "9.0", "12.0", "12.1"] {
            assert_eq!(has_code(Provider::Cuda, yes), Some(true), "{yes}");
        }
        for no in ["6.1", "7.0", "7.2", "9.1", "10.0", "10.3", "11.0", "13.0"] {
            assert_eq!(has_code(Provider::Cuda, no), Some(false), "{no}");
            assert_eq!(has_code(Provider::WebGpu, no), Some(true), "{no}");
        }
        assert_eq!(has_code(Provider::TensorRtRtx, "12.1"), Some(false));
        assert_eq!(has_code(Provider::Cuda, ""), None);
    }
}
