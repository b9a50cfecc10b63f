//! Win, draw and loss as a distribution with two parameters, and its rescaling for another accuracy of play and for
//! contempt.
//!
//! A game is taken to end with a logistically distributed advantage of mean μ and scale s, from the point of view of
//! the side that values it: above 1 is a win, below −1 a loss, between them a draw. The network's (Q, D) gives μ and
//! s. Less accurate play widens the scale, an opponent who is weaker moves the mean; both are applied where an
//! evaluation enters the tree, and the move of the mean is taken back where values are shown (the model of Lc0's "WDL
//! rescale"). Called by `backup`, `info` and `move_stats`; `contempt` computes the two numbers.

use crate::chess::Color;
use crate::search::state::contempt::ContemptOptions;
use crate::search::tree::NodeValue;

/// Probabilities nearer than this to 0 or 1 say too little of the distribution's shape.
const MIN_PROBABILITY: f64 = 0.0001;

/// A result to expect, for one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ExpectedResult {
    /// Win minus loss, `-1..=1`.
    pub(crate) wl: f32,
    /// Draw probability, `0..=1`.
    pub(crate) d: f32,
}

impl From<NodeValue> for ExpectedResult {
    fn from(value: NodeValue) -> ExpectedResult {
        ExpectedResult { wl: value.v, d: value.d }
    }
}

/// The advantage at the end of the game: a logistic distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Advantage {
    /// The mean, μ; 1 is an even chance to win.
    pub(crate) mu: f64,
    /// The scale, s: how uncertain the result is.
    pub(crate) s: f64,
}

impl Advantage {
    /// Returns the distribution with the expected result `wl` (win minus loss) and draw probability `d`; `None` where one
    /// of the three results is too sure or too unlikely. With `l = 1 / (1 + exp((1 + μ) / s))` and
    /// `w = 1 / (1 + exp((1 − μ) / s))` it is solved for μ and s.
    pub(crate) fn of(ExpectedResult { wl, d }: ExpectedResult) -> Option<Advantage> {
        let (wl, d) = (f64::from(wl), f64::from(d));
        let (w, l) = ((1.0 + wl - d) / 2.0, (1.0 - wl - d) / 2.0);
        let is_telling = |p: f64| p > MIN_PROBABILITY && p < 1.0 - MIN_PROBABILITY;
        if ![w, d, l].into_iter().all(is_telling) {
            return None;
        }
        let (a, b) = (libm::log(1.0 / l - 1.0), libm::log(1.0 / w - 1.0));
        Some(Advantage { mu: (a - b) / (a + b), s: 2.0 / (a + b) })
    }

    /// Returns the result to expect.
    pub(crate) fn result(self) -> ExpectedResult {
        let w = logistic((self.mu - 1.0) / self.s);
        let l = logistic((-self.mu - 1.0) / self.s);
        ExpectedResult { wl: (w - l) as f32, d: (1.0 - w - l).max(0.0) as f32 }
    }
}

/// Returns the logistic function of `x`.
fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

/// The change of the network's values for the tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rescale {
    /// Scale in the tree divided by the network's.
    pub(crate) ratio: f64,
    /// The number that is added to μ of the favoured side, in units of the network's squared scale.
    pub(crate) diff: f64,
    /// The side whose chances are raised; `None` if both are treated alike.
    pub(crate) favoured: Option<Color>,
    /// Scales of the network above this count as this.
    pub(crate) max_s: f64,
    /// Share of the move of μ that is taken back where values are shown.
    pub(crate) objectivity: f64,
}

impl Default for Rescale {
    /// Returns the rescaling that changes nothing.
    fn default() -> Self {
        let ContemptOptions { max_s, objectivity, .. } = ContemptOptions::default();
        Rescale { ratio: 1.0, diff: 0.0, favoured: None, max_s, objectivity }
    }
}

/// A value out of the tree as it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ShownValue {
    /// Win minus loss.
    pub(crate) wl: f32,
    /// Draw probability.
    pub(crate) d: f32,
    /// Mean of the advantage, where it has one.
    pub(crate) mu: Option<f32>,
}

