//! What the commands of the laboratory have in common: shards, recorded games, and the identity of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use itertools::Itertools;
use sha2::{Digest, Sha256};

use super::game_args::GameArgs;
use crate::commands::running::{command_line, interruption, origin};
use crate::output::{ExitStatus, Output, Told, eprint_message};
use crate::setup::sha256;
use zeitnot_engine::engine::{Settings, Setup};
use zeitnot_engine::files::hex;
use zeitnot_engine::note::counted;
use zeitnot_lab::ExternalCommand;
use zeitnot_lab::alone::{Lock, WITHOUT_LOCKS};
use zeitnot_lab::matches::{Adjudication, MatchRules, Openings, SideLimit};
use zeitnot_lab::pgn::{GameError, Games, RecordedGame};
use zeitnot_lab::report::Origin;
use zeitnot_lab::run::Run;

/// The number of positions of the first `most` games. `None` if a file can be read only once.
pub(super) fn positions_of(files: &[PathBuf], most: usize) -> Option<u64> {
    if !files.iter().all(|file| file.is_file()) {
        return None;
    }
    let games = files
        .iter()
        .filter_map(|file| Games::open(file).ok())
        .flatten()
        .flatten();
    let lengths = games
        .map(|game| game.moves.len() as u64)
        .filter(|&moves| moves > 0);
    Some(lengths.take(most).map(|moves| moves + 1).sum())
}

pub(super) fn listed(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display()).join(", ")
}

/// A run of a command: its folder, if it keeps anything, and whether the user has stopped it.
pub(super) struct Running {
    pub(super) run: Option<Run>,
    pub(super) stop: &'static AtomicBool,
}

impl Running {
    /// Claims the folder, and tells `output` the origin. `files` are those that the run replaces there.
    pub(super) fn begin(
        out: Option<&Path>,
        id: String,
        facts: &[(impl ToString, String)],
        files: &[&str],
        output: &mut Output,
    ) -> Result<Running> {
        let origin = Origin {
            run: id,
            ..origin(facts)
        };
        output.tell_origins(vec![origin.clone()]);
        let run = out.map(|folder| Run::claim(folder, origin, files)).transpose()?;
        if run.as_ref().is_some_and(|run| run.lock() == Lock::Unknown) {
            eprint_message(WITHOUT_LOCKS);
        }
        Ok(Running {
            run,
            stop: interruption()?,
        })
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The exit code of a command that has done all that it could, and has named so many `faults` of its
    /// input. Says how to go on with a run that the user has stopped.
    pub(super) fn end(&self, is_whole: bool, faults: u64) -> ExitStatus {
        if self.is_stopped() && !is_whole {
            eprint_message(match self.run {
                Some(_) => format!("stopped; the same command goes on:\n{}", command_line()),
                None => "stopped; nothing is kept to go on with: give --out FOLDER the next time".into(),
            });
            ExitStatus::Stopped
        } else if faults > 0 {
            ExitStatus::BadInput
        } else {
            ExitStatus::Success
        }
    }
}

/// Most origins of a page. More are alike but for their shards.
const MOST_ORIGINS: usize = 8;

/// The origins of rows in these files, as far as they are known, and of the report on them.
pub(super) fn origins(files: &[PathBuf]) -> Vec<Origin> {
    let folders: BTreeSet<_> = files.iter().filter_map(|file| file.parent()).collect();
    let known = folders
        .into_iter()
        .filter_map(Origin::of_folder)
        .take(MOST_ORIGINS);
    known.chain([origin::<&str>(&[])]).collect()
}

/// One machine's part of a run that many do together: every n-th piece of work, beginning with the i-th. It
/// is written `i/n`, i from 1 to n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    index: u64,
    pub(super) count: u64,
}

impl Shard {
    /// Whether this piece of work, counted from 0, is in the shard. Each piece is in one of the n
    /// shards.
    pub(super) fn takes(self, piece: u64) -> bool {
        piece % self.count == self.index
    }
}

impl Default for Shard {
    /// The whole work.
    fn default() -> Shard {
        Shard { index: 0, count: 1 }
    }
}

impl FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Shard, &'static str> {
        let parsed = text
            .split_once('/')
            .and_then(|(i, n)| Some((i.parse::<u64>().ok()?, n.parse().ok()?)));
        match parsed {
            Some((i, count)) if (1..=count).contains(&i) => Ok(Shard { index: i - 1, count }),
            _ => Err("expected i/n with i from 1 to n, as in 2/8"),
        }
    }
}

/// The identity of a run that can be resumed: a hash over all that its results depend on, except where files
/// lie and how fast the machine is.
#[derive(Clone, Default)]
pub(super) struct RunId(Sha256);

