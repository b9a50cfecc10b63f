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
    /// Closed when this is dropped, which ends the thread.
    _stop: Sender<()>,
}

impl ProgressMessage {
    /// Writes that `what` begins, and every ten seconds how long it has taken.
    pub(super) fn start(what: String) -> ProgressMessage {
        let (stop, stopped) = bounded::<()>(0);
        let start = Instant::now();
        eprint_message(format_args!("{what}; the first time this takes minutes."));
        thread::spawn(move || {
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                eprint_message(format_args!("{what}: {} s so far", start.elapsed().as_secs()));
            }
        });
        ProgressMessage { _stop: stop }
    }
}

/// Writes a line to stderr. Where nobody can read it, the work goes on.
pub(super) fn eprint_message(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}
