//! The figures of a replayed game, and of many.

use crate::lab::Phase;
use crate::time::StopReason;

use super::{ClockSource, ReplayedGame, ReplayedMove};

/// A move with a choice that takes less than this share of an even share of the clock is an insta-move.
const INSTANT_SHARE: f64 = 0.02;
/// The moves over which an even share of the clock is computed.
const EVEN_SHARE_MOVES: f64 = 40.0;

/// Errors of a game's estimates of the moves left in one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PhaseErrors {
    /// Moves with an estimate.
    pub moves: u32,
    /// Sum of the distances between estimate and truth, full moves.
    pub sum: f64,
}

/// Figures of one game.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GameSummary {
    /// Moves made.
    pub moves: u32,
    /// True if the game was lost on time.
    pub lost: bool,
    /// Share of all time given that was used by the game's end, 1 if all was. With recorded clocks, which the recorded player has run
    /// down, the sum of what the manager used, which may be more than was given.
    pub time_used: f64,
    /// Smallest clock after any move, before its increment, ms; negative if the flag fell. `None` with recorded clocks or without
    /// a move.
    pub min_clock_ms: Option<f64>,
    /// Moves that were made at once though there was a choice and nothing was proven.
    pub instamoves: u32,
    /// Coefficient of variation (standard deviation ÷ mean) of the nodes in the tree at the end of each move that had a
    /// choice; 0 for fewer than two.
    pub nodes_cv: f64,
    /// Moves that smart pruning ended.
    pub pruned: u32,
    /// Time that their budgets had left, as a share of the time that all moves used.
    pub pruning_saved: f64,
    /// Errors of the estimates of moves left, in the order of [`Phase::ALL`].
    pub moves_left: [PhaseErrors; 3],
}

/// Figures over many games.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReplaySummary {
    /// Games.
    pub games: u64,
    /// Games lost on time.
    pub losses: u64,
    /// Mean over the games of [`GameSummary::time_used`].
    pub time_used: ExactMean,
    /// Smallest clock after any move, ms; `None` without a move.
    pub min_clock_ms: Option<f64>,
    /// Insta-moves.
    pub instamoves: u64,
    /// Mean over the games of [`GameSummary::nodes_cv`].
    pub nodes_cv: ExactMean,
    /// Share of all moves that smart pruning ended.
    pub pruned: ExactMean,
    /// Mean over the games of [`GameSummary::pruning_saved`].
    pub pruning_saved: ExactMean,
    /// Mean absolute errors of the estimates of moves left over all moves of a phase, in the order of [`Phase::ALL`].
    pub moves_left: [ExactMean; 3],
}

impl ReplaySummary {
    /// Adds up games. Their order makes no difference, not even in the last digit.
    pub fn of(games: &[ReplayedGame]) -> ReplaySummary {
        let mut summary = ReplaySummary::default();
        games.iter().for_each(|game| summary.add(&game.summary()));
        summary
    }

    /// Adds a game.
    pub fn add(&mut self, game: &GameSummary) {
        self.games += 1;
        self.losses += u64::from(game.lost);
        self.time_used.add(game.time_used, 1);
        if let Some(ms) = game.min_clock_ms.filter(|_| game.moves > 0) {
            self.min_clock_ms = Some(self.min_clock_ms.unwrap_or(f64::INFINITY).min(ms));
        }
        self.instamoves += u64::from(game.instamoves);
        self.nodes_cv.add(game.nodes_cv, 1);
        self.pruned.add(game.pruned.into(), game.moves);
        self.pruning_saved.add(game.pruning_saved, 1);
        for (mean, errors) in self.moves_left.iter_mut().zip(&game.moves_left) {
            mean.add(errors.sum, errors.moves);
        }
    }
}

/// A mean whose sum is kept in whole steps of 2⁻⁶⁰: it is the same in whatever order and portions the parts are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExactMean {
    steps: i128,
    count: u64,
}

const STEPS_PER_UNIT: f64 = (1u64 << 60) as f64;

impl ExactMean {
    /// Adds the sum of `count` values.
    pub fn add(&mut self, sum: f64, count: u32) {
        // A float that is no number becomes 0 here and one beyond all bounds the largest step.
        self.steps = self.steps.saturating_add((sum * STEPS_PER_UNIT) as i128);
        self.count += u64::from(count);
    }

    /// Returns how many values were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean; `None` without values.
    pub fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.steps as f64 / STEPS_PER_UNIT / self.count as f64)
    }
}

