//! `zeitnot serve`: analyses many positions at once, in JSON lines.

use std::io::{self, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use clap::Args;
use serde_json::json;

use super::engine_args::{EngineArgs, count};
use crate::output::{ExitStatus, eprint_message, leave_with_the_reader};
use crate::serve::{Server, ServerLimits};

/// Clients of a port, two threads each.
const MAX_CLIENTS: usize = 512;
/// Silence after which the system looks for a client's machine.
#[cfg(any(target_os = "linux", target_os = "macos"))]
const SILENCE: Duration = Duration::from_secs(60);
/// Pause before accepting a client again when the system had no resources.
const FAILURE_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Serve clients on this address instead of stdin and stdout. Port 0 chooses one
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Let --listen take an address that other machines reach: whoever reaches it may use the engine
    #[arg(long, requires = "listen")]
    listen_anywhere: bool,
    /// Positions that are searched at once [default: two for each core, or what fills the batches of a
    /// device]
    #[arg(long, value_name = "N", value_parser = count().range(..=4096))]
    concurrency: Option<usize>,
    /// Positions that may wait, beyond which a query gets an error, also the answers that a client may leave
    /// unread before its next lines wait
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    queue: usize,
    /// Visits of a query that has no limit
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    nodes: u64,
    #[command(flatten)]
    settings: EngineArgs,
}

/// Runs until the input ends, or with --listen until it is killed.
pub(super) fn run(args: ServeArgs) -> Result<ExitStatus> {
    let listener = match &args.listen {
        Some(address) => Some(bind(address, args.listen_anywhere)?),
        None => None,
    };
    let limits = ServerLimits {
        searches: args.concurrency,
        queue: args.queue,
        nodes: args.nodes,
    };
    let server = Arc::new(Server::new(args.settings.0, limits)?);
    server.notes().iter().for_each(eprint_message);
    match listener {
        Some(listener) => serve_port(&server, &listener)?,
        None => {
            leave_with_the_reader();
            serve_stdin(&server)?;
        }
    }
    Ok(ExitStatus::Success)
}

fn serve_stdin(server: &Arc<Server>) -> io::Result<()> {
    let (client, answers) = server.connect();
    // Unless answers are read, it waits for its next line.
    thread::Builder::new().name("client".into()).spawn(move || {
        if let Err(error) = client.read(io::stdin().lock()) {
            eprint_message(format_args!("stdin: {error}"));
        }
    })?;
    answers.write(&mut io::stdout().lock())
}

fn bind(address: &str, anywhere: bool) -> Result<TcpListener> {
    let refuse = |error: io::Error| anyhow!("--listen {address}: {error}");
    let addresses: Vec<_> = address.to_socket_addrs().map_err(refuse)?.collect();
    ensure!(
        anywhere || addresses.iter().all(|address| address.ip().is_loopback()),
        "--listen {address}: other machines reach it; --listen-anywhere allows that"
    );
    TcpListener::bind(&addresses[..]).map_err(refuse)
}

fn serve_port(server: &Arc<Server>, listener: &TcpListener) -> io::Result<()> {
    writeln!(
        io::stdout(),
        "{}",
        json!({ "listening": listener.local_addr()?.to_string() })
    )?;
    for (number, stream) in (1..).zip(listener.incoming()) {
        let server = server.clone();
        let spawned = stream.and_then(|mut stream| {
            if server.clients() >= MAX_CLIENTS {
                let error = format!("the server has {MAX_CLIENTS} clients already");
                return writeln!(stream, "{}", json!({ "id": null, "error": error, "field": null }));
            }
            let builder = thread::Builder::new().name(format!("client-{number}"));
            builder.spawn(move || serve_stream(&server, &stream)).map(drop)
        });
        if let Err(error) = spawned {
            eprint_message(format_args!("client {number}: {error}"));
            thread::sleep(FAILURE_PAUSE);
        }
    }
    Ok(())
}

/// Queries of a client's vanished machine would stay for ever.
fn watch(stream: &TcpStream) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        rustix::net::sockopt::set_socket_keepalive(stream, true)?;
        rustix::net::sockopt::set_tcp_keepidle(stream, SILENCE)?;
    }
    let _ = stream;
    Ok(())
}

