//! Models of several threads at a search's life, in the style of those of the tree.

use std::sync::Arc;
use std::time::Duration;

use crate::search::state::life::{EndReason, Life, Stage};
use crate::search::sync::atomic::{AtomicBool, Ordering};
use crate::search::sync::thread;
use crate::time::StopReason;

/// What each model shows, and a function that panics if it does not hold.
pub(crate) const MODELS: &[(&str, fn())] = &[
    (
        "life: a search that ends by itself and is stopped keeps its first reason",
        the_first_reason_is_kept,
    ),
    (
        "life: an open-ended search ends once it is told to",
        an_open_ended_search_waits_for_stop,
    ),
    (
        "life: the controller and another search do not both have the answer",
        an_answer_is_claimed_once,
    ),
    (
        "life: nobody waits for a worker that never came",
        whoever_was_let_in_is_waited_for,
    ),
    (
        "life: workers that were called back come no more, and others may",
        who_was_called_back_comes_no_more,
    ),
];

#[test]
fn models_hold_on_real_threads() {
    for (_, model) in MODELS {
        (0..100).for_each(|_| model());
    }
}

const BY_NODES: EndReason = EndReason::Rule(StopReason::Nodes);

fn beside<R: Send + 'static>(
    life: &Arc<Life>,
    work: impl FnOnce(&Life) -> R + Send + 'static,
) -> thread::JoinHandle<R> {
    let life = life.clone();
    thread::spawn(move || work(&life))
}

fn the_first_reason_is_kept() {
    let life = Arc::new(Life::new(false));
    let other = beside(&life, Life::request_stop);
    life.end_if(Some(BY_NODES));
    let reason = life.wait_for_end(Duration::MAX).unwrap();
    other.join().unwrap();
    assert_eq!(life.stage(), Stage::Ending(reason));
    assert!(life.end_if(None));
}

fn an_open_ended_search_waits_for_stop() {
    let life = Arc::new(Life::new(true));
    life.end_if(Some(BY_NODES));
    assert!(life.still_waits_for_stop());
    let other = beside(&life, Life::request_stop);
    assert_eq!(life.wait_for_end(Duration::MAX), Some(BY_NODES));
    assert!(life.was_told_to_stop() && !life.still_waits_for_stop());
    other.join().unwrap();
}

/// `ponderhit` comes while the controller is about to answer.
fn an_answer_is_claimed_once() {
    let life = Arc::new(Life::new(false));
    let controller = beside(&life, |life| {
        life.wait_for_end(Duration::MAX).unwrap();
        life.answer()
    });
    life.end_if(Some(BY_NODES));
    let is_handed_over = life.answer();
    assert!(is_handed_over != controller.join().unwrap());
    assert_eq!(life.stage(), Stage::Drained);
}

fn whoever_was_let_in_is_waited_for() {
    let life = Arc::new(Life::new(false));
    let worker = beside(&life, |life| {
        let is_in = life.try_enter(0);
        if is_in {
            assert_ne!(life.stage(), Stage::Drained);
            life.count_batch();
            life.leave();
        }
        is_in
    });
    life.request_stop();
    life.answer();
    assert!(life.wait_for_workers(Duration::MAX));
    assert_eq!((life.stage(), life.is_dismissed()), (Stage::Drained, true));
    worker.join().unwrap();
    assert_eq!(life.stage(), Stage::Drained);
}

fn who_was_called_back_comes_no_more() {
    let life = Arc::new(Life::new(false));
    let is_inside = Arc::new(AtomicBool::new(false));
    let seen = is_inside.clone();
    let worker = beside(&life, move |life| {
        if life.try_enter(0) {
            seen.store(true, Ordering::Relaxed);
            seen.store(false, Ordering::Relaxed);
            life.leave();
        }
    });
    life.recall();
    assert!(!is_inside.load(Ordering::Relaxed));
    assert!(life.try_enter(life.recalls()) && !life.try_enter(0));
    life.leave();
    worker.join().unwrap();
    assert!(!life.is_dismissed() && life.stage() == Stage::Running);
}
