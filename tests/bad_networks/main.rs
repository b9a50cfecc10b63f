//! Tests damaged, foreign and odd network files: each is refused with a message, or loads, and none does harm.
//!
//! `tests/data/bad_networks.json` holds recipes: which bytes of which good network, which bytes between them, and the number of
//! times to gzip the result. `cargo test --test bad_networks -- --nocapture` lists the messages.
//!
//! A program of its own, as the memory of the whole process is measured.

#[path = "../common/mod.rs"]
mod common;

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::data;
use common::engine::Engine;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use serde::Deserialize;
use tempfile::TempDir;
use zeitnot_engine::network::layers::{CONVOLUTION_POLICY_PLANES, Network, PolicyHead};
use zeitnot_engine::network::onnx::{self, BuildOptions};
use zeitnot_engine::network::weights::{HeadChoice, Model, NetworkError, NetworkFile};

/// A good network, the base of most bad ones.
const TINY: &str = "tiny.pb.gz";
/// What a file makes the program do for ever, or for minutes, takes longer even on a busy machine.
const LONGEST: Duration = Duration::from_secs(20);
/// What all tests take at once, and less than the bomb inflates to.
#[cfg(target_os = "linux")]
const MOST_MEMORY_KIB: u64 = 260 << 10;

/// A recipe for one file.
#[derive(Deserialize)]
struct Case {
    file: String,
    what: String,
    expect: Expectation,
    /// The network whose values it must give, if it loads.
    same_as: Option<String>,
    /// The network whose bytes `parts` refers to.
    base: Option<String>,
    /// The form of the base's bytes: inflated, or as on disk.
    of: Option<BaseBytes>,
    #[serde(default)]
    parts: Vec<Part>,
    /// Zero bytes after `parts`.
    #[serde(default)]
    zeros: usize,
    /// The number of times to gzip the result.
    gzip: u8,
    /// The place at which the gzip file is split into two members.
    split: Option<usize>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Expectation {
    Error,
    Accept,
    Either,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BaseBytes {
    Content,
    File,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Part {
    /// Start and length in the base.
    Copied(usize, usize),
    /// Bytes in hexadecimal.
    New(String),
}

fn good(name: &str) -> PathBuf {
    data("goldens/nets").join(name)
}

fn inflated(path: &Path) -> Vec<u8> {
    let mut content = Vec::new();
    GzDecoder::new(fs::File::open(path).unwrap())
        .read_to_end(&mut content)
        .unwrap();
    content
}

fn gzipped(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

impl Case {
    fn bytes(&self) -> Vec<u8> {
        let base = match (&self.base, self.of) {
            (Some(base), Some(BaseBytes::Content)) => inflated(&good(base)),
            (Some(base), _) => fs::read(good(base)).unwrap(),
            (None, _) => Vec::new(),
        };
        let mut bytes = Vec::new();
        for part in &self.parts {
            match part {
                Part::Copied(start, length) => bytes.extend_from_slice(&base[*start..start + length]),
                Part::New(hex) => bytes.extend(
                    (0..hex.len())
                        .step_by(2)
                        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()),
                ),
            }
        }
        bytes.resize(bytes.len() + self.zeros, 0);
        if let Some(split) = self.split {
            return [gzipped(&bytes[..split]), gzipped(&bytes[split..])].concat();
        }
        (0..self.gzip).fold(bytes, |bytes, _| gzipped(&bytes))
    }
}

fn cases() -> Vec<Case> {
    serde_json::from_slice(&fs::read(data("bad_networks.json")).unwrap()).unwrap()
}

fn load(path: &Path) -> Result<NetworkFile, NetworkError> {
    NetworkFile::load(path, HeadChoice::default())
}

fn layers(file: NetworkFile) -> Network {
    match file.model {
        Model::Layers(network) => Arc::unwrap_or_clone(network),
        Model::Onnx(_) => panic!("{} has no layers", file.path.display()),
    }
}

/// Drops the policy planes that no move uses, so that networks with and without them compare equal.
fn without_unused_planes(mut network: Network) -> Network {
    if let PolicyHead::Convolution { conv2, .. } = &mut network.policy {
        conv2.outputs = CONVOLUTION_POLICY_PLANES;
        conv2
            .weights
            .truncate(CONVOLUTION_POLICY_PLANES * conv2.inputs * 9);
        conv2.bias.truncate(CONVOLUTION_POLICY_PLANES);
    }
    network
}

/// Returns what is wrong with how a case went, if anything.
fn problem_of(case: &Case, path: &Path) -> Option<String> {
    let start = Instant::now();
    let result = load(path);
    let time = start.elapsed();
    if time > LONGEST {
        return Some(format!("took {time:?}"));
    }
    match (result, case.expect) {
        (Err(error), expect) => {
            let message = error.to_string();
            println!(
                "{}",
                message.replace(&*path.parent().unwrap().to_string_lossy(), "…")
            );
            let rest = message.strip_prefix(&format!("{}: ", path.display()));
            let names_part_and_cause = rest.is_some_and(|rest| rest.contains(": "));
            if expect == Expectation::Accept {
                Some(format!("refused: {message}"))
            } else if !names_part_and_cause {
                Some(format!("names no file, part and cause: {message}"))
            } else {
                None
            }
        }
        (Ok(_), Expectation::Error) => Some("accepted".into()),
        (Ok(file), _) => {
            let base = case.same_as.as_ref()?;
            let expected = layers(load(&good(&format!("{base}.pb.gz"))).unwrap());
            let same = without_unused_planes(layers(file)) == without_unused_planes(expected);
            (!same).then(|| format!("is not the same network as {base}"))
        }
    }
}

#[test]
fn bad_files_are_refused_and_odd_ones_accepted() {
    let cases = cases();
    assert_eq!(cases.len(), 116);
    let folder = TempDir::new().unwrap();
    let mut problems = Vec::new();
    for case in &cases {
        let path = folder.path().join(&case.file);
        fs::write(&path, case.bytes()).unwrap();
        if let Some(problem) = problem_of(case, &path) {
            problems.push(format!("{} ({}): {problem}", case.file, case.what));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Returns the score and moves of the last `info` line of a short search.
fn opinion(engine: &mut Engine) -> Vec<String> {
    for command in ["ucinewgame", "position startpos", "go nodes 50"] {
        engine.send(command);
    }
    let lines = engine.read_until("bestmove");
    let last = lines.iter().rfind(|line| line.starts_with("info depth")).unwrap();
    let words: Vec<_> = last.split(' ').collect();
    let after = |key: &str| words.iter().position(|&word| word == key).unwrap() + 1;
    words[after("cp")..=after("cp")]
        .iter()
        .chain(&words[after("pv")..])
        .map(|&word| word.to_owned())
        .collect()
}

#[test]
fn a_bad_file_leaves_the_old_network_in_force_under_uci() {
    let folder = TempDir::new().unwrap();
    let set = |path: &Path| format!("setoption name WeightsFile value {}", path.display());
    let mut engine = Engine::start(&["--backend=native", "--threads=1"]);
    engine.ask(&[&set(&good(TINY)), "isready"], "readyok");
    // From the second search on all of them find the same evaluations in the cache.
    opinion(&mut engine);
    let expected = opinion(&mut engine);
    for case in cases().iter().filter(|case| case.expect == Expectation::Error) {
        let path = folder.path().join(&case.file);
        fs::write(&path, case.bytes()).unwrap();
        engine.send(&set(&path));
        engine.send("isready");
        let lines = engine.read_until("readyok");
        let error = lines
            .iter()
            .find(|line| line.starts_with("info string ERROR: "))
            .unwrap();
        assert!(error.contains(&case.file), "{error}");
        assert!(error.contains(". Still in use: "), "{error}");
        assert_eq!(opinion(&mut engine), expected, "{}", case.file);
    }
}

/// A bomb that starts like a network: the weights field declares what follows, and zeros follow.
#[test]
fn a_bomb_with_the_right_first_bytes_is_refused_within_its_bounds() {
    const INFLATED: u64 = 300 << 20;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("bomb.pb.gz");
    let mut encoder = GzEncoder::new(fs::File::create(&path).unwrap(), Compression::fast());
    encoder
        .write_all(&[0x0d, 0xc0, 0x01, 0x00, 0x00, 0x52, 0x80, 0x80, 0x80, 0x96, 0x01])
        .unwrap();
    io::copy(&mut io::repeat(0).take(INFLATED), &mut encoder).unwrap();
    encoder.finish().unwrap();

    let start = Instant::now();
    let error = load(&path).unwrap_err().to_string();
    assert!(start.elapsed() < LONGEST, "{:?}", start.elapsed());
    assert!(error.contains("no network compresses like this"), "{error}");
    #[cfg(target_os = "linux")]
    assert!(peak_memory_kib() < MOST_MEMORY_KIB, "{} KiB", peak_memory_kib());
}

/// Two bytes of file make a kilobyte of message: empty encoders and residual blocks, without end.
#[test]
fn a_file_of_countless_empty_layers_is_refused_within_its_bounds() {
    let folder = TempDir::new().unwrap();
    for (name, layer) in [("blocks", &[0x12, 0x00][..]), ("encoders", &[0xda, 0x01, 0x00])] {
        let path = folder.path().join(format!("{name}.pb.gz"));
        let mut encoder = GzEncoder::new(fs::File::create(&path).unwrap(), Compression::fast());
        let layers = layer.repeat(10 << 20);
        encoder.write_all(&[0x0d, 0xc0, 0x01, 0x00, 0x00, 0x52]).unwrap();
        // The length as a varint of four bytes.
        let length = layers.len();
        let varint =
            [0, 7, 14, 21].map(|shift| (length >> shift) as u8 & 0x7f | if shift < 21 { 0x80 } else { 0 });
        encoder.write_all(&varint).unwrap();
        encoder.write_all(&layers).unwrap();
        encoder.finish().unwrap();
        drop(layers);

        let start = Instant::now();
        let error = load(&path).unwrap_err().to_string();
        assert!(start.elapsed() < LONGEST, "{:?}", start.elapsed());
        assert!(error.contains("more fields than any network has"), "{error}");
        #[cfg(target_os = "linux")]
        assert!(peak_memory_kib() < MOST_MEMORY_KIB, "{} KiB", peak_memory_kib());
    }
}

/// Returns the most memory that this process, with all its tests so far, ever held.
#[cfg(target_os = "linux")]
fn peak_memory_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn folders_and_missing_files_are_named() {
    let folder = TempDir::new().unwrap();
    let error = load(folder.path()).unwrap_err().to_string();
    assert!(
        error.ends_with("cannot be read: it is a folder, name a file on a disk"),
        "{error}"
    );
    let error = load(&folder.path().join("none.pb.gz")).unwrap_err().to_string();
    assert!(
        error.contains("none.pb.gz: cannot be read: it does not exist"),
        "{error}"
    );
}

proptest! {
    /// Whatever happens to a file on its way, loading it ends, and what loads can be built.
    #[test]
    fn no_damage_makes_the_loader_panic(
        edits in prop::collection::vec((0.0..1.0f64, any::<u8>()), 1..8),
        cut in prop::option::of(0.0..1.0f64),
        base in prop::sample::select(vec![TINY, "ab_tiny.pb.gz", "onnx_tiny_f16.pb.gz"]),
    ) {
        let mut content = inflated(&good(base));
        // Half of the damage goes where messages are dense: into the first and last kilobytes.
        let length = content.len();
        for (index, (place, value)) in edits.iter().enumerate() {
            let place = match index % 4 {
                0 => place * 2048.0,
                1 => length as f64 - 1.0 - place * 2048.0,
                _ => place * (length - 1) as f64,
            };
            content[place as usize] = *value;
        }
        if let Some(cut) = cut {
            content.truncate((cut * length as f64) as usize);
        }
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("damaged.pb");
        fs::write(&path, content).unwrap();
        if let Ok(NetworkFile { model: Model::Layers(network), .. }) = load(&path) {
            prop_assert!(!onnx::build(network, &BuildOptions::default()).bytes.is_empty());
        }
    }
}
