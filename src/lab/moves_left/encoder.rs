//! Gives the positions of games to the network in full batches, across games.

use super::rows::PositionRow;
use crate::chess::History;
use crate::network::encode::{HistoryFill, encode};
use crate::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator};

/// Games whose rows wait for the network, and the batch that is being filled.
pub(super) struct BatchEvaluator {
    info: BackendInfo,
    fill: HistoryFill,
    evaluator: Box<dyn Evaluator>,
    slots: Vec<EvalSlot>,
    /// For each filled slot: game among `open`, row of the game.
    owners: Vec<(usize, usize)>,
    open: Vec<OpenGame>,
}

/// A game whose rows are not all evaluated.
struct OpenGame {
    sequence: u64,
    rows: Vec<PositionRow>,
}

/// A finished game: its place among the games that were taken, and its rows.
pub(super) type Finished = (u64, Vec<PositionRow>);

impl BatchEvaluator {
    /// `batch` positions at once, as many as the backend likes if that is `None`.
    pub(super) fn new(
        backend: &dyn Backend,
        fill: HistoryFill,
        batch: Option<usize>,
    ) -> Result<BatchEvaluator, BackendError> {
        let info = backend.info().clone();
        let batch = batch.unwrap_or(info.preferred_batch).clamp(1, info.max_batch);
        Ok(BatchEvaluator {
            fill,
            evaluator: backend.evaluator()?,
            slots: vec![EvalSlot::default(); batch],
            owners: Vec::with_capacity(batch),
            open: Vec::new(),
            info,
        })
    }

    /// Begins a game; its rows, in order, must all be added next.
    pub(super) fn begin(&mut self, sequence: u64, rows: usize) {
        self.open.push(OpenGame { sequence, rows: Vec::with_capacity(rows) });
    }

    /// Adds a row of the game begun last and its position; evaluates when the batch is full.
    pub(super) fn add(&mut self, row: PositionRow, history: &History) -> Result<(), BackendError> {
        let Some(game) = self.open.last_mut() else { return Ok(()) };
        game.rows.push(row);
        let owner = (self.open.len() - 1, self.open[self.open.len() - 1].rows.len() - 1);
        let slot = &mut self.slots[self.owners.len()];
        slot.key = history.evaluation_key();
        // Without moves: the policy head is not asked.
        encode(history, self.info.input_format, self.fill, &mut slot.planes);
        self.owners.push(owner);
        if self.owners.len() == self.slots.len() { self.evaluate() } else { Ok(()) }
    }

    /// Evaluates what waits, as at the end.
    pub(super) fn evaluate(&mut self) -> Result<(), BackendError> {
        if self.owners.is_empty() {
            return Ok(());
        }
        let batch = &mut self.slots[..self.owners.len()];
        self.evaluator.evaluate(batch)?;
        for ((game, row), slot) in self.owners.drain(..).zip(batch) {
            let row = &mut self.open[game].rows[row];
            row.q = Some(slot.evaluation.q);
            row.m_plies = self.info.has_moves_left.then_some(slot.evaluation.m);
        }
        Ok(())
    }

    /// The games of which nothing waits any more. Call it between games only.
    pub(super) fn take_finished(&mut self) -> Vec<Finished> {
        let first_open = self.owners.first().map_or(self.open.len(), |owner| owner.0);
        self.owners.iter_mut().for_each(|owner| owner.0 -= first_open);
        self.open.drain(..first_open).map(|game| (game.sequence, game.rows)).collect()
    }
}
