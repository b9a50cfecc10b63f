//! Compares bf16 with fp32 on whole networks, with the definition of tiles in place of a CPU's, so that it runs
//! anywhere.

use std::path::Path;
use std::sync::Arc;

use super::kernels::{Definition, Tiles};
use super::{Native, choose_arithmetic};
use crate::chess::{History, Variant};
use crate::network::encode::{HistoryFill, encode};
use crate::network::weights::{HeadChoice, Model, Network, NetworkFile};
use crate::network::{Backend, EvalSlot, policy_map};
use crate::params::Params;

/// Towers with each kind of policy head, with and without squeeze-and-excitation, of different widths; attention bodies
/// with each kind of embedding, with and without smolgen.
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
/// Plies of the game in which networks are compared.
const PLIES: usize = 60;

fn network(name: &str) -> Network {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/goldens/nets");
    let file = NetworkFile::load(&folder.join(format!("{name}.pb.gz")), HeadChoice::default()).unwrap();
    let Model::Layers(network, _) = file.model else { panic!("{name} has no layers") };
    *network
}

/// Returns the positions of a game that only depends on the order of legal moves.
fn positions(network: &Network) -> Vec<EvalSlot> {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let mut history = History::from_fen(start, Variant::Standard).unwrap();
    let mut slots = Vec::new();
    for ply in 0..PLIES {
        let legal = history.legal_moves();
        let mut slot = EvalSlot::default();
        let transform = encode(&history, network.input_format, HistoryFill::default(), &mut slot.planes);
        let turn = history.current().turn();
        slot.moves = legal.iter().map(|&m| policy_map::index(m, turn, transform)).collect();
        slots.push(slot);
        history.push(legal[ply * 7 % legal.len()]);
    }
    slots
}

fn evaluate(backend: &Native, mut slots: Vec<EvalSlot>) -> Vec<EvalSlot> {
    backend.evaluator().unwrap().evaluate(&mut slots).unwrap();
    slots
}

fn softmax(logits: &[f32]) -> Vec<f64> {
    let largest = logits.iter().copied().fold(f32::MIN, f32::max);
    let powers: Vec<f64> = logits.iter().map(|logit| f64::from(logit - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

#[test]
fn bf16_stays_near_fp32() {
    for name in NETWORKS {
        let network = network(name);
        let slots = positions(&network);
        let fp32 = Native::new(&network, name, &Params::parse("precision=fp32").unwrap()).unwrap();
        let (kernels, _) = choose_arithmetic(&Params::default(), &network.body).unwrap();
        let tiles: Arc<dyn Tiles> = Arc::new(Definition);
        let bf16 = Native::with_arithmetic(&network, name, kernels, Some(&tiles)).unwrap();
        assert!(bf16.info().description.ends_with("bf16 on definition"), "{}", bf16.info().description);
        let (mut dq, mut divergence) = (0.0, 0.0);
        for (exact, rounded) in evaluate(&fp32, slots.clone()).iter().zip(evaluate(&bf16, slots)) {
            dq += f64::from((exact.evaluation.q - rounded.evaluation.q).abs()) / PLIES as f64;
            let (p, r) = (softmax(&exact.logits), softmax(&rounded.logits));
            divergence += p.iter().zip(r).map(|(p, r)| p * (p / r).ln()).sum::<f64>() / PLIES as f64;
        }
        println!("{name}: mean dq {dq:.2e}, mean KL {divergence:.2e}");
        assert!(dq > 0.0 && dq < 1.2e-2, "{name}: mean |dq| {dq}");
        assert!(divergence > 0.0 && divergence < 1e-3, "{name}: mean KL {divergence}");
    }
}
