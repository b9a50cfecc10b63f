//! Lets the games of iterations be played, many at once, and keeps a line of JSON for each finished iteration. A run that was stopped
//! goes on behind the last whole one.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::parameter::{Assignment, assignments};
use super::run::{Iteration, TuneRun};
use crate::engine::{EngineError, EngineSetup};
use crate::lab::LabError;
use crate::lab::matches::{self, GameAssignment, MatchConfig, PlannedGame, Team};
use crate::lab::rows::{JsonLines, make_folder};
use crate::lab::runner::Next;
use crate::version::VERSION;

/// The name of the file in the folder of a run.
const FILE_NAME: &str = "iterations.jsonl";

/// A finished iteration as it stands in the file. Lists have an entry for each parameter.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct IterationRow {
    /// The run that it belongs to: a hash over all that its games depend on.
    pub(crate) run: String,
    /// Its number, from 1.
    pub(crate) iteration: u64,
    /// The parameters.
    pub(crate) names: Vec<String>,
    /// +1 where A has the higher value, −1 where B has it.
    pub(crate) signs: Vec<i8>,
    /// The values of A.
    pub(crate) a: Vec<f64>,
    /// The values of B.
    pub(crate) b: Vec<f64>,
    /// The half points of A in each game; the first of two of the same opening with White.
    pub(crate) half_points: Vec<u8>,
    /// Wins less losses of A.
    pub(crate) result: i64,
    /// Where the parameters stand after it.
    pub(crate) theta: Vec<f64>,
    /// New nodes that its games took.
    pub(crate) nodes: u64,
    /// The version of the program that played them.
    pub(crate) version: String,
}

impl IterationRow {
    /// Applies the half points of A in the games of the next iteration to `run`. Returns `None` if that is over.
    pub(crate) fn apply(
        run: &mut TuneRun,
        id: &str,
        half_points: Vec<u8>,
        nodes: u64,
    ) -> Option<IterationRow> {
        let result = half_points.iter().map(|&points| i64::from(points) - 1).sum();
        let Iteration { probe, values, .. } = run.apply(result)?;
        let names = run.plan().parameters.iter().map(|parameter| parameter.name.clone()).collect();
        let (run, iteration) = (id.to_owned(), probe.iteration);
        let (signs, a, b, theta) = (probe.signs, probe.a, probe.b, values);
        let version = VERSION.to_owned();
        Some(IterationRow { run, iteration, names, signs, a, b, half_points, result, theta, nodes, version })
    }
}

/// The file of a run, open to be continued.
#[derive(Debug)]
pub(crate) struct IterationFile(JsonLines);

impl IterationFile {
    /// Opens or makes the file in `folder`, and applies the results that are there to `run`. Returns the rows with the file. Rows of
    /// another run are refused.
    pub(crate) fn open(
        folder: &Path,
        run: &mut TuneRun,
        id: &str,
    ) -> Result<(IterationFile, Vec<IterationRow>), LabError> {
        make_folder(folder)?;
        let path = folder.join(FILE_NAME);
        let mut rows = Vec::new();
        let file = JsonLines::resume(&path, |row: IterationRow| {
            // Numbers are computed anew from the results, so that nothing depends on how they were written.
            let again = IterationRow::apply(run, id, row.half_points.clone(), row.nodes);
            let is_same = |again: &IterationRow| {
                let games = run.plan().games_of_iteration();
                (&again.run, again.iteration, &again.names, &again.signs)
                    == (&row.run, row.iteration, &row.names, &row.signs)
                    && row.half_points.len() as u64 == games
            };
            let what = "another run, with other parameters, games, seed or options";
            rows.push(again.filter(is_same).ok_or_else(|| LabError::OtherRun { path: path.clone(), what })?);
            Ok::<_, LabError>(())
        })?;
        Ok((IterationFile(file), rows))
    }

    /// Adds a row, which then survives the end of the program.
    pub(crate) fn add(&mut self, row: &IterationRow) -> Result<(), LabError> {
        Ok(self.0.add(row)?)
    }
}

/// The games of a run: each pair has an opening of its own, and engines whose parameters are those of its iteration.
struct TuneGames<'a> {
    /// The options that are not tuned, with network and tables.
    base: &'a EngineSetup,
    /// The number of the game that begins next.
    next: u64,
    /// The engines A and B of the iteration that begun last.
    engines: Option<(u64, [Team; 2])>,
}

