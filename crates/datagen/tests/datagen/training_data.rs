//! Tests training data: the import of games, the record format and the trainer's tables.

use proptest::prelude::*;
use zeitnot_datagen::TrainingDataError;
pub use zeitnot_datagen::game::Ending;
use zeitnot_datagen::game::{LabelledGame, LabelledPly, MoveChoice, TeacherMove, labelled};
use zeitnot_datagen::record::{MAGIC, MAX_CANDIDATES, Records, encode};
use zeitnot_datagen::table::{ROW, Tables};
use zeitnot_engine::chess::{History, Move};
use zeitnot_lab::pgn::Games;

/// Two games as TCEC writes them; the second is Fischer random with castling.
pub const PGN: &str = r#"[Event "A"]
[Result "0-1"]
[Termination "adjudication"]
[TerminationDetails "Black mates"]
[TimeControl "1800+3"]

f3 {book} e5 {book} g4 {[%eval -1.50] [%emt 0:00:01.000] [%clk 0:29:59.000]} Qh4# {[%eval #-1] [%clk 0:29:59.000]}
0-1

[Event "B"]
[Result "1/2-1/2"]
[Variant "fischerandom"]
[FEN "4k3/8/8/8/8/8/8/1K1R4 w D - 0 1"]
[Termination "time forfeit"]
[TimeControl "40/6000:20/3000:1200+10"]

O-O {[%eval 8.00]} Ke7 {[%eval 9.25]} 1/2-1/2
"#;

pub fn imported(text: &str) -> Vec<LabelledGame> {
    Games::new("PGN", text.as_bytes())
        .map(|game| labelled(game).unwrap())
        .collect()
}

fn moves(game: &LabelledGame) -> Vec<String> {
    game.plies.iter().map(|ply| format!("{:?}", ply.played)).collect()
}

#[test]
fn imports_tournament_games() {
    let games = imported(PGN);
    let [mate, random] = &games[..] else {
        panic!("{games:?}")
    };

    assert_eq!(moves(mate), ["f2f3", "e7e5", "g2g4", "d8h4"]);
    let choices: Vec<MoveChoice> = mate.plies.iter().map(|ply| ply.choice).collect();
    assert_eq!(
        choices,
        [
            MoveChoice::Book,
            MoveChoice::Book,
            MoveChoice::Best,
            MoveChoice::Best
        ]
    );
    let evaluations: Vec<Option<i16>> = mate.plies.iter().map(|ply| ply.centipawns).collect();
    // From the mover's view; a mate in one is one ply away.
    assert_eq!(evaluations, [None, None, Some(-150), Some(31999)]);
    assert_eq!(
        (mate.result, mate.ending, mate.reference),
        (-1, Ending::Checkmate, true)
    );

    assert_eq!(moves(random), ["b1d1", "e8e7"]);
    assert_eq!(
        (random.result, random.ending, random.reference),
        (0, Ending::Broken, false)
    );
    assert!(random.start.is_some());
}

#[test]
fn names_games_that_cannot_be_played_through() {
    let text = "[Event \"A\"]\n[Result \"1-0\"]\n\ne4 e5 Kd7 1-0\n\n[Event \"B\"]\n[Result \"*\"]\n\ne4 *\n";
    let skipped: Vec<_> = Games::new("PGN", text.as_bytes())
        .map(|game| labelled(game).unwrap_err())
        .collect();
    let reasons = [
        "game 1 is skipped: ply 3: ",
        "game 2 is skipped: it has no result",
    ];
    assert_eq!(skipped.len(), reasons.len());
    for (skipped, reason) in skipped.iter().zip(reasons) {
        assert!(skipped.starts_with(reason), "{skipped}");
    }
}

