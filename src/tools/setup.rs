//! `zeitnot setup`: finds ONNX Runtime, or fetches it with all that a provider needs, and says what it found.
//! No other command fetches anything.
//!
//! `setup --auto` goes the whole way: it describes the machine, chooses a provider, fetches, has the backend
//! checked against the native one and measured, and writes the configuration file. With `--dry-run` it says
//! what it would do.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs};

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use serde_json::Value;

use super::config_file::{Change, WritableConfig};
use super::doctor::{BackendReport, Candidate};
use super::fetch_network::{self, FetchNetworkArgs, FetchRules};
use super::lc0_flags::OF_A_BACKEND;
use super::output::eprint_message;
use super::{ExitStatus, Failure, NetworkArgs, Output, child_process};
use crate::setup::{Choice, Fetcher, Machine, Part, Plan, obstacle, with_remedy};
use zeitnot_engine::engine::Settings;
use zeitnot_engine::foreign::in_our_words;
use zeitnot_engine::network::backends::native;
use zeitnot_engine::network::backends::onnxruntime::finder::{self, Library, LibrarySource};
use zeitnot_engine::network::backends::onnxruntime::{LibraryError, Provider, Runtime};

#[derive(Debug, Args)]
pub(super) struct SetupArgs {
    /// The kind of device that the library must be able to drive
    #[arg(long, value_name = "NAME", default_value = "cpu",
          value_parser = PossibleValuesParser::new(Provider::all().map(Provider::name)))]
    provider: String,
    /// Find this machine's GPU, fetch all that it needs, check and measure it, and write the faster backend
    /// to zeitnot.config
    #[arg(long, conflicts_with = "provider")]
    auto: bool,
    #[command(flatten)]
    fetch_network: FetchNetworkArgs,
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
    pub(super) is_offline: bool,
}

impl SetupArgs {
    fn fetch(&self, plan: &Plan) -> Result<(), Failure> {
        Ok(plan.fetch(&Fetcher::new(&|text| eprint_message(text), self.is_offline))?)
    }
}

pub(super) fn run(args: &SetupArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    if args.auto {
        return Auto::new(args)?.run(output);
    }
    if args.fetch_network.are_given() {
        let rules = FetchRules {
            is_rehearsal: args.dry_run,
            is_offline: args.is_offline,
            weights: args.weights.as_deref(),
            machine: args.machine.as_deref().map(described).transpose()?,
        };
        return fetch_network::run(&args.fetch_network, rules, output);
    }
    let provider = Provider::named(&args.provider).unwrap_or(Provider::Cpu);
    let obstacle = match obstacle(provider) {
        Some(obstacle) if !args.dry_run || obstacle.is_final() => return Err(obstacle.into()),
        obstacle => obstacle,
    };
    let plan = Plan::here(provider)?;
    if plan.is_empty() && !finder::is_installed(provider) {
        return Err(LibraryError::NotInstalled { provider, found: String::new() }.into());
    }
    if args.dry_run {
        let obstacle = obstacle.map(|obstacle| format!("{obstacle}\n")).unwrap_or_default();
        output.write(&plan, &format_args!("needed for {provider}:\n{plan}{obstacle}"))?;
        return Ok(ExitStatus::Success);
    }
    announce(&plan, provider);
    args.fetch(&plan)?;
    let runtime = Runtime::get(provider).map_err(with_remedy)?;
    // Whether others than plugins find a device shows when a session is made.
    let is_looked_for = provider.is_plugin() && provider.is_accelerator();
    let no_device = is_looked_for.then(|| Runtime::check_device(provider).err()).flatten();
    let Library { path, version, source } = runtime.library().clone();
    let library = path.display().to_string();
    let device = no_device.as_ref().map(|reason| format!("no GPU was found: {reason}"));
    let report = RuntimeReport { library, version, source, providers: runtime.providers(), device };
    output.write(&report, &report)?;
    Ok(if no_device.is_some() { ExitStatus::Negative } else { ExitStatus::Success })
}

/// Lists what is about to be fetched, if it is more than one file. One file is announced when it is fetched.
fn announce(plan: &Plan, provider: Provider) {
    if plan.missing().count() > 1 {
        eprint_message(format_args!("needed for {provider}:\n{}", plan.to_string().trim_end()));
    }
}

