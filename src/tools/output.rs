//! Writes what commands have to say: their results to stdout, as text or as JSON, messages to stderr.

use std::fmt;
use std::io::{self, BufWriter, Write};

use serde::Serialize;

use super::Failure;

/// A command's output. If the reader has gone, writing fails with an error for which [`Failure::is_closed_pipe`] is true.
pub struct Output {
    sink: BufWriter<Box<dyn Write>>,
    format: OutputFormat,
}

/// The two forms of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// Text for people.
    Text,
    /// JSON for scripts: one document, or one on each line.
    Json,
}

impl Output {
    /// Returns an output that writes to stdout: JSON if `json`, else text.
    pub(super) fn stdout(json: bool) -> Output {
        let format = if json { OutputFormat::Json } else { OutputFormat::Text };
        Output { sink: BufWriter::new(Box::new(io::stdout())), format }
    }

    /// Returns the form that the user asked for.
    pub fn format(&self) -> OutputFormat {
        self.format
    }

    /// Writes `document` as one line of JSON if the user asked for JSON, else `text`, which ends its own lines.
    ///
    /// # Errors
    /// [`Failure::Output`] if it cannot be written.
    pub fn write(&mut self, document: &impl Serialize, text: &impl fmt::Display) -> Result<(), Failure> {
        match self.format {
            OutputFormat::Json => {
                serde_json::to_writer(&mut self.sink, document).map_err(io::Error::from)?;
                self.sink.write_all(b"\n")?;
            }
            OutputFormat::Text => write!(self.sink, "{text}")?,
        }
        Ok(())
    }

    /// Passes on to the reader at once what was written so far.
    ///
    /// # Errors
    /// [`Failure::Output`] if it cannot be written.
    pub fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.sink.flush()?)
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("format", &self.format).finish_non_exhaustive()
    }
}

/// Returns `document` as JSON of several lines, for a file.
///
/// # Errors
/// Fails if it cannot be written as JSON.
pub(super) fn pretty_json(document: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(document)? + "\n")
}

/// Writes a message for people to stderr. If nobody can read it, the command goes on.
pub(super) fn eprint_message(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "zeitnot: {text}");
}
