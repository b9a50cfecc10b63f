//! Reads recorded games from the files of the command line, for the commands that measure on them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::lab::pgn::{GameError, Games, RecordedGame};
use crate::tools::Failure;
use crate::tools::output::eprint_message;

/// The games of all files, numbered from 1 across them. Broken ones count, and are named on stderr.
pub(super) struct RecordedGames {
    files: std::vec::IntoIter<PathBuf>,
    open: Option<(PathBuf, Games<'static>)>,
    /// Games read, broken ones included.
    pub(super) read: u64,
    pub(super) broken: u64,
    bytes_read: Arc<AtomicU64>,
}

impl RecordedGames {
    /// `bytes_read` counts the bytes of the files that were read.
    pub(super) fn new(files: &[PathBuf], bytes_read: Arc<AtomicU64>) -> RecordedGames {
        RecordedGames { files: files.to_vec().into_iter(), open: None, read: 0, broken: 0, bytes_read }
    }

    fn open_next(&mut self) -> Result<Option<(PathBuf, Games<'static>)>, GameError> {
        let Some(path) = self.files.next() else { return Ok(None) };
        let (name, bytes_read) = (path.display().to_string(), self.bytes_read.clone());
        let source: Box<dyn Read + Send> = match File::open(&path) {
            _ if path.as_os_str() == "-" => Box::new(io::stdin()),
            Ok(file) => Box::new(file),
            Err(error) => return Err(GameError::Read { name, error }),
        };
        Ok(Some((path, Games::from_compressed(name, Counted { source, bytes_read })?)))
    }
}

impl From<GameError> for Failure {
    fn from(error: GameError) -> Failure {
        Failure::Input(error.to_string())
    }
}

impl Iterator for RecordedGames {
    type Item = Result<RecordedGame, GameError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.open.is_none() {
                match self.open_next().transpose()? {
                    Ok(opened) => self.open = Some(opened),
                    Err(error) => return Some(Err(error)),
                }
            }
            let (path, games) = self.open.as_mut()?;
            let Some(game) = games.next() else {
                self.open = None;
                continue;
            };
            self.read += 1;
            match game {
                Ok(game) => return Some(Ok(RecordedGame { number: self.read, ..game })),
                Err(broken @ GameError::Broken { .. }) => {
                    self.broken += 1;
                    eprint_message(format_args!("{}: {broken}", path.display()));
                }
                Err(fatal) => return Some(Err(fatal)),
            }
        }
    }
}

/// Has `workers` do jobs, each on a thread of its own, and hands the results over in the order of the jobs. Where the jobs come from and
/// where the results go, files are read and written: that stays on the caller's thread. The first error ends it all.
pub(super) fn in_order<Job: Send, Worker: Send, Done: Send, Error: Send>(
    workers: Vec<Worker>,
    mut next_job: impl FnMut() -> Result<Option<Job>, Error>,
    work: impl Fn(&mut Worker, Job) -> Result<Done, Error> + Sync,
    mut receive: impl FnMut(Done) -> Result<(), Error>,
) -> Result<(), Error> {
    let most_under_way = 4 * workers.len();
    let (job_sender, jobs) = crossbeam::channel::unbounded();
    let (result_sender, results) = crossbeam::channel::unbounded();
    std::thread::scope(|scope| {
        // Dropped with the first error, so that the threads end.
        let (job_sender, results) = (job_sender, results);
        for mut worker in workers {
            let (jobs, result_sender, work) = (jobs.clone(), result_sender.clone(), &work);
            scope.spawn(move || {
                for (place, job) in jobs {
                    if result_sender.send((place, work(&mut worker, job))).is_err() {
                        break;
                    }
                }
            });
        }
        drop((jobs, result_sender));
        let (mut given, mut received, mut early, mut is_end) = (0, 0, BTreeMap::new(), false);
        loop {
            while !is_end && given < received + most_under_way {
                match next_job()? {
                    Some(job) => {
                        let _ = job_sender.send((given, job));
                        given += 1;
                    }
                    None => is_end = true,
                }
            }
            if received == given {
                return Ok(());
            }
            // The channel is closed only where a thread has panicked, which the scope tells.
            let Ok((place, done)) = results.recv() else { return Ok(()) };
            early.insert(place, done?);
            while let Some(done) = early.remove(&received) {
                received += 1;
                receive(done)?;
            }
        }
    })
}

/// Counts what passes.
struct Counted {
    source: Box<dyn Read + Send>,
    bytes_read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.bytes_read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
