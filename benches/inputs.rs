//! Measures what a step of a search costs outside tree and network: `cargo bench --bench inputs`.
//!
//! `fill` makes the slots of a batch from games: planes as bit masks, and policy indices of the legal moves. `planes` and
//! `packed` write these into the tensor that goes to the device: 28,672 bytes a position in fp32, or 896.

use std::hint::black_box;
use std::time::{Duration, Instant};

use zeitnot_engine::chess::{History, Variant, perft};
use zeitnot_engine::network::encode::{HistoryFill, InputFormat, encode};
use zeitnot_engine::network::packed_planes::PACKED_BYTES;
use zeitnot_engine::network::{EvalSlot, InputPlanes, PLANES, PositionEncoding, policy_map};

/// A middlegame with full history and all castling rights gone.
const MIDDLEGAME: &str = "startpos moves e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7 f1e1 b7b5 a4b3 d7d6 c2c3 \
                          e8g8 h2h3 c6b8 d2d4 b8d7";
const BATCH: usize = 256;
const ROUND: Duration = Duration::from_millis(20);
const ROUNDS: usize = 25;

/// Prints the time of one of the `steps` that a call makes: the median of all rounds, and the best one.
fn measure<T>(name: &str, steps: usize, mut call: impl FnMut() -> T) {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let (start, mut calls) = (Instant::now(), 0);
            while start.elapsed() < ROUND {
                black_box(call());
                calls += 1;
            }
            start.elapsed().as_secs_f64() * 1e9 / (calls * steps) as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{name:<24}{:>10.1}{:>10.1}", times[ROUNDS / 2], times[0]);
}

fn main() {
    println!("{:<24}{:>10}{:>10}", "ns", "median", "best");
    let mut game = History::from_uci_position(MIDDLEGAME, Variant::Standard).expect("the game is legal");
    rules(&mut game);
    network_input(&game);
}

fn rules(game: &mut History) {
    let mv = game.parse_move("b1d2").expect("the move is legal");
    measure("push and pop", 1, || {
        game.push(black_box(mv));
        game.pop();
    });
    measure("legal moves", 1, || black_box(&*game).legal_moves());
    let legal = game.legal_moves();
    measure("terminal", 1, || black_box(&*game).terminal(&legal));
    measure("perft 3", 1, || perft(black_box(game.current()), 3));
}

fn network_input(game: &History) {
    let mut planes = InputPlanes::default();
    for format in [InputFormat::Classical, InputFormat::CanonicalV2] {
        measure(&format!("encode {format:?}"), 1, || {
            encode(black_box(game), format, HistoryFill::FenOnly, &mut planes)
        });
    }
    let legal = game.legal_moves();
    let format = InputFormat::default();
    let transform = encode(game, format, HistoryFill::FenOnly, &mut planes);
    let color = game.current().turn();
    measure("policy indices", 1, || {
        legal
            .iter()
            .map(|&mv| u64::from(policy_map::index(mv, color, transform)))
            .sum::<u64>()
    });

    let mut batch = vec![EvalSlot::default(); BATCH];
    measure("fill", BATCH, || {
        for slot in &mut batch {
            slot.fill(game, &legal, PositionEncoding::from(format));
        }
    });
    let mut dense = vec![0f32; BATCH * PLANES * 64];
    measure("planes", BATCH, || {
        for (slot, out) in batch.iter().zip(dense.chunks_exact_mut(PLANES * 64)) {
            slot.planes.write_dense(out);
        }
    });
    let mut packed = vec![0; BATCH * PACKED_BYTES];
    measure("packed", BATCH, || {
        for (slot, out) in batch.iter().zip(packed.chunks_exact_mut(PACKED_BYTES)) {
            slot.planes.write_packed(format, out);
        }
    });
}
