//! The journal of a run: a row of each game that is done. A run that was stopped goes on behind the last one.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::analysed_pgn::pgn;
use super::analyst::SearchEffort;
use super::viewed::viewed_game;
use super::{AnalysedGame, AnalysisSummary};
use crate::error::LabError;
use crate::pgn::RecordedGame;
use crate::rows::{Export, RowError};
use crate::run::{Journal, Run};
use crate::viewer::ViewedGame;
use zeitnot_engine::files::hex;

const JOURNAL: &str = "analysis.jsonl";
/// The games with comments, as the journal has them.
const GAMES: &str = "games.pgn";
pub const FILES: [&str; 3] = [JOURNAL, GAMES, "index.html"];

#[derive(Clone, Debug, Serialize, Deserialize)]
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
        game.positions.iter().for_each(|found| effort.add(found.effort));
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
        let what = "an analysis of other games or with other options";
        Err(LabError::OtherRun {
            path: folder.join(JOURNAL),
            what,
        })
    }
}

/// The files of a run: its journal, and the games with comments.
#[derive(Debug)]
pub struct AnalysisJournal {
    journal: Journal,
    pgn: Export,
}

impl AnalysisJournal {
    /// Opens or makes the files of the run. Returns also the rows of its first games, if they were analysed
    /// before.
    pub fn open(run: &Run) -> Result<(AnalysisJournal, Vec<AnalysisRow>), LabError> {
        run.check_journal(JOURNAL, &[GAMES])?;
        let (mut rows, mut pgn) = (Vec::new(), Export::create(&run.folder().join(GAMES))?);
        let journal = Journal::open(run, JOURNAL, |row: AnalysisRow| {
            pgn.add(&row.pgn)?;
            rows.push(row);
            Ok(())
        })?;
        pgn.publish()?;
        Ok((AnalysisJournal { journal, pgn }, rows))
    }

    /// Adds a game, which then survives the end of the program.
    pub fn add(&mut self, row: &AnalysisRow) -> Result<(), RowError> {
        self.journal.add(row)?;
        self.pgn.add(&row.pgn)
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
