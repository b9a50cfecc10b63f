//! A backend that is replaced when it fails, in the middle of a batch: by the CPU where the user allows that,
//! else by itself, opened anew.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::backend::{Backend, Evaluator, Health};
use super::backend_error::BackendError;
use super::backend_info::BackendInfo;
use super::eval_slot::EvalSlot;
use crate::note::Note;

/// A backend that fails again so soon after it was opened anew is lost.
const LEAST_LIFE: Duration = Duration::from_secs(60);

/// What takes the place of a backend that has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// The same backend, opened anew.
    Reopened,
    Cpu,
}

/// Opens it, or says why not.
pub(crate) type Opener = Box<dyn Fn() -> Result<Arc<dyn Backend>, String> + Send + Sync>;

#[derive(Debug)]
pub(crate) struct Failover {
    /// Of the first backend.
    info: BackendInfo,
    shared: Arc<Shared>,
}

struct Shared {
    remedy: Remedy,
    open: Opener,
    /// Held while a backend is opened: others wait for it.
    opening: Mutex<()>,
    state: Mutex<State>,
}

struct State {
    backend: Arc<dyn Backend>,
    /// The number of backends before this one.
    generation: u32,
    tried: Option<Instant>,
    loss: Option<String>,
    notes: Vec<Note>,
    /// Of the backends before.
    busy: Duration,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backend = &self.state.lock().backend;
        f.debug_struct("Shared")
            .field("backend", backend)
            .finish_non_exhaustive()
    }
}

impl Failover {
    pub(crate) fn new(backend: Arc<dyn Backend>, remedy: Remedy, open: Opener) -> Failover {
        let info = backend.facts().clone();
        let state = State {
            backend,
            generation: 0,
            tried: None,
            loss: None,
            notes: Vec::new(),
            busy: Duration::ZERO,
        };
        let shared = Arc::new(Shared {
            remedy,
            open,
            opening: Mutex::default(),
            state: Mutex::new(state),
        });
        Failover { info, shared }
    }
}

impl Shared {
    fn evaluator(self: &Arc<Shared>) -> Result<FailoverEvaluator, BackendError> {
        loop {
            let (backend, generation) = {
                let state = self.state.lock();
                (state.backend.clone(), state.generation)
            };
            match backend.evaluator() {
                Ok(evaluator) => {
                    return Ok(FailoverEvaluator {
                        evaluator,
                        max_batch: backend.facts().max_batch,
                        generation,
                        shared: self.clone(),
                    });
                }
                Err(failure) if self.replace(generation, &failure) => {}
                Err(failure) => return Err(failure),
            }
        }
    }

    fn lose(&self, failure: &BackendError) {
        self.state.lock().loss = Some(failure.to_string());
    }

    /// Replaces the backend of `generation`, unless another thread has done so. False if that does not help.
    fn replace(&self, generation: u32, failure: &BackendError) -> bool {
        let _opening = self.opening.lock();
        {
            let state = self.state.lock();
            if state.generation != generation {
                return true;
            }
            let is_in_vain = match self.remedy {
                Remedy::Cpu => generation > 0,
                Remedy::Reopened => state.tried.is_some_and(|tried| tried.elapsed() < LEAST_LIFE),
            };
            if is_in_vain {
                return false;
            }
        }
        let opened = (self.open)();
        let mut state = self.state.lock();
        state.tried = Some(Instant::now());
        let (done, backend) = match opened {
            Ok(backend) if self.remedy == Remedy::Cpu => (
                format!("The CPU evaluates instead: {}", backend.facts().description),
                backend,
            ),
            Ok(backend) => ("It was opened anew".into(), backend),
            Err(reason) => {
                state.notes.push(Note::Error(format!(
                    "{failure}. Nothing can replace it: {reason}"
                )));
                return false;
            }
        };
        state.notes.push(Note::Error(format!("{failure}. {done}")));
        let before = std::mem::replace(&mut state.backend, backend);
        state.busy += before.busy_time().unwrap_or_default();
        state.generation += 1;
        true
    }
}

impl Backend for Failover {
    fn facts(&self) -> &BackendInfo {
        &self.info
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        match self.shared.evaluator() {
            Ok(evaluator) => Ok(Box::new(evaluator)),
            Err(error) => Err(BackendError::NotAvailable(Box::new(error))),
        }
    }

    fn busy_time(&self) -> Option<Duration> {
        let state = self.shared.state.lock();
        Some(state.busy + state.backend.busy_time()?)
    }

