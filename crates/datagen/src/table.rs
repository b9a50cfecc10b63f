//! Expands games to the tables that the trainer maps into memory: one row of 128 bytes per position, and all
//! legal moves back to back, u16 each, in the bits of [`Move::to_bits`] but as the side to move sees them.
//!
//! A row, little-endian (`models/training/table.py` reads it):
//!
//! | offset | what |
//! |---|---|
//! | 0 | 12 × u64 bitboards, White's P N B R Q K, then Black's, a1 = bit 0 |
//! | 96 | u32 first of this position's legal moves in the table of moves |
//! | 100 | u16 plies to the end of the game |
//! | 102 | u16 plies since its start |
//! | 104 | i16 evaluation, centipawns from the side to move, mates ±(32000 − plies), −32768: none |
//! | 106 | 5 × i16 evaluations of the candidates, best first |
//! | 116 | 5 × u8 places of the candidates among the legal moves |
//! | 121 | u8 number of candidates |
//! | 122 | u8 number of legal moves |
//! | 123 | u8 plies since a capture or pawn move, at most 255 |
//! | 124 | u8 board: 1 White may castle queenside, 2 kingside, 4, 8 Black, 16 Black moves, 32 repeated, 64 en passant possible, 128 the game began at another position than the standard one |
//! | 125 | u8 number of earlier rows of this game, at most 7 |
//! | 126 | i8 result, side to move |
//! | 127 | u8 labels: 1 policy, 2 result and 4 moves left count, 8 held out, 16 by the teacher, 32 of the reference set |
//!
//! Rows of a game follow each other, so that a position's history is the rows before it.

use crate::TrainingDataError;
use crate::game::{LabelledGame, LabelledPly, MoveChoice};
use crate::record::{Cursor, MAX_CANDIDATES, bits};
use zeitnot_engine::chess::{CastlingSide, Color, Move, Role};

pub const ROW: usize = 128;
/// Earlier rows of a game that a network sees.
pub const MAX_PAST: usize = 7;

#[derive(Debug, Default)]
pub struct Tables {
    pub rows: Vec<u8>,
    /// Legal moves, two bytes each.
    pub moves: Vec<u8>,
    move_count: u32,
}

impl Tables {
    pub fn add(&mut self, game: &LabelledGame) -> Result<(), TrainingDataError> {
        let mut cursor = Cursor::new(game.start.as_deref())?;
        let odd_start = !cursor.history.current().is_standard_start();
        let last_oddity = game
            .plies
            .iter()
            .rposition(|ply| matches!(ply.choice, MoveChoice::Deviation | MoveChoice::Blunder));
        for (i, ply) in game.plies.iter().enumerate() {
            let mut row = [0u8; ROW];
            write_board(&mut row, &cursor, odd_start);
            let result_counts = game.ending.result_counts() && last_oddity.is_none_or(|oddity| i > oddity);
            write_labels(&mut row, game, i, result_counts);
            write_policy(&mut row, &cursor, ply)?;
            row[96..100].copy_from_slice(&self.move_count.to_le_bytes());
            self.add_moves(&cursor)?;
            self.rows.extend(row);
            cursor.play(ply.played)?;
        }
        Ok(())
    }

    fn add_moves(&mut self, cursor: &Cursor) -> Result<(), TrainingDataError> {
        let turn = cursor.history.current().turn();
        let full = TrainingDataError::TooLarge("more than 2^32 legal moves in a table");
        self.move_count = self
            .move_count
            .checked_add(cursor.legal.len() as u32)
            .ok_or(full)?;
        self.moves.extend(
            cursor
                .legal
                .iter()
                .flat_map(|&m| relative_bits(m, turn).to_le_bytes()),
        );
        Ok(())
    }
}

/// As the side to move sees it.
fn relative_bits(m: Move, turn: Color) -> u16 {
    m.to_bits() ^ if turn.is_black() { 56 | 56 << 6 } else { 0 }
}

fn write_board(row: &mut [u8; ROW], cursor: &Cursor, odd_start: bool) {
    let position = cursor.history.current();
    let pieces = Color::ALL
        .into_iter()
        .flat_map(|color| Role::ALL.into_iter().map(move |role| role.of(color)));
    for (slot, piece) in row[..96].chunks_exact_mut(8).zip(pieces) {
        slot.copy_from_slice(&position.board().by_piece(piece).0.to_le_bytes());
    }
    // No position has more legal moves than a byte counts, see `MoveList`.
    row[122] = cursor.legal.len() as u8;
    row[123] = position.rule50().min(255) as u8;
    row[124] = board_flags(cursor, odd_start);
}

fn board_flags(cursor: &Cursor, odd_start: bool) -> u8 {
    let position = cursor.history.current();
    let may_castle = |color, side| position.castling_rook(color, side).is_some();
    bits([
        may_castle(Color::White, CastlingSide::QueenSide),
        may_castle(Color::White, CastlingSide::KingSide),
        may_castle(Color::Black, CastlingSide::QueenSide),
        may_castle(Color::Black, CastlingSide::KingSide),
        position.turn().is_black(),
        cursor.history.repetitions() > 0,
        position.en_passant().is_some(),
        odd_start,
    ])
}

fn write_labels(row: &mut [u8; ROW], game: &LabelledGame, ply: usize, result_counts: bool) {
    let left = (game.plies.len() - ply).min(usize::from(u16::MAX)) as u16;
    row[100..102].copy_from_slice(&left.to_le_bytes());
    row[102..104].copy_from_slice(&(ply.min(usize::from(u16::MAX)) as u16).to_le_bytes());
    row[104..106].copy_from_slice(&game.plies[ply].centipawns.unwrap_or(i16::MIN).to_le_bytes());
    row[125] = ply.min(MAX_PAST) as u8;
    let black = row[124] & 16 != 0;
    row[126] = if black { -game.result } else { game.result } as u8;
    // A teacher labels with its own choice even where another move was played.
    let policy = match game.by_teacher {
        true => !game.plies[ply].candidates.is_empty(),
        false => game.plies[ply].choice == MoveChoice::Best,
    };
    let length_counts = game.ending.length_counts();
    row[127] = bits([
        policy,
        result_counts,
        length_counts,
        game.held_out,
        game.by_teacher,
        game.reference,
    ]);
}

fn write_policy(row: &mut [u8; ROW], cursor: &Cursor, ply: &LabelledPly) -> Result<(), TrainingDataError> {
    if ply.candidates.is_empty() {
        row[121] = 1;
        row[116] = cursor.place_of(ply.played)?;
        return Ok(());
    }
    let candidates = &ply.candidates[..ply.candidates.len().min(MAX_CANDIDATES)];
    row[121] = candidates.len() as u8;
    for (i, candidate) in candidates.iter().enumerate() {
        row[106 + 2 * i..108 + 2 * i].copy_from_slice(&candidate.centipawns.to_le_bytes());
        row[116 + i] = cursor.place_of(candidate.mv)?;
    }
    Ok(())
}
