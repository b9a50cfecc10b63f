//! Contempt: the strength of both players changes the results to expect.
//!
//! Turns the options' Elo figures into the two numbers that [`Rescale`] works with, by the two models of Lc0. The
//! constants of the second one come from a fit to Stockfish's levels of play. Called by `engine`.

use std::f64::consts::LN_10;

use thiserror::Error;

use crate::chess::Color;
use crate::options::{OptionChoice, option_group};
use crate::search::state::wdl::Rescale;

/// The error for an entry of the option `Contempt` that has no known form.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("Contempt: \"{0}\" is not an Elo difference or NAME=DIFFERENCE")]
pub struct ContemptError(String);

/// The side that contempt favours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContemptMode {
    /// The side that searches, except in infinite search.
    Play,
    /// White.
    White,
    /// Black.
    Black,
    /// None.
    Disable,
}

impl OptionChoice for ContemptMode {
    const CHOICES: &'static [(&'static str, ContemptMode)] = &[
        ("play", ContemptMode::Play),
        ("white_side_analysis", ContemptMode::White),
        ("black_side_analysis", ContemptMode::Black),
        ("disable", ContemptMode::Disable),
    ];
}

option_group! {
    /// The options that decide how the network's values are rescaled for contempt and accuracy of play.
    pub struct ContemptOptions {
        /// Elo by which we are stronger than the opponent: a number, or NAME=NUMBER for opponents by UCI_Opponent, separated by commas. Empty: UCI_RatingAdv.
        advantages: String = String::new(), "Contempt", "contempt";
        /// The side that contempt favours; `play` is the side that searches, except in infinite search.
        mode: ContemptMode = ContemptMode::Play, "ContemptMode", "contempt-mode";
        /// Largest contempt, Elo; larger values count as this.
        max_advantage: f64 = 420.0, in 0.0..=10_000.0, "ContemptMaxValue", "contempt-max-value", hidden;
        /// Elo of the favoured side, from which draw rate and accuracy of play follow; 0 leaves them as the network has them.
        calibration_elo: f64 = 0.0, in 0.0..=10_000.0, "WDLCalibrationElo", "wdl-calibration-elo";
        /// Factor on the effect of contempt: 1 is realistic, 0.5 to 0.6 plays best.
        attenuation: f64 = 1.0, in -10.0..=10.0, "WDLContemptAttenuation", "wdl-contempt-attenuation", hidden;
        /// Largest scale (uncertainty) of a result under contempt; larger ones count as this. Raise it for odds games.
        max_s: f64 = 1.4, in 0.0..=10.0, "WDLMaxS", "wdl-max-s", hidden;
        /// Share of contempt that is taken out of the values shown.
        objectivity: f64 = 1.0, in 0.0..=1.0, "WDLEvalObjectivity", "wdl-eval-objectivity";
        /// Draw rate to expect in equal positions; 0 keeps the network's. Without effect under WDLCalibrationElo.
        draw_rate_target: f64 = 0.0, in 0.0..=0.999, "WDLDrawRateTarget", "wdl-draw-rate-target", hidden;
        /// Draw rate in equal positions that the network predicts.
        draw_rate_reference: f64 = 0.5, in 0.001..=0.999, "WDLDrawRateReference", "wdl-draw-rate-reference";
        /// Mean advantage of the openings from which the Elo was measured. Without effect under WDLCalibrationElo.
        book_exit_bias: f64 = 0.65, in -2.0..=2.0, "WDLBookExitBias", "wdl-book-exit-bias", hidden;
        /// The opponent, as GUIs name it: title, Elo, computer or human, name.
        opponent: String = String::new(), "UCI_Opponent", "opponent";
        /// Elo by which we are stronger, as some GUIs send it; contempt starts from it.
        rating_advantage: f64 = 0.0, in -10_000.0..=10_000.0, "UCI_RatingAdv", "rating-adv";
    }
}

/// Returns the advantage in Elo that the option `Contempt` gives against `opponent`: `list` has entries `value` or `name=value`,
/// separated by commas. The first entry whose name is part of the opponent's, in any case, decides; else the last
/// one without a name, else `rating_advantage`.
///
/// # Errors
/// Fails if an entry is of neither form.
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

impl ContemptOptions {
    /// Returns how values are rescaled when `turn` moves at the root, in a search that is `infinite` or not.
    ///
    /// # Errors
    /// Fails if an entry of `Contempt` is of neither form.
    pub fn rescale(&self, turn: Color, infinite: bool) -> Result<Rescale, ContemptError> {
        let favoured = match self.mode {
            ContemptMode::Play => (!infinite).then_some(turn),
            ContemptMode::White => Some(Color::White),
            ContemptMode::Black => Some(Color::Black),
            ContemptMode::Disable => None,
        };
        Ok(self.rescale_for(favoured, self.advantage()?))
    }

    /// Returns true if the options ask for contempt but favour no side in an infinite search.
    ///
    /// # Errors
    /// Fails if an entry of `Contempt` is of neither form.
    pub fn lacks_side(&self, infinite: bool) -> Result<bool, ContemptError> {
        let has_contempt = self.rescale_for(None, self.advantage()?).has_contempt();
        Ok(has_contempt && infinite && self.mode == ContemptMode::Play)
    }

    /// Returns the Elo by which the favoured side is the stronger one.
    ///
    /// # Errors
    /// Fails if an entry of `Contempt` is of neither form.
    pub fn advantage(&self) -> Result<f64, ContemptError> {
        advantage_over(&self.opponent, &self.advantages, self.rating_advantage)
    }

