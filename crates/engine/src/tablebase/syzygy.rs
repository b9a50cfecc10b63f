//! Opens and probes the files of Syzygy tables.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::{fs, io};

use parking_lot::Mutex;
use shakmaty::{CastlingMode, Chess, Color, FromSetup, Role, Setup, Square};
use shakmaty_syzygy::filesystem::{Filesystem, OsFilesystem, RandomAccessFile, ReadHint};
use shakmaty_syzygy::{Dtz, Material, MaybeRounded, Metric, ProbeError, Syzygy, SyzygyError, Wdl};

use super::{ProbeResult, RootMoves, RootPace, RootTables, TablebaseError, WDL_EXTENSION};
use crate::chess::{History, Move, Position, Terminal};
use crate::files::path_of;
use crate::foreign::{in_our_words, our_words, record};

const DTZ_EXTENSION: &str = "rtbz";

/// The tables of some folders. Files are opened when they are first needed.
#[derive(Debug)]
pub struct Tablebase {
    tables: shakmaty_syzygy::Tablebase<Chess>,
    dtz_files: usize,
    /// Of tables of results, such as `KQPvKR`.
    names: Vec<String>,
    unusable: Vec<String>,
    read_error: OnceLock<String>,
}

impl Tablebase {
    /// Opens all tables of `folders`, separated by `:`, on Windows by `;`. Fails if there is none.
    /// [`Tablebase::description`] names unreadable ones.
    pub fn open(folders: &str) -> Result<Tablebase, TablebaseError> {
        let mut tablebase = Tablebase {
            tables: shakmaty_syzygy::Tablebase::with_filesystem(Arc::new(TableFiles::default())),
            dtz_files: 0,
            names: Vec::new(),
            unusable: Vec::new(),
            read_error: OnceLock::new(),
        };
        let mut first_error = None;
        let mut known = Vec::new();
        for folder in std::env::split_paths(folders).filter(|folder| !folder.as_os_str().is_empty()) {
            let folder = folder.to_str().map_or(folder.clone(), path_of);
            let whole = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            if known.contains(&whole) {
                continue;
            }
            known.push(whole);
            match table_files(&folder) {
                Ok(files) => files.iter().for_each(|file| tablebase.add(file)),
                Err(error) => {
                    tablebase.unusable.push(error.to_string());
                    first_error.get_or_insert(error);
                }
            }
        }
        match (tablebase.names.len(), first_error) {
            (1.., _) => Ok(tablebase),
            (0, Some(error)) => Err(error),
            (0, None) if tablebase.unusable.is_empty() => Err(TablebaseError::Empty(folders.into())),
            (0, None) => Err(TablebaseError::Unusable(tablebase.unusable)),
        }
    }

    fn add(&mut self, path: &Path) {
        let name = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
        match begins_as_table(path).and_then(|()| self.tables.add_file(path)) {
            Ok(()) if has_extension(path, DTZ_EXTENSION) => self.dtz_files += 1,
            Ok(()) => self.names.push(name.into()),
            Err(error) => {
                let is_of_name = error.kind() == io::ErrorKind::InvalidInput;
                let reason = match usual_name(path).filter(|_| is_of_name) {
                    Some(usual) => format!("call it {usual}"),
                    None => in_our_words(&error),
                };
                self.unusable
                    .push(format!("not a table: {} ({reason})", path.display()));
            }
        }
    }

    fn covers(&self, position: &Position) -> bool {
        position.piece_count() <= self.tables.max_pieces() && position.castling_rights().is_empty()
    }

    /// `None` with a fifty-move counter above 0: results are not exact then.
    pub fn probe(&self, position: &Position) -> Option<ProbeResult> {
        if position.rule50() > 0 || !self.covers(position) {
            return None;
        }
        Some(match self.wdl(position)? {
            Wdl::Win => ProbeResult::Win,
            Wdl::CursedWin | Wdl::Draw | Wdl::BlessedLoss => ProbeResult::Draw,
            Wdl::Loss => ProbeResult::Loss,
        })
    }

    fn wdl(&self, position: &Position) -> Option<Wdl> {
        self.found(self.tables.probe_wdl_after_zeroing(position.chess()))
    }

    fn found<T>(&self, probed: Result<T, SyzygyError>) -> Option<T> {
        if let Err(SyzygyError::ProbeFailed {
            metric,
            material,
            error,
        }) = &probed
        {
            self.read_error.get_or_init(|| {
                record("the endgame tables", error);
                fault_of(*metric, material, error)
            });
        }
        probed.ok()
    }