impl RunId {
    pub(super) fn add(&mut self, text: impl AsRef<[u8]>) {
        self.0.update(text);
    }

    pub(super) fn add_engine(&mut self, setup: &Setup) {
        self.add_settings(setup.settings(), setup.network_sha256());
    }

    pub(super) fn add_settings(&mut self, settings: &Settings, network_sha256: Option<&str>) {
        let mut settings = settings.clone();
        // What the file holds counts, not what it is called.
        settings.network.weights_file = network_sha256.unwrap_or_default().to_owned();
        if !settings.tablebase.syzygy_path.is_empty() {
            settings.tablebase.syzygy_path = "tables".into();
        }
        settings.info.log_file.clear();
        settings.network.threads = None;
        settings
            .values()
            .for_each(|(flag, value)| self.add(format!("--{flag}={value}\n")));
    }

    pub(super) fn add_games(
        &mut self,
        names: &[&str],
        limits: &[SideLimit],
        rules: &MatchRules,
        openings: &Openings,
        args: &GameArgs,
    ) {
        let Adjudication {
            draw,
            win,
            tables,
            max_plies,
        } = &rules.adjudication;
        let has_tables = tables.is_some();
        let other = (names, limits, draw, win, max_plies, has_tables, rules.seed);
        self.add(format!("{other:?} {}", args.sequential));
        self.add(openings.fingerprint().to_le_bytes());
    }

    /// Adds an external engine by what it is: the content of its program, and of the files in its arguments
    /// and options, such as a network.
    pub(super) fn add_external(&mut self, command: &ExternalCommand) {
        let ExternalCommand {
            program,
            arguments,
            options,
            ..
        } = command;
        self.add(format!("{arguments:?} {options:?}"));
        let mut files = vec![program_file(program)];
        let words = arguments
            .iter()
            .map(|word| word.rsplit('=').next().unwrap_or(word));
        let values = options.iter().map(|(_, value)| value.as_str());
        let named = words.chain(values).map(PathBuf::from);
        files.extend(named.filter(|path| path.is_file()));
        self.add_files(&files);
    }

    /// Adds what files of games hold, wherever they lie, and the names of pipes, which can be read once.
    pub(super) fn add_files(&mut self, files: &[PathBuf]) {
        for file in files {
            let content = file.is_file().then(|| sha256(file).ok()).flatten();
            self.add(content.unwrap_or_else(|| format!("{}\n", file.display())));
        }
    }

    pub(super) fn finish(self) -> String {
        hex(&self.0.finalize()[..6])
    }

    /// Of the shard, and what it has in common with all others.
    pub(super) fn finish_of(mut self, shard: Option<Shard>) -> [String; 2] {
        let of_all = self.clone().finish();
        self.add(format!("{shard:?}"));
        [self.finish(), of_all]
    }
}

/// The file of a program, which may be named as on a command line.
fn program_file(program: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_name = Path::new(program).parent() == Some(Path::new(""));
    let folders = env::split_paths(&path).filter(|_| is_name);
    let mut files = folders.map(|folder| folder.join(program));
    files
        .find(|file| file.is_file())
        .unwrap_or_else(|| program.into())
}

/// The games of all files, numbered from 1 across them. Those that are broken or have no moves count, and are
/// named on stderr, as are files that cannot be read to their end.
#[derive(Default)]
pub(super) struct RecordedGames<'a> {
    files: std::slice::Iter<'a, PathBuf>,
    /// A file with its name, and the games that were read before it.
    open: Option<(String, u64, Games<'static>)>,
    pub(super) read: u64,
    pub(super) broken: u64,
    pub(super) damaged: u64,
    told: Told,
    /// The forms in which clocks and times are written, and the games that have them.
    time_forms: BTreeMap<&'static str, usize>,
}

impl<'a> RecordedGames<'a> {
    /// Looks at all files first, so that one that is not there is known at once, and not after hours.
    pub(super) fn new(files: &'a [PathBuf]) -> Result<RecordedGames<'a>> {
        for path in files.iter().filter(|path| path.as_os_str() != "-") {
            // What a pipe holds can be read once.
            if path
                .metadata()
                .map_or(true, |file| file.is_file() || file.is_dir())
            {
                Games::open(path)?;
            }
        }
        Ok(RecordedGames {
            files: files.iter(),
            ..RecordedGames::default()
        })
    }

    /// Where the clocks and times of the games read so far are from.
    pub(super) fn clocks(&self) -> Option<String> {
        let forms = self.time_forms.iter();
        let mut forms = forms.map(|(form, games)| format!("{form} in {}", counted(*games, "game")));
        let text = format!("from {}", forms.join(", "));
        (!self.time_forms.is_empty()).then_some(text)
    }

    fn tell_damage(&mut self, error: &GameError) {
        self.damaged += 1;
        eprint_message(error);
    }

    /// The games that come with the program: some that it played against itself, to their ends.
    pub(super) fn sample() -> RecordedGames<'a> {
        /// 64 games of `zeitnot-tiny` at 50 nodes a move.
        const SAMPLE: &[u8] = include_bytes!("sample.pgn.gz");
        let name = "the built-in sample".to_owned();
        let open = Some((
            name.clone(),
            0,
            Games::new(name, flate2::read::GzDecoder::new(SAMPLE)),
        ));
        RecordedGames {
            open,
            ..RecordedGames::default()
        }
    }
}

