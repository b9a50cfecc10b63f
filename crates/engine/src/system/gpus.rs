//! The GPUs of this machine.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::{entries, told};
use crate::options::option_choice;

option_choice! {
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Maker = Other {
        Nvidia = "NVIDIA",
        Amd = "AMD",
        Intel = "Intel",
        Apple = "Apple",
        /// Nobody: a renderer in software, where that counts.
        Software = "software",
        /// Makers for whose GPUs there is no rule.
        Other = "another maker",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    pub maker: Maker,
    pub name: Option<String>,
    /// The driver in use: `nvidia`, `amdgpu`, `nouveau`.
    pub driver: Option<String>,
    /// The driver's version, where it is not the kernel's: `580.82.07`.
    pub version: Option<String>,
    /// MiB.
    pub memory_mb: Option<u64>,
    /// NVIDIA's compute capability: `8.9`.
    pub capability: Option<String>,
}

/// The memory that discrete GPUs of the last years have at least, MiB.
const LEAST_DISCRETE_MB: u64 = 6 << 10;

impl Gpu {
    pub fn driver_number(&self) -> Option<u32> {
        self.version.as_ref()?.split('.').next()?.parse().ok()
    }

    pub fn capability(&self) -> Option<(u32, u32)> {
        let (major, minor) = self.capability.as_ref()?.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }

    /// MiB, or what the least of such GPUs has, where the system does not tell.
    pub fn least_memory_mb(&self) -> u64 {
        let name = self.name.as_deref().unwrap_or_default();
        let has_number = |word: &str| word.chars().any(|letter| letter.is_ascii_digit());
        let is_discrete = match self.maker {
            Maker::Nvidia => true,
            Maker::Amd => ["RX ", "Radeon Pro", "Instinct"]
                .iter()
                .any(|series| name.contains(series)),
            // Those in processors are called Arc too, without a number.
            Maker::Intel => name
                .split_once("Arc")
                .is_some_and(|(_, series)| has_number(series)),
            _ => false,
        };
        self.memory_mb
            .unwrap_or(if is_discrete { LEAST_DISCRETE_MB } else { 0 })
    }

    pub fn details(&self) -> String {
        let driver = match (&self.driver, &self.version) {
            (Some(driver), Some(version)) => format!("driver {driver} {version}"),
            (Some(driver), None) => format!("driver {driver}"),
            (None, Some(version)) => format!("driver {version}"),
            (None, None) => "no driver".into(),
        };
        let memory = self.memory_mb.map(|mb| format!("{mb} MiB"));
        let capability = self
            .capability
            .as_ref()
            .map(|number| format!("compute capability {number}"));
        [Some(driver), memory, capability]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", ")
    }
}

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self
            .name
            .clone()
            .unwrap_or_else(|| format!("a GPU of {}", self.maker));
        // Most names begin with the maker's.
        let maker = self.maker.to_string();
        if name.contains(&maker) {
            f.write_str(&name)
        } else {
            write!(f, "{maker} {name}")
        }
    }
}

impl Maker {
    /// By the number of PCI's vendors. `None` for what only shows a picture, as in virtual machines.
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

pub fn gpus() -> Vec<Gpu> {
    let others = match std::env::consts::OS {
        "linux" => linux_gpus(Path::new("/")),
        "macos" => apple_gpus(),
        "windows" => windows_gpus(&told("powershell", &WINDOWS_QUERY).unwrap_or_default()),
        _ => Vec::new(),
    };
    with_nvidias(nvidia_gpus().to_vec(), others)
}

/// The GPUs of which NVIDIA's driver tells. It is asked once.
pub fn nvidia_gpus() -> &'static [Gpu] {
    static TOLD: LazyLock<Vec<Gpu>> = LazyLock::new(|| nvidias(super::nvidia_smi));
    &TOLD
}

/// The place among [`nvidia_gpus`] of CUDA's GPU of this `number`. `None` if that is not known.
pub fn nvidia_gpu_of_cuda(number: usize) -> Option<usize> {
    let is_in_order = env::var(CUDA_ORDER).is_ok_and(|order| order == BY_BUS);
    let count = nvidia_gpus().len();
    let uuids =
        || super::nvidia_smi("uuid").map_or(Vec::new(), |text| text.lines().map(str::to_owned).collect());
    let visible = match env::var("CUDA_VISIBLE_DEVICES") {
        Ok(list) => visible(&list, count, uuids),
        Err(_) => (0..count).collect(),
    };
    visible.get(number).copied().filter(|_| is_in_order || count == 1)
}

