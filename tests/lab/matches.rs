//! Tests `zeitnot match`, run as a user runs it: games depend on nothing but their seed.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::common::{assert_refused, data, error_message, json, run, stderr, stdout, zeitnot};

/// Plays a match into `folder`; returns what it reports and its PGN.
fn play(folder: &Path, args: &[&str]) -> (Value, String) {
    let output = zeitnot(&[
        "match",
        "--json",
        "--threads=2",
        "--nncache=10000",
        "--openings",
        &openings(),
        "--out",
    ])
    .arg(folder)
    .args(args)
    .output()
    .unwrap();
    let report = json(&output)["matches"][0].clone();
    (report, std::fs::read_to_string(folder.join("games.pgn")).unwrap())
}

fn openings() -> String {
    data("openings.epd").display().to_string()
}

/// Plays the same match one game at a time and eight at a time.
fn play_twice(args: &[&str]) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let play = |name: &str, concurrency: &str| {
        let args: Vec<_> = args
            .iter()
            .copied()
            .chain(["--concurrency", concurrency])
            .collect();
        play(&folder.path().join(name), &args)
    };
    let ((alone, pgn_alone), (together, pgn_together)) = (play("1", "1"), play("8", "8"));
    assert!(pgn_alone == pgn_together, "games depend on what runs beside them");
    for key in ["games", "wins", "draws", "losses", "pairs", "nodes", "elo"] {
        assert_eq!(alone[key], together[key], "{key}");
    }
    (together, pgn_together)
}

#[test]
fn games_at_fixed_nodes_do_not_depend_on_how_many_run_at_once() {
    let (report, pgn) = play_twice(&["--backend=random", "--games=10", "--nodes=40", "--b=CPuct=4"]);
    assert_eq!(report["games"], 10);
    assert_eq!(pgn.matches("[Event ").count(), 10);
    let nodes = report["nodes_per_move"][0].as_f64().unwrap();
    assert!((20.0..=40.0).contains(&nodes), "{nodes}");
}

#[test]
fn games_under_nodestime_do_not_depend_on_how_many_run_at_once() {
    let managers = ["--a=TimeManager=smooth(mle-mlh)", "--b=TimeManager=stockfish"];
    let clock = [
        "--backend=random",
        "--games=8",
        "--nodestime=1",
        "--tc=1+0.02",
        "--move-overhead=0",
    ];
    let (report, pgn) = play_twice(&[&managers[..], &clock].concat());
    assert_eq!(report["time_losses"], serde_json::json!([0, 0]));
    // A regression: nothing said how often smart pruning ended a move, nor how much time that saved.
    for side in 0..2 {
        let share = |key: &str| report[key][side].as_f64().unwrap();
        assert!(
            (0.0..1.0).contains(&share("pruned")) && share("pruning_saved") >= 0.0,
            "{report}"
        );
    }
    assert!(pgn.contains("[TimeControl \"1+0.02\"]") && pgn.contains("[%clk 0:00:0"));
    assert!(!pgn.contains("illegal-move"));
}

#[test]
fn a_side_that_ponders_keeps_larger_trees_and_searches_no_more_by_its_clock() {
    let clock = [
        "--backend=random",
        "--games=8",
        "--nodestime=1",
        "--tc=2+0.02",
        "--move-overhead=0",
    ];
    let args = [&clock[..], &["--a=Ponder=true"]].concat();
    play_twice(&args);
    let folder = tempfile::tempdir().unwrap();
    let (report, _) = play(folder.path(), &args);
    assert_eq!(report["time_losses"], serde_json::json!([0, 0]));
    let rows = std::fs::read_to_string(folder.path().join("moves.csv")).unwrap();
    let rows: Vec<Vec<&str>> = rows.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|&column| column == name).unwrap();
    let (player, in_tree, new) = (column("player"), column("nodes"), column("new_nodes"));
    // Mean nodes that were there when a search by the clock began, and those that it added.
    let means = |side: &str| {
        let moves: Vec<_> = rows[1..].iter().filter(|row| row[player] == side).collect();
        let sum = |column: usize| {
            moves
                .iter()
                .map(|row| row[column].parse::<f64>().unwrap())
                .sum::<f64>()
        };
        let count = moves.len() as f64;
        ((sum(in_tree) - sum(new)) / count, sum(new) / count)
    };
    let ((kept, searched), (kept_without, searched_without)) = (means("A"), means("B"));
    assert!(
        kept > 2.0 * kept_without,
        "{kept} nodes kept with pondering, {kept_without} without"
    );
    assert!(
        (searched / searched_without - 1.0).abs() < 0.1,
        "{searched} and {searched_without} searched"
    );
}