    fn take_notes(&self) -> Vec<Note> {
        let mut state = self.shared.state.lock();
        let mut notes = std::mem::take(&mut state.notes);
        notes.extend(state.backend.take_notes());
        notes
    }

    fn health(&self) -> Health {
        let state = self.shared.state.lock();
        match &state.loss {
            Some(reason) => Health::Lost(reason.clone()),
            None if self.shared.remedy == Remedy::Cpu && state.generation > 0 => {
                Health::Replaced(state.backend.clone())
            }
            None => state.backend.health(),
        }
    }
}

struct FailoverEvaluator {
    evaluator: Box<dyn Evaluator>,
    max_batch: usize,
    generation: u32,
    shared: Arc<Shared>,
}

impl FailoverEvaluator {
    fn evaluate_now(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        let evaluator = &mut self.evaluator;
        batch
            .chunks_mut(self.max_batch)
            .try_for_each(|part| evaluator.evaluate_or_fail("the backend", part))
    }
}

impl Evaluator for FailoverEvaluator {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        loop {
            if self.shared.state.lock().generation != self.generation {
                let renewed = self.shared.evaluator();
                *self = renewed.inspect_err(|failure| self.shared.lose(failure))?;
            }
            let outcome = self.evaluate_now(batch);
            match &outcome {
                Err(failure) if self.shared.replace(self.generation, failure) => continue,
                Err(failure) => self.shared.lose(failure),
                // A device may come back by itself.
                Ok(()) => self.shared.state.lock().loss = None,
            }
            return outcome;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    use super::*;
    use crate::network::backends::{BackendConfig, create};

    fn backend(name: &str) -> Arc<dyn Backend> {
        create(&BackendConfig::parse(name, "").unwrap(), None).unwrap()
    }

    /// A device for ten positions, whose place another one takes.
    fn failing(remedy: Remedy, next: &'static str) -> Failover {
        let device = "simulated(latency-us=0,per-position-ns=0,fail-after=10)";
        Failover::new(
            backend(device),
            remedy,
            Box::new(move || match next {
                "" => Err("it is gone".into()),
                next => Ok(backend(next)),
            }),
        )
    }

    /// The outcomes of batches of ten, and the notes.
    fn played(failover: &Failover, batches: usize) -> (Vec<bool>, Vec<String>) {
        let mut evaluators = [failover.evaluator().unwrap(), failover.evaluator().unwrap()];
        let outcomes = (0..batches).map(|number| {
            let mut batch = vec![
                EvalSlot {
                    moves: [3, 4].into_iter().collect(),
                    ..EvalSlot::default()
                };
                10
            ];
            let outcome = evaluators[number % 2].evaluate(&mut batch);
            assert!(outcome.is_err() || batch.iter().all(|slot| slot.logits.len() == 2));
            outcome.is_ok()
        });
        let outcomes = outcomes.collect();
        (
            outcomes,
            failover.take_notes().iter().map(Note::to_string).collect(),
        )
    }

    /// A regression: after one fault of a device no batch came back any more, with `Fallback=cpu` too.
    #[test]
    fn the_cpu_evaluates_the_batch_at_which_a_device_fails_and_those_behind_it() {
        let failover = failing(Remedy::Cpu, "random");
        assert!(matches!(failover.health(), Health::Good));
        let (outcomes, notes) = played(&failover, 6);
        assert_eq!(outcomes, [true; 6]);
        assert!(
            notes.len() == 1 && notes[0].contains("The CPU evaluates instead"),
            "{notes:?}"
        );
        assert!(matches!(failover.health(), Health::Replaced(cpu) if cpu.facts().name == "random"));
    }

    /// Has room for so many evaluators.
    #[derive(Debug)]
    struct Crowded(Arc<dyn Backend>, AtomicUsize);

    impl Backend for Crowded {
        fn facts(&self) -> &BackendInfo {
            self.0.facts()
        }

        fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
            let take_one = |room: usize| room.checked_sub(1);
            match self.1.fetch_update(Relaxed, Relaxed, take_one) {
                Ok(_) => self.0.evaluator(),
                Err(_) => Err(BackendError::Model {
                    backend: "crowded".into(),
                    reason: "it has no room".into(),
                }),
            }
        }
    }

    fn crowded(name: &str, room: usize) -> Arc<dyn Backend> {
        Arc::new(Crowded(backend(name), room.into()))
    }

