//! The findings as tables, for the terminal and for the page.

use std::fmt;

use super::{Difference, Dimension, Interval, StudyReport};
use crate::report::{Align, Table};

/// All tables in their order, as text.
#[derive(Debug)]
pub struct StudyText<'a> {
    /// The findings.
    pub report: &'a StudyReport,
}

impl fmt::Display for StudyText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} All estimates and errors are in full moves of one side.", extent(self.report))?;
        self.report.notes.iter().try_for_each(|note| writeln!(f, "{note}"))?;
        writeln!(f)?;
        let mut tables = overall(self.report);
        tables.extend(differences(self.report));
        tables.extend(Dimension::GROUPED.map(|dimension| by_group(self.report, dimension)));
        tables.extend(clock(self.report));
        tables.extend(spread(self.report));
        tables.extend(fits(self.report));
        tables.iter().try_for_each(|table| writeln!(f, "{table}"))
    }
}

/// Returns what was measured, and how much of it an organizer ended.
pub(super) fn extent(report: &StudyReport) -> String {
    let StudyReport { games, positions, events, played_out, .. } = report;
    format!(
        "{games} games, {positions} positions, {events} events. {played_out} of the games were played out; the length of the others is \
         that of their adjudication."
    )
}

/// Returns the tables of errors over all positions, and over those of games that were played out, if these are some and not all.
pub(super) fn overall(report: &StudyReport) -> Vec<Table> {
    let some = 0 < report.played_out && report.played_out < report.games;
    let dimensions = std::iter::once(Dimension::All).chain(some.then_some(Dimension::PlayedOut));
    dimensions.map(|dimension| errors(report, dimension)).collect()
}

fn errors(report: &StudyReport, dimension: Dimension) -> Table {
    let numbers = ["MAE", "95 % of MAE", "vs first, 95 %", "RMSE", "bias", "median", "R²", "Spearman"];
    let mut columns = vec![("estimator", Align::Left)];
    columns.extend(numbers.map(|name| (name, Align::Right)));
    let group = report.groups.iter().find(|group| group.group.dimension == dimension);
    let mut table = Table::new(
        format!(
            "Errors over {}, {} positions; bias = estimate − truth; intervals by {}; vs first = difference of MAE to the first estimator",
            dimension.title(),
            group.map_or(0, |group| group.positions),
            report.unit.plural()
        ),
        &columns,
    );
    for (name, figures) in report.names.iter().zip(group.iter().flat_map(|group| &group.figures)) {
        let Some(f) = figures else {
            table.row([name.clone(), "no M".into()]);
            continue;
        };
        let versus = if name == &report.names[0] { String::new() } else { interval(f.versus_first_ci) };
        table.row([
            name.clone(),
            format!("{:.2}", f.mae),
            interval(f.ci),
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

fn interval(interval: Interval) -> String {
    let Interval { low, high } = interval;
    if interval.is_known() { format!("{low:.2} … {high:.2}") } else { "–".into() }
}

/// Returns the table of the differences of any two estimators; `None` if there is but one.
pub(super) fn differences(report: &StudyReport) -> Option<Table> {
    let columns = [
        ("estimator", Align::Left),
        ("against", Align::Left),
        ("all positions", Align::Right),
        ("95 %", Align::Right),
        ("played out", Align::Right),
        ("95 %", Align::Right),
    ];
    let caption = format!(
        "Differences of MAE on the same positions; below 0 the first is better; intervals by {}",
        report.unit.plural()
    );
    let mut table = Table::new(caption, &columns);
    let cells = |Difference { difference, ci }| [format!("{difference:+.2}"), interval(ci)];
    for pair in &report.differences {
        let played_out = pair.played_out.map(cells).into_iter().flatten();
        table.row(
            [pair.name.clone(), pair.against.clone()].into_iter().chain(cells(pair.all)).chain(played_out),
        );
    }
    (!report.differences.is_empty()).then_some(table)
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

/// Returns the table of fitted estimators; `None` if none were asked for.
pub(super) fn fits(report: &StudyReport) -> Option<Table> {
    let columns = [
        ("TimeManager", Align::Left),
        ("fitted", Align::Left),
        ("MAE", Align::Right),
        ("MAE of the defaults", Align::Right),
        ("difference, 95 %", Align::Right),
    ];
    let units = report.unit.plural();
    let caption = format!(
        "Fitted to these games; MAE with each half of the {units} tried with the other half's fit. Only what beats its defaults there is to be pasted"
    );
    let mut table = Table::new(caption, &columns);
    for fit in report.fits.as_ref()? {
        table.row([
            fit.time_manager.clone().unwrap_or_else(|| "not shown to beat the defaults".into()),
            fit.estimator.clone(),
            format!("{:.2}", fit.mae),
            format!("{:.2}", fit.default_mae),
            interval(fit.versus_default_ci),
        ]);
    }
    Some(table)
}
