//! The files that a match writes into its folder: games as PGN, rows of games and of moves. A match that was stopped goes on
//! behind its last whole game.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::MatchError;
use super::game::GameRecord;
use super::pgn_writer::{PgnTags, write_pgn};
use super::rows::{MatchGameRow, MatchHeader, MatchMoveRow};
use super::schedule::Schedule;
use super::summary::MatchCounts;
use crate::lab::rows::{Row, RowError, RowReader, RowWriter, make_folder, write_parquet};

/// The most games that are played anew because another file lacks them: more than a system that went down can have lost on the
/// way to its disk. Where more are missing, someone has taken them away.
const MOST_LOST: u64 = 100;
/// The first characters of a game in a PGN file.
const FIRST_TAG: &[u8] = b"[Event ";

/// The open files of a match: `games.pgn`, `games.csv` and `moves.csv`; at the end the rows are written as Parquet too.
#[derive(Debug)]
pub struct MatchFiles {
    folder: PathBuf,
    games: RowWriter<MatchGameRow>,
    moves: RowWriter<MatchMoveRow>,
    pgn: BufWriter<File>,
}

impl MatchFiles {
    /// Opens or makes the files in `folder`. `counts` gets the rows of the games that are there already. The last games of
    /// `games.csv` that are not whole in the other files, as after a system went down, are taken back and played anew.
    ///
    /// # Errors
    /// [`MatchError::Rows`] if a file cannot be used, [`MatchError::OtherMatch`] if they hold other games than those of the
    /// schedule, [`MatchError::MissingGames`] if they lack many games that `games.csv` has, or all of them,
    /// [`MatchError::MissingRows`] if there are games without a `games.csv`.
    pub fn open(
        folder: &Path,
        schedule: &Schedule,
        header: MatchHeader<'_>,
        counts: &mut MatchCounts,
    ) -> Result<MatchFiles, MatchError> {
        make_folder(folder)?;
        let whole = whole_games(folder)?;
        let (mut done, mut last, mut is_other) = (0, None, false);
        let games = RowWriter::<MatchGameRow>::resume(&folder.join("games.csv"), |row| {
            let expected = schedule.assignment(done).map(|assignment| assignment.game);
            is_other |= row.match_id != header.match_id || expected.is_some_and(|game| game != row.game);
            if is_other || done == whole {
                // Nothing of another match is cut off.
                return is_other;
            }
            done += 1;
            last = Some(row.game);
            counts.add(&row);
            true
        })?;
        if is_other {
            return Err(MatchError::OtherMatch { folder: folder.into() });
        }
        let pgn_path = folder.join("games.pgn");
        let pgn = resume_pgn(&pgn_path, done).map_err(RowError::io(&pgn_path))?;
        let pgn = pgn.ok_or(MatchError::MissingGames { path: pgn_path })?;
        let moves_path = folder.join("moves.csv");
        let moves = RowWriter::<MatchMoveRow>::resume(&moves_path, |row| {
            let is_kept = Some(row.game) <= last;
            if is_kept {
                counts.add_move(&row);
            }
            is_kept
        })?;
        Ok(MatchFiles { folder: folder.into(), games, moves, pgn })
    }

    /// Adds a finished game, which then survives the end of the program.
    ///
    /// # Errors
    /// [`RowError`] if a file cannot be written.
    pub fn add(
        &mut self,
        tags: &PgnTags<'_>,
        game: &GameRecord,
        rows: (&MatchGameRow, &[MatchMoveRow]),
    ) -> Result<(), RowError> {
        let (row, moves) = rows;
        write_pgn(&mut self.pgn, game, tags)
            .and_then(|()| self.pgn.flush())
            .map_err(RowError::io(&self.folder.join("games.pgn")))?;
        moves.iter().try_for_each(|row| self.moves.write(row))?;
        self.games.write(row)?;
        self.flush()
    }

    /// Flushes the moves first: a game counts when its own row is there.
    fn flush(&mut self) -> Result<(), RowError> {
        self.moves.flush()?;
        self.games.flush()
    }

    /// Writes the rows as Parquet beside the CSV files.
    ///
    /// # Errors
    /// [`RowError`] if a file cannot be read or written.
    pub fn finish(mut self) -> Result<(), RowError> {
        self.flush()?;
        write_parquet::<MatchGameRow>(&self.folder.join("games.csv"))?;
        write_parquet::<MatchMoveRow>(&self.folder.join("moves.csv"))
    }
}

