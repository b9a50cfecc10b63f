//! Plays many games at once on each thread, and evaluates their positions together.
//!
//! A thread joins the leaves of every game's search to one batch per network, evaluates what
//! [`RememberingNetwork`] does not know, and returns the results. Games share nothing else, so that none
//! depends on the others.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nohash_hasher::BuildNoHashHasher;

use super::Team;
use super::game::{GameRecord, MatchRules, OngoingGame, PlannedGame, Termination};
use super::openings::Openings;
use crate::error::LabError;
use crate::runner::{self, Jobs};
use zeitnot_engine::chance::GOLDEN;
use zeitnot_engine::chess::Variant;
use zeitnot_engine::engine::{EngineError, SharedBatch};
use zeitnot_engine::network::{Backend, BackendError, EvalSlot, Evaluator, Value};

#[derive(Debug)]
pub struct MatchConfig<'a> {
    pub variant: Variant,
    pub openings: &'a Openings,
    pub rules: MatchRules,
    pub threads: usize,
    pub concurrency: usize,
}

/// `finished` gets the games in order and may end the match.
pub fn play(
    config: &MatchConfig<'_>,
    stop: &AtomicBool,
    next: impl FnMut() -> Result<Option<PlannedGame>, LabError> + Send,
    mut finished: impl FnMut(GameRecord) -> Result<ControlFlow<()>, LabError>,
) -> Result<(), LabError> {
    let concurrency = config.concurrency.max(1);
    let threads = config.threads.clamp(1, concurrency);
    let play = |index: usize, jobs: &Jobs<'_, PlannedGame, GameRecord>| {
        let size = concurrency / threads + usize::from(index < concurrency % threads);
        GameBatch {
            config,
            size,
            games: Vec::new(),
            networks: Vec::new(),
            batch: SharedBatch::default(),
        }
        .play(jobs)
    };
    let mut failures = 0;
    let finished = |game: GameRecord| {
        let has_failed = game.end.termination == Termination::Disconnection;
        failures += u64::from(has_failed);
        let next = finished(game)?;
        if has_failed && failures > config.rules.recover {
            return Err(LabError::TooManyFailures(failures));
        }
        Ok(next)
    };
    runner::run(threads, stop, next, play, finished)
}

struct GameBatch<'a> {
    config: &'a MatchConfig<'a>,
    size: usize,
    games: Vec<(u64, OngoingGame)>,
    /// Engines may share one.
    networks: Vec<RememberingNetwork>,
    batch: SharedBatch,
}

