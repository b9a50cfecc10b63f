//! Runs commands of this program in processes of their own.
//!
//! A driver that crashes takes only its own process along, and each process can load another ONNX Runtime. `doctor` and `benchmark`
//! try backends this way.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use thiserror::Error;

/// The time between two looks at a process.
const TICK: Duration = Duration::from_millis(20);

/// Returns the command that runs this program with nothing on its stdin and its stdout for us.
///
/// # Errors
/// Fails if the system does not tell the program's path.
pub(super) fn command() -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    Ok(command)
}

/// A process that runs, with threads that read what it writes.
#[derive(Debug)]
pub(super) struct ChildProcess {
    child: Child,
    stdout: JoinHandle<String>,
    stderr: JoinHandle<String>,
}

/// What a process has written; empty where that went elsewhere.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Says why a process gave no answer.
#[derive(Debug, Error)]
pub(super) enum ChildError {
    #[error("it did not answer in time")]
    Late,
    #[error("crashed ({status}); {}", last_message(.stderr))]
    Crashed { status: ExitStatus, stderr: String },
    #[error(transparent)]
    System(#[from] io::Error),
}

impl ChildProcess {
    /// Starts `command`.
    ///
    /// # Errors
    /// Fails if the system does.
    pub(super) fn start(command: &mut Command) -> io::Result<ChildProcess> {
        let mut child = command.spawn()?;
        let stdout = read(child.stdout.take().map(|pipe| Box::new(pipe) as _));
        let stderr = read(child.stderr.take().map(|pipe| Box::new(pipe) as _));
        Ok(ChildProcess { child, stdout, stderr })
    }

    /// Waits for the end of the process and returns what it wrote, whatever its exit code; kills it at `deadline`.
    ///
    /// # Errors
    /// Fails if the process takes too long, or was ended by a signal.
    pub(super) fn answer_by(mut self, deadline: Instant) -> Result<Answer, ChildError> {
        let status = loop {
            match self.child.try_wait()? {
                Some(status) => break status,
                None if Instant::now() < deadline => thread::sleep(TICK),
                None => {
                    // It may have ended by itself meanwhile.
                    let _ = self.child.kill();
                    let _ = self.child.wait();
                    return Err(ChildError::Late);
                }
            }
        };
        let [stdout, stderr] = [self.stdout, self.stderr].map(|text| text.join().unwrap_or_default());
        // A process that ends without a code was ended by a signal.
        if status.code().is_none() {
            return Err(ChildError::Crashed { status, stderr });
        }
        Ok(Answer { stdout, stderr })
    }
}

fn read(pipe: Option<Box<dyn Read + Send>>) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What cannot be read is missing in a message or makes no JSON, no more.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Returns the last message of the program's own in what it wrote to stderr, or the last line.
pub(super) fn last_message(stderr: &str) -> String {
    let own = stderr.rfind("zeitnot: ").map(|at| &stderr[at + "zeitnot: ".len()..]);
    own.or_else(|| stderr.lines().last()).unwrap_or("it said nothing").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_takes_too_long_is_ended() {
        let program = if cfg!(windows) { "ping" } else { "sleep" };
        let child = ChildProcess::start(Command::new(program).arg("60").stdout(Stdio::piped())).unwrap();
        let start = Instant::now();
        let answer = child.answer_by(Instant::now() + Duration::from_millis(50));
        assert!(matches!(answer, Err(ChildError::Late)), "{answer:?}");
        assert!(start.elapsed() < Duration::from_secs(10));
    }

    #[cfg(unix)]
    #[test]
    fn what_a_process_writes_is_read_however_much_it_is() {
        let script = "head -c 300000 /dev/zero; echo zeitnot: no driver >&2; exit 3";
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let soon = Instant::now() + Duration::from_secs(60);
        let answer = ChildProcess::start(&mut command).unwrap().answer_by(soon).unwrap();
        assert_eq!((answer.stdout.len(), last_message(&answer.stderr).as_str()), (300_000, "no driver"));
        let crash = ChildProcess::start(Command::new("sh").args(["-c", "kill -9 $$"])).unwrap();
        let error = crash.answer_by(soon).unwrap_err().to_string();
        assert!(error.starts_with("crashed (signal: 9") && error.ends_with("it said nothing"), "{error}");
    }

    #[test]
    fn the_reason_of_a_failure_is_the_program_s_own_last_message() {
        let stderr = "Warning: x\nzeitnot: using y\nzeitnot: no driver: install it\n";
        assert_eq!(last_message(stderr), "no driver: install it");
        assert_eq!(last_message("Segmentation fault"), "Segmentation fault");
        assert_eq!(last_message(""), "it said nothing");
    }
}
