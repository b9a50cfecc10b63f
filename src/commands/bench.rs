//! `zeitnot bench`: reports speed and a fingerprint of the search over a set of positions.

use std::fmt;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;

use super::engine_args::EngineArgs;
use super::measure::{self, BENCH, LimitArgs, PositionArgs, SpeedReport, engine};
use crate::output::{ExitStatus, Output};
use zeitnot_engine::engine::{Engine, Settings, load_network};
use zeitnot_engine::network::backends::{AUTO, native};
use zeitnot_engine::network::weights::Model;
use zeitnot_engine::time::{Bounds, Limit, Millis, Nodes};

/// Default nodes per position …
const DEFAULT_NODES: Nodes = Nodes(2000);
/// … and the time that ends each search on slower machines.
const DEFAULT_MOVE_TIME: Millis = Millis(700.0);
/// Backends with the same answers on every machine.
const REPRODUCIBLE: [&str; 2] = ["random", "trivial"];

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    positions: PositionArgs,
    #[command(flatten)]
    settings: EngineArgs,
}

#[derive(Serialize)]
struct BenchReport {
    #[serde(flatten)]
    speed: SpeedReport,
    /// Fingerprint of the search on any machine.
    bench: Option<u64>,
    /// Hash over the root visits of all positions, for reproducible backends.
    signature: Option<String>,
}

pub(super) fn run(args: &BenchArgs, output: &mut Output) -> Result<ExitStatus> {
    let is_reproducible = REPRODUCIBLE.contains(&&*args.settings.0.network.backend);
    // Reproducible backends need no time limit.
    let movetime = (!is_reproducible).then_some(DEFAULT_MOVE_TIME);
    let limit = args.limits.or(Limit::Until(Bounds {
        nodes: Some(DEFAULT_NODES),
        movetime,
        ..Bounds::default()
    }))?;
    let positions = args.positions.or(BENCH)?;
    let mut engine = engine(&args.settings.0)?;
    let is_cpu = engine.backend().is_some_and(|backend| backend.queues == 0);
    if args.settings.0.network.threads.is_none() && is_cpu {
        engine.set_option("Threads", "1")?;
        engine.prepare()?;
    }
    measure::tell(&engine);
    let speed = measure::search_all(&mut engine, positions, limit, &args.settings.0, output, || ())?;
    drop(engine);
    if let Some(failure) = &speed.failure {
        bail!("{failure}");
    }
    let is_plain = args.limits.is_default() && args.positions.flags().is_empty();
    let has_signature =
        REPRODUCIBLE.contains(&&*speed.backend) && speed.threads == 1 && limit.bounds().movetime.is_none();
    let report = BenchReport {
        bench: match is_plain {
            true => number(
                &args.settings.0,
                speed.positions.iter().map(|row| row.position.clone()),
            )?,
            false => None,
        },
        signature: has_signature.then(|| format!("{:016x}", speed.hash)),
        speed,
    };
    output.report(&report)
}

impl fmt::Display for BenchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut facts = self.speed.facts();
        facts.extend(self.signature.clone().map(|signature| ("signature", signature)));
        facts.extend(self.bench.map(|number| {
            let what = "nodes to a fixed depth with plain kernels, the same on every machine";
            ("bench number", format!("{number}: {what}"))
        }));
        writeln!(f)?;
        measure::write_facts(f, facts)?;
        // OpenBench reads this line.
        let figures = &self.speed.figures;
        writeln!(
            f,
            "{} nodes {} nps",
            self.bench.unwrap_or(figures.nodes),
            figures.nps
        )
    }
}

/// Depth of each position for the bench number …
const NUMBER_DEPTH: u32 = 5;
/// … and its limit in visits.
const NUMBER_NODES: u64 = 800;
/// Most multiply-adds of an evaluation for plain kernels, about twice those of our network.
const MAX_MACS: u64 = 60_000_000;

/// Identifies a search for OpenBench and in commit messages: the visits to a fixed depth, with the network
/// and the search's options. It is the same on every machine: plain kernels, one thread, batches of one size,
/// fp32. `None` for a large network or a backend with other kernels.
fn number(settings: &Settings, positions: impl IntoIterator<Item = String>) -> Result<Option<u64>> {
    let is_native = [AUTO, native::NAME].contains(&&*settings.network.backend);
    if !is_native || !settings.network.backend_options.is_empty() {
        return Ok(None);
    }
    match load_network(&settings.network)?.network.model {
        Model::Layers(network) if network.cost().macs <= MAX_MACS => {}
        _ => return Ok(None),
    }
    let mut settings = settings.clone();
    for (name, value) in [
        ("Backend", native::NAME),
        ("BackendOptions", "kernel=portable,precision=fp32"),
        ("Threads", "1"),
        ("MinibatchSize", "8"),
    ] {
        settings.set(name, value)?;
    }
    let mut engine = Engine::new(settings.for_analysis())?;
    engine.prepare()?;
    let nodes = Some(Nodes(NUMBER_NODES));
    let limit = Limit::Until(Bounds {
        depth: Some(NUMBER_DEPTH),
        nodes,
        ..Bounds::default()
    });
    let mut visits = 0;
    for position in positions {
        visits += measure::search(&mut engine, position, limit)?.1.stats.new_nodes.0;
    }
    Ok(Some(visits))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A regression: the number was that of the requested visits, whatever search and network.
    #[test]
    fn the_number_depends_on_search_and_network_alone() {
        let number = |options: &[(&str, &str)]| {
            let mut settings = Settings::default();
            let tiny = concat!(env!("CARGO_MANIFEST_DIR"), "/models/tiny/zeitnot-tiny.pb.gz");
            settings.set("WeightsFile", tiny).unwrap();
            options
                .iter()
                .for_each(|(name, value)| settings.set(name, value).unwrap());
            number(&settings, BENCH.lines().last().map(|fen| format!("fen {fen}"))).unwrap()
        };
        let plain = number(&[]).unwrap();
        assert!(plain > 10, "{plain}");
        let of_the_machine = [
            ("Threads", "2"),
            ("MinibatchSize", "3"),
            ("MoveOverheadMs", "7"),
            ("Backend", "native"),
        ];
        assert_eq!(number(&of_the_machine), Some(plain));
        assert_ne!(number(&[("CPuct", "3")]), Some(plain));
        assert_eq!(number(&[("Backend", "random")]), None);
    }
}
