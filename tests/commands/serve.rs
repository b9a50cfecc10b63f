//! Tests the analysis server: its answers against single searches, and what clients may do to it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Sender, channel};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use zeitnot_engine::chess::{History, Move, Variant};
use zeitnot_engine::engine::{GoRequest, Listener, Settings};
use zeitnot_engine::search::Outcome;
use zeitnot_engine::time::Limit;

use crate::common::engine::{Engine, last_info};
use crate::common::games::{Game, games};
use crate::common::{self, package_file, run, stderr};

/// One thread that has one open search.
const ONE_AT_A_TIME: [&str; 5] = [
    "serve",
    "--backend=random",
    "--threads=1",
    "--concurrency=1",
    "--queue=30",
];
/// A query that holds the only place, and shows by a report that it has it.
const BLOCKER: &str = r#"{"id":"blocker","infinite":true,"report_every":10,"priority":9}"#;

fn start(flags: &[&str]) -> Engine {
    Engine::start(&[&["serve", "--backend=random", "--threads=2"], flags].concat())
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// Sends a line, and returns the next line with its `id`.
fn ask(server: &mut Engine, line: &Value) -> Value {
    server.send(&line.to_string());
    parse(
        server
            .read_until(&format!("{{\"id\":{},", line["id"]))
            .last()
            .unwrap(),
    )
}

/// Sends [`BLOCKER`], and waits until it is being searched.
fn block(server: &mut Engine) {
    server.send(BLOCKER);
    server.read_until(r#"{"id":"blocker","ply":0,"turn":"white","final":false"#);
}

/// Returns the ids of final answers and errors, in their order.
fn finished(lines: &[String]) -> Vec<Value> {
    let answers = lines.iter().map(|line| parse(line));
    answers
        .filter(|answer| answer["final"] != false && answer["action"].is_null())
        .map(|a| a["id"].clone())
        .collect()
}

/// A random query, and what a single search needs to do the same.
struct Query {
    game: Game,
    nodes: u64,
    lines: usize,
    cpuct: f32,
    root_moves: Vec<Move>,
}

impl Query {
    fn draw(runner: &mut TestRunner, number: u64) -> Query {
        let game = games(30).new_tree(runner).unwrap().current();
        let legal = game.history.legal_moves();
        let root_moves = if number.is_multiple_of(5) {
            legal.iter().copied().step_by(3).collect()
        } else {
            Vec::new()
        };
        Query {
            game,
            nodes: [1, 2, 17, 40, 90][(number % 7 % 5) as usize],
            lines: [1, 3, 500][(number % 3) as usize],
            cpuct: [1.745, 3.0][(number % 2) as usize],
            root_moves,
        }
    }

    fn to_json(&self, id: u64) -> Value {
        let moves = History::from_fen(self.game.fen, Variant::Chess960)
            .unwrap()
            .format_line(&self.game.moves);
        let search_moves = self
            .root_moves
            .iter()
            .map(|&mv| self.game.history.format_move(mv));
        json!({
            "id": id,
            "fen": self.game.fen,
            "moves": moves,
            "chess960": true,
            "nodes": self.nodes,
            "multipv": self.lines,
            "options": { "CPuct": self.cpuct },
            "searchmoves": search_moves.collect::<Vec<_>>(),
            "priority": id % 3,
        })
    }

    /// Searches alone.
    fn search(&self, engine: &mut zeitnot_engine::engine::Engine, id: u64) -> Option<Outcome> {
        let query = self.to_json(id);
        let moves: Vec<_> = query["moves"]
            .as_array()
            .unwrap()
            .iter()
            .map(|mv| mv.as_str().unwrap())
            .collect();
        engine.new_game();
        engine.set_option("MultiPV", &self.lines.to_string()).unwrap();
        engine.set_option("CPuct", &self.cpuct.to_string()).unwrap();
        engine
            .set_position(&format!("fen {} moves {}", self.game.fen, moves.join(" ")))
            .unwrap();
        let limit = Limit::nodes(self.nodes);
        let (sender, answers) = channel();
        let request = GoRequest {
            root_moves: self.root_moves.clone(),
            ..GoRequest::new(limit)
        };
        engine.go(request, Box::new(Collector(sender))).unwrap();
        engine.wait();
        answers.recv().unwrap()
    }
}

struct Collector(Sender<Option<Outcome>>);

impl Listener for Collector {
    fn answer(&mut self, _: &History, answer: Option<Outcome>) {
        self.0.send(answer).unwrap();
    }
}

/// A search beside others, on any thread, finds what it finds alone.
#[test]
fn a_thousand_random_queries_are_answered_as_single_searches_are() {
    let mut runner = TestRunner::deterministic();
    let queries: Vec<_> = (0..1000).map(|number| Query::draw(&mut runner, number)).collect();
    let mut server = start(&["--nncache=0"]);
    queries
        .iter()
        .zip(0..)
        .for_each(|(query, id)| server.send(&query.to_json(id).to_string()));
    let answers: BTreeMap<u64, Value> = server
        .finish()
        .iter()
        .map(|line| parse(line))
        .map(|answer| (answer["id"].as_u64().unwrap(), answer))
        .collect();
    assert_eq!(answers.len(), queries.len(), "the end of the input ends nothing");

    let mut engine = zeitnot_engine::engine::Engine::new(Settings::default()).unwrap();
    for (name, value) in [
        ("Backend", "random"),
        ("Threads", "1"),
        ("NNCacheSize", "0"),
        ("SmartPruningFactor", "0"),
        ("UCI_Chess960", "true"),
    ] {
        engine.set_option(name, value).unwrap();
    }
    for (query, (id, answer)) in queries.iter().zip(&answers) {
        let root = &query.game.history;
        if root.legal_moves().is_empty() {
            let reason = if root.current().is_check() {
                "checkmate"
            } else {
                "stalemate"
            };
            assert_eq!(
                (&answer["reason"], &answer["moves"]),
                (&json!(reason), &json!([])),
                "{answer}"
            );
            continue;
        }
        let result = query.search(&mut engine, *id).unwrap();
        assert_eq!(
            answer["best"],
            json!(result.best.map(|mv| root.format_move(mv))),
            "{answer}"
        );
        assert_eq!(answer["visits"], result.figures.stats.nodes.0, "{answer}");
        assert_eq!(answer["reason"], result.reason.to_string(), "{answer}");
        let lines = result.info.unwrap().lines;
        assert_eq!(answer["moves"].as_array().unwrap().len(), lines.len(), "{answer}");
        for (found, line) in answer["moves"].as_array().unwrap().iter().zip(&lines) {
            assert_eq!(found["pv"], json!(root.format_line(&line.moves)), "{answer}");
            assert_eq!(
                (&found["visits"], &found["mate"]),
                (&json!(line.nodes), &json!(line.mate())),
                "{answer}"
            );
            let number = |key: &str| found[key].as_f64().map(|number| number as f32);
            let value = line.value.as_ref().filter(|_| line.nodes > 0);
            assert_eq!(
                (number("q"), number("plies_left")),
                (
                    value.map(|value| value.q),
                    value.and_then(|value| value.moves_left)
                ),
                "{answer}"
            );
            if value.is_none() {
                assert_eq!(
                    (&found["wdl"], &found["centipawns"]),
                    (&json!(null), &json!(null))
                );
                continue;
            }
            let sum: f64 = found["wdl"]
                .as_array()
                .unwrap()
                .iter()
                .map(|p| p.as_f64().unwrap())
                .sum();
            assert!((sum - 1.0).abs() < 1e-5, "{answer}");
        }
    }
}

#[test]
fn all_positions_of_a_game_are_answered_in_one_query() {
    let mut server = start(&[]);
    server
        .send(r#"{"id":"game","moves":["e4","e5","Qh5","Nc6","Bc4","Nf6","h5f7"],"plies":"all","nodes":20}"#);
    server.send(r#"{"id":"two","moves":["e4","e5"],"plies":[0,2],"multipv":2}"#);
    let answers: Vec<_> = server.finish().iter().map(|line| parse(line)).collect();
    let plies_of = |id: &str| -> BTreeSet<_> {
        answers
            .iter()
            .filter(|answer| answer["id"] == id)
            .map(|answer| answer["ply"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(
        (plies_of("game"), plies_of("two")),
        ((0..8).collect(), BTreeSet::from([0, 2]))
    );
    for answer in &answers {
        let is_mate = answer["id"] == "game" && answer["ply"] == 7;
        assert_eq!(
            answer["reason"],
            if is_mate { "checkmate" } else { "nodes" },
            "{answer}"
        );
        let turn = if answer["ply"].as_u64().unwrap().is_multiple_of(2) {
            "white"
        } else {
            "black"
        };
        assert_eq!(answer["turn"], turn);
        if answer["id"] == "two" {
            assert_eq!(
                (&answer["visits"], answer["moves"].as_array().unwrap().len()),
                (&json!(1000), 2)
            );
        }
    }
    let mate = answers
        .iter()
        .find(|answer| answer["id"] == "game" && answer["ply"] == 6)
        .unwrap();
    assert_eq!((&mate["best"], &mate["mate"]), (&json!("h5f7"), &json!(1)));
}

#[test]
fn a_refused_line_is_answered_with_its_field_and_the_server_lives_on() {
    let mut server = start(&[]);
    for (line, field, reason) in [
        (r#"{"id":1,"noeds":5}"#, "noeds", "did you mean nodes?"),
        (r#"{"id":1,"nodes":0}"#, "nodes", "from 1 to"),
        (r#"{"id":1,"movetime":"1 s"}"#, "movetime", "a whole number"),
        (r#"{"id":1,"infinite":1}"#, "infinite", "true or false"),
        (r#"{"id":1,"fen":"8/8 w"}"#, "fen", ""),
        (r#"{"id":1,"fen":5}"#, "fen", "a string"),
        (
            r#"{"id":1,"moves":["e2e4","e2e4"]}"#,
            "moves",
            "move 2: e2e4 is not legal",
        ),
        (
            r#"{"id":1,"moves":["e4","Qxf7"]}"#,
            "moves",
            "move 2: Qxf7 is not legal",
        ),
        (r#"{"id":1,"moves":"e2e4"}"#, "moves", "a list of strings"),
        (r#"{"id":1,"moves":["e2e4"],"plies":[2]}"#, "plies", "from 0 to 1"),
        (
            r#"{"id":1,"moves":["e2e4"],"plies":"all","searchmoves":["a2a3"]}"#,
            "searchmoves",
            "one position",
        ),
        (r#"{"id":1,"searchmoves":["e2e5"]}"#, "searchmoves", "not legal"),
        (
            r#"{"id":1,"options":{"Threads":1}}"#,
            "options.Threads",
            "command line",
        ),
        (r#"{"id":1,"options":{"CPuct":"much"}}"#, "options.CPuct", "CPuct"),
        (
            r#"{"id":1,"options":{"CPukt":1}}"#,
            "options.CPukt",
            "id you mean CPuct?",
        ),
        (r#"{"id":1,"priority":0.5}"#, "priority", "a whole number"),
        (r#"{"id":1,"multipv":0}"#, "multipv", "from 1 to 500"),
        (r#"{"id":1,"report_every":1}"#, "report_every", "from 10"),
        (r#"{"id":1,"action":"fly"}"#, "action", "expected cancel"),
        (
            r#"{"id":1,"action":"status","nodes":5}"#,
            "nodes",
            "an action has no such field",
        ),
        (r#"{"nodes":5}"#, "id", "a string or a number"),
        (r#"{"action":"cancel"}"#, "id", "a string or a number"),
        ("rubbish", "", "a JSON object on one line"),
        (r#"[{"id":1}]"#, "", "a JSON object"),
        (r#"{"id":1,"nodes":"#, "", "a JSON object"),
        ("\u{0}\u{1}", "", "a JSON object"),
    ] {
        server.send(line);
        let answer = parse(server.read_until("{").last().unwrap());
        let expected_field = if field.is_empty() {
            Value::Null
        } else {
            field.into()
        };
        let expected_id = if line.starts_with(r#"{"id":1,"#) && !field.is_empty() {
            json!(1)
        } else {
            Value::Null
        };
        assert_eq!(
            (&answer["field"], &answer["id"]),
            (&expected_field, &expected_id),
            "{line}: {answer}"
        );
        assert!(
            answer["error"].as_str().unwrap().contains(reason),
            "{line}: {answer}"
        );
    }
    server.send(&format!("{{\"id\":1,\"fen\":\"{}\"}}", "8".repeat(1 << 20)));
    assert!(
        server
            .read_until("{")
            .last()
            .unwrap()
            .contains("longer than 1048576 bytes")
    );
    assert_eq!(ask(&mut server, &json!({"id": "fine", "nodes": 5}))["visits"], 5);
    let repaired = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBN1 w KQkq - 0 1";
    let answer = ask(
        &mut server,
        &json!({"id": "repaired", "fen": repaired, "nodes": 5}),
    );
    assert!(
        answer["warnings"][0].as_str().unwrap().starts_with("fen: "),
        "{answer}"
    );
}

#[test]
fn queries_are_cancelled_under_load() {
    let mut server = start(&["--concurrency=4"]);
    (0..60).for_each(|id| server.send(&json!({"id": id, "infinite": true, "multipv": 1}).to_string()));
    server.send(r#"{"id":50,"action":"cancel"}"#);
    let mut lines = server.read_until(r#"{"id":50,"action""#);
    assert_eq!(parse(lines.last().unwrap())["cancelled"], 1);
    server.send(r#"{"id":"all","action":"cancel_all"}"#);
    lines.extend(server.read_until(r#"{"id":"all","action""#));
    assert_eq!(parse(lines.last().unwrap())["cancelled"], 59);
    server.send(r#"{"id":60,"nodes":5}"#);
    lines.extend(server.finish());
    let mut ids: Vec<_> = finished(&lines).iter().map(|id| id.as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..=60).collect::<Vec<_>>());
    let answers: Vec<_> = lines
        .iter()
        .map(|line| parse(line))
        .filter(|answer| answer["final"] == true)
        .collect();
    for answer in &answers {
        assert_eq!(
            answer["reason"],
            if answer["id"] == 60 { "nodes" } else { "cancelled" },
            "{answer}"
        );
    }
    assert!(
        answers
            .iter()
            .any(|answer| answer["id"] == 50 && answer["visits"].is_null())
    );
}

/// A regression: endless queries held all places, and nobody else was ever answered.
#[test]
fn endless_queries_give_way_to_those_that_end() {
    for flags in [&["--concurrency=1"][..], &["--concurrency=2"]] {
        let mut server = start(flags);
        let endless = |server: &mut Engine| {
            (0..8).for_each(|id| {
                server
                    .send(&json!({"id": id, "infinite": true, "multipv": 1, "report_every": 10}).to_string());
            });
            server.read_until(r#"{"id":0,"ply":0,"turn":"white","final":false"#);
        };
        endless(&mut server);
        for id in 100..110 {
            let answer = ask_final(&mut server, &json!({"id": id, "nodes": 30}));
            assert_eq!(
                (&answer["reason"], &answer["visits"]),
                (&json!("nodes"), &json!(30)),
                "{answer}"
            );
        }
        // They go on afterwards.
        server.read_until(r#"{"id":0,"ply":0,"turn":"white","final":false"#);
        server.send(r#"{"id":"all","action":"cancel_all"}"#);
        let lines = server.finish();
        let ended = finished(&lines).into_iter().filter(|id| id.is_u64()).count();
        assert_eq!(ended, 8, "{lines:#?}");
    }
}

/// Sends a query, and returns its final answer.
fn ask_final(server: &mut Engine, line: &Value) -> Value {
    server.send(&line.to_string());
    loop {
        let answer = parse(server.read_until("{").last().unwrap());
        if answer["id"] == line["id"] && answer["final"] != false {
            return answer;
        }
    }
}

/// A regression: where a mate was proven, the root had the figures of its unproven average.
#[test]
fn figures_of_the_root_are_those_under_uci() {
    let mut runner = TestRunner::deterministic();
    let drawn = (0..100).map(|_| games(40).new_tree(&mut runner).unwrap().current());
    let drawn = drawn.filter(|game| !game.history.legal_moves().is_empty());
    let mut fens: Vec<String> = drawn.map(|game| game.history.current().to_fen()).collect();
    fens.extend(
        [
            "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 0 4",
            "6k1/5ppp/8/8/8/8/8/3R2K1 w - - 0 1",
            "8/8/8/8/8/k7/8/K2Q4 w - - 0 1",
            "k7/8/1K6/8/8/8/8/7R b - - 0 1",
            "7k/8/5KQ1/8/8/8/8/8 w - - 0 1",
            "8/8/8/8/4k3/8/8/4K2R w K - 0 1",
            "8/8/8/3k4/8/8/3p4/3K4 w - - 0 1",
        ]
        .map(str::to_owned),
    );
    let mut server = Engine::start(&[
        "serve",
        "--backend=random",
        "--nncache=0",
        "--concurrency=1",
        "--threads=1",
    ]);
    let flags = [
        "--nncache=0",
        "--threads=1",
        "--smart-pruning-factor=0",
        "--chess960",
        "--show-wdl",
    ];
    let mut engine = Engine::start(
        &[
            &["--backend=random", "--score-type=Q", "--show-movesleft"],
            &flags[..],
        ]
        .concat(),
    );
    let mut mates = 0;
    for (id, fen) in fens.iter().enumerate() {
        for nodes in [1, 60] {
            let query = json!({"id": id, "fen": fen, "chess960": true, "nodes": nodes});
            let answer = ask(&mut server, &query);
            let lines = engine.search(&[
                "ucinewgame",
                &format!("position fen {fen}"),
                &format!("go nodes {nodes}"),
            ]);
            let info = last_info(&lines);
            let said = |key: &str| -> Option<i64> {
                let mut words = info.split(' ').skip_while(|word| *word != key).skip(1);
                words.next().and_then(|word| word.parse().ok())
            };
            let mate = info.contains(" score mate ").then(|| said("mate").unwrap());
            assert_eq!(answer["mate"].as_i64(), mate, "{fen}: {info}\n{answer}");
            let number = |value: &Value| value.as_f64().unwrap();
            if let Some(mate) = mate {
                mates += 1;
                assert!(number(&answer["q"]) * mate as f64 > 0.0, "{fen}: {answer}");
            } else {
                let q = 10_000.0 * number(&answer["q"]);
                assert!(
                    (q - said("cp").unwrap() as f64).abs() < 1.01,
                    "{fen}: {info}\n{answer}"
                );
            }
            let win = 1000.0 * number(&answer["wdl"][0]);
            assert!(
                (win - said("wdl").unwrap() as f64).abs() < 1.01,
                "{fen}: {info}\n{answer}"
            );
            let left = answer["plies_left"]
                .as_f64()
                .map(|plies| (plies / 2.0).ceil() as i64);
            assert_eq!(left, said("movesleft"), "{fen}: {info}\n{answer}");
        }
    }
    assert!(mates >= 4, "{mates} mates");
}

/// A regression: ids beyond 64 bits came back rounded, and a mate that is not there was looked for for ever.
#[test]
fn ids_come_back_as_written_and_a_mate_that_is_not_there_ends() {
    let mut server = start(&[]);
    for id in ["123456789012345678901234567890", "-0", "1.0", "\"a\""] {
        server.send(&format!(r#"{{"id":{id},"moves":["e4"],"mate":2}}"#));
        server.read_until(&format!(r#"{{"id":{id},"ply":1,"#));
    }
    server.finish();
}

/// A regression: contempt without a side, and the mate that was not found, were told under UCI alone.
#[test]
fn what_a_search_has_to_tell_is_in_its_answer() {
    let mut server = start(&[]);
    let answer = ask(&mut server, &json!({"id": 1, "mate": 2, "nodes": 20}));
    assert_eq!(answer["warnings"], json!(["no mate in 2 has been found"]));
    let options = json!({"Contempt": 100});
    server.send(&json!({"id": 2, "infinite": true, "report_every": 10, "options": options}).to_string());
    // A search that has not begun has nothing to tell.
    let report = parse(server.read_until(r#"{"id":2,"ply"#).last().unwrap());
    assert!(report["best"].is_string(), "{report}");
    assert_eq!(report["best"], report["moves"][0]["move"]);
    server.send(r#"{"id":2,"action":"cancel"}"#);
    let lines = server.finish();
    let answer = lines
        .iter()
        .map(|line| parse(line))
        .find(|line| line["final"] == true && line["id"] == 2);
    let answer = answer.unwrap();
    assert!(
        answer["warnings"]
            .to_string()
            .contains("contempt favours no side"),
        "{answer}"
    );
}

#[test]
fn every_limit_ends_a_search() {
    let mut server = start(&[]);
    let mate = "6k1/5ppp/8/8/8/8/8/3R2K1 w - - 0 1";
    for (query, reason) in [
        (json!({"id": 1, "nodes": 7}), "nodes"),
        (json!({"id": 2, "depth": 3}), "depth"),
        (json!({"id": 3, "movetime": 20}), "movetime"),
        (json!({"id": 4, "fen": mate, "mate": 1}), "mate"),
        (json!({"id": 5}), "nodes"),
        (
            json!({"id": 6, "moves": ["e4"], "nodes": 100_000, "options": {"SmartPruningFactor": 10}, "multipv": 1}),
            "smart-pruning",
        ),
    ] {
        assert_eq!(ask(&mut server, &query)["reason"], reason, "{query}");
    }
}

#[test]
fn evaluations_are_kept_until_the_cache_is_cleared() {
    let backend = "--backend=simulated(clock=real,latency-us=0,per-position-ns=1000000)";
    let mut server = Engine::start(&["serve", backend, "--threads=1", "--minibatch-size=1"]);
    let query = json!({"id": 1, "nodes": 40});
    let mut busy_after = |action: &str| {
        ask(&mut server, &json!({"id": 2, "action": action}));
        ask(&mut server, &query);
        ask(&mut server, &json!({"id": 3, "action": "status"}))["busy_ms"]
            .as_u64()
            .unwrap()
    };
    let first = busy_after("version");
    assert!(first >= 20);
    // What was under way at the end of the first search came too late for it. A busy machine wakes a device late.
    let again = busy_after("version");
    assert!(again < first + first / 2);
    assert!(busy_after("clear_cache") >= again + 20);
}

#[test]
fn larger_priorities_come_first_and_equal_ones_in_order() {
    let mut server = Engine::start(&ONE_AT_A_TIME);
    block(&mut server);
    for (id, priority) in [
        ("low", -1),
        ("first", 0),
        ("second", 0),
        ("high", 5),
        ("third", 0),
    ] {
        server.send(&json!({"id": id, "nodes": 5, "priority": priority}).to_string());
    }
    server.send(r#"{"id":"blocker","action":"cancel"}"#);
    let order = finished(&server.finish());
    assert_eq!(order, ["blocker", "high", "first", "second", "third", "low"]);
}

#[test]
fn a_full_queue_refuses_whole_queries() {
    let mut server = Engine::start(&ONE_AT_A_TIME);
    block(&mut server);
    let moves: Vec<_> = ["g1f3", "g8f6", "f3g1", "f6g8"]
        .into_iter()
        .cycle()
        .take(19)
        .collect();
    server.send(&json!({"id": "taken", "moves": moves, "plies": "all", "nodes": 5}).to_string());
    server.send(&json!({"id": "refused", "moves": moves, "plies": "all", "nodes": 5}).to_string());
    server.send(r#"{"id":"blocker","action":"cancel"}"#);
    let lines = server.finish();
    let refused: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with(r#"{"id":"refused""#))
        .collect();
    assert_eq!(refused.len(), 1);
    assert_eq!(
        parse(refused[0])["error"],
        "the queue is full: 20 positions wait, of 30 that may"
    );
    assert_eq!(finished(&lines).iter().filter(|id| **id == "taken").count(), 20);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_at_once() {
    use std::os::unix::process::ExitStatusExt;
    let mut server = Engine::start(&ONE_AT_A_TIME);
    block(&mut server);
    let pid = server.process.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(server.process.wait().unwrap().signal(), Some(15));
}

/// A connection to the server.
struct Connection {
    stream: TcpStream,
    lines: BufReader<TcpStream>,
}

impl Connection {
    fn open(address: &str) -> Connection {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(common::engine::PATIENCE)).unwrap();
        Connection {
            lines: BufReader::new(stream.try_clone().unwrap()),
            stream,
        }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.stream, "{line}").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        parse(&line)
    }

    /// Reads answers until the one with this id.
    fn read_until(&mut self, id: &str) -> Value {
        std::iter::repeat_with(|| self.read())
            .find(|answer| answer["id"] == id)
            .unwrap()
    }
}

/// Starts a server on a port of its own choice, and returns its address.
fn listen(flags: &[&str]) -> (Engine, String) {
    let server = Engine::start(&[flags, &["--listen=127.0.0.1:0"]].concat());
    let address = parse(server.read_until("{\"listening\"").last().unwrap())["listening"]
        .as_str()
        .unwrap()
        .to_owned();
    (server, address)
}

#[test]
fn clients_take_turns_and_do_not_see_each_other() {
    let (_server, address) = listen(&ONE_AT_A_TIME);
    let [mut many, mut few] = [(), ()].map(|()| Connection::open(&address));
    many.send(BLOCKER);
    assert_eq!(many.read()["final"], false);
    let moves: Vec<_> = ["g1f3", "g8f6", "f3g1", "f6g8"]
        .into_iter()
        .cycle()
        .take(19)
        .collect();
    many.send(&json!({"id": "many", "moves": moves, "plies": "all", "movetime": 500}).to_string());
    many.send(r#"{"id":"asked","action":"status"}"#);
    assert_eq!(many.read_until("asked")["waiting"], 20);
    few.send(r#"{"id":"few","nodes":5}"#);
    few.send(r#"{"id":"blocker","action":"cancel"}"#);
    assert_eq!(
        few.read_until("blocker")["cancelled"],
        0,
        "it is another client's"
    );
    many.send(r#"{"id":"blocker","action":"cancel"}"#);
    few.read_until("few");
    few.send(r#"{"id":"asked","action":"status"}"#);
    let status = few.read_until("asked");
    assert!(status["waiting"].as_u64().unwrap() >= 10, "{status}");
    many.send(r#"{"id":"many","action":"cancel"}"#);
    // Who ends its input still gets its answers, and then the end.
    few.send(r#"{"id":"last","nodes":5}"#);
    few.stream.shutdown(Shutdown::Write).unwrap();
    few.read_until("last");
    assert_eq!(few.lines.read_line(&mut String::new()).unwrap(), 0);
}

#[test]
fn two_hundred_clients_are_served_beside_one_that_never_reads() {
    let (_server, address) = listen(&["serve", "--backend=random", "--threads=2", "--queue=1000"]);
    let mut silent = Connection::open(&address);
    let moves: Vec<_> = ["g1f3", "g8f6", "f3g1", "f6g8"]
        .into_iter()
        .cycle()
        .take(200)
        .collect();
    let query = json!({"id": "unread", "moves": moves, "plies": "all", "nodes": 20}).to_string();
    (0..4).for_each(|_| silent.send(&query));
    let mut clients: Vec<_> = (0..200).map(|_| Connection::open(&address)).collect();
    clients
        .iter_mut()
        .for_each(|client| client.send(r#"{"id":1,"nodes":5}"#));
    for client in &mut clients {
        assert_eq!(client.read()["visits"], 5);
    }
    // What it has not read is still there for it.
    assert!((0..804).all(|_| silent.read()["id"] == "unread"));
}

/// A regression: whose endless queries had no place waited for ever.
#[test]
fn endless_queries_of_several_clients_take_turns() {
    for flags in [
        &["--backend=random", "--concurrency=1"][..],
        &["--backend=simulated", "--concurrency=1"],
    ] {
        let (_server, address) = listen(&[&["serve", "--threads=1"], flags].concat());
        let mut clients = [(), ()].map(|()| Connection::open(&address));
        let [first, second] = &mut clients;
        (0..8).for_each(|id| {
            first.send(&json!({"id": id, "infinite": true, "multipv": 1, "report_every": 10}).to_string());
        });
        assert_eq!(first.read()["id"], 0);
        second.send(r#"{"id":"me","infinite":true,"multipv":1,"report_every":10}"#);
        assert_eq!(second.read()["final"], false);
        // What was read meanwhile is from the turn before.
        let visits = |client: &mut Connection| client.read()["visits"].as_u64().unwrap();
        let before = [visits(first), visits(second)];
        for (client, before) in [first, second].into_iter().zip(before) {
            let most = std::iter::repeat_with(|| visits(client)).find(|&visits| visits > 2 * before);
            assert!(most.is_some());
        }
        // Queries that end still come first.
        let mut third = Connection::open(&address);
        third.send(r#"{"id":"third","nodes":20}"#);
        assert_eq!(third.read()["visits"], 20);
    }
}

const SERVER_OF_TEST: &str = "ZEITNOT_SERVER_OF_TEST";

/// Sends queries without an end of their own, and waits for the first answer.
fn ask_for_much(address: &str) -> Connection {
    let mut client = Connection::open(address);
    (0..20).for_each(|id| {
        client.send(&json!({"id": id, "nodes": 4_000_000_000_u64, "report_every": 10}).to_string())
    });
    client.read();
    client
}

/// No test but a process of the next one, which kills it.
#[test]
#[ignore = "a part of another test"]
fn a_client_to_be_killed() {
    let Ok(address) = std::env::var(SERVER_OF_TEST) else {
        return;
    };
    let _client = ask_for_much(&address);
    std::fs::write(std::env::var("ZEITNOT_CLIENT_ASKS").unwrap(), "").unwrap();
    std::thread::sleep(std::time::Duration::from_secs(600));
}

fn be_killed(address: &str) {
    let folder = tempfile::tempdir().unwrap();
    let asks = folder.path().join("asks");
    let mut client = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "serve::a_client_to_be_killed"])
        .envs([
            (SERVER_OF_TEST, address.as_ref()),
            ("ZEITNOT_CLIENT_ASKS", asks.as_os_str()),
        ])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let began = std::time::Instant::now();
    while !asks.exists() {
        assert!(began.elapsed() < common::engine::PATIENCE && client.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    client.kill().unwrap();
    client.wait().unwrap();
}

fn leave_in_the_middle_of_an_answer(address: &str) {
    let mut client = ask_for_much(address);
    client.lines.read_exact(&mut [0; 20]).unwrap();
}

/// Leaves nothing behind that would make the system break the connection: only what the server writes later does.
fn leave_quietly(address: &str) {
    let client = ask_for_much(address);
    client.stream.set_nonblocking(true).unwrap();
    let mut unread = [0; 1 << 16];
    while (&client.stream).read(&mut unread).is_ok() {}
}

#[test]
fn the_queries_of_a_client_that_is_gone_end() {
    let (_server, address) = listen(&["serve", "--backend=random", "--threads=2", "--concurrency=4"]);
    for leave in [be_killed, leave_in_the_middle_of_an_answer, leave_quietly] {
        leave(&address);
        assert_serves_others(&address);
    }
}

/// Asserts that nobody else's queries are left, and that a new one is answered.
fn assert_serves_others(address: &str) {
    let mut other = Connection::open(address);
    let deadline = std::time::Instant::now() + common::engine::PATIENCE;
    loop {
        other.send(r#"{"id":"asked","action":"status"}"#);
        let status = other.read();
        if ["searching", "waiting"].iter().all(|key| status[key] == 0) && status["clients"] == 1 {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{status}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    other.send(r#"{"id":"after","nodes":5}"#);
    assert_eq!(other.read()["visits"], 5);
}

#[test]
fn a_backend_that_fails_costs_the_queries_that_need_it() {
    for flags in [
        ["--threads=1", "--concurrency=1"],
        ["--threads=2", "--concurrency=6"],
    ] {
        let backend = "--backend=simulated(latency-us=0,per-position-ns=0,fail-after=300)";
        let mut server = Engine::start(&[&["serve", backend, "--nncache=0"], &flags[..]].concat());
        let whole = ask(&mut server, &json!({"id": "whole", "nodes": 50}));
        assert_eq!(whole["visits"], 50, "{whole}");
        (0..8).for_each(|id| server.send(&json!({"id": id, "nodes": 1000}).to_string()));
        let mut failed = BTreeSet::new();
        while failed.len() < 8 {
            let answer = parse(server.read_until("{").last().unwrap());
            assert!(
                answer["error"]
                    .as_str()
                    .unwrap()
                    .contains("simulated: evaluation failed: "),
                "{answer}"
            );
            assert_eq!(
                (&answer["ply"], &answer["field"]),
                (&json!(0), &Value::Null),
                "{answer}"
            );
            assert_eq!(keys(&answer), documented("## Errors"));
            failed.insert(answer["id"].as_u64().unwrap());
        }
        // What needs no backend goes on, and what needs it is told.
        let mate = "7k/5KQ1/8/8/8/8/8/8 b - - 0 1";
        assert_eq!(
            ask(&mut server, &json!({"id": 8, "fen": mate}))["reason"],
            "checkmate"
        );
        assert_eq!(
            ask(&mut server, &json!({"id": 9, "action": "status"}))["searching"],
            0
        );
        assert!(ask(&mut server, &json!({"id": 10, "nodes": 5}))["error"].is_string());
        assert_eq!(server.finish(), [""; 0]);
    }
}

#[test]
fn each_query_that_is_cancelled_under_the_load_of_others_has_one_answer() {
    let (_server, address) = listen(&["serve", "--backend=random", "--threads=2", "--concurrency=8"]);
    let client = |number: usize| {
        let mut client = Connection::open(&address);
        let mut cancelled = BTreeSet::new();
        for id in 0..100 {
            let nodes = if id % 2 == 0 { 4_000_000_000_u64 } else { 50 };
            client.send(&json!({"id": id, "nodes": nodes, "multipv": 1, "priority": id % 3}).to_string());
            if id % 10 == 9 {
                for even in (id - 9..id).step_by(2) {
                    client.send(&json!({"id": even, "action": "cancel"}).to_string());
                    cancelled.insert(even);
                }
            }
        }
        client.stream.shutdown(Shutdown::Write).unwrap();
        let lines: Vec<_> = client.lines.lines().map(|line| parse(&line.unwrap())).collect();
        let (actions, answers): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line["action"] == "cancel");
        assert!(
            actions.iter().all(|action| action["cancelled"] == 1),
            "client {number}: {actions:?}"
        );
        let mut ids: Vec<_> = answers
            .iter()
            .map(|answer| answer["id"].as_u64().unwrap())
            .collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..100).collect::<Vec<_>>(), "client {number}");
        for answer in answers {
            let is_cancelled = cancelled.contains(&answer["id"].as_u64().unwrap());
            assert_eq!(
                answer["reason"],
                if is_cancelled { "cancelled" } else { "nodes" },
                "{answer}"
            );
        }
    };
    std::thread::scope(|scope| {
        (0..3).for_each(|number| drop(scope.spawn(move || client(number))));
    });
    assert_serves_others(&address);
}

/// A search that is alone on a device has several batches under way, as under UCI, whether others could be beside it or not.
#[test]
fn a_lone_search_on_a_device_finds_what_it_finds_under_uci() {
    let backend = "--backend=simulated(latency-us=200,per-position-ns=1000)";
    let options = [backend, "--nncache=0"];
    let mut uci = Engine::start(
        &[
            &options[..],
            &["--smart-pruning-factor=0", "--verbose-move-stats"],
        ]
        .concat(),
    );
    for concurrency in ["--concurrency=1", "--concurrency=64"] {
        let mut server = Engine::start(&[&["serve", concurrency], &options[..]].concat());
        for moves in ["e2e4", "d2d4 d7d5", "e2e4 e7e5 g1f3"] {
            let words: Vec<_> = moves.split(' ').collect();
            let answer = ask(&mut server, &json!({"id": moves, "moves": words, "nodes": 600}));
            let position = format!("position startpos moves {moves}");
            let lines = uci.search(&["ucinewgame", &position, "go nodes 600"]);
            let visits_of = |mv: &Value| {
                let start = format!("info string {} ", mv["move"].as_str().unwrap());
                let line = lines.iter().find(|line| line.starts_with(&start)).unwrap();
                line.split("N:")
                    .nth(1)
                    .unwrap()
                    .split_whitespace()
                    .next()
                    .unwrap()
                    .parse::<u64>()
                    .unwrap()
            };
            let moves = answer["moves"].as_array().unwrap();
            assert!(moves.len() > 10, "{answer}");
            for mv in moves {
                assert_eq!(mv["visits"], visits_of(mv), "{concurrency}: {mv}");
            }
        }
    }
}

#[test]
fn other_machines_are_not_served_unless_asked_for() {
    let output = run(&["serve", "--backend=random", "--listen=0.0.0.0:0"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("--listen-anywhere"),
        "{}",
        stderr(&output)
    );
    let (_server, address) = listen(&["serve", "--backend=random", "--threads=1"]);
    // A browser's page asks nothing.
    let mut browser = Connection::open(&address);
    browser.send("POST / HTTP/1.1\r\n\r\n{\"id\":1,\"nodes\":5}");
    let mut answer = String::new();
    // The connection ends, or breaks where something was not read.
    let _ = browser.lines.read_line(&mut answer);
    assert_eq!(answer, "");
}

/// Returns the keys between backticks in the first column of the table below a heading.
fn documented(heading: &str) -> BTreeSet<String> {
    let page = std::fs::read_to_string(package_file("docs/guide/serve.md")).unwrap();
    let section = page
        .split_once(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("no {heading}"))
        .1;
    let rows = section
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1)
        .take_while(|line| line.starts_with('|'));
    let keys = rows.flat_map(|row| {
        row.split('|')
            .nth(1)
            .unwrap()
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    keys.collect()
}

fn keys(answer: &Value) -> BTreeSet<String> {
    answer.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn the_guide_names_every_key() {
    let mut server = start(&[]);
    let refused = ask(&mut server, &json!({"id": 1, "unknown": true}));
    let (_, fields) = refused["error"].as_str().unwrap().split_once("fields: ").unwrap();
    let fields: BTreeSet<_> = fields
        .trim_end_matches(')')
        .split(", ")
        .map(str::to_owned)
        .collect();
    assert_eq!(fields, documented("## Queries"));
    let mut errors = documented("## Errors");
    assert!(errors.remove("ply"), "of a backend that fails");
    assert_eq!(keys(&refused), errors);

    let repaired = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBN1 w KQkq - 0 1";
    let answer = ask(&mut server, &json!({"id": 2, "fen": repaired, "nodes": 5}));
    assert_eq!(keys(&answer), documented("## Answers"));
    assert_eq!(keys(&answer["moves"][0]), documented("### Moves"));

    let page = std::fs::read_to_string(package_file("docs/guide/serve.md")).unwrap();
    for action in documented("## Actions") {
        let answer = ask(&mut server, &json!({"id": 3, "action": action}));
        assert_eq!(answer["action"], action);
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{action}` |")))
            .unwrap();
        for key in keys(&answer)
            .iter()
            .filter(|key| !["id", "action"].contains(&key.as_str()))
        {
            assert!(row.contains(&format!("`{key}`")), "{key}: {row}");
        }
    }
}
