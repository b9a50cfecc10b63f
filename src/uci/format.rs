//! Writes lines for the GUI: `info` and `bestmove`.

use std::fmt::Write;

use super::move_stats;
use super::score;
use crate::chess::{History, Move};
use crate::engine::{InfoOptions, ScoreType, SearchAnswer};
use crate::search::{PvLine, SearchInfo};

/// Returns one `info` line for each principal variation.
pub(super) fn info(root: &History, info: &SearchInfo, options: &InfoOptions) -> Vec<String> {
    (0..info.lines.len()).map(|index| info_line(root, info, index, options)).collect()
}

/// Returns the figures of the root moves, one to a line; nothing if there are none.
pub(super) fn stats(root: &History, info: &SearchInfo) -> Vec<String> {
    info.move_stats.iter().flat_map(|stats| move_stats::lines(root, stats)).collect()
}

/// Returns the `info` line of the principal variation at `index`.
fn info_line(root: &History, info: &SearchInfo, index: usize, options: &InfoOptions) -> String {
    let line = &info.lines[index];
    let mut text = format!(
        "info depth {} seldepth {} time {} nodes {} score {}",
        info.depth,
        info.seldepth,
        info.time.as_millis(),
        if options.per_pv_counters { line.nodes } else { info.nodes },
        score(line, options.score_type)
    );
    // Writing to a string cannot fail.
    if options.show_wdl {
        let [w, d, l] = wdl(line.wl, line.d);
        let _ = write!(text, " wdl {w} {d} {l}");
    }
    if options.show_moves_left
        && let Some(plies) = line.moves_left
    {
        let _ = write!(text, " movesleft {}", moves_left(plies));
    }
    let _ = write!(text, " nps {}", info.nps);
    if options.show_eps {
        let _ = write!(text, " eps {}", info.eps);
    }
    let _ = write!(text, " hashfull {} tbhits {}", info.hashfull, info.tablebase_hits);
    if options.multi_pv > 1 {
        let _ = write!(text, " multipv {}", index + 1);
    }
    let _ = write!(text, " pv {}", moves(root, &line.moves).join(" "));
    text
}

/// Returns the number of moves that the side to move makes in `plies` plies, the first of which is its own.
fn moves_left(plies: f32) -> u32 {
    (plies / 2.0).ceil() as u32
}

/// Returns the text that stands after `score`.
fn score(line: &PvLine, form: ScoreType) -> String {
    match line.mate {
        Some(mate) => format!("mate {mate}"),
        None => format!("cp {}", score::score(form, line)),
    }
}

/// Returns win, draw and loss in permille, which sum to 1000.
fn wdl(q: f32, d: f32) -> [i32; 3] {
    let d = d.clamp(0.0, 1.0 - q.abs());
    let w = (500.0 * (1.0 + q - d)).round() as i32;
    let l = (500.0 * (1.0 - q - d)).round() as i32;
    let w = w.clamp(0, 1000);
    let l = l.clamp(0, 1000 - w);
    [w, 1000 - w - l, l]
}

/// Returns `moves`, which are played one after the other from the last position of `root`, in UCI's notation.
fn moves(root: &History, moves: &[Move]) -> Vec<String> {
    let mut history = root.clone();
    moves
        .iter()
        .map(|&mv| {
            let text = history.format_move(mv);
            history.push(mv);
            text
        })
        .collect()
}

/// Returns the `bestmove` line; the move is `0000` where there is no legal one.
pub(super) fn best_move(root: &History, answer: &SearchAnswer) -> String {
    let Some(best) = answer.best else { return "bestmove 0000".into() };
    let line: Vec<_> = [Some(best), answer.ponder].into_iter().flatten().collect();
    format!("bestmove {}", moves(root, &line).join(" ponder "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Variant;
    use proptest::prelude::*;
    use std::time::Duration;

    #[test]
    fn an_info_line() {
        let root = History::start();
        let line = PvLine {
            q: 0.1,
            wl: 0.1,
            d: 0.5,
            mu: None,
            nodes: 60,
            moves_left: Some(99.0),
            mate: None,
            moves: ["e2e4"].map(|text| root.parse_move(text).unwrap()).into(),
        };
        let search = SearchInfo {
            depth: 3,
            seldepth: 9,
            time: Duration::from_millis(1234),
            nodes: 100,
            nps: 81,
            eps: 63,
            hashfull: 2,
            tablebase_hits: 5,
            lines: vec![line],
            move_stats: None,
        };
        // cp: 90 · tan(0.15637541897) = 14.19, or 45 · tan(0.156728) = 7.11; movesleft: 99 / 2, rounded up
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
            ["info depth 3 seldepth 9 time 1234 nodes 60 score cp 14 wdl 300 500 200 movesleft 50 \
              nps 81 eps 63 hashfull 2 tbhits 5 multipv 1 pv e2e4"]
        );
        assert_eq!(
            info(&root, &search, &InfoOptions::default()),
            ["info depth 3 seldepth 9 time 1234 nodes 100 score cp 7 nps 81 hashfull 2 tbhits 5 pv e2e4"]
        );
    }

    /// A regression: an even number of plies was taken for a move more.
    #[test]
    fn plies_are_counted_as_moves() {
        assert_eq!([1.0, 2.0, 3.0, 42.0, 42.1].map(moves_left), [1, 1, 2, 21, 22]);
    }

    #[test]
    fn castling_is_written_for_the_position_it_is_played_in() {
        let text = "startpos moves e2e4 e7e5 g1f3 b8c6 f1c4 g8f6";
        for (variant, castling) in [(Variant::Standard, "e1g1"), (Variant::Chess960, "e1h1")] {
            let root = History::from_uci_position(text, variant).unwrap();
            let best = root.parse_move(castling).unwrap();
            let mut after = root.clone();
            after.push(best);
            let ponder = after.parse_move("f6e4").unwrap();
            let answer = |ponder| SearchAnswer { best: Some(best), ponder, result: None };
            assert_eq!(best_move(&root, &answer(Some(ponder))), format!("bestmove {castling} ponder f6e4"));
            assert_eq!(best_move(&root, &answer(None)), format!("bestmove {castling}"));
        }
    }

    #[test]
    fn no_legal_move_is_0000() {
        let answer = SearchAnswer { best: None, ponder: None, result: None };
        assert_eq!(best_move(&History::start(), &answer), "bestmove 0000");
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
}
