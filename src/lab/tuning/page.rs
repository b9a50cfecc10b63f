//! The presentation of a run: the table of its parameters, and the page with their paths.

use super::run::TunePlan;
use super::study::{ParameterStudy, PathPoint, TuneStudy};
use crate::report::{Align, Page, Plot, Table};

/// Most points of a plot.
const POINTS: usize = 400;

/// The commands that a page shows.
#[derive(Clone, Copy, Debug)]
pub struct TuneCommands<'a> {
    /// The one that tunes.
    pub run: &'a str,
    /// One that plays a match between what was found and the start.
    pub check: &'a str,
}

/// Returns the table of what was found, with a row for each parameter.
pub fn table(plan: &TunePlan, study: &TuneStudy) -> Table {
    use Align::{Left, Right};
    let columns = [
        ("option", Left),
        ("start", Right),
        ("step", Right),
        ("value", Right),
        ("mean of the last quarter", Right),
        ("spread there", Right),
        ("moved", Right),
        ("by chance alone", Right),
        ("moved / chance", Right),
    ];
    let caption = format!(
        "After {} of {} iterations, {} games, {:.0} % of them draws; spread and chance are standard deviations",
        study.iterations,
        study.planned_iterations,
        study.games,
        100.0 * study.draws
    );
    let mut table = Table::new(caption, &columns);
    for (parameter, found) in plan.parameters.iter().zip(&study.parameters) {
        let text = |value| parameter.text(value);
        table.row([
            found.name.clone(),
            text(found.start),
            text(found.step),
            text(found.value),
            text(found.mean),
            text(found.spread),
            text(found.value - found.start),
            format!("±{}", text(found.noise)),
            format!("{:+.1}", found.significance()),
        ]);
    }
    table
}

/// Returns the page: the table, the values to paste, the commands, the paths of all parameters together and of each.
pub fn page(plan: &TunePlan, study: &TuneStudy, commands: TuneCommands<'_>) -> Page {
    let mut page = Page::new("Tuning")
        .paragraph(
            "Values found by SPSA. A parameter that has moved less than about twice what chance alone does tells nothing: it may be \
             right where it was, or have had too few games, or a step too small. The spread says how much a value still wanders, \
             not how near the best one it is.",
        )
        .table(&table(plan, study))
        .heading("To paste")
        .code(&study.flags)
        .code(&study.uci_lines)
        .paragraph("Whether they are stronger than the start, only a match tells:")
        .code(commands.check)
        .paragraph("This run was made by:")
        .code(commands.run)
        .heading("Paths");
    if study.parameters.len() > 1 {
        let mut plot = Plot::new("All parameters", "games", "moved from the start, steps");
        for found in &study.parameters {
            let line = points(plan, found, |point| (point.value - found.start) / found.step);
            plot = plot.line(&found.name, &line);
        }
        page = page.figure(&plot.to_svg(), "A step is the perturbation at the end of the run.");
    }
    for found in &study.parameters {
        let (path, noise) =
            (points(plan, found, |point| point.value), points(plan, found, |point| point.noise));
        let band: Vec<_> = noise
            .iter()
            .map(|&(x, noise)| (x, found.start - 2.0 * noise, found.start + 2.0 * noise))
            .collect();
        let plot = Plot::new(&found.name, "games", &found.name)
            .band("where chance alone leads, 95 %", &band)
            .line(&found.name, &path);
        page = page.figure(&plot.to_svg(), "");
    }
    page
}

/// Returns some of the points of a path, the first and the last among them, by games.
fn points(plan: &TunePlan, found: &ParameterStudy, value: impl Fn(&PathPoint) -> f64) -> Vec<(f64, f64)> {
    let start = PathPoint { value: found.start, noise: 0.0 };
    let last = found.path.len();
    let step = last.div_ceil(POINTS).max(1);
    let games = |iteration: usize| iteration as f64 * plan.games_of_iteration() as f64;
    let all = std::iter::once(&start).chain(&found.path).enumerate();
    all.filter(|(iteration, _)| iteration % step == 0 || *iteration == last)
        .map(|(iteration, point)| (games(iteration), value(point)))
        .collect()
}
