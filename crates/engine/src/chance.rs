//! Chance that is the same on every machine.

/// 2⁶⁴ divided by the golden ratio, the increment of SplitMix64.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// One step of SplitMix64.
pub fn mix(seed: u64) -> u64 {
    spread(seed.wrapping_add(GOLDEN))
}

/// FNV-1a of `words`: the same fingerprint on every machine.
pub fn fnv1a(words: impl IntoIterator<Item = u64>) -> u64 {
    let add = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0100_0000_01b3);
    words.into_iter().fold(0xcbf2_9ce4_8422_2325, add)
}

/// The output function of SplitMix64 (Steele, Lea, Flood 2014): every bit changes half of the bits. 0 stays
/// 0.
pub(crate) fn spread(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// The index that `toss`, from 0 to below 1, hits on a line of stretches as long as the weights. `None` if no
/// weight is above 0. Others are never drawn.
pub fn draw(weights: &[f64], toss: f64) -> Option<usize> {
    let positive = || {
        weights
            .iter()
            .copied()
            .enumerate()
            .filter(|&(_, weight)| weight > 0.0)
    };
    let mut left = toss * positive().map(|(_, weight)| weight).sum::<f64>();
    let mut drawn = None;
    for (number, weight) in positive() {
        drawn = Some(number);
        left -= weight;
        if left < 0.0 {
            break;
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the authors' generator with the seed 0.
    #[test]
    fn numbers_are_those_of_splitmix() {
        let first = [0, GOLDEN].map(mix);
        assert_eq!(first, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
        assert_eq!(spread(0), 0);
    }

    #[test]
    fn stretches_are_as_long_as_the_weights() {
        let weights = [0.0, 1.0, 2.0, -1.0, 1.0, 0.0];
        let drawn = [0.0, 0.24, 0.25, 0.74, 0.75, 0.999].map(|toss| draw(&weights, toss));
        assert_eq!(drawn, [1, 1, 2, 2, 4, 4].map(Some));
        // A toss that rounding puts beyond the end
        assert_eq!(draw(&weights, 1.0), Some(4));
        assert_eq!((draw(&[], 0.5), draw(&[0.0, -1.0], 0.5)), (None, None));
    }
}
