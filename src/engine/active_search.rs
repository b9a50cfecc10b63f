//! A search under way, with the thread that watches over it and answers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use super::game::GameState;
use super::{GoRequest, Listener, SearchAnswer, quick_look};
use crate::chess::{History, Move};
use crate::network::Backend;
use crate::search::{EndReason, Search, SearchInfo, SearchResult, SearchSummary, conclude, run};
use crate::time::GoLimits;

/// A search that was asked for: the position, which has a legal move, and the limits.
#[derive(Clone, Debug)]
pub(super) struct SearchOrder {
    /// The game up to the position.
    pub(super) position: History,
    /// The command.
    pub(super) request: GoRequest,
}

impl SearchOrder {
    /// Returns the search of the move that was pondered on, now that it has been played, as was read at `received`.
    pub(super) fn after_ponder_hit(self, received: Instant) -> SearchOrder {
        let limits = GoLimits { ponder: false, ..self.request.limits };
        SearchOrder { request: GoRequest { limits, received, ..self.request }, ..self }
    }
}

/// The end of a search's thread.
pub(super) struct SearchEnd {
    /// The game; `None` if the thread panicked and the game is lost.
    pub(super) game: Option<GameState>,
    /// The order and the listener of a search that was handed over before it had answered.
    pub(super) unanswered: Option<(SearchOrder, Box<dyn Listener>)>,
}

/// The running search. Its thread has the game until it ends.
pub(super) struct ActiveSearch {
    search: Arc<Search>,
    thread: JoinHandle<SearchEnd>,
    is_pondering: bool,
    /// True when the answer is out, or about to be; the thread may still be learning from the move.
    answered: Arc<AtomicBool>,
    /// True if the search is to end without an answer: another one goes on from it.
    handed_over: Arc<AtomicBool>,
}

impl ActiveSearch {
    /// Starts the thread that watches over `search`, which `order` asked for.
    pub(super) fn start(
        search: Arc<Search>,
        order: SearchOrder,
        mut game: GameState,
        mut reporter: SearchReporter,
    ) -> ActiveSearch {
        let answered = Arc::new(AtomicBool::new(false));
        let handed_over = Arc::new(AtomicBool::new(false));
        let is_pondering = order.request.limits.ponder;
        let (watched, answering, leaving) = (search.clone(), answered.clone(), handed_over.clone());
        let thread = std::thread::spawn(move || {
            let search = watched;
            let mut inform = |info: &SearchInfo| {
                reporter.pass_on_notes();
                reporter.listener.info(&order.position, info);
            };
            let watch = || run(&search, &mut inform);
            // A panic here is a bug of ours; the game goes on with what the search has found so far.
            let result = catch_unwind(AssertUnwindSafe(watch)).unwrap_or_else(|_| {
                search.fail("the search's controller panicked".into());
                conclude(&search, EndReason::Failure)
            });
            if leaving.load(Ordering::Acquire) {
                return SearchEnd { game: Some(game), unanswered: Some((order, reporter.listener)) };
            }
            let (end, stats) = (result.reason, result.stats.clone());
            // Whoever hears the answer finds no search running.
            answering.store(true, Ordering::Release);
            reporter.answer(&search, &order, result);
            game.finish_move(&search, end, &stats);
            SearchEnd { game: Some(game), unanswered: None }
        });
        ActiveSearch { search, thread, is_pondering, answered, handed_over }
    }

    /// Ends the search; its answer goes out at once.
    pub(super) fn stop(&self) {
        self.search.request_stop();
    }

    /// Returns whether the search ponders, and nobody has stopped it.
    pub(super) fn is_pondering(&self) -> bool {
        self.is_pondering && !self.is_ending()
    }

    /// Returns whether the search is over, or about to be because somebody has stopped it.
    fn is_ending(&self) -> bool {
        self.is_answered() || self.search.stop_controller.is_stop_requested()
    }

    /// Ends the search without an answer.
    pub(super) fn hand_over(self) -> SearchEnd {
        self.handed_over.store(true, Ordering::Release);
        self.search.give_up();
        self.join()
    }

    /// Returns whether the answer is out, or about to be.
    pub(super) fn is_answered(&self) -> bool {
        self.answered.load(Ordering::Acquire)
    }

    /// Returns whether the search would go on for ever if nobody stopped it.
    pub(super) fn is_open_ended(&self) -> bool {
        !self.is_ending() && self.search.stop_controller.with_chain(|chain| chain.is_open_ended())
    }

