//! A variation that is being read, and played, so that others can read what is written of it.

use super::tags::{NEITHER_SCORES, result_of};
use super::tokens::split_number;
use super::{marks, numbered};
use itertools::Itertools;
use zeitnot_engine::chess::{Position, is_en_passant_sign, is_null_move};

/// Variations within each other that are played.
const DEEPEST: usize = 64;

pub(super) struct Variation {
    raw: String,
    /// As the standard has it.
    played: String,
    depth: usize,
    /// Positions before and after the last move of each open line. Empty if a word cannot be played.
    lines: Vec<(Option<Position>, Position)>,
    /// Whether a number must stand before the next move.
    is_apart: bool,
}

impl Variation {
    /// A variation from the position `start`, or one that replaces no move.
    pub(super) fn new(start: Option<Position>) -> Variation {
        Variation {
            raw: String::new(),
            played: String::new(),
            depth: 1,
            lines: start.into_iter().map(|start| (None, start)).collect(),
            is_apart: true,
        }
    }

    pub(super) fn open(&mut self) {
        self.depth += 1;
        match self.lines.last() {
            Some((Some(before), _)) if self.depth < DEEPEST => self.lines.push((None, before.clone())),
            _ => self.lines.clear(),
        }
        self.add_to_both("(");
    }

    fn add_to_both(&mut self, text: &str) {
        add(&mut self.raw, text);
        add(&mut self.played, text);
        self.is_apart = true;
    }

    pub(super) fn close(&mut self) -> bool {
        self.depth -= 1;
        if self.depth > 0 {
            self.raw.push(')');
            self.played.push(')');
            self.lines.pop();
            self.is_apart = true;
        }
        self.depth == 0
    }

    pub(super) fn take_comment(&mut self, text: &str) {
        self.add_to_both(&format!("{{{text}}}"));
    }

    pub(super) fn take_word(&mut self, word: &str) {
        add(&mut self.raw, word);
        let (core, numbers) = marks::behind(word);
        // Within a variation `0-0` castles.
        let is_result = result_of(word).is_some_and(|result| result != NEITHER_SCORES);
        let rest = if is_result { "" } else { split_number(core).1 };
        let Some((before, end)) = self.lines.last_mut() else {
            return;
        };
        if !rest.is_empty() && !is_en_passant_sign(rest) {
            let next = match end.read_move(rest) {
                Ok(played) => Some((numbered(end, played), end.play(played))),
                Err(_) if is_null_move(rest) => {
                    passed(end).map(|next| (format!("{}. --", end.game_ply() / 2 + 1), next))
                }
                Err(_) => None,
            };
            let Some((numbered, next)) = next else {
                return self.lines.clear();
            };
            let mut text = &*numbered;
            if end.turn().is_black() && !self.is_apart {
                text = text.rsplit(' ').next().unwrap_or_default();
            }
            self.is_apart = false;
            add(&mut self.played, text);
            *before = Some(std::mem::replace(end, next));
        }
        for number in numbers {
            add(&mut self.played, &format!("${number}"));
        }
    }

    /// The variation, or a comment with its text.
    pub(super) fn finish(self) -> Result<String, String> {
        if !self.lines.is_empty() || self.raw.is_empty() {
            Ok(self.played)
        } else {
            Err(format!("({})", super::comments::one_line(&self.raw)))
        }
    }
}

fn add(text: &mut String, word: &str) {
    if !text.is_empty() && !text.ends_with('(') {
        text.push(' ');
    }
    *text += word;
}

/// The position after a move that is none.
fn passed(position: &Position) -> Option<Position> {
    let fen = position.to_fen();
    let (pieces, _, castling, _, quiet_plies, _) = fen.split(' ').collect_tuple()?;
    let turn = (!position.turn()).char();
    let number = position.game_ply().div_ceil(2) + 1;
    Position::from_fen(&format!("{pieces} {turn} {castling} - {quiet_plies} {number}")).ok()
}
