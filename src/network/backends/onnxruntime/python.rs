//! Talks to the installed Python, if any: finds its `onnxruntime` and runs its pip.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use thiserror::Error;

/// Names under which Python 3 may be installed, best first.
const NAMES: &[&str] = if cfg!(windows) { &["py", "python", "python3"] } else { &["python3", "python"] };

/// Prints the folder of the library inside the package `onnxruntime`, without importing it.
const LOCATE_PACKAGE: &str = "import importlib.util as u, os\n\
    s = u.find_spec('onnxruntime')\n\
    print(os.path.join(os.path.dirname(s.origin), 'capi') if s and s.origin else '')";

/// Returns the library folders of the `onnxruntime` packages of all Pythons found.
pub fn package_folders() -> Vec<PathBuf> {
    let folder = |name: &&str| {
        let output = python(name).args(["-c", LOCATE_PACKAGE]).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
        (output.status.success() && !text.is_empty()).then(|| PathBuf::from(text))
    };
    let mut folders: Vec<PathBuf> = NAMES.iter().filter_map(folder).collect();
    folders.dedup();
    folders
}

/// Prints the folders of installed packages, a line each.
const LIST_PACKAGES: &str =
    "import site\nprint(*site.getsitepackages(), site.getusersitepackages(), sep='\\n')";

/// Returns the folders in which all Pythons found keep their packages.
pub fn site_folders() -> Vec<PathBuf> {
    let folders = |name: &&str| {
        let output = python(name).args(["-c", LIST_PACKAGES]).output().ok().filter(|o| o.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect::<Vec<_>>())
    };
    NAMES.iter().filter_map(folders).flatten().collect()
}

/// A wheel for `pip download`.
pub struct Wheel<'a> {
    /// The package and its version, `onnxruntime==1.31.1`.
    pub requirement: &'a str,
    /// The platform tag of the wheel, `win_amd64`.
    pub platform: &'a str,
}

/// Says why one Python could not download a wheel.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PythonError {
    /// There is no program of this name.
    #[error("is not installed")]
    NotInstalled,
    /// The program is there, but the system does not run it.
    #[error("does not run ({reason})")]
    NotRun {
        /// The system's error.
        reason: String,
    },
    /// Python runs, but has no pip.
    #[error("has no pip")]
    NoPip,
    /// pip has lost the connection, or never got one.
    #[error("pip cannot reach the package index (no network?)")]
    Offline,
    /// pip failed for another reason.
    #[error("pip download failed ({message})")]
    Pip {
        /// Its last message.
        message: String,
    },
}

impl PythonError {
    fn not_run(error: &io::Error) -> PythonError {
        match error.kind() {
            io::ErrorKind::NotFound => PythonError::NotInstalled,
            _ => PythonError::NotRun { reason: error.to_string() },
        }
    }

    /// Finds the reason of a failure in what pip wrote: a lost connection if it warns of one, else its last error.
    fn of_pip(stderr: &str) -> PythonError {
        let lost = ["NewConnectionError", "ConnectTimeout", "NameResolutionError"];
        if lost.iter().any(|warning| stderr.contains(warning)) {
            return PythonError::Offline;
        }
        let errors = stderr.lines().rev().find(|line| line.starts_with("ERROR:"));
        let line = errors.or_else(|| stderr.lines().last()).unwrap_or("no message");
        PythonError::Pip { message: line.trim_start_matches("ERROR: ").to_owned() }
    }
}

/// Says why no Python could download a wheel: gives each reason with the Pythons that have it.
#[derive(Debug, Default, Error)]
pub struct DownloadError(Vec<(PythonError, Vec<&'static str>)>);

impl DownloadError {
    fn add(&mut self, python: &'static str, error: PythonError) {
        match self.0.iter_mut().find(|(known, _)| *known == error) {
            Some((_, pythons)) => pythons.push(python),
            None => self.0.push((error, vec![python])),
        }
    }
}

impl fmt::Display for DownloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = self.0.iter().map(|(error, pythons)| format!("{}: {error}", pythons.join(", ")));
        f.write_str(&texts.collect::<Vec<_>>().join("; "))
    }
}

/// Downloads one wheel, whatever this Python's version and platform are, into `folder`; pip shows the progress on
/// stderr.
///
/// # Errors
/// Fails if none of the Pythons could do it.
pub fn download(wheel: &Wheel, folder: &Path) -> Result<(), DownloadError> {
    let mut errors = DownloadError::default();
    for name in NAMES {
        match download_with(name, wheel, folder) {
            Ok(()) => return Ok(()),
            Err(error) => errors.add(name, error),
        }
    }
    Err(errors)
}

fn download_with(name: &str, wheel: &Wheel, folder: &Path) -> Result<(), PythonError> {
    if !has_pip(name)? {
        return Err(PythonError::NoPip);
    }
    let output = python(name)
        .args(["-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"])
        .args(["--retries", "1", "--timeout", "20"])
        .args(["--implementation", "cp", "--python-version", "3.12", "--abi", "cp312"])
        .args(["--platform", wheel.platform, wheel.requirement, "--dest"])
        .arg(folder)
        .stdout(io::stderr())
        .stderr(Stdio::piped())
        .spawn()
        .and_then(|child| child.wait_with_output())
        .map_err(|error| PythonError::not_run(&error))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(PythonError::of_pip(&String::from_utf8_lossy(&output.stderr)))
    }
}

fn has_pip(name: &str) -> Result<bool, PythonError> {
    let version = python(name).args(["-m", "pip", "--version"]).output();
    Ok(version.map_err(|error| PythonError::not_run(&error))?.status.success())
}

fn python(name: &str) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pip_errors_become_one_line() {
        let line = |stderr| PythonError::of_pip(stderr).to_string();
        let offline =
            "WARNING: Retrying after connection broken by 'NewConnectionError(...)'\nERROR: No matching";
        assert_eq!(line(offline), "pip cannot reach the package index (no network?)");
        let missing = "ERROR: Could not find a version\nERROR: No matching distribution found for x\n";
        assert_eq!(line(missing), "pip download failed (No matching distribution found for x)");
        assert_eq!(line(""), "pip download failed (no message)");
    }

    #[test]
    fn an_absent_python_says_so() {
        let wheel = Wheel { requirement: "onnxruntime", platform: "win_amd64" };
        let error = download_with("no-such-python", &wheel, Path::new("/")).unwrap_err();
        assert_eq!(error.to_string(), "is not installed");
    }

    #[test]
    fn pythons_with_the_same_error_share_a_line() {
        let mut errors = DownloadError::default();
        errors.add("python3", PythonError::NoPip);
        errors.add("py", PythonError::NotInstalled);
        errors.add("python", PythonError::NoPip);
        assert_eq!(errors.to_string(), "python3, python: has no pip; py: is not installed");
    }
}
