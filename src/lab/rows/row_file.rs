//! Rows: a struct's fields are the columns of a CSV and a Parquet file.
//!
//! A row type is declared once: `#[derive(Serialize, Deserialize, ParquetRecordWriter)] struct GameRow { … }` and
//! `impl Row for GameRow`. A running command appends to the CSV, which is its journal (a run that was stopped goes on behind
//! the last whole row); Parquet is written from the CSV at the end. Floats are written with as many digits as
//! bring back the same float.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::record::RecordWriter;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::columns::{are_columns_of, columns_of_file};
use super::error::RowError;

/// Rows of a Parquet file that are written at once.
const ROW_GROUP: usize = 1 << 17;

/// A row of results. Fields are numbers, `bool`, `String` or `Option`s of them, named in `snake_case` with their unit.
pub trait Row: Serialize + DeserializeOwned {
    /// Names the kind of rows for people, as in "these are rows of `movesleft`".
    const KIND: &'static str;

    /// Returns the columns' names in their order.
    fn columns() -> Vec<String>
    where
        Self: Sized,
        for<'a> &'a [Self]: RecordWriter<Self>,
    {
        let none: &[Self] = &[];
        let schema = none.schema().expect("a derived schema");
        schema.get_fields().iter().map(|field| field.name().to_owned()).collect()
    }
}

/// Makes a folder and those that it lies in, if they are not there yet.
///
/// # Errors
/// [`RowError::Io`] if one cannot be made.
pub fn make_folder(folder: &Path) -> Result<(), RowError> {
    std::fs::create_dir_all(folder).map_err(RowError::io(folder))
}

/// Appends rows to a CSV file.
#[derive(Debug)]
pub struct RowWriter<R> {
    path: PathBuf,
    csv: csv::Writer<BufWriter<File>>,
    rows: PhantomData<fn(R)>,
}

impl<R: Row> RowWriter<R>
where
    for<'a> &'a [R]: RecordWriter<R>,
{
    /// Starts a new file with the names of the columns; an old one with such rows is replaced.
    ///
    /// # Errors
    /// [`RowError::Io`] or [`RowError::Csv`] if it cannot be written, [`RowError::OtherColumns`] if the old one is of something else.
    pub fn create(path: &Path) -> Result<RowWriter<R>, RowError> {
        if path.metadata().is_ok_and(|file| file.len() > 0) {
            let columns = columns_of_file(path)?;
            if !are_columns_of(&columns, &R::columns()) {
                return Err(RowError::OtherColumns { path: path.to_owned() });
            }
        }
        let file = File::create(path).map_err(RowError::io(path))?;
        RowWriter::begin(path, file)
    }

    /// Goes on behind the rows that `keep` accepts: it sees the rows in order, and from the first that it refuses on all are
    /// cut off, as is a last line that was only half written. A missing file is created.
    ///
    /// # Errors
    /// [`RowError::Io`]; [`RowError::Csv`] if the file has other rows, [`RowError::OtherColumns`] if it lacks the version or has no
    /// rows and other columns. The file is then as it was.
    pub fn resume(path: &Path, mut keep: impl FnMut(R) -> bool) -> Result<RowWriter<R>, RowError> {
        if !path.exists() {
            return RowWriter::create(path);
        }
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(RowError::io(path))?;
        let length = end_of_last_line(&mut file).map_err(RowError::io(path))?;
        let mut kept = 0;
        let whole_lines = File::open(path).map_err(RowError::io(path))?.take(length);
        let mut reader = RowReader::<R>::new(path, Box::new(BufReader::new(whole_lines)));
        while let Some(row) = reader.next() {
            if !keep(row?) {
                break;
            }
            kept = reader.bytes();
        }
        let columns = columns_of_file(path)?;
        let is_own = if kept > 0 {
            columns == R::columns()
        } else {
            let is_begun = length == 0 && R::columns().join(",").starts_with(&columns.join(","));
            is_begun || are_columns_of(&columns, &R::columns())
        };
        if !is_own {
            return Err(RowError::OtherColumns { path: path.to_owned() });
        }
        file.set_len(kept).and_then(|()| file.seek(SeekFrom::End(0))).map_err(RowError::io(path))?;
        if kept == 0 { RowWriter::begin(path, file) } else { Ok(RowWriter::behind(path, file)) }
    }

    /// Begins an empty file. The header is there even if no row follows, so that it shows the kind of rows.
    fn begin(path: &Path, file: File) -> Result<RowWriter<R>, RowError> {
        let mut writer = RowWriter::behind(path, file);
        writer.csv.write_record(R::columns()).map_err(RowError::csv::<R>(path))?;
        Ok(writer)
    }

    fn behind(path: &Path, file: File) -> RowWriter<R> {
        let csv = csv::WriterBuilder::new().has_headers(false).from_writer(BufWriter::new(file));
        RowWriter { path: path.to_owned(), csv, rows: PhantomData }
    }

    /// Appends a row.
    ///
    /// # Errors
    /// [`RowError::Csv`] if the row cannot be written.
    pub fn write(&mut self, row: &R) -> Result<(), RowError> {
        self.csv.serialize(row).map_err(RowError::csv::<R>(&self.path))
    }

    /// Hands what was appended to the system, so that it survives the end of the program.
    ///
    /// # Errors
    /// [`RowError::Io`] if the rows cannot be written.
    pub fn flush(&mut self) -> Result<(), RowError> {
        self.csv.flush().map_err(RowError::io(&self.path))
    }
}

