//! Reads the GUI's lines on a thread of its own, to note when each came.

use std::io::BufRead;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, bounded};

use super::output::UciOutput;
use zeitnot_engine::files::{LineError, Lines};

/// Lines read ahead of the session.
const MAX_AHEAD: usize = 1 << 10;
/// How long a write may be stuck after the input's end.
const WRITE_PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(50);

pub(super) struct Received {
    pub(super) line: Result<String, LineError>,
    /// When it was read. A clock that `go` starts runs since then.
    pub(super) at: Instant,
}

/// The session must end after them: if `output` is not read, the process ends.
pub(super) fn lines(input: impl BufRead + Send + 'static, output: &UciOutput) -> Receiver<Received> {
    let (sender, lines) = bounded(MAX_AHEAD);
    let output = output.clone();
    std::thread::spawn(move || {
        read(input, sender);
        leave_if_stuck(&output);
    });
    lines
}

fn read(input: impl BufRead, lines: Sender<Received>) {
    for line in Lines::new(input) {
        let at = Instant::now();
        let line = match line {
            Ok((_, text)) => Ok(text),
            Err(error @ LineError::TooLong(_)) => Err(error),
            Err(LineError::Read(_)) => return,
        };
        let is_last = line.as_ref().is_ok_and(|text| text.trim_ascii() == "quit");
        if lines.send(Received { line, at }).is_err() || is_last {
            return;
        }
    }
}

/// All that is left would wait for a stuck write.
fn leave_if_stuck(output: &UciOutput) {
    let over = Instant::now();
    while output.is_shared() {
        std::thread::sleep(TICK);
        let writing_since = output.writing_since().map(|since| since.max(over));
        if writing_since.is_some_and(|since| since.elapsed() > WRITE_PATIENCE) {
            // Exit handlers would tear a GPU's libraries down while threads use them.
            signal_hook::low_level::exit(0);
        }
    }
}
