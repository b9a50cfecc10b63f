//! One position, and the count of move paths from it (perft).
//!
//! Wraps `shakmaty::Chess`. [`History`](super::History) holds what happened before.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Instant;

use serde::Serialize;
use shakmaty::zobrist::{Zobrist64, ZobristValue};
use shakmaty::{
    Bitboard, Board, CastlingMode, CastlingSide, Chess, Color, EnPassantMode, Position as _, Role, Square,
};

use super::moves::{Move, MoveList, Variant};

/// A position with its rights and counters.
#[derive(Clone, Debug)]
pub struct Position {
    chess: Chess,
    /// Lc0's flag, see [`Position::en_passant`]. Shakmaty keeps the square after every double push.
    en_passant: Option<Square>,
    key: u64,
    /// A king that a FEN leaves to be taken. No move may do it.
    king_en_prise: Option<Square>,
    /// shakmaty's move number is one too high: at move 1 it has no such position.
    is_move_ahead: bool,
}

impl Default for Position {
    fn default() -> Position {
        Position::start()
    }
}

impl Position {
    /// The start position.
    pub fn start() -> Position {
        Position::from_chess(Chess::new())
    }

    /// The en-passant square of a validated position counts as given.
    pub(super) fn from_chess(chess: Chess) -> Position {
        let en_passant = chess.ep_square(EnPassantMode::Always);
        let mut position = Position {
            chess,
            en_passant,
            key: 0,
            king_en_prise: None,
            is_move_ahead: false,
        };
        position.key = position.full_key();
        position
    }

    pub(super) fn with_king_en_prise(chess: Chess, move_number: NonZeroU32) -> Position {
        let king_en_prise = chess.board().king_of(!chess.turn());
        let is_move_ahead = chess.fullmoves() > move_number;
        Position {
            king_en_prise,
            is_move_ahead,
            ..Position::from_chess(chess)
        }
    }

    pub(super) fn with_king_to_be_taken(self) -> Position {
        Position {
            king_en_prise: None,
            ..self
        }
    }

    /// The side to move.
    pub fn turn(&self) -> Color {
        self.chess.turn()
    }

    /// Plies since the last capture or pawn move. A FEN may start it above 100.
    pub fn rule50(&self) -> u32 {
        self.chess.halfmoves()
    }

    /// Plies since the start of the game by the move number.
    pub fn game_ply(&self) -> u32 {
        let full_moves_done = self.move_number().get() - 1;
        full_moves_done
            .saturating_mul(2)
            .saturating_add(self.turn().is_black().into())
    }

    pub(super) fn move_number(&self) -> NonZeroU32 {
        let number = self.chess.fullmoves();
        NonZeroU32::new(number.get() - u32::from(self.is_move_ahead)).unwrap_or(number)
    }

    /// The pieces and their squares.
    pub fn board(&self) -> &Board {
        self.chess.board()
    }

    /// Pieces and pawns of both sides, kings included.
    pub fn piece_count(&self) -> usize {
        self.board().occupied().count()
    }

    /// The rooks that may still castle.
    pub fn castling_rights(&self) -> Bitboard {
        self.chess.castles().castling_rights()
    }

    /// The square of the rook with which a side may still castle.
    pub fn castling_rook(&self, color: Color, side: CastlingSide) -> Option<Square> {
        self.chess.castles().rook(color, side)
    }

    /// Passed by the last double push, if an enemy pawn attacks it, even pinned. A FEN's square stands.
    pub fn en_passant(&self) -> Option<Square> {
        self.en_passant
    }

    /// Equal on every machine, without counters.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Ignores counters.
    pub fn is_standard_start(&self) -> bool {
        self.turn().is_white() && self.castling_rights() == Bitboard::CORNERS && *self.board() == Board::new()
    }

    /// Whether only Chess960 has its castling rights.
    pub fn is_of_chess960(&self) -> bool {
        let setup = self.chess.to_setup(EnPassantMode::Always);
        CastlingMode::detect(&setup).is_chess960()
    }

    /// True if the side to move is in check.
    pub fn is_check(&self) -> bool {
        self.chess.is_check()
    }

