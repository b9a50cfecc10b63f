//! Rows: the results of a measurement, one CSV line each.
//!
//! Reports are computed from rows, so that the rows of many machines together give the report of one machine.
//!
//! A row type is declared once: `#[derive(Default, Serialize, Deserialize)] struct GameRow { … }` and `impl
//! Row for GameRow`. A column that a later version adds gets `#[serde(default)]`. [`GameFiles`] writes CSV.
//! Floats round-trip. [`MergedGames`] reads the rows of many files game by game. [`replace`] puts a file into
//! the place of an older one.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::iter::Peekable;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use crate::alone::OwnFile;
pub use crate::error::RowError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::{NamedTempFile, TempPath};
use zeitnot_engine::files;

/// Games are written in ascending order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GameKey {
    /// Empty outside matches.
    pub(crate) match_id: String,
    pub(crate) game: u64,
}

impl From<u64> for GameKey {
    fn from(game: u64) -> GameKey {
        GameKey {
            match_id: String::new(),
            game,
        }
    }
}

impl fmt::Display for GameKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.match_id {
            "" => self.game.fmt(f),
            id => write!(f, "{} of the match {id}", self.game),
        }
    }
}

/// Fields are numbers, `bool`, `String` or `Option`s, in `snake_case` with their unit.
pub trait Row: Default + Serialize + DeserializeOwned {
    /// For people, as in "no rows of `movesleft`".
    const KIND: &'static str;

    fn game(&self) -> GameKey;

    /// Tells apart ways to play a game, whose rows may be in different files.
    fn way(&self) -> String {
        String::new()
    }

    /// The first line of a file of rows.
    fn header() -> String {
        let text = csv_of(&[Self::default()], true);
        text.split_inclusive('\n').take(1).collect()
    }
}

/// Rows as lines, if asked for below a header.
pub(crate) fn csv_of<R: Row>(rows: &[R], has_header: bool) -> String {
    let mut csv = csv::WriterBuilder::new()
        .has_headers(has_header)
        .from_writer(Vec::new());
    for row in rows {
        // Invariant: the fields fit CSV, and memory takes them.
        csv.serialize(row).expect("a row of a CSV file");
    }
    String::from_utf8_lossy(&csv.into_inner().expect("written to memory")).into_owned()
}

/// Opens rows as they were written, or as spreadsheets write them: in UTF-16, with other marks between
/// fields.
fn csv_of_file(path: &Path) -> Result<csv::Reader<Box<dyn Read>>, RowError> {
    let text = files::open_text(path, &[".csv"])
        .map_err(RowError::io(path))?
        .content;
    let mut text = BufReader::with_capacity(1 << 16, text);
    let start = text.fill_buf().map_err(RowError::io(path))?;
    let columns = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |mark: &u8| columns.iter().filter(|byte| *byte == mark).count();
    let delimiter = b"\t;,".iter().copied().max_by_key(count).unwrap_or(b',');
    let text: Box<dyn Read> = Box::new(text);
    Ok(csv::ReaderBuilder::new().delimiter(delimiter).from_reader(text))
}

/// A field as we write it, where pandas or a spreadsheet wrote it: `True`, `3.0`, `0,5`.
fn plain(field: &str) -> String {
    let lower = field.to_ascii_lowercase();
    if lower == "true" || lower == "false" {
        return lower;
    }
    let number = field.replacen(',', ".", 1);
    if number.parse::<f64>().is_err() {
        return field.to_owned();
    }
    number.strip_suffix(".0").unwrap_or(&number).to_owned()
}

/// Most of the kind's columns, as versions differ in some.
fn are_columns_of<R: Row>(found: &csv::StringRecord) -> bool {
    let header = R::header();
    let (known, unknown): (Vec<_>, Vec<_>) = header
        .trim_end()
        .split(',')
        .partition(|column| found.iter().any(|found| found == *column));
    known.len() > unknown.len()
}

pub fn has_rows_of<R: Row>(path: &Path) -> Result<bool, RowError> {
    let mut csv = csv_of_file(path)?;
    let found = csv.headers().map_err(|error| RowError::io(path)(error.into()))?;
    Ok(are_columns_of::<R>(found))
}

pub(crate) fn files_of<R: Row>(paths: &[PathBuf]) -> Result<Vec<PathBuf>, RowError> {
    let mut own = Vec::new();
    for path in paths {
        if has_rows_of::<R>(path)? {
            own.push(path.clone());
        }
    }
    Ok(own)
}

pub fn make_folder(folder: &Path) -> Result<(), RowError> {
    std::fs::create_dir_all(folder).map_err(RowError::io(folder))
}

