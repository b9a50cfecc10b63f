//! Ctrl-C, for commands that end in order when the user stops them.

use std::sync::atomic::{AtomicBool, Ordering};

use super::command_line::command_line;
use crate::tools::Failure;
use crate::tools::output::eprint_message;

/// The exit code of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Returns a flag that becomes true when the user presses Ctrl-C. The second time the program ends at once.
pub(super) fn interruption() -> Result<&'static AtomicBool, Failure> {
    static STOP: AtomicBool = AtomicBool::new(false);
    on_interruption(|| {
        // The second time the user means it.
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
    })?;
    Ok(&STOP)
}

/// Ends the program when the user presses Ctrl-C, with `farewell` as its last message, whatever it is doing.
pub(super) fn end_on_interruption(farewell: String) -> Result<(), Failure> {
    on_interruption(move || {
        eprint_message(&farewell);
        std::process::exit(INTERRUPTED);
    })
}

fn on_interruption(handle: impl FnMut() + Send + 'static) -> Result<(), Failure> {
    ctrlc::set_handler(handle).map_err(|error| Failure::Input(format!("Ctrl-C cannot be heard: {error}")))
}

/// Says that the user has stopped the run, and how to go on with what `is_kept` of it.
pub(super) fn tell_stopped(is_kept: bool) {
    if is_kept {
        eprint_message(format_args!("stopped; the same command goes on:\n{}", command_line()));
    } else {
        eprint_message("stopped; nothing is kept to go on with: give --out FOLDER the next time");
    }
}
