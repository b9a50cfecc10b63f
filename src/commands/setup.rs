//! `zeitnot setup`: finds or fetches ONNX Runtime with all that a provider needs. No other command fetches
//! anything.
//!
//! `setup --auto` describes the machine, fetches a provider, has `doctor` check it and `benchmark` compare it
//! with the native backend, and writes the better one to the configuration file. `--dry-run` only prints the
//! steps.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;
use itertools::Itertools;
use serde::Serialize;

use super::benchmark::advice::write_setting;
use super::benchmark::backends::{BackendsReport, Combination};
use super::doctor::{BackendReport, Candidate};
use super::engine_args::{NetworkArgs, OptionArgs};
use crate::config_file::{OF_A_BACKEND, WritableConfig};
use crate::output::{ExitStatus, Output, eprint_message, read_json};
use crate::setup::{
    Choice, Fetcher, Machine, Part, Plan, PublishedNetwork, choose, obstacle, published, with_remedy,
};
use zeitnot_engine::engine::{Settings, load_network};
use zeitnot_engine::network::backends::native;
use zeitnot_engine::network::backends::onnxruntime::finder::{self, Library, LibrarySource};
use zeitnot_engine::network::backends::onnxruntime::{LibraryError, Provider, Runtime};
use zeitnot_engine::network::discover;
use zeitnot_engine::options::OptionChoice;

#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// The kind of device that the library must be able to drive
    #[arg(long, value_name = "NAME", default_value = "cpu",
          value_parser = PossibleValuesParser::new(Provider::all().map(Provider::name)))]
    provider: String,
    /// Find this machine's GPU, fetch all that it needs, check and measure it, and write the better backend
    /// to zeitnot.config
    #[arg(long, conflicts_with = "provider")]
    auto: bool,
    /// Fetch a network that is stronger than the built-in one, and play with it from the next start on.
    /// Without a name the one that suits this machine
    #[arg(long, value_name = "NAME", num_args = 0..=1, conflicts_with_all = ["provider", "auto"])]
    network: Option<Option<String>>,
    /// List the networks that --network fetches
    #[arg(long, conflicts_with_all = ["provider", "auto", "network"])]
    networks: bool,
    /// The backend of the configuration file: with the CPU's, the GPU does not count
    #[arg(long, hide = true)]
    backend: Option<String>,
    /// Say what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// With --auto: the network to check and measure with [default: the one that the engine plays with]
    #[arg(long, value_name = "FILE", conflicts_with = "provider")]
    weights: Option<String>,
    /// A description of another machine, for rehearsals
    #[arg(long, value_name = "FILE.json", hide = true, conflicts_with = "provider")]
    machine: Option<PathBuf>,
    /// Whether nothing may be fetched: a flag of all commands.
    #[arg(skip)]
    pub(crate) is_offline: bool,
}

impl SetupArgs {
    fn fetcher(&self) -> Fetcher {
        Fetcher::new(self.is_offline)
    }

    /// Another machine than this one.
    fn described(&self) -> Result<Option<Machine>> {
        let read = |file: &PathBuf| read_json(file, "no description of a machine");
        self.machine.as_ref().map(read).transpose()
    }
}

