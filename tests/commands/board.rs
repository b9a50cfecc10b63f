//! Tests the board in the browser by raw requests: what it shows and searches, and who is kept out.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::zeitnot;

struct Board {
    process: Child,
    /// With the port, and the path of the page.
    host: String,
    path: String,
}

impl Board {
    fn start(arguments: &[&str]) -> Board {
        let mut process = zeitnot(&["board", "--no-open", "--backend=random", "--threads=1"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut address = String::new();
        let stdout = process.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut address).unwrap();
        let (host, path) = address
            .trim()
            .strip_prefix("http://")
            .unwrap()
            .split_once('/')
            .unwrap();
        Board {
            process,
            host: host.into(),
            path: format!("/{path}"),
        }
    }

    /// Sends a head with these lines and a body, without its length.
    fn send(&self, head: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let request = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    fn answer(&self, head: &str, body: &str) -> String {
        let mut text = String::new();
        self.send(head, body).read_to_string(&mut text).unwrap();
        text
    }

    fn get(&self, path: &str) -> String {
        self.answer(&format!("GET {path} HTTP/1.1\r\nHost: {}", self.host), "")
    }

    /// As the page asks.
    fn head_of_search(&self) -> String {
        let Board { host, path, .. } = self;
        format!("POST {path}search HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}")
    }

    fn search(&self, query: &str) -> Vec<Value> {
        self.lines(&self.head_of_search(), query)
    }

    fn play(&self, turn: &Value) -> Value {
        let head = self.head_of_search().replace("search HTTP", "play HTTP");
        self.lines(&head, &turn.to_string()).remove(0)
    }

    fn lines(&self, head: &str, body: &str) -> Vec<Value> {
        let text = self.answer(head, body);
        let (head, lines) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_board_shows_games_and_searches_what_one_goes_to() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("game.pgn");
    std::fs::write(&file, "[White \"Anna\"]\n\n1. e4 e5 2. Nf3 *\n").unwrap();
    let board = Board::start(&[&file.display().to_string()]);
    let page = board.get(&board.path);
    assert!(page.contains("Anna") && page.contains("\"live\":true"), "{page}");
    assert!(page.contains("frame-ancestors 'none'"), "{page}");
    let answers =
        board.search("{\"id\":1,\"moves\":[\"e2e4\"],\"nodes\":50,\"multipv\":2,\"report_every\":10}\n");
    let last = answers.last().unwrap();
    assert_eq!(
        (&last["final"], &last["turn"]),
        (&true.into(), &"black".into()),
        "{last}"
    );
    assert_eq!(last["moves"].as_array().unwrap().len(), 2, "{last}");
    let refused = board.search("{\"id\":1,\"moves\":[\"e2e5\"]}\n");
    assert_eq!(refused[0]["field"], "moves", "{refused:?}");
}

#[test]
fn the_engine_plays_on_a_clock_and_says_how_it_used_it() {
    let board = Board::start(&[]);
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let mut turn = json!({ "fen": start, "moves": ["e2e4"], "time_ms": 600, "inc_ms": 0 });
    let first = board.play(&turn);
    assert!(first["plan"]["budget_ms"].as_f64().unwrap() > 0.0, "{first}");
    assert!(first["used_ms"].as_f64().unwrap() < 600.0, "{first}");
    turn["moves"] = json!(["e2e4", first["move"], "a2a3"]);
    let second = board.play(&turn);
    assert!(
        second["nodes"].as_u64() > Some(1) && second["move"] != first["move"],
        "{second}"
    );
    for (key, value, reason) in [
        ("time_ms", json!(-1), "a time is negative"),
        ("inc_ms", json!(1e12), "too long"),
        ("moves", json!(["e2e5"]), "e2e5"),
        (
            "moves",
            json!(["f2f3", "e7e5", "g2g4", "d8h4"]),
            "the game is over",
        ),
        ("fen", json!("nothing"), ""),
        ("fen", json!(1), "invalid type"),
    ] {
        let mut wrong = turn.clone();
        wrong[key] = value;
        let answer = board.play(&wrong);
        assert!(answer["error"].as_str().unwrap().contains(reason), "{answer}");
    }
}

#[test]
fn a_position_may_be_given_and_mistakes_are_named() {
    let board = Board::start(&["8/8/8/8/8/k7/p7/K7", "w", "-", "-", "0", "1"]);
    assert!(board.get(&board.path).contains("8/8/8/8/8/k7/p7/K7 w - - 0 1"));
    let output = zeitnot(&["board", "--no-open", "nowhere.pgn"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.contains("nowhere.pgn: neither a file nor a position"),
        "{told}"
    );
}

/// Other web pages reach the port: under a name of theirs, or with requests of theirs.
#[test]
fn nobody_else_gets_in() {
    let board = Board::start(&[]);
    let Board { host, path, .. } = &board;
    let rebound = board.answer(&format!("GET {path} HTTP/1.1\r\nHost: evil.example"), "");
    let nameless = board.answer(&format!("GET {path} HTTP/1.1"), "");
    let query = "{\"id\":1,\"nodes\":1}\n";
    let of_origin = |line: &str| {
        board.answer(
            &format!("POST {path}search HTTP/1.1\r\nHost: {host}{line}"),
            query,
        )
    };
    for (case, text) in [
        ("another host", rebound),
        ("no host", nameless),
        ("no origin", of_origin("")),
        ("an opaque origin", of_origin("\r\nOrigin: null")),
        ("another origin", of_origin("\r\nOrigin: http://evil.example")),
        ("another port", of_origin("\r\nOrigin: http://127.0.0.1:1")),
    ] {
        assert!(text.starts_with("HTTP/1.1 403 "), "{case}: {text}");
    }
    for path in [
        "/",
        "/search",
        "/0123456789abcdef0123456789abcdef/",
        &path[..path.len() - 1],
    ] {
        assert!(board.get(path).starts_with("HTTP/1.1 404 "), "{path}");
    }
    let read = format!("GET {path}search HTTP/1.1\r\nHost: {host}");
    assert!(board.answer(&read, "").starts_with("HTTP/1.1 404 "));
    assert!(board.answer("nonsense", "").starts_with("HTTP/1.1 400 "));
}

#[test]
fn whoever_leaves_ends_the_search() {
    let board = Board::start(&[]);
    let endless = "{\"id\":1,\"nodes\":4000000000,\"report_every\":20}\n";
    let mut left = BufReader::new(board.send(&board.head_of_search(), endless));
    while !{
        let mut line = String::new();
        left.read_line(&mut line).unwrap();
        line.starts_with('{')
    } {}
    let searching = || board.search("{\"id\":2,\"action\":\"status\"}\n")[0]["searching"].clone();
    assert_eq!(searching(), 1);
    drop(left);
    let began = Instant::now();
    while searching() != 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "it goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
}
