//! The readings of a run in a few figures, with the readings themselves.

use serde::Serialize;

use super::{Reading, Series};

/// What the sensors told during a run.
#[derive(Clone, Debug, Default, Serialize)]
pub(in crate::tools::benchmark) struct SensorReport {
    /// Energy of all devices that tell it, during the searches, joules.
    pub(in crate::tools::benchmark) joules: Option<f64>,
    /// Mean power of these devices during the searches.
    pub(in crate::tools::benchmark) watts: Option<f64>,
    /// Visits per joule.
    pub(in crate::tools::benchmark) nodes_per_joule: Option<f64>,
    pub(in crate::tools::benchmark) devices: Vec<DeviceReport>,
    /// What this system does not tell, and why.
    pub(in crate::tools::benchmark) missing: Vec<String>,
}

/// What one device told.
#[derive(Clone, Debug, Serialize)]
pub(in crate::tools::benchmark) struct DeviceReport {
    name: String,
    joules: Option<f64>,
    watts_max: Option<f64>,
    celsius_max: Option<f64>,
    mhz_mean: Option<f64>,
    mhz_min: Option<f64>,
    memory_mb_max: Option<f64>,
    /// The share of the time in which heat or power held the clock down.
    throttled: Option<f64>,
    samples: Vec<Sample>,
}

/// A device at one moment.
#[derive(Clone, Debug, Serialize)]
struct Sample {
    /// Seconds since the run began.
    s: f64,
    watts: Option<f64>,
    celsius: Option<f64>,
    mhz: Option<f64>,
    memory_mb: Option<f64>,
    throttled: Option<bool>,
}

impl SensorReport {
    /// Sums `series` up; energy counts within `searches`, s.
    pub(super) fn new(
        series: &[Series],
        searches: &[(f64, f64)],
        missing: Vec<String>,
        nodes: u64,
    ) -> SensorReport {
        let devices: Vec<_> = series.iter().map(|series| DeviceReport::new(series, searches)).collect();
        let energies: Vec<f64> = devices.iter().filter_map(|device| device.joules).collect();
        let joules = (!energies.is_empty()).then(|| energies.iter().sum::<f64>()).filter(|&sum| sum > 0.0);
        let seconds: f64 = searches.iter().map(|(begin, end)| end - begin).sum();
        SensorReport {
            joules,
            watts: joules.map(|joules| joules / seconds.max(1e-9)),
            nodes_per_joule: joules.map(|joules| nodes as f64 / joules),
            devices,
            missing,
        }
    }

    /// Returns the figures, and what is missing, as names and values.
    pub(in crate::tools::benchmark) fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        if let (Some(joules), Some(watts), Some(rate)) = (self.joules, self.watts, self.nodes_per_joule) {
            let counted = self.devices.iter().filter(|device| device.joules.is_some());
            let names: Vec<_> = counted.map(|device| device.name.as_str()).collect();
            let text =
                format!("{joules:.0} J, {watts:.1} W, {rate:.1} nodes per joule ({})", names.join(", "));
            facts.push(("energy", text));
        }
        facts.extend(self.devices.iter().map(|device| ("sensors", device.in_words())));
        facts.extend((!self.missing.is_empty()).then(|| ("not told", self.missing.join("; "))));
        facts
    }
}

impl DeviceReport {
    fn new(series: &Series, searches: &[(f64, f64)]) -> DeviceReport {
        let energy = cumulated(&series.readings);
        let joules = (energy.len() > 1).then(|| {
            searches.iter().map(|&(begin, end)| energy_at(&energy, end) - energy_at(&energy, begin)).sum()
        });
        let samples = samples(&series.readings);
        let told = |figure: fn(&Sample) -> Option<f64>| samples.iter().filter_map(figure).collect::<Vec<_>>();
        let max = |numbers: Vec<f64>| numbers.into_iter().reduce(f64::max);
        let clocks = told(|sample| sample.mhz);
        let throttled: Vec<_> = samples.iter().filter_map(|sample| sample.throttled).collect();
        let share = throttled.iter().filter(|&&it| it).count() as f64 / throttled.len().max(1) as f64;
        DeviceReport {
            name: series.name.clone(),
            joules,
            watts_max: max(told(|sample| sample.watts)),
            celsius_max: max(told(|sample| sample.celsius)),
            mhz_mean: (!clocks.is_empty()).then(|| clocks.iter().sum::<f64>() / clocks.len() as f64),
            mhz_min: clocks.into_iter().reduce(f64::min),
            memory_mb_max: max(told(|sample| sample.memory_mb)),
            throttled: (!throttled.is_empty()).then_some(share),
            samples,
        }
    }