/// The results that all ways to play the same match must have in common.
const RESULTS: [&str; 11] = [
    "games",
    "wins",
    "draws",
    "losses",
    "pairs",
    "elo",
    "elo_error",
    "terminations",
    "nodes_per_move",
    "pruned",
    "pruning_saved",
];

const MATCH: [&str; 5] = [
    "--backend=random",
    "--nodes=30",
    "--max-plies=60",
    "--b=CPuct=4",
    "--seed=5",
];

fn report(files: &[std::path::PathBuf]) -> Value {
    json(&zeitnot(&["report", "--json"]).args(files).output().unwrap())
}

fn report_into(folder: &Path, files: &[std::path::PathBuf]) -> Value {
    report(&[&[Path::new("--out").into(), folder.into()], files].concat())
}

#[test]
fn reports_never_destroy_or_double_their_input() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().to_str().unwrap();
    play(folder.path(), &[&MATCH[..], &["--games=2"]].concat());
    let [games, moves] = ["games.csv", "moves.csv"].map(|name| format!("{own}/{name}"));
    let before = std::fs::read(&moves).unwrap();
    let refused = error_message(&["report", &games, &moves, "--out", own]);
    assert!(
        refused.contains("would overwrite") && refused.contains("another folder"),
        "{refused}"
    );
    assert_eq!(std::fs::read(&moves).unwrap(), before);
    for file in [&games, &moves] {
        let twice = error_message(&["report", &games, file, file]);
        assert!(twice.contains("is in two of the files"), "{twice}");
    }
    assert!(
        error_message(&["report", &games, "--estimator=mle-mlh"])
            .contains("--estimator: for rows of movesleft")
    );
}

#[test]
fn a_shard_without_games_is_part_of_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let part = |shard: &str| {
        let out = folder.path().join(&shard[..1]);
        play(&out, &[&MATCH[..], &["--games=2", "--shard", shard]].concat());
        ["games.csv", "moves.csv"].map(|name| out.join(name))
    };
    let files = [part("1/2"), part("2/2")].concat();
    assert_eq!(
        report_into(&folder.path().join("all"), &files)["matches"][0]["games"],
        2
    );
}

/// A regression: where the system went down and a file was behind `games.csv`, the match was refused.
#[test]
fn a_file_behind_the_rows_is_made_up_for_and_a_missing_one_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let args = [&MATCH[..], &["--games=4"]].concat();
    play(folder.path(), &args);
    let files = ["games.pgn", "moves.csv", "games.csv"].map(|name| folder.path().join(name));
    let read = || files.each_ref().map(|path| std::fs::read(path).unwrap());
    let at_the_end = read();
    for (name, path) in ["games.pgn", "moves.csv"].into_iter().zip(&files) {
        let whole = std::fs::read(path).unwrap();
        for kept in [whole.len() - 40, whole.len() / 2, 0] {
            std::fs::write(path, &whole[..kept]).unwrap();
            assert_eq!(play(folder.path(), &args).0["games"], 4);
            assert!(read() == at_the_end, "{name} cut at {kept}");
        }
        std::fs::remove_file(path).unwrap();
        play(folder.path(), &args);
        assert!(read() == at_the_end, "{name} is made of the journal");
    }
}

