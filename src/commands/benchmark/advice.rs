//! Recommends settings by the strength that their speed is worth.
//!
//! More nodes per second are worth Elo, and visits that do not see each other's results cost some. Games have
//! measured both. Short searches find the best number of threads, then the batch size. Searches in turn with the
//! settings in force then show whether the gain exceeds the noise.

use std::collections::BTreeSet;
use std::fmt;

use clap::Args;
use serde::Serialize;

use super::Combination;
use crate::commands::measure;
use crate::commands::measure::search;
use crate::config_file::{Change, OF_A_BACKEND, WritableConfig};
use crate::output::{Failure, eprint_message};
use crate::setup::Processors;
use zeitnot_engine::engine::{Engine, Settings};
use zeitnot_engine::network::backends::native;
use zeitnot_engine::network::throughput::SortedSamples;
use zeitnot_engine::search::worth_under_way;
use zeitnot_engine::time::{GoLimits, Millis};

/// The worth of twice as many nodes. Games showed 160 at 100 nodes a move in self-play, and 92 from 20 to 200
/// against others. Longer searches gain less.
const ELO_OF_DOUBLING: f64 = 100.0;
/// On a core, smaller batches showed no cost in games …
const SMALL_BATCH: f64 = 8.0;
/// … and larger ones cost this much in a tree of as many visits.
const LARGE_BATCH: f64 = 16.0;
const ELO_OF_LARGE_BATCHES: f64 = 40.0;
const VISITS_OF_LARGE_BATCHES: f64 = 400.0;
/// For the estimate. Longer searches suffer less from visits under way.
const SECONDS_A_MOVE: f64 = 1.0;

const LONGEST_SEARCH: Millis = Millis(1000.0);
/// Rounds of a comparison, each with its own position, …
const ROUNDS: usize = 3;
/// … and of the final decision.
const DECIDING_ROUNDS: usize = 8;
/// Least gain of a recommendation: that of 5 % more nodes.
const LEAST_GAIN: f64 = 0.07 * ELO_OF_DOUBLING;
/// Unless the user names more: they only feed it.
const THREADS_OF_A_DEVICE: usize = 4;

#[derive(Debug, Args)]
pub(crate) struct AdviceArgs {
    /// Look for no better settings after the measurement
    #[arg(long)]
    pub(super) no_advice: bool,
    /// Put the recommended settings into zeitnot.config, which the engine and all commands read
    #[arg(long, conflicts_with_all = ["no_advice", "compare"])]
    pub(super) write: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    nps: f64,
    /// Above a level common to all.
    elo: f64,
}

