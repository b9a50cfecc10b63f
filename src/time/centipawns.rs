//! Scores in centipawns for expected results, and back.

/// The scale of scores, and how near to a certain result it ends: Lc0's figures.
const SCALE: f64 = 90.0;
const STEEPNESS: f64 = 1.563_754_189_7;

/// Returns the score of the form `centipawn`: hundredths of a pawn from an expected result of `-1..=1`, as Lc0 has it.
pub(crate) fn centipawns(value: f64) -> f64 {
    SCALE * (STEEPNESS * value).tan()
}

/// Returns the expected result of `-1..=1` whose score is so many [`centipawns`].
pub(crate) fn expected_result(centipawns: f64) -> f64 {
    ((centipawns / SCALE).atan() / STEEPNESS).clamp(-1.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pawn_up() {
        assert_eq!(centipawns(0.0), 0.0);
        // tan(1.5637541897·0.5) = tan(0.7818770949) = 0.99298
        assert!((centipawns(0.5) - 89.37).abs() < 0.01);
        assert!((expected_result(centipawns(0.5)) - 0.5).abs() < 1e-12);
        assert_eq!(expected_result(f64::INFINITY), 1.0);
    }
}
