//! The machine: processor, memory, system, GPUs, and the system's parts that providers need, with how to
//! install them.
//!
//! [`Machine`] is plain data: [`Machine::this`] queries the system, tests read recorded ones.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::packages::{Package, own_os};
use super::processors::Processors;
use crate::output::Facts;
use zeitnot_engine::network::backends::onnxruntime::causes::wrong_processor;
use zeitnot_engine::network::backends::onnxruntime::finder::{MissingPart, check_system, setup_command};
use zeitnot_engine::network::backends::onnxruntime::{
    LibraryError, Provider, SystemPart, software_counts_as_gpu,
};
use zeitnot_engine::note::counted;
use zeitnot_engine::system::gpus::{Gpu, Maker, gpus};
use zeitnot_engine::system::tool::{TOOL_PATIENCE, output_within};
use zeitnot_engine::system::{self, PYTHONS, cpu_name, entries, vulkan};

/// Input of the choice of a provider, which reads neither memory nor names.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Machine {
    /// Empty for a described machine.
    #[serde(default)]
    pub(crate) cpu: String,
    #[serde(skip_deserializing)]
    pub(crate) processors: Processors,
    /// 10⁹ bytes.
    #[serde(default)]
    pub(crate) memory_gb: Option<f64>,
    /// Operating system and kernel, empty for a described machine.
    #[serde(default)]
    pub(crate) system: String,
    /// The system the program was built for: `linux`, `linux-musl`, `windows`, `macos`.
    pub(crate) os: String,
    pub(crate) arch: String,
    /// The Linux distribution and those that it is like, the nearest first.
    pub(crate) distributions: Vec<String>,
    pub(crate) gpus: Vec<Gpu>,
    /// Installed parts, if they were queried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<Part>,
    /// In `/dev`. `None` where GPUs have no files.
    #[serde(skip)]
    pub(crate) devices: Option<Vec<PathBuf>>,
}

/// A part of the system that a provider needs and `setup` does not fetch.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Part {
    /// Python with pip, by which `setup` fetches.
    Pip,
    #[serde(untagged)]
    System(SystemPart),
}

const DRIVER: Part = Part::System(SystemPart::NvidiaDriver);
const VULKAN: Part = Part::System(SystemPart::VulkanLoader);

impl Part {
    fn is_here(self) -> bool {
        match self {
            Part::System(part) => part.is_here(),
            Part::Pip => pythons_with_pip().next().is_some(),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::System(part) => part.fmt(f),
            Part::Pip => f.write_str("Python 3.8 or newer with pip"),
        }
    }
}

impl Machine {
    /// Queries all but the system's parts.
    pub(crate) fn this() -> Machine {
        let memory_gb = system::memory().map(|bytes| (bytes as f64 / 1e8).round() / 10.0);
        Machine {
            cpu: cpu_name(),
            processors: Processors::this(),
            memory_gb,
            system: system::name(),
            os: own_os().into(),
            arch: std::env::consts::ARCH.into(),
            distributions: system::distributions(),
            gpus: gpus().into_iter().chain(software_gpu()).collect(),
            parts: Vec::new(),
            devices: cfg!(target_os = "linux").then(device_files),
        }
    }

    /// Also queries the system's parts, which do not affect the choice of a provider.
    pub(crate) fn with_parts() -> Machine {
        let parts = [DRIVER, VULKAN, Part::Pip]
            .into_iter()
            .filter(|part| part.is_here())
            .collect();
        Machine {
            parts,
            ..Machine::this()
        }
    }

    pub(crate) fn facts(&self) -> Facts {
        let Machine {
            cpu,
            processors,
            memory_gb,
            system,
            os,
            arch,
            distributions,
            gpus,
            ..
        } = self;
        let memory = memory_gb.map(|gb| format!(", {gb} GB")).unwrap_or_default();
        let processor = || format!("{cpu}, {} cores{memory}", processors.usable);
        let distribution = distributions
            .first()
            .map(|name| format!(" ({name})"))
            .unwrap_or_default();
        let described = format!("{os}{distribution}, {arch}");
        let mut facts = Vec::from_iter((!cpu.is_empty()).then(|| ("processor", processor())));
        facts.extend(processors.in_words().map(|words| ("cores", words)));
        facts.push((
            "system",
            if system.is_empty() {
                described
            } else {
                system.clone()
            },
        ));
        facts.extend(
            gpus.iter()
                .map(|gpu| ("GPU", format!("{gpu}: {}", gpu.details()))),
        );
        facts
    }

