//! Computes what a run has found from the rows of its iterations, and shows it: the table of the parameters,
//! and the page with their paths.

use serde::Serialize;

use super::parameter::{Assignment, Parameter, assignments};
use super::run::{IterationRow, TunePlan};
use crate::report::{Origin, Page, Plot, Table};

/// A parameter that has moved less far, in deviations of what chance alone does, says nothing.
const MEANT: f64 = 2.0;
/// Most points of a plot.
const POINTS: usize = 400;

/// The findings of a run, or of what is done of it. Its fields are the keys of the JSON document.
#[derive(Clone, Debug, Serialize)]
pub struct TuneStudy {
    pub(crate) iterations: u64,
    pub(crate) planned_iterations: u64,
    pub(crate) games: u64,
    pub(crate) nodes: u64,
    pub(crate) draws: f64,
    pub(crate) parameters: Vec<ParameterStudy>,
    pub flags: String,
    /// The values found, as commands of UCI.
    #[serde(skip)]
    pub uci_lines: String,
    /// The values found, as `--a` and `--b` of `match` take them.
    pub list: String,
    /// The same for the values at the start.
    pub start_list: String,
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
    /// The standard deviation of where chance alone would have led from the start: what the parameter has
    /// moved means something only if it is a few times as much.
    pub(crate) noise: f64,
    /// What one step upwards is worth in Elo, over all values that were tried.
    pub(crate) step_elo: f64,
    /// Half the width of its interval of 95 %.
    pub(crate) step_elo_error: f64,
    /// In a run that moves nothing: what the values that it tried are worth.
    pub(crate) effects: Vec<Effect>,
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
    pub fn new(plan: &TunePlan, rows: &[IterationRow]) -> TuneStudy {
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

    pub fn is_whole(&self) -> bool {
        self.iterations == self.planned_iterations
    }
}

impl ParameterStudy {
    fn new(plan: &TunePlan, rows: &[IterationRow], index: usize) -> ParameterStudy {
        let parameter = &plan.parameters[index];
        let mut variance = 0.0;
        let point = |row: &IterationRow| {
            // Signs are tossed independently of each other and of all else: if they meant nothing for the
            // result, each step would have the mean 0 and its own square as variance.
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
        let steps = effects(plan, rows, index);
        let (step_elo, step_elo_error) = steps[0];
        let effect = |(choice, &(elo, elo_error)): (usize, &(f64, f64))| {
            if parameter.choices.is_empty() {
                let [base, value] = [-1.0, 1.0].map(|sign| {
                    parameter.text(parameter.playable(parameter.start + sign * parameter.step, 0.5))
                });
                return Effect { base, value, elo: 2.0 * elo, elo_error: 2.0 * elo_error };
            }
            let [base, value] = [0, choice + 1].map(|choice| parameter.text(choice as f64));
            Effect { base, value, elo, elo_error }
        };
        let effects = if plan.gains.only_measures() {
            steps.iter().enumerate().map(effect).collect()
        } else {
            Vec::new()
        };
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
            effects,
            path,
        }
    }

    pub(crate) fn significance(&self) -> f64 {
        if self.noise > 0.0 { (self.value - self.start) / self.noise } else { 0.0 }
    }
}

/// Elo of a small difference in the share of points, near one half: 400 / ln 10 · 4.
const ELO_OF_POINTS: f64 = 694.87;

/// What a value of a parameter is worth against another one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Effect {
    /// The value that it is compared with: the first one, or the lower one of numbers.
    pub(crate) base: String,
    pub(crate) value: String,
    pub(crate) elo: f64,
    /// Half the width of its interval of 95 %.
    pub(crate) elo_error: f64,
}

