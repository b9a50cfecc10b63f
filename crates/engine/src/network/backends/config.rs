//! Reads `Backend` and `BackendOptions` in Lc0's grammar: `key=value` for one backend. Several devices have a
//! list each, as in `(gpu=0),(gpu=1)`, which inherits the values beside it and may be several devices itself.

use std::ops::Deref;

use super::aliases::{self, Resolved};
use super::multiplexing::{FeedingParams, MULTIPLEXING};
use super::onnxruntime::{self, Provider};
use super::registry::{AUTO, Registered, names, registered};
use super::synthetic::simulated::{self, Answers, SimulatedParams};

use crate::network::backend_error::BackendError;
use crate::note::Note;
use crate::options::{OptionChoice, OptionGroup, OptionKind, OptionValue, option_choice};
use crate::params::{ParamError, Params};

option_choice! {
    /// What is done where a device or library that the user asks for cannot be had.
    pub enum Fallback = Nothing {
        /// Report an error.
        Nothing = "none",
        /// Leave out devices that are not available. If none is left, use the CPU.
        Cpu = "cpu",
    }
}

/// The option `Backend`: a name, perhaps with parameters in parentheses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendName(String);

impl Default for BackendName {
    fn default() -> BackendName {
        BackendName(AUTO.into())
    }
}

impl From<&str> for BackendName {
    fn from(text: &str) -> BackendName {
        BackendName(text.into())
    }
}

impl Deref for BackendName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl OptionValue for BackendName {
    type Range = ();

    /// Includes Lc0's names, which its users' settings have.
    fn kind((): &()) -> OptionKind {
        OptionKind::Choice(names().chain(aliases::all_names()).collect())
    }

    /// Takes any text. Setting the option checks it, with a clearer message.
    fn parse(text: &str, (): &()) -> Option<BackendName> {
        Some(text.into())
    }

