//! The wrapper of every backend that is made: it measures busy time, checks outputs, and has notes on how the
//! backend was made.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::backend::{Backend, Evaluator, Health};
use super::backend_error::BackendError;
use super::backend_info::BackendInfo;
use super::eval_slot::EvalSlot;
use crate::note::Note;

#[derive(Debug)]
pub(crate) struct Instrumented {
    backend: Arc<dyn Backend>,
    busy: Arc<BusyMeter>,
    /// Taken once, before the backend's.
    notes: Mutex<Vec<Note>>,
}

impl Instrumented {
    /// `notes` precede the backend's own.
    pub fn new(backend: Arc<dyn Backend>, notes: Vec<Note>) -> Instrumented {
        let busy = Arc::new(BusyMeter::new(backend.facts().queues > 0, Instant::now()));
        Instrumented {
            backend,
            busy,
            notes: Mutex::new(notes),
        }
    }
}

impl Backend for Instrumented {
    fn facts(&self) -> &BackendInfo {
        self.backend.facts()
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        let evaluator = self.backend.evaluator()?;
        self.busy.counted(Instant::now()).evaluators += 1;
        let info = self.facts().clone();
        let busy = self.busy.clone();
        Ok(Box::new(InstrumentedEvaluator {
            evaluator,
            info,
            busy,
        }))
    }

    fn busy_time(&self) -> Option<Duration> {
        self.backend
            .busy_time()
            .or_else(|| Some(self.busy.counted(Instant::now()).busy))
    }

    fn health(&self) -> Health {
        match self.busy.silence(Instant::now()) {
            Some(silence) => Health::Silent(silence),
            None => self.backend.health(),
        }
    }

    fn take_notes(&self) -> Vec<Note> {
        let mut notes = std::mem::take(&mut *self.notes.lock());
        notes.extend(self.backend.take_notes());
        notes.extend(self.busy.untold_silence(&self.facts().name, Instant::now()));
        notes
    }
}

pub(crate) fn with_notes(backend: Arc<dyn Backend>, notes: Vec<Note>) -> Arc<dyn Backend> {
    if notes.is_empty() {
        backend
    } else {
        Arc::new(Instrumented::new(backend, notes))
    }
}

struct InstrumentedEvaluator {
    evaluator: Box<dyn Evaluator>,
    info: BackendInfo,
    busy: Arc<BusyMeter>,
}

impl Evaluator for InstrumentedEvaluator {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        self.busy.begin(batch.len(), Instant::now());
        let _busy = BusyGuard(&self.busy, batch.len());
        self.evaluator.evaluate(batch)?;
        EvalSlot::check_outputs(&self.info, batch)
    }
}

impl Drop for InstrumentedEvaluator {
    fn drop(&mut self) {
        self.busy.counted(Instant::now()).evaluators -= 1;
    }
}

/// Counts as an evaluation while it lives, even after a panic.
struct BusyGuard<'a>(&'a BusyMeter, usize);

impl Drop for BusyGuard<'_> {
    fn drop(&mut self) {
        self.0.end(self.1, Instant::now());
    }
}

/// A device that keeps a batch for so long is silent …
const LEAST_SILENCE: Duration = Duration::from_secs(2);
/// … if its positions usually take so many times less.
const TIMES_USUAL: f64 = 20.0;
/// The weight of a batch in the usual time of a position.
const WEIGHT: f64 = 0.1;

/// Adds up the time in which evaluators work, seen from outside: from call to answer.
#[derive(Debug)]
struct BusyMeter {
    is_accelerator: bool,
    state: Mutex<BusyState>,
}

#[derive(Debug)]
struct BusyState {
    evaluators: u32,
    active: u32,
    /// In all active evaluations.
    positions: usize,
    /// When the last batch came back, or was sent to an idle device.
    heard: Instant,
    /// For a position, seconds, the mean of the last batches.
    usual: f64,
    has_told_silence: bool,
    /// `busy` counts up to this instant.
    until: Instant,
    busy: Duration,
}

impl BusyMeter {
    fn new(is_accelerator: bool, now: Instant) -> BusyMeter {
        let state = BusyState {
            evaluators: 0,
            active: 0,
            positions: 0,
            heard: now,
            usual: 0.0,
            has_told_silence: false,
            until: now,
            busy: Duration::ZERO,
        };
        BusyMeter {
            is_accelerator,
            state: Mutex::new(state),
        }
    }

    fn begin(&self, positions: usize, now: Instant) {
        let mut state = self.counted(now);
        if state.active == 0 {
            state.heard = now;
        }
        state.active += 1;
        state.positions += positions;
    }

    fn end(&self, positions: usize, now: Instant) {
        let mut state = self.counted(now);
        let took = now.saturating_duration_since(state.heard).as_secs_f64() / positions.max(1) as f64;
        state.usual += (took - state.usual) * if state.usual > 0.0 { WEIGHT } else { 1.0 };
        state.active -= 1;
        state.positions -= positions;
        state.heard = now;
        state.has_told_silence = false;
    }

    /// The time since a device has been heard of, if that is far longer than usual.
    fn silence(&self, now: Instant) -> Option<Duration> {
        let state = self.counted(now);
        let silence = now.saturating_duration_since(state.heard);
        let usual = Duration::from_secs_f64(TIMES_USUAL * state.usual * state.positions as f64);
        // Nobody knows how long the first batch takes.
        let is_known = self.is_accelerator && state.active > 0 && state.usual > 0.0;
        (is_known && silence >= usual.max(LEAST_SILENCE)).then_some(silence)
    }

