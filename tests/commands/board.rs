//! Tests the board in the browser by raw requests: what it shows and searches, and who is kept out.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{skipped, zeitnot};

struct Board {
    process: Child,
    /// With the port, and the path of the page.
    host: String,
    path: String,
}

impl Board {
    fn start(arguments: &[&str]) -> Board {
        let mut command = zeitnot(&["board", "--port=0", "--backend=random"]);
        command.args(arguments);
        Board::of(&mut command)
    }

    fn of(command: &mut Command) -> Board {
        let mut process = command
            .args(["--no-open", "--threads=1"])
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

    /// All that the engine tells of a turn, later lines over earlier ones.
    fn play(&self, turn: &Value) -> Value {
        let head = self.head_of_search().replace("search HTTP", "play HTTP");
        let mut told = json!({});
        for line in self.lines(&head, &turn.to_string()) {
            let news = line.as_object().unwrap().clone();
            told.as_object_mut().unwrap().extend(news);
        }
        told
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
    let mut turn = json!({ "fen": start, "moves": ["e2e4"], "time_ms": 6000, "inc_ms": 0 });
    let first = board.play(&turn);
    assert!(first["plan"]["budget_ms"].as_f64().unwrap() > 0.0, "{first}");
    assert!(first["legacy"].as_f64().unwrap() > 30.0, "{first}");
    assert!(first["reason"].is_string() && first["lead"].is_u64(), "{first}");
    assert!(first["used_ms"].as_f64().unwrap() < 6000.0, "{first}");
    turn["moves"] = json!(["e2e4", first["move"], "a2a3"]);
    let second = board.play(&turn);
    assert!(
        second["nodes"].as_u64() > Some(1) && second["move"] != first["move"],
        "{second}"
    );
    turn["nodes"] = json!(1);
    assert_eq!(board.play(&turn)["reason"], "nodes");
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

/// A file that was cut off must not open the board to everybody.
#[test]
fn a_known_address_has_a_whole_token() {
    let cache = tempfile::tempdir().unwrap();
    std::fs::write(cache.path().join("board"), "8080 ").unwrap();
    let mut command = zeitnot(&["board", "--backend=random"]);
    let board = Board::of(command.env("ZEITNOT_CACHE_DIR", cache.path()));
    assert_eq!(board.path.len(), "/".len() + 32 + "/".len(), "{}", board.path);
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

/// While it ponders the page hears of it, and with the expected move it goes on with its tree.
#[test]
fn the_engine_thinks_on_the_time_of_its_opponent() {
    let board = Board::start(&[]);
    let head = board.head_of_search().replace("search HTTP", "play HTTP");
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let mut turn = json!({ "fen": start, "moves": [], "time_ms": 6000, "inc_ms": 0, "ponder": true });
    let mut answer = BufReader::new(board.send(&head, &turn.to_string()));
    let mut next = || loop {
        let mut line = String::new();
        assert!(answer.read_line(&mut line).unwrap() > 0, "it ended");
        if let Ok(line) = serde_json::from_str::<Value>(&line) {
            break line;
        }
    };
    let moved = std::iter::from_fn(|| Some(next())).find(|line| line["move"].is_string());
    let moved = moved.unwrap();
    // It tells of the position after the reply.
    while !next()["found"]["visits"].is_u64() {}
    turn["moves"] = json!([moved["move"], moved["reply"]]);
    turn["ponder"] = json!(false);
    let second = board.play(&turn);
    assert!(second["plan"]["reused_nodes"].as_f64() > Some(0.0), "{second}");
    let mut rest = String::new();
    answer.read_to_string(&mut rest).unwrap();
}

#[test]
fn a_game_is_analysed_and_its_page_shown() {
    let board = Board::start(&[]);
    let head = board.head_of_search().replace("search HTTP", "review HTTP");
    let told = board.lines(&head, "[White \"Anna\"]\n\n1. e4 e5 2. Nf3 *\n");
    assert_eq!(told[0], json!({ "done": 1, "of": 4 }));
    let page = told.last().unwrap()["page"].as_str().unwrap();
    let page = board.get(&format!("{}{page}", board.path));
    assert!(page.contains("Anna") && page.contains("Judged by"), "{page}");
    let refused = board.lines(&head, "[White \"Anna\"]\n\n1. e5 *\n");
    assert!(refused[0]["error"].is_string(), "{refused:?}");
}

/// Chromium, spoken to over its standard streams. `None`, with a message, where it is not installed.
struct Browser {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    count: u64,
    _profile: TempDir,
}

impl Browser {
    fn start() -> Option<Browser> {
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let is_here = |name: &&str| Command::new(name).arg("--version").output().is_ok();
        let Some(name) = names.into_iter().find(is_here) else {
            skipped("no Chromium is installed to open the board");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 >/dev/null 2>&1", name])
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Some(Browser {
            input: process.stdin.take().unwrap(),
            output: BufReader::new(process.stdout.take().unwrap()),
            process,
            count: 0,
            _profile: profile,
        })
    }

    fn call(&mut self, tab: Option<&str>, method: &str, params: &Value) -> Value {
        self.count += 1;
        let mut order = json!({ "id": self.count, "method": method, "params": params });
        if let Some(tab) = tab {
            order["sessionId"] = tab.into();
        }
        write!(self.input, "{order}\0").unwrap();
        loop {
            let mut answer = Vec::new();
            self.output.read_until(0, &mut answer).unwrap();
            answer.pop();
            let mut answer: Value = serde_json::from_slice(&answer).unwrap();
            if answer["id"] == self.count {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
        }
    }

    fn open(&mut self, address: &str) -> String {
        let made = self.call(None, "Target.createTarget", &json!({ "url": "about:blank" }));
        let of = json!({ "targetId": made["targetId"], "flatten": true });
        let tab = self.call(None, "Target.attachToTarget", &of);
        let tab = tab["sessionId"].as_str().unwrap().to_owned();
        self.call(Some(&tab), "Page.navigate", &json!({ "url": address }));
        tab
    }

    /// The value of a script, which may wait.
    fn run(&mut self, tab: &str, script: &str) -> Value {
        let expression = format!("(async () => {{ {HELPERS}\n{script} }})()");
        let order = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let mut answer = self.call(Some(tab), "Runtime.evaluate", &order);
        assert!(answer["exceptionDetails"].is_null(), "{script}: {answer}");
        answer["result"]["value"].take()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const HELPERS: &str = r"
const until = async (test) => {
  for (const end = Date.now() + 60000; Date.now() < end; await new Promise((go) => setTimeout(go, 50))) {
    const value = test();
    if (value) return value;
  }
  throw new Error(`in vain: ${test} ${document.body.innerText}`);
};
const named = (text) => [...document.querySelectorAll('button')].find((one) => one.textContent === text && !one.hidden);
const text = () => document.body.innerText;
const plies = () => document.querySelectorAll('.moves td button').length;
const press = (square) => {
  const { left, top, width } = document.querySelector('.board').getBoundingClientRect();
  const at = { clientX: left + (width * ('abcdefgh'.indexOf(square[0]) + 0.5)) / 8, clientY: top + (width * (8.5 - square[1])) / 8 };
  ['pointerdown', 'pointerup'].forEach((kind) => document.querySelector('.board').dispatchEvent(new PointerEvent(kind, { ...at, bubbles: true })));
};
await until(() => document.querySelector('.searched button'));
";

/// Ten moves: typed, by the squares of the board, and by the table.
const GAME: &str = r#"
const clock = document.querySelector('input[list]');
clock.value = '3+0';
document.querySelectorAll('.search select')[2].value = '100 nodes';
const limit = document.querySelector('.search select');
limit.value = 100;
limit.dispatchEvent(new Event('change'));
named('Play the engine').click();
const runs = document.querySelector('.search input[type=checkbox]');
runs.click();
for (let own = 0; own < 10; own++) {
  await until(() => plies() === 2 * own);
  const first = await until(() => document.querySelector(`.searched [data-move]`));
  const move = first.dataset.move;
  if (own % 3 === 0) {
    document.querySelector('.entry input').value = first.textContent;
    document.querySelector('.entry').requestSubmit();
  } else if (own % 3 === 1 && !/^O/.test(first.textContent) && !move[4]) {
    press(move.slice(0, 2));
    press(move.slice(2, 4));
  } else first.click();
}
await until(() => plies() === 20);
named('Take back').click();
const taken = plies();
named('Resign').click();
const said = text();
named('Review this game').click();
const link = await until(() => [...document.querySelectorAll('a')].find((one) => one.textContent === 'Open the review'));
const review = await (await fetch(link.href)).text();
return { taken, resigned: /0-1, by resignation/.test(said), rows: document.querySelectorAll('[aria-label$="use of its clock"] tbody tr').length, review: review.includes('Judged by'), graphs: /by the legacy curve/.test(said) };
"#;

#[test]
fn a_game_is_played_reviewed_and_goes_on_after_a_restart_in_a_browser() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let cache = tempfile::tempdir().unwrap();
    let start = || {
        let weights = concat!(env!("CARGO_MANIFEST_DIR"), "/models/tiny/zeitnot-tiny.pb.gz");
        let mut command = zeitnot(&["board", "--weights", weights]);
        Board::of(command.env("ZEITNOT_CACHE_DIR", cache.path()))
    };
    let board = start();
    let address = format!("http://{}{}", board.host, board.path);
    let tab = browser.open(&address);
    for width in [390, 1400] {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        browser.call(Some(&tab), "Emulation.setDeviceMetricsOverride", &size);
        let wider = browser.run(&tab, "return document.documentElement.scrollWidth > innerWidth");
        assert_eq!(wider, false, "at {width} px");
    }
    let played = browser.run(&tab, GAME);
    let expected = json!({ "taken": 18, "resigned": true, "rows": 9, "review": true, "graphs": true });
    assert_eq!(played, expected);
    let second = browser.open(&address);
    browser.run(
        &second,
        "await until(() => text().includes('open in another tab too'))",
    );
    let path = board.path.clone();
    drop(board);
    let ask = "const limit = document.querySelector('.search select'); limit.value = 1000; limit.dispatchEvent(new Event('change'));";
    browser.run(
        &tab,
        &format!("{ask} await until(() => text().includes('still run?'))"),
    );
    let again = start();
    assert_eq!(again.path, path, "the address is the same");
    let goes_on = "await until(() => !text().includes('still run?') && document.querySelector('.searched [data-move]'))";
    browser.run(&tab, goes_on);
}
