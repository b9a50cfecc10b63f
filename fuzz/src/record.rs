//! Training records, and games labelled by a teacher.

use zeitnot::lab::training::record::{RecordReader, RecordWriter};
use zeitnot::lab::training::table::TableWriter;
use zeitnot::lab::training::teacher;

/// Reads records; what is read can be written again, and expanded to tables.
pub fn run(data: &[u8]) -> bool {
    let mut any = false;
    if let Ok(reader) = RecordReader::new(data) {
        let games: Vec<_> = reader.map_while(Result::ok).collect();
        any = !games.is_empty();
        let mut writer = RecordWriter::new(Vec::new()).expect("memory");
        let mut table = TableWriter::new(Vec::new(), Vec::new());
        games.iter().for_each(|game| {
            writer.write(game).expect("it was read from a record");
            table.write_game(game).expect("its moves are legal");
        });
        let bytes = writer.into_inner();
        let again: Vec<_> = RecordReader::new(&bytes).expect("our own").map_while(Result::ok).collect();
        assert_eq!(again.len(), games.len());
    }
    if let Ok(games) = teacher::read_games(data) {
        let mut writer = RecordWriter::new(Vec::new()).expect("memory");
        any |= games.iter().any(|game| writer.write(game).is_ok());
    }
    any
}
