//! A search from `go` ([`GoRequest`]) over its reports ([`Listener`]) to its answer ([`Outcome`]).

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam::channel::{Sender, bounded, unbounded};

use super::Engine;
use super::answer::complete;
use super::error::EngineError;
use super::game::OwnGame;
use super::listener::{Listener, TimeReport};
use super::request::GoRequest;
use super::settings::{InfoOptions, Settings};
use super::setup::Setup;
use super::stop_handle::{Over, StopHandle};
use crate::chess::{History, Move};
use crate::network::Health;
use crate::note::Note;
use crate::search::tree::Reclaimer;
use crate::search::{EndReason, Figures, Life, News, Outcome, Search, WorkerPoolError, conclude, run};
use crate::time::{Chain, Limit, SearchStats};

/// What a search gives back.
#[derive(Default)]
struct Returned {
    own: Option<OwnGame>,
    /// Whom it leaves without an answer if it was handed over.
    unanswered: Option<(AskedSearch, Box<dyn Listener>)>,
}

impl Engine {
    /// Starts a search of the current position. A running search is dropped without an answer, unless it was
    /// told to stop.
    ///
    /// Fails if there is no network or the last position was refused. The listener has heard so, and gets an
    /// answer without a move. Fails without an answer if the device is lost, as [`Engine::check_device`]
    /// says.
    pub fn go(&mut self, request: GoRequest, listener: Box<dyn Listener>) -> Result<(), EngineError> {
        self.check_device()?;
        self.drop_search();
        let asked = AskedSearch {
            game: self.position.clone(),
            refusal: self.position_refusal.clone(),
            request,
            info: self.settings.info.clone(),
        };
        self.start_search(asked, listener)
    }

    /// Starts a search while no other runs. Where there is nothing to search, an answer without a move comes
    /// at once, or in an open-ended search after `stop` or `ponderhit`.
    fn start_search(
        &mut self,
        asked: AskedSearch,
        mut listener: Box<dyn Listener>,
    ) -> Result<(), EngineError> {
        self.stop_handle.prepare();
        let refusal = match self.prepare_search(&asked, &mut *listener) {
            Ok(Some((watcher, search, own))) => {
                let (is_pondering, threads) = (asked.request.limit.is_ponder(), self.threads());
                // The thread lives until it has a task.
                drop(watcher.tasks.send(Task {
                    search: search.clone(),
                    asked,
                    own,
                    listener,
                    threads,
                }));
                self.stop_handle.begin(&search);
                self.running = Some(Running {
                    search,
                    thread: watcher.thread,
                    is_pondering,
                });
                return Ok(());
            }
            Ok(None) => Ok(()),
            Err(error) => {
                self.check_device()?;
                listener.note(Note::Error(match self.network {
                    None if !matches!(error, EngineError::NoPosition(_)) => self.describe_load_error(&error),
                    _ => format!("{error}. There is no bestmove"),
                }));
                Err(error)
            }
        };
        self.stop_handle.begin_without_search(Over {
            listener,
            root: asked.game,
            is_pondering: asked.request.limit.is_ponder(),
        });
        if !asked.request.limit.waits_for_stop() {
            self.stop_handle.answer_without_search();
        }
        refusal
    }

