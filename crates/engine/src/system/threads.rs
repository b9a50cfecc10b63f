//! Threads that are waited for.

use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

/// The longest wait for threads. A device may be stuck for good.
const PATIENCE: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(1);

/// Threads that have been told to end. The drop waits for them up to two seconds: one that still gives up a
/// library's sessions as the process ends would crash it.
#[derive(Debug, Default)]
pub(crate) struct EndingThreads(pub(crate) Vec<JoinHandle<()>>);

impl Drop for EndingThreads {
    fn drop(&mut self) {
        let began = Instant::now();
        for thread in self.0.drain(..) {
            while !thread.is_finished() && began.elapsed() < PATIENCE {
                sleep(TICK);
            }
            if thread.is_finished() {
                // A panic was handled where it happened.
                drop(thread.join());
            }
        }
    }
}
