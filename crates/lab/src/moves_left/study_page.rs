//! The findings as JSON, tables and a page with plots.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::estimator_study::{
    ALL, BY_PLY, CutShort, DIMENSIONS, GroupFigures, PLIES, PairDifference, StudyReport, Totals,
};
use super::statistics::{EstimatorFigures, Interval};
use crate::report::{Origin, Page, Plot, Table};
use crate::rows::{RowError, replace};
use zeitnot_engine::note::counted;

const FEWEST: f64 = 0.005;

impl StudyReport {
    /// The keys are a contract. All errors are in full moves.
    pub fn to_json(&self) -> Value {
        let mut groups: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        let mut estimators = Vec::new();
        for GroupFigures {
            group,
            positions,
            figures,
        } in &self.groups
        {
            let known: Vec<_> = figures.iter().flatten().collect();
            match group.dimension {
                ALL => estimators = known,
                dimension => groups
                    .entry(DIMENSIONS[dimension].key)
                    .or_default()
                    .push(json!({ "group": group.name, "positions": positions, "estimators": known })),
            }
        }
        let Totals {
            games,
            positions,
            events,
            played_out,
            played_out_positions,
            spread,
            ..
        } = &self.totals;
        let mut document = json!({
            "games": games,
            "positions": positions,
            "events": events.len(),
            "played_out_games": played_out,
            "played_out_positions": played_out_positions,
            "intervals_by": self.unit,
            "unit": "full moves",
            "notes": self.notes,
            "estimators": estimators,
            "differences": self.differences,
            "spread": Some(spread).filter(|spread| spread.positions > 0),
            "clock": self.clock_figures(),
            "cut_short": self.cut_short(),
        });
        for (key, groups) in groups {
            document[key] = groups.into();
        }
        document
    }

    fn cut_short(&self) -> Vec<Value> {
        let of_end = |(end, cut_short): (&String, &CutShort)| {
            let estimators = self.names.iter().zip(&cut_short.bounds);
            let estimators = estimators.map(|(name, bound)| {
                json!({ "name": name, "too_low": bound.too_low(), "least_error": bound.least_error() })
            });
            json!({
                "group": end,
                "games": cut_short.games,
                "positions": cut_short.positions,
                "estimators": estimators.collect::<Vec<_>>(),
            })
        };
        self.totals.cut_short.iter().map(of_end).collect()
    }

    pub fn write_page(&self, origins: &[Origin], folder: &Path) -> Result<PathBuf, RowError> {
        let plots = plots(self);
        for shown in plots.iter().filter(|shown| shown.plot.has_data()) {
            let path = folder.join(shown.file);
            replace(&path, shown.plot.to_svg()).map_err(RowError::io(&path))?;
        }
        page(self, origins, &plots).write(folder)
    }
}

impl fmt::Display for StudyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} All estimates and errors are in full moves of one side.",
            extent(self)
        )?;
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        writeln!(f)?;
        for table in tables(self).iter().flat_map(|(_, tables)| tables) {
            writeln!(f, "{table}")?;
        }
        Ok(())
    }
}

fn page(report: &StudyReport, origins: &[Origin], plots: &[ShownPlot]) -> Page {
    let names: Vec<_> = report.names.iter().map(String::as_str).collect();
    let mut page = Page::new("Moves left: estimators against recorded games").shorten(&names);
    if let Some((figure, sentence)) = key_figure(report) {
        page = page.key_figure(&figure, &sentence);
    }
    page = page.paragraph(&format!(
        "{} All estimates and errors are in full moves of one side. The horizontal axes by game progress count plies of both sides. \
         Intervals are those of 95 %, by {}.",
        extent(report),
        report.unit.plural()
    ));
    page = report.notes.iter().fold(page, |page, note| page.paragraph(note));
    let [overall, others @ ..] = tables(report);
    page = part(page, &overall, true).part("Through the game", false, |page| {
        let plots = plots.iter();
        plots.fold(page, |page, shown| page.plot(&shown.plot, shown.caption))
    });
    page = others.iter().fold(page, |page, tables| part(page, tables, false));
    page.names_in_full().origins(origins)
}

fn part(page: Page, (heading, tables): &Tables, is_open: bool) -> Page {
    if tables.is_empty() {
        return page;
    }
    page.part(heading, is_open, |page| tables.iter().fold(page, Page::table))
}

