//! Ctrl-C, for commands that end in order when the user stops them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::command_line::command_line;
use crate::tools::Failure;
use crate::tools::output::eprint_message;

/// The exit code of a program that Ctrl-C ended.
pub(super) const INTERRUPTED: i32 = 130;
/// The longest time that a program has to end by itself, if it is to end soon.
const GRACE: Duration = Duration::from_millis(1500);

/// Returns a flag that becomes true when the user presses Ctrl-C. The second time the program ends at once.
pub(super) fn interruption() -> Result<&'static AtomicBool, Failure> {
    on_interruption(|| ())
}

/// As [`interruption`], but the program ends within two seconds of the first time, with `farewell` as its last message, whatever it
/// is waiting for.
pub(super) fn interruption_soon(farewell: String) -> Result<&'static AtomicBool, Failure> {
    on_interruption(move || {
        let farewell = farewell.clone();
        // The thread of the handler has to hear the second time.
        std::thread::spawn(move || {
            std::thread::sleep(GRACE);
            eprint_message(farewell);
            std::process::exit(INTERRUPTED);
        });
    })
}

fn on_interruption(first_time: impl Fn() + Send + 'static) -> Result<&'static AtomicBool, Failure> {
    static STOP: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(move || {
        // The second time the user means it.
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
        first_time();
    })
    .map_err(|error| Failure::Input(format!("Ctrl-C cannot be heard: {error}")))?;
    Ok(&STOP)
}

/// Says that the user has stopped the run, and how to go on with what `is_kept` of it.
pub(super) fn tell_stopped(is_kept: bool) {
    if is_kept {
        eprint_message(format_args!("stopped; the same command goes on:\n{}", command_line()));
    } else {
        eprint_message("stopped; nothing is kept to go on with: give --out FOLDER the next time");
    }
}
