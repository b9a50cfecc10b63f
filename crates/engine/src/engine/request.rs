//! What a `go` asks for.

use std::time::{Duration, Instant};

use crate::chess::Move;
use crate::time::{GoLimits, Millis};

/// What takes less before a search counts as part of it.
const LEAST_LOADING: Duration = Duration::from_millis(10);

/// What a `go` asks for.
#[derive(Clone, Debug)]
pub struct GoRequest {
    /// What ends the search.
    pub limits: GoLimits,
    /// Empty means all.
    pub root_moves: Vec<Move>,
    /// The clock runs from then.
    pub received: Instant,
    /// What the clock had lost before, until the network was loaded.
    pub loading: Millis,
}

impl GoRequest {
    /// A search of all legal moves.
    pub fn new(limits: GoLimits) -> GoRequest {
        GoRequest {
            limits,
            root_moves: Vec::new(),
            received: Instant::now(),
            loading: Millis::ZERO,
        }
    }

    /// The request to a search that could not begin before a network was loaded, which took this long. The
    /// clock has lost that time, and the move is planned anew with the rest.
    pub(super) fn after_loading(&self, took: Duration) -> GoRequest {
        let GoLimits {
            time,
            movetime,
            ponder,
            ..
        } = self.limits;
        if took < LEAST_LOADING || ponder {
            return self.clone();
        }
        let loading = Millis::from(took);
        let limits = GoLimits {
            time: time.map(|time| (time - loading).max(Millis::ZERO)),
            movetime: movetime.map(|time| (time - loading).max(time / 2.0)),
            ..self.limits.clone()
        };
        GoRequest {
            limits,
            received: Instant::now(),
            loading,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A regression: loading at the first `go` used up the budget, and the move came without a search.
    #[test]
    fn loading_is_taken_off_the_clock_and_the_search_is_planned_afterwards() {
        let after = |limits: GoLimits, took_ms: u64| {
            let request = GoRequest::new(limits).after_loading(Duration::from_millis(took_ms));
            (request.limits.time, request.limits.movetime, request.loading)
        };
        let clock = GoLimits {
            time: Some(Millis(10_000.0)),
            ..GoLimits::default()
        };
        assert_eq!(
            after(clock.clone(), 1_900),
            (Some(Millis(8_100.0)), None, Millis(1_900.0))
        );
        assert_eq!(after(clock.clone(), 20_000).0, Some(Millis::ZERO));
        assert_eq!(after(clock.clone(), 3).0, clock.time, "nothing was loaded");
        assert_eq!(
            after(
                GoLimits {
                    ponder: true,
                    ..clock.clone()
                },
                1_900
            )
            .0,
            clock.time
        );
        let fixed = GoLimits {
            movetime: Some(Millis(1_000.0)),
            ..GoLimits::default()
        };
        assert_eq!(after(fixed.clone(), 300).1, Some(Millis(700.0)));
        assert_eq!(
            after(fixed, 5_000).1,
            Some(Millis(500.0)),
            "time for a search is left"
        );
    }
}
