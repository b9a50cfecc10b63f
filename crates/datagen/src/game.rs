//! A game with labels, the unit that everything here makes or reads.

use zeitnot_engine::chess::Move;
pub use zeitnot_lab::pgn::Ending;

/// The reason why the move was played, which decides whether it and the result may be learnt from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveChoice {
    /// The player's own best or nearly best move.
    Best,
    /// The teacher deviated for variety, by more than 60 centipawns.
    Deviation,
    /// A random blunder.
    Blunder,
    /// A move from an opening book, not the player's choice.
    Book,
}

impl MoveChoice {
    /// All of them, in the order of the record format.
    pub const ALL: [MoveChoice; 4] =
        [MoveChoice::Best, MoveChoice::Deviation, MoveChoice::Blunder, MoveChoice::Book];
}

/// A move that was considered, with its evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeacherMove {
    pub r#move: Move,
    /// Centipawns from the side to move. A mate in n plies is 32000 − n, being mated n − 32000.
    pub centipawns: i16,
}

/// One ply: the move played and the evaluations before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledPly {
    pub played: Move,
    /// The reason why it was played.
    pub choice: MoveChoice,
    /// The player's evaluation, as in [`TeacherMove`].
    pub centipawns: Option<i16>,
    /// The teacher's moves, best first, empty where only the move played is known.
    pub candidates: Vec<TeacherMove>,
}

impl LabelledPly {
    /// Makes a ply of which only the move is known.
    pub fn new(played: Move, choice: MoveChoice) -> LabelledPly {
        LabelledPly { played, choice, centipawns: None, candidates: Vec::new() }
    }
}

/// A game with labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledGame {
    /// True if a teacher played it and gave several moves a position, or false for tournament games, where
    /// one move is known to be good.
    pub by_teacher: bool,
    /// True if the game is kept for measuring, never for training.
    pub held_out: bool,
    /// True for a game of the reference set of moves-left measurements: adjudicated, at least 1800 s base
    /// time.
    pub reference: bool,
    /// The start position. `None` is the standard one.
    pub start: Option<String>,
    /// −1, 0 or 1, White's point of view.
    pub result: i8,
    /// The way it ended.
    pub ending: Ending,
    /// The moves with their labels.
    pub plies: Vec<LabelledPly>,
}
