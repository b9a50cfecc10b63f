//! Searches the positions of games, one after the other.

use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use super::{AnalysedGame, AnalysedLine, AnalysedPosition, AnalysisError, SpendingPlan, history_of};
use crate::chess::{History, Move, Terminal, Variant};
use crate::engine::{Engine, GoRequest, Listener, SearchAnswer};
use crate::lab::matches::MoveScore;
use crate::lab::pgn::RecordedGame;
use crate::search::{PvLine, SearchInfo, SearchResult};
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
    ) -> Result<AnalysedGame, AnalysisError> {
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

    fn search(&mut self, position: &str) -> Result<AnalysedPosition, AnalysisError> {
        self.engine.set_position(position)?;
        let (answers, answered) = channel();
        let request =
            GoRequest { limits: self.limits.clone(), root_moves: Vec::new(), received: Instant::now() };
        self.engine.go(request, Box::new(Reader { answers }))?;
        self.engine.wait();
        let answer = answered.recv().ok();
        let result = answer.as_ref().and_then(|answer| answer.result.as_ref());
        let failure = result.and_then(|result| result.failure.clone());
        let best = answer.as_ref().and_then(|answer| answer.best);
        let found = best.zip(result).and_then(|(best, result)| Some((lines(best, result)?, result)));
        let (lines, result) = found.filter(|_| failure.is_none()).ok_or_else(|| AnalysisError::Search {
            position: position.to_owned(),
            reason: failure.clone().unwrap_or_else(|| "the search found no move".into()),
        })?;
        Ok(AnalysedPosition {
            lines,
            nodes: result.summary.nodes,
            new_nodes: result.summary.new_nodes,
            time_ms: result.summary.time.as_secs_f64() * 1e3,
        })
    }
}

/// Returns the lines of a search that plays `best`, that of this move first.
fn lines(best: Move, result: &SearchResult) -> Option<Vec<AnalysedLine>> {
    let mut lines: Vec<_> = result.info.as_ref()?.lines.iter().map(line).collect();
    // Temperature may have chosen another move than the most visited one.
    lines.sort_by_key(|line| line.moves.first() != Some(&best));
    (!lines.is_empty()).then_some(lines)
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

/// Passes the answer of a search on.
struct Reader {
    answers: Sender<SearchAnswer>,
}

impl Listener for Reader {
    fn info(&mut self, _: &History, _: &SearchInfo) {}

    fn note(&mut self, _: &str) {}

    fn answer(&mut self, _: &History, answer: SearchAnswer) {
        // The receiver waits for the answer.
        let _ = self.answers.send(answer);
    }
}
