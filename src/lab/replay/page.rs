//! The findings of replays as a page with plots.

use super::ExactMean;
use super::figures::table;
use super::rows::ReplayMoveRow;
use super::study::{ManagerFigures, ReplayCurvePoint, ReplayStudy};
use crate::report::{Bar, BarPlot, Page, Plot};

/// Returns the page: for each time control the table and the mean curves, then the sample games.
pub fn page(study: &ReplayStudy) -> Page {
    let mut page = Page::new("Time managers over recorded games").paragraph(
        "Each manager made the moves of one side in every game, in virtual time. Variation of nodes is the standard deviation \
         of the nodes in the tree at the end of the moves, divided by their mean, averaged over the games: a manager that \
         plays all moves with equal care has a small one. Curves are means over the games whose moves were kept.",
    );
    for control in study.controls() {
        page = page.heading(control).table(&table(study, control));
        page = page.figure(&variation(study, control), "Less is steadier.");
        for ReplayCurve { title, label, quantity } in CURVES {
            let plot =
                study.at(control).fold(Plot::new(title, "move", label).y_from(0.0), |plot, figures| {
                    let points = figures.curve(quantity);
                    if points.is_empty() { plot } else { plot.line(&figures.manager, &points) }
                });
            page = page.figure(&plot.to_svg(), "");
        }
    }
    for (game, rows) in &study.samples {
        page = sample(page, *game, rows);
    }
    page
}

/// A plot of a mean over the games by move number.
struct ReplayCurve {
    title: &'static str,
    label: &'static str,
    quantity: fn(&ReplayCurvePoint) -> ExactMean,
}

const CURVES: [ReplayCurve; 4] = [
    ReplayCurve {
        title: "Nodes in the tree at the end of a move",
        label: "nodes, mean",
        quantity: |point| point.nodes,
    },
    ReplayCurve { title: "Clock before a move", label: "ms, mean", quantity: |point| point.clock_ms },
    ReplayCurve { title: "Time used for a move", label: "ms, mean", quantity: |point| point.used_ms },
    ReplayCurve {
        title: "Error of the estimated moves left",
        label: "full moves, mean absolute",
        quantity: |point| point.error_moves,
    },
];

/// Returns the plot of the coefficient of variation of the nodes, a bar for each manager, as SVG.
fn variation(study: &ReplayStudy, control: &str) -> String {
    let names: Vec<&str> = study.at(control).map(|figures| figures.manager.as_str()).collect();
    let bar = |figures: &ManagerFigures| Bar {
        value: figures.summary.nodes_cv.value().unwrap_or(f64::NAN),
        error: None,
    };
    let bars: Vec<Bar> = study.at(control).map(bar).collect();
    BarPlot::new(format!("Variation of nodes at {control}"), "standard deviation ÷ mean", &names)
        .series("", &bars)
        .to_svg()
}

/// A plot of a quantity of single moves, which is `None` where it is not known.
struct ReplayMoveCurve {
    title: &'static str,
    label: &'static str,
    quantity: fn(&ReplayMoveRow) -> Option<f64>,
}

const MOVE_CURVES: [ReplayMoveCurve; 5] = [
    ReplayMoveCurve { title: "Budget", label: "ms", quantity: |row| Some(row.budget_ms) },
    ReplayMoveCurve { title: "Time used", label: "ms", quantity: |row| Some(row.used_ms) },
    ReplayMoveCurve { title: "Clock before the move", label: "ms", quantity: |row| Some(row.clock_ms) },
    ReplayMoveCurve {
        title: "Nodes in the tree at the move's end",
        label: "nodes",
        quantity: |row| Some(row.nodes as f64),
    },
    ReplayMoveCurve { title: "Moves left, estimated", label: "full moves", quantity: |row| row.moves_left },
];

/// Adds the plots of one game's moves under every manager.
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
    for ReplayMoveCurve { title, label, quantity } in MOVE_CURVES {
        let points = |manager: &str| -> Vec<(f64, f64)> {
            let own = rows().filter(|row| row.manager == manager);
            own.filter_map(|row| Some((f64::from(row.number), quantity(row)?))).collect()
        };
        let mut plot = Plot::new(title, "move", label).y_from(0.0);
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
    use super::super::figures::ReplayReport;
    use super::super::rows::{ReplayGameRow, ReplayKey};
    use super::super::{ReplayedGame, ReplayedMove};
    use super::*;
    use crate::time::StopReason;

    /// Ten games of twenty moves, as rows.
    fn lab(order: impl Iterator<Item = u64>) -> ReplayStudy {
        let mut lab = ReplayStudy::default();
        for game in order {
            let moves: Vec<_> = (0..20u32).map(|i| played(game, i)).collect();
            let replayed = ReplayedGame {
                moves,
                given_ms: 60_000.0,
                final_clock_ms: 1_000.0 / game as f64,
                ..ReplayedGame::default()
            };
            let cell = ReplayKey { game, white: true, manager: "smooth(mle-mlh)", control: "60+0" };
            lab.add_game(&ReplayGameRow::new(cell, &replayed));
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
