//! Tests Syzygy tables of 3 and 4 pieces: results, root moves under the fifty-move rule, and games played with them.

use std::fs;
use std::num::NonZero;
use std::path::Path;

use crate::fetch;
use zeitnot_engine::chess::{Color, History, Position, Terminal, Variant};
use zeitnot_engine::engine::{Engine, GoRequest, Listener, Settings};
use zeitnot_engine::note::Note;
use zeitnot_engine::search::Outcome;
use zeitnot_engine::tablebase::{ProbeResult, RootPace, RootTables, Tablebase};
use zeitnot_engine::time::Limit;

/// Random positions of all kinds of material, with their values by python-chess: `fen,wdl,dtz`, a header first.
const POSITIONS: &str = include_str!("../data/syzygy.csv");

/// Wins whose shortest way to a capture, pawn move or mate takes all but one ply of what the fifty-move counter
/// leaves (distances by python-chess; one ply is for their rounding).
const LAST_MINUTE_WINS: [&str; 8] = [
    "k7/8/3K4/8/8/8/7n/3b4 b - - 37 90",
    "8/k2R4/q7/8/5K2/8/8/8 b - - 42 90",
    "3r4/8/2N5/8/8/8/8/2k1K3 b - - 53 90",
    "8/8/8/8/8/3P1k2/8/2K5 w - - 84 90",
    "k7/8/8/8/4K3/8/1r6/8 b - - 68 90",
    "k7/8/8/8/1q6/8/4K3/8 b - - 82 90",
    "k3b3/8/8/8/8/5Kb1/8/8 b - - 65 90",
    "8/K4k2/4p3/4P3/8/8/8/8 w - - 88 90",
];

fn open() -> Option<Tablebase> {
    Some(Tablebase::open(fetch::tables()?).unwrap())
}

#[test]
#[ignore = "needs Syzygy tables, which pip fetches"]
fn results_are_those_of_another_implementation() {
    let Some(tables) = open() else { return };
    assert!(
        tables.description().contains("up to 4 pieces"),
        "{}",
        tables.description()
    );
    let rows: Vec<&str> = POSITIONS.lines().skip(1).collect();
    assert!(rows.len() > 150);
    for row in rows {
        let [fen, wdl, _] = row.split(',').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let expected = match wdl {
            "2" => ProbeResult::Win,
            "0" => ProbeResult::Draw,
            "-2" => ProbeResult::Loss,
            _ => panic!("{row}"),
        };
        assert_eq!(
            tables.probe(&Position::from_fen(fen).unwrap()),
            Some(expected),
            "{row}"
        );
    }
}

#[test]
#[ignore = "needs Syzygy tables, which pip fetches"]
fn positions_that_tables_cannot_answer_have_no_result() {
    let Some(tables) = open() else { return };
    for (fen, why) in [
        ("4k3/8/8/8/8/8/8/4K2R w K - 0 1", "castling rights"),
        (
            "7k/8/6K1/8/8/8/8/R7 w - - 1 1",
            "the fifty-move counter has started",
        ),
        ("7k/8/6K1/8/8/8/8/RRR5 w - - 0 1", "too many pieces"),
    ] {
        assert_eq!(tables.probe(&Position::from_fen(fen).unwrap()), None, "{why}");
    }
}

/// Returns the root moves that are kept, sorted, as text.
fn kept(tables: &Tablebase, fen: &str, pace: RootPace) -> (Vec<String>, RootTables) {
    let game = History::from_fen(fen, Variant::Standard).unwrap();
    let found = tables.root_moves(&game, &game.legal_moves(), pace).unwrap();
    let mut moves: Vec<String> = found.moves.iter().map(|&mv| game.format_move(mv)).collect();
    moves.sort();
    (moves, found.tables)
}

#[test]
#[ignore = "needs Syzygy tables, which pip fetches"]
fn a_pawn_ending_keeps_the_moves_that_theory_names() {
    let Some(tables) = open() else { return };
    let moves = |fen| kept(&tables, fen, RootPace::Free).0;
    // The king must stay in front of its pawn.
    assert_eq!(moves("4k3/8/4K3/4P3/8/8/8/8 w - - 0 1"), ["e6d6", "e6f6"]);
    // The defender must take the opposition.
    assert_eq!(moves("8/4k3/8/3KP3/8/8/8/8 b - - 0 1"), ["e7d7"]);
}

