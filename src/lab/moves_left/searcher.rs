//! Searches positions, each from an empty tree, for what the Moves Left Head says on average over the tree.

use std::num::NonZero;

use super::MovesLeftError;
use super::rows::PositionRow;
use crate::chess::Variant;
use crate::engine::{Engine, EngineError, Settings};
use crate::time::{GoLimits, Nodes};

/// An engine that searches for a fixed number of nodes.
pub(super) struct Searcher {
    engine: Engine,
    nodes: u64,
}

impl Searcher {
    /// Makes an engine of one thread that nothing but the number of nodes stops.
    pub(super) fn new(settings: &Settings, nodes: u64) -> Result<Searcher, EngineError> {
        let mut settings = settings.clone();
        settings.network.threads = NonZero::new(1);
        settings.stoppers.smart_pruning_factor = 0.0;
        let mut engine = Engine::new(settings)?;
        engine.prepare()?;
        Ok(Searcher { engine, nodes })
    }

    /// Reads moves as this variant writes them from now on.
    pub(super) fn set_variant(&mut self, variant: Variant) -> Result<(), EngineError> {
        let is_960 = variant == Variant::Chess960;
        self.engine.set_option("UCI_Chess960", if is_960 { "true" } else { "false" }).map(drop)
    }

    /// Searches the position after `position` (as in UCI's `position`) and notes in its row what the tree says.
    pub(super) fn search(&mut self, position: &str, row: &mut PositionRow) -> Result<(), MovesLeftError> {
        self.engine.new_game();
        // Evaluations kept from other positions change which ones share a batch, and so the tree: rows would depend on where a run began.
        self.engine.clear_cache();
        self.engine.set_position(position)?;
        let limits = GoLimits { nodes: Some(Nodes(self.nodes)), ..GoLimits::default() };
        let found = self.engine.search(limits).map_err(|source| MovesLeftError::Search {
            game: row.game,
            ply: row.ply,
            source,
        })?;
        if let Some(root) = found.result.summary.root {
            row.m_search_plies = root.m.map(|m| m.0 as f32);
            row.m_spread_plies = root.m_spread.map(|spread| spread.0 as f32);
        }
        Ok(())
    }
}
