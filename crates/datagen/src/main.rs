//! `zeitnot-datagen`: plays or imports labelled games, and expands them to the trainer's tables.

use std::error::Error;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use indicatif::ProgressBar;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde::Serialize;

use zeitnot_datagen::TrainingDataError;
use zeitnot_datagen::game::{LabelledGame, labelled};
use zeitnot_datagen::record::{MAGIC, Records, encode};
use zeitnot_datagen::table::Tables;
use zeitnot_datagen::teacher::{Lines, UciTeacher, play_game};
use zeitnot_engine::engine::{Settings, open_backend};
use zeitnot_engine::files::Zstandard;
use zeitnot_engine::network::BatchEvaluator;
use zeitnot_engine::{VERSION, files};
use zeitnot_lab::alone::{Lock, OwnFile, WITHOUT_LOCKS, lock};
use zeitnot_lab::pgn::Games;
use zeitnot_lab::report::printable;
use zeitnot_lab::rows::{Export, make_folder, replace};

/// The most bytes of records in memory.
const MOST_RECORDS: u64 = 8 << 30;
const MOST_NOTES: usize = 20;

/// Training data for networks: labelled games, and the trainer's tables of them
///
/// Each step writes what it counted to stdout, in JSON.
#[derive(Debug, Parser)]
#[command(version = VERSION)]
struct Datagen {
    #[command(subcommand)]
    step: DatagenStep,
}

#[derive(Debug, Subcommand)]
enum DatagenStep {
    /// Let a UCI engine play and label games, and write them as records
    ///
    /// Once a game is decided, half the nodes per move do.
    Play(TeachingArgs),
    /// Let a UCI engine label what follows random or plausible moves in games that it has labelled
    Blunders(Box<BlundersArgs>),
    /// Read labelled games and write them as records, at most 12 bytes per position
    Import(ImportArgs),
    /// Expand records to tables, one row per position, for models/training/train.py
    Table(TableArgs),
}

#[derive(Debug, Args)]
struct TeachingArgs {
    /// The engine, such as Debian's /usr/games/stockfish
    #[arg(long, value_name = "PROGRAM")]
    teacher: PathBuf,
    /// An argument for the engine. May be given several times
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    teacher_arg: Vec<String>,
    /// Games in the file at the end, those already there included
    #[arg(long, short, value_name = "N")]
    games: u64,
    /// Nodes per move
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..))]
    nodes: u64,
    /// Seed of the games
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The file of records. If it exists, games are added
    #[arg(long, short, value_name = "FILE.zng")]
    out: PathBuf,
}

#[derive(Debug, Args)]
struct BlundersArgs {
    /// Files of records by a teacher, also compressed (.zst), in whose games the lines begin
    #[arg(long, required = true, num_args = 1.., value_name = "RECORDS")]
    from: Vec<PathBuf>,
    /// The moves to label answers to: any legal ones, or those that the network (--weights) finds plausible,
    /// mistakes preferred
    #[arg(long, value_enum, default_value_t = Moves::Random)]
    moves: Moves,
    /// The network that finds moves plausible
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// What evaluates it, as the option Backend
    #[arg(long, value_name = "NAME", default_value = "auto")]
    backend: String,
    #[command(flatten)]
    teaching: TeachingArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Moves {
    Random,
    Plausible,
}

#[derive(Debug, Args)]
struct ImportArgs {
    /// PGN of tournament games with evaluations in comments, also compressed (.zst)
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    pgn: Vec<PathBuf>,
    /// The file of records to write. Compressed if it ends in .zst
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Debug, Args)]
struct TableArgs {
    /// Files of records, also compressed (.zst)
    #[arg(required = true, value_name = "RECORDS")]
    records: Vec<PathBuf>,
    /// The folder to write rows.bin and moves.bin to
    #[arg(long, short, value_name = "FOLDER")]
    out: PathBuf,
}

#[derive(Debug, Default, Serialize)]
struct DatagenSummary {
    games: usize,
    skipped: usize,
    positions: usize,
    held_out_positions: usize,
}

impl DatagenSummary {
    fn count(&mut self, game: &LabelledGame) {
        self.games += 1;
        self.positions += game.plies.len();
        self.held_out_positions += if game.held_out { game.plies.len() } else { 0 };
    }
}

fn main() -> ExitCode {
    let args = Datagen::parse();
    match run(&args.step).and_then(|summary| Ok(serde_json::to_string_pretty(&summary)?)) {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}", printable(&error.to_string()));
            ExitCode::from(2)
        }
    }
}

fn run(step: &DatagenStep) -> Result<DatagenSummary, Box<dyn Error>> {
    match step {
        DatagenStep::Play(args) => make_games(args, |teacher, number| {
            play_game(teacher, args.nodes, args.seed, number)
        }),
        DatagenStep::Blunders(args) => play_lines(args),
        DatagenStep::Import(args) => import(args),
        DatagenStep::Table(args) => expand(args),
    }
}

fn play_lines(args: &BlundersArgs) -> Result<DatagenSummary, Box<dyn Error>> {
    let policy = match args.moves {
        Moves::Random if args.weights.is_some() => {
            return Err("random moves ask no network: add --moves plausible, or leave out --weights".into());
        }
        Moves::Random => None,
        Moves::Plausible => {
            let mut settings = Settings::default();
            settings.set("Backend", &args.backend)?;
            if let Some(weights) = &args.weights {
                settings.set("WeightsFile", &weights.to_string_lossy())?;
            }
            let opened = open_backend(&settings.network)?;
            eprintln!("using {}", opened.backend.facts().description);
            Some(BatchEvaluator::new(
                &*opened.backend,
                settings.search.history_fill,
                1,
            )?)
        }
    };
    let mut games = Vec::new();
    each_game(&args.from, |_, game| {
        games.push(game);
        Ok(())
    })?;
    let mut lines = Lines::new(games, policy)?;
    let TeachingArgs { nodes, seed, .. } = args.teaching;
    make_games(&args.teaching, |teacher, number| {
        lines.play_line(teacher, nodes, seed, number)
    })
}

