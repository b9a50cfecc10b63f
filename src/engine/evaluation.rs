//! What the network alone makes of a position, without a search.

use std::fmt;

use serde::Serialize;

use super::{Engine, EngineError};
use crate::chess::{History, Move};
use crate::network::{BatchEvaluator, EvalSlot};

/// The evaluation of one position, from the point of view of the side to move.
#[derive(Clone, Debug, Serialize)]
pub struct PositionEvaluation {
    q: f32,
    w: f32,
    d: f32,
    l: f32,
    /// Plies to the end; `None` without a Moves Left Head.
    m: Option<f32>,
    /// Legal moves, likeliest first.
    policy: Vec<MovePolicy>,
}

#[derive(Clone, Debug, Serialize)]
struct MovePolicy {
    r#move: String,
    index: u16,
    logit: f32,
    p: f32,
}

impl PositionEvaluation {
    /// Returns what `slot`, once evaluated, says of the current position of `game`, whose `legal` moves it was filled with.
    pub fn of(game: &History, legal: &[Move], slot: &EvalSlot, has_moves_left: bool) -> PositionEvaluation {
        let evaluation = slot.evaluation;
        let mut policy: Vec<MovePolicy> = legal
            .iter()
            .zip(&slot.moves)
            .zip(slot.logits.iter().zip(slot.policy()))
            .map(|((&m, &index), (&logit, p))| MovePolicy { r#move: game.format_move(m), index, logit, p })
            .collect();
        policy.sort_by(|a, b| b.p.total_cmp(&a.p));
        PositionEvaluation {
            q: evaluation.q,
            w: (1.0 + evaluation.q - evaluation.d) / 2.0,
            d: evaluation.d,
            l: (1.0 - evaluation.q - evaluation.d) / 2.0,
            m: has_moves_left.then_some(evaluation.m),
            policy,
        }
    }

    /// Leaves only the `count` likeliest moves.
    #[must_use]
    pub fn with_best_moves(mut self, count: usize) -> PositionEvaluation {
        self.policy.truncate(count);
        self
    }
}

impl fmt::Display for PositionEvaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "q {:+.4}  w {:.4}  d {:.4}  l {:.4}", self.q, self.w, self.d, self.l)?;
        match self.m {
            Some(plies) => writeln!(f, "  m {plies:.1} plies")?,
            None => writeln!(f)?,
        }
        writeln!(f, "  move   index     logit         p")?;
        for m in &self.policy {
            writeln!(f, "  {:<6} {:>5} {:>9.4} {:>7.2} %", m.r#move, m.index, m.logit, 100.0 * m.p)?;
        }
        Ok(())
    }
}

impl Engine {
    /// Returns what the network in force makes of the present position; `None` if there is no network.
    ///
    /// # Errors
    /// Fails if the last position was refused, or the device fails.
    pub fn evaluate(&self) -> Result<Option<PositionEvaluation>, EngineError> {
        let game = self.accepted_position()?;
        let Some(network) = &self.network else { return Ok(None) };
        let legal = game.legal_moves();
        let mut batch = BatchEvaluator::new(&**network.backend(), self.settings.search.history_fill, 1)?;
        batch.push((), game, &legal);
        let has_moves_left = network.info().has_moves_left;
        let evaluated = batch.evaluate()?.next();
        Ok(evaluated.map(|((), slot)| PositionEvaluation::of(game, &legal, slot, has_moves_left)))
    }
}
