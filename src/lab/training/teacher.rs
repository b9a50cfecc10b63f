//! Imports games that a teacher played and labelled with several principal variations.
//!
//! The games follow each other, little-endian: u16 plies n, u16 opening plies o, i8 result (White's view), u8 ending; n moves u16;
//! then for each ply from o: u8 k, u8 choice, k times (u16 move, i16 centipawns from the side to move), best first.
//! All games start from the standard position.

use super::TrainingDataError;
use super::bytes::ByteReader;
use super::game::{Ending, LabelSource, LabelledGame, LabelledPly, MoveChoice, TeacherMove};
use crate::chess::Move;

/// The number of games of which one is held out.
const HELD_OUT_ONE_IN: usize = 33;

/// Reads all games of the uncompressed bytes. Every 33rd game is held out.
///
/// # Errors
/// [`TrainingDataError::Damaged`] with the place of the problem.
pub fn read_games(bytes: &[u8]) -> Result<Vec<LabelledGame>, TrainingDataError> {
    let mut reader = ByteReader::new(bytes);
    let mut games = Vec::new();
    while !reader.is_at_end() {
        let held_out = games.len() % HELD_OUT_ONE_IN == 0;
        games.push(read_game(&mut reader, held_out)?);
    }
    Ok(games)
}

fn read_game(reader: &mut ByteReader, held_out: bool) -> Result<LabelledGame, TrainingDataError> {
    let length = usize::from(reader.u16()?);
    let opening = usize::from(reader.u16()?);
    let result = reader.i8()?;
    let ending = reader.u8()?;
    if opening > length || !(-1..=1).contains(&result) {
        return Err(reader.fault("a game's header contradicts itself"));
    }
    let ending = Ending::from_code(ending).ok_or_else(|| reader.fault("unknown ending"))?;
    let mut plies = Vec::with_capacity(length);
    for i in 0..length {
        let choice = if i < opening { MoveChoice::Book } else { MoveChoice::Best };
        plies.push(LabelledPly::new(Move::from_bits(reader.u16()?), choice));
    }
    for ply in &mut plies[opening..] {
        let count = reader.u8()?;
        let choice = reader.u8()?;
        ply.choice = MoveChoice::from_code(choice).ok_or_else(|| reader.fault("unknown kind of move"))?;
        for _ in 0..count {
            let candidate = Move::from_bits(reader.u16()?);
            ply.candidates.push(TeacherMove { r#move: candidate, centipawns: reader.i16()? });
        }
        ply.centipawns = ply.candidates.first().map(|best| best.centipawns);
    }
    Ok(LabelledGame {
        source: LabelSource::Teacher,
        held_out,
        reference: false,
        start: None,
        result,
        ending,
        plies,
    })
}
