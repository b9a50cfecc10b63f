//! The thread beside the workers: reports, watches the clock, and says when the search is over.
//!
//! `bestmove` goes out by the clock, also while a batch is in flight; a worker that is late backs it up later.

use std::time::{Duration, Instant};

use super::search::Search;
use super::stop_controller::{EndReason, Wake};
use crate::chess::Move;
use crate::search::report::{
    self, RootSnapshot, SearchInfo, SearchSummary, choose, info, move_stats, principal_variation,
};
use crate::search::state::{MoveStatsWhen, SearchContext, SearchState};
use crate::time::{SearchStats, StopReason};

/// The time between two looks of the controller.
const TICK: Duration = Duration::from_millis(10);
/// The time for which each line of information keeps back the next ones: at most 40 lines a second …
const GAP_PER_LINE: Duration = Duration::from_millis(25);
/// … and the same where figures of all root moves are reported: six reports a second, as many as Lc0 sends, for a GUI that
/// shows them all …
const GAP_PER_LINE_WITH_STATS: Duration = Duration::from_millis(4);
/// … but this is the longest gap where there is anything to report, however many lines are asked for.
const MAX_INFO_GAP: Duration = Duration::from_secs(4);
/// The time that a search without a clock that ended by itself waits for batches in flight.
const LAST_BATCH_WAIT: Duration = Duration::from_secs(60);
/// The time that a search waits after `stop` for the evaluation of its root, if that is not back yet: a network that
/// is slow on its device may take as long, and a device that hangs must not hold up the GUI.
const STOP_PATIENCE: Duration = Duration::from_secs(2);
/// The time between two looks for that evaluation.
const ROOT_TICK: Duration = Duration::from_millis(1);

/// The end of a search: its move, the reason, and the last figures.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// The move to play; `None` if the search was ended before the root was evaluated.
    pub best: Option<Move>,
    /// The reply that is expected.
    pub ponder: Option<Move>,
    /// The reason why it ended.
    pub reason: EndReason,
    /// The backend's error, if it failed.
    pub failure: Option<String>,
    /// The last state; `None` if the root has no visited move.
    pub info: Option<SearchInfo>,
    /// The figures for benchmarks and logs.
    pub summary: SearchSummary,
    /// The last figures for the time manager.
    pub stats: SearchStats,
}

/// Watches over `search` until it ends, and reports to `observer`.
pub(crate) fn run(search: &Search, observer: &mut dyn FnMut(&SearchInfo)) -> SearchResult {
    let SearchState { context, progress, .. } = &search.state;
    let mut reporter = InfoReporter { observer, last: None };
    let reason = loop {
        match search.stop_controller.wait(&context.clock, TICK) {
            Wake::End(reason) => break reason,
            Wake::Tick => {
                let snapshot = search.snapshot();
                search.check_stoppers_by_clock(&snapshot);
                reporter.report_if_news(context, &snapshot);
            }
        }
    };
    // An only move has been waited for as long as it is worth; and when pondering ends our clock may be running.
    let is_enough = matches!(reason, EndReason::Failure | EndReason::Rule(StopReason::OnlyMove));
    if !is_enough && context.expected_move.is_none() {
        wait_for_root(search);
    }
    progress.stop();
    let is_virtual = context.clock.started().is_none();
    if is_virtual || matches!(reason, EndReason::Rule(_)) && search.stop_controller.ready_at().is_none() {
        let is_stopped = || search.stop_controller.is_stop_requested();
        progress.wait_idle_unless(LAST_BATCH_WAIT, is_stopped);
    }
    let snapshot = search.snapshot();
    let mut result = result_of(search, &snapshot, reason);
    if let Some(info) = &mut result.info {
        if context.reports_move_stats(MoveStatsWhen::AtEnd) {
            info.move_stats = Some(move_stats::of(context, &snapshot));
        }
        (reporter.observer)(info);
    }
    result
}