    /// The pieces that give check.
    pub fn checkers(&self) -> Bitboard {
        self.chess.checkers()
    }

    /// In the same order for the same position.
    pub fn legal_moves(&self) -> MoveList {
        let mut moves = MoveList::new();
        moves.extend(self.chess.legal_moves().iter().copied().map(Move::from_shakmaty));
        if let Some(king) = self.king_en_prise {
            moves.retain(|m| m.to_square() != king);
        }
        moves
    }

    /// True if the move captures, promotes or gives check.
    pub fn is_tactical(&self, m: Move) -> bool {
        let is_capture = self.to_shakmaty(m).is_some_and(|m| m.is_capture());
        is_capture || m.promotion().is_some() || self.play(m).is_check()
    }

    /// Bare kings, one minor piece, or bishops of one colour.
    pub fn has_insufficient_material(&self) -> bool {
        self.chess.is_insufficient_material()
    }

    /// The same for the threefold repetition.
    pub fn is_repetition_of(&self, other: &Position) -> bool {
        self.key == other.key
            && self.en_passant == other.en_passant
            && self.turn() == other.turn()
            && self.castling_rights() == other.castling_rights()
            && self.board() == other.board()
    }

    /// The position after `m`, which must be one of [`Position::legal_moves`].
    ///
    /// # Panics
    ///
    /// Panics if no piece stands where the move begins.
    #[must_use]
    pub fn play(&self, m: Move) -> Position {
        let m = self.to_shakmaty(m).expect("a legal move starts on a piece");
        let mut chess = self.chess.clone();
        chess.play_unchecked(m);
        let en_passant = chess.ep_square(EnPassantMode::PseudoLegal);
        let changed_rights = self.castling_rights() ^ chess.castles().castling_rights();
        let key = self.key
            ^ Zobrist64::zobrist_for_white_turn().0
            ^ moved_pieces_key(m, self.turn())
            ^ castling_key(changed_rights)
            ^ en_passant_key(self.en_passant)
            ^ en_passant_key(en_passant);
        Position {
            chess,
            en_passant,
            key,
            king_en_prise: None,
            is_move_ahead: self.is_move_ahead,
        }
    }

    pub(super) fn to_shakmaty(&self, m: Move) -> Option<shakmaty::Move> {
        let (from, to) = (m.from_square(), m.to_square());
        let board = self.board();
        let role = board.role_at(from)?;
        let capture = board.role_at(to);
        if role == Role::King && board.by_color(self.turn()).contains(to) {
            return Some(shakmaty::Move::Castle { king: from, rook: to });
        }
        if role == Role::Pawn && capture.is_none() && from.file() != to.file() {
            return Some(shakmaty::Move::EnPassant { from, to });
        }
        Some(shakmaty::Move::Normal {
            role,
            from,
            capture,
            to,
            promotion: m.promotion(),
        })
    }

    /// From scratch. [`Position::play`] updates the key.
    fn full_key(&self) -> u64 {
        let turn = if self.turn().is_white() {
            Zobrist64::zobrist_for_white_turn().0
        } else {
            0
        };
        let pieces = self.board().iter().fold(0, |key, (square, piece)| {
            key ^ Zobrist64::zobrist_for_piece(square, piece).0
        });
        turn ^ pieces ^ castling_key(self.castling_rights()) ^ en_passant_key(self.en_passant)
    }

    pub(crate) fn chess(&self) -> &Chess {
        &self.chess
    }
}

fn moved_pieces_key(m: shakmaty::Move, color: Color) -> u64 {
    let key = |square, role: Role, color| Zobrist64::zobrist_for_piece(square, role.of(color)).0;
    match m {
        shakmaty::Move::Normal {
            role,
            from,
            capture,
            to,
            promotion,
        } => {
            let captured = capture.map_or(0, |captured| key(to, captured, !color));
            key(from, role, color) ^ key(to, promotion.unwrap_or(role), color) ^ captured
        }
        shakmaty::Move::EnPassant { from, to } => {
            let captured = Square::from_coords(to.file(), from.rank());
            key(from, Role::Pawn, color) ^ key(to, Role::Pawn, color) ^ key(captured, Role::Pawn, !color)
        }
        shakmaty::Move::Castle { king, rook } => {
            let side = CastlingSide::from_king_side(king < rook);
            key(king, Role::King, color)
                ^ key(rook, Role::Rook, color)
                ^ key(side.king_to(color), Role::King, color)
                ^ key(side.rook_to(color), Role::Rook, color)
        }
        shakmaty::Move::Put { role, to } => key(to, role, color),
    }
}

