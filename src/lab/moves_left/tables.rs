//! The findings as tables, for the terminal and for the page.

use std::fmt;

use super::{Dimension, StudyReport};
use crate::report::{Align, Table};

/// All tables in their order, as text.
#[derive(Debug)]
pub struct StudyText<'a> {
    /// The findings.
    pub report: &'a StudyReport,
    /// True if the fitted estimators are to be shown too.
    pub is_fit: bool,
}

impl fmt::Display for StudyText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StudyReport { games, positions, .. } = self.report;
        writeln!(
            f,
            "{games} games, {positions} positions. All estimates and errors are in full moves of one side.\n"
        )?;
        writeln!(f, "{}", overall(self.report))?;
        for dimension in Dimension::GROUPED {
            writeln!(f, "{}", by_group(self.report, dimension))?;
        }
        clock(self.report)
            .into_iter()
            .chain(spread(self.report))
            .try_for_each(|table| writeln!(f, "{table}"))?;
        if self.is_fit {
            write!(f, "{}", fits(self.report))?;
        }
        Ok(())
    }
}

/// Returns the table of errors over all positions.
pub(super) fn overall(report: &StudyReport) -> Table {
    let numbers = ["MAE", "95 % of MAE", "vs first, 95 %", "RMSE", "bias", "median", "R²", "Spearman"];
    let mut columns = vec![("estimator", Align::Left)];
    columns.extend(numbers.map(|name| (name, Align::Right)));
    let mut table = Table::new(
        "Errors in full moves; bias = estimate − truth; intervals by games; vs first = difference of MAE to the first estimator",
        &columns,
    );
    let all = report.groups.iter().find(|group| group.group.dimension == Dimension::All);
    for (name, figures) in report.names.iter().zip(all.iter().flat_map(|group| &group.figures)) {
        let Some(f) = figures else {
            table.row([name.clone(), "no M".into()]);
            continue;
        };
        let versus = if name == &report.names[0] {
            String::new()
        } else {
            interval(f.versus_first_ci.low, f.versus_first_ci.high)
        };
        table.row([
            name.clone(),
            format!("{:.2}", f.mae),
            interval(f.ci.low, f.ci.high),
            versus,
            format!("{:.2}", f.rmse),
            format!("{:+.2}", f.bias),
            format!("{:.1}", f.median),
            format!("{:.3}", f.r2),
            f.spearman.map_or(String::new(), |rho| format!("{rho:.3}")),
        ]);
    }
    table
}

fn interval(low: f64, high: f64) -> String {
    format!("{low:.2} … {high:.2}")
}

/// Returns the table of mean absolute errors by group.
pub(super) fn by_group(report: &StudyReport, dimension: Dimension) -> Table {
    let mut columns =
        vec![(dimension.title(), Align::Left), ("positions", Align::Right), ("moves left", Align::Right)];
    columns.extend(report.names.iter().map(|name| (name.as_str(), Align::Right)));
    let mut table =
        Table::new(format!("Mean absolute error in full moves, by {}", dimension.title()), &columns);
    for group in report.groups.iter().filter(|group| group.group.dimension == dimension) {
        let left = group.figures.iter().flatten().next().map(|figures| format!("{:.1}", figures.mean_left));
        let cells = group.figures.iter().map(|f| f.map_or(String::new(), |f| format!("{:.1}", f.mae)));
        let head = [group.group.name.clone(), group.positions.to_string(), left.unwrap_or_default()];
        table.row(head.into_iter().chain(cells));
    }
    table
}

/// Returns the table of what the estimators would have done to the clock; `None` where positions are missing.
pub(super) fn clock(report: &StudyReport) -> Option<Table> {
    let clocks = report.clock_figures().filter(|clocks| !clocks.is_empty())?;
    let names = ["unused", "starved moves", "longest move", "variation"];
    let mut columns = vec![("estimator", Align::Left)];
    columns.extend(names.map(|name| (name, Align::Right)));
    let mut table = Table::new(
        "The clock, if each move got clock ÷ estimate and there were no increment: unused at the game's end; starved = less than a third of an \
         even share; longest move in % of the clock; variation of a game's move times (0 = all equal)",
        &columns,
    );
    for (name, clock) in report.names.iter().zip(clocks) {
        table.row([
            name.clone(),
            format!("{:.1} %", 100.0 * clock.unused),
            format!("{:.1} %", 100.0 * clock.starved),
            format!("{:.2} %", 100.0 * clock.largest),
            format!("{:.3}", clock.variation),
        ]);
    }
    Some(table)
}

/// Returns the table of how often the spread covers the truth; `None` without searches.
pub(super) fn spread(report: &StudyReport) -> Option<Table> {
    let spread = report.spread;
    let columns = [("spread of the tree", Align::Left), ("share", Align::Right)];
    let mut table = Table::new(
        format!(
            "Truth within the spread of M over the searched tree, {} positions (normal errors: 68 %, 95 %)",
            spread.positions
        ),
        &columns,
    );
    table.row(["one spread".into(), format!("{:.1} %", 100.0 * spread.within_one)]);
    table.row(["two spreads".into(), format!("{:.1} %", 100.0 * spread.within_two)]);
    (spread.positions > 0).then_some(table)
}

/// Returns the table of fitted estimators.
pub(super) fn fits(report: &StudyReport) -> Table {
    let columns =
        [("TimeManager", Align::Left), ("MAE", Align::Right), ("MAE of the defaults", Align::Right)];
    let mut table = Table::new(
        "Fitted to these games, ready to paste; MAE in full moves, each half of the games tried with the other half's fit",
        &columns,
    );
    for fit in &report.fits {
        table.row([fit.time_manager.clone(), format!("{:.2}", fit.mae), format!("{:.2}", fit.default_mae)]);
    }
    table
}
