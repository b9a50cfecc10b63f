//! Networks for `setup --network`: a table of published ones, the choice for a machine, and the download.
//!
//! The system's curl uses the user's proxies and certificates, and resumes broken downloads. The file gets
//! its name when its SHA-256 is right, in the folder where the engine looks.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;
use std::{env, fmt};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::fetch::{FetchError, Fetcher, sha256};
use super::machine::Machine;
use zeitnot_engine::foreign::{in_our_words, record};
use zeitnot_engine::network::backends::onnxruntime::finder;
use zeitnot_engine::network::{discover, folders};

/// A file to read instead of `networks.json`, for mirrors and tests.
const TABLE_VARIABLE: &str = "ZEITNOT_NETWORKS";
/// Resumptions of a broken download, as long as each attempt makes progress.
const ATTEMPTS: u32 = 5;

/// Fetched in this very version.
#[derive(Debug, Deserialize, Serialize)]
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

#[derive(Debug, Error)]
pub(crate) enum DownloadError {
    #[error("the table of networks that {TABLE_VARIABLE} names cannot be read: {0}")]
    Table(String),
    #[error("no network has the name {0}. `zeitnot setup --networks` lists them")]
    Unknown(String),
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(
        "{reason}. Start again, or get {address} in another way and give the engine the file with --weights"
    )]
    Failed { reason: String, address: String },
}

pub(crate) fn published() -> Result<Vec<PublishedNetwork>, DownloadError> {
    let read = |path| fs::read_to_string(path).map_err(|error| DownloadError::Table(in_our_words(&error)));
    let text =
        env::var_os(TABLE_VARIABLE).map_or_else(|| Ok(include_str!("networks.json").to_owned()), read)?;
    let mut networks: Vec<PublishedNetwork> =
        serde_json::from_str(&text).map_err(|error| DownloadError::Table(error.to_string()))?;
    let folder = folders::executable().unwrap_or_default().join(discover::NETWORKS);
    for network in &mut networks {
        network.path = folder.join(network.address.rsplit('/').next().unwrap_or_default());
        network.is_here = fs::metadata(&network.path).is_ok_and(|file| file.len() == network.size);
    }
    Ok(networks)
}

/// The named network, or else the largest that fits into `gpu_mb`.
pub(crate) fn choose(name: Option<&str>, gpu_mb: u64) -> Result<PublishedNetwork, DownloadError> {
    let networks = published()?.into_iter();
    let found = match name {
        Some(name) => networks.into_iter().find(|network| network.name.eq_ignore_ascii_case(name)),
        None => networks
            .filter(|network| network.gpu_mb.is_some_and(|least| least <= gpu_mb))
            .max_by_key(|network| network.gpu_mb),
    };
    found.ok_or_else(|| DownloadError::Unknown(name.unwrap_or_default().into()))
}

impl Machine {
    /// Memory of the GPU that evaluates, MiB, or 0.
    pub(crate) fn evaluating_gpu_mb(&self, is_set_up: bool) -> u64 {
        let chosen = self.choose().chosen;
        let evaluating = chosen.filter(|(_, provider)| is_set_up || finder::is_installed(*provider));
        evaluating.and_then(|(gpu, _)| gpu.memory_mb).unwrap_or_default()
    }
}

impl PublishedNetwork {
    pub(crate) fn megabytes(&self) -> u64 {
        self.size.div_ceil(1_000_000)
    }

    pub(crate) fn line(&self) -> String {
        let (size, here) = (self.megabytes(), if self.is_here { ", is here" } else { "" });
        format!("{:<11} {size:>4} MB  {:<28} licence: {}{here}\n", self.name, self.is, self.licence)
    }

    /// Fetches a missing file, and makes it the newest, which the engine takes.
    pub(crate) fn fetch(&self, fetcher: &Fetcher<'_>) -> Result<(), DownloadError> {
        let path = &self.path;
        let folder = path.parent().unwrap_or(Path::new("."));
        let failed = |reason| DownloadError::Failed { reason, address: self.address.clone() };
        let refused = |error: io::Error| failed(FetchError::cache(folder, &error).to_string());
        if !sha256(path).is_ok_and(|found| found == self.sha256) {
            let _lock = fetcher.lock()?;
            fs::create_dir_all(folder).map_err(refused)?;
            let part = path.with_added_extension("part");
            self.download(&part).map_err(failed)?;
            fs::rename(&part, path).map_err(refused)?;
        }
        let file = File::options().append(true).open(path).map_err(refused)?;
        file.set_modified(SystemTime::now()).map_err(refused)
    }

