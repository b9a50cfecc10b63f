//! The columns of a file, by which the kind of its rows is known.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use super::error::RowError;

/// The column that names the version of the program which wrote a row. Rows of versions before it was there lack it, and have an
/// empty version when they are read.
pub const VERSION_COLUMN: &str = "version";

/// Returns the columns' names of a CSV file, by which `report` knows what kind of rows it holds, see [`Row::columns`](super::Row::columns).
///
/// # Errors
/// [`RowError::Io`] if it can't be read as text with columns.
pub fn columns_of_file(path: &Path) -> Result<Vec<String>, RowError> {
    let file = File::open(path).map_err(RowError::io(path))?;
    let mut csv = csv::Reader::from_reader(BufReader::new(file));
    let headers = csv.headers().map_err(|error| RowError::io(path)(error.into()))?;
    Ok(headers.iter().map(str::to_owned).collect())
}

/// Says whether a file with the columns `found` holds rows that have `columns`: the same ones, but for [`VERSION_COLUMN`].
pub fn are_columns_of(found: &[String], columns: &[String]) -> bool {
    let without_version = || columns.iter().filter(|column| *column != VERSION_COLUMN);
    found == columns || found.iter().eq(without_version())
}
