//! What a time manager would have spent on the moves of a game.

use super::AnalysedPosition;
use crate::lab::pgn::RecordedGame;
use crate::lab::replay::{
    ClockSource, EngineModel, ReplayMove, ReplayOptions, Speed, control_of, recorded_moves, replay,
};
use crate::time::{Plies, RootEvaluation, TimeControl, manager_from};

/// The clocks that a time manager gets to see.
#[derive(Clone, Debug)]
pub struct SpendingPlan {
    /// The time manager, as in the option `TimeManager`.
    pub manager: String,
    /// The time control of games whose tags have none.
    pub control: Option<TimeControl>,
    /// Time that is kept back of every clock, ms.
    pub overhead_ms: f64,
}

impl SpendingPlan {
    /// Returns the time that the manager would have spent on each move of both sides, ms, on a machine that makes `nps` new
    /// visits per second. Where the game has clocks, it sees them as they were; else its own, which runs down by what it spends.
    /// Without a time control there are no times.
    pub(super) fn spend(
        &self,
        game: &RecordedGame,
        positions: &[AnalysedPosition],
        nps: f64,
    ) -> Vec<Option<f64>> {
        let mut spent = vec![None; game.moves.len()];
        let Some(control) = control_of(game).or(self.control) else { return spent };
        for side in 0..2 {
            let Ok(manager) = manager_from(&self.manager) else { return spent };
            let moves = searched_moves(game, positions, side, control);
            let has_clocks = moves.iter().skip(1).any(|position| position.clock_ms.is_some());
            let speed = Speed::constant(nps);
            let options = ReplayOptions {
                control,
                clock_source: if has_clocks { ClockSource::Recorded } else { ClockSource::Running },
                model: EngineModel {
                    speed,
                    nps_scatter: 0.0,
                    batch: 8,
                    batch_latency_ms: 0.0,
                    ..EngineModel::default()
                },
                overhead_ms: self.overhead_ms,
                ..ReplayOptions::default()
            };
            let replayed = replay(&moves, manager, &options);
            for (own, played) in replayed.moves.iter().enumerate() {
                spent[side + 2 * own] = Some(played.used_ms);
            }
        }
        spent
    }
}

/// Returns every second move from `first` on, with the clock before it and what the search found.
fn searched_moves(
    game: &RecordedGame,
    positions: &[AnalysedPosition],
    first: usize,
    control: TimeControl,
) -> Vec<ReplayMove> {
    let own = positions.iter().skip(first).step_by(2);
    let moves = recorded_moves(game, first, Some(control)).into_iter().zip(own);
    let moves = moves.map(|(recorded, found)| {
        let best = found.best();
        let m = best.moves_left.map(Plies);
        let root = Some(RootEvaluation { q: best.wl, d: Some(best.d), m, m_spread: None });
        ReplayMove { root, plies_to_mate: None, ..recorded }
    });
    moves.collect()
}
