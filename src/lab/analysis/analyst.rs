//! Searches the positions of games, one after the other.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::{AnalysedGame, AnalysedLine, AnalysedPosition, SpendingPlan, history_of};
use crate::chess::{Terminal, Variant};
use crate::engine::{Engine, EngineError, FinishedSearch};
use crate::lab::matches::MoveScore;
use crate::lab::pgn::RecordedGame;
use crate::network::BackendInfo;
use crate::search::PvLine;
use crate::time::{GoLimits, centipawns};

/// New visits, and the time that they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchEffort {
    pub(super) new_nodes: u64,
    pub(super) time_ms: f64,
}

/// An engine that analyses games.
#[derive(Debug)]
pub struct Analyst {
    engine: Engine,
    limits: GoLimits,
    /// That of all searches.
    effort: SearchEffort,
}

impl Analyst {
    /// Takes an engine that is ready, and in which nothing but `limits` ends a search.
    pub fn new(engine: Engine, limits: GoLimits) -> Analyst {
        Analyst { engine, limits, effort: SearchEffort::default() }
    }

    /// Describes network and backend; of the network's file the name alone, as pages and games are passed on.
    pub fn description(&self) -> String {
        self.engine.backend().map(BackendInfo::description_without_folder).unwrap_or_default()
    }

    /// Returns the SHA-256 of the network's file; `None` without a network.
    pub fn network_sha256(&self) -> Option<&str> {
        self.engine.network_sha256()
    }

    /// Counts searches of a game that was analysed before, so that the machine's speed is known as if it had been now.
    pub fn add_effort(&mut self, effort: SearchEffort) {
        self.effort.new_nodes += effort.new_nodes;
        self.effort.time_ms += effort.time_ms;
    }

    /// Analyses a game. `progress` is called after each position, and may give up what is left; then there is no result.
    ///
    /// # Errors
    /// Fails if a search fails.
    pub fn analyse(
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
            self.add_effort(SearchEffort { new_nodes: found.new_nodes, time_ms: found.time_ms });
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

    /// Returns the new visits per second of all searches so far.
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
            new_nodes: summary.new_nodes,
            time_ms: summary.time.as_secs_f64() * 1e3,
        })
    }
}

/// Returns the lines of a search, that of the move to play first.
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

/// Returns what is known of a position in which the game is over.
fn game_over(terminal: Terminal) -> AnalysedPosition {
    let (wl, d, score) = match terminal {
        Terminal::Checkmate => (-1.0, 0.0, MoveScore::Mate(0)),
        _ => (0.0, 1.0, MoveScore::Centipawns(0)),
    };
    let line = AnalysedLine { wl, d, score, moves_left: Some(0.0), moves: Vec::new() };
    AnalysedPosition { lines: vec![line], nodes: 0, new_nodes: 0, time_ms: 0.0 }
}
