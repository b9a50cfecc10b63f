//! Analysis of recorded games: every position is searched, every move judged.
//!
//! [`Analyst`] searches the positions of a [`RecordedGame`] and returns an [`AnalysedGame`], with what a time
//! manager would have spent on each move. [`ExternalJudge`] does so with another UCI engine. `judgement` says
//! how good the moves were. `pgn` writes the game, [`page`](fn@page) one page with all games in the
//! [viewer](crate::viewer), which adds up [`MoveSums`] over them. A [`Journal`](crate::run::Journal) of
//! [`AnalysisRow`]s keeps each game, from which a stopped run goes on.

mod analysed_pgn;
mod analysis_page;
mod analyst;
mod external_judge;
mod journal;
mod judgement;
mod viewed;

pub use analysis_page::{page, table};
pub use analyst::{Analyst, SearchEffort, SpendingPlan};
pub use external_judge::ExternalJudge;
pub use journal::{AnalysisRow, FILES};

use judgement::{Judgement, Mark, accuracy, game_accuracy, least_certain_loss};

use serde::{Deserialize, Serialize};

use crate::pgn::{RecordedGame, used_ms, with_positions};
use crate::phase::Phase;
use crate::replay::control_of;
use crate::score::MoveScore;
use crate::viewer::{control_in_words, low_clock};
use zeitnot_engine::chess::{Move, Position};
use zeitnot_engine::time::TimeControl;

/// A line that a search found, from the point of view of the side that moves first in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AnalysedLine {
    /// Win minus loss, `-1..=1`.
    wl: f64,
    /// Probability of a draw.
    d: f64,
    /// Winning chances, percent.
    win: f64,
    score: MoveScore,
    /// Plies to the end of the game, if the network has a Moves Left Head.
    moves_left: Option<f64>,
    /// The moves, or none where the game is over.
    moves: Vec<Move>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AnalysedPosition {
    /// The lines, the best first, at least one.
    lines: Vec<AnalysedLine>,
    /// Visits of the root, with those kept from the position before, or 0 where the game is over.
    nodes: u64,
    effort: SearchEffort,
    /// The searched moves with their shares of the visits, permille, the largest first, and the mover's
    /// winning chances after each, percent.
    tries: Vec<(Move, u32, f64)>,
}

impl AnalysedPosition {
    fn best(&self) -> &AnalysedLine {
        &self.lines[0]
    }
}

/// A recorded game with what was found of its positions.
#[derive(Debug)]
pub struct AnalysedGame {
    recorded: RecordedGame,
    /// Of each position, that after the last move included.
    positions: Vec<AnalysedPosition>,
    /// Of several periods the first.
    control: Option<TimeControl>,
    /// The time that was used for each move, ms: as recorded, or by the clocks before and after it.
    used_ms: Vec<Option<f64>>,
    /// What a time manager would have spent on each move, ms, where there is a clock.
    planned_ms: Vec<Option<f64>>,
}

impl AnalysedGame {
    /// `nps` is the speed of the machine whose time manager plans.
    fn new(
        recorded: RecordedGame,
        positions: Vec<AnalysedPosition>,
        plan: &SpendingPlan,
        nps: f64,
    ) -> AnalysedGame {
        AnalysedGame {
            control: plan.control.or_else(|| control_of(&recorded)),
            used_ms: used_ms(&recorded, plan.control),
            planned_ms: plan.spend(&recorded, &positions, nps),
            recorded,
            positions,
        }
    }

    fn tag(&self, name: &str) -> String {
        self.recorded.tags.get(name).unwrap_or("?").to_owned()
    }

