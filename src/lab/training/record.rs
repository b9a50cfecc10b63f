//! The record format: labelled games in at most 12 bytes per position (4 where only the move and its evaluation are known).
//!
//! A file is 4 bytes `ZNTG`, a version byte (1), then games back to back, all numbers little-endian:
//!
//! | bytes | what |
//! |---|---|
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
//! | 2 | evaluation, centipawns from the side to move, mates ±(32000 − plies), −32768: none; with candidates, the best one's |
//! | k | places of the candidates among the legal moves |
//! | k − 1 | how much worse than the best each further candidate is, see [`gap_code`] |
//! | 1 | only if none of the candidates was played: the place of the move played |
//!
//! A place is a move's index in the list of all legal moves, in ascending order of their 16 bits
//! ([`Move::to_bits`](crate::chess::Move::to_bits)): whoever reads records needs the rules of chess, and gets illegal
//! moves for errors at once. `models/training/records.py` reads the same format.

use std::io::Write;

use super::TrainingDataError;
use super::bytes::ByteReader;
use super::cursor::GameCursor;
use super::game::{Ending, LabelSource, LabelledGame, LabelledPly, MoveChoice, TeacherMove};

const MAGIC: &[u8; 5] = b"ZNTG\x01";
const TEACHER: u8 = 1;
const HELD_OUT: u8 = 2;
const REFERENCE: u8 = 4;
const HAS_START: u8 = 8;
/// The code for "none of the candidates" in a ply's first byte.
const NOT_A_CANDIDATE: u8 = 7;
/// Candidates that a ply has room for.
pub const MAX_CANDIDATES: usize = 5;
const NO_EVALUATION: i16 = i16::MIN;
/// Gaps below this are exact.
const EXACT_GAPS: f64 = 128.0;
/// Codes per doubling of larger gaps: the error is below 2.6 % and rounding.
const CODES_PER_DOUBLING: f64 = 14.0;

/// Encodes the centipawns that a candidate is worse than the best in a byte: exact below 128, then in steps of a fourteenth of an
/// octave. What is lost makes no difference to a softmax over such moves.
pub fn gap_code(gap: i32) -> u8 {
    let gap = f64::from(gap.max(0));
    if gap < EXACT_GAPS {
        return gap as u8;
    }
    let octaves = (gap / EXACT_GAPS).log2();
    (EXACT_GAPS + (octaves * CODES_PER_DOUBLING).round()).min(255.0) as u8
}

/// Returns the gap in centipawns that a code stands for.
pub fn gap_of(code: u8) -> i32 {
    let code = f64::from(code);
    if code < EXACT_GAPS {
        return code as i32;
    }
    (EXACT_GAPS * ((code - EXACT_GAPS) / CODES_PER_DOUBLING).exp2()).round() as i32
}

/// Writes games as records.
#[derive(Debug)]
pub struct RecordWriter<W> {
    sink: W,
}

impl<W: Write> RecordWriter<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// [`TrainingDataError::Io`] if writing fails.
    pub fn new(mut sink: W) -> Result<Self, TrainingDataError> {
        sink.write_all(MAGIC)?;
        Ok(RecordWriter { sink })
    }

    /// Goes on with a file that has its beginning and perhaps games.
    pub fn append_to(sink: W) -> Self {
        RecordWriter { sink }
    }

    /// Appends a game.
    ///
    /// # Errors
    /// [`TrainingDataError`] if a move is illegal, the game too long, or writing fails. Nothing is written then, except by a failed write.
    pub fn write(&mut self, game: &LabelledGame) -> Result<(), TrainingDataError> {
        let bytes = encode_game(game)?;
        Ok(self.sink.write_all(&bytes)?)
    }

    /// Returns the sink.
    pub fn into_inner(self) -> W {
        self.sink
    }
}

fn encode_game(game: &LabelledGame) -> Result<Vec<u8>, TrainingDataError> {
    let too_large = |what: &str| TrainingDataError::TooLarge(what.into());
    let length = u16::try_from(game.plies.len()).map_err(|_| too_large("more than 65535 plies"))?;
    let mut bytes = Vec::with_capacity(16 + 12 * game.plies.len());
    bytes.extend(length.to_le_bytes());
    bytes.push(game.result as u8);
    bytes.push(game.ending as u8);
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    bytes.push(
        flag(game.source == LabelSource::Teacher, TEACHER)
            | flag(game.held_out, HELD_OUT)
            | flag(game.reference, REFERENCE)
            | flag(game.start.is_some(), HAS_START),
    );
    if let Some(fen) = &game.start {
        bytes.push(u8::try_from(fen.len()).map_err(|_| too_large("a FEN of more than 255 bytes"))?);
        bytes.extend(fen.as_bytes());
    }
    let mut replay = GameCursor::new(game.start.as_deref())?;
    for ply in &game.plies {
        encode_ply(ply, &replay, &mut bytes)?;
        replay.play(ply.played)?;
    }
    Ok(bytes)
}

