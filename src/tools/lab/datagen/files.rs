//! Opens the files of `datagen`, plain or compressed; makes them, compressed if their ending says so.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::lab::compressed;
use crate::lab::training::TrainingDataError;
use crate::lab::training::game::LabelledGame;
use crate::lab::training::record::RecordReader;
use crate::tools::Failure;

/// The compression level of `.zst` files; a higher one gains a few percent and takes minutes.
const COMPRESSION_LEVEL: i32 = 9;

/// Returns the failure with the file's name.
pub(super) fn fault(path: &Path, error: TrainingDataError) -> Failure {
    Failure::Input(format!("{}: {error}", path.display()))
}

fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

/// Opens a file and returns a stream of its inflated content.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read + Send>, Failure> {
    let content = compressed::open(path).map_err(|error| fault(path, error.into()))?;
    Ok(Box::new(BufReader::new(content)))
}

/// Reads the inflated content of a file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map_err(|error| fault(path, error.into()))?;
    Ok(bytes)
}

/// Reads files of records and gives each game to `take` with the path of its file.
pub(super) fn each_game(
    paths: &[PathBuf],
    mut take: impl FnMut(&Path, LabelledGame) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for path in paths {
        let bytes = read(path)?;
        for game in RecordReader::new(&bytes).map_err(|error| fault(path, error))? {
            take(path, game.map_err(|error| fault(path, error))?)?;
        }
    }
    Ok(())
}

/// Makes a new file, compressed if its ending says so.
pub(super) fn create(path: &Path) -> Result<Box<dyn Write>, Failure> {
    let file = File::create(path).map_err(|error| fault(path, error.into()))?;
    if is_compressed(path) {
        let encoder =
            zstd::Encoder::new(file, COMPRESSION_LEVEL).map_err(|error| fault(path, error.into()))?;
        return Ok(Box::new(BufWriter::new(encoder.auto_finish())));
    }
    Ok(Box::new(BufWriter::new(file)))
}
