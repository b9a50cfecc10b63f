//! Contempt: how the strength of both players changes the results to expect.
//!
//! From the options' Elo figures to the two numbers that [`Rescale`] works with, by the two models of Lc0. The
//! constants of the second one come from a fit to Stockfish's levels of play. Called by `engine`.

use std::f64::consts::LN_10;

use thiserror::Error;

use super::wdl::Rescale;
use crate::chess::Color;

/// An entry of the option `Contempt` that is none.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("Contempt: \"{0}\" is not an Elo difference or NAME=DIFFERENCE")]
pub struct ContemptError(String);

/// The options that decide how values are rescaled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContemptParams {
    /// Elo by which the favoured side is the stronger one.
    pub advantage: f64,
    /// `ContemptMaxValue`: larger advantages count as this.
    pub max_advantage: f64,
    /// `WDLContemptAttenuation`: factor on the effect of the advantage.
    pub attenuation: f64,
    /// `WDLCalibrationElo`: Elo of the favoured side; 0 chooses the model by draw rates.
    pub calibration_elo: f64,
    /// `WDLDrawRateReference`: the draw rate that the network expects.
    pub draw_rate_reference: f64,
    /// `WDLDrawRateTarget`: the draw rate to expect instead; 0 keeps the network's.
    pub draw_rate_target: f64,
    /// `WDLBookExitBias`: μ of the positions from which the Elo was measured.
    pub book_exit_bias: f64,
    /// `WDLMaxS`: scales of the network above this count as this.
    pub max_s: f64,
    /// `WDLEvalObjectivity`: share of the contempt that is taken back where values are shown.
    pub objectivity: f64,
}

