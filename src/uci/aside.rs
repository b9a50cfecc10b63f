//! Lines that are written aside from the answers: the log, and messages on stderr.
//!
//! A pipe that nobody reads or a disk that hangs must hold up no answer. So a thread opens the file and
//! writes. Lines that find no room meanwhile are left out and counted.

use std::io::{self, Write};
use std::mem;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use humantime::format_rfc3339_millis;
use parking_lot::{Condvar, Mutex};

/// Marks in the log: a line from the GUI, …
pub(super) const RECEIVED: &str = ">>";
/// … one to the GUI, …
pub(super) const SENT: &str = "<<";
/// … and one for the log alone.
pub(super) const REMARK: &str = "--";

/// Most bytes that wait.
const MAX_WAITING: usize = 1 << 20;
/// How long who opens or leaves a log waits for it.
const PATIENCE: Duration = Duration::from_millis(500);

/// A line of the log.
pub(super) fn entry(mark: &str, text: &str) -> String {
    format!("{} {mark} {text}\n", format_rfc3339_millis(SystemTime::now()))
}

/// Why a line is not written.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Nor will any other be.
    Failed(io::Error),
    /// Too many lines wait. Told at the first one that is left out.
    Full,
}

/// A writer on a thread of its own, which ends with this.
pub(super) struct Aside {
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    /// Lines left out since the last one that found room …
    left_out: u64,
    /// … and whether that was ever told.
    is_full_told: bool,
    /// The thread opens or writes, and has more to do than `lines`.
    is_busy: bool,
    /// No lines will come.
    is_closed: bool,
    /// The thread has ended, for the reason in `failure` unless that was told.
    is_over: bool,
    failure: Option<io::Error>,
}

impl Aside {
    pub(super) fn start<W: Write>(open: impl FnOnce() -> io::Result<W> + Send + 'static) -> Aside {
        let queue = Arc::new(Queue::default());
        queue.waiting.lock().is_busy = true;
        let shared = queue.clone();
        let thread = std::thread::Builder::new().name("aside".into()).spawn(move || {
            let written = open().and_then(|sink| shared.write_to(sink));
            shared.end(written);
        });
        if let Err(error) = thread {
            queue.end(Err(error));
        }
        Aside { queue }
    }

    /// Hands over whole lines, each with its end.
    pub(super) fn write(&self, line: &str) -> Result<(), Trouble> {
        let mut waiting = self.queue.waiting.lock();
        if waiting.is_over {
            return waiting
                .failure
                .take()
                .map_or(Ok(()), |error| Err(Trouble::Failed(error)));
        }
        if waiting.lines.len() + line.len() > MAX_WAITING {
            waiting.left_out += 1;
            let was_told = mem::replace(&mut waiting.is_full_told, true);
            return if was_told { Ok(()) } else { Err(Trouble::Full) };
        }
        let left_out = mem::take(&mut waiting.left_out);
        if left_out > 0 {
            let gap = format!("{left_out} lines are left out here, because nobody took them in time");
            waiting.lines.extend(entry(REMARK, &gap).as_bytes());
        }
        waiting.lines.extend(line.as_bytes());
        self.queue.changed.notify_all();
        Ok(())
    }

    pub(super) fn is_over(&self) -> bool {
        self.queue.waiting.lock().is_over
    }

    /// Waits until all lines are written, but not for ever. Whether they are.
    pub(super) fn settle(&self) -> bool {
        let mut waiting = self.queue.waiting.lock();
        let is_unwritten = |waiting: &mut Waiting| waiting.is_busy || !waiting.lines.is_empty();
        let waited = self
            .queue
            .changed
            .wait_while_for(&mut waiting, is_unwritten, PATIENCE);
        !waited.timed_out()
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        self.queue.waiting.lock().is_closed = true;
        self.queue.changed.notify_all();
    }
}

impl Queue {
    /// Written at once, so that a crash loses next to nothing.
    fn write_to(&self, mut sink: impl Write) -> io::Result<()> {
        loop {
            let mut waiting = self.waiting.lock();
            while waiting.lines.is_empty() {
                if waiting.is_closed {
                    return Ok(());
                }
                waiting.is_busy = false;
                self.changed.notify_all();
                self.changed.wait(&mut waiting);
            }
            waiting.is_busy = true;
            let lines = mem::take(&mut waiting.lines);
            drop(waiting);
            sink.write_all(&lines)?;
        }
    }

    fn end(&self, written: io::Result<()>) {
        let mut waiting = self.waiting.lock();
        waiting.is_busy = false;
        waiting.is_over = true;
        waiting.lines.clear();
        waiting.failure = written.err();
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam::channel::{Receiver, Sender, unbounded};

    /// A reader that takes a piece only when it is let.
    struct Slow {
        lets: Receiver<()>,
        took: Sender<Vec<u8>>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.lets.recv().map_err(io::Error::other)?;
            self.took.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A regression: the engine stood still for good when nobody read its log from stderr.
    #[test]
    fn lines_that_nobody_takes_hold_up_nobody_and_are_counted() {
        let ((let_one, lets), (took, taken)) = (unbounded(), unbounded());
        let aside = Aside::start(|| Ok(Slow { lets, took }));
        assert!(aside.settle());
        aside.write("first\n").unwrap();
        let line = format!("{}\n", "x".repeat(1 << 18));
        let tried: Vec<_> = (0..9).map(|_| aside.write(&line)).collect();
        let full = tried.iter().filter(|tried| matches!(tried, Err(Trouble::Full)));
        assert_eq!(full.count(), 1, "{tried:?}");
        assert!(!aside.settle());
        // The first piece is "first", alone or with lines behind it.
        (0..2).for_each(|_| let_one.send(()).unwrap());
        let mut text: Vec<u8> = taken.recv().unwrap();
        if text.len() < line.len() {
            text.extend(taken.recv().unwrap());
        }
        aside.write("later\n").unwrap();
        (0..2).for_each(|_| let_one.send(()).unwrap());
        assert!(aside.settle());
        text.extend(taken.try_iter().flatten());
        let text = String::from_utf8(text).unwrap();
        let kept = text.matches('x').count() / (1 << 18);
        let gap = format!(" -- {} lines are left out here, ", 9 - kept);
        assert!(text.starts_with("first\n") && kept >= 3, "{kept}");
        assert!(text.contains(&gap) && text.ends_with("time\nlater\n"), "{gap}");
    }

    #[test]
    fn a_failure_is_told_once() {
        let aside = Aside::start(|| Err::<io::Sink, _>(io::ErrorKind::NotFound.into()));
        assert!(aside.settle() && aside.is_over());
        assert!(matches!(aside.write("x\n"), Err(Trouble::Failed(_))));
        assert!(aside.write("x\n").is_ok());
    }
}
