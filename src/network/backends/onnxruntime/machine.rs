//! A machine as far as the choice of a provider depends on it, and the rule of that choice.
//!
//! [`Machine`] is plain data: [`Machine::this`] asks the system, and tests read recorded ones. [`Machine::choose`] is a function of
//! it alone. What a provider needs of the system, and the command that installs it, is said here for `setup`, `doctor` and the
//! loading of libraries alike.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::fetch::{self, Package};
use super::process_environment::set_variables;
use super::provider::Provider;
use crate::system::{nvidia_smi, told};

/// What a provider is chosen for. Memory and names are for people; the rule does not read them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Machine {
    /// The operating system for which the program was built: `linux`, `linux-musl`, `windows`, `macos`.
    pub(crate) os: String,
    /// The processor's kind as Rust names it: `x86_64`, `aarch64`.
    pub(crate) arch: String,
    /// The distribution of Linux and those that it is like, the nearest first.
    pub(crate) distributions: Vec<String>,
    pub(crate) gpus: Vec<Gpu>,
    /// The parts of the system that are installed.
    pub(crate) parts: Vec<SystemPart>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Maker {
    Nvidia,
    Amd,
    Intel,
    Apple,
    /// Nobody: a renderer in software, where that counts.
    Software,
    /// Makers for whose GPUs there is no rule.
    Other,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gpu {
    pub(crate) maker: Maker,
    pub(crate) name: Option<String>,
    /// The driver in use: `nvidia`, `amdgpu`, `nouveau`.
    pub(crate) driver: Option<String>,
    /// The driver's version, where it has one of its own: `580.82.07`. Linux brings the others with its kernel.
    pub(crate) version: Option<String>,
    /// MiB.
    pub(crate) memory_mb: Option<u64>,
    /// NVIDIA's compute capability: `8.9`.
    pub(crate) capability: Option<String>,
}

/// A part that the system must have before a provider can work, and that `setup` does not fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SystemPart {
    NvidiaDriver,
    VulkanLoader,
    /// Python with pip, by which `setup` fetches.
    Pip,
}

/// The driver's part that programs call.
const NVIDIA_DRIVER: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };
/// The Vulkan loader, through which WebGPU reaches a GPU under Linux.
const VULKAN: &str = "libvulkan.so.1";

impl SystemPart {
    const ALL: [SystemPart; 3] = [SystemPart::NvidiaDriver, SystemPart::VulkanLoader, SystemPart::Pip];

    /// Returns whether this machine has it.
    pub(crate) fn is_here(self) -> bool {
        set_variables();
        match self {
            SystemPart::NvidiaDriver => ort::util::preload_dylib(NVIDIA_DRIVER).is_ok(),
            SystemPart::VulkanLoader => ort::util::preload_dylib(VULKAN).is_ok(),
            SystemPart::Pip => fetch::is_pip_here(),
        }
    }

    /// Returns what `provider` needs under the operating system `os`.
    pub(crate) fn needed(provider: Provider, os: &str) -> Option<SystemPart> {
        match provider {
            Provider::Cuda | Provider::TensorRt | Provider::TensorRtRtx => Some(SystemPart::NvidiaDriver),
            Provider::WebGpu if os.starts_with("linux") => Some(SystemPart::VulkanLoader),
            _ => None,
        }
    }
}

impl fmt::Display for SystemPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SystemPart::NvidiaDriver => write!(f, "the NVIDIA driver ({NVIDIA_DRIVER})"),
            SystemPart::VulkanLoader => write!(f, "the Vulkan loader ({VULKAN})"),
            SystemPart::Pip => write!(f, "Python 3.8 or newer with pip"),
        }
    }
}

/// A package tool: the distributions that have it, its command, and the packages of a part.
struct PackageTool {
    distributions: &'static [&'static str],
    command: &'static str,
    vulkan: &'static str,
    pip: &'static str,
}

const PACKAGE_TOOLS: [PackageTool; 4] = [
    PackageTool {
        distributions: &["debian", "ubuntu"],
        command: "sudo apt install",
        vulkan: "libvulkan1 mesa-vulkan-drivers",
        pip: "python3-pip",
    },
    PackageTool {
        distributions: &["fedora", "rhel"],
        command: "sudo dnf install",
        vulkan: "vulkan-loader mesa-vulkan-drivers",
        pip: "python3-pip",
    },
    PackageTool {
        distributions: &["arch"],
        command: "sudo pacman -S",
        vulkan: "vulkan-icd-loader vulkan-radeon vulkan-intel",
        pip: "python-pip",
    },
    PackageTool {
        distributions: &["suse", "opensuse"],
        command: "sudo zypper install",
        vulkan: "libvulkan1 libvulkan_radeon libvulkan_intel",
        pip: "python3-pip",
    },
];

