use super::*;
use proptest::prelude::*;

#[test]
fn sums_keep_what_single_visits_would_add_up_to() {
    let loss = NodeValue { v: -1.0, d: 0.0, m: 10.0 };
    let sum = VisitSum::finished(3, NodeValue::DRAW)
        .and(VisitSum::cancelled(5))
        .and(VisitSum::finished(1, loss))
        .at_parent();
    assert_eq!((sum.finished, sum.cancelled, sum.value_sum), (4, 5, fixed(1.0)));
    assert_eq!((sum.d, sum.m), (0.75, 3.5));
    let won = sum.with(NodeValue { v: 1.0, d: 0.0, m: 1.0 });
    assert_eq!((won.finished, won.cancelled, won.value_sum), (4, 5, fixed(4.0)));
}

#[test]
fn a_node_takes_forty_eight_bytes() {
    assert_eq!(size_of::<Node>(), 48);
}

/// The most visits that 31 bits count, all of them lost, prove to be won.
#[test]
fn sums_are_exact_up_to_the_last_visit_that_can_be_counted() {
    const MOST: u32 = (1 << 31) - 1;
    let (parent, child) = (Node::default(), Node::default());
    let loss = VisitSum::finished(1 << 30, NodeValue { v: -1.0, d: 0.0, m: 3.0 });
    let rest = VisitSum::finished(MOST - (1 << 30), NodeValue { v: -1.0, d: 0.0, m: 3.0 });
    for sum in [loss, rest] {
        for node in [&parent, &child] {
            node.start_visits(sum.finished);
        }
        parent.end_visits(child.end_visits(sum).at_parent());
    }
    let result = |node: &Node| (node.visits(), node.in_flight(), node.mean());
    assert_eq!(result(&child), (MOST, 0, NodeValue { v: -1.0, d: 0.0, m: 3.0 }));
    assert_eq!(result(&parent), (MOST, 0, NodeValue { v: 1.0, d: 0.0, m: 4.0 }));
    let proof = Proof { outcome: ProofOutcome::Win, plies: 1.0, is_mate: true };
    assert!(parent.correct(child.prove(proof).unwrap().at_parent()));
    assert_eq!(result(&child).2, proof.value());
    assert_eq!(parent.value_sum(), -child.value_sum());
    assert_eq!((parent.q(), parent.mean().d), (-1.0, 0.0));
    assert!((parent.mean().m - 2.0).abs() < 1e-3);
}

/// A regression: sums overflowed, and a mate in one was worth −1 after 2³¹ visits.
#[test]
fn sums_hold_the_most_visits_of_one_result() {
    for v in [-1.0, 1.0] {
        let node = Node::default();
        for visits in [MAX_VISITS / 2, MAX_VISITS - MAX_VISITS / 2] {
            node.start_visits(visits);
            node.end_visits(VisitSum::finished(visits, NodeValue { v, d: 0.0, m: 1.0 }));
        }
        assert_eq!((node.visits(), node.q()), (MAX_VISITS, v));
    }
}

#[test]
fn bounds_only_become_narrower() {
    let node = Node::default();
    assert_eq!(node.bounds(), Bounds::OPEN);
    let cannot_win = Bounds { best: ProofOutcome::Draw, ..Bounds::OPEN };
    assert!(node.narrow(cannot_win) && !node.narrow(cannot_win) && !node.narrow(Bounds::OPEN));
    assert_eq!(node.bounds(), cannot_win);
    assert!(node.narrow(Bounds::certain(ProofOutcome::Draw)));
    assert_eq!(node.bounds(), Bounds::certain(ProofOutcome::Draw));
}

proptest! {
    #[test]
    fn edges_keep_move_and_policy(bits: u16, policy in 0f32..=1.0) {
        let edge = Edge::packed(Move::from_bits(bits), cache::compress(policy));
        prop_assert_eq!(edge.mv(), Move::from_bits(bits));
        prop_assert!((edge.policy() - policy).abs() <= policy / 4096.0 + 1e-9, "{} for {policy}", edge.policy());
    }

    #[test]
    fn mean_is_the_mean(values in prop::collection::vec((-1f32..=1.0, 0f32..=1.0, 0f32..=300.0, 1u32..4), 1..50)) {
        let node = Node::default();
        let (mut n, mut v_sum, mut d_sum, mut m_sum) = (0f64, 0f64, 0f64, 0f64);
        for (v, d, m, visits) in values {
            node.start_visits(visits);
            node.end_visits(VisitSum::finished(visits, NodeValue { v, d, m }));
            let k = f64::from(visits);
            (n, v_sum, d_sum, m_sum) = (n + k, v_sum + k * f64::from(v), d_sum + k * f64::from(d), m_sum + k * f64::from(m));
        }
        prop_assert_eq!(node.in_flight(), 0);
        let mean = node.mean();
        prop_assert!((f64::from(mean.v) - v_sum / n).abs() < 1e-6);
        prop_assert!((f64::from(mean.d) - d_sum / n).abs() < 1e-5);
        prop_assert!((f64::from(mean.m) - m_sum / n).abs() < 1e-2);
    }
}
