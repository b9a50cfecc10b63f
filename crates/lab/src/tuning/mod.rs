//! Tuning: finds better values of numeric options by SPSA over games.
//!
//! Simultaneous perturbation stochastic approximation moves all parameters a little at once, each up or down
//! by the toss of a coin, lets the engine play against its own mirror image (each parameter moved the other
//! way), and goes a small step towards the winner. `parameter` says what is tuned. `run` has the formulas and
//! the state of a run, which depends on nothing but its plan and the results so far. [`play`] lets the games
//! of iterations be played by [`matches`], many at once. A file keeps a line of JSON for each finished
//! iteration, behind which a run that was stopped goes on. `study` computes what was found, and shows it. The
//! command `tune` calls this module.

mod parameter;
mod run;
mod tune_study;

pub use parameter::Parameter;
pub use run::{Gains, IterationRow, TunePlan, TuneRun};
pub use tune_study::{TuneStudy, page, table};

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;

use crate::LabError;
use crate::matches::{self, GameAssignment, MatchConfig, PlannedGame, Team};
use crate::rows::{JsonLines, make_folder};
use crate::runner::Next;
use parameter::{Assignment, assignments};
use zeitnot_engine::engine::{EngineError, EngineSetup};

const FILE_NAME: &str = "iterations.jsonl";

/// Opens or makes the file in `folder`, and applies the results that are there to `run`. Returns the rows
/// with the file. Those of another run are refused.
pub fn open_iterations(folder: &Path, run: &mut TuneRun) -> Result<(JsonLines, Vec<IterationRow>), LabError> {
    make_folder(folder)?;
    let path = folder.join(FILE_NAME);
    let mut rows = Vec::new();
    let file = JsonLines::resume(&path, |row: IterationRow| {
        let is_whole = row.half_points.len() as u64 == run.plan.games_of_iteration();
        // Numbers are computed anew from the results, so that nothing depends on how they were written.
        let again = run.apply(row.half_points, row.nodes).filter(|again| {
            let same = (&row.run, row.iteration, &row.names, &row.signs);
            is_whole && (&again.run, again.iteration, &again.names, &again.signs) == same
        });
        let what = "another run, with other parameters, games, seed or options";
        rows.push(again.ok_or_else(|| LabError::OtherRun { path: path.clone(), what })?);
        Ok::<_, LabError>(())
    })?;
    Ok((file, rows))
}

/// The games of a run: each pair has an opening of its own, and engines whose parameters are those of its
/// iteration.
struct TuneGames<'a> {
    /// The options that are not tuned, with network and tables.
    base: &'a EngineSetup,
    next: u64,
    /// The engines A and B of the iteration that begun last.
    engines: Option<(u64, [Team; 2])>,
}

impl TuneGames<'_> {
    fn next(&mut self, run: &TuneRun) -> Result<Next<PlannedGame>, LabError> {
        if self.next >= run.plan.games() {
            return Ok(Next::End);
        }
        let iteration = 1 + self.next / run.plan.games_of_iteration();
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

    fn engine(&self, run: &TuneRun, values: &[f64]) -> Result<Team, EngineError> {
        let mut settings = self.base.settings().clone();
        let parameters = run.plan.parameters.iter().zip(values);
        for Assignment { option, value } in assignments(parameters.map(|(p, &value)| (p, p.text(value)))) {
            settings.set(option.name, &value)?;
        }
        Ok(Team::Own(Arc::new(self.base.with_settings(settings)?)))
    }
}

/// Plays the games that are left of `run`. `base` has the options that are not tuned. `finished` gets the row
/// of each iteration, in order, and may fail.
pub fn play(
    config: &MatchConfig<'_>,
    run: TuneRun,
    base: &EngineSetup,
    stop: &AtomicBool,
    mut finished: impl FnMut(IterationRow) -> Result<(), LabError>,
) -> Result<(), LabError> {
    let games_of_iteration = run.plan.games_of_iteration();
    let mut games = TuneGames { base, next: run.done * games_of_iteration, engines: None };
    let run = Mutex::new(run);
    // A run is changed as a whole, or not at all.
    let run = || run.lock();
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
                let row = run().apply(points, std::mem::take(&mut nodes));
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
    use zeitnot_engine::engine::Settings;

    fn new_run(seed: u64, id: &str) -> TuneRun {
        let parameters = Parameter::parse_list("CPuct=1.745:0.2,FpuValue=.33:.05", &Settings::default());
        let gains = Gains { iterations: 9, r_end: 0.1 };
        TuneRun::new(TunePlan { parameters: parameters.unwrap(), gains, pairs: 1, lag: 2, seed }, id)
    }

    #[test]
    fn rows_of_other_runs_are_refused_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let mut run = new_run(1, "id");
        let (mut file, _) = open_iterations(folder.path(), &mut run).unwrap();
        (0..3).for_each(|_| file.add(&run.apply(vec![2, 2], 5).unwrap()).unwrap());
        let before = fs::read_to_string(&path).unwrap();
        let open =
            |seed, id| open_iterations(folder.path(), &mut new_run(seed, id)).map(|(_, rows)| rows.len());
        assert!(open(2, "id").unwrap_err().to_string().contains("holds another run"));
        assert!(open(1, "other").unwrap_err().to_string().contains("choose another --out"));
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
        fs::write(&path, format!("{before}{{\"run\":\"half written")).unwrap();
        assert_eq!(open(1, "id").unwrap(), 3);
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
        fs::write(&path, format!("{before}no row\n")).unwrap();
        let fault = open(1, "id").unwrap_err().to_string();
        assert!(fault.contains("line 4: expected"), "{fault}");
    }
}
