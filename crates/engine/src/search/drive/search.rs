//! One search, and the thread beside its workers that reports, watches the clock and ends it ([`run`]).
//!
//! `bestmove` goes out by the clock, even while a batch is in flight.

use std::time::{Duration, Instant};

use super::device::{DeviceLink, Evaluated};
use super::stop_controller::StopController;
use crate::chess::Move;
use crate::note::Note;
use crate::search::leaf::{Gatherer, backup};
use crate::search::report::{Figures, RootSnapshot, SearchInfo};
use crate::search::state::{EndReason, MoveStatsWhen, SearchContext, SearchState};
use crate::search::tree::Inside;
use crate::time::{Chain, SearchStats, StopReason};

pub(crate) struct Search {
    pub(crate) state: SearchState,
    pub(crate) stop_controller: StopController,
}

impl Search {
    pub(crate) fn new(context: SearchContext, chain: Chain, visits: u64) -> Search {
        let waits_for_stop = chain.waits_for_stop;
        let stop_controller = StopController::new(chain, context.clock.is_real());
        Search {
            state: SearchState::new(context, visits, waits_for_stop),
            stop_controller,
        }
    }

    pub(crate) fn snapshot(&self) -> RootSnapshot<'_> {
        RootSnapshot::read(&self.state)
    }

    pub(crate) fn stats(&self) -> SearchStats {
        RootSnapshot::read_children(&self.state).stats()
    }

    /// Backs up the oldest batch of `device`, false if there is none, and releases the collisions of
    /// `gatherer`.
    pub(super) fn take_in_oldest(&self, device: &mut DeviceLink, gatherer: &mut Gatherer) -> bool {
        let Some(Evaluated { mut batch, outcome }) = self.receive(device) else {
            return false;
        };
        let tree = &self.state.context.tree;
        let leaves = batch.leaves as u32;
        self.state.budget.end_leaves(leaves);
        match outcome {
            Ok(()) => {
                backup::finish_batch(&self.state, &mut batch);
                self.finish_batch(leaves.into());
            }
            Err(error) => {
                backup::abandon_batch(tree, &batch);
                self.state.life.fail(error.to_string());
            }
        }
        gatherer.recycle(batch);
        gatherer.release_collisions(tree);
        true
    }

    /// The wait is counted as one for the device if that is full, else for the tree.
    fn receive(&self, device: &mut DeviceLink) -> Option<Evaluated> {
        let SearchState {
            context, counters, ..
        } = &self.state;
        let clock = &context.clock;
        if device.queues == 0 {
            return device.receive(clock);
        }
        let (is_full, began) = (device.is_full(), clock.elapsed());
        let evaluated = device.receive(clock);
        let waited = clock.elapsed() - began;
        let mut counters = counters.lock();
        if is_full {
            counters.waited_for_device += waited;
        } else {
            counters.waited_for_tree += waited;
        }
        evaluated
    }

    fn finish_batch(&self, visits: u64) {
        let SearchState {
            context,
            counters,
            life,
            ..
        } = &self.state;
        {
            let mut counters = counters.lock();
            counters.evaluations += visits;
            counters.batches += 1;
            counters
                .first_evaluation
                .get_or_insert_with(|| context.clock.elapsed());
        }
        life.count_batch();
        self.check_stoppers();
    }

    pub(super) fn check_stoppers(&self) {
        let SearchState {
            context,
            root,
            counters,
            ..
        } = &self.state;
        if context.visits() > root.reused_visits {
            counters
                .lock()
                .first_evaluation
                .get_or_insert_with(|| context.clock.elapsed());
        }
        self.obey(
            self.stop_controller
                .check(&self.stats(), self.state.visits_left(), &self.state.hints),
        );
    }

    fn obey(&self, reason: Option<EndReason>) {
        if self.state.life.end_if(reason) {
            self.dismiss_with_root();
        }
    }

    /// Not before the root is evaluated: the move would be a guess.
    fn dismiss_with_root(&self) {
        if self.state.context.has_evaluated_root() {
            self.state.life.dismiss();
        }
    }

    /// Ends the search as `stop` does, even after `infinite` and `ponder`.
    pub(crate) fn request_stop(&self) {
        self.state.life.request_stop();
        self.dismiss_with_root();
    }
}

