//! The one variable of this process's environment that we set: it keeps ONNX Runtime from recording its use.
//!
//! From 1.31 on ONNX Runtime writes an identity and a database of events into the user's cache folder as soon as an
//! environment is made, whatever is said to that environment later. Only this variable prevents it.

use std::sync::Once;

/// The variable that ONNX Runtime reads when it is loaded.
const DISABLE_TELEMETRY: &str = "ORT_DISABLE_TELEMETRY";

/// Forbids telemetry. Must be called before any library of ONNX Runtime or of a device is loaded; does so once.
pub(super) fn forbid_telemetry() {
    static DONE: Once = Once::new();
    // SAFETY: whatever reads the environment in Rust does so under the standard library's lock. Foreign code that could
    // read it on another thread without that lock is all in the libraries that are loaded after this.
    DONE.call_once(|| unsafe { std::env::set_var(DISABLE_TELEMETRY, "1") });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn telemetry_is_forbidden_for_good() {
        forbid_telemetry();
        assert_eq!(std::env::var(DISABLE_TELEMETRY).as_deref(), Ok("1"));
        forbid_telemetry();
        assert_eq!(std::env::var(DISABLE_TELEMETRY).as_deref(), Ok("1"));
    }
}
