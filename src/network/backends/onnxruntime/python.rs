//! Talks to the Python that is installed, if any: where its `onnxruntime` lies, and pip.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names under which Python 3 may be installed, best first.
const NAMES: &[&str] = if cfg!(windows) { &["py", "python", "python3"] } else { &["python3", "python"] };

/// Prints the folder of the library inside the package `onnxruntime`, without importing it.
const LOCATE_PACKAGE: &str = "import importlib.util as u, os\n\
    s = u.find_spec('onnxruntime')\n\
    print(os.path.join(os.path.dirname(s.origin), 'capi') if s and s.origin else '')";

/// The library folders of the `onnxruntime` packages of all Pythons found.
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

/// The folders in which all Pythons found keep their packages.
pub fn site_folders() -> Vec<PathBuf> {
    let folders = |name: &&str| {
        let output = python(name).args(["-c", LIST_PACKAGES]).output().ok().filter(|o| o.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect::<Vec<_>>())
    };
    NAMES.iter().filter_map(folders).flatten().collect()
}

/// What `pip download` is to get.
pub struct Wheel<'a> {
    /// The package and its version, `onnxruntime==1.31.1`.
    pub requirement: &'a str,
    /// The platform tag of the wheel, `win_amd64`.
    pub platform: &'a str,
}

/// Downloads one wheel, whatever this Python's version and platform are, into `folder`; pip shows the progress on
/// stderr.
///
/// # Errors
/// One line that says why no Python could do it.
pub fn download(wheel: &Wheel, folder: &Path) -> Result<(), String> {
    let mut faults: Vec<(String, Vec<&str>)> = Vec::new();
    for name in NAMES {
        match download_with(name, wheel, folder) {
            Ok(()) => return Ok(()),
            Err(fault) => match faults.iter_mut().find(|(known, _)| *known == fault) {
                Some((_, names)) => names.push(name),
                None => faults.push((fault, vec![name])),
            },
        }
    }
    let texts = faults.iter().map(|(fault, names)| format!("{}: {fault}", names.join(", ")));
    Err(texts.collect::<Vec<_>>().join("; "))
}

fn download_with(name: &str, wheel: &Wheel, folder: &Path) -> Result<(), String> {
    if !has_pip(name)? {
        return Err("has no pip".into());
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
        .map_err(|error| not_run(&error))?;
    if output.status.success() { Ok(()) } else { Err(pip_fault(&String::from_utf8_lossy(&output.stderr))) }
}

fn has_pip(name: &str) -> Result<bool, String> {
    let output = python(name).args(["-m", "pip", "--version"]).output().map_err(|error| not_run(&error))?;
    Ok(output.status.success())
}

fn python(name: &str) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null());
    command
}

fn not_run(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "is not installed".into(),
        _ => format!("does not run ({error})"),
    }
}

/// The reason of a failure out of pip's chatter: a lost connection if it warns of one, else its last error.
fn pip_fault(stderr: &str) -> String {
    if stderr.contains("NewConnectionError")
        || stderr.contains("ConnectTimeout")
        || stderr.contains("NameResolutionError")
    {
        return "pip cannot reach the package index (no network?)".into();
    }
    let line = stderr.lines().rev().find(|line| line.starts_with("ERROR:")).or_else(|| stderr.lines().last());
    format!("pip download failed ({})", line.unwrap_or("no message").trim_start_matches("ERROR: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pip_faults_become_one_line() {
        let offline =
            "WARNING: Retrying after connection broken by 'NewConnectionError(...)'\nERROR: No matching";
        assert_eq!(pip_fault(offline), "pip cannot reach the package index (no network?)");
        let missing = "ERROR: Could not find a version\nERROR: No matching distribution found for x\n";
        assert_eq!(pip_fault(missing), "pip download failed (No matching distribution found for x)");
        assert_eq!(pip_fault(""), "pip download failed (no message)");
    }

    #[test]
    fn an_absent_python_says_so() {
        let wheel = Wheel { requirement: "onnxruntime", platform: "win_amd64" };
        let fault = download_with("no-such-python", &wheel, Path::new("/")).unwrap_err();
        assert_eq!(fault, "is not installed");
    }
}
