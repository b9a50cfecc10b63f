//! Computes what a run has found from the rows of its iterations, and shows it: the table of the parameters, and the page with their
//! paths.

use serde::Serialize;

use super::parameter::{Assignment, Parameter, assignments};
use super::run::{IterationRow, TunePlan};
use crate::report::{Page, Plot, Table};

/// Most points of a plot.
const POINTS: usize = 400;

/// The findings of a run, or of what is done of it. Its fields are the keys of the JSON document.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TuneStudy {
    pub(crate) iterations: u64,
    pub(crate) planned_iterations: u64,
    pub(crate) games: u64,
    pub(crate) nodes: u64,
    pub(crate) draws: f64,
    pub(crate) parameters: Vec<ParameterStudy>,
    pub(crate) flags: String,
    /// The values found, as commands of UCI.
    #[serde(skip)]
    pub(crate) uci_lines: String,
    /// The values found, as `--a` and `--b` of `match` take them.
    pub(crate) list: String,
    /// The same for the values at the start.
    pub(crate) start_list: String,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct ParameterStudy {
    pub(crate) name: String,
    pub(crate) start: f64,
    pub(crate) step: f64,
    /// The value at the end, as it can be set.
    pub(crate) value: f64,
    /// The mean over the last quarter of the iterations.
    pub(crate) mean: f64,
    /// The standard deviation over the last quarter of the iterations.
    pub(crate) spread: f64,
    /// The standard deviation of where chance alone would have led from the start: what the parameter has moved means something
    /// only if it is a few times as much.
    pub(crate) noise: f64,
    /// What one step upwards is worth in Elo, over all values that were tried.
    pub(crate) step_elo: f64,
    /// Half the width of its interval of 95 %.
    pub(crate) step_elo_error: f64,
    /// Where the parameter stood after each iteration, and the noise up to there.
    #[serde(skip)]
    pub(crate) path: Vec<PathPoint>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PathPoint {
    pub(crate) value: f64,
    /// The standard deviation of what chance has added up to here.
    pub(crate) noise: f64,
}

impl TuneStudy {
    pub(crate) fn new(plan: &TunePlan, rows: &[IterationRow]) -> TuneStudy {
        let parameters: Vec<_> =
            (0..plan.parameters.len()).map(|index| ParameterStudy::new(plan, rows, index)).collect();
        let games = rows.len() as u64 * plan.games_of_iteration();
        let drawn = rows.iter().flat_map(|row| &row.half_points).filter(|&&points| points == 1).count();
        let value = |(parameter, found): (&Parameter, &ParameterStudy)| parameter.text(found.value);
        let found = assignments(plan.parameters.iter().zip(&parameters).map(|of| (of.0, value(of))));
        let start =
            assignments(plan.parameters.iter().map(|parameter| (parameter, parameter.start.to_string())));
        let join = |separator: &str, options: &[Assignment], entry: &dyn Fn(&Assignment) -> String| {
            options.iter().map(entry).collect::<Vec<_>>().join(separator)
        };
        let name_and_value = |Assignment { option, value }: &Assignment| format!("{}={value}", option.name);
        // A shell gives parentheses a meaning.
        let quote = |value: &str| if value.contains('(') { "'" } else { "" };
        let flag = |Assignment { option, value }: &Assignment| {
            format!("--{}={quote}{value}{quote}", option.flag, quote = quote(value))
        };
        let uci = |Assignment { option, value }: &Assignment| {
            format!("setoption name {} value {value}\n", option.name)
        };
        TuneStudy {
            iterations: rows.len() as u64,
            planned_iterations: plan.gains.iterations,
            games,
            nodes: rows.iter().map(|row| row.nodes).sum(),
            draws: drawn as f64 / games.max(1) as f64,
            flags: join(" ", &found, &flag),
            uci_lines: join("", &found, &uci),
            list: join(",", &found, &name_and_value),
            start_list: join(",", &start, &name_and_value),
            parameters,
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.iterations == self.planned_iterations
    }
}

impl ParameterStudy {
    fn new(plan: &TunePlan, rows: &[IterationRow], index: usize) -> ParameterStudy {
        let parameter = &plan.parameters[index];
        let mut variance = 0.0;
        let point = |row: &IterationRow| {
            // Signs are tossed independently of each other and of all else: if they meant nothing for the result, each step would
            // have the mean 0 and its own square as variance.
            let step = plan.gains.gain(row.iteration) * parameter.step * parameter.step
                / parameter.perturbation(plan.gains.perturbation(row.iteration));
            variance += (step * row.result as f64).powi(2);
            PathPoint { value: row.theta[index], noise: variance.sqrt() }
        };
        let path: Vec<PathPoint> = rows.iter().map(point).collect();
        let last = path.last().copied().unwrap_or(PathPoint { value: parameter.start, noise: 0.0 });
        let tail = &path[path.len() - path.len().div_ceil(4)..];
        let count = tail.len().max(1) as f64;
        let sum: f64 = tail.iter().map(|point| point.value).sum();
        let mean = if tail.is_empty() { parameter.start } else { sum / count };
        let squares: f64 = tail.iter().map(|point| (point.value - mean).powi(2)).sum();
        let (step_elo, step_elo_error) = step_elo(plan, rows, index);
        ParameterStudy {
            name: parameter.name.clone(),
            start: parameter.start,
            step: parameter.step,
            value: parameter.playable(last.value, 0.5),
            mean,
            spread: (squares / count).sqrt(),
            noise: last.noise,
            step_elo,
            step_elo_error,
            path,
        }
    }

    pub(crate) fn significance(&self) -> f64 {
        if self.noise > 0.0 { (self.value - self.start) / self.noise } else { 0.0 }
    }
}

/// Elo of a small difference in the share of points, near one half: 400 / ln 10 · 4.
const ELO_OF_POINTS: f64 = 694.87;

/// Returns the Elo of one step upwards and the half width of its interval of 95 %: the slope of the points of A over the distance
/// between A and B. All parameters vary at once and independently of each other, so that each has the games of all.
fn step_elo(plan: &TunePlan, rows: &[IterationRow], index: usize) -> (f64, f64) {
    let parameter = &plan.parameters[index];
    let (mut products, mut distances, mut variance) = (0.0, 0.0, 0.0);
    for row in rows {
        // What was played, which bounds may have cut.
        let distance = (row.a[index] - row.b[index]) / parameter.step;
        let product = distance * row.result as f64 / (2 * plan.games_of_iteration()) as f64;
        products += product;
        distances += distance * distance;
        variance += product * product;
    }
    if distances == 0.0 {
        return (0.0, 0.0);
    }
    (ELO_OF_POINTS * products / distances, ELO_OF_POINTS * 1.96 * variance.sqrt() / distances)
}

pub(crate) fn table(plan: &TunePlan, study: &TuneStudy) -> Table {
    let caption = format!(
        "After {} of {} iterations, {} games, {:.0} % of them draws; spread and chance are standard deviations",
        study.iterations,
        study.planned_iterations,
        study.games,
        100.0 * study.draws
    );
    let numbers = ["start", "step", "value", "mean of the last quarter", "spread there"];
    let numbers =
        [&numbers[..], &["moved", "by chance alone", "moved / chance", "Elo of a step up, 95 %"]].concat();
    let mut table = Table::of_columns(caption, &["option"], &numbers);
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
            format!("{:+.1} ± {:.1}", found.step_elo, found.step_elo_error),
        ]);
    }
    table
}