/// The advantage in Elo that the option `Contempt` gives against `opponent`: `list` has entries `value` or `name=value`,
/// separated by commas. The first entry whose name is part of the opponent's, in any case, decides; else the last
/// one without a name, else `rating_advantage`.
///
/// # Errors
/// If an entry is of neither form.
pub fn advantage_over(opponent: &str, list: &str, rating_advantage: f64) -> Result<f64, ContemptError> {
    let opponent = opponent.to_lowercase();
    let (mut unnamed, mut named) = (rating_advantage, None);
    for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let (name, value) = entry.split_once('=').map_or((None, entry), |(name, value)| (Some(name), value));
        let value = value.trim().parse().ok().filter(|elo: &f64| elo.is_finite());
        let value = value.ok_or_else(|| ContemptError(entry.into()))?;
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

impl ContemptParams {
    /// The rescaling, in favour of `favoured` if there is such a side.
    pub fn rescale(&self, favoured: Option<Color>) -> Rescale {
        let advantage = self.advantage.clamp(-self.max_advantage, self.max_advantage);
        let (ratio, diff) = match self.calibration_elo {
            0.0 => self.by_draw_rates(advantage),
            elo => self.by_elo(elo, elo - advantage),
        };
        let diff = diff * self.attenuation;
        let favoured = favoured.filter(|_| diff != 0.0);
        Rescale { ratio, diff, favoured, max_s: self.max_s, objectivity: self.objectivity }
    }

    /// Ratio and diff from the draw rates of the network and of the players.
    fn by_draw_rates(&self, advantage: f64) -> (f64, f64) {
        let reference = scale_of_draw_rate(self.draw_rate_reference);
        let target = match self.draw_rate_target {
            0.0 => reference,
            // Smaller rates than this make the numbers meaningless.
            rate => scale_of_draw_rate(rate.max(0.001)),
        };
        let bias = self.book_exit_bias;
        let slope = |distance: f64| (0.5 * distance / target).cosh().powi(-2);
        let steepness = slope(1.0 - bias) + slope(1.0 + bias);
        let diff = target / (reference * reference) / steepness * LN_10 / 200.0 * advantage;
        (target / reference, diff)
    }

    /// Ratio and diff from the Elo of the favoured side and of its opponent.
    fn by_elo(&self, own: f64, opponent: f64) -> (f64, f64) {
        let reference = scale_of_draw_rate(self.draw_rate_reference);
        let (own, opponent) = (game_pair_elo(own), game_pair_elo(opponent));
        let target = ((scale_of_elo(own).powi(2) + scale_of_elo(opponent).powi(2)) / 2.0).sqrt();
        (target / reference, (mu_of_elo(own) - mu_of_elo(opponent)) / (reference * reference))
    }
}

/// The scale at which equal players draw at this rate.
fn scale_of_draw_rate(rate: f64) -> f64 {
    1.0 / ((1.0 + rate) / (1.0 - rate)).ln()
}

/// The largest scale: that of random play.
const SCALE_ZERO: f64 = 15.0;
/// Elo over which the scale falls by a factor of e.
const ELO_SLOPE: f64 = 425.0;
/// Where it falls, in units of that slope.
const ELO_OFFSET: f64 = 6.75;

/// Elo of games, as Elo of pairs of games from unbalanced openings, which grow evenly also where most games are drawn.
fn game_pair_elo(elo: f64) -> f64 {
    const SHARPNESS: f64 = 250.0;
    const MIDPOINT: f64 = 2737.0;
    elo + 0.5 * SHARPNESS * ((MIDPOINT - elo) / SHARPNESS).exp().ln_1p()
}

/// Scale of the results of players of this strength.
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

    const DEFAULTS: ContemptParams = ContemptParams {
        advantage: 0.0,
        max_advantage: 420.0,
        attenuation: 1.0,
        calibration_elo: 0.0,
        draw_rate_reference: 0.5,
        draw_rate_target: 0.0,
        book_exit_bias: 0.65,
        max_s: 1.4,
        objectivity: 1.0,
    };

    fn assert_rescale(params: ContemptParams, ratio: f64, diff: f64) {
        let rescale = params.rescale(Some(Color::White));
        assert!((rescale.ratio - ratio).abs() < 1e-5 && (rescale.diff - diff).abs() < 1e-5, "{rescale:?}");
    }

    #[test]
    fn nothing_happens_by_default() {
        assert_eq!(DEFAULTS.rescale(Some(Color::White)), Rescale::default());
    }

    #[test]
    fn draw_rates_worked_by_hand() {
        // The scale at 50 % draws is 1 / ln 3 = 0.910239; without a target the ratio is 1.
        // diff = ln 3 / (sech²(0.175 · ln 3) + sech²(0.825 · ln 3)) · ln 10 / 200 · 100
        //      = 1.098612 / (0.963929 + 0.482495) · 1.151293 = 0.874449
        assert_rescale(ContemptParams { advantage: 100.0, ..DEFAULTS }, 1.0, 0.874_449);
        // 80 % draws: 1 / ln 9, half of it. Bias 1: sech²(0) + sech²(ln 9) = 1 + 0.048186.
        let sharper = ContemptParams { draw_rate_target: 0.8, book_exit_bias: 1.0, ..DEFAULTS };
        assert_rescale(ContemptParams { advantage: 100.0, ..sharper }, 0.5, 0.603_340);
        // 1000 Elo count as 420, and half of the effect is taken: 1.098612 / (2 · 0.75) · 4.835429 / 2.
        let capped = ContemptParams { advantage: 1000.0, book_exit_bias: 0.0, attenuation: 0.5, ..DEFAULTS };
        assert_rescale(capped, 1.0, 1.770_754);
    }

    #[test]
    fn elo_worked_by_hand() {
        // 2737 is the midpoint: 2737 + 125 · ln 2 = 2823.643; scale 1 / (1/15 + exp(6.643867 − 6.75)) = 1.035227;
        // times ln 3: 1.137313
        assert_rescale(ContemptParams { calibration_elo: 2737.0, ..DEFAULTS }, 1.137_313, 0.0);
        // 2800 against 2700: 2871.883 and 2796.236; scales 0.931042 and 1.099135, together 1.018562;
        // μ −4.703099 and −5.585289; (ln 3)² · 0.882190 = 1.064758
        let stronger = ContemptParams { calibration_elo: 2800.0, advantage: 100.0, ..DEFAULTS };
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
            assert_eq!(advantage_over("", bad, 0.0), Err(ContemptError(bad.into())));
        }
    }
}
