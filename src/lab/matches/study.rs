//! Computes the findings from the rows of matches: the result of each, and means over its games by move number.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::ranking::Ranking;
use super::rows::{MatchGameRow, MatchMoveRow};
use super::statistics::Sprt;
use super::summary::{MatchCounts, MatchSummary};
use crate::lab::rows::{MergedGames, RowError, files_of};

/// The findings of one match.
#[derive(Clone, Debug)]
pub struct MatchStudy {
    /// The result.
    pub summary: MatchSummary,
    /// The rows of its games, in the order of their numbers.
    pub games: Vec<MatchGameRow>,
    /// Means by move number.
    pub(super) curves: MatchCurves,
}

impl MatchStudy {
    /// Reads files of [`MatchGameRow`]s and [`MatchMoveRow`]s, in any order, and computes the findings of each match in them, with
    /// the state of a sequential test if one is given.
    ///
    /// # Errors
    /// [`RowError`] if a file cannot be read or a game is in two of them.
    pub fn read(files: &[PathBuf], sprt: Option<&Sprt>) -> Result<Vec<MatchStudy>, RowError> {
        let mut matches = BTreeMap::<String, MatchRows>::new();
        for game in MergedGames::<MatchGameRow>::open(&files_of::<MatchGameRow>(files)?)? {
            for row in game? {
                matches.entry(row.match_id.clone()).or_default().games.push(row);
            }
        }
        for game in MergedGames::<MatchMoveRow>::open(&files_of::<MatchMoveRow>(files)?)? {
            for row in game? {
                matches.entry(row.match_id.clone()).or_default().add_move(&row);
            }
        }
        Ok(matches.into_values().filter_map(|rows| MatchStudy::new(rows, sprt)).collect())
    }

    /// Computes the findings of one match. Returns `None` if it has no games.
    fn new(rows: MatchRows, sprt: Option<&Sprt>) -> Option<MatchStudy> {
        let MatchRows { games, mut counts, curves } = rows;
        let first = games.first()?;
        games.iter().for_each(|row| counts.add(row));
        let summary = MatchSummary::new([&first.a, &first.b], &counts, sprt, None);
        Some(MatchStudy { summary, games, curves })
    }

    /// Ranks the players of several matches, if there are enough of them and all can be compared.
    pub fn ranking(studies: &[MatchStudy]) -> Option<Ranking> {
        Ranking::of(studies.iter().map(|study| &study.games[..]))
    }
}

/// The rows of one match; those of moves are added up at once.
#[derive(Default)]
struct MatchRows {
    games: Vec<MatchGameRow>,
    /// Of the moves alone, until the games are added.
    counts: MatchCounts,
    curves: MatchCurves,
}

impl MatchRows {
    fn add_move(&mut self, row: &MatchMoveRow) {
        self.counts.add_move(row);
        self.curves.add(row);
    }
}

/// Moves of a side beyond which there are no means: no game is so long, but rows may come from a file that anybody wrote.
const MOST_MOVES: usize = 10_000;

/// Sums over the games by the number of the mover's move, for A and B.
#[derive(Clone, Debug, Default)]
pub(super) struct MatchCurves {
    points: [Vec<MatchCurvePoint>; 2],
}

/// Sums over the games at one move number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MatchCurvePoint {
    /// Moves with this number.
    pub(super) moves: u64,
    /// Time used, ms.
    pub(super) used_ms: f64,
    /// Clock after the move, ms.
    pub(super) clock_ms: f64,
    /// Nodes in the tree.
    pub(super) nodes: f64,
    /// Moves for which the time manager has estimated the moves left.
    pub(super) estimates: u64,
    /// The absolute errors of those estimates, full moves.
    pub(super) error_moves: f64,
}

/// A sum and how many values it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountedSum {
    pub(super) sum: f64,
    pub(super) count: u64,
}

impl MatchCurves {
    fn add(&mut self, row: &MatchMoveRow) {
        let points = &mut self.points[usize::from(!row.by_a)];
        let index = row.number.saturating_sub(1) as usize;
        if index >= MOST_MOVES {
            return;
        }
        if points.len() <= index {
            points.resize(index + 1, MatchCurvePoint::default());
        }
        let point = &mut points[index];
        point.moves += 1;
        point.used_ms += row.used_ms.unwrap_or(0.0);
        point.clock_ms += row.clock_ms.unwrap_or(0.0);
        point.nodes += row.nodes as f64;
        if let Some(estimate) = row.moves_left {
            point.estimates += 1;
            point.error_moves += (estimate - f64::from(row.really_left)).abs();
        }
    }

    /// Says whether there are no moves.
    pub(super) fn is_empty(&self) -> bool {
        self.points.iter().all(Vec::is_empty)
    }

    /// Returns the mean of a quantity by move number for A (0) or B (1), as far as a tenth of the games goes on.
    pub(super) fn line(&self, side: usize, quantity: fn(&MatchCurvePoint) -> CountedSum) -> Vec<(f64, f64)> {
        let points = &self.points[side];
        let enough = points.first().map_or(0, |first| first.moves / 10).max(1);
        let kept = points.iter().enumerate().take_while(|(_, point)| point.moves >= enough);
        kept.filter_map(|(index, point)| {
            let CountedSum { sum, count } = quantity(point);
            (count > 0).then(|| (index as f64 + 1.0, sum / count as f64))
        })
        .collect()
    }
}