#[test]
fn shards_put_together_are_the_whole_match() {
    let folder = tempfile::tempdir().unwrap();
    let part = |name: &str, more: &[&str]| {
        let folder = folder.path().join(name);
        (
            play(&folder, &[&MATCH[..], &["--games=14"], more].concat()).0,
            folder,
        )
    };
    let (whole, whole_folder) = part("whole", &[]);
    let (first, first_folder) = part("1", &["--shard=1/2"]);
    let (second, second_folder) = part("2", &["--shard=2/2"]);
    assert_eq!((&first["games"], &second["games"]), (&8.into(), &6.into()));
    let files: Vec<_> = [&second_folder, &first_folder]
        .into_iter()
        .flat_map(|folder| ["moves.csv", "games.csv"].map(|name| folder.join(name)))
        .collect();
    let merged_folder = folder.path().join("merged");
    let merged = report_into(&merged_folder, &files);
    for key in RESULTS {
        assert_eq!(merged["matches"][0][key], whole[key], "{key}");
    }
    for name in ["games.csv", "moves.csv"] {
        let read = |folder: &Path| std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(
            read(&merged_folder) == read(&whole_folder),
            "{name} differs from that of one run"
        );
    }
    for folder in [&whole_folder, &merged_folder] {
        assert_eq!(viewed_games(folder).len(), 14, "{}", folder.display());
    }
}

/// Returns the games that the page of a match shows.
fn viewed_games(folder: &Path) -> Vec<Value> {
    let html = std::fs::read_to_string(folder.join("index.html")).unwrap();
    let (_, json) = html.split_once("id=\"games\">").unwrap();
    let (json, _) = json.split_once("</script>").unwrap();
    let data: Value = serde_json::from_str(json).unwrap();
    data["games"].as_array().unwrap().clone()
}

/// A regression: the page of a match told its result, and no game could be looked at.
#[test]
fn the_page_shows_the_games_with_both_evaluations_and_times() {
    let folder = tempfile::tempdir().unwrap();
    let clock = [
        "--backend=random",
        "--games=2",
        "--nodestime=1",
        "--tc=1+0.02",
        "--move-overhead=0",
    ];
    let (_, pgn) = play(
        folder.path(),
        &[&clock[..], &["--a=name=One", "--b=name=Two"]].concat(),
    );
    let games = viewed_games(folder.path());
    assert_eq!(
        games
            .iter()
            .map(|game| game["pgn"].as_str().unwrap())
            .collect::<String>(),
        pgn
    );
    let game = &games[1]["game"];
    assert_eq!(
        (&game["players"][0]["name"], &game["players"][1]["name"]),
        (&"Two".into(), &"One".into())
    );
    assert_eq!((&game["number"], &game["by_players"]), (&2.into(), &true.into()));
    let [positions, plies] = ["positions", "plies"].map(|key| game[key].as_array().unwrap());
    assert_eq!(positions.len(), plies.len() + 1);
    let known = |rows: &[Value], key: &str| rows.iter().filter(|row| !row[key].is_null()).count();
    assert!(known(positions, "win") + 10 > plies.len(), "{game}");
    for key in ["used", "planned", "clock"] {
        assert!(known(plies, key) + 10 > plies.len(), "{key}: {game}");
    }
}

#[test]
fn a_match_that_was_stopped_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["games.pgn", "games.csv", "moves.csv"];
    let read = || files.map(|name| std::fs::read_to_string(folder.path().join(name)).unwrap());
    let args = [&MATCH[..], &["--games=10"]].concat();
    let (whole, _) = play(folder.path(), &args);
    let at_the_end = read();
    // As if the process had been killed in the middle of a game's line in the journal, of which all files are made, when the
    // files were in the middle of an earlier game.
    for (name, text) in files.iter().zip(&at_the_end) {
        std::fs::write(folder.path().join(name), &text[..text.len() / 5]).unwrap();
    }
    let journal = folder.path().join("games.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let whole_lines: usize = text.split_inclusive('\n').take(4).map(str::len).sum();
    std::fs::write(&journal, &text[..whole_lines + 100]).unwrap();
    let (resumed, _) = play(folder.path(), &args);
    for ((name, found), expected) in files.iter().zip(read()).zip(at_the_end) {
        assert!(found == expected, "{name} differs");
    }
    for key in RESULTS {
        assert_eq!(resumed[key], whole[key], "{key}");
    }
    // The same folder serves a longer match, but not another one.
    let (longer, _) = play(folder.path(), &[&MATCH[..], &["--games=12"]].concat());
    assert_eq!(longer["games"], 12);
    assert_refused(
        &zeitnot(&["match", "--backend=random", "--nodes=31", "--out"])
            .arg(folder.path())
            .output()
            .unwrap(),
        "another run",
    );
}