#[test]
#[ignore = "needs Syzygy tables, which pip fetches"]
fn a_win_may_be_played_at_leisure_until_the_fifty_move_rule_is_near() {
    let Some(tables) = open() else { return };
    let mate_in_one = |rule50| format!("7k/8/6K1/8/8/8/8/R7 w - - {rule50} 80");
    let count = |rule50, pace| kept(&tables, &mate_in_one(rule50), pace).0.len();
    assert!(count(0, RootPace::Free) > 10);
    assert!(count(94, RootPace::Free) < count(0, RootPace::Free));
    // Mate goes before the fifty-move rule, which the same ply would complete.
    assert_eq!(
        kept(&tables, &mate_in_one(99), RootPace::Free),
        (vec!["a1a8".to_string()], RootTables::Dtz)
    );
    assert_eq!(kept(&tables, &mate_in_one(0), RootPace::Fastest).0, ["a1a8"]);
}

#[test]
#[ignore = "needs Syzygy tables, which pip fetches"]
fn after_a_repetition_a_win_is_hurried() {
    let Some(tables) = open() else { return };
    let moves = "g1f1 h8g8 f1g1 g8h8";
    let text = format!("fen 7k/8/8/5K2/8/8/8/6R1 w - - 0 1 moves {moves}");
    let fastest = {
        let game =
            History::from_uci_position("fen 7k/8/8/5K2/8/8/8/6R1 w - - 4 3", Variant::Standard).unwrap();
        tables
            .root_moves(&game, &game.legal_moves(), RootPace::Fastest)
            .unwrap()
            .moves
    };
    let repeated = History::from_uci_position(&text, Variant::Standard).unwrap();
    let found = tables
        .root_moves(&repeated, &repeated.legal_moves(), RootPace::Free)
        .unwrap();
    assert_eq!(found.moves, fastest);
}

/// Won positions in which the move that the distances name draws by a third occurrence, or lets the opponent draw so.
const REPETITIONS_TO_AVOID: [(&str, &str); 7] = [
    (
        "8/8/8/8/8/4R3/7k/K7 b - - 1 1 moves h2g2 e3e1 g2h2 e1e3 h2g2 e3e1 g2h2",
        "e1e3",
    ),
    (
        "8/8/8/5k2/8/8/4R3/7K b - - 1 1 moves f5g6 e2g2 g6f5 g2e2 f5g6 e2g2 g6f5",
        "g2e2",
    ),
    (
        "8/8/8/4K3/8/8/Q7/3k4 b - - 1 1 moves d1e1 a2a5 e1d1 a5a2 d1e1 a2a5 e1d1",
        "a5a2",
    ),
    (
        "6B1/4K3/8/k7/8/8/2N5/8 b - - 1 1 moves a5b6 c2e1 b6a5 e1c2 a5b6 c2e1 b6a5",
        "e1c2",
    ),
    (
        "2Q5/6K1/8/3r4/8/1k6/8/8 b - - 1 1 moves d5d7 g7h8 d7d5 h8g7 d5d7 g7h8 d7d5",
        "h8g7",
    ),
    (
        "8/5K2/5Q2/8/8/3k4/8/6r1 b - - 1 1 moves g1h1 f7g7 h1g1 g7f7 g1h1 f7g7 h1g1",
        "g7f7",
    ),
    (
        "8/8/8/8/8/4R3/6k1/K7 w - - 2 2 moves e3e1 g2h2 e1e3 h2g2 e3e1 g2h2",
        "e1e3",
    ),
];

/// Lost positions in which one move draws by a third occurrence.
const SAVING_REPETITIONS: [(&str, &str); 2] = [
    (
        "2k4K/8/8/8/8/8/2N5/B7 w - - 0 1 moves a1e5 c8d8 e5a1 d8c8 a1e5 c8d8 e5a1",
        "d8c8",
    ),
    (
        "6Q1/8/8/3K4/3r4/8/8/3k4 w - - 0 1 moves d5e6 d4h4 e6d5 h4d4 d5e6 d4h4 e6d5",
        "h4d4",
    ),
];