    fn untold_silence(&self, backend: &str, now: Instant) -> Option<Note> {
        let silence = self.silence(now)?;
        let mut state = self.counted(now);
        let is_news = !state.has_told_silence;
        state.has_told_silence = true;
        let seconds = silence.as_secs_f64();
        is_news.then(|| {
            Note::Error(format!(
                "{backend}: the device has not answered for {seconds:.0} s"
            ))
        })
    }

    fn counted(&self, now: Instant) -> MutexGuard<'_, BusyState> {
        let mut state = self.state.lock();
        let passed = now.saturating_duration_since(state.until);
        state.until = state.until.max(now);
        // On a CPU each evaluator has a core.
        let share = if self.is_accelerator {
            1
        } else {
            state.evaluators.max(1)
        };
        let busy = passed * state.active.min(share) / share;
        state.busy += busy;
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::backends::{BackendConfig, create};

    const MS: Duration = Duration::from_millis(1);

    /// The busy time of two evaluators at work from 0 to 10 ms and from 6 to 16 ms.
    fn overlapping(is_accelerator: bool) -> Duration {
        let start = Instant::now();
        let meter = BusyMeter::new(is_accelerator, start);
        meter.counted(start).evaluators = 2;
        meter.begin(1, start);
        meter.begin(1, start + 6 * MS);
        meter.end(1, start + 10 * MS);
        meter.end(1, start + 16 * MS);
        meter.counted(start + 20 * MS).busy
    }

    #[test]
    fn cores_count_each_for_itself_and_a_device_once() {
        assert_eq!(overlapping(false), 10 * MS);
        assert_eq!(overlapping(true), 16 * MS);
    }

    /// A regression: while a device hung, moves came from ever fewer nodes, and nobody was told why.
    #[test]
    fn a_device_that_does_not_answer_is_told_of_once() {
        let start = Instant::now();
        let meter = BusyMeter::new(true, start);
        meter.begin(10, start);
        assert_eq!(meter.silence(start + 60_000 * MS), None, "the first batch");
        meter.end(10, start + 10 * MS);
        meter.begin(10, start + 20 * MS);
        assert_eq!(meter.silence(start + 2_019 * MS), None);
        let at = start + 2_020 * MS;
        assert_eq!(meter.silence(at), Some(2_000 * MS));
        let note = meter.untold_silence("cuda", at).unwrap();
        assert_eq!(
            note,
            Note::Error("cuda: the device has not answered for 2 s".into())
        );
        assert_eq!(meter.untold_silence("cuda", at), None);
        meter.end(10, at);
        meter.begin(1_000, at);
        assert_eq!(
            meter.silence(at + 3_000 * MS),
            None,
            "so large a batch may take longer"
        );
        let cpu = BusyMeter::new(false, start);
        cpu.begin(1, start);
        cpu.end(1, start + MS);
        cpu.begin(1, start + MS);
        assert_eq!(cpu.silence(start + 9_000 * MS), None);
    }

    /// Spoils the last position of a batch.
    type Spoil = fn(&mut EvalSlot);

    #[derive(Debug)]
    struct Damaged(Arc<dyn Backend>, Spoil);

    impl Backend for Damaged {
        fn facts(&self) -> &BackendInfo {
            self.0.facts()
        }

        fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
            Ok(Box::new(Output(self.1)))
        }
    }

    struct Output(Spoil);

    impl Evaluator for Output {
        fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
            batch.iter_mut().for_each(|slot| slot.logits.push(1.0));
            batch.iter_mut().next_back().map(self.0);
            Ok(())
        }
    }

    /// A regression: NaN from a device went into the tree, and a search waited for ever for a move without a
    /// logit.
    #[test]
    fn outputs_that_a_search_cannot_use_are_an_error() {
        let random = create(&BackendConfig::parse("random", "").unwrap(), None).unwrap();
        let evaluate = |spoil: Spoil| {
            let instrumented = Instrumented::new(Arc::new(Damaged(random.clone(), spoil)), Vec::new());
            let mut slot = EvalSlot::default();
            slot.moves.push(0);
            let mut evaluator = instrumented.evaluator().unwrap();
            evaluator.evaluate(&mut vec![slot; 3])
        };
        assert!(evaluate(|_| {}).is_ok());
        let spoiled: [(Spoil, &str); 8] = [
            (|slot| slot.evaluation.m = f32::NAN, "NaN or infinity"),
            (|slot| slot.logits[0] = f32::INFINITY, "NaN or infinity"),
            (|slot| slot.evaluation.wl = -5.0, "-5 for win minus loss"),
            (
                |slot| slot.evaluation.d = -0.5,
                "0 for win minus loss and -0.5 for",
            ),
            (|slot| slot.evaluation.m = 15_535_833.0, "15535833 plies"),
            (|slot| slot.evaluation.m = -1.0, "-1 plies"),
            (|slot| slot.logits.clear(), "0 logits for 1 moves"),
            (|slot| slot.logits.push(1.0), "2 logits for 1 moves"),
        ];
        for (spoil, expected) in spoiled {
            let error = evaluate(spoil).unwrap_err().to_string();
            let expected = format!("random: evaluation failed: it returned {expected}");
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}