/// Makes the missing games of the file. Resumes an interrupted run.
fn make_games(
    args: &TeachingArgs,
    mut make_game: impl FnMut(&UciTeacher, u64) -> Result<LabelledGame, TrainingDataError>,
) -> Result<DatagenSummary, Box<dyn Error>> {
    let teacher = UciTeacher::start(&args.teacher, &args.teacher_arg);
    let teacher = teacher.map_err(|error| format!("the teacher {error}"))?;
    let (mut file, mut summary) = resume(&args.out)?;
    let progress = ProgressBar::new(args.games);
    while (summary.games as u64) < args.games {
        progress.set_position(summary.games as u64);
        let game = make_game(&teacher, summary.games as u64)?;
        // An interruption costs the game in progress.
        let bytes = encode(&game).map_err(|error| fault(&args.out, error))?;
        file.append(&bytes).map_err(|error| fault(&args.out, error))?;
        summary.count(&game);
    }
    progress.finish_and_clear();
    Ok(summary)
}

/// Opens or makes the file, at the end of its last whole game.
fn resume(path: &Path) -> Result<(OwnFile, DatagenSummary), Box<dyn Error>> {
    let io_fault = |error: std::io::Error| fault(path, error);
    let mut summary = DatagenSummary::default();
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .map_err(io_fault)?;
    match lock(&file) {
        Lock::Held => {}
        Lock::Taken => return Err(fault(path, "in use by another process; name another --out")),
        Lock::Unknown => eprintln!("{WITHOUT_LOCKS}"),
    }
    if file.metadata().map_err(io_fault)?.len() == 0 {
        file.write_all(MAGIC).map_err(io_fault)?;
    }
    // From the disk: games cannot be added to a compressed file.
    let bytes = fs::read(path).map_err(io_fault)?;
    let records = Records::new(&bytes).ok().filter(|records| !records.is_old);
    let Some(mut records) = records else {
        let reason = "is no uncompressed file of training records of this version: no games can be added";
        return Err(format!("{} {reason}; name another --out", path.display()).into());
    };
    while let Some(game) = records.next() {
        match game {
            Ok(game) => summary.count(&game),
            Err(_) if records.is_torn => break,
            Err(error) => return Err(fault(path, error)),
        }
    }
    let whole = records.whole_bytes as u64;
    file.set_len(whole).map_err(io_fault)?;
    Ok((OwnFile::new(path, file, whole), summary))
}

fn import(args: &ImportArgs) -> Result<DatagenSummary, Box<dyn Error>> {
    let mut summary = DatagenSummary::default();
    let mut records = MAGIC.to_vec();
    for path in &args.pgn {
        let games = Games::open(path)?;
        for note in &games.notes {
            eprintln!("{}", printable(note));
        }
        let tell = |text: &str| eprintln!("{}", printable(&format!("{}: {text}", path.display())));
        let mut told = 0..MOST_NOTES;
        for game in games {
            let notes = game.iter().flat_map(|game| &game.notes);
            told.by_ref().zip(notes).for_each(|(_, note)| tell(note));
            match labelled(game) {
                Ok(game) => {
                    records.extend(encode(&game).map_err(|error| fault(path, error))?);
                    summary.count(&game);
                }
                Err(text) => {
                    tell(&text);
                    summary.skipped += 1;
                }
            }
        }
    }
    if summary.games == 0 {
        return Err("no game with a result is in these files: nothing is written".into());
    }
    let is_compressed = args.out.extension().is_some_and(|extension| extension == "zst");
    if is_compressed {
        records = compress_to_vec(&records[..], CompressionLevel::Fastest);
    }
    replace(&args.out, records).map_err(|error| fault(&args.out, error))?;
    Ok(summary)
}

fn expand(args: &TableArgs) -> Result<DatagenSummary, Box<dyn Error>> {
    make_folder(&args.out)?;
    let create = |name| Export::create(&args.out.join(name));
    let (mut rows, mut moves) = (create("rows.bin")?, create("moves.bin")?);
    let (mut tables, mut summary) = (Tables::default(), DatagenSummary::default());
    each_game(&args.records, |path, game| {
        tables.add(&game).map_err(|error| fault(path, error))?;
        rows.add(std::mem::take(&mut tables.rows))?;
        moves.add(std::mem::take(&mut tables.moves))?;
        summary.count(&game);
        Ok(())
    })?;
    moves.publish()?;
    rows.publish()?;
    Ok(summary)
}

fn each_game(
    paths: &[PathBuf],
    mut take: impl FnMut(&Path, LabelledGame) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    for path in paths {
        let mut bytes = Vec::new();
        // Our own records compress like nothing else.
        let read = match path.extension().is_some_and(|extension| extension == "zst") {
            true => File::open(path)
                .and_then(|own| Zstandard::new(own).take(MOST_RECORDS).read_to_end(&mut bytes)),
            false => files::open(path).and_then(|mut content| content.read_to_end(&mut bytes)),
        };
        read.map_err(|error| fault(path, error))?;
        for game in Records::new(&bytes).map_err(|error| fault(path, error))? {
            take(path, game.map_err(|error| fault(path, error))?)?;
        }
    }
    Ok(())
}

fn fault(path: &Path, error: impl fmt::Display) -> Box<dyn Error> {
    format!("{}: {error}", path.display()).into()
}
