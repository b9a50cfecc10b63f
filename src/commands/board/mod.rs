//! `zeitnot board`: a page on a port of this machine, where each position that one goes to is searched.
//!
//! The page asks the server of `zeitnot serve` over HTTP: the body of a request is a query, the lines of the
//! response are its answers, and closing the connection ends the search. Other web pages do not know the
//! token in the address, and may not name its host.

mod play;

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use clap::Args;
use parking_lot::Mutex;
use serde_json::{Value, json};

use self::play::{Opponent, Turn};
use crate::commands::engine_args::EngineArgs;
use crate::commands::lab::analyse::review;
use crate::output::{ExitStatus, Output, eprint_message};
use crate::serve::{Server, ServerLimits};
use zeitnot_engine::chess::Position;
use zeitnot_engine::engine::Settings;
use zeitnot_engine::files::hex;
use zeitnot_engine::network::folders;
use zeitnot_lab::live_page;
use zeitnot_lab::pgn::Games;

/// Connections at once, a thread each.
const MAX_CLIENTS: usize = 64;
/// A query with a long game needs a few thousand bytes.
const MAX_REQUEST: u64 = 1 << 17;
const MAX_HEADERS: usize = 64;
/// A browser sends a request at once, and reads what it gets.
const PATIENCE: Duration = Duration::from_secs(10);
/// Games of a file that the page shows.
const MAX_GAMES: usize = 1000;
/// Nothing comes from elsewhere, and no other page frames this one.
const HEADERS: &str = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
                       Cross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: default-src 'none'; \
                       style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; \
                       frame-ancestors 'none'; base-uri 'none'; form-action 'none'\r\nConnection: close\r\n\r\n";

#[derive(Debug, Args)]
pub(crate) struct BoardArgs {
    /// A file of games in PGN, or a position as FEN [default: the start position]
    #[arg(value_name = "PGN|FEN", num_args = 0..)]
    shown: Vec<String>,
    /// The port on this machine. 0 chooses one for an address that nobody knows yet [default: the address of
    /// the last time, if it is free]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Open no browser
    #[arg(long)]
    no_open: bool,
    #[command(flatten)]
    settings: EngineArgs,
}

struct Board {
    server: Arc<Server>,
    /// As on the command line.
    settings: Settings,
    /// Of the game that is played, or of none yet.
    opponent: Mutex<Option<Opponent>>,
    page: String,
    /// The page of the game that was analysed last.
    review: Mutex<String>,
    /// Nobody knows it but who has been told the address.
    token: String,
    hosts: [String; 2],
}

/// Runs until it is killed.
pub(super) fn run(args: BoardArgs, output: &mut Output) -> Result<ExitStatus> {
    let page = page(&args.shown)?;
    let (listener, token) = listen(args.port)?;
    let port = listener.local_addr()?.port();
    let limits = ServerLimits {
        searches: Some(1),
        queue: MAX_CLIENTS,
        nodes: 1000,
    };
    let settings = args.settings.0;
    let server = Arc::new(Server::new(settings.clone(), limits)?);
    server.notes().iter().for_each(eprint_message);
    let board = Arc::new(Board {
        server,
        settings,
        opponent: Mutex::default(),
        page,
        review: Mutex::default(),
        token,
        hosts: ["127.0.0.1", "localhost"].map(|name| format!("{name}:{port}")),
    });
    let address = format!("http://{}/{}/", board.hosts[0], board.token);
    output.write(&address, &format!("{address}\n"))?;
    output.flush()?;
    if !args.no_open {
        open_browser(&address);
    }
    for stream in listener.incoming().flatten() {
        // Each connection's thread holds the board.
        if Arc::strong_count(&board) > MAX_CLIENTS {
            continue;
        }
        let board = board.clone();
        let builder = thread::Builder::new().name("client".into());
        // Failures cost this request alone.
        let _ = builder.spawn(move || drop(board.answer(&stream)));
    }
    Ok(ExitStatus::Success)
}

