//! Ctrl-C, for commands that end in order when the user stops them.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::tools::Failure;

/// Returns a flag that becomes true when the user presses Ctrl-C. The second time the program ends at once.
pub(super) fn interruption() -> Result<&'static AtomicBool, Failure> {
    static STOP: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(|| {
        // The second time the user means it.
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .map_err(|error| Failure::Input(format!("Ctrl-C cannot be heard: {error}")))?;
    Ok(&STOP)
}
