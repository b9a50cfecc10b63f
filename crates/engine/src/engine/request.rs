//! What a `go` asks for.

use std::time::{Duration, Instant};

use crate::chess::Move;
use crate::time::{Bounds, Limit, Millis};

/// What takes less before a search counts as part of it.
const LEAST_LOADING: Duration = Duration::from_millis(10);

/// What a `go` asks for.
#[derive(Clone, Debug)]
pub struct GoRequest {
    /// What ends the search.
    pub limit: Limit,
    /// Empty means all.
    pub root_moves: Vec<Move>,
    /// The clock runs from then.
    pub received: Instant,
    /// What the clock had lost before, until the network was loaded.
    pub loading: Millis,
}

impl GoRequest {
    /// A search of all legal moves.
    pub fn new(limit: Limit) -> GoRequest {
        GoRequest {
            limit,
            root_moves: Vec::new(),
            received: Instant::now(),
            loading: Millis::ZERO,
        }
    }

    /// After a network was loaded, which took so long. The move is planned with the rest of the clock.
    pub(super) fn after_loading(&self, took: Duration) -> GoRequest {
        if took < LEAST_LOADING || self.limit.is_ponder() {
            return self.clone();
        }
        let loading = Millis::from(took);
        let mut limit = self.limit;
        if let Limit::Until(Bounds { time, movetime, .. }) = &mut limit {
            *time = time.map(|time| (time - loading).max(Millis::ZERO));
            *movetime = movetime.map(|time| (time - loading).max(time / 2.0));
        }
        GoRequest {
            limit,
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
        let after = |limit: Limit, took_ms: u64| {
            let request = GoRequest::new(limit).after_loading(Duration::from_millis(took_ms));
            (request.limit.after_ponder_hit().bounds(), request.loading)
        };
        let clock = |time| Limit::clock(Millis(time), Millis::ZERO);
        let ten_s = clock(10_000.0).bounds();
        assert_eq!(
            after(Limit::Until(ten_s), 1_900),
            (clock(8_100.0).bounds(), Millis(1_900.0))
        );
        assert_eq!(after(Limit::Until(ten_s), 20_000).0, clock(0.0).bounds());
        assert_eq!(after(Limit::Until(ten_s), 3).0, ten_s, "nothing was loaded");
        assert_eq!(after(Limit::Ponder(Some(ten_s)), 1_900).0, ten_s);
        let fixed = |took_ms| after(Limit::movetime(Millis(1_000.0)), took_ms).0.movetime;
        assert_eq!(fixed(300), Some(Millis(700.0)));
        assert_eq!(fixed(5_000), Some(Millis(500.0)), "time for a search is left");
    }
}
