//! Compares the native backend with what Lc0 computes (`tests/data/goldens`), with every kernel that this CPU can run.
//!
//! `ZEITNOT_GOLDENS=folder` (with `nets` and `golden` in it) runs another collection in place of the repository's.

use std::sync::Arc;

use zeitnot_engine::network::backends::native::{Native, available_kernels};
use zeitnot_engine::network::layers::Network;
use zeitnot_engine::network::weights::{HeadChoice, Model, NetworkFile, PolicyHeadName};
use zeitnot_engine::network::{Backend, EvalSlot, MAX_MOVES, POLICY_SIZE, Value};
use zeitnot_engine::params::Params;

use crate::common::network;
use crate::golden_files::{self, Golden};

/// Positions of the golden files in which the side to move could take the king; Lc0 evaluates them, we refuse them.
const IMPOSSIBLE: [&str; 2] = ["promo_black_caps", "canon_bishops_top"];

fn layers(file: NetworkFile) -> Option<Network> {
    match file.model {
        Model::Layers(network) => Some(Arc::unwrap_or_clone(network)),
        Model::Onnx(_) => None,
    }
}

fn tiny() -> Network {
    layers(NetworkFile::load(&network("tiny.pb.gz"), HeadChoice::default()).unwrap()).unwrap()
}

/// Returns the golden files whose networks are here and made of layers.
fn goldens() -> Vec<(Golden, Network)> {
    let with_network = |mut golden: Golden| {
        if !golden_files::folder("nets").join(&golden.net).exists() {
            return None;
        }
        golden
            .positions
            .retain(|position| !IMPOSSIBLE.contains(&position.name.as_str()));
        let network = layers(golden.network())?;
        Some((golden, network))
    };
    let found: Vec<_> = golden_files::files()
        .iter()
        .map(|path| Golden::load(path))
        .filter_map(with_network)
        .collect();
    assert!(found.len() >= 45, "golden files or networks are missing");
    found
}

fn native(network: &Network, options: &str) -> Native {
    Native::new(network, "test", &Params::parse(options).unwrap()).unwrap()
}