    /// How to install parts of the system, in one command line if possible.
    pub(crate) fn remedy(&self, parts: &[Part]) -> String {
        remedy(&self.os, &self.distributions, parts)
    }

    /// A container sees its host's GPUs on the bus even if it may not use them. GPUs that nvidia-smi lists
    /// are reachable.
    pub(crate) fn out_of_reach(&self, gpu: &Gpu, provider: Provider) -> Option<String> {
        if gpu.maker == Maker::Nvidia {
            return None;
        }
        self.unsuited(provider)
    }

    /// Why this machine has no hardware for `provider`, if known.
    pub(crate) fn unsuited(&self, provider: Provider) -> Option<String> {
        // Windows shows its GPUs to Linux as `dxg`.
        let lacks = |starts: &[&str]| {
            let devices = self.devices.as_ref();
            devices.is_some_and(|devices| !has_device(devices, starts) && !has_device(devices, &["dxg"]))
        };
        let has_software = software_counts_as_gpu() && provider == Provider::WebGpu;
        match provider {
            Provider::OpenVino => wrong_processor(provider, &self.cpu),
            Provider::Cuda | Provider::TensorRtRtx if lacks(&["nvidia"]) => {
                Some("there is no NVIDIA GPU (/dev/nvidia*), or this container was not given it".into())
            }
            Provider::WebGpu if !has_software && lacks(&["renderD", "nvidia"]) => {
                Some("there is no GPU (/dev/dri/renderD*), or this container was not given it".into())
            }
            _ => None,
        }
    }

    pub(crate) fn has_nvidia(&self) -> bool {
        self.gpus.iter().any(|gpu| gpu.maker == Maker::Nvidia)
            || self
                .devices
                .as_ref()
                .is_some_and(|devices| has_device(devices, &["nvidia"]))
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.cpu, counted(self.processors.usable, "core"))?;
        for gpu in &self.gpus {
            write!(f, ", {gpu}")?;
        }
        Ok(())
    }
}

fn has_device(devices: &[PathBuf], starts: &[&str]) -> bool {
    let mut names = devices.iter().filter_map(|path| path.file_name()?.to_str());
    names.any(|name| starts.iter().any(|start| name.starts_with(start)))
}

fn device_files() -> Vec<PathBuf> {
    let mut files = entries(Path::new("/dev/dri"));
    files.retain(|path| has_device(std::slice::from_ref(path), &["renderD"]));
    let others = entries(Path::new("/dev")).into_iter();
    files.extend(others.filter(|path| has_device(std::slice::from_ref(path), &["nvidia", "dxg"])));
    files
}

/// Mesa's software renderer, if it is installed and counts.
fn software_gpu() -> Option<Gpu> {
    let is_software = |driver: &vulkan::Driver| driver.name().starts_with("lvp");
    let driver = vulkan::drivers()
        .into_iter()
        .find(is_software)
        .filter(|_| software_counts_as_gpu())?;
    Some(Gpu {
        maker: Maker::Software,
        name: Some("software renderer".into()),
        driver: Some("llvmpipe".into()),
        version: driver.api,
        ..Gpu::default()
    })
}

pub(crate) fn obstacle(provider: Provider) -> Option<LibraryError> {
    check_system(provider).err().map(with_remedy)
}

pub(crate) fn with_remedy(error: LibraryError) -> LibraryError {
    let LibraryError::PartsMissing { provider, parts, .. } = error else {
        return error;
    };
    let mut of_system = Vec::new();
    let mut libraries = Vec::new();
    for part in &parts {
        match part {
            MissingPart::System(part) => of_system.push(Part::System(*part)),
            MissingPart::Library { name, .. } => libraries.push(name.as_str()),
        }
    }
    let remedy = if libraries.is_empty() {
        remedy(own_os(), &system::distributions(), &of_system)
    } else {
        remedy_for_libraries(provider, &libraries)
    };
    LibraryError::PartsMissing {
        provider,
        parts,
        remedy,
    }
}

