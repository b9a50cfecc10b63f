//! `zeitnot board`: a page on a port of this machine, where each position that one goes to is searched.
//!
//! The page asks the server of `zeitnot serve` over HTTP: the body of a request is a query, and the lines
//! of the response are its answers. A request has a connection of its own, and whoever leaves it ends the
//! search. Other web pages reach the port as well. They do not know the token in the address, and may not
//! name its host.

mod play;

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

use self::play::Opponent;
use crate::commands::engine_args::EngineArgs;
use crate::output::{ExitStatus, Output, eprint_message};
use crate::serve::{Server, ServerLimits};
use zeitnot_engine::chess::Position;
use zeitnot_engine::files::hex;
use zeitnot_lab::live_page;
use zeitnot_lab::pgn::Games;

/// Connections at once, a thread each.
const MAX_CLIENTS: usize = 64;
/// Bytes of a request, of which a query with a long game needs a few thousand.
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
    /// The port on this machine. 0 chooses one
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// Open no browser
    #[arg(long)]
    no_open: bool,
    #[command(flatten)]
    settings: EngineArgs,
}

struct Board {
    server: Arc<Server>,
    /// Of the game that is played, or of none yet.
    opponent: Mutex<Option<Opponent>>,
    page: String,
    /// Nobody knows it but who has been told the address.
    token: String,
    hosts: [String; 2],
}

/// Runs until it is killed.
pub(super) fn run(args: BoardArgs, output: &mut Output) -> Result<ExitStatus> {
    let page = page(&args.shown)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port))
        .map_err(|error| anyhow!("--port {}: {error}", args.port))?;
    let port = listener.local_addr()?.port();
    let limits = ServerLimits {
        searches: Some(1),
        queue: MAX_CLIENTS,
        nodes: 1000,
    };
    let server = Arc::new(Server::new(args.settings.0, limits)?);
    server.notes().iter().for_each(eprint_message);
    let mut token = [0; 16];
    getrandom::fill(&mut token)?;
    let board = Arc::new(Board {
        server,
        opponent: Mutex::default(),
        page,
        token: hex(&token),
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
        // A thread that cannot be had, or a browser that has gone, costs this request alone.
        let _ = builder.spawn(move || drop(board.answer(&stream)));
    }
    Ok(ExitStatus::Success)
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

    fn play(&self, turn: &str) -> Result<Value> {
        let turn = serde_json::from_str(turn)?;
        let mut opponent = self.opponent.lock();
        let known = opponent.take();
        let playing = known.map_or_else(|| Opponent::new(self.server.setup()), Ok)?;
        opponent.insert(playing).play(&turn)
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
            Some((_, "search")) if request.is_post => {
                respond(stream, "200 OK", "application/jsonl", "")?;
                let (client, answers) = self.server.connect();
                client.read(request.query.as_bytes())?;
                answers.write(&mut &*stream)
            }
            Some((_, "play")) if request.is_post => {
                let answer = self
                    .play(&request.query)
                    .unwrap_or_else(|error| json!({ "error": error.to_string() }));
                respond(stream, "200 OK", "application/json", &answer.to_string())
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
