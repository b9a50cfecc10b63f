//! How a search is stopped by threads that do not have the engine.

use std::mem;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::listener::Listener;
use crate::chess::History;
use crate::search::Search;

/// Stops the searches of one engine from any thread, even one that
/// [`Engine::search`](super::Engine::search) waits for. [`Engine::stopper`](super::Engine::stopper) gives it.
#[derive(Clone, Default)]
pub struct StopHandle(Arc<Mutex<Stoppable>>);

#[derive(Default)]
enum Stoppable {
    #[default]
    Nothing,
    /// The search may be told to stop before it begins.
    Preparing {
        is_stopped: bool,
    },
    Search(Weak<Search>),
    /// There was nothing to search, as who waits hears at the stop.
    Over(Over),
}

pub(super) struct Over {
    pub(super) listener: Box<dyn Listener>,
    pub(super) root: History,
    pub(super) is_pondering: bool,
}

impl StopHandle {
    /// Ends the running search as [`Engine::stop`](super::Engine::stop) does. Without one it does nothing.
    pub fn stop(&self) {
        if let Stoppable::Preparing { is_stopped } = &mut *self.0.lock() {
            *is_stopped = true;
        }
        self.stop_begun();
    }

    pub(super) fn prepare(&self) {
        *self.0.lock() = Stoppable::Preparing { is_stopped: false };
    }

    pub(super) fn begin(&self, search: &Arc<Search>) {
        self.replace(Stoppable::Search(Arc::downgrade(search)));
    }

    pub(super) fn begin_without_search(&self, over: Over) {
        self.replace(Stoppable::Over(over));
    }

    pub(super) fn clear(&self) {
        *self.0.lock() = Stoppable::Nothing;
    }

    fn replace(&self, begun: Stoppable) {
        let before = mem::replace(&mut *self.0.lock(), begun);
        if matches!(before, Stoppable::Preparing { is_stopped: true }) {
            self.stop_begun();
        }
    }

    pub(super) fn stop_begun(&self) {
        if let Stoppable::Search(search) = &*self.0.lock()
            && let Some(search) = search.upgrade()
        {
            search.request_stop();
        }
        self.answer_without_search();
    }

    pub(super) fn answer_without_search(&self) {
        let mut stoppable = self.0.lock();
        if let Stoppable::Over(_) = &*stoppable
            && let Stoppable::Over(mut over) = mem::take(&mut *stoppable)
        {
            drop(stoppable);
            over.listener.answer(&over.root, None);
        }
    }

    /// Whether an answer without a search waits, and whether for `ponderhit`.
    pub(super) fn waits_without_search(&self) -> Option<bool> {
        match &*self.0.lock() {
            Stoppable::Over(over) => Some(over.is_pondering),
            _ => None,
        }
    }
}
