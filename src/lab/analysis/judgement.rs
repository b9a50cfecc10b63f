//! The judgement of a move: what it gave away of the points that the best move promised.

use super::AnalysedPosition;
use crate::chess::Move;

/// Losses of expected points, 0 to 1, from which on a move is an inaccuracy, a mistake, a blunder: those of lichess, which counts
/// winning chances from -1 to 1 and has twice as much.
const INACCURACY: f64 = 0.05;
const MISTAKE: f64 = 0.10;
const BLUNDER: f64 = 0.15;

/// How good a move was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// Expected points that it gave away, 0 to 1.
    pub loss: f64,
    /// True if it is the move that the search would have played.
    pub is_best: bool,
}

impl Judgement {
    /// Judges the move `played` by the positions before and after it.
    pub(super) fn of(played: Move, before: &AnalysedPosition, after: &AnalysedPosition) -> Judgement {
        let is_best = before.best().moves.first() == Some(&played);
        // What a later search sees in the best move is no fault of the player.
        let loss = if is_best { 0.0 } else { before.best().points() - (1.0 - after.best().points()) };
        Judgement { loss: loss.max(0.0), is_best }
    }

    /// Returns the number of the PGN standard's glyph, if it deserves one: `?!` 6, `?` 2, `??` 4.
    pub fn nag(self) -> Option<u8> {
        match self.loss {
            loss if loss >= BLUNDER => Some(4),
            loss if loss >= MISTAKE => Some(2),
            loss if loss >= INACCURACY => Some(6),
            _ => None,
        }
    }

    /// Returns the glyph itself, or nothing.
    pub fn glyph(self) -> &'static str {
        match self.nag() {
            Some(4) => "??",
            Some(2) => "?",
            Some(_) => "?!",
            None => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::AnalysedLine;
    use super::*;
    use crate::chess::Position;
    use crate::lab::matches::MoveScore;

    fn position(wl: f64, mv: Move) -> AnalysedPosition {
        let line =
            AnalysedLine { wl, d: 0.0, score: MoveScore::Centipawns(0), moves_left: None, moves: vec![mv] };
        AnalysedPosition { lines: vec![line], nodes: 1, new_nodes: 1, time_ms: 1.0 }
    }

    #[test]
    fn a_move_is_judged_by_the_points_that_it_gives_away() {
        let start = Position::start();
        let [e4, d4] = ["e4", "d4"].map(|san| start.parse_san(san).unwrap());
        let judged = |played, after| Judgement::of(played, &position(0.2, e4), &position(after, e4));
        // 0.6 points before, and then 0.54, 0.48, 0.44 and 0.65.
        assert_eq!(judged(d4, -0.08).glyph(), "?!");
        assert_eq!(judged(d4, 0.04).glyph(), "?");
        assert_eq!(judged(d4, 0.12).nag(), Some(4));
        assert_eq!(judged(d4, -0.3).nag(), None, "better than expected");
        let best = judged(e4, 0.4);
        assert!(best.is_best && best.loss == 0.0, "{best:?}");
    }
}
