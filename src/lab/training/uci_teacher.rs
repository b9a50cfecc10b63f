//! A UCI engine as the teacher: a child process that is asked for its best moves and what they are worth.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use std::{io, thread};

use super::TrainingDataError;
use super::game::TeacherMove;
use super::record::MAX_CANDIDATES;
use crate::chess::History;

/// Larger scores are cut to this; above lie the mates.
const LARGEST_CENTIPAWNS: i32 = 15000;
/// A mate in n plies is this minus n.
const MATE: i32 = 32000;

/// The time that a program has to say that it is a UCI engine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running engine. It gets `quit` when dropped.
#[derive(Debug)]
pub struct UciTeacher {
    name: String,
    child: Child,
    input: ChildStdin,
    /// Its lines, as a thread reads them; the end of the channel is that of its output.
    output: Receiver<io::Result<String>>,
}

impl UciTeacher {
    /// Starts `program` with `arguments` and asks it for up to [`MAX_CANDIDATES`] variations.
    ///
    /// # Errors
    /// [`TrainingDataError::Teacher`] if it doesn't start, or has not answered to `uci` after 20 s.
    pub fn start(program: &Path, arguments: &[String]) -> Result<UciTeacher, TrainingDataError> {
        UciTeacher::start_within(PATIENCE, program, arguments)
    }

    fn start_within(
        patience: Duration,
        program: &Path,
        arguments: &[String],
    ) -> Result<UciTeacher, TrainingDataError> {
        let name = program.display().to_string();
        let fault = |reason: String| TrainingDataError::Teacher { name: name.clone(), reason };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| fault(format!("cannot be started: {error}")))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(fault("has no input or output".into()));
        };
        let mut teacher = UciTeacher { name, child, input, output: lines_of(output) };
        teacher.send("uci")?;
        if let Err(fault) = teacher.read_until_by("uciok", Some(Instant::now() + patience)) {
            // It may be no engine at all, and not know `quit`.
            let _ = teacher.child.kill();
            return Err(fault);
        }
        teacher.send(&format!("setoption name MultiPV value {MAX_CANDIDATES}"))?;
        teacher.new_game()?;
        Ok(teacher)
    }

    /// Tells it that another game begins.
    ///
    /// # Errors
    /// [`TrainingDataError::Teacher`] if it has ended.
    pub fn new_game(&mut self) -> Result<(), TrainingDataError> {
        self.send("ucinewgame")?;
        self.send("isready")?;
        self.read_until("readyok").map(|_| ())
    }

    /// Asks for the engine's best moves in the current position of `history`, best first, each once, after a search of `nodes`.
    ///
    /// `position` is what UCI's command `position` says of the same game.
    ///
    /// # Errors
    /// [`TrainingDataError::Teacher`] if it has ended or names no legal move.
    pub fn candidates(
        &mut self,
        position: &str,
        history: &History,
        nodes: u64,
    ) -> Result<Vec<TeacherMove>, TrainingDataError> {
        self.send(&format!("position {position}"))?;
        self.send(&format!("go nodes {nodes}"))?;
        let mut latest: Vec<Option<VariationScore>> = vec![None; MAX_CANDIDATES];
        for line in self.read_until("bestmove")? {
            if let Some(score) = parse_info(&line)
                && let Some(slot) = latest.get_mut(score.rank)
            {
                *slot = Some(score);
            }
        }
        let mut candidates: Vec<TeacherMove> = Vec::new();
        for score in latest.into_iter().flatten() {
            let candidate =
                history.parse_move(&score.first_move).map_err(|error| self.fault(error.to_string()))?;
            // An unfinished last iteration can name a move twice.
            if candidates.iter().all(|known| known.r#move != candidate) {
                candidates.push(TeacherMove { r#move: candidate, centipawns: score.centipawns });
            }
        }
        candidates.sort_by_key(|candidate| -i32::from(candidate.centipawns));
        if candidates.is_empty() {
            return Err(self.fault(format!("gave no score for \"{position}\"")));
        }
        Ok(candidates)
    }

    fn send(&mut self, line: &str) -> Result<(), TrainingDataError> {
        let sent = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
        sent.map_err(|error| self.fault(format!("does not listen: {error}")))
    }

    /// Reads the lines up to the one that begins with `word`.
    fn read_until(&mut self, word: &str) -> Result<Vec<String>, TrainingDataError> {
        self.read_until_by(word, None)
    }

    /// Reads the lines up to the one that begins with `word`, but fails at the time `end`.
    fn read_until_by(&mut self, word: &str, end: Option<Instant>) -> Result<Vec<String>, TrainingDataError> {
        let mut lines = Vec::new();
        loop {
            let received = match end {
                Some(end) => self.output.recv_timeout(end.saturating_duration_since(Instant::now())),
                None => self.output.recv().map_err(RecvTimeoutError::from),
            };
            let line = match received {
                Ok(line) => line.map_err(|error| self.fault(error.to_string()))?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.fault(format!("ended before it said {word}")));
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(self.fault(format!("has not said {word}: is it a UCI engine?")));
                }
            };
            if line.split_ascii_whitespace().next() == Some(word) {
                return Ok(lines);
            }
            lines.push(line);
        }
    }

    fn fault(&self, reason: String) -> TrainingDataError {
        TrainingDataError::Teacher { name: self.name.clone(), reason }
    }
}

