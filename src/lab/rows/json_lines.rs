//! Rows as lines of JSON, for rows that hold lists: the journal of a run, which goes on behind the last whole line.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::RowError;

/// A file of such rows, open to be continued.
#[derive(Debug)]
pub struct JsonLines {
    path: PathBuf,
    file: File,
}

impl JsonLines {
    /// Opens or makes a file. `take` gets the rows that are there, in order, and may refuse the file, which then stays as it was. A
    /// last line that was only half written is cut off.
    ///
    /// # Errors
    /// [`RowError::Io`] if the file cannot be used, [`RowError::Json`] if a line is no such row, and the errors of `take`.
    pub fn resume<R: DeserializeOwned, E: From<RowError>>(
        path: &Path,
        mut take: impl FnMut(R) -> Result<(), E>,
    ) -> Result<JsonLines, E> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let mut file = file.map_err(RowError::io(path))?;
        let (mut lines, mut whole) = (0, 0);
        let mut reader = BufReader::new(&mut file);
        let mut line = String::new();
        while reader.read_line(&mut line).map_err(RowError::io(path))? > 0 && line.ends_with('\n') {
            whole += line.len() as u64;
            lines += 1;
            let row = serde_json::from_str(&line);
            take(row.map_err(|error| RowError::Json { path: path.to_owned(), line: lines, error })?)?;
            line.clear();
        }
        file.set_len(whole).and_then(|()| file.seek(SeekFrom::End(0))).map_err(RowError::io(path))?;
        Ok(JsonLines { path: path.to_owned(), file })
    }

    /// Adds a row, which then survives the end of the program.
    ///
    /// # Errors
    /// [`RowError::Io`] if it cannot be written.
    pub fn add(&mut self, row: &impl Serialize) -> Result<(), RowError> {
        let line = serde_json::to_string(row).map_err(io::Error::from);
        let written = line.and_then(|line| self.file.write_all(format!("{line}\n").as_bytes()));
        written.map_err(RowError::io(&self.path))
    }
}
