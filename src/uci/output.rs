//! Where lines for the GUI go: the output itself, and a copy to the log.
//!
//! Shared by the session and the threads of searches; lines never mix.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::log::{Direction, SessionLog};

/// Where all threads write whole lines.
#[derive(Clone)]
pub(super) struct UciOutput(Arc<Mutex<Channel>>);

struct Channel {
    sink: Box<dyn Write + Send>,
    /// A line could not be written: whoever read them has gone.
    is_broken: bool,
    log: Option<SessionLog>,
    /// The value of `LogFile` that `log` was opened with, or would have been.
    log_name: String,
}

impl UciOutput {
    /// Writes to `sink`, and logs to `log_name` unless that is empty.
    pub(super) fn new(sink: impl Write + Send + 'static, log_name: &str) -> UciOutput {
        let channel = Channel { sink: Box::new(sink), is_broken: false, log: None, log_name: String::new() };
        let output = UciOutput(Arc::new(Mutex::new(channel)));
        output.log_to(log_name);
        output
    }

    fn channel(&self) -> MutexGuard<'_, Channel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes and hands over `lines`. A GUI that has gone away cannot be told anything; the loop ends when its
    /// input does.
    pub(super) fn lines<T: AsRef<str>>(&self, lines: impl IntoIterator<Item = T>) {
        let mut channel = self.channel();
        for line in lines {
            channel.write(line.as_ref());
        }
        let flushed = channel.sink.flush();
        channel.is_broken |= flushed.is_err();
    }

    /// Has whoever read the lines gone?
    pub(super) fn is_broken(&self) -> bool {
        self.channel().is_broken
    }

    pub(super) fn line(&self, line: impl AsRef<str>) {
        self.lines([line]);
    }

    /// A message for people, on as many `info string` lines as it has.
    pub(super) fn note(&self, text: &str) {
        self.lines(text.lines().map(|line| format!("info string {line}")));
    }

    /// Logs to the file of this name from now on; nowhere if it is empty or cannot be written, which is told.
    pub(super) fn log_to(&self, name: &str) {
        let mut channel = self.channel();
        if channel.log_name == name {
            return;
        }
        channel.log_name = name.into();
        channel.log = None;
        if name.is_empty() {
            return;
        }
        match SessionLog::open(name) {
            Ok(log) => channel.log = Some(log),
            Err(error) => channel.report_lost_log(&error),
        }
        let _ = channel.sink.flush();
    }

    /// Logs a line that the GUI has sent.
    pub(super) fn log_received(&self, line: &str) {
        self.channel().log(Direction::Received, line.trim_end());
    }

    /// Logs what the GUI is not told.
    pub(super) fn log_remark(&self, text: &str) {
        self.channel().log(Direction::Remark, text);
    }
}

impl Channel {
    fn write(&mut self, line: &str) {
        self.is_broken |= writeln!(self.sink, "{line}").is_err();
        self.log(Direction::Sent, line);
    }

    fn log(&mut self, direction: Direction, line: &str) {
        if let Some(log) = &mut self.log
            && let Err(error) = log.write(direction, line)
        {
            self.log = None;
            self.report_lost_log(&error);
        }
    }

    fn report_lost_log(&mut self, error: &io::Error) {
        let name = &self.log_name;
        let _ = writeln!(
            self.sink,
            "info string error: cannot write the log file {name}: {error}; nothing is logged"
        );
    }
}