/// Returns the number of games of `games.csv`, from the first on, that the other files have whole too.
fn whole_games(folder: &Path) -> Result<u64, MatchError> {
    let [games, moves, pgn] = ["games.csv", "moves.csv", "games.pgn"].map(|name| folder.join(name));
    if !games.exists() {
        // Nothing of what others have written is cut off.
        let has_rows = moves.exists() && RowReader::<MatchMoveRow>::open(&moves)?.next().is_some();
        let has_games = pgn.metadata().is_ok_and(|file| file.len() > 0);
        let found = if has_games { Some(pgn) } else { has_rows.then_some(moves) };
        return found.map_or(Ok(0), |path| Err(MatchError::MissingRows { path }));
    }
    // A last row that was half written ends the rows; rows of another kind are refused when they are taken up.
    let rows = RowReader::<MatchGameRow>::open(&games)?.map_while(Result::ok);
    let moves_of_games: Vec<u64> = rows.map(|row| u64::from(row.a_moves) + u64::from(row.b_moves)).collect();
    let listed = moves_of_games.len() as u64;
    let in_pgn = if pgn.exists() { games_in_pgn(&pgn).map_err(RowError::io(&pgn))? } else { 0 };
    let mut moves_left = if moves.exists() {
        RowReader::<MatchMoveRow>::open(&moves)?.map_while(Result::ok).count() as u64
    } else {
        0
    };
    let has_moves = |made: &&u64| {
        let left = moves_left.checked_sub(**made);
        moves_left = left.unwrap_or_default();
        left.is_some()
    };
    let with_moves = moves_of_games.iter().take_while(has_moves).count() as u64;
    for (there, path) in [(in_pgn, pgn), (with_moves, moves)] {
        let is_lost = there + MOST_LOST < listed || !path.exists();
        if is_lost && there < listed {
            return Err(MatchError::MissingGames { path });
        }
    }
    Ok(listed.min(in_pgn).min(with_moves))
}

/// Returns the number of whole games in a PGN file.
fn games_in_pgn(path: &Path) -> std::io::Result<u64> {
    let mut games = PgnGames::new(BufReader::new(File::open(path)?));
    while games.read_line()? {}
    Ok(games.whole)
}

/// Goes through a PGN file line by line and counts games.
struct PgnGames<R> {
    reader: R,
    line: Vec<u8>,
    in_moves: bool,
    /// Games that have begun.
    begun: u64,
    /// Games with all their moves: behind them is an empty line.
    whole: u64,
}

impl<R: BufRead> PgnGames<R> {
    fn new(reader: R) -> PgnGames<R> {
        PgnGames { reader, line: Vec::new(), in_moves: false, begun: 0, whole: 0 }
    }

    /// Reads a line; returns whether there was one.
    fn read_line(&mut self) -> std::io::Result<bool> {
        self.line.clear();
        let length = self.reader.read_until(b'\n', &mut self.line)?;
        let line = &self.line[..];
        self.begun += u64::from(line.starts_with(FIRST_TAG));
        self.whole += u64::from(self.in_moves && line == b"\n");
        // Moves may go on with a comment's `[%clk …]`.
        let is_tag = matches!(line, [b'[', b'A'..=b'Z', ..]);
        self.in_moves = line != b"\n" && !is_tag;
        Ok(length > 0)
    }
}

/// Opens a PGN file behind its first `games` games and cuts off what follows. Returns `None` if it has fewer whole ones.
fn resume_pgn(path: &Path, games: u64) -> std::io::Result<Option<BufWriter<File>>> {
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    let mut end = 0;
    let mut read = PgnGames::new(BufReader::new(&mut file));
    while read.read_line()? && read.begun <= games {
        end += read.line.len() as u64;
    }
    if read.whole < games {
        return Ok(None);
    }
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end))?;
    Ok(Some(BufWriter::new(file)))
}

/// Returns the columns of the two kinds of files.
pub fn columns() -> Vec<Vec<String>> {
    vec![MatchGameRow::columns(), MatchMoveRow::columns()]
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_pgn_file_is_cut_behind_its_whole_games() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.pgn");
        fs::write(&path, "[Event \"1\"]\n\n1. e4 *\n\n[Event \"2\"]\n\n1. d4 *\n\n[Event \"3\"]\n\n1. c")
            .unwrap();
        let mut pgn = resume_pgn(&path, 2).unwrap().unwrap();
        pgn.write_all(b"[Event \"new\"]\n").unwrap();
        drop(pgn);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "[Event \"1\"]\n\n1. e4 *\n\n[Event \"2\"]\n\n1. d4 *\n\n[Event \"new\"]\n");
        assert!(resume_pgn(&path, 4).unwrap().is_none(), "there are three");
        drop(resume_pgn(&path, 0).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
    }
}
