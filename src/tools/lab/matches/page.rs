//! What people get to see of matches: the table of results and the page with plots.

use super::ranking::Ranking;
use super::rows::{MatchGameRow, MatchMoveRow};
use super::summary::MatchSummary;
use crate::lab::matches::statistics::{Elo, ResultTally};
use crate::report::{Align, Bar, BarPlot, Page, Plot, Table};

/// Games that went into a plot of the course of the match, at least.
const FIRST_GAMES: u64 = 20;
/// Points of such a plot, at most.
const POINTS: usize = 200;

/// Means over the games, by the number of the mover's move, for A and B.
#[derive(Clone, Debug, Default)]
pub(super) struct Curves {
    points: [Vec<MatchCurvePoint>; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct MatchCurvePoint {
    moves: u64,
    used_ms: f64,
    clock_ms: f64,
    nodes: f64,
    /// Of moves for which the manager has reckoned the moves left.
    estimates: u64,
    error_moves: f64,
}

impl Curves {
    pub(super) fn add(&mut self, row: &MatchMoveRow) {
        let points = &mut self.points[usize::from(!row.by_a)];
        let index = row.number.saturating_sub(1) as usize;
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

    fn is_empty(&self) -> bool {
        self.points.iter().all(Vec::is_empty)
    }

    /// A quantity by move, while a tenth of the games goes on.
    fn line(&self, side: usize, quantity: fn(&MatchCurvePoint) -> (f64, u64)) -> Vec<(f64, f64)> {
        let points = &self.points[side];
        let enough = points.first().map_or(0, |first| first.moves / 10).max(1);
        let kept = points.iter().enumerate().take_while(|(_, point)| point.moves >= enough);
        kept.filter_map(|(index, point)| {
            let (sum, count) = quantity(point);
            (count > 0).then(|| (index as f64 + 1.0, sum / count as f64))
        })
        .collect()
    }
}

/// Title, label and quantity of a curve.
type MatchCurve = (&'static str, &'static str, fn(&MatchCurvePoint) -> (f64, u64));

const CURVES: [MatchCurve; 4] = [
    ("Time used for a move", "ms, mean", |point| (point.used_ms, point.moves)),
    ("Clock after a move", "ms, mean", |point| (point.clock_ms, point.moves)),
    ("Nodes in the tree at the end of a move", "nodes, mean", |point| (point.nodes, point.moves)),
    ("Error of the estimated moves left", "full moves, mean absolute", |point| {
        (point.error_moves, point.estimates)
    }),
];

/// A match on the page.
pub(super) struct MatchSection {
    pub(super) summary: MatchSummary,
    pub(super) games: Vec<MatchGameRow>,
    pub(super) curves: Curves,
}

/// A line for each match.
pub(super) fn table(matches: &[MatchSummary]) -> Table {
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

/// The page: results and ranking, then for each match its pairs, its course and the curves of its clocks.
pub(super) fn page(sections: &[MatchSection], ranking: Option<&Ranking>) -> Page {
    let summaries: Vec<_> = sections.iter().map(|section| section.summary.clone()).collect();
    let mut page = Page::new("Matches").paragraph(
        "Elo from pairs: two games from one opening with colours swapped count as one result. Normalized Elo measures the \
         difference in standard deviations of a game; LOS is how likely A is the stronger one.",
    );
    page = page.table(&table(&summaries));
    if let Some(ranking) = ranking {
        page = page.table(&ranking.table());
    }
    for section in sections {
        let [a, b] = section.summary.names();
        page = page.heading(&format!("{a} against {b}"));
        page = page.figure(&pairs(&section.games), "How the pairs ended.");
        page = page.figure(&course(&section.games), "Elo of A after so many games, with its error of 95 %.");
        if section.curves.is_empty() {
            continue;
        }
        for (title, label, quantity) in CURVES {
            let mut plot = Plot::new(title, "move of the engine", label).y_from(0.0);
            for (side, name) in [a, b].into_iter().enumerate() {
                let line = section.curves.line(side, quantity);
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
    let mut tally = ResultTally::default();
    let (mut line, mut band) = (Vec::new(), Vec::new());
    let step = games.len().div_ceil(POINTS).max(1);
    for (index, row) in games.iter().enumerate() {
        tally.add(row.pair, row.half_points.min(2) as u8);
        let is_shown = index % step == step - 1 || index + 1 == games.len();
        let Some(elo) = Elo::of(&tally).filter(|elo| is_shown && elo.elo_error.is_finite()) else { continue };
        if tally.games() >= FIRST_GAMES.min(games.len() as u64) {
            let games = tally.games() as f64;
            line.push((games, elo.elo));
            band.push((games, elo.elo - elo.elo_error, elo.elo + elo.elo_error));
        }
    }
    Plot::new("Course of the match", "games", "Elo of A").band("", &band).line("", &line).to_svg()
}