/// A regression: nothing said how often smart pruning ended a move, nor how much time that saved.
#[test]
fn the_rows_tell_where_smart_pruning_acts() {
    let folder = tempfile::tempdir().unwrap();
    // 2,000 nodes for a move are far beyond the 200 ms, here nodes, before which smart pruning waits.
    let clock = [
        "--nodestime=1",
        "--tc=60+0.6",
        "--move-overhead=0",
        "--max-plies=12",
        "--games=4",
    ];
    let sides = [
        "--a=TimeManager=legacy",
        "--b=SmartPruningFactor=0,TimeManager=legacy",
    ];
    let args = [&["--backend=random"][..], &clock, &sides].concat();
    let (whole, _) = play(&folder.path().join("whole"), &args);
    let share = |key: &str, side: usize| whole[key][side].as_f64().unwrap();
    assert!(
        share("pruned", 0) > 0.0 && share("pruning_saved", 0) > 0.0,
        "{whole}"
    );
    assert_eq!(
        (share("pruned", 1), share("pruning_saved", 1)),
        (0.0, 0.0),
        "{whole}"
    );
    let rows = ["games.csv", "moves.csv"].map(|name| folder.path().join("whole").join(name));
    let reported = report(&rows)["matches"][0].clone();
    // The same match again finds all games played.
    let (resumed, _) = play(&folder.path().join("whole"), &args);
    for key in ["pruned", "pruning_saved"] {
        assert_eq!(
            (&reported[key], &resumed[key]),
            (&whole[key], &whole[key]),
            "{key}"
        );
    }
    assert!(
        report(&rows[..1])["matches"][0]["pruned"][0].is_null(),
        "games alone do not tell"
    );
}

#[test]
fn a_test_that_is_decided_ends_the_match() {
    let folder = tempfile::tempdir().unwrap();
    let lopsided = ["--backend=trivial", "--games=200", "--a=nodes=100", "--b=nodes=2"];
    let (report, _) = play(
        folder.path(),
        &[&lopsided[..], &["--sprt=elo0=0,elo1=200"]].concat(),
    );
    assert_eq!(report["sprt"]["verdict"], "H1");
    assert!(report["games"].as_u64().unwrap() < 200);
}

#[test]
fn clocks_may_be_real() {
    let folder = tempfile::tempdir().unwrap();
    let (report, pgn) = play(
        folder.path(),
        &[
            "--backend=random",
            "--games=2",
            "--tc=0.3+0.01",
            "--move-overhead=20",
            "--max-plies=40",
        ],
    );
    assert_eq!(report["games"], 2);
    assert!(pgn.contains("[%emt 0:00:0"), "{pgn}");
    // Of each side of a game: the clock before a move, and the time used for it, ms.
    let mut sides = BTreeMap::<_, Vec<[f64; 2]>>::new();
    for row in rows(&folder.path().join("moves.csv")) {
        let times = ["clock_ms", "used_ms"].map(|name| row[name].parse().unwrap());
        sides
            .entry([row["game"].clone(), row["player"].clone()])
            .or_default()
            .push(times);
    }
    assert_eq!(sides.len(), 4);
    for moves in sides.values() {
        assert_eq!(moves[0][0], 300.0, "{moves:?}");
        for pair in moves.windows(2) {
            let ([clock, used], [next, _]) = (pair[0], pair[1]);
            assert!(
                used > 0.0 && (clock - used + 10.0 - next).abs() < 0.01,
                "{moves:?}"
            );
        }
    }
}

/// The rows of a file, by the names of their columns.
fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let columns: Vec<String> = lines.next().unwrap().collect();
    lines
        .map(|cells| columns.iter().cloned().zip(cells).collect())
        .collect()
}

