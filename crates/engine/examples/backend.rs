//! Searches with an evaluator of one's own, which counts pieces: `cargo run --release --example backend`

use std::{error::Error, sync::Arc};

use zeitnot_engine::engine::{Engine, Settings};
use zeitnot_engine::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator};
use zeitnot_engine::time::Limit;

#[derive(Clone, Debug)]
struct Material(BackendInfo);

impl Backend for Material {
    fn facts(&self) -> &BackendInfo {
        &self.0
    }
    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        Ok(Box::new(self.clone()))
    }
}

impl Evaluator for Material {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        for slot in batch {
            // Planes 0 to 4: our pawns, knights, bishops, rooks and queens. 6 to 10: the opponent's.
            let count = |plane: usize| slot.planes.masks[plane].count_ones() as f32;
            let worth = |(piece, worth)| worth * (count(piece) - count(piece + 6));
            let ahead: f32 = (0..).zip([1.0, 3.0, 3.0, 5.0, 9.0]).map(worth).sum();
            slot.evaluation.wl = ahead / (8.0 + ahead.abs());
            slot.logits = slot.moves.iter().map(|_| 0.0).collect();
        }
        Ok(())
    }
}

pub fn best_move(position: &str) -> Result<String, Box<dyn Error>> {
    let backend = Arc::new(Material(BackendInfo::new("material", "counts pieces")));
    let mut engine = Engine::with_backend(Settings::default(), backend)?;
    engine.set_position(position)?;
    let (best, _) = engine.search(Limit::nodes(500))?;
    Ok(engine.position().format_move(best))
}

fn main() -> Result<(), Box<dyn Error>> {
    best_move("fen 3q2k1/8/8/8/8/8/8/3R2K1 w - - 0 1").map(|best| println!("{best}"))
}