impl TuneGames<'_> {
    /// Returns the next game, if the run knows the values that it tries.
    fn next(&mut self, run: &TuneRun) -> Result<Next<PlannedGame>, LabError> {
        if self.next >= run.plan().games() {
            return Ok(Next::End);
        }
        let iteration = 1 + self.next / run.plan().games_of_iteration();
        let teams = match &self.engines {
            Some((known, teams)) if *known == iteration => teams.clone(),
            _ => {
                let Some(probe) = run.probe(iteration) else { return Ok(Next::Later) };
                let teams = [self.engine(run, &probe.a)?, self.engine(run, &probe.b)?];
                self.engines.insert((iteration, teams)).1.clone()
            }
        };
        self.next += 1;
        Ok(Next::Job(PlannedGame { assignment: GameAssignment::of(self.next - 1), teams }))
    }

    /// Returns an engine with these values of the parameters.
    fn engine(&self, run: &TuneRun, values: &[f64]) -> Result<Team, EngineError> {
        let mut settings = self.base.settings().clone();
        let parameters = run.plan().parameters.iter().zip(values);
        for Assignment { option, value } in assignments(parameters.map(|(p, &value)| (p, p.text(value)))) {
            settings.set(option.name, &value)?;
        }
        Ok(Team::Own(Arc::new(self.base.with_settings(settings)?)))
    }
}

/// Plays the games that are left of the run `id`. `base` has the options that are not tuned. `finished` gets the row of each iteration,
/// in order, and may fail.
pub(crate) fn play(
    config: &MatchConfig<'_>,
    run: TuneRun,
    base: &EngineSetup,
    id: &str,
    stop: &AtomicBool,
    mut finished: impl FnMut(IterationRow) -> Result<(), LabError>,
) -> Result<(), LabError> {
    let games_of_iteration = run.plan().games_of_iteration();
    let mut games = TuneGames { base, next: run.done() * games_of_iteration, engines: None };
    let run = Mutex::new(run);
    // A run is changed as a whole, or not at all.
    let run = || run.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut half_points, mut nodes) = (Vec::new(), 0);
    matches::play(
        config,
        stop,
        || games.next(&run()),
        |game| {
            half_points.push(game.half_points_of_a());
            nodes += game.moves.iter().map(|played| played.new_nodes).sum::<u64>();
            if half_points.len() as u64 == games_of_iteration {
                let points = std::mem::take(&mut half_points);
                let row = IterationRow::apply(&mut run(), id, points, std::mem::take(&mut nodes));
                row.map_or(Ok(()), &mut finished)?;
            }
            Ok(ControlFlow::Continue(()))
        },
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::engine::Settings;
    use crate::lab::tuning::{Gains, Parameter, TunePlan};

    fn new_run(seed: u64) -> TuneRun {
        let parameters = Parameter::parse_list("CPuct=1.745:0.2,FpuValue=.33:.05", &Settings::default());
        let gains = Gains { iterations: 9, r_end: 0.1 };
        TuneRun::new(TunePlan { parameters: parameters.unwrap(), gains, pairs: 1, lag: 2, seed })
    }

    /// Goes on for `iterations` in `folder`, whose results depend on their number.
    fn go_on(folder: &Path, iterations: u64) {
        let mut run = new_run(1);
        let (mut file, rows) = IterationFile::open(folder, &mut run, "id").unwrap();
        assert_eq!(run.done(), rows.len() as u64);
        for _ in 0..iterations {
            let points = vec![(run.done() % 3) as u8, 2];
            file.add(&IterationRow::apply(&mut run, "id", points, 5).unwrap()).unwrap();
        }
    }

    #[test]
    fn a_run_that_was_killed_goes_on_as_if_nothing_had_happened() {
        let folder = tempfile::tempdir().unwrap();
        let [whole, parts] = ["whole", "parts"].map(|name| folder.path().join(name));
        go_on(&whole, 9);
        go_on(&parts, 5);
        let path = parts.join(FILE_NAME);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 20]).unwrap();
        go_on(&parts, 5);
        assert_eq!(fs::read_to_string(&path).unwrap(), fs::read_to_string(whole.join(FILE_NAME)).unwrap());
    }

    #[test]
    fn rows_of_others_are_refused_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        go_on(folder.path(), 3);
        let path = folder.path().join(FILE_NAME);
        let before = fs::read_to_string(&path).unwrap();
        let open =
            |seed, id| IterationFile::open(folder.path(), &mut new_run(seed), id).unwrap_err().to_string();
        assert!(open(2, "id").contains("holds another run"));
        assert!(open(1, "other").contains("choose another --out"));
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
        fs::write(&path, format!("{before}no row\n")).unwrap();
        assert!(open(1, "id").contains("line 4: expected"), "{}", open(1, "id"));
    }
}
