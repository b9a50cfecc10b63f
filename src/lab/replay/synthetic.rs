//! Games made up by chance, for tests and demonstrations without recorded ones.

use super::random::ReplayRandom;
use super::{ReplayGame, ReplayMove};
use crate::time::{Plies, RootEvaluation};

/// Median length of a game, full moves, and the steepness of its log-logistic distribution.
const MEDIAN_MOVES: f64 = 60.0;
const STEEPNESS: f64 = 4.0;
/// Shortest and longest game, full moves.
const SHORTEST: f64 = 15.0;
const LONGEST: f64 = 200.0;
/// Pieces at the end of a game of median length.
const FINAL_PIECES: f64 = 8.0;
/// Share of draws in what is still open.
const DRAWN: f64 = 0.3;
/// Share of positions with a single legal move.
const FORCED: f64 = 0.03;

/// Makes a game with the given seed: its length is log-logistic, pieces disappear in the course of it, some moves are
/// forced, M is the true distance to its end with some error, and the expected result comes ever nearer to
/// the real one.
pub fn game(seed: u64) -> ReplayGame {
    let mut random = ReplayRandom::new(seed);
    let odds = random.between(0.01, 0.99);
    let length = MEDIAN_MOVES * (odds / (1.0 - odds)).powf(1.0 / STEEPNESS);
    let length = length.clamp(SHORTEST, LONGEST) as u32;
    let book_plies = 2 * (random.between(0.0, 9.0) as u32);
    let end_ply = (2 * length).max(book_plies + 2);
    // One game in three is drawn.
    let result = (seed % 3) as f64 - 1.0;
    let moves = (book_plies..end_ply).step_by(2).map(|game_ply| {
        let progress = f64::from(game_ply) / (2.0 * MEDIAN_MOVES);
        let pieces = (32.0 - (32.0 - FINAL_PIECES) * progress.min(1.2)).clamp(3.0, 32.0) as u32;
        let forced = random.unit() < FORCED;
        let left = f64::from(end_ply - game_ply);
        let q = result * (1.0 - left / f64::from(end_ply)).powi(2);
        ReplayMove {
            game_ply,
            pieces,
            legal_moves: if forced { 1 } else { random.between(5.0, 40.0) as u32 },
            root: Some(RootEvaluation {
                q,
                d: Some(DRAWN * (1.0 - q.abs())),
                m: Some(Plies((left * (1.0 + 0.3 * random.normal())).max(0.0))),
                m_spread: None,
            }),
            ..ReplayMove::default()
        }
    });
    ReplayGame { moves: moves.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_look_like_games() {
        let lengths: Vec<usize> = (0..500).map(|seed| game(seed).moves.len()).collect();
        let mean = lengths.iter().sum::<usize>() as f64 / 500.0;
        assert!((45.0..75.0).contains(&mean), "{mean}");
        assert_eq!(game(3), game(3));
        assert!(game(3).moves.is_sorted_by(|a, b| a.pieces >= b.pieces && a.game_ply < b.game_ply));
    }
}
