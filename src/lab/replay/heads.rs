//! Evaluates the positions of recorded games with the network: result, draws and moves left.

use std::fmt;
use std::sync::Arc;

use super::games::GameToReplay;
use crate::engine::Settings;
use crate::network::{Backend, BackendError, BatchEvaluator, Evaluation};
use crate::time::{Plies, RootEvaluation};

/// Most positions of a batch.
const MAX_BATCH: usize = 256;

/// Asks the network for the root evaluations of games, on several threads.
pub struct NetworkHeads {
    has_wdl: bool,
    has_moves_left: bool,
    batches: Vec<BatchEvaluator<Origin>>,
}

impl fmt::Debug for NetworkHeads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetworkHeads").field("threads", &self.batches.len()).finish_non_exhaustive()
    }
}

impl NetworkHeads {
    /// Makes an evaluator of `backend` for each of `threads` threads.
    ///
    /// # Errors
    /// [`BackendError`] if the device has no room for them.
    pub fn new(
        backend: &Arc<dyn Backend>,
        settings: &Settings,
        threads: usize,
    ) -> Result<NetworkHeads, BackendError> {
        let info = backend.info();
        let fill = settings.search.history_fill;
        let batch = |_| BatchEvaluator::new(&**backend, fill, MAX_BATCH);
        Ok(NetworkHeads {
            has_wdl: info.has_wdl,
            has_moves_left: info.has_moves_left,
            batches: (0..threads).map(batch).collect::<Result<_, _>>()?,
        })
    }

    /// Fills in what the network says of every move of `games`.
    ///
    /// # Errors
    /// [`BackendError`] if an evaluation fails.
    pub fn fill_in(&mut self, games: &mut [GameToReplay]) -> Result<(), BackendError> {
        let NetworkHeads { has_wdl, has_moves_left, batches } = self;
        let root_evaluation = |Evaluation { q, d, m }| RootEvaluation {
            q: f64::from(q),
            d: has_wdl.then_some(d.into()),
            m: has_moves_left.then_some(Plies(m.into())),
            m_spread: None,
        };
        let share = games.len().div_ceil(batches.len()).max(1);
        std::thread::scope(|scope| {
            let parts = games.chunks_mut(share).zip(batches.iter_mut());
            let threads: Vec<_> = parts
                .map(|(games, batch)| {
                    scope.spawn(move || {
                        for (Origin { game, place }, evaluation) in evaluate(games, batch)? {
                            games[game].replay.moves[place].root = Some(root_evaluation(evaluation));
                        }
                        Ok(())
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })
    }
}

/// The game and the move that a position of a batch belongs to.
#[derive(Debug)]
struct Origin {
    /// The game's place among the games of this thread.
    game: usize,
    /// The place of the move that was made in the position.
    place: usize,
}

/// Evaluates all positions of `games` in which our side moves, in full batches.
fn evaluate(
    games: &[GameToReplay],
    batch: &mut BatchEvaluator<Origin>,
) -> Result<Vec<(Origin, Evaluation)>, BackendError> {
    let mut found = Vec::new();
    let mut evaluate = |batch: &mut BatchEvaluator<Origin>| -> Result<(), BackendError> {
        found.extend(batch.evaluate()?.map(|(origin, slot)| (origin, slot.evaluation)));
        Ok(())
    };
    for (game, positions) in games.iter().enumerate() {
        let mut outcome: Result<(), BackendError> = Ok(());
        positions.for_each_position(|place, history| {
            if outcome.is_ok() {
                batch.push(Origin { game, place }, history, &history.legal_moves());
                outcome = if batch.is_full() { evaluate(batch) } else { Ok(()) };
            }
        });
        outcome?;
    }
    evaluate(batch)?;
    Ok(found)
}
