//! Tests `describenet` and `convert` through the real binary.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;
use zeitnot_engine::chess::{History, Variant};
use zeitnot_engine::network::backends::onnxruntime::{DeviceOptions, OnnxRuntime};
use zeitnot_engine::network::encode::{HistoryFill, InputFormat, encode};
use zeitnot_engine::network::onnx::{self, BuildOptions, DataType, OnnxModel};
use zeitnot_engine::network::weights::{HeadChoice, Model, NetworkFile};
use zeitnot_engine::network::{Backend, EvalSlot, policy_map};
use zeitnot_engine::params::Params;

use crate::common::{assert_refused, data, network, run, run_json, set_up_onnx_runtime, stderr};

fn model(path: &Path) -> OnnxModel {
    match NetworkFile::load(path, HeadChoice::default()).unwrap().model {
        Model::Layers(network) => onnx::build(network, &BuildOptions::default()),
        Model::Onnx(model) => model,
    }
}

/// Returns a model's evaluations of four positions of one game.
fn evaluations(model: OnnxModel) -> Vec<EvalSlot> {
    let backend =
        OnnxRuntime::new(model, "test", &DeviceOptions::parse(&Params::default()).unwrap()).unwrap();
    let moves = ["e2e4", "c7c5", "g1f3", "d7d6"];
    let mut slots: Vec<_> = (0..moves.len())
        .map(|count| {
            let text = format!("startpos moves {}", moves[..=count].join(" "));
            let history = History::from_uci_position(&text, Variant::Standard).unwrap();
            let mut slot = EvalSlot::default();
            let format = backend.facts().input_format;
            let transform = encode(&history, format, HistoryFill::FenOnly, &mut slot.planes);
            let turn = history.current().turn();
            slot.moves = history
                .legal_moves()
                .iter()
                .map(|&m| policy_map::index(m, turn, transform))
                .collect();
            slot
        })
        .collect();
    backend.evaluator().unwrap().evaluate(&mut slots).unwrap();
    slots
}

/// Returns the largest difference of q, d and logits.
fn difference(a: &[EvalSlot], b: &[EvalSlot]) -> f32 {
    let numbers = |slots: &[EvalSlot]| -> Vec<f32> {
        let numbers = |slot: &EvalSlot| [&[slot.evaluation.wl, slot.evaluation.d], &slot.logits[..]].concat();
        slots.iter().flat_map(numbers).collect()
    };
    numbers(a)
        .iter()
        .zip(numbers(b))
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}

#[test]
fn describenet_counts_what_the_layers_hold() {
    let file = network("classical_conv_wdl.pb.gz");
    let facts = run_json(&["describenet", file.to_str().unwrap(), "--json"]);
    let Model::Layers(layers) = NetworkFile::load(&file, HeadChoice::default()).unwrap().model else {
        panic!("no layers")
    };
    assert_eq!(facts["cost"]["parameters"], layers.cost().parameters);
    assert_eq!(facts["input_format"], 1);
    assert_eq!(facts["moves_left"], Value::Null);
    assert!(facts["body"].as_str().unwrap().ends_with("no SE"), "{facts}");
}

#[test]
fn describenet_tells_body_and_heads() {
    for (name, part, expected) in [
        (
            "classical_conv_wdl",
            "body",
            "tower of 2 blocks, 8 filters, no SE",
        ),
        ("classical_conv_wdl", "policy", "convolution, 80 planes"),
        ("classical", "value", "scalar; 32 channels, 128 hidden units"),
        ("se_mlh", "value", "win, draw, loss; 32 channels"),
        (
            "hybrid_resnet_ab",
            "body",
            "(tower of 1 block, 16 filters, SE with 8), width 24, 4 heads",
        ),
        ("ab_smol_default", "body", "FFN 40, smolgen"),
        (
            "ab_polenc",
            "policy",
            "attention, embedding 24, width 20, 1 encoder",
        ),
    ] {
        let path = network(&format!("{name}.pb.gz"));
        let facts = run_json(&["describenet", path.to_str().unwrap(), "--json"]);
        assert!(
            facts[part].as_str().unwrap().contains(expected),
            "{name}: {facts}"
        );
    }
}

