//! Writes `info` and `bestmove`, and the root moves' figures in Lc0's form, which scripts read.

use zeitnot_engine::chess::{History, Move, Variant};
use zeitnot_engine::engine::{InfoOptions, ScoreType};
use zeitnot_engine::network::Value;
use zeitnot_engine::search::{LineValue, MeanStats, MoveStats, NodeStats, RootStats, SearchInfo};
use zeitnot_engine::time::centipawns;

/// Of lines with a value: a score has to be said of each.
pub(super) fn info(root: &History, info: &SearchInfo, options: &InfoOptions) -> Vec<String> {
    let SearchInfo {
        depth,
        seldepth,
        nps,
        hashfull,
        ..
    } = info;
    let time = info.time.as_millis();
    let mut texts = Vec::new();
    for line in &info.lines {
        let Some(value) = &line.value else { continue };
        let nodes = if options.per_pv_counters {
            line.nodes
        } else {
            info.nodes
        };
        let score = match value.mate {
            Some(mate) => format!("mate {mate}"),
            None => format!("cp {}", score_in(options.score_type, value)),
        };
        let mut text =
            format!("info depth {depth} seldepth {seldepth} time {time} nodes {nodes} score {score}");
        if options.show_wdl {
            let [w, d, l] = wdl(value.wl, value.d);
            text += &format!(" wdl {w} {d} {l}");
        }
        if options.show_moves_left
            && let Some(plies) = value.moves_left
        {
            text += &format!(" movesleft {}", moves_left(plies));
        }
        text += &format!(" nps {nps}");
        if options.show_eps {
            text += &format!(" eps {}", info.eps);
        }
        text += &format!(" hashfull {hashfull} tbhits {}", info.counts.tablebase_hits);
        let multipv = texts.len() + 1;
        let pv = root.format_line(&line.moves).join(" ");
        texts.push(format!("{text} multipv {multipv} pv {pv}"));
    }
    texts
}

/// The first of the `plies` is the side to move's own.
fn moves_left(plies: f32) -> u32 {
    (plies / 2.0).ceil() as u32
}

/// Win, draw and loss in permille, which sum to 1000.
fn wdl(q: f32, d: f32) -> [i32; 3] {
    let d = d.clamp(0.0, 1.0 - q.abs());
    let w = (500.0 * (1.0 + q - d)).round() as i32;
    let l = (500.0 * (1.0 - q - d)).round() as i32;
    let w = w.clamp(0, 1000);
    let l = l.clamp(0, 1000 - w);
    [w, 1000 - w - l, l]
}

/// As Stockfish writes it, which wrappers and GUIs read.
const NO_MOVE: &str = "bestmove (none)";

pub(super) fn best_move(root: &History, best: Option<Move>, ponder: Option<Move>) -> String {
    let line: Vec<_> = best.into_iter().chain(ponder).collect();
    if line.is_empty() {
        return NO_MOVE.into();
    }
    format!("bestmove {}", root.format_line(&line).join(" ponder "))
}

/// Cut towards zero, as in Lc0.
fn score_in(form: ScoreType, value: &LineValue) -> i32 {
    let wl = f64::from(value.wl);
    let q = f64::from(value.q);
    let score = match form {
        ScoreType::Centipawn => centipawns(wl),
        ScoreType::CentipawnWithDrawScore => centipawns(q),
        ScoreType::Centipawn2019 => 295.0 * wl / (1.0 - 0.976_953_126 * wl.powi(14)),
        ScoreType::Centipawn2018 => 290.680_623_072 * (1.548_090_806 * wl).tan(),
        ScoreType::WinPercentage => 5000.0 + 5000.0 * wl,
        ScoreType::Q => 10_000.0 * q,
        ScoreType::WinMinusLoss => 10_000.0 * wl,
        ScoreType::WdlMu => value.mean_advantage(),
    };
    score as i32
}

/// From here the policy has one decimal, to keep the columns' width.
const FULL_POLICY: f32 = 0.99995;
/// Below this the policy is written as 0.
const LEAST_POLICY: f32 = 0.00005;

pub(super) fn stats(position: &History, RootStats { moves, root }: &RootStats) -> Vec<String> {
    let mut lines: Vec<_> = moves.iter().map(|stats| move_line(position, stats)).collect();
    lines.push(format!(
        "node  ({:>4}) {}{}{}",
        moves.len(),
        counts(root),
        mean(root),
        network_value(root)
    ));
    lines
}

