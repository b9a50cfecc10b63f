//! A game with labels.

use zeitnot_engine::chess::Move;
pub use zeitnot_lab::pgn::Ending;

/// Decides whether the move and the result may be learnt from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveChoice {
    Best,
    /// For variety, by more than 60 centipawns.
    Deviation,
    Blunder,
    /// From an opening book, not the player's choice.
    Book,
}

impl MoveChoice {
    /// In the order of the record format.
    pub const ALL: [MoveChoice; 4] =
        [MoveChoice::Best, MoveChoice::Deviation, MoveChoice::Blunder, MoveChoice::Book];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeacherMove {
    pub r#move: Move,
    /// From the side to move. A mate in n plies is 32000 − n, being mated n − 32000.
    pub centipawns: i16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledPly {
    pub played: Move,
    pub choice: MoveChoice,
    pub centipawns: Option<i16>,
    /// The teacher's moves, best first, empty where only the move played is known.
    pub candidates: Vec<TeacherMove>,
}

impl LabelledPly {
    pub fn new(played: Move, choice: MoveChoice) -> LabelledPly {
        LabelledPly { played, choice, centipawns: None, candidates: Vec::new() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledGame {
    /// False for tournament games, with one good move each.
    pub by_teacher: bool,
    /// For measuring, never for training.
    pub held_out: bool,
    /// In the reference set of moves-left measurements: adjudicated, at least 1800 s base time.
    pub reference: bool,
    pub start: Option<String>,
    /// −1, 0 or 1, White's point of view.
    pub result: i8,
    pub ending: Ending,
    pub plies: Vec<LabelledPly>,
}
