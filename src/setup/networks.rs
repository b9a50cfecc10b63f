//! Networks for `setup --network`: a table of published ones, the choice for a machine, and the download.
//!
//! The system's curl uses the user's proxies and certificates. It writes into a pipe: what comes is counted,
//! limited and written here, into a file that has one writer. The file gets its name when its SHA-256 is
//! right, in the folder where the engine looks.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;
use std::{env, fmt};

use anyhow::{Context, Result, anyhow};
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};

use super::fetch::{FetchError, Fetcher, is_forbidden, lock_file, sha256, sha256_of};
use super::machine::Machine;
use zeitnot_engine::foreign::{in_our_words, record};
use zeitnot_engine::network::backends::onnxruntime::finder;
use zeitnot_engine::network::{discover, folders};
use zeitnot_engine::system::tool::{TOOL_PATIENCE, finish_within};

/// A file to read instead of `networks.json`, for mirrors and tests.
const TABLE_VARIABLE: &str = "ZEITNOT_NETWORKS";
/// Resumptions of a broken download, as long as each attempt makes progress.
const ATTEMPTS: u32 = 5;
/// Attempts in a row in which nothing comes.
const FRUITLESS_ATTEMPTS: u32 = 2;

/// Fetched in this very version.
#[derive(Deserialize, Serialize)]
pub(crate) struct PublishedNetwork {
    pub(crate) name: String,
    is: String,
    /// Least memory of a GPU, MiB. 0 suits CPUs too, `None` is never chosen.
    gpu_mb: Option<u64>,
    licence: String,
    address: String,
    /// Bytes.
    size: u64,
    sha256: String,
    #[serde(skip_deserializing)]
    path: PathBuf,
    /// A file of its name and size exists. Its hash is not checked.
    #[serde(skip_deserializing)]
    pub(crate) is_here: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Helps {
    /// Another attempt at once.
    Attempt,
    /// The command once more.
    StartingAgain,
    AnotherWay,
}

struct Broken {
    reason: String,
    helps: Helps,
}

impl Broken {
    fn new(helps: Helps, reason: impl Into<String>) -> Broken {
        Broken {
            reason: reason.into(),
            helps,
        }
    }
}

pub(crate) fn published() -> Result<Vec<PublishedNetwork>> {
    let refuse = |reason: String| {
        anyhow!("the table of networks that {TABLE_VARIABLE} names cannot be read: {reason}")
    };
    let read = |path| fs::read_to_string(path).map_err(|error| refuse(in_our_words(&error)));
    let text =
        env::var_os(TABLE_VARIABLE).map_or_else(|| Ok(include_str!("networks.json").to_owned()), read)?;
    let mut networks: Vec<PublishedNetwork> =
        serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?;
    let folder = folders::executable().unwrap_or_default().join(discover::NETWORKS);
    for network in &mut networks {
        network.path = folder.join(network.address.rsplit('/').next().unwrap_or_default());
        network.is_here = fs::metadata(&network.path).is_ok_and(|file| file.len() == network.size);
    }
    Ok(networks)
}

/// The named network, or else the largest that fits into `gpu_mb`.
pub(crate) fn choose(name: Option<&str>, gpu_mb: u64) -> Result<PublishedNetwork> {
    let mut networks = published()?.into_iter();
    let found = match name {
        Some(name) => networks.find(|network| network.name.eq_ignore_ascii_case(name)),
        None => networks
            .filter(|network| network.gpu_mb.is_some_and(|least| least <= gpu_mb))
            .max_by_key(|network| network.gpu_mb),
    };
    let name = name.unwrap_or_default();
    found.with_context(|| format!("no network has the name {name}. `zeitnot setup --networks` lists them"))
}

impl Machine {
    /// Memory of the GPU that evaluates, MiB, or 0.
    pub(crate) fn evaluating_gpu_mb(&self, is_set_up: bool) -> u64 {
        let chosen = self.choose().chosen;
        let evaluating = chosen.filter(|(_, provider)| is_set_up || finder::is_installed(*provider));
        evaluating.map_or(0, |(gpu, _)| gpu.least_memory_mb())
    }
}

impl PublishedNetwork {
    pub(crate) fn megabytes(&self) -> u64 {
        self.size.div_ceil(1_000_000)
    }

