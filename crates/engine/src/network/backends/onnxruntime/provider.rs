//! Execution providers, ONNX Runtime's interfaces to kinds of devices.
//!
//! A provider other than the CPU's needs a library that was built with it ([`super::finder`]) and registers
//! with each session. A provider's own answer before a session is made cannot be trusted. Only registering it
//! shows whether it works. What is known of each provider stands here: its systems, and the packages, files
//! and parts of the system that it needs.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::process_environment::set_variables;
use crate::network::weights::InputForm;
use crate::options::option_choice;

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
    }
}

impl Provider {
    /// Returns whether it computes on a device beside the processor. On the processor each of many sessions
    /// has one thread.
    pub fn is_accelerator(self) -> bool {
        !matches!(self, Provider::Cpu | Provider::OpenVino)
    }

    /// Returns whether it is a plugin: a library of its own that any ONNX Runtime takes in.
    pub fn is_plugin(self) -> bool {
        self.plugin().is_some()
    }

    /// Returns the plugin that brings it, or `None` if ONNX Runtime is built with it.
    pub fn plugin(self) -> Option<&'static Plugin> {
        match self {
            Provider::WebGpu => Some(&WEBGPU),
            Provider::OpenVino => Some(&OPENVINO),
            Provider::TensorRtRtx => Some(&TENSORRT_RTX),
            _ => None,
        }
    }

    /// Returns the package on PyPI with an ONNX Runtime that has it or takes it in.
    pub fn runtime_package(self) -> &'static str {
        if self == Provider::Cuda { "onnxruntime-gpu" } else { "onnxruntime" }
    }

    /// Returns the systems that it is for, if one with `os` on `arch` is none of them.
    pub fn only_on(self, os: &str, arch: &str) -> Option<&'static str> {
        let (systems, is_one) = match self {
            Provider::Cpu | Provider::WebGpu => return None,
            Provider::OpenVino => ("Linux and Windows on x86_64", os != "macos" && arch == "x86_64"),
            Provider::Cuda | Provider::TensorRtRtx => ("Linux and Windows", os != "macos"),
        };
        (!is_one).then_some(systems)
    }

    /// Returns the part of a system with `os` that it cannot do without.
    pub fn needed_part(self, os: &str) -> Option<SystemPart> {
        match self {
            Provider::Cuda | Provider::TensorRtRtx => Some(SystemPart::NvidiaDriver),
            Provider::WebGpu if os.starts_with("linux") => Some(SystemPart::VulkanLoader),
            _ => None,
        }
    }

    /// Returns the form of inputs with which it is fastest. On a processor, where nothing travels, expanding
    /// is only work: 6 to 10 µs a position.
    pub(super) fn usual_input(self) -> InputForm {
        if self.is_accelerator() { InputForm::Packed } else { InputForm::Planes }
    }

    /// Returns whether no two of its sessions may run at the same time. Those of WebGPU crash:
    /// microsoft/onnxruntime#32561, #31627, #27592.
    pub(super) fn runs_one_at_a_time(self) -> bool {
        self == Provider::WebGpu
    }

    /// Returns the file beside ONNX Runtime that holds it, or that it needs there, or `None` if it is part of
    /// the library or a plugin.
    pub(super) fn file_name(self) -> Option<String> {
        match self {
            Provider::Cuda if cfg!(windows) => Some(format!("onnxruntime_providers_{self}.dll")),
            Provider::Cuda => Some(format!("libonnxruntime_providers_{self}.so")),
            _ => None,
        }
    }
}

/// A provider that is a library of its own.
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

const WEBGPU: Plugin = Plugin {
    ep_name: "WebGpuExecutionProvider",
    file_stem: "onnxruntime_providers_webgpu",
    package: "onnxruntime-ep-webgpu",
    module: "onnxruntime_ep_webgpu",
};
const OPENVINO: Plugin = Plugin {
    ep_name: "OpenVINOExecutionProvider",
    file_stem: "onnxruntime_providers_openvino_plugin",
    package: "onnxruntime-ep-openvino",
    module: "onnxruntime_ep_openvino",
};
const TENSORRT_RTX: Plugin = Plugin {
    ep_name: "NvTensorRTRTXExecutionProvider",
    file_stem: "onnxruntime_providers_nv_tensorrt_rtx",
    package: "onnxruntime-ep-nv-tensorrt-rtx-cu13",
    module: "onnxruntime_ep_nv_tensorrt_rtx",
};

impl Plugin {
    pub fn file_name(&self) -> String {
        let stem = self.file_stem;
        if cfg!(windows) {
            format!("{stem}.dll")
        } else if cfg!(target_os = "macos") {
            format!("lib{stem}.dylib")
        } else {
            format!("lib{stem}.so")
        }
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

    /// Returns whether this machine has it.
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