#[derive(Serialize)]
struct RuntimeReport {
    library: String,
    version: String,
    source: LibrarySource,
    providers: Vec<&'static str>,
    /// Why the provider has nothing to compute with, or `None` where it has, or where that only shows in use.
    device: Option<String>,
}

impl fmt::Display for RuntimeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "library    {} ({})", self.library, self.source)?;
        writeln!(f, "version    {}", self.version)?;
        writeln!(f, "providers  {}", self.providers.join(", "))?;
        self.device.iter().try_for_each(|device| writeln!(f, "device     {device}"))
    }
}

/// How much faster than the native backend a GPU must search to be taken. Less may be noise.
const LEAST_GAIN: f64 = 1.05;
/// The measurement: positions of `benchmark`, and the time of each, ms.
const POSITIONS: u32 = 5;
const MOVE_TIME: u32 = 1000;
/// The time within which both backends must be measured. TensorRT RTX compiles the network at first.
const PATIENCE: Duration = Duration::from_secs(1800);

/// What `setup --auto` knows when it begins.
struct Auto<'a> {
    args: &'a SetupArgs,
    machine: Machine,
    /// Whether the machine is not this one.
    is_described: bool,
    config: WritableConfig,
    network: NetworkArgs,
}

/// The report of `setup --auto`.
#[derive(Serialize)]
struct AutoReport<'a> {
    machine: &'a Machine,
    provider: Option<&'static str>,
    hint: Option<String>,
    /// The parts of the system that are missing.
    lacking: Vec<Part>,
    remedy: Option<String>,
    /// What the provider needs, as it was before anything was fetched.
    files: Option<Plan>,
    dry_run: bool,
    check: Vec<BackendReport>,
    /// What `zeitnot benchmark --backends` says.
    benchmark: Option<Value>,
    /// The backend that was written to the configuration file.
    backend: Option<String>,
    config: Option<String>,
}

