//! The record format: labelled games in at most 12 bytes per position (4 where only the move and its
//! evaluation are known).
//!
//! A file is 4 bytes `ZNTG`, a version byte (2), then games back to back, all numbers little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 4 + 4 | bytes of the game from here on but for the checksum, and the same with all bits inverted |
//! | 4 | CRC-32 of these bytes |
//! | 2 | plies n |
//! | 1 | result, signed, White's view |
//! | 1 | [`Ending`] |
//! | 1 | flags: 1 by the teacher, 2 held out, 4 of the reference set, 8 a start position follows |
//! | 1 + l | only with flag 8: length of the FEN and the FEN |
//! | … | n plies |
//!
//! A ply is
//!
//! | bytes | what |
//! |---|---|
//! | 1 | bits 0–2 number of candidates k (0–5), bits 3–4 [`MoveChoice`], bits 5–7 which candidate was played, 7: none of them |
//! | 2 | evaluation, centipawns from the side to move, mates ±(32000 − plies), −32768: none, with candidates, the best one's |
//! | k | places of the candidates among the legal moves |
//! | k − 1 | how much worse than the best each further candidate is, see [`gap_code`] |
//! | 1 | only if none of the candidates was played: the place of the move played |
//!
//! Files of version 1 have games without lengths and checksums.
//!
//! A place is a move's index in the list of all legal moves, in ascending order of their 16 bits
//! ([`Move::to_bits`](zeitnot_engine::chess::Move::to_bits)): whoever reads records needs the rules of chess,
//! and gets illegal moves for errors at once.

use crate::TrainingDataError;
use crate::game::{LabelledGame, LabelledPly, MoveChoice, TeacherMove};
use zeitnot_engine::chess::{History, Move, Variant};
use zeitnot_lab::pgn::Ending;

pub const MAGIC: &[u8; 5] = b"ZNTG\x02";
const OLD_MAGIC: &[u8; 5] = b"ZNTG\x01";
/// Length and checksum of a game.
const HEAD: usize = 12;
pub const MAX_CANDIDATES: usize = 5;
const NOT_A_CANDIDATE: u8 = 7;
const NO_EVALUATION: i16 = i16::MIN;
/// Smaller gaps are exact.
const EXACT_GAPS: f64 = 128.0;
/// For larger gaps: the error is below 2.6 % and rounding.
const CODES_PER_DOUBLING: f64 = 14.0;

/// Codes how much worse than the best a candidate is, centipawns: exact below 128, then in steps of a
/// fourteenth of an octave, which a softmax does not notice.
fn gap_code(gap: i32) -> u8 {
    match f64::from(gap.max(0)) {
        gap if gap < EXACT_GAPS => gap as u8,
        gap => (EXACT_GAPS + ((gap / EXACT_GAPS).log2() * CODES_PER_DOUBLING).round()).min(255.0) as u8,
    }
}

/// The gap of a code, centipawns.
fn gap_of(code: u8) -> i32 {
    match f64::from(code) {
        code if code < EXACT_GAPS => code as i32,
        code => (EXACT_GAPS * ((code - EXACT_GAPS) / CODES_PER_DOUBLING).exp2()).round() as i32,
    }
}

/// Names a move by its place among the legal moves, in ascending order of their bits.
pub(super) struct Cursor {
    pub(super) history: History,
    pub(super) legal: Vec<Move>,
}

impl Cursor {
    /// `None` is the standard position. FENs may have the castling rights of Chess960.
    pub(super) fn new(start: Option<&str>) -> Result<Cursor, TrainingDataError> {
        let of_fen = start
            .map(|fen| History::from_fen(fen, Variant::Chess960))
            .transpose()?;
        let history = of_fen.unwrap_or_else(History::start);
        Ok(Cursor {
            legal: sorted_moves(&history),
            history,
        })
    }

    pub(super) fn place_of(&self, m: Move) -> Result<u8, TrainingDataError> {
        let place = self
            .legal
            .binary_search(&m)
            .ok()
            .and_then(|place| u8::try_from(place).ok());
        place.ok_or_else(|| TrainingDataError::IllegalMove {
            text: format!("{m:?}"),
            ply: self.history.len() - 1,
        })
    }

    pub(super) fn play(&mut self, m: Move) -> Result<(), TrainingDataError> {
        self.place_of(m)?;
        self.history.push(m);
        self.legal = sorted_moves(&self.history);
        Ok(())
    }
}

