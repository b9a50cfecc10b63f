//! Other programs, with bounds on their time and bytes.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, bounded};

/// A GPU's driver may take seconds to wake.
pub const TOOL_PATIENCE: Duration = Duration::from_secs(30);
/// Most bytes of each output. Whoever writes more finds its pipe closed.
pub const MOST_WRITTEN: u64 = 16 << 20;
const TICK: Duration = Duration::from_millis(10);

/// Runs a command without input and returns what it writes. As [`finish_within`].
pub fn output_within(command: &mut Command, patience: Duration) -> io::Result<Output> {
    let piped = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    finish_within(piped.spawn()?, patience)
}

/// Waits for the end of a process and returns what it writes into pipes.
///
/// # Errors
/// [`io::ErrorKind::TimedOut`] if it does not end within `patience`. It is ended then.
pub fn finish_within(mut child: Child, patience: Duration) -> io::Result<Output> {
    let (stdout, stderr) = (read(child.stdout.take()), read(child.stderr.take()));
    let status = end_within(&mut child, patience)?;
    // Processes that it has left behind may hold its pipes.
    let [stdout, stderr] =
        [stdout?, stderr?].map(|heard| heard.recv_timeout(TOOL_PATIENCE).unwrap_or_default());
    Ok(Output {
        status,
        stdout,
        stderr,
    })
}

/// Waits for the end of a process, as [`finish_within`].
pub fn end_within(child: &mut Child, patience: Duration) -> io::Result<ExitStatus> {
    let began = Instant::now();
    while began.elapsed() < patience {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(TICK);
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(io::ErrorKind::TimedOut.into())
}

fn read(pipe: Option<impl Read + Send + 'static>) -> io::Result<Receiver<Vec<u8>>> {
    let (sender, heard) = bounded(1);
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        // What cannot be read is missing.
        let _ = pipe.map(|pipe| pipe.take(MOST_WRITTEN).read_to_end(&mut bytes));
        sender.send(bytes)
    })?;
    Ok(heard)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, patience: Duration) -> io::Result<Output> {
        output_within(Command::new("sh").args(["-c", script]), patience)
    }

    #[test]
    fn who_does_not_end_is_ended() {
        let began = Instant::now();
        for script in ["exec sleep 60", "sleep 60; true", "while :; do echo x; done"] {
            let error = sh(script, Duration::from_millis(100)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{script}");
        }
        assert!(began.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn who_writes_without_end_finds_the_pipe_closed() {
        for to in ["", ">&2"] {
            let output = sh(&format!("exec cat /dev/zero {to}"), Duration::from_secs(60)).unwrap();
            assert!(!output.status.success());
            assert_eq!((output.stdout.len() + output.stderr.len()) as u64, MOST_WRITTEN);
        }
        let output = sh(
            "head -c 300000 /dev/zero; echo no driver >&2; exit 3",
            TOOL_PATIENCE,
        )
        .unwrap();
        assert_eq!((output.stdout.len(), output.status.code()), (300_000, Some(3)));
        assert_eq!(output.stderr, b"no driver\n");
    }
}
