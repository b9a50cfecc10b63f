//! Messages on stderr about work that takes long, and for how long it has taken.

use std::fmt::Display;
use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{RecvTimeoutError, Sender, bounded};

/// The time between two lines.
const INTERVAL: Duration = Duration::from_secs(10);

/// Writes messages until it is dropped.
pub(super) struct ProgressMessage {
    _told: Sender<()>,
}

impl ProgressMessage {
    /// Tells `what` now, and every ten seconds how long that has taken.
    pub(super) fn tell(what: String) -> ProgressMessage {
        let (told, done) = bounded::<()>(0);
        let start = Instant::now();
        eprint_message(format_args!("{what}; the first time this takes minutes."));
        thread::spawn(move || {
            while done.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                eprint_message(format_args!("{what}: {} s so far", start.elapsed().as_secs()));
            }
        });
        ProgressMessage { _told: told }
    }
}

/// Writes a line to stderr. Where nobody can read it, the work goes on.
pub(super) fn eprint_message(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}