pub(super) fn run(args: &SetupArgs, output: &mut Output) -> Result<ExitStatus> {
    if args.auto {
        return set_up(args, output);
    }
    if args.networks {
        let networks = published()?;
        let lines: String = networks.iter().map(PublishedNetwork::line).collect();
        return output.write(&networks, &lines);
    }
    if let Some(name) = &args.network {
        return fetch_network(args, name.as_deref(), output);
    }
    let provider = Provider::from_name(&args.provider).unwrap_or(Provider::Cpu);
    let obstacle = match obstacle(provider) {
        Some(obstacle) if !args.dry_run || obstacle.is_final() => return Err(obstacle.into()),
        obstacle => obstacle,
    };
    let plan = Plan::here(provider)?;
    if plan.is_empty() && !finder::is_installed(provider) {
        return Err(LibraryError::NotInstalled {
            provider,
            found: String::new(),
        }
        .into());
    }
    if args.dry_run {
        let obstacle = obstacle
            .map(|obstacle| format!("{obstacle}\n"))
            .unwrap_or_default();
        return output.write(&plan, &format_args!("needed for {provider}:\n{plan}{obstacle}"));
    }
    // A single file is announced when it is fetched.
    if plan.missing().count() > 1 {
        eprint_message(format_args!(
            "needed for {provider}:\n{}",
            plan.to_string().trim_end()
        ));
    }
    plan.fetch(&args.fetcher())?;
    let runtime = Runtime::get(provider).map_err(with_remedy)?;
    // Only plugins find devices before a session is made.
    let is_looked_for = provider.is_plugin() && provider.is_accelerator();
    let device = if is_looked_for {
        let missing = Runtime::check_device(provider).err();
        missing.map(|reason| format!("no GPU was found: {reason}"))
    } else {
        None
    };
    let Library {
        path,
        version,
        source,
    } = runtime.library.clone();
    let report = RuntimeReport {
        library: path.display().to_string(),
        version,
        source,
        providers: runtime.providers(),
        device,
    };
    output.report(&report)?;
    Ok(ExitStatus::of(report.device.is_none()))
}

/// By name, or the one that suits the machine.
fn fetch_network(args: &SetupArgs, name: Option<&str>, output: &mut Output) -> Result<ExitStatus> {
    let backend = args.backend.as_deref().unwrap_or_default();
    let gpu_mb = match args.described()? {
        _ if backend.starts_with(native::NAME) || name.is_some() => 0,
        Some(machine) => machine.evaluating_gpu_mb(true),
        None => Machine::this().evaluating_gpu_mb(false),
    };
    let mut network = choose(name, gpu_mb)?;
    output.write_ahead(&network)?;
    if !args.dry_run {
        network.fetch(&args.fetcher())?;
        network.is_here = true;
        let next = match &args.weights {
            Some(other) => format!("is not used: the configuration or --weights names {other}"),
            None => "is here, and used from the next start on".into(),
        };
        output.write_ahead(&format_args!("{:<10} {next}\n", network.name))?;
    }
    output.write(&network, &"")
}

/// If the built-in network is in use.
fn offer(settings: &Settings, gpu_mb: u64) -> Result<String> {
    let in_use = load_network(&settings.network)?.network.path;
    if !discover::is_built_in(&in_use) {
        return Ok(String::new());
    }
    let network = choose(None, gpu_mb)?;
    Ok(format!(
        "stronger   `zeitnot setup --network` fetches the network {} ({} MB)\n",
        network.name,
        network.megabytes()
    ))
}

#[derive(Serialize)]
struct RuntimeReport {
    library: String,
    version: String,
    source: LibrarySource,
    providers: Vec<&'static str>,
    /// `None` where it has, or where only use can show it.
    device: Option<String>,
}

impl fmt::Display for RuntimeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "library    {} ({})", self.library, self.source)?;
        writeln!(f, "version    {}", self.version)?;
        writeln!(f, "providers  {}", self.providers.join(", "))?;
        if let Some(device) = &self.device {
            writeln!(f, "device     {device}")?;
        }
        Ok(())
    }
}

/// Positions of `benchmark`, and the time of each, ms.
const POSITIONS: u32 = 5;
const MOVE_TIME: u32 = 1000;
/// Time limit of the measurement. TensorRT RTX first compiles the network.
const PATIENCE: Duration = Duration::from_secs(1800);

struct Auto<'a> {
    args: &'a SetupArgs,
    config: WritableConfig,
    network: NetworkArgs,
    report: AutoReport,
}

