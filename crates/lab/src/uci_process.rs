//! External UCI engines as child processes, line by line, with patience that ends. An engine that fails is
//! named with what it said last.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, RecvTimeoutError, SendTimeoutError, Sender, bounded};
use itertools::Itertools;
use parking_lot::Mutex;

use crate::error::{RowError, UciProcessError};
use crate::report::printable;
use zeitnot_engine::chess::{History, Move, Position, Variant};
use zeitnot_engine::files::{LineError, Lines};
use zeitnot_engine::foreign::{one_line, our_words};
use zeitnot_engine::system::tool::end_within;
use zeitnot_engine::time::Millis;

/// The time that an engine may be silent where no clock runs, by default.
const SILENCE: Duration = Duration::from_secs(10);
/// The same once it has told of an error in the place of an answer.
const SILENCE_AFTER_ERROR: Duration = Duration::from_secs(8);
/// How many times as long it may talk before it answers.
const TALK: u32 = 30;
/// The same before a start or a new game.
const TALK_BEFORE_GAME: u32 = 3;
const MOST_NAME: usize = 200;
/// The time beyond its limit after which an engine without a move is ended.
const MARGIN: Duration = Duration::from_secs(3);
const FAREWELL: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Most lines of its last words.
const LAST_WORDS: usize = 4;
/// Most characters of each.
const LONGEST_WORDS: usize = 300;
/// Most bytes that are kept of what it says. The oldest lines go.
const MOST_SAID: usize = 4 << 20;
/// Most lines that wait to be read, on either side.
const MOST_WAITING: usize = 16;

#[derive(Debug)]
pub struct EngineLog {
    file: Mutex<File>,
    opened: Instant,
}

impl EngineLog {
    /// Lines are added to those that are there.
    pub fn open(path: &Path) -> Result<Arc<EngineLog>, RowError> {
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .map_err(RowError::io(path))?;
        Ok(Arc::new(EngineLog {
            file: file.into(),
            opened: Instant::now(),
        }))
    }
}

/// A process in the log, if there is one.
#[derive(Clone, Debug)]
struct LoggedProcess {
    log: Option<Arc<EngineLog>>,
    /// The program and the number of the process.
    name: String,
}

impl LoggedProcess {
    /// Adds a line, `>` to the engine, `<` from it, or `!` from its stderr.
    fn tell(&self, way: &str, line: &str) {
        if let Some(EngineLog { file, opened }) = self.log.as_deref() {
            let seconds = opened.elapsed().as_secs_f64();
            let text = format!("{seconds:.3} {} {way} {line}\n", self.name);
            // A full disk costs the log alone.
            let _ = file.lock().write_all(text.as_bytes());
        }
    }
}

#[derive(Clone, Debug)]
pub struct ExternalCommand {
    pub program: String,
    pub arguments: Vec<String>,
    pub options: Vec<(String, String)>,
    pub silence: Duration,
    pub log: Option<Arc<EngineLog>>,
    /// Set where a flag ends all waiting, once it is known.
    pub stop: Arc<OnceLock<&'static AtomicBool>>,
}

