//! One position of a batch, with a network's input and outputs.
//!
//! Only [`EvalSlot::fill`] turns a position into a network's input.

use arrayvec::ArrayVec;

use super::backend_error::BackendError;
use super::backend_info::BackendInfo;
use super::encode::{HistoryFill, InputFormat, encode};
use super::planes::InputPlanes;
use super::policy_map;
use super::value::Value;
use crate::chess::{History, Move};

/// Above 218, the most legal moves of any chess position.
pub const MAX_MOVES: usize = 256;

/// Probabilities and values may be outside their range, and sums of probabilities beside 1, by this: numbers
/// of 16 bits round.
pub(crate) const ROUNDING: f32 = 0.03;
/// The longest game that the rules allow: fifty moves between any two captures or moves of pawns.
const MOST_PLIES: f32 = 17_697.0;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PositionEncoding {
    /// The network's, as in [`BackendInfo::input_format`](super::BackendInfo::input_format).
    pub format: InputFormat,
    /// The user's: what stands before the first known position.
    pub history_fill: HistoryFill,
}

impl From<InputFormat> for PositionEncoding {
    fn from(format: InputFormat) -> PositionEncoding {
        PositionEncoding {
            format,
            history_fill: HistoryFill::default(),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct EvalSlot {
    /// Hash of all that the evaluation depends on. The `random` backend's only input.
    pub key: u64,
    pub planes: InputPlanes,
    /// Policy indices (`0..1858`) of the moves, in the caller's order.
    pub moves: ArrayVec<u16, MAX_MOVES>,
    /// Output, from the point of view of the side to move.
    pub evaluation: Value,
    /// Output: raw policy logits, in the order of `moves`.
    pub logits: ArrayVec<f32, MAX_MOVES>,
}

impl EvalSlot {
    /// Makes this slot ask for the current position of `history` and the policy of `moves`, which are legal
    /// there. Allocates nothing.
    ///
    /// The outputs stay until a backend evaluates the slot. Without moves the policy head is not used.
    pub fn fill(&mut self, history: &History, moves: &[Move], encoding: PositionEncoding) {
        self.key = history.evaluation_key();
        let transform = encode(history, encoding.format, encoding.history_fill, &mut self.planes);
        let side_to_move = history.current().turn();
        self.moves.clear();
        self.moves.extend(
            moves
                .iter()
                .map(|&mv| policy_map::index(mv, side_to_move, transform)),
        );
    }

    /// The last position of `history`, to be evaluated.
    pub fn of(history: &History, encoding: PositionEncoding) -> EvalSlot {
        let mut slot = EvalSlot::default();
        slot.fill(history, &history.legal_moves(), encoding);
        slot
    }

    pub(super) fn copy_inputs(&mut self, other: &EvalSlot) {
        self.key = other.key;
        self.planes.clone_from(&other.planes);
        self.moves.clone_from(&other.moves);
    }

    pub(super) fn copy_outputs(&mut self, other: &EvalSlot) {
        self.evaluation = other.evaluation;
        self.logits.clone_from(&other.logits);
    }

    /// Refuses outputs that a search cannot use: NaN, infinities and values out of range, which would poison
    /// every mean of a tree, and logits that are not one for each move.
    pub fn check_outputs(backend: &BackendInfo, batch: &[EvalSlot]) -> Result<(), BackendError> {
        match batch.iter().find_map(EvalSlot::fault) {
            None => Ok(()),
            Some(reason) => Err(BackendError::Evaluation {
                backend: backend.name.clone(),
                reason,
            }),
        }
    }

    fn fault(&self) -> Option<String> {
        let Value { wl, d, m } = self.evaluation;
        let (logits, moves) = (self.logits.len(), self.moves.len());
        let mut outputs = [wl, d, m].into_iter().chain(self.logits.iter().copied());
        if !outputs.all(f32::is_finite) {
            return Some("it returned NaN or infinity".into());
        }
        if wl.abs() > 1.0 + ROUNDING || !(-ROUNDING..=1.0 + ROUNDING).contains(&d) {
            return Some(format!(
                "it returned {wl} for win minus loss and {d} for a draw, which go from -1 and from 0 to 1"
            ));
        }
        if !(0.0..=MOST_PLIES).contains(&m) {
            return Some(format!(
                "it returned {m} plies to the end of the game, and the rules allow 0 to {MOST_PLIES}"
            ));
        }
        (logits != moves).then(|| format!("it returned {logits} logits for {moves} moves"))
    }

    /// Softmax at temperature 1, in the order of `moves`. The exponential comes from `libm`, so that it is
    /// the same on every machine.
    pub fn policy(&self) -> ArrayVec<f32, MAX_MOVES> {
        let mut policy = self.logits.clone();
        softmax(&mut policy, 1.0, libm::expf);
        policy
    }
}

/// Softmax with Lc0's approximate exponential, off by up to 0.3 %. The search uses it, so that with equal
/// logits it visits what Lc0 visits, on every machine.
pub fn approximate_softmax(logits: &mut [f32], temperature: f32) {
    softmax(logits, temperature, approximate_exp);
}

/// Softmax in place: `p[i] ∝ exp(logits[i] / temperature)`.
fn softmax(logits: &mut [f32], temperature: f32, exp: impl Fn(f32) -> f32) {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let inverse = 1.0 / temperature;
    let mut sum = 0.0;
    for logit in logits.iter_mut() {
        *logit = exp((*logit - max) * inverse);
        sum += *logit;
    }
    let scale = 1.0 / sum;
    for p in logits {
        *p *= scale;
    }
}

/// `exp(x)` for `x <= 0`: with `x / ln 2 = n + f`, n an integer and `0 <= f < 1`, it is `2ⁿ (1 + f (1 − k + k
/// f))`, where k is about 0.34. The two coefficients are Lc0's.
fn approximate_exp(x: f32) -> f32 {
    const LINEAR: f32 = 0.660_233_9;
    const SQUARE: f32 = 0.339_766_06;
    const LEAST: f32 = -126.0;
    let x = x * std::f32::consts::LOG2_E;
    if x < LEAST {
        return 0.0;
    }
    // `f32::floor` would call the system's mathematics.
    let truncated = x as i32;
    let n = truncated - i32::from(truncated as f32 > x);
    let f = x - n as f32;
    let power = f32::from_bits(((n + 127) as u32) << 23);
    power * (1.0 + f * (LINEAR + SQUARE * f))
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
        assert_eq!(
            (slot.key, &slot.planes, &slot.moves),
            (fresh.key, &fresh.planes, &fresh.moves)
        );
        assert_eq!((slot.key, slot.moves.len()), (after.evaluation_key(), 20));
        slot.fill(&after, &[], encoding);
        assert!(slot.moves.is_empty());
    }

    #[test]
    fn softmax_at_a_temperature() {
        let mut logits = [2.0, 0.0, 2.0];
        softmax(&mut logits, 2.0, libm::expf);
        // e¹ : e⁰ : e¹, divided by their sum 2e + 1
        let e = std::f32::consts::E;
        for (p, expected) in logits.iter().zip([e, 1.0, e].map(|x| x / (2.0 * e + 1.0))) {
            assert!((p - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn softmax_survives_extreme_logits() {
        for exp in [libm::expf as fn(f32) -> f32, approximate_exp] {
            let mut logits = [1e30, -1e30, f32::MAX];
            softmax(&mut logits, 0.5, exp);
            assert_eq!(logits, [0.0, 0.0, 1.0]);
        }
    }

    #[test]
    fn the_approximate_exponential_is_near() {
        assert_eq!(
            (approximate_exp(0.0), approximate_exp(f32::NEG_INFINITY)),
            (1.0, 0.0)
        );
        for x in (0..870).map(|i| -0.1 * i as f32) {
            let ratio = approximate_exp(x) / x.exp();
            assert!((ratio - 1.0).abs() < 0.003, "{x}: {ratio}");
        }
    }

    #[test]
    fn probabilities_sum_to_one_whatever_the_logits() {
        for logits in [&[0.0, 0.0][..], &[1000.0, -1000.0, 999.0], &[3.5]] {
            let slot = EvalSlot {
                logits: logits.iter().copied().collect(),
                ..EvalSlot::default()
            };
            let sum: f32 = slot.policy().iter().sum();
            assert!((sum - 1.0).abs() < 1e-6, "{logits:?}: {sum}");
        }
        assert!(EvalSlot::default().policy().is_empty());
        let equal = EvalSlot {
            logits: [1.0, 1.0].into_iter().collect(),
            ..EvalSlot::default()
        };
        assert_eq!(equal.policy()[..], [0.5, 0.5]);
    }
}
