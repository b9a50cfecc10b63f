//! A played move as a row of `moves.csv`, and what is computed from such rows: curves over a game, and what
//! smart pruning saves.

use serde::{Deserialize, Serialize, Serializer};

use crate::report::{Page, Plot};
use crate::rows::{GameKey, Row};
use zeitnot_engine::time::StopReason;

/// Moves beyond which there are no means: no game is so long, but anybody may have written a file.
const MOST_MOVES: usize = 10_000;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MoveRow {
    /// Empty in replays.
    pub match_id: String,
    /// In the whole run, whatever the shard.
    pub(crate) game: u64,
    /// `A` or `B` in a match, the time manager in a replay.
    pub(crate) player: String,
    /// The limit of a move or game, `recorded` under recorded clocks.
    pub(crate) control: String,
    /// Counts the player's moves, from 1.
    pub(crate) number: u32,
    pub(crate) ply: u32,
    pub(crate) pieces: u32,
    /// More than one move was legal.
    pub(crate) had_choice: bool,
    /// Before the move. `None` where only nodes count.
    pub(crate) clock_ms: Option<f64>,
    /// The time manager's, as last revised.
    pub(crate) budget_ms: Option<f64>,
    /// With lag, nodes under `nodestime`. `None` without a clock, so that rows do not depend on the machine.
    pub(crate) used_ms: Option<f64>,
    /// In the tree at the end, those of earlier searches included.
    pub(crate) nodes: u64,
    pub(crate) new_nodes: u64,
    /// From the player's point of view. A mate in n plies is 32000 − n, being mated n − 32000.
    pub(crate) centipawns: Option<i32>,
    /// As the search saw it, if the network knows.
    pub(crate) moves_left_plies: Option<f32>,
    /// The time manager's estimate, full moves of the player.
    pub(crate) moves_left: Option<f64>,
    /// Full moves of the player to the end of the game, in replays to the time control if that comes first.
    /// This one counts. `None` where neither has come: the game was not played out.
    pub(crate) really_left: Option<u32>,
    /// The rule that ended the search, `bestmove` of external engines.
    pub(crate) end: String,
}

impl Row for MoveRow {
    const KIND: &'static str = "moves";

    fn game(&self) -> GameKey {
        GameKey {
            match_id: self.match_id.clone(),
            game: self.game,
        }
    }

    fn way(&self) -> String {
        format!("{} at {}", self.player, self.control)
    }
}

impl MoveRow {
    pub(crate) fn ended_by(&self, reasons: &[StopReason]) -> bool {
        reasons.iter().any(|reason| self.end == reason.to_string())
    }

    /// Of the estimated moves left, full moves.
    pub(crate) fn error_moves(&self) -> Option<f64> {
        Some((self.moves_left? - f64::from(self.really_left?)).abs())
    }
}

/// How often smart pruning ended moves with a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PruningCounts {
    moves: u64,
    pub(crate) pruned: u64,
    used_ms: f64,
    /// What the budgets of pruned moves had left.
    saved_ms: f64,
}

impl PruningCounts {
    pub(crate) fn add(&mut self, row: &MoveRow) {
        let (Some(used_ms), Some(budget_ms)) = (row.used_ms, row.budget_ms) else {
            return;
        };
        self.moves += 1;
        self.used_ms += used_ms;
        if row.ended_by(&[StopReason::SmartPruning]) {
            self.pruned += 1;
            self.saved_ms += (budget_ms - used_ms).max(0.0);
        }
    }

    pub(crate) fn pruned(&self) -> Option<f64> {
        (self.moves > 0).then(|| self.pruned as f64 / self.moves as f64)
    }

    /// Share of the time used.
    pub(crate) fn saved(&self) -> Option<f64> {
        (self.used_ms > 0.0).then(|| self.saved_ms / self.used_ms)
    }
}

/// Kept in steps of 2⁻⁶⁰, independent of the order of the sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExactMean {
    steps: i128,
    pub(crate) count: u64,
}

const STEPS_PER_UNIT: f64 = (1u64 << 60) as f64;

impl ExactMean {
    pub(crate) fn add(&mut self, sum: f64, count: u32) {
        // NaN becomes 0, infinity the largest step.
        self.steps = self.steps.saturating_add((sum * STEPS_PER_UNIT) as i128);
        self.count += u64::from(count);
    }

    pub(crate) fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.steps as f64 / STEPS_PER_UNIT / self.count as f64)
    }
}

