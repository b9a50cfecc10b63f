//! Rows of replays: per game and per move.

use itertools::Itertools;
use ndarray::Array1;
use serde::{Deserialize, Serialize};

use super::{ClockSource, GameToReplay, ReplayOptions, ReplayedGame, replay};
use crate::move_rows::{MoveRow, PruningCounts};
use crate::phase::Phase;
use crate::rows::{GameFiles, GameKey, Row};
use zeitnot_engine::VERSION;
use zeitnot_engine::chess::Color;
use zeitnot_engine::time::{StopReason, TimeControl, manager_from};

/// Fraction of an even share below which a choice is an insta-move.
const INSTANT_SHARE: f64 = 0.02;
const EVEN_SHARE_MOVES: f64 = 40.0;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayGameRow {
    /// Among the replayed games, from 1, whatever the shard.
    pub(crate) game: u64,
    pub(crate) white: bool,
    pub(crate) manager: String,
    /// Or `recorded`.
    pub(crate) control: String,
    pub(crate) moves: u32,
    pub(crate) lost: bool,
    /// All time given, ms.
    pub(crate) given_ms: f64,
    pub(crate) final_clock_ms: f64,
    /// Share of all time given. With recorded clocks it may exceed 1.
    pub(crate) time_used: f64,
    /// Before the increment, negative if the flag fell. `None` with recorded clocks.
    pub(crate) min_clock_ms: Option<f64>,
    #[serde(default)]
    pub(crate) max_used_ms: f64,
    /// Instant moves with a choice and nothing proven.
    pub(crate) instamoves: u32,
    /// Of the final tree sizes of moves with a choice.
    pub(crate) nodes_cv: f64,
    pub(crate) pruned: u32,
    /// What their budgets had left, as a share of all time used.
    pub(crate) pruning_saved: f64,
    /// Per phase: moves with an estimate, and the sum of absolute errors, full moves.
    pub(crate) opening_estimates: u32,
    pub(crate) opening_error_moves: f64,
    pub(crate) middlegame_estimates: u32,
    pub(crate) middlegame_error_moves: f64,
    pub(crate) endgame_estimates: u32,
    pub(crate) endgame_error_moves: f64,
    /// The identity of the run, empty in older rows.
    #[serde(default)]
    pub(crate) run: String,
    /// See [`VERSION`], empty in older rows.
    #[serde(default)]
    pub(crate) version: String,
}

impl ReplayGameRow {
    /// What was replayed, and how, is to be filled in.
    pub(super) fn new(game: &ReplayedGame) -> ReplayGameRow {
        let is_recorded = game.clock_source == ClockSource::Recorded;
        let used_ms = game.moves.iter().filter_map(|m| m.used_ms).sum::<f64>();
        let lost_ms = if is_recorded {
            used_ms
        } else {
            game.given_ms - game.final_clock_ms.max(0.0)
        };
        let left_ms = game.moves.iter().filter_map(|m| Some(m.clock_ms? - m.used_ms?));
        let least_ms = left_ms.reduce(f64::min);
        let mut pruning = PruningCounts::default();
        for played in &game.moves {
            pruning.add(played);
        }
        let [opening, middlegame, endgame] = Phase::ALL.map(|phase| moves_left_errors(game, phase));
        ReplayGameRow {
            moves: game.moves.len() as u32,
            lost: game.final_clock_ms < 0.0,
            given_ms: game.given_ms,
            final_clock_ms: game.final_clock_ms,
            time_used: lost_ms / game.given_ms.max(f64::MIN_POSITIVE),
            min_clock_ms: if is_recorded { None } else { least_ms },
            max_used_ms: game.moves.iter().filter_map(|m| m.used_ms).fold(0.0, f64::max),
            instamoves: game.moves.iter().filter(|m| is_instamove(m)).count() as u32,
            nodes_cv: nodes_cv(&game.moves),
            pruned: pruning.pruned as u32,
            pruning_saved: pruning.saved().unwrap_or_default(),
            opening_estimates: opening.0,
            opening_error_moves: opening.1,
            middlegame_estimates: middlegame.0,
            middlegame_error_moves: middlegame.1,
            endgame_estimates: endgame.0,
            endgame_error_moves: endgame.1,
            version: VERSION.into(),
            ..ReplayGameRow::default()
        }
    }

    /// Moves with an estimate and the sum of errors, by [`Phase::ALL`].
    pub(super) fn moves_left(&self) -> [(u32, f64); 3] {
        [
            (self.opening_estimates, self.opening_error_moves),
            (self.middlegame_estimates, self.middlegame_error_moves),
            (self.endgame_estimates, self.endgame_error_moves),
        ]
    }
}

fn nodes_cv(moves: &[MoveRow]) -> f64 {
    let with_choice = moves.iter().filter(|m| m.had_choice);
    let nodes: Array1<f64> = with_choice.map(|m| m.nodes as f64).collect();
    match nodes.mean() {
        Some(mean) if mean > 0.0 => nodes.std(0.0) / mean,
        _ => 0.0,
    }
}

fn moves_left_errors(game: &ReplayedGame, phase: Phase) -> (u32, f64) {
    let moves = game.moves.iter().filter(|m| Phase::of(m.pieces) == phase);
    let errors = moves.filter_map(MoveRow::error_moves);
    errors.fold((0, 0.0), |(moves, sum), error| (moves + 1, sum + error))
}

