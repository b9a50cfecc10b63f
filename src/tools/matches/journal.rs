//! The folder of `--out`: games as PGN, rows of games and moves. A match that was stopped goes on behind its last whole game.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::rows::{GameRow, Header, MoveRow};
use crate::arena::{GameRecord, PgnTags, Schedule, write_pgn};
use crate::report::{Row, RowError, RowReader, RowWriter, write_parquet};
use crate::tools::Failure;

/// How each game of a PGN file begins.
const FIRST_TAG: &[u8] = b"[Event ";

/// The files of rows: `games.csv` and `moves.csv`, in the end as Parquet too.
pub(super) struct RowFiles {
    folder: PathBuf,
    games: RowWriter<GameRow>,
    moves: RowWriter<MoveRow>,
}

impl RowFiles {
    /// New files; old ones are replaced.
    pub(super) fn create(folder: &Path) -> Result<RowFiles, Failure> {
        make_folder(folder)?;
        Ok(RowFiles {
            folder: folder.into(),
            games: RowWriter::create(&folder.join("games.csv")).map_err(row_fault)?,
            moves: RowWriter::create(&folder.join("moves.csv")).map_err(row_fault)?,
        })
    }

    pub(super) fn write_game(&mut self, row: &GameRow) -> Result<(), Failure> {
        self.games.write(row).map_err(row_fault)
    }

    pub(super) fn write_move(&mut self, row: &MoveRow) -> Result<(), Failure> {
        self.moves.write(row).map_err(row_fault)
    }

    /// Moves first: a game counts when its own row is there.
    fn flush(&mut self) -> Result<(), Failure> {
        self.moves.flush().and_then(|()| self.games.flush()).map_err(row_fault)
    }

    /// Writes the same rows as Parquet.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        let games = RowReader::<GameRow>::open(&self.folder.join("games.csv")).map_err(row_fault)?;
        write_parquet(&self.folder.join("games.parquet"), games).map_err(row_fault)?;
        let moves = RowReader::<MoveRow>::open(&self.folder.join("moves.csv")).map_err(row_fault)?;
        write_parquet(&self.folder.join("moves.parquet"), moves).map_err(row_fault)
    }
}

/// See the module.
pub(super) struct Journal {
    rows: RowFiles,
    pgn: BufWriter<File>,
    pgn_path: PathBuf,
}

impl Journal {
    /// Opens or makes the files in `folder`. `played` gets the rows of the games that are there already.
    ///
    /// # Errors
    /// If the files cannot be used, or hold other games than those of the schedule.
    pub(super) fn open(
        folder: &Path,
        schedule: &Schedule,
        header: Header<'_>,
        mut played: impl FnMut(&GameRow),
    ) -> Result<Journal, Failure> {
        make_folder(folder)?;
        let (mut done, mut last, mut is_other) = (0, None, false);
        let games = RowWriter::<GameRow>::resume(&folder.join("games.csv"), |row| {
            let expected = schedule.assignment(done).map(|assignment| assignment.game);
            is_other |= row.match_id != header.match_id || expected.is_some_and(|game| game != row.game);
            if is_other {
                return true;
            }
            done += 1;
            last = Some(row.game);
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
        let moves = RowWriter::<MoveRow>::resume(&folder.join("moves.csv"), |row| Some(row.game) <= last);
        let moves = moves.map_err(row_fault)?;
        let pgn_path = folder.join("games.pgn");
        let pgn = resume_pgn(&pgn_path, done).map_err(|error| file_fault(&pgn_path, &error))?;
        Ok(Journal { rows: RowFiles { folder: folder.into(), games, moves }, pgn, pgn_path })
    }

    /// Adds a finished game; it survives the end of the program.
    pub(super) fn add(
        &mut self,
        header: Header<'_>,
        tags: &PgnTags<'_>,
        game: &GameRecord,
        row: &GameRow,
    ) -> Result<(), Failure> {
        write_pgn(&mut self.pgn, game, tags)
            .and_then(|()| self.pgn.flush())
            .map_err(|error| file_fault(&self.pgn_path, &error))?;
        MoveRow::of_game(header, game).iter().try_for_each(|row| self.rows.write_move(row))?;
        self.rows.write_game(row)?;
        self.rows.flush()
    }

    /// Writes the rows as Parquet.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.rows.finish()
    }
}

/// Opens a PGN file behind its first `games` games; what follows is cut off.
fn resume_pgn(path: &Path, games: u64) -> std::io::Result<BufWriter<File>> {
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    let (mut end, mut seen, mut line) = (0, 0, Vec::new());
    let mut reader = BufReader::new(&mut file);
    loop {
        line.clear();
        let length = reader.read_until(b'\n', &mut line)?;
        seen += u64::from(line.starts_with(FIRST_TAG));
        if length == 0 || seen > games {
            break;
        }
        end += length as u64;
    }
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end))?;
    Ok(BufWriter::new(file))
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
    vec![GameRow::columns(), MoveRow::columns()]
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
        let mut pgn = resume_pgn(&path, 2).unwrap();
        pgn.write_all(b"[Event \"new\"]\n").unwrap();
        drop(pgn);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "[Event \"1\"]\n\n1. e4 *\n\n[Event \"2\"]\n\n1. d4 *\n\n[Event \"new\"]\n");
        drop(resume_pgn(&path, 0).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
    }
}