#[test]
fn every_kernel_meets_every_golden() {
    for (golden, network) in goldens() {
        for kernel in available_kernels() {
            let backend = native(&network, &format!("kernel={kernel},precision=fp32"));
            let mut batch: Vec<_> = golden
                .positions
                .iter()
                .map(|position| golden.slot(position))
                .collect();
            backend.evaluator().unwrap().evaluate(&mut batch).unwrap();
            for (slot, position) in batch.iter().zip(&golden.positions) {
                let place = format!("{} {} {kernel}", golden.net, position.name);
                let Value { wl: q, d, m } = slot.evaluation;
                assert!(
                    (q - position.q).abs() < 1e-4,
                    "{place}: q {q}, Lc0 {}",
                    position.q
                );
                assert!(
                    (d - position.d).abs() < 1e-4,
                    "{place}: d {d}, Lc0 {}",
                    position.d
                );
                assert!(
                    (m - position.m).abs() < 2e-3,
                    "{place}: m {m}, Lc0 {}",
                    position.m
                );
                assert_eq!(slot.logits.len(), position.legal().len(), "{place}");
                for (logit, (uci, _, expected)) in slot.logits.iter().zip(position.legal()) {
                    assert!(
                        (logit - expected).abs() < 5e-4,
                        "{place}: {uci} {logit}, Lc0 {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn all_policy_outputs_are_where_lc0_has_them() {
    for (golden, network) in goldens() {
        let backend = native(&network, "precision=fp32");
        let mut evaluator = backend.evaluator().unwrap();
        for position in &golden.positions[..2] {
            let indices: Vec<_> = (0..POLICY_SIZE as u16).collect();
            let part = |indices: &[u16]| EvalSlot {
                moves: indices.iter().copied().collect(),
                ..golden.slot(position)
            };
            let mut batch: Vec<_> = indices.chunks(MAX_MOVES).map(part).collect();
            evaluator.evaluate(&mut batch).unwrap();
            let logits: Vec<_> = batch
                .iter()
                .flat_map(|slot| &slot.logits)
                .map(|&logit| f64::from(logit))
                .collect();
            assert_eq!(logits.len(), POLICY_SIZE);
            let sum: f64 = logits.iter().sum();
            let weighted: f64 = logits
                .iter()
                .enumerate()
                .map(|(i, v)| v * (i % 97 + 1) as f64)
                .sum();
            let (expected, place) = (position.policy_sum, format!("{} {}", golden.net, position.name));
            assert!(
                (sum - expected).abs() < 0.02,
                "{place}: sum {sum}, Lc0 {expected}"
            );
            let expected = position.policy_wsum;
            assert!(
                (weighted - expected).abs() < 1.0,
                "{place}: weighted sum {weighted}, Lc0 {expected}"
            );
        }
    }
}

#[test]
fn an_evaluation_does_not_depend_on_its_batch() {
    for name in ["se_mlh", "ab_smol_bt2", "mh_bt4"] {
        let (golden, network) = goldens()
            .into_iter()
            .find(|(golden, _)| golden.net.starts_with(name))
            .unwrap();
        let slots: Vec<_> = golden
            .positions
            .iter()
            .take(40)
            .map(|position| golden.slot(position))
            .collect();
        // With `auto` in bf16 where the CPU has it, and the body is one of attention.
        for kernel in available_kernels().into_iter().chain(["auto"]) {
            compare_batches(
                &native(&network, &format!("kernel={kernel}")),
                &slots,
                &format!("{name} {kernel}"),
            );
        }
    }
}

/// Asserts that `slots` together and in smaller batches get the same evaluations.
fn compare_batches(backend: &Native, slots: &[EvalSlot], place: &str) {
    let mut evaluator = backend.evaluator().unwrap();
    let mut all = slots.to_vec();
    evaluator.evaluate(&mut all).unwrap();
    for size in [1, 2, 3, 5, 7, 13] {
        let mut batch = slots[..size].to_vec();
        evaluator.evaluate(&mut batch).unwrap();
        for (alone, together) in batch.iter().zip(&all) {
            assert_eq!(alone.evaluation, together.evaluation, "{place}, batch of {size}");
            assert_eq!(alone.logits, together.logits, "{place}, batch of {size}");
        }
    }
}

#[test]
fn wrong_options_are_refused_with_what_is_valid() {
    let network = tiny();
    let error = |options: &str| {
        Native::new(&network, "tiny", &Params::parse(options).unwrap())
            .unwrap_err()
            .to_string()
    };
    let valid = available_kernels().join(", ");
    let other_cpu = if cfg!(target_arch = "aarch64") {
        "avx2"
    } else {
        "neon"
    };
    assert_eq!(
        error(&format!("kernel={other_cpu}")),
        format!("kernel={other_cpu}: expected one of auto, or what this CPU has: {valid}")
    );
    let expected = "kernel=mmx: expected one of auto, portable, avx2, avx512, amx, avx512vnni, avxvnni, neon";
    assert_eq!(error("kernel=mmx"), expected);
    assert_eq!(
        error("threads=2"),
        "unknown parameter of native \"threads\". Valid: kernel, precision"
    );
    assert_eq!(
        error("kernel=portable,precision=bf16"),
        "precision=bf16: expected fp32 or auto, because bf16 needs a CPU with AMX or AVX512-BF16, and kernel=auto, amx or \
         avx512"
    );
    let of_amx = error("kernel=amx,precision=int16");
    assert!(
        of_amx.starts_with("kernel=amx: expected one of auto, or what this CPU computes int16 with: ")
            && of_amx.ends_with("portable"),
        "{of_amx}"
    );
}

#[test]
fn a_policy_index_out_of_range_is_an_error() {
    let mut slot = EvalSlot::default();
    slot.moves.push(POLICY_SIZE as u16);
    let error = native(&tiny(), "")
        .evaluator()
        .unwrap()
        .evaluate(&mut [slot])
        .unwrap_err();
    assert!(error.to_string().contains("policy index 1858"), "{error}");
}

#[test]
fn a_head_that_is_not_there_is_named_with_those_that_are() {
    let choice = HeadChoice {
        policy: PolicyHeadName::Soft,
        ..Default::default()
    };
    let error = NetworkFile::load(&network("se_mlh.pb.gz"), choice)
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("policy head: \"soft\" is not in this network. Present: vanilla"),
        "{error}"
    );
}