    fn prepare_search(
        &mut self,
        asked: &AskedSearch,
        listener: &mut dyn Listener,
    ) -> Result<Option<(Watcher, Arc<Search>, OwnGame)>, EngineError> {
        if let Some(refusal) = &asked.refusal {
            return Err(EngineError::NoPosition(refusal.clone()));
        }
        if asked.game.legal_moves().is_empty() {
            listener.note("there is no legal move in this position".into());
            listener.game_is_over(asked.game.current().is_check());
            return Ok(None);
        }
        let began = Instant::now();
        self.make_ready(listener)?;
        let took = began.elapsed();
        let Some(network) = &self.network else {
            unreachable!("made ready above")
        };
        let backend = network.opened.backend.facts();
        let is_real_time = self.settings.stoppers.nodestime.nodes_per_ms == 0 && !backend.has_virtual_time();
        let request = asked
            .request
            .after_loading(if is_real_time { took } else { Duration::ZERO });
        let settings = Settings {
            info: asked.info.clone(),
            ..self.settings.clone()
        };
        let setup = Arc::new(Setup {
            settings,
            opened: network.opened.clone(),
            tables: self.tables.clone(),
            own_manager: self.own_manager.clone(),
            notes: Vec::new(),
        });
        let watcher = Watcher::start()?;
        let mut own = match self.own.take() {
            Some(own) => own,
            None => OwnGame::new(setup.clone(), setup.new_cache(), Reclaimer::new())?,
        };
        own.take_up(setup)?;
        if mem::take(&mut self.wants_empty_tree) {
            own.release_tree();
        }
        let search = Arc::new(own.begin(&asked.game, &request)?);
        listener.hear(own.notes.drain(..));
        if let Some(network) = &self.network {
            network.workers.assign(&search);
        }
        Ok(Some((watcher, search, own)))
    }

    fn make_ready(&mut self, listener: &mut dyn Listener) -> Result<(), EngineError> {
        match self.prepare() {
            Ok(Some(in_force)) => {
                listener.note(in_force.into());
                listener.hear(self.take_notes());
            }
            Ok(None) => {}
            Err(error) if self.network.is_some() => {
                listener.note(Note::Error(self.describe_load_error(&error)));
            }
            Err(error) => return Err(error),
        }
        listener.hear(self.open_tablebase());
        Ok(())
    }

    /// Takes the game back from a search, which must be about to end. Who waits for an answer gets none.
    fn take_back(&mut self) -> Option<(AskedSearch, Box<dyn Listener>)> {
        let thread = self.running.take()?.thread;
        // If the thread lost the game, the next search begins with an empty tree.
        let Returned { own, unanswered } = thread.join().unwrap_or_default();
        self.own = own;
        unanswered
    }

    /// Ends the running search, whose answer goes out at once.
    pub fn stop(&mut self) {
        self.stop_handle.stop_begun();
    }

    /// What stops the searches of this engine from other threads, as Ctrl-C and buttons do.
    pub fn stopper(&self) -> StopHandle {
        self.stop_handle.clone()
    }

    /// The opponent has played the pondered move: the search goes on with our clock from `received`, keeping
    /// the tree.
    pub fn ponder_hit(&mut self, received: Instant) -> Result<(), EngineError> {
        if self.stop_handle.waits_without_search() == Some(true) {
            self.stop_handle.answer_without_search();
        }
        let is_hit = |running: &&Running| running.is_pondering && !running.life().was_told_to_stop();
        let Some(pondering) = self.running.as_ref().filter(is_hit) else {
            return Ok(());
        };
        if pondering.life().failure().is_some() {
            pondering.search.request_stop();
            return Ok(());
        }
        // Another search continues it, which ends without an answer.
        pondering.life().answer();
        match self.take_back() {
            Some((asked, listener)) => self.start_search(asked.after_ponder_hit(received), listener),
            None => Ok(()),
        }
    }

    /// True until the running search has answered.
    pub fn is_searching(&self) -> bool {
        match &self.running {
            None => self.stop_handle.waits_without_search().is_some(),
            Some(running) => !running.life().stage().is_answered(),
        }
    }

    /// Whether only `stop` ends the running search.
    pub fn still_waits_for_stop(&self) -> bool {
        match &self.running {
            None => self.stop_handle.waits_without_search().is_some(),
            Some(running) => running.life().still_waits_for_stop(),
        }
    }

    /// Blocks until the running search has answered.
    pub fn wait(&mut self) {
        self.take_back();
    }

    pub(super) fn finish(&mut self) {
        self.stop();
        self.wait();
    }

    /// Another position takes the search's place. One that was told to stop still answers.
    pub(super) fn drop_search(&mut self) {
        if let Some(running) = &self.running
            && !running.life().was_told_to_stop()
        {
            running.life().answer();
        }
        self.take_back();
        self.stop_handle.clear();
    }
}

