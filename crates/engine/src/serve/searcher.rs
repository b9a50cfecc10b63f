//! How a [`Searcher`] is opened and gets its orders.

use std::sync::Arc;

use super::pool::{Order, PoolSize, Searcher, Shared};
use crate::chess::History;
use crate::engine::{EngineError, GoRequest, Listener, OpenedBackend, Settings, Setup, open_backend};
use crate::network::BackendInfo;
use crate::network::cache::EvalCache;
use crate::time::Limit;

/// Per batch in flight on a device: one waits, the other gathers.
const THREADS_PER_QUEUE: usize = 2;
/// Default limit of concurrent searches per device thread.
const SEARCHES_PER_THREAD: usize = 32;
/// More per core would only begin earlier and end later.
const SEARCHES_PER_CORE: usize = 2;

/// Concurrent searches on `threads` threads if more come later: enough for each thread's preferred batch.
pub fn searches_at_once(backend: &BackendInfo, threads: usize) -> usize {
    let per_thread = match backend.queues {
        0 => SEARCHES_PER_CORE,
        _ => backend.preferred_batch.clamp(1, SEARCHES_PER_THREAD),
    };
    threads * per_thread
}

/// Concurrent searches on `threads` threads if all positions are known: enough for a device's batches, or one
/// per core. A time limit needs the machine for one search.
pub fn positions_at_once(limit: Limit, backend: &BackendInfo, threads: usize) -> usize {
    match backend.queues {
        _ if limit.bounds().movetime.is_some() => 1,
        0 => threads,
        _ => searches_at_once(backend, threads),
    }
}

impl Searcher {
    /// Loads the network and starts the threads, for which `searches` chooses the concurrent searches.
    pub fn open(
        settings: Settings,
        searches: impl FnOnce(&BackendInfo, usize) -> usize,
    ) -> Result<Searcher, EngineError> {
        let opened = open_backend(&settings.network_to_play())?;
        Searcher::with_opened(settings, opened, searches)
    }

    /// As [`Searcher::open`], with the network that `setup` has opened.
    pub fn with_network_of(
        setup: &Setup,
        settings: Settings,
        searches: impl FnOnce(&BackendInfo, usize) -> usize,
    ) -> Result<Searcher, EngineError> {
        Searcher::with_opened(settings, setup.opened.clone(), searches)
    }

    fn with_opened(
        settings: Settings,
        opened: OpenedBackend,
        searches: impl FnOnce(&BackendInfo, usize) -> usize,
    ) -> Result<Searcher, EngineError> {
        let mut settings = settings.for_analysis();
        let backend = opened.backend.clone();
        let info = backend.facts();
        // While one thread waits for its batch, others fill the device's queues.
        let enough = info.preferred_threads.max(info.queues * THREADS_PER_QUEUE);
        let threads = settings.threads_for(info, enough);
        let workers = settings.threads(info);
        let searches = searches(info, threads).max(1);
        let size = PoolSize {
            threads: threads.min(searches),
            searches,
            workers,
        };
        let cache = Arc::new(EvalCache::new(settings.memory.cache_capacity()));
        let answer_bytes = settings.memory.answer_bytes();
        // Each thread may pause twice as many as it searches.
        settings.memory = settings.memory.share_of(3 * searches);
        let setup = Arc::new(Setup::with_opened(settings, opened)?);
        let shared = Arc::new(Shared::new(backend, size)?);
        let (stop, threads) = (Arc::default(), Vec::new());
        let mut searcher = Searcher {
            setup,
            cache,
            size,
            answer_bytes,
            stop,
            shared,
            threads,
        };
        searcher.start_threads()?;
        Ok(searcher)
    }

    /// An order for the positions of `game` after the given numbers of moves. It ends with this searcher.
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
}

#[cfg(test)]
impl Searcher {
    pub(super) fn random(searches: usize) -> Searcher {
        let mut settings = Settings::default();
        for (name, value) in [("Backend", "random"), ("Threads", "1"), ("RamLimitMb", "64")] {
            settings.set(name, value).unwrap();
        }
        Searcher::open(settings, |_, _| searches).unwrap()
    }
}