pub(super) fn pythons_with_pip() -> impl Iterator<Item = &'static str> {
    let asked = |python: &str| {
        output_within(
            pip(python, tempfile::tempdir()?.path()).arg("--version"),
            TOOL_PATIENCE,
        )
    };
    PYTHONS
        .iter()
        .copied()
        .filter(move |python| asked(python).is_ok_and(|output| output.status.success()))
}

/// Starts in an empty `folder` of our own: Python runs modules of the folder in which it starts.
pub(super) fn pip(python: &str, folder: &Path) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip"]).current_dir(folder).stdin(Stdio::null());
    pip
}

pub(super) fn pip_remedy() -> String {
    remedy(own_os(), &system::distributions(), &[Part::Pip])
}

fn remedy_for_libraries(provider: Provider, missing: &[&str]) -> String {
    let wheel_of = |name: &&str| match Package::with_library(name) {
        Some(package) => (package.name, package.linux_files.contains(name)),
        None if name.starts_with("libcufft.") => ("nvidia-cufft", false),
        None => ("nvidia-cuda-runtime", false),
    };
    let wheels: Vec<_> = missing.iter().map(wheel_of).collect();
    if wheels.iter().all(|(_, is_fetched)| *is_fetched) {
        return format!("`{}` fetches what is missing", setup_command(provider));
    }
    let names: BTreeSet<_> = wheels.into_iter().map(|(name, _)| name).collect();
    let names = Vec::from_iter(names).join(" ");
    format!("Run `{} -m pip install {names}`", PYTHONS[0])
}

/// Package tools: their distributions, their commands, and the packages with Vulkan and with pip.
const PACKAGE_TOOLS: [(&[&str], &str, &str, &str); 4] = [
    (
        &["debian", "ubuntu"],
        "sudo apt install",
        "libvulkan1 mesa-vulkan-drivers",
        "python3-pip",
    ),
    (
        &["fedora", "rhel"],
        "sudo dnf install",
        "vulkan-loader mesa-vulkan-drivers",
        "python3-pip",
    ),
    (
        &["arch"],
        "sudo pacman -S",
        "vulkan-icd-loader vulkan-radeon vulkan-intel",
        "python-pip",
    ),
    (
        &["suse", "opensuse"],
        "sudo zypper install",
        "libvulkan1 libvulkan_radeon libvulkan_intel",
        "python3-pip",
    ),
];

fn remedy(os: &str, distributions: &[String], parts: &[Part]) -> String {
    let has = |part| parts.contains(&part);
    let is_known = |known: &[&str]| distributions.iter().any(|name| known.contains(&name.as_str()));
    let tool = PACKAGE_TOOLS.iter().find(|(known, ..)| is_known(known));
    let mut steps = Vec::new();
    match (os, tool) {
        ("windows", _) if has(Part::Pip) => steps.push("run `winget install Python.Python.3.12`".into()),
        ("macos", _) if has(Part::Pip) => steps.push("run `xcode-select --install`".into()),
        (_, Some((_, command, vulkan, pip))) => {
            let packages = [(VULKAN, vulkan), (Part::Pip, pip)]
                .into_iter()
                .filter(|(part, _)| has(*part));
            let packages: String = packages.map(|(_, names)| format!(" {names}")).collect();
            steps.extend((!packages.is_empty()).then(|| format!("run `{command}{packages}`")));
        }
        (_, None) => {
            let named = parts.iter().filter(|part| **part != DRIVER);
            steps.extend(named.map(|part| format!("install {part} with the system's package tool")));
        }
    }
    if has(DRIVER) {
        let install = match distributions.first().map(String::as_str) {
            Some("ubuntu") => "run `sudo ubuntu-drivers install` and restart",
            _ => "install NVIDIA's driver (https://www.nvidia.com/drivers)",
        };
        steps.push(format!(
            "{install}, or in a container start that with access to the GPU, as `docker run --gpus all` does"
        ));
    }
    if has(VULKAN) && distributions.first().is_some_and(|name| name == "debian") {
        steps.push("take Mesa 25 or newer, which Debian 12 has among its backports".into());
    }
    let text = steps.join(", and ");
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        format!("{}{}", first.to_uppercase(), letters.as_str())
    })
}

