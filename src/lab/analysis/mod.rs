//! Analysis of recorded games: every position is searched, every move judged.
//!
//! [`Analyst`] searches the positions of a [`RecordedGame`] and returns an [`AnalysedGame`], with what a time manager would have spent on
//! each move. `pgn` writes the game with comments and variations, [`page`](fn@page) one page with all games on a board. [`AnalysisJournal`]
//! keeps a row of each game, from which a run that was stopped goes on. The command `analyse` calls this module; it uses `engine` and what
//! lies below it.

mod analyst;
mod journal;
mod page;
mod pgn;

pub(crate) use analyst::{Analyst, SearchEffort, SpendingPlan};
pub(crate) use journal::{AnalysisJournal, AnalysisRow, GAMES, KnownGames};
pub(crate) use page::{page, table};
pub(crate) use pgn::is_analysis;

use serde::{Deserialize, Serialize};

use crate::chess::{History, Move, Position};
use crate::lab::matches::MoveScore;
use crate::lab::pgn::RecordedGame;
use crate::lab::replay::control_of;

/// A line that a search found, from the point of view of the side that moves first in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AnalysedLine {
    /// Win minus loss, `-1..=1`.
    pub(crate) wl: f64,
    /// Probability of a draw.
    pub(crate) d: f64,
    pub(crate) score: MoveScore,
    /// Plies to the end of the game, if the network has a Moves Left Head.
    pub(crate) moves_left: Option<f64>,
    /// The moves; none where the game is over.
    pub(crate) moves: Vec<Move>,
}

impl AnalysedLine {
    pub(crate) fn points(&self) -> f64 {
        (1.0 + self.wl) / 2.0
    }
}

/// What was found of a position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AnalysedPosition {
    /// The lines, the best first; at least one.
    pub(crate) lines: Vec<AnalysedLine>,
    /// Visits of the root, those kept from the position before included; 0 where the game is over.
    pub(crate) nodes: u64,
    pub(crate) effort: SearchEffort,
}

impl AnalysedPosition {
    pub(crate) fn best(&self) -> &AnalysedLine {
        &self.lines[0]
    }
}

/// A recorded game with what was found of its positions.
#[derive(Clone, Debug)]
pub(crate) struct AnalysedGame {
    pub(crate) recorded: RecordedGame,
    /// What was found of each position, that after the last move included.
    pub(crate) positions: Vec<AnalysedPosition>,
    /// Time that a time manager would have spent on each move, ms, where there is a clock.
    pub(crate) planned_ms: Vec<Option<f64>>,
}

impl AnalysedGame {
    /// The position before each move, and the last one.
    pub(crate) fn boards(&self) -> Vec<Position> {
        let moves = self.recorded.moves.iter().map(|played| played.r#move);
        let mut boards = vec![self.recorded.start.clone()];
        moves.for_each(|played| boards.push(boards[boards.len() - 1].play(played)));
        boards
    }

    pub(crate) fn judgement(&self, ply: usize) -> Judgement {
        let [before, after] = [&self.positions[ply], &self.positions[ply + 1]];
        Judgement::of(self.recorded.moves[ply].r#move, before, after)
    }

    /// The time that was used for a move, ms: as recorded, or by the clock before and after it.
    pub(crate) fn used_ms(&self, ply: usize) -> Option<f64> {
        let moves = &self.recorded.moves;
        let by_clock = || {
            let control = control_of(&self.recorded);
            let before = match ply.checked_sub(2) {
                Some(last) => moves[last].clock_ms?,
                None => control?.time.0,
            };
            let increment = control.map_or(0.0, |control| control.inc.0);
            Some((before + increment - moves[ply].clock_ms?).max(0.0))
        };
        moves[ply].used_ms.or_else(by_clock)
    }
}

fn history_of(game: &RecordedGame) -> History {
    History::from_position(game.start.clone(), game.variant)
}

/// Losses of expected points, 0 to 1, from which on a move is an inaccuracy, a mistake, a blunder: those of lichess, which counts
/// winning chances from -1 to 1 and has twice as much.
const INACCURACY: f64 = 0.05;
const MISTAKE: f64 = 0.10;
const BLUNDER: f64 = 0.15;

/// How good a move was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Judgement {
    /// Expected points that it gave away, 0 to 1.
    pub(crate) loss: f64,
    /// True if it is the move that the search would have played.
    pub(crate) is_best: bool,
}

impl Judgement {
    /// Judges the move `played` by the positions before and after it.
    pub(super) fn of(played: Move, before: &AnalysedPosition, after: &AnalysedPosition) -> Judgement {
        let is_best = before.best().moves.first() == Some(&played);
        // What a later search sees in the best move is no fault of the player.
        let loss = if is_best { 0.0 } else { before.best().points() - (1.0 - after.best().points()) };
        Judgement { loss: loss.max(0.0), is_best }
    }