/// Until the client is gone, or has got all answers.
fn serve_stream(server: &Arc<Server>, stream: &TcpStream) {
    let (client, answers) = server.connect();
    thread::scope(|scope| {
        let serve = || -> io::Result<()> {
            let reads = move || drop(client.read(BufReader::new(stream)));
            thread::Builder::new().spawn_scoped(scope, reads)?;
            stream.set_nodelay(true)?;
            watch(stream)?;
            answers.write(&mut &*stream)
        };
        let _ = serve();
        let _ = stream.shutdown(Shutdown::Both);
    });
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, Read};
    use std::time::Instant;

    use super::*;
    use zeitnot_engine::engine::Settings;

    /// A server with `queue`, the client's end of a connection, and the serving thread.
    fn connect(queue: usize) -> (Arc<Server>, TcpStream, thread::JoinHandle<()>) {
        let mut settings = Settings::default();
        for (name, value) in [("Backend", "random"), ("Threads", "1"), ("RamLimitMb", "64")] {
            settings.set(name, value).unwrap();
        }
        let limits = ServerLimits {
            searches: Some(1),
            queue,
            nodes: 10,
        };
        let server = Arc::new(Server::new(settings, limits).unwrap());
        let listener = bind("127.0.0.1:0", false).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let own = server.clone();
        (server, client, thread::spawn(move || serve_stream(&own, &stream)))
    }

    fn version_lines(count: usize) -> Vec<u8> {
        b"{\"id\":1,\"action\":\"version\"}\n".repeat(count)
    }

    #[test]
    fn a_client_too_many_is_refused_by_name() {
        // The first may not be counted yet.
        let (server, _first, _served) = connect(10);
        let others: Vec<_> = (0..MAX_CLIENTS).map(|_| server.connect()).collect();
        let listener = bind("127.0.0.1:0", false).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || serve_port(&server, &listener));
        let mut text = String::new();
        TcpStream::connect(address)
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert!(text.contains("the server has 512 clients already"), "{text}");
        assert_eq!(others.len(), MAX_CLIENTS);
    }

    #[cfg(any(target_os = "linux", target_os = "macos"))]
    #[test]
    fn a_vanished_machine_is_asked_for() {
        use rustix::net::sockopt::{socket_keepalive, tcp_keepidle};
        let (_server, stream, _served) = connect(10);
        watch(&stream).unwrap();
        assert_eq!(
            (socket_keepalive(&stream).unwrap(), tcp_keepidle(&stream).unwrap()),
            (true, SILENCE)
        );
    }

    #[test]
    fn only_this_machine_is_served_unless_more_is_asked_for() {
        let refusal = |address: &str| bind(address, false).unwrap_err().to_string();
        assert!(
            refusal("0.0.0.0:0").contains("--listen-anywhere"),
            "{}",
            refusal("0.0.0.0:0")
        );
        assert!(bind("0.0.0.0:0", true).is_ok());
        assert!(
            refusal("nowhere").starts_with("--listen nowhere: "),
            "{}",
            refusal("nowhere")
        );
    }

    #[test]
    fn a_client_that_has_ended_its_input_gets_all_answers_and_then_the_end() {
        let (server, mut client, served) = connect(100);
        client
            .write_all(b"{\"id\":1,\"nodes\":200}\n{\"id\":2,\"infinite\":true}\n{\"id\":3}\n")
            .unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert_eq!(text.matches("\"final\":true").count(), 3, "{text}");
        served.join().unwrap();
        assert_eq!(server.clients(), 0);
    }

    #[test]
    fn a_client_that_reads_slowly_gets_every_answer() {
        const LINES: usize = 20_000;
        let (_, client, served) = connect(10);
        // More than the system buffers, so that both ends wait for each other.
        thread::scope(|scope| {
            let sent = scope.spawn(|| {
                (&client).write_all(&version_lines(LINES)).unwrap();
                client.shutdown(Shutdown::Write).unwrap();
            });
            let mut reader = BufReader::with_capacity(100, &client);
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            thread::sleep(Duration::from_millis(100));
            let others = reader.lines().map_while(Result::ok).count();
            assert_eq!(others + 1, LINES);
            sent.join().unwrap();
        });
        served.join().unwrap();
    }

    #[test]
    fn a_client_that_goes_without_reading_frees_its_place() {
        let (server, mut client, served) = connect(10);
        client.write_all(b"{\"id\":1,\"infinite\":true}\n").unwrap();
        client.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
        while client.write_all(&version_lines(1000)).is_ok() {}
        assert_eq!(server.clients(), 1);
        drop(client);
        let start = Instant::now();
        while server.clients() > 0 {
            assert!(start.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(1));
        }
        served.join().unwrap();
    }
}