/// The variable that gives CUDA's GPUs an order …
pub const CUDA_ORDER: &str = "CUDA_DEVICE_ORDER";
/// … and that of NVIDIA's tools. By default CUDA begins with the fastest GPU.
pub const BY_BUS: &str = "PCI_BUS_ID";

/// `list` has numbers or beginnings of UUIDs. It ends at the first that is unknown.
fn visible(list: &str, count: usize, uuids: impl Fn() -> Vec<String>) -> Vec<usize> {
    let place = |name: &str| match name.parse() {
        Ok(number) => Some(number).filter(|number| *number < count),
        Err(_) if name.starts_with("GPU-") => uuids().iter().position(|uuid| uuid.starts_with(name)),
        Err(_) => None,
    };
    list.split(',').map_while(|name| place(name.trim())).collect()
}

fn with_nvidias(nvidias: Vec<Gpu>, mut others: Vec<Gpu>) -> Vec<Gpu> {
    if !nvidias.is_empty() {
        others.retain(|gpu| gpu.maker != Maker::Nvidia);
    }
    nvidias.into_iter().chain(others).collect()
}

/// `smi` answers a query with a line for each GPU. Drivers before 510 don't know the compute capability.
fn nvidias(smi: impl Fn(&str) -> Option<String>) -> Vec<Gpu> {
    let text = smi("name,driver_version,memory.total,compute_cap")
        .or_else(|| smi("name,driver_version,memory.total"));
    let gpu = |line: &str| {
        let mut cells = line
            .split(',')
            .map(|cell| Some(cell.trim()).filter(|cell| !cell.starts_with('[')));
        let (name, version) = (cells.next()??, cells.next()??);
        Some(Gpu {
            maker: Maker::Nvidia,
            name: Some(name.into()),
            driver: Some("nvidia".into()),
            version: Some(version.into()),
            memory_mb: cells
                .next()
                .flatten()
                .and_then(|text| text.trim_end_matches(" MiB").parse().ok()),
            capability: cells.next().flatten().map(str::to_owned),
        })
    };
    text.unwrap_or_default().lines().filter_map(gpu).collect()
}

fn linux_gpus(root: &Path) -> Vec<Gpu> {
    let text = |path: PathBuf| fs::read_to_string(path).map(|text| text.trim().to_owned()).ok();
    let number = |path: PathBuf| u32::from_str_radix(text(path)?.trim_start_matches("0x"), 16).ok();
    let nvidia_version = || {
        let version = text(root.join("proc/driver/nvidia/version"))?;
        let is_version =
            |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
        version
            .lines()
            .next()?
            .split_whitespace()
            .find(is_version)
            .map(str::to_owned)
    };
    let on_bus = |folder: PathBuf| {
        // Classes of displays begin with 03.
        let is_display = number(folder.join("class"))? >> 16 == 0x03;
        let vendor = number(folder.join("vendor")).filter(|_| is_display)?;
        let maker = Maker::of_vendor(vendor)?;
        let driver = fs::read_link(folder.join("driver")).ok();
        let driver = driver.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
        // Of amdgpu and of xe. Other drivers show none.
        let files = ["mem_info_vram_total", "tile0/physical_vram_size_bytes"];
        let mut sizes = files
            .iter()
            .filter_map(|file| text(folder.join(file))?.parse::<u64>().ok());
        Some(Gpu {
            maker,
            name: number(folder.join("device")).and_then(|device| pci_name(root, vendor, device)),
            version: driver
                .as_ref()
                .filter(|name| *name == "nvidia")
                .and_then(|_| nvidia_version()),
            driver,
            memory_mb: sizes.next().map(|bytes| bytes >> 20),
            capability: None,
        })
    };
    let of_chip = |folder: PathBuf| {
        let is_card = folder
            .file_name()?
            .to_str()?
            .strip_prefix("card")?
            .parse::<u32>()
            .is_ok();
        let events = text(folder.join("device/uevent"))
            .filter(|_| is_card && !folder.join("device/vendor").exists())?;
        let driver = events.lines().find_map(|line| line.strip_prefix("DRIVER="))?;
        let maker = match driver {
            "asahi" => Maker::Apple,
            "nvgpu" | "tegra" => Maker::Nvidia,
            "msm" | "panfrost" | "panthor" | "v3d" => Maker::Other,
            _ => return None,
        };
        Some(Gpu {
            maker,
            driver: Some(driver.to_owned()),
            ..Gpu::default()
        })
    };
    let on_bus = entries(&root.join("sys/bus/pci/devices"))
        .into_iter()
        .filter_map(on_bus);
    on_bus
        .chain(
            entries(&root.join("sys/class/drm"))
                .into_iter()
                .filter_map(of_chip),
        )
        .collect()
}

