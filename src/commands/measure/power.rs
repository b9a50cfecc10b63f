//! Power and state of NVIDIA's GPUs during the searches.

use serde::Serialize;

use super::Facts;

/// Mean power of the last second, as a search ends. For each GPU a line such as `NVIDIA H100, 310.52 W, 54,
/// 1980 MHz, 1233 MiB`.
pub(super) const QUERY: &str = "name,power.draw,temperature.gpu,clocks.gr,memory.used";

#[derive(Serialize)]
pub(crate) struct PowerReport {
    /// Of the GPUs that computed, during the searches. `None` also if it is not known which did.
    joules: Option<f64>,
    /// Mean of these GPUs.
    watts: Option<f64>,
    nodes_per_joule: Option<f64>,
    /// A line for each GPU after the last search.
    devices: Vec<String>,
}

impl PowerReport {
    /// Each search ended with one of the driver's `answers`, and these `gpus` computed.
    pub(super) fn of(answers: &[String], gpus: &[usize], nodes: u64, seconds: f64) -> PowerReport {
        let last = answers.last().map_or("", String::as_str);
        let devices: Vec<_> = last.lines().map(str::to_owned).collect();
        let computed = if gpus.is_empty() && devices.len() == 1 {
            &[0]
        } else {
            gpus
        };
        let watts = |line: &str| line.split(", ").nth(1)?.split(' ').next()?.parse::<f64>().ok();
        let mut sum = 0.0;
        for gpu in computed {
            let lines = answers.iter().filter_map(|answer| answer.lines().nth(*gpu));
            let told: Vec<_> = lines.filter_map(watts).collect();
            sum += told.iter().sum::<f64>() / told.len().max(1) as f64;
        }
        let watts = (sum > 0.0).then_some(sum);
        PowerReport {
            joules: watts.map(|watts| watts * seconds),
            watts,
            nodes_per_joule: watts.map(|watts| nodes as f64 / (watts * seconds)),
            devices,
        }
    }

    pub(crate) fn facts(&self) -> Facts {
        let energy = match (self.joules, self.watts, self.nodes_per_joule) {
            (Some(joules), Some(watts), Some(rate)) => {
                format!("{joules:.0} J, {watts:.1} W, {rate:.1} nodes per joule")
            }
            _ => "no GPU that computed tells it".into(),
        };
        let mut facts = vec![("energy", energy)];
        facts.extend(
            self.devices
                .iter()
                .map(|device| ("GPU at the end", device.clone())),
        );
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_counts_while_searches_last() {
        let answers = [
            "d, 10.00 W, 54, 1500 MHz, 1000 MiB\ne, [N/A], [N/A], [N/A], [N/A]",
            "d, 20.00 W, 50, 500 MHz, 1000 MiB\ne, [N/A], [N/A], [N/A], [N/A]",
        ];
        let report = PowerReport::of(&answers.map(String::from), &[0], 60, 2.0);
        assert_eq!(
            [report.joules, report.watts, report.nodes_per_joule],
            [Some(30.0), Some(15.0), Some(2.0)]
        );
        let facts = report.facts();
        assert_eq!(facts[0].1, "30 J, 15.0 W, 2.0 nodes per joule");
        assert_eq!(facts[1].1, "d, 20.00 W, 50, 500 MHz, 1000 MiB");
        // A regression: the power of all GPUs counted, whichever computed.
        for gpus in [&[1][..], &[]] {
            assert_eq!(
                PowerReport::of(&answers.map(String::from), gpus, 60, 2.0).joules,
                None
            );
        }
        let nothing = PowerReport::of(&[], &[], 60, 2.0);
        assert_eq!(
            (nothing.joules, nothing.facts()[0].1.as_str()),
            (None, "no GPU that computed tells it")
        );
    }
}
