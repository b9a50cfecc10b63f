//! Searches the positions of games, one after the other, and asks what a time manager would have spent on each move.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::{AnalysedGame, AnalysedLine, AnalysedPosition, history_of};
use crate::chess::{Terminal, Variant};
use crate::engine::{Engine, EngineError, FinishedSearch};
use crate::lab::matches::MoveScore;
use crate::lab::pgn::RecordedGame;
use crate::lab::replay::{
    ClockSource, EngineModel, ReplayMove, ReplayOptions, Speed, control_of, recorded_moves, replay,
};
use crate::network::BackendInfo;
use crate::search::PvLine;
use crate::time::{GoLimits, Plies, RootEvaluation, TimeControl, centipawns, manager_from};

/// New visits, and the time that they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SearchEffort {
    pub(super) new_nodes: u64,
    pub(super) time_ms: f64,
}

#[derive(Debug)]
pub(crate) struct Analyst {
    engine: Engine,
    limits: GoLimits,
    effort: SearchEffort,
}

impl Analyst {
    /// Takes an engine that is ready, and in which nothing but `limits` ends a search.
    pub(crate) fn new(engine: Engine, limits: GoLimits) -> Analyst {
        Analyst { engine, limits, effort: SearchEffort::default() }
    }

    /// Describes network and backend; of the network's file the name alone, as pages and games are passed on.
    pub(crate) fn description(&self) -> String {
        self.engine.backend().map(BackendInfo::description_without_folder).unwrap_or_default()
    }

    pub(crate) fn network_sha256(&self) -> Option<&str> {
        self.engine.network_sha256()
    }

    /// Counts searches of a game that was analysed before, so that the machine's speed is known as if it had been now.
    pub(crate) fn add_effort(&mut self, effort: SearchEffort) {
        self.effort.new_nodes += effort.new_nodes;
        self.effort.time_ms += effort.time_ms;
    }