impl ExternalCommand {
    pub fn new(program: &str) -> ExternalCommand {
        ExternalCommand {
            program: program.to_owned(),
            arguments: Vec::new(),
            options: Vec::new(),
            silence: SILENCE,
            log: None,
            stop: Arc::default(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Patience {
    /// In all, whatever the engine says meanwhile.
    whole: Duration,
    /// After the last line that it has said.
    silence: Duration,
}

/// A running engine. When dropped it gets `quit`, or is ended.
#[derive(Debug)]
pub(crate) struct UciProcess {
    name: String,
    child: Child,
    /// A thread writes them. `None` once it is told to end.
    input: Option<Sender<String>>,
    log: LoggedProcess,
    /// Its lines. The end of the channel is that of its output.
    output: Receiver<Result<String, LineError>>,
    /// What it said for people, on both outputs, since its last answer.
    words: Arc<Mutex<VecDeque<String>>>,
    patience: Patience,
    stop: Arc<OnceLock<&'static AtomicBool>>,
}

impl UciProcess {
    /// Starts an engine and sets its options. Returns also its answer to `uci`.
    fn start(command: &ExternalCommand) -> Result<(UciProcess, Vec<String>), UciProcessError> {
        let fault = |reason: String| UciProcessError {
            name: command.program.clone(),
            reason,
        };
        let mut child = Command::new(&command.program)
            .args(&command.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                fault(format!(
                    "cannot be started: {}",
                    why_not(&command.program, &error)
                ))
            })?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut input), Some(output), Some(errors)) = pipes else {
            return Err(fault("has no input or output".into()));
        };
        let (lines, to_write) = bounded::<String>(MOST_WAITING);
        let (sender, received) = bounded(MOST_WAITING);
        let mut process = UciProcess {
            name: command.program.clone(),
            log: LoggedProcess {
                log: command.log.clone(),
                name: format!("{} [{}]", command.program, child.id()),
            },
            child,
            input: Some(lines),
            output: received,
            words: Arc::default(),
            patience: Patience {
                whole: command.silence * TALK,
                silence: command.silence,
            },
            stop: command.stop.clone(),
        };
        let (log, words) = (process.log.clone(), process.words.clone());
        let hears = move || {
            for (_, text) in Lines::new(BufReader::new(errors)).flatten() {
                log.tell("!", &text);
                hear(&words, &text);
            }
        };
        let log = process.log.clone();
        let reads = move || {
            for line in Lines::new(BufReader::new(output)) {
                let text = line.map(|(_, text)| text);
                if let Ok(text) = &text {
                    log.tell("<", text);
                }
                if sender.send(text).is_err() {
                    break;
                }
            }
        };
        let writes = move || {
            for line in to_write {
                if input.write_all(line.as_bytes()).is_err() {
                    break;
                }
            }
        };
        let patience = process.patience_before_game();
        let answer = spawn(hears)
            .and_then(|()| spawn(reads))
            .and_then(|()| spawn(writes))
            .map_err(|error| process.fault(format!("cannot be read: {}", our_words(&error))))
            .and_then(|()| process.send("uci"))
            .and_then(|()| process.read_until("uciok", patience));
        let answer = answer.inspect_err(|_| process.kill())?;
        for (name, value) in &command.options {
            if !declares(&answer, name) {
                return Err(process.fault(format!("has no option {name:?}")));
            }
            process.set_option(name, value)?;
        }
        Ok((process, answer))
    }

    fn set_option(&self, name: &str, value: &str) -> Result<(), UciProcessError> {
        self.send(&format!("setoption name {name} value {value}"))
    }

    /// Sends a line. Where the engine has ended, the next reading says so: it knows what was wanted.
    fn send(&self, line: &str) -> Result<(), UciProcessError> {
        let Some(input) = &self.input else {
            return Err(self.fault("was told to end".into()));
        };
        self.log.tell(">", line);
        let began = Instant::now();
        let mut text = format!("{line}\n");
        while let Err(SendTimeoutError::Timeout(left)) = input.send_timeout(text, LOOK_EVERY * 10) {
            if self.is_stopped() || began.elapsed() >= self.patience.silence {
                return Err(self.fault("does not read its input".into()));
            }
            text = left;
        }
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.stop.get().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    fn patience_before_game(&self) -> Patience {
        Patience {
            whole: self.patience.silence * TALK_BEFORE_GAME,
            ..self.patience
        }
    }

    fn new_game(&mut self) -> Result<(), UciProcessError> {
        self.send("ucinewgame")?;
        self.send("isready")?;
        self.read_until("readyok", self.patience_before_game())?;
        Ok(())
    }

    /// Reads the lines up to one that begins with `word`, which is included.
    fn read_until(&mut self, word: &str, patience: Patience) -> Result<Vec<String>, UciProcessError> {
        let began = Instant::now();
        let mut last = began;
        let mut said = VecDeque::new();
        let mut bytes = 0;
        loop {
            if self.is_stopped() {
                return Err(self.fault("was not waited for, as the run is stopped".into()));
            }
            // Before every line, for engines that talk without end.
            if began.elapsed() >= patience.whole {
                return Err(self.fault(format!(
                    "has not said {word} within {:.0} s",
                    patience.whole.as_secs_f64()
                )));
            }
            let line = match self.output.recv_timeout(LOOK_EVERY * 10) {
                Ok(Ok(line)) => line,
                // One that is too long is none.
                Ok(Err(LineError::TooLong(_))) => continue,
                Ok(Err(LineError::Read(error))) => return Err(self.fault(our_words(&error))),
                Err(RecvTimeoutError::Disconnected) => {
                    let end = self.end();
                    return Err(self.fault(format!("ended{end} before it said {word}")));
                }
                Err(RecvTimeoutError::Timeout) => {
                    let silent = last.elapsed();
                    let tells_error = |line: &String| line.to_lowercase().contains("error");
                    let is_mute = silent >= SILENCE_AFTER_ERROR && self.words.lock().iter().any(tells_error);
                    if is_mute || silent >= patience.silence {
                        return Err(self.fault(format!(
                            "has not said {word} and is silent for {:.0} s (wait=SECONDS allows more)",
                            silent.as_secs_f64()
                        )));
                    }
                    continue;
                }
            };
            last = Instant::now();
            let first = line.split_ascii_whitespace().next().unwrap_or_default();
            let is_last = first == word;
            let is_for_people = !["info", "option", "id", ""].contains(&first);
            if !is_last && (is_for_people || line.starts_with("info string")) {
                hear(&self.words, &line);
            }
            bytes += line.len();
            said.push_back(line);
            while bytes > MOST_SAID {
                bytes -= said.pop_front().map_or(bytes, |line| line.len());
            }
            if is_last {
                self.words.lock().clear();
                return Ok(said.into());
            }
        }
    }

    /// How the process has ended, as in " (exit code 3)". Empty where the system does not say.
    fn end(&mut self) -> String {
        match end_within(&mut self.child, FAREWELL) {
            Ok(status) => match status.code() {
                Some(code) => format!(" (exit code {code})"),
                None => format!(" ({status})"),
            },
            Err(_) => String::new(),
        }
    }

    fn kill(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
    }

    fn fault(&self, mut reason: String) -> UciProcessError {
        // What it wrote before it ended may still be on its way.
        thread::sleep(LOOK_EVERY * 5);
        let words = self.words.lock().iter().join(" / ");
        if !words.is_empty() {
            reason += &format!(". Its last words: {words}");
        }
        UciProcessError {
            name: self.name.clone(),
            reason,
        }
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().spawn(work)?;
    Ok(())
}

fn hear(words: &Mutex<VecDeque<String>>, line: &str) {
    let mut words = words.lock();
    let line = line.strip_prefix("info string ").unwrap_or(line).trim();
    let line: String = line.chars().take(LONGEST_WORDS).collect();
    if !line.is_empty() && words.back() != Some(&line) {
        words.push_back(line);
    }
    if words.len() > LAST_WORDS {
        words.pop_front();
    }
}

/// A name without a folder is looked for on the path.
fn why_not(program: &str, error: &io::Error) -> String {
    let is_name = Path::new(program).parent() == Some(Path::new(""));
    if is_name && error.kind() == io::ErrorKind::NotFound {
        return "no folder of PATH has a program of this name. Give the whole path, as in cmd=/usr/games/stockfish".into();
    }
    our_words(error)
}

fn declares(answer: &[String], name: &str) -> bool {
    let mut own = answer
        .iter()
        .filter_map(|line| line.strip_prefix("option name ")?.split(" type ").next());
    own.any(|own| own.eq_ignore_ascii_case(name))
}

/// An external engine with its processes that no game uses at the moment.
#[derive(Debug)]
pub struct ExternalEngine {
    pub command: ExternalCommand,
    /// `id name`, as it says it itself.
    pub name: String,
    answer: Vec<String>,
    idle: Mutex<Vec<UciProcess>>,
}

impl ExternalEngine {
    /// Starts the engine once, to see that it answers and has the options.
    pub fn new(command: ExternalCommand) -> Result<ExternalEngine, UciProcessError> {
        let (process, answer) = UciProcess::start(&command)?;
        let own_name = answer.iter().find_map(|line| line.strip_prefix("id name "));
        let mut name = one_line(&printable(own_name.unwrap_or(&command.program)));
        name.truncate(name.floor_char_boundary(MOST_NAME));
        Ok(ExternalEngine {
            name,
            answer,
            idle: Mutex::new(vec![process]),
            command,
        })
    }

    pub(crate) fn declares(&self, option: &str) -> bool {
        declares(&self.answer, option)
    }
}

/// A game that an external engine follows.
#[derive(Debug)]
pub struct ExternalGame {
    engine: Arc<ExternalEngine>,
    /// `None` after a failure.
    process: Option<UciProcess>,
    /// What `position` says of the game so far.
    position: String,
    /// Positions of the game that are in `position`.
    known: usize,
}

impl ExternalGame {
    /// Begins a game that goes on from `opening`, with these options beside those of the command.
    pub fn new(
        engine: Arc<ExternalEngine>,
        opening: &History,
        options: &[(&str, &str)],
    ) -> Result<ExternalGame, UciProcessError> {
        let idle = engine.idle.lock().pop();
        let mut process = match idle {
            Some(process) => process,
            None => UciProcess::start(&engine.command)?.0,
        };
        for (name, value) in options {
            process.set_option(name, value)?;
        }
        if opening.variant() == Variant::Chess960 {
            process.set_option("UCI_Chess960", "true")?;
        }
        process.new_game()?;
        let position = format!("position fen {} moves", opening.position(0).to_fen());
        Ok(ExternalGame {
            engine,
            process: Some(process),
            position,
            known: 1,
        })
    }

    /// Begins the search of the last position of `game`, with the limits of `go`.
    pub fn begin(&mut self, game: &History, go: &str) -> Result<(), UciProcessError> {
        while self.known < game.len() {
            let before = game.position(self.known - 1);
            if let Some(mv) = move_between(before, game.position(self.known)) {
                self.position += &format!(" {}", before.format_move(mv, game.variant()));
            }
            self.known += 1;
        }
        let position = self.position.clone();
        let process = self.process()?;
        process.send(&position)?;
        process.send(go)
    }

    /// Waits for the end of the search, which may take the time `within`. Returns what the engine said since
    /// `go`, with `bestmove`.
    pub fn answer(&mut self, within: Option<Millis>) -> Result<Vec<String>, UciProcessError> {
        let process = self.process()?;
        let patience = within.map_or(process.patience, |time| {
            let whole = Duration::from_secs_f64((time.0 / 1000.0).max(0.0)) + MARGIN;
            Patience {
                whole,
                silence: whole,
            }
        });
        let read = process.read_until("bestmove", patience);
        if read.is_err() {
            process.kill();
            self.process = None;
        }
        read
    }

    fn process(&mut self) -> Result<&mut UciProcess, UciProcessError> {
        self.process.as_mut().ok_or_else(|| UciProcessError {
            name: self.engine.name.clone(),
            reason: "has failed before".into(),
        })
    }
}

impl Drop for ExternalGame {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            self.engine.idle.lock().push(process);
        }
    }
}

pub(crate) fn move_between(before: &Position, after: &Position) -> Option<Move> {
    before
        .legal_moves()
        .iter()
        .copied()
        .find(|&mv| before.play(mv).key() == after.key())
}

/// The last line of each rank with a score, bounds left out, in the order of the ranks.
pub fn latest_lines(said: &[String]) -> Vec<InfoLine<'_>> {
    let mut latest = BTreeMap::new();
    for info in said.iter().filter_map(|line| InfoLine::parse(line)) {
        let is_bound = info.0.contains(&"lowerbound") || info.0.contains(&"upperbound");
        if info.score().is_some() && !is_bound && info.rank() > 0 {
            latest.insert(info.rank(), info);
        }
    }
    latest.into_values().collect()
}

