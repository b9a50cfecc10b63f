//! The journal of a run: a row of each game that is done. A run that was stopped goes on behind the last one.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::analysed_pgn::write_pgn;
use super::analysis_page::viewed_game;
use super::analyst::SearchEffort;
use super::{AnalysedGame, AnalysisSummary};
use crate::LabError;
use crate::pgn::RecordedGame;
use crate::rows::{JsonLines, RowError, make_folder};
use crate::viewer::ViewedGame;
use zeitnot_engine::files::hex;

/// The journal in the folder of a run. It is there as long as the run is unfinished.
const JOURNAL: &str = "unfinished.jsonl";
/// The name of the file with the games in the folder of a run.
pub const GAMES: &str = "games.pgn";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AnalysisRow {
    /// A hash over the game as it was read.
    game: String,
    pub pgn: String,
    pub summary: AnalysisSummary,
    /// What the page shows.
    pub(super) viewed: ViewedGame,
    pub effort: SearchEffort,
}

impl AnalysisRow {
    /// `engine` describes what analysed the game.
    pub fn new(game: &AnalysedGame, engine: &str) -> AnalysisRow {
        let mut pgn = Vec::new();
        // Writing into memory cannot fail.
        let _ = write_pgn(&mut pgn, game, engine);
        let summary = AnalysisSummary::of(game);
        AnalysisRow {
            game: fingerprint(&game.recorded),
            pgn: String::from_utf8_lossy(&pgn).into_owned(),
            viewed: viewed_game(game, &summary),
            summary,
            effort: SearchEffort {
                new_nodes: game.positions.iter().map(|found| found.effort.new_nodes).sum(),
                time_ms: game.positions.iter().map(|found| found.effort.time_ms).sum(),
            },
        }
    }

    /// Refuses another game than the one that was analysed: pipes may bring any.
    pub fn check(&self, game: Option<&RecordedGame>, folder: &Path) -> Result<(), LabError> {
        if game.is_some_and(|game| fingerprint(game) == self.game) {
            return Ok(());
        }
        let what = "an unfinished analysis of other games or with other options";
        Err(LabError::OtherRun { path: folder.join(JOURNAL), what })
    }
}

/// The files of a run: its journal, and the games with comments.
#[derive(Debug)]
pub struct AnalysisJournal {
    folder: PathBuf,
    file: JsonLines,
    pgn: File,
}

impl AnalysisJournal {
    /// Opens or makes the files of the run that has `folder`. Returns also the rows of its first games, if
    /// they were analysed before.
    pub fn open(folder: &Path) -> Result<(AnalysisJournal, Vec<AnalysisRow>), RowError> {
        make_folder(folder)?;
        let mut rows = Vec::new();
        let file = JsonLines::resume(&folder.join(JOURNAL), |row: AnalysisRow| rows.push(row))?;
        let pgn_path = folder.join(GAMES);
        let pgn = File::create(&pgn_path).and_then(|mut pgn| {
            rows.iter().try_for_each(|row| pgn.write_all(row.pgn.as_bytes()))?;
            Ok(pgn)
        });
        let pgn = pgn.map_err(RowError::io(&pgn_path))?;
        Ok((AnalysisJournal { folder: folder.to_owned(), file, pgn }, rows))
    }

    pub fn is_in(folder: &Path) -> bool {
        folder.join(JOURNAL).exists()
    }

    /// Adds a game, which then survives the end of the program.
    pub fn add(&mut self, row: &AnalysisRow) -> Result<(), RowError> {
        self.file.add(row)?;
        self.pgn.write_all(row.pgn.as_bytes()).map_err(RowError::io(&self.folder.join(GAMES)))
    }

    pub fn finish(self) -> Result<(), RowError> {
        let path = self.folder.join(JOURNAL);
        fs::remove_file(&path).map_err(RowError::io(&path))
    }
}

/// A hash over what was read of a game.
fn fingerprint(game: &RecordedGame) -> String {
    let RecordedGame { tags, start, variant, moves, .. } = game;
    let hash = Sha256::digest(format!("{tags:?} {} {variant:?} {moves:?}", start.to_fen()));
    hex(&hash[..6])
}
