//! The `random` backend: an evaluation drawn from a hash of [`EvalSlot::key`], the policy indices and `seed`,
//! the same on every machine.
//!
//! The policy is as uneven as a real network's in a quiet position, so that trees have a natural shape.

use super::backend::Synthetic;
use crate::chance::{GOLDEN, mix};
use crate::network::backend::Evaluator;
use crate::network::backend_error::BackendError;
use crate::network::backend_info::BackendInfo;
use crate::network::eval_slot::EvalSlot;
use crate::network::value::Value;
use crate::options::{OptionGroup, option_group};
use crate::params::Params;

pub const NAME: &str = "random";
/// Logits lie in `0..LOGIT_SPAN`: the best move is up to e^3 = 20 times as likely as the worst.
const LOGIT_SPAN: f32 = 3.0;
const PLIES_SPAN: f32 = 200.0;

#[derive(Clone, Copy, Debug)]
pub struct Random {
    seed: u64,
}

option_group! {
    #[derive(Copy)]
    pub(crate) struct RandomParams {
        /// Seed of the evaluations.
        seed: u64 = 0, in 0..=i64::MAX, "seed";
    }
}

impl Random {
    /// `options` are [`RandomParams`].
    pub fn backend(options: &Params) -> Result<Synthetic<Random>, BackendError> {
        let RandomParams { seed } = RandomParams::default().read(NAME, options, &[])?;
        let description = format!("numbers from a hash of the position, seed {seed}, no network");
        let info = BackendInfo {
            has_wdl: true,
            has_moves_left: true,
            ..BackendInfo::new(NAME, &description)
        };
        Ok(Synthetic {
            info,
            evaluator: Random { seed: mix(seed) },
        })
    }

    fn fill(&self, slot: &mut EvalSlot) {
        let position = mix(slot.key ^ self.seed);
        let share = |output: u64| unit(mix(position.wrapping_add(output)));
        let q = 2.0 * share(1) - 1.0;
        slot.evaluation = Value {
            wl: q,
            d: (1.0 - q.abs()) * share(2),
            m: PLIES_SPAN * share(3),
        };
        slot.logits.clear();
        slot.logits.extend(slot.moves.iter().map(|&index| {
            let hash = mix(position ^ u64::from(index).wrapping_add(1).wrapping_mul(GOLDEN));
            LOGIT_SPAN * unit(hash)
        }));
    }
}

impl Evaluator for Random {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        batch.iter_mut().for_each(|slot| self.fill(slot));
        Ok(())
    }
}

/// In `0..1`, from the upper 24 bits of `hash`, which an `f32` holds exactly.
fn unit(hash: u64) -> f32 {
    (hash >> 40) as f32 / (1u32 << 24) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Backend;
    use proptest::prelude::*;

    fn evaluate(options: &str, key: u64, moves: &[u16]) -> EvalSlot {
        let mut slot = EvalSlot {
            key,
            moves: moves.iter().copied().collect(),
            ..EvalSlot::default()
        };
        let backend = Random::backend(&Params::parse(options).unwrap()).unwrap();
        backend
            .evaluator()
            .unwrap()
            .evaluate(std::slice::from_mut(&mut slot))
            .unwrap();
        slot
    }

    /// If they change, every recorded search signature changes.
    #[test]
    fn answers_are_fixed_for_all_time() {
        let slot = evaluate("", 0x1234_5678_9abc_def0, &[0, 1, 1857]);
        let Value { wl: q, d, m } = slot.evaluation;
        let bits: Vec<u32> = [q, d, m]
            .iter()
            .chain(&slot.logits)
            .map(|x| x.to_bits())
            .collect();
        assert_eq!(bits, GOLDEN_BITS);
    }

    const GOLDEN_BITS: [u32; 6] = [
        3187936488, 1057847394, 1127778600, 1059476602, 1077711006, 1059987946,
    ];

    #[test]
    fn seeds_give_other_answers() {
        assert_ne!(evaluate("", 1, &[5]).logits, evaluate("seed=1", 1, &[5]).logits);
        assert_ne!(evaluate("", 1, &[5]).evaluation, evaluate("", 2, &[5]).evaluation);
    }

    #[test]
    fn values_are_spread_evenly() {
        let q: Vec<f32> = (0..10_000)
            .map(|key| evaluate("", key, &[]).evaluation.wl)
            .collect();
        let mean = q.iter().sum::<f32>() / 10_000.0;
        let square = q.iter().map(|q| q * q).sum::<f32>() / 10_000.0;
        assert!(mean.abs() < 0.03, "mean {mean}");
        assert!((square - 1.0 / 3.0).abs() < 0.02, "mean square {square}");
    }

    proptest! {
        #[test]
        fn answers_are_in_range_and_the_order_of_moves_does_not_matter(key: u64, a in 0u16..1858, b in 0u16..1858) {
            let slot = evaluate("", key, &[a, b]);
            let Value { wl: q, d, m } = slot.evaluation;
            prop_assert!((-1.0..=1.0).contains(&q) && d >= 0.0 && q.abs() + d <= 1.0 + 1e-6);
            prop_assert!((0.0..200.0).contains(&m));
            prop_assert!(slot.logits.iter().all(|logit| (0.0..3.0).contains(logit)));
            let turned = evaluate("", key, &[b, a]);
            prop_assert_eq!([slot.logits[0], slot.logits[1]], [turned.logits[1], turned.logits[0]]);
        }
    }
}