/// A regression: the moves really left were those to an adjudication, too.
#[test]
fn rows_tell_the_moves_really_left_of_games_that_were_played_out() {
    let folder = tempfile::tempdir().unwrap();
    let book = folder.path().join("book.epd");
    for (number, (start, more, left)) in [
        ("6k1/5ppp/8/8/8/8/8/R6K w - -", "--seed=1", "1"),
        ("6k1/5ppp/8/8/8/8/8/R6K b - -", "--max-plies=1", ""),
    ]
    .into_iter()
    .enumerate()
    {
        std::fs::write(&book, start).unwrap();
        let out = folder.path().join(number.to_string());
        let output = zeitnot(&[
            "match",
            "--backend=trivial",
            "--games=2",
            "--nodes=60",
            more,
            "--openings",
        ])
        .arg(&book)
        .arg("--out")
        .arg(&out)
        .output()
        .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let rows = rows(&out.join("moves.csv"));
        assert_eq!(rows.len(), 2, "{start}");
        assert!(
            rows.iter().all(|row| row["really_left"] == left),
            "{start}: {rows:?}"
        );
    }
}

/// A regression: matches were between two settings of one engine only.
#[test]
fn external_engines_play_under_uci() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_zeitnot");
    let other = format!("--b=cmd={program},args=--backend=trivial,option.Threads=1,option.Move Overhead=0");
    let short = ["--backend=random", "--games=4", "--max-plies=40"];
    let (report, pgn) = play(
        &folder.path().join("nodes"),
        &[&short[..], &["--nodes=20", &other]].concat(),
    );
    assert_eq!(report["games"], 4, "{report}");
    assert!(
        pgn.contains("[White \"Zeitnot ") && pgn.contains("[Black \"Zeitnot "),
        "its own name: {pgn}"
    );
    assert!(pgn.contains("end=bestmove") && pgn.contains("end=nodes"), "{pgn}");
    let moves = std::fs::read_to_string(folder.path().join("nodes/moves.csv")).unwrap();
    let of_other = moves.lines().skip(1).filter(|row| row.contains(",B,"));
    assert!(
        of_other.clone().count() > 20 && of_other.clone().all(|row| row.ends_with(",bestmove")),
        "{moves}"
    );
    assert!(!pgn.contains("illegal-move"), "{pgn}");
    // With the same seed the same games, as far as the other engine is the same again.
    let again = play(
        &folder.path().join("again"),
        &[&short[..], &["--nodes=20", &other]].concat(),
    );
    assert!(again.1 == pgn, "another engine's games change from run to run");
    let named = format!("{other},name=guest");
    let (_, pgn) = play(
        &folder.path().join("clock"),
        &[
            "--backend=random",
            "--games=2",
            "--max-plies=14",
            "--tc=20+0.1",
            &named,
        ],
    );
    assert!(
        pgn.contains("[White \"guest\"]") && pgn.matches("[%clk 0:00:").count() > 20,
        "{pgn}"
    );
    for (side, message) in [
        ("cmd=/no/such/engine", "cannot be started"),
        (
            &format!("cmd={program},option.Nonsense=1"),
            "has no option \"Nonsense\"",
        ),
    ] {
        let side = format!("--b={side}");
        let output = zeitnot(&["match", "--backend=random", "--nodes=1", &side])
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(2) && stderr.contains(message),
            "{stderr}"
        );
    }
}