/// Puts `content` into the place of what `path` holds, in one step. Whatever goes wrong, the old content
/// stays. Permissions stay, and a link stays a link.
pub fn replace(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let is_plain = |path: &Path| path.metadata().map_or(true, |known| known.is_file());
    if !is_plain(path) {
        return std::fs::write(path, content);
    }
    let mut beside = beside(path)?;
    // Its own writing would add words of the system.
    beside.as_file_mut().write_all(content.as_ref())?;
    persist(beside.into_temp_path(), path)
}

/// Begins the names of files that are to come into the place of others.
const BESIDE: &str = ".zeitnot-";

/// Removes what killed processes have left in a folder of our own.
pub(crate) fn remove_left_over(folder: &Path) {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(BESIDE)) {
        // It does no harm but for its size.
        let _ = std::fs::remove_file(entry.path());
    }
}

/// A file that is to come into the place of `path`.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut builder = tempfile::Builder::new();
    builder.prefix(BESIDE);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let folder = target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    builder
        .tempfile_in(folder)
        .map_err(|error| io::Error::from(error.kind()))
}

fn persist(beside: TempPath, path: &Path) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // Some network drives write the name before the content, and a crash between the two leaves neither.
    File::open(&beside)?.sync_all()?;
    if let Ok(known) = target.metadata() {
        if known.permissions().readonly() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        std::fs::set_permissions(&beside, known.permissions())?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            // Others may not give files away.
            let _ = std::os::unix::fs::chown(&beside, Some(known.uid()), Some(known.gid()));
        }
    }
    beside.persist(target).map_err(|error| error.error)
}

/// A file that is made anew beside an older one, comes into its place, and grows there.
#[derive(Debug)]
pub struct Export {
    path: PathBuf,
    file: OwnFile,
    beside: Option<TempPath>,
}

impl Export {
    pub fn create(path: &Path) -> Result<Export, RowError> {
        let (file, beside) = beside(path).map_err(RowError::io(path))?.into_parts();
        Ok(Export {
            path: path.to_owned(),
            file: OwnFile::new(&beside, file, 0),
            beside: Some(beside),
        })
    }

    /// Refuses to replace a file that has more lines: they are of rows that `journal` has lost.
    pub(crate) fn check_is_whole(&self, journal: &str) -> Result<(), RowError> {
        let lines = |path: &Path| whole_lines(path).map_err(RowError::io(path));
        if !self.path.is_file() || lines(&self.path)? <= lines(&self.file.path)? {
            return Ok(());
        }
        let remedy = "bring that back, or choose another --out. `report` reads the folder as it is";
        let text = format_args!(
            "has more than the {journal} beside it, which was cut, emptied or removed; {remedy}"
        );
        Err(RowError::of(&self.path, text))
    }

    pub fn publish(&mut self) -> Result<(), RowError> {
        let Some(beside) = self.beside.take() else {
            return Ok(());
        };
        persist(beside, &self.path).map_err(RowError::io(&self.path))?;
        self.file.path.clone_from(&self.path);
        Ok(())
    }

    /// What has come into its place survives the end of the program.
    pub fn add(&mut self, content: impl AsRef<[u8]>) -> Result<(), RowError> {
        let written = self.file.append(content.as_ref());
        written.map_err(RowError::ended(&self.path))
    }
}

/// A file for rows, with their header, which shows their kind even if none follows. Replaces only that kind.
pub(crate) fn create_rows<R: Row>(path: &Path) -> Result<Export, RowError> {
    if path.metadata().is_ok_and(|file| file.len() > 0) && !has_rows_of::<R>(path)? {
        let text = "has other columns than this version writes; begin anew in another --out";
        return Err(RowError::of(path, text));
    }
    let mut file = Export::create(path)?;
    file.add(R::header())?;
    Ok(file)
}

/// Lines that end, and their bytes. No row contains a newline.
pub(crate) fn whole_lines(path: &Path) -> io::Result<(u64, u64)> {
    let mut reader = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    let mut lines = 0;
    let mut bytes = 0;
    while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
        lines += 1;
        bytes += line.len() as u64;
        line.clear();
    }
    Ok((lines, bytes))
}

/// `games.csv` and `moves.csv` in one folder, open to be continued.
#[derive(Debug)]
pub struct GameFiles<G, M> {
    games: Export,
    moves: Export,
    rows: PhantomData<fn(G, M)>,
}

