//! Replays games on all threads.

use super::TimelabArgs;
use super::games::GameToReplay;
use super::rows::{ReplayGameRow, ReplayKey, ReplayMoveRow};
use crate::chess::Color;
use crate::lab::replay::{ClockSource, EngineModel, ReplayOptions, replay};
use crate::time::TimeControl;
use crate::time::manager_from;

/// The rows of one replay.
pub(super) type ReplayRows = (ReplayGameRow, Vec<ReplayMoveRow>);

/// What every replay has in common.
pub(super) struct Replayer<'a> {
    pub args: &'a TimelabArgs,
    pub model: EngineModel,
    pub threads: usize,
}

impl Replayer<'_> {
    /// Replays games on all threads. The rows come in the games' order.
    pub(super) fn replay_all(&self, games: &[GameToReplay]) -> Vec<ReplayRows> {
        let share = games.len().div_ceil(self.threads).max(1);
        std::thread::scope(|scope| {
            let threads: Vec<_> = games
                .chunks(share)
                .map(|part| {
                    scope.spawn(|| part.iter().flat_map(|game| self.replay(game)).collect::<Vec<_>>())
                })
                .collect();
            let joined = threads.into_iter().map(|thread| match thread.join() {
                Ok(rows) => rows,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.flatten().collect()
        })
    }

    /// One game under every time control and manager.
    fn replay(&self, game: &GameToReplay) -> Vec<ReplayRows> {
        let recorded: Vec<TimeControl> = game.recorded_control().into_iter().collect();
        let controls = if self.args.recorded_clocks { &recorded } else { &self.args.controls };
        let pairs =
            controls.iter().flat_map(|control| self.args.managers.iter().map(move |name| (control, name)));
        pairs.filter_map(|(control, name)| self.replay_under(game, *control, name)).collect()
    }

    fn replay_under(&self, game: &GameToReplay, control: TimeControl, name: &str) -> Option<ReplayRows> {
        let recorded = self.args.recorded_clocks;
        let options = ReplayOptions {
            control,
            clock_source: if recorded { ClockSource::Recorded } else { ClockSource::Running },
            model: self.model.clone(),
            overhead_ms: f64::from(self.args.move_overhead),
            seed: game.number,
            ..ReplayOptions::default()
        };
        // The managers were checked before the first game.
        let replayed = replay(&game.replay, manager_from(name).ok()?, &options);
        let control = if recorded { "recorded".into() } else { control.to_string() };
        let cell = ReplayKey {
            game: game.number,
            white: game.side == Color::White,
            manager: name,
            control: &control,
        };
        let keeps_moves = game.number <= self.args.curves;
        let moves = replayed.moves.iter().zip(1..).filter(|_| keeps_moves);
        let moves = moves.map(|(played, number)| ReplayMoveRow::new(cell, number, played)).collect();
        Some((ReplayGameRow::new(cell, &replayed), moves))
    }
}