impl Sample {
    /// The backend holds `queues` batches, or evaluates on the cores (0).
    pub(super) fn new(nps: f64, mean_batch: f64, threads: usize, queues: usize) -> Sample {
        let visits = (nps * SECONDS_A_MOVE).max(1.0);
        let elo = ELO_OF_DOUBLING * visits.log2();
        let elo = if queues > 0 {
            let worth = worth_under_way((mean_batch * queues as f64) as u32, visits as u32);
            elo + ELO_OF_DOUBLING * f64::from(worth).log2()
        } else {
            let leaves = mean_batch * threads as f64;
            let size = ((leaves - SMALL_BATCH) / (LARGE_BATCH - SMALL_BATCH)).clamp(0.0, 1.0);
            elo - ELO_OF_LARGE_BATCHES * size * (VISITS_OF_LARGE_BATCHES / visits).min(1.0)
        };
        Sample { nps, elo }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Trial {
    #[serde(flatten)]
    setting: Combination,
    nps: f64,
    /// Above the settings in force.
    elo: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Recommendation {
    #[serde(flatten)]
    setting: Combination,
    elo: f64,
    /// Half the width of the 95 % interval.
    elo_error: f64,
    #[serde(skip)]
    in_force: Combination,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Advice {
    in_force: Combination,
    trials: Vec<Trial>,
    recommended: Option<Recommendation>,
    /// What was written to the configuration file, or why nothing was.
    config: Option<String>,
}

/// The settings to try beside these.
type Candidates<'a> = &'a dyn Fn(&Combination) -> Vec<Combination>;

/// Races the settings in force against the candidates of each stage, which are beside the best so far.
fn race(
    in_force: &Combination,
    stages: [Candidates<'_>; 2],
    mut search: impl FnMut(&Combination, usize) -> Result<Sample, Failure>,
) -> Result<Advice, Failure> {
    let (mut best, mut lead, mut trials) = (in_force.clone(), 0.0, Vec::<Trial>::new());
    for candidates in stages {
        let candidates = candidates(&best);
        let mut samples = vec![Vec::new(); candidates.len()];
        for round in (0..ROUNDS).take_while(|_| !candidates.is_empty()) {
            let reference = search(&best, round)?;
            for (setting, samples) in candidates.iter().zip(&mut samples) {
                let sample = search(setting, round)?;
                samples.push(Sample { elo: lead + sample.elo - reference.elo, ..sample });
            }
        }
        let trial = |(setting, samples): (Combination, Vec<Sample>)| Trial {
            setting,
            nps: mean(samples.iter().map(|sample| sample.nps)),
            elo: mean(samples.iter().map(|sample| sample.elo)),
        };
        let stage: Vec<_> = candidates.into_iter().zip(samples).map(trial).collect();
        if let Some(winner) = stage.iter().max_by(|a, b| a.elo.total_cmp(&b.elo))
            && winner.elo > lead + LEAST_GAIN
        {
            (best, lead) = (winner.setting.clone(), winner.elo);
        }
        trials.extend(stage);
    }
    let mut gains = Vec::new();
    for round in (0..DECIDING_ROUNDS).take_while(|_| best != *in_force) {
        // Alternates the order, so that a machine that slows down harms both alike.
        let (sign, first, second) =
            if round % 2 == 0 { (1.0, in_force, &best) } else { (-1.0, &best, in_force) };
        let before = search(first, round)?.elo;
        gains.push(sign * (search(second, round)?.elo - before));
    }
    let recommended = Recommendation::of(in_force, best, &gains, 0.0);
    Ok(Advice { in_force: in_force.clone(), trials, recommended, config: None })
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    SortedSamples::of(&values.collect::<Vec<_>>()).mean()
}

/// By Student's t distribution.
fn errors_of_95_percent(count: usize) -> f64 {
    const BY_FREEDOM: [f64; 10] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];
    match count.saturating_sub(1) {
        0 => f64::INFINITY,
        freedom => BY_FREEDOM.get(freedom - 1).copied().unwrap_or(1.96 + 2.7 / freedom as f64),
    }
}

impl Recommendation {
    /// If `gains` in Elo are significant, even with a `drift` of the machine's speed.
    fn of(in_force: &Combination, best: Combination, gains: &[f64], drift: f64) -> Option<Recommendation> {
        let samples = SortedSamples::of(gains);
        let chance = samples.deviation() / (gains.len().max(1) as f64).sqrt();
        let elo_error = errors_of_95_percent(gains.len()) * chance + ELO_OF_DOUBLING * (1.0 + drift).log2();
        let elo = samples.mean();
        let is_clear = elo > elo_error && elo > LEAST_GAIN;
        is_clear.then(|| Recommendation { setting: best, elo, elo_error, in_force: in_force.clone() })
    }
}

/// Numbers chosen for another backend are dropped.
fn changes(new: &Combination, old: &Combination) -> Vec<Change<'static>> {
    let is_other = new.backend != old.backend;
    // A GPU may become unavailable.
    let fallback = (new.backend != native::NAME).then(|| "cpu".to_owned());
    let number = |number: Option<usize>| number.map(|number| number.to_string());
    let all = [
        ("backend", Some(new.backend.clone()), is_other),
        ("fallback", fallback, is_other),
        ("threads", number(new.threads), is_other || new.threads != old.threads),
        ("minibatch-size", number(new.batch), is_other || new.batch != old.batch),
    ];
    all.into_iter().filter(|(.., differs)| *differs).map(|(flag, value, _)| (flag, value)).collect()
}

/// Returns what was written or why nothing was, and false if lines of the user prevent it.
pub(crate) fn write_setting(
    config: &WritableConfig,
    new: &Combination,
    old: &Combination,
) -> Result<(String, bool), Failure> {
    let changes = changes(new, old);
    let set = || changes.iter().filter_map(|(flag, value)| Some((*flag, value.as_ref()?)));
    let of_backend = OF_A_BACKEND.into_iter().filter(|_| new.backend != old.backend);
    let taken = config.taken_lines(&set().map(|(flag, _)| flag).chain(of_backend).collect::<Vec<_>>());
    if taken.is_empty() {
        return Ok((config.write(&changes)?, true));
    }
    let wanted: Vec<_> = set().map(|(flag, value)| format!("{flag}={value}")).collect();
    Ok((format!("{}. Write {} there", taken.join(", "), wanted.join(", ")), false))
}

impl fmt::Display for Recommendation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |flag| Settings::spec(flag).map_or(flag, |spec| spec.name);
        let changes =
            changes(&self.setting, &self.in_force).into_iter().filter(|(flag, _)| *flag != "fallback");
        let options: Vec<_> =
            changes.filter_map(|(flag, value)| Some(format!("{}={}", name(flag), value?))).collect();
        write!(f, "set {}: about +{:.0} ± {:.0} Elo", options.join(", "), self.elo, self.elo_error)
    }
}

pub(super) struct Measured<'a> {
    pub(super) setting: &'a Combination,
    pub(super) samples: Vec<Sample>,
    /// Share by which the machine may have changed its speed meanwhile.
    pub(super) drift: f64,
}

