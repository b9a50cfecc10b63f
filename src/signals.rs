//! What signals do to this process, where the system's own choice is wrong.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// For process 1, as in a container, the system has no default actions.
static ENDS_AT_INTERRUPTION: LazyLock<Arc<AtomicBool>> =
    LazyLock::new(|| Arc::new(AtomicBool::new(std::process::id() == 1)));

/// To be called at the start of the process.
#[cfg(unix)]
pub fn set_up() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
    use signal_hook::flag;

    // A file at its limit (`ulimit -f`) is then an error of the write.
    let _ = flag::register(SIGXFSZ, Arc::default());
    if std::process::id() == 1 {
        let ends = ENDS_AT_INTERRUPTION.clone();
        let _ = flag::register_conditional_shutdown(SIGINT, crate::output::STOPPED.into(), ends);
        for signal in [SIGTERM, SIGHUP, SIGQUIT] {
            let always = Arc::new(AtomicBool::new(true));
            let _ = flag::register_conditional_shutdown(signal, 128 + signal, always);
        }
    }
}

#[cfg(not(unix))]
pub fn set_up() {}

/// Leaves Ctrl-C to a command that ends in order.
pub(crate) fn hear_interruption() {
    ENDS_AT_INTERRUPTION.store(false, Ordering::Relaxed);
}