impl<G: Row, M: Row> GameFiles<G, M> {
    pub fn create(folder: &Path) -> Result<GameFiles<G, M>, RowError> {
        make_folder(folder)?;
        let [games, moves] = GameFiles::<G, M>::paths(folder);
        Ok(GameFiles {
            games: create_rows::<G>(&games)?,
            moves: create_rows::<M>(&moves)?,
            rows: PhantomData,
        })
    }

    pub fn paths(folder: &Path) -> [PathBuf; 2] {
        ["games.csv", "moves.csv"].map(|name| folder.join(name))
    }

    pub fn add(&mut self, game: &G, moves: &[M]) -> Result<(), RowError> {
        self.moves.add(csv_of(moves, false))?;
        self.games.add(csv_of(std::slice::from_ref(game), false))
    }

    pub fn publish(&mut self) -> Result<(), RowError> {
        self.moves.publish()?;
        self.games.publish()
    }

    /// Merges `files` of either kind into both files of `folder`, see [`write_merged`].
    pub fn write_merged(files: &[PathBuf], folder: &Path) -> Result<(), RowError> {
        make_folder(folder)?;
        let of_games = files_of::<G>(files)?;
        let of_moves = files_of::<M>(files)?;
        let [games, moves] = GameFiles::<G, M>::paths(folder);
        check_replacing::<M>(&moves, &of_moves)?;
        write_merged::<G>(&of_games, &games)?;
        write_merged::<M>(&of_moves, &moves)
    }
}

pub struct RowReader<R> {
    path: PathBuf,
    csv: csv::Reader<Box<dyn Read>>,
    record: csv::StringRecord,
    rows: PhantomData<fn() -> R>,
}

impl<R: Row> RowReader<R> {
    pub fn open(path: &Path) -> Result<RowReader<R>, RowError> {
        Ok(RowReader {
            path: path.to_owned(),
            csv: csv_of_file(path)?,
            record: csv::StringRecord::new(),
            rows: PhantomData,
        })
    }

    fn read(&mut self) -> Result<Option<R>, csv::Error> {
        // After the headers, which would overwrite a borrowed record.
        let headers = self.csv.headers()?.clone();
        if !self.csv.read_record(&mut self.record)? {
            return Ok(None);
        }
        let row = self.record.deserialize(Some(&headers)).or_else(|error| {
            let plain: csv::StringRecord = self.record.iter().map(plain).collect();
            plain.deserialize(Some(&headers)).map_err(|_| error)
        });
        row.map(Some)
    }

    fn fault(&mut self, error: csv::Error) -> RowError {
        let headers = self.csv.headers().cloned().unwrap_or_default();
        let text = error.to_string();
        let lacking = text.split("missing field `").nth(1);
        let column = lacking.and_then(|name| name.split('`').next());
        let Some(column) = column.filter(|_| are_columns_of::<R>(&headers)) else {
            return RowError::of(&self.path, format_args!("no rows of {}: {error}", R::KIND));
        };
        let version = headers.iter().position(|name| name == "version");
        let version = version
            .and_then(|column| self.record.get(column))
            .unwrap_or("another version");
        let text = format!("lacks the column `{column}`; written by {version}, which can report on it");
        RowError::of(&self.path, text)
    }
}

impl<R: Row> Iterator for RowReader<R> {
    type Item = Result<R, RowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().map_err(|error| self.fault(error)).transpose()
    }
}

/// Rows of several files in the order of the games, at least one of each, in bounded memory.
pub(crate) struct MergedGames<R: Row> {
    files: Vec<(PathBuf, Peekable<RowReader<R>>)>,
    last: Option<GameKey>,
}

impl<R: Row> MergedGames<R> {
    /// Each file's games must be in ascending order.
    pub(crate) fn open(paths: &[PathBuf]) -> Result<MergedGames<R>, RowError> {
        let mut files = Vec::new();
        for path in paths {
            files.push((path.clone(), RowReader::open(path)?.peekable()));
        }
        Ok(MergedGames { files, last: None })
    }