fn sorted_moves(history: &History) -> Vec<Move> {
    let mut legal = history.legal_moves().to_vec();
    legal.sort_unstable();
    legal
}

/// The bytes go behind [`MAGIC`] or another game.
pub fn encode(game: &LabelledGame) -> Result<Vec<u8>, TrainingDataError> {
    let content = content(game)?;
    let length = content.len() as u32;
    let sum = crc32fast::hash(&content);
    let head = [length, !length, sum].into_iter().flat_map(u32::to_le_bytes);
    Ok(head.chain(content).collect())
}

fn content(game: &LabelledGame) -> Result<Vec<u8>, TrainingDataError> {
    let length = u16::try_from(game.plies.len());
    let length = length.map_err(|_| TrainingDataError::TooLarge("more than 65535 plies"))?;
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend([game.result as u8, game.ending as u8]);
    bytes.push(bits([
        game.by_teacher,
        game.held_out,
        game.reference,
        game.start.is_some(),
    ]));
    if let Some(fen) = &game.start {
        let length = u8::try_from(fen.len());
        bytes.push(length.map_err(|_| TrainingDataError::TooLarge("a FEN of more than 255 bytes"))?);
        bytes.extend(fen.as_bytes());
    }
    let mut cursor = Cursor::new(game.start.as_deref())?;
    for ply in &game.plies {
        encode_ply(ply, &cursor, &mut bytes)?;
        cursor.play(ply.played)?;
    }
    Ok(bytes)
}

/// The first one is the lowest bit.
pub(super) fn bits<const N: usize>(set: [bool; N]) -> u8 {
    set.into_iter()
        .rev()
        .fold(0, |bits, is_set| bits << 1 | u8::from(is_set))
}

fn encode_ply(ply: &LabelledPly, cursor: &Cursor, bytes: &mut Vec<u8>) -> Result<(), TrainingDataError> {
    let candidates = &ply.candidates[..ply.candidates.len().min(MAX_CANDIDATES)];
    let played = candidates.iter().position(|candidate| candidate.mv == ply.played);
    let played_code = played.map_or(NOT_A_CANDIDATE, |place| place as u8);
    bytes.push(candidates.len() as u8 | (ply.choice as u8) << 3 | played_code << 5);
    let best = candidates.first().map(|best| best.centipawns).or(ply.centipawns);
    bytes.extend(best.unwrap_or(NO_EVALUATION).to_le_bytes());
    for candidate in candidates {
        bytes.push(cursor.place_of(candidate.mv)?);
    }
    let worse = |candidate: &TeacherMove| i32::from(best.unwrap_or(0)) - i32::from(candidate.centipawns);
    bytes.extend(
        candidates
            .iter()
            .skip(1)
            .map(|candidate| gap_code(worse(candidate))),
    );
    if played.is_none() {
        bytes.push(cursor.place_of(ply.played)?);
    }
    Ok(())
}

/// Reads an uncompressed file of records. After an error it ends.
#[derive(Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    offset: usize,
    /// Behind the last whole game.
    pub whole_bytes: usize,
    pub is_old: bool,
    /// The file ends within a game.
    pub is_torn: bool,
}

impl<'a> Records<'a> {
    pub fn new(bytes: &'a [u8]) -> Result<Self, TrainingDataError> {
        let is_old = bytes.starts_with(OLD_MAGIC);
        let records = Records {
            bytes,
            offset: MAGIC.len(),
            whole_bytes: MAGIC.len(),
            is_old,
            is_torn: false,
        };
        if !is_old && !bytes.starts_with(MAGIC) {
            return Err(records.fault("no file of training records, or of a newer version"));
        }
        Ok(records)
    }

    fn fault(&self, reason: &str) -> TrainingDataError {
        TrainingDataError::Damaged {
            offset: self.offset,
            reason: reason.into(),
        }
    }

