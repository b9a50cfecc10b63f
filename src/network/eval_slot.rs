//! One position of a batch: the input of a network, and its outputs.
//!
//! [`EvalSlot::fill`] is the only place where a position becomes a network's input: the search,
//! [`super::BatchEvaluator`] and the tools all call it. Uses `encode` for the planes and `policy_map` for the policy
//! indices.

use arrayvec::ArrayVec;

use super::encode::{HistoryFill, InputFormat, encode};
use super::{BackendError, BackendInfo, Evaluation, InputPlanes, MAX_MOVES, policy_map};
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

    /// Checks that `backend` has filled `batch` with numbers: a device that is damaged, too hot or out of the range of its
    /// precision gives NaN and infinities, which would poison every mean of a tree.
    ///
    /// # Errors
    /// [`BackendError::Evaluation`] if an output is none.
    pub fn check_numbers(backend: &BackendInfo, batch: &[EvalSlot]) -> Result<(), BackendError> {
        let is_sound = |slot: &EvalSlot| {
            let Evaluation { q, d, m } = slot.evaluation;
            [q, d, m].iter().chain(&slot.logits).all(|output| output.is_finite())
        };
        if batch.iter().all(is_sound) {
            return Ok(());
        }
        let reason = "it gives NaN or infinities".into();
        Err(BackendError::Evaluation { backend: backend.name.clone(), reason })
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
/// The exponential comes from `libm`, so that it is the same on every machine.
fn softmax(logits: &mut [f32], temperature: f32) {
    normalize(logits, temperature, libm::expf);
}

/// Does the same with Lc0's approximation of the exponential, which is off by up to 0.3 %. A search takes its policy from here: with
/// equal logits it then visits what Lc0 visits. It is the same on every machine too.
pub fn approximate_softmax(logits: &mut [f32], temperature: f32) {
    normalize(logits, temperature, approximate_exp);
}

fn normalize(logits: &mut [f32], temperature: f32, exp: impl Fn(f32) -> f32) {
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

/// Returns about `exp(x)` of an `x` that is not above 0: with `x / ln 2 = n + f`, where n is an integer and `0 <= f < 1`, it is
/// `2ⁿ (1 + f (1 − k + k f))`, where k is about 0.34, with the two coefficients that Lc0 has.
fn approximate_exp(x: f32) -> f32 {
    const LINEAR: f32 = 0.660_233_9;
    const SQUARE: f32 = 0.339_766_06;
    const LEAST: f32 = -126.0;
    let x = x * std::f32::consts::LOG2_E;
    if x < LEAST {
        return 0.0;
    }
    // `f32::floor` would be a call of the system's mathematics.
    let truncated = x as i32;
    let n = truncated - i32::from(truncated as f32 > x);
    let f = x - n as f32;
    let power = f32::from_bits(((n + 127) as u32) << 23);
    power * (1.0 + f * (LINEAR + SQUARE * f))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::chess::Variant;
    use crate::network::backends::{BackendConfig, create};
    use crate::network::instrumented::Instrumented;
    use crate::network::{Backend, Evaluator};

    /// A backend of which one output of the last slot is `output`.
    #[derive(Debug)]
    struct Unsound {
        backend: Arc<dyn Backend>,
        output: f32,
        is_logit: bool,
    }

    impl Backend for Unsound {
        fn info(&self) -> &BackendInfo {
            self.backend.info()
        }

        fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
            let &Unsound { output, is_logit, .. } = self;
            Ok(Box::new(UnsoundEvaluator { evaluator: self.backend.evaluator()?, output, is_logit }))
        }
    }

    struct UnsoundEvaluator {
        evaluator: Box<dyn Evaluator>,
        output: f32,
        is_logit: bool,
    }

    impl Evaluator for UnsoundEvaluator {
        fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
            self.evaluator.evaluate(batch)?;
            let last = batch.last_mut().unwrap();
            let output = if self.is_logit { &mut last.logits[7] } else { &mut last.evaluation.m };
            *output = self.output;
            Ok(())
        }
    }

    /// A regression: NaN from a device went into the tree.
    #[test]
    fn outputs_that_are_no_numbers_are_an_error() {
        let history = History::start();
        for (output, is_logit) in [(f32::NAN, false), (f32::INFINITY, true), (f32::NAN, true), (1.0, true)] {
            let backend = create(&BackendConfig::parse("random", "").unwrap(), None).unwrap();
            let encoding = PositionEncoding::from(backend.info().input_format);
            let mut batch = vec![EvalSlot::of(&history, encoding); 3];
            let instrumented = Instrumented::new(Arc::new(Unsound { backend, output, is_logit }));
            let result = instrumented.evaluator().unwrap().evaluate(&mut batch);
            let text = result.err().map(|error| error.to_string()).unwrap_or_default();
            let expected =
                if output.is_finite() { "" } else { "random: evaluation failed: it gives NaN or infinities" };
            assert_eq!(text, expected);
        }
    }

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
        for softmax in [softmax, approximate_softmax] {
            let mut logits = [1e30, -1e30, f32::MAX];
            softmax(&mut logits, 0.5);
            assert_eq!(logits, [0.0, 0.0, 1.0]);
        }
    }

    #[test]
    fn the_approximate_exponential_is_near() {
        assert_eq!((approximate_exp(0.0), approximate_exp(f32::NEG_INFINITY)), (1.0, 0.0));
        for x in (0..870).map(|i| -0.1 * i as f32) {
            let ratio = approximate_exp(x) / x.exp();
            assert!((ratio - 1.0).abs() < 0.003, "{x}: {ratio}");
        }
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
