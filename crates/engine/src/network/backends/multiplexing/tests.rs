//! Several synthetic devices must answer like one, whatever fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::network::backends::{BackendConfig, create};
use crate::network::{Backend, EvalSlot};
use crate::note::Note;

fn backend(name: &str, options: &str) -> Arc<dyn Backend> {
    create(&BackendConfig::parse(name, options).unwrap(), None).unwrap()
}

fn slots(count: usize) -> Vec<EvalSlot> {
    let slot = |key| EvalSlot {
        key,
        moves: [3, 4, 1857].into_iter().collect(),
        ..EvalSlot::default()
    };
    (0..count as u64).map(slot).collect()
}

fn assert_like_random(backend: &dyn Backend, size: usize, batches: usize) {
    let mut expected = slots(size);
    let random = create(&BackendConfig::parse("random", "").unwrap(), None).unwrap();
    random.evaluator().unwrap().evaluate(&mut expected).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let mut evaluator = backend.evaluator().unwrap();
            let expected = &expected;
            scope.spawn(move || {
                for _ in 0..batches {
                    let mut batch = slots(size);
                    evaluator.evaluate(&mut batch).unwrap();
                    let same = |(a, b): (&EvalSlot, &EvalSlot)| {
                        a.key == b.key && a.evaluation == b.evaluation && a.logits == b.logits
                    };
                    assert!(batch.iter().zip(expected).all(same));
                }
            });
        }
    });
}

const FAST: &str = "backend=simulated,latency-us=50,per-position-ns=100";

fn texts(notes: Vec<Note>) -> Vec<String> {
    notes.iter().map(Note::to_string).collect()
}

#[test]
fn the_parts_are_told_at_the_start() {
    let backend = backend("demux", "(backend=random),(backend=trivial)");
    let description = "multiplexing: batches are divided among 2 devices";
    assert_eq!(backend.facts().description, description);
    let notes = texts(backend.take_notes());
    assert!(
        notes[0].starts_with("multiplexing: device 1 (backend=random): numbers from a hash"),
        "{notes:?}"
    );
    assert!(
        notes[1].starts_with("multiplexing: device 2 (backend=trivial): "),
        "{notes:?}"
    );
    assert!(backend.take_notes().is_empty());
    assert!(!backend.facts().has_wdl, "a device without WDL leaves none");
}

#[test]
fn a_device_that_fails_drops_out_and_the_others_go_on() {
    let backend = backend(
        "multiplexing",
        &format!("{FAST},(fail-after=100),(),(fail-after=300)"),
    );
    backend.take_notes();
    assert_like_random(&*backend, 24, 100);
    let notes = texts(backend.take_notes());
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(
        notes[0].contains(" failed, 2 of 3 devices continue: "),
        "{notes:?}"
    );
    assert!(
        notes[1].contains(" failed, 1 of 3 devices continue: "),
        "{notes:?}"
    );
    assert!(
        notes
            .iter()
            .any(|note| note.contains("device 1 (fail-after=100)")),
        "{notes:?}"
    );
}

#[test]
fn without_any_device_left_an_evaluation_fails_and_keeps_its_positions() {
    let backend = backend("multiplexing", &format!("{FAST},(fail-after=1),(fail-after=1)"));
    let mut evaluator = backend.evaluator().unwrap();
    let mut batch = slots(10);
    let error = (0..4).find_map(|_| evaluator.evaluate(&mut batch).err()).unwrap();
    assert!(
        error.to_string().contains("all of its devices have failed"),
        "{error}"
    );
    assert!(
        batch
            .iter()
            .zip(slots(10))
            .all(|(slot, sent)| slot.key == sent.key && slot.moves == sent.moves)
    );
    assert!(evaluator.evaluate(&mut batch).is_err(), "for good");
    assert!(backend.evaluator().is_ok());
}

/// A regression: a device that had failed once was never used again.
#[test]
fn a_device_that_is_back_is_used_again() {
    let (outage, start) = (super::Outage::default(), Instant::now());
    let after = |seconds| start + Duration::from_secs(seconds);
    assert!(outage.is_over(start));
    assert!(outage.begin(start) && !outage.begin(start), "told once");
    assert!(!outage.is_over(start) && outage.is_over(after(1)));
    assert!(!outage.begin(after(1)));
    assert!(
        !outage.is_over(after(2)) && outage.is_over(after(3)),
        "twice as long"
    );
    assert!(!outage.end(start), "that batch was under way before");
    assert!(outage.end(after(3)) && !outage.end(after(3)));
    assert!(outage.is_over(start));
}

#[test]
fn devices_of_devices_survive_the_loss_of_a_whole_branch() {
    let backend = backend(
        "multiplexing",
        "latency-us=50,per-position-ns=100,\
         (backend=demux,(backend=simulated,fail-after=50),(backend=simulated,fail-after=60)),\
         (backend=roundrobin,(backend=simulated),(backend=simulated))",
    );
    backend.take_notes();
    assert_like_random(&*backend, 16, 50);
    let notes = texts(backend.take_notes());
    assert_eq!(notes.len(), 3, "{notes:?}");
    let last = notes
        .iter()
        .find(|note| note.contains("all of its devices have failed"));
    assert!(
        last.is_some_and(|note| note.starts_with("ERROR: multiplexing: device 1 ")),
        "{notes:?}"
    );
}

/// One device would need two seconds.
#[test]
fn batches_of_several_threads_use_all_devices() {
    let options = "backend=simulated,latency-us=0,per-position-ns=5000000,max-batch=1,(),(),(),()";
    let backend = backend("multiplexing", options);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let mut evaluator = backend.evaluator().unwrap();
            scope.spawn(move || evaluator.evaluate(&mut slots(100)).unwrap());
        }
    });
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?} in the place of 500 ms",
        start.elapsed()
    );
    assert_eq!(backend.busy_time(), Some(Duration::from_millis(500)));
}

/// One by one the batches would need four seconds.
#[test]
fn multiplexing_joins_waiting_batches() {
    let backend = backend(
        "multiplexing",
        "backend=simulated,latency-us=500000,per-position-ns=0,threads=1",
    );
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let mut evaluator = backend.evaluator().unwrap();
            scope.spawn(move || evaluator.evaluate(&mut slots(4)).unwrap());
        }
    });
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

#[test]
fn a_wrong_option_of_one_device_is_an_error_of_the_user() {
    let config = BackendConfig::parse("demux", "random,simulated(latency=1)").unwrap();
    let error = create(&config, None).unwrap_err().to_string();
    assert!(
        error.starts_with("unknown parameter of simulated \"latency\""),
        "{error}"
    );
}

#[test]
fn dropping_the_backend_ends_its_threads() {
    let backend = backend("demux", &format!("{FAST},(),()"));
    let mut evaluator = backend.evaluator().unwrap();
    drop(backend);
    evaluator.evaluate(&mut slots(3)).unwrap();
}

proptest! {
    #[test]
    fn every_position_of_a_batch_is_evaluated(size in 1usize..200, parts in 1usize..5, fail_after in 0u64..500) {
        let parts = vec!["(backend=random)"; parts].join(",");
        let backend = backend("demux", &format!("{parts},(backend=simulated,latency-us=0,per-position-ns=0,fail-after={fail_after})"));
        assert_like_random(&*backend, size, 2);
    }
}