impl ReplayedGame {
    /// Returns the game's figures.
    pub fn summary(&self) -> GameSummary {
        let is_recorded = self.clock_source == ClockSource::Recorded;
        let used_ms = self.moves.iter().map(|m| m.used_ms).sum::<f64>();
        let lost_ms = if is_recorded { used_ms } else { self.given_ms - self.final_clock_ms.max(0.0) };
        let least_ms = self.moves.iter().map(|m| m.clock_ms - m.used_ms).reduce(f64::min);
        GameSummary {
            moves: self.moves.len() as u32,
            lost: self.final_clock_ms < 0.0,
            time_used: lost_ms / self.given_ms.max(f64::MIN_POSITIVE),
            min_clock_ms: least_ms.filter(|_| !is_recorded),
            instamoves: self.moves.iter().filter(|m| m.is_instamove()).count() as u32,
            nodes_cv: self.nodes_cv(),
            pruned: self.pruned().count() as u32,
            pruning_saved: self.pruned().map(|m| (m.budget_ms - m.used_ms).max(0.0)).sum::<f64>()
                / used_ms.max(f64::MIN_POSITIVE),
            moves_left: Phase::ALL.map(|phase| self.moves_left_errors(phase)),
        }
    }

    fn pruned(&self) -> impl Iterator<Item = &ReplayedMove> {
        self.moves.iter().filter(|m| m.reason == StopReason::SmartPruning)
    }

    fn nodes_cv(&self) -> f64 {
        let nodes: Vec<f64> = self.moves.iter().filter(|m| m.had_choice).map(|m| m.nodes as f64).collect();
        let count = nodes.len() as f64;
        let mean = nodes.iter().sum::<f64>() / count;
        if nodes.len() < 2 || mean <= 0.0 {
            return 0.0;
        }
        let variance = nodes.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / count;
        variance.sqrt() / mean
    }

    fn moves_left_errors(&self, phase: Phase) -> PhaseErrors {
        let moves = self.moves.iter().filter(|m| Phase::of(m.pieces) == phase);
        let errors = moves.filter_map(|m| Some((m.moves_left? - f64::from(m.really_left)).abs()));
        errors.fold(PhaseErrors::default(), |PhaseErrors { moves, sum }, error| PhaseErrors {
            moves: moves + 1,
            sum: sum + error,
        })
    }
}

impl ReplayedMove {
    /// Says whether the move was made at once without need. A move that smart pruning ends at once is one, too: that is what an
    /// estimate of nps or of the nodes to come does that is too low.
    pub fn is_instamove(&self) -> bool {
        use StopReason::{OnlyMove, OthersLose, ProvenResult, ProvenWin};
        let was_proven = matches!(self.reason, OnlyMove | ProvenWin | OthersLose | ProvenResult);
        let even_share_ms = self.clock_ms / EVEN_SHARE_MOVES;
        self.had_choice && !was_proven && self.used_ms < INSTANT_SHARE * even_share_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(nodes: u64, used_ms: f64, reason: StopReason) -> ReplayedMove {
        ReplayedMove {
            clock_ms: 40_000.0,
            budget_ms: used_ms,
            used_ms,
            nodes,
            new_nodes: nodes,
            reason,
            had_choice: true,
            moves_left: Some(10.0),
            game_ply: 40,
            pieces: 12,
            really_left: 7,
        }
    }

    #[test]
    fn by_hand() {
        let moves = vec![
            moved(100, 990.0, StopReason::Budget),
            moved(300, 10.0, StopReason::Budget),
            ReplayedMove { moves_left: None, budget_ms: 260.0, ..moved(200, 10.0, StopReason::SmartPruning) },
            ReplayedMove { moves_left: None, ..moved(200, 10.0, StopReason::OthersLose) },
            ReplayedMove { moves_left: None, ..moved(200, 20.0, StopReason::SmartPruning) },
        ];
        let clock_source = ClockSource::Running;
        let game = ReplayedGame { moves, given_ms: 50_000.0, final_clock_ms: 10_000.0, clock_source };
        // A regression: with recorded clocks these were figures of the recorded player.
        let recorded = ReplayedGame { clock_source: ClockSource::Recorded, ..game.clone() }.summary();
        assert!((recorded.time_used - 1_040.0 / 50_000.0).abs() < 1e-12);
        assert_eq!((recorded.min_clock_ms, recorded.lost), (None, false));
        let summary = ReplaySummary::of(&[game]);
        assert!((summary.time_used.value().unwrap() - 0.8).abs() < 1e-12);
        // A regression: whatever smart pruning ended counted as proven.
        assert_eq!(
            (summary.losses, summary.instamoves),
            (0, 2),
            "10 ms of 1,000 is an insta-move, 20 are none"
        );
        assert_eq!(summary.min_clock_ms, Some(39_010.0));
        // Mean 200, variance (100² + 100² + 0)/5 = 4,000, deviation 63.25
        assert!((summary.nodes_cv.value().unwrap() - 0.316_228).abs() < 1e-6);
        // Two of five moves; 250 ms for 1,040.
        assert!((summary.pruned.value().unwrap() - 0.4).abs() < 1e-12);
        assert!((summary.pruning_saved.value().unwrap() - 250.0 / 1_040.0).abs() < 1e-12);
        assert_eq!(
            summary.moves_left.map(|mean| mean.value()),
            [None, None, Some(3.0)],
            "two estimates of 10 for 7"
        );
    }

    #[test]
    fn sums_do_not_depend_on_the_order() {
        let values: Vec<f64> = (0..1000).map(|i| (f64::from(i) * 0.37).sin() * 10f64.powi(i % 9)).collect();
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
}
