//! Searches with an evaluator of one's own, which counts pieces: `cargo run --release --example backend`

use std::error::Error;
use std::sync::Arc;

use zeitnot_engine::engine::{Engine, Settings};
use zeitnot_engine::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator, Value};
use zeitnot_engine::time::Limit;

#[derive(Debug)]
struct Material(BackendInfo);

impl Backend for Material {
    fn facts(&self) -> &BackendInfo {
        &self.0
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        Ok(Box::new(Counter))
    }
}

struct Counter;

impl Evaluator for Counter {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        for EvalSlot {
            planes,
            moves,
            evaluation,
            logits,
            ..
        } in batch
        {
            // Planes 0 to 4: our pawns, knights, bishops, rooks and queens. 6 to 10: the opponent's.
            let count = |plane: usize| planes.masks[plane].count_ones() as f32;
            let worth = [1.0, 3.0, 3.0, 5.0, 9.0].into_iter().enumerate();
            let ahead: f32 = worth
                .map(|(piece, worth)| worth * (count(piece) - count(piece + 6)))
                .sum();
            *evaluation = Value {
                wl: ahead / (8.0 + ahead.abs()),
                d: 0.0,
                m: 0.0,
            };
            *logits = moves.iter().map(|_| 0.0).collect();
        }
        Ok(())
    }
}

pub fn main() -> Result<(), Box<dyn Error>> {
    let backend = Arc::new(Material(BackendInfo::new("material", "counts pieces")));
    let mut engine = Engine::with_backend(Settings::default(), backend)?;
    engine.set_position("fen 3q2k1/8/8/8/8/8/8/3R2K1 w - - 0 1")?;
    let (best, _) = engine.search(Limit::nodes(500))?;
    let best = engine.position().format_move(best);
    if best == "d1d8" {
        Ok(())
    } else {
        Err(format!("{best} leaves the queen").into())
    }
}
