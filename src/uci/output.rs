//! Writes lines to the GUI and the log. The session and search threads share it under a lock.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use parking_lot::Mutex;

use zeitnot_engine::VERSION;
use zeitnot_engine::files::path_of;
use zeitnot_engine::foreign::{self, one_line, our_words};
use zeitnot_engine::note::Note;
use zeitnot_lab::report::printable;

#[derive(Clone)]
pub(super) struct UciOutput {
    channel: Arc<Mutex<Channel>>,
    /// A write may wait for the reader while it holds the channel's lock.
    writing_since: Arc<Mutex<Option<Instant>>>,
}

struct Channel {
    sink: Box<dyn Write + Send>,
    /// A write failed, because the reader has gone.
    is_broken: bool,
    log: Option<Box<dyn Write + Send>>,
    /// The `LogFile` that was opened or tried.
    log_name: String,
    /// Many hosts never read stderr, and a full pipe would stop the engine.
    stderr_left: usize,
}

/// Most bytes to stderr: a quarter of the smallest default pipe of Linux.
const MAX_STDERR: usize = 16 << 10;

impl UciOutput {
    pub(super) fn new(sink: impl Write + Send + 'static, log_name: &str) -> UciOutput {
        let channel = Channel {
            sink: Box::new(sink),
            is_broken: false,
            log: None,
            log_name: String::new(),
            stderr_left: MAX_STDERR,
        };
        let output = UciOutput {
            channel: Arc::new(Mutex::new(channel)),
            writing_since: Arc::default(),
        };
        let weak = Arc::downgrade(&output.channel);
        foreign::log_to(move |text| {
            if let Some(channel) = weak.upgrade() {
                channel.lock().log(REMARK, text);
            }
        });
        output.log_to(log_name);
        output
    }

    pub(super) fn writing_since(&self) -> Option<Instant> {
        *self.writing_since.lock()
    }

    /// True while another thread holds this output.
    pub(super) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.channel) > 1
    }

    /// Errors are dropped: the session ends with its input.
    pub(super) fn lines<T: AsRef<str>>(&self, lines: impl IntoIterator<Item = T>) {
        let mut channel = self.channel.lock();
        *self.writing_since.lock() = Some(Instant::now());
        for line in lines {
            channel.write(line.as_ref());
        }
        let flushed = channel.sink.flush();
        channel.is_broken |= flushed.is_err();
        *self.writing_since.lock() = None;
    }

    pub(super) fn is_broken(&self) -> bool {
        self.channel.lock().is_broken
    }

    pub(super) fn line(&self, line: impl AsRef<str>) {
        self.lines([line]);
    }

    /// Each line is an `info string`. An error is a single line, and goes to stderr too.
    pub(super) fn note(&self, note: impl Into<Note>) {
        let note = note.into();
        let text = printable(&note.to_string());
        if matches!(note, Note::Info(_)) {
            return self.lines(text.lines().map(|line| format!("info string {line}")));
        }
        let text = one_line(&text);
        self.channel.lock().write_to_stderr(&text);
        self.line(format!("info string {text}"));
    }

    /// All errors of a session come through here.
    pub(super) fn error(&self, error: impl Display) {
        self.note(Note::Error(error.to_string()));
    }

    /// Off if the name is empty. A file that failed is tried again.
    pub(super) fn log_to(&self, name: &str) {
        let mut channel = self.channel.lock();
        if channel.log.is_some() && channel.log_name == name {
            return;
        }
        channel.log_name = name.into();
        channel.log = None;
        if name.is_empty() {
            return;
        }
        match open_log(name) {
            Ok(log) => channel.log = Some(log),
            Err(error) => channel.report_lost_log(&error),
        }
        let _ = channel.sink.flush();
    }

    pub(super) fn log(&self, mark: &str, text: &str) {
        self.channel.lock().log(mark, text);
    }
}

impl Channel {
    fn write(&mut self, line: &str) {
        self.is_broken |= writeln!(self.sink, "{line}").is_err();
        self.log(SENT, line);
    }

    fn log(&mut self, mark: &str, line: &str) {
        if let Some(log) = &mut self.log
            && let Err(error) = write_entry(&mut **log, mark, line)
        {
            self.log = None;
            self.report_lost_log(&error);
        }
    }

    fn report_lost_log(&mut self, error: &io::Error) {
        let name = &self.log_name;
        let reason = our_words(error);
        let note = Note::Error(format!(
            "cannot write the log file {name}: {reason}. Nothing is logged"
        ));
        self.write_to_stderr(&note.to_string());
        let _ = writeln!(self.sink, "info string {note}");
    }

    fn write_to_stderr(&mut self, text: &str) {
        if let Some(left) = self.stderr_left.checked_sub(text.len()) {
            self.stderr_left = left;
            let _ = writeln!(io::stderr(), "zeitnot: {text}");
        }
    }
}

const STDERR: &str = "<stderr>";

/// Marks in the log: a line from the GUI, …
pub(super) const RECEIVED: &str = ">>";
/// … one to the GUI, …
const SENT: &str = "<<";
/// … and one for the log alone.
pub(super) const REMARK: &str = "--";

/// Lines are written at once, so that a crash loses nothing.
fn open_log(name: &str) -> io::Result<Box<dyn Write + Send>> {
    let mut log: Box<dyn Write + Send> = match name {
        STDERR => Box::new(io::stderr()),
        path => Box::new(OpenOptions::new().create(true).append(true).open(path_of(path))?),
    };
    let beginning = format!("Zeitnot {VERSION} begins to log");
    write_entry(&mut *log, REMARK, &beginning)?;
    Ok(log)
}

fn write_entry(log: &mut dyn Write, mark: &str, line: &str) -> io::Result<()> {
    log.write_all(format!("{:.3} {mark} {line}\n", Timestamp::now()).as_bytes())
}