#[test]
fn describenet_lists_all_heads() {
    let path = network("mh_bt4.pb.gz");
    let facts = run_json(&["describenet", path.to_str().unwrap(), "--json"]);
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
        let output = run(arguments);
        assert_refused(&output, "half.pb.gz: gzip: data end early");
        assert!(output.stdout.is_empty());
    }
}

#[test]
#[ignore = "needs ONNX Runtime, which pip fetches"]
fn a_converted_network_is_the_same_network() {
    if !set_up_onnx_runtime("cpu") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let source = network("input_3_canonical.pb.gz");
    let expected = evaluations(model(&source));
    for (precision, batch, data_type, tolerance) in [
        ("fp32", None, DataType::Float32, 1e-6),
        ("fp16", Some("4"), DataType::Float16, 1e-2),
    ] {
        let target = folder.path().join(format!("{precision}.onnx"));
        let (source, out) = (source.to_str().unwrap(), target.to_str().unwrap());
        let mut arguments = vec!["convert", source, "-o", out, "--precision", precision, "--json"];
        arguments.extend(batch.iter().flat_map(|size| ["--batch", size]));
        let facts = run_json(&arguments);
        assert_eq!(facts["size"], fs::metadata(&target).unwrap().len());

        let model = model(&target);
        assert_eq!(model.input_format, InputFormat::Canonical);
        assert_eq!(model.data_type, data_type);
        assert_eq!(model.fixed_batch, batch.map(|size| size.parse().unwrap()));
        let error = difference(&evaluations(model), &expected);
        assert!(error < tolerance, "{precision}: {error}");
    }
}

#[test]
#[ignore = "needs ONNX Runtime, which pip fetches"]
fn networks_convert_there_and_back() {
    if !set_up_onnx_runtime("cpu") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let source = network("se_mlh.pb.gz");
    let (onnx, back) = (path("net.onnx"), path("net.pb.gz"));
    let there = run_json(&["convert", source.to_str().unwrap(), "--output", &onnx, "--json"]);
    assert_eq!(there["moves_left"], "/output/mlh");
    run_json(&["onnx2leela", "--input", &onnx, "--output", &back, "--json"]);
    let facts = run_json(&["describenet", "-w", &back, "--json"]);
    assert!(facts["moves_left"].is_string(), "{facts}");
    assert_eq!(
        difference(
            &evaluations(model(Path::new(&back))),
            &evaluations(model(&source))
        ),
        0.0
    );
    for (name, problem) in [
        ("--onnx-output-policy=/no/policy", "/no/policy"),
        ("--onnx-output-wdl=/output/mlh", "its shape"),
    ] {
        assert_refused(
            &run(&["onnx2leela", "--input", &onnx, "--output", &path("no.pb"), name]),
            problem,
        );
    }
}

/// A regression: a model without softmax could not be mended, and one of another input format not be used.
#[test]
fn onnx2leela_mends_what_a_bare_model_lacks() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (source, target) = (
        data("wild/wdl-logits.onnx").display().to_string(),
        path("mended.pb"),
    );
    let convert = |more: &[&str]| {
        run_json(
            &[
                &["onnx2leela", "--input", &source, "--output", &target, "--json"],
                more,
            ]
            .concat(),
        )
    };
    let of_lc0 = "--input-format=INPUT_112_WITH_CANONICALIZATION";
    let facts = convert(&["--fix-wdl-softmax", of_lc0, "--policy-format", "POLICY_CLASSICAL"]);
    assert_eq!(
        (&facts["value"], &facts["input_format"]),
        (&"/output/wdl/softmax".into(), &3.into())
    );
    assert_eq!(model(Path::new(&target)).input_format, InputFormat::Canonical);
    assert_eq!(convert(&[])["value"], "/output/wdl");
    let plain = model(Path::new(&target)).bytes;
    convert(&["--fix-rule50"]);
    let scaled = model(Path::new(&target)).bytes;
    let count = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).filter(|part| *part == text).count();
    // The input's name stays where it is declared, and in the new node, whose output the others take.
    assert_eq!(
        count(&plain, b"\x0a\x0d/input/planes"),
        count(&scaled, b"\x0a\x0d/input/planes")
    );
    assert_eq!(
        count(&scaled, b"/input/planes/rule50"),
        5,
        "the node, its factors twice, its output twice"
    );
    let refused = run(&[
        "onnx2leela",
        "--input",
        &source,
        "--output",
        &target,
        "--onnx-input=planes",
    ]);
    assert_refused(&refused, "--onnx-input, --onnx-output-policy");
}

