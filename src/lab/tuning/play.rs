//! Lets the games of iterations be played, many at once, by the machinery of matches.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::TuneError;
use super::file::IterationRow;
use super::parameter::{Assignment, assignments};
use super::run::TuneRun;
use crate::engine::{EngineError, EngineSetup};
use crate::lab::matches::{
    self, GameAssignment, GameRecord, GameSource, MatchConfig, MatchError, NextGame, PlannedGame, Side, Team,
};

/// The games of a run: each pair has an opening of its own, and engines whose parameters are those of its iteration.
#[derive(Debug)]
pub struct TuneGames<'a> {
    /// The options that are not tuned, with network and tables.
    base: &'a EngineSetup,
    /// The user wants the run to stop.
    stop: &'a AtomicBool,
    /// Threads that look for a game and the one that applies results take turns.
    state: Mutex<TuneState>,
}

#[derive(Debug)]
struct TuneState {
    run: TuneRun,
    /// The number of the game that begins next.
    next_game: u64,
    /// The engines A and B of the iteration that begun last.
    engines: Option<(u64, [Team; 2])>,
}

impl<'a> TuneGames<'a> {
    /// Returns the games that follow the iterations that are done in `run`.
    pub fn new(run: TuneRun, base: &'a EngineSetup, stop: &'a AtomicBool) -> TuneGames<'a> {
        let next_game = run.done() * run.plan().games_of_iteration();
        TuneGames { base, stop, state: Mutex::new(TuneState { run, next_game, engines: None }) }
    }

    fn state(&self) -> MutexGuard<'_, TuneState> {
        // A run is changed as a whole, or not at all.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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

impl GameSource for TuneGames<'_> {
    fn next(&self) -> Result<NextGame, MatchError> {
        let mut state = self.state();
        let TuneState { run, next_game, engines } = &mut *state;
        let game = *next_game;
        if game >= run.plan().games() {
            return Ok(NextGame::End);
        }
        let iteration = 1 + game / run.plan().games_of_iteration();
        let teams = match engines {
            Some((known, teams)) if *known == iteration => teams.clone(),
            _ => {
                let Some(probe) = run.probe(iteration) else { return Ok(NextGame::Later) };
                let teams = [self.engine(run, &probe.a)?, self.engine(run, &probe.b)?];
                engines.insert((iteration, teams)).1.clone()
            }
        };
        *next_game += 1;
        let white = if game.is_multiple_of(2) { Side::A } else { Side::B };
        let assignment = GameAssignment { game, pair: game / 2, white };
        Ok(NextGame::Begin(PlannedGame { place: game, assignment, teams }))
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Plays the games that are left of a run. `finished` gets the row of each iteration, in order, and may end the run.
///
/// # Errors
/// [`TuneError`] if an engine or its network fails, or the system starts no thread.
pub fn play(
    config: &MatchConfig<'_>,
    games: &TuneGames<'_>,
    id: &str,
    mut finished: impl FnMut(IterationRow) -> ControlFlow<()>,
) -> Result<(), TuneError> {
    let (first, games_of_iteration) = {
        let state = games.state();
        (state.next_game, state.run.plan().games_of_iteration())
    };
    let (mut half_points, mut nodes) = (Vec::new(), 0);
    matches::play(config, games, first, |game| {
        half_points.push(game.half_points_of_a());
        nodes += new_nodes(&game);
        if (half_points.len() as u64) < games_of_iteration {
            return ControlFlow::Continue(());
        }
        let points = std::mem::take(&mut half_points);
        let row = IterationRow::apply(&mut games.state().run, id, points, std::mem::take(&mut nodes));
        row.map_or(ControlFlow::Break(()), &mut finished)
    })?;
    Ok(())
}

fn new_nodes(game: &GameRecord) -> u64 {
    game.moves.iter().map(|played| played.new_nodes).sum()
}