#[derive(Clone, Debug)]
struct AskedSearch {
    game: History,
    /// Why the host's last position was refused, which was not `game`.
    refusal: Option<String>,
    request: GoRequest,
    /// As of `go`: later option changes do not affect the listener, even after `ponderhit`.
    info: InfoOptions,
}

impl AskedSearch {
    fn after_ponder_hit(self, received: Instant) -> AskedSearch {
        AskedSearch {
            request: GoRequest {
                limit: self.request.limit.after_ponder_hit(),
                received,
                ..self.request
            },
            ..self
        }
    }
}

/// A search, which has the game.
pub(super) struct Running {
    search: Arc<Search>,
    thread: JoinHandle<Returned>,
    is_pondering: bool,
}

impl Running {
    fn life(&self) -> &Life {
        &self.search.state.life
    }
}

/// A thread that will watch the search. It is there first, so that nothing fails once the search has begun.
struct Watcher {
    tasks: Sender<Task>,
    thread: JoinHandle<Returned>,
}

impl Watcher {
    fn start() -> Result<Watcher, WorkerPoolError> {
        let (tasks, received) = bounded::<Task>(1);
        let watch = move || received.recv().map(Task::conduct).unwrap_or_default();
        let thread = std::thread::Builder::new().name("controller".into()).spawn(watch);
        let thread = thread.map_err(|error| WorkerPoolError::thread(&error))?;
        Ok(Watcher { tasks, thread })
    }
}

struct Task {
    search: Arc<Search>,
    asked: AskedSearch,
    own: OwnGame,
    listener: Box<dyn Listener>,
    threads: usize,
}

impl Task {
    fn conduct(mut self) -> Returned {
        let search = self.search.clone();
        let mut told = None;
        let mut inform = |news: News<'_>| {
            self.pass_on_notes();
            match news {
                News::Info(info) => {
                    if self.listener.info(&self.asked.game, info).is_break() {
                        search.request_stop();
                    }
                    self.report_time(search.stats(), None);
                }
                News::Tick if self.waits_in_vain() => {
                    search
                        .state
                        .life
                        .fail("the search ends: the CPU will evaluate the next one".into());
                }
                News::Tick => {}
                News::Failure(failure) => {
                    let note = Note::Error(failure);
                    self.listener.note(note.clone());
                    told = Some(note);
                }
            }
        };
        let watch = || run(&search, &mut inform);
        // A panic is our bug. The game goes on with what the search has found.
        let outcome = catch_unwind(AssertUnwindSafe(watch)).unwrap_or_else(|_| {
            search.state.life.fail("the search's controller panicked".into());
            conclude(&search, EndReason::Failure)
        });
        // The host finds no search running once it has the answer.
        if !search.state.life.answer() {
            return Returned {
                own: Some(self.own),
                unanswered: Some((self.asked, self.listener)),
            };
        }
        let (end, stats) = (outcome.reason, outcome.figures.stats.clone());
        self.answer(outcome, told.as_ref());
        self.own.finish_move(&search, end, &stats);
        Returned {
            own: Some(self.own),
            unanswered: None,
        }
    }

    /// Whether the device does not answer, and the CPU may take its place.
    fn waits_in_vain(&self) -> bool {
        let setup = &self.own.setup;
        matches!(setup.backend().health(), Health::Silent(_))
            && setup.settings.network.may_use_cpu().unwrap_or(false)
    }

    fn pass_on_notes(&mut self) {
        self.listener.hear(self.own.setup.backend().take_notes());
    }

    /// Does not repeat a failure that has been `told`.
    fn answer(&mut self, mut outcome: Outcome, told: Option<&Note>) {
        self.pass_on_notes();
        let AskedSearch { game, request, .. } = &self.asked;
        // The GUI may ponder, so a reply is expected even if the search has looked at none.
        let wants_reply = self.own.setup.settings.ponder;
        let last_info = complete(
            &mut outcome,
            game,
            &self.search.state.context,
            request.limit,
            wants_reply,
        );
        let notes = outcome.notes.drain(..);
        self.listener.hear(notes.filter(|note| Some(note) != told));
        let Figures { stats, counts, .. } = &outcome.figures;
        self.report_time(stats.clone(), Some(outcome.reason));
        if let Some(waits) = counts.waits(stats.elapsed, self.threads) {
            let mean_batch = counts.evaluations as f64 / counts.batches.max(1) as f64;
            let text = format!("device: mean batch {mean_batch:.1}; waited for: {waits}");
            self.listener.device_report(&text);
        }
        if let Some(info) = &last_info {
            let _ = self.listener.info(&self.asked.game, info);
        }
        self.listener.answer(&self.asked.game, Some(outcome));
    }

    /// Says nothing without a clock.
    fn report_time(&mut self, stats: SearchStats, end: Option<EndReason>) {
        let used = |chain: &Chain| chain.time_used(stats.elapsed, stats.new_nodes);
        let planned = |chain: &mut Chain| Some((chain.report()?, used(chain)));
        if let Some((plan, used)) = self.search.stop_controller.with_chain(planned) {
            self.listener.time_report(&TimeReport {
                plan,
                used,
                stats,
                decisive_lead: self.search.state.decisive_lead(),
                end,
            });
        }
    }
}

