//! What commands have to say: results to stdout, as text or as JSON, messages to stderr, and the one error in
//! which they end.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use serde::Serialize;
use thiserror::Error;

use crate::setup::{DownloadError, NotFetched};
use zeitnot_engine::engine::EngineError;
use zeitnot_engine::network::BackendError;
use zeitnot_engine::network::backends::onnxruntime::LibraryError;
use zeitnot_engine::network::weights::NetworkError;

/// The reason why a command could not do what it was asked for. Its text is the one message that the user
/// sees.
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
    /// A measurement of the laboratory failed. Its own error says why.
    #[error(transparent)]
    Measurement(Box<dyn std::error::Error + Send + Sync>),
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// The input is wrong. The text says what and where.
    #[error("{0}")]
    Input(String),
}

impl Failure {
    /// Whether the reader of our output has closed it, as `head` does. That is no error for the user.
    pub(super) fn is_closed_pipe(&self) -> bool {
        matches!(self, Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// A command's output. If the reader has gone, writing fails with an error for which
/// [`Failure::is_closed_pipe`] is true.
pub(crate) struct Output {
    sink: BufWriter<Box<dyn Write>>,
    format: OutputFormat,
    /// The page that the command has written.
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

    /// Writes `document` as one line of JSON if the user asked for JSON, else `text`, which ends its own
    /// lines.
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
            OutputFormat::Text => write!(self.sink, "{text}")?,
        }
        Ok(())
    }

    /// Shows `text` at once, before the result is there, or nothing if the user asked for JSON.
    pub(crate) fn write_ahead(&mut self, text: &impl fmt::Display) -> Result<(), Failure> {
        if self.format == OutputFormat::Text {
            write!(self.sink, "{text}")?;
            self.flush()?;
        }
        Ok(())
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

pub(super) fn write_json(file: &Path, document: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(document).map_err(io::Error::from)?;
    Ok(fs::write(file, text + "\n")?)
}

/// Writes a message for people to stderr. If nobody can read it, the command goes on.
pub(super) fn eprint_message(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "zeitnot: {text}");
}