/// A search's nodes so far, or 0 if the engine does not say.
pub(crate) fn latest_nodes(said: &[String]) -> u64 {
    let nodes = |line: &String| InfoLine::parse(line)?.after("nodes")?.parse().ok();
    said.iter().rev().find_map(nodes).unwrap_or(0)
}

/// The words of a line `info …` that is not `info string …`.
#[derive(Debug)]
pub struct InfoLine<'a>(Vec<&'a str>);

impl<'a> InfoLine<'a> {
    pub(crate) fn parse(line: &'a str) -> Option<InfoLine<'a>> {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        let is_info = words.first() == Some(&"info") && words.get(1) != Some(&"string");
        is_info.then_some(InfoLine(words))
    }

    /// The line's place in `MultiPV`, from 1.
    fn rank(&self) -> usize {
        self.after("multipv")
            .and_then(|rank| rank.parse().ok())
            .unwrap_or(1)
    }

    pub fn after(&self, word: &str) -> Option<&'a str> {
        self.all_after(word).first().copied()
    }

    pub(crate) fn all_after(&self, word: &str) -> &[&'a str] {
        let place = self.0.iter().position(|it| *it == word);
        place.map_or(&[], |place| &self.0[place + 1..])
    }

    pub(crate) fn score(&self) -> Option<(&'a str, i32)> {
        let unit = self.after("score")?;
        Some((unit, self.after(unit)?.parse().ok()?))
    }
}

