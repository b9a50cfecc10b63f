//! Win, draw and loss as a distribution, and its rescaling for contempt and another accuracy of play.
//!
//! A game is assumed to end with a logistically distributed advantage of mean μ and scale s for one side:
//! above 1 it wins, below −1 it loses, between them is a draw. The network's (Q, D) gives μ and s. Less
//! accurate play widens the scale, a weaker opponent moves the mean. Both apply to evaluations that enter the
//! tree. The move of the mean is taken back where values are shown (Lc0's "WDL rescale").
//!
//! Lc0's two models turn the Elo of both players into the two numbers of [`Rescale`]. The constants of the
//! second come from a fit to Stockfish's levels of play.

use std::f64::consts::LN_10;

use crate::chess::Color;
use crate::network::Value;
use crate::options::{OptionError, option_choice, option_group};

/// Probabilities nearer than this to 0 or 1 don't determine the distribution.
const MIN_PROBABILITY: f64 = 0.0001;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Advantage {
    /// The mean, μ. 1 is an even chance to win.
    mu: f64,
    s: f64,
}

impl Advantage {
    /// Solves `l = 1 / (1 + exp((1 + μ) / s))` and `w = 1 / (1 + exp((1 − μ) / s))`. `None` where a result is
    /// too sure or too unlikely.
    fn of(Value { wl, d, .. }: Value) -> Option<Advantage> {
        let (wl, d) = (f64::from(wl), f64::from(d));
        let w = (1.0 + wl - d) / 2.0;
        let l = (1.0 - wl - d) / 2.0;
        let is_telling = |p: f64| p > MIN_PROBABILITY && p < 1.0 - MIN_PROBABILITY;
        if ![w, d, l].into_iter().all(is_telling) {
            return None;
        }
        let (a, b) = (libm::log(1.0 / l - 1.0), libm::log(1.0 / w - 1.0));
        Some(Advantage {
            mu: (a - b) / (a + b),
            s: 2.0 / (a + b),
        })
    }

    fn applied_to(self, value: Value) -> Value {
        let w = logistic((self.mu - 1.0) / self.s);
        let l = logistic((-self.mu - 1.0) / self.s);
        Value {
            wl: (w - l) as f32,
            d: (1.0 - w - l).max(0.0) as f32,
            ..value
        }
    }
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rescale {
    /// Scale in the tree divided by the network's.
    ratio: f64,
    /// Added to μ of the favoured side, in units of the network's squared scale.
    diff: f64,
    /// `None` treats both sides alike.
    favoured: Option<Color>,
    /// Larger scales of the network count as this.
    max_s: f64,
    /// Share of the move of μ that is taken back where values are shown.
    objectivity: f64,
}

impl Default for Rescale {
    fn default() -> Self {
        let ContemptOptions {
            max_s, objectivity, ..
        } = ContemptOptions::default();
        Rescale {
            ratio: 1.0,
            diff: 0.0,
            favoured: None,
            max_s,
            objectivity,
        }
    }
}

impl Rescale {
    fn is_identity(&self) -> bool {
        self.ratio == 1.0 && (self.diff == 0.0 || self.favoured.is_none())
    }

    pub(crate) fn gives_same_values(&self, other: &Rescale) -> bool {
        let same = Rescale {
            objectivity: other.objectivity,
            ..*self
        } == *other;
        same || (self.is_identity() && other.is_identity())
    }

    fn shift(&self, viewer: Color) -> f64 {
        match self.favoured {
            None => 0.0,
            Some(side) if side == viewer => self.diff,
            Some(_) => -self.diff,
        }
    }

    pub(crate) fn apply(&self, value: Value, viewer: Color) -> Value {
        if self.is_identity() {
            return value;
        }
        let Some(Advantage { mu, s }) = Advantage::of(value) else {
            return value;
        };
        let s = s.min(self.max_s);
        Advantage {
            mu: mu + self.shift(viewer) * s * s,
            s: s * self.ratio,
        }
        .applied_to(value)
    }