/// A regression: two managers that come to the same without the head were compared, and nothing said so.
#[test]
fn what_a_side_has_to_tell_is_told_once_and_sides_that_play_alike_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let play = |name: &str, a: &str, b: &str, limit: &str| {
        let out = folder.path().join(name);
        let backend = ["--backend=trivial", "--nodestime=1", "--threads=1"];
        let output = zeitnot(&["match", "--json", "--games=2", "--max-plies=6", limit])
            .args(backend)
            .arg("--out")
            .arg(&out)
            .args([format!("--a={a}"), format!("--b={b}")])
            .output()
            .unwrap();
        let report = json(&output);
        let files = ["run.json", "index.html"].map(|file| std::fs::read_to_string(out.join(file)).unwrap());
        (stderr(&output).to_owned(), report, files)
    };
    let (told, report, files) = play(
        "head",
        "TimeManager=smooth(mle-mlh)",
        "TimeManager=smooth(mle-pieces)",
        "--tc=1+0.1",
    );
    let head = "The network has no Moves Left Head";
    let mlh = "TimeManager=smooth(mle-mlh): ";
    let alike = "TimeManager=smooth(mle-mlh) and TimeManager=smooth(mle-pieces) play alike";
    for (text, of) in [(head, mlh), (alike, "")] {
        let text = format!("{of}{text}");
        assert_eq!(told.matches(&text).count(), 1, "{told}");
        assert!(report["notes"].to_string().contains(&text), "{report}");
        assert!(files.iter().all(|file| file.contains(&text)), "{text}");
    }
    assert!(!told.contains("(mle-pieces): The network"), "{told}");
    let same = [
        ("CPuct=2", "CPuct=2.0", "--nodes=3"),
        ("TimeManager=legacy", "TimeManager=simple", "--nodes=3"),
    ];
    for (number, (a, b, limit)) in same.into_iter().enumerate() {
        let (told, ..) = play(&format!("same{number}"), a, b, limit);
        assert!(told.contains(&format!("{a} and {b} play alike")), "{told}");
    }
    let other = [
        ("CPuct=2", "CPuct=2.1", "--nodes=3"),
        ("TimeManager=legacy", "TimeManager=simple", "--tc=1+0.1"),
    ];
    for (number, (a, b, limit)) in other.into_iter().enumerate() {
        let (told, report, _) = play(&format!("other{number}"), a, b, limit);
        assert!(
            !told.contains("play alike") && report["notes"].is_null(),
            "{told}"
        );
    }
}

#[test]
fn bad_arguments_are_named() {
    for (args, message) in [
        (&["--nodes=0"][..], "0 is not in 1.."),
        (&[], "say how long to think"),
        (&["--nodes=1", "--a=Cpuctt=1"], "--a: Cpuctt=1: unknown option"),
        (
            &["--nodes=1", "--b=MultiPV=2"],
            "--b: MultiPV=2: it acts in a UCI session only",
        ),
        (
            &["--nodes=1", "--a=Threads=2"],
            "both engines share it: give it as --threads",
        ),
        (
            &["--nodes=1", "--sprt=elo0=5,elo1=0"],
            "--sprt: elo1 must be larger",
        ),
        (&["--nodes=1", "--openings=no/such.epd"], "no/such.epd: "),
        (
            &["--nodes=1", "--adjudicate-draw=ply=3"],
            "--adjudicate-draw: unknown parameter",
        ),
        (&["--nodes=1", "--shard=3/2"], "expected i/n"),
        (
            &["--nodes=1", "--adjudicate-syzygy=/"],
            "--adjudicate-syzygy: no .rtbw file",
        ),
    ] {
        assert_refused(
            &zeitnot(&["match", "--backend=random"])
                .args(args)
                .output()
                .unwrap(),
            message,
        );
    }
}

#[test]
fn matches_with_players_in_common_give_one_list() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |name: &str, a: &str, b: &str| {
        let folder = folder.path().join(name);
        let sides = [
            format!("--a=name={a},nodes={a}"),
            format!("--b=name={b},nodes={b}"),
        ];
        let fixed = ["--backend=trivial", "--games=40", "--max-plies=120"];
        play(
            &folder,
            &[&fixed[..], &sides.each_ref().map(String::as_str)].concat(),
        );
        folder.join("games.csv")
    };
    let files = [rows("1", "100", "2"), rows("2", "2", "30")];
    let output = zeitnot(&["report", "--json", "--sprt=elo0=0,elo1=200"])
        .args(&files)
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let players = found["ranking"].as_array().unwrap();
    assert_eq!(players.len(), 3);
    assert_eq!(players[2]["name"], "2", "the fewest nodes come last: {players:?}");
    let sum: f64 = players.iter().map(|player| player["elo"].as_f64().unwrap()).sum();
    assert!(sum.abs() < 1e-6);
    let tests: Vec<_> = found["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["sprt"]["verdict"])
        .collect();
    assert!(
        tests.contains(&&Value::from("H1")) || tests.contains(&&Value::from("H0")),
        "{tests:?}"
    );
    assert!(
        report(&files[..1])["ranking"].is_null(),
        "two players are a match, no list"
    );
}