    pub(crate) fn line(&self) -> String {
        format!(
            "{:<11} {:>4} MB  {:<28} licence: {}{}\n",
            self.name,
            self.megabytes(),
            self.is,
            self.licence,
            self.here()
        )
    }

    fn here(&self) -> &'static str {
        if self.is_here { ", is here" } else { "" }
    }

    /// Fetches a missing file, and makes it the newest, which the engine takes.
    pub(crate) fn fetch(&self, fetcher: &Fetcher) -> Result<()> {
        let path = &self.path;
        let folder = path.parent().unwrap_or(Path::new("."));
        let failed = |Broken { reason, helps }| {
            let get = match helps {
                Helps::AnotherWay => "Get",
                _ => "Start again, or get",
            };
            let address = &self.address;
            anyhow!("{reason}. {get} {address} in another way and give the engine the file with --weights")
        };
        let refused = |error: io::Error| {
            let helps = if is_forbidden(error.kind()) {
                Helps::AnotherWay
            } else {
                Helps::StartingAgain
            };
            failed(Broken::new(helps, FetchError::cache(folder, &error).to_string()))
        };
        let is_right = || sha256(path).is_ok_and(|found| found == self.sha256);
        if !is_right() {
            let _lock = fetcher.lock()?;
            fs::create_dir_all(folder).map_err(refused)?;
            let part = path.with_added_extension("part");
            let mut file = open_alone(&part).map_err(refused)?;
            // Another process may have fetched it meanwhile.
            let done = if is_right() {
                Ok(())
            } else {
                self.download(&mut file)
            };
            if length(&file) == 0 {
                // What cannot be removed is empty.
                let _ = fs::remove_file(&part);
            }
            done.map_err(failed)?;
            if part.exists() {
                fs::rename(&part, path).map_err(refused)?;
            }
        }
        let file = File::options().append(true).open(path).map_err(refused)?;
        file.set_modified(SystemTime::now()).map_err(refused)
    }

    /// Leaves the right file in `part`, or one that can be resumed, or nothing.
    fn download(&self, part: &mut File) -> Result<(), Broken> {
        let mut fruitless = 0;
        for attempt in 1.. {
            let before = length(part);
            // A complete file would be asked for bytes behind its end.
            let Some(missing) = self.size.checked_sub(before).filter(|missing| *missing > 0) else {
                break;
            };
            let Err(broken) = self.run_curl(part, missing) else {
                break;
            };
            fruitless = if length(part) == before { fruitless + 1 } else { 0 };
            if broken.helps != Helps::Attempt || attempt == ATTEMPTS || fruitless == FRUITLESS_ATTEMPTS {
                return Err(broken);
            }
        }
        let read = part.rewind().and_then(|()| sha256_of(part));
        let found = read.map_err(|error| Broken::new(Helps::StartingAgain, in_our_words(&error)))?;
        if found == self.sha256 {
            return Ok(());
        }
        let mut start = Vec::new();
        // An unreadable start is no web page. What cannot be emptied is refused again.
        let _ = part
            .rewind()
            .and_then(|()| part.take(100).read_to_end(&mut start));
        let _ = part.set_len(0);
        let (helps, what) = match start.trim_ascii_start().first() {
            Some(b'<') => (
                Helps::StartingAgain,
                "what came is a web page, as where this connection wants a login",
            ),
            _ => (Helps::AnotherWay, "the file that came is not the one expected"),
        };
        let reason = format!(
            "{what} (SHA-256 {found}, expected {}), and was removed",
            self.sha256
        );
        Err(Broken::new(helps, reason))
    }