impl Auto<'_> {
    fn new(args: &SetupArgs) -> Result<Auto<'_>, Failure> {
        let machine = args.machine.as_deref().map(described).transpose()?;
        let mut settings = Settings::default();
        settings.network.weights_file = args.weights.clone().unwrap_or_default();
        Ok(Auto {
            args,
            is_described: machine.is_some(),
            machine: machine.unwrap_or_else(Machine::this),
            config: WritableConfig::open(None)?,
            network: NetworkArgs { settings },
        })
    }

    fn run(&self, output: &mut Output) -> Result<ExitStatus, Failure> {
        let mut report = AutoReport {
            machine: &self.machine,
            provider: None,
            hint: None,
            lacking: Vec::new(),
            remedy: None,
            files: None,
            dry_run: self.args.dry_run,
            check: Vec::new(),
            benchmark: None,
            backend: None,
            config: None,
        };
        let status = self.go(&mut report, output)?;
        if status == ExitStatus::Success {
            let is_cpu = report.backend.as_deref() == Some(native::NAME);
            let gpu_mb = if is_cpu { 0 } else { self.machine.evaluating_gpu_mb(true) };
            output.write_ahead(&fetch_network::offer(&self.network.settings, gpu_mb)?)?;
        }
        output.write(&report, &"")?;
        Ok(status)
    }

    /// Goes step by step, tells each in text, and notes it in `report`.
    fn go(&self, report: &mut AutoReport<'_>, output: &mut Output) -> Result<ExitStatus, Failure> {
        let is_rehearsal = self.args.dry_run;
        output.write_ahead(&Found(&self.machine))?;
        let Choice { chosen, next, hint } = self.machine.choose();
        report.hint.clone_from(&hint);
        let Some((gpu, provider)) = chosen else {
            let why = match (self.machine.gpus.is_empty(), &hint) {
                (true, _) => {
                    "no GPU was found, and nothing is needed: the CPU evaluates, with the backend native"
                        .to_owned()
                }
                (false, None) => {
                    "nothing is published for this GPU under this system: the CPU evaluates".to_owned()
                }
                (false, Some(hint)) => hint.clone(),
            };
            let label = if hint.is_some() { "missing" } else { "CPU" };
            output.write_ahead(&format_args!("{label:<11}{why}\n"))?;
            return Ok(if hint.is_some() && !is_rehearsal {
                ExitStatus::Negative
            } else {
                ExitStatus::Success
            });
        };
        report.provider = Some(provider.name());
        output.write_ahead(&format_args!("chosen     {provider}, for {gpu}\n"))?;
        hint.iter().try_for_each(|hint| output.write_ahead(&format_args!("note       {hint}\n")))?;

        let plan = match self.is_described && is_rehearsal {
            true => Plan::elsewhere(provider, &self.machine.os, &self.machine.arch),
            false => Plan::here(provider)?,
        };
        output.write_ahead(&format_args!("needed:\n{plan}"))?;
        let mut lacking = self.machine.lacks(provider);
        let unsuited = self.machine.out_of_reach(gpu, provider);
        unsuited.iter().try_for_each(|why| output.write_ahead(&format_args!("missing    {why}\n")))?;
        let lacks_pip = plan.missing().next().is_some() && !self.machine.parts.contains(&Part::Pip);
        lacking.extend(lacks_pip.then_some(Part::Pip));
        let remedy = (!lacking.is_empty()).then(|| self.machine.remedy(&lacking));
        if let Some(remedy) = &remedy {
            let names: Vec<_> = lacking.iter().map(Part::to_string).collect();
            output.write_ahead(&format_args!("missing    {}\n           {remedy}\n", names.join(", ")))?;
        }
        let is_lacking = !lacking.is_empty() || unsuited.is_some();
        (report.lacking, report.remedy) = (lacking, remedy.or(unsuited));
        if is_rehearsal {
            report.files = Some(plan);
            return self.say_what_would_follow(provider, output);
        }
        if is_lacking {
            report.files = Some(plan);
            output.write_ahead(&"Nothing was changed. Run this again then.\n")?;
            return Ok(ExitStatus::Negative);
        }
        let fetched = self.args.fetch(&plan);
        report.files = Some(plan);
        fetched?;
        self.check_and_measure(report, (provider, next), output)
    }

    fn say_what_would_follow(&self, provider: Provider, output: &mut Output) -> Result<ExitStatus, Failure> {
        let config = &self.config;
        output.write_ahead(&format_args!(
            "would check {provider} against {}, search {POSITIONS} positions with both, and write the faster one to {config}\n",
            native::NAME
        ))?;
        self.taken_lines()
            .iter()
            .try_for_each(|line| output.write_ahead(&format_args!("note       {line}\n")))?;
        Ok(ExitStatus::Success)
    }

    fn check_and_measure(
        &self,
        report: &mut AutoReport<'_>,
        (provider, next): (Provider, Option<Provider>),
        output: &mut Output,
    ) -> Result<ExitStatus, Failure> {
        eprint_message(format_args!("checking {provider}"));
        let candidate = Candidate { backend: provider.name().into(), options: String::new() };
        report.check = candidate.examine(&self.network);
        for check in &report.check {
            output.write_ahead(&format_args!("checked    {}\n", Checked(check)))?;
        }
        if report.check.iter().any(|check| !check.works) {
            let next = next.filter(|next| *next != provider);
            let next = next.map_or(String::new(), |next| {
                format!(" {next} suits this GPU too: `zeitnot setup --provider {next}` fetches it.")
            });
            output.write_ahead(&format_args!("Nothing was written. `zeitnot doctor` tells more.{next}\n"))?;
            return Ok(ExitStatus::Negative);
        }
        eprint_message("measuring");
        let measured: Value = child_process::json(&self.measurement(provider), PATIENCE)
            .map_err(|reason| Failure::Input(format!("the measurement failed: {reason}")))?;
        let speeds = speeds(&measured);
        report.benchmark = Some(measured);
        let speed = |name: &str| speeds.iter().find(|(backend, _)| backend == name).map(|(_, nps)| *nps);
        let Some(gpu) = speed(provider.name()) else {
            output.write_ahead(&"The GPU could not be measured. Nothing was written.\n")?;
            return Ok(ExitStatus::Negative);
        };
        let cpu = speed(native::NAME);
        let is_faster = cpu.is_none_or(|cpu| gpu > LEAST_GAIN * cpu);
        let (backend, winner) = if is_faster { (provider.name(), "GPU") } else { (native::NAME, "CPU") };
        let is_written = self.configure(report, backend, output)?;
        output.write_ahead(&format_args!("{}: the {winner} is ", both_speeds(cpu, gpu)))?;
        output.write_ahead(&if is_written { "used\n" } else { "faster\n" })?;
        if !is_faster {
            output.write_ahead(&"A larger network may do better on the GPU: try --weights FILE.\n")?;
        }
        Ok(ExitStatus::Success)
    }

    fn measurement(&self, provider: Provider) -> Vec<String> {
        let line = [
            "benchmark".into(),
            "--json".into(),
            format!("--backends={},{provider}", native::NAME),
            format!("--num-positions={POSITIONS}"),
            format!("--movetime={MOVE_TIME}"),
            format!("--weights={}", self.network.settings.network.weights_file),
        ];
        line.into()
    }

    /// Writes our lines into the configuration file, unless lines of the user's say something about the same.
    /// Returns whether it did.
    fn configure(
        &self,
        report: &mut AutoReport<'_>,
        backend: &str,
        output: &mut Output,
    ) -> Result<bool, Failure> {
        let taken = self.taken_lines();
        if !taken.is_empty() {
            let advice = format!("To use {backend}, write backend={backend} there.");
            output.write_ahead(&format_args!(
                "config     {}\n           {advice}\n",
                taken.join("\n           ")
            ))?;
            return Ok(false);
        }
        let written = self.config.write(&own_lines(backend))?;
        output.write_ahead(&format_args!("config     {written}\n"))?;
        (report.backend, report.config) =
            (Some(backend.into()), Some(self.config.path().display().to_string()));
        Ok(true)
    }

    /// Says which lines of the user's stay as they are.
    fn taken_lines(&self) -> Vec<String> {
        self.config.taken_lines(&OF_A_BACKEND)
    }
}

