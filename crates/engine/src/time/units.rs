//! Units of time management.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::time::Duration;

/// May be negative or infinite.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Millis(pub f64);

impl Millis {
    /// No time.
    pub const ZERO: Millis = Millis(0.0);
    pub(crate) const INFINITY: Millis = Millis(f64::INFINITY);

    /// Seconds as milliseconds.
    pub fn from_secs(seconds: f64) -> Millis {
        Millis(seconds * 1000.0)
    }

    /// Milliseconds as seconds.
    pub fn as_secs(self) -> f64 {
        self.0 / 1000.0
    }

    pub(crate) fn min(self, other: Millis) -> Millis {
        Millis(self.0.min(other.0))
    }

    /// The longer of both.
    pub fn max(self, other: Millis) -> Millis {
        Millis(self.0.max(other.0))
    }

    /// Negative spans are zero. `None` if it is infinite or too long.
    pub fn to_duration(self) -> Option<Duration> {
        let seconds = Some(self.as_secs()).filter(|seconds| seconds.is_finite())?;
        Duration::try_from_secs_f64(seconds.max(0.0)).ok()
    }
}

impl From<Duration> for Millis {
    fn from(duration: Duration) -> Millis {
        Millis::from_secs(duration.as_secs_f64())
    }
}

impl Add for Millis {
    type Output = Millis;

    fn add(self, other: Millis) -> Millis {
        Millis(self.0 + other.0)
    }
}

impl Sub for Millis {
    type Output = Millis;

    fn sub(self, other: Millis) -> Millis {
        Millis(self.0 - other.0)
    }
}

impl AddAssign for Millis {
    fn add_assign(&mut self, other: Millis) {
        self.0 += other.0;
    }
}

impl Mul<f64> for Millis {
    type Output = Millis;

    fn mul(self, factor: f64) -> Millis {
        Millis(self.0 * factor)
    }
}

impl Div<f64> for Millis {
    type Output = Millis;

    fn div(self, divisor: f64) -> Millis {
        Millis(self.0 / divisor)
    }
}

/// Visits under the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nodes(pub u64);

impl From<u32> for Nodes {
    fn from(visits: u32) -> Nodes {
        Nodes(visits.into())
    }
}

impl Nodes {
    pub(crate) const MAX: Nodes = Nodes(u64::MAX);

    pub(crate) fn saturating_sub(self, other: Nodes) -> Nodes {
        Nodes(self.0.saturating_sub(other.0))
    }

    /// The number as a float.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

/// A computed number of nodes, fractional, infinite where nothing limits it.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct ExpectedNodes(pub f64);

/// New nodes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Nps(pub f64);

/// Plies played before a position, 0 before White's first move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GamePly(pub u32);

impl GamePly {
    pub(crate) fn as_f64(self) -> f64 {
        f64::from(self.0)
    }
}

/// Half moves, whole or as a mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Plies(pub f64);

/// Lc0's figures.
const SCALE: f64 = 90.0;
const STEEPNESS: f64 = 1.563_754_189_7;

/// Hundredths of a pawn from an expected result of `-1..=1`, as in Lc0.
pub fn centipawns(value: f64) -> f64 {
    SCALE * (STEEPNESS * value).tan()
}

/// The inverse of [`centipawns`], `-1..=1`.
pub(crate) fn expected_result(centipawns: f64) -> f64 {
    ((centipawns / SCALE).atan() / STEEPNESS).clamp(-1.0, 1.0)
}

macro_rules! written_as_numbers {
    ($($Unit:ty),+) => {
        $(impl fmt::Display for $Unit {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        })+
    };
}

written_as_numbers!(Millis, Nodes, ExpectedNodes, Nps, Plies);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_and_durations() {
        assert_eq!(Millis::from(Duration::from_micros(1_500)), Millis(1.5));
        assert_eq!(Millis(1_500.0).to_duration(), Some(Duration::from_millis(1_500)));
        assert_eq!(Millis(-1.0).to_duration(), Some(Duration::ZERO));
        assert_eq!(Millis::INFINITY.to_duration(), None);
        assert_eq!(format!("{:.1}", Millis(12.34)), "12.3");
    }

    #[test]
    fn a_pawn_up() {
        assert_eq!(centipawns(0.0), 0.0);
        // tan(1.5637541897·0.5) = tan(0.7818770949) = 0.99298
        assert!((centipawns(0.5) - 89.37).abs() < 0.01);
        assert!((expected_result(centipawns(0.5)) - 0.5).abs() < 1e-12);
        assert_eq!(expected_result(f64::INFINITY), 1.0);
    }
}