fn castling_key(rooks: Bitboard) -> u64 {
    // shakmaty's numbers for promoted pieces are free in standard chess, one per square.
    rooks
        .into_iter()
        .fold(0, |key, square| key ^ Zobrist64::zobrist_for_promoted(square).0)
}

fn en_passant_key(square: Option<Square>) -> u64 {
    square.map_or(0, |square| {
        Zobrist64::zobrist_for_en_passant_file(square.file()).0
    })
}

/// 218 moves to the eighth power are less than 2^64.
pub const MAX_PERFT_DEPTH: u32 = 8;

/// Legal move sequences of `depth` plies. The last ply is counted, not played.
pub fn perft(position: &Position, depth: u32) -> u64 {
    let moves = position.legal_moves();
    match depth {
        0 => 1,
        1 => moves.len() as u64,
        _ => moves
            .into_iter()
            .map(|m| perft(&position.play(m), depth - 1))
            .sum(),
    }
}

/// Plies whose paths are counted in a millisecond or two.
const UNWATCHED_DEPTH: u32 = 3;

struct PathCounter<F> {
    counted: u64,
    goes_on: F,
}

impl<F: FnMut(u64) -> bool> PathCounter<F> {
    fn count(&mut self, position: &Position, depth: u32) -> Option<u64> {
        if depth > UNWATCHED_DEPTH {
            let moves = position.legal_moves().into_iter();
            return moves.map(|m| self.count(&position.play(m), depth - 1)).sum();
        }
        if !(self.goes_on)(self.counted) {
            return None;
        }
        let paths = perft(position, depth);
        self.counted += paths;
        Some(paths)
    }
}

/// The count of move paths, by first moves.
#[derive(Clone, Debug, Serialize)]
pub struct PerftReport {
    nodes: u64,
    nps: u64,
    time_ms: u64,
    moves: Vec<MovePaths>,
}

#[derive(Clone, Debug, Serialize)]
struct MovePaths {
    r#move: String,
    nodes: u64,
}

impl PerftReport {
    /// Paths of at most [`MAX_PERFT_DEPTH`] plies. `None` as soon as `goes_on`, which gets the paths so far,
    /// says no.
    pub fn count_while(
        position: &Position,
        depth: u32,
        variant: Variant,
        goes_on: impl FnMut(u64) -> bool,
    ) -> Option<PerftReport> {
        let start = Instant::now();
        let first_moves = if depth == 0 {
            MoveList::new()
        } else {
            position.legal_moves()
        };
        let mut counter = PathCounter { counted: 0, goes_on };
        let moves = first_moves.into_iter().map(|m| {
            let nodes = counter.count(&position.play(m), depth - 1)?;
            let r#move = position.format_move(m, variant);
            Some(MovePaths { r#move, nodes })
        });
        let moves: Vec<_> = moves.collect::<Option<_>>()?;
        let time = start.elapsed();
        let nodes = if depth == 0 { 1 } else { counter.counted };
        let nps = (nodes as f64 / time.as_secs_f64().max(1e-9)) as u64;
        Some(PerftReport {
            nodes,
            nps,
            time_ms: time.as_millis() as u64,
            moves,
        })
    }
}

impl fmt::Display for PerftReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for MovePaths { r#move, nodes } in &self.moves {
            writeln!(f, "{}: {nodes}", r#move)?;
        }
        // The last line is Stockfish's, which wrappers wait for.
        writeln!(
            f,
            "info string {} nps\n\nNodes searched: {}",
            self.nps, self.nodes
        )
    }
}