/// Returns the page: the table, the values to paste, the commands, the paths of all parameters together and of each.
pub(crate) fn page(plan: &TunePlan, study: &TuneStudy, run: &str, check: &str) -> Page {
    let mut page = Page::new("Tuning")
        .paragraph(
            "Values found by SPSA. A parameter that has moved less than about twice what chance alone does tells nothing: it may be \
             right where it was, or have had too few games, or a step too small. The spread says how much a value still wanders, \
             not how near the best one it is. The Elo of a step holds between the values that were tried.",
        )
        .table(&table(plan, study))
        .heading("To paste")
        .code(&study.flags)
        .code(&study.uci_lines)
        .paragraph("Whether they are stronger than the start, only a match tells:")
        .code(check)
        .paragraph("This run was made by:")
        .code(run)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Settings;
    use crate::lab::tuning::{Gains, TuneRun};

    /// Runs 400 pairs whose results `play` makes of the signs.
    fn study(seed: u64, mut play: impl FnMut(&mut fastrand::Rng, &[i8]) -> [u8; 2]) -> TuneStudy {
        let list = "CPuct=1.745:0.2,FpuValue=0.33:0.05";
        let parameters = Parameter::parse_list(list, &Settings::default()).unwrap();
        let gains = Gains { iterations: 400, r_end: 0.005 };
        let plan = TunePlan { parameters, gains, pairs: 1, lag: 5, seed };
        let mut run = TuneRun::new(plan.clone(), "id");
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut rows = Vec::new();
        while let Some(probe) = run.probe(run.done + 1) {
            let points = play(&mut rng, &probe.signs);
            rows.extend(run.apply(points.into(), 1));
        }
        TuneStudy::new(&plan, &rows)
    }

    #[test]
    fn what_chance_alone_moves_is_foreseen() {
        let runs = 200;
        let any = |rng: &mut fastrand::Rng, _: &[i8]| [rng.u8(0..=2), rng.u8(0..=2)];
        let moved: Vec<f64> = (0..runs).map(|seed| study(seed, any).parameters[0].significance()).collect();
        let mean = moved.iter().sum::<f64>() / runs as f64;
        let deviation = (moved.iter().map(|moved| moved.powi(2)).sum::<f64>() / runs as f64).sqrt();
        assert!(mean.abs() < 0.25 && (0.85..1.15).contains(&deviation), "{mean} ± {deviation}");
    }

    #[test]
    fn what_wins_stands_out() {
        // The first parameter decides one game in four, the second one none.
        let play = |rng: &mut fastrand::Rng, signs: &[i8]| match (rng.u8(0..4), signs[0]) {
            (0, 1) => [2, 1],
            (0, _) => [0, 1],
            _ => [rng.u8(0..=2), 1],
        };
        let found = study(3, play);
        let [first, second] = [0, 1].map(|index| found.parameters[index].significance());
        assert!(first > 4.0 && second.abs() < 3.0, "{first}, {second}");
        let [first, second] =
            [0, 1].map(|index| found.parameters[index].step_elo / found.parameters[index].step_elo_error);
        assert!(first > 1.5 && second.abs() < 1.5, "{first}, {second}");
        assert!((found.parameters[0].mean - found.parameters[0].value).abs() < 0.1);
        assert_eq!((found.iterations, found.games, found.nodes, found.is_whole()), (400, 800, 400, true));
        assert_eq!(found.start_list, "CPuct=1.745,FpuValue=0.33");
        assert!(
            found.uci_lines.starts_with("setoption name CPuct value 1.")
                || found.uci_lines.starts_with("setoption name CPuct value 2.")
        );
    }
}