fn move_line(root: &History, stats: &MoveStats) -> String {
    let MoveStats {
        policy_index,
        node,
        u,
        s,
        ..
    } = stats;
    let mv = root.current().format_move(stats.mv, Variant::Chess960);
    format!(
        "{mv:<5} ({policy_index:<4}) {}{}(U: {u:>6.5}) (S: {s:>8.5}) {}",
        counts(node),
        mean(node),
        network_value(node)
    )
}

fn counts(node: &NodeStats) -> String {
    let decimals = if node.policy >= FULL_POLICY { 1 } else { 2 };
    // Rounding a number just below zero would write a sign.
    let percent = if node.policy < LEAST_POLICY {
        0.0
    } else {
        100.0 * node.policy
    };
    format!(
        "N: {:>7} (+{:>2}) (P: {percent:>5.decimals$}%) ",
        node.visits, node.in_flight
    )
}

fn mean(node: &NodeStats) -> String {
    match node.mean {
        Some(MeanStats {
            value: Value { wl, d, m },
            q,
        }) => format!("(WL: {wl:>8.5}) (D: {d:>5.3}) (M: {m:>4.1}) (Q: {q:>8.5}) "),
        None => format!("(WL:  -.-----) (D: -.---) (M:  -.-) (Q: {:>8.5}) ", node.q),
    }
}

