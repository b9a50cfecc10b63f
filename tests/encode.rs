//! Input planes, transforms and policy indices against what Lc0 gives (`tests/data/goldens/golden`).

use std::fs::File;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde::Deserialize;
use zeitnot::chess::{History, Position, Variant};
use zeitnot::network::encode::{HistoryFill, InputFormat, encode};
use zeitnot::network::{InputPlanes, policy_map};

#[derive(Deserialize)]
struct Golden {
    history_fill: String,
    input_format: i32,
    positions: Vec<GoldenPosition>,
}

#[derive(Deserialize)]
struct GoldenPosition {
    name: String,
    fen: String,
    moves: Vec<String>,
    c960: u8,
    final_fen: String,
    rule50: u32,
    repetitions: u8,
    transform: u8,
    /// Move, policy index, logit.
    legal: Vec<(String, u16, f32)>,
    /// The right indices where Lc0's are wrong.
    legal_transposed: Option<Vec<(String, u16, f32)>>,
    /// Mask in hexadecimal, value.
    planes: Option<Vec<(String, f32)>>,
}

impl GoldenPosition {
    fn history(&self) -> History {
        let text = format!("fen {} moves {}", self.fen, self.moves.join(" "));
        let variant = if self.c960 == 1 { Variant::Chess960 } else { Variant::Standard };
        History::to_evaluate(&text, variant).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

fn golden_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/goldens/golden");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 11, "golden files are missing from {}", folder.display());
    files
}

fn load(path: &Path) -> Golden {
    serde_json::from_reader(GzDecoder::new(File::open(path).unwrap())).unwrap()
}

#[test]
fn planes_and_transforms_are_those_of_lc0() {
    let mut formats = Vec::new();
    for path in golden_files() {
        let golden = load(&path);
        let format = InputFormat::from_number(golden.input_format).unwrap();
        let fill: HistoryFill = golden.history_fill.parse().unwrap();
        for position in &golden.positions {
            let place = format!("{} {}", path.display(), position.name);
            let mut planes = InputPlanes::default();
            let transform = encode(&position.history(), format, fill, &mut planes);
            assert_eq!(transform.number(), position.transform, "{place}");
            let Some(expected) = &position.planes else { continue };
            formats.push(format.number());
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
    for path in golden_files() {
        let golden = load(&path);
        let format = InputFormat::from_number(golden.input_format).unwrap();
        for position in &golden.positions {
            let history = position.history();
            let transform = encode(&history, format, HistoryFill::default(), &mut InputPlanes::default());
            let color = history.current().turn();
            let mut found: Vec<_> = history
                .legal_moves()
                .into_iter()
                .map(|m| (history.format_move(m), policy_map::index(m, color, transform)))
                .collect();
            let legal = position.legal_transposed.as_ref().unwrap_or(&position.legal);
            let mut expected: Vec<_> = legal.iter().map(|(uci, index, _)| (uci.clone(), *index)).collect();
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{} {}", path.display(), position.name);
        }
    }
}

#[test]
fn counters_and_final_positions_are_those_of_lc0() {
    for path in golden_files() {
        for position in &load(&path).positions {
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
