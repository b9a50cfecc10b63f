//! For commands that take long: progress, Ctrl-C, and how a result came about.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, anyhow};
use humantime::format_rfc3339_seconds;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use itertools::Itertools;
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::output::{Facts, STOPPED, eprint_message};
use crate::setup::Machine;
use crate::signals;
use zeitnot_engine::VERSION;
use zeitnot_engine::engine::Settings;
use zeitnot_engine::network::BackendInfo;
use zeitnot_lab::report::Origin;
use zeitnot_lab::run::PRECISION;

const LINE_EVERY: Duration = Duration::from_secs(60);

/// Shows how far a run is: a bar on a terminal, elsewhere a line now and then.
pub(crate) struct Progress {
    bar: ProgressBar,
    what: &'static str,
    told: Option<Instant>,
}

impl Progress {
    /// Begins with `done` of `all`, if that is known.
    pub(crate) fn new(what: &'static str, all: Option<u64>, done: u64) -> Progress {
        let bar = all.map_or_else(ProgressBar::no_length, ProgressBar::new);
        let template = match all {
            Some(_) => format!("{{pos}}/{{len}} {what} {{wide_bar}} {{msg}}  {{per_sec}} {{eta}}"),
            None => format!("{{pos}} {what} {{spinner}} {{msg}}  {{per_sec}}"),
        };
        let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = bar.with_style(style).with_position(done);
        bar.reset_eta();
        Progress {
            bar,
            what,
            told: None,
        }
    }

    /// Shows lines alone, as a table is written meanwhile.
    pub(crate) fn in_lines(self) -> Progress {
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
        self
    }

    /// On a line also when the rest will be.
    pub(crate) fn count(&mut self, done: u64) {
        self.bar.set_position(done);
        let left = self.bar.eta();
        let left = if self.bar.is_hidden() && !left.is_zero() {
            format!("about {} left", HumanDuration(left))
        } else {
            String::new()
        };
        self.show(done, left);
    }

    pub(crate) fn count_one(&mut self) {
        self.count(self.bar.position() + 1);
    }

    /// The first line comes at once: it shows that the run lives.
    pub(crate) fn show(&mut self, done: u64, state: String) {
        let is_due = self.told.is_none_or(|told| told.elapsed() >= LINE_EVERY);
        if self.bar.is_hidden() && is_due {
            self.told = Some(Instant::now());
            let of_all = self
                .bar
                .length()
                .map(|games| format!("/{games}"))
                .unwrap_or_default();
            let what = if done == 1 && of_all.is_empty() {
                self.what.trim_end_matches('s')
            } else {
                self.what
            };
            eprint_message(format!("{done}{of_all} {what}  {state}").trim_end());
        }
        self.bar.set_position(done);
        self.bar.set_message(state);
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Becomes true when the user presses Ctrl-C. The second time the program ends at once.
pub(crate) fn interruption() -> Result<&'static AtomicBool> {
    // Registered twice, the first time would count as the second.
    static STOP: LazyLock<io::Result<Arc<AtomicBool>>> = LazyLock::new(|| {
        signals::hear_interruption();
        let stop = Arc::default();
        // It acts at the second time, when the other has set the flag.
        flag::register_conditional_shutdown(SIGINT, STOPPED.into(), Arc::clone(&stop))?;
        flag::register(SIGINT, Arc::clone(&stop)).map(|_| stop)
    });
    STOP.as_deref()
        .map_err(|error| anyhow!("Ctrl-C cannot be heard: {error}"))
}

pub(crate) fn is_interrupted() -> Result<bool> {
    Ok(interruption()?.load(Ordering::Relaxed))
}

/// Ends the program at Ctrl-C.
pub(crate) fn end_on_interruption() -> Result<()> {
    let always = Arc::new(AtomicBool::new(true));
    flag::register_conditional_shutdown(SIGINT, STOPPED.into(), always)?;
    Ok(())
}

/// As a user can paste it into a shell.
pub(crate) fn command_line() -> String {
    let given = std::env::args_os().skip(1);
    let words = given.map(|word| format!(" {}", quoted(&word.to_string_lossy())));
    format!("zeitnot{}", words.collect::<String>())
}

/// The backend with network, device and precision, if there is one, and the options that differ from their
/// defaults, wherever they were set.
pub(crate) fn engine_facts(backend: Option<&BackendInfo>, settings: &Settings) -> Facts {
    let network = backend.map(|backend| ("network", backend.description.clone()));
    let precision = backend.map(|backend| (PRECISION, backend.precision.clone()));
    let options = ("options", options_in_words(settings));
    let facts = network.into_iter().chain(precision).chain([options]);
    facts.filter(|(_, fact)| !fact.is_empty()).collect()
}

pub(crate) fn options_in_words(settings: &Settings) -> String {
    let changed = settings.changed().into_iter();
    let flags = changed
        .map(|(flag, value)| quoted(&format!("--{flag}={value}")))
        .join(" ");
    if flags.is_empty() {
        "the defaults".into()
    } else {
        flags
    }
}

pub(crate) fn origin<N: ToString>(facts: &[(N, String)]) -> Origin {
    Origin {
        run: String::new(),
        command: command_line(),
        version: VERSION.into(),
        // The day, without the time.
        date: format!("{:.10}", format_rfc3339_seconds(SystemTime::now()).to_string()),
        machine: Machine::this().to_string(),
        facts: facts
            .iter()
            .map(|(name, value)| (name.to_string(), value.clone()))
            .collect(),
    }
}

/// `text` as the system's shell reads it as one word.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || "/._-+,=:".contains(c) || cfg!(windows) && c == '\\';
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false if cfg!(windows) => format!("\"{}\"", text.replace('"', "\\\"")),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