    /// The number of the PGN standard's glyph, if it deserves one: `?!` 6, `?` 2, `??` 4.
    pub(crate) fn nag(self) -> Option<u8> {
        match self.loss {
            loss if loss >= BLUNDER => Some(4),
            loss if loss >= MISTAKE => Some(2),
            loss if loss >= INACCURACY => Some(6),
            _ => None,
        }
    }

    pub(crate) fn glyph(self) -> &'static str {
        match self.nag() {
            Some(4) => "??",
            Some(2) => "?",
            Some(_) => "?!",
            None => "",
        }
    }
}

/// The figures of one side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SideSummary {
    /// The tag `White` or `Black`.
    pub(crate) name: String,
    /// Moves, those of the book left out.
    pub(crate) moves: u32,
    /// Share of them that the search would have played too.
    pub(crate) agreement: f64,
    /// Expected points that a move gave away in the mean, 0 to 1.
    pub(crate) mean_loss: f64,
    /// Moves that got `?!`.
    pub(crate) inaccuracies: u32,
    /// Moves that got `?`.
    pub(crate) mistakes: u32,
    /// Moves that got `??`.
    pub(crate) blunders: u32,
    /// Time used, ms, where the game has clocks.
    pub(crate) used_ms: Option<f64>,
    /// Time that the time manager would have used for the same moves, ms.
    pub(crate) planned_ms: Option<f64>,
}

/// The figures of a game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AnalysisSummary {
    /// Its place in the files, from 1; those that were not analysed count.
    pub(crate) game: u64,
    /// The tag `Result`.
    pub(crate) result: String,
    pub(crate) white: SideSummary,
    pub(crate) black: SideSummary,
}

impl AnalysisSummary {
    pub(crate) fn of(game: &AnalysedGame) -> AnalysisSummary {
        let tag = |name| game.recorded.tags.get(name).unwrap_or("?").to_owned();
        let white_first = game.recorded.start.turn().is_white();
        let side = |is_white: bool, name| side(game, usize::from(is_white != white_first), tag(name));
        AnalysisSummary {
            game: game.recorded.number,
            result: tag("Result"),
            white: side(true, "White"),
            black: side(false, "Black"),
        }
    }
}

/// Computes the figures of the side that makes the `first` move and every second one from there.
fn side(game: &AnalysedGame, first: usize, name: String) -> SideSummary {
    let own = (first..game.recorded.moves.len()).step_by(2);
    let plies: Vec<usize> = own.filter(|&ply| !game.recorded.moves[ply].is_book).collect();
    let judged: Vec<_> = plies.iter().map(|&ply| game.judgement(ply)).collect();
    let count = |glyph| judged.iter().filter(|judged| judged.glyph() == glyph).count() as u32;
    let share = |sum: f64| if judged.is_empty() { 0.0 } else { sum / judged.len() as f64 };
    let time =
        |of: &dyn Fn(usize) -> Option<f64>| plies.iter().filter_map(|&ply| of(ply)).reduce(|a, b| a + b);
    SideSummary {
        name,
        moves: judged.len() as u32,
        agreement: share(judged.iter().filter(|judged| judged.is_best).count() as f64),
        mean_loss: share(judged.iter().map(|judged| judged.loss).sum()),
        inaccuracies: count("?!"),
        mistakes: count("?"),
        blunders: count("??"),
        used_ms: time(&|ply| game.used_ms(ply)),
        planned_ms: time(&|ply| game.planned_ms[ply]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(wl: f64, mv: Move) -> AnalysedPosition {
        let line =
            AnalysedLine { wl, d: 0.0, score: MoveScore::Centipawns(0), moves_left: None, moves: vec![mv] };
        AnalysedPosition { lines: vec![line], nodes: 1, effort: SearchEffort::default() }
    }

    #[test]
    fn a_move_is_judged_by_the_points_that_it_gives_away() {
        let start = Position::start();
        let [e4, d4] = ["e4", "d4"].map(|san| start.parse_san(san).unwrap());
        let judged = |played, after| Judgement::of(played, &position(0.2, e4), &position(after, e4));
        // 0.6 points before, and then 0.54, 0.48, 0.44 and 0.65.
        assert_eq!(judged(d4, -0.08).glyph(), "?!");
        assert_eq!(judged(d4, 0.04).glyph(), "?");
        assert_eq!(judged(d4, 0.12).nag(), Some(4));
        assert_eq!(judged(d4, -0.3).nag(), None, "better than expected");
        let best = judged(e4, 0.4);
        assert!(best.is_best && best.loss == 0.0, "{best:?}");
    }
}