    #[test]
    fn a_fault_while_an_evaluator_is_made_is_like_one_of_a_batch() {
        let failover = |room, next: fn() -> Arc<dyn Backend>| {
            Failover::new(
                crowded("random", room),
                Remedy::Reopened,
                Box::new(move || Ok(next())),
            )
        };
        let replaced = failover(1, || backend("random"));
        assert_eq!(played(&replaced, 4).0, [true; 4]);
        let lost = failover(1, || crowded("random", 0));
        assert!(lost.evaluator().is_ok());
        assert!(lost.evaluator().is_err());
        assert_eq!(lost.take_notes().len(), 1);
    }

    /// A regression: the second evaluator asked without end for one of a device that had no room for it.
    #[test]
    fn a_device_that_is_opened_anew_with_less_room_is_lost() {
        let device = "simulated(latency-us=0,per-position-ns=0,fail-after=10)";
        let failover = Failover::new(
            backend(device),
            Remedy::Reopened,
            Box::new(|| Ok(crowded("random", 1))),
        );
        let (outcomes, _) = played(&failover, 4);
        assert_eq!(outcomes, [true, true, false, true]);
    }

    #[test]
    fn a_device_is_opened_anew_once() {
        let failover = failing(Remedy::Reopened, "random");
        assert_eq!(played(&failover, 4).0, [true; 4]);
        assert!(matches!(failover.health(), Health::Good));
        let again = "simulated(latency-us=0,per-position-ns=0,fail-after=20)";
        let failover = failing(Remedy::Reopened, again);
        let (outcomes, notes) = played(&failover, 5);
        assert_eq!(outcomes, [true, true, true, false, false]);
        assert!(
            notes.len() == 1 && notes[0].ends_with(". It was opened anew"),
            "{notes:?}"
        );
        assert!(matches!(failover.health(), Health::Lost(_)));
    }

    /// Its evaluations fail while it is away.
    #[derive(Debug)]
    struct Removable {
        backend: Arc<dyn Backend>,
        busy: Duration,
        is_away: Arc<AtomicBool>,
    }

    struct RemovableEvaluator {
        evaluator: Box<dyn Evaluator>,
        is_away: Arc<AtomicBool>,
    }

    impl Backend for Removable {
        fn facts(&self) -> &BackendInfo {
            self.backend.facts()
        }

        fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
            Ok(Box::new(RemovableEvaluator {
                evaluator: self.backend.evaluator()?,
                is_away: self.is_away.clone(),
            }))
        }

        fn busy_time(&self) -> Option<Duration> {
            Some(self.busy)
        }
    }

    impl Evaluator for RemovableEvaluator {
        fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
            if self.is_away.load(Relaxed) {
                return Err(BackendError::Evaluation {
                    backend: "removable".into(),
                    reason: "it is away".into(),
                });
            }
            self.evaluator.evaluate(batch)
        }
    }

    fn removable(busy: Duration, is_away: &Arc<AtomicBool>) -> Arc<dyn Backend> {
        Arc::new(Removable {
            backend: backend("random"),
            busy,
            is_away: is_away.clone(),
        })
    }

    #[test]
    fn a_device_that_comes_back_by_itself_is_lost_no_more() {
        let is_away = Arc::new(AtomicBool::new(true));
        let failover = Failover::new(
            removable(Duration::ZERO, &is_away),
            Remedy::Cpu,
            Box::new(|| Err("there is no CPU".into())),
        );
        let mut evaluator = failover.evaluator().unwrap();
        let mut batch = [EvalSlot::default()];
        assert!(evaluator.evaluate(&mut batch).is_err());
        assert!(matches!(failover.health(), Health::Lost(_)));
        is_away.store(false, Relaxed);
        assert!(evaluator.evaluate(&mut batch).is_ok());
        assert!(matches!(failover.health(), Health::Good));
    }

    #[test]
    fn the_time_of_the_backend_before_counts() {
        let (is_away, is_there) = (Arc::new(true.into()), Arc::new(false.into()));
        let failover = Failover::new(
            removable(Duration::from_secs(5), &is_away),
            Remedy::Reopened,
            Box::new(move || Ok(removable(Duration::from_secs(2), &is_there))),
        );
        assert_eq!(failover.busy_time(), Some(Duration::from_secs(5)));
        assert_eq!(played(&failover, 1).0, [true]);
        assert_eq!(failover.busy_time(), Some(Duration::from_secs(7)));
    }

    #[test]
    fn what_nothing_can_replace_is_lost() {
        let failover = failing(Remedy::Cpu, "");
        let (outcomes, notes) = played(&failover, 3);
        assert_eq!(outcomes, [true, false, false]);
        assert!(
            notes[0].ends_with("Nothing can replace it: it is gone"),
            "{notes:?}"
        );
        assert!(matches!(failover.health(), Health::Lost(_)));
    }
}