/// A regression: won positions were drawn at once, and drawn ones lost, since the tables know of no repetitions.
#[test]
#[ignore = "needs Syzygy tables, which pip fetches"]
fn repetitions_decide_together_with_the_tables() {
    let Some(path) = fetch::tables() else { return };
    let results = tempfile::tempdir().unwrap();
    for file in fs::read_dir(path).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_some_and(|extension| extension == "rtbw") {
            fs::copy(&file, results.path().join(file.file_name().unwrap())).unwrap();
        }
    }
    for (folder, kind) in [
        (path, RootTables::Dtz),
        (results.path().to_str().unwrap(), RootTables::Wdl),
    ] {
        let tables = Tablebase::open(folder).unwrap();
        let kept = |position: &str| {
            let game = History::from_uci_position(&format!("fen {position}"), Variant::Standard).unwrap();
            let found = tables
                .root_moves(&game, &game.legal_moves(), RootPace::Free)
                .unwrap();
            assert_eq!(found.tables, kind);
            found
                .moves
                .iter()
                .map(|&mv| game.format_move(mv))
                .collect::<Vec<_>>()
        };
        for (position, repetition) in REPETITIONS_TO_AVOID {
            assert!(
                !kept(position).contains(&repetition.to_string()),
                "{position}: {:?}",
                kept(position)
            );
        }
        for (position, repetition) in SAVING_REPETITIONS {
            assert_eq!(kept(position), [repetition], "{position}");
        }
    }
    let (position, repetition) = REPETITIONS_TO_AVOID[0];
    let (fen, moves) = position.split_once(" moves ").unwrap();
    let moves: Vec<_> = moves.split(' ').map(str::to_owned).collect();
    let (mv, _) = Player::new(path, false).search(fen, &moves, 60);
    assert_ne!(mv, repetition);
}

/// A regression: the search of a move that was asked for ended after one node.
#[test]
#[ignore = "needs Syzygy tables, which pip fetches"]
fn with_tables_a_move_that_is_asked_for_takes_its_nodes() {
    let Some(tables) = fetch::tables() else { return };
    let mut engine = Engine::new(settings(tables)).unwrap();
    engine
        .set_position("fen 8/8/8/3k4/8/8/1R6/K7 w - - 0 100")
        .unwrap();
    let root_moves = vec![engine.position().parse_move("b2b5").unwrap()];
    let limit = Limit::nodes(400);
    let (sender, answers) = std::sync::mpsc::channel();
    let request = GoRequest {
        root_moves,
        ..GoRequest::new(limit)
    };
    engine.go(request, Box::new(AnswerSender(sender))).unwrap();
    assert_eq!(answers.recv().unwrap().unwrap().figures.stats.nodes.0, 400);
}

struct AnswerSender(std::sync::mpsc::Sender<Option<Outcome>>);

impl Listener for AnswerSender {
    fn answer(&mut self, _: &History, answer: Option<Outcome>) {
        self.0.send(answer).unwrap();
    }
}

#[test]
#[ignore = "needs Syzygy tables, which pip fetches"]
fn without_distances_results_choose_the_root_moves() {
    let Some(tables) = fetch::tables() else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in ["KPvK", "KQvK", "KRvK", "KBvK", "KNvK"].map(|name| format!("{name}.rtbw")) {
        fs::copy(Path::new(tables).join(&name), folder.path().join(name)).unwrap();
    }
    let tables = Tablebase::open(folder.path().to_str().unwrap()).unwrap();
    assert_eq!(
        kept(&tables, "4k3/8/4K3/4P3/8/8/8/8 w - - 0 1", RootPace::Free),
        (vec!["e6d6".to_string(), "e6f6".to_string()], RootTables::Wdl)
    );
}

/// A player with the backend `random`, so that all sense in its moves comes from the tables.
struct Player(Engine);

fn settings(folders: &str) -> Settings {
    let mut settings = Settings::default();
    settings.network.backend = "random".into();
    settings.network.threads = NonZero::new(1);
    settings.tablebase.syzygy_path = folders.into();
    settings
}

