//! The study of matches, computed from their rows: the result of each, and means over its games by move number. The page that shows it,
//! and its tables.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::rows::{MatchGameRow, MatchMoveRow};
use super::statistics::{Elo, ResultTally, Sprt};
use super::summary::{MatchCounts, MatchSummary, Ranking};
use crate::lab::RowError;
use crate::lab::rows::{MergedGames, files_of};
use crate::report::{Align, Bar, BarPlot, Page, Plot, Table};

/// Fewest games that a point of the plot of the course of a match rests on, and at most half of the match: the first points swing
/// wildly, but a short match shall have a course too.
const FIRST_GAMES: u64 = 20;
/// Most points of such a plot.
const POINTS: usize = 200;

/// The findings of one match.
#[derive(Clone, Debug)]
pub struct MatchStudy {
    /// The result.
    pub(crate) summary: MatchSummary,
    /// The rows of its games, in the order of their numbers.
    pub(crate) games: Vec<MatchGameRow>,
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

/// A plot of a mean over the games by move number.
struct MatchCurve {
    title: &'static str,
    label: &'static str,
    quantity: fn(&MatchCurvePoint) -> CountedSum,
}

const CURVES: [MatchCurve; 4] = [
    MatchCurve {
        title: "Time used for a move",
        label: "ms, mean",
        quantity: |point| CountedSum { sum: point.used_ms, count: point.moves },
    },
    MatchCurve {
        title: "Clock after a move",
        label: "ms, mean",
        quantity: |point| CountedSum { sum: point.clock_ms, count: point.moves },
    },
    MatchCurve {
        title: "Nodes in the tree at the end of a move",
        label: "nodes, mean",
        quantity: |point| CountedSum { sum: point.nodes, count: point.moves },
    },
    MatchCurve {
        title: "Error of the estimated moves left",
        label: "full moves, mean absolute",
        quantity: |point| CountedSum { sum: point.error_moves, count: point.estimates },
    },
];

/// Returns the table of results, with a row for each match.
pub(crate) fn table(matches: &[MatchSummary]) -> Table {
    use Align::{Left, Right};
    let mut columns = vec![
        ("A", Left),
        ("B", Left),
        ("games", Right),
        ("won", Right),
        ("drawn", Right),
        ("lost", Right),
        ("Elo", Right),
        ("normalized Elo", Right),
        ("LOS, %", Right),
        ("lost on time, A / B", Right),
    ];
    if matches.iter().any(|summary| summary.sprt_cell().is_some()) {
        columns.push(("SPRT", Left));
    }
    let mut table = Table::new("Results of A; errors are those of 95 %", &columns);
    for summary in matches {
        table.row(summary.cells().into_iter().chain(summary.sprt_cell()));
    }
    table
}

/// Returns the table of what smart pruning did to each player's moves; `None` where no clocks ran.
pub(crate) fn pruning_table(matches: &[MatchSummary]) -> Option<Table> {
    use Align::{Left, Right};
    let columns = [
        ("player", Left),
        ("against", Left),
        ("ended by smart pruning, % of the moves", Right),
        ("time saved, % of the time used", Right),
    ];
    let mut table = Table::new("Smart pruning", &columns);
    let sides: Vec<_> = matches.iter().filter_map(MatchSummary::pruning).collect();
    for [a, b] in &sides {
        for ((player, pruned, saved), (against, ..)) in [(a, b), (b, a)] {
            let percent = |share: &f64| format!("{:.1}", 100.0 * share);
            table.row([(*player).to_owned(), (*against).to_owned(), percent(pruned), percent(saved)]);
        }
    }
    (!sides.is_empty()).then_some(table)
}

/// Returns the page: results and ranking, then for each match its pairs, its course and the curves of its clocks.
pub fn page(studies: &[MatchStudy], ranking: Option<&Ranking>) -> Page {
    let summaries: Vec<_> = studies.iter().map(|study| study.summary.clone()).collect();
    let mut page = Page::new("Matches").paragraph(
        "Elo from pairs: two games from one opening with colours swapped count as one result. Normalized Elo measures the \
         difference in standard deviations of a game; LOS is how likely A is the stronger one.",
    );
    page = page.table(&table(&summaries));
    if let Some(ranking) = ranking {
        page = page.table(&ranking.table());
    }
    if let Some(table) = pruning_table(&summaries) {
        page = page.table(&table);
    }
    for study in studies {
        let [a, b] = study.summary.names();
        page = page.heading(&format!("{a} against {b}"));
        page = page.figure(&pairs(&study.games), "How the pairs ended.");
        page = page.figure(&course(&study.games), "Elo of A by the number of games, with its error of 95 %.");
        if study.curves.is_empty() {
            continue;
        }
        for MatchCurve { title, label, quantity } in CURVES {
            let mut plot = Plot::new(title, "move of the engine", label).y_from(0.0);
            for (side, name) in [a, b].into_iter().enumerate() {
                let line = study.curves.line(side, quantity);
                plot = if line.is_empty() { plot } else { plot.line(name, &line) };
            }
            page = page.figure(&plot.to_svg(), "");
        }
    }
    page
}

fn pairs(games: &[MatchGameRow]) -> String {
    let mut tally = ResultTally::default();
    games.iter().for_each(|row| tally.add(row.pair, row.half_points.min(2) as u8));
    let bars = tally.pairs.map(|count| Bar { value: count as f64, error: None });
    BarPlot::new("Pairs by points of A", "pairs", &["0", "½", "1", "1½", "2"]).series("", &bars).to_svg()
}

fn course(games: &[MatchGameRow]) -> String {
    let (line, band) = course_points(games);
    Plot::new("Course of the match", "games", "Elo of A").band("", &band).line("", &line).to_svg()
}

/// A line, and the band around it.
type LineAndBand = (Vec<(f64, f64)>, Vec<(f64, f64, f64)>);

/// Returns the Elo of A by the number of games, and its interval.
fn course_points(games: &[MatchGameRow]) -> LineAndBand {
    let mut tally = ResultTally::default();
    let (mut line, mut band) = (Vec::new(), Vec::new());
    let step = games.len().div_ceil(POINTS).max(1);
    for (index, row) in games.iter().enumerate() {
        tally.add(row.pair, row.half_points.min(2) as u8);
        let is_shown = index % step == step - 1 || index + 1 == games.len();
        let Some(elo) = Elo::of(&tally).filter(|elo| is_shown && elo.elo_error.is_finite()) else { continue };
        if tally.games() >= FIRST_GAMES.min(games.len() as u64 / 2) {
            let games = tally.games() as f64;
            line.push((games, elo.elo));
            band.push((games, elo.elo - elo.elo_error, elo.elo + elo.elo_error));
        }
    }
    (line, band)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A regression: a match of 20 games had a course of one point, which no line shows.
    #[test]
    fn a_short_match_has_a_course_too() {
        let points = |count: u64| {
            let row = |game: u64| {
                let half_points = [2, 1, 0, 2, 1, 1][game as usize % 6];
                let row = serde_json::json!({
                    "match_id": "id", "game": game, "pair": game / 2, "a": "A", "b": "B", "a_is_white": true,
                    "half_points": half_points, "termination": "checkmate", "opening": "", "a_moves": 1, "b_moves": 1,
                    "a_nodes": 1, "b_nodes": 1, "a_clock_ms": null, "b_clock_ms": null,
                });
                serde_json::from_value(row).unwrap()
            };
            let (line, band) = course_points(&(0..count).map(row).collect::<Vec<_>>());
            assert_eq!(line.len(), band.len());
            line.iter().map(|(games, _)| *games as u64).collect::<Vec<_>>()
        };
        for (count, first) in [(8, 4), (20, 10), (21, 10), (40, 20), (100, 20)] {
            let found = points(count);
            assert_eq!(found, (first..=count).collect::<Vec<_>>(), "{count} games");
        }
    }
}
