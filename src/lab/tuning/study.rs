//! Computes what a run has found from the rows of its iterations.

use serde::Serialize;

use super::file::IterationRow;
use super::parameter::Parameter;
use super::run::TunePlan;

/// The findings of a run, or of what is done of it. Its fields are the keys of the JSON document.
#[derive(Clone, Debug, Serialize)]
pub struct TuneStudy {
    /// The iterations that are done.
    pub iterations: u64,
    /// The iterations of the whole run.
    pub planned_iterations: u64,
    /// The games that are done.
    pub games: u64,
    /// The new nodes of all games.
    pub nodes: u64,
    /// The part of the games that were drawn.
    pub draws: f64,
    /// The parameters in the order in which they were named.
    pub parameters: Vec<ParameterStudy>,
    /// The values found, as flags of the command line.
    pub flags: String,
    /// The values found, as `--a` and `--b` of `match` take them.
    pub list: String,
    /// The same for the values at the start.
    pub start_list: String,
}

/// The findings on one parameter.
#[derive(Clone, Debug, Serialize)]
pub struct ParameterStudy {
    /// The option.
    pub name: &'static str,
    /// Where the run began.
    pub start: f64,
    /// The perturbation at the end.
    pub step: f64,
    /// The value at the end, as it can be set.
    pub value: f64,
    /// The mean over the last quarter of the iterations.
    pub mean: f64,
    /// The standard deviation over the last quarter of the iterations.
    pub spread: f64,
    /// The standard deviation of where chance alone would have led from the start: what the parameter has moved means something
    /// only if it is a few times as much.
    pub noise: f64,
    /// Where the parameter stood after each iteration, and the noise up to there.
    #[serde(skip)]
    pub path: Vec<PathPoint>,
}

/// A point of a parameter's path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathPoint {
    /// The value.
    pub value: f64,
    /// The standard deviation of what chance has added up to here.
    pub noise: f64,
}

impl TuneStudy {
    /// Computes the findings of the iterations that are done.
    pub fn new(plan: &TunePlan, rows: &[IterationRow]) -> TuneStudy {
        let parameters: Vec<_> =
            (0..plan.parameters.len()).map(|index| ParameterStudy::new(plan, rows, index)).collect();
        let games = rows.len() as u64 * plan.games_of_iteration();
        let drawn = rows.iter().flat_map(|row| &row.half_points).filter(|&&points| points == 1).count();
        let join = |separator: &str, entry: &dyn Fn(&Parameter, &ParameterStudy) -> String| {
            let entries = plan.parameters.iter().zip(&parameters);
            entries.map(|(parameter, found)| entry(parameter, found)).collect::<Vec<_>>().join(separator)
        };
        let flag = |parameter: &Parameter, found: &ParameterStudy| {
            format!("--{}={}", parameter.flag, parameter.text(found.value))
        };
        let value = |parameter: &Parameter, found: &ParameterStudy| {
            format!("{}={}", parameter.name, parameter.text(found.value))
        };
        let start =
            |parameter: &Parameter, _: &ParameterStudy| format!("{}={}", parameter.name, parameter.start);
        TuneStudy {
            iterations: rows.len() as u64,
            planned_iterations: plan.gains.iterations,
            games,
            nodes: rows.iter().map(|row| row.nodes).sum(),
            draws: drawn as f64 / games.max(1) as f64,
            flags: join(" ", &flag),
            list: join(",", &value),
            start_list: join(",", &start),
            parameters,
        }
    }

    /// Says whether the run is at its end.
    pub fn is_whole(&self) -> bool {
        self.iterations == self.planned_iterations
    }

    /// Returns the values found as commands of UCI.
    pub fn uci_lines(&self) -> String {
        let entries = self.list.split(',').filter_map(|entry| entry.split_once('='));
        entries.map(|(name, value)| format!("setoption name {name} value {value}\n")).collect()
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
        ParameterStudy {
            name: parameter.name,
            start: parameter.start,
            step: parameter.step,
            value: parameter.playable(last.value, 0.5),
            mean,
            spread: (squares / count).sqrt(),
            noise: last.noise,
            path,
        }
    }

    /// Returns how far the parameter has moved from its start, in standard deviations of what chance alone does.
    pub fn significance(&self) -> f64 {
        if self.noise > 0.0 { (self.value - self.start) / self.noise } else { 0.0 }
    }
}