impl Player {
    fn new(folders: &str, fast_play: bool) -> Player {
        let mut settings = settings(folders);
        settings.tablebase.syzygy_fast_play = fast_play;
        Player::with(settings)
    }

    fn with(settings: Settings) -> Player {
        Player(Engine::new(settings).unwrap())
    }

    /// Searches the position after `moves` with `nodes` nodes.
    fn search(&mut self, fen: &str, moves: &[String], nodes: u64) -> (String, Outcome) {
        self.0
            .set_position(&format!("fen {fen} moves {}", moves.join(" ")))
            .unwrap();
        let limit = Limit::nodes(nodes);
        let (best, outcome) = self.0.search(limit).unwrap();
        assert!(
            outcome.notes.iter().all(|note| matches!(note, Note::Info(_))),
            "{:?}",
            outcome.notes
        );
        (self.0.position().format_move(best), outcome)
    }
}

/// Plays from `fen` to the end, `first` having the move. Returns the end and the side to move then.
fn play_out(fen: &str, first: &mut Player, second: &mut Player) -> (Terminal, Color) {
    let mut game = History::from_fen(fen, Variant::Standard).unwrap();
    let mut moves = Vec::new();
    loop {
        if let Some(end) = game.terminal(&game.legal_moves()) {
            return (end, game.current().turn());
        }
        let player = if moves.len() % 2 == 0 {
            &mut *first
        } else {
            &mut *second
        };
        let (mv, _) = player.search(fen, &moves, 30);
        game.push(game.parse_move(&mv).unwrap());
        moves.push(mv);
    }
}

#[test]
#[ignore = "needs Syzygy tables, which pip fetches"]
fn wins_that_just_fit_into_fifty_moves_are_brought_home() {
    let Some(tables) = fetch::tables() else { return };
    for fast_play in [false, true] {
        for defender_tables in ["", tables] {
            let mut attacker = Player::new(tables, fast_play);
            let mut defender = Player::new(defender_tables, false);
            for fen in LAST_MINUTE_WINS {
                let loser = !Position::from_fen(fen).unwrap().turn();
                assert_eq!(
                    play_out(fen, &mut attacker, &mut defender),
                    (Terminal::Checkmate, loser),
                    "{fen}, fast play {fast_play}, defender's tables \"{defender_tables}\""
                );
            }
        }
    }
}

#[test]
#[ignore = "needs Syzygy tables, which pip fetches"]
fn a_loss_that_the_fifty_move_rule_prevents_is_held() {
    let Some(tables) = fetch::tables() else { return };
    // Three plies later than the last-minute wins.
    for fen in [
        "k7/8/8/8/4K3/8/1r6/8 b - - 71 90",
        "k7/8/3K4/8/8/8/7n/3b4 b - - 40 90",
    ] {
        let (mut attacker, mut defender) = (Player::new(tables, false), Player::new(tables, false));
        assert_eq!(
            play_out(fen, &mut attacker, &mut defender).0,
            Terminal::FiftyMoves,
            "{fen}"
        );
    }
}

#[test]
#[ignore = "needs Syzygy tables, which pip fetches"]
fn leaves_in_the_tables_decide_a_search_that_knows_nothing() {
    let Some(tables) = fetch::tables() else { return };
    // One of the captures wins a queen, and only that wins the game.
    let fen = "3r2k1/8/8/8/8/8/P7/3Q2K1 w - - 0 1";
    let (mv, result) = Player::new(tables, false).search(fen, &[], 500);
    assert_eq!(mv, "d1d8");
    assert!(result.figures.counts.tablebase_hits > 0);
    let line = &result.info.unwrap().lines[0];
    assert_eq!(
        (line.value.as_ref().unwrap().q, line.mate()),
        (1.0, None),
        "a win by the tables, but no mate is known"
    );
}

