//! What the network says of the positions of recorded games: result, draws and moves left.

use std::sync::Arc;

use super::games::LabGame;
use crate::network::encode::{HistoryFill, encode};
use crate::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluation, Evaluator, policy_map};
use crate::options::Settings;
use crate::time::RootEvaluation;

/// The largest batch.
const MAX_BATCH: usize = 256;

/// Evaluators for as many threads.
pub(super) struct Heads {
    info: BackendInfo,
    fill: HistoryFill,
    evaluators: Vec<Box<dyn Evaluator>>,
}

impl Heads {
    /// Evaluators of `backend` for `threads` threads.
    ///
    /// # Errors
    /// If the device has no room for them.
    pub(super) fn new(
        backend: &Arc<dyn Backend>,
        settings: &Settings,
        threads: usize,
    ) -> Result<Heads, BackendError> {
        Ok(Heads {
            info: backend.info().clone(),
            // The option's choices are the names of the variants.
            fill: settings.history_fill.parse().unwrap_or_default(),
            evaluators: (0..threads).map(|_| backend.evaluator()).collect::<Result<_, _>>()?,
        })
    }

    /// Fills in what the network says of every move of `games`.
    ///
    /// # Errors
    /// If an evaluation fails.
    pub(super) fn fill_in(&mut self, games: &mut [LabGame]) -> Result<(), BackendError> {
        let Heads { info, fill, evaluators } = self;
        let share = games.len().div_ceil(evaluators.len()).max(1);
        std::thread::scope(|scope| {
            let parts = games.chunks_mut(share).zip(evaluators.iter_mut());
            let threads: Vec<_> = parts
                .map(|(games, evaluator)| scope.spawn(|| fill_in_part(games, &mut **evaluator, info, *fill)))
                .collect();
            threads.into_iter().try_for_each(|thread| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })
    }
}

/// A position in a batch: the game's place and the move's place in it.
type Origin = (usize, usize);

fn fill_in_part(
    games: &mut [LabGame],
    evaluator: &mut dyn Evaluator,
    info: &BackendInfo,
    fill: HistoryFill,
) -> Result<(), BackendError> {
    let largest = info.max_batch.min(MAX_BATCH);
    let (mut origins, mut slots): (Vec<Origin>, Vec<EvalSlot>) = (Vec::new(), Vec::new());
    for game in 0..games.len() {
        games[game].for_each_position(|place, history| {
            let mut slot = EvalSlot { key: history.evaluation_key(), ..EvalSlot::default() };
            let transform = encode(history, info.input_format, fill, &mut slot.planes);
            let color = history.current().turn();
            slot.moves =
                history.legal_moves().iter().map(|&m| policy_map::index(m, color, transform)).collect();
            origins.push((game, place));
            slots.push(slot);
        });
        while slots.len() >= largest || (game + 1 == games.len() && !slots.is_empty()) {
            let batch = slots.len().min(largest);
            evaluator.evaluate(&mut slots[..batch])?;
            for ((game, place), slot) in origins.drain(..batch).zip(slots.drain(..batch)) {
                let Evaluation { q, d, m } = slot.evaluation;
                games[game].replay.moves[place].root = Some(RootEvaluation {
                    q: q.into(),
                    d: info.has_wdl.then_some(d.into()),
                    m: info.has_moves_left.then_some(m.into()),
                    m_spread: None,
                });
            }
        }
    }
    Ok(())
}