/// The oldest driver that runs CUDA 13, for which NVIDIA's providers are built …
const CUDA_DRIVER: u32 = 580;
/// … and the oldest GPUs that do.
const CUDA_CAPABILITY: (u32, u32) = (7, 5);

/// For which GPUs a provider is chosen.
#[derive(Debug)]
struct Rule {
    maker: Maker,
    /// The oldest driver of NVIDIA that will do; any with 0.
    least_driver: Option<u32>,
    capabilities: Capabilities,
    provider: Provider,
}

#[derive(Debug)]
enum Capabilities {
    All,
    From((u32, u32)),
    OneOf(&'static [(u32, u32)]),
}

/// The rule: the first line that fits a GPU of the machine, and whose provider is published for its system.
const RULES: [Rule; 7] = [
    Rule {
        maker: Maker::Nvidia,
        least_driver: Some(CUDA_DRIVER),
        capabilities: Capabilities::OneOf(&[(8, 6), (8, 9), (12, 0)]),
        provider: Provider::TensorRtRtx,
    },
    Rule {
        maker: Maker::Nvidia,
        least_driver: Some(CUDA_DRIVER),
        capabilities: Capabilities::From(CUDA_CAPABILITY),
        provider: Provider::Cuda,
    },
    Rule {
        maker: Maker::Nvidia,
        least_driver: Some(0),
        capabilities: Capabilities::All,
        provider: Provider::WebGpu,
    },
    Rule::of(Maker::Amd),
    Rule::of(Maker::Apple),
    Rule::of(Maker::Intel),
    Rule::of(Maker::Software),
];

impl Rule {
    const fn of(maker: Maker) -> Rule {
        Rule { maker, least_driver: None, capabilities: Capabilities::All, provider: Provider::WebGpu }
    }

    fn fits(&self, gpu: &Gpu) -> bool {
        let has_driver = match self.least_driver {
            Some(least) => gpu.driver_number().is_some_and(|number| number >= least),
            None => true,
        };
        let capability = gpu.capability();
        let is_capable = match self.capabilities {
            Capabilities::All => true,
            Capabilities::From(least) => capability.is_some_and(|capability| capability >= least),
            Capabilities::OneOf(known) => capability.is_some_and(|capability| known.contains(&capability)),
        };
        gpu.maker == self.maker && has_driver && is_capable
    }
}

/// What was chosen for a machine.
#[derive(Debug, PartialEq)]
pub(crate) struct Choice<'a> {
    /// The GPU and its provider; `None` where the CPU is to evaluate.
    pub(crate) chosen: Option<(&'a Gpu, Provider)>,
    /// The provider of the next row that fits, should this one fail.
    pub(crate) next: Option<Provider>,
    /// What would allow a better choice.
    pub(crate) hint: Option<String>,
}

impl Machine {
    /// Asks the system: its files under Linux, NVIDIA's and the system's own tools elsewhere.
    pub(crate) fn this() -> Machine {
        let parts = SystemPart::ALL.into_iter().filter(|part| part.is_here()).collect();
        Machine { parts, ..Machine::without_parts() }
    }

    /// Does the same, but asks for no parts of the system, on which the choice does not depend.
    pub(crate) fn without_parts() -> Machine {
        let os = fetch::own_os();
        let others = match std::env::consts::OS {
            "linux" => linux_gpus(Path::new("/")),
            "macos" => apple_gpus(),
            "windows" => windows_gpus(&told("powershell", &WINDOWS_QUERY).unwrap_or_default()),
            _ => Vec::new(),
        };
        Machine {
            os: os.into(),
            arch: std::env::consts::ARCH.into(),
            distributions: own_distributions(),
            gpus: with_nvidias(nvidia_gpus(nvidia_smi), others).into_iter().chain(software_gpu()).collect(),
            parts: Vec::new(),
        }
    }

    pub(crate) fn choose(&self) -> Choice<'_> {
        let mut fitting = self.fitting();
        let (chosen, next) = (fitting.next(), fitting.next().map(|(_, provider)| provider));
        let is_better = chosen.is_none_or(|(_, provider)| provider == Provider::WebGpu);
        let nvidias = self.gpus.iter().filter(|gpu| gpu.maker == Maker::Nvidia && is_better);
        let hint = nvidias.filter(|_| self.has_builds(Provider::Cuda)).find_map(|gpu| self.hint(gpu));
        Choice { chosen, next, hint }
    }