/// Also where smart pruning ends a move because of a low estimate.
fn is_instamove(row: &MoveRow) -> bool {
    use StopReason::{OnlyMove, OthersLose, ProvenResult, ProvenWin};
    let limit_ms = row.clock_ms.map(|clock| INSTANT_SHARE * clock / EVEN_SHARE_MOVES);
    let is_short = row.used_ms.is_some() && row.used_ms < limit_ms;
    is_short && row.had_choice && !row.ended_by(&[OnlyMove, ProvenWin, OthersLose, ProvenResult])
}

impl Row for ReplayGameRow {
    const KIND: &'static str = "games of timelab";

    fn game(&self) -> GameKey {
        self.game.into()
    }

    fn way(&self) -> String {
        format!("{} at {}", self.manager, self.control)
    }
}

pub type ReplayFiles = GameFiles<ReplayGameRow, MoveRow>;

pub type ReplayRows = (ReplayGameRow, Vec<MoveRow>);

#[derive(Debug)]
pub struct Replayer<'a> {
    pub run: &'a str,
    /// As in the option `TimeManager`. Invalid ones are left out.
    pub managers: &'a [String],
    /// Replaced by the recorded one with [`ClockSource::Recorded`].
    pub controls: &'a [TimeControl],
    pub kept_games: u64,
    pub options: ReplayOptions,
}

impl Replayer<'_> {
    pub fn replay(&self, game: &GameToReplay) -> Vec<ReplayRows> {
        let recorded = Vec::from_iter(game.recorded_control());
        let controls = if self.is_recorded() {
            &recorded
        } else {
            self.controls
        };
        let pairs = controls.iter().cartesian_product(self.managers);
        pairs
            .filter_map(|(control, manager)| self.replay_under(game, *control, manager))
            .collect()
    }

    fn is_recorded(&self) -> bool {
        self.options.clock_source == ClockSource::Recorded
    }

    fn replay_under(&self, game: &GameToReplay, control: TimeControl, manager: &str) -> Option<ReplayRows> {
        let options = ReplayOptions {
            control,
            seed: game.number,
            ..self.options.clone()
        };
        let replayed = replay(&game.moves, manager_from(manager).ok()?, &options);
        let control = if self.is_recorded() {
            "recorded".into()
        } else {
            control.to_string()
        };
        let row = ReplayGameRow {
            game: game.number,
            white: game.side == Color::White,
            manager: manager.to_owned(),
            control: control.clone(),
            run: self.run.to_owned(),
            ..ReplayGameRow::new(&replayed)
        };
        let mut moves = replayed.moves;
        if game.number > self.kept_games {
            moves.clear();
        }
        for played in &mut moves {
            played.game = game.number;
            manager.clone_into(&mut played.player);
            control.clone_into(&mut played.control);
        }
        Some((row, moves))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(nodes: u64, used_ms: f64, reason: StopReason) -> MoveRow {
        MoveRow {
            clock_ms: Some(40_000.0),
            budget_ms: Some(used_ms),
            used_ms: Some(used_ms),
            nodes,
            end: reason.to_string(),
            had_choice: true,
            moves_left: Some(10.0),
            pieces: 12,
            really_left: Some(7),
            ..MoveRow::default()
        }
    }

    #[test]
    fn by_hand() {
        let moves = vec![
            moved(100, 990.0, StopReason::Budget),
            moved(300, 10.0, StopReason::Budget),
            MoveRow {
                moves_left: None,
                budget_ms: Some(260.0),
                ..moved(200, 10.0, StopReason::SmartPruning)
            },
            MoveRow {
                moves_left: None,
                ..moved(200, 10.0, StopReason::OthersLose)
            },
            MoveRow {
                moves_left: None,
                ..moved(200, 20.0, StopReason::SmartPruning)
            },
        ];
        let clock_source = ClockSource::Running;
        let game = ReplayedGame {
            moves,
            given_ms: 50_000.0,
            final_clock_ms: 10_000.0,
            clock_source,
        };
        // A regression: with recorded clocks these were the recorded player's.
        let clock_source = ClockSource::Recorded;
        let recorded = ReplayGameRow::new(&ReplayedGame {
            clock_source,
            ..game.clone()
        });
        assert!((recorded.time_used - 1_040.0 / 50_000.0).abs() < 1e-12);
        assert_eq!((recorded.min_clock_ms, recorded.lost), (None, false));
        let row = ReplayGameRow::new(&game);
        assert!((row.time_used - 0.8).abs() < 1e-12);
        // A regression: all that smart pruning ended counted as proven.
        assert_eq!(
            (row.lost, row.instamoves),
            (false, 2),
            "10 ms of 1,000 is an insta-move, 20 are none"
        );
        assert_eq!((row.min_clock_ms, row.max_used_ms), (Some(39_010.0), 990.0));
        // Mean 200, variance (100² + 100² + 0)/5 = 4,000, deviation 63.25
        assert!((row.nodes_cv - 0.316_228).abs() < 1e-6);
        // 250 ms for 1,040.
        assert!(row.pruned == 2 && (row.pruning_saved - 250.0 / 1_040.0).abs() < 1e-12);
        assert_eq!(
            row.moves_left(),
            [(0, 0.0), (0, 0.0), (2, 6.0)],
            "two estimates of 10 for 7"
        );
    }
}