fn encode_ply(ply: &LabelledPly, replay: &GameCursor, bytes: &mut Vec<u8>) -> Result<(), TrainingDataError> {
    let candidates = &ply.candidates[..ply.candidates.len().min(MAX_CANDIDATES)];
    let played = candidates.iter().position(|candidate| candidate.r#move == ply.played);
    let played_code = played.map_or(NOT_A_CANDIDATE, |place| place as u8);
    bytes.push(candidates.len() as u8 | (ply.choice as u8) << 3 | played_code << 5);
    let best = candidates.first().map(|best| best.centipawns).or(ply.centipawns);
    bytes.extend(best.unwrap_or(NO_EVALUATION).to_le_bytes());
    for candidate in candidates {
        bytes.push(replay.place_of(candidate.r#move)?);
    }
    for candidate in candidates.iter().skip(1) {
        bytes.push(gap_code(i32::from(best.unwrap_or(0)) - i32::from(candidate.centipawns)));
    }
    if played.is_none() {
        bytes.push(replay.place_of(ply.played)?);
    }
    Ok(())
}

/// Reads a file of records, game by game.
#[derive(Debug)]
pub struct RecordReader<'a> {
    bytes: ByteReader<'a>,
    whole: usize,
    failed: bool,
}

impl<'a> RecordReader<'a> {
    /// Starts reading the uncompressed bytes of a file.
    ///
    /// # Errors
    /// [`TrainingDataError::Damaged`] if it is no file of records.
    pub fn new(bytes: &'a [u8]) -> Result<Self, TrainingDataError> {
        let mut bytes = ByteReader::new(bytes);
        if bytes.take(MAGIC.len())? != MAGIC {
            return Err(bytes.fault("no file of training records, or of a newer version"));
        }
        Ok(RecordReader { bytes, whole: MAGIC.len(), failed: false })
    }

    /// Returns the bytes of the file up to the end of the last game that was read whole.
    pub fn whole_bytes(&self) -> usize {
        self.whole
    }

    fn game(&mut self) -> Result<LabelledGame, TrainingDataError> {
        let bytes = &mut self.bytes;
        let length = bytes.u16()?;
        let result = bytes.i8()?;
        if !(-1..=1).contains(&result) {
            return Err(bytes.fault("a result must be -1, 0 or 1"));
        }
        let ending = Ending::from_code(bytes.u8()?).ok_or_else(|| bytes.fault("unknown ending"))?;
        let flags = bytes.u8()?;
        let start = if flags & HAS_START != 0 { Some(start_position(bytes)?) } else { None };
        let mut replay = GameCursor::new(start.as_deref())?;
        let mut plies = Vec::with_capacity(usize::from(length));
        for _ in 0..length {
            let ply = decode_ply(bytes, &replay)?;
            replay.play(ply.played)?;
            plies.push(ply);
        }
        Ok(LabelledGame {
            source: if flags & TEACHER != 0 { LabelSource::Teacher } else { LabelSource::Tournament },
            held_out: flags & HELD_OUT != 0,
            reference: flags & REFERENCE != 0,
            start,
            result,
            ending,
            plies,
        })
    }
}

impl Iterator for RecordReader<'_> {
    type Item = Result<LabelledGame, TrainingDataError>;

    /// Returns the next game; after an error, nothing.
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.bytes.is_at_end() {
            return None;
        }
        let game = self.game();
        match game {
            Ok(_) => self.whole = self.bytes.offset(),
            Err(_) => self.failed = true,
        }
        Some(game)
    }
}

fn start_position(bytes: &mut ByteReader) -> Result<String, TrainingDataError> {
    let length = usize::from(bytes.u8()?);
    let fen = std::str::from_utf8(bytes.take(length)?).map_err(|_| bytes.fault("a FEN that is no text"))?;
    Ok(fen.into())
}

fn decode_ply(bytes: &mut ByteReader, replay: &GameCursor) -> Result<LabelledPly, TrainingDataError> {
    let head = bytes.u8()?;
    let count = usize::from(head & 7);
    let choice = MoveChoice::from_code(head >> 3 & 3).ok_or_else(|| bytes.fault("unknown kind of move"))?;
    let evaluation = bytes.i16()?;
    if count > MAX_CANDIDATES || (count > 0 && evaluation == NO_EVALUATION) {
        return Err(bytes.fault("a position's candidates contradict themselves"));
    }
    let places = bytes.take(count)?;
    let gaps = bytes.take(count.saturating_sub(1))?;
    let legal = replay.legal_moves();
    let move_at = |place: u8| legal.get(usize::from(place)).copied();
    let mut candidates = Vec::with_capacity(count);
    for (place, gap) in places.iter().zip(std::iter::once(&0).chain(gaps)) {
        let candidate = move_at(*place).ok_or_else(|| bytes.fault("a move that is not legal"))?;
        let centipawns = (i32::from(evaluation) - gap_of(*gap)).max(-32000) as i16;
        candidates.push(TeacherMove { r#move: candidate, centipawns });
    }
    let played = match head >> 5 {
        NOT_A_CANDIDATE => move_at(bytes.u8()?),
        place => candidates.get(usize::from(place)).map(|candidate| candidate.r#move),
    };
    let played = played.ok_or_else(|| bytes.fault("a move that is not legal"))?;
    let centipawns = Some(evaluation).filter(|&evaluation| evaluation != NO_EVALUATION);
    Ok(LabelledPly { played, choice, centipawns, candidates })
}
