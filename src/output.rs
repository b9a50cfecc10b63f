//! Output of commands: results to stdout, messages to stderr.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::setup::{DownloadError, NotFetched};
use zeitnot_engine::engine::EngineError;
use zeitnot_engine::foreign::in_our_words;
use zeitnot_engine::network::BackendError;
use zeitnot_engine::network::backends::onnxruntime::LibraryError;
use zeitnot_engine::network::weights::NetworkError;
use zeitnot_lab::LabError;
use zeitnot_lab::report::printable;
use zeitnot_lab::rows::{RowError, replace};

/// Messages of a kind that are told. Those behind them are counted.
const MOST_TOLD: u64 = 10;

/// What a command has told on stderr.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Each text was told once.
    pub(crate) texts: Vec<String>,
    /// Messages by their kinds, the first of each told, and the others counted at the end.
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
            eprint_message(format_args!("{more} more messages like these are not shown ({kind})"));
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// Exit code 0.
    Success,
    /// The answer is no, such as a failed comparison: exit code 1.
    Negative,
    /// Bad input was named on stderr, the rest is done: exit code 2.
    BadInput,
    /// The user has stopped it: exit code [`STOPPED`].
    Stopped,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> ExitCode {
        ExitCode::from(match status {
            ExitStatus::Success => 0,
            ExitStatus::Negative => 1,
            ExitStatus::BadInput => 2,
            ExitStatus::Stopped => STOPPED,
        })
    }
}

/// The exit code of what Ctrl-C ends, as shells have it.
pub(crate) const STOPPED: u8 = 130;

/// Its text is the one message that the user sees.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error(transparent)]
    Library(#[from] LibraryError),
    #[error(transparent)]
    NotFetched(#[from] NotFetched),
    #[error(transparent)]
    Download(#[from] DownloadError),
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Rows(#[from] RowError),
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    #[error("{0}")]
    Input(String),
}

impl Failure {
    /// The reader has closed our output, as `head` does, which is no error.
    pub(super) fn is_closed_pipe(&self) -> bool {
        matches!(self, Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Writing to a closed pipe fails with [`Failure::is_closed_pipe`].
pub(crate) struct Output {
    sink: BufWriter<Box<dyn Write>>,
    format: OutputFormat,
    page: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputFormat {
    Text,
    /// One document, or one on each line.
    Json,
}

impl Output {
    pub(super) fn stdout(format: OutputFormat) -> Output {
        Output { sink: BufWriter::new(Box::new(io::stdout())), format, page: None }
    }

    /// Writes `document` as a line of JSON, or `text`, which ends its own lines.
    pub(crate) fn write(
        &mut self,
        document: &impl Serialize,
        text: &impl fmt::Display,
    ) -> Result<(), Failure> {
        match self.format {
            OutputFormat::Json => {
                serde_json::to_writer(&mut self.sink, document).map_err(io::Error::from)?;
                self.sink.write_all(b"\n")?;
            }
            OutputFormat::Text => self.write_text(text)?,
        }
        Ok(())
    }

    /// Writes all that a command has to say.
    pub(crate) fn report(&mut self, report: &(impl Serialize + fmt::Display)) -> Result<ExitStatus, Failure> {
        self.write(report, report).map(|()| ExitStatus::Success)
    }

    /// Writes `text` before the result, except in JSON.
    pub(crate) fn write_ahead(&mut self, text: &impl fmt::Display) -> Result<(), Failure> {
        if self.format == OutputFormat::Text {
            self.write_text(text)?;
            self.flush()?;
        }
        Ok(())
    }

    fn write_text(&mut self, text: &impl fmt::Display) -> Result<(), Failure> {
        Ok(self.sink.write_all(printable(&text.to_string()).as_bytes())?)
    }

    /// Lets the command end by the path of a page that it has written.
    pub(crate) fn tell_page(&mut self, path: PathBuf) {
        self.page = Some(path);
    }

    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        self.flush()?;
        if let Some(page) = self.page.take() {
            eprint_message(format_args!("page: {}", page.display()));
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.sink.flush()?)
    }
}

/// Reads a file of JSON that the user names. `what` says what it is not if it is something else.
pub(crate) fn read_json<T: DeserializeOwned>(file: &Path, what: &str) -> Result<T, Failure> {
    let refuse = |error: String| Failure::Input(format!("{}: {error}", file.display()));
    let text = std::fs::read_to_string(file)
        .map_err(|error| refuse(format!("cannot be read: {}", in_our_words(&error))))?;
    serde_json::from_str(&text).map_err(|error| refuse(format!("{what}: {error}")))
}

pub(super) fn write_json(file: &Path, document: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(document).map_err(io::Error::from)?;
    Ok(replace(file, text + "\n").map_err(RowError::io(file))?)
}

/// Ends the process as soon as the reader of stdout is gone, although stdin may stay open: an orphan would
/// search for nobody.
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

/// Names from files and engines must not steer the terminal, and their line ends begin no message of ours.
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
