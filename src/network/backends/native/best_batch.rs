//! The batch size for the search: the smallest one at which a model is about as fast as it can be.
//!
//! It depends on the caches of the machine as much as on the network, so it is measured, once, when the network is loaded.

use std::time::{Duration, Instant};

use super::model::Model;
use crate::cpu_time::thread_cpu_time;
use crate::network::encode::InputFormat;
use crate::network::throughput;

/// The sizes that are compared.
const SIZES: [usize; 8] = [1, 2, 3, 4, 6, 8, 12, 16];
/// The fastest of so many batches of a size counts: whatever else happens on the machine only makes batches slower. Time that
/// other programs take does not count in the first place.
const ROUNDS: usize = 4;
/// The CPU time that the measurement may take if every position takes as long as one by itself.
const TIME: Duration = Duration::from_millis(250);
/// The smallest size is taken that is at most this much slower than the best.
const ABOUT_AS_FAST: f64 = 0.97;

/// Returns the smallest batch size with which `model` is within 3 % of its best throughput, as measured on one thread.
///
/// A model that is too slow to be measured in 250 ms gets the size of its groups, which the caches suggest.
pub(super) fn measure(model: &Model, format: InputFormat) -> usize {
    let start = Instant::now();
    let now = || thread_cpu_time().unwrap_or_else(|| start.elapsed());
    let mut slots = throughput::game_positions(model.group(), format);
    let mut scratch = model.scratch();
    let mut seconds = |size: usize| {
        let before = now();
        model.evaluate(&mut slots[..size], &mut scratch);
        (now() - before).as_secs_f64()
    };
    // The first evaluations wake the caches and tell whether there is time for the others.
    let single = (0..3).map(|_| seconds(1)).fold(f64::INFINITY, f64::min);
    let sizes: Vec<_> = SIZES.into_iter().filter(|&size| size <= model.group()).collect();
    if single * (ROUNDS * sizes.iter().sum::<usize>()) as f64 > TIME.as_secs_f64() {
        return model.group();
    }
    let mut best = vec![f64::INFINITY; sizes.len()];
    for _ in 0..ROUNDS {
        for (&size, best) in sizes.iter().zip(&mut best) {
            *best = best.min(seconds(size));
        }
    }
    let rates: Vec<_> =
        sizes.iter().zip(best).map(|(&size, seconds)| (size, size as f64 / seconds)).collect();
    smallest_fast(&rates)
}

/// Returns the smallest of the sizes, which are in ascending order with their positions per second, that is about as fast
/// as the best.
fn smallest_fast(rates: &[(usize, f64)]) -> usize {
    let best = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    rates.iter().find(|(_, rate)| *rate >= best * ABOUT_AS_FAST).map_or(1, |(size, _)| *size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_size_that_is_about_as_fast_as_the_best_is_taken() {
        // Two machines, the same network.
        let rates = [(1, 7060.0), (2, 8460.0), (3, 9200.0), (4, 8550.0), (8, 7650.0), (16, 8200.0)];
        assert_eq!(smallest_fast(&rates), 3);
        let rates =
            [(1, 2091.0), (2, 2999.0), (3, 3489.0), (4, 3884.0), (6, 4210.0), (8, 4210.0), (16, 4227.0)];
        assert_eq!(smallest_fast(&rates), 6);
    }
}