impl Advice {
    /// Compares earlier measurements with the first of them.
    pub(super) fn of_measured(runs: &[Measured<'_>]) -> Advice {
        let Some((first, others)) = runs.split_first() else { return Advice::default() };
        let gains = |run: &Measured<'_>| -> Vec<f64> {
            run.samples.iter().zip(&first.samples).map(|(new, old)| new.elo - old.elo).collect()
        };
        let trial = |run: &Measured<'_>| Trial {
            setting: run.setting.clone(),
            nps: mean(run.samples.iter().map(|sample| sample.nps)),
            elo: mean(gains(run).into_iter()),
        };
        let trials: Vec<_> = others.iter().map(trial).collect();
        let best = others.iter().zip(&trials).max_by(|a, b| a.1.elo.total_cmp(&b.1.elo));
        let recommended = best.and_then(|(run, trial)| {
            Recommendation::of(first.setting, trial.setting.clone(), &gains(run), first.drift.max(run.drift))
        });
        Advice { in_force: first.setting.clone(), trials, recommended, config: None }
    }

    /// `asked` may name threads and batch sizes to try.
    pub(super) fn by_races(
        mut engine: Engine,
        settings: &Settings,
        positions: &[String],
        limits: &GoLimits,
        asked: &Asked<'_>,
    ) -> Result<Advice, Failure> {
        let movetime = limits.movetime.map_or(LONGEST_SEARCH, |time| Millis(time.0.min(LONGEST_SEARCH.0)));
        let in_force = Combination {
            backend: settings.network.backend.to_string(),
            threads: Some(engine.threads()),
            batch: Some(engine.batch_size()),
        };
        let Some(info) = engine.backend().cloned() else { return Ok(Advice::default()) };
        eprint_message("looking for better settings");
        let with_threads = |best: &Combination| {
            let counts = asked.threads(best.threads.unwrap_or_default(), info.queues).into_iter();
            counts.map(|threads| Combination { threads: Some(threads), ..best.clone() }).collect()
        };
        let with_batches = |best: &Combination| {
            let sizes = asked.batches(best.batch.unwrap_or_default(), info.max_batch).into_iter();
            sizes.map(|batch| Combination { batch: Some(batch), ..best.clone() }).collect()
        };
        let limits = GoLimits { movetime: Some(movetime), ..limits.clone() };
        // The list goes from openings to endings: take positions of all phases.
        let rounds = DECIDING_ROUNDS.min(positions.len());
        let search = |setting: &Combination, round: usize| {
            let number = |number: Option<usize>| number.unwrap_or(0).to_string();
            engine.set_option("Threads", &number(setting.threads))?;
            engine.set_option("MinibatchSize", &number(setting.batch))?;
            engine.prepare()?;
            let position = positions[round % rounds * positions.len() / rounds].clone();
            let figures = search(&mut engine, position, &limits)?.0.figures;
            let nps = figures.per_second(figures.nodes);
            Ok(Sample::new(nps, figures.mean_batch, engine.threads(), info.queues))
        };
        race(&in_force, [&with_threads, &with_batches], search)
    }

    /// False if lines of the user prevent it.
    pub(super) fn write(&mut self, config: &WritableConfig) -> Result<bool, Failure> {
        let Some(recommended) = &self.recommended else {
            self.config = Some("nothing to write".into());
            return Ok(true);
        };
        let (text, is_written) = write_setting(config, &recommended.setting, &recommended.in_force)?;
        self.config = Some(text);
        Ok(is_written)
    }

    /// The backend recommended, or the one in force.
    pub(super) fn backend(&self) -> &str {
        let setting = self.recommended.as_ref().map_or(&self.in_force, |recommended| &recommended.setting);
        &setting.backend
    }

    pub(super) fn facts(&self) -> measure::Facts {
        let line = |trial: &Trial| {
            let Trial { setting, nps, elo } = trial;
            ("tried", format!("{}: {nps:.0} nps, {elo:+.0} Elo", setting.beside(&self.in_force)))
        };
        self.trials.iter().map(line).collect()
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.recommended, self.trials.len()) {
            (Some(recommended), _) => write!(f, "Advice: {recommended}.")?,
            (None, 0) => f.write_str("Advice: there is nothing else to try.")?,
            (None, 1) => f.write_str("Advice: change nothing. The other setting is not clearly better.")?,
            (None, tried) => {
                write!(f, "Advice: change nothing. None of {tried} other settings is clearly better.")?;
            }
        }
        match &self.config {
            Some(config) => write!(f, "\nConfiguration: {config}."),
            None if self.recommended.is_some() => f.write_str(" --write saves it."),
            None => Ok(()),
        }
    }
}

