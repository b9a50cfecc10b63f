//! Reads the GUI's lines on a thread, to note when each came.

use std::collections::VecDeque;
use std::io::BufRead;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, bounded};

use super::output::UciOutput;
use zeitnot_engine::files::{LineError, Lines};
use zeitnot_engine::foreign::in_our_words;

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

/// The lines of the GUI.
pub(super) struct Input {
    lines: Receiver<Received>,
    /// Read amid a command that takes long.
    put_off: VecDeque<Received>,
}

impl Input {
    /// The session must end with its input: if `output` is not read then, the process ends. Without a thread
    /// the input is empty.
    pub(super) fn read(input: impl BufRead + Send + 'static, output: &UciOutput) -> Input {
        let (sender, lines) = bounded(MAX_AHEAD);
        let shared = output.clone();
        let reader = std::thread::Builder::new().name("input".into()).spawn(move || {
            read(input, &sender);
            drop(sender);
            leave_if_stuck(&shared);
        });
        if let Err(error) = reader {
            output.error(format!(
                "no thread can be started to read commands: {}",
                in_our_words(&error)
            ));
        }
        Input {
            lines,
            put_off: VecDeque::new(),
        }
    }

    pub(super) fn next(&mut self, patience: Duration) -> Result<Received, RecvTimeoutError> {
        match self.put_off.pop_front() {
            Some(received) => Ok(received),
            None => self.lines.recv_timeout(patience),
        }
    }

    /// The next line that has come and was not seen.
    pub(super) fn look_ahead(&mut self) -> Result<Received, TryRecvError> {
        if self.put_off.len() < MAX_AHEAD {
            self.lines.try_recv()
        } else {
            Err(TryRecvError::Empty)
        }
    }

    pub(super) fn put_off(&mut self, received: Received) {
        self.put_off.push_back(received);
    }

    /// Whether a line that was put off ends what is done.
    pub(super) fn has_put_off_an_end(&self) -> bool {
        self.put_off.iter().any(|received| {
            let text = received.line.as_deref().unwrap_or_default();
            matches!(text.trim_ascii(), "stop" | "quit")
        })
    }
}

fn read(input: impl BufRead, lines: &Sender<Received>) {
    for line in Lines::new(input) {
        let line = match line {
            Ok((_, text)) => Ok(text),
            Err(error @ LineError::TooLong(_)) => Err(error),
            Err(LineError::Read(_)) => return,
        };
        let is_last = line.as_ref().is_ok_and(|text| text.trim_ascii() == "quit");
        let at = Instant::now();
        if lines.send(Received { line, at }).is_err() || is_last {
            return;
        }
    }
}

/// If the GUI has taken no line for a second after the end of its input.
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

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Lines without end, of which it counts how many were read.
    struct Endless(Arc<AtomicUsize>);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0.fetch_add(1, Ordering::Relaxed);
            buffer[..2].copy_from_slice(b"x\n");
            Ok(2)
        }
    }

    #[test]
    fn no_more_lines_are_read_ahead_than_the_limit() {
        let count = Arc::new(AtomicUsize::new(0));
        let input = BufReader::with_capacity(2, Endless(count.clone()));
        let mut input = Input::read(input, &UciOutput::new(std::io::sink(), ""));
        let first = input.next(WRITE_PATIENCE).unwrap();
        assert!(
            first.at <= Instant::now(),
            "a clock that it starts runs since it was read"
        );
        // It would take microseconds to read more.
        let read = || count.load(Ordering::Relaxed);
        let began = Instant::now();
        while read() < MAX_AHEAD || began.elapsed() < 2 * TICK {
            std::thread::sleep(TICK);
        }
        assert!(read() <= MAX_AHEAD + 2, "{}", read());
    }
}
