//! The scales of evaluations: pawns as UCI shows them, and winning chances as players of lichess know them.

use crate::uci_process::InfoLine;
use zeitnot_engine::chess::Color;
use zeitnot_engine::search::LineValue;

/// A mate in n plies is this minus n, in centipawns, being mated n minus this.
const MATE: i32 = 32_000;
/// Most plies of a mate that are told apart.
const LONGEST_MATE: i32 = 1000;
/// Larger scores are cut to this, in centipawns. Above lie the mates.
const LARGEST: i32 = 15_000;

/// The score that a search gave its move, from the mover's point of view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MoveScore {
    Centipawns(i32),
    /// Moves to a forced mate: positive if the mover gives it, negative if it gets it.
    Mate(i32),
}

impl MoveScore {
    /// The score that UCI shows of a line.
    pub(crate) fn of_value(value: &LineValue) -> MoveScore {
        value.mate.map_or(
            MoveScore::Centipawns(value.mean_advantage() as i32),
            MoveScore::Mate,
        )
    }

    pub fn of_info(info: &InfoLine<'_>) -> Option<MoveScore> {
        match info.score()? {
            ("mate", moves) => Some(MoveScore::Mate(moves)),
            ("cp", score) => Some(MoveScore::Centipawns(score)),
            _ => None,
        }
    }

    /// Mates are worth more than anything else.
    pub fn centipawns(self) -> i32 {
        match self {
            MoveScore::Centipawns(score) => score.clamp(-LARGEST, LARGEST),
            MoveScore::Mate(moves @ 1..) => {
                MATE - moves.saturating_mul(2).saturating_sub(1).min(LONGEST_MATE)
            }
            MoveScore::Mate(moves) => moves.saturating_mul(-2).min(LONGEST_MATE) - MATE,
        }
    }

    /// The score that [`MoveScore::centipawns`] has made so many of.
    pub(crate) fn of_centipawns(score: i32) -> MoveScore {
        if score.abs() <= LARGEST {
            return MoveScore::Centipawns(score);
        }
        MoveScore::Mate((MATE + 1 - score.abs()) / 2 * score.signum())
    }

    /// Winning chances, percent, of the side whose score it is, by the formula that lichess publishes
    /// (<https://lichess.org/page/accuracy>) for pawns of Stockfish's scale.
    pub(crate) fn win_percent(self) -> f64 {
        /// Fitted by lichess to games of its players.
        const STEEPNESS: f64 = 0.003_682_08;
        /// Centipawns beyond which chances stay as they are.
        const CEILING: f64 = 1000.0;
        match self {
            MoveScore::Centipawns(score) => {
                100.0 / (1.0 + (-STEEPNESS * f64::from(score).clamp(-CEILING, CEILING)).exp())
            }
            // In 0 moves: it is mated.
            MoveScore::Mate(moves) => 100.0 * f64::from(moves > 0),
        }
    }

    /// Writes the score as in `%eval`: pawns from White's point of view, or `#` and the moves to mate.
    pub(crate) fn of_white(self, mover: Color) -> String {
        let sign = if mover.is_white() { 1 } else { -1 };
        match self {
            MoveScore::Centipawns(score) => format!("{:.2}", f64::from(sign * score) / 100.0),
            MoveScore::Mate(moves) => format!("#{}", sign * moves),
        }
    }
}

/// The winning chances of players, percent, where a search expects so many points, 0 to 1.
///
/// Players throw away more than searches against themselves do: this part of the search's chances on the
/// logistic scale. Fitted to lichess' evaluations of its players' games (`scripts/review_accuracy.py`).
pub(crate) fn winning_chances(expected: f64) -> f64 {
    const SLOPE: f64 = 0.7;
    100.0 / (1.0 + ((1.0 - expected) / expected).powf(SLOPE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn winning_chances_are_those_of_lichess() {
        let chances = |centipawns| MoveScore::Centipawns(centipawns).win_percent();
        assert_eq!(chances(0), 50.0);
        // 100 / (1 + exp(−0.368208)).
        assert!((chances(100) - 59.10).abs() < 0.01 && (chances(-100) - 40.90).abs() < 0.01);
        assert_eq!((chances(5000), chances(-5000)), (chances(1000), chances(-1000)));
        assert_eq!(
            [3, 0, -9].map(|moves| MoveScore::Mate(moves).win_percent()),
            [100.0, 0.0, 0.0]
        );
        for score in [
            MoveScore::Centipawns(-812),
            MoveScore::Mate(-3),
            MoveScore::Mate(1),
            MoveScore::Mate(499),
        ] {
            assert_eq!(MoveScore::of_centipawns(score.centipawns()), score);
        }
        for (said, expected) in [
            ("mate 3", 31_995),
            ("mate -2", -31_996),
            ("mate 0", -32_000),
            ("cp 99999", 15_000),
            ("cp -35", -35),
        ] {
            let said = format!("info depth 9 score {said} pv d1d8");
            let score = MoveScore::of_info(&InfoLine::parse(&said).unwrap()).unwrap();
            assert_eq!(score.centipawns(), expected, "{said}");
        }
    }

    /// A regression: Lc0's tangent of the expected result was shown as pawns, and taken for Stockfish's.
    #[test]
    fn pawns_are_those_of_uci() {
        let value = LineValue {
            wl: 0.9,
            d: 0.097,
            mu: Some(2.5),
            ..LineValue::default()
        };
        assert_eq!(MoveScore::of_value(&value), MoveScore::Centipawns(278));
        let mate = LineValue {
            mate: Some(-3),
            ..value
        };
        assert_eq!(MoveScore::of_value(&mate).of_white(Color::Black), "#3");
    }

    #[test]
    fn chances_of_players_are_nearer_to_even() {
        assert_eq!([0.0, 0.5, 1.0].map(winning_chances), [0.0, 50.0, 100.0]);
        // 9 to 1 to the power of 0.7 is 4.66 to 1.
        assert!(
            (winning_chances(0.9) - 82.32).abs() < 0.01,
            "{}",
            winning_chances(0.9)
        );
        assert!((winning_chances(0.9) + winning_chances(0.1) - 100.0).abs() < 1e-9);
    }
}