    /// Waits for the end and gives the game back.
    pub(super) fn join(self) -> SearchEnd {
        self.thread.join().unwrap_or(SearchEnd { game: None, unanswered: None })
    }
}

/// Reports to the listener, from the search's own thread.
pub(super) struct SearchReporter {
    /// The listener that hears the reports.
    pub(super) listener: Box<dyn Listener>,
    /// True if the GUI may ponder: then a reply is expected even where the search has looked at none.
    pub(super) wants_reply: bool,
    /// The backend whose notes are passed on.
    pub(super) backend: Arc<dyn Backend>,
    /// Search threads.
    pub(super) threads: usize,
}

impl SearchReporter {
    /// Passes on what has come up with the backend.
    fn pass_on_notes(&mut self) {
        self.backend.take_notes().iter().for_each(|note| self.listener.note(note));
    }

    /// Reports how the time was used, and answers.
    fn answer(&mut self, search: &Search, order: &SearchOrder, result: SearchResult) {
        self.pass_on_notes();
        if let Some(reason) = &result.failure {
            let ending =
                if result.best.is_none() { "; nothing was evaluated: there is no bestmove" } else { "" };
            self.listener.note(&format!("ERROR: {reason}{ending}"));
        }
        if let Some(report) = search.stop_controller.with_chain(|chain| chain.report()) {
            let SearchSummary { time, new_nodes, nodes, .. } = result.summary;
            let used_ms = time.as_secs_f64() * 1000.0;
            self.listener.time_report(&format!(
                "time {report} used_ms={used_ms:.1} new_nodes={new_nodes} nodes={nodes} end={}",
                result.reason
            ));
        }
        let SearchSummary { time, counts, .. } = &result.summary;
        if let Some(waits) = counts.waits(*time, self.threads) {
            let mean_batch = counts.evaluations as f64 / counts.batches.max(1) as f64;
            self.listener.time_report(&format!("device: mean batch {mean_batch:.1}; {waits}"));
        }
        let (position, cache) = (&order.position, &search.state.context.cache);
        let has_choice = position.legal_moves().len() > 1;
        let is_pondering = order.request.limits.ponder;
        let must_guess = result.best.is_none() && result.failure.is_none();
        if must_guess && has_choice && !is_pondering {
            self.listener.note(
                "no evaluation has come back in time: the move is taken from a quick look at mates and captures",
            );
        }
        let guess =
            must_guess.then(|| quick_look(position, search.state.context.answer_moves(), cache)).flatten();
        if let Some(guess) = guess.filter(|_| !is_pondering) {
            self.listener.info(position, &guess.info(result.summary.time));
        }
        let best = result.best.or(guess.map(|guess| guess.mv));
        let ponder = result.ponder.or_else(|| {
            let after = play(position, best.filter(|_| self.wants_reply || !has_choice)?);
            quick_look(&after, &[], cache).map(|look| look.mv)
        });
        let answer = SearchAnswer { best, ponder, result: Some(result) };
        self.listener.answer(position, answer);
    }
}

/// Returns the game after one more move.
fn play(game: &History, mv: Move) -> History {
    let mut game = game.clone();
    game.push(mv);
    game
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    use super::*;
    use crate::engine::Engine;
    use crate::engine::Settings;

    /// Panics at the first information about a search.
    struct PanickingListener(Sender<SearchAnswer>);

    impl Listener for PanickingListener {
        fn info(&mut self, _: &History, _: &SearchInfo) {
            panic!("this is how the test wants it");
        }

        fn note(&mut self, _: &str) {}

        fn answer(&mut self, _: &History, answer: SearchAnswer) {
            self.0.send(answer).unwrap();
        }
    }

    #[test]
    fn a_panic_of_the_controller_costs_no_move() {
        let mut settings = Settings::default();
        settings.network.backend = "random".into();
        let mut engine = Engine::new(settings).unwrap();
        for _ in 0..2 {
            engine.set_position("startpos").unwrap();
            let (sender, answers) = channel();
            let limits = GoLimits { infinite: true, ..GoLimits::default() };
            engine.go(GoRequest::new(limits), Box::new(PanickingListener(sender))).unwrap();
            let answer = answers.recv_timeout(Duration::from_secs(60)).unwrap();
            assert!(answer.best.is_some());
            assert!(answer.result.unwrap().failure.unwrap().contains("panicked"));
            engine.wait();
        }
    }
}