    /// Without favour as far as the objectivity goes, and with its mean advantage.
    pub(crate) fn shown(&self, value: Value, viewer: Color) -> (Value, Option<f32>) {
        let Some(Advantage { mu, s }) = Advantage::of(value) else {
            return (value, None);
        };
        let shift = self.shift(viewer) * self.objectivity;
        if shift == 0.0 {
            return (value, Some(mu as f32));
        }
        let network_s = (s / self.ratio).min(self.max_s);
        let fair = Advantage {
            mu: mu - shift * network_s * network_s,
            s,
        };
        (fair.applied_to(value), Some(fair.mu as f32))
    }
}

option_choice! {
    pub enum ContemptMode {
        /// The engine's side, except in infinite search.
        Play = "play",
        /// White.
        White = "white_side_analysis",
        /// Black.
        Black = "black_side_analysis",
        /// None.
        Disable = "disable",
    }
}

option_group! {
    /// The options that decide how the network's values are rescaled for contempt and accuracy of play.
    pub struct ContemptOptions {
        /// Elo advantage over the opponent: a number, or NAME=NUMBER for opponents by UCI_Opponent, separated
        /// by commas. If empty, UCI_RatingAdv applies.
        advantages: String = String::new(), "Contempt", "contempt";
        /// Side that contempt favours. `play` is the engine's side, except in infinite search.
        mode: ContemptMode = ContemptMode::Play, "ContemptMode", "contempt-mode";
        /// Maximum contempt in Elo. Larger values count as this one.
        max_advantage: f64 = 420.0, in 0.0..=10_000.0, "ContemptMaxValue", "contempt-max-value", hidden;
        /// Elo of the favoured side, which determines draw rate and accuracy of play. 0 keeps those of the
        /// network.
        calibration_elo: f64 = 0.0, in 0.0..=10_000.0, "WDLCalibrationElo", "wdl-calibration-elo";
        /// Factor on the effect of contempt. 1 is realistic, and 0.5 to 0.6 plays best.
        attenuation: f64 = 1.0, in -10.0..=10.0, "WDLContemptAttenuation", "wdl-contempt-attenuation", hidden;
        /// Maximum scale (uncertainty) of a result under contempt. Raise it for odds games.
        max_s: f64 = 1.4, in 0.0..=10.0, "WDLMaxS", "wdl-max-s", hidden;
        /// Share of contempt that is removed from the values shown.
        objectivity: f64 = 1.0, in 0.0..=1.0, "WDLEvalObjectivity", "wdl-eval-objectivity";
        /// Draw rate to assume in equal positions. 0 keeps the network's draw rate. It has no effect under
        /// WDLCalibrationElo.
        draw_rate_target: f64 = 0.0, in 0.0..=0.999, "WDLDrawRateTarget", "wdl-draw-rate-target", hidden;
        /// Draw rate that the network predicts in equal positions.
        draw_rate_reference: f64 = 0.5, in 0.001..=0.999, "WDLDrawRateReference", "wdl-draw-rate-reference";
        /// Mean advantage at the end of the openings with which the Elo was measured. It has no effect under
        /// WDLCalibrationElo.
        book_exit_bias: f64 = 0.65, in -2.0..=2.0, "WDLBookExitBias", "wdl-book-exit-bias", hidden;
        /// Opponent as the GUI reports it: title, Elo, computer or human, name.
        opponent: String = String::new(), "UCI_Opponent", "opponent";
        /// Elo advantage over the opponent, as some GUIs send it. It applies unless Contempt gives another
        /// value.
        rating_advantage: f64 = 0.0, in -10_000.0..=10_000.0, "UCI_RatingAdv", "rating-adv";
    }
}

/// The Elo advantage by the option `Contempt`, whose entries are `value` or `name=value`. The first whose
/// name is part of the opponent's decides, else the last one without a name, else `rating_advantage`.
fn advantage_over(opponent: &str, list: &str, rating_advantage: f64) -> Result<f64, OptionError> {
    let opponent = opponent.to_lowercase();
    let (mut unnamed, mut named) = (rating_advantage, None);
    for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let (name, value) = entry
            .split_once('=')
            .map_or((None, entry), |(name, value)| (Some(name), value));
        let value = value.trim().parse().ok().filter(|elo: &f64| elo.is_finite());
        let value = value.ok_or_else(|| {
            let expected = "an Elo difference or NAME=DIFFERENCE".into();
            OptionError::Value {
                name: "Contempt".into(),
                value: entry.into(),
                expected,
            }
        })?;
        match name {
            None => unnamed = value,
            Some(name) if opponent.contains(&name.trim().to_lowercase()) => {
                named.get_or_insert(value);
            }
            Some(_) => {}
        }
    }
    Ok(named.unwrap_or(unnamed))
}