impl GameBatch<'_> {
    fn play(&mut self, jobs: &Jobs<'_, PlannedGame, GameRecord>) -> Result<(), LabError> {
        while !jobs.are_stopped() {
            self.fill(jobs)?;
            if self.games.is_empty() {
                break;
            }
            self.gather(jobs)?;
            for network in 0..self.networks.len() {
                self.evaluate(network)?;
            }
        }
        Ok(())
    }

    fn fill(&mut self, jobs: &Jobs<'_, PlannedGame, GameRecord>) -> Result<(), LabError> {
        while self.games.len() < self.size {
            let Some((place, game)) = jobs.take()? else { break };
            for contender in &game.contenders {
                if let Team::Own(setup) = &contender.team {
                    let backend = setup.backend();
                    let mut networks = self.networks.iter();
                    if !networks.any(|known| Arc::ptr_eq(&known.backend, backend)) {
                        self.networks.push(RememberingNetwork::new(backend.clone())?);
                    }
                }
            }
            let opening = self.config.openings.at(game.assignment.opening());
            let history = opening.history(self.config.variant).map_err(EngineError::from)?;
            let game = OngoingGame::new(game, history, &self.config.rules)?;
            self.games.push((place, game));
        }
        Ok(())
    }

    /// Advances every game until it waits for evaluations. Finished games leave.
    fn gather(&mut self, jobs: &Jobs<'_, PlannedGame, GameRecord>) -> Result<(), LabError> {
        let mut index = 0;
        while let Some((_, game)) = self.games.get_mut(index) {
            match game.advance(&self.config.rules)? {
                None => index += 1,
                Some(end) => {
                    let (place, game) = self.games.remove(index);
                    // Ctrl-C has ended an engine: the game begins anew another time.
                    if !jobs.are_stopped() || end.termination != Termination::Disconnection {
                        jobs.deliver(place, game.into_record(end));
                    }
                }
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, network: usize) -> Result<(), LabError> {
        let network = &mut self.networks[network];
        let waiting = self.games.iter_mut().filter_map(|(_, game)| game.own_player());
        let own = waiting.filter(|player| Arc::ptr_eq(player.setup().backend(), &network.backend));
        let mut players: Vec<_> = own.collect();
        Ok(self
            .batch
            .evaluate(&mut players, |slots| network.evaluate(slots))?)
    }
}

const CAPACITY: usize = 200_000;

/// A network that remembers its answers to all games of a thread, as both sides search much the same
/// positions. It forgets all when there are too many.
///
/// Games do not depend on each other: the same input gets the same answer. A search's own cache answers by
/// position, which leaves a part of the input out.
struct RememberingNetwork {
    backend: Arc<dyn Backend>,
    evaluator: Box<dyn Evaluator>,
    max_batch: usize,
    /// The network's outputs by the position's key.
    known: HashMap<u64, (Value, Box<[f32]>), BuildNoHashHasher<u64>>,
}

impl RememberingNetwork {
    fn new(backend: Arc<dyn Backend>) -> Result<RememberingNetwork, BackendError> {
        Ok(RememberingNetwork {
            evaluator: backend.evaluator()?,
            max_batch: backend.facts().max_batch.max(1),
            backend,
            known: HashMap::default(),
        })
    }

    fn evaluate(&mut self, slots: &mut [EvalSlot]) -> Result<(), BackendError> {
        let mut misses = Vec::new();
        let mut asked = Vec::new();
        for (place, slot) in slots.iter_mut().enumerate() {
            let key = key_of(slot);
            match self.known.get(&key) {
                Some((evaluation, logits)) if logits.len() == slot.moves.len() => {
                    slot.evaluation = *evaluation;
                    slot.logits = logits.iter().copied().collect();
                }
                _ => {
                    misses.push((place, key));
                    asked.push(std::mem::take(slot));
                }
            }
        }
        for batch in asked.chunks_mut(self.max_batch) {
            self.evaluator.evaluate(batch)?;
        }
        if self.known.len() >= CAPACITY {
            self.known.clear();
        }
        for ((place, key), slot) in misses.into_iter().zip(asked) {
            self.known
                .insert(key, (slot.evaluation, slot.logits.as_slice().into()));
            slots[place] = slot;
        }
        Ok(())
    }
}

/// Hash of the input planes and the moves.
fn key_of(slot: &EvalSlot) -> u64 {
    // Multiplication carries low bits up, the rotation brings them down again.
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(GOLDEN).rotate_left(29);
    let mut hash = slot.moves.len() as u64;
    for (&mask, &value) in slot.planes.masks.iter().zip(&slot.planes.values) {
        // Most planes are empty. Their values mean nothing.
        hash = if mask == 0 {
            mix(hash, 1)
        } else {
            mix(mix(hash, mask), value.to_bits().into())
        };
    }
    hash = mix(hash, slot.key);
    for &index in &slot.moves {
        hash = mix(hash, index.into());
    }
    mix(hash, hash >> 32)
}

#[cfg(test)]
mod tests {
    use std::iter::once;

    use super::*;
    use crate::matches::{Adjudication, Contender, GameAssignment, PlayedGame, SideLimit};
    use zeitnot_engine::engine::{Settings, Setup};
    use zeitnot_engine::network::backends::synthetic::random::Random;
    use zeitnot_engine::params::Params;
    use zeitnot_engine::time::Millis;

    fn slot(number: u64) -> EvalSlot {
        let mut slot = EvalSlot {
            key: number,
            ..EvalSlot::default()
        };
        slot.planes.masks[3] = number;
        slot.moves = (0..(number % 7) as u16 + 1).collect();
        slot
    }

    #[test]
    fn answers_are_those_of_the_network_in_the_order_of_the_questions() {
        let backend = Arc::new(Random::backend(&Params::default()).unwrap());
        let mut cache = RememberingNetwork::new(backend.clone()).unwrap();
        cache.max_batch = 4;
        for start in [0, 5, 3, 20, 0] {
            let mut slots: Vec<_> = (0..30).map(|i| slot((start + i * 7) % 31)).collect();
            let mut expected = slots.clone();
            cache.evaluate(&mut slots).unwrap();
            backend.evaluator().unwrap().evaluate(&mut expected).unwrap();
            for (found, expected) in slots.iter().zip(&expected) {
                assert_eq!((found.key, found.evaluation), (expected.key, expected.evaluation));
                assert_eq!(found.logits, expected.logits);
            }
        }
        assert_eq!(cache.known.len(), 31);
    }

    #[test]
    fn the_moves_of_each_side_are_counted_from_one_and_to_the_mate() {
        let folder = tempfile::tempdir().unwrap();
        let book = folder.path().join("book.epd");
        // 1... Kb8 is the only move, and 2.Rd8 mates.
        std::fs::write(&book, "k7/3R4/1K6/8/8/8/8/8 b - -\n").unwrap();
        let backend = Arc::new(Random::backend(&Params::default()).unwrap());
        let setup = Setup::with_backend(Settings::default(), backend).unwrap();
        let contender = Arc::new(Contender {
            name: "either".into(),
            team: Team::Own(Arc::new(setup)),
            limit: SideLimit::Nodes(60),
            margin: Millis::ZERO,
        });
        let config = MatchConfig {
            variant: Variant::Standard,
            openings: &Openings::read(&book, None).unwrap(),
            rules: MatchRules {
                adjudication: Adjudication::default(),
                seed: 1,
                recover: 0,
            },
            threads: 1,
            concurrency: 1,
        };
        let mut games = once(PlannedGame {
            assignment: GameAssignment::of(0, 1),
            contenders: [contender.clone(), contender],
        });
        let mut rows = Vec::new();
        let finished = |game: GameRecord| {
            rows = PlayedGame::new("", "", &game).moves;
            Ok(ControlFlow::Continue(()))
        };
        play(&config, &AtomicBool::new(false), || Ok(games.next()), finished).unwrap();
        let counts: Vec<_> = rows.iter().map(|row| (row.number, row.really_left)).collect();
        assert_eq!(counts, [(1, Some(1)), (1, Some(1))]);
        // Without a clock rows do not depend on the machine.
        assert!(rows.iter().all(|row| row.used_ms.is_none()));
    }

    #[test]
    fn keys_tell_planes_values_and_moves_apart() {
        let plain = slot(5);
        let mut other_plane = plain.clone();
        other_plane.planes.masks.swap(3, 4);
        let mut other_value = plain.clone();
        other_value.planes.values[3] = 0.5;
        let mut other_move = plain.clone();
        other_move.moves[0] = 99;
        let keys = [&plain, &other_plane, &other_value, &other_move].map(key_of);
        for (i, key) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(key), "{i}");
        }
    }
}
