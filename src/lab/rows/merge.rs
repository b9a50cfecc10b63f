//! Puts the rows of several files together, game by game, as one run would have written them.

use std::collections::HashSet;
use std::fmt::Display;
use std::iter::Peekable;
use std::path::{Path, PathBuf};

use parquet::record::RecordWriter;

use super::columns::{are_columns_of, columns_of_file};
use super::error::RowError;
use super::row_file::{Row, RowReader, RowWriter, make_folder, write_parquet};

/// A row that belongs to a game.
pub trait RowOfGame: Row {
    /// Identifies a game; games are written in ascending order.
    type Game: Ord + Clone + Display;

    /// Returns the game that the row belongs to.
    fn game(&self) -> Self::Game;

    /// Returns the name of the way in which the game was played, if there are several; their rows may be in different files.
    fn way(&self) -> String {
        String::new()
    }
}

/// The rows of several files, in the order of the games, in bounded memory.
#[derive(Debug)]
pub struct MergedGames<R: RowOfGame> {
    files: Vec<(PathBuf, Peekable<RowReader<R>>)>,
    last: Option<R::Game>,
}

impl<R: RowOfGame> MergedGames<R> {
    /// Opens the files; the games of each must be in ascending order, as all commands write them.
    ///
    /// # Errors
    /// [`RowError::Io`] if a file cannot be opened or read.
    pub fn open(paths: &[PathBuf]) -> Result<MergedGames<R>, RowError> {
        let files = paths.iter().map(|path| Ok((path.clone(), RowReader::open(path)?.peekable())));
        Ok(MergedGames { files: files.collect::<Result<_, RowError>>()?, last: None })
    }

    /// Returns the rows of the next game; `None` at the end.
    fn read(&mut self) -> Result<Option<Vec<R>>, RowError> {
        let mut first: Option<R::Game> = None;
        for (path, file) in &mut self.files {
            let game = match file.peek() {
                None => continue,
                Some(Ok(row)) => row.game(),
                // Yields the error itself.
                Some(Err(_)) => return file.next().transpose().map(|_| None),
            };
            if self.last.as_ref().is_some_and(|last| game <= *last) {
                return Err(RowError::Order { path: path.clone(), game: game.to_string() });
            }
            if first.as_ref().is_none_or(|first| game < *first) {
                first = Some(game);
            }
        }
        let Some(game) = first else { return Ok(None) };
        let (mut rows, mut before) = (Vec::new(), None);
        for (path, file) in &mut self.files {
            let begin = rows.len();
            while let Some(row) = file.next_if(|row| row.as_ref().is_ok_and(|row| row.game() == game)) {
                rows.push(row?);
            }
            if begin == rows.len() {
                continue;
            }
            if let Some(before) = before.replace(path.clone())
                && have_a_way_in_common(&rows[..begin], &rows[begin..])
            {
                return Err(RowError::Twice { game: game.to_string(), files: [before, path.clone()] });
            }
        }
        self.last = Some(game);
        Ok(Some(rows))
    }
}

fn have_a_way_in_common<R: RowOfGame>(some: &[R], others: &[R]) -> bool {
    let ways: HashSet<String> = some.iter().map(R::way).collect();
    others.iter().any(|row| ways.contains(&row.way()))
}