    /// Appends to `part` what comes, at most `missing` bytes. curl ends when nobody reads its pipe any more,
    /// as when this process is killed.
    fn run_curl(&self, part: &mut File, missing: u64) -> Result<(), Broken> {
        let before = self.size - missing;
        let schemes = if self.address.starts_with("https:") {
            "=https"
        } else {
            "=http,https"
        };
        let mut curl = Command::new("curl");
        curl.args([
            "--fail",
            "--silent",
            "--show-error",
            "--no-buffer",
            "--location",
            "--max-redirs",
            "10",
            "--proto",
            schemes,
            "--proto-redir",
            schemes,
            "--connect-timeout",
            "20",
            "--speed-limit",
            "1000",
            "--speed-time",
            "30",
            "--max-filesize",
            &self.size.to_string(),
        ]);
        if before > 0 {
            curl.args(["--continue-at", &before.to_string()]);
        }
        curl.arg(&self.address)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let absent = "this system has no curl, which Windows 10, macOS and most of Linux have";
        let mut curl = curl.spawn().map_err(|_| Broken::new(Helps::AnotherWay, absent))?;
        let written = curl.stdout.take().map_or(Ok(()), |from| self.write(part, from));
        if written.is_err() {
            // It may have ended by itself.
            let _ = curl.kill();
        }
        let output = finish_within(curl, TOOL_PATIENCE);
        written?;
        let output = output.map_err(|error| Broken::new(Helps::StartingAgain, in_our_words(&error)))?;
        let said = String::from_utf8_lossy(&output.stderr);
        said.lines().for_each(|line| record("curl", &line));
        let Some(mut broken) = broken_by(output.status.code(), &said, before > 0) else {
            return Ok(());
        };
        if broken.reason == OTHER_FILE {
            let _ = part.set_len(0);
        }
        let kept = length(part);
        if kept > 0 {
            let [kept, size] = [kept, self.size].map(|bytes| bytes as f64 / 1e6);
            broken.reason += &format!(", and what has come is kept ({kept:.1} of {size:.1} MB)");
        }
        Err(broken)
    }

    /// Appends to `part` up to the network's size. More than that is another file.
    fn write(&self, part: &mut File, from: impl Read) -> Result<(), Broken> {
        let before = length(part);
        let bar = ProgressBar::new(self.size).with_position(before);
        let mut from = bar.wrap_read(from).take(self.size - before + 1);
        let written = io::copy(&mut from, part).map_err(|error| {
            let reason = match error.kind() {
                ErrorKind::StorageFull | ErrorKind::FileTooLarge | ErrorKind::QuotaExceeded => {
                    "what came cannot be written. Is the disk full? What is there is kept".into()
                }
                _ => format!("what came cannot be written ({})", in_our_words(&error)),
            };
            Broken::new(Helps::StartingAgain, reason)
        });
        bar.finish_and_clear();
        if before + written? > self.size {
            let _ = part.set_len(0);
            let helps = if before > 0 {
                Helps::Attempt
            } else {
                Helps::AnotherWay
            };
            return Err(Broken::new(helps, OTHER_FILE));
        }
        Ok(())
    }
}

const OTHER_FILE: &str = "the server has another file";

