//! The rows: one for each position that was looked at.

use std::iter::Peekable;
use std::path::PathBuf;

use parquet_derive::ParquetRecordWriter;
use serde::{Deserialize, Serialize};

use super::LabError;
use crate::report::{Row, RowReader};
use crate::time::estimators::moves_left::MovesLeftInput;

/// A position of a recorded game, what was really left of it, and what the network says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ParquetRecordWriter)]
pub struct PositionRow {
    /// The game's number in the stream of all files, from 1; broken and filtered games count.
    pub game: u64,
    /// Plies played before this position, of both sides.
    pub ply: u32,
    /// Plies that were still played, of both sides.
    pub plies_left: u32,
    /// Full moves that the side to move still made: half of `plies_left`, rounded up.
    pub moves_left: u32,
    /// Pieces and pawns on the board, kings included.
    pub pieces: u32,
    /// Knights, bishops, rooks and queens on the board.
    pub officers: u32,
    /// 1, 0 or −1 for the side to move; none for unknown results.
    pub result: Option<i32>,
    /// How the game ended.
    pub ending: String,
    /// The player's own evaluation in centipawns for the side to move, where the PGN has it.
    pub centipawns: Option<i32>,
    /// The network's win minus loss for the side to move.
    pub q: Option<f32>,
    /// The Moves Left Head's output for the position, plies.
    pub m_plies: Option<f32>,
    /// Visit-weighted mean of the head over a searched tree, plies.
    pub m_search_plies: Option<f32>,
    /// Standard deviation of the head over that tree, plies.
    pub m_spread_plies: Option<f32>,
    /// What `mle-legacy` with its defaults says, full moves.
    pub legacy_moves: f32,
    /// What `mle-pieces` with its defaults says, full moves.
    pub pieces_moves: f32,
    /// What `mle-mlh` with its defaults says of `m_plies`, full moves.
    pub mlh_moves: Option<f32>,
}

impl Row for PositionRow {
    const KIND: &'static str = "movesleft";
}

impl PositionRow {
    /// What estimators may look at, with the head's raw output for M.
    pub fn input(&self) -> MovesLeftInput {
        MovesLeftInput {
            game_ply: self.ply,
            pieces: self.pieces,
            m: self.m_plies.map(f64::from),
            m_spread: None,
        }
    }

    /// The same with M and its spread after the search.
    pub fn searched_input(&self) -> MovesLeftInput {
        MovesLeftInput {
            m: self.m_search_plies.map(f64::from),
            m_spread: self.m_spread_plies.map(f64::from),
            ..self.input()
        }
    }
}

/// The rows of several files, game by game in ascending order of their numbers.
#[derive(Debug)]
pub struct MergedGames {
    files: Vec<Peekable<RowReader<PositionRow>>>,
    last: u64,
}

impl MergedGames {
    /// Opens the files; the games of each must be in ascending order, as `movesleft` writes them.
    ///
    /// # Errors
    /// [`LabError::Rows`].
    pub fn open(paths: &[PathBuf]) -> Result<MergedGames, LabError> {
        let files = paths.iter().map(|path| Ok(RowReader::open(path)?.peekable()));
        Ok(MergedGames { files: files.collect::<Result<_, LabError>>()?, last: 0 })
    }

    /// The rows of the next game, in order of their plies; `None` at the end.
    fn read(&mut self) -> Result<Option<Vec<PositionRow>>, LabError> {
        let mut first: Option<(usize, u64)> = None;
        for (place, file) in self.files.iter_mut().enumerate() {
            if let Some(Err(_)) = file.peek() {
                // Yields the error itself.
                return file.next().transpose().map(|_| None).map_err(LabError::from);
            }
            let game = file.peek().and_then(|row| row.as_ref().ok()).map(|row| row.game);
            first = match (game, first) {
                (Some(game), Some((_, least))) if game == least => return Err(LabError::Overlap { game }),
                (Some(game), Some((_, least))) if game > least => first,
                (Some(game), _) => Some((place, game)),
                (None, _) => first,
            };
        }
        let Some((place, game)) = first else { return Ok(None) };
        if game <= self.last {
            return Err(LabError::Overlap { game });
        }
        self.last = game;
        let mut rows = Vec::new();
        while let Some(row) = self.files[place].next_if(|row| row.as_ref().is_ok_and(|row| row.game == game))
        {
            rows.push(row?);
        }
        Ok(Some(rows))
    }
}

impl Iterator for MergedGames {
    type Item = Result<Vec<PositionRow>, LabError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::RowWriter;

    fn write(path: &std::path::Path, games: &[u64]) {
        let mut writer = RowWriter::create(path).unwrap();
        for &game in games {
            for ply in 0..3 {
                writer.write(&PositionRow { game, ply, ..PositionRow::default() }).unwrap();
            }
        }
        writer.flush().unwrap();
    }

    #[test]
    fn shards_merge_in_the_order_of_the_games_and_overlaps_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|name| folder.path().join(name));
        write(&a, &[1, 4, 9]);
        write(&b, &[2, 3, 12]);
        write(&c, &[3]);
        let merged = MergedGames::open(&[b.clone(), a]).unwrap();
        let games: Vec<_> = merged.map(|game| game.unwrap()).collect();
        assert_eq!(games.iter().map(|rows| rows[0].game).collect::<Vec<_>>(), [1, 2, 3, 4, 9, 12]);
        assert!(games.iter().all(|rows| rows.len() == 3));
        let fault = MergedGames::open(&[b, c]).unwrap().find_map(Result::err).unwrap();
        assert!(fault.to_string().starts_with("game 3 is in two"), "{fault}");
    }
}
