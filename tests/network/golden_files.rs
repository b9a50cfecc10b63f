//! Reads what Lc0 computes: the files of `tests/data/goldens`, with `nets` and `golden` in it.
//!
//! `ZEITNOT_GOLDENS=folder` takes another collection in place of the repository's.

// Test programs use parts of this.
#![allow(dead_code)]

use std::fs::File;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde::Deserialize;
use zeitnot_engine::chess::{History, Variant};
use zeitnot_engine::network::EvalSlot;
use zeitnot_engine::network::backends::{self, BackendConfig};
use zeitnot_engine::network::encode::{HistoryFill, InputFormat, encode};
use zeitnot_engine::network::weights::{HeadChoice, NetworkFile, PolicyHeadName, ValueHeadName};
use zeitnot_engine::options::OptionChoice;

use crate::common::data;

/// A network's answers.
#[derive(Deserialize)]
pub struct Golden {
    pub net: String,
    pub policy_head: String,
    pub value_head: String,
    pub history_fill: String,
    pub input_format: i32,
    pub positions: Vec<GoldenPosition>,
}

/// A position, and what Lc0 makes of it. Collections of others, such as `models/training/check_export.py` writes, have only what
/// an evaluation is compared with.
#[derive(Deserialize)]
pub struct GoldenPosition {
    pub name: String,
    pub fen: String,
    pub moves: Vec<String>,
    pub c960: u8,
    #[serde(default)]
    pub final_fen: String,
    #[serde(default)]
    pub rule50: u32,
    #[serde(default)]
    pub repetitions: u8,
    #[serde(default)]
    pub transform: u8,
    pub q: f32,
    pub d: f32,
    pub m: f32,
    /// Move, policy index, logit.
    legal: Vec<(String, u16, f32)>,
    /// The right indices where Lc0's are wrong.
    legal_transposed: Option<Vec<(String, u16, f32)>>,
    /// Mask in hexadecimal, value.
    pub planes: Option<Vec<(String, f32)>>,
    /// `Σ v` over all 1858 logits.
    #[serde(default)]
    pub policy_sum: f64,
    /// `Σ v ((i % 97) + 1)` over all logits `v` with index `i`.
    #[serde(default)]
    pub policy_wsum: f64,
}

impl Golden {
    pub fn load(path: &Path) -> Golden {
        serde_json::from_reader(GzDecoder::new(File::open(path).unwrap())).unwrap()
    }

    pub fn format(&self) -> InputFormat {
        InputFormat::try_from(self.input_format).unwrap()
    }

    pub fn fill(&self) -> HistoryFill {
        HistoryFill::from_name(&self.history_fill).unwrap()
    }

    /// Returns the network with the heads that were evaluated.
    pub fn network(&self) -> NetworkFile {
        let policy = PolicyHeadName::from_name(&self.policy_head).unwrap();
        let value = ValueHeadName::from_name(&self.value_head).unwrap();
        NetworkFile::load(
            &folder("nets").join(&self.net),
            HeadChoice {
                policy,
                value,
                ..HeadChoice::default()
            },
        )
        .unwrap()
    }

    /// Returns a position as a backend gets it.
    pub fn slot(&self, position: &GoldenPosition) -> EvalSlot {
        let mut slot = EvalSlot::default();
        encode(&position.history(), self.format(), self.fill(), &mut slot.planes);
        slot.moves = position.legal().iter().map(|(_, index, _)| *index).collect();
        slot
    }
}

impl GoldenPosition {
    pub fn history(&self) -> History {
        let text = format!("fen {} moves {}", self.fen, self.moves.join(" "));
        let variant = if self.c960 == 1 {
            Variant::Chess960
        } else {
            Variant::Standard
        };
        History::to_evaluate(&text, variant).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Returns move, policy index and logit of the legal moves.
    pub fn legal(&self) -> &[(String, u16, f32)] {
        self.legal_transposed.as_ref().unwrap_or(&self.legal)
    }
}

/// Returns the path of a folder of the collection: `nets` or `golden`.
pub fn folder(name: &str) -> PathBuf {
    std::env::var_os("ZEITNOT_GOLDENS")
        .map_or_else(|| data("goldens"), PathBuf::from)
        .join(name)
}

/// Returns the paths of all files of the collection, in order.
pub fn files() -> Vec<PathBuf> {
    let entries = folder("golden")
        .read_dir()
        .expect("golden files are part of the repository");
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    // Another collection may be as small as one network's.
    let least = if std::env::var_os("ZEITNOT_GOLDENS").is_some() {
        1
    } else {
        11
    };
    assert!(
        files.len() >= least,
        "golden files are missing from {}",
        folder("golden").display()
    );
    files
}

/// The largest differences from Lc0, found or allowed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Errors {
    pub value: f32,
    pub moves_left: f32,
    pub logit: f32,
}

/// What is allowed in single precision.
pub const SINGLE: Errors = Errors {
    value: 1e-4,
    moves_left: 0.01,
    logit: 1e-3,
};

/// Evaluates the positions of each golden file for which `limits` says what is allowed, in one batch, and prints the largest errors.
/// Files that embed a model keep their own precision. Returns how many files they were.
pub fn compare(backend: &str, options: &str, limits: impl Fn(&str) -> Option<Errors>) -> usize {
    let (mut compared, mut failures) = (0, Vec::new());
    println!(
        "\n{options:<36} {:>9} {:>9} {:>9} {:>9}",
        "positions", "value", "m", "logit"
    );
    for path in files() {
        let name = path
            .file_name()
            .unwrap()
            .to_string_lossy()
            .replace(".json.gz", "");
        let Some(limits) = limits(&name) else { continue };
        compared += 1;
        let golden = Golden::load(&path);
        let config = BackendConfig::parse(backend, options).unwrap();
        let backend = backends::create(&config, Some(golden.network())).unwrap();
        assert_eq!(backend.facts().input_format, golden.format());
        let notes = backend.take_notes();
        assert!(
            !notes.iter().any(|note| note.to_string().contains("only")),
            "nothing was refused: {notes:?}"
        );
        let mut slots: Vec<_> = golden
            .positions
            .iter()
            .map(|position| golden.slot(position))
            .collect();
        backend.evaluator().unwrap().evaluate(&mut slots).unwrap();

        let Errors {
            mut value,
            mut moves_left,
            mut logit,
        } = Errors::default();
        for (slot, position) in slots.iter().zip(&golden.positions) {
            let evaluation = &slot.evaluation;
            value = value
                .max((evaluation.wl - position.q).abs())
                .max((evaluation.d - position.d).abs());
            moves_left = moves_left.max((evaluation.m - position.m).abs());
            assert_eq!(slot.logits.len(), position.legal().len());
            for (found, (_, _, expected)) in slot.logits.iter().zip(position.legal()) {
                logit = logit.max((found - expected).abs());
            }
        }
        println!(
            "{name:<36} {:>9} {value:>9.1e} {moves_left:>9.1e} {logit:>9.1e}",
            golden.positions.len()
        );
        if !(value < limits.value && moves_left < limits.moves_left && logit < limits.logit) {
            failures.push(format!(
                "{name}: value {value}, moves left {moves_left}, logit {logit}"
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    compared
}