/// What the network expected of the position before is what is left after the move.
#[test]
#[ignore = "needs Syzygy tables, which pip fetches"]
fn a_result_of_the_tables_changes_nothing_about_the_plies_that_are_left() {
    let Some(tables) = fetch::tables() else { return };
    // Smart pruning would end the search at the first win it finds.
    let mut settings = settings(tables);
    settings.stoppers.smart_pruning_factor = 0.0;
    let mut engine = Engine::new(settings).unwrap();
    engine
        .set_position("fen 3r2k1/8/8/8/8/8/P7/3Q2K1 w - - 0 1")
        .unwrap();
    let root_moves = vec![engine.position().parse_move("d1d8").unwrap()];
    let mut plies_left = |nodes| {
        let (sender, answers) = std::sync::mpsc::channel();
        let request = GoRequest {
            root_moves: root_moves.clone(),
            ..GoRequest::new(Limit::nodes(nodes))
        };
        engine.go(request, Box::new(AnswerSender(sender))).unwrap();
        let stats = answers.recv().unwrap().unwrap().figures.stats;
        assert_eq!(stats.nodes.0, nodes);
        stats.root.unwrap().m.unwrap().0
    };
    let expected = plies_left(1);
    let found = plies_left(100);
    assert!((found - expected).abs() < 1e-3, "{found} {expected}");
}

#[test]
#[ignore = "needs Syzygy tables, which pip fetches"]
fn a_mate_goes_before_a_win_by_the_tables() {
    let Some(tables) = fetch::tables() else { return };
    // 1.Ra8 is mate, 1.Rxb1 a win by the tables.
    let fen = "7k/8/6K1/8/8/8/7P/Rn6 w - - 0 1";
    // Smart pruning would end the search at the first win it finds.
    let mut settings = settings(tables);
    settings.stoppers.smart_pruning_factor = 0.0;
    let (mv, result) = Player::with(settings).search(fen, &[], 2000);
    assert!(result.figures.counts.tablebase_hits > 0);
    assert_eq!(
        (mv.as_str(), result.info.unwrap().lines[0].mate()),
        ("a1a8", Some(1))
    );
}

#[test]
#[ignore = "needs Syzygy tables, which pip fetches"]
fn tables_are_announced_once() {
    let Some(tables) = fetch::tables() else { return };
    let mut player = Player::new(tables, false);
    assert_eq!(
        player.0.open_tablebase(),
        Some("70 Syzygy tables (35 WDL, 35 DTZ), up to 4 pieces".into())
    );
    assert_eq!(player.0.open_tablebase(), None);
}

/// A regression: tables that could not be opened once were never looked for again.
#[test]
#[ignore = "needs Syzygy tables, which pip fetches"]
fn a_path_that_failed_is_tried_again_when_it_is_set_again_and_for_a_new_game() {
    let Some(tables) = fetch::tables() else { return };
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("syzygy");
    let path = folder.to_str().unwrap();
    let mut player = Player::new(path, false);
    let begins = "SyzygyPath: there is no";
    let is_told = |note: Option<Note>| note.is_some_and(|note| note.to_string().starts_with(begins));
    assert!(is_told(player.0.open_tablebase()));
    player.0.new_game();
    assert!(is_told(player.0.open_tablebase()));
    fs::create_dir(&folder).unwrap();
    fs::copy(Path::new(tables).join("KQvK.rtbw"), folder.join("KQvK.rtbw")).unwrap();
    assert_eq!(player.0.open_tablebase(), None);
    player.0.set_option("SyzygyPath", path).unwrap();
    assert_eq!(
        player.0.open_tablebase(),
        Some("1 Syzygy tables (1 WDL, 0 DTZ), up to 3 pieces".into())
    );
    player.0.new_game();
    assert_eq!(player.0.open_tablebase(), None);
}

#[test]
fn a_wrong_path_is_told_once_and_the_search_goes_on() {
    let mut player = Player::new("/no/such/folder", false);
    let note = player.0.open_tablebase().unwrap().to_string();
    assert!(
        note.starts_with("SyzygyPath: there is no folder /no/such/folder"),
        "{note}"
    );
    assert_eq!(player.0.open_tablebase(), None);
    let (_, result) = player.search("7k/8/6K1/8/8/8/8/R7 w - - 0 1", &[], 50);
    assert_eq!(
        (
            result.figures.stats.nodes.0 > 0,
            result.figures.counts.tablebase_hits
        ),
        (true, 0)
    );
}