    fn next_bytes(&mut self, count: usize) -> Result<&'a [u8], TrainingDataError> {
        let taken = self.bytes[self.offset..].get(..count);
        self.is_torn = taken.is_none();
        self.offset += if self.is_torn { 0 } else { count };
        taken.ok_or_else(|| self.fault("the file ends early"))
    }

    fn byte(&mut self) -> Result<u8, TrainingDataError> {
        Ok(self.next_bytes(1)?[0])
    }

    fn pair(&mut self) -> Result<[u8; 2], TrainingDataError> {
        Ok([self.byte()?, self.byte()?])
    }

    /// A game behind its length and checksum.
    fn checked_game(&mut self) -> Result<LabelledGame, TrainingDataError> {
        let head = self.next_bytes(HEAD)?;
        let word = |place: usize| u32::from_le_bytes(std::array::from_fn(|byte| head[4 * place + byte]));
        let [length, inverted, sum] = [0, 1, 2].map(word);
        if length != !inverted {
            return Err(self.fault("the length of a game is damaged"));
        }
        let start = self.offset;
        if crc32fast::hash(self.next_bytes(length as usize)?) != sum {
            return Err(self.fault("the checksum of a game is another one"));
        }
        self.offset = start;
        self.game()
    }

    fn game(&mut self) -> Result<LabelledGame, TrainingDataError> {
        let length = u16::from_le_bytes(self.pair()?);
        let result = self.byte()? as i8;
        if !(-1..=1).contains(&result) {
            return Err(self.fault("a result must be -1, 0 or 1"));
        }
        let ending = Ending::from_code(self.byte()?).ok_or_else(|| self.fault("unknown ending"))?;
        let flags = self.byte()?;
        let [by_teacher, held_out, reference, has_start] = [0, 1, 2, 3].map(|bit| flags >> bit & 1 == 1);
        let mut start = None;
        if has_start {
            let length = usize::from(self.byte()?);
            let fen = str::from_utf8(self.next_bytes(length)?);
            start = Some(fen.map_err(|_| self.fault("a FEN that is no text"))?.to_owned());
        }
        let mut cursor = Cursor::new(start.as_deref())?;
        let mut plies = Vec::with_capacity(usize::from(length));
        for _ in 0..length {
            let ply = self.ply(&cursor.legal)?;
            cursor.play(ply.played)?;
            plies.push(ply);
        }
        Ok(LabelledGame {
            by_teacher,
            held_out,
            reference,
            start,
            result,
            ending,
            plies,
        })
    }

    fn ply(&mut self, legal: &[Move]) -> Result<LabelledPly, TrainingDataError> {
        let head = self.byte()?;
        let count = usize::from(head & 7);
        let choice = MoveChoice::ALL[usize::from(head >> 3 & 3)];
        let evaluation = i16::from_le_bytes(self.pair()?);
        if count > MAX_CANDIDATES || (count > 0 && evaluation == NO_EVALUATION) {
            return Err(self.fault("a position's candidates contradict themselves"));
        }
        let places = self.next_bytes(count)?;
        let gaps = self.next_bytes(count.saturating_sub(1))?;
        let move_at = |place: u8| legal.get(usize::from(place)).copied();
        let mut candidates = Vec::with_capacity(count);
        for (place, gap) in places.iter().zip(std::iter::once(&0).chain(gaps)) {
            let candidate = move_at(*place).ok_or_else(|| self.fault("a move that is not legal"))?;
            let centipawns = (i32::from(evaluation) - gap_of(*gap)).max(-32000) as i16;
            candidates.push(TeacherMove {
                mv: candidate,
                centipawns,
            });
        }
        let played = match head >> 5 {
            NOT_A_CANDIDATE => move_at(self.byte()?),
            place => candidates.get(usize::from(place)).map(|candidate| candidate.mv),
        };
        let played = played.ok_or_else(|| self.fault("a move that is not legal"))?;
        let centipawns = Some(evaluation).filter(|&evaluation| evaluation != NO_EVALUATION);
        Ok(LabelledPly {
            played,
            choice,
            centipawns,
            candidates,
        })
    }
}

impl Iterator for Records<'_> {
    type Item = Result<LabelledGame, TrainingDataError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.offset >= self.bytes.len() {
            return None;
        }
        let game = if self.is_old {
            self.game()
        } else {
            self.checked_game()
        };
        match game {
            Ok(_) => self.whole_bytes = self.offset,
            Err(_) => self.offset = self.bytes.len(),
        }
        Some(game)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_exact_when_small_and_close_when_large() {
        for gap in 0..=65535 {
            let read = gap_of(gap_code(gap));
            let tolerance = if gap < 128 {
                0.0
            } else {
                f64::from(gap) * 0.026 + 1.0
            };
            assert!(f64::from((read - gap).abs()) <= tolerance, "{gap} became {read}");
        }
    }
}
