//! Measures games: reads them, asks the network, hands over the rows in the order of the games.
//!
//! One thread reads, any number evaluate (batches go across games), the caller's thread receives. Bounded queues between them keep the memory
//! the same for any number of games.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crossbeam::channel::{Receiver, Sender, bounded};

use super::encoder::GameEvaluator;
use super::rows::PositionRow;
use super::searcher::Searcher;
use super::selection::Selection;
use super::{Estimator, MovesLeftError, MovesLeftSource};
use crate::chess::{Color, History};
use crate::engine::Settings;
use crate::lab::pgn::{GameError, Games, RecordedGame};
use crate::lab::training::game::Ending;
use crate::lab::training::pgn::ending;
use crate::network::Backend;
use crate::version::VERSION;

/// Games that wait for a thread.
const QUEUE: usize = 64;

/// The games to be measured, and the settings for that.
pub struct Task<'a> {
    /// PGN files, plain or compressed; `-` is stdin.
    pub files: &'a [PathBuf],
    /// The filters for games and positions.
    pub selection: &'a Selection,
    /// Says whether the game with this number (from 1) is ours. Shards and resumed runs leave games to others.
    pub takes_game: &'a (dyn Fn(u64) -> bool + Sync),
    /// The backend with its network.
    pub backend: &'a dyn Backend,
    /// Options of the engine that searches, and the way to fill histories.
    pub settings: &'a Settings,
    /// Nodes for which each position is also searched, if it is.
    pub nodes: Option<u64>,
    /// Threads that evaluate.
    pub threads: usize,
    /// Positions in a batch; `None`: as many as the backend prefers.
    pub batch: Option<usize>,
    /// Becomes true when the measurement is to end early; games under way are given up.
    pub stop: &'a AtomicBool,
    /// Counts the bytes of the files that were read.
    pub bytes_read: Arc<AtomicU64>,
}

impl fmt::Debug for Task<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("files", &self.files).field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

/// The output of a measurement: games ascending by number, messages when they arise.
#[derive(Debug)]
pub enum Event {
    /// The rows of a game; there may be none.
    Game(Vec<PositionRow>),
    /// A game that was skipped, and why.
    Skipped(String),
}

/// The counts of games.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GameCounts {
    /// Games read, broken ones included.
    pub read: u64,
    /// Broken ones.
    pub broken: u64,
    /// Unfinished ones, and those that an accident ended.
    pub broken_off: u64,
    /// Those that the filters took; shards and resumed runs look at some of them.
    pub taken: u64,
    /// True if `stop` ended it.
    pub stopped: bool,
}

/// A game for a worker.
struct GameWork {
    sequence: u64,
    game: RecordedGame,
}

/// A message from a thread to the caller.
enum MeasureMessage {
    Finished(u64, Vec<PositionRow>),
    Skipped(String),
    Failed(MovesLeftError),
}

/// Runs the task; `receive` gets all events.
///
/// # Errors
/// [`MovesLeftError`] if a file cannot be read, the network fails, or `receive` fails.
pub fn run(
    task: &Task<'_>,
    mut receive: impl FnMut(Event) -> Result<(), MovesLeftError>,
) -> Result<GameCounts, MovesLeftError> {
    let (work_sender, work) = bounded(QUEUE);
    let (messages, inbox) = bounded(QUEUE);
    thread::scope(|scope| {
        let reader_messages = messages.clone();
        let reader = scope.spawn(move || read(task, &work_sender, &reader_messages));
        for _ in 0..task.threads.max(1) {
            let (work, messages) = (work.clone(), messages.clone());
            scope.spawn(move || {
                if let Err(error) = evaluate_all(task, &work, &messages) {
                    // Nobody listens any more only where another failure was first.
                    let _ = messages.send(MeasureMessage::Failed(error));
                }
            });
        }
        drop((work, messages));
        let result = in_order(&inbox, &mut receive);
        if result.is_err() {
            task.stop.store(true, Ordering::Relaxed);
        }
        // Threads that still want to send must not wait for ever.
        drop(inbox);
        let counts = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let stopped = task.stop.load(Ordering::Relaxed);
        result.map(|()| GameCounts { stopped, ..counts })
    })
}

/// Hands messages over, games by their sequence.
fn in_order(
    inbox: &Receiver<MeasureMessage>,
    receive: &mut impl FnMut(Event) -> Result<(), MovesLeftError>,
) -> Result<(), MovesLeftError> {
    let (mut next, mut early) = (0, BTreeMap::new());
    for message in inbox {
        match message {
            MeasureMessage::Failed(error) => return Err(error),
            MeasureMessage::Skipped(reason) => receive(Event::Skipped(reason))?,
            MeasureMessage::Finished(sequence, rows) => {
                early.insert(sequence, rows);
                while let Some(rows) = early.remove(&next) {
                    next += 1;
                    receive(Event::Game(rows))?;
                }
            }
        }
    }
    Ok(())
}

/// Reads all files and deals out the games that are wanted.
fn read(task: &Task<'_>, work: &Sender<GameWork>, messages: &Sender<MeasureMessage>) -> GameCounts {
    let mut counts = GameCounts::default();
    let mut sequence = 0;
    for path in task.files {
        let games = match open(path, task.bytes_read.clone()) {
            Ok(games) => games,
            Err(error) => {
                let _ = messages.send(MeasureMessage::Failed(error.into()));
                return counts;
            }
        };
        for game in games {
            if task.stop.load(Ordering::Relaxed) {
                return counts;
            }
            let mut game = match game {
                Ok(game) => game,
                Err(GameError::Broken { number, reason }) => {
                    counts.read += 1;
                    counts.broken += 1;
                    let text = format!("{}: game {number} is skipped: {reason}", path.display());
                    let _ = messages.send(MeasureMessage::Skipped(text));
                    continue;
                }
                Err(error) => {
                    let _ = messages.send(MeasureMessage::Failed(error.into()));
                    return counts;
                }
            };
            counts.read += 1;
            counts.broken_off += u64::from(ending(&game) == Ending::Broken);
            if !task.selection.takes_game(&game) {
                continue;
            }
            if task.selection.max_games.is_some_and(|most| counts.taken >= most) {
                return counts;
            }
            counts.taken += 1;
            // From here on the number in the stream of all files.
            game.number = counts.read;
            if (task.takes_game)(game.number) {
                if work.send(GameWork { sequence, game }).is_err() {
                    return counts;
                }
                sequence += 1;
            }
        }
    }
    counts
}

