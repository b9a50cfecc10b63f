//! Shows how far a run with many games is: a bar on a terminal, elsewhere a line now and then.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::tools::output::eprint_message;

/// The time between two lines.
const LINE_EVERY: Duration = Duration::from_secs(60);

/// The progress of a run.
#[derive(Debug)]
pub(super) struct GameProgress {
    bar: ProgressBar,
    games: u64,
    /// When the last line was written, if the bar cannot be seen.
    told: Option<Instant>,
}

impl GameProgress {
    /// Begins with `done` of `games` games.
    pub(super) fn new(games: u64, done: u64) -> GameProgress {
        let style = ProgressStyle::with_template("{pos}/{len} games {wide_bar} {msg}  {per_sec} {eta}");
        let bar = ProgressBar::new(games);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_position(done);
        bar.reset_eta();
        GameProgress { bar, games, told: None }
    }

    /// Shows that `done` games are done, and where the run stands. The first line comes at once: it shows that the run lives.
    pub(super) fn show(&mut self, done: u64, standings: String) {
        let is_due = self.told.is_none_or(|told| told.elapsed() >= LINE_EVERY);
        if self.bar.is_hidden() && is_due {
            self.told = Some(Instant::now());
            eprint_message(format_args!("{done}/{} games  {standings}", self.games));
        }
        self.bar.set_position(done);
        self.bar.set_message(standings);
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
