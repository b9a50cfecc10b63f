//! Writes lines to the GUI and the log. The session and search threads share it under a lock.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::aside::{Aside, REMARK, SENT, Trouble, entry};
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
    log: Option<Arc<Aside>>,
    /// The `LogFile` that was opened or tried.
    log_name: String,
    /// Started by the first line.
    stderr: Option<Arc<Aside>>,
    /// Many hosts never read stderr, and libraries would find a full pipe.
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
            stderr: None,
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

    /// Lines are `info string`s. An error is a single line, and goes to stderr too.
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
        let old = {
            let mut channel = self.channel.lock();
            let is_open = channel.log.as_ref().is_some_and(|log| !log.is_over());
            if is_open && channel.log_name == name {
                return;
            }
            channel.log_name = name.into();
            channel.log.take()
        };
        // Answers do not wait for a log: the lock is free meanwhile.
        if let Some(old) = old {
            old.settle();
        }
        if name.is_empty() {
            return;
        }
        let log = self.channel.lock().begin_log();
        let is_written = log.settle();
        let mut channel = self.channel.lock();
        if is_written {
            channel.write_log("");
        } else {
            let news = format!("nobody takes the lines of the log file {name} yet. They wait");
            channel.tell(&Note::Info(news));
        }
    }

    /// Lets lines that were written aside reach their readers, if those take them.
    pub(super) fn settle(&self) {
        let asides = {
            let channel = self.channel.lock();
            [channel.log.clone(), channel.stderr.clone()]
        };
        for aside in asides.into_iter().flatten() {
            aside.settle();
        }
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
        if self.log.is_some() {
            self.write_log(&entry(mark, line));
        }
    }

    /// Empty lines only ask whether the log has failed.
    fn write_log(&mut self, lines: &str) {
        if let Some(log) = &self.log
            && let Err(trouble) = log.write(lines)
        {
            self.tell_trouble(trouble);
        }
    }

    fn begin_log(&mut self) -> Arc<Aside> {
        let log = if self.log_name == STDERR {
            self.stderr().clone()
        } else {
            let path = path_of(&self.log_name);
            Arc::new(Aside::start(move || {
                OpenOptions::new().create(true).append(true).open(path)
            }))
        };
        self.log = Some(log.clone());
        self.log(REMARK, &format!("Zeitnot {VERSION} begins to log"));
        log
    }

    fn stderr(&mut self) -> &Arc<Aside> {
        self.stderr
            .get_or_insert_with(|| Arc::new(Aside::start(|| Ok(io::stderr()))))
    }

    fn tell_trouble(&mut self, trouble: Trouble) {
        let name = &self.log_name;
        let text = match trouble {
            Trouble::Failed(error) => {
                let reason = our_words(&error);
                self.log = None;
                format!("cannot write the log file {name}: {reason}. Nothing is logged")
            }
            Trouble::Full => format!("the log file {name} takes no lines. They are left out and counted"),
        };
        let note = Note::Error(text);
        self.write_to_stderr(&note.to_string());
        self.tell(&note);
    }

    /// To the GUI alone.
    fn tell(&mut self, note: &Note) {
        let _ = writeln!(self.sink, "info string {note}");
        let _ = self.sink.flush();
    }

    fn write_to_stderr(&mut self, text: &str) {
        let Some(left) = self.stderr_left.checked_sub(text.len()) else {
            return;
        };
        self.stderr_left = left;
        let line = format!("zeitnot: {text}\n");
        if let Err(Trouble::Failed(_)) = self.stderr().write(&line) {
            // No thread is to be had for it.
            let _ = io::stderr().write_all(line.as_bytes());
        }
    }
}

const STDERR: &str = "<stderr>";
