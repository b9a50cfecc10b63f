//! Imports tournament games from PGN with evaluations in comments (`{[%eval 0.60]}`, pawns from White's view, `#-5` mates).
//!
//! `{book}` marks moves that nobody chose. Whole events are held out by a hash of their name, so that no game of an
//! event that was trained on is measured.

use std::io::Read;

use super::TrainingDataError;
use super::game::{Choice, Ending, Game, Ply, Source};
use crate::pgn::{self, GameError, Games, Tags};

/// One event in so many is held out.
const HELD_OUT_ONE_IN: u32 = 20;
/// Base time in seconds from which a game belongs to the reference set.
const REFERENCE_SECONDS: f64 = 1800.0;

/// What was read, and how many games were no good.
#[derive(Debug, Default)]
pub struct Import {
    /// The games that could be played through.
    pub games: Vec<Game>,
    /// Games without result, without moves, or with moves that are illegal.
    pub skipped: usize,
}

/// Reads all games of a PGN stream.
///
/// # Errors
/// [`TrainingDataError::Io`] if reading fails. Bad games are counted, not errors.
pub fn read_games(pgn: impl Read) -> Result<Import, TrainingDataError> {
    let mut import = Import::default();
    for game in Games::new("PGN", pgn) {
        match game {
            Ok(game) if !game.moves.is_empty() => match labelled(game) {
                Some(game) => import.games.push(game),
                None => import.skipped += 1,
            },
            Ok(_) | Err(GameError::Broken { .. }) => import.skipped += 1,
            Err(GameError::Read { error, .. }) => return Err(error.into()),
        }
    }
    Ok(import)
}

/// The game with what its tags say; `None` without a result.
fn labelled(game: pgn::Game) -> Option<Game> {
    let tags = &game.tags;
    let text = |name| tags.get(name).unwrap_or_default();
    let is_adjudicated = text("Termination").to_lowercase().contains("adjudication");
    let plies = game.moves.iter().map(|played| {
        let choice = if played.is_book { Choice::Book } else { Choice::Best };
        Ply { centipawns: played.centipawns, ..Ply::new(played.r#move, choice) }
    });
    Some(Game {
        source: Source::Tournament,
        held_out: is_held_out(text("Event").as_bytes()),
        reference: is_adjudicated && base_seconds(text("TimeControl")) >= REFERENCE_SECONDS,
        ending: ending(tags),
        // From the tag: the reader does not report every result that follows the moves.
        result: tags.result()?,
        start: tags.get("FEN").map(str::to_owned),
        plies: plies.collect(),
    })
}

/// Is the event with this name held out? FNV-1a, so that the split never changes.
pub fn is_held_out(event: &[u8]) -> bool {
    let hash = event.iter().fold(0x811c_9dc5u32, |h, &b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    // The low bits of FNV are its weakest; fold the high half in.
    (hash ^ hash >> 16) % HELD_OUT_ONE_IN == 0
}

/// How the game ended, by its tags `Termination` and `TerminationDetails`.
pub fn ending(tags: &Tags) -> Ending {
    let part = |name| tags.get(name).unwrap_or_default();
    let text = format!("{} {}", part("Termination"), part("TerminationDetails")).to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&["disconnect", "stall", "time", "abandon", "illegal", "resign", "crash", "withdraw", "loop"]) {
        Ending::Broken
    } else if has(&["mates"]) {
        Ending::Checkmate
    } else if has(&["stalemate"]) {
        Ending::Stalemate
    } else if has(&["fifty", "50-move"]) {
        Ending::FiftyMoves
    } else if has(&["3-fold"]) {
        Ending::Repetition
    } else if has(&["insufficient"]) {
        Ending::InsufficientMaterial
    } else {
        Ending::Adjudication
    }
}

/// The first number of a TimeControl tag such as `1800+3` or `40/7200:20/3600:900+30`, in seconds.
pub fn base_seconds(tag: &str) -> f64 {
    let first = tag.split(':').next().unwrap_or(tag);
    let first = first.split_once('/').map_or(first, |(_, seconds)| seconds);
    first.split('+').next().and_then(|seconds| seconds.parse().ok()).unwrap_or(0.0)
}
