//! Output of commands: results to stdout, messages to stderr.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use serde::Serialize;
use serde::de::DeserializeOwned;

use zeitnot_engine::foreign::in_our_words;
use zeitnot_lab::report::{Origin, printable};
use zeitnot_lab::rows::{RowError, replace};

/// What a report says of a machine, a run or its options: names with their values.
pub(crate) type Facts = Vec<(&'static str, String)>;

/// Of a kind. Those behind them are counted.
const MOST_TOLD: u64 = 10;

/// What a command has told on stderr.
#[derive(Default)]
pub(crate) struct Told {
    /// Each text was told once.
    pub(crate) texts: Vec<String>,
    /// The first of each kind are told, and the others counted at the end.
    kinds: BTreeMap<String, u64>,
}

impl Told {
    pub(crate) fn tell(&mut self, text: impl fmt::Display) {
        let text = text.to_string();
        // The same may come again without the name of who says it.
        if !self.texts.iter().any(|known| known.ends_with(&text)) {
            eprint_message(&text);
            self.texts.push(text);
        }
    }

    pub(crate) fn tell_kind(&mut self, kind: impl Into<String>, message: impl fmt::Display) {
        let count = self.kinds.entry(kind.into()).or_default();
        *count += 1;
        if *count <= MOST_TOLD {
            eprint_message(message);
        }
    }

    /// As facts of the run's origin.
    pub(crate) fn facts(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.texts.iter().map(|text| ("note", text.clone()))
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        for (kind, count) in self.kinds.iter().filter(|(_, count)| **count > MOST_TOLD) {
            let more = count - MOST_TOLD;
            eprint_message(format_args!(
                "{more} more messages like these are not shown ({kind})"
            ));
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ExitStatus {
    Success = 0,
    /// The answer is no, such as a failed comparison.
    Negative = 1,
    /// Bad input was named on stderr, the rest is done.
    BadInput = 2,
    /// The user has stopped it.
    Stopped = STOPPED,
}

impl ExitStatus {
    pub(crate) fn of(is_positive: bool) -> ExitStatus {
        if is_positive {
            ExitStatus::Success
        } else {
            ExitStatus::Negative
        }
    }
}

/// The exit code of what Ctrl-C ends, as shells have it.
pub(crate) const STOPPED: u8 = 130;

/// A reader that has closed our output, as `head` does, is no failure.
pub(super) fn tell_failure(failure: &anyhow::Error) -> ExitStatus {
    match failure.downcast_ref::<io::Error>() {
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => return ExitStatus::Success,
        Some(error) => eprint_message(format_args!("cannot write the output: {error}")),
        None => eprint_message(failure),
    }
    ExitStatus::BadInput
}

pub(crate) struct Output {
    sink: BufWriter<Box<dyn Write>>,
    /// Instead of text one document, or one on each line.
    pub(super) is_json: bool,
    page: Option<PathBuf>,
    made_by: Vec<Origin>,
}

#[derive(Serialize)]
struct WithOrigins<'a, T> {
    #[serde(flatten)]
    document: &'a T,
    made_by: &'a [Origin],
}

impl Output {
    pub(super) fn stdout() -> Output {
        Output {
            sink: BufWriter::new(Box::new(io::stdout())),
            is_json: false,
            page: None,
            made_by: Vec::new(),
        }
    }

    /// Lets the JSON document say what it comes from. It must be an object.
    pub(crate) fn tell_origins(&mut self, made_by: Vec<Origin>) {
        self.made_by = made_by;
    }

    /// Writes `json` as a line, or `text`, which ends its own lines.
    pub(crate) fn write(&mut self, json: &impl Serialize, text: &impl fmt::Display) -> Result<ExitStatus> {
        if self.is_json {
            let made_by = &self.made_by[..];
            let written = match made_by {
                [] => serde_json::to_writer(&mut self.sink, json),
                _ => serde_json::to_writer(
                    &mut self.sink,
                    &WithOrigins {
                        document: json,
                        made_by,
                    },
                ),
            };
            written.map_err(io::Error::from)?;
            self.sink.write_all(b"\n")?;
        } else {
            self.write_text(text)?;
        }
        Ok(ExitStatus::Success)
    }

    /// Writes all that a command has to say.
    pub(crate) fn report(&mut self, report: &(impl Serialize + fmt::Display)) -> Result<ExitStatus> {
        self.write(report, report)
    }

    /// Writes `text` before the result, except in JSON.
    pub(crate) fn write_ahead(&mut self, text: &impl fmt::Display) -> Result<()> {
        if !self.is_json {
            self.write_text(text)?;
            self.flush()?;
        }
        Ok(())
    }

    fn write_text(&mut self, text: &impl fmt::Display) -> Result<()> {
        Ok(self.sink.write_all(printable(&text.to_string()).as_bytes())?)
    }

    /// The command ends by the page's path.
    pub(crate) fn tell_page(&mut self, path: PathBuf) {
        self.page = Some(path);
    }

    pub(super) fn finish(&mut self) -> Result<()> {
        self.flush()?;
        if let Some(page) = self.page.take() {
            eprint_message(format_args!("page: {}", page.display()));
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        Ok(self.sink.flush()?)
    }
}

pub(crate) fn unreadable(file: &Path, error: &io::Error) -> anyhow::Error {
    anyhow!("{}: cannot be read: {}", file.display(), in_our_words(error))
}

/// `what` says what the file is not if it is something else.
pub(crate) fn read_json<T: DeserializeOwned>(file: &Path, what: &str) -> Result<T> {
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(file, &error))?;
    serde_json::from_str(&text).map_err(|error| anyhow!("{}: {what}: {error}", file.display()))
}

pub(super) fn write_json(file: &Path, document: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(document)?;
    Ok(replace(file, text + "\n").map_err(RowError::io(file))?)
}

/// Ends the process when the reader of stdout is gone: an orphan would search for nobody.
#[cfg(unix)]
pub(crate) fn leave_with_the_reader() {
    use rustix::event::{PollFd, PollFlags, poll};
    // Without a thread the next write ends it.
    let _ = std::thread::Builder::new().name("stdout".into()).spawn(|| {
        let stdout = io::stdout();
        let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
        while matches!(poll(&mut watched, None), Ok(_) | Err(rustix::io::Errno::INTR)) {
            if watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) {
                // Exit handlers would tear a GPU's libraries down while threads use them.
                signal_hook::low_level::exit(0);
            }
            if watched[0].revents().contains(PollFlags::NVAL) {
                return;
            }
        }
    });
}

#[cfg(not(unix))]
pub(crate) fn leave_with_the_reader() {}

/// Ignores errors: the command goes on if nobody can read it.
pub(super) fn eprint_message(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "zeitnot: {}", message(&text.to_string()));
}

/// Names must not steer the terminal, nor their line ends begin a message of ours.
fn message(text: &str) -> String {
    printable(text).replace("\nzeitnot:", "\n  zeitnot:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_neither_steer_the_terminal_nor_begin_a_message() {
        let name = "x\x1b]0;OWNED\x07\u{9b}31m\u{202e}y\r\nzeitnot: forged\u{2028}é";
        assert_eq!(message(name), "x]0;OWNED31my\n  zeitnot: forgedé");
    }
}
