//! The variables of this process's environment that we set, as ONNX Runtime and the Vulkan loader listen to nothing else.
//!
//! From 1.31 on ONNX Runtime writes an identity and a database of events into the user's cache folder as soon as an
//! environment is made, whatever is said to that environment later. And WebGPU takes whatever Vulkan offers: where a GPU has no
//! driver, that is Mesa's renderer in software.

use std::env;
use std::sync::Once;

/// The variable that ONNX Runtime reads when it is loaded.
const DISABLE_TELEMETRY: &str = "ORT_DISABLE_TELEMETRY";
/// The variable by which the Vulkan loader leaves drivers out, by the names of their files …
const DISABLED_DRIVERS: &str = "VK_LOADER_DRIVERS_DISABLE";
/// … those of renderers in software …
const SOFTWARE_DRIVERS: &str = "*lvp_icd*,*swiftshader*";
/// … and the user's variable by which WebGPU may take them.
const ALLOW_SOFTWARE: &str = "ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER";

/// Forbids telemetry, and renderers in software unless the user allows them. Must be called before any library of ONNX Runtime or of
/// a device is used; does so once.
pub(super) fn set_variables() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        let is_left_to_us = [ALLOW_SOFTWARE, DISABLED_DRIVERS].iter().all(|name| env::var_os(name).is_none());
        let drivers = is_left_to_us.then_some((DISABLED_DRIVERS, SOFTWARE_DRIVERS));
        for (name, value) in [(DISABLE_TELEMETRY, "1")].into_iter().chain(drivers) {
            // SAFETY: whatever reads the environment in Rust does so under the standard library's lock. Foreign code that could
            // read it on another thread without that lock is all in the libraries that are used after this.
            unsafe { env::set_var(name, value) };
        }
    });
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
        assert!(env::var_os(DISABLED_DRIVERS).is_some() || env::var_os(ALLOW_SOFTWARE).is_some());
    }
}
