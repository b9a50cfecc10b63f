//! Games that a network plays against itself, each move drawn from its policy: positions that a search meets, with the network's
//! own weaknesses.

use crate::chess::History;
use crate::network::encode::InputFormat;
use crate::network::{BackendError, EvalSlot, Evaluator};

/// Games that are played side by side; also the batch size.
pub(super) const GAMES: usize = 32;
/// The greatest length of a game, plies.
const GAME_PLIES: usize = 120;
/// The seed for the draws of moves, so that the positions are the same each time.
const SEED: u64 = 1;

/// Returns `count` positions of games that `evaluators` of one backend play, evaluated.
///
/// # Errors
/// [`BackendError`] if one fails.
pub(super) fn positions(
    evaluators: &mut [Box<dyn Evaluator>],
    format: InputFormat,
    count: usize,
) -> Result<Vec<EvalSlot>, BackendError> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut games: Vec<(History, usize)> = (0..GAMES).map(|_| (History::start(), 0)).collect();
    let mut positions = Vec::with_capacity(count + GAMES);
    while positions.len() < count {
        let mut batch: Vec<_> = games.iter().map(|(game, _)| EvalSlot::of(game, format.into())).collect();
        evaluate_all(evaluators, &mut batch, GAMES)?;
        for ((game, plies), slot) in games.iter_mut().zip(&batch) {
            let legal = game.legal_moves();
            game.push(legal[draw(&slot.policy(), random.f32())]);
            *plies += 1;
            if *plies >= GAME_PLIES || game.legal_moves().is_empty() {
                (*game, *plies) = (History::start(), 0);
            }
        }
        positions.append(&mut batch);
    }
    positions.truncate(count);
    Ok(positions)
}

/// Evaluates `slots` in batches of at most `batch`, each evaluator on a thread of its own.
///
/// # Errors
/// [`BackendError`] if an evaluation fails.
pub(super) fn evaluate_all(
    evaluators: &mut [Box<dyn Evaluator>],
    slots: &mut [EvalSlot],
    batch: usize,
) -> Result<(), BackendError> {
    let share = slots.len().div_ceil(evaluators.len().max(1)).max(1);
    std::thread::scope(|scope| {
        let parts = slots.chunks_mut(share).zip(evaluators);
        let threads: Vec<_> = parts
            .map(|(part, evaluator)| {
                scope.spawn(move || part.chunks_mut(batch).try_for_each(|batch| evaluator.evaluate(batch)))
            })
            .collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

/// Returns the place in `probabilities` at which their sum passes `share` (`0..1`), the last one at the latest.
fn draw(probabilities: &[f32], share: f32) -> usize {
    let mut sum = 0.0;
    let passed = probabilities.iter().position(|p| {
        sum += p;
        sum > share
    });
    passed.unwrap_or(probabilities.len().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_probabilities() {
        let p = [0.25, 0.5, 0.25];
        assert_eq!([0.0, 0.24, 0.26, 0.74, 0.76, 1.0].map(|share| draw(&p, share)), [0, 0, 1, 1, 2, 2]);
    }
}