#[test]
fn the_held_out_events_never_change() {
    let held_out = |event: &str| {
        let text = format!("[Event \"{event}\"]\n[Result \"1-0\"]\n\ne4 1-0\n");
        imported(&text)[0].held_out
    };
    let events: Vec<u32> = (0..100).filter(|i| held_out(&format!("Season {i}"))).collect();
    assert_eq!(events, HELD_OUT_SEASONS);
}

/// The numbers of the events that are held out, of "Season 0" to "Season 99".
const HELD_OUT_SEASONS: [u32; 4] = [29, 88, 95, 99];

/// Returns a teacher's game: 1. e4 from the book, then 1... e5 with two candidates, the second one played.
fn teachers_game() -> LabelledGame {
    let mut history = History::start();
    let e4 = history.parse_move("e2e4").unwrap();
    history.push(e4);
    let [e5, c5] = ["e7e5", "c7c5"].map(|uci| history.parse_move(uci).unwrap());
    let candidates = [(e5, -30), (c5, -95)].map(|(mv, centipawns)| TeacherMove { mv, centipawns });
    let deviation = LabelledPly {
        centipawns: Some(-30),
        candidates: candidates.into(),
        ..LabelledPly::new(c5, MoveChoice::Deviation)
    };
    LabelledGame {
        by_teacher: true,
        held_out: true,
        reference: false,
        start: None,
        result: 1,
        ending: Ending::DeadDraw,
        plies: vec![LabelledPly::new(e4, MoveChoice::Book), deviation],
    }
}

pub fn write_records(games: &[LabelledGame]) -> Vec<u8> {
    let games = games.iter().flat_map(|game| encode(game).unwrap());
    MAGIC.iter().copied().chain(games).collect()
}

pub fn read_records(bytes: &[u8]) -> Result<Vec<LabelledGame>, TrainingDataError> {
    Records::new(bytes)?.collect()
}

#[test]
fn imported_games_survive_the_record_format() {
    let mut games = imported(PGN);
    games.push(teachers_game());
    assert_eq!(read_records(&write_records(&games)).unwrap(), games);
}

