//! Imports tournament games from PGN with evaluations in comments (`{[%eval 0.60]}`, pawns from White's view,
//! `#-5` mates).
//!
//! `{book}` marks moves that nobody chose. A hash of the name holds whole events out, so that no event is in
//! both training and measurement.

use std::io::Read;

use crate::game::{LabelledGame, LabelledPly, MoveChoice};
use zeitnot_lab::pgn::{self, GameError, Games, base_seconds, ending, is_held_out};

/// Base time of the reference set, seconds.
const REFERENCE_SECONDS: f64 = 1800.0;

#[derive(Debug, Default)]
pub struct Import {
    pub games: Vec<LabelledGame>,
    pub skipped: Vec<String>,
    pub notes: Vec<String>,
}

pub fn read_games(pgn: impl Read + Send) -> Import {
    let mut import = Import::default();
    for game in Games::new("PGN", pgn) {
        let game = match game {
            Ok(game) => game,
            Err(broken @ GameError::Broken { .. }) => {
                import.skipped.push(broken.to_string());
                continue;
            }
            Err(GameError::Read { error, .. }) => {
                import.skipped.push(error.to_string());
                break;
            }
        };
        let (number, has_moves, players) = (game.number, !game.moves.is_empty(), game.tags.players());
        import.notes.extend(game.notes.iter().map(|note| format!("game {number}{players}: {note}")));
        match labelled(game).filter(|_| has_moves) {
            Some(game) => import.games.push(game),
            None => {
                let lack = if has_moves { "result" } else { "moves" };
                import.skipped.push(format!("game {number}{players} is skipped: it has no {lack}"));
            }
        }
    }
    import
}

/// Labels a game by its tags. `None` without a result.
fn labelled(game: pgn::RecordedGame) -> Option<LabelledGame> {
    let tags = &game.tags;
    let text = |name| tags.get(name).unwrap_or_default();
    let is_adjudicated = text("Termination").to_lowercase().contains("adjudication");
    let plies = game.moves.iter().map(|played| {
        let choice = if played.is_book { MoveChoice::Book } else { MoveChoice::Best };
        LabelledPly { centipawns: played.centipawns, ..LabelledPly::new(played.r#move, choice) }
    });
    Some(LabelledGame {
        by_teacher: false,
        held_out: is_held_out(text("Event").as_bytes()),
        reference: is_adjudicated && base_seconds(&game) >= REFERENCE_SECONDS,
        ending: ending(&game),
        result: tags.result()?,
        start: tags.get("FEN").map(str::to_owned),
        plies: plies.collect(),
    })
}
