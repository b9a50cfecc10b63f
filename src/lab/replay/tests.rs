//! Puts every manager through many games, and checks what they were made for.

use super::*;
use crate::time::Millis;
use crate::time::managers::{DEFAULT_MANAGER, manager_from};

const MANAGERS: [&str; 6] = ["smooth", "legacy", "alphazero", "simple", "stockfish", "argo"];

const CONTROLS: [TimeControl; 4] = [
    TimeControl { time: Millis(60_000.0), inc: Millis(600.0), moves: None },
    TimeControl { time: Millis(180_000.0), inc: Millis(2_000.0), moves: None },
    TimeControl { time: Millis(300_000.0), inc: Millis(0.0), moves: None },
    TimeControl { time: Millis(900_000.0), inc: Millis(0.0), moves: Some(40) },
];

fn run(manager: &str, control: TimeControl, model: &EngineModel, games: u64) -> Vec<ReplayedGame> {
    let options = |seed| ReplayOptions {
        control,
        model: model.clone(),
        overhead_ms: 50.0,
        seed,
        ..ReplayOptions::default()
    };
    (0..games)
        .map(|seed| replay(&synthetic::game(seed), manager_from(manager).unwrap(), &options(seed)))
        .collect()
}

fn summary(manager: &str, control: TimeControl, games: u64) -> ReplaySummary {
    ReplaySummary::of(&run(manager, control, &EngineModel::default(), games))
}

#[test]
fn no_manager_loses_on_time_or_moves_at_once() {
    for control in CONTROLS {
        let more = [DEFAULT_MANAGER, "smooth(preset=lc0)", "smooth(limit=nodes)"];
        for manager in MANAGERS.into_iter().chain(more) {
            let summary = summary(manager, control, 40);
            assert_eq!((summary.losses, summary.instamoves), (0, 0), "{manager} {control:?} {summary:?}");
        }
    }
}

/// The even trees are what smooth was invented for.
#[test]
fn smooth_keeps_trees_more_even_than_legacy() {
    for control in &CONTROLS[..3] {
        let (smooth, legacy) = (summary("smooth", *control, 100), summary("legacy", *control, 100));
        assert!(
            smooth.nodes_cv.value() < legacy.nodes_cv.value().map(|cv| 0.85 * cv),
            "{control:?} {smooth:?} {legacy:?}"
        );
    }
}

#[test]
fn smooth_uses_most_of_the_clock() {
    for control in CONTROLS {
        let summary = summary("smooth", control, 100);
        assert!(summary.time_used.value() > Some(0.8), "{control:?} {summary:?}");
    }
}

/// Moves at which more is at stake get more: the opening's trees are larger than those of decided endgames.
#[test]
fn stakes_take_time_from_decided_moves() {
    let nodes_late = |manager| {
        let games = run(manager, CONTROLS[0], &EngineModel::default(), 100);
        let late = games.iter().flat_map(|game| game.moves.iter().skip(game.moves.len() * 3 / 4));
        let (nodes, count) = late.fold((0, 0), |(nodes, count), moved| (nodes + moved.new_nodes, count + 1));
        nodes / count
    };
    let (even, stakes) = (nodes_late("smooth(mle-mlh)"), nodes_late("smooth(mle-mlh,move-weight=stakes)"));
    assert!(
        stakes * 10 < even * 9,
        "{stakes} new nodes late in the game, {even} where all moves weigh the same"
    );
}

/// A device with half a second per batch in a game of one second.
#[test]
fn a_slow_device_is_never_late() {
    let model = EngineModel {
        speed: SpeedModel::Constant(2.0),
        batch_latency_ms: 500.0,
        lag_ms: 1.0,
        ..EngineModel::default()
    };
    let control = TimeControl { time: Millis(1_000.0), inc: Millis(10.0), moves: None };
    for manager in MANAGERS {
        let summary = ReplaySummary::of(&run(manager, control, &model, 20));
        assert_eq!(summary.losses, 0, "{manager} {summary:?}");
    }
    // Without increment there is no end to how long a game may last; twenty moves must be possible.
    let control = TimeControl { inc: Millis::ZERO, ..control };
    let mut game = synthetic::game(1);
    game.moves.truncate(20);
    for manager in MANAGERS {
        let options =
            ReplayOptions { control, model: model.clone(), overhead_ms: 50.0, ..Default::default() };
        let replayed = replay(&game, manager_from(manager).unwrap(), &options);
        assert!(replayed.final_clock_ms > 0.0, "{manager} {replayed:?}");
    }
}

#[test]
fn the_same_seed_is_the_same_game() {
    let play = || run("smooth(preset=lc0)", CONTROLS[0], &EngineModel::default(), 3);
    assert_eq!(play(), play());
}

#[test]
fn periods_are_paid_in() {
    let control = TimeControl { time: Millis(10_000.0), inc: Millis(0.0), moves: Some(10) };
    let game = ReplayGame {
        moves: (0..25)
            .map(|i| ReplayMove { game_ply: 2 * i, pieces: 32, legal_moves: 20, ..ReplayMove::default() })
            .collect(),
    };
    let options = ReplayOptions { control, overhead_ms: 50.0, ..ReplayOptions::default() };
    let replayed = replay(&game, manager_from("legacy").unwrap(), &options);
    assert_eq!(replayed.moves.len(), 25);
    assert_eq!(replayed.given_ms, 30_000.0);
}

#[test]
fn recorded_clocks_can_drive_a_manager() {
    let clocks = [60_000.0, 20_000.0, 1_000.0];
    let position = |clock_ms| ReplayMove { pieces: 32, legal_moves: 20, clock_ms, ..ReplayMove::default() };
    let game = ReplayGame { moves: clocks.map(|ms| position(Some(ms))).into() };
    let clock_source = ClockSource::Recorded;
    let options = ReplayOptions { control: CONTROLS[2], clock_source, ..ReplayOptions::default() };
    let replayed = replay(&game, manager_from("alphazero").unwrap(), &options);
    assert_eq!(replayed.moves.iter().map(|m| m.clock_ms).collect::<Vec<_>>(), clocks);
    assert_eq!(replayed.moves.iter().map(|m| m.budget_ms).collect::<Vec<_>>(), [7_200.0, 2_400.0, 120.0]);
}
