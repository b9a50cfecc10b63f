//! Imports tournament games from PGN with evaluations in comments (`{[%eval 0.60]}`, pawns from White's view,
//! `#-5` mates).
//!
//! `{book}` marks moves that nobody chose. A hash of the name holds whole events out, so that no event is in
//! both training and measurement.

use crate::game::{LabelledGame, LabelledPly, MoveChoice};
use zeitnot_lab::pgn::{GameError, RecordedGame, base_seconds, ending, is_held_out};

/// Base time of the reference set, seconds.
const REFERENCE_SECONDS: f64 = 1800.0;

/// Labels a game by its tags. What is wrong with it is told in words.
pub fn labelled(game: Result<RecordedGame, GameError>) -> Result<LabelledGame, String> {
    let game = game.map_err(|error| error.to_string())?;
    let lack = |what| format!("game {}{} is skipped: it has no {what}", game.number, game.tags.players());
    if game.moves.is_empty() {
        return Err(lack("moves"));
    }
    let tags = &game.tags;
    let text = |name| tags.get(name).unwrap_or_default();
    let is_adjudicated = text("Termination").to_lowercase().contains("adjudication");
    let plies = game.moves.iter().map(|played| {
        let choice = if played.is_book { MoveChoice::Book } else { MoveChoice::Best };
        LabelledPly { centipawns: played.centipawns, ..LabelledPly::new(played.r#move, choice) }
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
