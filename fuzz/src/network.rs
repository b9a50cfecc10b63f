//! Network files: protobuf, gzip, ONNX. What is accepted is built as an ONNX model, and evaluates a position.

use std::path::Path;

use zeitnot_engine::chess::History;
use zeitnot_engine::network::backends::native::Native;
use zeitnot_engine::network::encode::HistoryFill;
use zeitnot_engine::network::onnx::{self, BuildOptions};
use zeitnot_engine::network::weights::{HeadChoice, Model, NetworkFile};
use zeitnot_engine::network::{Backend, EvalSlot, PositionEncoding};
use zeitnot_engine::params::Params;

/// Reads a network, and evaluates with it if it is one.
pub fn run(data: &[u8]) -> bool {
    let Ok(file) = NetworkFile::from_bytes(Path::new("input"), data, HeadChoice::default()) else {
        return false;
    };
    let Model::Layers(network) = file.model else {
        return true;
    };
    let Ok(native) = Native::new(&network, "input", &Params::default()) else {
        return false;
    };
    let encoding = PositionEncoding {
        format: native.facts().input_format,
        history_fill: HistoryFill::default(),
    };
    let mut slots = [EvalSlot::of(&History::start(), encoding)];
    let mut evaluator = native.evaluator().expect("memory for one evaluator");
    evaluator
        .evaluate(&mut slots)
        .expect("the native backend has no way to fail");
    onnx::build(network, &BuildOptions::default());
    true
}
