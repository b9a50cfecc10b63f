//! `--backend=auto` for networks with an attention body and for ONNX models: the fastest of what is installed.
//!
//! A program can load only one ONNX Runtime, and builds differ in their providers. So each candidate is measured by a
//! child, `zeitnot backendbench`, all at the same time, within [`PATIENCE`], in CPU time; the result is kept in the cache
//! folder for this processor and network. Where time ran out or the figures scatter, what is kept is a guess, and the second,
//! fourth, eighth … start from then on measures again.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::network::backends::onnxruntime::{self, DeviceOptions, Provider, Runtime, finder};
use crate::network::backends::{AUTO, BackendConfig, is_for_native, is_tower, native};
use crate::network::weights::NetworkFile;
use crate::network::{BackendError, folders};
use crate::params::Params;

/// OpenVINO's short name.
const OPENVINO: &str = "openvino";
/// What may be chosen; of two that are as fast, the first one.
const CANDIDATES: [&str; 3] = [native::NAME, onnxruntime::NAME, OPENVINO];
/// Gain for which a later candidate is taken: `native` needs no library, and its bf16 is five times nearer to fp32 than
/// OpenVINO's (mean policy KL 7e-6 against 39e-6, 256x8 encoders).
const LEAST_GAIN: f64 = 0.1;
/// Deviation of the rounds, as a share, from which a choice is a guess.
const NOISY: f64 = 0.15;
/// All measuring is to be done within this time.
const PATIENCE: Duration = Duration::from_millis(2900);
/// Between two looks at the children.
const TICK: Duration = Duration::from_millis(20);
/// The file of choices made before, in the cache folder.
const FILE: &str = "backends.json";

/// RememberedChoices made before, by processor and network.
type RememberedChoices = BTreeMap<String, RememberedChoice>;

/// A choice made before.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct RememberedChoice {
    /// One of [`CANDIDATES`].
    backend: String,
    /// Starts for which it has been a guess; 0 if it was measured.
    guessed: u32,
}

/// What a child has measured.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MeasuredThroughput {
    /// Evaluations per CPU second.
    nps: f64,
    /// Standard deviation of the rounds, as a share.
    deviation: f64,
}

/// The candidate to take, and why.
#[derive(Clone, Debug, PartialEq)]
struct AutoChoice {
    name: &'static str,
    why: String,
    is_guess: bool,
}

/// `config`, or what is faster here if that is `auto` without options and there is a choice.
///
/// # Errors
/// Never for the choice's sake; only if a candidate's name does not parse.
pub(super) fn choose(config: BackendConfig, network: &NetworkFile) -> Result<BackendConfig, BackendError> {
    if config.name != AUTO || !config.options.is_empty() || is_tower(network) {
        return Ok(config);
    }
    let (name, why) = fastest(network);
    let mut chosen = BackendConfig::parse(name, "")?;
    chosen.notes = config.notes;
    chosen.notes.extend(why.map(|why| format!("backend auto takes {name}: {why}")));
    Ok(chosen)
}

/// The candidate to take, and why, if there was a choice.
fn fastest(network: &NetworkFile) -> (&'static str, Option<String>) {
    let usual = if is_for_native(network) { native::NAME } else { onnxruntime::NAME };
    if let Some(library) = Runtime::in_use() {
        return match usual {
            onnxruntime::NAME if library.has(Provider::OpenVino) => {
                (OPENVINO, Some("its library is in use already".into()))
            }
            _ => (usual, None),
        };
    }
    let file = folders::cache().map(|cache| cache.join(FILE));
    let key = format!("{}, network {}", processor(), network.sha256);
    // Removing the file makes all choices anew.
    let before = file.as_deref().and_then(|file| remembered(file, &key));
    let guessed = match &before {
        Some((name, 0)) => return (name, Some("it was the fastest here when they were measured".into())),
        Some((name, starts)) if !(starts + 1).is_power_of_two() => {
            if let Some(file) = &file {
                remember(file, &key, RememberedChoice { backend: (*name).into(), guessed: starts + 1 });
            }
            return (name, Some("a guess; a later start will measure again".into()));
        }
        Some((_, starts)) => *starts,
        None => 0,
    };
    let possible = possible(usual);
    if possible.len() < 2 {
        return (usual, None);
    }
    let choice = judge(&possible, &measure(&network.path, &possible));
    if let Some(file) = file {
        let guessed = if choice.is_guess { guessed + 1 } else { 0 };
        remember(&file, &key, RememberedChoice { backend: choice.name.into(), guessed });
    }
    (choice.name, Some(choice.why))
}

