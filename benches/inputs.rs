//! Measures what the host does with a position's input: `cargo bench --bench inputs`, time for a batch of 256.
//!
//! `encode` fills the slots from the games: planes as bit masks, and policy indices of the legal moves. `planes` and `packed`
//! write these into the tensor that goes to the device: 28,672 bytes a position in fp32, or 896.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use zeitnot_engine::chess::{History, Variant};
use zeitnot_engine::network::encode::InputFormat;
use zeitnot_engine::network::packed_planes::PACKED_BYTES;
use zeitnot_engine::network::{EvalSlot, PLANES, PositionEncoding};

const BATCH: usize = 256;
const GAME: &str = "startpos moves e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 a7a6 c1e3 e7e5 d4b3 c8e6 f2f3 f8e7 d1d2 e8g8";

fn inputs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("inputs");
    group.throughput(Throughput::Elements(BATCH as u64));
    let game = History::from_uci_position(GAME, Variant::Standard).expect("the game is legal");
    let moves = game.legal_moves();
    let format = InputFormat::default();
    let mut batch = vec![EvalSlot::default(); BATCH];
    group.bench_function("encode", |bencher| {
        bencher.iter(|| {
            batch
                .iter_mut()
                .for_each(|slot| slot.fill(&game, &moves, PositionEncoding::from(format)))
        });
    });
    let mut planes = vec![0f32; BATCH * PLANES * 64];
    group.bench_function("planes", |bencher| {
        let write = |(slot, out): (&EvalSlot, &mut [f32])| slot.planes.write_dense(out);
        bencher.iter(|| {
            batch
                .iter()
                .zip(planes.chunks_exact_mut(PLANES * 64))
                .for_each(write)
        });
    });
    let mut packed = vec![0; BATCH * PACKED_BYTES];
    group.bench_function("packed", |bencher| {
        let write = |(slot, out): (&EvalSlot, &mut [u8])| slot.planes.write_packed(format, out);
        bencher.iter(|| {
            batch
                .iter()
                .zip(packed.chunks_exact_mut(PACKED_BYTES))
                .for_each(write)
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = inputs
}
criterion_main!(benches);
