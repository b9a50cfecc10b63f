//! The game so far: positions from the start of the known game to now, and how a game ends by the rules.
//!
//! The engine keeps one for the game. Every search thread clones it, pushes the moves of its way down the
//! tree and pops them again.

use super::fen::PositionError;
use super::moves::{Move, MoveList, Variant};
use super::notation::MoveError;
use super::position::Position;
use crate::chance::spread;

/// Values of the fifty-move counter, plies, up to which positions share their evaluations.
const SHARED_RULE50: u32 = 40;

/// Positions from the first known one to the current one, never empty. The first one counts as a first
/// occurrence.
#[derive(Clone, Debug)]
pub struct History {
    entries: Vec<Entry>,
    variant: Variant,
    /// What had to be left out of the FEN that it starts with, in words.
    left_out: Vec<&'static str>,
}

#[derive(Clone, Debug)]
struct Entry {
    position: Position,
    /// Number of earlier occurrences, counted up to 2.
    repetitions: u8,
    /// Plies back to the latest earlier occurrence, or 0 without one.
    cycle: u32,
}

impl History {
    /// Returns a game of standard chess before its first move.
    pub fn start() -> History {
        History::from_position(Position::start(), Variant::Standard)
    }

    pub fn from_position(position: Position, variant: Variant) -> History {
        let entries = vec![Entry { position, repetitions: 0, cycle: 0 }];
        History { entries, variant, left_out: Vec::new() }
    }

    /// Returns a game that starts at the position of a FEN.
    ///
    /// # Errors
    /// Fails as [`Position::from_fen`] does.
    pub fn from_fen(fen: &str, variant: Variant) -> Result<History, PositionError> {
        let (position, left_out) = Position::from_fen_with_repairs(fen)?;
        Ok(History { left_out, ..History::from_position(position, variant) })
    }

    /// Reads the game that UCI's `position` command gives: `startpos [moves …]` or `fen FEN [moves …]`.
    ///
    /// # Errors
    /// Fails if `text` starts with another word, the FEN is refused, or a move is not legal. The message says
    /// which.
    pub fn from_uci_position(text: &str, variant: Variant) -> Result<History, PositionError> {
        parse_uci_position(text, variant, |fen| History::from_fen(fen, variant))
    }

    /// Reads a game as [`History::from_uci_position`] does, but takes the FENs of
    /// [`Position::from_fen_to_evaluate`] too.
    ///
    /// # Errors
    /// Fails as [`History::from_uci_position`] does.
    pub fn to_evaluate(text: &str, variant: Variant) -> Result<History, PositionError> {
        let read = |fen: &str| Ok(History::from_position(Position::from_fen_to_evaluate(fen)?, variant));
        parse_uci_position(text, variant, read)
    }

    /// Returns what had to be left out of the FEN: castling rights without their rook, an en-passant square
    /// that cannot be.
    pub fn left_out(&self) -> &[&'static str] {
        &self.left_out
    }

    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// Returns the number of positions, the first and the current one included, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the position `index` plies after the first. `index` is below [`History::len`].
    pub fn position(&self, index: usize) -> &Position {
        &self.entries[index].position
    }

    pub fn current(&self) -> &Position {
        &self.last().position
    }

    /// Returns the number of earlier occurrences of the current position, counted up to 2.
    pub fn repetitions(&self) -> u8 {
        self.last().repetitions
    }

    /// Returns how often the position at `index` had occurred before it, counted up to 2.
    pub fn repetitions_at(&self, index: usize) -> u8 {
        self.entries[index].repetitions
    }

    /// Returns the plies since the latest earlier occurrence of the current position, or `None` if there is
    /// none.
    pub fn plies_since_repetition(&self) -> Option<u32> {
        Some(self.last().cycle).filter(|&cycle| cycle > 0)
    }

    /// Returns the plies since the start of the game, by the FEN's move number: 0 before White's first move.
    pub fn game_ply(&self) -> u32 {
        self.current().game_ply()
    }

    /// Returns all legal moves. See [`Position::legal_moves`].
    pub fn legal_moves(&self) -> MoveList {
        self.current().legal_moves()
    }

