//! Compares every kind of network with what Lc0 gives: file → layers → ONNX → ONNX Runtime, through our own encoder.
//!
//! `cargo test --test network goldens -- --nocapture` prints the largest error of each output for each network.
//! The repository keeps some of Lc0's outputs for most networks; `ZEITNOT_GOLDENS=folder` (with `nets` and
//! `golden` in it) runs another collection in their place.

use crate::common::set_up_onnx_runtime;
use crate::golden_files::{Errors, SINGLE, compare};

/// The errors that float16 networks may have: their golden values come from another float16 evaluation.
const HALF: Errors = Errors {
    value: 1e-2,
    moves_left: 1.0,
    logit: 5e-2,
};

fn compare_all(options: &str) {
    if set_up_onnx_runtime("cpu") {
        compare("onnxruntime", options, |name| {
            Some(if name.ends_with("_f16") { HALF } else { SINGLE })
        });
    }
}

#[test]
#[ignore = "needs ONNX Runtime, which pip fetches"]
fn every_network_gives_what_lc0_gives() {
    compare_all("");
}

#[test]
#[ignore = "needs ONNX Runtime, which pip fetches"]
fn every_network_gives_what_lc0_gives_with_packed_inputs() {
    compare_all("inputs=packed");
}

#[test]
#[ignore = "needs ONNX Runtime, which pip fetches"]
fn every_network_gives_what_lc0_gives_with_fused_operations() {
    compare_all("form=fused");
}