    fn read(&mut self) -> Result<Option<Vec<R>>, RowError> {
        let mut first: Option<GameKey> = None;
        for (path, file) in &mut self.files {
            let game = match file.peek() {
                None => continue,
                Some(Ok(row)) => row.game(),
                Some(Err(_)) => return file.next().transpose().map(|_| None),
            };
            if self.last.as_ref().is_some_and(|last| game <= *last) {
                let text = "comes after a later one or for the second time; take the file as it was written, unsorted";
                return Err(RowError::of(path, format_args!("game {game} {text}")));
            }
            if first.as_ref().is_none_or(|first| game < *first) {
                first = Some(game);
            }
        }
        let Some(game) = first else { return Ok(None) };
        let mut rows: Vec<R> = Vec::new();
        let mut before: Option<&Path> = None;
        for (path, file) in &mut self.files {
            let mut own = Vec::new();
            while let Some(row) = file.next_if(|row| row.as_ref().is_ok_and(|row| row.game() == game)) {
                own.push(row?);
            }
            if own.is_empty() {
                continue;
            }
            if let Some(before) = before
                && !ways(&rows).is_disjoint(&ways(&own))
            {
                let remedy = "name each shard once, and make them with the same --shard i/n";
                let files = format!("{} and {}", before.display(), path.display());
                let text = format!("game {game} is in two of the files, {files}: {remedy}");
                return Err(RowError(text));
            }
            rows.append(&mut own);
            before = Some(path);
        }
        self.last = Some(game);
        Ok(Some(rows))
    }
}

fn ways<R: Row>(rows: &[R]) -> HashSet<String> {
    rows.iter().map(R::way).collect()
}

impl<R: Row> Iterator for MergedGames<R> {
    type Item = Result<Vec<R>, RowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// Refuses to replace a game that none of `files` has: it belongs to another run.
fn check_replacing<R: Row>(path: &Path, files: &[PathBuf]) -> Result<(), RowError> {
    if !path.exists() {
        return Ok(());
    }
    let mut merged = MergedGames::<R>::open(files)?;
    // A half-written row ends the file. Other rows are refused later.
    for old in MergedGames::<R>::open(&[path.to_owned()])?.map_while(Result::ok) {
        let game = old[0].game();
        let is_before = |rows: &Vec<R>| rows[0].game() < game;
        let new = merged.find(|rows| !rows.as_ref().is_ok_and(is_before));
        let mut new = new.transpose()?.unwrap_or_default();
        new.retain(|row| row.game() == game);
        if !ways(&old).is_subset(&ways(&new)) {
            let text = format_args!("has game {game} of another run; name another --out");
            return Err(RowError::of(path, text));
        }
    }
    Ok(())
}

/// Merges all files. Existing rows are replaced if all their games are in the files.
pub fn write_merged<R: Row>(files: &[PathBuf], path: &Path) -> Result<(), RowError> {
    check_replacing::<R>(path, files)?;
    let mut file = create_rows::<R>(path)?;
    for game in MergedGames::<R>::open(files)? {
        file.add(csv_of(&game?, false))?;
    }
    file.publish()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Sample {
        game: u64,
        name: String,
        used_ms: f64,
        m_plies: Option<f32>,
        won: bool,
        #[serde(default)]
        version: String,
    }

    impl Row for Sample {
        const KIND: &'static str = "samples";

        fn game(&self) -> GameKey {
            self.game.into()
        }

        fn way(&self) -> String {
            self.name.clone()
        }
    }

    /// A regression: what pandas or a spreadsheet had written again could not be read.
    #[test]
    fn rows_that_others_wrote_again_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        let sample = Sample {
            game: 3,
            used_ms: 0.5,
            m_plies: Some(4.0),
            won: true,
            ..Sample::default()
        };
        let wide = "game;name;used_ms;m_plies;won\r\n3;;0,5;4;WAHR\r\n".replace("WAHR", "TRUE");
        let wide = wide.encode_utf16().flat_map(u16::to_le_bytes);
        for bytes in [
            b"game,name,used_ms,m_plies,won\n3.0,,0.5,4.0,True\n".to_vec(),
            b"\xef\xbb\xbfgame;name;used_ms;m_plies;won\r\n3;;0,5;4;true\r\n".to_vec(),
            b"\xff\xfe".iter().copied().chain(wide).collect(),
        ] {
            std::fs::write(&path, &bytes).unwrap();
            let read: Vec<_> = RowReader::<Sample>::open(&path)
                .unwrap()
                .map(Result::unwrap)
                .collect();
            assert_eq!(read, std::slice::from_ref(&sample), "{bytes:?}");
        }
    }

    fn samples() -> Vec<Sample> {
        let sample = |game: u64| Sample {
            game,
            name: format!("a, \"b\" {game}"),
            used_ms: 0.1 + game as f64 / 3.0,
            m_plies: game.is_multiple_of(2).then_some(game as f32 / 7.0),
            won: game.is_multiple_of(3),
            version: "1".into(),
        };
        (0..100).map(sample).collect()
    }

    fn write(path: &Path, rows: &[Sample]) {
        let mut file = create_rows::<Sample>(path).unwrap();
        file.add(csv_of(rows, false)).unwrap();
        file.publish().unwrap();
    }

    fn read(path: &Path) -> Vec<Sample> {
        RowReader::open(path).unwrap().collect::<Result<_, _>>().unwrap()
    }

