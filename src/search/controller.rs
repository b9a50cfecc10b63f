//! The thread beside the workers: reports, watches the clock, and says when the search is over.
//!
//! `bestmove` goes out by the clock, also while a batch is in flight; a worker that is late backs it up later.

use std::time::{Duration, Instant};

use super::best_move::{choose, principal_variation, ranked_root_moves};
use super::info::{MoveStatsWhen, SearchInfo, snapshot};
use super::job::Job;
use super::move_stats;
use super::referee::{Call, EndReason};
use super::summary::{self, Summary};
use crate::chess::Move;

/// How often the controller looks for news.
const TICK: Duration = Duration::from_millis(10);
/// Each line of information keeps back the next ones for this long: at most 40 lines a second …
const GAP_PER_LINE: Duration = Duration::from_millis(25);
/// … but some come at least this often, as far as there is anything to tell, and however many lines are asked for.
const MAX_INFO_GAP: Duration = Duration::from_secs(4);
/// A search without a clock that ended by itself waits this long for batches in flight.
const LAST_BATCH_WAIT: Duration = Duration::from_secs(60);

/// How a search ended.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// The move to play; `None` if the search was ended before the root was evaluated.
    pub best: Option<Move>,
    /// The reply that is expected.
    pub ponder: Option<Move>,
    /// Why it ended.
    pub reason: EndReason,
    /// What the backend said when it failed.
    pub failure: Option<String>,
    /// The last state; `None` if the root has no visited move.
    pub info: Option<SearchInfo>,
    /// What the search counted.
    pub summary: Summary,
}

/// Watches over `job` until it ends; tells `observer` about it. `ponder_hit` is called with the time of `ponderhit`.
pub(crate) fn run(
    job: &Job,
    observer: &mut dyn FnMut(&SearchInfo),
    mut ponder_hit: impl FnMut(&Job, Instant),
) -> SearchResult {
    let mut reporter = Reporter { observer, last: None };
    let reason = loop {
        match job.referee.wait(job.started, TICK) {
            Call::End(reason) => break reason,
            Call::PonderHit(time) => {
                ponder_hit(job, time);
                job.referee.judge(job);
            }
            Call::GoOn => job.referee.judge_by_clock(job),
        }
        reporter.report_if_news(job);
    };
    job.stop();
    let has_deadline = job.referee.with_chain(|chain| chain.deadline_ms().is_some());
    if matches!(reason, EndReason::Rule(_)) && !has_deadline {
        job.wait_idle(LAST_BATCH_WAIT);
    }
    let info = reporter.report_last(job);
    SearchResult { info, ..conclude(job, reason) }
}

/// The result of a search that has ended, with its state as seen without the figures of the root moves.
pub(crate) fn conclude(job: &Job, reason: EndReason) -> SearchResult {
    let ranked = ranked_root_moves(job);
    let line = choose(job, &ranked).map(|best| principal_variation(job, best)).unwrap_or_default();
    SearchResult {
        best: line.first().copied(),
        ponder: line.get(1).copied(),
        reason,
        failure: job.failure(),
        info: snapshot(job),
        summary: summary::of(job),
    }
}

struct Reporter<'a> {
    observer: &'a mut dyn FnMut(&SearchInfo),
    last: Option<(Instant, SearchInfo)>,
}

impl Reporter<'_> {
    fn report_if_news(&mut self, job: &Job) {
        if self.last.as_ref().is_some_and(|(time, last)| time.elapsed() < gap_after(last)) {
            return;
        }
        let Some(mut info) = snapshot(job) else { return };
        let is_news = match &self.last {
            None => true,
            Some((time, last)) => info.differs_from(last) || time.elapsed() >= MAX_INFO_GAP,
        };
        if is_news {
            if job.reporting.move_stats == MoveStatsWhen::Always {
                info.move_stats = Some(move_stats::collect(job));
            }
            (self.observer)(&info);
            self.last = Some((Instant::now(), info));
        }
    }

    fn report_last(&mut self, job: &Job) -> Option<SearchInfo> {
        let mut info = snapshot(job)?;
        if job.reporting.move_stats != MoveStatsWhen::Never {
            info.move_stats = Some(move_stats::collect(job));
        }
        (self.observer)(&info);
        Some(info)
    }
}

/// How long to keep quiet after `info`.
fn gap_after(info: &SearchInfo) -> Duration {
    (GAP_PER_LINE * info.text_lines() as u32).min(MAX_INFO_GAP)
}