impl Drop for UciProcess {
    fn drop(&mut self) {
        if self.is_stopped() {
            self.kill();
        }
        // Some engines heed the end of their input alone. One that does not read is ended below.
        self.log.tell(">", "quit");
        if let Some(input) = self.input.take() {
            let _ = input.try_send("quit\n".into());
        }
        let _ = end_within(&mut self.child, FAREWELL);
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    /// A regression: the last line counted, which under MultiPV is the worst one, and bounds did.
    #[test]
    fn the_last_line_of_each_rank_counts() {
        for (said, expected) in [
            (
                &[
                    "info score cp 5 pv e2e4",
                    "info nodes 9 score cp 7 pv e2e4",
                    "bestmove e2e4",
                ][..],
                &[7][..],
            ),
            (
                &[
                    "info multipv 1 score cp 30",
                    "info multipv 2 score cp -90",
                    "info multipv 1 score cp 31",
                ],
                &[31, -90],
            ),
            (
                &["info score cp 30 pv e2e4", "info score cp 80 lowerbound pv e2e4"],
                &[30],
            ),
            (
                &[
                    "info score mate -2 pv e2e4",
                    "info score cp -9 upperbound pv e2e4",
                ],
                &[-2],
            ),
            (
                &[
                    "info multipv 0 score cp 20",
                    "info currmove e2e4",
                    "info string score cp 3",
                ],
                &[],
            ),
        ] {
            let said: Vec<String> = said.iter().map(|&line| line.to_owned()).collect();
            let scores: Vec<_> = latest_lines(&said)
                .iter()
                .map(|info| info.score().unwrap().1)
                .collect();
            assert_eq!(scores, expected, "{said:?}");
        }
    }

    fn start(script: &str) -> (UciProcess, Vec<String>) {
        try_to_start(script, SILENCE).unwrap()
    }

    fn try_to_start(script: &str, silence: Duration) -> Result<(UciProcess, Vec<String>), UciProcessError> {
        let arguments = vec!["-c".into(), script.into()];
        UciProcess::start(&ExternalCommand {
            arguments,
            silence,
            ..ExternalCommand::new("/bin/sh")
        })
    }

    fn patience(whole: f64) -> Patience {
        let whole = Duration::from_secs_f64(whole);
        Patience {
            whole,
            silence: whole,
        }
    }

    /// A regression: such an engine was waited for without end, and all that it said was kept.
    #[test]
    fn an_engine_that_talks_without_end_runs_out_of_time_and_fills_no_memory() {
        for talk in [
            "while :; do echo info depth 1 score cp 1 nodes 5 pv e2e4; done",
            "while :; do echo option name x type check; sleep 0.01; done",
            "while :; do printf xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
            "while :; do echo x >&2; done",
            "exec cat /dev/zero",
            "cat /dev/zero >&2",
        ] {
            let fault = try_to_start(talk, Duration::from_millis(40))
                .unwrap_err()
                .to_string();
            assert!(fault.contains("has not said uciok"), "{talk}: {fault}");
            let (mut engine, _) = start(&format!("echo uciok; read uci; read go; {talk}"));
            engine.send("go").unwrap();
            let fault = engine
                .read_until("bestmove", patience(0.2))
                .unwrap_err()
                .to_string();
            assert!(fault.contains("has not said bestmove"), "{talk}: {fault}");
            drop(engine.child.kill());
        }
        let long = "echo uciok; read uci; read go; i=0; while [ $i -lt 9 ]; do i=$((i+1)); head -c 900000 /dev/zero | tr '\\0' x; echo; done; echo bestmove e2e4; read quit";
        let (mut engine, _) = start(long);
        engine.send("go").unwrap();
        let said = engine.read_until("bestmove", patience(60.0)).unwrap();
        assert!(said.iter().map(String::len).sum::<usize>() <= MOST_SAID && said.len() > 2);
        assert_eq!(said.last().map(String::as_str), Some("bestmove e2e4"));
    }

    /// A regression: such an engine was waited for without end, and the result of its match never printed.
    #[test]
    fn an_engine_that_ignores_quit_is_ended() {
        let (dropped, waiting) = bounded(1);
        thread::spawn(move || {
            drop(start("echo uciok; exec sleep 1000"));
            dropped.send(())
        });
        assert!(
            waiting.recv_timeout(Duration::from_secs(60)).is_ok(),
            "it is still waited for"
        );
    }

    /// A regression: what was written to it waited without end.
    #[test]
    fn an_engine_that_never_reads_is_given_up() {
        let answers = "while :; do echo uciok; echo readyok; echo bestmove e2e4; done";
        let (mut engine, _) = start(answers);
        engine.patience.silence = Duration::from_millis(300);
        let line = "x".repeat(9000);
        let fault = (0..100)
            .find_map(|_| engine.send(&line).err())
            .unwrap()
            .to_string();
        assert!(fault.starts_with("/bin/sh does not read its input"), "{fault}");
    }

    /// A regression: Ctrl-C did not end a match while an engine thought, for five minutes.
    #[test]
    fn a_stopped_run_waits_for_no_engine() {
        let script = "echo uciok; read uci; read go; while :; do echo info depth 1; sleep 0.01; done";
        let command = ExternalCommand {
            arguments: vec!["-c".into(), script.into()],
            ..ExternalCommand::new("/bin/sh")
        };
        let (mut engine, _) = UciProcess::start(&command).unwrap();
        engine.send("go infinite").unwrap();
        let stop: &AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        command.stop.set(stop).unwrap();
        stop.store(true, Ordering::Relaxed);
        let fault = engine.read_until("bestmove", patience(600.0)).unwrap_err();
        assert!(fault.to_string().contains("the run is stopped"), "{fault}");
    }

    /// A regression: with `wait=2` an engine that talked while it loaded took a minute for each game.
    #[test]
    fn an_engine_that_talks_while_it_loads_has_no_time_without_end() {
        let script = "echo uciok; while read word; do [ $word = isready ] && while :; do echo info string loading; sleep 0.01; done; done";
        let (mut engine, _) = start(script);
        engine.patience.silence = Duration::from_millis(100);
        let fault = engine.new_game().unwrap_err().to_string();
        assert!(fault.contains("has not said readyok within 0 s"), "{fault}");
        drop(engine.child.kill());
    }

    /// A regression: a name of 900 kB was written with each game.
    #[test]
    fn a_name_is_bounded() {
        let script = "printf 'id name a%090000d' 0 | sed 's/0/é/g'; echo; echo uciok; read quit";
        let command = ExternalCommand {
            arguments: vec!["-c".into(), script.into()],
            ..ExternalCommand::new("/bin/sh")
        };
        // Each other letter takes two bytes.
        assert_eq!(ExternalEngine::new(command).unwrap().name.len(), MOST_NAME - 1);
    }

    /// A regression: one byte that is not UTF-8 refused an engine.
    #[test]
    fn old_encodings_are_no_fault() {
        let (_engine, answer) = start(r"printf 'id author R\351ti\r\nuciok\r\n'; read quit");
        assert_eq!(answer, ["id author Réti", "uciok"]);
    }

    #[test]
    fn a_program_that_is_no_engine_is_given_up_with_its_last_words() {
        let fault = |script| try_to_start(script, SILENCE).unwrap_err().to_string();
        let mute = try_to_start("exec sleep 1000", Duration::from_millis(300));
        let mute = mute.unwrap_err().to_string();
        assert!(
            mute.starts_with("/bin/sh has not said uciok and is silent for "),
            "{mute}"
        );
        let died = fault("echo licence file missing >&2; echo id name x; exit 3");
        assert_eq!(
            died,
            "/bin/sh ended (exit code 3) before it said uciok. Its last words: licence file missing"
        );
        // Whether the engine ended before or after `uci` was sent makes no difference.
        assert_eq!(
            fault("exec <&-; echo no licence >&2; sleep 0.2"),
            "/bin/sh ended (exit code 0) before it said uciok. Its last words: no licence"
        );
        let missing = UciProcess::start(&ExternalCommand::new("/no/such/engine"))
            .unwrap_err()
            .to_string();
        assert_eq!(missing, "/no/such/engine cannot be started: it does not exist");
        let unknown = UciProcess::start(&ExternalCommand::new("nosuchengine"))
            .unwrap_err()
            .to_string();
        assert!(
            unknown.starts_with("nosuchengine cannot be started: no folder of PATH"),
            "{unknown}"
        );
        let killed = fault("kill -SEGV $$");
        assert!(killed.contains("SIGSEGV"), "{killed}");
    }

    /// A regression: an engine that had said why it cannot play was waited for ten minutes.
    #[test]
    fn an_engine_that_tells_of_an_error_is_not_waited_for() {
        let script = "echo uciok; while read word rest; do case $word in go) echo info string ERROR: no network;; esac; done";
        let (mut engine, _) = start(script);
        engine.send("go infinite").unwrap();
        let fault = engine.read_until("bestmove", patience(600.0)).unwrap_err();
        assert!(
            fault.to_string().ends_with("Its last words: ERROR: no network"),
            "{fault}"
        );
    }
}
