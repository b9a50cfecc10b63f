//! Writes the figures of the root moves as lines of text, in the form that Lc0 writes and that GUIs and scripts read.
//!
//! One line per move, the best last, then one for the root itself. Castling is written king takes rook in every
//! variant, as Lc0 does here. Used by `session`.

use std::fmt::Write;

use crate::chess::{History, Variant};
use crate::search::{MoveStats, NodeStats, RootStats};

/// The policy from which on it is written with one decimal, so that the columns keep their width.
const FULL_POLICY: f32 = 0.99995;
/// The policy below which it is written as 0.
const LEAST_POLICY: f32 = 0.00005;

/// Returns one line per root move, and one for the root.
pub(super) fn lines(root: &History, stats: &RootStats) -> Vec<String> {
    let moves = stats.moves.iter().map(|stats| move_line(root, stats));
    moves.chain([root_line(stats)]).collect()
}

fn move_line(root: &History, MoveStats { mv, policy_index, node, u, s }: &MoveStats) -> String {
    let mv = root.current().format_move(*mv, Variant::Chess960);
    let mut text = format!("{mv:<5} ({policy_index:<4}) ");
    counts(&mut text, node);
    mean(&mut text, node);
    // Writing to a string cannot fail.
    let _ = write!(text, "(U: {u:>6.5}) (S: {s:>8.5}) ");
    network_value(&mut text, node);
    text
}

fn root_line(RootStats { moves, root }: &RootStats) -> String {
    let mut text = format!("node  ({:>4}) ", moves.len());
    counts(&mut text, root);
    mean(&mut text, root);
    network_value(&mut text, root);
    text
}

/// Writes visits and policy.
fn counts(text: &mut String, node: &NodeStats) {
    let decimals = if node.policy >= FULL_POLICY { 1 } else { 2 };
    // Not a zero with a sign, as rounding would make of a number just below it.
    let percent = if node.policy < LEAST_POLICY { 0.0 } else { 100.0 * node.policy };
    let _ = write!(text, "N: {:>7} (+{:>2}) (P: {percent:>5.decimals$}%) ", node.visits, node.in_flight);
}

/// Writes the mean value, and what the node counts for.
fn mean(text: &mut String, node: &NodeStats) {
    match node.mean {
        Some(mean) => {
            let _ = write!(text, "(WL: {:>8.5}) (D: {:>5.3}) (M: {:>4.1}) ", mean.wl, mean.d, mean.m);
        }
        None => text.push_str("(WL:  -.-----) (D: -.---) (M:  -.-) "),
    }
    let _ = write!(text, "(Q: {:>8.5}) ", node.mean.map_or(node.q, |mean| mean.q));
}

/// Writes the network's value, and a mark if the result is certain.
fn network_value(text: &mut String, node: &NodeStats) {
    match node.v {
        Some(v) => {
            let _ = write!(text, "(V: {v:>7.4}) ");
        }
        None => text.push_str("(V:  -.----) "),
    }
    if node.is_certain {
        text.push_str("(T) ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Move;
    use crate::search::MeanStats;

    const NODE: NodeStats = NodeStats {
        visits: 123,
        in_flight: 0,
        policy: 0.1234,
        mean: Some(MeanStats { wl: 0.01234, d: 0.567, m: 89.1, q: 0.01235 }),
        q: 0.01234,
        v: Some(0.0123),
        is_certain: false,
    };

    fn stats(mv: Move, node: NodeStats) -> MoveStats {
        MoveStats { mv, policy_index: 322, node, u: 0.12345, s: 0.13579 }
    }

    #[test]
    fn columns_stand_where_scripts_look_for_them() {
        let root = History::start();
        let mv = root.parse_move("e2e4").unwrap();
        let unvisited = NodeStats { visits: 0, mean: None, q: -0.25, v: None, ..NODE };
        let finished =
            NodeStats { v: Some(-1.0), q: -1.0, is_certain: true, policy: 1.0, in_flight: 112, ..NODE };
        let moves = vec![stats(mv, unvisited), stats(mv, finished), stats(mv, NODE)];
        let node = NodeStats { visits: 1_234_567, policy: 0.987, ..NODE };
        assert_eq!(
            lines(&root, &RootStats { moves, root: node }),
            [
                "e2e4  (322 ) N:       0 (+ 0) (P: 12.34%) (WL:  -.-----) (D: -.---) (M:  -.-) (Q: -0.25000) \
                 (U: 0.12345) (S:  0.13579) (V:  -.----) ",
                "e2e4  (322 ) N:     123 (+112) (P: 100.0%) (WL:  0.01234) (D: 0.567) (M: 89.1) (Q:  0.01235) \
                 (U: 0.12345) (S:  0.13579) (V: -1.0000) (T) ",
                "e2e4  (322 ) N:     123 (+ 0) (P: 12.34%) (WL:  0.01234) (D: 0.567) (M: 89.1) (Q:  0.01235) \
                 (U: 0.12345) (S:  0.13579) (V:  0.0123) ",
                "node  (   3) N: 1234567 (+ 0) (P: 98.70%) (WL:  0.01234) (D: 0.567) (M: 89.1) (Q:  0.01235) \
                 (V:  0.0123) ",
            ]
        );
    }

    /// A regression: a policy that noise or rounding had put below 0 stood there as `-0.00%`.
    #[test]
    fn a_policy_is_never_below_zero() {
        for policy in [-1e-7, -0.0, 0.0, 0.000_04] {
            let mut text = String::new();
            counts(&mut text, &NodeStats { policy, ..NODE });
            assert!(text.contains("(P:  0.00%)"), "{policy}: {text}");
        }
    }

    #[test]
    fn castling_is_written_king_takes_rook() {
        let root = History::from_fen("4k3/8/8/8/8/8/8/4K2R w K - 0 1", Variant::Standard).unwrap();
        let mv = root.parse_move("e1g1").unwrap();
        assert!(move_line(&root, &stats(mv, NODE)).starts_with("e1h1  (322 ) N: "));
    }
}