/// The usual candidate, and those whose libraries are installed.
fn possible(usual: &'static str) -> Vec<&'static str> {
    let is_possible = |name: &&str| match *name {
        native::NAME => usual == native::NAME,
        OPENVINO => finder::is_installed(Provider::OpenVino),
        name => name == usual || finder::is_installed(Provider::Cpu),
    };
    CANDIDATES.into_iter().filter(is_possible).collect()
}

/// The fastest of the `possible` candidates and what speaks for it; what is usual, if that was not measured in time.
fn judge(possible: &[&'static str], measured: &[(&'static str, MeasuredThroughput)]) -> AutoChoice {
    let usual = usual(possible);
    let mut best = None;
    for &(name, rate) in measured {
        if best.is_none_or(|(_, best): (_, MeasuredThroughput)| rate.nps > best.nps * (1.0 + LEAST_GAIN)) {
            best = Some((name, rate));
        }
    }
    let Some((name, rate)) = best.filter(|_| measured.iter().any(|(name, _)| *name == usual)) else {
        let why = "that is usual for this processor; measuring took too long, a later start will try again";
        return AutoChoice { name: usual, why: why.into(), is_guess: true };
    };
    let mut why = format!("{:.0} positions per CPU second", rate.nps);
    for (other, rate) in measured.iter().filter(|(other, _)| *other != name) {
        why += &format!(", {:.0} with {other}", rate.nps);
    }
    let is_late = measured.len() < possible.len();
    let is_noisy = measured.iter().any(|(_, rate)| rate.deviation > NOISY);
    why += match (is_late, is_noisy) {
        (true, _) => "; not all were measured in time, a later start will try again",
        (false, true) => "; the machine was noisy, a later start will measure again",
        (false, false) => "",
    };
    AutoChoice { name, why, is_guess: is_late || is_noisy }
}