impl Iterator for RecordedGames<'_> {
    type Item = RecordedGame;

    fn next(&mut self) -> Option<RecordedGame> {
        loop {
            let Some((path, before, games)) = &mut self.open else {
                let path = self.files.next()?;
                match Games::open(path) {
                    Ok(games) => {
                        games.notes.iter().for_each(eprint_message);
                        self.open = Some((path.display().to_string(), self.read, games));
                    }
                    Err(error) => self.tell_damage(&error),
                }
                continue;
            };
            match games.next() {
                None => {
                    if self.read == *before {
                        eprint_message(format_args!("{path}: no game is in it"));
                    }
                    self.open = None;
                }
                Some(Ok(game)) => {
                    self.read += 1;
                    let number = game.number;
                    let players = game.tags.players();
                    for form in &game.time_forms {
                        *self.time_forms.entry(form).or_default() += 1;
                    }
                    for note in &game.notes {
                        let kind: String = note
                            .chars()
                            .filter(|c| c.is_alphabetic() || *c == ' ')
                            .take(40)
                            .collect();
                        self.told
                            .tell_kind(kind, format_args!("{path}: game {number}{players}: {note}"));
                    }
                    if !game.moves.is_empty() {
                        return Some(RecordedGame {
                            number: self.read,
                            ..game
                        });
                    }
                    self.told.tell_kind(
                        "without moves",
                        format_args!("{path}: game {number}{players} has no moves"),
                    );
                }
                Some(Err(broken @ GameError::Broken { .. })) => {
                    self.read += 1;
                    self.broken += 1;
                    self.told.tell_kind("skipped", format_args!("{path}: {broken}"));
                }
                Some(Err(error @ GameError::Read { .. })) => {
                    self.open = None;
                    self.tell_damage(&error);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A regression: games of a program that was built anew were counted with those of the old one.
    #[test]
    fn an_external_engine_is_what_its_files_hold() {
        let folder = tempfile::tempdir().unwrap();
        let [program, network] = ["engine", "network"].map(|name| folder.path().join(name));
        let mut command = ExternalCommand::new(&program.to_string_lossy());
        command.options = vec![("EvalFile".into(), network.to_string_lossy().into_owned())];
        command.arguments = vec![format!("--weights={}", network.display())];
        let id = |texts: [&str; 2]| {
            std::fs::write(&program, texts[0]).unwrap();
            std::fs::write(&network, texts[1]).unwrap();
            let mut id = RunId::default();
            id.add_external(&command);
            id.finish()
        };
        let first = id(["one", "a"]);
        assert_eq!(first, id(["one", "a"]));
        assert_ne!(first, id(["two", "a"]));
        assert_ne!(first, id(["one", "b"]));
        assert!(program_file("sh").is_absolute() || cfg!(windows));
    }

    #[test]
    fn a_run_is_the_same_wherever_its_tables_lie_and_however_fast_it_is() {
        let id = |path: &str, threads: &str| {
            let mut settings = Settings::default();
            settings.set("SyzygyPath", path).unwrap();
            settings.set("Threads", threads).unwrap();
            let mut id = RunId::default();
            id.add_settings(&settings, None);
            id.finish()
        };
        assert_eq!(id("here", "1"), id("there", "2"));
        assert_ne!(id("here", "1"), id("", "1"));
    }

    #[test]
    fn every_piece_is_in_one_shard() {
        for n in 1..5 {
            let shards: Vec<Shard> = (1..=n).map(|i| format!("{i}/{n}").parse().unwrap()).collect();
            assert!((0..50).all(|piece| shards.iter().filter(|shard| shard.takes(piece)).count() == 1));
        }
        assert!((0..9).all(|piece| Shard::default().takes(piece)));
        for text in ["0/4", "5/4", "1", "a/b", "1/0", "-1/3"] {
            assert!(text.parse::<Shard>().unwrap_err().contains("2/8"), "{text}");
        }
    }
}