    /// Returns a GPU for each row of the rule that fits.
    fn fitting(&self) -> impl Iterator<Item = (&Gpu, Provider)> {
        let rules = RULES.iter().filter(|rule| self.has_builds(rule.provider));
        rules.filter_map(|rule| Some((self.gpus.iter().find(|gpu| rule.fits(gpu))?, rule.provider)))
    }

    fn has_builds(&self, provider: Provider) -> bool {
        has_builds(provider, &self.os, &self.arch)
    }

    /// Says which driver would let a GPU of NVIDIA do more.
    fn hint(&self, gpu: &Gpu) -> Option<String> {
        let Some(number) = gpu.driver_number() else {
            let remedy = self.remedy(&[SystemPart::NvidiaDriver]);
            return Some(format!("{gpu} has no driver of NVIDIA that answers. {remedy}"));
        };
        let is_capable = gpu.capability().is_none_or(|capability| capability >= CUDA_CAPABILITY);
        (number < CUDA_DRIVER && is_capable).then(|| {
            format!(
                "NVIDIA's own providers need driver {CUDA_DRIVER} or newer, and {gpu} has {}. Update the driver and run this \
                 again",
                gpu.version.as_deref().unwrap_or_default()
            )
        })
    }

    /// Returns the parts of the system that `provider` needs and this machine lacks.
    pub(crate) fn lacks(&self, provider: Provider) -> Vec<SystemPart> {
        let needed = SystemPart::needed(provider, &self.os).into_iter();
        needed.filter(|part| !self.parts.contains(part)).collect()
    }

    /// Says how to install parts of the system: one command line where that will do.
    pub(crate) fn remedy(&self, parts: &[SystemPart]) -> String {
        remedy(&self.os, &self.distributions, parts)
    }
}

/// The environment variable by which WebGPU's plugin takes a renderer in software for a GPU, for tests.
pub(crate) const SOFTWARE_VARIABLE: &str = "ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER";

/// Returns whether a renderer in software counts as a GPU: for the engine, `doctor` and `setup` alike.
pub(crate) fn software_counts_as_gpu() -> bool {
    std::env::var_os(SOFTWARE_VARIABLE).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Returns Mesa's renderer in software, if it is installed and counts.
fn software_gpu() -> Option<Gpu> {
    let is_software = |driver: &VulkanDriver| driver.name().starts_with("lvp");
    let driver = vulkan_drivers().into_iter().find(is_software).filter(|_| software_counts_as_gpu())?;
    Some(Gpu {
        maker: Maker::Software,
        name: Some("software renderer".into()),
        driver: Some("llvmpipe".into()),
        version: driver.api,
        memory_mb: None,
        capability: None,
    })
}

/// A Vulkan driver as its description tells of it.
#[derive(Debug)]
pub(crate) struct VulkanDriver {
    pub(crate) file: PathBuf,
    /// The Vulkan that it offers: `1.3.230`.
    pub(crate) api: Option<String>,
}

impl fmt::Display for VulkanDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        self.api.iter().try_for_each(|api| write!(f, " (Vulkan {api})"))
    }
}

/// The oldest Vulkan of Mesa with which WebGPU works: Mesa 25 offers it.
const LEAST_VULKAN: (u32, u32) = (1, 4);

impl VulkanDriver {
    fn name(&self) -> &str {
        self.file.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Returns whether WebGPU can be expected to work with it. NVIDIA's own number their Vulkan otherwise.
    fn is_new(&self) -> bool {
        let api = self.api.as_deref().unwrap_or_default();
        let mut numbers = api.split('.').map_while(|number| number.parse::<u32>().ok());
        let offered = numbers.next().zip(numbers.next());
        self.name().starts_with("nvidia") || offered.is_none_or(|offered| offered >= LEAST_VULKAN)
    }
}

/// Returns the drivers that Vulkan's loader finds.
pub(crate) fn vulkan_drivers() -> Vec<VulkanDriver> {
    let named = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].into_iter().find_map(std::env::var_os);
    let folders = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"];
    let files: Vec<_> = match &named {
        Some(named) => std::env::split_paths(named).filter(|path| path.is_file()).collect(),
        None => folders.iter().flat_map(|folder| entries(Path::new(folder))).collect(),
    };
    files.into_iter().map(vulkan_driver).collect()
}

fn vulkan_driver(file: PathBuf) -> VulkanDriver {
    let text = fs::read_to_string(&file).unwrap_or_default();
    let description: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    VulkanDriver { file, api: description["ICD"]["api_version"].as_str().map(str::to_owned) }
}

