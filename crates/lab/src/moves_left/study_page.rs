//! The findings as JSON, tables and a page with plots.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::estimator_study::{
    ALL, BY_PLY, CutShort, DIMENSIONS, GroupFigures, PLIES, PairDifference, StudyReport, Totals,
};
use super::statistics::{Difference, EstimatorFigures, Interval};
use crate::report::{Origin, Page, Plot, Table};
use crate::rows::{RowError, replace};

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
        groups
            .into_iter()
            .for_each(|(key, groups)| document[key] = groups.into());
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
        for (name, plot, _) in plots.iter().filter(|(_, plot, _)| plot.has_data()) {
            let path = folder.join(name).with_extension("svg");
            replace(&path, plot.to_svg()).map_err(RowError::io(&path))?;
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
        self.notes.iter().try_for_each(|note| writeln!(f, "{note}"))?;
        writeln!(f)?;
        tables(self)
            .iter()
            .flat_map(|(_, tables)| tables)
            .try_for_each(|table| writeln!(f, "{table}"))
    }
}

fn page(report: &StudyReport, origins: &[Origin], plots: &[NamedPlot]) -> Page {
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
    for (place, (heading, tables)) in tables(report).iter().enumerate() {
        if !tables.is_empty() {
            page = page.part(heading, place == 0, |page| tables.iter().fold(page, Page::table));
        }
        if place == 0 {
            page = page.part("Through the game", false, |page| {
                plots
                    .iter()
                    .fold(page, |page, (_, plot, caption)| page.plot(plot, caption))
            });
        }
    }
    page.names_in_full().origins(origins)
}

fn key_figure(report: &StudyReport) -> Option<(String, String)> {
    if report.proves_nothing() {
        let (of_games, played_out) = (report.totals.games, report.totals.played_out);
        return Some((
            "Too few games".to_owned(),
            format!("were played out: {played_out} of {of_games}. No estimator is the best by them."),
        ));
    }
    let all = report.groups.iter().find(|group| group.group.dimension == ALL)?;
    let best = all
        .figures
        .iter()
        .flatten()
        .min_by(|a, b| a.mae.total_cmp(&b.mae))?;
    let of_best = &best.name;
    let is_open = |Interval { low, high }: Interval| !(low > 0.0 || high < 0.0);
    let close = report.differences.iter().filter(|pair| is_open(pair.errors.ci));
    let close = close.flat_map(|PairDifference { name, against, .. }| [(name, against), (against, name)]);
    let close: Vec<_> = close
        .filter(|(own, _)| *own == of_best)
        .map(|(_, other)| other.as_str())
        .collect();
    let verdict = match (report.names.len(), &close[..]) {
        (1, _) => String::new(),
        (_, []) => " No other estimator is as near.".to_owned(),
        (_, close) => format!(" Undecided against {}.", close.join(", ")),
    };
    Some((
        format!("{:.1} moves off", best.mae),
        format!(
            "is the mean error of {of_best} (95 %: {}), the smallest of these estimators.{verdict}",
            interval(best.ci)
        ),
    ))
}

fn extent(report: &StudyReport) -> String {
    let Totals {
        games,
        positions,
        events,
        played_out,
        ..
    } = &report.totals;
    let (events, plural) = (events.len(), if events.len() == 1 { "" } else { "s" });
    let were = if *played_out == 1 { "was" } else { "were" };
    let others = if played_out < games {
        " The others would have gone on, so that their length is a lower bound."
    } else {
        ""
    };
    format!(
        "{games} games, {positions} positions, {events} event{plural}. {played_out} of the games {were} played out, and all errors \
         are theirs.{others}"
    )
}

fn tables(report: &StudyReport) -> Vec<(&'static str, Vec<Table>)> {
    if report.totals.played_out == 0 {
        return [("Overall", Vec::from_iter(cut_short(report)))].into();
    }
    let overall = [errors(report)]
        .into_iter()
        .chain(differences(report))
        .chain(cut_short(report));
    vec![
        ("Overall", overall.collect()),
        (
            "By group",
            (BY_PLY..DIMENSIONS.len())
                .map(|dimension| by_group(report, dimension))
                .collect(),
        ),
        ("The clock", Vec::from_iter(clock(report))),
        ("The spread", Vec::from_iter(spread(report))),
    ]
}