/// Waits, at the end of a search, for the evaluation of its root if that is not back yet: any move by it is better than one
/// without. The wait goes on up to the clock's deadline, which allows for it; without a clock for a long time, but not long
/// after `stop`. It is in vain where the workers have been told to leave.
fn wait_for_root(search: &Search) {
    let SearchState { context, progress, .. } = &search.state;
    let (ended, mut stopped) = (Instant::now(), None);
    let is_wanted = || !context.has_evaluated_root() && !progress.is_stopped();
    while is_wanted() && progress.failure().is_none() {
        let epoch = progress.epoch();
        if search.stop_controller.is_stop_requested() {
            stopped.get_or_insert_with(Instant::now);
        }
        let is_long =
            stopped.map_or(ended.elapsed() >= LAST_BATCH_WAIT, |stopped| stopped.elapsed() >= STOP_PATIENCE);
        let is_late = search.stop_controller.ready_at().is_some_and(|at| context.clock.elapsed() >= at);
        if is_long || is_late {
            break;
        }
        progress.wait_for_change(epoch, ROOT_TICK);
    }
}

/// Returns the result of a search that has ended, with its state as seen without the figures of the root moves.
pub(crate) fn conclude(search: &Search, reason: EndReason) -> SearchResult {
    result_of(search, &search.snapshot(), reason)
}

/// Returns the result of a search: move, last information and figures are all of the same `snapshot`, although workers may
/// still be finishing a batch.
fn result_of(search: &Search, snapshot: &RootSnapshot, reason: EndReason) -> SearchResult {
    let SearchState { context, root, progress, .. } = &search.state;
    let info_and_line = |shown: &RootSnapshot| info_and_line(context, shown, root.rng());
    let (info, line) = snapshot.reported(context).map(|shown| info_and_line(&shown)).unwrap_or_default();
    SearchResult {
        best: line.first().copied(),
        ponder: line.get(1).copied(),
        reason,
        failure: progress.failure(),
        summary: report::summary(snapshot, context.tree.bytes()),
        stats: report::stats(snapshot),
        info,
    }
}

/// Returns the information of `shown`, and the line that begins with the move to play; it is empty if there is no such move.
fn info_and_line(
    context: &SearchContext,
    shown: &RootSnapshot,
    rng: fastrand::Rng,
) -> (Option<SearchInfo>, Vec<Move>) {
    let ranked = shown.ranked_moves();
    let info = info::of(context, shown, &ranked);
    let line = choose(context, shown, &ranked, rng).map(|best| {
        let reported = info.iter().flat_map(|info| &info.lines).find(|line| line.moves[0] == best.mv);
        reported.map_or_else(|| principal_variation(context, shown, best), |line| line.moves.clone())
    });
    (info, line.unwrap_or_default())
}

/// Passes news on to the observer, not too often.
struct InfoReporter<'a> {
    observer: &'a mut dyn FnMut(&SearchInfo),
    last: Option<(Instant, SearchInfo)>,
}

impl InfoReporter<'_> {
    fn report_if_news(&mut self, context: &SearchContext, snapshot: &RootSnapshot) {
        if self.last.as_ref().is_some_and(|(time, last)| time.elapsed() < gap_after(last)) {
            return;
        }
        let Some(shown) = snapshot.reported(context) else { return };
        let Some(mut info) = info::of(context, &shown, &shown.ranked_moves()) else { return };
        let is_news = match &self.last {
            None => true,
            Some((time, last)) => info.differs_from(last) || time.elapsed() >= MAX_INFO_GAP,
        };
        if is_news {
            if context.reports_move_stats(MoveStatsWhen::Always) {
                info.move_stats = Some(move_stats::of(context, snapshot));
            }
            (self.observer)(&info);
            self.last = Some((Instant::now(), info));
        }
    }
}

/// Returns how long to keep quiet after `info`.
fn gap_after(info: &SearchInfo) -> Duration {
    let per_line = if info.move_stats.is_some() { GAP_PER_LINE_WITH_STATS } else { GAP_PER_LINE };
    (per_line * info.text_lines() as u32).min(MAX_INFO_GAP)
}
