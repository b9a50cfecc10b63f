//! Keeps the latest evaluations of the games of a thread, for positions that come again: both sides of a game search much the
//! same ones.
//!
//! A search does not notice: it gets the evaluation that its network would give, at the time at which it would come. That
//! sets this apart from a search's own cache, and is why games still do not depend on each other.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::network::cache::KeyHasher;
use crate::network::{BackendError, BackendInfo, EvalSlot, Evaluation, Evaluator};

/// Evaluations in each of the two generations.
const CAPACITY: usize = 100_000;

/// The outputs of a network for a position.
#[derive(Debug)]
struct SharedEvaluation {
    evaluation: Evaluation,
    logits: Box<[f32]>,
}

type Generation = HashMap<u64, SharedEvaluation, BuildHasherDefault<KeyHasher>>;

/// A network behind a cache that all games of a thread share. When the young generation is full it becomes the old one, which is
/// dropped.
pub(super) struct SharedEvalCache {
    evaluator: Box<dyn Evaluator>,
    info: BackendInfo,
    young: Generation,
    old: Generation,
    /// The keys of all slots of the present call.
    keys: Vec<u64>,
    misses: Vec<usize>,
}

impl SharedEvalCache {
    pub(super) fn new(evaluator: Box<dyn Evaluator>, info: BackendInfo) -> SharedEvalCache {
        let (young, old) = (Generation::default(), Generation::default());
        SharedEvalCache { evaluator, info, young, old, keys: Vec::new(), misses: Vec::new() }
    }

    /// Fills the outputs of all `slots`, in batches that the network takes.
    ///
    /// # Errors
    /// [`BackendError`] if the network fails.
    pub(super) fn evaluate(&mut self, slots: &mut [EvalSlot]) -> Result<(), BackendError> {
        self.keys.clear();
        self.misses.clear();
        for (place, slot) in slots.iter_mut().enumerate() {
            let key = key_of(slot);
            self.keys.push(key);
            if !self.recall(key, slot) {
                self.misses.push(place);
            }
        }
        self.gather(slots);
        let evaluated = &mut slots[..self.misses.len()];
        for batch in evaluated.chunks_mut(self.info.max_batch.max(1)) {
            self.evaluator.evaluate(batch)?;
            EvalSlot::check_numbers(&self.info, batch)?;
        }
        for (&place, slot) in self.misses.iter().zip(evaluated.iter()) {
            let entry =
                SharedEvaluation { evaluation: slot.evaluation, logits: slot.logits.as_slice().into() };
            self.young.insert(self.keys[place], entry);
        }
        if self.young.len() >= CAPACITY {
            self.old = std::mem::take(&mut self.young);
        }
        self.scatter(slots);
        Ok(())
    }

    /// Fills the outputs of `slot` from the cache and returns true, if it is there.
    fn recall(&self, key: u64, slot: &mut EvalSlot) -> bool {
        let found = self.young.get(&key).or_else(|| self.old.get(&key));
        let Some(entry) = found.filter(|entry| entry.logits.len() == slot.moves.len()) else { return false };
        slot.evaluation = entry.evaluation;
        slot.logits = entry.logits.iter().copied().collect();
        true
    }

    /// Brings the slots that are to be evaluated to the front, in their order.
    fn gather(&self, slots: &mut [EvalSlot]) {
        for (to, &from) in self.misses.iter().enumerate() {
            slots.swap(to, from);
        }
    }

    /// Undoes what [`SharedEvalCache::gather`] did.
    fn scatter(&self, slots: &mut [EvalSlot]) {
        for (to, &from) in self.misses.iter().enumerate().rev() {
            slots.swap(to, from);
        }
    }
}

/// Returns a hash of all that an evaluation depends on: the input planes and the moves.
fn key_of(slot: &EvalSlot) -> u64 {
    // Multiplication carries low bits up, the rotation brings them down again.
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let planes = slot.planes.masks.iter().zip(&slot.planes.values);
    let hash = planes.fold(slot.moves.len() as u64, |hash, (&mask, &value)| {
        // Empty planes are most of them; their values mean nothing.
        if mask == 0 { mix(hash, 1) } else { mix(mix(hash, mask), value.to_bits().into()) }
    });
    let hash = slot.moves.iter().fold(mix(hash, slot.key), |hash, &index| mix(hash, index.into()));
    mix(hash, hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Backend;
    use crate::network::backends::synthetic::random::Random;
    use crate::params::Params;

    fn slot(number: u64) -> EvalSlot {
        let mut slot = EvalSlot { key: number, ..EvalSlot::default() };
        slot.planes.masks[3] = number;
        slot.moves = (0..(number % 7) as u16 + 1).collect();
        slot
    }

    #[test]
    fn answers_are_those_of_the_network_in_the_order_of_the_questions() {
        let backend = Random::new(&Params::default()).unwrap();
        let mut cache = SharedEvalCache::new(
            backend.evaluator().unwrap(),
            BackendInfo { max_batch: 4, ..backend.info().clone() },
        );
        for start in [0, 5, 3, 20, 0] {
            // Known and unknown ones, mixed.
            let mut slots: Vec<_> = (0..30).map(|i| slot((start + i * 7) % 31)).collect();
            let mut expected = slots.clone();
            cache.evaluate(&mut slots).unwrap();
            backend.evaluator().unwrap().evaluate(&mut expected).unwrap();
            for (found, expected) in slots.iter().zip(&expected) {
                assert_eq!((found.key, found.evaluation), (expected.key, expected.evaluation));
                assert_eq!(found.logits, expected.logits);
            }
        }
        assert_eq!(cache.misses.len(), 0, "all is known now");
    }

    #[test]
    fn keys_tell_planes_values_and_moves_apart() {
        let plain = slot(5);
        let mut other_plane = plain.clone();
        other_plane.planes.masks.swap(3, 4);
        let mut other_value = plain.clone();
        other_value.planes.values[3] = 0.5;
        let mut other_move = plain.clone();
        other_move.moves[0] = 99;
        let keys = [&plain, &other_plane, &other_value, &other_move].map(key_of);
        for (i, key) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(key), "{i}");
        }
    }
}
