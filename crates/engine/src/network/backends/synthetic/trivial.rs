//! The `trivial` backend counts material and finds all moves equally good.
//!
//! It is the cheapest evaluation that prefers winning a piece: a search with it measures the search.

use super::backend::Synthetic;
use crate::network::backend::Evaluator;
use crate::network::backend_error::BackendError;
use crate::network::backend_info::BackendInfo;
use crate::network::eval_slot::EvalSlot;
use crate::network::planes::InputPlanes;
use crate::network::value::Value;
use crate::params::Params;

/// Pawn to queen, in pawns, in the order of the input planes.
const PIECE_VALUES: [f32; 5] = [1.0, 3.0, 3.25, 5.0, 9.5];
/// An advantage in pawns worth an expected result of 0.5.
const HALF_POINT: f32 = 4.0;
/// The opponent's planes begin here, after our king.
const THEIR_PIECES: usize = 6;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Trivial;

impl Trivial {
    /// Fails if `options` is not empty.
    pub fn backend(options: &Params) -> Result<Synthetic<Trivial>, BackendError> {
        options.allow_only("trivial", &[], &[])?;
        let info = BackendInfo::new("trivial", "material, uniform policy, no network");
        Ok(Synthetic {
            info,
            evaluator: Trivial,
        })
    }
}

impl Evaluator for Trivial {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        for slot in batch {
            slot.evaluation = Value {
                wl: expected_result(material(&slot.planes)),
                d: 0.0,
                m: 0.0,
            };
            slot.logits.clear();
            slot.logits.extend(slot.moves.iter().map(|_| 0.0));
        }
        Ok(())
    }
}

/// Ours less theirs, in pawns, on the newest board.
fn material(planes: &InputPlanes) -> f32 {
    let count = |plane: usize| planes.masks[plane].count_ones() as f32;
    let balance = |(piece, value): (usize, &f32)| value * (count(piece) - count(THEIR_PIECES + piece));
    PIECE_VALUES.iter().enumerate().map(balance).sum()
}

/// The expected result in `-1..1`: a rational sigmoid, exact on every machine.
fn expected_result(pawns: f32) -> f32 {
    pawns / (HALF_POINT + pawns.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Backend;

    #[test]
    fn a_queen_up_is_good_for_the_side_that_has_it() {
        let mut batch = vec![EvalSlot::default(); 3];
        batch[1].planes.masks[4] = 1 << 3;
        batch[2].planes.masks[10] = 1 << 59;
        batch[2].moves.extend([7, 1857]);
        Trivial::backend(&Params::default())
            .unwrap()
            .evaluator()
            .unwrap()
            .evaluate(&mut batch)
            .unwrap();
        let q: Vec<_> = batch.iter().map(|slot| slot.evaluation.wl).collect();
        assert_eq!(q[0], 0.0);
        assert!(q[1] > 0.5 && q[1] < 1.0 && q[2] == -q[1], "{q:?}");
        assert_eq!(batch[2].logits[..], [0.0, 0.0]);
    }
}
