//! Tests reading network files: what comes out of them, layer by layer.

use zeitnot::network::encode::InputFormat;
use zeitnot::network::weights::{Body, HeadChoice, Model, Network, NetworkFile, PolicyHead, PolicyHeadName};

use crate::common::network;

fn layers(name: &str) -> Network {
    let file = NetworkFile::load(&network(name), HeadChoice::default()).unwrap();
    let Model::Layers(network, _) = file.model else { panic!("{name} has no layers") };
    *network
}

#[test]
fn a_tower_has_the_shapes_its_format_promises() {
    let file = NetworkFile::load(&network("se_mlh.pb.gz"), HeadChoice::default()).unwrap();
    assert_eq!(file.size, 103_454);
    assert_eq!(file.policy_heads, [PolicyHeadName::Vanilla]);
    let network = layers("se_mlh.pb.gz");
    assert_eq!(network.input_format, InputFormat::Classical);
    assert!(network.has_wdl());
    assert!(network.moves_left.is_some());
    let Body::Tower(tower) = &network.body else { panic!("no tower") };
    let filters = tower.filters();
    assert_eq!(tower.input.weights.len(), filters * 112 * 9);
    for block in &tower.blocks {
        assert_eq!(block.conv1.weights.len(), filters * filters * 9);
        let se = block.se.as_ref().expect("every block of this network has SE");
        assert_eq!(se.excite.outputs, 2 * filters);
    }
    let PolicyHead::Convolution { conv2, .. } = &network.policy else { panic!("no convolution policy") };
    assert_eq!(conv2.outputs, 80);
}

#[test]
fn folding_a_batch_norm_gives_what_lc0_folds() {
    let (full, folded) = (layers("bn_full.pb.gz"), layers("bn_folded.pb.gz"));
    let (Body::Tower(full), Body::Tower(folded)) = (full.body, folded.body) else { panic!("no towers") };
    for (ours, theirs) in full.input.weights.iter().zip(&folded.input.weights) {
        assert!((ours - theirs).abs() < 1e-5, "{ours} against {theirs}");
    }
    for (ours, theirs) in full.input.bias.iter().zip(&folded.input.bias) {
        assert!((ours - theirs).abs() < 1e-5, "{ours} against {theirs}");
    }
}

#[test]
fn a_head_that_is_not_there_is_named_with_those_that_are() {
    let choice = HeadChoice { policy: PolicyHeadName::Soft, ..Default::default() };
    let error = NetworkFile::load(&network("se_mlh.pb.gz"), choice).unwrap_err().to_string();
    assert!(error.ends_with("policy head: \"soft\" is not in this network. Present: vanilla"), "{error}");
}
