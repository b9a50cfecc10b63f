//! Syzygy endgame tables: exact results of positions with few pieces, and the root moves that keep them.
//!
//! The search asks for the result of a leaf ([`Tablebase::probe`]), the engine for the moves worth searching at the
//! root ([`Tablebase::root_moves`], in `root`). Files are read by the crate `shakmaty-syzygy`; of this crate only
//! `chess` is used. A [`Tablebase`] is opened once and shared; every method may be called from any thread.

mod root;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use shakmaty::Chess;
use shakmaty_syzygy::{SyzygyError, Wdl};
use thiserror::Error;

use crate::chess::Position;

pub use root::{RootMoves, RootPace, RootTables};

/// The ending of the names of files with results.
const WDL_EXTENSION: &str = "rtbw";
/// The ending of the names of files with distances to the next capture or pawn move.
const DTZ_EXTENSION: &str = "rtbz";

/// The reason why no tables are in use. The texts follow the option's name.
#[derive(Debug, Error)]
pub enum TablebaseError {
    /// A folder cannot be listed.
    #[error("cannot read the folder {} ({source}); name folders that hold .{WDL_EXTENSION} files", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The folders hold no table of results.
    #[error("no .{WDL_EXTENSION} file in {0}; name folders that hold Syzygy tables")]
    Empty(String),
}

/// The result of a position with best play under the fifty-move rule, for the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeResult {
    /// The side to move wins in time.
    Win,
    /// Nobody wins in time: wins and losses that the fifty-move rule frustrates count as draws.
    Draw,
    /// The side to move loses in time.
    Loss,
}

impl From<Wdl> for ProbeResult {
    fn from(wdl: Wdl) -> ProbeResult {
        match wdl {
            Wdl::Win => ProbeResult::Win,
            Wdl::CursedWin | Wdl::Draw | Wdl::BlessedLoss => ProbeResult::Draw,
            Wdl::Loss => ProbeResult::Loss,
        }
    }
}

/// The tables of some folders. Files are opened when they are first needed.
#[derive(Debug)]
pub struct Tablebase {
    tables: shakmaty_syzygy::Tablebase<Chess>,
    wdl_files: usize,
    dtz_files: usize,
    max_pieces: usize,
    /// Folders and files that cannot be used, with the reason.
    unusable: Vec<String>,
    /// The error of the first table that could not be read when it was needed.
    read_error: OnceLock<String>,
}

impl Tablebase {
    /// Opens all tables of `folders`, which are separated as the platform separates paths (`:`, on Windows `;`).
    ///
    /// A folder that cannot be read is named in [`Tablebase::description`] if another one holds tables.
    ///
    /// # Errors
    /// Fails if no folder holds a table; the error names the first folder and says why.
    pub fn open(folders: &str) -> Result<Tablebase, TablebaseError> {
        let mut tablebase = Tablebase {
            tables: shakmaty_syzygy::Tablebase::new(),
            wdl_files: 0,
            dtz_files: 0,
            max_pieces: 0,
            unusable: Vec::new(),
            read_error: OnceLock::new(),
        };
        let mut first_error = None;
        for folder in std::env::split_paths(folders).filter(|folder| !folder.as_os_str().is_empty()) {
            match table_files(&folder) {
                Ok(files) => files.iter().for_each(|file| tablebase.add(file)),
                Err(error) => {
                    tablebase.unusable.push(error.to_string());
                    first_error.get_or_insert(error);
                }
            }
        }
        match tablebase.wdl_files {
            0 => Err(first_error.unwrap_or(TablebaseError::Empty(folders.into()))),
            _ => Ok(tablebase),
        }
    }

    fn add(&mut self, path: &Path) {
        match self.tables.add_file(path) {
            Ok(()) if has_extension(path, DTZ_EXTENSION) => self.dtz_files += 1,
            Ok(()) => {
                self.wdl_files += 1;
                self.max_pieces = self.max_pieces.max(pieces_in_name(path));
            }
            Err(error) => self.unusable.push(format!("not a table: {} ({error})", path.display())),
        }
    }

    /// Returns the largest number of pieces, kings and pawns included, in a table of results.
    pub fn max_pieces(&self) -> usize {
        self.max_pieces
    }

    /// Returns whether `position` could be in the tables; they hold no castling rights.
    pub fn covers(&self, position: &Position) -> bool {
        position.piece_count() <= self.max_pieces && position.castling_rights().is_empty()
    }