    /// A regression: a refused file lost what stood behind its last newline.
    #[test]
    fn a_file_of_something_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other.csv");
        for text in ["a,b\n1,2\n", "a,b\n1,2\n3,4", "a,b\n", "a,b"] {
            std::fs::write(&other, text).unwrap();
            let refused = create_rows::<Sample>(&other).unwrap_err().to_string();
            assert!(
                refused.contains("other.csv: has other columns"),
                "{text:?}: {refused}"
            );
            assert_eq!(std::fs::read_to_string(&other).unwrap(), text);
        }
    }

    /// A regression: a column that a contributor added made all older rows unreadable, and a column that was
    /// missing was told in the words of a library.
    #[test]
    fn rows_of_other_versions_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        std::fs::write(&path, "game,name,used_ms,m_plies,won,later\n7,a,1.5,,true,x\n").unwrap();
        assert!(has_rows_of::<Sample>(&path).unwrap());
        assert_eq!(read(&path)[0].version, "");
        for (text, writer) in [
            ("game,used_ms,m_plies,won,version\n7,1.5,,true,0.0.9\n", "0.0.9"),
            ("game,used_ms,m_plies,won\n7,1.5,,true\n", "another version"),
        ] {
            std::fs::write(&path, text).unwrap();
            let lacking = RowReader::<Sample>::open(&path)
                .unwrap()
                .next()
                .unwrap()
                .unwrap_err()
                .to_string();
            let expected = format!("rows.csv: lacks the column `name`; written by {writer}");
            assert!(lacking.contains(&expected), "{lacking}");
        }
    }

    #[test]
    fn a_file_without_rows_has_its_header() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        write(&path, &[]);
        assert_eq!(Sample::header(), "game,name,used_ms,m_plies,won,version\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), Sample::header());
        assert_eq!(read(&path), []);
    }

    fn write_games(path: &Path, way: &str, games: &[u64]) -> PathBuf {
        let row = |&game: &u64| Sample {
            game,
            name: way.into(),
            ..samples()[0].clone()
        };
        let rows: Vec<_> = games
            .iter()
            .flat_map(|game| [row(game), row(game), row(game)])
            .collect();
        write(path, &rows);
        path.into()
    }

    fn fault(files: &[&PathBuf]) -> String {
        let files: Vec<PathBuf> = files.iter().copied().cloned().collect();
        MergedGames::<Sample>::open(&files)
            .unwrap()
            .find_map(Result::err)
            .unwrap()
            .to_string()
    }

    #[test]
    fn shards_merge_in_the_order_of_the_games_and_overlaps_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, games: &[u64]| write_games(&folder.path().join(name), "x", games);
        let (a, b) = (file("a", &[1, 4, 9]), file("b", &[2, 3, 12]));
        let (c, none) = (file("c", &[3]), file("none", &[]));
        let merged = MergedGames::<Sample>::open(&[b.clone(), none, a]).unwrap();
        let games: Vec<_> = merged.map(|game| game.unwrap()).collect();
        assert_eq!(
            games.iter().map(|rows| rows[0].game).collect::<Vec<_>>(),
            [1, 2, 3, 4, 9, 12]
        );
        assert!(games.iter().all(|rows| rows.len() == 3));
        assert!(
            fault(&[&b, &c]).starts_with("game 3 is in two of the files"),
            "{}",
            fault(&[&b, &c])
        );
        assert!(fault(&[&b, &b]).starts_with("game 2 is in two of the files"));
        let unordered = file("unordered", &[2, 1]);
        assert!(
            fault(&[&unordered]).contains("unordered: game 1 comes after"),
            "{}",
            fault(&[&unordered])
        );
        let other = write_games(&folder.path().join("other"), "y", &[3]);
        let both = MergedGames::<Sample>::open(&[c, other]).unwrap();
        assert_eq!(
            both.map(|game| game.unwrap().len()).collect::<Vec<_>>(),
            [6],
            "played in two ways"
        );
    }

    /// A regression: any rows of a folder were replaced silently.
    #[test]
    fn rows_of_another_run_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, way: &str, games: &[u64]| write_games(&folder.path().join(name), way, games);
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
                assert!(
                    written.unwrap_err().to_string().contains("of another run"),
                    "{way} {games:?}"
                );
                assert_eq!(std::fs::read(&old).unwrap(), before);
            } else {
                written.unwrap();
                assert_eq!(std::fs::read(&old).unwrap(), std::fs::read(&new).unwrap());
            }
            std::fs::remove_file(&old).unwrap();
        }
    }
}
