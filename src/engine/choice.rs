//! `--backend=auto` for networks that the native backend does not evaluate: the faster one of what ONNX Runtime offers.
//!
//! A program can load only one ONNX Runtime, and builds differ in their providers. So each candidate is measured by a
//! child, `zeitnot backendbench`, all at the same time, within [`PATIENCE`]; the result is kept in the cache folder for this
//! processor and network.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::network::backends::onnxruntime::{Provider, Runtime, Target, finder};
use crate::network::backends::{AUTO, BackendConfig, is_for_native};
use crate::network::weights::NetworkFile;
use crate::network::{BackendError, folders};
use crate::params::Params;

/// What may be chosen, the one that is always there first.
const CANDIDATES: [&str; 2] = ["onnxruntime", "openvino"];
/// All measuring is to be done within this time.
const PATIENCE: Duration = Duration::from_millis(2900);
/// Between two looks at the children.
const TICK: Duration = Duration::from_millis(20);
/// The file of choices made before, in the cache folder.
const FILE: &str = "backends.json";

/// Choices made before: the backend by processor and network.
type Choices = BTreeMap<String, String>;

/// `config`, or what is faster here if that is `auto` without options and more than one candidate is installed.
///
/// # Errors
/// Never for the choice's sake; only if a candidate's name does not parse.
pub(super) fn choose(config: BackendConfig, network: &NetworkFile) -> Result<BackendConfig, BackendError> {
    if config.name != AUTO || !config.options.is_empty() || is_for_native(network) {
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
    let [plain, openvino] = CANDIDATES;
    if let Some(library) = Runtime::in_use() {
        let name = if library.has(Provider::OpenVino) { openvino } else { plain };
        return (name, Some("its library is in use already".into()));
    }
    let file = folders::cache().map(|cache| cache.join(FILE));
    let key = format!("{}, network {}", processor(), network.sha256);
    // Removing the file makes all choices anew.
    if let Some(name) = file.as_deref().and_then(|file| remembered(file, &key)) {
        return (name, Some("so it was chosen for this network and machine before".into()));
    }
    if !finder::is_installed(Provider::OpenVino) {
        return (plain, None);
    }
    let (name, why) = judge(&measure(&network.path));
    if let Some(file) = file {
        remember(&file, &key, name);
    }
    (name, Some(why))
}

/// The fastest of the candidates and what speaks for it; if not all were measured in time, what is usual.
fn judge(measured: &[(&'static str, f64)]) -> (&'static str, String) {
    let [plain, openvino] = CANDIDATES;
    match measured.iter().max_by(|a, b| a.1.total_cmp(&b.1)) {
        Some(&(name, rate)) if measured.len() == CANDIDATES.len() => {
            let others = measured.iter().filter(|(other, _)| *other != name);
            let others: Vec<_> = others.map(|(name, rate)| format!("{rate:.0} with {name}")).collect();
            (name, format!("{rate:.0} positions/s and thread, {}", others.join(", ")))
        }
        _ => {
            let options = Params::default().with("provider", "openvino");
            let has_bfloat16 = Target::parse(&options).is_ok_and(|target| target.precision == "bf16");
            let name = if has_bfloat16 { openvino } else { plain };
            (name, "that is usual for this processor; measuring took too long".into())
        }
    }
}

/// Positions per second of the candidates that could be measured in time.
fn measure(network: &Path) -> Vec<(&'static str, f64)> {
    let deadline = Instant::now() + PATIENCE;
    let Some(program) =
        std::env::current_exe().ok().filter(|path| path.file_stem().is_some_and(|stem| stem == "zeitnot"))
    else {
        // Another program uses this library: it has no such command.
        return Vec::new();
    };
    let start = |name: &'static str| Some((name, bench(&program, network, name).spawn().ok()?));
    let children: Vec<_> = CANDIDATES.into_iter().filter_map(start).collect();
    children.into_iter().filter_map(|(name, child)| Some((name, rate(child, deadline)?))).collect()
}

fn bench(program: &Path, network: &Path, backend: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(["backendbench", "--json", "--batches=8", "--rounds=3", "--round-ms=100", "--backend", backend])
        .arg("--weights")
        .arg(network)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// What the child has measured; it is ended if it is not done at `deadline`.
fn rate(mut child: Child, deadline: Instant) -> Option<f64> {
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
    best_rate(&serde_json::from_str(&text).ok()?)
}

/// The largest `median_nps` anywhere in a report.
fn best_rate(report: &Value) -> Option<f64> {
    let nested: Vec<&Value> = match report {
        Value::Array(values) => values.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    };
    let own = report.get("median_nps").and_then(Value::as_f64);
    nested.into_iter().filter_map(best_rate).chain(own).max_by(f64::total_cmp)
}

fn remembered(file: &Path, key: &str) -> Option<&'static str> {
    let name = read(file).remove(key)?;
    CANDIDATES.into_iter().find(|candidate| *candidate == name)
}

/// Keeps a choice. Whatever goes wrong: the next start measures again.
fn remember(file: &PathBuf, key: &str, name: &str) {
    let mut choices = read(file);
    choices.insert(key.into(), name.into());
    let folder = file.parent().unwrap_or(Path::new("."));
    // Written aside and renamed, so that nobody reads half of it.
    let new = folder.join(format!("{FILE}.{}", std::process::id()));
    let text = serde_json::to_string_pretty(&choices).unwrap_or_default();
    let _ =
        fs::create_dir_all(folder).and_then(|()| fs::write(&new, text)).and_then(|()| fs::rename(&new, file));
}

fn read(file: &Path) -> Choices {
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

    #[test]
    fn a_choice_is_found_again_for_the_same_machine_and_network_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new").join(FILE);
        assert_eq!(remembered(&file, "a"), None);
        remember(&file, "a", "openvino");
        remember(&file, "b", "onnxruntime");
        assert_eq!((remembered(&file, "a"), remembered(&file, "b")), (Some("openvino"), Some("onnxruntime")));
        assert_eq!(remembered(&file, "c"), None);
        remember(&file, "a", "abacus");
        assert_eq!(remembered(&file, "a"), None, "a name of another version");
        fs::write(&file, "damaged").unwrap();
        assert_eq!(remembered(&file, "b"), None);
    }

    #[test]
    fn the_faster_one_is_taken_if_both_were_measured() {
        let measured = [("onnxruntime", 117.2), ("openvino", 240.4)];
        let why = "240 positions/s and thread, 117 with onnxruntime".to_owned();
        assert_eq!(judge(&measured), ("openvino", why));
        assert!(judge(&measured[..1]).1.contains("measuring took too long"));
    }

    #[test]
    fn the_best_rate_is_found_in_any_report() {
        assert_eq!(
            best_rate(&json!([{"batch": 1, "median_nps": 5.0}, {"batch": 8, "median_nps": 9.5}])),
            Some(9.5)
        );
        assert_eq!(best_rate(&json!({"rows": [{"median_nps": 3.0}], "backend": "x"})), Some(3.0));
        assert_eq!(best_rate(&json!({"error": "no network"})), None);
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
