//! What whoever has many positions to search starts with: a backend with its pool, the options of a search,
//! and one cache.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::pool::{Order, PoolSize, QueueFull, SearchPool};
use crate::chess::History;
use crate::engine::{EngineError, EngineSetup, GoRequest, Listener, OpenedBackend, Settings, open_backend};
use crate::network::cache::EvalCache;
use crate::network::instrumented::Instrumented;
use crate::network::{Backend, BackendInfo};
use crate::note::Note;
use crate::time::GoLimits;

/// Search threads for each batch that a device has at once: one waits, the other gathers.
const THREADS_PER_QUEUE: usize = 2;
/// Positions that a thread of a device searches at once, at most, unless the user says otherwise.
const SEARCHES_PER_THREAD: usize = 32;
/// Positions that a core searches at once: more would only begin earlier and end later.
const SEARCHES_PER_CORE: usize = 2;

/// Returns how many positions to search at once on `threads` threads where others come later: as many as fill
/// the preferred batch of each thread. A device has two threads, and so two batches.
pub fn searches_at_once(backend: &BackendInfo, threads: usize) -> usize {
    let per_thread = match backend.queues {
        0 => SEARCHES_PER_CORE,
        _ => backend.preferred_batch.clamp(1, SEARCHES_PER_THREAD),
    };
    threads * per_thread
}

/// Returns how many positions to search at once on `threads` threads where all are there from the beginning:
/// they fill the batches of a device. A core has nothing to gain from more than one. A limit of time counts
/// for a search that has the machine for itself.
pub fn positions_at_once(limits: &GoLimits, backend: &BackendInfo, threads: usize) -> usize {
    match backend.queues {
        _ if limits.movetime.is_some() => 1,
        0 => threads,
        _ => searches_at_once(backend, threads),
    }
}

/// Searches many positions at once.
#[derive(Debug)]
pub struct Searcher {
    pub setup: Arc<EngineSetup>,
    /// The evaluations that all searches share.
    pub cache: Arc<EvalCache>,
    pub pool: SearchPool,
    pub size: PoolSize,
    /// Ends all searches that have no other flag for that.
    stop: Arc<AtomicBool>,
}

impl Searcher {
    /// Loads the network and starts the search threads. Nothing but an order's limits ends a search, unless
    /// its options say so. `searches` chooses how many positions are searched at once on that many threads.
    /// Beyond them `queue` may wait.
    pub fn open(
        mut settings: Settings,
        searches: impl FnOnce(&BackendInfo, usize) -> usize,
        queue: usize,
    ) -> Result<Searcher, EngineError> {
        settings.stoppers.smart_pruning_factor = 0.0;
        settings.time.move_overhead = Duration::ZERO;
        let OpenedBackend { backend, network_sha256 } = open_backend(&settings.network)?;
        let backend: Arc<dyn Backend> = Arc::new(Instrumented::new(backend));
        let info = backend.info();
        // A thread waits for its batch: others keep the queues of a device full meanwhile.
        let enough = info.preferred_threads.max(info.queues * THREADS_PER_QUEUE);
        let threads = settings.network.threads.map_or(enough, NonZero::get);
        let workers = settings.network.threads.map_or(info.preferred_threads, NonZero::get);
        let searches = searches(info, threads).max(1);
        let size = PoolSize { threads: threads.min(searches), searches, workers, queue };
        let cache = Arc::new(EvalCache::new(settings.memory.cache_capacity()));
        settings.memory = settings.memory.share_of(searches);
        let opened = OpenedBackend { backend: backend.clone(), network_sha256 };
        let setup = Arc::new(EngineSetup::with_opened(settings, opened)?);
        Ok(Searcher { setup, cache, pool: SearchPool::new(backend, size)?, size, stop: Arc::default() })
    }

    /// Returns what people should know of network, backend and tables.
    pub fn notes(&self) -> Vec<Note> {
        self.setup.told(self.size.threads)
    }

    /// Returns an order to search the positions of `game` after so many moves each, one after the other.
    /// Without a flag of its own it ends with this searcher.
    pub fn order(
        &self,
        game: Arc<History>,
        plies: &[usize],
        request: GoRequest,
        listener: Box<dyn Listener>,
    ) -> Order {
        Order {
            game,
            plies: plies.iter().copied().collect(),
            request,
            setup: self.setup.clone(),
            cache: self.cache.clone(),
            report_every: None,
            priority: 0,
            owner: 0,
            stop: self.stop.clone(),
            listener,
        }
    }

    /// Queues `orders`, each of a position with a legal move.
    ///
    /// # Errors
    /// Fails if too many orders wait.
    pub fn submit(&self, orders: Vec<Order>) -> Result<(), EngineError> {
        let position = orders.first().map(|order| order.position().current().to_fen()).unwrap_or_default();
        let refuse = |full: QueueFull| EngineError::NoResult { position, reason: full.to_string() };
        self.pool.submit(orders).map_err(refuse)
    }
}

impl Drop for Searcher {
    /// Ends its searches: whoever wants them waits for the answers before.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.pool.remove_stopped();
    }
}

#[cfg(test)]
impl Searcher {
    /// A searcher of one thread whose positions are evaluated at random.
    pub(super) fn random(searches: usize, queue: usize) -> Searcher {
        let mut settings = Settings::default();
        for (name, value) in [("Backend", "random"), ("Threads", "1"), ("RamLimitMb", "64")] {
            settings.set(name, value).unwrap();
        }
        Searcher::open(settings, |_, _| searches, queue).unwrap()
    }
}