    pub fn read_error(&self) -> Option<&str> {
        self.read_error.get().map(String::as_str)
    }

    /// A few words, with a line for each unusable folder or file.
    pub fn description(&self) -> String {
        let Tablebase {
            names,
            dtz_files,
            unusable,
            ..
        } = self;
        let mut text = format!(
            "{} Syzygy tables ({} WDL, {dtz_files} DTZ), up to {} pieces",
            names.len() + dtz_files,
            names.len(),
            self.tables.max_pieces()
        );
        for reason in unusable {
            text += "\n";
            text += reason;
        }
        text
    }
}

fn table_files(folder: &Path) -> Result<Vec<PathBuf>, TablebaseError> {
    let io_error = |error: io::Error| {
        let path = folder.to_path_buf();
        let reason = in_our_words(&error);
        match error.kind() {
            io::ErrorKind::NotFound if !cfg!(windows) && path.to_string_lossy().contains(';') => {
                let reason = "folders are separated by a colon here, as in /a:/b".into();
                TablebaseError::Folder { path, reason }
            }
            io::ErrorKind::NotFound => TablebaseError::Missing(path),
            _ => TablebaseError::Folder { path, reason },
        }
    };
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
    path.extension()
        .is_some_and(|own| own.eq_ignore_ascii_case(extension))
}

/// The required name, if a table has another: `KQvK.rtbw` for `KQVK.RTBW`.
fn usual_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (stem, extension) = name.split_once('.')?;
    // Browsers number what is fetched twice.
    let stem = stem.split(" (").next()?;
    let usual = format!(
        "{}.{}",
        stem.to_ascii_uppercase().replace('V', "v"),
        extension.to_ascii_lowercase()
    );
    (usual != name && usual.matches('v').count() == 1).then_some(usual)
}

/// Checks the first bytes. Only regular files are opened: a pipe has no end.
fn begins_as_table(path: &Path) -> io::Result<()> {
    let table = if has_extension(path, DTZ_EXTENSION) {
        Chess::TBZ
    } else {
        Chess::TBW
    };
    let mut start = [0; 4];
    if path.metadata()?.is_file() {
        File::open(path)?.read_exact(&mut start)?;
    }
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "it does not begin as a table does");
    (start == table.magic).then_some(()).ok_or_else(damaged)
}

fn fault_of(metric: Metric, material: &Material, error: &ProbeError) -> String {
    let reason = match error {
        ProbeError::Read { error } if error.kind() == io::ErrorKind::UnexpectedEof => "it is cut off".into(),
        ProbeError::Read { error } => our_words(error),
        ProbeError::Magic { .. } => "it does not begin as a table does".into(),
        ProbeError::CorruptedTable { .. } => "it is damaged".into(),
    };
    let extension = match metric {
        Metric::Wdl => WDL_EXTENSION,
        Metric::Dtz => DTZ_EXTENSION,
    };
    format!("the table {material}.{extension} cannot be read: {reason}")
}

/// Tables open at once: six men have 1,020 files, and a process may often open 1,024.
const MOST_OPEN: usize = 256;

/// Open files with their paths, the one used last at the end.
type Recent = Arc<Mutex<Vec<(Arc<Path>, Arc<File>)>>>;

#[derive(Default)]
struct TableFiles {
    os: OsFilesystem,
    recent: Recent,
}

impl Filesystem for TableFiles {
    fn regular_file_size(&self, path: &Path) -> io::Result<u64> {
        self.os.regular_file_size(path)
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.os.read_dir(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
        let table = TableFile {
            path: path.into(),
            recent: self.recent.clone(),
        };
        table.file()?;
        Ok(Box::new(table))
    }
}

/// Opened anew when it is read after others have taken its place.
struct TableFile {
    path: Arc<Path>,
    recent: Recent,
}

impl TableFile {
    fn file(&self) -> io::Result<Arc<File>> {
        let mut recent = self.recent.lock();
        let place = recent.iter().rposition(|(path, _)| Arc::ptr_eq(path, &self.path));
        let file = if let Some(place) = place {
            recent.remove(place).1
        } else {
            if recent.len() >= MOST_OPEN {
                recent.remove(0);
            }
            // The process may have no other file to spare than the tables' own.
            let retried = |_| {
                recent.clear();
                File::open(&self.path)
            };
            Arc::new(File::open(&self.path).or_else(retried)?)
        };
        recent.push((self.path.clone(), file.clone()));
        Ok(file)
    }
}

impl RandomAccessFile for TableFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64, _: ReadHint) -> io::Result<usize> {
        let file = self.file()?;
        #[cfg(unix)]
        {
            std::os::unix::fs::FileExt::read_at(&*file, buffer, offset)
        }
        #[cfg(windows)]
        std::os::windows::fs::FileExt::seek_read(&*file, buffer, offset)
    }
}