    /// Before each move, and the last one.
    fn boards(&self) -> Vec<Position> {
        let moves = self.recorded.moves.iter().map(|played| played.r#move);
        let before = with_positions(&self.recorded.start, moves).map(|(before, _)| before);
        before.chain([self.recorded.end.clone()]).collect()
    }

    fn judgement(&self, ply: usize) -> Judgement {
        let [before, after] = [&self.positions[ply], &self.positions[ply + 1]];
        let played = &self.recorded.moves[ply];
        let mut judged = Judgement::of(played.r#move, before, after);
        // What the book says is no player's choice.
        if played.is_book {
            judged.mark = None;
            judged.is_unclear = false;
            judged.mate = None;
        }
        judged
    }

    /// lichess' accuracy of White and Black, percent, or `None` where there are no moves or too few visits to
    /// judge.
    fn accuracy(&self) -> [Option<f64>; 2] {
        if self.least_certain_loss() > Mark::Mistake.least_loss() {
            return [None; 2];
        }
        let white_begins = self.recorded.start.turn().is_white();
        let counts: Vec<_> = self.recorded.moves.iter().map(|played| !played.is_book).collect();
        game_accuracy(&self.white_wins(), white_begins, &counts)
    }

    /// White's winning chances in each position, percent.
    fn white_wins(&self) -> Vec<f64> {
        let mut is_white = self.recorded.start.turn().is_white();
        let mut wins = Vec::new();
        for found in &self.positions {
            let chances = found.best().win;
            wins.push(if is_white { chances } else { 100.0 - chances });
            is_white = !is_white;
        }
        wins
    }

    /// The loss of winning chances, percent, that the visits of the median position can tell from none.
    fn least_certain_loss(&self) -> f64 {
        let visits = self.positions.iter().map(|found| found.nodes);
        let mut visits: Vec<_> = visits.filter(|&nodes| nodes > 0).collect();
        visits.sort_unstable();
        let median = visits.get(visits.len() / 2);
        median.map_or(0.0, |&visits| least_certain_loss(visits))
    }
}

/// Sums over the moves of a side in a phase of a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct MoveSums {
    moves: u32,
    /// Moves that the search would have played too.
    best: u32,
    /// Accuracy of the moves, percent.
    accuracy: f64,
    /// Winning chances given away, percent.
    loss: f64,
    /// Moves that got `?!`, `?` and `??`.
    marks: [u32; 3],
    /// Moves that seem bad, with too few visits to judge.
    unclear: u32,
    /// Moves with a known time, with a plan, and made with a low clock.
    timed: u32,
    planned: u32,
    low: u32,
    used_ms: f64,
    planned_ms: f64,
}

impl MoveSums {
    /// Its times are in ms.
    fn add(&mut self, judged: Judgement, used: Option<f64>, planned: Option<f64>, is_low: bool) {
        self.moves += 1;
        self.best += u32::from(judged.is_best);
        self.accuracy += accuracy(judged.before, judged.after);
        self.loss += judged.loss();
        if let Some(mark) = judged.mark {
            self.marks[mark as usize] += 1;
        }
        self.unclear += u32::from(judged.is_unclear);
        let Some(used) = used else { return };
        self.timed += 1;
        self.used_ms += used;
        self.low += u32::from(is_low);
        if let Some(planned) = planned {
            self.planned += 1;
            self.planned_ms += planned;
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SideSummary {
    name: String,
    /// Moves, those of the book left out.
    moves: u32,
    /// Share of them that the search would have played too.
    agreement: f64,
    /// lichess' accuracy, percent, or `None` without moves, or with too few visits to judge.
    accuracy: Option<f64>,
    /// Winning chances given away by a move in the mean, 0 to 1.
    mean_loss: f64,
    inaccuracies: u32,
    mistakes: u32,
    blunders: u32,
    /// Moves that seem bad, with too few visits to judge.
    unclear: u32,
    used_ms: Option<f64>,
    /// The time manager's for the same moves, ms.
    planned_ms: Option<f64>,
    phases: [MoveSums; 3],
}

#[derive(Debug, Serialize, Deserialize)]
pub struct AnalysisSummary {
    /// Its place in the files, from 1.
    game: u64,
    result: String,
    control: Option<String>,
    white: SideSummary,
    black: SideSummary,
}

impl AnalysisSummary {
    pub fn players(&self) -> [&str; 2] {
        [&self.white.name, &self.black.name]
    }

    fn of(game: &AnalysedGame) -> AnalysisSummary {
        AnalysisSummary {
            game: game.recorded.number,
            result: game.tag("Result"),
            control: game.control.map(control_in_words),
            white: side(game, true),
            black: side(game, false),
        }
    }
}

fn side(game: &AnalysedGame, is_white: bool) -> SideSummary {
    let recorded = &game.recorded;
    let boards = game.boards();
    let base_ms = game.control.map(|control| control.time.0);
    let mut phases = [MoveSums::default(); 3];
    let mut all = MoveSums::default();
    for (ply, played) in recorded.moves.iter().enumerate() {
        if played.is_book || boards[ply].turn().is_white() != is_white {
            continue;
        }
        let clock = match ply.checked_sub(2) {
            Some(last) => recorded.moves[last].clock_ms,
            None => base_ms,
        };
        let is_low = clock.is_some() && clock < base_ms.map(low_clock);
        let phase = Phase::of(boards[ply].piece_count() as u32);
        let judged = game.judgement(ply);
        for sums in [&mut phases[phase as usize], &mut all] {
            sums.add(judged, game.used_ms[ply], game.planned_ms[ply], is_low);
        }
    }
    let share = |sum: f64| sum / f64::from(all.moves.max(1));
    let [inaccuracies, mistakes, blunders] = all.marks;
    SideSummary {
        name: game.tag(if is_white { "White" } else { "Black" }),
        moves: all.moves,
        agreement: share(f64::from(all.best)),
        accuracy: game.accuracy()[usize::from(!is_white)],
        mean_loss: share(all.loss) / 100.0,
        inaccuracies,
        mistakes,
        blunders,
        unclear: all.unclear,
        used_ms: (all.timed > 0).then_some(all.used_ms),
        planned_ms: (all.planned > 0).then_some(all.planned_ms),
        phases,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_added_where_they_are_known() {
        let judged = Judgement {
            before: 60.0,
            after: 50.0,
            mark: Some(Mark::Mistake),
            is_unclear: false,
            mate: None,
            is_best: false,
        };
        let mut sums = MoveSums::default();
        sums.add(judged, None, None, true);
        sums.add(judged, Some(9_000.0), None, true);
        sums.add(judged, Some(9_000.0), Some(900.0), false);
        assert_eq!((sums.moves, sums.timed, sums.planned, sums.low), (3, 2, 1, 1));
        assert_eq!(
            (sums.used_ms, sums.planned_ms, sums.loss),
            (18_000.0, 900.0, 30.0)
        );
        assert_eq!(sums.marks, [0, 3, 0]);
    }
}
