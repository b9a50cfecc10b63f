//! Drawing one of several things by weights.

/// Returns the number of the thing that `toss`, a random number from 0 to below 1, hits on a line on which
/// each has a stretch as long as its weight, or `None` if no weight is above 0. Things without a positive
/// weight are never drawn.
pub(crate) fn draw(weights: &[f64], toss: f64) -> Option<usize> {
    let positive = || weights.iter().copied().enumerate().filter(|&(_, weight)| weight > 0.0);
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
