//! Adds rows up to what the laboratory shows. Rows may come in any order and from any number of machines.

use std::collections::BTreeMap;

use super::rows::{ReplayGameRow, ReplayMoveRow};
use crate::lab::replay::{ExactMean, ReplaySummary};

/// Move numbers that the mean curves cover.
const CURVE_MOVES: usize = 120;
/// Games whose own curves are shown: those with the smallest numbers.
const SAMPLE_GAMES: usize = 3;
/// A mean over fewer games is noise.
const FEWEST_GAMES: u64 = 5;

/// Means over the games at one move number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReplayCurvePoint {
    pub clock_ms: ExactMean,
    pub used_ms: ExactMean,
    pub nodes: ExactMean,
    /// Distance between estimated and real moves left.
    pub error_moves: ExactMean,
}

/// One manager at one time control.
#[derive(Clone, Debug)]
pub(super) struct ManagerFigures {
    pub manager: String,
    pub control: String,
    pub summary: ReplaySummary,
    curve: Vec<ReplayCurvePoint>,
}

impl ManagerFigures {
    /// A mean quantity by move number.
    pub(super) fn curve(&self, quantity: impl Fn(&ReplayCurvePoint) -> ExactMean) -> Vec<(f64, f64)> {
        let points = self.curve.iter().map(quantity).zip(1u32..);
        let known = points.filter(|(mean, _)| mean.count() >= FEWEST_GAMES);
        known.filter_map(|(mean, number)| Some((f64::from(number), mean.value()?))).collect()
    }
}

/// Everything that is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplayStudy {
    /// In the order in which they first came.
    pub cells: Vec<ManagerFigures>,
    /// All moves of the sample games, by the game's number.
    pub samples: BTreeMap<u64, Vec<ReplayMoveRow>>,
}

impl ReplayStudy {
    pub(super) fn add_game(&mut self, row: &ReplayGameRow) {
        self.cell(&row.manager, &row.control).summary.add(&row.summary());
    }

    pub(super) fn add_move(&mut self, row: ReplayMoveRow) {
        // Rows may come from a file that anybody wrote.
        let index = (row.number as usize).saturating_sub(1);
        if let Some(point) = self.cell(&row.manager, &row.control).curve.get_mut(index) {
            point.clock_ms.add(row.clock_ms, 1);
            point.used_ms.add(row.used_ms, 1);
            point.nodes.add(row.nodes as f64, 1);
            if let Some(estimate) = row.moves_left {
                point.error_moves.add((estimate - f64::from(row.really_left)).abs(), 1);
            }
        }
        self.samples.entry(row.game).or_default().push(row);
        if self.samples.len() > SAMPLE_GAMES {
            self.samples.pop_last();
        }
    }

    /// The time controls in their order.
    pub(super) fn controls(&self) -> Vec<&str> {
        let mut controls: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !controls.contains(&cell.control.as_str()) {
                controls.push(&cell.control);
            }
        }
        controls
    }

    /// The cells of one time control.
    pub(super) fn at<'a>(&'a self, control: &'a str) -> impl Iterator<Item = &'a ManagerFigures> {
        self.cells.iter().filter(move |cell| cell.control == control)
    }

    fn cell(&mut self, manager: &str, control: &str) -> &mut ManagerFigures {
        let known = self.cells.iter().position(|cell| cell.manager == manager && cell.control == control);
        let place = known.unwrap_or_else(|| {
            self.cells.push(ManagerFigures {
                manager: manager.to_owned(),
                control: control.to_owned(),
                summary: ReplaySummary::default(),
                curve: vec![ReplayCurvePoint::default(); CURVE_MOVES],
            });
            self.cells.len() - 1
        });
        &mut self.cells[place]
    }
}
