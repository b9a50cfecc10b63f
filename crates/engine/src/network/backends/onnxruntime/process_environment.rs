//! The variables of this process's environment that we set, as ONNX Runtime and the Vulkan loader listen to
//! nothing else.
//!
//! From 1.31 on ONNX Runtime writes an identity and a database of events into the user's cache folder as soon
//! as an environment is made, whatever is said to that environment later. And WebGPU takes whatever Vulkan
//! offers: where a GPU has no driver, that is Mesa's renderer in software.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Once;

use crate::system::gpus::{BY_BUS, CUDA_ORDER};

const DISABLE_TELEMETRY: &str = "ORT_DISABLE_TELEMETRY";
/// The variable by which the Vulkan loader leaves drivers out, by the names of their files …
const DISABLED_DRIVERS: &str = "VK_LOADER_DRIVERS_DISABLE";
/// … those of renderers in software …
const SOFTWARE_DRIVERS: &str = "*lvp_icd*,*swiftshader*";
/// … and the user's variable by which WebGPU may take them, which its plugin reads too.
pub(super) const SOFTWARE_VARIABLE: &str = "ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER";

/// Whether a renderer in software counts as a GPU: for the engine, `doctor` and `setup` alike.
pub fn software_counts_as_gpu() -> bool {
    allows_software(env::var_os(SOFTWARE_VARIABLE).as_deref())
}

fn allows_software(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| !value.is_empty() && value != "0")
}

/// Forbids telemetry, and renderers in software unless the user allows them, and orders CUDA's GPUs. Must be
/// called before any library of ONNX Runtime or of a device is used. Does so once.
pub(super) fn set_variables() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        // The user may allow renderers in software, or hide drivers.
        let hides = !software_counts_as_gpu() && env::var_os(DISABLED_DRIVERS).is_none();
        let drivers = hides.then_some((DISABLED_DRIVERS, SOFTWARE_DRIVERS));
        // CUDA counts GPUs as NVIDIA's tools do, unless the user wants another order.
        let order = env::var_os(CUDA_ORDER).is_none().then_some((CUDA_ORDER, BY_BUS));
        let variables = [(DISABLE_TELEMETRY, "1")].into_iter().chain(drivers).chain(order);
        for (name, value) in variables {
            // SAFETY: whatever reads the environment in Rust does so under the standard library's lock.
            // Foreign code that could read it on another thread without that lock is all in the libraries
            // that are used after this.
            unsafe { env::set_var(name, value) };
        }
    });
}

/// Lets Windows find libraries in `folders`, before those of the system. Elsewhere the variable names
/// programs.
pub(super) fn search_in(folders: &[PathBuf]) {
    if let Some(path) = search_path(folders, env::var_os("PATH").unwrap_or_default().as_os_str()) {
        // SAFETY: under Windows the system guards the environment by a lock of its own.
        unsafe { env::set_var("PATH", path) };
    }
}

/// With `folders` in front. `None` if nothing would change.
fn search_path(folders: &[PathBuf], path: &OsStr) -> Option<OsString> {
    let known: Vec<_> = env::split_paths(path).collect();
    let new: Vec<_> = folders
        .iter()
        .filter(|folder| !known.contains(folder))
        .cloned()
        .collect();
    if new.is_empty() {
        None
    } else {
        env::join_paths(new.into_iter().chain(known)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn telemetry_is_forbidden_for_good() {
        set_variables();
        assert_eq!(env::var(DISABLE_TELEMETRY).as_deref(), Ok("1"));
        set_variables();
        assert_eq!(env::var(DISABLE_TELEMETRY).as_deref(), Ok("1"));
        assert!(env::var_os(DISABLED_DRIVERS).is_some() || software_counts_as_gpu());
    }

    /// A regression: 0 and nothing were "no" for `setup` and `doctor`, and "yes" for the engine.
    #[test]
    fn software_counts_only_if_the_user_says_so() {
        for (value, is_allowed) in [
            (None, false),
            (Some(""), false),
            (Some("0"), false),
            (Some("1"), true),
        ] {
            let value = value.map(OsStr::new);
            assert_eq!(allows_software(value), is_allowed, "{value:?}");
        }
    }

    #[test]
    fn folders_come_to_the_search_path_once() {
        let [a, b] = ["/a", "/b"].map(PathBuf::from);
        let path = search_path(std::slice::from_ref(&a), b.as_os_str()).unwrap();
        assert_eq!(env::split_paths(&path).collect::<Vec<_>>(), [a.clone(), b]);
        assert_eq!(search_path(&[a], &path), None);
    }
}
