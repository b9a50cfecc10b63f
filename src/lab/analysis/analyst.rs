//! Searches the positions of games, one after the other.

use std::path::Path;

use super::{AnalysedGame, AnalysedLine, AnalysedPosition, SpendingPlan, history_of};
use crate::chess::{Terminal, Variant};
use crate::engine::{Engine, EngineError, FinishedSearch};
use crate::lab::matches::MoveScore;
use crate::lab::pgn::RecordedGame;
use crate::search::PvLine;
use crate::time::{GoLimits, centipawns};

/// An engine that analyses games.
#[derive(Debug)]
pub struct Analyst {
    engine: Engine,
    limits: GoLimits,
    /// New visits and the time they took, ms, of all searches.
    effort: (u64, f64),
}

impl Analyst {
    /// Takes an engine that is ready, and in which nothing but `limits` ends a search.
    pub fn new(engine: Engine, limits: GoLimits) -> Analyst {
        Analyst { engine, limits, effort: (0, 0.0) }
    }

    /// Describes network and backend; of the network's file the name alone, as pages and games are passed on.
    pub fn description(&self) -> String {
        let description = self.engine.backend().map(|info| info.description.clone()).unwrap_or_default();
        let (file, rest) = description.split_once(", ").unwrap_or((&description, ""));
        let name = Path::new(file).file_name().map_or(file.into(), |name| name.to_string_lossy());
        if rest.is_empty() { name.into_owned() } else { format!("{name}, {rest}") }
    }

    /// Analyses a game. `progress` is called after each position.
    ///
    /// # Errors
    /// Fails if a search fails.
    pub fn analyse(
        &mut self,
        game: RecordedGame,
        plan: &SpendingPlan,
        mut progress: impl FnMut(),
    ) -> Result<AnalysedGame, EngineError> {
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
            self.effort.0 += found.new_nodes;
            self.effort.1 += found.time_ms;
            positions.push(found);
            progress();
            if let Some(played) = played {
                text += &format!(" {}", history.format_move(played));
                history.push(played);
            }
        }
        let planned_ms = plan.spend(&game, &positions, self.nps());
        Ok(AnalysedGame { recorded: game, positions, planned_ms })
    }

    /// Returns the new visits per second of all searches so far.
    fn nps(&self) -> f64 {
        let (nodes, ms) = self.effort;
        1000.0 * nodes as f64 / ms.max(1.0)
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
