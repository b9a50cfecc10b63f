//! With the feature `embed`: finds the network file that is built into the program, for `src/network/discover.rs`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The network unless `EVALFILE` names another, from the package's folder.
const DEFAULT: &str = "models/zeitnot-small.pb.gz";

fn main() -> ExitCode {
    println!("cargo:rerun-if-env-changed=EVALFILE");
    if env::var_os("CARGO_FEATURE_EMBED").is_none() {
        return ExitCode::SUCCESS;
    }
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let named = env::var_os("EVALFILE").filter(|file| !file.is_empty());
    // A relative path counts from the package's folder, where make runs.
    let file = package.join(named.as_deref().map_or(Path::new(DEFAULT), Path::new));
    match fs::canonicalize(&file) {
        Ok(file) => {
            println!("cargo:rerun-if-changed={}", file.display());
            println!("cargo:rustc-env=ZEITNOT_EMBEDDED={}", file.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("EVALFILE: {}: {error}", file.display());
            ExitCode::FAILURE
        }
    }
}
