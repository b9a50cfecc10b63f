//! Drawing the move to play instead of taking the best, so that games differ. The rules are those of Lc0.

use crate::options::option_group;
use crate::weighted_draw;

option_group! {
    /// The options for drawing the move. By default, with all 0 but the cutoff of values, the best move is played.
    #[derive(Copy)]
    pub struct TemperatureParams {
        /// Temperature of the draw: a move's chance is its visits to the power of 1 / temperature. 0 plays the best.
        initial: f32 = 0.0, in 0.0..=100.0, "Temperature", "temperature", hidden;
        /// Moves of the game over which the temperature falls to 0; 0: it does not fall.
        decay_moves: u32 = 0, in 0..=640, "TempDecayMoves", "tempdecay-moves", hidden;
        /// Moves of the game before the temperature begins to fall.
        decay_delay_moves: u32 = 0, in 0..=100, "TempDecayDelayMoves", "tempdecay-delay-moves", hidden;
        /// Move of the game from which on TempEndgame is the temperature; 0: never.
        cutoff_move: u32 = 0, in 0..=1000, "TempCutoffMove", "temp-cutoff-move", hidden;
        /// Temperature from TempCutoffMove on, and the least to which it falls before.
        endgame: f32 = 0.0, in 0.0..=100.0, "TempEndgame", "temp-endgame", hidden;
        /// Expected score, percent, by which a move may fall short of the most visited one's and still be drawn.
        value_cutoff: f32 = 100.0, in 0.0..=100.0, "TempValueCutoff", "temp-value-cutoff", hidden;
        /// Number that is added to each move's visits before the draw; moves below 0 are not drawn.
        visit_offset: f32 = 0.0, in -1000.0..=1000.0, "TempVisitOffset", "temp-visit-offset", hidden;
    }
}

impl TemperatureParams {
    /// Returns the temperature of a move after `game_ply` plies of the game.
    pub(crate) fn at(&self, game_ply: u32) -> f32 {
        let moves = game_ply / 2;
        if self.cutoff_move > 0 && moves + 1 >= self.cutoff_move {
            return self.endgame;
        }
        if self.initial == 0.0 || self.decay_moves == 0 {
            return self.initial;
        }
        let left =
            (self.decay_delay_moves + self.decay_moves).saturating_sub(moves.max(self.decay_delay_moves));
        (self.initial * left as f32 / self.decay_moves as f32).max(self.endgame)
    }

    /// Draws one of `candidates` at a temperature above 0 and returns its index; `None` if none of them may be drawn.
    pub(crate) fn draw(
        &self,
        temperature: f32,
        candidates: &[DrawCandidate],
        rng: &mut fastrand::Rng,
    ) -> Option<usize> {
        let visits = |candidate: &DrawCandidate| candidate.visits as f32 + self.visit_offset;
        let most = candidates.iter().reduce(|a, b| if visits(b) > visits(a) { b } else { a })?;
        let power = 1.0 / f64::from(temperature);
        // The value is between −1 and 1, the cutoff in percent of the way between them.
        let least_q = most.q - self.value_cutoff / 50.0;
        let weight = |candidate: &DrawCandidate| {
            if visits(most) <= 0.0 {
                return libm::pow(candidate.policy.into(), power);
            }
            let share = if candidate.q < least_q { 0.0 } else { visits(candidate) / visits(most) };
            libm::pow(share.max(0.0).into(), power)
        };
        let weights: Vec<f64> = candidates.iter().map(weight).collect();
        weighted_draw::draw(&weights, rng.f64())
    }
}

/// A root move as the draw sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DrawCandidate {
    /// Finished visits.
    pub(crate) visits: u32,
    /// Value for the side to move; first-play urgency without visits.
    pub(crate) q: f32,
    /// Policy with the search's noise.
    pub(crate) policy: f32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_temperature_falls_as_the_game_goes_on() {
        let params = TemperatureParams { initial: 1.0, ..TemperatureParams::default() };
        assert_eq!((params.at(0), params.at(300)), (1.0, 1.0));
        let decaying = TemperatureParams { decay_moves: 10, decay_delay_moves: 5, ..params };
        // Moves 0 and 5, 6, 10, 15 and 20 of the game
        let found = [0, 11, 12, 20, 30, 40].map(|ply| decaying.at(ply));
        assert_eq!(found, [1.0, 1.0, 0.9, 0.5, 0.0, 0.0]);
        let floored = TemperatureParams { endgame: 0.3, ..decaying };
        assert_eq!([20, 28, 40].map(|ply| floored.at(ply)), [0.5, 0.3, 0.3]);
        let cut = TemperatureParams { cutoff_move: 16, endgame: 0.25, ..params };
        // The sixteenth move is played after 30 plies.
        assert_eq!((cut.at(29), cut.at(30)), (1.0, 0.25));
    }

    /// Returns the share of draws that each candidate gets.
    fn shares(params: TemperatureParams, temperature: f32, candidates: &[DrawCandidate]) -> Vec<f64> {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut counts = vec![0.0; candidates.len()];
        for _ in 0..10_000 {
            counts[params.draw(temperature, candidates, &mut rng).unwrap()] += 1e-4;
        }
        counts
    }

    fn assert_shares(params: TemperatureParams, temperature: f32, expected: [f64; 3]) {
        let candidates = [(60, 0.2, 0.1), (30, 0.0, 0.6), (10, -0.5, 0.3)]
            .map(|(visits, q, policy)| DrawCandidate { visits, q, policy });
        let found = shares(params, temperature, &candidates);
        let is_near =
            found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.015 && (b > 0.0) == (*a > 0.0));
        assert!(is_near, "{found:?} for {expected:?}");
    }

    #[test]
    fn moves_are_drawn_by_their_visits() {
        let params = TemperatureParams::default();
        assert_shares(params, 1.0, [0.6, 0.3, 0.1]);
        // 36 : 9 : 1
        assert_shares(params, 0.5, [36.0 / 46.0, 9.0 / 46.0, 1.0 / 46.0]);
        // 0.2 − (−0.5) = 0.7 is 35 %; 0.2 is 10 %.
        assert_shares(TemperatureParams { value_cutoff: 36.0, ..params }, 1.0, [0.6, 0.3, 0.1]);
        assert_shares(TemperatureParams { value_cutoff: 34.0, ..params }, 1.0, [2.0 / 3.0, 1.0 / 3.0, 0.0]);
        assert_shares(TemperatureParams { value_cutoff: 9.0, ..params }, 1.0, [1.0, 0.0, 0.0]);
        // 40 : 10 : −10 and 80 : 50 : 30
        assert_shares(TemperatureParams { visit_offset: -20.0, ..params }, 1.0, [0.8, 0.2, 0.0]);
        assert_shares(TemperatureParams { visit_offset: 20.0, ..params }, 1.0, [0.5, 0.3125, 0.1875]);
    }

    #[test]
    fn without_visits_the_policy_decides() {
        let params = TemperatureParams { visit_offset: -60.0, ..TemperatureParams::default() };
        assert_shares(params, 1.0, [0.1, 0.6, 0.3]);
        assert_eq!(params.draw(1.0, &[], &mut fastrand::Rng::with_seed(1)), None);
    }
}
