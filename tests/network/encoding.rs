//! Tests input planes, transforms and policy indices: against what Lc0 gives (`tests/data/goldens/golden`), and as properties
//! of random games.

use proptest::prelude::*;
use zeitnot_engine::chess::{History, Move, Position, Variant};
use zeitnot_engine::network::encode::{HistoryFill, InputFormat, encode};
use zeitnot_engine::network::{InputPlanes, policy_map};

use crate::common::games::{Game, games};
use crate::golden_files::{self, Golden};

#[test]
fn planes_and_transforms_are_those_of_lc0() {
    let mut formats = Vec::new();
    for path in golden_files::files() {
        let golden = Golden::load(&path);
        let (format, fill) = (golden.format(), golden.fill());
        for position in &golden.positions {
            let place = format!("{} {}", path.display(), position.name);
            let mut planes = InputPlanes::default();
            let transform = encode(&position.history(), format, fill, &mut planes);
            assert_eq!(transform.number(), position.transform, "{place}");
            let Some(expected) = &position.planes else {
                continue;
            };
            formats.push(i32::from(format));
            for (plane, (mask, value)) in expected.iter().enumerate() {
                let mask = u64::from_str_radix(mask, 16).unwrap();
                assert_eq!(planes.masks[plane], mask, "{place}: mask of plane {plane}");
                if mask != 0 {
                    assert_eq!(planes.values[plane], *value, "{place}: value of plane {plane}");
                }
            }
        }
    }
    formats.sort_unstable();
    formats.dedup();
    assert_eq!(formats, [1, 2, 3, 4, 5, 132, 133]);
}

#[test]
fn legal_moves_have_the_indices_of_lc0() {
    for path in golden_files::files() {
        let golden = Golden::load(&path);
        let format = golden.format();
        for position in &golden.positions {
            let history = position.history();
            let transform = encode(
                &history,
                format,
                HistoryFill::default(),
                &mut InputPlanes::default(),
            );
            let color = history.current().turn();
            let mut found: Vec<_> = history
                .legal_moves()
                .into_iter()
                .map(|m| (history.format_move(m), policy_map::index(m, color, transform)))
                .collect();
            let mut expected: Vec<_> = position
                .legal()
                .iter()
                .map(|(uci, index, _)| (uci.clone(), *index))
                .collect();
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{} {}", path.display(), position.name);
        }
    }
}

#[test]
fn counters_and_final_positions_are_those_of_lc0() {
    for path in golden_files::files() {
        for position in &Golden::load(&path).positions {
            let history = position.history();
            let place = format!("{} {}", path.display(), position.name);
            assert_eq!(history.current().rule50(), position.rule50, "{place}");
            assert_eq!(history.repetitions(), position.repetitions, "{place}");
            let end = Position::from_fen_to_evaluate(&position.final_fen).unwrap();
            assert!(end.is_repetition_of(history.current()), "{place}");
            assert_eq!(end.game_ply(), history.game_ply(), "{place}");
        }
    }
}

/// Returns the same game with the colours swapped.
fn color_flipped(game: &Game) -> History {
    let fields: Vec<&str> = game.fen.split(' ').collect();
    let swap_case = |text: &str| -> String {
        let swap = |c: char| {
            if c.is_ascii_uppercase() {
                c.to_ascii_lowercase()
            } else {
                c.to_ascii_uppercase()
            }
        };
        text.chars().map(swap).collect()
    };
    let board = swap_case(&fields[0].split('/').rev().collect::<Vec<_>>().join("/"));
    let turn = if fields[1] == "w" { "b" } else { "w" };
    let en_passant = fields[3].replace('6', "?").replace('3', "6").replace('?', "3");
    let fen = format!(
        "{board} {turn} {} {en_passant} {} {}",
        swap_case(fields[2]),
        fields[4],
        fields[5]
    );
    let mut history = History::from_fen(&fen, Variant::Chess960).unwrap();
    for &m in &game.moves {
        history.push(color_flipped_move(m));
    }
    history
}