/// Random positions probed per table in search of damage …
const SAMPLES: usize = 8;
/// … and placements tried for them, since many are impossible.
const PLACEMENTS: usize = 400;

impl Tablebase {
    /// Probes random positions of every table. Damage deep within a table may be missed.
    pub fn damage(&self) -> Vec<String> {
        let mut random = fastrand::Rng::with_seed(0);
        let mut damaged = Vec::new();
        for name in &self.names {
            let positions = std::iter::repeat_with(|| random_position(name, &mut random));
            let fault = positions
                .take(PLACEMENTS)
                .flatten()
                .take(SAMPLES)
                .find_map(|position| {
                    match self.tables.probe_wdl_after_zeroing(&position) {
                        // The fault may be in a table that a capture leads to.
                        Err(SyzygyError::ProbeFailed {
                            metric,
                            material,
                            error,
                        }) => Some(fault_of(metric, &material, &error)),
                        _ => None,
                    }
                });
            damaged.extend(fault.filter(|fault| !damaged.contains(fault)));
        }
        damaged
    }
}

fn random_position(name: &str, random: &mut fastrand::Rng) -> Option<Chess> {
    let mut setup = Setup::empty();
    setup.turn = Color::from_white(random.bool());
    for (side, color) in name.split('v').zip([Color::White, Color::Black]) {
        for role in side.chars().filter_map(Role::from_char) {
            let square = Square::new(random.u32(..64));
            if setup.board.occupied().contains(square) {
                return None;
            }
            setup.board.set_piece_at(square, role.of(color));
        }
    }
    Chess::from_setup(setup, CastlingMode::Standard).ok()
}

/// The first ply at which a draw by the fifty-move rule can be claimed.
const FIFTY_MOVES: i64 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Prospect {
    Loss,
    /// A loss that the fifty-move rule (nearly) prevents: plies then on its counter.
    LateLoss(i64),
    Draw,
    /// A win that the fifty-move rule may prevent: plies by then on its counter.
    LateWin(Reverse<i64>),
    Win,
}

impl Prospect {
    fn of(dtz: MaybeRounded<Dtz>, rule50: u32, pace: RootPace) -> Prospect {
        let plies = i64::from(i32::from(dtz.ignore_rounding()));
        let rule50 = i64::from(rule50);
        // Rounded distances may be one ply too short.
        let rounding = i64::from(dtz.precise().is_none());
        let in_time = plies + rule50 + rounding <= FIFTY_MOVES;
        match plies {
            0 => Prospect::Draw,
            1.. if in_time && pace == RootPace::Free => Prospect::Win,
            1.. => Prospect::LateWin(Reverse(plies + rule50)),
            // With half of the time to spare.
            _ if rule50 - 2 * plies < FIFTY_MOVES => Prospect::Loss,
            _ => Prospect::LateLoss(rule50 - plies),
        }
    }
}

impl Tablebase {
    /// Those of `candidates`, legal moves of the last position, that keep the best result. `None` unless the
    /// tables know all of them.
    ///
    /// After a repetition the pace is [`RootPace::Fastest`], since aimless moves would draw.
    pub fn root_moves(&self, game: &History, candidates: &[Move], pace: RootPace) -> Option<RootMoves> {
        let root = game.current();
        if candidates.is_empty() || !self.covers(root) {
            return None;
        }
        let has_repeated = has_repeated(game);
        let pace = if has_repeated { RootPace::Fastest } else { pace };
        let by_distance = |mv| {
            let prospect = Prospect::of(self.dtz_of_move(root, mv)?, root.rule50(), pace);
            Some(under_the_rules(game, mv, prospect, Prospect::Draw, has_repeated))
        };
        if let Some(moves) = best(candidates, by_distance) {
            return Some(RootMoves {
                moves,
                tables: RootTables::Dtz,
            });
        }
        let by_result = |mv| {
            let result = -self.wdl(&root.play(mv))?;
            Some(under_the_rules(game, mv, result, Wdl::Draw, has_repeated))
        };
        let moves = best(candidates, by_result)?;
        Some(RootMoves {
            moves,
            tables: RootTables::Wdl,
        })
    }