fn errors(report: &StudyReport) -> Table {
    let group = report.groups.iter().find(|group| group.group.dimension == ALL);
    let caption = format!(
        "Errors over {}, {} positions; bias = estimate − truth; intervals by {}; vs first = difference of MAE to the first estimator",
        DIMENSIONS[ALL].title,
        group.map_or(0, |group| group.positions),
        report.unit.plural()
    );
    let figures = group.iter().flat_map(|group| &group.figures);
    let text = |(_, figures): &(&String, &Option<EstimatorFigures>),
                text: fn(&EstimatorFigures) -> String| {
        figures.as_ref().map(text).unwrap_or_default()
    };
    let is_first = |name: &String| *name == report.names[0];
    Table::of(caption, report.names.iter().zip(figures))
        .words("estimator", |(name, _)| *name)
        .numbers("MAE", |(_, figures)| {
            figures
                .as_ref()
                .map_or("no M".into(), |f| format!("{:.2}", f.mae))
        })
        .numbers("95 % of MAE", |row| text(row, |f| interval(f.ci)))
        .numbers("vs first, 95 %", |row| match is_first(row.0) {
            true => String::new(),
            false => text(row, |f| interval(f.versus_first_ci)),
        })
        .numbers("RMSE", |row| text(row, |f| format!("{:.2}", f.rmse)))
        .numbers("bias", |row| text(row, |f| format!("{:+.2}", f.bias)))
        .numbers("median", |row| text(row, |f| format!("{:.1}", f.median)))
        .numbers("R²", |row| text(row, |f| format!("{:.3}", f.r2)))
        .numbers("Spearman", |row| {
            text(row, |f| {
                f.spearman.map_or(String::new(), |rho| format!("{rho:.3}"))
            })
        })
        .table()
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
    let value = |all: Difference| format!("{:+.2}", all.difference);
    let caption = format!(
        "Differences of MAE on the same positions; below 0 the first is better; intervals by {}",
        report.unit.plural()
    );
    let table = Table::of(caption, &report.differences)
        .words("estimator", |pair| &pair.name)
        .words("against", |pair| &pair.against)
        .numbers("difference", |pair| value(pair.errors))
        .numbers("95 %", |pair| interval(pair.errors.ci));
    (!report.differences.is_empty()).then(|| table.table())
}

/// How often, and by how much, the estimates were below what was still played.
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
        Some(format!(
            "{:.1} ({:.1})",
            100.0 * bound.too_low()?,
            bound.least_error()?
        ))
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
    let caption = format!(
        "Mean absolute error in full moves, by {}",
        DIMENSIONS[dimension].title
    );
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.1}"));
    let left = |group: &GroupFigures| Some(group.figures.iter().flatten().next()?.mean_left);
    let error = |group: &GroupFigures, place: usize| Some(group.figures[place].as_ref()?.mae);
    let table = Table::of(
        caption,
        report
            .groups
            .iter()
            .filter(|group| group.group.dimension == dimension),
    )
    .words(DIMENSIONS[dimension].title, |group| &group.group.name)
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
    let table = Table::of(caption, report.clock_figures()?)
        .words("estimator", |clock| clock.name.clone())
        .numbers("unused", |clock| format!("{:.1} %", 100.0 * clock.unused))
        .numbers("starved moves", |clock| format!("{:.1} %", 100.0 * clock.starved))
        .numbers("longest move", |clock| format!("{:.2} %", 100.0 * clock.largest))
        .numbers("variation", |clock| format!("{:.3}", clock.variation));
    Some(table.table())
}

fn spread(report: &StudyReport) -> Option<Table> {
    let spread = report.totals.spread;
    let caption = format!(
        "Truth within the spread of M over the searched tree, {} positions (normal errors: 68 %, 95 %)",
        spread.positions
    );
    let table = Table::of(
        caption,
        [
            ("one spread", spread.within_one),
            ("two spreads", spread.within_two),
        ],
    )
    .words("spread of the tree", |(name, _)| *name)
    .numbers("share", |(_, share)| format!("{:.1} %", 100.0 * share));
    (spread.positions > 0).then(|| table.table())
}

/// A plot with its file name and caption.
type NamedPlot = (&'static str, Plot, &'static str);