    /// Analyses a game. `progress` is called after each position, and may give up what is left; then there is no result.
    pub(crate) fn analyse(
        &mut self,
        game: RecordedGame,
        plan: &SpendingPlan,
        mut progress: impl FnMut() -> ControlFlow<()>,
    ) -> Result<Option<AnalysedGame>, EngineError> {
        let chess960 = if game.variant == Variant::Chess960 { "true" } else { "false" };
        self.engine.set_option("UCI_Chess960", chess960)?;
        self.engine.new_game();
        let mut text = format!("fen {} moves", game.start.to_fen());
        let mut history = history_of(&game);
        let mut positions = Vec::with_capacity(game.moves.len() + 1);
        for played in game.moves.iter().map(|played| Some(played.r#move)).chain([None]) {
            let found = match history.terminal(&history.legal_moves()) {
                Some(terminal) => game_over(terminal),
                None => self.search(&text)?,
            };
            self.add_effort(found.effort);
            positions.push(found);
            let is_given_up = progress().is_break();
            if let Some(played) = played {
                if is_given_up {
                    return Ok(None);
                }
                text += &format!(" {}", history.format_move(played));
                history.push(played);
            }
        }
        let planned_ms = plan.spend(&game, &positions, self.nps());
        Ok(Some(AnalysedGame { recorded: game, positions, planned_ms }))
    }

    fn nps(&self) -> f64 {
        1000.0 * self.effort.new_nodes as f64 / self.effort.time_ms.max(1.0)
    }

    fn search(&mut self, position: &str) -> Result<AnalysedPosition, EngineError> {
        self.engine.set_position(position)?;
        let found = self.engine.search(self.limits.clone())?;
        let lines = lines(&found);
        if lines.is_empty() {
            return Err(EngineError::NoResult {
                position: self.engine.position().current().to_fen(),
                reason: "no evaluation has come back in time".into(),
            });
        }
        let summary = &found.result.summary;
        Ok(AnalysedPosition {
            lines,
            nodes: summary.nodes,
            effort: SearchEffort { new_nodes: summary.new_nodes, time_ms: summary.time.as_secs_f64() * 1e3 },
        })
    }
}

/// The lines of a search, that of the move to play first.
fn lines(found: &FinishedSearch) -> Vec<AnalysedLine> {
    let info = found.result.info.iter();
    let mut lines: Vec<_> = info.flat_map(|info| &info.lines).map(line).collect();
    // Temperature may have chosen another move than the most visited one.
    lines.sort_by_key(|line| line.moves.first() != Some(&found.best));
    lines
}

fn line(line: &PvLine) -> AnalysedLine {
    AnalysedLine {
        wl: line.wl.into(),
        d: line.d.into(),
        score: match line.mate {
            Some(moves) => MoveScore::Mate(moves),
            None => MoveScore::Centipawns(centipawns(line.wl.into()).round() as i32),
        },
        moves_left: line.moves_left.map(f64::from),
        moves: line.moves.clone(),
    }
}

/// What is known of a position in which the game is over.
fn game_over(terminal: Terminal) -> AnalysedPosition {
    let (wl, d, score) = match terminal {
        Terminal::Checkmate => (-1.0, 0.0, MoveScore::Mate(0)),
        _ => (0.0, 1.0, MoveScore::Centipawns(0)),
    };
    let line = AnalysedLine { wl, d, score, moves_left: Some(0.0), moves: Vec::new() };
    AnalysedPosition { lines: vec![line], nodes: 0, effort: SearchEffort::default() }
}

/// The clocks that a time manager gets to see.
#[derive(Clone, Debug)]
pub(crate) struct SpendingPlan {
    /// The time manager, as in the option `TimeManager`.
    pub(crate) manager: String,
    /// The time control of games whose tags have none.
    pub(crate) control: Option<TimeControl>,
    /// Time that is kept back of every clock, ms.
    pub(crate) overhead_ms: f64,
}

impl SpendingPlan {
    /// The time that the manager would have spent on each move of both sides, ms, on a machine that makes `nps` new
    /// visits per second. Where the game has clocks, it sees them as they were; else its own, which runs down by what it spends.
    /// Without a time control there are no times.
    pub(super) fn spend(
        &self,
        game: &RecordedGame,
        positions: &[AnalysedPosition],
        nps: f64,
    ) -> Vec<Option<f64>> {
        let mut spent = vec![None; game.moves.len()];
        let Some(control) = control_of(game).or(self.control) else { return spent };
        for side in 0..2 {
            let Ok(manager) = manager_from(&self.manager) else { return spent };
            let moves = searched_moves(game, positions, side, control);
            let has_clocks = moves.iter().skip(1).any(|position| position.clock_ms.is_some());
            let speed = Speed::constant(nps);
            let options = ReplayOptions {
                control,
                clock_source: if has_clocks { ClockSource::Recorded } else { ClockSource::Running },
                model: EngineModel {
                    speed,
                    nps_scatter: 0.0,
                    batch: 8,
                    batch_latency_ms: 0.0,
                    ..EngineModel::default()
                },
                overhead_ms: self.overhead_ms,
                ..ReplayOptions::default()
            };
            let replayed = replay(&moves, manager, &options);
            for (own, played) in replayed.moves.iter().enumerate() {
                spent[side + 2 * own] = Some(played.used_ms);
            }
        }
        spent
    }
}

/// Returns every second move from `first` on, with the clock before it and what the search found.
fn searched_moves(
    game: &RecordedGame,
    positions: &[AnalysedPosition],
    first: usize,
    control: TimeControl,
) -> Vec<ReplayMove> {
    let own = positions.iter().skip(first).step_by(2);
    let moves = recorded_moves(game, first, Some(control)).into_iter().zip(own);
    let moves = moves.map(|(recorded, found)| {
        let best = found.best();
        let m = best.moves_left.map(Plies);
        let root = Some(RootEvaluation { q: best.wl, d: Some(best.d), m, m_spread: None });
        ReplayMove { root, plies_to_mate: plies_to_mate(best.score), ..recorded }
    });
    moves.collect()
}

fn plies_to_mate(score: MoveScore) -> Option<u32> {
    match score {
        MoveScore::Centipawns(_) => None,
        MoveScore::Mate(moves) => Some(2 * moves.unsigned_abs() - u32::from(moves > 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::pgn::Games;
    use crate::time::Millis;

    /// A regression: a move that mates got as much time as any other.
    #[test]
    fn the_manager_hears_of_mates() {
        let game = Games::new("text", &b"1. f3 e5 2. g4 Qh4# 0-1\n"[..]).next().unwrap().unwrap();
        let control = Some(TimeControl { time: Millis(60_000.0), ..TimeControl::default() });
        let plan = SpendingPlan { manager: "smooth".into(), control, overhead_ms: 0.0 };
        let found = |score| {
            let line = AnalysedLine { wl: 0.9, d: 0.0, score, moves_left: None, moves: Vec::new() };
            AnalysedPosition { lines: vec![line], nodes: 1, effort: SearchEffort::default() }
        };
        let [open, mating] = [MoveScore::Centipawns(0), MoveScore::Mate(1)].map(|last| {
            let unclear = MoveScore::Centipawns(0);
            plan.spend(&game, &[unclear, unclear, unclear, last].map(found), 1_000.0)[3].unwrap()
        });
        assert!(open > 500.0 && mating < 50.0, "{open} ms, {mating} ms");
        assert_eq!(plies_to_mate(MoveScore::Mate(-2)), Some(4));
    }
}
