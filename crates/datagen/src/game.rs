//! A game with labels, by a teacher or from PGN of tournaments with evaluations in comments (`{[%eval
//! 0.60]}`, pawns from White's view, `#-5` mates).
//!
//! `{book}` marks moves that nobody chose. A hash of the name holds whole events out, so that no event is in
//! both training and measurement.

use zeitnot_engine::chess::Move;
pub use zeitnot_lab::pgn::Ending;
use zeitnot_lab::pgn::{GameError, RecordedGame, base_seconds, ending, is_held_out};

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
    pub const ALL: [MoveChoice; 4] = [
        MoveChoice::Best,
        MoveChoice::Deviation,
        MoveChoice::Blunder,
        MoveChoice::Book,
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeacherMove {
    pub mv: Move,
    /// From the side to move. A mate in n plies is 32000 − n, being mated n − 32000.
    pub centipawns: i16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledPly {
    pub played: Move,
    pub choice: MoveChoice,
    pub centipawns: Option<i16>,
    /// The teacher's moves, best first, if known.
    pub candidates: Vec<TeacherMove>,
}

impl LabelledPly {
    pub fn new(played: Move, choice: MoveChoice) -> LabelledPly {
        LabelledPly {
            played,
            choice,
            centipawns: None,
            candidates: Vec::new(),
        }
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

/// Base time of the reference set, seconds.
const REFERENCE_SECONDS: f64 = 1800.0;

/// An error says what is wrong with it.
pub fn labelled(game: Result<RecordedGame, GameError>) -> Result<LabelledGame, String> {
    let game = game.map_err(|error| error.to_string())?;
    let lack = |what| {
        format!(
            "game {}{} is skipped: it has no {what}",
            game.number,
            game.tags.players()
        )
    };
    if game.moves.is_empty() {
        return Err(lack("moves"));
    }
    let tags = &game.tags;
    let text = |name| tags.get(name).unwrap_or_default();
    let is_adjudicated = text("Termination").to_lowercase().contains("adjudication");
    let plies = game.moves.iter().map(|played| {
        let choice = if played.is_book {
            MoveChoice::Book
        } else {
            MoveChoice::Best
        };
        LabelledPly {
            centipawns: played.centipawns,
            ..LabelledPly::new(played.r#move, choice)
        }
    });
    Ok(LabelledGame {
        by_teacher: false,
        held_out: is_held_out(text("Event").as_bytes()),
        reference: is_adjudicated && base_seconds(&game) >= REFERENCE_SECONDS,
        ending: ending(&game),
        result: tags.result().ok_or_else(|| lack("result"))?,
        start: tags.get("FEN").map(str::to_owned),
        plies: plies.collect(),
    })
}
