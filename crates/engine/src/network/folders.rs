//! Folders where this program looks for files and keeps its cache.

use std::env;
use std::path::{Path, PathBuf};

pub const CACHE_VARIABLE: &str = "ZEITNOT_CACHE_DIR";

/// The cache folder, which need not exist: `ZEITNOT_CACHE_DIR`, or `zeitnot` in the platform's cache folder.
/// `None` if neither is set.
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

/// The program's folder (`""`) and folders in it, which need not exist.
pub(crate) fn beside_the_program(subfolders: &[&str]) -> Vec<PathBuf> {
    executable()
        .iter()
        .flat_map(|folder| subfolders.iter().map(|sub| folder.join(sub)))
        .collect()
}

pub fn executable() -> Option<PathBuf> {
    env::current_exe().ok()?.parent().map(Path::to_path_buf)
}

/// An environment variable's path, made absolute, if not empty.
fn set(variable: &str) -> Option<PathBuf> {
    let value = env::var_os(variable).filter(|value| !value.is_empty())?;
    std::path::absolute(value).ok()
}