fn open(path: &Path, bytes_read: Arc<AtomicU64>) -> Result<Games<'static>, GameError> {
    let name = path.display().to_string();
    if path.as_os_str() == "-" {
        return Games::from_compressed("stdin", Counted { source: io::stdin(), bytes_read });
    }
    match File::open(path) {
        Ok(source) => Games::from_compressed(name, Counted { source, bytes_read }),
        Err(error) => Err(GameError::Read { name, error }),
    }
}

/// Counts what passes.
struct Counted<R> {
    source: R,
    bytes_read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.bytes_read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Evaluates the games that it gets until there are no more.
fn evaluate_all(
    task: &Task<'_>,
    work: &Receiver<GameWork>,
    messages: &Sender<MeasureMessage>,
) -> Result<(), MovesLeftError> {
    let mut worker = GameWorker::new(task)?;
    for game in work {
        worker.evaluate(&game)?;
        if task.stop.load(Ordering::Relaxed) || !worker.deliver(messages) {
            return Ok(());
        }
    }
    worker.batch.evaluate()?;
    worker.deliver(messages);
    Ok(())
}

/// The estimators whose answers stand in the rows themselves.
struct Defaults {
    legacy: Estimator,
    pieces: Estimator,
    head: Estimator,
}

impl Defaults {
    fn new() -> Defaults {
        let [legacy, pieces, head] = ["mle-legacy", "mle-pieces", "mle-mlh"].map(|name| {
            // Invariant: names of estimators without parameters are valid.
            Estimator::parse(name, MovesLeftSource::Root).expect("an estimator's name")
        });
        Defaults { legacy, pieces, head }
    }
}

/// The state with which a thread evaluates games.
struct GameWorker<'a> {
    selection: &'a Selection,
    stop: &'a AtomicBool,
    estimators: Defaults,
    batch: GameEvaluator,
    /// Searches each position too, if that is asked for.
    searcher: Option<Searcher>,
}

impl GameWorker<'_> {
    fn new<'a>(task: &Task<'a>) -> Result<GameWorker<'a>, MovesLeftError> {
        let fill = task.settings.search.history_fill;
        Ok(GameWorker {
            selection: task.selection,
            stop: task.stop,
            estimators: Defaults::new(),
            batch: GameEvaluator::new(task.backend, fill, task.batch)?,
            searcher: task.nodes.map(|nodes| Searcher::new(task.settings, nodes)).transpose()?,
        })
    }

    /// Gives the positions of a game to the network and, where there is one, to the searcher.
    fn evaluate(&mut self, GameWork { sequence, game }: &GameWork) -> Result<(), MovesLeftError> {
        let mut history = History::from_position(game.start.clone(), game.variant);
        let mut text = match game.tags.get("FEN") {
            Some(fen) => format!("fen {fen} moves"),
            None => "startpos moves".to_owned(),
        };
        if let Some(searcher) = &mut self.searcher {
            searcher.set_variant(game.variant)?;
        }
        self.batch.begin(*sequence, game.moves.len());
        let ending = ending(game).name();
        for (i, played) in game.moves.iter().enumerate() {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            if self.selection.takes_position(game.number, history.game_ply()) {
                let mut row = facts(game, i, &history);
                ending.clone_into(&mut row.ending);
                row.legacy_moves = self.estimators.legacy.estimate(&row).unwrap_or_default() as f32;
                row.pieces_moves = self.estimators.pieces.estimate(&row).unwrap_or_default() as f32;
                if let Some(searcher) = &mut self.searcher {
                    searcher.search(&text, &mut row)?;
                }
                self.batch.add(row, &history)?;
            }
            if self.searcher.is_some() {
                text.push(' ');
                text.push_str(&history.format_move(played.r#move));
            }
            history.push(played.r#move);
        }
        Ok(())
    }

    /// Sends the finished games; returns false if nobody listens any more.
    fn deliver(&mut self, messages: &Sender<MeasureMessage>) -> bool {
        self.batch.take_finished().into_iter().all(|(sequence, mut rows)| {
            for row in &mut rows {
                row.mlh_moves = self.estimators.head.estimate(row).map(|moves| moves as f32);
            }
            messages.send(MeasureMessage::Finished(sequence, rows)).is_ok()
        })
    }
}

/// Returns the FNV-1a hash of a text.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns what is known of the position before the `i`-th move without any network.
fn facts(game: &RecordedGame, i: usize, history: &History) -> PositionRow {
    let position = history.current();
    let plies_left = (game.moves.len() - i) as u32;
    let sign = if position.turn() == Color::White { 1 } else { -1 };
    PositionRow {
        game: game.number,
        ply: history.game_ply(),
        plies_left,
        moves_left: plies_left.div_ceil(2),
        pieces: position.piece_count() as u32,
        event: fnv1a(game.tags.get("Event").unwrap_or_default()),
        result: game.tags.result().map(|white| sign * i32::from(white)),
        centipawns: game.moves[i].centipawns.map(i32::from),
        version: VERSION.into(),
        ..PositionRow::default()
    }
}