/// An open page finds its board again, where port and token can be kept.
fn listen(asked: Option<u16>) -> Result<(TcpListener, String)> {
    let mut token = [0; 16];
    getrandom::fill(&mut token)?;
    let token = hex(&token);
    let bind = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let bind_named = |port: u16| bind(port).map_err(|error| anyhow!("--port {port}: {error}"));
    let file = folders::cache().map(|folder| folder.join("board"));
    let Some(file) = file.filter(|_| asked != Some(0)) else {
        return Ok((bind_named(asked.unwrap_or(0))?, token));
    };
    let text = fs::read_to_string(&file).unwrap_or_default();
    let known = text
        .split_once(' ')
        .filter(|(_, known)| known.len() == token.len() && known.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .and_then(|(port, token)| Some((port.parse().ok()?, token.to_owned())));
    if let (None, Some((port, known))) = (asked, &known) {
        return match bind(*port) {
            Ok(listener) => Ok((listener, known.clone())),
            // Another board is there, which keeps its address.
            Err(_) => Ok((bind(0)?, token)),
        };
    }
    let listener = bind_named(asked.unwrap_or(0))?;
    let token = known.map_or(token, |(_, known)| known);
    // Without a folder that can be written to, the next address is another one.
    let _ = write_secret(&file, &format!("{} {token}", listener.local_addr()?.port()));
    Ok((listener, token))
}

/// For its owner's eyes.
fn write_secret(file: &Path, text: &str) -> io::Result<()> {
    file.parent().map_or(Ok(()), fs::create_dir_all)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)?.write_all(text.as_bytes())
}

fn page(words: &[String]) -> Result<String> {
    let games = match words {
        [file] if Path::new(file).exists() => Games::open(file.as_ref())?,
        [] => Games::new("start", &b"[White \"White\"]\n[Black \"Black\"]\n\n*\n"[..]),
        _ => {
            let text = words.join(" ");
            let position = Position::from_fen(&text)
                .map_err(|error| anyhow!("{text}: neither a file nor a position: {error}"))?;
            let pgn = format!(
                "[White \"White\"]\n[Black \"Black\"]\n[SetUp \"1\"]\n[FEN \"{}\"]\n\n*\n",
                position.to_fen()
            );
            Games::new("position", io::Cursor::new(pgn))
        }
    };
    let games: Vec<_> = games.take(MAX_GAMES).collect::<Result<_, _>>()?;
    Ok(live_page(&games).to_html())
}

/// Where none opens, the address has been printed.
fn open_browser(address: &str) {
    let (program, arguments): (_, &[&str]) = if cfg!(windows) {
        ("cmd", &["/c", "start", ""])
    } else if cfg!(target_os = "macos") {
        ("open", &[])
    } else {
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(address);
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Ok(mut browser) = quiet.spawn() {
        thread::spawn(move || browser.wait());
    }
}

struct Request {
    is_post: bool,
    path: String,
    host: Option<String>,
    origin: Option<String>,
    query: String,
}

impl Request {
    /// `None` if it is none, or is too long.
    fn read(stream: impl Read) -> io::Result<Option<Request>> {
        let mut reader = BufReader::new(stream.take(MAX_REQUEST));
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if reader.read_until(b'\n', &mut head)? == 0 {
                return Ok(None);
            }
        }
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        if request.parse(&head).is_err() {
            return Ok(None);
        }
        let header = |name: &str| {
            let mut values = request
                .headers
                .iter()
                .filter(|header| header.name.eq_ignore_ascii_case(name));
            Some(String::from_utf8_lossy(values.next()?.value).into_owned())
        };
        let length = header("Content-Length")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        let mut query = String::new();
        reader.take(length).read_to_string(&mut query)?;
        Ok(Some(Request {
            is_post: request.method == Some("POST"),
            path: request.path.unwrap_or_default().to_owned(),
            host: header("Host"),
            origin: header("Origin"),
            query,
        }))
    }
}

