//! Recommends settings by the strength that their speed is worth.
//!
//! More nodes per second are worth Elo, and visits that do not see each other's results cost some, as games
//! have measured.

use std::fmt;

use anyhow::Result;
use serde::Serialize;

use super::Combination;
use crate::config_file::{Change, OF_A_BACKEND, WritableConfig};
use zeitnot_engine::engine::Settings;
use zeitnot_engine::network::backends::native;
use zeitnot_engine::network::throughput::SortedSamples;
use zeitnot_engine::search::worth_under_way;

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

/// Least gain of a recommendation: that of 5 % more nodes.
const LEAST_GAIN: f64 = 0.07 * ELO_OF_DOUBLING;

pub(super) struct Sample {
    nps: f64,
    /// Above a level common to all.
    elo: f64,
}

impl Sample {
    /// The backend holds `queues` batches, or evaluates on the cores (0).
    pub(super) fn new(nps: f64, mean_batch: f64, threads: usize, queues: usize) -> Sample {
        let visits = (nps * SECONDS_A_MOVE).max(1.0);
        let mut elo = ELO_OF_DOUBLING * visits.log2();
        if queues > 0 {
            let worth = worth_under_way((mean_batch * queues as f64) as u32, visits as u32);
            elo += ELO_OF_DOUBLING * f64::from(worth).log2();
        } else {
            let leaves = mean_batch * threads as f64;
            let size = ((leaves - SMALL_BATCH) / (LARGE_BATCH - SMALL_BATCH)).clamp(0.0, 1.0);
            elo -= ELO_OF_LARGE_BATCHES * size * (VISITS_OF_LARGE_BATCHES / visits).min(1.0);
        }
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
}

#[derive(Clone, Default, Serialize)]
pub(super) struct Advice {
    in_force: Combination,
    trials: Vec<Trial>,
    recommended: Option<Recommendation>,
    /// What was written, or why nothing was.
    config: Option<String>,
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    SortedSamples::of(&values.collect::<Vec<_>>()).mean()
}

/// By Student's t distribution.
fn errors_of_95_percent(count: usize) -> f64 {
    const BY_FREEDOM: [f64; 10] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];
    match count.saturating_sub(1) {
        0 => f64::INFINITY,
        freedom => BY_FREEDOM
            .get(freedom - 1)
            .copied()
            .unwrap_or(1.96 + 2.7 / freedom as f64),
    }
}

impl Recommendation {
    /// If `gains` in Elo are significant, even with a `drift` of the machine's speed.
    fn of(best: &Combination, gains: &[f64], drift: f64) -> Option<Recommendation> {
        let samples = SortedSamples::of(gains);
        let elo_error =
            errors_of_95_percent(gains.len()) * samples.error() + ELO_OF_DOUBLING * (1.0 + drift).log2();
        let elo = samples.mean();
        let is_clear = elo > elo_error && elo > LEAST_GAIN;
        is_clear.then(|| Recommendation {
            setting: best.clone(),
            elo,
            elo_error,
        })
    }

    fn in_words(&self, in_force: &Combination) -> String {
        let mut options = Vec::new();
        for (flag, value) in changes(&self.setting, in_force) {
            if let (Some(value), Ok(spec)) = (value, Settings::spec(flag))
                && flag != "fallback"
            {
                options.push(format!("{}={value}", spec.name));
            }
        }
        format!(
            "set {}: about +{:.0} ± {:.0} Elo",
            options.join(", "),
            self.elo,
            self.elo_error
        )
    }
}

/// Numbers chosen for another backend are dropped.
fn changes(new: &Combination, old: &Combination) -> Vec<Change<'static>> {
    let is_other = new.backend != old.backend;
    let mut changes = Vec::new();
    if is_other {
        // A GPU may become unavailable.
        let fallback = (new.backend != native::NAME).then(|| "cpu".to_owned());
        changes.push(("backend", Some(new.backend.clone())));
        changes.push(("fallback", fallback));
    }
    if is_other || new.threads != old.threads {
        changes.push(("threads", new.threads.map(|threads| threads.to_string())));
    }
    if is_other || new.batch != old.batch {
        changes.push(("minibatch-size", new.batch.map(|batch| batch.to_string())));
    }
    changes
}

