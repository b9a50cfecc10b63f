//! The presentation of matches: the table of results, and the page with plots.

use super::ranking::Ranking;
use super::rows::MatchGameRow;
use super::statistics::{Elo, ResultTally};
use super::study::{CountedSum, MatchCurvePoint, MatchStudy};
use super::summary::MatchSummary;
use crate::report::{Align, Bar, BarPlot, Page, Plot, Table};

/// Fewest games that a point of the plot of the course of a match rests on, and at most half of the match: the first points swing
/// wildly, but a short match shall have a course too.
const FIRST_GAMES: u64 = 20;
/// Most points of such a plot.
const POINTS: usize = 200;

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
pub fn table(matches: &[MatchSummary]) -> Table {
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
pub fn pruning_table(matches: &[MatchSummary]) -> Option<Table> {
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