/// Why curl ended with `code`, after it `said` something. `None` if all is there.
fn broken_by(code: Option<i32>, said: &str, is_resumed: bool) -> Option<Broken> {
    use Helps::{AnotherWay, Attempt, StartingAgain};
    let proxies = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let proxy = proxies
        .iter()
        .find(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
    let way = proxy.map_or("no network?".into(), |name| {
        format!("through the proxy of {name}")
    });
    let (helps, reason) = match code {
        Some(0) => return None,
        Some(28) if said.contains("too slow") => {
            (Attempt, format!("the server is silent or too slow ({way})"))
        }
        Some(28) => (Attempt, format!("the server cannot be reached ({way})")),
        Some(5..=7 | 97) => (StartingAgain, format!("the server cannot be reached ({way})")),
        Some(18 | 52 | 55 | 56 | 92) => (Attempt, format!("the connection broke off ({way})")),
        Some(22) => {
            let status: String = said
                .rsplit("error: ")
                .next()
                .unwrap_or_default()
                .chars()
                .take(3)
                .collect();
            // Too many requests, too late a request, and what the server may mend.
            let may_change = status.starts_with('5') || ["408", "425", "429"].contains(&status.as_str());
            (
                if may_change { StartingAgain } else { AnotherWay },
                format!("the server answers {status}"),
            )
        }
        Some(1 | 47) => (
            AnotherWay,
            "the server sends elsewhere, in a way that is not followed".into(),
        ),
        // The file cannot be resumed or has another size.
        Some(33 | 36 | 63) => (if is_resumed { Attempt } else { AnotherWay }, OTHER_FILE.into()),
        Some(35 | 51 | 58 | 60 | 77) => (AnotherWay, format!("no secure connection can be made ({way})")),
        code => (
            StartingAgain,
            format!("curl fails with code {}", code.unwrap_or(-1)),
        ),
    };
    Some(Broken { reason, helps })
}

fn length(file: &File) -> u64 {
    file.metadata().map_or(0, |file| file.len())
}

/// Opens the file at `path` for its only writer, which waits for another.
fn open_alone(path: &Path) -> io::Result<File> {
    loop {
        let file = File::options().read(true).append(true).create(true).open(path)?;
        lock_file(&file)?;
        // Whoever held it may have given it its name, or removed it.
        if path.exists() {
            return Ok(file);
        }
    }
}

impl fmt::Display for PublishedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PublishedNetwork {
            name,
            is,
            address,
            licence,
            sha256,
            path,
            ..
        } = self;
        writeln!(f, "network    {name}, {is}\naddress    {address}")?;
        writeln!(
            f,
            "size       {} MB, SHA-256 {sha256}\nlicence    {licence}",
            self.megabytes()
        )?;
        writeln!(f, "file       {}{}", path.display(), self.here())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_an_address_and_a_hash_of_all_and_one_for_cpus() {
        let networks = published().unwrap();
        for PublishedNetwork {
            name,
            address,
            sha256,
            size,
            ..
        } in &networks
        {
            assert!(
                address.starts_with("https://") && address.ends_with(".pb.gz"),
                "{name}"
            );
            assert!(
                sha256.len() == 64 && sha256.bytes().all(|b| b.is_ascii_hexdigit()),
                "{name}"
            );
            assert!(*size > 1_000_000, "{name}");
        }
    }

    #[test]
    fn the_largest_network_that_has_room_is_chosen() {
        for (gpu_mb, expected) in [
            (0, "t1-256x10"),
            (3_999, "t1-256x10"),
            (4_000, "bt3"),
            (8_192, "bt3"),
            (10_240, "bt4"),
            (81_559, "bt4"),
        ] {
            assert_eq!(choose(None, gpu_mb).unwrap().name, expected, "{gpu_mb}");
        }
        assert!(
            choose(Some("Maia-1900"), 0)
                .unwrap()
                .path
                .ends_with("networks/maia-1900.pb.gz")
        );
    }

    #[test]
    fn what_curl_ends_with_says_whether_trying_again_helps() {
        let helps = |code, said: &str| broken_by(Some(code), said, false).map(|broken| broken.helps);
        let slow = "curl: (28) Operation too slow. Less than 1000 bytes/sec transferred the last 30 seconds";
        assert_eq!(
            [helps(0, ""), helps(18, ""), helps(28, slow)],
            [None, Some(Helps::Attempt), Some(Helps::Attempt)]
        );
        assert!(
            broken_by(Some(28), slow, true)
                .unwrap()
                .reason
                .starts_with("the server is silent or too slow")
        );
        let answered = |status| format!("curl: (22) The requested URL returned error: {status}");
        assert_eq!(
            broken_by(Some(22), &answered("404 Not Found"), false)
                .unwrap()
                .reason,
            "the server answers 404"
        );
        for (status, expected) in [
            ("404", Helps::AnotherWay),
            ("503", Helps::StartingAgain),
            ("429", Helps::StartingAgain),
        ] {
            assert_eq!(helps(22, &answered(status)), Some(expected), "{status}");
        }
    }
}
