//! `zeitnot setup --network`: fetches one of the networks that others publish, and `--networks` lists them.

use clap::Args;

use super::output::eprint_message;
use super::setup::{SetupArgs, described};
use super::{ExitStatus, Failure, Output};
use crate::setup::{Fetcher, Machine, PublishedNetwork, choose, published};
use zeitnot_engine::engine::{Settings, load_network};
use zeitnot_engine::network::backends::native;
use zeitnot_engine::network::discover;

#[derive(Debug, Args)]
pub(super) struct FetchNetworkArgs {
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

/// Runs the command, or returns `None` if it is not this one.
pub(super) fn run(args: &SetupArgs, output: &mut Output) -> Option<Result<ExitStatus, Failure>> {
    if args.fetch_network.networks {
        return Some(list(output));
    }
    args.fetch_network.network.as_ref().map(|name| fetch(args, name.as_deref(), output))
}

fn list(output: &mut Output) -> Result<ExitStatus, Failure> {
    let networks = published()?;
    output.write(&networks, &networks.iter().map(PublishedNetwork::line).collect::<String>())?;
    Ok(ExitStatus::Success)
}

fn fetch(args: &SetupArgs, name: Option<&str>, output: &mut Output) -> Result<ExitStatus, Failure> {
    let mut network = match name {
        Some(name) => choose(Some(name), 0)?,
        None => suitable(args)?,
    };
    output.write_ahead(&network)?;
    if !args.dry_run {
        network.fetch(&Fetcher::new(&|text| eprint_message(text), args.is_offline))?;
        network.is_here = true;
        let next = match &args.weights {
            Some(other) => format!("is not used: the configuration or --weights names {other}"),
            None => "is here, and used from the next start on".into(),
        };
        output.write_ahead(&format_args!("{:<11}{next}\n", network.name))?;
    }
    output.write(&network, &"")?;
    Ok(ExitStatus::Success)
}

fn suitable(args: &SetupArgs) -> Result<PublishedNetwork, Failure> {
    let other = args.machine.as_deref().map(described).transpose()?;
    let is_other = other.is_some();
    let is_cpu = args.fetch_network.backend.as_ref().is_some_and(|name| name.starts_with(native::NAME));
    let machine = || other.unwrap_or_else(Machine::without_parts);
    Ok(choose(None, if is_cpu { 0 } else { machine().evaluating_gpu_mb(is_other) })?)
}

/// Names the command that fetches a network for this memory of a GPU, MiB, while the built-in one is in use.
pub(super) fn offer(settings: &Settings, gpu_mb: u64) -> Result<String, Failure> {
    let in_use = load_network(&settings.network)?.network.path;
    if !discover::is_built_in(&in_use.display().to_string()) {
        return Ok(String::new());
    }
    let network = choose(None, gpu_mb)?;
    let (name, size) = (&network.name, network.megabytes());
    Ok(format!("stronger   `zeitnot setup --network` fetches the network {name} ({size} MB)\n"))
}
