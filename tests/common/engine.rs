//! Runs the engine behind pipes, for conversations.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::str::FromStr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The time to wait for a line: long enough for a loaded machine; a test waits this long only when it fails.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The engine's process; killed when dropped.
pub struct Engine {
    pub process: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Engine {
    pub fn start(args: &[&str]) -> Engine {
        Engine::spawn(&mut super::zeitnot(args))
    }

    /// Starts the engine that `command` names, with pipes.
    pub fn spawn(command: &mut Command) -> Engine {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        std::thread::spawn(move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        Engine {
            stdin: process.stdin.take(),
            process,
            lines,
        }
    }

    pub fn random() -> Engine {
        Engine::start(&["--backend=random", "--threads=2"])
    }

    /// Starts an engine that makes the same search each time. Smart pruning would end one that takes long.
    pub fn repeatable() -> Engine {
        Engine::start(&[
            "--backend=random",
            "--threads=1",
            "--minibatch-size=1",
            "--nncache=0",
            "--smart-pruning-factor=0",
        ])
    }

    pub fn send(&mut self, text: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{text}").unwrap();
    }

    /// Returns the next line that begins with `start`; lines before it are returned too, in order.
    pub fn read_until(&self, start: &str) -> Vec<String> {
        self.read_until_within(start, PATIENCE)
    }

    /// Does the same with another patience.
    pub fn read_until_within(&self, start: &str, patience: Duration) -> Vec<String> {
        let mut seen: Vec<String> = Vec::new();
        let deadline = Instant::now() + patience;
        loop {
            match self
                .lines
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(line) => seen.push(line),
                Err(error) => panic!("no \"{start}\" ({error}) after {seen:#?}"),
            }
            if seen.last().is_some_and(|line| line.starts_with(start)) {
                return seen;
            }
        }
    }

    /// Sends commands, and reads until the line that begins with `start`, which is returned.
    pub fn ask(&mut self, commands: &[&str], start: &str) -> String {
        commands.iter().for_each(|command| self.send(command));
        self.read_until(start).pop().unwrap()
    }

    /// Sends commands, and returns what is said up to `bestmove`.
    pub fn search(&mut self, commands: &[&str]) -> Vec<String> {
        commands.iter().for_each(|command| self.send(command));
        self.read_until("bestmove")
    }

    pub fn set(&mut self, options: &[(&str, &str)]) {
        options
            .iter()
            .for_each(|(name, value)| self.send(&format!("setoption name {name} value {value}")));
    }

    pub fn best_move(&mut self, commands: &[&str]) -> String {
        let line = self.ask(commands, "bestmove");
        line.split(' ').nth(1).unwrap().to_string()
    }

    /// Asserts that nothing but `info` comes for a while.
    pub fn assert_no_best_move(&self, wait: Duration) {
        let deadline = Instant::now() + wait;
        loop {
            match self
                .lines
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(line) => assert!(line.starts_with("info"), "{line}"),
                Err(RecvTimeoutError::Timeout) => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Waits until the process ends by itself, and returns its exit code and the lines that still came.
    pub fn end(mut self) -> (Option<i32>, Vec<String>) {
        let rest = self.lines.iter().collect();
        (self.process.wait().unwrap().code(), rest)
    }

    /// Lets the engine find the end of its input.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Closes the input, waits for the end, and returns the lines that still came.
    pub fn finish(mut self) -> Vec<String> {
        self.close_input();
        let rest = self.lines.iter().collect();
        assert!(self.process.wait().unwrap().success());
        rest
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.process.kill();
    }
}

/// Returns the number behind `key` and a blank or an equals sign.
pub fn number<T: FromStr<Err: std::fmt::Debug>>(line: &str, key: &str) -> T {
    let word = line
        .split([' ', '='])
        .skip_while(|word| *word != key)
        .skip(1)
        .find(|word| !word.is_empty());
    word.unwrap_or_else(|| panic!("no {key} in {line}"))
        .trim_end_matches([')', '%'])
        .parse()
        .unwrap()
}

/// Returns the last line of a search that has scores.
pub fn last_info(lines: &[String]) -> &str {
    lines
        .iter()
        .rfind(|line| line.starts_with("info depth"))
        .unwrap_or_else(|| panic!("{lines:#?}"))
}

/// Returns the last report on how a move's time was used.
pub fn time_report(lines: &[String]) -> &str {
    lines
        .iter()
        .rfind(|line| line.starts_with("info string time "))
        .unwrap_or_else(|| panic!("{lines:#?}"))
}