/// Returns the bytes up to the end of the last line that ends in a newline. No text of a row contains one.
fn end_of_last_line(file: &mut File) -> io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut block = [0; 4096];
    while end > 0 {
        let start = end.saturating_sub(block.len() as u64);
        let part = &mut block[..(end - start) as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(part)?;
        if let Some(newline) = part.iter().rposition(|&byte| byte == b'\n') {
            return Ok(start + newline as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Reads the rows of a CSV file, one after the other.
pub struct RowReader<R> {
    path: PathBuf,
    csv: csv::Reader<Box<dyn Read>>,
    record: csv::StringRecord,
    rows: PhantomData<fn() -> R>,
}

impl<R: Row> RowReader<R> {
    /// Opens a file.
    ///
    /// # Errors
    /// [`RowError::Io`] if it cannot be opened.
    pub fn open(path: &Path) -> Result<RowReader<R>, RowError> {
        let file = File::open(path).map_err(RowError::io(path))?;
        Ok(RowReader::new(path, Box::new(BufReader::with_capacity(1 << 16, file))))
    }

    /// Reads from anything, such as a decompressor; `path` is for error messages.
    pub fn new(path: &Path, source: Box<dyn Read>) -> RowReader<R> {
        let csv = csv::Reader::from_reader(source);
        RowReader { path: path.to_owned(), csv, record: csv::StringRecord::new(), rows: PhantomData }
    }

    /// Returns the bytes of the file up to the end of the last row that was read.
    fn bytes(&self) -> u64 {
        self.csv.position().byte()
    }

    fn read(&mut self) -> Result<Option<R>, csv::Error> {
        // After the headers: they would overwrite a borrowed record.
        let headers = self.csv.headers()?.clone();
        if !self.csv.read_record(&mut self.record)? {
            return Ok(None);
        }
        self.record.deserialize(Some(&headers)).map(Some)
    }
}

impl<R> std::fmt::Debug for RowReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowReader").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<R: Row> Iterator for RowReader<R> {
    type Item = Result<R, RowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().map_err(RowError::csv::<R>(&self.path)).transpose()
    }
}

/// Writes the rows of the CSV file `csv` as Parquet (compressed with Snappy) beside it, in groups, so that any number of them
/// needs little memory. The file's name differs in its ending, `.parquet`.
///
/// # Errors
/// Errors of reading the rows; [`RowError::Io`] and [`RowError::Parquet`] if writing fails.
pub fn write_parquet<R>(csv: &Path) -> Result<(), RowError>
where
    R: Row,
    for<'a> &'a [R]: RecordWriter<R>,
{
    let mut rows = RowReader::<R>::open(csv)?;
    let path = &csv.with_extension("parquet");
    let none: &[R] = &[];
    let schema = none.schema().map_err(RowError::parquet(path))?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let file = BufWriter::new(File::create(path).map_err(RowError::io(path))?);
    let mut writer =
        SerializedFileWriter::new(file, schema, Arc::new(properties)).map_err(RowError::parquet(path))?;
    loop {
        let group = rows.by_ref().take(ROW_GROUP).collect::<Result<Vec<R>, _>>()?;
        if group.is_empty() {
            break;
        }
        let mut row_group = writer.next_row_group().map_err(RowError::parquet(path))?;
        group.as_slice().write_to_row_group(&mut row_group).map_err(RowError::parquet(path))?;
        row_group.close().map_err(RowError::parquet(path))?;
    }
    writer.close().map(drop).map_err(RowError::parquet(path))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use parquet::file::reader::FileReader;
    use parquet::file::serialized_reader::SerializedFileReader;
    use parquet_derive::ParquetRecordWriter;
    use serde::Deserialize;

    use super::super::columns::are_columns_of;
    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ParquetRecordWriter)]
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
        let mut writer = RowWriter::create(path).unwrap();
        rows.iter().for_each(|row| writer.write(row).unwrap());
        writer.flush().unwrap();
    }

    fn read(path: &Path) -> Vec<Sample> {
        RowReader::open(path).unwrap().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn rows_come_back_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        write(&path, &samples());
        assert_eq!(read(&path), samples());
        assert_eq!(columns_of_file(&path).unwrap(), Sample::columns());
    }

    #[test]
    fn a_file_without_rows_has_its_header() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        write(&path, &[]);
        assert_eq!(columns_of_file(&path).unwrap(), Sample::columns());
        assert_eq!(read(&path), []);
        drop(RowWriter::resume(&path, |_: Sample| true).unwrap());
        write_parquet::<Sample>(&path).unwrap();
        assert_eq!(columns_of_file(&path).unwrap(), Sample::columns());
    }

    #[test]
    fn a_stopped_run_goes_on_behind_the_rows_that_it_keeps() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        let rows = samples();
        for half_line in ["", "41,half", "41,a,0.1,,tru"] {
            for keep in [0, 1, 40, 41] {
                write(&path, &rows[..41]);
                OpenOptions::new().append(true).open(&path).unwrap().write_all(half_line.as_bytes()).unwrap();
                let mut writer = RowWriter::resume(&path, |row: Sample| row.game < keep).unwrap();
                rows[keep as usize..].iter().for_each(|row| writer.write(row).unwrap());
                writer.flush().unwrap();
                assert_eq!(read(&path), rows, "kept {keep}, then {half_line:?}");
            }
        }
    }

    /// A regression: a foreign file that was refused had lost what stood behind its last newline.
    #[test]
    fn a_foreign_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let foreign = folder.path().join("foreign.csv");
        for (text, message) in [
            ("a,b\n1,2\n", "foreign.csv: no rows of samples"),
            ("a,b\n1,2\n3,4", "foreign.csv: no rows of samples"),
            ("a,b\n", "foreign.csv: has other columns"),
            ("a,b", "foreign.csv: has other columns"),
        ] {
            std::fs::write(&foreign, text).unwrap();
            let refused = RowWriter::resume(&foreign, |_: Sample| true).unwrap_err().to_string();
            assert!(refused.contains(message), "{text:?}: {refused}");
            assert!(RowWriter::<Sample>::create(&foreign).is_err(), "{text:?}");
            assert_eq!(std::fs::read_to_string(&foreign).unwrap(), text);
        }
        let begun = "game,na";
        std::fs::write(&foreign, begun).unwrap();
        drop(RowWriter::resume(&foreign, |_: Sample| true).unwrap());
        assert_eq!(columns_of_file(&foreign).unwrap(), Sample::columns(), "its own header, half written");
    }

    #[test]
    fn rows_without_a_version_are_read_but_not_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        std::fs::write(&path, "game,name,used_ms,m_plies,won\n7,a,1.5,,true\n").unwrap();
        assert!(are_columns_of(&columns_of_file(&path).unwrap(), &Sample::columns()));
        assert!(!are_columns_of(&["game".into()], &Sample::columns()));
        assert_eq!(read(&path)[0].version, "");
        let refused = RowWriter::resume(&path, |_: Sample| true).unwrap_err();
        assert!(matches!(refused, RowError::OtherColumns { .. }), "{refused}");
        assert_eq!(read(&path).len(), 1, "the file is left alone");
    }

    #[test]
    fn parquet_has_the_same_rows_with_types_and_nulls() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        write(&path, &samples());
        write_parquet::<Sample>(&path).unwrap();
        let parquet = File::open(path.with_extension("parquet")).unwrap();
        let reader = SerializedFileReader::new(parquet).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), 100);
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert!(rows[1].contains("game: 1,") && rows[1].contains("m_plies: null"), "{}", rows[1]);
        assert!(rows[0].contains("m_plies: 0E0") && rows[0].contains("won: true"), "{}", rows[0]);
    }
}