#[derive(Default, Serialize)]
struct AutoReport {
    machine: Machine,
    provider: Option<&'static str>,
    hint: Option<String>,
    lacking: Vec<Part>,
    remedy: Option<String>,
    /// What the provider needed before anything was fetched.
    files: Option<Plan>,
    dry_run: bool,
    check: Vec<BackendReport>,
    benchmark: Option<BackendsReport>,
    backend: Option<String>,
    config: Option<String>,
}

fn tell(output: &mut Output, label: &str, text: impl fmt::Display) -> Result<()> {
    output.write_ahead(&format_args!("{label:<11}{text}\n"))
}

fn set_up(args: &SetupArgs, output: &mut Output) -> Result<ExitStatus> {
    let mut settings = Settings::default();
    settings.network.weights_file = args.weights.clone().unwrap_or_default();
    let machine = args.described()?.unwrap_or_else(Machine::with_parts);
    let report = AutoReport {
        machine,
        dry_run: args.dry_run,
        ..AutoReport::default()
    };
    let mut auto = Auto {
        args,
        config: WritableConfig::open(None)?,
        network: OptionArgs(settings),
        report,
    };
    let status = auto.go(output)?;
    let Auto { network, report, .. } = auto;
    if status == ExitStatus::Success {
        let is_cpu = report.backend.as_deref() == Some(native::NAME);
        let gpu_mb = if is_cpu {
            0
        } else {
            report.machine.evaluating_gpu_mb(true)
        };
        output.write_ahead(&offer(&network.0, gpu_mb)?)?;
    }
    output.write(&report, &"")?;
    Ok(status)
}

