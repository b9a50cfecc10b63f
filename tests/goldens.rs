//! Every kind of network against what Lc0 gives: file → layers → ONNX → ONNX Runtime, through our own encoder.
//!
//! `cargo test --release --test goldens -- --nocapture` prints the largest error of each output for each network.
//! The repository keeps some of Lc0's outputs for most networks; `ZEITNOT_GOLDENS=folder` (with `nets` and
//! `golden` in it) runs another collection in their place.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::GzDecoder;
use serde::Deserialize;
use zeitnot::chess::{History, Variant};
use zeitnot::network::backends::{self, BackendConfig};
use zeitnot::network::encode::{HistoryFill, encode};
use zeitnot::network::weights::{HeadChoice, NetworkFile};
use zeitnot::network::{Backend, EvalSlot};

#[derive(Deserialize)]
struct Golden {
    net: String,
    policy_head: String,
    value_head: String,
    history_fill: String,
    positions: Vec<GoldenPosition>,
}

#[derive(Deserialize)]
struct GoldenPosition {
    fen: String,
    moves: Vec<String>,
    c960: u8,
    q: f32,
    d: f32,
    m: f32,
    /// Move, policy index, logit.
    legal: Vec<(String, u16, f32)>,
    /// The right indices where Lc0's are wrong.
    legal_transposed: Option<Vec<(String, u16, f32)>>,
}

/// Largest differences from Lc0; also used for the largest allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Errors {
    q: f32,
    d: f32,
    m: f32,
    logit: f32,
}

/// What float32 networks must keep.
const SINGLE: Errors = Errors { q: 1e-4, d: 1e-4, m: 0.01, logit: 1e-3 };
/// What float16 networks must keep: their golden values come from another float16 evaluation.
const HALF: Errors = Errors { q: 1e-2, d: 1e-2, m: 1.0, logit: 5e-2 };

impl Errors {
    fn within(&self, limits: &Errors) -> bool {
        self.q < limits.q && self.d < limits.d && self.m < limits.m && self.logit < limits.logit
    }
}

fn folder() -> PathBuf {
    match std::env::var_os("ZEITNOT_GOLDENS") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/goldens"),
    }
}

fn golden_files() -> Vec<PathBuf> {
    let files = folder().join("golden").read_dir().expect("golden files are part of the repository");
    let mut files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn backend(golden: &Golden) -> Arc<dyn Backend> {
    let choice =
        HeadChoice { policy: golden.policy_head.parse().unwrap(), value: golden.value_head.parse().unwrap() };
    let network = NetworkFile::load(&folder().join("nets").join(&golden.net), choice).unwrap();
    let config = BackendConfig::parse("onnxruntime", "").unwrap();
    backends::create(&config, Some(network)).unwrap()
}

/// Evaluates all positions of a golden file in one batch.
fn errors(golden: &Golden) -> Errors {
    let backend = backend(golden);
    let fill: HistoryFill = golden.history_fill.parse().unwrap();
    let mut slots: Vec<_> = golden
        .positions
        .iter()
        .map(|position| {
            let text = format!("fen {} moves {}", position.fen, position.moves.join(" "));
            let variant = if position.c960 == 1 { Variant::Chess960 } else { Variant::Standard };
            let history = History::to_evaluate(&text, variant).unwrap();
            let mut slot = EvalSlot::default();
            encode(&history, backend.info().input_format, fill, &mut slot.planes);
            slot.moves = legal(position).iter().map(|&(_, index, _)| index).collect();
            slot
        })
        .collect();
    backend.evaluator().unwrap().evaluate(&mut slots).unwrap();

    let mut errors = Errors::default();
    for (slot, position) in slots.iter().zip(&golden.positions) {
        errors.q = errors.q.max((slot.evaluation.q - position.q).abs());
        errors.d = errors.d.max((slot.evaluation.d - position.d).abs());
        errors.m = errors.m.max((slot.evaluation.m - position.m).abs());
        assert_eq!(slot.logits.len(), legal(position).len());
        for (logit, (_, _, expected)) in slot.logits.iter().zip(legal(position)) {
            errors.logit = errors.logit.max((logit - expected).abs());
        }
    }
    errors
}

fn legal(position: &GoldenPosition) -> &[(String, u16, f32)] {
    position.legal_transposed.as_ref().unwrap_or(&position.legal)
}

#[test]
fn every_network_gives_what_lc0_gives() {
    let mut failures = Vec::new();
    println!("{:<36} {:>9} {:>9} {:>9} {:>9} {:>9}", "network", "positions", "q", "d", "m", "logit");
    for path in golden_files() {
        let name = path.file_name().unwrap().to_string_lossy().replace(".json.gz", "");
        let golden: Golden = serde_json::from_reader(GzDecoder::new(File::open(&path).unwrap())).unwrap();
        let found = errors(&golden);
        println!(
            "{name:<36} {:>9} {:>9.1e} {:>9.1e} {:>9.1e} {:>9.1e}",
            golden.positions.len(),
            found.q,
            found.d,
            found.m,
            found.logit
        );
        let limits = if name.ends_with("_f16") { HALF } else { SINGLE };
        if !found.within(&limits) {
            failures.push(format!("{name}: {found:?}, allowed {limits:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