impl ContemptOptions {
    pub(crate) fn rescale(&self, turn: Color, infinite: bool) -> Result<Rescale, OptionError> {
        let favoured = match self.mode {
            ContemptMode::Play => (!infinite).then_some(turn),
            ContemptMode::White => Some(Color::White),
            ContemptMode::Black => Some(Color::Black),
            ContemptMode::Disable => None,
        };
        Ok(self.rescale_for(favoured, self.advantage()?))
    }

    /// True if there is contempt, but an infinite search favours no side.
    pub(crate) fn lacks_side(&self, infinite: bool) -> Result<bool, OptionError> {
        let has_contempt = self.rescale_for(None, self.advantage()?).diff != 0.0;
        Ok(has_contempt && infinite && self.mode == ContemptMode::Play)
    }

    pub(crate) fn advantage(&self) -> Result<f64, OptionError> {
        advantage_over(&self.opponent, &self.advantages, self.rating_advantage)
    }

    fn rescale_for(&self, favoured: Option<Color>, advantage: f64) -> Rescale {
        let advantage = advantage.clamp(-self.max_advantage, self.max_advantage);
        let (ratio, diff) = match self.calibration_elo {
            0.0 => self.by_draw_rates(advantage),
            elo => self.by_elo(elo, elo - advantage),
        };
        let diff = diff * self.attenuation;
        let favoured = favoured.filter(|_| diff != 0.0);
        Rescale {
            ratio,
            diff,
            favoured,
            max_s: self.max_s,
            objectivity: self.objectivity,
        }
    }

    fn by_draw_rates(&self, advantage: f64) -> (f64, f64) {
        let reference = scale_of_draw_rate(self.draw_rate_reference);
        let target = match self.draw_rate_target {
            0.0 => reference,
            // Smaller rates give meaningless numbers.
            rate => scale_of_draw_rate(rate.max(0.001)),
        };
        let bias = self.book_exit_bias;
        let slope = |distance: f64| (0.5 * distance / target).cosh().powi(-2);
        let steepness = slope(1.0 - bias) + slope(1.0 + bias);
        let diff = target / (reference * reference) / steepness * LN_10 / 200.0 * advantage;
        (target / reference, diff)
    }

    fn by_elo(&self, own: f64, opponent: f64) -> (f64, f64) {
        let reference = scale_of_draw_rate(self.draw_rate_reference);
        let (own, opponent) = (game_pair_elo(own), game_pair_elo(opponent));
        let target = ((scale_of_elo(own).powi(2) + scale_of_elo(opponent).powi(2)) / 2.0).sqrt();
        (
            target / reference,
            (mu_of_elo(own) - mu_of_elo(opponent)) / (reference * reference),
        )
    }
}

fn scale_of_draw_rate(rate: f64) -> f64 {
    1.0 / ((1.0 + rate) / (1.0 - rate)).ln()
}

/// The scale of random play.
const SCALE_ZERO: f64 = 15.0;
/// Elo over which the scale falls by a factor of e.
const ELO_SLOPE: f64 = 425.0;
/// The Elo at which it falls, in units of that slope.
const ELO_OFFSET: f64 = 6.75;

/// Converts the Elo of games to that of pairs of games, which grows even where most games are drawn.
fn game_pair_elo(elo: f64) -> f64 {
    const SHARPNESS: f64 = 250.0;
    const MIDPOINT: f64 = 2737.0;
    elo + 0.5 * SHARPNESS * ((MIDPOINT - elo) / SHARPNESS).exp().ln_1p()
}