/// From the list of PCI devices that most distributions install.
fn pci_name(root: &Path, vendor: u32, device: u32) -> Option<String> {
    let lists = ["usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids"];
    let list = lists.iter().find_map(|list| fs::read(root.join(list)).ok())?;
    let list = String::from_utf8_lossy(&list);
    let mut lines = list
        .lines()
        .skip_while(|line| !line.starts_with(&format!("{vendor:04x}  ")));
    lines.next();
    let devices = lines.take_while(|line| line.starts_with('\t') || line.starts_with('#'));
    let start = format!("\t{device:04x}  ");
    devices
        .into_iter()
        .find_map(|line| line.strip_prefix(&start))
        .map(str::to_owned)
}

/// Every Mac for which there are libraries has Apple's own chip.
fn apple_gpus() -> Vec<Gpu> {
    if std::env::consts::ARCH != "aarch64" {
        return Vec::new();
    }
    let sysctl = |name: &str| told("sysctl", &["-n", name]);
    vec![Gpu {
        maker: Maker::Apple,
        name: sysctl("machdep.cpu.brand_string"),
        driver: Some("Metal".into()),
        memory_mb: sysctl("hw.memsize")
            .and_then(|text| text.parse::<u64>().ok())
            .map(|bytes| bytes >> 20),
        ..Gpu::default()
    }]
}

/// A line for each display adapter: device, driver's version, name and bytes of its own memory.
const WINDOWS_QUERY: [&str; 4] = [
    "-NoProfile",
    "-NonInteractive",
    "-Command",
    // Win32_VideoController itself counts memory in 32 bits.
    "Get-CimInstance Win32_VideoController | ForEach-Object { $name = $_.Name; $memory = Get-ItemProperty -ErrorAction \
     SilentlyContinue 'HKLM:\\SYSTEM\\CurrentControlSet\\Control\\Class\\{4d36e968-e325-11ce-bfc1-08002be10318}\\0*' | \
     Where-Object { $_.DriverDesc -eq $name } | Select-Object -First 1 -ExpandProperty HardwareInformation.qwMemorySize \
     -ErrorAction SilentlyContinue; $_.PNPDeviceID + '|' + $_.DriverVersion + '|' + $_.Name + '|' + $memory }",
];