const TICK: Duration = Duration::from_millis(10);
/// Each line delays the next ones by this: at most 40 lines a second …
const GAP_PER_LINE: Duration = Duration::from_millis(25);
/// … or by this with figures of all root moves: six reports a second, as in Lc0 …
const GAP_PER_LINE_WITH_STATS: Duration = Duration::from_millis(4);
/// … but never by more than this.
const MAX_INFO_GAP: Duration = Duration::from_secs(4);
/// Wait for batches in flight at the end of a search without a clock.
const LAST_BATCH_WAIT: Duration = Duration::from_secs(60);
/// Wait for the root's evaluation after `stop`. A device that hangs must not block the GUI.
const STOP_PATIENCE: Duration = Duration::from_secs(2);
const ROOT_TICK: Duration = Duration::from_millis(1);
/// Wait for a pruning, which gives up when it sees that the search is over.
const PRUNING_PATIENCE: Duration = Duration::from_millis(10);

/// What a search has come to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The move to play. Where nothing was evaluated the engine guesses one: `None` is left only without a
    /// legal move.
    pub best: Option<Move>,
    pub ponder: Option<Move>,
    pub reason: EndReason,
    /// What was wrong with a search that has failed.
    pub failure: Option<String>,
    /// Messages for people, where no listener hears them.
    pub notes: Vec<Note>,
    /// The last report, `None` before the root is evaluated.
    pub info: Option<SearchInfo>,
    pub figures: Figures,
}

pub(crate) enum News<'a> {
    Info(&'a SearchInfo),
    /// It has failed, and waits for `stop`.
    Failure(String),
    /// A few milliseconds have passed.
    Tick,
}