/// What is most often the fastest of the `possible` candidates.
fn usual(possible: &[&'static str]) -> &'static str {
    let options = Params::default().with("provider", OPENVINO);
    let has_bfloat16 = || DeviceOptions::parse(&options).is_ok_and(|target| target.precision == "bf16");
    match possible.first().copied().unwrap_or(onnxruntime::NAME) {
        onnxruntime::NAME if possible.contains(&OPENVINO) && has_bfloat16() => OPENVINO,
        first => first,
    }
}

/// What the candidates reach that could be measured in time.
fn measure(network: &Path, candidates: &[&'static str]) -> Vec<(&'static str, MeasuredThroughput)> {
    let deadline = Instant::now() + PATIENCE;
    let Some(program) =
        std::env::current_exe().ok().filter(|path| path.file_stem().is_some_and(|stem| stem == "zeitnot"))
    else {
        // Another program uses this library: it has no such command.
        return Vec::new();
    };
    let start = |name: &&'static str| Some((*name, bench(&program, network, name).spawn().ok()?));
    let children: Vec<_> = candidates.iter().filter_map(start).collect();
    children.into_iter().filter_map(|(name, child)| Some((name, rate(child, deadline)?))).collect()
}

fn bench(program: &Path, network: &Path, backend: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(["backendbench", "--json", "--batches=4", "--rounds=4", "--round-ms=40", "--backend", backend])
        .arg("--weights")
        .arg(network)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// What the child has measured; it is ended if it is not done at `deadline`.
fn rate(mut child: Child, deadline: Instant) -> Option<MeasuredThroughput> {
    while child.try_wait().ok()?.is_none() {
        if Instant::now() >= deadline {
            // It may have ended by itself meanwhile.
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(TICK);
    }
    let mut text = String::new();
    child.stdout.take()?.read_to_string(&mut text).ok()?;
    rate_of(&serde_json::from_str(&text).ok()?)
}

/// The rate in a report of one batch size; by the clock where the system does not tell CPU time.
fn rate_of(report: &Value) -> Option<MeasuredThroughput> {
    let row = report.get(0)?;
    let figure = |name: &str| row.get(name).and_then(Value::as_f64);
    let (nps, deviation) = figure("cpu_nps")
        .zip(figure("cpu_deviation_nps"))
        .or_else(|| figure("median_nps").zip(figure("deviation_nps")))?;
    Some(MeasuredThroughput { nps, deviation: deviation / nps.max(1e-9) })
}

/// The backend and the starts for which it has been a guess.
fn remembered(file: &Path, key: &str) -> Option<(&'static str, u32)> {
    let RememberedChoice { backend, guessed } = read(file).remove(key)?;
    let name = CANDIDATES.into_iter().find(|candidate| *candidate == backend)?;
    Some((name, guessed))
}

/// Keeps a choice. Whatever goes wrong: the next start measures again.
fn remember(file: &PathBuf, key: &str, choice: RememberedChoice) {
    let mut choices = read(file);
    choices.insert(key.into(), choice);
    let folder = file.parent().unwrap_or(Path::new("."));
    // Written aside and renamed, so that nobody reads half of it.
    let new = folder.join(format!("{FILE}.{}", std::process::id()));
    let text = serde_json::to_string_pretty(&choices).unwrap_or_default();
    let _ =
        fs::create_dir_all(folder).and_then(|()| fs::write(&new, text)).and_then(|()| fs::rename(&new, file));
}

fn read(file: &Path) -> RememberedChoices {
    fs::read_to_string(file).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// The processor's name where the system tells it, and how many threads it runs.
fn processor() -> String {
    let facts = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = facts.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let name = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    let threads = thread::available_parallelism().map_or(1, usize::from);
    format!("{name}, {threads} threads")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn choice(backend: &str, guessed: u32) -> RememberedChoice {
        RememberedChoice { backend: backend.into(), guessed }
    }

    #[test]
    fn a_choice_is_found_again_for_the_same_machine_and_network_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new").join(FILE);
        assert_eq!(remembered(&file, "a"), None);
        remember(&file, "a", choice("openvino", 0));
        remember(&file, "b", choice("native", 3));
        let found = (remembered(&file, "a"), remembered(&file, "b"));
        assert_eq!(found, (Some(("openvino", 0)), Some(("native", 3))));
        assert_eq!(remembered(&file, "c"), None);
        remember(&file, "a", choice("abacus", 0));
        assert_eq!(remembered(&file, "a"), None, "a name of another version");
        fs::write(&file, r#"{"b": "native"}"#).unwrap();
        assert_eq!(remembered(&file, "b"), None, "a file of another version");
    }

    #[test]
    fn the_fastest_one_is_taken_if_all_were_measured() {
        let rate = |nps| MeasuredThroughput { nps, deviation: 0.02 };
        let measured = [("native", rate(234.0)), ("onnxruntime", rate(117.2)), ("openvino", rate(240.4))];
        let choice = judge(&CANDIDATES, &measured);
        let why = "234 positions per CPU second, 117 with onnxruntime, 240 with openvino".to_owned();
        assert_eq!(choice, AutoChoice { name: "native", why, is_guess: false }, "3 % are no reason");
        let faster = [measured[0], measured[1], ("openvino", rate(270.0))];
        assert_eq!(judge(&CANDIDATES, &faster).name, "openvino");
        let noisy =
            [measured[0], ("onnxruntime", MeasuredThroughput { nps: 117.2, deviation: 0.3 }), measured[2]];
        assert!(judge(&CANDIDATES, &noisy).is_guess);
        let late = judge(&CANDIDATES, &measured[1..]);
        assert_eq!((late.name, late.is_guess), ("native", true));
        let part = judge(&CANDIDATES, &[faster[0], faster[2]]);
        assert_eq!((part.name, part.is_guess), ("openvino", true));
    }

    #[test]
    fn cpu_time_counts_where_it_is_told() {
        let told =
            json!([{"median_nps": 5.0, "deviation_nps": 1.0, "cpu_nps": 8.0, "cpu_deviation_nps": 2.0}]);
        assert_eq!(rate_of(&told), Some(MeasuredThroughput { nps: 8.0, deviation: 0.25 }));
        let untold = json!([{"median_nps": 5.0, "deviation_nps": 1.0, "cpu_nps": null}]);
        assert_eq!(rate_of(&untold), Some(MeasuredThroughput { nps: 5.0, deviation: 0.2 }));
        assert_eq!(rate_of(&json!({"error": "no network"})), None);
    }

    #[test]
    fn a_child_that_takes_too_long_is_ended() {
        let program = if cfg!(windows) { "ping" } else { "sleep" };
        let child = Command::new(program).arg("60").stdout(Stdio::piped()).spawn().unwrap();
        let start = Instant::now();
        assert_eq!(rate(child, Instant::now() + Duration::from_millis(50)), None);
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
