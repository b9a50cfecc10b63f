//! Compares precisions on whole networks. The definition of tiles replaces a CPU's, so it runs anywhere.

use std::path::Path;
use std::sync::Arc;

use super::Native;
use super::layers::{Arithmetic, Precision};
use crate::chess::History;
use crate::network::layers::Network;
use crate::network::weights::{HeadChoice, Model, NetworkFile};
use crate::network::{Backend, EvalSlot, PositionEncoding, Value};
use crate::params::Params;
use zeitnot_kernels::{Kernels, Tiles};

/// Towers with each kind of policy head, attention bodies with each kind of embedding.
const NETWORKS: [&str; 10] = [
    "classical",
    "classical_conv_wdl",
    "se_mlh",
    "se_mish",
    "se_attpol_relu",
    "tiny",
    "ab_gates_mish",
    "ab_smol_bt2",
    "hybrid_resnet_ab",
    "mh_bt4",
];
const PLIES: usize = 60;

fn network(name: &str) -> Network {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/goldens/nets");
    let file = NetworkFile::load(&folder.join(format!("{name}.pb.gz")), HeadChoice::default()).unwrap();
    let Model::Layers(network) = file.model else {
        panic!("{name} has no layers")
    };
    Arc::unwrap_or_clone(network)
}

/// Depends only on the order of legal moves.
fn positions(network: &Network) -> Vec<EvalSlot> {
    let mut history = History::start();
    let mut slots = Vec::new();
    for ply in 0..PLIES {
        slots.push(EvalSlot::of(
            &history,
            PositionEncoding::from(network.input_format),
        ));
        let legal = history.legal_moves();
        history.push(legal[ply * 7 % legal.len()]);
    }
    slots
}

fn evaluate(backend: &Native, mut slots: Vec<EvalSlot>, batch: usize) -> Vec<EvalSlot> {
    let mut evaluator = backend.evaluator().unwrap();
    for batch in slots.chunks_mut(batch) {
        evaluator.evaluate(batch).unwrap();
    }
    slots
}

#[test]
fn bf16_and_int16_stay_near_fp32() {
    for name in NETWORKS {
        let network = network(name);
        let slots = positions(&network);
        let fp32 = Native::new(&network, name, &Params::parse("precision=fp32").unwrap()).unwrap();
        let exact = evaluate(&fp32, slots.clone(), PLIES);
        let half = Arithmetic {
            kernels: Kernels::available()[0],
            precision: Precision::Half(Tiles::Definition),
        };
        let bf16 = Native::with_arithmetic(&network, name, half);
        let int16 = Native::new(&network, name, &Params::parse("precision=int16").unwrap()).unwrap();
        for (backend, precision) in [(bf16, "bf16 on definition"), (int16, "int16 on ")] {
            let description = &backend.facts().description;
            assert!(description.contains(precision), "{description}");
            let (mut dq, mut divergence) = (0.0, 0.0);
            for (exact, rounded) in exact.iter().zip(evaluate(&backend, slots.clone(), PLIES)) {
                dq += f64::from((exact.evaluation.wl - rounded.evaluation.wl).abs()) / PLIES as f64;
                let policies = exact.policy().into_iter().zip(rounded.policy());
                let terms = policies.map(|(p, r)| f64::from(p) * (f64::from(p) / f64::from(r)).ln());
                divergence += terms.sum::<f64>() / PLIES as f64;
            }
            println!("{name}, {precision}: mean dq {dq:.2e}, mean KL {divergence:.2e}");
            assert!(dq > 0.0 && dq < 1.2e-2, "{name}, {precision}: mean |dq| {dq}");
            assert!(
                divergence.abs() < 1e-3,
                "{name}, {precision}: mean KL {divergence}"
            );
        }
    }
}

/// Of all that is computed, in a fixed order.
fn checksum(slots: &[EvalSlot]) -> u64 {
    let numbers = slots.iter().flat_map(|slot| {
        let Value { wl, d, m } = slot.evaluation;
        slot.logits.iter().copied().chain([wl, d, m])
    });
    // FNV-1a
    numbers.fold(0xcbf2_9ce4_8422_2325, |sum, number| {
        (sum ^ u64::from(number.to_bits())).wrapping_mul(0x100_0000_01b3)
    })
}

/// What each network's int16 computes for the first positions, on every machine.
const CHECKSUMS: [u64; 10] = [
    0xb8fd_e975_847f_70ce,
    0x58a0_7849_abfc_1f25,
    0xc3d3_d05d_85c7_081d,
    0x2d7a_5006_1cc1_b922,
    0xd637_6449_73be_91d3,
    0x69d2_e5e9_76da_c698,
    0xe2ec_8718_0073_7e0f,
    0x5a34_3176_73fa_3fcd,
    0x75a2_96e3_798f_bcc4,
    0x40af_972b_d9f6_31a9,
];

#[test]
fn int16_computes_the_same_bits_in_every_batch_with_all_kernels() {
    const FEW: usize = 7;
    let found = NETWORKS.map(|name| {
        let network = network(name);
        let slots: Vec<EvalSlot> = positions(&network).into_iter().step_by(PLIES / FEW).collect();
        let checksums: Vec<u64> = Kernels::fixed()
            .into_iter()
            .flat_map(|kernels| {
                let precision = Precision::Fixed;
                let backend = Native::with_arithmetic(&network, name, Arithmetic { kernels, precision });
                [1, FEW].map(|batch| checksum(&evaluate(&backend, slots.clone(), batch)))
            })
            .collect();
        assert!(
            checksums.iter().all(|sum| *sum == checksums[0]),
            "{name}: {checksums:x?}"
        );
        checksums[0]
    });
    assert_eq!(found, CHECKSUMS, "{found:#x?}");
}