impl Board {
    /// Whether the page has sent it, or the user has entered its address.
    fn is_own(&self, request: &Request) -> bool {
        let Some(host) = request.host.as_ref().filter(|host| self.hosts.contains(host)) else {
            return false;
        };
        match &request.origin {
            Some(origin) => origin.strip_prefix("http://") == Some(host),
            None => !request.is_post,
        }
    }

    fn search(&self, query: &str, mut stream: &TcpStream) -> Result<()> {
        let (client, answers) = self.server.connect();
        client.read(query.as_bytes())?;
        Ok(answers.write(&mut stream)?)
    }

    /// Writes what the engine tells, until it has moved, and while it ponders.
    fn play(&self, query: &str, mut stream: &TcpStream) -> Result<()> {
        let turn: Turn = serde_json::from_str(query)?;
        let backend = self.server.setup().backend();
        let thoughts =
            Opponent::of(&mut self.opponent.lock(), &turn, &self.settings, backend)?.begin(&turn)?;
        let mut used = Value::Null;
        let mut has_moved = false;
        while !has_moved || turn.ponder {
            let Ok(mut line) = thoughts.lines.recv() else {
                break;
            };
            if line.get("used_ms").is_some() {
                used = line["used_ms"].clone();
            }
            if line.get("move").is_some() && !has_moved {
                has_moved = true;
                line["used_ms"] = used.clone();
                if let Some(opponent) = &mut *self.opponent.lock() {
                    opponent.ponder(&turn, &thoughts, &line)?;
                }
            }
            if writeln!(stream, "{line}").is_err() {
                break;
            }
        }
        if let Some(opponent) = &mut *self.opponent.lock() {
            opponent.leave(&thoughts);
        }
        Ok(())
    }

    fn review(&self, pgn: String, mut stream: &TcpStream) -> Result<()> {
        let mut games = Games::new("the game", io::Cursor::new(pgn));
        let game = games.next().ok_or_else(|| anyhow!("there is no game"))??;
        let page = review(self.server.setup(), &self.settings, game, |done, of| {
            Ok(writeln!(stream, "{}", json!({ "done": done, "of": of }))?)
        })?;
        *self.review.lock() = page.to_html();
        Ok(writeln!(stream, "{}", json!({ "page": "review" }))?)
    }

    fn answer(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let Some(request) = Request::read(stream)? else {
            return respond(
                stream,
                "400 Bad Request",
                "text/plain",
                "this is no request that is understood\n",
            );
        };
        if !self.is_own(&request) {
            return respond(
                stream,
                "403 Forbidden",
                "text/plain",
                "only its own page may ask the engine\n",
            );
        }
        let place = request
            .path
            .strip_prefix('/')
            .and_then(|path| path.split_once('/'));
        match place.filter(|(token, _)| *token == self.token) {
            Some((_, "")) if !request.is_post => {
                respond(stream, "200 OK", "text/html; charset=utf-8", &self.page)
            }
            Some((_, "review")) if !request.is_post => {
                respond(stream, "200 OK", "text/html; charset=utf-8", &self.review.lock())
            }
            Some((_, name @ ("search" | "play" | "review"))) if request.is_post => {
                respond(stream, "200 OK", "application/jsonl", "")?;
                let done = match name {
                    "search" => self.search(&request.query, stream),
                    "play" => self.play(&request.query, stream),
                    _ => self.review(request.query, stream),
                };
                done.or_else(|error| writeln!(&*stream, "{}", json!({ "error": error.to_string() })))
            }
            _ => respond(
                stream,
                "404 Not Found",
                "text/plain",
                "nothing is here: enter the address that zeitnot board has printed\n",
            ),
        }
    }
}

fn respond(mut stream: &TcpStream, status: &str, kind: &str, text: &str) -> io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{HEADERS}{text}"
    )
}
