//! Tests `setup --network` against a small server that breaks off, redirects, lies about the length and sends other files.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::installed::Installed;
use crate::common::{
    assert_refused, data, json, package_file, program, run_with_input, skipped, stderr, stdout,
};

static NETWORK: LazyLock<Vec<u8>> =
    LazyLock::new(|| fs::read(package_file("models/tiny/zeitnot-tiny.pb.gz")).unwrap());
const SHA256: &str = "bc7e771c82bd8199c7f59a3a9b647f1132f694be94bb6a5c574731aa5d0b8b49";
const PAGE: &[u8] = b"<!DOCTYPE html><html><body>Please log in</body></html>";

/// Whether the server has once broken off where it knows no ranges.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
/// What the slow way has sent, and whether its client has gone.
static SLOW_BYTES: AtomicUsize = AtomicUsize::new(0);
static IS_GONE: AtomicBool = AtomicBool::new(false);

/// Answers a request as its path says.
fn answer(mut stream: TcpStream) {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
        request.push(byte[0]);
    }
    let request = String::from_utf8(request).unwrap();
    let path = request.split(' ').nth(1).unwrap_or_default();
    let range = request
        .lines()
        .find_map(|line| line.strip_prefix("Range: bytes="));
    let start: Option<usize> = range.and_then(|range| range.trim_end_matches('-').parse().ok());
    let whole = NETWORK.as_slice();
    let mut send = |head: &str, length: usize, body: &[u8]| {
        // The client may have gone.
        let _ = write!(
            stream,
            "HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        let _ = stream.write_all(body);
    };
    match (path.split('/').nth(1).unwrap_or_default(), start) {
        // It says no length and never ends.
        ("endless", _) => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
            while stream.write_all(&[b'x'; 1 << 16]).is_ok() {}
        }
        // A second waits until the first is gone.
        ("slow", _) => {
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
                whole.len()
            );
            for piece in whole.chunks(10_000) {
                SLOW_BYTES.fetch_add(piece.len(), Ordering::Relaxed);
                if stream.write_all(piece).is_err() {
                    IS_GONE.store(true, Ordering::Relaxed);
                    break;
                }
                thread::sleep(Duration::from_millis(50));
            }
        }
        ("elsewhere", _) => send("302 Found\r\nLocation: ftp://127.0.0.1/net.pb.gz", 0, b""),
        ("loops", _) => send("302 Found\r\nLocation: /loops/net.pb.gz", 0, b""),
        ("missing", _) => send("404 Not Found", PAGE.len(), PAGE),
        ("redirects", _) => send("302 Found\r\nLocation: /good/net.pb.gz", 0, b""),
        ("login", _) => send("302 Found\r\nLocation: /page", 0, b""),
        ("page", _) => send("200 OK", PAGE.len(), PAGE),
        ("other", None) => send("200 OK", whole.len(), &vec![b'x'; whole.len()]),
        ("longer", None) => send("200 OK", whole.len() + 1000, whole),
        ("shorter", None) => send("200 OK", whole.len() - 1000, &whole[..whole.len() - 1000]),
        ("breaks", None) => send("200 OK", whole.len(), &whole[..whole.len() / 2]),
        // It knows no ranges.
        ("begins-anew", None) if !HAS_BEGUN.swap(true, Ordering::Relaxed) => {
            send("200 OK", whole.len(), &whole[..whole.len() / 2]);
        }
        // It comes in four pieces.
        ("breaks", Some(start)) => {
            let end = whole.len().min(start + whole.len() / 4);
            let head = format!(
                "206 Partial Content\r\nContent-Range: bytes {start}-{}/{}",
                whole.len() - 1,
                whole.len()
            );
            send(&head, whole.len() - start, &whole[start..end]);
        }
        (_, Some(start)) if path.starts_with("/good") => {
            let head = format!(
                "206 Partial Content\r\nContent-Range: bytes {start}-{}/{}",
                whole.len() - 1,
                whole.len()
            );
            send(&head, whole.len() - start, &whole[start..]);
        }
        _ => send("200 OK", whole.len(), whole),
    }
}

/// Starts the server, which ends with the test program.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || listener.incoming().flatten().for_each(answer));
    address
}

/// A copy of the program, and a table with a network for each way in which the server can answer.
struct Player {
    installed: Installed,
    folder: TempDir,
}

impl Player {
    fn new(server: SocketAddr, ways: &[&str]) -> Player {
        let folder = TempDir::new().unwrap();
        let row = |way: &&str| {
            json!({
                "name": way, "is": "for tests", "gpu_mb": null, "licence": "none",
                "address": format!("http://{server}/{way}/net.pb.gz"), "size": NETWORK.len(), "sha256": SHA256,
            })
        };
        let table: Vec<Value> = ways.iter().map(row).collect();
        fs::write(
            folder.path().join("networks.json"),
            Value::from(table).to_string(),
        )
        .unwrap();
        Player {
            installed: Installed::new(),
            folder,
        }
    }

