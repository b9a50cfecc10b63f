//! Measures what one step of a search costs outside tree and network: playing a move, legal moves, encoding.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use zeitnot_engine::chess::{History, Variant, perft};
use zeitnot_engine::network::encode::{HistoryFill, InputFormat, encode};
use zeitnot_engine::network::{InputPlanes, policy_map};

/// A middlegame with full history and all castling rights gone.
const MIDDLEGAME: &str = "startpos moves e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7 f1e1 b7b5 a4b3 d7d6 c2c3 \
                          e8g8 h2h3 c6b8 d2d4 b8d7";

fn position(c: &mut Criterion) {
    let mut history = History::from_uci_position(MIDDLEGAME, Variant::Standard).unwrap();
    let m = history.parse_move("b1d2").unwrap();
    c.bench_function("push and pop", |b| {
        b.iter(|| {
            history.push(black_box(m));
            history.pop();
        })
    });
    c.bench_function("legal moves", |b| b.iter(|| black_box(&history).legal_moves()));
    let legal = history.legal_moves();
    c.bench_function("terminal", |b| b.iter(|| black_box(&history).terminal(&legal)));
    c.bench_function("perft 3", |b| b.iter(|| perft(black_box(history.current()), 3)));
}

fn network_input(c: &mut Criterion) {
    let history = History::from_uci_position(MIDDLEGAME, Variant::Standard).unwrap();
    let mut planes = InputPlanes::default();
    for format in [InputFormat::Classical, InputFormat::CanonicalV2] {
        c.bench_function(&format!("encode {format:?}"), |b| {
            b.iter(|| encode(black_box(&history), format, HistoryFill::FenOnly, &mut planes))
        });
    }
    let legal = history.legal_moves();
    let transform = encode(
        &history,
        InputFormat::Classical,
        HistoryFill::FenOnly,
        &mut planes,
    );
    let color = history.current().turn();
    c.bench_function("policy indices", |b| {
        b.iter(|| {
            legal
                .iter()
                .map(|&m| u64::from(policy_map::index(m, color, transform)))
                .sum::<u64>()
        })
    });
}

criterion_group!(benches, position, network_input);
criterion_main!(benches);
