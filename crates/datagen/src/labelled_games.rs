//! Imports tournament games from PGN with evaluations in comments (`{[%eval 0.60]}`, pawns from White's view,
//! `#-5` mates).
//!
//! `{book}` marks moves that nobody chose. Whole events are held out by a hash of their name, so that no game
//! of an event that was trained on is measured.

use std::io::Read;

use crate::game::{LabelledGame, LabelledPly, MoveChoice};
use zeitnot_lab::pgn::{self, GameError, Games, base_seconds, ending, is_held_out};

/// Base time in seconds from which a game belongs to the reference set.
const REFERENCE_SECONDS: f64 = 1800.0;

/// The games that were read, and those that were skipped.
#[derive(Debug, Default)]
pub struct Import {
    /// The games that could be played through.
    pub games: Vec<LabelledGame>,
    /// The games that were not taken, with the reason: those without result, without moves, or with moves
    /// that are illegal, and why reading failed, if it did.
    pub skipped: Vec<String>,
    /// What was decided about others.
    pub notes: Vec<String>,
}

/// Reads the games of a PGN stream, up to its end or where reading fails.
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

/// Labels a game with what its tags say, and returns `None` without a result.
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