/// A regression: rows and games did not tell which build they came from.
#[test]
fn rows_and_games_name_the_build() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name);
    let pgn = out("match").join("games.pgn");
    let runs: [(&str, &str, &[&str]); 3] = [
        (
            "match",
            "games.csv",
            &["--nodes=10", "--games=2", "--max-plies=30"],
        ),
        (
            "timelab",
            "games.csv",
            &["--manager=legacy", "--tc=10+0.1", "--min-moves=1"],
        ),
        ("movesleft", "movesleft.csv", &[]),
    ];
    let version = run(&["--version"]);
    let version = stdout(&version).trim().strip_prefix("zeitnot ").unwrap();
    for (command, rows, args) in runs {
        let mut process = zeitnot(&[command, "--backend=random"]);
        if command != "match" {
            process.arg("--pgn").arg(&pgn);
        }
        let output = process
            .args(args)
            .arg("--out")
            .arg(out(command))
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}: {}", stderr(&output));
        let rows = std::fs::read_to_string(out(command).join(rows)).unwrap();
        let mut lines = rows.lines();
        assert!(lines.next().unwrap().ends_with(",version"), "{command}");
        assert!(
            rows.lines().count() > 1 && lines.all(|row| row.ends_with(&format!(",{version}"))),
            "{rows}"
        );
    }
    let games = std::fs::read_to_string(pgn).unwrap();
    let date = games
        .lines()
        .find_map(|line| line.strip_prefix("[Date \""))
        .unwrap();
    assert!(
        date.starts_with("20") && date.len() == "2026.11.28\"]".len(),
        "{date}"
    );
    assert!(
        games.contains(&format!("[Annotator \"Zeitnot {version}\"]\n")),
        "{games}"
    );
}

/// Plays two games against the engine that `script` is, with a `limit` of its own; returns the row of each, by column.
#[cfg(unix)]
fn play_script(folder: &Path, script: &str, limit: &str) -> Vec<Vec<(String, String)>> {
    let (engine, out) = (folder.join("engine.sh"), folder.join("out"));
    std::fs::write(&engine, script).unwrap();
    let side = format!("--b=cmd=/bin/sh,args={},{limit}", engine.display());
    let options = [
        "match",
        "--backend=random",
        "--games=2",
        "--max-plies=2",
        "--openings=none",
        "--a=nodes=5",
        &side,
        "--out",
    ];
    let output = zeitnot(&options).arg(&out).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = std::fs::read_to_string(out.join("games.csv")).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let columns: Vec<String> = lines.next().unwrap().collect();
    lines
        .map(|cells| columns.iter().cloned().zip(cells).collect())
        .collect()
}

/// An engine that answers each word as `GO` says, and does not know `quit`.
#[cfg(unix)]
const ENGINE: &str = r#"
while true; do
  read word rest || exec sleep 1000
  case $word in
    uci) printf 'id name Script\nid author R\351ti\nuciok\n';;
    isready) echo readyok;;
    position) case $rest in *moves\ *) move=e7e5;; *) move=e2e4;; esac;;
    go) GO;;
  esac
done
"#;

