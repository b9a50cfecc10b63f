//! The number by which OpenBench and commit messages tell one search from another: the visits that the built-in positions
//! take to a fixed depth, with the network and with the search's options. It changes with the search, and it is the same
//! on every machine, as kernels in plain Rust compute it: one thread, batches of one size, fp32.

use super::super::Failure;
use super::{positions, search};
use crate::engine::{Engine, EngineError, Settings, load_network};
use crate::network::backends::{AUTO, native};
use crate::network::weights::Model;
use crate::time::{GoLimits, Nodes};

/// The depth to which each position is searched …
const DEPTH: u32 = 5;
/// … unless that takes more visits than this.
const MAX_NODES: u64 = 800;
/// The batch size, whatever the backend prefers.
const BATCH: usize = 8;
/// The multiply-adds of an evaluation up to which plain kernels are fast enough for this, about twice those of our own network.
const MAX_MACS: u64 = 60_000_000;

/// Returns the number; `None` where the network is too large, or the backend evaluates another way.
///
/// # Errors
/// Fails as a search does.
pub(super) fn compute(settings: &Settings) -> Result<Option<u64>, Failure> {
    compute_for(settings, &positions::BUILT_IN)
}

/// Returns the number for other positions.
fn compute_for(settings: &Settings, positions: &[&str]) -> Result<Option<u64>, Failure> {
    let is_native = [AUTO, native::NAME].contains(&&*settings.network.backend);
    if !is_native || !settings.network.backend_options.is_empty() || !is_small(settings)? {
        return Ok(None);
    }
    let mut settings = settings.clone();
    settings.stoppers.smart_pruning_factor = 0.0;
    let mut engine = Engine::new(settings)?;
    for (name, value) in [
        ("Backend", native::NAME),
        ("BackendOptions", "kernel=portable,precision=fp32"),
        ("Threads", "1"),
        ("MinibatchSize", &BATCH.to_string()),
    ] {
        engine.set_option(name, value)?;
    }
    engine.prepare()?;
    let limits = GoLimits { depth: Some(DEPTH), nodes: Some(Nodes(MAX_NODES)), ..GoLimits::default() };
    let mut visits = 0;
    for &position in positions {
        let (row, _) = search(&mut engine, position.into(), limits.clone())?;
        visits += row.figures.nodes;
    }
    Ok(Some(visits))
}

/// Returns whether plain kernels evaluate the network fast enough.
fn is_small(settings: &Settings) -> Result<bool, Failure> {
    match load_network(&settings.network).map_err(EngineError::from)?.network.model {
        Model::Layers(network, _) => Ok(network.cost().macs <= MAX_MACS),
        Model::Onnx(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number for one position, with the small network and `options` set.
    fn number(options: &[(&str, &str)]) -> Option<u64> {
        let mut settings = Settings::default();
        settings
            .set("WeightsFile", concat!(env!("CARGO_MANIFEST_DIR"), "/models/tiny/zeitnot-tiny.pb.gz"))
            .unwrap();
        options.iter().for_each(|(name, value)| settings.set(name, value).unwrap());
        compute_for(&settings, &positions::BUILT_IN[9..]).unwrap()
    }

    /// A regression: the number was that of the visits that were asked for, whatever the search and the network were.
    #[test]
    fn the_number_depends_on_search_and_network_alone() {
        let plain = number(&[]).unwrap();
        assert!(plain > 10, "{plain}");
        let of_the_machine =
            [("Threads", "2"), ("MinibatchSize", "3"), ("MoveOverheadMs", "7"), ("Backend", "native")];
        assert_eq!(number(&of_the_machine), Some(plain));
        assert_ne!(number(&[("CPuct", "3")]), Some(plain));
        assert_eq!(number(&[("Backend", "random")]), None);
    }
}
