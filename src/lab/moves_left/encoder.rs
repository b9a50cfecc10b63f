//! Gives the positions of games to the network in full batches, across games.

use super::rows::PositionRow;
use crate::chess::History;
use crate::network::encode::HistoryFill;
use crate::network::{Backend, BackendError, BatchEvaluator};

/// Games whose rows wait for the network, and the batch that is being filled.
pub(super) struct GameEvaluator {
    has_moves_left: bool,
    batch: BatchEvaluator<RowOwner>,
    open: Vec<OpenGame>,
    /// Games that were begun before the first of `open`.
    taken: usize,
}

/// The place of the row that a position of the batch belongs to.
#[derive(Clone, Copy, Debug)]
struct RowOwner {
    /// The game's place in the order in which games were begun.
    game: usize,
    row: usize,
}

/// A game whose rows are not all evaluated.
struct OpenGame {
    sequence: u64,
    rows: Vec<PositionRow>,
}

/// A finished game: its place among the games that were taken, and its rows.
pub(super) type Finished = (u64, Vec<PositionRow>);

impl GameEvaluator {
    /// Returns an evaluator of `batch` positions at once, or of as many as the backend prefers if that is `None`.
    pub(super) fn new(
        backend: &dyn Backend,
        fill: HistoryFill,
        batch: Option<usize>,
    ) -> Result<GameEvaluator, BackendError> {
        let info = backend.info();
        Ok(GameEvaluator {
            has_moves_left: info.has_moves_left,
            batch: BatchEvaluator::new(backend, fill, batch.unwrap_or(info.preferred_batch))?,
            open: Vec::new(),
            taken: 0,
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
        let row = game.rows.len() - 1;
        // Without moves: the policy head is not asked.
        self.batch.push(RowOwner { game: self.taken + self.open.len() - 1, row }, history, &[]);
        if self.batch.is_full() { self.evaluate() } else { Ok(()) }
    }

    /// Evaluates the positions that wait, as at the end.
    pub(super) fn evaluate(&mut self) -> Result<(), BackendError> {
        for (owner, slot) in self.batch.evaluate()? {
            let row = &mut self.open[owner.game - self.taken].rows[owner.row];
            row.q = Some(slot.evaluation.q);
            row.m_plies = self.has_moves_left.then_some(slot.evaluation.m);
        }
        Ok(())
    }

    /// Returns the games all of whose rows are evaluated. Call it between games only.
    pub(super) fn take_finished(&mut self) -> Vec<Finished> {
        let begun = self.taken + self.open.len();
        let first_waiting = self.batch.waiting().first().map_or(begun, |owner| owner.game);
        let finished = self.open.drain(..first_waiting - self.taken);
        self.taken = first_waiting;
        finished.map(|game| (game.sequence, game.rows)).collect()
    }
}
