//! The journal of a run, behind whose last game a run that was stopped goes on.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::analysed_pgn::pgn;
use super::analyst::SearchEffort;
use super::viewed::viewed_game;
use super::{AnalysedGame, AnalysisSummary};
use crate::error::LabError;
use crate::pgn::RecordedGame;
use crate::run::Entry;
use crate::viewer::ViewedGame;
use zeitnot_engine::files::hex;

/// The games with comments, as the journal has them.
const GAMES: &str = "games.pgn";
pub const FILES: [&str; 3] = [AnalysisRow::JOURNAL, GAMES, "index.html"];

#[derive(Debug, Serialize, Deserialize)]
pub struct AnalysisRow {
    game: String,
    pub pgn: String,
    pub summary: AnalysisSummary,
    pub(super) viewed: ViewedGame,
    pub effort: SearchEffort,
}

impl AnalysisRow {
    pub fn new(game: &AnalysedGame, engine: &str) -> AnalysisRow {
        let summary = AnalysisSummary::of(game);
        let mut effort = SearchEffort::default();
        for found in &game.positions {
            effort.add(found.effort);
        }
        AnalysisRow {
            game: fingerprint(&game.recorded),
            pgn: pgn(game, engine),
            viewed: viewed_game(game, &summary),
            summary,
            effort,
        }
    }

    /// Refuses another game than the one that was analysed: pipes may bring any.
    pub fn check(&self, game: Option<&RecordedGame>, folder: &Path) -> Result<(), LabError> {
        if game.is_some_and(|game| fingerprint(game) == self.game) {
            return Ok(());
        }
        Err(LabError::OtherRun {
            path: folder.join(AnalysisRow::JOURNAL),
            what: "an analysis of other games or with other options",
        })
    }
}

impl Entry for AnalysisRow {
    const JOURNAL: &'static str = "analysis.jsonl";

    fn exports() -> Vec<(&'static str, String)> {
        vec![(GAMES, String::new())]
    }

    fn texts(&self) -> Vec<String> {
        vec![self.pgn.clone()]
    }
}

fn fingerprint(game: &RecordedGame) -> String {
    let RecordedGame {
        tags,
        start,
        variant,
        moves,
        ..
    } = game;
    let hash = Sha256::digest(format!("{tags:?} {} {variant:?} {moves:?}", start.to_fen()));
    hex(&hash[..6])
}