    /// Returns the rescaling for this advantage in Elo, in favour of `favoured` if there is such a side.
    fn rescale_for(&self, favoured: Option<Color>, advantage: f64) -> Rescale {
        let advantage = advantage.clamp(-self.max_advantage, self.max_advantage);
        let (ratio, diff) = match self.calibration_elo {
            0.0 => self.by_draw_rates(advantage),
            elo => self.by_elo(elo, elo - advantage),
        };
        let diff = diff * self.attenuation;
        let favoured = favoured.filter(|_| diff != 0.0);
        Rescale { ratio, diff, favoured, max_s: self.max_s, objectivity: self.objectivity }
    }

    /// Returns ratio and diff from the draw rates of the network and of the players.
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

    /// Returns ratio and diff from the Elo of the favoured side and of its opponent.
    fn by_elo(&self, own: f64, opponent: f64) -> (f64, f64) {
        let reference = scale_of_draw_rate(self.draw_rate_reference);
        let (own, opponent) = (game_pair_elo(own), game_pair_elo(opponent));
        let target = ((scale_of_elo(own).powi(2) + scale_of_elo(opponent).powi(2)) / 2.0).sqrt();
        (target / reference, (mu_of_elo(own) - mu_of_elo(opponent)) / (reference * reference))
    }
}

/// Returns the scale at which equal players draw at this rate.
fn scale_of_draw_rate(rate: f64) -> f64 {
    1.0 / ((1.0 + rate) / (1.0 - rate)).ln()
}

/// The largest scale: that of random play.
const SCALE_ZERO: f64 = 15.0;
/// Elo over which the scale falls by a factor of e.
const ELO_SLOPE: f64 = 425.0;
/// The Elo at which it falls, in units of that slope.
const ELO_OFFSET: f64 = 6.75;

/// Turns the Elo of games into that of pairs of games from unbalanced openings, which grows evenly even where most
/// games are drawn.
fn game_pair_elo(elo: f64) -> f64 {
    const SHARPNESS: f64 = 250.0;
    const MIDPOINT: f64 = 2737.0;
    elo + 0.5 * SHARPNESS * ((MIDPOINT - elo) / SHARPNESS).exp().ln_1p()
}

/// Returns the scale of the results of players of this strength.
fn scale_of_elo(elo: f64) -> f64 {
    1.0 / (1.0 / SCALE_ZERO + (elo / ELO_SLOPE - ELO_OFFSET).exp())
}

/// Returns the integral of [`scale_of_elo`], in units of μ.
fn mu_of_elo(elo: f64) -> f64 {
    -LN_10 / 200.0 * SCALE_ZERO * ELO_SLOPE * ((ELO_OFFSET - elo / ELO_SLOPE).exp() / SCALE_ZERO).ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_rescale(options: ContemptOptions, ratio: f64, diff: f64) {
        let rescale = options.rescale(Color::White, false).unwrap();
        assert!((rescale.ratio - ratio).abs() < 1e-5 && (rescale.diff - diff).abs() < 1e-5, "{rescale:?}");
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
            let options = ContemptOptions { rating_advantage: 100.0, mode, ..ContemptOptions::default() };
            options.rescale(Color::Black, infinite).unwrap().favoured
        };
        assert_eq!(favoured(ContemptMode::Play, false), Some(Color::Black));
        assert_eq!(favoured(ContemptMode::Play, true), None);
        assert_eq!(favoured(ContemptMode::White, true), Some(Color::White));
        assert_eq!(favoured(ContemptMode::Black, true), Some(Color::Black));
        assert_eq!(favoured(ContemptMode::Disable, false), None);
        let options = ContemptOptions { rating_advantage: 100.0, ..ContemptOptions::default() };
        assert_eq!((options.lacks_side(true), options.lacks_side(false)), (Ok(true), Ok(false)));
    }

    #[test]
    fn draw_rates_worked_by_hand() {
        // The scale at 50 % draws is 1 / ln 3 = 0.910239; without a target the ratio is 1.
        // diff = ln 3 / (sech²(0.175 · ln 3) + sech²(0.825 · ln 3)) · ln 10 / 200 · 100
        //      = 1.098612 / (0.963929 + 0.482495) · 1.151293 = 0.874449
        assert_rescale(
            ContemptOptions { rating_advantage: 100.0, ..ContemptOptions::default() },
            1.0,
            0.874_449,
        );
        // 80 % draws: 1 / ln 9, half of it. Bias 1: sech²(0) + sech²(ln 9) = 1 + 0.048186.
        let sharper =
            ContemptOptions { draw_rate_target: 0.8, book_exit_bias: 1.0, ..ContemptOptions::default() };
        assert_rescale(ContemptOptions { rating_advantage: 100.0, ..sharper.clone() }, 0.5, 0.603_340);
        // 1000 Elo count as 420, and half of the effect is taken: 1.098612 / (2 · 0.75) · 4.835429 / 2.
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
        // 2737 is the midpoint: 2737 + 125 · ln 2 = 2823.643; scale 1 / (1/15 + exp(6.643867 − 6.75)) = 1.035227;
        // times ln 3: 1.137313
        assert_rescale(
            ContemptOptions { calibration_elo: 2737.0, ..ContemptOptions::default() },
            1.137_313,
            0.0,
        );
        // 2800 against 2700: 2871.883 and 2796.236; scales 0.931042 and 1.099135, together 1.018562;
        // μ −4.703099 and −5.585289; (ln 3)² · 0.882190 = 1.064758
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
            assert_eq!(advantage_over("", bad, 0.0), Err(ContemptError(bad.into())));
        }
    }
}
