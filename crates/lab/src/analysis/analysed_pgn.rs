//! Writes an analysed game as PGN: figures and times of each move in its comment, glyphs behind moves that
//! gave points away, and the lines of the search as variations.

use std::fmt::Write;

use itertools::Itertools;

use super::judgement::Mark;
use super::{AnalysedGame, AnalysedLine};
use crate::pgn::{
    ANNOTATOR, ANNOTATOR_BREAK, MARKS_OF_PEOPLE, NEITHER_SCORES, commands, numbered, with_positions, written,
};
use crate::score::MoveScore;
use zeitnot_engine::VERSION;
use zeitnot_engine::chess::{Color, Position};

const LONGEST: usize = 12;

/// One game, with an empty line behind it. `engine` describes what analysed it.
pub(super) fn pgn(game: &AnalysedGame, engine: &str) -> String {
    let people = game.recorded.tags.annotators().0;
    let stop = if people.is_empty() { "" } else { ANNOTATOR_BREAK };
    let annotators = format!("{people}{stop}Zeitnot {VERSION}, {engine}");
    let others = game.recorded.tags.iter().filter(|(name, _)| *name != ANNOTATOR);
    written(others.chain([(ANNOTATOR, &*annotators)]), &movetext(game))
}

fn movetext(game: &AnalysedGame) -> String {
    let boards = game.boards();
    let mut text = in_braces(&game.recorded.comments);
    for (ply, played) in game.recorded.moves.iter().enumerate() {
        let before = &boards[ply];
        text += &numbered(before, played.r#move);
        let own = game.judgement(ply).mark.map(Mark::nag);
        let own = own.filter(|own| !played.marks.contains(own));
        for mark in own.iter().chain(&played.marks) {
            let _ = write!(text, " ${mark}");
        }
        let book = if played.is_book { "{book} " } else { "" };
        let _ = write!(text, " {{{}}} {book}", comment(game, ply, &boards[ply + 1]));
        text += &in_braces(&played.comments);
        for variation in &played.variations {
            let _ = write!(text, "({variation}) ");
        }
        let begins_otherwise =
            |line: &&AnalysedLine| line.moves.first().is_some_and(|mv| *mv != played.r#move);
        for line in game.positions[ply].lines.iter().filter(begins_otherwise) {
            let _ = write!(text, "({}) ", variation(before, line));
        }
    }
    // Other programs take 0-0 for castling.
    text + game
        .recorded
        .tags
        .get("Result")
        .filter(|result| *result != NEITHER_SCORES)
        .unwrap_or("*")
}

fn in_braces(comments: &[String]) -> String {
    comments.iter().map(|comment| format!("{{{comment}}} ")).collect()
}

fn variation(start: &Position, line: &AnalysedLine) -> String {
    let moves = with_positions(start, line.moves.iter().copied().take(LONGEST)).enumerate();
    let mut moves = moves.map(|(ply, (before, mv))| {
        if ply == 0 {
            let [win, draw, loss] = permille_of_white(line, start.turn());
            let eval = line.score.of_white(start.turn());
            let first = numbered(&before, mv);
            format!("{first} {{[%eval {eval}] wdl={win}/{draw}/{loss}}}")
        } else if before.turn().is_white() {
            numbered(&before, mv)
        } else {
            before.format_san(mv)
        }
    });
    moves.join(" ")
}

/// The comment of a move: what the position after it is worth, and the times.
fn comment(game: &AnalysedGame, ply: usize, after: &Position) -> String {
    let played = &game.recorded.moves[ply];
    let found = &game.positions[ply + 1];
    let best = found.best();
    // No evaluation is written where the game is over by mate.
    let has_eval = best.score != MoveScore::Mate(0);
    let eval = has_eval.then(|| best.score.of_white(after.turn()));
    let mut text = commands(eval, played.clock_ms, game.used_ms[ply]);
    let [win, draw, loss] = permille_of_white(best, after.turn());
    let _ = write!(text, "wdl={win}/{draw}/{loss}");
    if let Some(plies) = best.moves_left {
        let _ = write!(text, " ml={plies:.0}");
    }
    let _ = write!(text, " n={}", found.nodes);
    if let Some(ms) = game.planned_ms[ply] {
        let _ = write!(text, " planned={:.3}", ms / 1000.0);
    }
    if !played.marks.is_empty() {
        let _ = write!(text, " {MARKS_OF_PEOPLE}{}", played.marks.iter().join(","));
    }
    text
}

/// White's win, draw and loss, permille. Their sum is 1,000.
pub(super) fn permille_of_white(line: &AnalysedLine, turn: Color) -> [u32; 3] {
    let wl = if turn.is_white() { line.wl } else { -line.wl };
    let share = |value: f64| (1000.0 * value.clamp(0.0, 1.0)).round() as u32;
    let win = share((1.0 - line.d + wl) / 2.0);
    let loss = share((1.0 - line.d - wl) / 2.0).min(1000 - win);
    [win, 1000 - win - loss, loss]
}