    fn text(&self) -> String {
        self.0.clone()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct BackendConfig {
    pub name: String,
    pub options: Params,
    /// Empty for a single device.
    pub devices: Vec<DeviceConfig>,
    /// Nothing, unless [`BackendConfig::with_fallback`] changes it.
    pub fallback: Fallback,
    pub notes: Vec<Note>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DeviceConfig {
    pub(crate) label: String,
    pub backend: BackendConfig,
    pub threads: usize,
    pub(crate) join_up_to: usize,
}

impl BackendConfig {
    /// Reads `--backend` and `--backend-opts`. Parameters may also follow the name, as in
    /// `simulated(latency-us=500)`. `options` override them.
    pub fn parse(backend: &str, options: &str) -> Result<BackendConfig, BackendError> {
        let named = Params::parse(backend)?;
        let mut lists = named.lists();
        let name_and_inline = lists.next().filter(|_| named.entries().len() == 1);
        let (name, inline) = name_and_inline.ok_or_else(|| unknown_name(backend))?;
        let options = if inline.is_empty() {
            options.into()
        } else {
            format!("{inline},{options}")
        };
        let options = Params::parse(&options)?;
        Ok(BackendConfig::named(name, options)?)
    }

    fn named(name: &str, options: Params) -> Result<BackendConfig, ParamError> {
        let asked = name;
        let name = name.to_ascii_lowercase();
        let Resolved { name, options, notes } = aliases::resolve(&name, options);
        if registered(name).is_none() {
            return Err(unknown_name(asked));
        }
        let mut config = BackendConfig {
            name: name.into(),
            options,
            devices: Vec::new(),
            fallback: Fallback::default(),
            notes,
        };
        if name != MULTIPLEXING {
            return Ok(config);
        }
        let options = std::mem::take(&mut config.options);
        let devices = options
            .lists()
            .map(|(name, list)| DeviceConfig::new(name, list, &options));
        let mut devices = devices.collect::<Result<Vec<_>, _>>()?;
        if devices.is_empty() {
            devices.push(DeviceConfig::new("", &Params::default(), &options)?);
        }
        for (index, device) in devices.iter_mut().enumerate() {
            device.label = format!("device {}{}", index + 1, device.label);
            config.notes.extend_from_slice(&device.backend.notes);
        }
        config.notes.dedup();
        config.devices = devices;
        let is_webgpu = |provider: &Provider| *provider == Provider::WebGpu;
        if config.providers().into_iter().filter(is_webgpu).count() > 1 {
            return Err(ParamError::Value {
                key: "backend".into(),
                value: Provider::WebGpu.to_string(),
                expected: "it once, as WebGPU chooses the GPU itself".into(),
            });
        }
        Ok(config)
    }

    #[must_use]
    pub(crate) fn with_fallback(mut self, fallback: Fallback) -> BackendConfig {
        self.fallback = fallback;
        for device in &mut self.devices {
            device.backend = device.backend.clone().with_fallback(fallback);
        }
        self
    }

    /// All devices' providers. Without `provider=` that is the CPU's.
    pub fn providers(&self) -> Vec<Provider> {
        if self.name == onnxruntime::NAME {
            let named = self.options.get("provider").and_then(Provider::from_name);
            return vec![named.unwrap_or(Provider::Cpu)];
        }
        self.devices
            .iter()
            .flat_map(|device| device.backend.providers())
            .collect()
    }

    /// Whether the user asks for a device or library that not every machine has.
    pub(crate) fn wants_more_than_a_cpu(&self) -> bool {
        self.providers().iter().any(|provider| *provider != Provider::Cpu)
    }

    /// The backend behind a simulated device: `random`, unless `network=` names one.
    pub(super) fn whose_answers(&self) -> Result<BackendConfig, ParamError> {
        let SimulatedParams { network, seed, .. } =
            SimulatedParams::default().read(simulated::NAME, &self.options, &[])?;
        let has_seed = network == Answers::Random && seed != 0;
        let options = if has_seed {
            Params::default().with("seed", &seed.to_string())
        } else {
            Params::default()
        };
        BackendConfig::named(network.name(), options)
    }

    pub fn needs_network(&self) -> bool {
        if self.name == simulated::NAME {
            self.whose_answers().is_ok_and(|answers| answers.needs_network())
        } else if self.devices.is_empty() {
            registered(&self.name).is_none_or(Registered::needs_network)
        } else {
            self.devices.iter().any(|device| device.backend.needs_network())
        }
    }
}

impl DeviceConfig {
    /// The device of a list, whose name may be empty. As in Lc0 `backend=` decides, even if inherited from
    /// the `outer` options. Without it the list's name does.
    fn new(list_name: &str, list: &Params, outer: &Params) -> Result<DeviceConfig, ParamError> {
        let all = list.inheriting(outer);
        let by_name = if list_name.is_empty() { AUTO } else { list_name };
        let name = all.get("backend").unwrap_or(by_name).to_owned();
        let is_nested = aliases::resolve(&name, Params::default()).name == MULTIPLEXING;
        let options = all.without(&["backend"]);
        let mut feeding = FeedingParams::default();
        let own = feeding.take(&options)?;
        let options = if is_nested { options } else { own };
        let FeedingParams {
            threads,
            max_batch: join_up_to,
        } = feeding;
        let label = if list.is_empty() {
            String::new()
        } else {
            format!(" ({list})")
        };
        Ok(DeviceConfig {
            label,
            backend: BackendConfig::named(&name, options)?,
            threads,
            join_up_to,
        })
    }
}

pub(super) fn unknown_name(name: &str) -> ParamError {
    ParamError::Unknown {
        kind: "backend".into(),
        name: name.into(),
        valid: valid_names(),
    }
}

fn valid_names() -> String {
    names()
        .chain(aliases::short_names())
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(backend: &str, options: &str) -> BackendConfig {
        BackendConfig::parse(backend, options).unwrap()
    }

    #[test]
    fn names_come_in_any_case() {
        assert_eq!(parse("NATIVE", "").name, "native");
        assert_eq!(parse("Random(seed=3)", ""), parse("random", "seed=3"));
        assert_eq!(parse("WebGPU", ""), parse("webgpu", ""));
        assert_eq!(parse("Blas", "").notes, parse("blas", "").notes);
        let error = BackendConfig::parse("Nativ", "").unwrap_err().to_string();
        assert!(error.starts_with("unknown backend \"Nativ\""), "{error}");
    }

    /// Each as `backend: options`.
    fn devices(backend: &str, options: &str) -> Vec<String> {
        let text = |device: &DeviceConfig| format!("{}: {}", device.backend.name, device.backend.options);
        parse(backend, options).devices.iter().map(text).collect()
    }

    #[test]
    fn parameters_may_stand_behind_the_name() {
        let config = parse("simulated(max-batch=8,latency-us=1)", "latency-us=2");
        assert_eq!(config.name, "simulated");
        assert_eq!(config.options.get("max-batch"), Some("8"));
        assert_eq!(config.options.get("latency-us"), Some("2"));
    }

    #[test]
    fn devices_inherit_what_stands_beside_them() {
        assert_eq!(
            devices(
                "demux",
                "backend=simulated,seed=3,(latency-us=1),(latency-us=2,seed=4)"
            ),
            [
                "simulated: seed=3,latency-us=1",
                "simulated: seed=3,latency-us=2,seed=4"
            ]
        );
        assert_eq!(
            devices("roundrobin", "random(seed=1),trivial"),
            ["random: seed=1", "trivial: "]
        );
        assert_eq!(
            devices("multiplexing", "backend=random,seed=1"),
            ["random: seed=1"]
        );
        assert_eq!(
            devices("demux", "(gpu=0),(gpu=1)"),
            ["auto: gpu=0", "auto: gpu=1"]
        );
        assert_eq!(
            devices("demux((gpu=0),(gpu=1))", ""),
            ["auto: gpu=0", "auto: gpu=1"]
        );
    }

    #[test]
    fn how_a_device_is_fed_is_not_for_its_backend() {
        let config = parse(
            "multiplexing",
            "backend=random,threads=3,(max_batch=64),(max-batch=9,threads=1)",
        );
        let fed: Vec<_> = config
            .devices
            .iter()
            .map(|d| (d.threads, d.join_up_to, &d.backend.options))
            .collect();
        assert_eq!(fed, [(3, 64, &Params::default()), (1, 9, &Params::default())]);
        assert_eq!(
            parse("roundrobin", "native,random"),
            parse("multiplexing", "native,random")
        );
    }

    #[test]
    fn nested_devices_inherit_too() {
        let config = parse(
            "demux",
            "seed=7,(backend=roundrobin,(backend=random),(backend=random,seed=8)),random",
        );
        assert_eq!(config.devices.len(), 2);
        let inner: Vec<_> = config.devices[0]
            .backend
            .devices
            .iter()
            .map(|d| d.backend.options.to_string())
            .collect();
        assert_eq!(inner, ["seed=7", "seed=7,seed=8"]);
        assert!(!config.needs_network());
        assert!(parse("demux", "random,native").needs_network());
    }

    /// A regression: there were two queues before it.
    #[test]
    fn a_single_accelerator_needs_no_other_backend() {
        let config = parse("cuda", "gpu=1,threads=3");
        assert_eq!((config.name.as_str(), config.devices.len()), ("onnxruntime", 0));
        assert_eq!(config.options.to_string(), "provider=cuda,gpu=1,threads=3");
        assert!(config.wants_more_than_a_cpu());
        assert_eq!(devices("demux", "backend=cuda,(gpu=0),(gpu=1)").len(), 2);
        assert_eq!(config.providers(), [Provider::Cuda]);
        let mixed = parse("demux", "(backend=opencl),(backend=native),(backend=onnxruntime)");
        assert_eq!(mixed.providers(), [Provider::WebGpu, Provider::Cpu]);
        assert!(parse("roundrobin", "(backend=cuda),native").wants_more_than_a_cpu());
        assert!(parse("openvino", "threads=2").devices.is_empty());
        assert!(!parse("demux", "native,onnxruntime").wants_more_than_a_cpu());
    }

    /// A regression: without `backend=` they left the engine without a network.
    #[test]
    fn parameters_of_lc0_are_left_out_with_one_note() {
        for (backend, options, kept) in [
            ("auto", "gpu=0,max_batch=512", "gpu=0"),
            ("auto", "graph_capture=true,precision=fp32", "precision=fp32"),
            ("auto", "7", ""),
            ("auto", "(backend=cuda-fp16,gpu=0),(backend=cuda-fp16,gpu=1)", ""),
            ("native", "max_batch=256,kernel=avx2", "kernel=avx2"),
        ] {
            let config = parse(backend, options);
            assert_eq!(
                (config.options.to_string().as_str(), config.notes.len()),
                (kept, 1),
                "{options}"
            );
        }
        assert_eq!(
            parse("native", "kernal=avx2").options.to_string(),
            "kernal=avx2",
            "nobody's"
        );
        assert_eq!(
            parse("cuda", "graph_capture=true,max_batch=64")
                .options
                .to_string(),
            "provider=cuda"
        );
        let two = parse("demux", "backend=native,nhwc=true,(gpu=0),(gpu=1)");
        assert_eq!((two.devices.len(), two.notes.len()), (2, 2), "{:?}", two.notes);
    }

    #[test]
    fn unknown_backends_are_refused_wherever_they_stand() {
        let valid = valid_names();
        let error_of = |backend, options| BackendConfig::parse(backend, options).unwrap_err().to_string();
        assert_eq!(error_of("", ""), format!("unknown backend \"\". Valid: {valid}"));
        assert_eq!(
            error_of("random,trivial", ""),
            format!("unknown backend \"random,trivial\". Valid: {valid}")
        );
        assert_eq!(
            error_of("demux", "(backend=abacus)"),
            format!("unknown backend \"abacus\". Valid: {valid}")
        );
        assert_eq!(
            error_of("demux", "abacus"),
            format!("unknown backend \"abacus\". Valid: {valid}")
        );
        assert_eq!(
            error_of("demux", "(backend=webgpu),((backend=opencl),backend=demux)"),
            "backend=webgpu: expected it once, as WebGPU chooses the GPU itself"
        );
        assert_eq!(
            error_of("demux", "threads=0,random"),
            "threads=0: expected an integer from 1 to 256"
        );
    }

    #[test]
    fn every_name_that_is_offered_is_taken() {
        let OptionKind::Choice(choices) = BackendName::kind(&()) else {
            panic!("no combo")
        };
        assert!(choices.contains(&&*BackendName::default()));
        for name in choices {
            BackendConfig::parse(name, "").unwrap();
        }
    }
}
