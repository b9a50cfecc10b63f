//! Compares bf16 with fp32 on whole networks. The definition of tiles replaces a CPU's, so it runs anywhere.

use std::path::Path;
use std::sync::Arc;

use super::layers::Arithmetic;
use super::{Native, choose_arithmetic};
use crate::chess::History;
use crate::network::layers::Network;
use crate::network::weights::{HeadChoice, Model, NetworkFile};
use crate::network::{Backend, EvalSlot, PositionEncoding};
use crate::params::Params;
use zeitnot_kernels::Tiles;

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

fn evaluate(backend: &Native, mut slots: Vec<EvalSlot>) -> Vec<EvalSlot> {
    backend.evaluator().unwrap().evaluate(&mut slots).unwrap();
    slots
}

#[test]
fn bf16_stays_near_fp32() {
    for name in NETWORKS {
        let network = network(name);
        let slots = positions(&network);
        let fp32 = Native::new(&network, name, &Params::parse("precision=fp32").unwrap()).unwrap();
        let fastest = choose_arithmetic(&Params::default(), &network.body).unwrap();
        let arithmetic = Arithmetic {
            tiles: Some(Tiles::Definition),
            ..fastest
        };
        let bf16 = Native::with_arithmetic(&network, name, arithmetic);
        assert!(
            bf16.facts().description.ends_with("bf16 on definition"),
            "{}",
            bf16.facts().description
        );
        let (mut dq, mut divergence) = (0.0, 0.0);
        for (exact, rounded) in evaluate(&fp32, slots.clone()).iter().zip(evaluate(&bf16, slots)) {
            dq += f64::from((exact.evaluation.wl - rounded.evaluation.wl).abs()) / PLIES as f64;
            let policies = exact.policy().into_iter().zip(rounded.policy());
            let terms = policies.map(|(p, r)| f64::from(p) * (f64::from(p) / f64::from(r)).ln());
            divergence += terms.sum::<f64>() / PLIES as f64;
        }
        println!("{name}: mean dq {dq:.2e}, mean KL {divergence:.2e}");
        assert!(dq > 0.0 && dq < 1.2e-2, "{name}: mean |dq| {dq}");
        assert!(
            divergence > 0.0 && divergence < 1e-3,
            "{name}: mean KL {divergence}"
        );
    }
}
