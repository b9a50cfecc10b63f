//! The means that a node keeps of its visits beside their values: draw probability and plies left.
//!
//! Both lie in one atomic, so that they change together. Where the node's result is certain they are those of that
//! result, and no visit changes them. Used by [`super::node`].

use super::value::{NodeValue, Proof, ProofOutcome};
use crate::search::sync::atomic::{AtomicU64, Ordering};

/// The sign bits of the two numbers, which are not negative, serve as flags. With this one the result is certain …
const CERTAIN: u64 = 1 << 63;
/// … and with this one too, the side that moved into the node loses.
const LOST: u64 = 1 << 31;

/// Mean draw probability in the upper half, mean plies left in the lower one, both as `f32`.
#[derive(Debug, Default)]
pub(super) struct Means(AtomicU64);

impl Means {
    /// Returns draw probability and plies left.
    pub(super) fn get(&self) -> (f32, f32) {
        unpack(self.0.load(Ordering::Relaxed))
    }

    /// Sets both numbers; the result is not certain.
    pub(super) fn reset(&self, d: f32, m: f32) {
        self.0.store(pack(d, m), Ordering::Relaxed);
    }

    /// Makes the result certain from now on. Returns the means until now.
    pub(super) fn settle(&self, proof: Proof) -> (f32, f32) {
        let NodeValue { d, m, .. } = proof.value();
        let lost = if proof.outcome == ProofOutcome::Loss { LOST } else { 0 };
        unpack(self.0.swap(pack(d, m) | CERTAIN | lost, Ordering::Relaxed))
    }

    /// Changes draw probability and plies left, unless the result is certain; then that is returned.
    #[inline]
    pub(super) fn change(&self, change: impl Fn(f32, f32) -> (f32, f32)) -> Option<NodeValue> {
        let mut old = self.0.load(Ordering::Relaxed);
        loop {
            if old & CERTAIN != 0 {
                return Some(certain(old));
            }
            let (d, m) = unpack(old);
            let (d, m) = change(d, m);
            match self.0.compare_exchange_weak(old, pack(d, m), Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return None,
                Err(now) => old = now,
            }
        }
    }
}

/// Returns the certain result in `bits`.
fn certain(bits: u64) -> NodeValue {
    let (d, m) = unpack(bits);
    let v = match (d > 0.0, bits & LOST != 0) {
        (true, _) => 0.0,
        (false, true) => -1.0,
        (false, false) => 1.0,
    };
    NodeValue { v, d, m }
}

fn pack(d: f32, m: f32) -> u64 {
    u64::from(d.to_bits()) << 32 | u64::from(m.to_bits())
}

fn unpack(bits: u64) -> (f32, f32) {
    let bits = bits & !(CERTAIN | LOST);
    (f32::from_bits((bits >> 32) as u32), f32::from_bits(bits as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certain_result_does_not_change() {
        for outcome in [ProofOutcome::Loss, ProofOutcome::Draw, ProofOutcome::Win] {
            let means = Means::default();
            assert_eq!(means.change(|d, m| (d + 0.5, m + 30.0)), None);
            let proof = Proof { outcome, plies: 7.0, is_mate: false };
            assert_eq!(means.settle(proof), (0.5, 30.0));
            assert_eq!(means.change(|_, _| (0.25, 1.0)), Some(proof.value()));
            assert_eq!(means.get(), (proof.value().d, 7.0));
        }
    }
}
