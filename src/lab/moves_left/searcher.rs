//! Searches positions, each from an empty tree, for what the Moves Left Head says on average over the tree.

use std::num::NonZero;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use super::MovesLeftError;
use super::rows::PositionRow;
use crate::chess::{History, Variant};
use crate::engine::Settings;
use crate::engine::{Engine, EngineError, GoRequest, Listener, SearchAnswer};
use crate::search::{SearchInfo, SearchResult};
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
        let (sender, answers) = channel();
        let limits = GoLimits { nodes: Some(Nodes(self.nodes)), ..GoLimits::default() };
        let request = GoRequest { limits, root_moves: Vec::new(), received: Instant::now() };
        self.engine.go(request, Box::new(ResultListener { answer: sender, notes: Vec::new() }))?;
        self.engine.wait();
        let result = answers.recv().unwrap_or_else(|_| Err("no answer".into()));
        let result =
            result.map_err(|notes| MovesLeftError::Search { game: row.game, ply: row.ply, notes })?;
        if let Some(root) = result.summary.root {
            row.m_search_plies = root.m.map(|m| m.0 as f32);
            row.m_spread_plies = root.m_spread.map(|spread| spread.0 as f32);
        }
        Ok(())
    }
}

/// Hands the result of a search over, or the messages of one that failed.
struct ResultListener {
    answer: Sender<Result<SearchResult, String>>,
    notes: Vec<String>,
}

impl Listener for ResultListener {
    fn info(&mut self, _: &History, _: &SearchInfo) {}

    fn note(&mut self, text: &str) {
        self.notes.push(text.into());
    }

    fn answer(&mut self, _: &History, answer: SearchAnswer) {
        let result = answer.result.filter(|result| result.failure.is_none());
        // The receiver waits for it.
        let _ = self.answer.send(result.ok_or_else(|| self.notes.join("; ")));
    }
}