/// Says so if all Vulkan drivers here are too old for WebGPU.
pub(crate) fn old_vulkan() -> Option<String> {
    old_among(&vulkan_drivers())
}

fn old_among(drivers: &[VulkanDriver]) -> Option<String> {
    let api = drivers.iter().find_map(|driver| driver.api.as_deref())?;
    (!drivers.iter().any(VulkanDriver::is_new)).then(|| {
        format!("the Vulkan driver offers Vulkan {api}, and WebGPU needs 1.4, which Mesa has from 25 on")
    })
}

/// Returns the systems that `provider` is for, if a machine with `os` on `arch` is none of them.
pub(crate) fn only_on(provider: Provider, os: &str, arch: &str) -> Option<&'static str> {
    let (systems, is_one) = match provider {
        Provider::Cpu | Provider::WebGpu => return None,
        Provider::OpenVino => ("Linux and Windows on x86_64", os != "macos" && arch == "x86_64"),
        Provider::Cuda | Provider::TensorRt | Provider::TensorRtRtx => ("Linux and Windows", os != "macos"),
        Provider::MiGraphX => ("Linux", os == "linux"),
        Provider::CoreMl => ("macOS", os == "macos"),
        Provider::DirectMl => ("Windows", os == "windows"),
    };
    (!is_one).then_some(systems)
}

/// Returns whether all that `provider` needs of its makers is published for a system.
fn has_builds(provider: Provider, os: &str, arch: &str) -> bool {
    let is_built = |package: &Package| package.size_mb(os, arch).is_some();
    Package::runtime_for(provider).is_some_and(is_built)
        && provider.plugin().is_none_or(|plugin| is_built(plugin.package))
}

/// Returns what this system lacks for `provider`, and how to install it.
pub(super) fn lacking_here(provider: Provider) -> Option<(SystemPart, String)> {
    let part = SystemPart::needed(provider, fetch::own_os()).filter(|part| !part.is_here())?;
    Some((part, remedy(fetch::own_os(), &own_distributions(), &[part])))
}

fn remedy(os: &str, distributions: &[String], parts: &[SystemPart]) -> String {
    let has = |part| parts.contains(&part);
    let tool = PACKAGE_TOOLS
        .iter()
        .find(|tool| distributions.iter().any(|name| tool.distributions.contains(&name.as_str())));
    let mut steps = Vec::new();
    match (os, tool) {
        ("windows", _) if has(SystemPart::Pip) => {
            steps.push("run `winget install Python.Python.3.12`".into())
        }
        ("macos", _) if has(SystemPart::Pip) => steps.push("run `xcode-select --install`".into()),
        (_, Some(tool)) => {
            let of_part = [(SystemPart::VulkanLoader, tool.vulkan), (SystemPart::Pip, tool.pip)];
            let packages: Vec<_> =
                of_part.iter().filter(|(part, _)| has(*part)).map(|(_, names)| *names).collect();
            if !packages.is_empty() {
                steps.push(format!("run `{} {}`", tool.command, packages.join(" ")));
            }
        }
        (_, None) => {
            let named = parts.iter().filter(|part| **part != SystemPart::NvidiaDriver);
            steps.extend(named.map(|part| format!("install {part} with the system's package tool")));
        }
    }
    if has(SystemPart::NvidiaDriver) {
        let install = match distributions.first().map(String::as_str) {
            Some("ubuntu") => "run `sudo ubuntu-drivers install` and restart",
            _ => "install NVIDIA's driver (https://www.nvidia.com/drivers)",
        };
        steps.push(format!(
            "{install}, or in a container start that with access to the GPU, as `docker run --gpus all` does"
        ));
    }
    if has(SystemPart::VulkanLoader) && distributions.first().is_some_and(|name| name == "debian") {
        steps.push("take Mesa 25 or newer, which Debian 12 has among its backports".into());
    }
    let text = steps.join(", and ");
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
}

impl Gpu {
    fn driver_number(&self) -> Option<u32> {
        self.version.as_ref()?.split('.').next()?.parse().ok()
    }

    fn capability(&self) -> Option<(u32, u32)> {
        let (major, minor) = self.capability.as_ref()?.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }
}

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.clone().unwrap_or_else(|| format!("a GPU of {}", self.maker));
        // Most names begin with the maker's.
        let maker = self.maker.to_string();
        if name.contains(&maker) { f.write_str(&name) } else { write!(f, "{maker} {name}") }
    }
}