fn plots(report: &StudyReport) -> Vec<NamedPlot> {
    let error = by_ply("Error by ply", "mean absolute error, full moves");
    let bias = by_ply("Bias by ply", "estimate − truth, full moves");
    let mut plots = vec![
        (
            "difference-by-ply",
            differences_by_ply(report),
            "Mean absolute error minus that of the first estimator on the same positions, with its interval: below zero \
             an estimator is better than the first.",
        ),
        (
            "error-by-ply",
            lines(error, report, |f| f.mae),
            "Lower is better. No function of the ply alone can be below \"best by ply\" but by chance.",
        ),
        (
            "bias-by-ply",
            lines(bias, report, |f| f.bias),
            "Above zero an estimator thinks that the game lasts longer than it does, and saves time; below zero it \
             spends too much.",
        ),
        (
            "estimates-by-ply",
            estimates_by_ply(report),
            "What the estimators say on average, and what was really left.",
        ),
    ];
    let head = report.names.iter().position(|name| name == "mle-mlh");
    let truths = head
        .map(|place| report.totals.joints[place].truths())
        .unwrap_or_default();
    if truths.len() > 1 {
        plots.push((
            "mlh-against-truth",
            against_truth(&truths),
            "The median of what was really left, and the middle 80 %, by the estimate; on the line it is right.",
        ));
    }
    if !report.totals.clocks.is_empty() {
        plots.push((
            "clock",
            clock_left(report),
            "Each move gets clock ÷ estimate, without increment. The straight line to zero would be an even use of all \
             the time.",
        ));
    }
    plots
}

/// `(ply, value)` of chunks with enough positions, without the open-ended last one.
fn over_plies<T>(
    report: &StudyReport,
    place: usize,
    figure: impl Fn(&EstimatorFigures) -> T,
) -> Vec<(f64, T)> {
    let value = |group: &GroupFigures| {
        let middle = f64::from(group.group.place + PLIES / 2);
        Some((middle, figure(group.figures[place].as_ref()?)))
    };
    let least = (report.totals.positions as f64 * FEWEST) as u64;
    let of_plies = |group: &&GroupFigures| group.group.dimension == BY_PLY && !group.group.is_open();
    let groups = report.groups.iter().filter(of_plies);
    groups
        .filter(|group| group.positions >= least)
        .filter_map(value)
        .collect()
}

fn by_ply(title: &str, y: &str) -> Plot {
    Plot::new(title, "plies played", y)
}

fn lines(plot: Plot, report: &StudyReport, figure: impl Fn(&EstimatorFigures) -> f64) -> Plot {
    let names = report.names.iter().enumerate();
    names.fold(plot, |plot, (place, name)| {
        plot.line(name, &over_plies(report, place, &figure))
    })
}

fn differences_by_ply(report: &StudyReport) -> Plot {
    let first = over_plies(report, 0, |f| f.mae);
    let mut plot = by_ply(
        "Difference to the first estimator by ply",
        "difference of errors, full moves",
    );
    for (place, name) in report.names.iter().enumerate() {
        let values = over_plies(report, place, |f| (f.mae, f.versus_first_ci));
        let band: Vec<_> = values.iter().map(|&(x, (_, ci))| (x, ci.low, ci.high)).collect();
        let line: Vec<_> = values
            .iter()
            .filter_map(|&(x, (mae, _))| Some((x, mae - first.iter().find(|&&(at, _)| at == x)?.1)))
            .collect();
        plot = if place == 0 { plot } else { plot.band(name, &band) }.line(name, &line);
    }
    plot
}

fn estimates_by_ply(report: &StudyReport) -> Plot {
    let plot = by_ply("Mean estimate by ply", "moves left, full moves").y_from(0.0);
    let truth = over_plies(report, 0, |f| f.mean_left);
    lines(plot, report, |f| f.mean_left + f.bias).line("really left", &truth)
}

fn against_truth(truths: &[(f64, [f64; 3])]) -> Plot {
    let middle: Vec<_> = truths
        .iter()
        .map(|&(estimate, [_, median, _])| (estimate, median))
        .collect();
    let band: Vec<_> = truths
        .iter()
        .map(|&(estimate, [low, _, high])| (estimate, low, high))
        .collect();
    let right: Vec<_> = truths.iter().map(|&(estimate, _)| (estimate, estimate)).collect();
    Plot::new(
        "mle-mlh against the truth",
        "estimate, full moves",
        "really left, full moves",
    )
    .band("really left", &band)
    .line("really left", &middle)
    .line("estimate = truth", &right)
    .y_from(0.0)
}

fn clock_left(report: &StudyReport) -> Plot {
    let mut plot = Plot::new(
        "Clock over the game",
        "moves played, % of the game's",
        "clock left, %",
    );
    for (clock, name) in report.totals.clocks.iter().zip(&report.names) {
        let percent: Vec<_> = clock
            .curve()
            .into_iter()
            .map(|(x, y)| (100.0 * x, 100.0 * y))
            .collect();
        plot = plot.line(name, &percent);
    }
    plot.line("even use", &[(0.0, 100.0), (100.0, 0.0)]).y_from(0.0)
}