/// Returns the effects of the values of a parameter: for a number, of a step upwards.
///
/// The result of A is a sum of what its values are worth, less those of B. All parameters vary at once and
/// independently of each other, so that each has the games of all: the effects of one are found by least
/// squares without a look at the others. The intervals are those of White (1980), which hold whatever the
/// spread of results is.
fn effects(plan: &TunePlan, rows: &[IterationRow], index: usize) -> Vec<(f64, f64)> {
    let parameter = &plan.parameters[index];
    let size = parameter.choices.len().saturating_sub(1).max(1);
    let mut squares = vec![vec![0.0; size]; size];
    let mut variances = squares.clone();
    let mut products = vec![0.0; size];
    for row in rows {
        // What was played, which bounds may have cut.
        let (a, b) = (row.a[index], row.b[index]);
        let x: Vec<f64> = if parameter.choices.is_empty() {
            vec![(a - b) / parameter.step]
        } else {
            let is = |value: f64, choice: usize| f64::from(u8::from(value == (choice + 1) as f64));
            (0..size).map(|choice| is(a, choice) - is(b, choice)).collect()
        };
        let y = row.result as f64 / (2 * plan.games_of_iteration()) as f64;
        for i in 0..size {
            products[i] += x[i] * y;
            for j in 0..size {
                squares[i][j] += x[i] * x[j];
                variances[i][j] += x[i] * x[j] * y * y;
            }
        }
    }
    let Some(inverse) = inverse(squares) else { return vec![(0.0, 0.0); size] };
    let of_row = |row: &[f64], vector: &[f64]| row.iter().zip(vector).map(|(a, b)| a * b).sum::<f64>();
    let effect = |row: &Vec<f64>| {
        let spread: Vec<f64> = variances.iter().map(|of| of_row(of, row)).collect();
        (ELO_OF_POINTS * of_row(row, &products), ELO_OF_POINTS * 1.96 * of_row(row, &spread).sqrt())
    };
    inverse.iter().map(effect).collect()
}

/// Returns the inverse of a symmetric positive matrix, or `None` if it has none.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let unit = |i: usize| (0..size).map(|j| if i == j { 1.0 } else { 0.0 }).collect();
    let mut inverse: Vec<Vec<f64>> = (0..size).map(unit).collect();
    for pivot in 0..size {
        let scale = matrix[pivot][pivot];
        if scale < 1e-9 {
            return None;
        }
        for both in [&mut matrix, &mut inverse] {
            both[pivot].iter_mut().for_each(|entry| *entry /= scale);
        }
        for row in (0..size).filter(|&row| row != pivot) {
            let factor = matrix[row][pivot];
            for both in [&mut matrix, &mut inverse] {
                let subtracted = both[pivot].clone();
                both[row].iter_mut().zip(subtracted).for_each(|(entry, part)| *entry -= factor * part);
            }
        }
    }
    Some(inverse)
}

/// Returns the table of a run that moves nothing: what the values that it tried are worth.
fn table_of_effects(study: &TuneStudy) -> Table {
    let caption = format!(
        "After {} games, {:.0} % of them draws; all at once, each game answers every line",
        study.games,
        100.0 * study.draws
    );
    let mut table = Table::of_columns(caption, &["option", "value", "against"], &["Elo, 95 %"]);
    for found in &study.parameters {
        for Effect { base, value, elo, elo_error } in &found.effects {
            let elo = elo_text(*elo, *elo_error);
            table.row([found.name.clone(), value.clone(), base.clone(), elo]);
        }
    }
    table
}

/// Writes an effect with its error. Without any scatter of results, as where all games were drawn, nothing is
/// known of it.
fn elo_text(elo: f64, elo_error: f64) -> String {
    if elo_error > 0.0 { format!("{elo:+.1} ± {elo_error:.1}") } else { "–".into() }
}

pub fn table(plan: &TunePlan, study: &TuneStudy) -> Table {
    if plan.gains.only_measures() {
        return table_of_effects(study);
    }
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
            elo_text(found.step_elo, found.step_elo_error),
        ]);
    }
    table
}

/// What most readers want to know of a run: what stands out of chance most, if anything does.
fn key_figure(plan: &TunePlan, study: &TuneStudy) -> (String, String) {
    let games = study.games;
    let undecided = |what: &str| ("undecided".to_owned(), format!("After {games} games {what}."));
    if plan.gains.only_measures() {
        let effects =
            study.parameters.iter().flat_map(|found| found.effects.iter().map(move |effect| (found, effect)));
        let clear =
            effects.filter(|(_, effect)| effect.elo_error > 0.0 && effect.elo.abs() > effect.elo_error);
        let largest = clear.max_by(|(_, a), (_, b)| a.elo.abs().total_cmp(&b.elo.abs()));
        let Some((found, Effect { base, value, elo, elo_error })) = largest else {
            return undecided("no value is certain to be better than the one that it is compared with");
        };
        let sentence = format!(
            "is what {}={value} is worth against {base}, the largest difference that {games} games show.",
            found.name
        );
        return (format!("{elo:+.0} ± {elo_error:.0} Elo"), sentence);
    }
    let largest = study.parameters.iter().zip(&plan.parameters);
    let largest = largest.max_by(|(a, _), (b, _)| a.significance().abs().total_cmp(&b.significance().abs()));
    match largest.filter(|(found, _)| found.significance().abs() >= MEANT) {
        Some((found, parameter)) => (
            format!("{} {} → {}", found.name, parameter.text(found.start), parameter.text(found.value)),
            format!(
                "has moved {:.1} times as far as chance alone would have, the most of all, in {games} games.",
                found.significance().abs()
            ),
        ),
        None => undecided("no value has moved further than chance alone may have moved it"),
    }
}

