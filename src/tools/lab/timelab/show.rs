//! What people and scripts get to see of the laboratory: tables, JSON, the page with plots.

use std::fmt;

use serde::Serialize;

use super::lab::{ManagerFigures, ReplayCurvePoint, ReplayStudy};
use super::rows::ReplayMoveRow;
use crate::lab::replay::ExactMean;
use crate::report::{Align, Bar, BarPlot, Page, Plot, Table};

/// The answer as JSON; its text form is a table for each time control.
#[derive(Serialize)]
pub(super) struct ReplayReport {
    managers: Vec<ManagerReport>,
    #[serde(skip)]
    tables: Vec<Table>,
}

#[derive(Serialize)]
struct ManagerReport {
    name: String,
    control: String,
    games: u64,
    time_used: Option<f64>,
    min_clock_ms: Option<f64>,
    losses: u64,
    instamoves: u64,
    nodes_cv: Option<f64>,
    /// Mean absolute error of the estimates, full moves.
    moves_left_mae: PhaseReport,
}

#[derive(Serialize)]
struct PhaseReport {
    opening: Option<f64>,
    middlegame: Option<f64>,
    endgame: Option<f64>,
}

impl ReplayReport {
    pub(super) fn new(lab: &ReplayStudy) -> ReplayReport {
        let controls = lab.controls();
        ReplayReport {
            managers: lab.cells.iter().map(cell_answer).collect(),
            tables: controls.iter().map(|control| table(lab, control)).collect(),
        }
    }
}

impl fmt::Display for ReplayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tables.iter().try_for_each(|table| writeln!(f, "{table}"))
    }
}

fn cell_answer(cell: &ManagerFigures) -> ManagerReport {
    let summary = &cell.summary;
    let [opening, middlegame, endgame] = summary.moves_left.map(|mean| mean.value());
    ManagerReport {
        name: cell.manager.clone(),
        control: cell.control.clone(),
        games: summary.games,
        time_used: summary.time_used.value(),
        min_clock_ms: summary.min_clock_ms,
        losses: summary.losses,
        instamoves: summary.instamoves,
        nodes_cv: summary.nodes_cv.value(),
        moves_left_mae: PhaseReport { opening, middlegame, endgame },
    }
}

fn table(lab: &ReplayStudy, control: &str) -> Table {
    use Align::{Left, Right};
    let games = lab.at(control).map(|cell| cell.summary.games).max().unwrap_or(0);
    let mut table = Table::new(
        format!("{control}, {games} games; moves-left errors are means of absolute distances in full moves"),
        &[
            ("manager", Left),
            ("clock used, %", Right),
            ("smallest clock, ms", Right),
            ("losses", Right),
            ("insta-moves", Right),
            ("variation of nodes", Right),
            ("ML error opening", Right),
            ("middlegame", Right),
            ("endgame", Right),
        ],
    );
    for ManagerFigures { manager, summary, .. } in lab.at(control) {
        let number = |value: Option<f64>, digits: usize| {
            value.map_or("–".into(), |value| format!("{value:.digits$}"))
        };
        let mut cells = vec![
            manager.clone(),
            number(summary.time_used.value().map(|share| 100.0 * share), 1),
            number(summary.min_clock_ms, 0),
            summary.losses.to_string(),
            summary.instamoves.to_string(),
            number(summary.nodes_cv.value(), 3),
        ];
        cells.extend(summary.moves_left.map(|mean| number(mean.value(), 1)));
        table.row(cells);
    }
    table
}

/// The page: for each time control the table and the mean curves, then the sample games.
pub(super) fn page(lab: &ReplayStudy) -> Page {
    let mut page = Page::new("Time managers over recorded games").paragraph(
        "Each manager made the moves of one side in every game, in virtual time. Variation of nodes is the standard deviation \
         of the nodes in the tree at the end of the moves, divided by their mean, averaged over the games: a manager that \
         plays all moves with equal care has a small one. Curves are means over the games whose moves were kept.",
    );
    for control in lab.controls() {
        page = page.heading(control).table(&table(lab, control));
        page = page.figure(&variation(lab, control), "Less is steadier.");
        for (title, y, quantity) in CURVES {
            let plot = lab.at(control).fold(Plot::new(title, "move", y).y_from(0.0), |plot, cell| {
                let points = cell.curve(quantity);
                if points.is_empty() { plot } else { plot.line(&cell.manager, &points) }
            });
            page = page.figure(&plot.to_svg(), "");
        }
    }
    for (game, rows) in &lab.samples {
        page = sample(page, *game, rows);
    }
    page
}

/// Title, label and quantity of a mean curve.
type ReplayCurve = (&'static str, &'static str, fn(&ReplayCurvePoint) -> ExactMean);

const CURVES: [ReplayCurve; 4] = [
    ("Nodes in the tree at the end of a move", "nodes, mean", |point| point.nodes),
    ("Clock before a move", "ms, mean", |point| point.clock_ms),
    ("Time used for a move", "ms, mean", |point| point.used_ms),
    ("Error of the estimated moves left", "full moves, mean absolute", |point| point.error_moves),
];