impl Engine {
    /// Searches the current position within `limit`, and waits for the move to play and how it was found.
    ///
    /// Fails as [`Engine::go`] does, with [`EngineError::Endless`] if no limit ends the search, and with
    /// [`EngineError::NoResult`] if the search fails or there is no legal move.
    pub fn search(&mut self, limit: Limit) -> Result<(Move, Outcome), EngineError> {
        if !limit.has_end() {
            return Err(EngineError::Endless);
        }
        let (sender, answers) = unbounded();
        self.go(
            GoRequest::new(limit),
            Box::new(AnswerCollector {
                answers: sender,
                notes: Vec::new(),
            }),
        )?;
        self.wait();
        let (outcome, notes) = answers.try_recv().unwrap_or_default();
        let reason = match outcome {
            Some(Outcome {
                failure: Some(failure),
                ..
            }) => failure,
            Some(outcome @ Outcome { best: Some(best), .. }) => {
                return Ok((best, Outcome { notes, ..outcome }));
            }
            _ => Note::join(&notes),
        };
        Err(EngineError::NoResult {
            position: self.position().current().to_fen(),
            reason,
        })
    }
}

struct AnswerCollector {
    answers: Sender<(Option<Outcome>, Vec<Note>)>,
    notes: Vec<Note>,
}

impl Listener for AnswerCollector {
    fn note(&mut self, note: Note) {
        self.notes.push(note);
    }

    fn answer(&mut self, _: &History, outcome: Option<Outcome>) {
        let _ = self.answers.send((outcome, mem::take(&mut self.notes)));
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::time::Duration;

    use crossbeam::channel::{Sender, unbounded};

    use super::*;
    use crate::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator};
    use crate::search::SearchInfo;

    struct PanickingListener(Sender<Option<Outcome>>);

    impl Listener for PanickingListener {
        fn info(&mut self, _: &History, _: &SearchInfo) -> ControlFlow<()> {
            panic!("this is how the test wants it");
        }

        fn answer(&mut self, _: &History, answer: Option<Outcome>) {
            self.0.send(answer).unwrap();
        }
    }

    #[test]
    fn a_panic_of_the_controller_costs_no_move() {
        let mut engine = random();
        for _ in 0..2 {
            engine.set_position("startpos").unwrap();
            let (sender, answers) = unbounded();
            let limit = Limit::Infinite;
            engine
                .go(GoRequest::new(limit), Box::new(PanickingListener(sender)))
                .unwrap();
            let outcome = answers.recv_timeout(Duration::from_secs(60)).unwrap().unwrap();
            assert!(outcome.best.is_some());
            assert!(outcome.failure.unwrap().contains("panicked"));
            engine.wait();
        }
    }

    /// Evaluates one batch, and then its device is lost.
    #[derive(Debug)]
    struct Lost(BackendInfo);

    struct LostEvaluator(u32);

    impl Backend for Lost {
        fn facts(&self) -> &BackendInfo {
            &self.0
        }

        fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
            Ok(Box::new(LostEvaluator(0)))
        }
    }

    impl Evaluator for LostEvaluator {
        fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
            self.0 += 1;
            batch
                .iter_mut()
                .for_each(|slot| slot.logits = slot.moves.iter().map(|_| 0.0).collect());
            if self.0 > 1 {
                Err(BackendError::Evaluation {
                    backend: "lost".into(),
                    reason: "it is gone".into(),
                })
            } else {
                Ok(())
            }
        }
    }

    struct Notes(Sender<String>);

    impl Listener for Notes {
        fn note(&mut self, note: Note) {
            self.0.send(note.to_string()).unwrap();
        }

        fn answer(&mut self, _: &History, answer: Option<Outcome>) {
            self.0
                .send(format!(
                    "bestmove {}",
                    answer.is_some_and(|outcome| outcome.best.is_some())
                ))
                .unwrap();
        }
    }

    /// A regression: the failure of an open-ended search was told at `stop` only.
    #[test]
    fn a_failure_is_told_at_once_and_not_again() {
        let backend = Arc::new(Lost(BackendInfo::new("lost", "")));
        let mut engine = Engine::with_backend(Settings::default(), backend).unwrap();
        let (sender, told) = unbounded();
        engine
            .go(GoRequest::new(Limit::Infinite), Box::new(Notes(sender)))
            .unwrap();
        let first = told.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(first.contains("it is gone"), "{first}");
        engine.stop();
        assert_eq!(
            told.recv_timeout(Duration::from_secs(60)).unwrap(),
            "bestmove true"
        );
    }

    fn random() -> Engine {
        let mut settings = Settings::default();
        settings.network.backend = "random".into();
        Engine::new(settings).unwrap()
    }

    const MATED: &str = "fen 7k/5KQ1/8/8/8/8/8/8 b - - 0 1";

    /// A regression: the position sent after `go ponder` was looked at, not the one to search.
    #[test]
    fn a_ponder_hit_searches_what_was_pondered_on() {
        for next in [MATED, "fen nonsense"] {
            let mut engine = random();
            engine.set_position("startpos moves e2e4 e7e5").unwrap();
            let (sender, answers) = unbounded();
            let limit = Limit::Ponder(Some(Limit::nodes(50).bounds()));
            engine.go(GoRequest::new(limit), Box::new(Notes(sender))).unwrap();
            let _ = engine.set_position(next);
            engine.ponder_hit(Instant::now()).unwrap();
            engine.wait();
            assert_eq!(answers.iter().last().as_deref(), Some("bestmove true"), "{next}");
        }
    }

    /// A regression: `ponderhit` answered an infinite search of a finished game.
    #[test]
    fn a_ponder_hit_answers_only_who_ponders() {
        for (limit, heard) in [(Limit::Infinite, 0), (Limit::Ponder(None), 1)] {
            let mut engine = random();
            engine.set_position(MATED).unwrap();
            let (sender, answers) = unbounded();
            engine.go(GoRequest::new(limit), Box::new(Notes(sender))).unwrap();
            let is_answer = |said: &String| said == "bestmove false";
            assert_eq!(answers.try_iter().filter(is_answer).count(), 0);
            engine.ponder_hit(Instant::now()).unwrap();
            assert_eq!(answers.try_iter().filter(is_answer).count(), heard);
            engine.stop();
            assert_eq!(answers.try_iter().filter(is_answer).count(), 1 - heard);
        }
    }

    #[test]
    fn a_search_ends_with_a_result_or_the_reason_why_there_is_none() {
        let mut engine = random();
        let limit = Limit::nodes(10);
        let (best, outcome) = engine.search(limit).unwrap();
        assert_eq!(outcome.best, Some(best));
        assert_eq!(outcome.figures.stats.nodes.0, 10);
        engine.set_position(MATED).unwrap();
        let error = engine.search(limit).unwrap_err().to_string();
        assert_eq!(
            error,
            "no result for 7k/5KQ1/8/8/8/8/8/8 b - - 0 1: there is no legal move in this position"
        );
        engine.set_position("fen nonsense").unwrap_err();
        assert!(matches!(engine.search(limit), Err(EngineError::NoPosition(_))));
    }
}