pub(crate) fn run(search: &Search, observer: &mut dyn FnMut(News<'_>)) -> Outcome {
    let context = &search.state.context;
    let mut reporter = InfoReporter { observer, last: None };
    let mut has_failed = false;
    let reason = watch(search, &mut |snapshot| {
        if let Some(failure) = search.state.life.failure().filter(|_| !has_failed) {
            has_failed = true;
            (reporter.observer)(News::Failure(failure));
        }
        (reporter.observer)(News::Tick);
        reporter.report_if_news(snapshot);
        true
    });
    let reason = reason.unwrap_or(EndReason::Stopped);
    let snapshot = search.snapshot();
    let mut result = result_of(search, &snapshot, reason);
    if let Some(info) = &mut result.info {
        if context.reports_move_stats(MoveStatsWhen::AtEnd) {
            info.move_stats = Some(snapshot.root_stats());
        }
        (reporter.observer)(News::Info(info));
    }
    result
}

/// Blocks until the search is over, dismisses its workers and waits for the root. `None` if `goes_on`, asked
/// every few milliseconds, said no: the workers then search on.
pub(crate) fn watch(
    search: &Search,
    goes_on: &mut dyn FnMut(&RootSnapshot<'_>) -> bool,
) -> Option<EndReason> {
    let SearchState { context, life, .. } = &search.state;
    let reason = loop {
        if let Some(reason) = search.stop_controller.wait(life, &context.clock, TICK) {
            break reason;
        }
        let snapshot = search.snapshot();
        search.obey(search.stop_controller.check_by_clock(
            &snapshot.stats(),
            search.state.visits_left(),
            &search.state.hints,
        ));
        if !goes_on(&snapshot) {
            return None;
        }
    };
    // An only move has waited long enough, and when pondering ends our clock may be running.
    let is_enough = matches!(reason, EndReason::Failure | EndReason::Rule(StopReason::OnlyMove));
    if !is_enough && context.expected_move.is_none() {
        wait_for_root(search);
    }
    life.dismiss();
    if !context.clock.is_real()
        || matches!(reason, EndReason::Rule(_)) && search.stop_controller.ready_at().is_none()
    {
        life.wait_for_workers_unless_stopped(LAST_BATCH_WAIT);
    }
    Some(reason)
}

/// A move based on the root's evaluation beats one without. The deadline allows for it.
fn wait_for_root(search: &Search) {
    let SearchState { context, life, .. } = &search.state;
    let ended = Instant::now();
    let mut stopped = None;
    while !context.has_evaluated_root() && !life.is_dismissed() {
        let epoch = life.epoch();
        if life.was_told_to_stop() {
            stopped.get_or_insert_with(Instant::now);
        }
        let is_long = stopped.map_or(ended.elapsed() >= LAST_BATCH_WAIT, |stopped| {
            stopped.elapsed() >= STOP_PATIENCE
        });
        let is_late = search
            .stop_controller
            .ready_at()
            .is_some_and(|at| context.clock.elapsed() >= at);
        if is_long || is_late {
            break;
        }
        life.wait_for_change(epoch, ROOT_TICK);
    }
}

pub(crate) fn conclude(search: &Search, reason: EndReason) -> Outcome {
    result_of(search, &search.snapshot(), reason)
}

fn result_of(search: &Search, snapshot: &RootSnapshot<'_>, reason: EndReason) -> Outcome {
    let SearchState { context, life, .. } = &search.state;
    let inside = context.tree.enter_within(PRUNING_PATIENCE);
    let (info, line) = match &inside {
        Some(inside) => {
            let shown = snapshot.reported(inside);
            shown
                .map(|shown| info_and_line(&shown, inside))
                .unwrap_or_default()
        }
        // The move to play can be read without entering the tree.
        None => {
            let best = snapshot.choose(&snapshot.ranked_moves());
            let best = best
                .filter(|_| context.expected_move.is_none())
                .map(|best| best.mv);
            (None, best.into_iter().collect())
        }
    };
    Outcome {
        best: line.first().copied(),
        ponder: line.get(1).copied(),
        reason,
        failure: life.failure(),
        figures: snapshot.figures(),
        notes: Vec::new(),
        info,
    }
}

/// The line of the move to play is reported first. It is empty without such a move.
fn info_and_line(shown: &RootSnapshot<'_>, inside: &Inside<'_>) -> (Option<SearchInfo>, Vec<Move>) {
    let mut ranked = shown.ranked_moves();
    let chosen = shown.choose(&ranked).map(|best| best.mv);
    if let Some(place) = ranked.iter().position(|root_move| Some(root_move.mv) == chosen) {
        ranked[..=place].rotate_right(1);
    }
    let info = shown.info(&ranked, inside);
    let line = info
        .iter()
        .flat_map(|info| &info.lines)
        .next()
        .map(|line| line.moves.clone());
    (info, line.unwrap_or_default())
}

struct InfoReporter<'a> {
    observer: &'a mut dyn FnMut(News<'_>),
    last: Option<(Instant, SearchInfo)>,
}

impl InfoReporter<'_> {
    fn report_if_news(&mut self, snapshot: &RootSnapshot<'_>) {
        let context = &snapshot.state.context;
        if self
            .last
            .as_ref()
            .is_some_and(|(time, last)| time.elapsed() < gap_after(last))
        {
            return;
        }
        // Reports never wait for a pruning.
        let Some(inside) = context.tree.try_enter() else {
            return;
        };
        let Some(shown) = snapshot.reported(&inside) else {
            return;
        };
        let Some(mut info) = shown.info(&shown.ranked_moves(), &inside) else {
            return;
        };
        drop(inside);
        let is_news = match &self.last {
            None => true,
            Some((time, last)) => info.differs_from(last) || time.elapsed() >= MAX_INFO_GAP,
        };
        if is_news {
            if context.reports_move_stats(MoveStatsWhen::Always) {
                info.move_stats = Some(snapshot.root_stats());
            }
            (self.observer)(News::Info(&info));
            self.last = Some((Instant::now(), info));
        }
    }
}

fn gap_after(info: &SearchInfo) -> Duration {
    let per_line = if info.move_stats.is_some() {
        GAP_PER_LINE_WITH_STATS
    } else {
        GAP_PER_LINE
    };
    (per_line * info.text_lines() as u32).min(MAX_INFO_GAP)
}
