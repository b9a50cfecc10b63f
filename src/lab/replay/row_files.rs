//! The files of rows that a replay writes into its folder.

use std::path::{Path, PathBuf};

use super::replayer::ReplayRows;
use super::rows::{ReplayGameRow, ReplayMoveRow};
use crate::lab::rows::{Row, RowError, RowWriter, make_folder, write_parquet};

/// The open files `games.csv` and `moves.csv`; at the end the same rows are written as Parquet.
#[derive(Debug)]
pub struct ReplayFiles {
    folder: PathBuf,
    games: RowWriter<ReplayGameRow>,
    moves: RowWriter<ReplayMoveRow>,
}

impl ReplayFiles {
    /// Makes the files in `folder`; those of an earlier replay are replaced.
    ///
    /// # Errors
    /// [`RowError`] if they cannot be made, or there are files of something else.
    pub fn create(folder: &Path) -> Result<ReplayFiles, RowError> {
        make_folder(folder)?;
        Ok(ReplayFiles {
            folder: folder.to_owned(),
            games: RowWriter::create(&folder.join("games.csv"))?,
            moves: RowWriter::create(&folder.join("moves.csv"))?,
        })
    }

    /// Appends the rows of a game.
    ///
    /// # Errors
    /// [`RowError`] if a file cannot be written.
    pub fn write(&mut self, rows: &ReplayRows) -> Result<(), RowError> {
        self.games.write(&rows.game)?;
        rows.moves.iter().try_for_each(|row| self.moves.write(row))
    }

    /// Writes the same rows as Parquet.
    ///
    /// # Errors
    /// [`RowError`] if a file cannot be read or written.
    pub fn finish(mut self) -> Result<(), RowError> {
        self.games.flush()?;
        self.moves.flush()?;
        write_parquet::<ReplayGameRow>(&self.folder.join("games.csv"))?;
        write_parquet::<ReplayMoveRow>(&self.folder.join("moves.csv"))
    }
}

/// Returns the columns of the two kinds of files.
pub fn columns() -> Vec<Vec<String>> {
    vec![ReplayGameRow::columns(), ReplayMoveRow::columns()]
}