impl Rescale {
    /// Returns whether it leaves every value as it is.
    pub(crate) fn is_identity(&self) -> bool {
        self.ratio == 1.0 && (self.diff == 0.0 || self.favoured.is_none())
    }

    /// Returns whether one side would be favoured, if there were one to favour.
    pub(crate) fn has_contempt(&self) -> bool {
        self.diff != 0.0
    }

    /// Returns whether trees made with `self` and with `other` hold the same values.
    pub(crate) fn gives_same_values(&self, other: &Rescale) -> bool {
        let same = Rescale { objectivity: other.objectivity, ..*self } == *other;
        same || (self.is_identity() && other.is_identity())
    }

    /// Returns what is added to μ of `viewer`, in units of the network's squared scale.
    fn shift(&self, viewer: Color) -> f64 {
        match self.favoured {
            None => 0.0,
            Some(side) if side == viewer => self.diff,
            Some(_) => -self.diff,
        }
    }

    /// Returns the network's `result` for `viewer` as it goes into the tree.
    pub(crate) fn apply(&self, result: ExpectedResult, viewer: Color) -> ExpectedResult {
        if self.is_identity() {
            return result;
        }
        let Some(Advantage { mu, s }) = Advantage::of(result) else { return result };
        let s = s.min(self.max_s);
        Advantage { mu: mu + self.shift(viewer) * s * s, s: s * self.ratio }.result()
    }

