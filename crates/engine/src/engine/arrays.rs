//! The figures of a network, and what it sees, as arrays of the crate `ndarray`.

use ndarray::{Array2, Array4};

use super::network::PositionEvaluation;
use crate::chess::History;
use crate::network::{EvalSlot, PLANES, POLICY_SIZE, PositionEncoding};

/// Probabilities of win, draw and loss: `[batch, 3]`.
pub fn values(evaluations: &[PositionEvaluation]) -> Array2<f32> {
    let wdl = evaluations.iter().map(|of| [of.w, of.d, of.l]);
    Array2::from(wdl.collect::<Vec<_>>())
}

/// Probabilities of moves, 0 for those that are not legal: `[batch, 1858]`, in the order of
/// [`MovePolicy::index`](super::MovePolicy::index).
pub fn policy(evaluations: &[PositionEvaluation]) -> Array2<f32> {
    let mut policy = Array2::zeros((evaluations.len(), POLICY_SIZE));
    for (mut row, evaluation) in policy.rows_mut().into_iter().zip(evaluations) {
        for of_move in &evaluation.policy {
            row[usize::from(of_move.index)] = of_move.p;
        }
    }
    policy
}

/// What a network sees of the last positions of `games`: `[batch, 112, 8, 8]`, first rank and file a first,
/// as the side to move sees the board.
pub fn planes(games: &[History], encoding: PositionEncoding) -> Array4<f32> {
    let mut all = Array4::zeros((games.len(), PLANES, 8, 8));
    for (mut seen, game) in all.outer_iter_mut().zip(games) {
        let planes = EvalSlot::of(game, encoding).planes;
        for ((plane, rank, file), value) in seen.indexed_iter_mut() {
            if planes.masks[plane] >> (8 * rank + file) & 1 == 1 {
                *value = planes.values[plane];
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine, Settings};

    #[test]
    fn arrays_hold_what_the_network_says_and_sees() {
        let mut settings = Settings::default();
        settings.network.backend = "random".into();
        let mut engine = Engine::new(settings).unwrap();
        let mut replied = History::start();
        replied.push(replied.parse_move("e2e4").unwrap());
        let games = [History::start(), replied];
        let said = engine.evaluate_all(&games).unwrap();

        assert_eq!(values(&said).row(1).to_vec(), [said[1].w, said[1].d, said[1].l]);
        let policy = policy(&said);
        let best = &said[1].policy[0];
        assert_eq!(policy[[1, usize::from(best.index)]], best.p);
        assert!(
            policy
                .rows()
                .into_iter()
                .all(|row| (row.sum() - 1.0).abs() < 1e-5)
        );
        let planes = planes(&games, PositionEncoding::default());
        assert_eq!(planes.shape(), [2, 112, 8, 8]);
        // Our pawns, and the opponent's one that went to e4, seen from the other side.
        assert_eq!(planes.slice(ndarray::s![0, 0, 1, ..]).sum(), 8.0);
        assert_eq!(planes[[1, 6, 4, 4]], 1.0);
    }
}
