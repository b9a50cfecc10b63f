//! Batches for the tools.

use super::backend::{Backend, Evaluator};
use super::backend_error::BackendError;
use super::encode::HistoryFill;
use super::eval_slot::{EvalSlot, PositionEncoding};
use crate::chess::{History, Move};

/// Evaluates positions in batches for the tools. Answers carry the caller's tags, so that a batch may mix
/// positions of many games.
pub struct BatchEvaluator<Tag> {
    evaluator: Box<dyn Evaluator>,
    encoding: PositionEncoding,
    /// The first `tags.len()` are filled.
    slots: Vec<EvalSlot>,
    tags: Vec<Tag>,
}

impl<Tag> BatchEvaluator<Tag> {
    /// The smaller of `batch_size` and the backend's limit applies.
    pub fn new(
        backend: &dyn Backend,
        history_fill: HistoryFill,
        batch_size: usize,
    ) -> Result<BatchEvaluator<Tag>, BackendError> {
        let info = backend.facts();
        let batch_size = batch_size.clamp(1, info.max_batch);
        Ok(BatchEvaluator {
            evaluator: backend.evaluator()?,
            encoding: PositionEncoding {
                format: info.input_format,
                history_fill,
            },
            slots: vec![EvalSlot::default(); batch_size],
            tags: Vec::with_capacity(batch_size),
        })
    }

    /// Adds the current position of `history`, with the `moves` whose policy is wanted.
    ///
    /// # Panics
    ///
    /// Panics if the batch [is full](BatchEvaluator::is_full).
    pub fn push(&mut self, tag: Tag, history: &History, moves: &[Move]) {
        self.slots[self.tags.len()].fill(history, moves, self.encoding);
        self.tags.push(tag);
    }

    pub fn is_full(&self) -> bool {
        self.tags.len() == self.capacity()
    }

    /// Positions that it takes, at least 1.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    pub fn waiting(&self) -> &[Tag] {
        &self.tags
    }

    /// Evaluates and empties the batch. Tags and slots come in the order added. After an error the positions
    /// still wait.
    pub fn evaluate(&mut self) -> Result<impl Iterator<Item = (Tag, &EvalSlot)>, BackendError> {
        let filled = &mut self.slots[..self.tags.len()];
        if !filled.is_empty() {
            self.evaluator.evaluate(filled)?;
        }
        Ok(self.tags.drain(..).zip(&self.slots))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::backends::{BackendConfig, create};

    #[test]
    fn answers_come_with_their_tags_batch_after_batch() {
        let backend = create(&BackendConfig::parse("random", "").unwrap(), None).unwrap();
        let mut batch = BatchEvaluator::new(&*backend, HistoryFill::default(), 2).unwrap();
        let mut history = History::start();
        let mut found = Vec::new();
        for mv in ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5"] {
            history.push(history.parse_move(mv).unwrap());
            batch.push(mv, &history, &history.legal_moves());
            if batch.is_full() {
                found.extend(
                    batch
                        .evaluate()
                        .unwrap()
                        .map(|(tag, slot)| (tag, slot.evaluation)),
                );
            }
        }
        assert_eq!(batch.waiting(), ["f1b5"]);
        found.extend(
            batch
                .evaluate()
                .unwrap()
                .map(|(tag, slot)| (tag, slot.evaluation)),
        );
        assert_eq!(batch.evaluate().unwrap().count(), 0);

        assert_eq!(
            found.iter().map(|(tag, _)| *tag).collect::<Vec<_>>(),
            ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5"]
        );
        let mut last = EvalSlot::of(&history, PositionEncoding::default());
        backend
            .evaluator()
            .unwrap()
            .evaluate(std::slice::from_mut(&mut last))
            .unwrap();
        assert_eq!(found[4].1, last.evaluation);
    }
}
