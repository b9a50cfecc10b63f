//! The folder of `--out`: games as PGN, rows of games and moves. A match that was stopped goes on behind its last whole game.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::rows::{MatchGameRow, MatchHeader, MatchMoveRow};
use crate::lab::matches::{GameRecord, PgnTags, Schedule, write_pgn};
use crate::lab::rows::{Row, RowError, RowReader, RowWriter, files_of, write_merged, write_parquet};
use crate::tools::Failure;

/// How each game of a PGN file begins.
const FIRST_TAG: &[u8] = b"[Event ";

/// The files of rows: `games.csv` and `moves.csv`, in the end as Parquet too.
struct MatchRowFiles {
    folder: PathBuf,
    games: RowWriter<MatchGameRow>,
    moves: RowWriter<MatchMoveRow>,
}

impl MatchRowFiles {
    fn write_game(&mut self, row: &MatchGameRow) -> Result<(), Failure> {
        self.games.write(row).map_err(row_fault)
    }

    fn write_move(&mut self, row: &MatchMoveRow) -> Result<(), Failure> {
        self.moves.write(row).map_err(row_fault)
    }

    /// Moves first: a game counts when its own row is there.
    fn flush(&mut self) -> Result<(), Failure> {
        self.moves.flush().and_then(|()| self.games.flush()).map_err(row_fault)
    }

    /// Writes the same rows as Parquet.
    fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        let games = RowReader::<MatchGameRow>::open(&self.folder.join("games.csv")).map_err(row_fault)?;
        write_parquet(&self.folder.join("games.parquet"), games).map_err(row_fault)?;
        let moves = RowReader::<MatchMoveRow>::open(&self.folder.join("moves.csv")).map_err(row_fault)?;
        write_parquet(&self.folder.join("moves.parquet"), moves).map_err(row_fault)
    }
}

/// See the module.
pub(super) struct Journal {
    rows: MatchRowFiles,
    pgn: BufWriter<File>,
    pgn_path: PathBuf,
}

impl Journal {
    /// Opens or makes the files in `folder`. `played` gets the rows of the games that are there already.
    ///
    /// # Errors
    /// If the files cannot be used, or hold other games than those of the schedule, or not all that `games.csv` tells of.
    pub(super) fn open(
        folder: &Path,
        schedule: &Schedule,
        header: MatchHeader<'_>,
        mut played: impl FnMut(&MatchGameRow),
    ) -> Result<Journal, Failure> {
        make_folder(folder)?;
        let (mut done, mut last, mut is_other, mut moves_made) = (0, None, false, 0);
        let games = RowWriter::<MatchGameRow>::resume(&folder.join("games.csv"), |row| {
            let expected = schedule.assignment(done).map(|assignment| assignment.game);
            is_other |= row.match_id != header.match_id || expected.is_some_and(|game| game != row.game);
            if is_other {
                return true;
            }
            done += 1;
            last = Some(row.game);
            moves_made += u64::from(row.a_moves) + u64::from(row.b_moves);
            played(&row);
            true
        })
        .map_err(row_fault)?;
        if is_other {
            return Err(Failure::Input(format!(
                "{}: holds the games of another match or shard; choose another --out, or the same options",
                folder.display()
            )));
        }
        let pgn_path = folder.join("games.pgn");
        let pgn = resume_pgn(&pgn_path, done).map_err(|error| file_fault(&pgn_path, &error))?;
        let pgn = pgn.ok_or_else(|| shortened(&pgn_path))?;
        let moves_path = folder.join("moves.csv");
        let mut moves_kept = 0;
        let moves = RowWriter::<MatchMoveRow>::resume(&moves_path, |row| {
            let is_kept = Some(row.game) <= last;
            moves_kept += u64::from(is_kept);
            is_kept
        })
        .map_err(row_fault)?;
        if moves_kept < moves_made {
            return Err(shortened(&moves_path));
        }
        Ok(Journal { rows: MatchRowFiles { folder: folder.into(), games, moves }, pgn, pgn_path })
    }

    /// Adds a finished game; it survives the end of the program.
    pub(super) fn add(
        &mut self,
        header: MatchHeader<'_>,
        tags: &PgnTags<'_>,
        game: &GameRecord,
        row: &MatchGameRow,
    ) -> Result<(), Failure> {
        write_pgn(&mut self.pgn, game, tags)
            .and_then(|()| self.pgn.flush())
            .map_err(|error| file_fault(&self.pgn_path, &error))?;
        MatchMoveRow::of_game(header, game).iter().try_for_each(|row| self.rows.write_move(row))?;
        self.rows.write_game(row)?;
        self.rows.flush()
    }

    /// Writes the rows as Parquet.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.rows.finish()
    }
}

/// Opens a PGN file behind its first `games` games; what follows is cut off. `None` if it has fewer whole ones.
fn resume_pgn(path: &Path, games: u64) -> std::io::Result<Option<BufWriter<File>>> {
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    let (mut end, mut seen, mut line) = (0, 0, Vec::new());
    // Behind the moves of a game is an empty line.
    let (mut in_moves, mut whole) = (false, 0);
    let mut reader = BufReader::new(&mut file);
    loop {
        line.clear();
        let length = reader.read_until(b'\n', &mut line)?;
        seen += u64::from(line.starts_with(FIRST_TAG));
        if length == 0 || seen > games {
            break;
        }
        end += length as u64;
        whole += u64::from(in_moves && line == b"\n");
        // Moves may go on with a comment's `[%clk …]`.
        let is_tag = matches!(line[..], [b'[', b'A'..=b'Z', ..]);
        in_moves = line != b"\n" && !is_tag;
    }
    if whole < games {
        return Ok(None);
    }
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end))?;
    Ok(Some(BufWriter::new(file)))
}

fn shortened(path: &Path) -> Failure {
    Failure::Input(format!(
        "{}: lacks games that games.csv beside it has; bring it back as it was, or begin anew in another --out",
        path.display()
    ))
}

/// Puts the rows of several matches or shards together into `folder`, in the order of the games.
pub(super) fn write_rows(files: &[PathBuf], folder: &Path) -> Result<(), Failure> {
    make_folder(folder)?;
    let games = files_of::<MatchGameRow>(files)
        .and_then(|games| write_merged::<MatchGameRow>(&games, &folder.join("games.csv")));
    let moves = || {
        files_of::<MatchMoveRow>(files)
            .and_then(|moves| write_merged::<MatchMoveRow>(&moves, &folder.join("moves.csv")))
    };
    games.and_then(|()| moves()).map_err(row_fault)
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| file_fault(folder, &error))
}

fn file_fault(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Input(format!("{}: {error}", path.display()))
}

pub(super) fn row_fault(error: RowError) -> Failure {
    Failure::Input(error.to_string())
}

/// The columns of the two kinds of files.
pub(in crate::tools) fn columns() -> Vec<Vec<String>> {
    vec![MatchGameRow::columns(), MatchMoveRow::columns()]
}

#[cfg(test)]
mod tests {
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