/// Coefficient of variation of the nodes, a bar for each manager.
pub(super) fn variation(lab: &ReplayStudy, control: &str) -> String {
    let names: Vec<&str> = lab.at(control).map(|cell| cell.manager.as_str()).collect();
    let bar =
        |cell: &ManagerFigures| Bar { value: cell.summary.nodes_cv.value().unwrap_or(f64::NAN), error: None };
    let bars: Vec<Bar> = lab.at(control).map(bar).collect();
    BarPlot::new(format!("Variation of nodes at {control}"), "standard deviation ÷ mean", &names)
        .series("", &bars)
        .to_svg()
}

/// A quantity of a single move, `None` where it is not known.
type ReplayMoveCurve = (&'static str, &'static str, fn(&ReplayMoveRow) -> Option<f64>);

const MOVE_CURVES: [ReplayMoveCurve; 5] = [
    ("Budget", "ms", |row| Some(row.budget_ms)),
    ("Time used", "ms", |row| Some(row.used_ms)),
    ("Clock before the move", "ms", |row| Some(row.clock_ms)),
    ("Nodes in the tree at the move's end", "nodes", |row| Some(row.nodes as f64)),
    ("Moves left, estimated", "full moves", |row| row.moves_left),
];

fn sample(mut page: Page, game: u64, rows: &[ReplayMoveRow]) -> Page {
    let Some(control) = rows.first().map(|row| row.control.as_str()) else { return page };
    page = page.heading(&format!("Game {game} at {control}"));
    let rows = || rows.iter().filter(|row| row.control == control);
    let mut managers: Vec<&str> = Vec::new();
    for row in rows() {
        if !managers.contains(&row.manager.as_str()) {
            managers.push(&row.manager);
        }
    }
    for (title, y, quantity) in MOVE_CURVES {
        let points = |manager: &str| -> Vec<(f64, f64)> {
            let own = rows().filter(|row| row.manager == manager);
            own.filter_map(|row| Some((f64::from(row.number), quantity(row)?))).collect()
        };
        let mut plot = Plot::new(title, "move", y).y_from(0.0);
        for manager in &managers {
            let points = points(manager);
            plot = if points.is_empty() { plot } else { plot.line(manager, &points) };
        }
        if title.starts_with("Moves left") {
            let truth: Vec<_> = rows()
                .filter(|row| Some(&row.manager.as_str()) == managers.first())
                .map(|row| (f64::from(row.number), f64::from(row.really_left)))
                .collect();
            plot = plot.line("really left", &truth);
        }
        page = page.figure(&plot.to_svg(), "");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::super::rows::ReplayKey;
    use super::*;
    use crate::lab::replay::{ReplayedGame, ReplayedMove};
    use crate::time::StopReason;

    /// Ten games of twenty moves, as rows.
    fn lab(order: impl Iterator<Item = u64>) -> ReplayStudy {
        let mut lab = ReplayStudy::default();
        for game in order {
            let moves: Vec<_> = (0..20u32).map(|i| played(game, i)).collect();
            let replayed = ReplayedGame { moves, given_ms: 60_000.0, final_clock_ms: 1_000.0 / game as f64 };
            let cell = ReplayKey { game, white: true, manager: "smooth(mle-mlh)", control: "60+0" };
            lab.add_game(&super::super::rows::ReplayGameRow::new(cell, &replayed));
            for (played, number) in replayed.moves.iter().zip(1..) {
                lab.add_move(ReplayMoveRow::new(cell, number, played));
            }
        }
        lab
    }

    fn played(game: u64, i: u32) -> ReplayedMove {
        ReplayedMove {
            clock_ms: 60_000.0 - f64::from(i) * 1_000.0,
            budget_ms: 1_500.0,
            used_ms: 1_000.0 / 3.0,
            nodes: 1_000 + game * u64::from(i),
            new_nodes: 500,
            reason: StopReason::Budget,
            had_choice: true,
            moves_left: game.is_multiple_of(2).then_some(30.0),
            game_ply: 2 * i,
            pieces: 32 - i,
            really_left: 20 - i,
        }
    }

    #[test]
    fn rows_in_any_order_give_the_same_answer_and_page() {
        let (forth, back) = (lab(1..=10), lab((1..=10).rev()));
        let json = |lab: &ReplayStudy| serde_json::to_value(ReplayReport::new(lab)).unwrap();
        assert_eq!(json(&forth), json(&back));
        assert_eq!(page(&forth).to_html(), page(&back).to_html());
        assert_eq!(json(&forth)["managers"][0]["games"], 10);
        assert_eq!(json(&forth)["managers"][0]["name"], "smooth(mle-mlh)");
    }

    #[test]
    fn the_page_has_the_mean_curves_and_three_games() {
        let html = page(&lab(1..=10)).to_html();
        for text in
            ["Variation of nodes at 60+0", "Clock before a move", "Game 1 at", "Game 3 at", "really left"]
        {
            assert!(html.contains(text), "{text}");
        }
        assert!(!html.contains("Game 4 at"));
    }

    #[test]
    fn the_table_names_every_column() {
        let text = ReplayReport::new(&lab(1..=2)).to_string();
        assert!(text.contains("60+0, 2 games") && text.contains("smooth(mle-mlh)"), "{text}");
        assert!(text.contains("insta-moves"), "{text}");
    }
}
