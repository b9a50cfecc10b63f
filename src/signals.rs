//! What signals do to this process, where the system's own choice is wrong.

#[cfg(unix)]
mod unix {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, LazyLock};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
    use signal_hook::flag;

    use crate::output::STOPPED;

    static ENDS_AT_INTERRUPTION: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

    pub(super) fn set_up() {
        // A file at its limit of size (`ulimit -f`) is then an error of the write, as a full disk is.
        let _ = flag::register(SIGXFSZ, Arc::default());
        // For process 1, as in a container, the system has no default actions.
        if std::process::id() == 1 {
            ENDS_AT_INTERRUPTION.store(true, Ordering::Relaxed);
            let ends = ENDS_AT_INTERRUPTION.clone();
            let _ = flag::register_conditional_shutdown(SIGINT, STOPPED.into(), ends);
            for signal in [SIGTERM, SIGHUP, SIGQUIT] {
                let always = Arc::new(AtomicBool::new(true));
                let _ = flag::register_conditional_shutdown(signal, 128 + signal, always);
            }
        }
    }

    pub(super) fn hear_interruption() {
        ENDS_AT_INTERRUPTION.store(false, Ordering::Relaxed);
    }
}

/// To be called at the start of the process.
pub fn set_up() {
    #[cfg(unix)]
    unix::set_up();
}

/// Leaves Ctrl-C to a command that ends in order.
pub(crate) fn hear_interruption() {
    #[cfg(unix)]
    unix::hear_interruption();
}
