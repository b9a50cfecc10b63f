//! The run in one line for a forum, in at most [`LENGTH`] characters.

use itertools::Itertools;

use crate::commands::measure::SpeedReport;
use crate::commands::measure::noise::MachineNoise;
use crate::setup::Machine;
use zeitnot_engine::network::discover::BUILT_IN_MARK;
use zeitnot_engine::network::{BackendInfo, without_folder};
use zeitnot_engine::note::counted;
use zeitnot_engine::system::gpus::Gpu;
use zeitnot_lab::report::cut;

const LENGTH: usize = 120;
const BACKEND: usize = 20;
const HASH: usize = 6;

pub(super) fn of(speed: &SpeedReport, machine: &Machine, noise: &MachineNoise) -> String {
    let machine = match computed(&speed.info, &machine.gpus) {
        Some(gpus) => gpus,
        None => format!("{} x{}", short(&machine.cpu), machine.processors.usable),
    };
    let begin = format!(
        "Zeitnot {}: {} nps ±{:.1} %, ",
        speed.version,
        speed.figures.nps,
        100.0 * noise.expected_difference
    );
    let hash = match &speed.network {
        Some(hash) => format!(" {hash:.HASH$}"),
        None => String::new(),
    };
    let end = format!(
        "{hash}, {}, {}, batch {}",
        cut(&backend(&speed.info), BACKEND),
        counted(speed.threads, "thread"),
        speed.minibatch_size
    );
    line(&begin, &machine, &network(&speed.info.network), &end)
}

/// The GPUs that computed, `None` if the CPU did.
fn computed(info: &BackendInfo, gpus: &[Gpu]) -> Option<String> {
    if info.queues == 0 {
        return None;
    }
    // The machine's list begins with those of NVIDIA.
    let mut names: Vec<_> = info
        .nvidia_gpus
        .iter()
        .filter_map(|place| gpus.get(*place))
        .collect();
    if names.is_empty() && gpus.len() == 1 {
        names.extend(gpus);
    }
    let Some((first, others)) = names.split_first() else {
        return (!gpus.is_empty()).then(|| "a GPU".into());
    };
    let name = short(&first.to_string());
    Some(match others.len() {
        0 => name,
        _ if others.iter().all(|other| other.name == first.name) => format!("{}× {name}", names.len()),
        more => format!("{name} and {more} more"),
    })
}

/// Machine and network share the rest, and each gets what the other leaves.
fn line(begin: &str, machine: &str, network: &str, end: &str) -> String {
    let taken = begin.chars().chain(end.chars()).count() + ", ".len();
    let room = LENGTH.saturating_sub(taken);
    let wanted = network.chars().count().min(room / 2);
    let machine = cut(machine, room - wanted);
    let network = cut(network, room - machine.chars().count());
    format!("{begin}{machine}, {network}{end}")
}

fn short(name: &str) -> String {
    let name = name.replace("(R)", "").replace("(TM)", "").replace("(tm)", "");
    let name = name
        .split(" @ ")
        .next()
        .unwrap_or(&name)
        .split(" with ")
        .next()
        .unwrap_or(&name);
    let is_ordinal = |word: &str| word.ends_with("th") && word.starts_with(|c: char| c.is_ascii_digit());
    let says_nothing = |word: &str| {
        ["Intel", "AMD", "NVIDIA", "GeForce", "CPU", "Processor", "Gen"].contains(&word)
            || word.ends_with("-Core")
            || is_ordinal(word)
    };
    let words = name
        .split_whitespace()
        .filter(|word| !says_nothing(word))
        .join(" ");
    if words.is_empty() {
        name.trim().into()
    } else {
        words
    }
}

/// The name of the file without its ending.
fn network(file: &str) -> String {
    let file = without_folder(file);
    let endings = [BUILT_IN_MARK, ".gz", ".pb", ".onnx"].into_iter();
    let name = endings.fold(file.trim(), |name, ending| {
        name.strip_suffix(ending).unwrap_or(name)
    });
    if name.is_empty() {
        "no network".into()
    } else {
        name.into()
    }
}

