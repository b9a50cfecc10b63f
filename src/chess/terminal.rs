//! Tells how a game ends by the rules.

use super::history::History;
use super::moves::MoveList;
use super::position::Position;

/// Says why a position ends the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// The side to move is mated: it has lost. All others are draws.
    Checkmate,
    /// The side to move has no legal move and is not in check.
    Stalemate,
    /// A hundred plies without capture or pawn move.
    FiftyMoves,
    /// The position stands for the third time.
    ThreefoldRepetition,
    /// Neither side can mate by any series of moves.
    InsufficientMaterial,
}

impl History {
    /// Says whether and how the game is over now; `legal` are the legal moves of the current position.
    ///
    /// Draws count as if claimed at once; mate goes before them.
    pub fn terminal(&self, legal: &MoveList) -> Option<Terminal> {
        let position = self.current();
        if legal.is_empty() {
            Some(if position.is_check() { Terminal::Checkmate } else { Terminal::Stalemate })
        } else if position.has_insufficient_material() {
            Some(Terminal::InsufficientMaterial)
        } else if position.rule50() >= 100 {
            Some(Terminal::FiftyMoves)
        } else if self.repetitions() >= 2 {
            Some(Terminal::ThreefoldRepetition)
        } else {
            None
        }
    }
}

impl Position {
    /// Says whether neither side can mate by any series of moves, judged by material alone: king against king, with a
    /// single minor piece, and with any bishops that all stand on squares of one colour.
    pub fn has_insufficient_material(&self) -> bool {
        let board = self.board();
        // Nearly all positions end here.
        if (board.pawns() | board.rooks_and_queens()).any() {
            return false;
        }
        use shakmaty::Position as _;
        self.chess().is_insufficient_material()
    }
}