impl Gpu {
    /// Returns driver, memory and compute capability in words.
    pub(crate) fn details(&self) -> String {
        let driver = match (&self.driver, &self.version) {
            (Some(driver), Some(version)) => format!("driver {driver} {version}"),
            (Some(driver), None) => format!("driver {driver}"),
            (None, Some(version)) => format!("driver {version}"),
            (None, None) => "no driver".into(),
        };
        let memory = self.memory_mb.map(|mb| format!("{mb} MiB"));
        let capability = self.capability.as_ref().map(|number| format!("compute capability {number}"));
        [Some(driver), memory, capability].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Maker::Nvidia => "NVIDIA",
            Maker::Amd => "AMD",
            Maker::Intel => "Intel",
            Maker::Apple => "Apple",
            Maker::Software => "software",
            Maker::Other => "another maker",
        })
    }
}

impl Maker {
    /// Returns the maker with this number among PCI's vendors; `None` for what only shows a picture, as those of virtual machines do.
    fn of_vendor(vendor: u32) -> Option<Maker> {
        match vendor {
            0x10de => Some(Maker::Nvidia),
            0x1002 => Some(Maker::Amd),
            0x8086 => Some(Maker::Intel),
            0x106b => Some(Maker::Apple),
            0x17cb | 0x5143 | 0x1010 | 0x13b5 => Some(Maker::Other),
            _ => None,
        }
    }
}

fn own_distributions() -> Vec<String> {
    distributions(&fs::read_to_string("/etc/os-release").unwrap_or_default())
}

fn distributions(os_release: &str) -> Vec<String> {
    let of = |key: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap_or_default().trim_matches('"').split(' ').map(str::to_owned).collect::<Vec<_>>()
    };
    [of("ID="), of("ID_LIKE=")].concat().into_iter().filter(|name| !name.is_empty()).collect()
}

/// Replaces the NVIDIA GPUs among `others` by those that their own driver tells of, if it does.
fn with_nvidias(nvidias: Vec<Gpu>, mut others: Vec<Gpu>) -> Vec<Gpu> {
    if !nvidias.is_empty() {
        others.retain(|gpu| gpu.maker != Maker::Nvidia);
    }
    nvidias.into_iter().chain(others).collect()
}

/// Returns the GPUs of which NVIDIA's driver tells. `smi` answers a query with a line for each GPU. Drivers before 510 don't know the
/// compute capability.
fn nvidia_gpus(smi: impl Fn(&str) -> Option<String>) -> Vec<Gpu> {
    let text = smi("name,driver_version,memory.total,compute_cap")
        .or_else(|| smi("name,driver_version,memory.total"));
    let gpu = |line: &str| {
        let mut cells = line.split(',').map(|cell| Some(cell.trim()).filter(|cell| !cell.starts_with('[')));
        let (name, version) = (cells.next()??, cells.next()??);
        Some(Gpu {
            maker: Maker::Nvidia,
            name: Some(name.into()),
            driver: Some("nvidia".into()),
            version: Some(version.into()),
            memory_mb: cells.next().flatten().and_then(|text| text.trim_end_matches(" MiB").parse().ok()),
            capability: cells.next().flatten().map(str::to_owned),
        })
    };
    text.unwrap_or_default().lines().filter_map(gpu).collect()
}

