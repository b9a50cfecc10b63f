//! The way of a search through the engine: it begins, is told to stop or that the opponent has played the expected move, ends.

use std::mem;
use std::sync::Arc;
use std::time::Instant;

use super::active_search::{ActiveSearch, SearchOrder, SearchReporter};
use super::game::{GameState, SearchResources};
use super::memory::CacheSettings;
use super::{Engine, EngineError, GoRequest, Listener, SearchAnswer};
use crate::search::Search;

impl Engine {
    /// Starts a search of the present position; a search that still runs is ended first.
    ///
    /// # Errors
    /// Fails if there is nothing to search with or the last position was refused; the listener gets no answer then. No move is
    /// made up in place of a search, so that whoever asked notices.
    pub fn go(&mut self, request: GoRequest, mut listener: Box<dyn Listener>) -> Result<(), EngineError> {
        self.finish();
        let position = self.accepted_position()?.clone();
        if position.legal_moves().is_empty() {
            listener.note("there is no legal move in this position");
            listener.game_is_over(position.current().is_check());
            self.pending_answer = Some((listener, position));
            if !request.limits.is_open_ended() {
                self.send_pending_answer();
            }
            return Ok(());
        }
        self.start(SearchOrder { position, request }, listener)
    }

    /// Starts the search of a position with a legal move; no other one may be running.
    fn start(&mut self, order: SearchOrder, mut listener: Box<dyn Listener>) -> Result<(), EngineError> {
        let (search, game) = self.begin(&order, &mut *listener)?;
        let Some(network) = &self.network else { unreachable!("the search has begun with one") };
        let reporter = SearchReporter {
            listener,
            wants_reply: self.settings.ponder,
            backend: network.backend().clone(),
            threads: network.workers().len(),
        };
        self.active = Some(ActiveSearch::start(search, order, game, reporter));
        Ok(())
    }

    /// Prepares everything for a search and lets the workers begin.
    fn begin(
        &mut self,
        order: &SearchOrder,
        listener: &mut dyn Listener,
    ) -> Result<(Arc<Search>, GameState), EngineError> {
        match self.prepare() {
            Ok(Some(info)) => {
                listener.note(&info.description);
                self.take_notes().iter().for_each(|note| listener.note(note));
            }
            Ok(None) => {}
            Err(error) if self.network.is_some() => listener.note(&self.describe_load_error(&error)),
            Err(error) => return Err(error),
        }
        if let Some(note) = self.open_tablebase() {
            listener.note(&note);
        }
        if self.cache_settings != CacheSettings::of(&self.settings) {
            self.new_cache();
        }
        let Some(network) = &self.network else { unreachable!("prepared above") };
        if mem::take(&mut self.wants_new_manager) {
            self.game = None;
        }
        let mut game = match self.game.take() {
            Some(game) => game,
            None => GameState::new(&self.settings)?,
        };
        if mem::take(&mut self.wants_empty_tree) {
            game.release_tree();
        }
        self.draining.retain(|progress| !progress.is_idle());
        let has_contempt = !self.settings.strength.analyse_mode;
        if has_contempt && self.settings.contempt.lacks_side(order.request.limits.infinite)? {
            listener.note("contempt has no side in infinite search; ContemptMode can choose one");
        }
        let resources = SearchResources {
            settings: &self.settings,
            tables: &self.tables,
            cache: &self.cache,
            backend: network.backend(),
            draining: &self.draining,
        };
        let search = Arc::new(game.begin_search(&order.position, &order.request, &resources)?);
        if let Some(notice) = game.take_message() {
            listener.note(&notice);
        }
        self.draining.push(search.state.progress.clone());
        network.workers().assign(&search);
        Ok((search, game))
    }

    /// Answers a search without a legal move, if its answer waits.
    fn send_pending_answer(&mut self) {
        if let Some((mut listener, root)) = self.pending_answer.take() {
            listener.answer(&root, SearchAnswer { best: None, ponder: None, result: None });
        }
    }

    /// Ends the running search, if any; its answer goes out at once.
    pub fn stop(&mut self) {
        self.send_pending_answer();
        if let Some(active) = &self.active {
            active.stop();
        }
    }

    /// Searches on our own clock from `received` on: the opponent has played the move that is pondered on. The tree below it is
    /// kept.
    ///
    /// # Errors
    /// Fails as [`Engine::go`] does.
    pub fn ponder_hit(&mut self, received: Instant) -> Result<(), EngineError> {
        self.send_pending_answer();
        let Some(active) = self.active.take_if(|active| active.is_pondering()) else { return Ok(()) };
        let end = active.hand_over();
        self.game = end.game;
        match end.unanswered {
            Some((order, listener)) => self.start(order.after_ponder_hit(received), listener),
            None => Ok(()),
        }
    }

    /// Returns whether a search is running whose answer is not out yet.
    pub fn is_searching(&self) -> bool {
        self.pending_answer.is_some() || self.active.as_ref().is_some_and(|active| !active.is_answered())
    }

    /// Returns whether the running search would go on for ever if nobody stopped it.
    pub fn is_open_ended(&self) -> bool {
        self.pending_answer.is_some() || self.active.as_ref().is_some_and(ActiveSearch::is_open_ended)
    }

    /// Waits until the running search has ended by itself.
    pub fn wait(&mut self) {
        if let Some(active) = self.active.take() {
            // Where the game is lost, the next search begins with an empty tree.
            self.game = active.join().game;
        }
    }

    /// Ends the running search and takes its game back.
    pub(super) fn finish(&mut self) {
        self.stop();
        self.wait();
    }
}
