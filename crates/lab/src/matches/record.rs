//! What a match keeps of a move, whoever made it.

use zeitnot_engine::chess::Move;

/// A mate in 0 moves, in centipawns.
const MATE: i32 = 30_000;

/// The score that a search gave its move, from the mover's point of view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MoveScore {
    /// Centipawns.
    Centipawns(i32),
    /// Moves to a forced mate: positive if the mover gives it, negative if it gets it.
    Mate(i32),
}

impl MoveScore {
    /// Returns the score in centipawns. Mates are worth more than anything else.
    pub fn centipawns(self) -> i32 {
        match self {
            MoveScore::Centipawns(score) => score,
            MoveScore::Mate(moves) => (MATE - moves.abs().min(1000)) * moves.signum(),
        }
    }

    /// Returns the score that [`MoveScore::centipawns`] has made so many of.
    pub(crate) fn of_centipawns(score: i32) -> MoveScore {
        if score.abs() < MATE - 1000 {
            return MoveScore::Centipawns(score);
        }
        MoveScore::Mate((MATE - score.abs()) * score.signum())
    }

    /// Returns the winning chances of the side whose score it is, in percent, as lichess publishes them
    /// (<https://lichess.org/page/accuracy>).
    pub(crate) fn win_percent(self) -> f64 {
        /// Fitted by lichess to games of its players.
        const STEEPNESS: f64 = 0.003_682_08;
        /// Centipawns beyond which chances stay as they are. Mates count as so many.
        const CEILING: f64 = 1000.0;
        let centipawns = match self {
            MoveScore::Centipawns(score) => f64::from(score).clamp(-CEILING, CEILING),
            // In 0 moves: it is mated.
            MoveScore::Mate(moves) => CEILING * if moves > 0 { 1.0 } else { -1.0 },
        };
        100.0 / (1.0 + (-STEEPNESS * centipawns).exp())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct MoveRecord {
    pub(crate) mv: Move,
    /// The mover's clock after it, ms, or `None` where only nodes count.
    pub(crate) clock_ms: Option<f64>,
    /// Time that the move cost the clock, ms: real time, or nodes under `nodestime`.
    pub(crate) used_ms: f64,
    /// Visits of the root at the end, those of earlier searches included.
    pub(crate) nodes: u64,
    pub(crate) new_nodes: u64,
    /// The search's score, or `None` if it saw nothing below the root.
    pub(crate) score: Option<MoveScore>,
    /// Plies to the end of the game, as the search saw it, if the network knows.
    pub(crate) moves_left: Option<f32>,
    /// The manager's budget, ms, if a clock was watched.
    pub(crate) budget_ms: Option<f64>,
    /// Full moves that the mover still had to make, as the time manager estimated.
    pub(crate) managers_moves_left: Option<f64>,
    /// The rule that ended the search. Of external engines `bestmove`.
    pub(crate) end: String,
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
        assert_eq!(chances(5000), MoveScore::Mate(3).win_percent());
        assert_eq!(MoveScore::Mate(0).win_percent(), MoveScore::Mate(-9).win_percent(), "mated");
        for score in [MoveScore::Centipawns(-812), MoveScore::Mate(-3), MoveScore::Mate(999)] {
            assert_eq!(MoveScore::of_centipawns(score.centipawns()), score);
        }
    }
}
