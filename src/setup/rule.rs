//! Chooses a provider for a machine's GPU by a table, without measuring.

use super::machine::{Machine, Part};
use super::packages::has_builds;
use zeitnot_engine::network::backends::onnxruntime::{Provider, SystemPart};
use zeitnot_engine::system::gpus::{Gpu, Maker};

/// The oldest driver for CUDA 13, which NVIDIA's providers are built for.
const CUDA_DRIVER: u32 = 580;

/// A maker of GPUs, NVIDIA's oldest sufficient driver (any with 0), and the provider.
type Rule = (Maker, Option<u32>, Provider);

/// The first line wins that fits a GPU, whose provider has code for it and is published for the system.
const RULES: [Rule; 8] = [
    (Maker::Nvidia, Some(CUDA_DRIVER), Provider::TensorRtRtx),
    (Maker::Nvidia, Some(CUDA_DRIVER), Provider::Cuda),
    (Maker::Nvidia, Some(0), Provider::WebGpu),
    (Maker::Amd, None, Provider::WebGpu),
    (Maker::Apple, None, Provider::WebGpu),
    (Maker::Apple, None, Provider::CoreMl),
    (Maker::Intel, None, Provider::WebGpu),
    (Maker::Software, None, Provider::WebGpu),
];

fn fits(&(maker, least_driver, provider): &Rule, gpu: &Gpu) -> bool {
    let has_driver =
        least_driver.is_none_or(|least| gpu.driver_number().is_some_and(|number| number >= least));
    gpu.maker == maker && has_driver && provider.has_code_for(gpu) == Some(true)
}

pub(crate) struct Choice<'a> {
    /// `None` where the CPU is to evaluate.
    pub(crate) chosen: Option<(&'a Gpu, Provider)>,
    /// The next fitting row's provider, should this one fail or be slower.
    pub(crate) next: Option<Provider>,
    pub(crate) hint: Option<String>,
}

impl Machine {
    pub(crate) fn choose(&self) -> Choice<'_> {
        let mut fitting = RULES.iter().filter_map(|rule| {
            let gpu = self.gpus.iter().find(|gpu| fits(rule, gpu))?;
            let (.., provider) = *rule;
            has_builds(provider, &self.os, &self.arch).then_some((gpu, provider))
        });
        let chosen = fitting.next();
        let next = fitting.next().map(|(_, provider)| provider);
        let has_best = chosen.is_some_and(|(_, provider)| provider != Provider::WebGpu);
        let hint = if has_best || !has_builds(Provider::Cuda, &self.os, &self.arch) {
            None
        } else {
            let mut nvidias = self.gpus.iter().filter(|gpu| gpu.maker == Maker::Nvidia);
            nvidias.find_map(|gpu| self.hint(gpu))
        };
        Choice { chosen, next, hint }
    }

    /// The driver that would let a GPU of NVIDIA do more.
    fn hint(&self, gpu: &Gpu) -> Option<String> {
        let Some(number) = gpu.driver_number() else {
            let remedy = self.remedy(&[Part::System(SystemPart::NvidiaDriver)]);
            return Some(format!("{gpu} has no driver of NVIDIA that answers. {remedy}"));
        };
        let is_capable = Provider::Cuda.has_code_for(gpu) != Some(false);
        (number < CUDA_DRIVER && is_capable).then(|| {
            format!(
                "NVIDIA's own providers need driver {CUDA_DRIVER} or newer, and {gpu} has {}. Update the driver and run this \
                 again",
                gpu.version.as_deref().unwrap_or_default()
            )
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use super::*;
    use zeitnot_engine::network::backends::auto_backend::GPUS;
    use zeitnot_engine::network::backends::onnxruntime::provider::Capabilities;

    /// Rows of the table in the documents: GPU, what it needs, provider, systems.
    pub(crate) fn rule_rows() -> Vec<Vec<String>> {
        // A software renderer counts in tests only.
        RULES
            .iter()
            .filter(|(maker, ..)| *maker != Maker::Software)
            .map(row)
            .collect()
    }

    fn row(&(maker, least_driver, provider): &Rule) -> Vec<String> {
        let range = |range: &Capabilities| match (*range.start(), *range.end()) {
            (first, last) if first == last => format!("{}.{}", first.0, first.1),
            ((major, 0), (last, u32::MAX)) if major == last => format!("{major}.x"),
            (first, last) => format!("{}.{} to {}.{}", first.0, first.1, last.0, last.1),
        };
        let driver = match least_driver {
            Some(0) => "NVIDIA's".into(),
            Some(least) => format!("{least} or newer"),
            None => "any".into(),
        };
        let capabilities = provider.spec().capabilities.iter().map(range);
        let capability = capabilities.collect::<Vec<_>>().join(", ");
        let systems = [("linux", "Linux"), ("windows", "Windows"), ("macos", "macOS")];
        let archs = [("x86_64", "x86-64"), ("aarch64", "ARM64")];
        let mut places = Vec::new();
        for (os, system) in systems {
            // Apple's chips and GPUs come together.
            if (os == "macos") != (maker == Maker::Apple) {
                continue;
            }
            let here = archs.iter().filter(|(arch, _)| has_builds(provider, os, arch));
            let here: Vec<_> = here.map(|(_, name)| *name).collect();
            if !here.is_empty() {
                places.push(format!("{system} ({})", here.join(", ")));
            }
        }
        vec![
            maker.to_string(),
            driver,
            capability,
            format!("`{}`", provider),
            places.join(", "),
        ]
    }

    fn machine(case: &str) -> Machine {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/machines.json");
        let all: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let found = all
            .as_array()
            .unwrap()
            .iter()
            .find(|entry| entry["case"] == case)
            .unwrap();
        serde_json::from_value(found["machine"].clone()).unwrap()
    }

    #[test]
    fn a_driver_is_new_enough_from_580_on() {
        let mut machine = machine("NVIDIA, driver too old for CUDA 13, Linux");
        for (version, provider, has_hint) in [
            (Some("579.99"), Some(Provider::WebGpu), true),
            (Some("580.00"), Some(Provider::TensorRtRtx), false),
            (Some("600.1"), Some(Provider::TensorRtRtx), false),
            (None, None, true),
            (Some("unknown"), None, true),
        ] {
            machine.gpus[0].version = version.map(str::to_owned);
            let Choice { chosen, hint, .. } = machine.choose();
            assert_eq!(chosen.map(|(_, provider)| provider), provider, "{version:?}");
            assert_eq!(hint.is_some(), has_hint, "{version:?}: {hint:?}");
        }
        machine.gpus[0].version = Some("580.00".into());
        assert_eq!(machine.choose().next, Some(Provider::Cuda));
    }

    /// `auto` takes what `setup --auto` sets up, but CoreML only where that has measured it.
    #[test]
    fn gpus_have_the_order_of_the_rule_of_auto() {
        let mut providers: Vec<_> = rule_rows().into_iter().map(|row| row[3].clone()).collect();
        providers.retain(|provider| provider != "`coreml`");
        providers.dedup();
        assert_eq!(providers, GPUS.map(|provider| format!("`{provider}`")));
    }
}
