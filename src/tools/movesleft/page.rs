//! The findings as a page with plots.

use super::run_facts::RunFacts;
use super::show;
use crate::lab::{Dimension, Figures, GroupFigures, StudyReport};
use crate::report::{Bar, BarPlot, Page, Plot};

/// Positions that a stretch of plies needs to be plotted; fewer only show noise.
const FEWEST: u64 = 100;
/// Half the plies of a group of [`Dimension::ByPly`].
const HALF_STRETCH: f64 = 10.0;

/// The whole report.
pub(super) fn page(report: &StudyReport, facts: Option<&RunFacts>, is_fit: bool) -> Page {
    let StudyReport { games, positions, .. } = report;
    let mut page = Page::new("Moves left: estimators against recorded games").paragraph(&format!(
        "{games} games, {positions} positions. All estimates and errors are in full moves of one side; the horizontal axes by game \
         progress count plies of both sides. Shaded: 95 % confidence by games."
    ));
    if let Some(facts) = facts {
        page = page.paragraph(&format!("Network: {}. Games: {}.", facts.network, facts.pgn.join(", ")));
    }
    page = page.heading("Overall").table(&show::overall(report)).heading("Through the game");
    for (_, svg, caption) in plots(report) {
        page = page.figure(&svg, caption);
    }
    page = page.heading("By group");
    for dimension in Dimension::GROUPED {
        page = page.table(&show::by_group(report, dimension));
    }
    if let Some(table) = show::clock(report) {
        page = page.heading("The clock").table(&table);
    }
    if let Some(table) = show::spread(report) {
        page = page.heading("The spread").table(&table);
    }
    if is_fit {
        page = page.heading("Fits").table(&show::fits(report));
    }
    page
}

/// All plots: a short name for files, the SVG, a caption.
pub(super) fn plots(report: &StudyReport) -> Vec<(&'static str, String, &'static str)> {
    let mut plots = vec![
        (
            "error-by-ply",
            by_ply(report, "Error by ply", "mean absolute error, full moves", |f| {
                (f.mae, f.ci.low, f.ci.high)
            })
            .y_from(0.0)
            .to_svg(),
            "Lower is better. No function of the ply alone can be below \"best by ply\" but by chance.",
        ),
        (
            "bias-by-ply",
            by_ply(report, "Bias by ply", "estimate − truth, full moves", |f| {
                (f.bias, f.bias_ci.low, f.bias_ci.high)
            })
            .to_svg(),
            "Above zero an estimator thinks that the game lasts longer than it does, and saves time; below zero it spends too much.",
        ),
        (
            "estimates-by-ply",
            estimates_by_ply(report),
            "What the estimators say on average, and what was really left.",
        ),
    ];
    for (name, dimension) in
        [("error-by-phase", Dimension::ByPhase), ("error-by-evaluation", Dimension::ByEvaluation)]
    {
        plots.push((
            name,
            bars(report, dimension),
            "Bars: mean absolute error; lines on them: 95 % confidence by games.",
        ));
    }
    plots.push((
        "error-by-termination",
        bars(report, Dimension::ByTermination),
        "How the game ended is known only afterwards: what cannot be foreseen.",
    ));
    if let Some(place) = report.names.iter().position(|name| name == "mle-mlh") {
        if report.joints[place].points().next().is_some() {
            plots.push((
                "mlh-against-truth",
                against_truth(report, place),
                "Each shade is a doubling or so of the positions; on the line the estimate is right.",
            ));
        }
    }
    plots.push(("errors", errors(report), "Left of zero the game lasted longer than estimated."));
    if !report.clocks.is_empty() {
        plots.push(("clock", course(report), "The rule is clock ÷ estimate for each move, without increment. A straight line to zero would be an even use of all the time."));
    }
    plots
}

fn of(report: &StudyReport, dimension: Dimension) -> Vec<&GroupFigures> {
    report.groups.iter().filter(|group| group.group.dimension == dimension).collect()
}

/// Lines with bands over the plies.
fn by_ply(report: &StudyReport, title: &str, y: &str, figure: impl Fn(&Figures) -> (f64, f64, f64)) -> Plot {
    let groups: Vec<_> =
        of(report, Dimension::ByPly).into_iter().filter(|group| group.positions >= FEWEST).collect();
    let mut plot = Plot::new(title, "plies played", y);
    for (place, name) in report.names.iter().enumerate() {
        let at = |group: &GroupFigures| f64::from(group.group.place) + HALF_STRETCH;
        let values: Vec<_> =
            groups.iter().filter_map(|group| group.figures[place].map(|f| (at(group), figure(&f)))).collect();
        let line: Vec<_> = values.iter().map(|&(x, (y, _, _))| (x, y)).collect();
        let band: Vec<_> = values.iter().map(|&(x, (_, low, high))| (x, low, high)).collect();
        plot = plot.band(name, &band).line(name, &line);
    }
    plot
}

fn estimates_by_ply(report: &StudyReport) -> String {
    let groups: Vec<_> =
        of(report, Dimension::ByPly).into_iter().filter(|group| group.positions >= FEWEST).collect();
    let mut plot = Plot::new("Mean estimate by ply", "plies played", "moves left, full moves").y_from(0.0);
    for (place, name) in report.names.iter().enumerate() {
        let estimate = |group: &&GroupFigures| {
            let f = group.figures[place]?;
            Some((f64::from(group.group.place) + HALF_STRETCH, f.mean_left + f.bias))
        };
        plot = plot.line(name, &groups.iter().filter_map(estimate).collect::<Vec<_>>());
    }
    let truth = |group: &&GroupFigures| {
        let f = group.figures.iter().flatten().next()?;
        Some((f64::from(group.group.place) + HALF_STRETCH, f.mean_left))
    };
    plot.scatter("really left", &groups.iter().filter_map(truth).collect::<Vec<_>>()).to_svg()
}

fn bars(report: &StudyReport, dimension: Dimension) -> String {
    let groups: Vec<_> =
        of(report, dimension).into_iter().filter(|group| group.positions >= FEWEST).collect();
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
    let points: Vec<_> =
        report.joints[place].points().map(|(estimate, truth, n)| (estimate, truth, n)).collect();
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
