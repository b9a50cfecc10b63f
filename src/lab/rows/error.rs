//! The errors of files of rows.

use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use thiserror::Error;

use super::row_file::Row;

/// The reason why rows could not be read or written. The message names the file.
#[derive(Debug, Error)]
pub enum RowError {
    /// The file could not be opened, read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A row is not of its kind.
    #[error("{}: no rows of {kind}: {error}", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// The kind of rows that was expected.
        kind: &'static str,
        /// The problem, and the line in which it is.
        error: csv::Error,
    },
    /// A line is no row of its kind.
    #[error("{}, line {line}: {error}; bring the file back as it was, or begin anew in another --out", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: u64,
        /// The problem with it.
        error: serde_json::Error,
    },
    /// A file to go on with or to replace was written by something else, or by a version of the program with other columns.
    #[error("{}: has other columns than this version writes; begin anew in another --out", path.display())]
    OtherColumns {
        /// The file.
        path: PathBuf,
    },
    /// A file to replace has a game that the new one would not have.
    #[error("{}: has game {game} of another run; name another --out", path.display())]
    OtherRun {
        /// The file.
        path: PathBuf,
        /// The game.
        game: String,
    },
    /// Parquet could not be written.
    #[error("{}: {error}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The library's error.
        error: ParquetError,
    },
    /// Two files hold the same game.
    #[error(
        "game {game} is in two of the files, {} and {}: name each shard once, and make them with the same --shard i/n",
        files[0].display(), files[1].display()
    )]
    Twice {
        /// The game.
        game: String,
        /// The files.
        files: [PathBuf; 2],
    },
    /// The games of a file are not in their order.
    #[error(
        "{}: game {game} comes after a later one or for the second time; take the file as it was written, unsorted",
        path.display()
    )]
    Order {
        /// The file.
        path: PathBuf,
        /// The game.
        game: String,
    },
}

impl RowError {
    /// Returns the error of a file that could not be opened, read or written, for `map_err`.
    pub(in crate::lab) fn io(path: &Path) -> impl FnOnce(io::Error) -> RowError {
        |error| RowError::Io { path: path.to_owned(), error }
    }

    pub(super) fn csv<R: Row>(path: &Path) -> impl FnOnce(csv::Error) -> RowError {
        |error| RowError::Csv { path: path.to_owned(), kind: R::KIND, error }
    }

    pub(super) fn parquet(path: &Path) -> impl FnOnce(ParquetError) -> RowError {
        |error| RowError::Parquet { path: path.to_owned(), error }
    }
}