    /// Plies to the next capture, pawn move or mate after `mv`, that move included: positive for a win,
    /// negative for a loss, 0 for a draw.
    fn dtz_of_move(&self, root: &Position, mv: Move) -> Option<MaybeRounded<Dtz>> {
        let after = root.play(mv);
        if after.rule50() == 0 {
            return Some(MaybeRounded::Precise(Dtz::before_zeroing(-self.wdl(&after)?)));
        }
        if after.is_check() && after.legal_moves().is_empty() {
            return Some(MaybeRounded::Precise(Dtz(1)));
        }
        let dtz = -self.found(self.tables.probe_dtz(after.chess()))?;
        Some(dtz.map(|dtz| dtz.add_plies(1)))
    }
}

/// A win that the opponent can answer with a third occurrence is a draw.
fn under_the_rules<Rank: Ord>(game: &History, mv: Move, rank: Rank, draw: Rank, has_repeated: bool) -> Rank {
    let mut game = game.clone();
    game.push(mv);
    let replies = game.legal_moves();
    if let Some(end) = game.terminal(&replies) {
        return if end == Terminal::Checkmate { rank } else { draw };
    }
    let mut repeats = |&reply| {
        game.push(reply);
        let is_third = game.repetitions() >= 2;
        game.pop();
        is_third
    };
    if has_repeated && rank > draw && replies.iter().any(&mut repeats) {
        draw
    } else {
        rank
    }
}

fn best<Rank: Ord + Copy>(candidates: &[Move], rank: impl Fn(Move) -> Option<Rank>) -> Option<Vec<Move>> {
    let ranks: Vec<Rank> = candidates.iter().map(|&mv| rank(mv)).collect::<Option<_>>()?;
    let highest = ranks.iter().copied().max()?;
    Some(
        candidates
            .iter()
            .zip(ranks)
            .filter(|(_, rank)| *rank == highest)
            .map(|(&mv, _)| mv)
            .collect(),
    )
}