/// Reads lines on a thread, so that waiting for them can end. The thread ends with the output or with the receiver.
fn lines_of(output: ChildStdout) -> Receiver<io::Result<String>> {
    let (sender, receiver) = channel();
    thread::spawn(move || BufReader::new(output).lines().try_for_each(|line| sender.send(line)));
    receiver
}

impl Drop for UciTeacher {
    fn drop(&mut self) {
        // If it has gone already there is nothing left to do; if it doesn't obey, it is ended.
        if self.send("quit").is_err() || self.child.wait().is_err() {
            let _ = self.child.kill();
        }
    }
}

/// The score of one variation in an info line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct VariationScore {
    /// Place of the variation, from 0.
    rank: usize,
    centipawns: i16,
    first_move: String,
}

/// Reads `info … multipv K score cp X|mate Y … pv MOVE …`; `None` for other lines and for bounds.
fn parse_info(line: &str) -> Option<VariationScore> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    if words.first() != Some(&"info") || words.contains(&"lowerbound") || words.contains(&"upperbound") {
        return None;
    }
    let after = |word: &str, skip: usize| -> Option<&str> {
        words.iter().position(|w| *w == word).and_then(|at| words.get(at + skip)).copied()
    };
    let number: i32 = after("score", 2)?.parse().ok()?;
    let centipawns = match after("score", 1)? {
        "cp" => number.clamp(-LARGEST_CENTIPAWNS, LARGEST_CENTIPAWNS),
        "mate" if number > 0 => MATE - number.saturating_mul(2).saturating_sub(1).min(MATE / 2),
        "mate" => number.saturating_mul(-2).min(MATE / 2) - MATE,
        _ => return None,
    };
    Some(VariationScore {
        rank: after("multipv", 1).map_or(Some(1), |rank| rank.parse::<usize>().ok())?.checked_sub(1)?,
        centipawns: centipawns as i16,
        first_move: after("pv", 1)?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_program_that_is_no_engine_is_given_up() {
        let fault =
            UciTeacher::start_within(Duration::from_millis(100), Path::new("/bin/cat"), &[]).unwrap_err();
        assert_eq!(fault.to_string(), "the teacher /bin/cat has not said uciok: is it a UCI engine?");
    }

    #[test]
    fn reads_scores() {
        let read =
            |line: &str| parse_info(line).map(|score| (score.rank, score.centipawns, score.first_move));
        let cases = [
            ("info depth 9 multipv 2 score cp -35 nodes 12 pv e2e4 e7e5", Some((1, -35, "e2e4"))),
            ("info depth 9 score mate 3 pv d1d8", Some((0, 31995, "d1d8"))),
            ("info depth 9 score mate -2 pv d1d8", Some((0, -31996, "d1d8"))),
            ("info depth 9 score mate 0 pv d1d8", Some((0, -32000, "d1d8"))),
            ("info depth 9 score cp 99999 pv d1d8", Some((0, 15000, "d1d8"))),
            ("info depth 9 multipv 1 score cp 20 lowerbound pv e2e4", None),
            ("info depth 9 multipv 0 score cp 20 pv e2e4", None),
            ("info depth 9 currmove e2e4", None),
            ("info string score cp 3 pv", None),
            ("bestmove e2e4", None),
        ];
        for (line, expected) in cases {
            assert_eq!(read(line), expected.map(|(rank, cp, m)| (rank, cp, m.to_owned())), "{line}");
        }
    }
}