impl Serialize for ExactMean {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

/// A quantity over the numbers of a player's moves.
struct Curve {
    title: &'static str,
    axis: &'static str,
    /// Without clocks it says nothing.
    needs_clock: bool,
    value: fn(&MoveRow) -> Option<f64>,
}

const CURVES: [Curve; 4] = [
    Curve {
        title: "Nodes in the tree at the end of a move",
        axis: "nodes, mean",
        // With nodes as the limit, they are that limit.
        needs_clock: true,
        value: |row| Some(row.nodes as f64),
    },
    Curve {
        title: "Clock before a move",
        axis: "ms, mean",
        needs_clock: true,
        value: |row| row.clock_ms,
    },
    Curve {
        title: "Time used for a move",
        axis: "ms, mean",
        needs_clock: true,
        value: |row| row.used_ms,
    },
    Curve {
        title: "Error of the estimated moves left",
        axis: "full moves, mean absolute",
        needs_clock: false,
        value: MoveRow::error_moves,
    },
];

/// Means over the games of a player by the number of its move.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curves {
    by_number: Vec<MoveMeans>,
    has_clocks: bool,
}

/// Of all moves with one number.
#[derive(Clone, Debug, Default)]
struct MoveMeans {
    moves: u64,
    /// In the order of [`CURVES`].
    means: [ExactMean; CURVES.len()],
}

impl Curves {
    pub(crate) fn add(&mut self, row: &MoveRow) {
        let index = row.number.saturating_sub(1) as usize;
        if index >= MOST_MOVES {
            return;
        }
        if self.by_number.len() <= index {
            self.by_number.resize_with(index + 1, Default::default);
        }
        self.has_clocks |= row.clock_ms.is_some();
        let of_number = &mut self.by_number[index];
        of_number.moves += 1;
        for (mean, Curve { value, .. }) in of_number.means.iter_mut().zip(CURVES) {
            if let Some(value) = value(row) {
                mean.add(value, 1);
            }
        }
    }

    /// As far as a tenth of the games goes on.
    fn line(&self, quantity: usize) -> Vec<(f64, f64)> {
        let enough = self.by_number.first().map_or(0, |first| first.moves / 10).max(1);
        let mut points = Vec::new();
        for (of_number, number) in self.by_number.iter().zip(1u32..) {
            if of_number.moves < enough {
                break;
            }
            if let Some(mean) = of_number.means[quantity].value() {
                points.push((number.into(), mean));
            }
        }
        points
    }

    pub(crate) fn show(mut page: Page, players: &[(&str, &Curves)]) -> Page {
        let has_clocks = players.iter().any(|(_, curves)| curves.has_clocks);
        for (quantity, curve) in CURVES.into_iter().enumerate() {
            if has_clocks || !curve.needs_clock {
                let mut plot = Plot::new(curve.title, "move", curve.axis).y_from(0.0);
                for (name, curves) in players {
                    let points = curves.line(quantity);
                    if !points.is_empty() {
                        plot = plot.line(name, points);
                    }
                }
                page = page.plot(&plot, "");
            }
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(used_ms: Option<f64>, budget_ms: f64, end: StopReason) -> MoveRow {
        MoveRow {
            used_ms,
            budget_ms: Some(budget_ms),
            end: end.to_string(),
            ..MoveRow::default()
        }
    }

    #[test]
    fn what_smart_pruning_saves_by_hand() {
        let mut counts = PruningCounts::default();
        assert_eq!((counts.pruned(), counts.saved()), (None, None));
        for row in [
            row(Some(300.0), 300.0, StopReason::Budget),
            row(Some(100.0), 250.0, StopReason::SmartPruning),
            row(Some(201.0), 200.0, StopReason::SmartPruning),
            row(Some(199.0), 900.0, StopReason::OnlyMove),
            row(None, 900.0, StopReason::SmartPruning),
        ] {
            counts.add(&row);
        }
        assert_eq!(
            (counts.pruned(), counts.saved()),
            (Some(0.5), Some(150.0 / 800.0))
        );
    }

    #[test]
    fn sums_do_not_depend_on_the_order() {
        let values: Vec<f64> = (0..1000)
            .map(|i| (f64::from(i) * 0.37).sin() * 10f64.powi(i % 9))
            .collect();
        let mean = |values: &mut dyn Iterator<Item = &f64>| {
            values.fold(ExactMean::default(), |mut mean, &value| {
                mean.add(value, 1);
                mean
            })
        };
        assert_eq!(mean(&mut values.iter()), mean(&mut values.iter().rev()));
        let plain = values.iter().sum::<f64>() / 1000.0;
        assert!((mean(&mut values.iter()).value().unwrap() - plain).abs() < 1e-6);
        assert_eq!(ExactMean::default().value(), None);
    }

    /// The means of twenty games, of which one goes on for a second move and all others end.
    #[test]
    fn curves_end_where_a_tenth_of_the_games_goes_on() {
        let mut curves = Curves::default();
        for (number, games) in [(1, 20), (2, 2), (3, 1)] {
            for game in 0..games {
                let clock_ms = Some(f64::from(100 * number + game));
                curves.add(&MoveRow {
                    number: number as u32,
                    clock_ms,
                    ..MoveRow::default()
                });
            }
        }
        assert_eq!(curves.line(1), [(1.0, 109.5), (2.0, 200.5)]);
        curves.add(&MoveRow {
            number: u32::MAX,
            ..MoveRow::default()
        });
        assert!(curves.line(2).is_empty(), "no move has a time");
    }
}
