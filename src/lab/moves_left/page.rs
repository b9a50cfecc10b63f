//! The findings as a page with plots.

use super::run_facts::RunFacts;
use super::tables;
use super::{Dimension, EstimatorFigures, GroupFigures, StudyReport};
use crate::report::{Align, Bar, BarPlot, Page, Plot, Table};

/// Smallest share of all positions that a plotted group has; smaller groups show only noise.
const FEWEST: f64 = 0.005;
/// Half the plies of a group of [`Dimension::ByPly`].
const HALF_GROUP: f64 = 10.0;

/// Returns the page of a study: tables, plots, and where the rows come from, if that is known.
pub fn page(report: &StudyReport, facts: Option<&RunFacts>) -> Page {
    let mut page = Page::new("Moves left: estimators against recorded games").paragraph(&format!(
        "{} All estimates and errors are in full moves of one side; the horizontal axes by game progress count plies of both sides. \
         Intervals are those of 95 %, by {}.",
        tables::extent(report),
        report.unit.plural()
    ));
    for note in &report.notes {
        page = page.paragraph(note);
    }
    page = match facts {
        Some(facts) => page.code(&facts.origin.command).table(&origin(facts)),
        None => page
            .paragraph("It is not known how the rows were measured: there is no movesleft.json beside them."),
    };
    page = page.heading("Overall");
    for table in tables::overall(report).iter().chain(&tables::differences(report)) {
        page = page.table(table);
    }
    page = page.heading("Through the game");
    for figure in plots(report) {
        page = page.figure(&figure.svg, figure.caption);
    }
    page = page.heading("By group");
    for dimension in Dimension::GROUPED {
        page = page.table(&tables::by_group(report, dimension));
    }
    let last = [
        ("The clock", tables::clock(report)),
        ("The spread", tables::spread(report)),
        ("Fits", tables::fits(report)),
    ];
    for (heading, table) in last {
        page = match table {
            Some(table) => page.heading(heading).table(&table),
            None => page,
        };
    }
    page
}

/// Returns the table of what the rows were made with.
fn origin(facts: &RunFacts) -> Table {
    let RunFacts { pgn, network, nodes, filters, sample, origin, .. } = facts;
    let mut table =
        Table::new("The run that measured the positions", &[("", Align::Left), ("", Align::Left)]);
    let or = |text: &str, none: &str| if text.is_empty() { none.to_owned() } else { text.to_owned() };
    let sample = match sample {
        0 | 1 => "every position".to_owned(),
        sample => format!("one position in {sample}"),
    };
    for (name, value) in [
        ("games", pgn.join(", ")),
        ("network", network.clone()),
        ("filters", or(filters, "none")),
        ("sample", sample),
        ("search", nodes.map_or("none".into(), |nodes| format!("{nodes} nodes a position"))),
        ("version and commit", or(&origin.version, "not known")),
        ("date", or(&origin.date, "not known")),
    ] {
        table.row([name.to_owned(), value]);
    }
    table
}

/// A plot of the page.
#[derive(Clone, Debug)]
pub struct PagePlot {
    /// The name of its file, without the ending.
    pub name: &'static str,
    /// The plot as SVG.
    pub svg: String,
    caption: &'static str,
}

/// Returns all plots of a study.
pub fn plots(report: &StudyReport) -> Vec<PagePlot> {
    let error = by_ply("Error by ply", "mean absolute error, full moves");
    let bias = by_ply("Bias by ply", "estimate − truth, full moves");
    let mut plots = vec![
        PagePlot {
            name: "difference-by-ply",
            svg: differences_by_ply(report),
            caption: "Mean absolute error minus that of the first estimator on the same positions, with its interval: below zero \
                      an estimator is better than the first.",
        },
        PagePlot {
            name: "error-by-ply",
            svg: lines(error, report, |f| f.mae).to_svg(),
            caption: "Lower is better. No function of the ply alone can be below \"best by ply\" but by chance.",
        },
        PagePlot {
            name: "bias-by-ply",
            svg: lines(bias, report, |f| f.bias).to_svg(),
            caption: "Above zero an estimator thinks that the game lasts longer than it does, and saves time; below zero it \
                      spends too much.",
        },
        PagePlot {
            name: "estimates-by-ply",
            svg: estimates_by_ply(report),
            caption: "What the estimators say on average, and what was really left.",
        },
        PagePlot {
            name: "error-by-phase",
            svg: bars(report, Dimension::ByPhase),
            caption: "Mean absolute error; the lines on the bars are 95 % intervals.",
        },
        PagePlot {
            name: "error-by-evaluation",
            svg: bars(report, Dimension::ByEvaluation),
            caption: "The clearer the game is decided, the better its end is foreseen.",
        },
        PagePlot {
            name: "error-by-termination",
            svg: bars(report, Dimension::ByTermination),
            caption: "How a game ends is known only afterwards: this is what cannot be foreseen.",
        },
        PagePlot {
            name: "errors",
            svg: errors(report),
            caption: "Left of zero the game lasted longer than estimated.",
        },
    ];
    let head = report.names.iter().position(|name| name == "mle-mlh");
    if let Some(place) = head.filter(|&place| report.joints[place].points().next().is_some()) {
        plots.push(PagePlot {
            name: "mlh-against-truth",
            svg: against_truth(report, place),
            caption: "Darker where there are more positions, in logarithmic steps; on the line the estimate is right.",
        });
    }
    if !report.clocks.is_empty() {
        plots.push(PagePlot {
            name: "clock",
            svg: course(report),
            caption: "Each move gets clock ÷ estimate, without increment. The straight line to zero would be an even use of all \
                      the time.",
        });
    }
    plots
}

