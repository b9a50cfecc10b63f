//! Search threads: each owns an evaluator, and takes part in one search after the other.
//!
//! A worker that is blocked in an evaluation holds no lock and nothing that others need. When its batch comes back
//! after the search was stopped, it backs the batch up all the same, and only then leaves.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::backup;
use super::gather::Gatherer;
use super::job::Job;
use crate::network::{Backend, BackendError, Evaluator};

/// Lines of play can be thousands of plies long, and a descent recurses once per ply.
const STACK_BYTES: usize = 32 << 20;
/// How long a worker with nothing to do waits before it looks again by itself.
const IDLE_WAIT: Duration = Duration::from_millis(20);
/// How long a worker waits under a limit of nodes per second before it looks again.
const PACE_WAIT: Duration = Duration::from_millis(1);

#[derive(Debug, Default)]
struct Assignment {
    /// The present search, and a number that grows with each new one.
    job: Option<Arc<Job>>,
    number: u64,
    closed: bool,
}

#[derive(Debug, Default)]
struct Board {
    assignment: Mutex<Assignment>,
    changed: Condvar,
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, Assignment> {
        self.assignment.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The threads that search with one backend.
#[derive(Debug)]
pub(crate) struct WorkerPool {
    board: Arc<Board>,
    threads: usize,
}

impl WorkerPool {
    /// Starts `threads` workers, each with an evaluator of its own.
    ///
    /// # Errors
    /// If the backend cannot make that many evaluators, or the system allows no thread.
    pub(crate) fn new(backend: &dyn Backend, threads: usize) -> Result<WorkerPool, BackendError> {
        let evaluators: Vec<_> =
            (0..threads.max(1)).map(|_| backend.evaluator()).collect::<Result<_, _>>()?;
        let board = Arc::new(Board::default());
        let mut started = 0;
        for (index, evaluator) in evaluators.into_iter().enumerate() {
            let board = board.clone();
            let thread = std::thread::Builder::new()
                .name(format!("search-{index}"))
                .stack_size(STACK_BYTES)
                .spawn(move || live(&board, evaluator));
            match thread {
                Ok(_) => started += 1,
                Err(error) if started == 0 => {
                    return Err(BackendError::Evaluation {
                        backend: backend.info().name.clone(),
                        reason: format!("the system refuses a search thread: {error}"),
                    });
                }
                // Fewer threads than asked for are better than none.
                Err(_) => break,
            }
        }
        Ok(WorkerPool { board, threads: started })
    }

    /// Threads in the pool.
    pub(crate) fn len(&self) -> usize {
        self.threads
    }

    /// Lets all workers take part in `job`; those that are still busy with an earlier one come when they are done.
    pub(crate) fn assign(&self, job: Arc<Job>) {
        let mut assignment = self.board.lock();
        assignment.job = Some(job);
        assignment.number += 1;
        drop(assignment);
        self.board.changed.notify_all();
    }
}

impl Drop for WorkerPool {
    /// Does not wait: a worker may be blocked in an evaluation, and leaves when that is over.
    fn drop(&mut self) {
        self.board.lock().closed = true;
        self.board.changed.notify_all();
    }
}

/// A worker's life: searches until the pool is closed.
fn live(board: &Board, mut evaluator: Box<dyn Evaluator>) {
    let mut seen = 0;
    loop {
        let job = {
            let assignment = board
                .changed
                .wait_while(board.lock(), |a| !a.closed && (a.job.is_none() || a.number == seen))
                .unwrap_or_else(PoisonError::into_inner);
            if assignment.closed {
                return;
            }
            seen = assignment.number;
            let Some(job) = assignment.job.clone() else { continue };
            job.enter();
            job
        };
        // A panic here is a bug of ours or of a backend; the search ends, the process lives.
        let outcome = catch_unwind(AssertUnwindSafe(|| search(&job, evaluator.as_mut())));
        if outcome.is_err() {
            job.fail("a search thread panicked; its batch is lost".into());
        }
        job.leave();
    }
}

/// Takes part in one search until it is stopped.
fn search(job: &Job, evaluator: &mut dyn Evaluator) {
    let mut gatherer = Gatherer::new(job.history.clone());
    while !job.is_stopped() {
        if job.tree.is_full() {
            job.tree.prune(job.root, || job.is_stopped());
        }
        let epoch = job.epoch();
        if job.is_ahead_of_its_pace() {
            job.wait_for_change(epoch, PACE_WAIT);
            continue;
        }
        let progress = gatherer.gather(job);
        if gatherer.batch.leaves.is_empty() {
            backup::release_collisions(job, &gatherer.batch);
            if progress {
                job.referee.judge(job);
            } else {
                job.wait_for_change(epoch, IDLE_WAIT);
            }
            continue;
        }
        gatherer.prefetch(job);
        let leaves = gatherer.batch.leaves.len() as u64;
        match evaluator.evaluate(gatherer.batch.slots_mut()) {
            Ok(()) => {
                backup::finish_batch(job, &mut gatherer.batch);
                job.batch_done(leaves);
            }
            Err(error) => {
                backup::abandon_batch(job, &gatherer.batch);
                job.fail(error.to_string());
            }
        }
    }
}