#[cfg(test)]
mod tests {
    use zeitnot_engine::options::OptionChoice;

    use super::*;

    #[test]
    fn the_command_for_what_is_missing_is_that_of_the_system() {
        use Part::Pip;
        let remedy = |os: &str, names: &[&str], parts: &[Part]| {
            remedy(
                os,
                &names.iter().map(ToString::to_string).collect::<Vec<_>>(),
                parts,
            )
        };
        for (os, names, parts, expected) in [
            (
                "linux",
                &["linuxmint", "ubuntu", "debian"][..],
                &[VULKAN, Pip][..],
                "Run `sudo apt install libvulkan1 mesa-vulkan-drivers python3-pip`",
            ),
            (
                "linux",
                &["rocky", "rhel", "centos", "fedora"],
                &[Pip],
                "Run `sudo dnf install python3-pip`",
            ),
            (
                "linux",
                &["arch"],
                &[Pip, VULKAN],
                "Run `sudo pacman -S vulkan-icd-loader vulkan-radeon vulkan-intel python-pip`",
            ),
            (
                "linux",
                &["nixos"],
                &[Pip],
                "Install Python 3.8 or newer with pip with the system's package tool",
            ),
            ("windows", &[], &[Pip], "Run `winget install Python.Python.3.12`"),
            ("macos", &[], &[Pip], "Run `xcode-select --install`"),
        ] {
            assert_eq!(remedy(os, names, parts), expected);
        }
        let both = remedy("linux", &["ubuntu"], &[DRIVER, Pip]);
        assert!(
            both.starts_with("Run `sudo apt install python3-pip`, and run `sudo ubuntu-drivers install`"),
            "{both}"
        );
        assert!(remedy("windows", &[], &[DRIVER]).starts_with("Install NVIDIA's driver (https://"));
    }

    #[test]
    fn libraries_of_nvidia_are_fetched_by_setup_or_installed_by_pip() {
        let fetched = "`zeitnot setup --provider cuda` fetches what is missing";
        let remedy = |names: &[&str]| remedy_for_libraries(Provider::Cuda, names);
        assert_eq!(
            remedy(&["libcudnn.so.9", "libcublas.so.13", "libnvrtc.so.13"]),
            fetched
        );
        // An older CUDA is not fetched.
        let by_pip = remedy(&["libcufft.so.12", "libcublas.so.12"]);
        assert!(
            by_pip.ends_with("-m pip install nvidia-cublas nvidia-cufft`"),
            "{by_pip}"
        );
    }

    #[test]
    fn a_provider_is_unsuited_only_where_its_maker_s_device_is_missing() {
        let names = |cpu: &str, devices: &[&str]| -> Vec<&str> {
            let devices = Some(devices.iter().map(PathBuf::from).collect());
            let machine = Machine {
                cpu: cpu.into(),
                devices,
                ..Machine::this()
            };
            let all = Provider::all();
            all.filter(|&provider| machine.unsuited(provider).is_some())
                .map(Provider::name)
                .collect()
        };
        assert_eq!(
            names("AMD EPYC", &["/dev/dri/renderD128", "/dev/nvidia0"]),
            ["openvino"]
        );
        assert_eq!(names("Intel(R) Xeon(R)", &["/dev/dxg"]), [] as [&str; 0]);
        if cfg!(target_os = "linux") {
            assert_eq!(names("Intel(R) Xeon(R)", &[]), ["cuda", "tensorrt-rtx", "webgpu"]);
            assert_eq!(names("Intel(R) Xeon(R)", &["/dev/nvidia0"]), [] as [&str; 0]);
        }
    }

    #[test]
    fn providers_of_other_makers_need_no_part_of_the_system() {
        for provider in [Provider::Cpu, Provider::OpenVino] {
            assert_eq!(provider.needed_part("linux"), None);
        }
    }
}
