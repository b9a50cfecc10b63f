//! The known game up to now, and how a game ends by the rules.
//!
//! Every search thread clones the engine's, pushes the moves of its descent and pops them again.

use super::fen::PositionError;
use super::moves::{Move, MoveList, Variant};
use super::notation::MoveError;
use super::position::Position;
use crate::chance::spread;

/// Positions share evaluations up to this fifty-move counter, plies.
const SHARED_RULE50: u32 = 40;

/// Never empty. The first position counts as a first occurrence.
#[derive(Clone, Debug)]
pub struct History {
    entries: Vec<Entry>,
    variant: Variant,
    left_out: Vec<&'static str>,
}

#[derive(Clone, Debug)]
struct Entry {
    position: Position,
    /// Earlier occurrences, up to 2.
    repetitions: u8,
    /// Plies back to the latest earlier occurrence.
    cycle: Option<u32>,
}

impl History {
    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.entries)
    }

    /// A game at the start position.
    pub fn start() -> History {
        History::from_position(Position::start(), Variant::Standard)
    }

    /// A game that begins with `position`.
    pub fn from_position(position: Position, variant: Variant) -> History {
        let entries = vec![Entry {
            position,
            repetitions: 0,
            cycle: None,
        }];
        History {
            entries,
            variant,
            left_out: Vec::new(),
        }
    }

    /// A game that begins with the position of `fen`.
    pub fn from_fen(fen: &str, variant: Variant) -> Result<History, PositionError> {
        let (position, left_out) = Position::from_fen_with_repairs(fen)?;
        Ok(History {
            left_out,
            ..History::from_position(position, variant)
        })
    }

    /// Reads UCI's `position`: `startpos [moves …]` or `fen FEN [moves …]`.
    pub fn from_uci_position(text: &str, variant: Variant) -> Result<History, PositionError> {
        parse_uci_position(text, variant, |fen| History::from_fen(fen, variant))
    }

    /// Like [`History::from_uci_position`], with the FENs of [`Position::from_fen_to_evaluate`].
    pub fn to_evaluate(text: &str, variant: Variant) -> Result<History, PositionError> {
        let read = |fen: &str| {
            Ok(History::from_position(
                Position::from_fen_to_evaluate(fen)?,
                variant,
            ))
        };
        parse_uci_position(text, variant, read)
    }

    /// Dropped from the FEN: castling rights without their rook, an impossible en-passant square.
    pub fn left_out(&self) -> &[&'static str] {
        &self.left_out
    }

    /// The rules of castling and its notation.
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// Positions, the first and the current one included, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The position `index` plies after the first.
    ///
    /// # Panics
    ///
    /// Panics if `index` is not below [`History::len`].
    pub fn position(&self, index: usize) -> &Position {
        &self.entries[index].position
    }

    /// The last position.
    pub fn current(&self) -> &Position {
        &self.last().position
    }

    /// Earlier occurrences of the last position, up to 2.
    pub fn repetitions(&self) -> u8 {
        self.last().repetitions
    }

    /// Earlier occurrences of the position at `index`, up to 2. Panics as [`History::position`] does.
    pub fn repetitions_at(&self, index: usize) -> u8 {
        self.entries[index].repetitions
    }

    /// Plies back to the last position's earlier occurrence.
    pub fn plies_since_repetition(&self) -> Option<u32> {
        self.last().cycle
    }

    /// Plies since the start of the game by the FEN's move number.
    pub fn game_ply(&self) -> u32 {
        self.current().game_ply()
    }

    /// The legal moves of the last position.
    pub fn legal_moves(&self) -> MoveList {
        self.current().legal_moves()
    }

    /// Plays a move. Fails if it is not legal.
    pub fn try_push(&mut self, m: Move) -> Result<(), MoveError> {
        self.current().check_move(m)?;
        self.push(m);
        Ok(())
    }

    /// Plays a move, which must be legal. [`History::try_push`] checks that.
    ///
    /// # Panics
    ///
    /// Panics if no piece stands where the move begins.
    pub fn push(&mut self, m: Move) {
        let position = self.current().play(m);
        let plies = self.plies_to_earlier(&position);
        let earlier = plies.map(|plies| &self.entries[self.len() - plies]);
        let repetitions = earlier.map_or(0, |earlier| (earlier.repetitions + 1).min(2));
        self.entries.push(Entry {
            position,
            repetitions,
            cycle: plies.map(|plies| plies as u32),
        });
    }

    /// The first position stays.
    pub fn pop(&mut self) {
        self.truncate(self.len() - 1);
    }

    /// Takes moves back until `len` positions are left. The first stays.
    pub fn truncate(&mut self, len: usize) {
        self.entries.truncate(len.max(1));
    }

    /// `legal` are the legal moves. Draws count as claimed at once, mate goes before.
    pub fn terminal(&self, legal: &MoveList) -> Option<Terminal> {
        let position = self.current();
        if legal.is_empty() {
            Some(if position.is_check() {
                Terminal::Checkmate
            } else {
                Terminal::Stalemate
            })
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

    /// Key for cached evaluations: [`Position::key`], repetitions, and high fifty-move counters. As in Lc0,
    /// earlier positions and low counters, which hardly matter, are left out.
    pub fn evaluation_key(&self) -> u64 {
        let rule50 = self.current().rule50().saturating_sub(SHARED_RULE50);
        let counters = u64::from(rule50) << 2 | u64::from(self.repetitions());
        self.current().key() ^ spread(counters)
    }

    /// The legal move of the last position that `uci` names.
    pub fn parse_move(&self, uci: &str) -> Result<Move, MoveError> {
        self.current().parse_move(uci)
    }

    /// In this game's variant. `m` must be legal.
    pub fn format_move(&self, m: Move) -> String {
        self.current().format_move(m, self.variant)
    }

    /// The moves of `line` in UCI's notation. They must be legal one after the other.
    ///
    /// # Panics
    ///
    /// Panics as [`History::push`] does.
    pub fn format_line(&self, line: &[Move]) -> Vec<String> {
        let mut game = self.clone();
        let format = |&mv: &Move| {
            let text = game.format_move(mv);
            game.push(mv);
            text
        };
        line.iter().map(format).collect()
    }

    fn plies_to_earlier(&self, next: &Position) -> Option<usize> {
        let stretch = usize::try_from(next.rule50())
            .unwrap_or(usize::MAX)
            .min(self.len());
        let repeats = |plies: &usize| self.entries[self.len() - plies].position.is_repetition_of(next);
        (4..=stretch).step_by(2).find(repeats)
    }

    fn last(&self) -> &Entry {
        self.entries.last().expect("a history is never empty")
    }
}

fn parse_uci_position(
    text: &str,
    variant: Variant,
    read_fen: impl FnOnce(&str) -> Result<History, PositionError>,
) -> Result<History, PositionError> {
    let mut words = text.split_ascii_whitespace();
    let mut history = match words.next() {
        Some("startpos") => match words.next() {
            None | Some("moves") => History::from_position(Position::start(), variant),
            Some(other) => return Err(PositionError::Start(format!("startpos {other}"))),
        },
        Some("fen") => {
            let fen: Vec<&str> = words.by_ref().take_while(|word| *word != "moves").collect();
            read_fen(&fen.join(" "))?
        }
        other => return Err(PositionError::Start(other.unwrap_or_default().to_owned())),
    };
    for (index, word) in words.enumerate() {
        // A user at a terminal may write algebraic notation.
        let read = history
            .parse_move(word)
            .or_else(|error| history.current().read_move(word).map_err(|_| error));
        let m = read.map_err(|source| PositionError::Move {
            number: index + 1,
            source,
        })?;
        history.push(m);
    }
    Ok(history)
}

/// Why a game is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the rules have these names")]
pub enum Terminal {
    /// The side to move has lost. All others are draws.
    Checkmate,
    Stalemate,
    /// A hundred plies without capture or pawn move.
    FiftyMoves,
    ThreefoldRepetition,
    /// Neither side can mate by any series of moves.
    InsufficientMaterial,
}