/// Also false if lines of the user prevent it.
pub(crate) fn write_setting(
    config: &WritableConfig,
    new: &Combination,
    old: &Combination,
) -> Result<(String, bool)> {
    let changes = changes(new, old);
    let mut flags = Vec::new();
    let mut wanted = Vec::new();
    for (flag, value) in &changes {
        if let Some(value) = value {
            flags.push(*flag);
            wanted.push(format!("{flag}={value}"));
        }
    }
    if new.backend != old.backend {
        flags.extend(OF_A_BACKEND);
    }
    let taken = config.taken_lines(&flags);
    if taken.is_empty() {
        return Ok((config.write(&changes)?, true));
    }
    let text = format!("{}. Write {} there", taken.join(", "), wanted.join(", "));
    Ok((text, false))
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
        let Some((first, others)) = runs.split_first() else {
            return Advice::default();
        };
        let gains = |run: &Measured<'_>| -> Vec<f64> {
            run.samples
                .iter()
                .zip(&first.samples)
                .map(|(new, old)| new.elo - old.elo)
                .collect()
        };
        let trial = |run: &Measured<'_>| Trial {
            setting: run.setting.clone(),
            nps: mean(run.samples.iter().map(|sample| sample.nps)),
            elo: mean(gains(run).into_iter()),
        };
        let trials: Vec<_> = others.iter().map(trial).collect();
        let best = others
            .iter()
            .zip(&trials)
            .max_by(|a, b| a.1.elo.total_cmp(&b.1.elo));
        let recommended = best
            .and_then(|(run, _)| Recommendation::of(run.setting, &gains(run), first.drift.max(run.drift)));
        Advice {
            in_force: first.setting.clone(),
            trials,
            recommended,
            config: None,
        }
    }

    /// False if lines of the user prevent it.
    pub(super) fn write(&mut self, config: &WritableConfig) -> Result<bool> {
        let Some(recommended) = &self.recommended else {
            self.config = Some(
                "nothing to write; --backends, --thread-counts and --batches name more to compare".into(),
            );
            return Ok(true);
        };
        let (text, is_written) = write_setting(config, &recommended.setting, &self.in_force)?;
        self.config = Some(text);
        Ok(is_written)
    }

    /// The backend recommended, or the one in force.
    pub(super) fn backend(&self) -> &str {
        let setting = self
            .recommended
            .as_ref()
            .map_or(&self.in_force, |recommended| &recommended.setting);
        &setting.backend
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.recommended, self.trials.len()) {
            (Some(recommended), _) => write!(f, "Advice: {}.", recommended.in_words(&self.in_force))?,
            (None, 0) => f.write_str("Advice: there is nothing else to try.")?,
            (None, 1) => f.write_str("Advice: change nothing. The other setting is not clearly better.")?,
            (None, tried) => {
                write!(
                    f,
                    "Advice: change nothing. None of {tried} other settings is clearly better."
                )?;
            }
        }
        match &self.config {
            Some(config) => write!(f, "\nConfiguration: {config}."),
            None if self.recommended.is_some() => f.write_str(" --write saves it."),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(backend: &str, threads: usize, batch: usize) -> Combination {
        Combination {
            backend: backend.into(),
            threads: Some(threads),
            batch: Some(batch),
        }
    }

    #[test]
    fn visits_under_way_cost_strength() {
        let elo = |nps, batch, threads, queues| Sample::new(nps, batch, threads, queues).elo;
        assert_eq!(
            elo(20_000.0, 8.0, 1, 0) - elo(10_000.0, 8.0, 1, 0),
            ELO_OF_DOUBLING
        );
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
    fn what_was_measured_one_after_the_other_may_have_drifted() {
        let settings = [setting("webgpu", 1, 64), setting("native", 2, 8)];
        let advise = |factor: f64, drift| {
            let run = |index: usize, factor: f64| Measured {
                setting: &settings[index],
                samples: [900.0, 1000.0, 1100.0]
                    .map(|nps| Sample::new(nps * factor, 8.0, 1, 0))
                    .into(),
                drift,
            };
            Advice::of_measured(&[run(0, 1.0), run(1, factor)]).recommended
        };
        let recommended = advise(1.2, 0.02).unwrap();
        assert_eq!(recommended.setting, settings[1]);
        assert!(
            recommended
                .in_words(&settings[0])
                .starts_with("set Backend=native, Threads=2, MinibatchSize=8: about +26 ± ")
        );
        assert_eq!(advise(1.2, 0.25), None);
        assert_eq!(advise(0.5, 0.0), None);
        assert!(Advice::of_measured(&[]).recommended.is_none());
    }

    #[test]
    fn only_what_changes_is_written() {
        let threads = changes(&setting("auto", 1, 8), &setting("auto", 2, 8));
        assert_eq!(threads, [("threads", Some("1".into()))]);
        let best = Combination {
            batch: None,
            ..setting("native", 1, 8)
        };
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
        };
        let in_force = setting("auto", 2, 8);
        let mut advice = Advice {
            in_force,
            recommended: Some(recommended),
            ..Advice::default()
        };
        assert!(!advice.write(&config("# mine\nthreads=2\n")).unwrap());
        assert!(
            advice
                .to_string()
                .contains("line 2, is yours and stays: threads=2. Write threads=1 there."),
            "{advice}"
        );
        let gpu = setting("webgpu", 2, 8);
        let gpu = Combination { threads: None, ..gpu };
        let is_written = |text: &str| {
            write_setting(&config(text), &gpu, &setting("native", 2, 8))
                .unwrap()
                .1
        };
        assert!(!is_written("backend-opts=gpu=1\n") && is_written("threads=4\n"));
        assert!(advice.write(&config("# mine\nhash=64\n")).unwrap());
        assert!(advice.to_string().contains("its own lines in "), "{advice}");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("# mine\nhash=64\n") && text.contains("\nthreads=1\n"),
            "{text}"
        );
    }
}
