//! The files of rows in the folder of `--out`.

use std::path::Path;

use super::rows::{GameRow, MoveRow};
use crate::report::{RowError, RowReader, RowWriter, write_parquet};
use crate::tools::Failure;

/// `games.csv` and `moves.csv`, and the same as Parquet.
pub(super) struct RowFiles {
    games: RowWriter<GameRow>,
    moves: RowWriter<MoveRow>,
}

impl RowFiles {
    pub(super) fn create(folder: &Path) -> Result<RowFiles, Failure> {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::Input(format!("{}: {error}", folder.display())))?;
        Ok(RowFiles {
            games: RowWriter::create(&folder.join("games.csv")).map_err(row_fault)?,
            moves: RowWriter::create(&folder.join("moves.csv")).map_err(row_fault)?,
        })
    }

    pub(super) fn write_game(&mut self, game: &GameRow, moves: &[MoveRow]) -> Result<(), Failure> {
        self.games.write(game).map_err(row_fault)?;
        moves.iter().try_for_each(|row| self.moves.write(row)).map_err(row_fault)
    }

    pub(super) fn write_move(&mut self, row: &MoveRow) -> Result<(), Failure> {
        self.moves.write(row).map_err(row_fault)
    }

    /// Writes the same rows as Parquet.
    pub(super) fn finish(mut self, folder: &Path) -> Result<(), Failure> {
        self.games.flush().and_then(|()| self.moves.flush()).map_err(row_fault)?;
        let games = RowReader::<GameRow>::open(&folder.join("games.csv")).map_err(row_fault)?;
        write_parquet(&folder.join("games.parquet"), games).map_err(row_fault)?;
        let moves = RowReader::<MoveRow>::open(&folder.join("moves.csv")).map_err(row_fault)?;
        write_parquet(&folder.join("moves.parquet"), moves).map_err(row_fault)
    }
}

pub(super) fn row_fault(error: RowError) -> Failure {
    Failure::Input(error.to_string())
}