/// A regression: a crash ended the match, told nothing and kept no game, and talk without end was waited for.
#[cfg(unix)]
#[test]
fn an_engine_that_crashes_or_talks_without_end_loses_its_games_and_the_match_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, out) = (folder.path().join("engine.sh"), folder.path().join("out"));
    let play = |go: &str, recover: &str| {
        std::fs::remove_dir_all(&out).ok();
        std::fs::write(&engine, ENGINE.replace("GO", go)).unwrap();
        // Time enough for a process of a busy machine to end.
        let clock = if go.starts_with("while") { "0.2+0.01" } else { "60" };
        let side = format!("--b=cmd=/bin/sh,args={},tc={clock}", engine.display());
        let options = [
            "match",
            "--backend=random",
            "--games=2",
            "--max-plies=2",
            "--a=nodes=5",
            &side,
            recover,
            "--out",
        ];
        let output = zeitnot(&options).arg(&out).output().unwrap();
        let games = std::fs::read_to_string(out.join("games.pgn")).unwrap();
        (output.status.code(), stderr(&output).to_owned(), games)
    };
    for (go, end, told) in [
        ("exit 3", "disconnection", "(exit code 3)"),
        ("kill -SEGV $$", "disconnection", "SIGSEGV"),
        ("echo bestmove e2e5", "illegal-move", "the move e2e5 is not legal"),
        (
            "while :; do echo info depth 1 nodes 5; done",
            "time-forfeit",
            "has not said bestmove",
        ),
    ] {
        let (code, told_at_all, games) = play(go, "--recover=9");
        assert_eq!(code, Some(0), "{go}: {told_at_all}");
        let ends = games.matches(&format!("[TerminationDetails \"{end}\"]")).count();
        assert_eq!(ends, 2, "{go}: {games}");
        let is_told =
            |line: &&str| line.contains(", Script: ") && line.contains(told) && line.contains("Position: ");
        assert_eq!(
            told_at_all.lines().filter(is_told).count(),
            2,
            "{go}: {told_at_all}"
        );
    }
    let (code, told, games) = play("exit 3", "--recover=0");
    assert_eq!((code, games.matches("[Event ").count()), (Some(2), 1), "{told}");
    assert!(told.contains("--recover"), "{told}");
}

#[cfg(unix)]
#[test]
fn a_side_may_have_a_time_or_a_depth_for_each_move_and_a_margin() {
    let slow = "sleep 0.4; echo info nodes 77 score cp 0; echo bestmove $move";
    let told =
        |limit: &str| format!("[ \"$rest\" = '{limit}' ] && echo bestmove $move || echo bestmove a1a1");
    for (go, limit, end) in [
        (slow.to_owned(), "movetime=100", "time-forfeit"),
        (slow.to_owned(), "movetime=100,margin=60000", "adjudication"),
        (slow.to_owned(), "tc=0.2,margin=60000", "adjudication"),
        (told("movetime 60000"), "movetime=60000", "adjudication"),
        (told("depth 3"), "depth=3", "adjudication"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        for game in play_script(folder.path(), &ENGINE.replace("GO", &go), limit) {
            let cell = |name: &str| &game.iter().find(|(column, _)| column == name).unwrap().1;
            assert_eq!(cell("termination"), end, "{limit}");
        }
    }
}

/// A regression: the match was played, and then waited for the engine without end.
#[cfg(unix)]
#[test]
fn an_engine_that_does_not_end_ends_no_match() {
    let folder = tempfile::tempdir().unwrap();
    let began = std::time::Instant::now();
    let games = play_script(
        folder.path(),
        &ENGINE.replace("GO", "echo bestmove $move"),
        "nodes=5",
    );
    assert!(began.elapsed() < std::time::Duration::from_secs(300));
    assert_eq!(games.len(), 2);
}

/// A regression: clock and nodes were those before the move that was too late.
#[cfg(unix)]
#[test]
fn a_late_move_counts_for_clock_and_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let go = "sleep 0.4; echo info nodes 77 score cp 0; echo bestmove $move";
    let games = play_script(folder.path(), &ENGINE.replace("GO", go), "tc=0.2");
    for game in games {
        let cell = |name: &str| &game.iter().find(|(column, _)| column == name).unwrap().1;
        assert_eq!(cell("termination"), "time-forfeit");
        assert_eq!((cell("b_moves").as_str(), cell("b_nodes").as_str()), ("0", "77"));
        assert!(cell("b_clock_ms").parse::<f64>().unwrap() < 0.0, "{game:?}");
    }
}

#[test]
fn our_own_program_behind_pipes_loses_no_game_on_time() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_zeitnot");
    // The margin is for a machine that does other work.
    let side = |name: &str| {
        format!("--{name}=name={name},margin=1000,cmd={program},args=--backend=random --threads=1")
    };
    let options = [
        "match",
        "--games=2",
        "--tc=1+0.02",
        "--max-plies=160",
        &side("a"),
        &side("b"),
        "--out",
    ];
    let output = zeitnot(&options).arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let rows = std::fs::read_to_string(folder.path().join("games.csv")).unwrap();
    assert_eq!(rows.lines().count(), 3, "{rows}");
    assert!(!rows.contains("time-forfeit"), "{rows}");
}