/// Returns the groups that have enough positions to be plotted.
fn plotted(report: &StudyReport, dimension: Dimension) -> Vec<&GroupFigures> {
    let least = (report.positions as f64 * FEWEST) as u64;
    report
        .groups
        .iter()
        .filter(|group| group.group.dimension == dimension && group.positions >= least)
        .collect()
}

/// Returns the chunks of plies that are plotted; the last chunk has no upper end and so no place on an axis.
fn chunks(report: &StudyReport) -> Vec<&GroupFigures> {
    plotted(report, Dimension::ByPly).into_iter().filter(|group| !group.group.is_open()).collect()
}

/// Returns a figure of an estimator over the plies, `(ply, value)`.
fn over_plies<T>(
    report: &StudyReport,
    place: usize,
    figure: impl Fn(&EstimatorFigures) -> T,
) -> Vec<(f64, T)> {
    let value = |group: &GroupFigures| {
        let middle = f64::from(group.group.place) + HALF_GROUP;
        Some((middle, figure(group.figures[place].as_ref()?)))
    };
    chunks(report).into_iter().filter_map(value).collect()
}

/// Returns an empty plot over the plies.
fn by_ply(title: &str, y: &str) -> Plot {
    Plot::new(title, "plies played", y)
}

/// Adds a line for each estimator.
fn lines(plot: Plot, report: &StudyReport, figure: impl Fn(&EstimatorFigures) -> f64) -> Plot {
    let names = report.names.iter().enumerate();
    names.fold(plot, |plot, (place, name)| plot.line(name, &over_plies(report, place, &figure)))
}

/// Returns the plot of the paired differences to the first estimator, with their bands, as SVG.
fn differences_by_ply(report: &StudyReport) -> String {
    let first = over_plies(report, 0, |f| f.mae);
    let mut plot = by_ply("Difference to the first estimator by ply", "difference of errors, full moves");
    for (place, name) in report.names.iter().enumerate() {
        let values = over_plies(report, place, |f| (f.mae, f.versus_first_ci));
        let band: Vec<_> = values.iter().map(|&(x, (_, ci))| (x, ci.low, ci.high)).collect();
        let line: Vec<_> = values
            .iter()
            .filter_map(|&(x, (mae, _))| Some((x, mae - first.iter().find(|&&(at, _)| at == x)?.1)))
            .collect();
        plot = if place == 0 { plot } else { plot.band(name, &band) }.line(name, &line);
    }
    plot.to_svg()
}

fn estimates_by_ply(report: &StudyReport) -> String {
    let plot = by_ply("Mean estimate by ply", "moves left, full moves").y_from(0.0);
    let truth = over_plies(report, 0, |f| f.mean_left);
    lines(plot, report, |f| f.mean_left + f.bias)
        .line("really left", &truth)
        .scatter("really left", &truth)
        .to_svg()
}

fn bars(report: &StudyReport, dimension: Dimension) -> String {
    let groups = plotted(report, dimension);
    let names: Vec<&str> = groups.iter().map(|group| group.group.name.as_str()).collect();
    let title = format!("Error by {}", dimension.title());
    let mut plot = BarPlot::new(title, "mean absolute error, full moves", &names);
    for (place, name) in report.names.iter().enumerate() {
        let bars: Vec<Bar> = groups
            .iter()
            .map(|group| match group.figures[place] {
                Some(f) => Bar { value: f.mae, error: Some((f.ci.low, f.ci.high)) },
                None => Bar { value: f64::NAN, error: None },
            })
            .collect();
        plot = plot.series(name, &bars);
    }
    plot.to_svg()
}

fn against_truth(report: &StudyReport, place: usize) -> String {
    let points: Vec<_> = report.joints[place].points().collect();
    Plot::new("mle-mlh against the truth", "estimate, full moves", "really left, full moves")
        .density("positions", &points)
        .line("estimate = truth", &[(0.0, 0.0), (120.0, 120.0)])
        .x_range(0.0, 120.0)
        .y_range(0.0, 120.0)
        .to_svg()
}

fn errors(report: &StudyReport) -> String {
    let mut plot =
        Plot::new("Distribution of errors", "estimate − truth, full moves", "share of positions, %");
    let wanted = ["mle-legacy", "mle-mlh"];
    let places = report.names.iter().enumerate().filter(|(_, name)| wanted.contains(&name.as_str()));
    for (place, name) in places {
        let errors: Vec<_> =
            report.joints[place].points().map(|(estimate, truth, n)| (estimate - truth, n)).collect();
        plot = plot.histogram(name, &errors, 4.0);
    }
    plot.x_range(-80.0, 60.0).y_from(0.0).to_svg()
}

fn course(report: &StudyReport) -> String {
    let mut plot =
        Plot::new("Clock over the course of the game", "moves played, % of the game's", "clock left, %");
    for (clock, name) in report.clocks.iter().zip(&report.names) {
        let percent: Vec<_> = clock.course().into_iter().map(|(x, y)| (100.0 * x, 100.0 * y)).collect();
        plot = plot.line(name, &percent);
    }
    plot.line("even use", &[(0.0, 100.0), (100.0, 0.0)]).y_from(0.0).to_svg()
}