    /// Returns the tree's `result` for `viewer` as it is shown: with the tree's accuracy of play, but without favour, as far
    /// as the objectivity goes.
    pub(crate) fn shown(&self, result: ExpectedResult, viewer: Color) -> ShownValue {
        let ExpectedResult { wl, d } = result;
        let Some(Advantage { mu, s }) = Advantage::of(result) else { return ShownValue { wl, d, mu: None } };
        let shift = self.shift(viewer) * self.objectivity;
        if shift == 0.0 {
            return ShownValue { wl, d, mu: Some(mu as f32) };
        }
        let network_s = (s / self.ratio).min(self.max_s);
        let fair = Advantage { mu: mu - shift * network_s * network_s, s };
        let ExpectedResult { wl, d } = fair.result();
        ShownValue { wl, d, mu: Some(fair.mu as f32) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn result(wl: f32, d: f32) -> ExpectedResult {
        ExpectedResult { wl, d }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-5
    }

    #[test]
    fn distributions_worked_by_hand() {
        // w = l = 1/4: a = b = ln 3
        let even = Advantage::of(result(0.0, 0.5)).unwrap();
        assert!(close(even.mu, 0.0) && close(even.s, 1.0 / 3f64.ln()));
        // w = 0.4, l = 0.1: a = ln 9, b = ln 1.5, so μ = ln 6 / ln 13.5 and s = 2 / ln 13.5
        let better = Advantage::of(result(0.3, 0.5)).unwrap();
        assert!(close(better.mu, 6f64.ln() / 13.5f64.ln()) && close(better.s, 2.0 / 13.5f64.ln()));
        // An even chance to win: w = 1/2, so b = 0 and μ = 1
        assert!(close(Advantage::of(result(0.4, 0.4)).unwrap().mu, 1.0));
    }

    #[test]
    fn what_is_nearly_certain_has_no_distribution() {
        for (wl, d) in [(1.0, 0.0), (0.0, 1.0), (0.5, 0.0), (0.99995, 0.00004), (0.5, 0.6)] {
            assert_eq!(Advantage::of(result(wl, d)), None, "{wl} {d}");
            let rescale = Rescale { ratio: 0.5, ..Rescale::default() };
            assert_eq!(rescale.apply(result(wl, d), Color::White), result(wl, d));
            assert_eq!(rescale.shown(result(wl, d), Color::White), ShownValue { wl, d, mu: None });
        }
    }

    #[test]
    fn rescaling_worked_by_hand() {
        let rescale = Rescale { ratio: 0.5, diff: 0.2, favoured: Some(Color::Black), ..Rescale::default() };
        // μ = 0.688426, s = 0.768436; μ' = μ ± 0.2 s² = 0.806525 or 0.570327; s' = 0.384218;
        // Black: w = 1 / (1 + exp(0.193475 / 0.384218)) = 0.376705, l = 1 / (1 + exp(1.806525 / 0.384218)) = 0.008997
        let ExpectedResult { wl, d } = rescale.apply(result(0.3, 0.5), Color::Black);
        assert!(close(wl.into(), 0.367_708) && close(d.into(), 0.614_298), "{wl} {d}");
        let ExpectedResult { wl, d } = rescale.apply(result(0.3, 0.5), Color::White);
        assert!(close(wl.into(), 0.229_815) && close(d.into(), 0.737_163), "{wl} {d}");
    }

    #[test]
    fn wide_distributions_are_capped() {
        // w = 0.45, l = 0.4: a = ln 1.5, b = ln(11/9): μ = 0.337869, s = 3.3; with the scale 1.4
        // w = 1 / (1 + exp(0.662131 / 1.4)) = 0.383918, l = 1 / (1 + exp(1.337869 / 1.4)) = 0.277756
        let rescale = Rescale { diff: 1e-9, favoured: Some(Color::White), ..Rescale::default() };
        let ExpectedResult { wl, d } = rescale.apply(result(0.05, 0.15), Color::White);
        assert!(close(wl.into(), 0.106_162) && close(d.into(), 0.338_326), "{wl} {d}");
    }

    #[test]
    fn objectivity_takes_favour_back() {
        let play = Rescale { ratio: 0.8, diff: 0.3, favoured: Some(Color::White), ..Rescale::default() };
        let fair = Rescale { favoured: None, ..play };
        let expected = fair.apply(result(0.1, 0.6), Color::White);
        let inside = play.apply(result(0.1, 0.6), Color::White);
        let shown = play.shown(inside, Color::White);
        assert!((shown.wl - expected.wl).abs() < 1e-5 && (shown.d - expected.d).abs() < 1e-5, "{shown:?}");
        let raw = Rescale { objectivity: 0.0, ..play }.shown(inside, Color::White);
        assert_eq!(result(raw.wl, raw.d), inside);
    }

    #[test]
    fn trees_are_told_apart_by_their_values() {
        let plain = Rescale::default();
        let play = Rescale { diff: 0.3, favoured: Some(Color::White), ..plain };
        assert!(plain.gives_same_values(&Rescale { diff: 0.3, ..plain }));
        assert!(play.gives_same_values(&Rescale { objectivity: 0.5, ..play }));
        assert!(!play.gives_same_values(&plain));
        assert!(!play.gives_same_values(&Rescale { favoured: Some(Color::Black), ..play }));
    }

    proptest! {
        #[test]
        fn a_distribution_gives_its_value_back(w in 0.001f32..0.9, l in 0.001f32..0.9) {
            prop_assume!(w + l < 0.999);
            let (wl, d) = (w - l, 1.0 - w - l);
            let back = Advantage::of(result(wl, d)).unwrap().result();
            prop_assert!((wl - back.wl).abs() < 1e-5 && (d - back.d).abs() < 1e-5);
        }

        /// The other side loses what one side gains.
        #[test]
        fn both_sides_see_the_same(w in 0.01f32..0.9, l in 0.01f32..0.9, ratio in 0.3f64..2.0, diff in -2f64..2.0) {
            prop_assume!(w + l < 0.99);
            let rescale = Rescale { ratio, diff, favoured: Some(Color::White), ..Rescale::default() };
            let white = rescale.apply(result(w - l, 1.0 - w - l), Color::White);
            let black = rescale.apply(result(l - w, 1.0 - w - l), Color::Black);
            prop_assert!((white.wl + black.wl).abs() < 1e-5 && (white.d - black.d).abs() < 1e-5);
            prop_assert!((-1.0..=1.0).contains(&white.wl) && (0.0..=1.0).contains(&white.d));
        }
    }
}