fn key_figure(report: &StudyReport) -> Option<(String, String)> {
    if report.proves_nothing() {
        let Totals {
            games, played_out, ..
        } = report.totals;
        let sentence = format!("were played out: {played_out} of {games}. No estimator is the best by them.");
        return Some(("Too few games".to_owned(), sentence));
    }
    let figures = report.overall()?.figures.iter().flatten();
    let best = figures.min_by(|a, b| a.mae.total_cmp(&b.mae))?;
    let mut close = Vec::new();
    for PairDifference {
        name,
        against,
        errors,
    } in &report.differences
    {
        let is_decided = errors.ci.low > 0.0 || errors.ci.high < 0.0;
        if !is_decided && *name == best.name {
            close.push(against.as_str());
        } else if !is_decided && *against == best.name {
            close.push(name);
        }
    }
    let verdict = if report.names.len() == 1 {
        String::new()
    } else if close.is_empty() {
        " No other estimator is as near.".to_owned()
    } else {
        format!(" Undecided against {}.", close.join(", "))
    };
    let sentence = format!(
        "is the mean error of {} (95 %: {}), the smallest of these estimators.{verdict}",
        best.name,
        interval(best.ci)
    );
    Some((format!("{:.1} moves off", best.mae), sentence))
}

fn extent(report: &StudyReport) -> String {
    let Totals {
        games,
        positions,
        events,
        played_out,
        ..
    } = &report.totals;
    let events = counted(events.len(), "event");
    let were = if *played_out == 1 { "was" } else { "were" };
    let others = if played_out < games {
        " The others would have gone on, so that their length is a lower bound."
    } else {
        ""
    };
    format!(
        "{games} games, {positions} positions, {events}. {played_out} of the games {were} played out, and all errors \
         are theirs.{others}"
    )
}

/// The heading of a part, and its tables.
type Tables = (&'static str, Vec<Table>);

fn tables(report: &StudyReport) -> [Tables; 4] {
    let overall = [errors(report), differences(report), cut_short(report)];
    let dimensions = if report.totals.played_out > 0 {
        BY_PLY..DIMENSIONS.len()
    } else {
        0..0
    };
    let by_group = dimensions.map(|dimension| by_group(report, dimension));
    [
        ("Overall", overall.into_iter().flatten().collect()),
        ("By group", by_group.collect()),
        ("The clock", Vec::from_iter(clock(report))),
        ("The spread", Vec::from_iter(spread(report))),
    ]
}

fn errors(report: &StudyReport) -> Option<Table> {
    let group = report.overall()?;
    let caption = format!(
        "Errors over {}, {} positions; bias = estimate − truth; intervals by {}; vs first = difference of MAE to the first estimator",
        DIMENSIONS[ALL].title,
        group.positions,
        report.unit.plural()
    );
    type Row<'a> = (&'a String, &'a Option<EstimatorFigures>);
    let text = |(_, figures): &Row<'_>, text: fn(&EstimatorFigures) -> String| {
        figures.as_ref().map(text).unwrap_or_default()
    };
    let table = Table::of(caption, report.names.iter().zip(&group.figures))
        .words("estimator", |(name, _)| *name)
        .numbers("MAE", |(_, figures)| {
            figures
                .as_ref()
                .map_or("no M".into(), |f| format!("{:.2}", f.mae))
        })
        .numbers("95 % of MAE", |row| text(row, |f| interval(f.ci)))
        .numbers("vs first, 95 %", |row| {
            if *row.0 == report.names[0] {
                String::new()
            } else {
                text(row, |f| interval(f.versus_first_ci))
            }
        })
        .numbers("RMSE", |row| text(row, |f| format!("{:.2}", f.rmse)))
        .numbers("bias", |row| text(row, |f| format!("{:+.2}", f.bias)))
        .numbers("median", |row| text(row, |f| format!("{:.1}", f.median)))
        .numbers("R²", |row| text(row, |f| format!("{:.3}", f.r2)))
        .numbers("Spearman", |row| {
            text(row, |f| {
                f.spearman.map_or(String::new(), |rho| format!("{rho:.3}"))
            })
        });
    Some(table.table())
}

fn interval(interval: Interval) -> String {
    let Interval { low, high } = interval;
    if interval.is_known() {
        format!("{low:.2} … {high:.2}")
    } else {
        "–".into()
    }
}