    fn in_words(&self) -> String {
        let parts = [
            self.watts_max.map(|watts| format!("up to {watts:.0} W")),
            self.celsius_max.map(|celsius| format!("up to {celsius:.0} °C")),
            self.mhz_mean.zip(self.mhz_min).map(|(mean, min)| format!("{mean:.0} MHz (lowest {min:.0})")),
            self.memory_mb_max.map(|memory| format!("up to {memory:.0} MB")),
            self.throttled.map(|share| format!("held down for {:.0} % of the time", 100.0 * share)),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        format!("{}: {}", self.name, if parts.is_empty() { "tells nothing".into() } else { parts.join(", ") })
    }
}

/// Returns the moments at which the energy so far is known: as counted, or else summed up from the power.
fn cumulated(readings: &[(f64, Reading)]) -> Vec<(f64, f64)> {
    let counted: Vec<_> = readings.iter().filter_map(|(s, reading)| Some((*s, reading.joules?))).collect();
    if !counted.is_empty() {
        return counted;
    }
    let powers = readings.iter().filter_map(|(s, reading)| Some((*s, reading.watts?)));
    let mut sums: Vec<(f64, f64)> = Vec::new();
    let mut before: Option<(f64, f64)> = None;
    for (s, watts) in powers {
        let sum = sums.last().map_or(0.0, |last| last.1);
        let passed = before.map_or(0.0, |(then, power)| (s - then) * (power + watts) / 2.0);
        sums.push((s, sum + passed));
        before = Some((s, watts));
    }
    sums
}

/// Returns the energy at the moment `s`, between two known ones in proportion.
fn energy_at(energy: &[(f64, f64)], s: f64) -> f64 {
    let next = energy.partition_point(|(moment, _)| *moment < s).clamp(1, energy.len() - 1);
    let ((from, low), (to, high)) = (energy[next - 1], energy[next]);
    low + (high - low) * (s - from) / (to - from).max(1e-9)
}

/// Returns the readings as samples; a power that is not told is what the energy has grown by.
fn samples(readings: &[(f64, Reading)]) -> Vec<Sample> {
    let mut before: Option<(f64, f64)> = None;
    let mut sample = |&(s, reading): &(f64, Reading)| {
        let grown =
            before.zip(reading.joules).map(|((then, joules), now)| (now - joules) / (s - then).max(1e-9));
        before = reading.joules.map(|joules| (s, joules));
        let Reading { watts, celsius, mhz, memory_mb, throttled, .. } = reading;
        Sample { s, watts: watts.or(grown), celsius, mhz, memory_mb, throttled }
    };
    readings.iter().map(&mut sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(readings: &[(f64, Reading)]) -> Series {
        Series { name: "d".into(), readings: readings.to_vec() }
    }

    #[test]
    fn energy_counts_within_searches() {
        let counted = |joules| Reading { joules: Some(joules), ..Reading::default() };
        let drawn =
            |watts| Reading { watts: Some(watts), throttled: Some(watts > 15.0), ..Reading::default() };
        let by_counter = series(&[(0.0, counted(100.0)), (1.0, counted(110.0)), (3.0, counted(150.0))]);
        let by_power = series(&[(0.0, drawn(10.0)), (1.0, drawn(10.0)), (3.0, drawn(20.0))]);
        let silent = series(&[(0.0, Reading::default())]);
        let report = SensorReport::new(&[by_counter, by_power, silent], &[(0.5, 2.0)], Vec::new(), 550);
        // Half of 10 J and half of 40 J; half of 10 J and half of 30 J.
        let joules: Vec<_> = report.devices.iter().map(|device| device.joules).collect();
        assert_eq!(joules, [Some(25.0), Some(20.0), None]);
        assert_eq!((report.joules, report.watts), (Some(45.0), Some(30.0)));
        assert!((report.nodes_per_joule.unwrap() - 550.0 / 45.0).abs() < 1e-9);
        assert_eq!((report.devices[0].watts_max, report.devices[1].throttled), (Some(20.0), Some(1.0 / 3.0)));
        let facts = report.facts();
        assert_eq!(facts[0].1, "45 J, 30.0 W, 12.2 nodes per joule (d, d)");
        assert_eq!(facts[3].1, "d: tells nothing");
    }

    #[test]
    fn without_energy_there_is_no_rate() {
        let report = SensorReport::new(&[], &[(0.0, 1.0)], vec!["power: none".into()], 5);
        assert_eq!((report.joules, report.nodes_per_joule), (None, None));
        assert_eq!(report.facts(), [("not told", "power: none".to_owned())]);
    }
}
