//! Runs the jobs of all measurements on threads, until the end or until the user stops them.
//!
//! Each thread takes several jobs at once to evaluate their positions in one batch. The caller receives
//! results in the order of the jobs, so that the output does not depend on the threads and always ends with a
//! whole job.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crossbeam::channel::{Sender, unbounded};
use parking_lot::Mutex;

use super::LabError;
use zeitnot_engine::search::STACK_BYTES;

type Take<'a, J> = dyn Fn() -> Result<Option<(u64, J)>, LabError> + Sync + 'a;

pub struct Jobs<'a, J, R> {
    take: &'a Take<'a, J>,
    stop: &'a AtomicBool,
    /// No more results are wanted.
    ended: &'a AtomicBool,
    /// Errors end the run.
    results: Sender<Result<(u64, R), LabError>>,
}

impl<J, R> Jobs<'_, J, R> {
    /// `None` at the end, and once the run is stopped.
    pub fn take(&self) -> Result<Option<(u64, J)>, LabError> {
        if self.are_stopped() {
            Ok(None)
        } else {
            (self.take)()
        }
    }

    /// Does several jobs at once with `work`, and delivers their results, until there are none.
    pub fn do_in_chunks(
        &self,
        most: usize,
        mut work: impl FnMut(Vec<J>) -> Result<Vec<R>, LabError>,
    ) -> Result<(), LabError> {
        loop {
            let mut places = Vec::new();
            let mut jobs = Vec::new();
            while jobs.len() < most
                && let Some((place, job)) = self.take()?
            {
                places.push(place);
                jobs.push(job);
            }
            if jobs.is_empty() {
                return Ok(());
            }
            for (place, result) in places.into_iter().zip(work(jobs)?) {
                self.deliver(place, result);
            }
        }
    }

    pub fn deliver(&self, place: u64, result: R) {
        let _ = self.results.send(Ok((place, result)));
    }

    pub fn are_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.ended.load(Ordering::Relaxed)
    }
}

/// Runs the jobs of `next` with `work` on each thread, by its index from 0. `receive` gets the results in the
/// order of the jobs and may end the run. When the user sets `stop`, jobs under way are given up.
///
/// A thread's error ends the run, except after `stop`: Ctrl-C in a terminal ends child processes too.
pub fn run<J: Send, R: Send>(
    threads: usize,
    stop: &AtomicBool,
    next: impl FnMut() -> Result<Option<J>, LabError> + Send,
    work: impl Fn(usize, &Jobs<'_, J, R>) -> Result<(), LabError> + Sync,
    mut receive: impl FnMut(R) -> Result<ControlFlow<()>, LabError>,
) -> Result<(), LabError> {
    let source = Mutex::new((0, next));
    let take = || {
        let (taken, next) = &mut *source.lock();
        let job = next()?;
        *taken += u64::from(job.is_some());
        Ok(job.map(|job| (*taken - 1, job)))
    };
    let ended = AtomicBool::new(false);
    let (sender, results) = unbounded();
    thread::scope(|scope| {
        for index in 0..threads.max(1) {
            let jobs = Jobs {
                take: &take,
                stop,
                ended: &ended,
                results: sender.clone(),
            };
            let work = &work;
            let thread = thread::Builder::new()
                .name(format!("lab-{index}"))
                .stack_size(STACK_BYTES);
            let spawned = thread.spawn_scoped(scope, move || {
                let worked = catch_unwind(AssertUnwindSafe(|| work(index, &jobs)));
                if let Err(error) = worked.unwrap_or(Err(LabError::Panic)) {
                    jobs.ended.store(true, Ordering::Relaxed);
                    let _ = jobs.results.send(Err(error));
                }
            });
            // Without a further thread the others do its jobs. The first one is needed.
            if index == 0
                && let Err(error) = spawned
            {
                return Err(LabError::Thread(error));
            }
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut place = 0;
        let mut outcome = Ok(());
        for result in results {
            match result {
                Ok((place, result)) => {
                    early.insert(place, result);
                }
                Err(_) if stop.load(Ordering::Relaxed) => {}
                Err(error) => outcome = outcome.and(Err(error)),
            }
            while !ended.load(Ordering::Relaxed)
                && let Some(result) = early.remove(&place)
            {
                place += 1;
                let received = receive(result);
                let is_over = !matches!(received, Ok(ControlFlow::Continue(())));
                ended.fetch_or(is_over, Ordering::Relaxed);
                outcome = outcome.and(received.map(drop));
            }
        }
        outcome
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 jobs, taken in threes.
    fn received(threads: usize, stop: &AtomicBool, last: u64) -> Result<Vec<u64>, LabError> {
        let mut jobs = 0..100u64;
        let mut found = Vec::new();
        let work = |index: usize, jobs: &Jobs<'_, u64, u64>| {
            // The second thread is slow, so that results come in the wrong order.
            std::thread::sleep(std::time::Duration::from_millis(20 * index as u64));
            jobs.do_in_chunks(3, |jobs| Ok(jobs.into_iter().map(|job| 7 * job).collect()))
        };
        run(
            threads,
            stop,
            || Ok(jobs.next()),
            work,
            |result| {
                found.push(result);
                Ok(if result == 7 * last {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                })
            },
        )?;
        Ok(found)
    }

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        let going = AtomicBool::new(false);
        for threads in [0, 1, 4] {
            let expected: Vec<u64> = (0..100).map(|job| 7 * job).collect();
            assert_eq!(received(threads, &going, 1000).unwrap(), expected);
        }
        assert!(received(1, &AtomicBool::new(true), 1000).unwrap().is_empty());
    }

    #[test]
    fn whoever_receives_may_end_the_run() {
        let going = AtomicBool::new(false);
        let found = received(2, &going, 1).unwrap();
        assert_eq!(found, [0, 7]);
    }

    #[test]
    fn errors_and_panics_of_threads_end_the_run() {
        let going = AtomicBool::new(false);
        let fail = |stop: &AtomicBool, fault: fn() -> LabError| {
            let endless = || Ok(Some(()));
            let work = |index: usize, jobs: &Jobs<'_, (), ()>| {
                while let (1.., Some((place, ()))) = (index, jobs.take()?) {
                    jobs.deliver(place, ());
                }
                Err(fault())
            };
            run(2, stop, endless, work, |()| Ok(ControlFlow::Continue(())))
        };
        let error = || LabError::Thread(std::io::Error::other("none left"));
        assert!(matches!(fail(&going, error), Err(LabError::Thread(_))));
        assert!(matches!(fail(&going, || panic!("a test")), Err(LabError::Panic)));
        assert!(
            fail(&AtomicBool::new(true), error).is_ok(),
            "the user has stopped it"
        );
    }
}
