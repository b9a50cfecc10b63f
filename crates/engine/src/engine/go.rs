//! A search on a thread of its own, from its reports ([`Listener`]) to its answer ([`Outcome`]).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use crossbeam::channel::{Sender, bounded};

use super::answer::complete;
use super::game::OwnGame;
use super::listener::{Listener, TimeReport};
use super::request::GoRequest;
use super::settings::InfoOptions;
use crate::chess::History;
use crate::network::Health;
use crate::note::Note;
use crate::search::{EndReason, Figures, Life, News, Outcome, Search, WorkerPoolError, conclude, run};
use crate::time::{Chain, SearchStats};

/// What a search gives back.
#[derive(Default)]
pub(super) struct Returned {
    pub(super) own: Option<OwnGame>,
    /// Whom it leaves without an answer if it was handed over.
    pub(super) unanswered: Option<(AskedSearch, Box<dyn Listener>)>,
}

#[derive(Clone, Debug)]
pub(super) struct AskedSearch {
    pub(super) game: History,
    /// Why the host's last position was refused, which was not `game`.
    pub(super) refusal: Option<String>,
    pub(super) request: GoRequest,
    /// As of `go`, even after `ponderhit`.
    pub(super) info: InfoOptions,
}

impl AskedSearch {
    pub(super) fn after_ponder_hit(self, received: Instant) -> AskedSearch {
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
    pub(super) search: Arc<Search>,
    pub(super) thread: JoinHandle<Returned>,
    pub(super) is_pondering: bool,
}

impl Running {
    pub(super) fn life(&self) -> &Life {
        &self.search.state.life
    }
}

/// A thread that will watch the search. It is there first, so that nothing fails afterwards.
pub(super) struct Watcher {
    pub(super) tasks: Sender<Task>,
    pub(super) thread: JoinHandle<Returned>,
}

impl Watcher {
    pub(super) fn start() -> Result<Watcher, WorkerPoolError> {
        let (tasks, received) = bounded::<Task>(1);
        let watch = move || received.recv().map(Task::conduct).unwrap_or_default();
        let thread = std::thread::Builder::new().name("controller".into()).spawn(watch);
        let thread = thread.map_err(|error| WorkerPoolError::thread(&error))?;
        Ok(Watcher { tasks, thread })
    }
}

pub(super) struct Task {
    pub(super) search: Arc<Search>,
    pub(super) asked: AskedSearch,
    pub(super) own: OwnGame,
    pub(super) listener: Box<dyn Listener>,
    pub(super) threads: usize,
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
        // The game goes on with what the search has found.
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
        let end = outcome.reason;
        let stats = outcome.figures.stats.clone();
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
        // A GUI that may ponder expects a reply, even if the search has looked at none.
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