fn differences(report: &StudyReport) -> Option<Table> {
    let caption = format!(
        "Differences of MAE on the same positions; below 0 the first is better; intervals by {}",
        report.unit.plural()
    );
    let table = Table::of(caption, &report.differences)
        .words("estimator", |pair| &pair.name)
        .words("against", |pair| &pair.against)
        .numbers("difference", |pair| format!("{:+.2}", pair.errors.difference))
        .numbers("95 %", |pair| interval(pair.errors.ci));
    (!report.differences.is_empty()).then(|| table.table())
}

fn cut_short(report: &StudyReport) -> Option<Table> {
    let games = &report.totals.cut_short;
    let caption = "Games that were cut short, by their end: positions in which the estimate was below the moves that were still played, \
                   %, and in brackets the least that the mean error can be, full moves";
    let table = Table::of(caption, games)
        .words("end of the game", |(end, _)| *end)
        .numbers("games", |(_, cut_short)| cut_short.games)
        .numbers("positions", |(_, cut_short)| cut_short.positions);
    let figures = |cut_short: &CutShort, place: usize| {
        let bound = cut_short.bounds.get(place)?;
        let percent = 100.0 * bound.too_low()?;
        Some(format!("{percent:.1} ({:.1})", bound.least_error()?))
    };
    let names = report.names.iter().enumerate();
    let table = names.fold(table, |table, (place, name)| {
        table.numbers(name, |(_, cut_short)| {
            figures(cut_short, place).unwrap_or_default()
        })
    });
    (!games.is_empty()).then(|| table.table())
}

fn by_group(report: &StudyReport, dimension: usize) -> Table {
    let title = DIMENSIONS[dimension].title;
    let caption = format!("Mean absolute error in full moves, by {title}");
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.1}"));
    let left = |group: &GroupFigures| Some(group.figures.iter().flatten().next()?.mean_left);
    let error = |group: &GroupFigures, place: usize| Some(group.figures[place].as_ref()?.mae);
    let groups = report.groups.iter();
    let table = Table::of(caption, groups.filter(|group| group.group.dimension == dimension))
        .words(title, |group| &group.group.name)
        .numbers("positions", |group| group.positions)
        .numbers("moves left", |group| number(left(group)));
    let names = report.names.iter().enumerate();
    names
        .fold(table, |table, (place, name)| {
            table.numbers(name, |group| number(error(group, place)))
        })
        .table()
}

fn clock(report: &StudyReport) -> Option<Table> {
    let caption = "The clock, if each move got clock ÷ estimate and there were no increment: unused at the game's end; starved = less than a third of an \
         even share; longest move in % of the clock; variation of a game's move times (0 = all equal)";
    Some(
        Table::of(caption, report.clock_figures()?)
            .words("estimator", |clock| clock.name.clone())
            .numbers("unused", |clock| format!("{:.1} %", 100.0 * clock.unused))
            .numbers("starved moves", |clock| format!("{:.1} %", 100.0 * clock.starved))
            .numbers("longest move", |clock| format!("{:.2} %", 100.0 * clock.largest))
            .numbers("variation", |clock| format!("{:.3}", clock.variation))
            .table(),
    )
}

fn spread(report: &StudyReport) -> Option<Table> {
    let spread = report.totals.spread;
    let caption = format!(
        "Truth within the spread of M over the searched tree, {} positions (normal errors: 68 %, 95 %)",
        spread.positions
    );
    let shares = [
        ("one spread", spread.within_one),
        ("two spreads", spread.within_two),
    ];
    let table = Table::of(caption, shares)
        .words("spread of the tree", |(name, _)| *name)
        .numbers("share", |(_, share)| format!("{:.1} %", 100.0 * share));
    (spread.positions > 0).then(|| table.table())
}

struct ShownPlot {
    file: &'static str,
    caption: &'static str,
    plot: Plot,
}

