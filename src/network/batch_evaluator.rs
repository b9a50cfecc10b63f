//! Evaluates positions in batches for callers other than the search: the tools and the laboratory.
//!
//! Each position comes with a tag of the caller's, and the answer with the same tag, so that a batch may mix positions
//! of many games. Uses [`EvalSlot::fill`] and one [`Evaluator`].

use std::fmt::Debug;

use super::encode::HistoryFill;
use super::{Backend, BackendError, EvalSlot, Evaluator, PositionEncoding};
use crate::chess::{History, Move};

/// An evaluator of one thread with the batch that is being filled.
pub struct BatchEvaluator<Tag> {
    evaluator: Box<dyn Evaluator>,
    encoding: PositionEncoding,
    /// The slots of a batch; the first `tags.len()` are filled.
    slots: Vec<EvalSlot>,
    tags: Vec<Tag>,
}

impl<Tag> BatchEvaluator<Tag> {
    /// Returns an evaluator of `backend` for batches of `batch_size` positions, or of as many as the backend takes if
    /// those are fewer.
    ///
    /// # Errors
    /// Fails if the device has no room for another evaluator.
    pub fn new(
        backend: &dyn Backend,
        history_fill: HistoryFill,
        batch_size: usize,
    ) -> Result<BatchEvaluator<Tag>, BackendError> {
        let info = backend.info();
        let batch_size = batch_size.clamp(1, info.max_batch);
        Ok(BatchEvaluator {
            evaluator: backend.evaluator()?,
            encoding: PositionEncoding { format: info.input_format, history_fill },
            slots: vec![EvalSlot::default(); batch_size],
            tags: Vec::with_capacity(batch_size),
        })
    }

    /// Adds the current position of `history` to the batch, with the `moves` whose policy is wanted.
    ///
    /// # Panics
    /// Panics if the batch [is full](BatchEvaluator::is_full): it must be evaluated before.
    pub fn push(&mut self, tag: Tag, history: &History, moves: &[Move]) {
        self.slots[self.tags.len()].fill(history, moves, self.encoding);
        self.tags.push(tag);
    }

    /// Returns whether the batch has as many positions as it can hold.
    pub fn is_full(&self) -> bool {
        self.tags.len() == self.slots.len()
    }

    /// Returns the tags of the positions that wait in the batch, in the order in which they were added.
    pub fn waiting(&self) -> &[Tag] {
        &self.tags
    }

    /// Evaluates the positions that wait, if there are any, and returns each one's tag and slot, in the order in which
    /// they were added. The batch is empty afterwards.
    ///
    /// # Errors
    /// Fails if the device fails; the positions then still wait.
    pub fn evaluate(&mut self) -> Result<impl Iterator<Item = (Tag, &EvalSlot)>, BackendError> {
        let filled = &mut self.slots[..self.tags.len()];
        if !filled.is_empty() {
            self.evaluator.evaluate(filled)?;
        }
        Ok(self.tags.drain(..).zip(&self.slots))
    }
}

impl<Tag: Debug> Debug for BatchEvaluator<Tag> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let BatchEvaluator { encoding, tags, slots, .. } = self;
        f.debug_struct("BatchEvaluator")
            .field("encoding", encoding)
            .field("batch_size", &slots.len())
            .field("waiting", tags)
            .finish_non_exhaustive()
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
                found.extend(batch.evaluate().unwrap().map(|(tag, slot)| (tag, slot.evaluation)));
            }
        }
        assert_eq!(batch.waiting(), ["f1b5"]);
        found.extend(batch.evaluate().unwrap().map(|(tag, slot)| (tag, slot.evaluation)));
        assert_eq!(batch.evaluate().unwrap().count(), 0);

        assert_eq!(
            found.iter().map(|(tag, _)| *tag).collect::<Vec<_>>(),
            ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5"]
        );
        let mut last = EvalSlot::of(&history, PositionEncoding::default());
        backend.evaluator().unwrap().evaluate(std::slice::from_mut(&mut last)).unwrap();
        assert_eq!(found[4].1, last.evaluation);
    }
}
