//! `zeitnot setup --network`: fetches a published network. `--networks` lists them.

use clap::Args;

use crate::output::{ExitStatus, Failure, Output, eprint_message};
use crate::setup::{Fetcher, Machine, PublishedNetwork, choose, published};
use zeitnot_engine::engine::{Settings, load_network};
use zeitnot_engine::network::backends::native;
use zeitnot_engine::network::discover;

#[derive(Debug, Args)]
pub(crate) struct FetchNetworkArgs {
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
}

pub(super) struct FetchRules<'a> {
    pub(super) is_rehearsal: bool,
    pub(super) is_offline: bool,
    /// A network named elsewhere, which takes precedence over a fetched one.
    pub(super) weights: Option<&'a str>,
    /// Another machine than this one.
    pub(super) machine: Option<Machine>,
}

impl FetchNetworkArgs {
    pub(super) fn are_given(&self) -> bool {
        self.networks || self.network.is_some()
    }
}

pub(super) fn run(
    args: &FetchNetworkArgs,
    rules: FetchRules<'_>,
    output: &mut Output,
) -> Result<ExitStatus, Failure> {
    match &args.network {
        Some(name) => fetch(args, name.as_deref(), rules, output),
        None => list(output),
    }
}

fn list(output: &mut Output) -> Result<ExitStatus, Failure> {
    let networks = published()?;
    output.write(&networks, &networks.iter().map(PublishedNetwork::line).collect::<String>())?;
    Ok(ExitStatus::Success)
}

fn fetch(
    args: &FetchNetworkArgs,
    name: Option<&str>,
    rules: FetchRules<'_>,
    output: &mut Output,
) -> Result<ExitStatus, Failure> {
    let mut network = match name {
        Some(name) => choose(Some(name), 0)?,
        None => suitable(args, rules.machine)?,
    };
    output.write_ahead(&network)?;
    if !rules.is_rehearsal {
        network.fetch(&Fetcher::new(&|text| eprint_message(text), rules.is_offline))?;
        network.is_here = true;
        let next = match rules.weights {
            Some(other) => format!("is not used: the configuration or --weights names {other}"),
            None => "is here, and used from the next start on".into(),
        };
        output.write_ahead(&format_args!("{:<10} {next}\n", network.name))?;
    }
    output.write(&network, &"")?;
    Ok(ExitStatus::Success)
}

fn suitable(args: &FetchNetworkArgs, other: Option<Machine>) -> Result<PublishedNetwork, Failure> {
    let is_other = other.is_some();
    let is_cpu = args.backend.as_ref().is_some_and(|name| name.starts_with(native::NAME));
    let machine = || other.unwrap_or_else(Machine::this);
    Ok(choose(None, if is_cpu { 0 } else { machine().evaluating_gpu_mb(is_other) })?)
}

/// How to fetch a network for this GPU, if the built-in one is in use.
pub(super) fn offer(settings: &Settings, gpu_mb: u64) -> Result<String, Failure> {
    let in_use = load_network(&settings.network)?.network.path;
    if !discover::is_built_in(&in_use.display().to_string()) {
        return Ok(String::new());
    }
    let network = choose(None, gpu_mb)?;
    let (name, size) = (&network.name, network.megabytes());
    Ok(format!("stronger   `zeitnot setup --network` fetches the network {name} ({size} MB)\n"))
}