    /// Leaves the right file at `part`, or one that can be resumed, or none.
    fn download(&self, part: &Path) -> Result<(), String> {
        let arrived = || fs::metadata(part).map_or(0, |file| file.len());
        for attempt in 1.. {
            let before = arrived();
            // A complete file would be asked for bytes behind its end.
            let broken = if before < self.size { self.run_curl(part)?.err() } else { None };
            let Some(reason) = broken else { break };
            if attempt == ATTEMPTS || arrived() == before {
                return Err(reason);
            }
        }
        let found = sha256(part).map_err(|error| in_our_words(&error))?;
        if found == self.sha256 {
            return Ok(());
        }
        let mut start = Vec::new();
        // An unreadable start is no web page. What cannot be removed is refused again.
        let _ = File::open(part).and_then(|file| file.take(100).read_to_end(&mut start));
        let _ = fs::remove_file(part);
        let what = match start.trim_ascii_start().first() {
            Some(b'<') => "what came is a web page, as where this connection wants a login",
            _ => "the file that came is not the one expected",
        };
        Err(format!("{what} (SHA-256 {found}, expected {}), and was removed", self.sha256))
    }

    /// Another attempt may mend the inner error if this one has changed the file.
    fn run_curl(&self, part: &Path) -> Result<Result<(), String>, String> {
        let is_watched = io::stderr().is_terminal();
        let output = Command::new("curl")
            .args(["--fail", "--location", "--continue-at", "-", "--connect-timeout", "20"])
            .args(["--speed-limit", "1000", "--speed-time", "30", "--max-filesize", &self.size.to_string()])
            .args(if is_watched { &["--progress-bar"][..] } else { &["--silent", "--show-error"] })
            .args(["--write-out", "%{http_code}", "--output"])
            .args([part.as_os_str(), self.address.as_ref()])
            .stdin(Stdio::null())
            .stderr(if is_watched { Stdio::inherit() } else { Stdio::piped() })
            .output()
            .map_err(|_| "this system has no curl, which Windows 10, macOS and most of Linux have")?;
        String::from_utf8_lossy(&output.stderr).lines().for_each(|line| record("curl", &line));
        let proxies = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
        let proxy = proxies.iter().find(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
        let way = proxy.map_or("no network?".into(), |name| format!("through the proxy of {name}"));
        Err(match output.status.code() {
            Some(0) => return Ok(Ok(())),
            Some(5..=7 | 28 | 97) => format!("the server cannot be reached ({way})"),
            Some(18 | 52 | 55 | 56 | 92) => {
                return Ok(Err(format!("the connection broke off ({way}), and what has come is kept")));
            }
            Some(22) => format!("the server answers {}", String::from_utf8_lossy(&output.stdout)),
            Some(23) => "what came cannot be written. Is the disk full? What is there is kept".into(),
            // The file cannot be resumed or has another size.
            Some(33 | 36 | 63) => {
                let _ = fs::remove_file(part);
                return Ok(Err("the server has another file".into()));
            }
            Some(35 | 51 | 58 | 60 | 77) => format!("no secure connection can be made ({way})"),
            code => format!("curl fails with code {}", code.unwrap_or(-1)),
        })
    }
}

/// A line for each property.
impl fmt::Display for PublishedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PublishedNetwork { name, is, address, licence, sha256, path, .. } = self;
        writeln!(f, "network    {name}, {is}\naddress    {address}")?;
        writeln!(f, "size       {} MB, SHA-256 {sha256}\nlicence    {licence}", self.megabytes())?;
        writeln!(f, "file       {}{}", path.display(), if self.is_here { ", is here" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_an_address_and_a_hash_of_all_and_one_for_cpus() {
        let networks = published().unwrap();
        for PublishedNetwork { name, address, sha256, size, .. } in &networks {
            assert!(address.starts_with("https://") && address.ends_with(".pb.gz"), "{name}");
            assert!(sha256.len() == 64 && sha256.bytes().all(|b| b.is_ascii_hexdigit()), "{name}");
            assert!(*size > 1_000_000, "{name}");
        }
    }

    #[test]
    fn the_largest_network_that_has_room_is_chosen() {
        for (gpu_mb, expected) in
            [(0, "t1-256x10"), (3_999, "t1-256x10"), (8_192, "bt3"), (10_240, "bt4"), (81_559, "bt4")]
        {
            assert_eq!(choose(None, gpu_mb).unwrap().name, expected, "{gpu_mb}");
        }
        assert!(choose(Some("Maia-1900"), 0).unwrap().path.ends_with("networks/maia-1900.pb.gz"));
    }
}