fn plots(report: &StudyReport) -> Vec<ShownPlot> {
    let error = by_ply("Error by ply", "mean absolute error, full moves");
    let bias = by_ply("Bias by ply", "estimate − truth, full moves");
    let mut plots = vec![
        ShownPlot {
            file: "difference-by-ply.svg",
            caption: "Mean absolute error minus that of the first estimator on the same positions, with its interval: below zero \
                      an estimator is better than the first.",
            plot: differences_by_ply(report),
        },
        ShownPlot {
            file: "error-by-ply.svg",
            caption: "Lower is better. No function of the ply alone can be below \"best by ply\" but by chance.",
            plot: lines(error, report, |f| f.mae),
        },
        ShownPlot {
            file: "bias-by-ply.svg",
            caption: "Above zero an estimator thinks that the game lasts longer than it does, and saves time; below zero it \
                      spends too much.",
            plot: lines(bias, report, |f| f.bias),
        },
        ShownPlot {
            file: "estimates-by-ply.svg",
            caption: "What the estimators say on average, and what was really left.",
            plot: estimates_by_ply(report),
        },
    ];
    let head = report.names.iter().position(|name| name == "mle-mlh");
    let truths = head.map_or(Vec::new(), |place| report.totals.joints[place].truths());
    if truths.len() > 1 {
        plots.push(ShownPlot {
            file: "mlh-against-truth.svg",
            caption: "The median of what was really left, and the middle 80 %, by the estimate; on the line it is right.",
            plot: against_truth(&truths),
        });
    }
    if !report.totals.clocks.is_empty() {
        plots.push(ShownPlot {
            file: "clock.svg",
            caption: "Each move gets clock ÷ estimate, without increment. The straight line to zero would be an even use of all \
                      the time.",
            plot: clock_left(report),
        });
    }
    plots
}

/// The middle ply of each chunk, without the open-ended last one, and what `figure` says of its estimators.
fn over_plies<T>(
    report: &StudyReport,
    figure: impl Fn(&[Option<EstimatorFigures>]) -> Option<T>,
) -> impl Iterator<Item = (f64, T)> {
    let least = (report.totals.positions as f64 * FEWEST) as u64;
    let shown = report.groups.iter().filter(move |of_plies| {
        let group = &of_plies.group;
        group.dimension == BY_PLY && !group.is_open() && of_plies.positions >= least
    });
    shown.filter_map(move |of_plies| {
        let middle = f64::from(of_plies.group.place + PLIES / 2);
        Some((middle, figure(&of_plies.figures)?))
    })
}

fn by_ply(title: &str, y: &str) -> Plot {
    Plot::new(title, "plies played", y)
}

fn lines(plot: Plot, report: &StudyReport, figure: impl Fn(&EstimatorFigures) -> f64) -> Plot {
    let names = report.names.iter().enumerate();
    names.fold(plot, |plot, (place, name)| {
        plot.line(name, over_plies(report, |all| all[place].as_ref().map(&figure)))
    })
}

fn differences_by_ply(report: &StudyReport) -> Plot {
    let mut plot = by_ply(
        "Difference to the first estimator by ply",
        "difference of errors, full moves",
    );
    for (place, name) in report.names.iter().enumerate() {
        if place > 0 {
            let interval = |all: &[Option<EstimatorFigures>]| {
                let Interval { low, high } = all[place].as_ref()?.versus_first_ci;
                Some([low, high])
            };
            plot = plot.band(name, over_plies(report, interval));
        }
        let difference =
            |all: &[Option<EstimatorFigures>]| Some(all[place].as_ref()?.mae - all[0].as_ref()?.mae);
        plot = plot.line(name, over_plies(report, difference));
    }
    plot
}

fn estimates_by_ply(report: &StudyReport) -> Plot {
    let plot = by_ply("Mean estimate by ply", "moves left, full moves").y_from(0.0);
    let truth = over_plies(report, |all| Some(all[0].as_ref()?.mean_left));
    lines(plot, report, |f| f.mean_left + f.bias).line("really left", truth)
}

fn against_truth(truths: &[(f64, [f64; 3])]) -> Plot {
    let truths = truths.iter();
    let band = truths
        .clone()
        .map(|&(estimate, [low, _, high])| (estimate, [low, high]));
    let middle = truths
        .clone()
        .map(|&(estimate, [_, median, _])| (estimate, median));
    let even = truths.map(|&(estimate, _)| (estimate, estimate));
    Plot::new(
        "mle-mlh against the truth",
        "estimate, full moves",
        "really left, full moves",
    )
    .band("really left", band)
    .line("really left", middle)
    .line("estimate = truth", even)
    .y_from(0.0)
}

fn clock_left(report: &StudyReport) -> Plot {
    let plot = Plot::new(
        "Clock over the game",
        "moves played, % of the game's",
        "clock left, %",
    );
    let clocks = report.totals.clocks.iter().zip(&report.names);
    clocks
        .fold(plot, |plot, (clock, name)| plot.line(name, clock.curve()))
        .line("even use", [(0.0, 100.0), (100.0, 0.0)])
        .y_from(0.0)
}