fn scale_of_elo(elo: f64) -> f64 {
    1.0 / (1.0 / SCALE_ZERO + (elo / ELO_SLOPE - ELO_OFFSET).exp())
}

/// The integral of [`scale_of_elo`], in units of μ.
fn mu_of_elo(elo: f64) -> f64 {
    -LN_10 / 200.0 * SCALE_ZERO * ELO_SLOPE * ((ELO_OFFSET - elo / ELO_SLOPE).exp() / SCALE_ZERO).ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn assert_rescale(options: ContemptOptions, ratio: f64, diff: f64) {
        let rescale = options.rescale(Color::White, false).unwrap();
        assert!(
            (rescale.ratio - ratio).abs() < 1e-5 && (rescale.diff - diff).abs() < 1e-5,
            "{rescale:?}"
        );
    }

    #[test]
    fn nothing_happens_by_default() {
        let options = ContemptOptions::default();
        assert_eq!(options.rescale(Color::White, false), Ok(Rescale::default()));
        assert_eq!(options.lacks_side(true), Ok(false));
    }

    #[test]
    fn the_mode_chooses_the_side() {
        let favoured = |mode, infinite| {
            let options = ContemptOptions {
                rating_advantage: 100.0,
                mode,
                ..ContemptOptions::default()
            };
            options.rescale(Color::Black, infinite).unwrap().favoured
        };
        assert_eq!(favoured(ContemptMode::Play, false), Some(Color::Black));
        assert_eq!(favoured(ContemptMode::Play, true), None);
        assert_eq!(favoured(ContemptMode::White, true), Some(Color::White));
        assert_eq!(favoured(ContemptMode::Black, true), Some(Color::Black));
        assert_eq!(favoured(ContemptMode::Disable, false), None);
        let options = ContemptOptions {
            rating_advantage: 100.0,
            ..ContemptOptions::default()
        };
        assert_eq!(
            (options.lacks_side(true), options.lacks_side(false)),
            (Ok(true), Ok(false))
        );
    }

    #[test]
    fn draw_rates_worked_by_hand() {
        // The scale at 50 % draws is 1 / ln 3 = 0.910239. diff = ln 3 / (sech²(0.175 · ln 3) + sech²(0.825 ·
        // ln 3)) · ln 10 / 200 · 100
        assert_rescale(
            ContemptOptions {
                rating_advantage: 100.0,
                ..ContemptOptions::default()
            },
            1.0,
            0.874_449,
        );
        let sharper = ContemptOptions {
            draw_rate_target: 0.8,
            book_exit_bias: 1.0,
            ..ContemptOptions::default()
        };
        assert_rescale(
            ContemptOptions {
                rating_advantage: 100.0,
                ..sharper.clone()
            },
            0.5,
            0.603_340,
        );
        let capped = ContemptOptions {
            rating_advantage: 1000.0,
            book_exit_bias: 0.0,
            attenuation: 0.5,
            ..ContemptOptions::default()
        };
        assert_rescale(capped, 1.0, 1.770_754);
    }

    #[test]
    fn elo_worked_by_hand() {
        // 2737 is the midpoint: 2737 + 125 · ln 2 = 2823.643. Scale 1 / (1/15 + exp(6.643867 − 6.75)) =
        // 1.035227.
        assert_rescale(
            ContemptOptions {
                calibration_elo: 2737.0,
                ..ContemptOptions::default()
            },
            1.137_313,
            0.0,
        );
        let stronger = ContemptOptions {
            calibration_elo: 2800.0,
            rating_advantage: 100.0,
            ..ContemptOptions::default()
        };
        assert_rescale(stronger, 1.119_005, 1.064_758);
    }

    #[test]
    fn the_opponents_name_decides() {
        let list = "10, stockfish=-50,LEELA = 20,fish=7";
        for (opponent, expected) in [
            ("none 3600 computer Stockfish 17", -50.0),
            ("none none computer Leela", 20.0),
            ("none none computer Rodent", 10.0),
            ("", 10.0),
        ] {
            assert_eq!(advantage_over(opponent, list, 33.0), Ok(expected), "{opponent}");
        }
        assert_eq!(advantage_over("Rodent", "", 33.0), Ok(33.0));
        assert_eq!(advantage_over("Rodent", "leela=5", 33.0), Ok(33.0));
        for bad in ["much", "leela=", "a=b=1", "inf"] {
            assert!(
                advantage_over("", bad, 0.0)
                    .unwrap_err()
                    .to_string()
                    .contains(bad)
            );
        }
    }

    fn result(wl: f32, d: f32) -> Value {
        Value { wl, d, m: 40.0 }
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
            let rescale = Rescale {
                ratio: 0.5,
                ..Rescale::default()
            };
            assert_eq!(rescale.apply(result(wl, d), Color::White), result(wl, d));
            assert_eq!(rescale.shown(result(wl, d), Color::White), (result(wl, d), None));
        }
    }

    #[test]
    fn rescaling_worked_by_hand() {
        let rescale = Rescale {
            ratio: 0.5,
            diff: 0.2,
            favoured: Some(Color::Black),
            ..Rescale::default()
        };
        let Value { wl, d, .. } = rescale.apply(result(0.3, 0.5), Color::Black);
        assert!(
            close(wl.into(), 0.367_708) && close(d.into(), 0.614_298),
            "{wl} {d}"
        );
        let Value { wl, d, .. } = rescale.apply(result(0.3, 0.5), Color::White);
        assert!(
            close(wl.into(), 0.229_815) && close(d.into(), 0.737_163),
            "{wl} {d}"
        );
    }

    #[test]
    fn wide_distributions_are_capped() {
        // w = 0.45, l = 0.4: a = ln 1.5, b = ln(11/9): μ = 0.337869, s = 3.3, capped to 1.4
        let rescale = Rescale {
            diff: 1e-9,
            favoured: Some(Color::White),
            ..Rescale::default()
        };
        let Value { wl, d, .. } = rescale.apply(result(0.05, 0.15), Color::White);
        assert!(
            close(wl.into(), 0.106_162) && close(d.into(), 0.338_326),
            "{wl} {d}"
        );
    }

    #[test]
    fn objectivity_takes_favour_back() {
        let play = Rescale {
            ratio: 0.8,
            diff: 0.3,
            favoured: Some(Color::White),
            ..Rescale::default()
        };
        let fair = Rescale {
            favoured: None,
            ..play
        };
        let expected = fair.apply(result(0.1, 0.6), Color::White);
        let inside = play.apply(result(0.1, 0.6), Color::White);
        let (shown, _) = play.shown(inside, Color::White);
        assert!(
            (shown.wl - expected.wl).abs() < 1e-5 && (shown.d - expected.d).abs() < 1e-5,
            "{shown:?}"
        );
        let (raw, _) = Rescale {
            objectivity: 0.0,
            ..play
        }
        .shown(inside, Color::White);
        assert_eq!(result(raw.wl, raw.d), inside);
    }

    #[test]
    fn trees_are_told_apart_by_their_values() {
        let plain = Rescale::default();
        let play = Rescale {
            diff: 0.3,
            favoured: Some(Color::White),
            ..plain
        };
        assert!(plain.gives_same_values(&Rescale { diff: 0.3, ..plain }));
        assert!(play.gives_same_values(&Rescale {
            objectivity: 0.5,
            ..play
        }));
        assert!(!play.gives_same_values(&plain));
        assert!(!play.gives_same_values(&Rescale {
            favoured: Some(Color::Black),
            ..play
        }));
    }

    proptest! {
        #[test]
        fn a_distribution_gives_its_value_back(w in 0.001f32..0.9, l in 0.001f32..0.9) {
            prop_assume!(w + l < 0.999);
            let (wl, d) = (w - l, 1.0 - w - l);
            let back = Advantage::of(result(wl, d)).unwrap().applied_to(Value::DRAW);
            prop_assert!((wl - back.wl).abs() < 1e-5 && (d - back.d).abs() < 1e-5);
        }

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