/// Reads the GPUs on the PCI bus and those that are part of a chip.
fn linux_gpus(root: &Path) -> Vec<Gpu> {
    let text = |path: PathBuf| fs::read_to_string(path).map(|text| text.trim().to_owned()).ok();
    let number = |path: PathBuf| u32::from_str_radix(text(path)?.trim_start_matches("0x"), 16).ok();
    let nvidia_version = || {
        let version = text(root.join("proc/driver/nvidia/version"))?;
        let is_version =
            |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
        version.lines().next()?.split_whitespace().find(is_version).map(str::to_owned)
    };
    let on_bus = |folder: PathBuf| {
        // Classes of displays begin with 03.
        let is_display = number(folder.join("class"))? >> 16 == 0x03;
        let vendor = number(folder.join("vendor")).filter(|_| is_display)?;
        let maker = Maker::of_vendor(vendor)?;
        let driver = fs::read_link(folder.join("driver")).ok();
        let driver = driver.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
        let bytes: Option<u64> = text(folder.join("mem_info_vram_total")).and_then(|text| text.parse().ok());
        Some(Gpu {
            maker,
            name: number(folder.join("device")).and_then(|device| pci_name(root, vendor, device)),
            version: driver.as_ref().filter(|name| *name == "nvidia").and_then(|_| nvidia_version()),
            driver,
            memory_mb: bytes.map(|bytes| bytes >> 20),
            capability: None,
        })
    };
    let of_chip = |folder: PathBuf| {
        let is_card = folder.file_name()?.to_str()?.strip_prefix("card")?.parse::<u32>().is_ok();
        let events = text(folder.join("device/uevent"))
            .filter(|_| is_card && !folder.join("device/vendor").exists())?;
        let driver = events.lines().find_map(|line| line.strip_prefix("DRIVER="))?;
        let maker = match driver {
            "asahi" => Maker::Apple,
            "nvgpu" | "tegra" => Maker::Nvidia,
            "msm" | "panfrost" | "panthor" | "v3d" => Maker::Other,
            _ => return None,
        };
        let driver = Some(driver.to_owned());
        Some(Gpu { maker, name: None, driver, version: None, memory_mb: None, capability: None })
    };
    let on_bus = entries(&root.join("sys/bus/pci/devices")).into_iter().filter_map(on_bus);
    on_bus.chain(entries(&root.join("sys/class/drm")).into_iter().filter_map(of_chip)).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Looks a device up in the list of PCI devices that most distributions install.
fn pci_name(root: &Path, vendor: u32, device: u32) -> Option<String> {
    let lists = ["usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids"];
    let list = lists.iter().find_map(|list| fs::read(root.join(list)).ok())?;
    let list = String::from_utf8_lossy(&list);
    let mut lines = list.lines().skip_while(|line| !line.starts_with(&format!("{vendor:04x}  ")));
    lines.next();
    let devices = lines.take_while(|line| line.starts_with('\t') || line.starts_with('#'));
    let start = format!("\t{device:04x}  ");
    devices.into_iter().find_map(|line| line.strip_prefix(&start)).map(str::to_owned)
}

/// Every Mac for which there are libraries has Apple's own chip, and so its GPU.
fn apple_gpus() -> Vec<Gpu> {
    if std::env::consts::ARCH != "aarch64" {
        return Vec::new();
    }
    let sysctl = |name: &str| told("sysctl", &["-n", name]);
    vec![Gpu {
        maker: Maker::Apple,
        name: sysctl("machdep.cpu.brand_string"),
        driver: Some("Metal".into()),
        version: None,
        memory_mb: sysctl("hw.memsize").and_then(|text| text.parse::<u64>().ok()).map(|bytes| bytes >> 20),
        capability: None,
    }]
}

/// Asks Windows for its display adapters: a line for each with its device, its driver's version and its name.
const WINDOWS_QUERY: [&str; 4] = [
    "-NoProfile",
    "-NonInteractive",
    "-Command",
    "Get-CimInstance Win32_VideoController | ForEach-Object { $_.PNPDeviceID + '|' + $_.DriverVersion + '|' + $_.Name }",
];

fn windows_gpus(lines: &str) -> Vec<Gpu> {
    let gpu = |line: &str| {
        let mut cells = line.trim().split('|');
        let (device, version, name) = (cells.next()?, cells.next()?, cells.next()?);
        let vendor = device.split_once("VEN_")?.1.get(..4)?;
        let maker = Maker::of_vendor(u32::from_str_radix(vendor, 16).ok()?)?;
        // Windows numbers NVIDIA's drivers otherwise than NVIDIA does, whose tool comes with each of them.
        let version =
            Some(version.to_owned()).filter(|version| maker != Maker::Nvidia && !version.is_empty());
        let name = Some(name.to_owned()).filter(|name| !name.is_empty());
        Some(Gpu { maker, name, driver: None, version, memory_mb: None, capability: None })
    };
    lines.lines().filter_map(gpu).collect()
}

/// The rows of the documents' table of the rule: GPU, what it needs, provider, systems.
#[cfg(test)]
pub(crate) fn rule_rows() -> Vec<Vec<String>> {
    // Software is no GPU but in tests.
    RULES.iter().filter(|rule| rule.maker != Maker::Software).map(Rule::row).collect()
}

#[cfg(test)]
impl Rule {
    fn row(&self) -> Vec<String> {
        let numbers = |list: &[(u32, u32)]| {
            list.iter().map(|(major, minor)| format!("{major}.{minor}")).collect::<Vec<_>>().join(", ")
        };
        let driver = match self.least_driver {
            Some(0) => "NVIDIA's".into(),
            Some(least) => format!("{least} or newer"),
            None => "any".into(),
        };
        let capability = match self.capabilities {
            Capabilities::All => String::new(),
            Capabilities::From(least) => format!("{} or higher", numbers(&[least])),
            Capabilities::OneOf(known) => numbers(known),
        };
        let systems = [("linux", "Linux"), ("windows", "Windows"), ("macos", "macOS")];
        let archs = [("x86_64", "x86-64"), ("aarch64", "ARM64")];
        let mut places = Vec::new();
        for (os, system) in systems {
            // Apple's GPUs are in Macs, and no other is in those with Apple's own chip.
            if (os == "macos") != (self.maker == Maker::Apple) {
                continue;
            }
            let here = archs.iter().filter(|(arch, _)| has_builds(self.provider, os, arch));
            let here: Vec<_> = here.map(|(_, name)| *name).collect();
            if !here.is_empty() {
                places.push(format!("{system} ({})", here.join(", ")));
            }
        }
        vec![self.maker.to_string(), driver, capability, format!("`{}`", self.provider), places.join(", ")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(case: &str) -> Machine {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/machines.json");
        let all: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let found = all.as_array().unwrap().iter().find(|entry| entry["case"] == case).unwrap();
        serde_json::from_value(found["machine"].clone()).unwrap()
    }

    #[test]
    fn a_driver_is_new_enough_from_580_on() {
        let mut machine = machine("NVIDIA, driver too old for CUDA 13, Linux");
        for (version, provider, has_hint) in [
            (Some("579.99"), Some(Provider::WebGpu), true),
            (Some("580.00"), Some(Provider::TensorRtRtx), false),
            (Some("600.1"), Some(Provider::TensorRtRtx), false),
            (None, None, true),
            (Some("unknown"), None, true),
        ] {
            machine.gpus[0].version = version.map(str::to_owned);
            let Choice { chosen, hint, .. } = machine.choose();
            assert_eq!(chosen.map(|(_, provider)| provider), provider, "{version:?}");
            assert_eq!(hint.is_some(), has_hint, "{version:?}: {hint:?}");
        }
        machine.gpus[0].version = Some("580.00".into());
        assert_eq!(machine.choose().next, Some(Provider::Cuda));
    }

    #[test]
    fn the_command_for_what_is_missing_is_that_of_the_system() {
        use SystemPart::{NvidiaDriver, Pip, VulkanLoader};
        let remedy = |os: &str, names: &[&str], parts: &[SystemPart]| {
            remedy(os, &names.iter().map(ToString::to_string).collect::<Vec<_>>(), parts)
        };
        for (os, names, parts, expected) in [
            (
                "linux",
                &["linuxmint", "ubuntu", "debian"][..],
                &[VulkanLoader, Pip][..],
                "Run `sudo apt install libvulkan1 mesa-vulkan-drivers python3-pip`",
            ),
            ("linux", &["rocky", "rhel", "centos", "fedora"], &[Pip], "Run `sudo dnf install python3-pip`"),
            (
                "linux",
                &["arch"],
                &[Pip, VulkanLoader],
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
        let both = remedy("linux", &["ubuntu"], &[NvidiaDriver, Pip]);
        assert!(
            both.starts_with("Run `sudo apt install python3-pip`, and run `sudo ubuntu-drivers install`"),
            "{both}"
        );
        assert!(remedy("windows", &[], &[NvidiaDriver]).starts_with("Install NVIDIA's driver (https://"));
    }

    #[test]
    fn what_nvidia_s_tool_says_is_read() {
        let recent = |query: &str| {
            query.ends_with("compute_cap").then(|| "NVIDIA H200, 570.124.06, 143771 MiB, 9.0\n".to_owned())
        };
        let expected = Gpu {
            maker: Maker::Nvidia,
            name: Some("NVIDIA H200".into()),
            driver: Some("nvidia".into()),
            version: Some("570.124.06".into()),
            memory_mb: Some(143_771),
            capability: Some("9.0".into()),
        };
        assert_eq!(nvidia_gpus(recent), [expected]);
        let old = |query: &str| {
            let line = "Tesla K80, 470.256.02, [N/A]\nTesla K80, 470.256.02, 11441 MiB\n";
            (!query.ends_with("compute_cap")).then(|| line.to_owned())
        };
        let old = nvidia_gpus(old);
        assert_eq!(old.iter().map(|gpu| gpu.memory_mb).collect::<Vec<_>>(), [None, Some(11441)]);
        assert_eq!(old[0].capability, None);
        assert_eq!(nvidia_gpus(|_| None), []);
        // What the driver tells is more than what the bus does.
        let bus = Gpu { name: None, ..old[0].clone() };
        let intel = Gpu { maker: Maker::Intel, ..bus.clone() };
        assert_eq!(
            with_nvidias(old.clone(), vec![intel.clone(), bus.clone()]),
            [&old[..], &[intel]].concat()
        );
        assert_eq!(with_nvidias(vec![], vec![bus.clone()]), [bus]);
    }

    #[test]
    fn what_windows_says_is_read() {
        let lines = "PCI\\VEN_1002&DEV_747E&SUBSYS_1\\6&2|32.0.21013.1000|AMD Radeon RX 7800 XT\r\n\
                     PCI\\VEN_10DE&DEV_2786|32.0.15.8088|NVIDIA GeForce RTX 4070\n\
                     ROOT\\BASICDISPLAY\\0000|10.0|Microsoft Basic Display Adapter\n\
                     PCI\\VEN_1414&DEV_008E|10.0|Microsoft Hyper-V Video\n";
        let gpus = windows_gpus(lines);
        assert_eq!(gpus.iter().map(|gpu| gpu.maker).collect::<Vec<_>>(), [Maker::Amd, Maker::Nvidia]);
        assert_eq!(gpus[0].name.as_deref(), Some("AMD Radeon RX 7800 XT"));
        assert_eq!([&gpus[0], &gpus[1]].map(|gpu| gpu.version.as_deref()), [Some("32.0.21013.1000"), None]);
        assert_eq!(windows_gpus("junk"), []);
    }

    #[cfg(unix)]
    #[test]
    fn the_files_of_linux_are_read() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let bus = "sys/bus/pci/devices";
        for (slot, class, vendor, device, driver) in [
            ("0000:00:02.0", "0x030000", "0x8086", "0x46a6", "i915"),
            ("0000:00:1f.0", "0x060100", "0x8086", "0x5182", "lpc"),
            ("0000:01:00.0", "0x030200", "0x10de", "0x2330", "nvidia"),
            ("0000:02:00.0", "0x030000", "0x1002", "0x744c", "amdgpu"),
            ("0000:03:00.0", "0x030000", "0x1af4", "0x1050", "virtio-pci"),
        ] {
            write(&format!("{bus}/{slot}/class"), &format!("{class}\n"));
            write(&format!("{bus}/{slot}/vendor"), vendor);
            write(&format!("{bus}/{slot}/device"), device);
            let link = root.path().join(format!("{bus}/{slot}/driver"));
            std::os::unix::fs::symlink(format!("../../drivers/{driver}"), link).unwrap();
        }
        write(&format!("{bus}/0000:02:00.0/mem_info_vram_total"), "21458059264\n");
        write(
            "proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12\nGCC version:  gcc 12\n",
        );
        write(
            "usr/share/misc/pci.ids",
            "1002  AMD\n\t744c  Navi 31\n\t\t1002 0e0d  x\n8086  Intel\n\t46a6  Iris Xe\n",
        );
        write("sys/class/drm/card0/device/vendor", "0x8086");
        write("sys/class/drm/card0/device/uevent", "DRIVER=i915\n");
        write("sys/class/drm/card7/device/uevent", "DRIVER=asahi\n");
        write("sys/class/drm/card7-HDMI-A-1/device/uevent", "DRIVER=asahi\n");
        let gpus = linux_gpus(root.path());
        let makers: Vec<_> = gpus.iter().map(|gpu| gpu.maker).collect();
        assert_eq!(makers, [Maker::Intel, Maker::Nvidia, Maker::Amd, Maker::Apple]);
        assert_eq!(gpus[0].name.as_deref(), Some("Iris Xe"));
        assert_eq!((gpus[1].version.as_deref(), &gpus[1].name), (Some("535.183.01"), &None));
        assert_eq!((gpus[2].name.as_deref(), gpus[2].memory_mb), (Some("Navi 31"), Some(20464)));
        assert_eq!(gpus[2].details(), "driver amdgpu, 20464 MiB");
        assert_eq!(linux_gpus(&root.path().join("nothing")), []);
    }

    #[test]
    fn providers_of_other_makers_need_no_part_of_the_system() {
        for provider in [Provider::Cpu, Provider::OpenVino, Provider::CoreMl] {
            assert_eq!(lacking_here(provider), None);
        }
    }

    #[test]
    fn the_distribution_comes_before_those_that_it_is_like() {
        let release = "NAME=\"Linux Mint\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_ID=\"22\"\n";
        assert_eq!(distributions(release), ["linuxmint", "ubuntu", "debian"]);
        assert!(distributions("").is_empty());
    }
}
