//! A game with labels, the unit that the importers make and everything else here reads.

use crate::chess::Move;

/// The source of a game's labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelSource {
    /// Moves played in engine tournaments: one move per position is known to be good.
    Tournament,
    /// Games played and labelled by a teacher with several principal variations.
    Teacher,
}

/// The way a game ended. Numbers are those of the record format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Checkmate.
    Checkmate = 0,
    /// Stalemate.
    Stalemate = 1,
    /// Fifty moves without capture or pawn move.
    FiftyMoves = 2,
    /// Third repetition.
    Repetition = 3,
    /// Nobody can mate.
    InsufficientMaterial = 4,
    /// Stopped because it was a dead draw: the result is sound, the length says nothing.
    DeadDraw = 5,
    /// Stopped for its length: the result is a guess.
    Length = 6,
    /// Stopped by a tournament's rule (tablebase, agreement of evaluations, draw rule).
    Adjudication = 7,
    /// Time, crash, lost connection, resignation: neither result nor length follow from the position.
    Broken = 8,
}

impl Ending {
    /// Returns the ending with this number in the record format.
    pub fn from_code(code: u8) -> Option<Ending> {
        use Ending::*;
        let all = [
            Checkmate,
            Stalemate,
            FiftyMoves,
            Repetition,
            InsufficientMaterial,
            DeadDraw,
            Length,
            Adjudication,
            Broken,
        ];
        all.get(usize::from(code)).copied()
    }

    /// Returns the ending with this name.
    pub fn from_name(name: &str) -> Option<Ending> {
        Ending::all().find(|ending| ending.name() == name)
    }

    /// Returns all endings in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Ending> {
        (0..=u8::MAX).map_while(Ending::from_code)
    }

    /// Says whether the rules of chess ended the game, and no organizer or accident did.
    pub fn is_played_out(self) -> bool {
        use Ending::*;
        matches!(self, Checkmate | Stalemate | FiftyMoves | Repetition | InsufficientMaterial)
    }

    /// Returns its name in rows and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Ending::Checkmate => "checkmate",
            Ending::Stalemate => "stalemate",
            Ending::FiftyMoves => "fifty-moves",
            Ending::Repetition => "repetition",
            Ending::InsufficientMaterial => "insufficient-material",
            Ending::DeadDraw => "dead-draw",
            Ending::Length => "length",
            Ending::Adjudication => "adjudication",
            Ending::Broken => "broken-off",
        }
    }

    /// Says whether the result tells how good the positions were.
    pub fn result_counts(self) -> bool {
        !matches!(self, Ending::Length | Ending::Broken)
    }

    /// Says whether the plies to the end tell how long such a game lasts. Adjudicated games count: they end where the rule ended them.
    pub fn length_counts(self) -> bool {
        !matches!(self, Ending::DeadDraw | Ending::Length | Ending::Broken)
    }
}

/// The reason why the move was played, which decides whether it and the result may be learnt from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MoveChoice {
    /// The player's own best or nearly best move.
    #[default]
    Best = 0,
    /// The teacher deviated for variety, by more than 60 centipawns.
    Deviation = 1,
    /// A random blunder.
    Blunder = 2,
    /// A move from an opening book, not the player's choice.
    Book = 3,
}

impl MoveChoice {
    /// Returns the choice with this number in the record format.
    pub fn from_code(code: u8) -> Option<MoveChoice> {
        [MoveChoice::Best, MoveChoice::Deviation, MoveChoice::Blunder, MoveChoice::Book]
            .get(usize::from(code))
            .copied()
    }
}

/// A move that was considered, with its evaluation in centipawns from the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeacherMove {
    /// The move.
    pub r#move: Move,
    /// Centipawns; a mate in n plies is 32000 − n, being mated n − 32000.
    pub centipawns: i16,
}

/// One ply: the move played and the evaluations before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledPly {
    /// The move played.
    pub played: Move,
    /// The reason why it was played.
    pub choice: MoveChoice,
    /// The player's evaluation in centipawns from the side to move, with mates as in [`TeacherMove`].
    pub centipawns: Option<i16>,
    /// The teacher's moves, best first; empty where only the move played is known.
    pub candidates: Vec<TeacherMove>,
}

impl LabelledPly {
    /// Returns a ply of which only the move is known.
    pub fn new(played: Move, choice: MoveChoice) -> LabelledPly {
        LabelledPly { played, choice, centipawns: None, candidates: Vec::new() }
    }
}

/// A game with labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledGame {
    /// The source of the labels.
    pub source: LabelSource,
    /// True if the game is kept for measuring, never for training.
    pub held_out: bool,
    /// True for a game of the reference set of moves-left measurements: adjudicated, at least 1800 s base time.
    pub reference: bool,
    /// The start position; `None` is the standard one.
    pub start: Option<String>,
    /// −1, 0 or 1, White's point of view.
    pub result: i8,
    /// The way it ended.
    pub ending: Ending,
    /// The moves with their labels.
    pub plies: Vec<LabelledPly>,
}
