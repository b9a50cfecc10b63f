//! The files of rows in the folder of `--out`.

use std::path::{Path, PathBuf};

use super::rows::{ReplayGameRow, ReplayMoveRow};
use crate::lab::rows::{RowError, RowReader, RowWriter, write_merged, write_parquet};
use crate::tools::Failure;

/// `games.csv` and `moves.csv`, and the same as Parquet.
pub(super) struct ReplayRowFiles {
    games: RowWriter<ReplayGameRow>,
    moves: RowWriter<ReplayMoveRow>,
}

impl ReplayRowFiles {
    pub(super) fn create(folder: &Path) -> Result<ReplayRowFiles, Failure> {
        make_folder(folder)?;
        Ok(ReplayRowFiles {
            games: RowWriter::create(&folder.join("games.csv")).map_err(row_fault)?,
            moves: RowWriter::create(&folder.join("moves.csv")).map_err(row_fault)?,
        })
    }

    pub(super) fn write_game(
        &mut self,
        game: &ReplayGameRow,
        moves: &[ReplayMoveRow],
    ) -> Result<(), Failure> {
        self.games.write(game).map_err(row_fault)?;
        moves.iter().try_for_each(|row| self.moves.write(row)).map_err(row_fault)
    }

    /// Writes the same rows as Parquet.
    pub(super) fn finish(mut self, folder: &Path) -> Result<(), Failure> {
        self.games.flush().and_then(|()| self.moves.flush()).map_err(row_fault)?;
        let games = RowReader::<ReplayGameRow>::open(&folder.join("games.csv")).map_err(row_fault)?;
        write_parquet(&folder.join("games.parquet"), games).map_err(row_fault)?;
        let moves = RowReader::<ReplayMoveRow>::open(&folder.join("moves.csv")).map_err(row_fault)?;
        write_parquet(&folder.join("moves.parquet"), moves).map_err(row_fault)
    }
}

/// Puts the rows of several files of games and of moves together into `folder`, in the order of the games.
pub(super) fn write_merged_rows([games, moves]: [&[PathBuf]; 2], folder: &Path) -> Result<(), Failure> {
    make_folder(folder)?;
    write_merged::<ReplayGameRow>(games, &folder.join("games.csv"))
        .and_then(|()| write_merged::<ReplayMoveRow>(moves, &folder.join("moves.csv")))
        .map_err(row_fault)
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::Input(format!("{}: {error}", folder.display())))
}

pub(super) fn row_fault(error: RowError) -> Failure {
    Failure::Input(error.to_string())
}
