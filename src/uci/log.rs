//! The log of a session: every line with the time at which it was read or written.

use std::fs::OpenOptions;
use std::io::{self, Write};

use jiff::Timestamp;

use crate::version::VERSION;

/// The value of `LogFile` that stands for the console.
const STDERR: &str = "<stderr>";

/// The direction of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The line came from the GUI.
    Received,
    /// The line went to the GUI.
    Sent,
    /// The line is for the log alone.
    Remark,
}

/// An open log. Lines are written to the file at once, so that nothing is missing after a crash.
pub(super) struct SessionLog {
    sink: Box<dyn Write + Send>,
}

impl SessionLog {
    /// Opens the file `name` for appending, or the console if the name is `<stderr>`.
    pub(super) fn open(name: &str) -> io::Result<SessionLog> {
        let sink: Box<dyn Write + Send> = match name {
            STDERR => Box::new(io::stderr()),
            path => Box::new(OpenOptions::new().create(true).append(true).open(path)?),
        };
        let mut log = SessionLog { sink };
        log.write(Direction::Remark, &format!("Zeitnot {VERSION} begins to log"))?;
        Ok(log)
    }

    /// Adds a line with the present time (UTC, ms).
    pub(super) fn write(&mut self, direction: Direction, line: &str) -> io::Result<()> {
        self.sink.write_all(entry(Timestamp::now(), direction, line).as_bytes())
    }
}

/// Returns a line as it stands in the log.
fn entry(time: Timestamp, direction: Direction, line: &str) -> String {
    let mark = match direction {
        Direction::Received => ">>",
        Direction::Sent => "<<",
        Direction::Remark => "--",
    };
    format!("{time:.3} {mark} {line}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_begin_with_the_time() {
        let time = Timestamp::from_millisecond(1_700_000_000_042).unwrap();
        assert_eq!(
            entry(time, Direction::Received, "go nodes 5"),
            "2023-11-14T22:13:20.042Z >> go nodes 5\n"
        );
        assert_eq!(entry(time, Direction::Sent, "readyok"), "2023-11-14T22:13:20.042Z << readyok\n");
    }
}
