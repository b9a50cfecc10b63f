//! A search under way, with the thread that watches over it and answers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use super::game::GameState;
use super::{Listener, SearchAnswer, quick_look};
use crate::chess::{History, Move};
use crate::network::Backend;
use crate::search::{EndReason, Search, SearchInfo, SearchResult, SearchSummary, conclude, run};

/// The running search. Its thread has the game until it ends.
pub(super) struct ActiveSearch {
    search: Arc<Search>,
    thread: JoinHandle<GameState>,
    /// True when the answer is out, or about to be; the thread may still be learning from the move.
    answered: Arc<AtomicBool>,
}

impl ActiveSearch {
    /// Starts the thread that watches over `search`.
    pub(super) fn start(
        search: Arc<Search>,
        mut game: GameState,
        mut reporter: SearchReporter,
    ) -> ActiveSearch {
        let answered = Arc::new(AtomicBool::new(false));
        let (watched, answering) = (search.clone(), answered.clone());
        let thread = std::thread::spawn(move || {
            let search = watched;
            let mut inform = |info: &SearchInfo| {
                reporter.pass_on_notes();
                reporter.listener.info(&search.context.history, info);
            };
            let watch = || run(&search, &mut inform, |search, received| game.ponder_hit(search, received));
            // A panic here is a bug of ours; the game goes on with what the search has found so far.
            let result = catch_unwind(AssertUnwindSafe(watch)).unwrap_or_else(|_| {
                search.fail("the search's controller panicked".into());
                conclude(&search, EndReason::Failure)
            });
            let (end, stats) = (result.reason, result.stats.clone());
            // Whoever hears the answer finds no search running.
            answering.store(true, Ordering::Release);
            reporter.answer(&search, result);
            game.finish_move(&search, end, &stats);
            game
        });
        ActiveSearch { search, thread, answered }
    }

    /// Ends the search; its answer goes out at once.
    pub(super) fn stop(&self) {
        self.search.request_stop();
    }

    /// Passes on that the move that is pondered on was played, as was read at `received`.
    pub(super) fn ponder_hit(&self, received: Instant) {
        self.search.ponder_hit(received);
    }

    /// Returns whether the answer is out, or about to be.
    pub(super) fn is_answered(&self) -> bool {
        self.answered.load(Ordering::Acquire)
    }

    /// Returns whether the search would go on for ever if nobody stopped it.
    pub(super) fn is_open_ended(&self) -> bool {
        self.search.stop_controller.with_chain(|chain| chain.is_open_ended())
    }

    /// Waits for the end and gives the game back; `None` if the thread panicked and the game is lost.
    pub(super) fn join(self) -> Option<GameState> {
        self.thread.join().ok()
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
}

impl SearchReporter {
    /// Passes on what has come up with the backend.
    fn pass_on_notes(&mut self) {
        self.backend.take_notes().iter().for_each(|note| self.listener.note(note));
    }

    /// Reports how the time was used, and answers.
    fn answer(&mut self, search: &Search, result: SearchResult) {
        self.pass_on_notes();
        if let Some(reason) = &result.failure {
            self.listener.note(&format!("error: {reason}"));
        }
        if let Some(report) = search.stop_controller.with_chain(|chain| chain.report()) {
            let SearchSummary { time, new_nodes, nodes, .. } = result.summary;
            let used_ms = time.as_secs_f64() * 1000.0;
            self.listener.time_report(&format!(
                "time {report} used_ms={used_ms:.1} new_nodes={new_nodes} nodes={nodes} end={}",
                result.reason
            ));
        }
        let context = &search.context;
        let has_choice = context.history.legal_moves().len() > 1;
        if result.best.is_none() && result.failure.is_none() && has_choice {
            self.listener.note(
                "no evaluation has come back in time: the move is taken from a quick look at mates and captures",
            );
        }
        let best = result.best.or_else(|| quick_look(&context.history, &context.root_moves, &context.cache));
        let ponder = result.ponder.or_else(|| {
            let after = play(&context.history, best.filter(|_| self.wants_reply || !has_choice)?);
            quick_look(&after, &[], &context.cache)
        });
        let answer = SearchAnswer { best, ponder, result: Some(result) };
        self.listener.answer(&search.context.history, answer);
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
    use crate::engine::Settings;
    use crate::engine::{Engine, GoRequest};
    use crate::time::GoLimits;

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
            let request = GoRequest { limits, root_moves: Vec::new(), received: Instant::now() };
            engine.go(request, Box::new(PanickingListener(sender)));
            let answer = answers.recv_timeout(Duration::from_secs(60)).unwrap();
            assert!(answer.best.is_some());
            assert!(answer.result.unwrap().failure.unwrap().contains("panicked"));
            engine.wait();
        }
    }
}
