//! An external UCI engine as a child process: what goes in and what comes out, line by line, with patience
//! that ends.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, RecvTimeoutError, unbounded};
use thiserror::Error;

/// The time that a program has to say that it is a UCI engine.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// The time that it has to end after `quit`.
const FAREWELL: Duration = Duration::from_secs(2);
/// The time after which it is looked whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What was wrong with an engine.
#[derive(Clone, Debug, Error)]
#[error("{name} {reason}")]
pub struct UciProcessError {
    /// The program.
    pub name: String,
    /// What it did, as in "has ended".
    pub reason: String,
}

/// A running engine. It gets `quit` when dropped, and is ended if it does not obey.
#[derive(Debug)]
pub struct UciProcess {
    name: String,
    child: Child,
    /// `None` once it is told to end.
    input: Option<ChildStdin>,
    /// Its lines, as a thread reads them. The end of the channel is that of its output.
    output: Receiver<io::Result<String>>,
}

impl UciProcess {
    /// Starts `program` with `arguments`, and waits until it has answered to `uci`. Returns also its answer.
    pub fn start(
        program: &str,
        arguments: &[String],
        patience: Duration,
    ) -> Result<(UciProcess, Vec<String>), UciProcessError> {
        let fault = |reason: String| UciProcessError { name: program.to_owned(), reason };
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
        let (input, output) = (Some(input), lines_of(output));
        let mut process = UciProcess { name: program.to_owned(), child, input, output };
        let answer = process.send("uci").and_then(|()| process.read_until("uciok", Some(patience)));
        if answer.is_err() {
            // It may be no engine at all, and not know `quit`.
            let _ = process.child.kill();
        }
        Ok((process, answer?))
    }

    pub fn send(&mut self, line: &str) -> Result<(), UciProcessError> {
        let Some(input) = &mut self.input else { return Err(self.fault("was told to end".into())) };
        let sent = writeln!(input, "{line}").and_then(|()| input.flush());
        sent.map_err(|error| self.fault(format!("does not listen: {error}")))
    }

    /// Reads the lines up to the one that begins with `word`, which is the last of those that are returned.
    pub fn read_until(
        &mut self,
        word: &str,
        patience: Option<Duration>,
    ) -> Result<Vec<String>, UciProcessError> {
        let end = patience.map(|patience| Instant::now() + patience);
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
            let is_last = line.split_ascii_whitespace().next() == Some(word);
            lines.push(line);
            if is_last {
                return Ok(lines);
            }
        }
    }

    /// Ends the engine at once, for one that does not answer any more.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    pub fn fault(&self, reason: String) -> UciProcessError {
        UciProcessError { name: self.name.clone(), reason }
    }
}

/// The words of a line `info …` that is not `info string …`.
#[derive(Clone, Debug)]
pub struct InfoLine<'a>(Vec<&'a str>);

impl<'a> InfoLine<'a> {
    /// Reads a line, or `None` for others.
    pub fn parse(line: &'a str) -> Option<InfoLine<'a>> {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        let is_info = words.first() == Some(&"info") && words.get(1) != Some(&"string");
        is_info.then_some(InfoLine(words))
    }

    pub fn is_bound(&self) -> bool {
        self.0.contains(&"lowerbound") || self.0.contains(&"upperbound")
    }

    /// Returns the word behind `word`.
    pub fn after(&self, word: &str) -> Option<&'a str> {
        self.0.get(self.0.iter().position(|it| *it == word)? + 1).copied()
    }

    /// Returns the unit of the score, `cp` or `mate`, and its number.
    pub fn score(&self) -> Option<(&'a str, i32)> {
        let unit = self.after("score")?;
        Some((unit, self.after(unit)?.parse().ok()?))
    }
}

/// Reads lines on a thread, so that waiting for them can end. The thread ends with the output or with the
/// receiver.
fn lines_of(output: ChildStdout) -> Receiver<io::Result<String>> {
    let (sender, receiver) = unbounded();
    // By bytes: names may be in any old encoding.
    let lines = BufReader::new(output).split(b'\n');
    let mut texts =
        lines.map(|line| line.map(|line| String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned()));
    thread::spawn(move || texts.try_for_each(|text| sender.send(text)));
    receiver
}

impl Drop for UciProcess {
    fn drop(&mut self) {
        // If it has gone already there is nothing left to do.
        let _ = self.send("quit");
        // Some engines heed the end of their input alone.
        self.input = None;
        let told = Instant::now();
        while told.elapsed() < FAREWELL {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(LOOK_EVERY);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts a shell script that plays an engine.
    #[cfg(unix)]
    fn start(script: &str) -> (UciProcess, Vec<String>) {
        UciProcess::start("/bin/sh", &["-c".into(), script.into()], PATIENCE).unwrap()
    }

    /// A regression: such an engine was waited for without end, and the result of its match never printed.
    #[cfg(unix)]
    #[test]
    fn an_engine_that_ignores_quit_is_ended() {
        let (dropped, waiting) = unbounded();
        thread::spawn(move || {
            drop(start("echo uciok; exec sleep 1000"));
            dropped.send(())
        });
        assert!(waiting.recv_timeout(Duration::from_secs(60)).is_ok(), "it is still waited for");
    }

    /// A regression: one byte that is not UTF-8 refused an engine.
    #[cfg(unix)]
    #[test]
    fn old_encodings_are_no_fault() {
        let (_engine, answer) = start(r"printf 'id author R\351ti\r\nuciok\r\n'; read quit");
        assert_eq!(answer, ["id author R\u{fffd}ti", "uciok"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_is_no_engine_is_given_up() {
        let fault = UciProcess::start("/bin/cat", &[], Duration::from_millis(100)).unwrap_err();
        assert_eq!(fault.to_string(), "/bin/cat has not said uciok: is it a UCI engine?");
        let fault = UciProcess::start("/no/such/engine", &[], PATIENCE).unwrap_err();
        assert!(fault.to_string().starts_with("/no/such/engine cannot be started"), "{fault}");
    }
}
