//! Lets a UCI engine make labelled games, one after the other, and adds them to a file of records. A run that was interrupted goes
//! on where it was.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::DatagenSummary;
use super::files::fault;
use crate::lab::training::TrainingDataError;
use crate::lab::training::game::LabelledGame;
use crate::lab::training::record::{RecordReader, RecordWriter};
use crate::lab::training::uci_teacher::UciTeacher;
use crate::tools::Failure;

#[derive(Debug, Args)]
pub(super) struct TeachingArgs {
    /// The engine, such as Debian's /usr/games/stockfish
    #[arg(long, value_name = "PROGRAM")]
    teacher: PathBuf,
    /// An argument for the engine; may be given several times
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    teacher_arg: Vec<String>,
    /// Games in the file at the end, those already there included
    #[arg(long, short, value_name = "N")]
    games: u64,
    /// Nodes per move
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) nodes: u64,
    /// Seed of the games
    #[arg(long, default_value_t = 0)]
    pub(super) seed: u64,
    /// The file of records; if it exists, games are added
    #[arg(long, short, value_name = "FILE.zng")]
    out: PathBuf,
}

impl TeachingArgs {
    /// Makes the games that the file has not yet; `make_game` gets their numbers.
    pub(super) fn run(
        &self,
        mut make_game: impl FnMut(&mut UciTeacher, u64) -> Result<LabelledGame, TrainingDataError>,
    ) -> Result<DatagenSummary, Failure> {
        let teacher_fault = |error: TrainingDataError| Failure::Input(error.to_string());
        let mut teacher = UciTeacher::start(&self.teacher, &self.teacher_arg).map_err(teacher_fault)?;
        let (mut records, mut summary) = resume(&self.out)?;
        let progress = progress_bar(self.games);
        while (summary.games as u64) < self.games {
            progress.set_position(summary.games as u64);
            let game = make_game(&mut teacher, summary.games as u64).map_err(teacher_fault)?;
            // Written at once: an interruption costs the game in progress.
            records.write(&game).map_err(|error| fault(&self.out, error))?;
            summary.count(&game);
        }
        progress.finish_and_clear();
        Ok(summary)
    }
}

/// Opens or makes the file, at the end of its last whole game. Returns it with the counts of what it already holds.
fn resume(path: &Path) -> Result<(RecordWriter<File>, DatagenSummary), Failure> {
    let io_fault = |error: std::io::Error| fault(path, error.into());
    let mut summary = DatagenSummary::default();
    if !path.exists() {
        let file = File::create(path).map_err(io_fault)?;
        return Ok((RecordWriter::new(file).map_err(|error| fault(path, error))?, summary));
    }
    // As they are on the disk: games cannot be added to a compressed file.
    let bytes = fs::read(path).map_err(io_fault)?;
    let mut reader = RecordReader::new(&bytes).map_err(|_| {
        let reason = "is no uncompressed file of training records: no games can be added; name another --out";
        Failure::Input(format!("{} {reason}", path.display()))
    })?;
    for game in reader.by_ref().map_while(Result::ok) {
        summary.count(&game);
    }
    let file = OpenOptions::new().append(true).open(path).map_err(io_fault)?;
    file.set_len(reader.whole_bytes() as u64).map_err(io_fault)?;
    Ok((RecordWriter::append_to(file), summary))
}

fn progress_bar(games: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{pos} of {len} games {wide_bar} {eta}");
    ProgressBar::new(games).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