fn color_flipped_move(m: Move) -> Move {
    Move::new(
        m.from_square().flip_vertical(),
        m.to_square().flip_vertical(),
        m.promotion(),
    )
}

/// Returns the plane that says who moves: 108 in the formats before the canonical ones, 110 in the armageddon formats.
fn side_plane(format: InputFormat) -> Option<usize> {
    match i32::from(format) {
        1 | 2 => Some(108),
        132 | 133 => Some(110),
        _ => None,
    }
}

proptest! {
    #[test]
    fn swapping_colors_changes_nothing_but_the_side_plane(game in games(40)) {
        let flipped = color_flipped(&game);
        let from_start = game.history.position(0).is_standard_start();
        for format in [1, 2, 3, 4, 5, 132, 133].map(|number| InputFormat::try_from(number).unwrap()) {
            for fill in [HistoryFill::No, HistoryFill::FenOnly, HistoryFill::Always] {
                if fill == HistoryFill::FenOnly && from_start {
                    continue; // The flipped game does not start at the standard position: Black would begin.
                }
                let mut planes = InputPlanes::default();
                let mut flipped_planes = InputPlanes::default();
                let transform = encode(&game.history, format, fill, &mut planes);
                let flipped_transform = encode(&flipped, format, fill, &mut flipped_planes);
                prop_assert_eq!(transform, flipped_transform);
                if let Some(plane) = side_plane(format) {
                    prop_assert_eq!(planes.masks[plane], !flipped_planes.masks[plane]);
                    flipped_planes.masks[plane] = planes.masks[plane];
                }
                prop_assert_eq!(&planes, &flipped_planes, "{:?} {:?}", format, fill);
                let color = game.history.current().turn();
                for m in game.history.legal_moves() {
                    let flipped_index = policy_map::index(color_flipped_move(m), !color, flipped_transform);
                    prop_assert_eq!(policy_map::index(m, color, transform), flipped_index);
                }
            }
        }
    }

    #[test]
    fn encoding_leaves_nothing_of_what_the_planes_held(game in games(20)) {
        let mut used = InputPlanes { masks: [0x55; 112], values: [7.0; 112] };
        let mut fresh = InputPlanes::default();
        for format in [InputFormat::Classical, InputFormat::CanonicalV2Armageddon] {
            encode(&game.history, format, HistoryFill::No, &mut used);
            encode(&game.history, format, HistoryFill::No, &mut fresh);
            prop_assert_eq!(&used, &fresh);
        }
    }

    #[test]
    fn legal_moves_have_indices_of_their_own(game in games(60)) {
        let history = &game.history;
        for format in [InputFormat::Classical, InputFormat::Canonical] {
            let transform = encode(history, format, HistoryFill::No, &mut InputPlanes::default());
            let color = history.current().turn();
            let legal = history.legal_moves();
            let mut indices: Vec<_> = legal.iter().map(|&m| policy_map::index(m, color, transform)).collect();
            prop_assert!(indices.iter().all(|&index| index < 1858));
            indices.sort_unstable();
            indices.dedup();
            prop_assert_eq!(indices.len(), legal.len());
        }
    }
}

/// Lc0 hangs where the search for repeated positions runs past the start of the game.
#[test]
fn formats_that_give_only_repeated_positions_stop_at_the_start_of_the_game() {
    for path in golden_files::files() {
        for position in &Golden::load(&path).positions {
            let history = position.history();
            let planes = [HistoryFill::No, HistoryFill::FenOnly, HistoryFill::Always].map(|fill| {
                let mut planes = InputPlanes::default();
                encode(&history, InputFormat::CanonicalV2, fill, &mut planes);
                planes
            });
            assert_eq!(planes[0], planes[1], "{}", position.name);
            assert_eq!(planes[0], planes[2], "{}", position.name);
        }
    }
}
