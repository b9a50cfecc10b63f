//! The findings of replays as a JSON document, whose keys are a contract, and as tables.

use std::fmt;

use serde::Serialize;

use super::ExactMean;
use super::study::{ManagerFigures, ReplayStudy};
use crate::report::{Align, Table};

/// The document; its text form is a table for each time control.
#[derive(Debug, Serialize)]
pub struct ReplayReport {
    managers: Vec<ManagerReport>,
    #[serde(skip)]
    tables: Vec<Table>,
}

#[derive(Debug, Serialize)]
struct ManagerReport {
    name: String,
    control: String,
    games: u64,
    time_used: Option<f64>,
    min_clock_ms: Option<f64>,
    losses: u64,
    instamoves: u64,
    nodes_cv: Option<f64>,
    /// Share of the moves that smart pruning ended, and time that this saved as a share of the time used.
    pruned: Option<f64>,
    pruning_saved: Option<f64>,
    /// Mean absolute errors of the estimates of the moves left, full moves.
    moves_left_mae: PhaseReport,
}

#[derive(Debug, Serialize)]
struct PhaseReport {
    opening: Option<f64>,
    middlegame: Option<f64>,
    endgame: Option<f64>,
}

impl ReplayReport {
    /// Computes the document of a study.
    pub fn new(study: &ReplayStudy) -> ReplayReport {
        let controls = study.controls();
        ReplayReport {
            managers: study.managers.iter().map(manager_report).collect(),
            tables: controls.iter().map(|control| table(study, control)).collect(),
        }
    }
}

impl fmt::Display for ReplayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tables.iter().try_for_each(|table| writeln!(f, "{table}"))
    }
}

fn manager_report(figures: &ManagerFigures) -> ManagerReport {
    let summary = &figures.summary;
    let [opening, middlegame, endgame] = summary.moves_left.map(|mean| mean.value());
    ManagerReport {
        name: figures.manager.clone(),
        control: figures.control.clone(),
        games: summary.games,
        time_used: summary.time_used.value(),
        min_clock_ms: summary.min_clock_ms,
        losses: summary.losses,
        instamoves: summary.instamoves,
        nodes_cv: summary.nodes_cv.value(),
        pruned: summary.pruned.value(),
        pruning_saved: summary.pruning_saved.value(),
        moves_left_mae: PhaseReport { opening, middlegame, endgame },
    }
}

/// Returns the table of all managers at a time control.
pub(super) fn table(study: &ReplayStudy, control: &str) -> Table {
    use Align::{Left, Right};
    let games = study.at(control).map(|figures| figures.summary.games).max().unwrap_or(0);
    let mut table = Table::new(
        format!("{control}, {games} games; moves-left errors are means of absolute distances in full moves"),
        &[
            ("manager", Left),
            ("clock used, %", Right),
            ("smallest clock, ms", Right),
            ("losses", Right),
            ("insta-moves", Right),
            ("variation of nodes", Right),
            ("smart pruning, % of moves", Right),
            ("time it saved, %", Right),
            ("ML error opening", Right),
            ("middlegame", Right),
            ("endgame", Right),
        ],
    );
    for ManagerFigures { manager, summary, .. } in study.at(control) {
        let number = |value: Option<f64>, digits: usize| {
            value.map_or("–".into(), |value| format!("{value:.digits$}"))
        };
        let percent = |mean: ExactMean| number(mean.value().map(|share| 100.0 * share), 1);
        let mut cells = vec![
            manager.clone(),
            percent(summary.time_used),
            number(summary.min_clock_ms, 0),
            summary.losses.to_string(),
            summary.instamoves.to_string(),
            number(summary.nodes_cv.value(), 3),
            percent(summary.pruned),
            percent(summary.pruning_saved),
        ];
        cells.extend(summary.moves_left.map(|mean| number(mean.value(), 1)));
        table.row(cells);
    }
    table
}