/// Numbers the user asks to try. If none, those that suit backend and machine.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) thread_counts: &'a [usize],
    pub(super) batches: &'a [usize],
    pub(super) processors: &'a Processors,
}

impl Asked<'_> {
    /// Numbers of threads beside `threads`, at most one per processor unless asked for.
    fn threads(&self, threads: usize, queues: usize) -> BTreeSet<usize> {
        let mut counts = match (self.thread_counts, queues) {
            ([], 0) => self.processors.thread_counts(),
            ([], _) => (1..=THREADS_OF_A_DEVICE.min(self.processors.usable)).collect(),
            (asked, _) => asked.iter().copied().collect(),
        };
        counts.remove(&threads);
        counts
    }

    /// Batch sizes beside `batch`, up to `largest`.
    fn batches(&self, batch: usize, largest: usize) -> BTreeSet<usize> {
        let sizes = if self.batches.is_empty() { &[batch / 2, batch * 2] } else { self.batches };
        sizes.iter().copied().filter(|&size| size != batch && (1..=largest).contains(&size)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn setting(backend: &str, threads: usize, batch: usize) -> Combination {
        Combination { backend: backend.into(), threads: Some(threads), batch: Some(batch) }
    }

    /// Advises on a machine of known speeds, scattered by the share `noise`.
    fn advise(noise: f64, nps: impl Fn(&Combination) -> f64) -> Advice {
        let with_threads = |_: &Combination| vec![setting("auto", 1, 32)];
        let with_batches =
            |best: &Combination| [16, 64].map(|batch| setting("auto", best.threads.unwrap(), batch)).into();
        let searches = std::cell::Cell::new(0);
        let search = |setting: &Combination, _: usize| {
            searches.set(searches.get() + 1);
            // Pseudo-random, the same in each run.
            let now = noise * ((searches.get() * 7919 % 101) as f64 / 50.0 - 1.0);
            let nps = nps(setting) * (1.0 + now);
            Ok(Sample::new(nps, setting.batch.unwrap() as f64, setting.threads.unwrap(), 2))
        };
        race(&setting("auto", 2, 32), [&with_threads, &with_batches], search).unwrap()
    }

    #[test]
    fn the_best_settings_are_found_one_after_the_other() {
        // One thread beats two, batches do not matter.
        let nps = |setting: &Combination| if setting.threads == Some(1) { 30_000.0 } else { 20_000.0 };
        let advice = advise(0.01, nps);
        let recommended = advice.recommended.as_ref().unwrap();
        assert_eq!(recommended.setting, setting("auto", 1, 32), "{advice:?}");
        assert_eq!(advice.trials.len(), 3);
        let text = advice.to_string();
        assert!(
            text.starts_with("Advice: set Threads=1: about +") && text.ends_with("--write saves it."),
            "{text}"
        );
        assert!(recommended.elo > 50.0 && recommended.elo < 70.0, "{recommended:?}");
    }

    #[test]
    fn noise_is_no_reason_to_recommend_anything() {
        let slightly_better =
            |setting: &Combination| if setting.threads == Some(1) { 20_900.0 } else { 20_000.0 };
        assert_eq!(advise(0.0, |_| 20_000.0).recommended, None);
        assert_eq!(advise(0.0, slightly_better).recommended, None, "less than 5 %");
        let better = |setting: &Combination| if setting.threads == Some(1) { 23_000.0 } else { 20_000.0 };
        assert!(advise(0.02, better).recommended.is_some());
        let advice = advise(0.6, better);
        assert_eq!(advice.recommended, None, "{advice:?}");
        assert_eq!(advice.to_string(), "Advice: change nothing. None of 3 other settings is clearly better.");
    }

    #[test]
    fn visits_under_way_cost_strength() {
        let elo = |nps, batch, threads, queues| Sample::new(nps, batch, threads, queues).elo;
        assert_eq!(elo(20_000.0, 8.0, 1, 0) - elo(10_000.0, 8.0, 1, 0), ELO_OF_DOUBLING);
        // On cores: no cost up to 8.
        assert_eq!(elo(400.0, 1.0, 1, 0), elo(400.0, 4.0, 2, 0));
        assert_eq!(elo(400.0, 8.0, 1, 0) - elo(400.0, 16.0, 1, 0), 40.0);
        assert_eq!(elo(400.0, 8.0, 1, 0), elo(400.0, 8.0, 4, 0) + 40.0);
        assert!((elo(40_000.0, 8.0, 1, 0) - elo(40_000.0, 64.0, 1, 0) - 0.4).abs() < 1e-6);
        // A device: the search's own rule.
        assert!(elo(1000.0, 64.0, 1, 2) > elo(1000.0, 256.0, 1, 2) + 5.0);
        assert!(elo(100_000.0, 64.0, 1, 2) < elo(100_000.0, 256.0, 1, 2) + 0.2);
    }

    #[test]
    fn more_threads_than_processors_are_tried_only_if_asked_for() {
        let processors = Processors::read(Path::new("/no/such/folder"), 6);
        let asked = |thread_counts, batches| Asked { thread_counts, batches, processors: &processors };
        let list = |set: BTreeSet<usize>| set.into_iter().collect::<Vec<_>>();
        assert_eq!(list(asked(&[], &[]).threads(6, 0)), [3]);
        assert_eq!(list(asked(&[], &[]).threads(1, 2)), [2, 3, 4]);
        assert_eq!(list(asked(&[12, 6], &[]).threads(6, 0)), [12]);
        assert_eq!(list(asked(&[], &[]).batches(6, 1024)), [3, 12]);
        assert_eq!(list(asked(&[], &[]).batches(1, 1)), [0; 0]);
        assert_eq!(list(asked(&[], &[32, 64]).batches(32, 1024)), [64]);
    }

    #[test]
    fn what_was_measured_one_after_the_other_may_have_drifted() {
        let settings = [setting("webgpu", 1, 64), setting("native", 2, 8)];
        let advise = |factor: f64, drift| {
            let run = |index: usize, factor: f64| Measured {
                setting: &settings[index],
                samples: [900.0, 1000.0, 1100.0].map(|nps| Sample::new(nps * factor, 8.0, 1, 0)).into(),
                drift,
            };
            Advice::of_measured(&[run(0, 1.0), run(1, factor)]).recommended
        };
        assert_eq!(advise(1.2, 0.02).unwrap().setting, settings[1]);
        assert_eq!(advise(1.2, 0.25), None);
        assert_eq!(advise(0.5, 0.0), None);
        assert!(Advice::of_measured(&[]).recommended.is_none());
    }

    #[test]
    fn only_what_changes_is_written() {
        let threads = changes(&setting("auto", 1, 8), &setting("auto", 2, 8));
        assert_eq!(threads, [("threads", Some("1".into()))]);
        let best = Combination { batch: None, ..setting("native", 1, 8) };
        let changes = changes(&best, &setting("cuda", 2, 64));
        assert_eq!(
            changes,
            [
                ("backend", Some("native".into())),
                ("fallback", None),
                ("threads", Some("1".into())),
                ("minibatch-size", None),
            ]
        );
    }

    #[test]
    fn lines_of_the_users_are_not_overruled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("zeitnot.config");
        let config = |text: &str| {
            std::fs::write(&path, text).unwrap();
            WritableConfig::open(Some(&path)).unwrap()
        };
        let recommended = Recommendation {
            setting: setting("auto", 1, 8),
            elo: 20.0,
            elo_error: 5.0,
            in_force: setting("auto", 2, 8),
        };
        let mut advice = Advice { recommended: Some(recommended), ..Advice::default() };
        assert!(!advice.write(&config("# mine\nthreads=2\n")).unwrap());
        assert!(
            advice.to_string().contains("line 2, is yours and stays: threads=2. Write threads=1 there."),
            "{advice}"
        );
        let gpu = setting("webgpu", 2, 8);
        let gpu = Combination { threads: None, ..gpu };
        let is_written = |text: &str| write_setting(&config(text), &gpu, &setting("native", 2, 8)).unwrap().1;
        assert!(!is_written("backend-opts=gpu=1\n") && is_written("threads=4\n"));
        assert!(advice.write(&config("# mine\nhash=64\n")).unwrap());
        assert!(advice.to_string().contains("its own lines in "), "{advice}");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# mine\nhash=64\n") && text.contains("\nthreads=1\n"), "{text}");
    }
}
