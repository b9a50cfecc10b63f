//! Runs commands of this program in child processes: a driver's crash ends only the child, and each can load
//! another ONNX Runtime.

use std::io::ErrorKind;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use itertools::Itertools;
use serde::de::DeserializeOwned;

use crate::config_file::NO_CONFIG;
use zeitnot_engine::foreign::{ONNX_RUNTIME, SYSTEM, VERBOSE_VARIABLE};
use zeitnot_engine::system::tool::output_within;

pub(super) struct ChildError {
    pub(super) message: String,
    /// In the words of libraries and the system.
    pub(super) foreign: String,
}

pub(super) fn json<'a, T: DeserializeOwned>(
    words: &[&str],
    flags: impl IntoIterator<Item = (&'a str, String)>,
    patience: Duration,
) -> Result<T, ChildError> {
    let silent = |error: anyhow::Error| ChildError {
        message: error.to_string(),
        foreign: String::new(),
    };
    let program = std::env::current_exe().map_err(|error| silent(error.into()))?;
    let mut command = Command::new(program);
    let flags = flags.into_iter().map(|(name, value)| format!("--{name}={value}"));
    let command = command
        .args(words)
        .args(flags)
        .args(["--json", NO_CONFIG])
        .env(VERBOSE_VARIABLE, "info");
    let (stdout, stderr) = outputs(command, patience).map_err(silent)?;
    serde_json::from_str(&stdout).map_err(|_| ChildError {
        message: last_message(&stderr),
        foreign: foreign(&stderr),
    })
}

fn foreign(stderr: &str) -> String {
    let is_foreign = |line: &&str| {
        [ONNX_RUNTIME, SYSTEM]
            .iter()
            .any(|speaker| line.starts_with(speaker))
    };
    stderr.lines().filter(is_foreign).join("\n")
}

/// Stdout and stderr, whatever the exit code.
fn outputs(command: &mut Command, patience: Duration) -> Result<(String, String)> {
    let output = output_within(command, patience).map_err(|error| match error.kind() {
        ErrorKind::TimedOut => anyhow!("did not answer within {} s", patience.as_secs()),
        _ => error.into(),
    })?;
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    // Not ended by a signal.
    ensure!(
        output.status.code().is_some(),
        "crashed ({}); {}",
        output.status,
        last_message(&stderr)
    );
    Ok((stdout, stderr))
}

/// The program's last message on stderr, or else the last line.
fn last_message(stderr: &str) -> String {
    let own = stderr
        .rfind("zeitnot: ")
        .map(|at| &stderr[at + "zeitnot: ".len()..]);
    own.or_else(|| stderr.lines().last())
        .unwrap_or("it said nothing")
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_takes_too_long_is_ended() {
        let program = if cfg!(windows) { "ping" } else { "sleep" };
        let answer = outputs(Command::new(program).arg("60"), Duration::from_millis(50));
        assert_eq!(answer.unwrap_err().to_string(), "did not answer within 0 s");
    }

    #[cfg(unix)]
    #[test]
    fn what_a_process_writes_is_read_however_much_it_is() {
        let sh = |script: &str| outputs(Command::new("sh").args(["-c", script]), Duration::from_secs(60));
        let (stdout, stderr) = sh("head -c 300000 /dev/zero; echo zeitnot: no driver >&2; exit 3").unwrap();
        assert_eq!(
            (stdout.len(), last_message(&stderr).as_str()),
            (300_000, "no driver")
        );
        let error = sh("kill -9 $$").unwrap_err().to_string();
        assert!(
            error.starts_with("crashed (signal: 9") && error.ends_with("it said nothing"),
            "{error}"
        );
    }

    #[test]
    fn the_reason_of_a_failure_is_the_program_s_own_last_message() {
        let stderr = "Warning: x\nzeitnot: using y\nONNX Runtime: it is\nzeitnot: no driver: install it\n";
        assert_eq!(last_message(stderr), "no driver: install it");
        assert_eq!(foreign(stderr), "ONNX Runtime: it is");
        assert_eq!(last_message("Segmentation fault"), "Segmentation fault");
    }
}