#[test]
fn truncated_records_are_errors() {
    let games = imported(PGN);
    let bytes = write_records(&games);
    let whole_games: Vec<usize> = (0..=games.len())
        .map(|n| write_records(&games[..n]).len())
        .collect();
    for length in (0..bytes.len()).filter(|length| !whole_games.contains(length)) {
        assert!(read_records(&bytes[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn foreign_files_are_named() {
    let error = read_records(b"PK\x03\x04 and so on").unwrap_err().to_string();
    assert_eq!(
        error,
        "damaged training data at byte 5: no file of training records, or of a newer version"
    );
}

#[test]
fn a_reader_stops_at_the_first_fault() {
    let games = imported(PGN);
    let mut bytes = write_records(&games);
    bytes[7] = 5;
    let mut reader = Records::new(&bytes).unwrap();
    assert!(reader.next().unwrap().is_err());
    assert!(reader.next().is_none());
}

/// Returns a random game in which every position has as many candidates as it can.
fn random_game(choices: &[(u16, u8, i16)]) -> LabelledGame {
    let mut history = History::start();
    let mut plies = Vec::new();
    for &(which, played, centipawns) in choices {
        let legal = history.legal_moves();
        if legal.is_empty() {
            break;
        }
        let candidates: Vec<TeacherMove> = (0..legal.len().min(MAX_CANDIDATES))
            .map(|i| TeacherMove {
                mv: legal[(usize::from(which) + i) % legal.len()],
                centipawns: centipawns - i as i16 * 25,
            })
            .collect();
        let move_played = legal[usize::from(played) % legal.len()];
        plies.push(LabelledPly {
            played: move_played,
            choice: MoveChoice::ALL[usize::from(played & 3)],
            centipawns: Some(centipawns),
            candidates,
        });
        history.push(move_played);
    }
    LabelledGame {
        by_teacher: true,
        held_out: choices.len().is_multiple_of(2),
        reference: choices.len().is_multiple_of(3),
        start: None,
        result: 0,
        ending: Ending::Length,
        plies,
    }
}

proptest! {
    #[test]
    fn any_game_survives_the_record_format(
        choices in prop::collection::vec((any::<u16>(), any::<u8>(), -31000i16..32000), 1..120)
    ) {
        let game = random_game(&choices);
        let bytes = write_records(std::slice::from_ref(&game));
        prop_assert_eq!(read_records(&bytes).unwrap(), vec![game.clone()]);
        // At most twelve bytes a position, and one more where a move was played that is no candidate.
        prop_assert!(bytes.len() <= 22 + 13 * game.plies.len());
    }

    #[test]
    fn damaged_records_never_panic(
        choices in prop::collection::vec((any::<u16>(), any::<u8>(), -3000i16..3000), 1..30),
        place in any::<prop::sample::Index>(),
        value in any::<u8>(),
    ) {
        let mut bytes = write_records(&[random_game(&choices)]);
        let place = place.index(bytes.len());
        bytes[place] = value;
        if let Ok(games) = read_records(&bytes) {
            let mut tables = Tables::default();
            prop_assert!(games.iter().all(|game| tables.add(game).is_ok()));
        }
    }
}

/// Returns the tables of games, in memory.
fn tables(games: &[LabelledGame]) -> (Vec<[u8; ROW]>, Vec<u16>) {
    let mut tables = Tables::default();
    games.iter().for_each(|game| tables.add(game).unwrap());
    let rows = tables.rows.as_chunks::<ROW>().0.to_vec();
    (
        rows,
        tables
            .moves
            .as_chunks::<2>()
            .0
            .iter()
            .map(|&bytes| u16::from_le_bytes(bytes))
            .collect(),
    )
}

#[test]
fn table_rows_say_what_their_layout_promises() {
    let games = imported(PGN);
    let (rows, moves) = tables(&games);
    assert_eq!(rows.len(), 6);
    let u16_at = |row: usize, at: usize| u16::from_le_bytes([rows[row][at], rows[row][at + 1]]);

    // Before the mating move: White's pawns on a2 … e2, f3, g4, h2.
    let white_pawns = u64::from_le_bytes(rows[3][..8].try_into().unwrap());
    assert_eq!(white_pawns, 0x4020_9f00);
    let (plies_left, ply, evaluation) = (u16_at(3, 100), u16_at(3, 102), u16_at(3, 104) as i16);
    assert_eq!((plies_left, ply, evaluation), (1, 3, 31999));
    // Black to move, all four castling rights, no repetition, the standard start; three rows before this one.
    assert_eq!((rows[3][124], rows[3][125]), (0b0001_1111, 3));
    assert_eq!(rows[3][126] as i8, 1, "Black wins and is to move");
    // The played move, d8h4, as Black sees it: d1h5.
    let first = u32::from_le_bytes(rows[3][96..100].try_into().unwrap()) as usize;
    let played = moves[first + usize::from(rows[3][116])];
    assert_eq!(format!("{:?}", Move::from_bits(played)), "d1h5");

    // Book moves are no policy targets; the rest of their labels counts.
    let labels: Vec<u8> = rows.iter().map(|row| row[127] & 0b100111).collect();
    assert_eq!(
        labels,
        [0b100110, 0b100110, 0b100111, 0b100111, 0b000001, 0b000001]
    );
    assert_eq!(rows[4][124] & 128, 128, "the game began at another position");
    let legal: usize = rows.iter().map(|row| usize::from(row[122])).sum();
    assert_eq!(legal, moves.len());
}

#[test]
fn results_before_a_teachers_oddities_are_no_evidence() {
    let (rows, _) = tables(&[LabelledGame {
        ending: Ending::Checkmate,
        ..teachers_game()
    }]);
    // The position with the deviation itself is no evidence either: the result came after it.
    assert_eq!(rows.iter().map(|row| row[127] & 2).collect::<Vec<_>>(), [0, 0]);
}
