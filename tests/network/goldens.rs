//! Compares every kind of network with what Lc0 gives: file → layers → ONNX → ONNX Runtime, through our own encoder.
//!
//! `cargo test --release --test network goldens -- --nocapture` prints the largest error of each output for each network.
//! The repository keeps some of Lc0's outputs for most networks; `ZEITNOT_GOLDENS=folder` (with `nets` and
//! `golden` in it) runs another collection in their place.

use std::sync::Arc;

use zeitnot::network::Backend;
use zeitnot::network::backends::{self, BackendConfig};
use zeitnot::network::weights::{HeadChoice, NetworkFile};

use crate::common::set_up_onnx_runtime;
use crate::golden_files::{self, Golden};

/// Largest differences from Lc0; also used for the largest allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Errors {
    q: f32,
    d: f32,
    m: f32,
    logit: f32,
}

/// The errors that float32 networks may have.
const SINGLE: Errors = Errors { q: 1e-4, d: 1e-4, m: 0.01, logit: 1e-3 };
/// The errors that float16 networks may have: their golden values come from another float16 evaluation.
const HALF: Errors = Errors { q: 1e-2, d: 1e-2, m: 1.0, logit: 5e-2 };

impl Errors {
    fn within(&self, limits: &Errors) -> bool {
        self.q < limits.q && self.d < limits.d && self.m < limits.m && self.logit < limits.logit
    }
}

fn backend(golden: &Golden, options: &str) -> Arc<dyn Backend> {
    let choice =
        HeadChoice { policy: golden.policy_head.parse().unwrap(), value: golden.value_head.parse().unwrap() };
    let network = NetworkFile::load(&golden_files::folder("nets").join(&golden.net), choice).unwrap();
    let config = BackendConfig::parse("onnxruntime", options).unwrap();
    backends::create(&config, Some(network)).unwrap()
}

/// Evaluates all positions of a golden file in one batch.
fn errors(golden: &Golden, options: &str) -> Errors {
    let backend = backend(golden, options);
    assert_eq!(backend.info().input_format, golden.format());
    let mut slots: Vec<_> = golden.positions.iter().map(|position| golden.slot(position)).collect();
    backend.evaluator().unwrap().evaluate(&mut slots).unwrap();

    let mut errors = Errors::default();
    for (slot, position) in slots.iter().zip(&golden.positions) {
        errors.q = errors.q.max((slot.evaluation.q - position.q).abs());
        errors.d = errors.d.max((slot.evaluation.d - position.d).abs());
        errors.m = errors.m.max((slot.evaluation.m - position.m).abs());
        assert_eq!(slot.logits.len(), position.legal().len());
        for (logit, (_, _, expected)) in slot.logits.iter().zip(position.legal()) {
            errors.logit = errors.logit.max((logit - expected).abs());
        }
    }
    errors
}

#[test]
#[ignore = "needs ONNX Runtime, which pip fetches"]
fn every_network_gives_what_lc0_gives() {
    compare("");
}

#[test]
#[ignore = "needs ONNX Runtime, which pip fetches"]
fn every_network_gives_what_lc0_gives_with_packed_inputs() {
    compare("inputs=packed");
}

fn compare(options: &str) {
    if !set_up_onnx_runtime("cpu") {
        return;
    }
    let mut failures = Vec::new();
    println!("{:<36} {:>9} {:>9} {:>9} {:>9} {:>9}", "network", "positions", "q", "d", "m", "logit");
    for path in golden_files::files() {
        let name = path.file_name().unwrap().to_string_lossy().replace(".json.gz", "");
        let golden = Golden::load(&path);
        let found = errors(&golden, options);
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
