//! The folders where this program looks for files and keeps what it made, and whether it may fetch any.
//!
//! The network finder and the ONNX Runtime backend use them; this module uses nothing else of the crate.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The environment variable that forbids `setup` to fetch anything, unless it is empty or 0.
pub(crate) const OFFLINE_VARIABLE: &str = "ZEITNOT_OFFLINE";
/// True once this process has been asked to fetch what is missing. A flag of its own: nothing else depends on it.
static MAY_FETCH: AtomicBool = AtomicBool::new(false);
/// True once this process has been told to stay offline. A flag of its own: nothing else depends on it.
static STAYS_OFFLINE: AtomicBool = AtomicBool::new(false);

/// Lets this process fetch what is missing from the network: only `setup` is asked to.
pub fn allow_fetching() {
    MAY_FETCH.store(true, Ordering::Relaxed);
}

/// Returns whether this process has been asked to fetch what is missing.
pub(super) fn may_fetch() -> bool {
    MAY_FETCH.load(Ordering::Relaxed)
}

/// Forbids this process to fetch anything from the network, even if it is asked to.
pub fn stay_offline() {
    STAYS_OFFLINE.store(true, Ordering::Relaxed);
}

/// Returns whether nothing may be fetched from the network, whoever asks.
pub(super) fn is_offline() -> bool {
    let by_variable = env::var_os(OFFLINE_VARIABLE).is_some_and(|value| !value.is_empty() && value != "0");
    STAYS_OFFLINE.load(Ordering::Relaxed) || by_variable
}

/// The environment variable that moves the cache.
pub(crate) const CACHE_VARIABLE: &str = "ZEITNOT_CACHE_DIR";

/// Returns the folder of files that can be made or fetched again: `ZEITNOT_CACHE_DIR`, or `zeitnot` in the platform's
/// cache folder.
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