/// Returns the page: the table, the values to paste, the paths of all parameters together and of each, and
/// how they were found.
pub fn page(plan: &TunePlan, study: &TuneStudy, origin: &Origin, check: &str) -> Page {
    let (figure, sentence) = key_figure(plan, study);
    if plan.gains.only_measures() {
        return Page::new("Comparison")
            .key_figure(&figure, &sentence)
            .paragraph(
                "All options vary at once and independently of each other, so that each line has all games. The Elo of a line \
                 is an average over the values of all other options.",
            )
            .table(&table(plan, study))
            .heading("How this was made")
            .origin(origin);
    }
    let mut page = Page::new("Tuning")
        .key_figure(&figure, &sentence)
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
        .heading("Paths");
    if study.parameters.len() > 1 {
        let mut plot = Plot::new("All parameters", "games", "moved from the start, steps");
        for found in &study.parameters {
            let line = points(plan, found, |point| (point.value - found.start) / found.step);
            plot = plot.line(&found.name, &line);
        }
        page = page.plot(&plot, "A step is the perturbation at the end of the run.");
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
        page = page.plot(&plot, "");
    }
    page.heading("How this was made").origin(origin)
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
    use crate::tuning::{Gains, TuneRun};
    use zeitnot_engine::engine::Settings;

    /// A run that moves nothing finds what each value is worth, whatever the others do. The second value of
    /// three gains a quarter of the games against the first, the third loses as much. A switch beside it is
    /// worth nothing.
    #[test]
    fn values_are_compared_with_the_first() {
        let list = "TimeManager=(mle-mlh)|(mle-legacy)|(mle-pieces),TwoFoldDraws=true|false,CPuct=1.7:0.2";
        let parameters = Parameter::parse_list(list, &Settings::default()).unwrap();
        let gains = Gains { iterations: 3000, r_end: 0.0 };
        let plan = TunePlan { parameters, gains, pairs: 1, lag: 5, seed: 1 };
        let mut run = TuneRun::new(plan.clone(), "id");
        let mut rng = fastrand::Rng::with_seed(7);
        let worth = [0.0, 0.1, -0.1];
        let mut rows = Vec::new();
        while let Some(probe) = run.probe(run.done + 1) {
            assert!(
                (probe.a[2] - 1.7).abs() > 0.199_9 && (probe.a[2] - 1.7).abs() < 0.200_1,
                "the same all along"
            );
            let expected = 0.5 + worth[probe.a[0] as usize] - worth[probe.b[0] as usize];
            let points = [(); 2].map(|()| if rng.f64() < expected { 2 } else { 0 });
            rows.extend(run.apply(points.into(), 1));
        }
        let study = TuneStudy::new(&plan, &rows);
        let effects: Vec<_> = study.parameters.iter().flat_map(|found| &found.effects).collect();
        let names: Vec<_> = effects.iter().map(|effect| [&*effect.value, &*effect.base]).collect();
        assert_eq!(
            names,
            [
                ["(mle-legacy)", "(mle-mlh)"],
                ["(mle-pieces)", "(mle-mlh)"],
                ["false", "true"],
                ["1.9000", "1.5000"]
            ]
        );
        for (effect, points) in effects.iter().zip([0.1, -0.1, 0.0, 0.0]) {
            let distance = (effect.elo - ELO_OF_POINTS * points) / effect.elo_error;
            assert!(distance.abs() < 1.5 && effect.elo_error < 15.0, "{effect:?}");
        }
        let shown = table(&plan, &study).to_string();
        assert!(shown.contains("Elo, 95 %") && !shown.contains("by chance alone"), "{shown}");
    }

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

    /// A regression: the table gave +0.0 ± 0.0.
    #[test]
    fn drawn_games_say_nothing() {
        let drawn = study(1, |_, _| [1, 1]);
        assert_eq!(elo_text(drawn.parameters[0].step_elo, drawn.parameters[0].step_elo_error), "–");
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