impl Auto<'_> {
    /// Prints each step and notes it in the report.
    fn go(&mut self, output: &mut Output) -> Result<ExitStatus> {
        let machine = self.report.machine.clone();
        for (name, value) in machine.facts() {
            tell(output, name, value)?;
        }
        let Choice { chosen, next, hint } = machine.choose();
        self.report.hint.clone_from(&hint);
        let Some((gpu, provider)) = chosen else {
            let (label, why) = match &hint {
                Some(hint) => ("missing", hint.as_str()),
                None if machine.gpus.is_empty() => (
                    "CPU",
                    "no GPU was found, and nothing is needed: the CPU evaluates, with the backend native",
                ),
                None => (
                    "CPU",
                    "nothing is published for this GPU under this system: the CPU evaluates",
                ),
            };
            tell(output, label, why)?;
            return Ok(ExitStatus::of(hint.is_none() || self.args.dry_run));
        };
        self.report.provider = Some(provider.name());
        tell(output, "chosen", format_args!("{provider}, for {gpu}"))?;
        if let Some(hint) = hint {
            tell(output, "note", hint)?;
        }
        let plan = if self.args.machine.is_some() && self.args.dry_run {
            Plan::elsewhere(provider, &machine.os, &machine.arch)
        } else {
            Plan::here(provider)?
        };
        output.write_ahead(&format_args!("needed:\n{plan}"))?;
        let unsuited = machine.out_of_reach(gpu, provider);
        if let Some(why) = &unsuited {
            tell(output, "missing", why)?;
        }
        let mut lacking = Vec::from_iter(provider.needed_part(&machine.os).map(Part::System));
        lacking.extend(plan.missing().next().map(|_| Part::Pip));
        lacking.retain(|part| !machine.parts.contains(part));
        let remedy = (!lacking.is_empty()).then(|| machine.remedy(&lacking));
        if let Some(remedy) = &remedy {
            tell(output, "missing", lacking.iter().join(", "))?;
            tell(output, "", remedy)?;
        }
        self.report.lacking = lacking;
        self.report.remedy = remedy.or(unsuited);
        let plan = self.report.files.insert(plan);
        if self.args.dry_run {
            output.write_ahead(&format_args!(
                "would check {provider} against {}, search {POSITIONS} positions with both, and write the better one to \
                 {}\n",
                native::NAME,
                self.config.path.display()
            ))?;
            for line in self.config.taken_lines(&OF_A_BACKEND) {
                tell(output, "note", line)?;
            }
            return Ok(ExitStatus::Success);
        }
        if self.report.remedy.is_some() {
            output.write_ahead(&"Nothing was changed. Run this again then.\n")?;
            return Ok(ExitStatus::Negative);
        }
        plan.fetch(&self.args.fetcher())?;
        self.check_and_measure(provider, next.filter(|next| *next != provider), output)
    }

    fn check_and_measure(
        &mut self,
        provider: Provider,
        next: Option<Provider>,
        output: &mut Output,
    ) -> Result<ExitStatus> {
        // What suits the GPU too and is here, as CoreML beside WebGPU, is measured with it.
        let is_here = |provider: &Provider| {
            Plan::here(*provider).is_ok_and(|plan| !plan.is_empty() && plan.missing().next().is_none())
        };
        let mut backends = vec![native::NAME];
        for provider in [provider].into_iter().chain(next.filter(is_here)) {
            eprint_message(format_args!("checking {provider}"));
            let checks = Candidate::of(provider.name()).examine(&self.network);
            for check in &checks {
                tell(output, "checked", checked(check))?;
            }
            // The first check is of the precision that would be used.
            if checks.first().is_some_and(|check| check.works) {
                backends.push(provider.name());
            }
            self.report.check.extend(checks);
        }
        if backends.len() == 1 {
            let mut text = "Nothing was written. `zeitnot doctor` tells more.".to_owned();
            if let Some(next) = next {
                text += &format!(" {next} suits this GPU too: `zeitnot setup --provider {next}` fetches it.");
            }
            output.write_ahead(&(text + "\n"))?;
            return Ok(ExitStatus::Negative);
        }
        let flags = [
            ("num-positions", POSITIONS.to_string()),
            ("movetime", MOVE_TIME.to_string()),
            ("weights", self.network.0.network.weights_file.clone()),
        ];
        let combinations = backends.iter().copied().map(Combination::of).collect();
        let measured = BackendsReport::measure(combinations, &flags, PATIENCE)?;
        let measured = self.report.benchmark.insert(measured);
        if backends[1..].iter().all(|name| measured.nps(name).is_none()) {
            output.write_ahead(&"The GPU could not be measured. Nothing was written.\n")?;
            return Ok(ExitStatus::Negative);
        }
        tell(output, "measured", measured.speeds().join(", "))?;
        let best = Combination::of(measured.best());
        if best.backend == native::NAME {
            let in_use = load_network(&self.network.0.network)?.network.path;
            if discover::is_built_in(&in_use) {
                let text = "the built-in network is made for CPUs. Nothing was written: fetch a larger one by \
                            `zeitnot setup --network`, then run this again";
                return tell(output, "", text).map(|()| ExitStatus::Success);
            }
            let text =
                "the GPU is not clearly better with this network: with a larger one try --weights FILE";
            tell(output, "", text)?;
        }
        let (config, is_written) = write_setting(&self.config, &best, &Combination::default())?;
        tell(output, "config", config)?;
        if is_written {
            self.report.backend = Some(best.backend);
            self.report.config = Some(self.config.path.display().to_string());
        }
        Ok(ExitStatus::Success)
    }
}

fn checked(check: &BackendReport) -> String {
    let BackendReport {
        backend,
        verdict,
        trial,
        ..
    } = check;
    if !check.remedy.is_empty() {
        let remedy = check.remedy.split_whitespace().join(" ");
        return format!("{backend}: {verdict}, {remedy}");
    }
    let same = trial.top1_agreement.unwrap_or_default() * 100.0;
    let error = trial.q_error_max.unwrap_or_default();
    let description = &trial.description;
    format!(
        "{backend}: {verdict}, {description} (error of q up to {error:.1e}, same best move in {same:.1} %)"
    )
}
