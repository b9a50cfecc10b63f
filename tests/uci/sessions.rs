//! Random sessions: options take values within their ranges, and searches end by themselves or by `stop`. Each is answered once, with a
//! legal move, and nothing is complained of. They take three seconds, or as many as `ZEITNOT_SESSION_SECONDS` says.

use std::time::{Duration, Instant};

use fastrand::Rng;
use zeitnot_engine::chess::{History, Variant};

use crate::common::engine::Engine;

/// Other work on the machine must not look like a fault.
const PATIENCE: Duration = Duration::from_secs(120);
/// They name files or heads that a network may not have, or would make a session unlike any other.
const LEFT_ALONE: [&str; 7] = [
    "PolicyHead",
    "ValueHead",
    "InputFormat",
    "BackendOptions",
    "EngineName",
    "Backend",
    "Fallback",
];
/// Whose default is kept: a limit of one node a second would only wait.
const SLOWING: [&str; 4] = [
    "NodesPerSecondLimit",
    "MoveOverheadMs",
    "Move Overhead",
    "nodestime",
];
/// Ranges within which a machine has memory and threads enough.
const CAPS: [(&str, i64, i64); 7] = [
    ("Threads", 0, 4),
    ("MaxPrefetch", 0, 40),
    ("NNCacheSize", 0, 200_000),
    ("RamLimitMb", 20, 100),
    ("MinibatchSize", 0, 64),
    ("Hash", 1, 64),
    ("MultiPV", 1, 20),
];

/// Returns a `setoption` with a value that the option's line allows; `None` if it is to be left alone.
fn random_setting(line: &str, random: &mut Rng) -> Option<String> {
    let (name, rest) = line.strip_prefix("option name ")?.split_once(" type ")?;
    let words: Vec<&str> = rest.split(' ').collect();
    let number = |key: &str| {
        words[words.iter().position(|word| *word == key)? + 1]
            .parse::<i64>()
            .ok()
    };
    let value = match words[0] {
        _ if LEFT_ALONE.contains(&name) => return None,
        "button" => return Some(format!("setoption name {name}")),
        "check" => random.bool().to_string(),
        "combo" => random
            .choice(rest.split(" var ").skip(1).collect::<Vec<_>>())?
            .to_owned(),
        "spin" if SLOWING.contains(&name) => number("default")?.to_string(),
        "spin" => {
            let cap = CAPS.iter().find(|(capped, ..)| *capped == name);
            let (least, most) = match cap {
                Some(&(_, least, most)) => (least, most),
                None => (
                    number("min")?,
                    number("max")?.min(number("min")?.saturating_add(1000)),
                ),
            };
            random.i64(least..=most).to_string()
        }
        _ => return None,
    };
    Some(format!("setoption name {name} value {value}"))
}

/// Plays up to 160 random moves, and returns the game and the moves as UCI writes them.
fn random_game(random: &mut Rng) -> (History, Vec<String>) {
    let (mut history, mut moves) = (History::start(), Vec::new());
    for _ in 0..random.usize(0..160) {
        let Some(&played) = random.choice(&history.legal_moves()) else {
            break;
        };
        let mut next = history.clone();
        next.push(played);
        if next.legal_moves().is_empty() {
            break;
        }
        moves.push(history.format_move(played));
        history = next;
    }
    (history, moves)
}

fn random_go(random: &mut Rng) -> String {
    let clock = |random: &mut Rng| {
        let [white, black] = [0, 1].map(|_| random.u32(50..3000));
        format!(
            "go wtime {white} btime {black} winc {} binc {}",
            random.u32(0..50),
            random.u32(0..50)
        )
    };
    match random.u8(0..9) {
        0 => format!("go nodes {}", random.u32(1..3000)),
        1 => format!("go movetime {}", random.u32(1..300)),
        2 => format!("go depth {}", random.u32(1..6)),
        3 => clock(random),
        4 => format!("{} movestogo 5", clock(random)),
        _ => "go infinite".into(),
    }
}

/// Runs one process through random searches until `end`, 20 at most.
fn session(number: u64, end: Instant) {
    let mut random = Rng::with_seed(number);
    let backend = if random.u8(0..4) == 0 {
        "--backend=native"
    } else {
        "--backend=random"
    };
    let mut engine = Engine::start(&[backend, "--show-hidden"]);
    engine.send("uci");
    let options = engine.read_until("uciok");
    let mut log = Vec::new();
    for _ in 0..20 {
        let mut commands: Vec<String> = Vec::new();
        for _ in 0..random.u8(0..4) {
            commands.extend(random_setting(
                &options[random.usize(..options.len())],
                &mut random,
            ));
        }
        if random.u8(0..10) == 0 {
            commands.push("ucinewgame".into());
        }
        let (history, moves) = random_game(&mut random);
        commands.push(match random.bool() {
            true => format!("position startpos moves {}", moves.join(" ")),
            false => format!("position fen {}", history.current().to_fen()),
        });
        let go = random_go(&mut random);
        commands.extend(["isready".into(), go.clone()]);
        commands.iter().for_each(|line| engine.send(line));
        log.extend(commands);
        if go == "go infinite" || random.u8(0..5) == 0 {
            std::thread::sleep(Duration::from_secs_f64(0.6 * random.f64() * random.f64()));
            engine.send("stop");
        }
        let lines = engine.read_until_within("bestmove", PATIENCE);
        let (answer, before) = lines.split_last().unwrap();
        assert!(
            !before.iter().any(|line| line.starts_with("info string ERROR")),
            "{number}: {log:#?} {before:#?}"
        );
        let best = answer.split(' ').nth(1).unwrap();
        let board = History::from_fen(&history.current().to_fen(), Variant::Chess960).unwrap();
        assert!(board.parse_move(best).is_ok(), "{number}: {log:#?} {answer}");
        if Instant::now() > end {
            break;
        }
    }
    engine.send("quit");
    let (code, rest) = engine.end();
    assert_eq!(code, Some(0));
    assert!(
        !rest.iter().any(|line| line.starts_with("bestmove")),
        "{number}: {log:#?} {rest:#?}"
    );
}

#[test]
fn random_sessions_have_one_legal_answer_to_each_search() {
    let seconds = std::env::var("ZEITNOT_SESSION_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(3));
    let mut number = 0;
    while Instant::now() < end {
        session(number, end);
        number += 1;
    }
    assert!(number > 0);
}