    /// Returns `setup` with `arguments`, on a machine with a network.
    fn setup(&self, arguments: &[&str]) -> Command {
        let mut command = program(&self.installed.program(), &[&["setup"], arguments].concat());
        for variable in [
            "ZEITNOT_OFFLINE",
            "HTTPS_PROXY",
            "https_proxy",
            "http_proxy",
            "ALL_PROXY",
            "all_proxy",
        ] {
            command.env_remove(variable);
        }
        command
            .env("ZEITNOT_NETWORKS", self.folder.path().join("networks.json"))
            .env("ZEITNOT_CACHE_DIR", self.folder.path().join("cache"));
        command
    }

    fn fetch(&self, way: &str) -> Output {
        self.setup(&["--network", way]).output().unwrap()
    }

    /// Returns what lies where the network goes.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.installed.path("networks"))
            .into_iter()
            .flatten()
            .flatten();
        entries
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect()
    }

    /// Returns the messages of the engine's start.
    fn greeting(&self) -> Vec<String> {
        let output = self.installed.run(&[], "isready\nquit\n");
        let lines = stdout(&output)
            .lines()
            .filter(|line| line.starts_with("info string "));
        lines.map(str::to_owned).collect()
    }
}

fn has_curl() -> bool {
    let is_here = Command::new("curl").arg("--version").output().is_ok();
    if !is_here {
        skipped("curl is not installed");
    }
    is_here
}

#[test]
#[ignore = "needs curl"]
fn a_network_is_fetched_through_whatever_breaks_off_and_then_used() {
    if !has_curl() {
        return;
    }
    let ways = ["good", "redirects", "breaks", "begins-anew"];
    let server = server();
    for way in ways {
        let player = Player::new(server, &ways);
        // 0 forbids nothing.
        let mut setup = player.setup(&["--network", way]);
        let output = setup.env("ZEITNOT_OFFLINE", "0").output().unwrap();
        assert!(output.status.success(), "{way}: {}", stderr(&output));
        assert!(
            stdout(&output).contains("is here, and used from the next start on"),
            "{}",
            stdout(&output)
        );
        assert_eq!(player.files(), ["net.pb.gz"]);
        let greeting = player.greeting();
        assert!(
            greeting.len() == 1 && greeting[0].contains("networks/net.pb.gz, 32x4, "),
            "{greeting:?}"
        );
        assert!(!greeting[0].contains("setup --network"), "{greeting:?}");
        // What is here is not fetched again, and becomes the newest.
        let newer = player.installed.path("newer.pb.gz");
        fs::copy(package_file("models/zeitnot-small.pb.gz"), newer).unwrap();
        assert!(player.greeting()[0].contains("newer.pb.gz, "));
        let again = player.setup(&["--network", way, "--offline"]).output().unwrap();
        assert!(again.status.success(), "{}", stderr(&again));
        assert!(player.greeting()[0].contains("networks/net.pb.gz, "));
    }
}

#[test]
#[ignore = "needs curl"]
fn a_download_that_fails_says_why() {
    if !has_curl() {
        return;
    }
    let ways = [
        "missing",
        "login",
        "other",
        "longer",
        "shorter",
        "endless",
        "elsewhere",
        "loops",
        "good",
    ];
    let player = Player::new(server(), &ways);
    let says = |output: &Output, reason: &str, files: &[&str]| {
        assert_refused(output, reason);
        assert!(
            stderr(output).contains("/net.pb.gz in another way"),
            "{}",
            stderr(output)
        );
        assert_eq!(stderr(output).lines().count(), 1, "{}", stderr(output));
        assert_eq!(player.files(), files, "{reason}");
    };
    let missing = player.fetch("missing");
    says(&missing, "the server answers 404", &[]);
    assert!(!stderr(&missing).contains("Start again"), "{}", stderr(&missing));
    says(
        &player.fetch("endless"),
        "the server has another file. Get http",
        &[],
    );
    for way in ["elsewhere", "loops"] {
        says(
            &player.fetch(way),
            "the server sends elsewhere, in a way that is not followed",
            &[],
        );
    }
    says(
        &player.fetch("login"),
        "what came is a web page, as where this connection wants a login",
        &[],
    );
    says(
        &player.fetch("other"),
        "the file that came is not the one expected (SHA-256 ",
        &[],
    );
    says(&player.fetch("longer"), "the server has another file", &[]);
    says(
        &player.fetch("shorter"),
        "the file that came is not the one expected (SHA-256 ",
        &[],
    );
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = player
        .setup(&["--network=good"])
        .env("ALL_PROXY", format!("http://{closed}"))
        .output();
    says(
        &output.unwrap(),
        "the server cannot be reached (through the proxy of ALL_PROXY)",
        &[],
    );
    let output = player
        .setup(&["--network=good"])
        .env("PATH", "")
        .output()
        .unwrap();
    says(&output, "this system has no curl", &[]);
    let gone = Player::new(closed, &["good"]).fetch("good");
    assert_refused(&gone, "the server cannot be reached (no network?)");
    assert!(player.greeting()[0].contains("(built in)"));
}