impl<R: RowOfGame> Iterator for MergedGames<R> {
    type Item = Result<Vec<R>, RowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// Returns those of the files that hold rows of this kind.
///
/// # Errors
/// [`RowError::Io`] if a file cannot be opened or read.
pub fn files_of<R: Row>(paths: &[PathBuf]) -> Result<Vec<PathBuf>, RowError>
where
    for<'a> &'a [R]: RecordWriter<R>,
{
    let mut files = Vec::new();
    for path in paths {
        if are_columns_of(&columns_of_file(path)?, &R::columns()) {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// Writes the rows of games and those of moves, each as [`write_merged`] does, into `games.csv` and `moves.csv` of a folder.
///
/// # Errors
/// [`RowError`] if a file cannot be read or written, a game is in two of them, or the folder has games of another run.
pub fn write_merged_rows<G: RowOfGame, M: RowOfGame>(files: &[PathBuf], folder: &Path) -> Result<(), RowError>
where
    for<'a> &'a [G]: RecordWriter<G>,
    for<'a> &'a [M]: RecordWriter<M>,
{
    make_folder(folder)?;
    let (of_games, of_moves) = (files_of::<G>(files)?, files_of::<M>(files)?);
    let [games, moves] = ["games.csv", "moves.csv"].map(|name| folder.join(name));
    check_replacing::<M>(&moves, &of_moves)?;
    write_merged::<G>(&of_games, &games)?;
    write_merged::<M>(&of_moves, &moves)
}

/// Refuses to replace the file `path` if it has a game that none of `files` has: it is that of another run.
fn check_replacing<R: RowOfGame>(path: &Path, files: &[PathBuf]) -> Result<(), RowError> {
    if !path.exists() {
        return Ok(());
    }
    let mut merged = MergedGames::<R>::open(files)?;
    // A row that was half written ends the file; other rows are refused when it is to be replaced.
    for old in MergedGames::<R>::open(&[path.to_owned()])?.map_while(Result::ok) {
        let game = old[0].game();
        let is_before = |rows: &Vec<R>| rows[0].game() < game;
        let new = merged.find(|rows| !rows.as_ref().is_ok_and(is_before)).transpose()?;
        let new = new.filter(|rows| rows[0].game() == game).unwrap_or_default();
        let ways: HashSet<String> = new.iter().map(R::way).collect();
        if !old.iter().all(|row| ways.contains(&row.way())) {
            return Err(RowError::OtherRun { path: path.to_owned(), game: game.to_string() });
        }
    }
    Ok(())
}

/// Writes the rows of all files into `path`, as CSV, and beside it as Parquet. Rows that are there already are replaced if all
/// their games are in the files.
///
/// # Errors
/// [`RowError`] if a file cannot be read or written, or `path` has games of another run. `path` must be none of the files.
pub fn write_merged<R: RowOfGame>(files: &[PathBuf], path: &Path) -> Result<(), RowError>
where
    for<'a> &'a [R]: RecordWriter<R>,
{
    check_replacing::<R>(path, files)?;
    let mut writer = RowWriter::<R>::create(path)?;
    for game in MergedGames::open(files)? {
        game?.iter().try_for_each(|row| writer.write(row))?;
    }
    writer.flush()?;
    write_parquet::<R>(path)
}

#[cfg(test)]
mod tests {
    use parquet_derive::ParquetRecordWriter;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::lab::rows::RowWriter;

    #[derive(Serialize, Deserialize, ParquetRecordWriter)]
    struct Sample {
        game: u64,
        ply: u32,
        manager: String,
    }

    impl Row for Sample {
        const KIND: &'static str = "samples";
    }

    impl RowOfGame for Sample {
        type Game = u64;

        fn game(&self) -> u64 {
            self.game
        }

        fn way(&self) -> String {
            self.manager.clone()
        }
    }

    fn write(path: &Path, manager: &str, games: &[u64]) -> PathBuf {
        let mut writer = RowWriter::create(path).unwrap();
        for &game in games {
            (0..3).for_each(|ply| writer.write(&Sample { game, ply, manager: manager.into() }).unwrap());
        }
        writer.flush().unwrap();
        path.into()
    }

    fn fault(files: &[&PathBuf]) -> String {
        let files: Vec<PathBuf> = files.iter().copied().cloned().collect();
        MergedGames::<Sample>::open(&files).unwrap().find_map(Result::err).unwrap().to_string()
    }

    #[test]
    fn shards_merge_in_the_order_of_the_games_and_overlaps_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, games: &[u64]| write(&folder.path().join(name), "x", games);
        let (a, b) = (file("a", &[1, 4, 9]), file("b", &[2, 3, 12]));
        let (c, none) = (file("c", &[3]), file("none", &[]));
        let merged = MergedGames::<Sample>::open(&[b.clone(), none, a]).unwrap();
        let games: Vec<_> = merged.map(|game| game.unwrap()).collect();
        assert_eq!(games.iter().map(|rows| rows[0].game).collect::<Vec<_>>(), [1, 2, 3, 4, 9, 12]);
        assert!(games.iter().all(|rows| rows.len() == 3));
        assert!(fault(&[&b, &c]).starts_with("game 3 is in two of the files"), "{}", fault(&[&b, &c]));
        assert!(fault(&[&b, &b]).starts_with("game 2 is in two of the files"));
        let unordered = file("unordered", &[2, 1]);
        assert!(fault(&[&unordered]).contains("unordered: game 1 comes after"), "{}", fault(&[&unordered]));
        let other = write(&folder.path().join("other"), "y", &[3]);
        let both = MergedGames::<Sample>::open(&[c, other]).unwrap();
        assert_eq!(both.map(|game| game.unwrap().len()).collect::<Vec<_>>(), [6], "played in two ways");
    }

    /// A regression: whatever rows a folder had were replaced without a word.
    #[test]
    fn rows_of_another_run_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, way: &str, games: &[u64]| write(&folder.path().join(name), way, games);
        let (old, new) = (folder.path().join("old.csv"), file("new.csv", "x", &[1, 3, 4]));
        for (way, games, is_other) in [
            ("x", &[][..], false),
            ("x", &[3], false),
            ("x", &[1, 3, 4], false),
            ("x", &[2], true),
            ("x", &[1, 3, 9], true),
            ("y", &[3], true),
        ] {
            file("old.csv", way, games);
            let before = std::fs::read(&old).unwrap();
            let written = write_merged::<Sample>(std::slice::from_ref(&new), &old);
            if is_other {
                assert!(written.unwrap_err().to_string().contains("of another run"), "{way} {games:?}");
                assert_eq!(std::fs::read(&old).unwrap(), before);
            } else {
                written.unwrap();
                assert_eq!(std::fs::read(&old).unwrap(), std::fs::read(&new).unwrap());
            }
            std::fs::remove_file(&old).unwrap();
        }
        let foreign = "a,b\n1,2\n";
        std::fs::write(&old, foreign).unwrap();
        let refused = write_merged::<Sample>(std::slice::from_ref(&new), &old).unwrap_err().to_string();
        assert!(refused.contains("other columns"), "{refused}");
        assert_eq!(std::fs::read_to_string(&old).unwrap(), foreign);
    }
}