    /// Plays `m`, which must be legal. See [`Position::play`].
    pub fn push(&mut self, m: Move) {
        let position = self.current().play(m);
        let (repetitions, cycle) = match self.earlier_occurrence(&position) {
            Some(index) => (
                (self.entries[index].repetitions + 1).min(2),
                u32::try_from(self.entries.len() - index).unwrap_or(u32::MAX),
            ),
            None => (0, 0),
        };
        self.entries.push(Entry { position, repetitions, cycle });
    }

    /// Takes the last move back. The first position stays.
    pub fn pop(&mut self) {
        self.truncate(self.len() - 1);
    }

    /// Takes moves back until `len` positions are left. The first position stays.
    pub fn truncate(&mut self, len: usize) {
        self.entries.truncate(len.max(1));
    }

    /// Returns a key of all that an evaluation of the current position depends on much: [`Position::key`],
    /// whether the position occurred before, and the fifty-move counter once that matters. Which positions
    /// came before it is left out, as in Lc0's cache, and so are low counters: they change a network's answer
    /// only a little, and transpositions could not share it.
    pub fn evaluation_key(&self) -> u64 {
        let rule50 = self.current().rule50().saturating_sub(SHARED_RULE50);
        let counters = u64::from(rule50) << 2 | u64::from(self.repetitions());
        self.current().key() ^ spread(counters)
    }

    /// Reads a legal move in UCI notation. See [`Position::parse_move`].
    ///
    /// # Errors
    /// Fails if the text is not a move, or the move is not legal.
    pub fn parse_move(&self, uci: &str) -> Result<Move, MoveError> {
        self.current().parse_move(uci)
    }

    /// Writes `m`, which must be legal now, as this game's variant does. See [`Position::format_move`].
    pub fn format_move(&self, m: Move) -> String {
        self.current().format_move(m, self.variant)
    }

    /// Finds the latest position equal to `next`, the next one, among those that reversible moves connect
    /// with it.
    fn earlier_occurrence(&self, next: &Position) -> Option<usize> {
        let next_index = self.entries.len();
        let stretch = usize::try_from(next.rule50()).unwrap_or(usize::MAX).min(next_index);
        // Two plies never lead back: both sides would have to stand where they stood.
        (4..=stretch)
            .step_by(2)
            .map(|plies| next_index - plies)
            .find(|&index| self.entries[index].position.is_repetition_of(next))
    }

    fn last(&self) -> &Entry {
        self.entries.last().expect("a history is never empty")
    }
}

/// Reads `startpos [moves …]` or `fen FEN [moves …]`. `read_fen` decides which FENs will do, and begins the
/// game there.
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
        // What UCI's notation says comes first. A user at a terminal may write algebraic notation.
        let read =
            history.parse_move(word).or_else(|error| history.current().read_move(word).map_err(|_| error));
        let m = read.map_err(|source| PositionError::Move { number: index + 1, source })?;
        history.push(m);
    }
    Ok(history)
}

/// Says why a position ends the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// The side to move is mated: it has lost. All others are draws.
    Checkmate,
    /// The side to move has no legal move and is not in check.
    Stalemate,
    /// A hundred plies without capture or pawn move.
    FiftyMoves,
    /// The position stands for the third time.
    ThreefoldRepetition,
    /// Neither side can mate by any series of moves.
    InsufficientMaterial,
}

impl History {
    /// Says whether and how the game is over, where `legal` are the legal moves. Draws count as claimed at
    /// once, mate goes before.
    pub fn terminal(&self, legal: &MoveList) -> Option<Terminal> {
        let position = self.current();
        if legal.is_empty() {
            Some(if position.is_check() { Terminal::Checkmate } else { Terminal::Stalemate })
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
}

impl Position {
    /// Says whether neither side can mate by any series of moves: bare kings, one minor piece, bishops of one
    /// colour.
    pub fn has_insufficient_material(&self) -> bool {
        let board = self.board();
        // Nearly all positions end here.
        if (board.pawns() | board.rooks_and_queens()).any() {
            return false;
        }
        use shakmaty::Position as _;
        self.chess().is_insufficient_material()
    }
}
