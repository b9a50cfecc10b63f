//! Execution providers, ONNX Runtime's interfaces to kinds of devices.
//!
//! A provider other than the CPU's needs a library that was built with it ([`super::finder`]) and registers with each
//! session. A provider's own answer before a session is made cannot be trusted; only registering it shows whether it
//! works.

use std::fmt;

use crate::network::weights::InputForm;
use crate::options::{OptionChoice, option_choice};

option_choice! {
    /// A kind of device.
    pub enum Provider {
        /// Any CPU.
        Cpu = "cpu",
        /// x86 CPUs, through Intel's library.
        OpenVino = "openvino",
        /// NVIDIA GPUs.
        Cuda = "cuda",
        /// NVIDIA GPUs, with engines that TensorRT builds for the network first.
        TensorRt = "tensorrt",
        /// NVIDIA GeForce RTX GPUs, which need only the NVIDIA driver.
        TensorRtRtx = "tensorrt-rtx",
        /// Any GPU, through Vulkan, Metal or Direct3D 12.
        WebGpu = "webgpu",
        /// AMD GPUs.
        MiGraphX = "migraphx",
        /// Apple GPUs and neural engines.
        CoreMl = "coreml",
        /// GPUs on Windows.
        DirectMl = "directml",
    }
}

impl Provider {
    /// All providers.
    pub const ALL: [Provider; 9] = [
        Provider::Cpu,
        Provider::OpenVino,
        Provider::Cuda,
        Provider::TensorRt,
        Provider::TensorRtRtx,
        Provider::WebGpu,
        Provider::MiGraphX,
        Provider::CoreMl,
        Provider::DirectMl,
    ];

    /// Returns its name in options.
    pub fn name(self) -> &'static str {
        OptionChoice::name(self)
    }

    /// Returns the provider of this name.
    pub fn named(name: &str) -> Option<Provider> {
        Provider::from_name(name)
    }

    /// Returns whether it computes on a device beside the processor. On the processor each of many sessions has one
    /// thread.
    pub fn is_accelerator(self) -> bool {
        !matches!(self, Provider::Cpu | Provider::OpenVino)
    }

    /// Returns whether it is a plugin: a library of its own that any ONNX Runtime takes in.
    pub fn is_plugin(self) -> bool {
        self.plugin().is_some()
    }

    /// Returns the form of inputs with which it is fastest. On a processor, where nothing travels, expanding is only work:
    /// 6 to 10 µs a position. The other two do not compute with bytes, or nobody has tried.
    pub(super) fn usual_input(self) -> InputForm {
        match self {
            Provider::Cpu | Provider::OpenVino | Provider::CoreMl | Provider::MiGraphX => InputForm::Planes,
            Provider::Cuda
            | Provider::TensorRt
            | Provider::TensorRtRtx
            | Provider::WebGpu
            | Provider::DirectMl => InputForm::Packed,
        }
    }

    /// Returns whether no two of its sessions may run at the same time. Those of WebGPU crash:
    /// microsoft/onnxruntime#32561, #31627, #27592.
    pub(super) fn runs_one_at_a_time(self) -> bool {
        self == Provider::WebGpu
    }

    /// Returns the file beside ONNX Runtime that holds it, or that it needs there; `None` if it is part of the library or a plugin.
    pub(super) fn file_name(self) -> Option<String> {
        match self {
            Provider::Cpu | Provider::CoreMl => None,
            Provider::DirectMl => Some("DirectML.dll".into()),
            _ if self.plugin().is_some() => None,
            _ if cfg!(windows) => Some(format!("onnxruntime_providers_{self}.dll")),
            _ => Some(format!("libonnxruntime_providers_{self}.so")),
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