/// The device of a library, or else the backend, with its precision.
fn backend(info: &BackendInfo) -> String {
    let device = info
        .device
        .split(' ')
        .next()
        .filter(|word| !info.library.is_empty() && !word.is_empty());
    format!("{} {}", device.unwrap_or(&info.name), info.precision)
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeitnot_engine::system::gpus::Maker;

    /// A regression: the first GPU of the machine was named, whichever computed.
    #[test]
    fn a_card_names_the_gpus_that_computed() {
        let gpu = |name: &str| Gpu {
            maker: Maker::Nvidia,
            name: Some(name.into()),
            ..Gpu::default()
        };
        let gpus = [gpu("NVIDIA RTX 3060"), gpu("NVIDIA H100"), gpu("NVIDIA H100")];
        let computed = |queues, nvidia_gpus: &[usize], gpus: &[Gpu]| {
            let mut info = BackendInfo::new("onnxruntime", "");
            (info.queues, info.nvidia_gpus) = (queues, nvidia_gpus.into());
            computed(&info, gpus)
        };
        assert_eq!(computed(0, &[], &gpus), None);
        assert_eq!(computed(2, &[1], &gpus).unwrap(), "H100");
        assert_eq!(computed(2, &[1, 2], &gpus).unwrap(), "2× H100");
        assert_eq!(computed(2, &[0, 1], &gpus).unwrap(), "RTX 3060 and 1 more");
        assert_eq!(computed(2, &[], &gpus).unwrap(), "a GPU", "WebGPU does not tell");
        assert_eq!(computed(2, &[], &gpus[..1]).unwrap(), "RTX 3060");
    }

    #[test]
    fn a_card_has_room_for_whatever_the_names_are() {
        let begin = "Zeitnot 0.1.0-dev-176dfd038c: 123456789 nps ±123.4 %, ";
        let end = " 3ad1f2, webgpu on a device…, 256 threads, batch 65536";
        let (long, machine, network) = (
            "Ünïcode and other long names ".repeat(9),
            "Xeon x2",
            "zeitnot-small",
        );
        for (machine, network) in [(&*long, &*long), (&*long, network), (machine, &*long)] {
            let line = line(begin, machine, network, end);
            assert!(line.starts_with(begin) && line.ends_with(end), "{line}");
            assert_eq!(line.chars().count(), LENGTH, "{line}");
        }
        let end = " 3ad1f2, native bf16, 2 threads, batch 6";
        let whole = line("Zeitnot 1.0.0: 9120 nps ±2.1 %, ", machine, network, end);
        assert_eq!(
            whole,
            format!("Zeitnot 1.0.0: 9120 nps ±2.1 %, Xeon x2, zeitnot-small{end}")
        );
        let cut = line("Zeitnot 1.0.0: 9120 nps ±2.1 %, ", &long, network, end);
        assert!(cut.ends_with(&format!(", zeitnot-small{end}")), "{cut}");
        // A long version is not cut.
        let line = line(
            &format!("Zeitnot {long}: 9120 nps ±2.1 %, "),
            machine,
            network,
            end,
        );
        assert!(line.contains(&long), "{line}");
    }

    #[test]
    fn names_of_processors_are_short() {
        for (name, expected) in [
            ("Intel(R) Xeon(R) Processor", "Xeon"),
            ("AMD EPYC 7763 64-Core Processor", "EPYC 7763"),
            ("13th Gen Intel(R) Core(TM) i7-13700K", "Core i7-13700K"),
            ("Intel(R) Core(TM) i5-8250U CPU @ 1.60GHz", "Core i5-8250U"),
            (
                "AMD Ryzen 7 PRO 7840U w/ Radeon 780M Graphics",
                "Ryzen 7 PRO 7840U w/ Radeon 780M Graphics",
            ),
            ("AMD Ryzen 7 5800H with Radeon Graphics", "Ryzen 7 5800H"),
            ("NVIDIA GeForce RTX 4090", "RTX 4090"),
            ("Apple M2 Pro", "Apple M2 Pro"),
            ("Processor", "Processor"),
        ] {
            assert_eq!(short(name), expected);
        }
    }

    #[test]
    fn a_backend_is_named_by_its_device_and_precision() {
        let info = |name: &str, device: &str, library: &str, precision: &str| {
            let mut info = BackendInfo::new(name, "");
            (info.device, info.library, info.precision) = (device.into(), library.into(), precision.into());
            info
        };
        for (info, expected) in [
            (info("native", "CPU", "", "bf16"), "native bf16"),
            (
                info("onnxruntime", "webgpu on device 0", "ONNX Runtime 1.31.1", "fp16"),
                "webgpu fp16",
            ),
            (
                info("multiplexing", "", "ONNX Runtime 1.31.1", "fp16"),
                "multiplexing fp16",
            ),
            (info("random", "", "", ""), "random"),
        ] {
            assert_eq!(backend(&info), expected);
        }
        for (file, expected) in [
            ("zeitnot-small.pb.gz (built in)", "zeitnot-small"),
            ("/my nets/maia-1900.onnx", "maia-1900"),
            ("", "no network"),
        ] {
            assert_eq!(network(file), expected);
        }
    }
}
