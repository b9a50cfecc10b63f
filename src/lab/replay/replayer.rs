//! Replays recorded games under several managers and time controls, on all threads.

use super::games::GameToReplay;
use super::rows::{ReplayGameRow, ReplayKey, ReplayMoveRow};
use super::{ClockSource, EngineModel, ReplayOptions, replay};
use crate::chess::Color;
use crate::time::{TimeControl, manager_from};

/// The rows of one game under one manager at one time control.
#[derive(Clone, Debug)]
pub struct ReplayRows {
    /// The row of the game.
    pub game: ReplayGameRow,
    /// The rows of its moves; none if they are not kept.
    pub moves: Vec<ReplayMoveRow>,
}

/// The settings that all replays have in common.
#[derive(Clone, Debug)]
pub struct Replayer<'a> {
    /// The time managers, as in the option `TimeManager`; those that cannot be parsed are left out.
    pub managers: &'a [String],
    /// The time controls.
    pub controls: &'a [TimeControl],
    /// True to replay at the recorded time control instead, with the recorded clocks.
    pub recorded_clocks: bool,
    /// Time that the engine keeps back of every clock, ms.
    pub overhead_ms: f64,
    /// True if the engine thinks on the opponent's clock.
    pub ponders: bool,
    /// Rows of moves are kept of the games up to this number.
    pub kept_games: u64,
    /// The modelled engine.
    pub model: EngineModel,
    /// Threads that replay.
    pub threads: usize,
}

impl Replayer<'_> {
    /// Replays games on all threads. The rows come in the order of the games.
    pub fn replay_all(&self, games: &[GameToReplay]) -> Vec<ReplayRows> {
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

    /// Replays one game under every time control and manager.
    fn replay(&self, game: &GameToReplay) -> Vec<ReplayRows> {
        let recorded: Vec<TimeControl> = game.recorded_control().into_iter().collect();
        let controls = if self.recorded_clocks { &recorded } else { self.controls };
        let pairs =
            controls.iter().flat_map(|control| self.managers.iter().map(move |manager| (*control, manager)));
        pairs.filter_map(|(control, manager)| self.replay_under(game, control, manager)).collect()
    }

    fn replay_under(&self, game: &GameToReplay, control: TimeControl, manager: &str) -> Option<ReplayRows> {
        let clock_source = if self.recorded_clocks { ClockSource::Recorded } else { ClockSource::Running };
        let options = ReplayOptions {
            control,
            clock_source,
            model: self.model.clone(),
            overhead_ms: self.overhead_ms,
            ponders: self.ponders,
            seed: game.number,
            ..ReplayOptions::default()
        };
        let replayed = replay(&game.replay, manager_from(manager).ok()?, &options);
        let control = if self.recorded_clocks { "recorded".into() } else { control.to_string() };
        let white = game.side == Color::White;
        let key = ReplayKey { game: game.number, white, manager, control: &control };
        let is_kept = game.number <= self.kept_games;
        let moves = replayed.moves.iter().zip(1..).filter(|_| is_kept);
        let moves = moves.map(|(played, number)| ReplayMoveRow::new(key, number, played)).collect();
        Some(ReplayRows { game: ReplayGameRow::new(key, &replayed), moves })
    }
}