#[test]
fn the_user_tells_the_input_format_of_a_bare_model() {
    let load = |path: &Path, format| {
        let file = NetworkFile::load(
            path,
            HeadChoice {
                input_format: format,
                ..HeadChoice::default()
            },
        );
        file.map_err(|error| error.to_string())
    };
    let format = |format| match load(&data("wild/good.onnx"), format)?.model {
        Model::Onnx(model) => Ok(model.input_format),
        Model::Layers(..) => Err("layers".to_owned()),
    };
    assert_eq!(
        (format(None), format(Some(4))),
        (Ok(InputFormat::Classical), Ok(InputFormat::CanonicalHectoplies))
    );
    assert!(
        format(Some(6))
            .unwrap_err()
            .contains("format.input: 6 is not supported")
    );
    let refused = run(&[
        "eval",
        "startpos",
        "--input-format=3",
        "-w",
        network("tiny.pb.gz").to_str().unwrap(),
    ]);
    assert_refused(&refused, "InputFormat: this file tells its own");
}

#[test]
fn weights_in_another_file_are_found_beside_the_model() {
    let folder = TempDir::new().unwrap();
    let copy = folder.path().join("external.onnx");
    fs::copy(data("wild/external.onnx"), &copy).unwrap();
    let load = |path: &Path| NetworkFile::load(path, HeadChoice::default());
    let error = load(&copy).unwrap_err().to_string();
    assert!(
        error.contains("file n-external.onnx.data") && error.contains("beside itself"),
        "{error}"
    );
    let Model::Onnx(model) = load(&data("wild/external.onnx")).unwrap().model else {
        panic!("no model")
    };
    assert_eq!(model.weights_folder, Some(data("wild")));
    let (source, target) = (data("wild/external.onnx"), folder.path().join("a.pb"));
    let arguments = [
        "onnx2leela",
        "--input",
        source.to_str().unwrap(),
        "--output",
        target.to_str().unwrap(),
    ];
    assert_refused(&run(&arguments), "keeps its weights in another file");
}

#[test]
#[ignore = "needs ONNX Runtime, which pip fetches"]
fn models_are_tried_when_they_are_loaded() {
    if !set_up_onnx_runtime("cpu") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let target = folder.path().join("mended.pb").display().to_string();
    let wild = |name: &str| data("wild").join(name).display().to_string();
    let eval = |network: &str| run(&["eval", "--backend=onnxruntime", "-w", network, "startpos"]);
    assert_refused(&eval(&wild("wdl-logits.onnx")), "--fix-wdl-softmax");
    let source = wild("wdl-logits.onnx");
    run_json(&[
        "onnx2leela",
        "--input",
        &source,
        "--output",
        &target,
        "--fix-wdl-softmax",
        "--json",
    ]);
    let scaled = folder.path().join("scaled.pb").display().to_string();
    let source = wild("good.onnx");
    run_json(&[
        "onnx2leela",
        "--input",
        &source,
        "--output",
        &scaled,
        "--fix-rule50",
        "--json",
    ]);
    let position = "fen 4k3/8/8/8/8/8/8/R3K2R w KQ - 49 80"
        .split(' ')
        .collect::<Vec<_>>();
    let of_format = |format| {
        let flags = ["eval", "--backend=onnxruntime", "-w", &source, format];
        run(&[&flags[..], &position].concat())
    };
    let evaluations = ["--input-format=0", "--input-format=1", "--input-format=3"].map(of_format);
    let [own, first, third] = evaluations.map(|output| String::from_utf8(output.stdout).unwrap());
    assert!(own == first && first != third, "{own}{third}");
    for network in [&target, &scaled, &wild("good.onnx"), &wild("external.onnx")] {
        let output = eval(network);
        assert!(output.status.success(), "{network}: {}", stderr(&output));
    }
}
