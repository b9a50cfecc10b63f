//! The folders where this program looks for files and keeps what it made.
//!
//! The network finder and the ONNX Runtime backend use them. This module uses nothing else of the crate.

use std::env;
use std::path::{Path, PathBuf};

pub const CACHE_VARIABLE: &str = "ZEITNOT_CACHE_DIR";

/// Returns the folder of files that can be made or fetched again: `ZEITNOT_CACHE_DIR`, or `zeitnot` in the
/// platform's cache folder.
///
/// This is `None` if the variables that would say so are not set. The folder need not exist.
pub fn cache() -> Option<PathBuf> {
    set(CACHE_VARIABLE).or_else(|| platform_cache().map(|folder| folder.join("zeitnot")))
}

fn platform_cache() -> Option<PathBuf> {
    if cfg!(windows) {
        set("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        set("HOME").map(|home| home.join("Library/Caches"))
    } else {
        set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))
    }
}

/// Returns the folder of the running program.
pub fn executable() -> Option<PathBuf> {
    env::current_exe().ok()?.parent().map(Path::to_path_buf)
}

/// Returns the path in an environment variable, made absolute, if the variable is set and not empty.
fn set(variable: &str) -> Option<PathBuf> {
    let value = env::var_os(variable).filter(|value| !value.is_empty())?;
    std::path::absolute(value).ok()
}
