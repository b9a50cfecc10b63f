//! The findings as a page with plots.

use super::run_facts::RunFacts;
use super::tables;
use super::{Dimension, EstimatorFigures, GroupFigures, Interval, StudyReport};
use crate::report::{Bar, BarPlot, Page, Plot};

/// Smallest share of all positions that a plotted group has; smaller groups show only noise.
const FEWEST: f64 = 0.005;
/// Half the plies of a group of [`Dimension::ByPly`].
const HALF_GROUP: f64 = 10.0;

/// Returns the page of a study: tables and plots, and the fitted estimators if `is_fit`.
pub fn page(report: &StudyReport, facts: Option<&RunFacts>, is_fit: bool) -> Page {
    let StudyReport { games, positions, .. } = report;
    let mut page = Page::new("Moves left: estimators against recorded games").paragraph(&format!(
        "{games} games, {positions} positions. All estimates and errors are in full moves of one side; the horizontal axes by game \
         progress count plies of both sides. Shaded: 95 % confidence by games."
    ));
    if let Some(facts) = facts {
        page = page.paragraph(&format!("Network: {}. Games: {}.", facts.network, facts.pgn.join(", ")));
    }
    page = page.heading("Overall").table(&tables::overall(report)).heading("Through the game");
    for figure in plots(report) {
        page = page.figure(&figure.svg, figure.caption);
    }
    page = page.heading("By group");
    for dimension in Dimension::GROUPED {
        page = page.table(&tables::by_group(report, dimension));
    }
    if let Some(table) = tables::clock(report) {
        page = page.heading("The clock").table(&table);
    }
    if let Some(table) = tables::spread(report) {
        page = page.heading("The spread").table(&table);
    }
    if is_fit {
        page = page.heading("Fits").table(&tables::fits(report));
    }
    page
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
    let error = by_ply(report, "Error by ply", "mean absolute error, full moves", |f| (f.mae, f.ci));
    let bias = by_ply(report, "Bias by ply", "estimate − truth, full moves", |f| (f.bias, f.bias_ci));
    let mut plots = vec![
        PagePlot {
            name: "error-by-ply",
            svg: error,
            caption: "Lower is better. No function of the ply alone can be below \"best by ply\" but by chance.",
        },
        PagePlot {
            name: "bias-by-ply",
            svg: bias,
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
            caption: "Mean absolute error; the lines on the bars are 95 % confidence by games.",
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

/// Returns the plot of a figure over the plies, a line with its band for each estimator, as SVG.
fn by_ply(
    report: &StudyReport,
    title: &str,
    y: &str,
    figure: impl Fn(&EstimatorFigures) -> (f64, Interval),
) -> String {
    let groups = chunks(report);
    let mut plot = Plot::new(title, "plies played", y);
    for (place, name) in report.names.iter().enumerate() {
        let at = |group: &GroupFigures| f64::from(group.group.place) + HALF_GROUP;
        let values: Vec<_> =
            groups.iter().filter_map(|group| group.figures[place].map(|f| (at(group), figure(&f)))).collect();
        let line: Vec<_> = values.iter().map(|&(x, (y, _))| (x, y)).collect();
        let band: Vec<_> = values.iter().map(|&(x, (_, ci))| (x, ci.low, ci.high)).collect();
        plot = plot.band(name, &band).line(name, &line);
    }
    plot.to_svg()
}

fn estimates_by_ply(report: &StudyReport) -> String {
    let groups = chunks(report);
    let mut plot = Plot::new("Mean estimate by ply", "plies played", "moves left, full moves").y_from(0.0);
    for (place, name) in report.names.iter().enumerate() {
        let estimate = |group: &&GroupFigures| {
            let f = group.figures[place]?;
            Some((f64::from(group.group.place) + HALF_GROUP, f.mean_left + f.bias))
        };
        plot = plot.line(name, &groups.iter().filter_map(estimate).collect::<Vec<_>>());
    }
    let truth = |group: &&GroupFigures| {
        let f = group.figures.iter().flatten().next()?;
        Some((f64::from(group.group.place) + HALF_GROUP, f.mean_left))
    };
    let truth: Vec<_> = groups.iter().filter_map(truth).collect();
    plot.line("really left", &truth).scatter("really left", &truth).to_svg()
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
