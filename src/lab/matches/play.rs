//! Threads that play many games at once and evaluate the positions of all of them together.
//!
//! Each thread has games and evaluators of its own: it lets every game gather the leaves of its mover's search, joins
//! them to one batch for each network, has that evaluated, and hands the results back. Games share nothing else, so that
//! none depends on which others run beside it. Finished games go out in the order of their numbers.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam::channel::{Sender, unbounded};

use super::game::{GameNeed, GameRecord, MatchRules, OngoingGame};
use super::game_source::{GameSource, NextGame, PlannedGame};
use super::openings::Openings;
use super::shared_eval_cache::SharedEvalCache;
use super::{MatchError, Team};
use crate::chess::Variant;
use crate::engine::EngineError;
use crate::network::{Backend, BackendError, EvalSlot};

/// The stack of a thread, bytes: lines of play can be thousands of plies long, and a descent recurses once per ply.
const STACK_BYTES: usize = 32 << 20;
/// The time that a thread without games waits before it asks for one again.
const ASK_AGAIN: Duration = Duration::from_millis(2);

/// The description of a match: the engines, what all games have in common, and the number of threads that play them.
#[derive(Debug)]
pub struct MatchConfig<'a> {
    /// The engines A and B.
    pub teams: [Team; 2],
    /// Notation and rules of castling.
    pub variant: Variant,
    /// The openings.
    pub openings: &'a Openings,
    /// The limits of the sides, and adjudication.
    pub rules: MatchRules,
    /// Threads, at least 1.
    pub threads: usize,
    /// Games at once, all threads together; at least one for each thread runs.
    pub concurrency: usize,
}

/// Plays the games of `source`, whose first one has the place `first`. `finished` gets them in order and may end the match; games
/// that are under way are then given up.
///
/// # Errors
/// [`MatchError`] if an engine or a network fails, or the system starts no thread.
pub fn play(
    config: &MatchConfig<'_>,
    source: &dyn GameSource,
    first: u64,
    mut finished: impl FnMut(GameRecord) -> ControlFlow<()>,
) -> Result<(), MatchError> {
    let state = Shared { source, stop: AtomicBool::new(false) };
    let (sender, records) = unbounded();
    std::thread::scope(|scope| {
        let mut games_left = config.concurrency.max(1);
        for index in 0..config.threads.max(1) {
            let size = games_left.div_ceil(config.threads.max(1) - index);
            if size == 0 {
                break;
            }
            games_left -= size;
            let (sender, state) = (sender.clone(), &state);
            let thread = std::thread::Builder::new().name(format!("match-{index}")).stack_size(STACK_BYTES);
            // A thread that cannot be had leaves its games to the others; the first one is needed.
            let spawned = thread.spawn_scoped(scope, move || play_batch(config, state, size, &sender));
            if let (Err(error), 0) = (spawned, index) {
                return Err(MatchError::Thread(error));
            }
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut next = first;
        let mut outcome = Ok(());
        for message in records {
            match message {
                Ok((place, record)) => drop(waiting.insert(place, record)),
                Err(error) => outcome = Err(error),
            }
            while let Some(record) = waiting.remove(&next).filter(|_| !state.stop.load(Ordering::Relaxed)) {
                next += 1;
                if finished(record).is_break() {
                    state.stop.store(true, Ordering::Relaxed);
                }
            }
        }
        outcome
    })
}

/// The state that all threads share.
struct Shared<'a> {
    source: &'a dyn GameSource,
    stop: AtomicBool,
}

impl Shared<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.source.is_stopped()
    }
}

/// A place in the schedule with its finished game, or the reason why no more games can be played.
type WorkerMessage = Result<(u64, GameRecord), MatchError>;

/// Plays games on this thread until there are no more, `size` at once.
fn play_batch(config: &MatchConfig<'_>, state: &Shared<'_>, size: usize, sender: &Sender<WorkerMessage>) {
    let played = catch_unwind(AssertUnwindSafe(|| GameBatch::new(config, size)?.play(state, sender)));
    if let Err(error) = played.unwrap_or(Err(MatchError::Panic)) {
        state.stop.store(true, Ordering::Relaxed);
        // The receiver outlives the threads.
        let _ = sender.send(Err(error));
    }
}

/// The networks of a thread; both engines may have the same one, and engines of others have none here.
struct Networks {
    caches: Vec<SharedEvalCache>,
    /// The indices of the networks of A and B; `None` for engines of others.
    of_team: [Option<usize>; 2],
}