fn described(file: &Path) -> Result<Machine, Failure> {
    let refuse = |error: String| Failure::Input(format!("{}: {error}", file.display()));
    let text = fs::read_to_string(file)
        .map_err(|error| refuse(format!("cannot be read: {}", in_our_words(&error))))?;
    serde_json::from_str(&text).map_err(|error| refuse(format!("no description of a machine: {error}")))
}

struct Found<'a>(&'a Machine);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { os, arch, distributions, gpus, .. } = self.0;
        let distribution = distributions.first().map(|name| format!(" ({name})")).unwrap_or_default();
        writeln!(f, "system     {os}{distribution}, {arch}")?;
        gpus.iter().try_for_each(|gpu| writeln!(f, "GPU        {gpu}: {}", gpu.details()))
    }
}

struct Checked<'a>(&'a BackendReport);

impl fmt::Display for Checked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BackendReport { backend, verdict, remedy, trial, .. } = self.0;
        write!(f, "{backend}: {verdict}")?;
        if !remedy.is_empty() {
            return write!(f, ", {}", remedy.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        let same = trial.top1_agreement.unwrap_or_default() * 100.0;
        let error = trial.q_error_max.unwrap_or_default();
        write!(f, ", {} (error of q up to {error:.1e}, same best move in {same:.1} %)", trial.description)
    }
}

/// Returns the backends that were measured, with their nodes per second.
fn speeds(measured: &Value) -> Vec<(String, f64)> {
    let runs = measured["runs"].as_array().into_iter().flatten();
    runs.filter_map(|run| Some((run["backend"].as_str()?.to_owned(), run["report"]["nps"].as_f64()?)))
        .collect()
}

fn both_speeds(cpu: Option<f64>, gpu: f64) -> String {
    let cpu = cpu.map_or("not measured".into(), |cpu| format!("{} nps", grouped(cpu)));
    format!("CPU {cpu}, GPU {} nps", grouped(gpu))
}

/// Returns a number with commas between its thousands.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The lines of a backend in the configuration file.
pub(super) fn own_lines(backend: &str) -> [Change<'static>; 2] {
    // A GPU may be gone one day.
    let fallback = (backend != native::NAME).then(|| "cpu".to_owned());
    [("backend", Some(backend.into())), ("fallback", fallback)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_stand_side_by_side() {
        assert_eq!([63.4, 999.0, 41_948.0, 1e6].map(grouped), ["63", "999", "41,948", "1,000,000"]);
        assert_eq!(both_speeds(Some(41_948.0), 63.0), "CPU 41,948 nps, GPU 63 nps");
    }
}