/// The network's value, with a mark if the result is certain.
fn network_value(node: &NodeStats) -> String {
    let value = node
        .v
        .map_or("(V:  -.----) ".into(), |v| format!("(V: {v:>7.4}) "));
    value + if node.is_certain { "(T) " } else { "" }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use zeitnot_engine::chess::Move;
    use zeitnot_engine::options::OptionChoice;
    use zeitnot_engine::search::{CounterValues, PvLine};

    #[test]
    fn an_info_line() {
        let root = History::start();
        let line = |text: &str, value| PvLine {
            value,
            nodes: 60,
            moves: vec![root.parse_move(text).unwrap()],
        };
        let value = LineValue {
            moves_left: Some(99.0),
            ..value(0.1, 0.5, None)
        };
        let search = SearchInfo {
            depth: 3,
            seldepth: 9,
            time: Duration::from_millis(1234),
            nodes: 100,
            nps: 81,
            eps: 63,
            hashfull: 2,
            counts: CounterValues {
                tablebase_hits: 5,
                ..CounterValues::default()
            },
            lines: vec![line("e2e4", Some(value)), line("d2d4", None)],
            move_stats: None,
        };
        // cp: 90 · tan(0.15637541897) = 14.19, or 45 · tan(0.156728) = 7.11. Movesleft: 99 / 2, rounded up
        assert_eq!(
            info(
                &root,
                &search,
                &InfoOptions {
                    show_wdl: true,
                    show_moves_left: true,
                    show_eps: true,
                    multi_pv: 2,
                    per_pv_counters: true,
                    score_type: ScoreType::Centipawn,
                    ..InfoOptions::default()
                }
            ),
            [
                "info depth 3 seldepth 9 time 1234 nodes 60 score cp 14 wdl 300 500 200 movesleft 50 \
              nps 81 eps 63 hashfull 2 tbhits 5 multipv 1 pv e2e4"
            ]
        );
        assert_eq!(
            info(&root, &search, &InfoOptions::default()),
            [
                "info depth 3 seldepth 9 time 1234 nodes 100 score cp 7 nps 81 hashfull 2 tbhits 5 multipv 1 pv e2e4"
            ]
        );
    }

    /// A regression: an even number of plies counted as a move more.
    #[test]
    fn plies_are_counted_as_moves() {
        assert_eq!([1.0, 2.0, 3.0, 42.0, 42.1].map(moves_left), [1, 1, 2, 21, 22]);
    }

    #[test]
    fn two_halves_of_a_permille_are_not_both_rounded_up() {
        assert_eq!(wdl(0.001, 0.0), [501, 0, 499]);
    }

    proptest! {
        #[test]
        fn wdl_sums_to_a_thousand(q in -1f32..=1.0, d in 0f32..=1.0) {
            let [w, draw, l] = wdl(q, d);
            prop_assert_eq!(w + draw + l, 1000);
            prop_assert!(w >= 0 && draw >= 0 && l >= 0);
            prop_assert!(((w - l) as f32 / 1000.0 - q).abs() < 0.002);
        }
    }

    fn value(wl: f32, d: f32, mu: Option<f32>) -> LineValue {
        LineValue {
            q: wl,
            wl,
            d,
            mu,
            ..LineValue::default()
        }
    }

    fn score(name: &str, value: &LineValue) -> i32 {
        score_in(ScoreType::from_name(name).unwrap(), value)
    }

    #[test]
    fn the_draw_score_counts_in_two_forms_only() {
        let value = LineValue {
            q: 0.5,
            ..value(0.1, 0.4, None)
        };
        let scores = ["centipawn_with_drawscore", "Q", "centipawn", "W-L"].map(|name| score(name, &value));
        assert_eq!(scores, [89, 5000, 14, 1000]);
    }

    #[test]
    fn the_mean_advantage_counts_while_it_says_something() {
        // w = 0.4, l = 0.1: μ = 0.6884
        assert_eq!(score("WDL_mu", &value(0.3, 0.5, Some(0.688_4))), 68);
        // Nearly certain: 45 · tan(1.56728 · 0.9) = 278.41
        assert_eq!(score("WDL_mu", &value(0.9, 0.097, Some(2.5))), 278);
        // Beyond 1, centipawns of 44.84 are below 150 …
        assert_eq!(score("WDL_mu", &value(0.5, 0.4, Some(1.5))), 150);
        // … and those of 45 · tan(1.56728 · 0.95) = 548.36 are not
        assert_eq!(score("WDL_mu", &value(0.95, 0.03, Some(1.5))), 548);
    }

    #[test]
    fn certain_results_stay_in_range() {
        for form in ["centipawn", "centipawn_2019", "centipawn_2018", "WDL_mu"] {
            let best = score(form, &value(1.0, 0.0, None));
            assert!((10_000..20_000).contains(&best), "{form} {best}");
        }
    }

    const NODE: NodeStats = NodeStats {
        visits: 123,
        in_flight: 0,
        policy: 0.1234,
        mean: Some(MeanStats {
            value: Value {
                wl: 0.01234,
                d: 0.567,
                m: 89.1,
            },
            q: 0.01235,
        }),
        q: 0.01234,
        v: Some(0.0123),
        is_certain: false,
    };

    fn stats(mv: Move, node: NodeStats) -> MoveStats {
        MoveStats {
            mv,
            policy_index: 322,
            network_policy: 0.2,
            node,
            u: 0.12345,
            s: 0.13579,
        }
    }

    #[test]
    fn columns_stand_where_scripts_look_for_them() {
        let root = History::start();
        let mv = root.parse_move("e2e4").unwrap();
        let unvisited = NodeStats {
            visits: 0,
            mean: None,
            q: -0.25,
            v: None,
            ..NODE
        };
        let finished = NodeStats {
            v: Some(-1.0),
            q: -1.0,
            is_certain: true,
            policy: 1.0,
            in_flight: 112,
            ..NODE
        };
        let moves = vec![stats(mv, unvisited), stats(mv, finished), stats(mv, NODE)];
        let node = NodeStats {
            visits: 1_234_567,
            policy: 0.987,
            ..NODE
        };
        assert_eq!(
            super::stats(&root, &RootStats { moves, root: node }),
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

    /// A regression: noise or rounding below 0 showed as `-0.00%`.
    #[test]
    fn a_policy_is_never_below_zero() {
        for policy in [-1e-7, -0.0, 0.0, 0.000_04] {
            let text = counts(&NodeStats { policy, ..NODE });
            assert!(text.contains("(P:  0.00%)"), "{policy}: {text}");
        }
    }

    #[test]
    fn the_ponder_move_is_written_for_the_position_after_castling() {
        let text = "startpos moves e2e4 e7e5 g1f3 b8c6 f1c4 g8f6";
        for (variant, castling) in [(Variant::Standard, "e1g1"), (Variant::Chess960, "e1h1")] {
            let root = History::from_uci_position(text, variant).unwrap();
            let best = root.parse_move(castling).unwrap();
            let mut after = root.clone();
            after.push(best);
            let answer = |ponder| best_move(&root, Some(best), ponder);
            let ponder = after.parse_move("f6e4").unwrap();
            assert_eq!(answer(Some(ponder)), format!("bestmove {castling} ponder f6e4"));
            assert_eq!(answer(None), format!("bestmove {castling}"));
        }
    }

    #[test]
    fn castling_is_written_king_takes_rook() {
        let root = History::from_fen("4k3/8/8/8/8/8/8/4K2R w K - 0 1", Variant::Standard).unwrap();
        let mv = root.parse_move("e1g1").unwrap();
        assert!(move_line(&root, &stats(mv, NODE)).starts_with("e1h1  (322 ) N: "));
    }
}
