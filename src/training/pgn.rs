//! Imports tournament games from PGN with evaluations in comments (`{[%eval 0.60]}`, pawns from White's view, `#-5` mates).
//!
//! `{book}` marks moves that nobody chose. Whole events are held out by a hash of their name, so that no game of an
//! event that was trained on is measured.

use std::io::Read;
use std::ops::ControlFlow;

use pgn_reader::{RawComment, RawTag, Reader, SanPlus, Visitor};

use super::TrainingDataError;
use super::game::{Choice, Ending, Game, Ply, Source};
use crate::chess::{Color, Position};

/// One event in so many is held out.
const HELD_OUT_ONE_IN: u32 = 20;
/// Base time in seconds from which a game belongs to the reference set.
const REFERENCE_SECONDS: f64 = 1800.0;
/// Larger evaluations are cut to this, in centipawns; above lie the mates.
const LARGEST_CENTIPAWNS: f64 = 15000.0;
/// A mate in n plies is this less n.
const MATE: i32 = 32000;

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
    let mut reader = Reader::new(pgn);
    let mut import = Import::default();
    let mut visitor = GameVisitor;
    loop {
        match reader.read_game(&mut visitor)? {
            None => return Ok(import),
            Some(Some(game)) if !game.plies.is_empty() => import.games.push(game),
            Some(_) => import.skipped += 1,
        }
    }
}

/// Is the event with this name held out? FNV-1a, so that the split never changes.
fn is_held_out(event: &[u8]) -> bool {
    let hash = event.iter().fold(0x811c_9dc5u32, |h, &b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    // The low bits of FNV are its weakest; fold the high half in.
    (hash ^ hash >> 16) % HELD_OUT_ONE_IN == 0
}

#[derive(Debug, Default)]
struct Tags {
    /// White's view. From the tag: the reader does not report every result that follows the moves.
    result: Option<i8>,
    held_out: bool,
    fen: Option<String>,
    termination: String,
    details: String,
    base_seconds: f64,
}

impl Tags {
    fn ending(&self) -> Ending {
        let text = format!("{} {}", self.termination, self.details).to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has(&["disconnect", "stall", "time", "abandon", "illegal", "resign", "crash", "withdraw", "loop"])
        {
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

    fn is_adjudicated(&self) -> bool {
        self.termination.to_lowercase().contains("adjudication")
    }
}

/// The result in a Result tag, White's view; `None` for `*`.
fn result_of(tag: &str) -> Option<i8> {
    match tag {
        "1-0" => Some(1),
        "0-1" => Some(-1),
        "1/2-1/2" => Some(0),
        _ => None,
    }
}

/// The first number of a TimeControl tag such as `1800+3` or `40/7200:20/3600:900+30`, in seconds.
fn base_seconds(tag: &str) -> f64 {
    let first = tag.split(':').next().unwrap_or(tag);
    let first = first.split_once('/').map_or(first, |(_, seconds)| seconds);
    first.split('+').next().and_then(|seconds| seconds.parse().ok()).unwrap_or(0.0)
}

struct GameVisitor;

struct Movetext {
    tags: Tags,
    position: Position,
    plies: Vec<Ply>,
    /// Who moved at the last of `plies`.
    mover: Color,
}

impl Visitor for GameVisitor {
    type Tags = Tags;
    type Movetext = Movetext;
    type Output = Option<Game>;

    fn begin_tags(&mut self) -> ControlFlow<Self::Output, Tags> {
        ControlFlow::Continue(Tags::default())
    }

    fn tag(&mut self, tags: &mut Tags, name: &[u8], value: RawTag<'_>) -> ControlFlow<Self::Output> {
        let text = || value.decode_utf8_lossy().into_owned();
        match name {
            b"Result" => tags.result = result_of(&text()),
            b"Event" => tags.held_out = is_held_out(value.as_bytes()),
            b"FEN" => tags.fen = Some(text()),
            b"Termination" => tags.termination = text(),
            b"TerminationDetails" => tags.details = text(),
            b"TimeControl" => tags.base_seconds = base_seconds(&text()),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, tags: Tags) -> ControlFlow<Self::Output, Movetext> {
        let position = match tags.fen.as_deref().map(Position::from_fen) {
            None => Position::start(),
            Some(Ok(position)) => position,
            Some(Err(_)) => return ControlFlow::Break(None),
        };
        ControlFlow::Continue(Movetext { tags, position, plies: Vec::new(), mover: Color::White })
    }

    fn san(&mut self, movetext: &mut Movetext, san: SanPlus) -> ControlFlow<Self::Output> {
        let Ok(played) = movetext.position.parse_san(&san.san.to_string()) else {
            return ControlFlow::Break(None);
        };
        movetext.mover = movetext.position.turn();
        movetext.position = movetext.position.play(played);
        movetext.plies.push(Ply::new(played, Choice::Best));
        ControlFlow::Continue(())
    }

    fn comment(&mut self, movetext: &mut Movetext, comment: RawComment<'_>) -> ControlFlow<Self::Output> {
        let text = String::from_utf8_lossy(comment.as_bytes());
        if let Some(ply) = movetext.plies.last_mut() {
            if text.trim() == "book" {
                ply.choice = Choice::Book;
            }
            ply.centipawns = parse_eval(&text, movetext.mover).or(ply.centipawns);
        }
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, movetext: Movetext) -> Self::Output {
        let Movetext { tags, plies, .. } = movetext;
        Some(Game {
            source: Source::Tournament,
            held_out: tags.held_out,
            reference: tags.is_adjudicated() && tags.base_seconds >= REFERENCE_SECONDS,
            ending: tags.ending(),
            start: tags.fen,
            result: tags.result?,
            plies,
        })
    }
}

/// The evaluation in a comment, in centipawns from the mover's view, with mates as in [`super::game::Candidate`].
fn parse_eval(comment: &str, mover: Color) -> Option<i16> {
    let text = comment.split_once("[%eval ")?.1.split([']', ',']).next()?.trim();
    let white = match text.strip_prefix('#') {
        Some(mate) => {
            let moves: i32 = mate.parse().ok()?;
            let plies = (2 * moves.abs() - 1).clamp(1, 1000);
            if moves < 0 { plies - MATE } else { MATE - plies }
        }
        None => {
            (text.parse::<f64>().ok()? * 100.0).clamp(-LARGEST_CENTIPAWNS, LARGEST_CENTIPAWNS).round() as i32
        }
    };
    i16::try_from(if mover == Color::White { white } else { -white }).ok()
}