fn windows_gpus(lines: &str) -> Vec<Gpu> {
    let gpu = |line: &str| {
        let mut cells = line.trim().split('|');
        let (device, version, name) = (cells.next()?, cells.next()?, cells.next()?);
        let vendor = device.split_once("VEN_")?.1.get(..4)?;
        let maker = Maker::of_vendor(u32::from_str_radix(vendor, 16).ok()?)?;
        // Windows numbers NVIDIA's drivers otherwise, whose tool comes with each of them.
        let version =
            Some(version.to_owned()).filter(|version| maker != Maker::Nvidia && !version.is_empty());
        let name = Some(name.to_owned()).filter(|name| !name.is_empty());
        let bytes: Option<u64> = cells.next().and_then(|bytes| bytes.trim().parse().ok());
        Some(Gpu {
            maker,
            name,
            driver: None,
            version,
            memory_mb: bytes.map(|bytes| bytes >> 20).filter(|mb| *mb > 0),
            capability: None,
        })
    };
    lines.lines().filter_map(gpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A regression: facts and card named the first GPU, whichever computed.
    #[test]
    fn the_gpus_that_cuda_sees_have_numbers_of_their_own() {
        let uuids = || ["GPU-aa11", "GPU-bb22"].map(str::to_owned).into();
        for (list, seen) in [
            ("1", vec![1]),
            ("1, 0", vec![1, 0]),
            ("GPU-bb,GPU-aa11", vec![1, 0]),
            ("0,7,1", vec![0]),
            ("-1", vec![]),
            ("", vec![]),
            ("MIG-1", vec![]),
        ] {
            assert_eq!(visible(list, 2, uuids), seen, "{list}");
        }
    }

    #[test]
    fn what_nvidia_s_tool_says_is_read() {
        let recent = |query: &str| {
            query
                .ends_with("compute_cap")
                .then(|| "NVIDIA H200, 570.124.06, 143771 MiB, 9.0\n".to_owned())
        };
        let expected = Gpu {
            maker: Maker::Nvidia,
            name: Some("NVIDIA H200".into()),
            driver: Some("nvidia".into()),
            version: Some("570.124.06".into()),
            memory_mb: Some(143_771),
            capability: Some("9.0".into()),
        };
        assert_eq!(nvidias(recent), [expected]);
        let old = |query: &str| {
            let line = "Tesla K80, 470.256.02, [N/A]\nTesla K80, 470.256.02, 11441 MiB\n";
            (!query.ends_with("compute_cap")).then(|| line.to_owned())
        };
        let old = nvidias(old);
        assert_eq!(
            old.iter().map(|gpu| gpu.memory_mb).collect::<Vec<_>>(),
            [None, Some(11441)]
        );
        assert_eq!(old[0].capability, None);
        assert_eq!(nvidias(|_| None), []);
        // What the driver tells is more than what the bus does.
        let bus = Gpu {
            name: None,
            ..old[0].clone()
        };
        let intel = Gpu {
            maker: Maker::Intel,
            ..bus.clone()
        };
        assert_eq!(
            with_nvidias(old.clone(), vec![intel.clone(), bus.clone()]),
            [&old[..], &[intel]].concat()
        );
        assert_eq!(with_nvidias(vec![], vec![bus.clone()]), [bus]);
    }

    #[test]
    fn what_windows_says_is_read() {
        let lines = "PCI\\VEN_1002&DEV_747E&SUBSYS_1\\6&2|32.0.21013.1000|AMD Radeon RX 7800 XT|17163091968\r\n\
                     PCI\\VEN_10DE&DEV_2786|32.0.15.8088|NVIDIA GeForce RTX 4070\n\
                     ROOT\\BASICDISPLAY\\0000|10.0|Microsoft Basic Display Adapter\n\
                     PCI\\VEN_1414&DEV_008E|10.0|Microsoft Hyper-V Video\n";
        let gpus = windows_gpus(lines);
        assert_eq!(
            gpus.iter().map(|gpu| gpu.maker).collect::<Vec<_>>(),
            [Maker::Amd, Maker::Nvidia]
        );
        assert_eq!(gpus[0].name.as_deref(), Some("AMD Radeon RX 7800 XT"));
        assert_eq!(
            [&gpus[0], &gpus[1]].map(|gpu| gpu.version.as_deref()),
            [Some("32.0.21013.1000"), None]
        );
        let memory = |gpu: &Gpu| (gpu.memory_mb, gpu.least_memory_mb());
        assert_eq!(memory(&gpus[0]), (Some(16_368), 16_368));
        // A regression: unknown memory counted as none.
        assert_eq!(memory(&gpus[1]), (None, LEAST_DISCRETE_MB));
        for (name, least) in [
            ("Intel(R) Arc(TM) A770 Graphics", LEAST_DISCRETE_MB),
            ("Intel(R) Arc(TM) Graphics", 0),
        ] {
            let (maker, name) = (Maker::Intel, Some(name.to_owned()));
            assert_eq!(
                Gpu {
                    maker,
                    name,
                    ..gpus[1].clone()
                }
                .least_memory_mb(),
                least
            );
        }
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
            ("0000:04:00.0", "0x030000", "0x8086", "0xe20b", "xe"),
        ] {
            write(&format!("{bus}/{slot}/class"), &format!("{class}\n"));
            write(&format!("{bus}/{slot}/vendor"), vendor);
            write(&format!("{bus}/{slot}/device"), device);
            let link = root.path().join(format!("{bus}/{slot}/driver"));
            std::os::unix::fs::symlink(format!("../../drivers/{driver}"), link).unwrap();
        }
        write(
            &format!("{bus}/0000:02:00.0/mem_info_vram_total"),
            "21458059264\n",
        );
        write(
            &format!("{bus}/0000:04:00.0/tile0/physical_vram_size_bytes"),
            "12884901888\n",
        );
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
        let expected = [
            Maker::Intel,
            Maker::Nvidia,
            Maker::Amd,
            Maker::Intel,
            Maker::Apple,
        ];
        assert_eq!(makers, expected);
        let memory: Vec<_> = gpus.iter().map(|gpu| gpu.memory_mb).collect();
        assert_eq!(memory, [None, None, Some(20464), Some(12288), None]);
        assert_eq!(gpus[0].name.as_deref(), Some("Iris Xe"));
        assert_eq!(
            (gpus[1].version.as_deref(), &gpus[1].name),
            (Some("535.183.01"), &None)
        );
        assert_eq!(gpus[2].name.as_deref(), Some("Navi 31"));
        assert_eq!(gpus[2].details(), "driver amdgpu, 20464 MiB");
        assert_eq!(linux_gpus(&root.path().join("nothing")), []);
    }
}
