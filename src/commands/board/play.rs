//! The engine as the opponent of whoever plays on the page, which counts the clocks and asks for each move.

use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use zeitnot_engine::chess::{History, Variant};
use zeitnot_engine::engine::{EnginePlayer, Played, Setup, SharedBatch};
use zeitnot_engine::network::Evaluator;
use zeitnot_engine::search::NextStep;
use zeitnot_engine::time::{Limit, Millis};

/// Eleven days.
const MAX_MS: f64 = 1e9;

/// A position, and the clock of the side to move.
#[derive(Deserialize)]
pub(super) struct Turn {
    fen: String,
    moves: Vec<String>,
    time_ms: f64,
    inc_ms: f64,
}

pub(super) struct Opponent {
    player: EnginePlayer,
    evaluator: Box<dyn Evaluator>,
    batch: SharedBatch,
}

impl Opponent {
    pub(super) fn new(setup: &Arc<Setup>) -> Result<Opponent> {
        Ok(Opponent {
            player: EnginePlayer::new(setup, 0)?,
            evaluator: setup.backend().evaluator()?,
            batch: SharedBatch::default(),
        })
    }

    /// Chooses a move. The answer has it, how its time was planned, what it took, and what ended the search.
    pub(super) fn play(&mut self, turn: &Turn) -> Result<Value> {
        let mut game = History::from_fen(&turn.fen, Variant::Chess960)?;
        for text in &turn.moves {
            game.push(game.parse_move(text)?);
        }
        ensure!(!game.legal_moves().is_empty(), "the game is over");
        let is_time = |ms: f64| (0.0..=MAX_MS).contains(&ms);
        ensure!(
            is_time(turn.time_ms) && is_time(turn.inc_ms),
            "a time is negative or too long"
        );
        let limit = Limit::clock(Millis(turn.time_ms), Millis(turn.inc_ms));
        self.player.begin_move(&game, limit)?;
        while self.player.advance() != NextStep::Over {
            self.batch
                .evaluate(&mut [&mut self.player], |slots| self.evaluator.evaluate(slots))?;
        }
        let played = self.player.end_move();
        let Played {
            outcome,
            used,
            report,
        } = played.ok_or_else(|| anyhow!("nothing was searched"))?;
        let plan = report.map(|report| {
            json!({
                "manager": report.manager,
                "budget_ms": report.budget.0,
                "target_nodes": report.target_nodes.map(|nodes| nodes.0),
                "reused_nodes": report.reused_nodes.map(|nodes| nodes.0),
                "moves_left": report.moves_left,
                "moves_left_source": report.moves_left_source,
            })
        });
        Ok(json!({
            "move": outcome.best.map(|best| game.format_line(&[best]).concat()),
            "used_ms": used.0,
            "reason": outcome.reason.to_string(),
            "nodes": outcome.figures.stats.nodes.0,
            "plan": plan,
        }))
    }
}