fn has_repeated(game: &History) -> bool {
    let reversible = (0..game.len())
        .rev()
        .take_while(|&index| game.position(index).rule50() > 0);
    reversible.into_iter().any(|index| game.repetitions_at(index) > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(files: &[(&str, usize)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let mut table = Chess::TBW.magic.to_vec();
            table.resize(*bytes, 0);
            fs::write(folder.path().join(name), table).unwrap();
        }
        folder
    }

    /// A regression: each table that was read kept a descriptor, and beyond their limit no table was found.
    #[test]
    fn more_tables_are_read_than_may_be_open() {
        let folder = tempfile::tempdir().unwrap();
        let files = TableFiles::default();
        let tables: Vec<_> = (0..=MOST_OPEN as u16 + 20)
            .map(|number| {
                let path = folder.path().join(number.to_string());
                fs::write(&path, number.to_le_bytes()).unwrap();
                files.open(&path).unwrap()
            })
            .collect();
        for round in 0..2 {
            for (number, table) in tables.iter().enumerate() {
                assert_eq!(
                    table.read_u16_le_at(0, ReadHint::Data).unwrap(),
                    number as u16,
                    "round {round}"
                );
                assert!(files.recent.lock().len() <= MOST_OPEN);
            }
        }
        assert!(files.open(&folder.path().join("none")).is_err());
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let error = Tablebase::open("/no/such/folder").unwrap_err().to_string();
        assert_eq!(error, "there is no folder /no/such/folder");
        let empty = folder_with(&[("README", 0)]);
        let error = Tablebase::open(empty.path().to_str().unwrap()).unwrap_err();
        assert!(matches!(error, TablebaseError::Empty(_)), "{error}");
        // The second file is cut short.
        let folder = folder_with(&[("KQvK.rtbw", 80), ("KRvK.rtbw", 79)]);
        let folders = std::env::join_paths([Path::new("/no/such/folder"), folder.path()]).unwrap();
        let tables = Tablebase::open(folders.to_str().unwrap()).unwrap();
        let description = tables.description();
        assert!(
            description.starts_with("1 Syzygy tables (1 WDL, 0 DTZ), up to 3 pieces\n"),
            "{description}"
        );
        assert!(description.contains("KRvK.rtbw"), "{description}");
        assert!(
            description.contains("\nthere is no folder /no/such/folder"),
            "{description}"
        );
        // The first one is damaged, which shows when it is needed.
        let position = Position::from_fen("8/8/8/4k3/8/8/8/KQ6 w - - 0 1").unwrap();
        assert_eq!((tables.read_error(), tables.probe(&position)), (None, None));
        assert!(
            tables.read_error().unwrap().contains("KQvK"),
            "{:?}",
            tables.read_error()
        );
        assert_eq!(
            tables.damage(),
            [tables.read_error().unwrap()],
            "whoever asks is told before"
        );
    }

    #[test]
    fn a_folder_named_twice_counts_once() {
        let folder = folder_with(&[("KQvK.rtbw", 80)]);
        let twice = std::env::join_paths([folder.path().join("."), folder.path().into()]).unwrap();
        let tables = Tablebase::open(twice.to_str().unwrap()).unwrap();
        assert_eq!(
            tables.description(),
            "1 Syzygy tables (1 WDL, 0 DTZ), up to 3 pieces"
        );
    }

    #[test]
    fn what_is_no_table_is_told_at_once() {
        let folder = folder_with(&[("KQvK.rtbw", 80)]);
        fs::write(folder.path().join("KRvK.rtbw"), [0; 80]).unwrap();
        let tables = Tablebase::open(folder.path().to_str().unwrap()).unwrap();
        let description = tables.description();
        assert!(
            description.contains("KRvK.rtbw (it does not begin as a table does)"),
            "{description}"
        );
    }

    /// A regression: such tables were counted, but never probed.
    #[test]
    fn names_in_small_letters_are_read_and_others_are_told() {
        let folder = folder_with(&[("kqpvkr.rtbw", 80)]);
        assert_eq!(
            Tablebase::open(folder.path().to_str().unwrap())
                .unwrap()
                .tables
                .max_pieces(),
            5
        );
        let folder = folder_with(&[("KQVK.RTBW", 80)]);
        let error = Tablebase::open(folder.path().to_str().unwrap())
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("no table can be used: ") && error.contains("(call it KQvK.rtbw)"),
            "{error}"
        );
    }

    fn precise(dtz: i32, rule50: u32) -> Prospect {
        Prospect::of(MaybeRounded::Precise(Dtz(dtz)), rule50, RootPace::Free)
    }

    #[test]
    fn a_win_in_time_is_a_win_and_its_length_does_not_matter() {
        assert_eq!(precise(1, 0), Prospect::Win);
        assert_eq!(precise(40, 60), Prospect::Win);
        assert_eq!(precise(40, 61), Prospect::LateWin(Reverse(101)));
        assert_eq!(precise(101, 0), Prospect::LateWin(Reverse(101)));
    }

    #[test]
    fn a_rounded_distance_may_be_one_ply_longer() {
        let rounded = |rule50| Prospect::of(MaybeRounded::Rounded(Dtz(40)), rule50, RootPace::Free);
        assert_eq!(
            (rounded(59), rounded(60)),
            (Prospect::Win, Prospect::LateWin(Reverse(100)))
        );
    }

    #[test]
    fn in_a_hurry_only_the_shortest_way_is_best() {
        let hurried = |dtz| Prospect::of(MaybeRounded::Precise(Dtz(dtz)), 10, RootPace::Fastest);
        assert!(hurried(3) > hurried(5) && hurried(5) > precise(0, 10));
    }

    #[test]
    fn a_loss_is_dragged_out_only_when_the_fifty_move_rule_is_near() {
        assert_eq!(precise(-1, 0), precise(-40, 19));
        assert!(
            precise(-60, 41) > precise(-58, 41),
            "beyond fifty moves against just in time"
        );
        assert!(precise(0, 41) > precise(-60, 41), "a draw for certain is better");
    }

    #[test]
    fn the_order_of_prospects() {
        let rising = [
            precise(-1, 0),
            precise(-101, 0),
            precise(0, 0),
            precise(103, 0),
            precise(101, 0),
            precise(9, 0),
        ];
        assert!(rising.is_sorted_by(|a, b| a < b), "{rising:?}");
    }
}
