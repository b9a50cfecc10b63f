//! The limit of `go mate`.

use crate::time::stats::{Hints, SearchStats};
use crate::time::stopper::{StopReason, Stopper};

/// Stops when a mate that is short enough was found, or when there is none to be found.
#[derive(Clone, Copy, Debug)]
pub struct MateLimit {
    moves: u32,
}

impl MateLimit {
    /// Makes the rule for a mate in `moves` moves or fewer.
    pub fn new(moves: u32) -> Self {
        MateLimit { moves }
    }
}

impl Stopper for MateLimit {
    fn should_stop(&mut self, stats: &SearchStats, _: &mut Hints) -> Option<StopReason> {
        let is_found = stats.mate_in.is_some_and(|moves| moves <= self.moves);
        // A longer mate that is certain may still give way to a shorter one.
        let is_hopeless = (stats.mate_in.is_none() && stats.root_is_certain) || stats.is_exhausted();
        (is_found || is_hopeless).then_some(StopReason::Mate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_at_short_mates_only() {
        let with = |mate_in| SearchStats { mate_in, ..SearchStats::default() };
        let mut stopper = MateLimit::new(3);
        assert_eq!(stopper.should_stop(&with(None), &mut Hints::default()), None);
        assert_eq!(stopper.should_stop(&with(Some(4)), &mut Hints::default()), None);
        assert_eq!(stopper.should_stop(&with(Some(3)), &mut Hints::default()), Some(StopReason::Mate));
    }

    #[test]
    fn stops_where_there_is_no_mate_to_be_found() {
        let drawn = SearchStats { root_is_certain: true, ..SearchStats::default() };
        assert_eq!(MateLimit::new(3).should_stop(&drawn, &mut Hints::default()), Some(StopReason::Mate));
    }
}
