//! `describenet` and `convert` through the real binary.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use zeitnot::chess::{History, Variant};
use zeitnot::network::backends::onnxruntime::OnnxRuntime;
use zeitnot::network::encode::{HistoryFill, InputFormat, encode};
use zeitnot::network::onnx::{self, BuildOptions};
use zeitnot::network::weights::{DataType, HeadChoice, Model, NetworkFile, OnnxModel};
use zeitnot::network::{Backend, EvalSlot, Evaluation};
use zeitnot::params::Params;

fn network(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/goldens/nets").join(name)
}

fn zeitnot(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_zeitnot")).args(arguments).output().unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = zeitnot(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn model(path: &Path) -> OnnxModel {
    match NetworkFile::load(path, HeadChoice::default()).unwrap().model {
        Model::Layers(network, _) => onnx::build(*network, &BuildOptions::default()),
        Model::Onnx(model) => model,
    }
}

/// What a model says of four positions of one game.
fn evaluations(model: OnnxModel) -> Vec<Evaluation> {
    let backend = OnnxRuntime::new(model, "test", &Params::default()).unwrap();
    let moves = ["e2e4", "c7c5", "g1f3", "d7d6"];
    let mut slots: Vec<_> = (0..moves.len())
        .map(|count| {
            let text = format!("startpos moves {}", moves[..=count].join(" "));
            let history = History::from_uci_position(&text, Variant::Standard).unwrap();
            let mut slot = EvalSlot::default();
            encode(&history, backend.info().input_format, HistoryFill::FenOnly, &mut slot.planes);
            slot
        })
        .collect();
    backend.evaluator().unwrap().evaluate(&mut slots).unwrap();
    slots.iter().map(|slot| slot.evaluation).collect()
}

#[test]
fn describenet_counts_what_the_layers_hold() {
    let file = network("classical_conv_wdl.pb.gz");
    let facts = json(&["describenet", file.to_str().unwrap(), "--json"]);
    let Model::Layers(layers, _) = NetworkFile::load(&file, HeadChoice::default()).unwrap().model else {
        panic!("no layers")
    };
    assert_eq!(facts["cost"]["parameters"], layers.cost().parameters);
    assert_eq!(facts["input_format"], 1);
    assert_eq!(facts["moves_left"], Value::Null);
    assert!(facts["body"].as_str().unwrap().ends_with("no SE"), "{facts}");
}

#[test]
fn describenet_names_what_is_unusual() {
    let path = network("hybrid_resnet_ab.pb.gz");
    let facts = json(&["describenet", path.to_str().unwrap(), "--json"]);
    assert_eq!(facts["unusual"][0], "an attention body behind a residual tower");
    let path = network("mh_bt4.pb.gz");
    let facts = json(&["describenet", path.to_str().unwrap(), "--json"]);
    assert_eq!(facts["policy_heads"].as_array().unwrap().len(), 4);
}

#[test]
fn a_bad_file_ends_with_one_message_and_code_2() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("half.pb.gz");
    let whole = fs::read(network("tiny.pb.gz")).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let path = path.to_str().unwrap();
    for arguments in [&["describenet", path][..], &["convert", path, "-o", "x.onnx"]] {
        let output = zeitnot(arguments);
        assert_eq!(output.status.code(), Some(2));
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains("half.pb.gz: gzip: data end early"), "{message}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_converted_network_is_the_same_network() {
    let folder = TempDir::new().unwrap();
    let source = network("input_3_canonical.pb.gz");
    let expected = evaluations(model(&source));
    for (precision, batch, data_type, tolerance) in
        [("fp32", None, DataType::Float32, 1e-6), ("fp16", Some("4"), DataType::Float16, 1e-2)]
    {
        let target = folder.path().join(format!("{precision}.onnx"));
        let (source, out) = (source.to_str().unwrap(), target.to_str().unwrap());
        let mut arguments = vec!["convert", source, "-o", out, "--precision", precision, "--json"];
        arguments.extend(batch.iter().flat_map(|size| ["--batch", size]));
        let facts = json(&arguments);
        assert_eq!(facts["size"], fs::metadata(&target).unwrap().len());

        let model = model(&target);
        assert_eq!(model.input_format, InputFormat::Canonical);
        assert_eq!(model.data_type, data_type);
        assert_eq!(model.fixed_batch, batch.map(|size| size.parse().unwrap()));
        for (found, expected) in evaluations(model).iter().zip(&expected) {
            assert!((found.q - expected.q).abs() < tolerance, "{precision}: {found:?}, {expected:?}");
            assert!((found.d - expected.d).abs() < tolerance, "{precision}: {found:?}, {expected:?}");
        }
    }
}
