//! One position of a batch: the input of a network, and its outputs.
//!
//! [`EvalSlot::fill`] is the only place where a position becomes a network's input: the search,
//! [`super::BatchEvaluator`] and the tools all call it. Uses `encode` for the planes and `policy_map` for the policy
//! indices.

use arrayvec::ArrayVec;

use super::encode::{HistoryFill, InputFormat, encode};
use super::{Evaluation, InputPlanes, MAX_MOVES, policy_map};
use crate::chess::{History, Move};

/// The way positions become planes: the network's part of it, and the user's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PositionEncoding {
    /// The format that the network was trained on, as in
    /// [`BackendInfo::input_format`](super::BackendInfo::input_format).
    pub format: InputFormat,
    /// The content of the boards before the first known position.
    pub history_fill: HistoryFill,
}

impl From<InputFormat> for PositionEncoding {
    /// Returns the encoding in `format` with the default [`HistoryFill`].
    fn from(format: InputFormat) -> PositionEncoding {
        PositionEncoding { format, history_fill: HistoryFill::default() }
    }
}

/// One position of a batch: the input of a network, and room for its outputs.
#[derive(Clone, Debug, Default)]
pub struct EvalSlot {
    /// The position and whatever else the evaluation depends on, as a hash; the `random` backend's only input.
    pub key: u64,
    /// The encoded position.
    pub planes: InputPlanes,
    /// Policy indices (`0..1858`) of the legal moves, in the caller's order.
    pub moves: ArrayVec<u16, MAX_MOVES>,
    /// Output: the value heads, from the point of view of the side to move.
    pub evaluation: Evaluation,
    /// Output: raw policy logits of `moves`, in their order.
    pub logits: ArrayVec<f32, MAX_MOVES>,
}

impl EvalSlot {
    /// Makes this slot ask for the current position of `history` and for the policy of `moves`, which are legal there.
    ///
    /// The outputs stay as they are until a backend evaluates the slot. Without moves the policy head is not asked. This
    /// allocates nothing.
    pub fn fill(&mut self, history: &History, moves: &[Move], encoding: PositionEncoding) {
        self.key = history.evaluation_key();
        let transform = encode(history, encoding.format, encoding.history_fill, &mut self.planes);
        let side_to_move = history.current().turn();
        self.moves.clear();
        self.moves.extend(moves.iter().map(|&mv| policy_map::index(mv, side_to_move, transform)));
    }

    /// Returns a slot that asks for the current position of `history` and the policy of all its legal moves.
    pub fn of(history: &History, encoding: PositionEncoding) -> EvalSlot {
        let mut slot = EvalSlot::default();
        slot.fill(history, &history.legal_moves(), encoding);
        slot
    }

    /// Returns the policy of `moves`, in their order: the softmax of the logits at temperature 1.
    pub fn policy(&self) -> ArrayVec<f32, MAX_MOVES> {
        let mut policy = self.logits.clone();
        softmax(&mut policy, 1.0);
        policy
    }
}

/// Turns logits into probabilities in place: the softmax at `temperature`, `p[i] ∝ exp(logits[i] / temperature)`.
///
/// The exponential comes from `libm`, so that a search is the same on every machine.
pub fn softmax(logits: &mut [f32], temperature: f32) {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for logit in logits.iter_mut() {
        *logit = libm::expf((*logit - max) / temperature);
        sum += *logit;
    }
    for p in logits {
        *p /= sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Variant;

    #[test]
    fn a_slot_that_is_filled_again_keeps_nothing_of_the_position_before() {
        let game = |text| History::from_uci_position(text, Variant::Standard).unwrap();
        let (before, after) = (game("startpos moves e2e4 e7e5 g1f3"), game("startpos moves d2d4"));
        let encoding = PositionEncoding::default();
        let mut slot = EvalSlot::of(&before, encoding);
        slot.fill(&after, &after.legal_moves(), encoding);
        let fresh = EvalSlot::of(&after, encoding);
        assert_eq!((slot.key, &slot.planes, &slot.moves), (fresh.key, &fresh.planes, &fresh.moves));
        assert_eq!((slot.key, slot.moves.len()), (after.evaluation_key(), 20));
        slot.fill(&after, &[], encoding);
        assert!(slot.moves.is_empty());
    }

    #[test]
    fn softmax_at_a_temperature() {
        let mut logits = [2.0, 0.0, 2.0];
        softmax(&mut logits, 2.0);
        // e¹ : e⁰ : e¹, divided by their sum 2e + 1
        let e = std::f32::consts::E;
        for (p, expected) in logits.iter().zip([e, 1.0, e].map(|x| x / (2.0 * e + 1.0))) {
            assert!((p - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn softmax_survives_extreme_logits() {
        let mut logits = [1e30, -1e30, f32::MAX];
        softmax(&mut logits, 0.5);
        assert_eq!(logits, [0.0, 0.0, 1.0]);
    }

    #[test]
    fn probabilities_sum_to_one_whatever_the_logits() {
        for logits in [&[0.0, 0.0][..], &[1000.0, -1000.0, 999.0], &[3.5]] {
            let slot = EvalSlot { logits: logits.iter().copied().collect(), ..EvalSlot::default() };
            let sum: f32 = slot.policy().iter().sum();
            assert!((sum - 1.0).abs() < 1e-6, "{logits:?}: {sum}");
        }
        assert!(EvalSlot::default().policy().is_empty());
        let equal = EvalSlot { logits: [1.0, 1.0].into_iter().collect(), ..EvalSlot::default() };
        assert_eq!(equal.policy()[..], [0.5, 0.5]);
    }
}