impl Networks {
    fn new(teams: &[Team; 2]) -> Result<Networks, BackendError> {
        let mut backends: Vec<&Arc<dyn Backend>> = Vec::new();
        let of_team = teams.each_ref().map(|team| {
            let Team::Own(setup) = team else { return None };
            let known = backends.iter().position(|known| Arc::ptr_eq(known, setup.backend()));
            Some(known.unwrap_or_else(|| {
                backends.push(setup.backend());
                backends.len() - 1
            }))
        });
        let cache = |backend: &Arc<dyn Backend>| {
            Ok::<_, BackendError>(SharedEvalCache::new(backend.evaluator()?, backend.info().clone()))
        };
        Ok(Networks { caches: backends.into_iter().map(cache).collect::<Result<_, _>>()?, of_team })
    }
}

/// The games of one thread.
struct GameBatch<'a> {
    config: &'a MatchConfig<'a>,
    /// Games at once.
    size: usize,
    /// Games under way with their places in the schedule.
    games: Vec<(u64, OngoingGame)>,
    networks: Networks,
    /// Positions of all games that wait for a network; reused, grows to the largest batch.
    slots: Vec<EvalSlot>,
}

impl<'a> GameBatch<'a> {
    fn new(config: &'a MatchConfig<'a>, size: usize) -> Result<GameBatch<'a>, MatchError> {
        let networks = Networks::new(&config.teams)?;
        Ok(GameBatch { config, size, games: Vec::new(), networks, slots: Vec::new() })
    }

    fn play(&mut self, state: &Shared<'_>, sender: &Sender<WorkerMessage>) -> Result<(), MatchError> {
        while !state.is_stopped() {
            let is_at_end = self.fill(state.source)?;
            if self.games.is_empty() {
                if is_at_end {
                    break;
                }
                // Other threads play the games that the next one waits for.
                std::thread::sleep(ASK_AGAIN);
                continue;
            }
            let waiting = self.gather(sender)?;
            for network in 0..self.networks.caches.len() {
                self.evaluate(network, &waiting)?;
            }
        }
        Ok(())
    }

    /// Begins games until the batch is full or none can begin now. Returns true if there are no more.
    fn fill(&mut self, source: &dyn GameSource) -> Result<bool, MatchError> {
        while self.games.len() < self.size {
            let PlannedGame { place, assignment, teams } = match source.next()? {
                NextGame::Begin(game) => game,
                NextGame::Later => return Ok(false),
                NextGame::End => return Ok(true),
            };
            let opening = self.config.openings.of_pair(assignment.pair);
            let history = opening.history(self.config.variant).map_err(EngineError::from)?;
            let game = OngoingGame::new(assignment, history, &teams, &self.config.rules)?;
            self.games.push((place, game));
        }
        Ok(false)
    }

    /// Lets every game go on until it waits for evaluations; those that end leave. Returns how many positions of each game
    /// wait, in the order of the games.
    fn gather(&mut self, sender: &Sender<WorkerMessage>) -> Result<Vec<usize>, MatchError> {
        let mut waiting = Vec::with_capacity(self.games.len());
        while let Some((_, game)) = self.games.get_mut(waiting.len()) {
            match game.advance(&self.config.rules)? {
                GameNeed::Evaluation(positions) => waiting.push(positions),
                GameNeed::Nothing(end) => {
                    let (place, game) = self.games.remove(waiting.len());
                    // The receiver outlives the threads.
                    let _ = sender.send(Ok((place, game.into_record(end))));
                }
            }
        }
        Ok(waiting)
    }

    /// Evaluates all positions that wait for `network`.
    fn evaluate(&mut self, network: usize, waiting: &[usize]) -> Result<(), MatchError> {
        let of_team = &self.networks.of_team;
        let games = self.games.iter_mut().map(|(_, game)| game).zip(waiting);
        let mut games: Vec<_> =
            games.filter(|(game, _)| of_team[game.mover().index()] == Some(network)).collect();
        let positions = games.iter().map(|(_, positions)| **positions).sum();
        if self.slots.len() < positions {
            self.slots.resize_with(positions, EvalSlot::default);
        }
        let slots = &mut self.slots[..positions];
        swap_slots(&mut games, slots);
        self.networks.caches[network].evaluate(slots)?;
        swap_slots(&mut games, slots);
        games.iter_mut().for_each(|(game, _)| game.evaluated());
        Ok(())
    }
}

/// Exchanges the waiting positions of all `games` for `slots`.
fn swap_slots(games: &mut [(&mut OngoingGame, &usize)], slots: &mut [EvalSlot]) {
    let mut rest = slots;
    for (game, positions) in games {
        let (own, others) = rest.split_at_mut(**positions);
        game.swap_slots(own);
        rest = others;
    }
}