/// A regression: curl outlived a killed `setup` and wrote beside the next one's.
#[test]
#[ignore = "needs curl"]
fn a_killed_download_takes_curl_with_it_and_the_next_one_goes_on() {
    if !has_curl() {
        return;
    }
    let player = Player::new(server(), &["slow", "good"]);
    let mut killed = player.setup(&["--network=slow"]).spawn().unwrap();
    while SLOW_BYTES.load(Ordering::Relaxed) < 100_000 {
        assert!(killed.try_wait().unwrap().is_none(), "it ended too early");
        thread::sleep(Duration::from_millis(20));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let kept = fs::metadata(player.installed.path("networks/net.pb.gz.part"))
        .unwrap()
        .len();
    // Another cache folder has another lock, so that only the file's own keeps writers apart.
    let mut first = player.setup(&["--network=good"]).spawn().unwrap();
    let cache = player.folder.path().join("another");
    let second = player
        .setup(&["--network=good"])
        .env("ZEITNOT_CACHE_DIR", cache)
        .output()
        .unwrap();
    assert!(
        first.wait().unwrap().success() && second.status.success(),
        "{}",
        stderr(&second)
    );
    assert_eq!(player.files(), ["net.pb.gz"]);
    assert!(kept > 0);
    while !IS_GONE.load(Ordering::Relaxed) {
        assert!(
            SLOW_BYTES.load(Ordering::Relaxed) < NETWORK.len(),
            "curl took all of it"
        );
        thread::sleep(Duration::from_millis(20));
    }
}

/// A limit of the system stands for a full disk. What has come stays, and the next download goes on with it.
#[cfg(unix)]
#[test]
#[ignore = "needs curl"]
fn a_full_disk_is_named_and_the_next_download_goes_on() {
    if !has_curl() {
        return;
    }
    let player = Player::new(server(), &["good"]);
    let setup = player.setup(&["--network=good"]);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\""])
        .arg(setup.get_program());
    limited.args(setup.get_args());
    for (name, value) in setup.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    assert_refused(
        &limited.output().unwrap(),
        "what came cannot be written. Is the disk full? What is there is kept",
    );
    assert_eq!(player.files(), ["net.pb.gz.part"]);
    assert!(player.fetch("good").status.success());
    assert_eq!(player.files(), ["net.pb.gz"]);
}

#[test]
fn nothing_is_fetched_offline_and_a_rehearsal_says_what_would_be() {
    let player = Player::new("127.0.0.1:9".parse().unwrap(), &["good"]);
    let offline = player.setup(&["--network=good", "--offline"]).output().unwrap();
    assert_refused(&offline, "nothing is fetched with --offline or ZEITNOT_OFFLINE");
    let rehearsal = player.setup(&["--network=good", "--dry-run"]).output().unwrap();
    for expected in ["http://127.0.0.1:9/good/net.pb.gz", SHA256, "networks/net.pb.gz"] {
        assert!(
            stdout(&rehearsal).contains(expected),
            "{expected}: {}",
            stdout(&rehearsal)
        );
    }
    assert_refused(
        &player.fetch("better"),
        "no network has the name better. `zeitnot setup --networks`",
    );
    let list = json(&player.setup(&["--networks", "--json"]).output().unwrap());
    assert_eq!(
        (&list[0]["name"], &list[0]["is_here"]),
        (&"good".into(), &false.into())
    );
    assert!(player.files().is_empty() && !player.folder.path().join("cache").exists());
}

#[test]
fn the_network_suits_the_machine_and_the_backend_in_force() {
    let installed = Installed::new();
    let machines: Vec<Value> =
        serde_json::from_str(&fs::read_to_string(data("machines.json")).unwrap()).unwrap();
    let chosen = |case: &str| {
        let entry = machines.iter().find(|entry| entry["case"] == case).unwrap();
        let file: PathBuf = installed.path("machine.json");
        fs::write(&file, entry["machine"].to_string()).unwrap();
        let line = [
            "setup",
            "--network",
            "--dry-run",
            "--json",
            "--machine",
            file.to_str().unwrap(),
        ];
        let mut command = program(&installed.program(), &line);
        json(&run_with_input(&mut command, ""))["name"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let large = "NVIDIA data centre, recent driver";
    assert_eq!([chosen("no GPU"), chosen(large)], ["t1-256x10", "bt4"]);
    installed.configure("backend=native\n");
    assert_eq!(chosen(large), "t1-256x10");
}
