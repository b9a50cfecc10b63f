//! Tells the program its version with the commit it was built from, for `VERSION`, and finds the network file
//! that is built into the program, for `src/network/discover.rs`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The network unless `EVALFILE` names another, from the repository's folder.
const DEFAULT: &str = "models/zeitnot-small.pb.gz";
/// The hexadecimal digits of a commit that are shown.
const HASH_DIGITS: &str = "--short=10";

fn main() -> ExitCode {
    println!("cargo:rerun-if-env-changed=EVALFILE");
    println!("cargo:rustc-env=ZEITNOT_VERSION={}", version());
    let repository = repository();
    let named = env::var_os("EVALFILE").filter(|file| !file.is_empty());
    // A relative path counts from the repository's folder, where make runs.
    let file = repository.join(named.as_deref().map_or(Path::new(DEFAULT), Path::new));
    match fs::canonicalize(&file) {
        Ok(file) => {
            println!("cargo:rerun-if-changed={}", file.display());
            println!("cargo:rustc-env=ZEITNOT_EMBEDDED={}", file.display());
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            println!("cargo:rustc-env=ZEITNOT_EMBEDDED_NAME={name}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("EVALFILE: {}: {error}", file.display());
            ExitCode::FAILURE
        }
    }
}

/// The folder of the workspace, or that of a published package, which has a copy of the network.
fn repository() -> PathBuf {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let workspace = package.join("../..");
    if workspace.join(DEFAULT).exists() {
        workspace
    } else {
        package
    }
}

/// Returns the package's version if the commit is tagged with it, else the version, `dev` and the commit.
fn version() -> String {
    let package = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    // A debug build is compiled anew too often to do so for a commit alone.
    if env::var("PROFILE").as_deref() != Ok("release") {
        return format!("{package}-dev");
    }
    println!("cargo:rerun-if-changed=build.rs");
    // Where the commit is written down: what a branch names changes without HEAD.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in [Some("HEAD".to_owned()), branch, Some("packed-refs".into())]
        .into_iter()
        .flatten()
    {
        let path = git(&["rev-parse", "--git-path", &name]).map(|path| repository().join(path));
        if let Some(path) = path.filter(|path| path.exists()) {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
    let tag = format!("v{package}");
    match git(&["rev-parse", HASH_DIGITS, "HEAD"]) {
        Some(_)
            if git(&["tag", "--points-at", "HEAD"]).is_some_and(|tags| tags.lines().any(|t| t == tag)) =>
        {
            package
        }
        Some(hash) => format!("{package}-dev-{hash}"),
        None => format!("{package}-dev"),
    }
}

/// Returns what git answers, if this is a checkout and git is there. A folder above that is another's
/// checkout does not count.
fn git(arguments: &[&str]) -> Option<String> {
    let repository = repository();
    if !repository.join(".git").exists() {
        return None;
    }
    let output = Command::new("git")
        .args(arguments)
        .current_dir(&repository)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