    /// Returns the result of `position` for its side to move, if it is in the tables and stands right after a capture or pawn
    /// move: only then is the table's result exact under the fifty-move rule.
    pub fn probe(&self, position: &Position) -> Option<ProbeResult> {
        if position.rule50() > 0 || !self.covers(position) {
            return None;
        }
        self.wdl(position).map(ProbeResult::from)
    }

    /// Returns the result of `position` as if its fifty-move counter were 0.
    fn wdl(&self, position: &Position) -> Option<Wdl> {
        self.found(self.tables.probe_wdl_after_zeroing(position.chess()))
    }

    /// Returns what was found, if anything, and keeps the reason if a file failed.
    fn found<T>(&self, probed: Result<T, SyzygyError>) -> Option<T> {
        if let Err(SyzygyError::ProbeFailed { .. }) = &probed {
            self.read_error
                .get_or_init(|| probed.as_ref().err().map(ToString::to_string).unwrap_or_default());
        }
        probed.ok()
    }

    /// Returns the error of the first table that could not be read when it was needed, if there was one.
    pub fn read_error(&self) -> Option<&str> {
        self.read_error.get().map(String::as_str)
    }

    /// Returns a description of the tables in a few words, with a line for each folder or file that cannot be used.
    pub fn description(&self) -> String {
        let Tablebase { wdl_files, dtz_files, max_pieces, unusable, .. } = self;
        let mut text = format!(
            "{} Syzygy tables ({wdl_files} WDL, {dtz_files} DTZ), up to {max_pieces} pieces",
            wdl_files + dtz_files
        );
        for reason in unusable {
            text += "\n";
            text += reason;
        }
        text
    }
}

/// Returns the files of a folder that are named as tables, in the order of their names.
fn table_files(folder: &Path) -> Result<Vec<PathBuf>, TablebaseError> {
    let io_error = |source| TablebaseError::Folder { path: folder.to_path_buf(), source };
    let entries: io::Result<Vec<_>> = fs::read_dir(folder).map_err(io_error)?.collect();
    let mut files: Vec<_> = entries
        .map_err(io_error)?
        .into_iter()
        .map(|entry| entry.path())
        .filter(|path| has_extension(path, WDL_EXTENSION) || has_extension(path, DTZ_EXTENSION))
        .collect();
    files.sort();
    Ok(files)
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().and_then(OsStr::to_str) == Some(extension)
}

/// Returns the number of pieces of a table by its name: five for `KQPvKR.rtbw`.
fn pieces_in_name(path: &Path) -> usize {
    let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    stem.chars().filter(char::is_ascii_uppercase).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_folder_is_named() {
        let error = Tablebase::open("/no/such/folder").unwrap_err().to_string();
        assert!(error.contains("/no/such/folder") && error.contains(".rtbw"), "{error}");
    }

    #[test]
    fn a_folder_without_tables_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("README"), "").unwrap();
        let error = Tablebase::open(folder.path().to_str().unwrap()).unwrap_err();
        assert!(matches!(error, TablebaseError::Empty(_)), "{error}");
    }

    #[test]
    fn truncated_tables_are_named_and_the_others_used() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("KQvK.rtbw"), [0; 80]).unwrap();
        fs::write(folder.path().join("KRvK.rtbw"), [0; 79]).unwrap();
        let tables = Tablebase::open(folder.path().to_str().unwrap()).unwrap();
        let description = tables.description();
        assert!(description.starts_with("1 Syzygy tables (1 WDL, 0 DTZ), up to 3 pieces\n"), "{description}");
        assert!(description.contains("KRvK.rtbw"), "{description}");
    }

    #[test]
    fn a_folder_that_cannot_be_read_does_not_hide_the_others() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("KQvK.rtbw"), [0; 80]).unwrap();
        let folders = std::env::join_paths([Path::new("/no/such/folder"), folder.path()]).unwrap();
        let tables = Tablebase::open(folders.to_str().unwrap()).unwrap();
        assert_eq!(tables.max_pieces(), 3);
        assert!(tables.description().contains("\ncannot read the folder /no/such/folder"));
    }

    #[test]
    fn a_damaged_table_gives_no_result_but_a_fault() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("KQvK.rtbw"), [0; 80]).unwrap();
        let tables = Tablebase::open(folder.path().to_str().unwrap()).unwrap();
        let position = Position::from_fen("8/8/8/4k3/8/8/8/KQ6 w - - 0 1").unwrap();
        assert_eq!((tables.read_error(), tables.probe(&position)), (None, None));
        assert!(tables.read_error().unwrap().contains("KQvK"), "{:?}", tables.read_error());
    }
}
