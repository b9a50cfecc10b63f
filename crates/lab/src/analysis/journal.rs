//! The journal of a run: a row of each game that is done. A run that was stopped goes on behind the last one.

use std::collections::VecDeque;
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
}

/// The files of a run: its journal, and the games with comments.
#[derive(Debug)]
pub struct AnalysisJournal {
    folder: PathBuf,
    file: JsonLines,
    pgn: File,
}

/// The rows of an earlier part of the run whose games have not been met yet.
#[derive(Debug, Default)]
pub struct KnownGames {
    path: PathBuf,
    rows: VecDeque<AnalysisRow>,
}

impl KnownGames {
    /// The row of the game that the run meets next, if it was analysed before.
    pub fn next(&mut self, game: &RecordedGame) -> Result<Option<AnalysisRow>, LabError> {
        match self.rows.pop_front() {
            Some(row) if row.game != fingerprint(game) => Err(other_run(&self.path)),
            row => Ok(row),
        }
    }

    pub fn check_all_met(&self) -> Result<(), LabError> {
        if self.rows.is_empty() { Ok(()) } else { Err(other_run(&self.path)) }
    }
}

fn other_run(path: &Path) -> LabError {
    let what = "an unfinished analysis of other games or with other options";
    LabError::OtherRun { path: path.to_owned(), what }
}

impl AnalysisJournal {
    /// Opens or makes the files of the run that has `folder`. Returns also what is known of an earlier part.
    pub fn open(folder: &Path) -> Result<(AnalysisJournal, KnownGames), LabError> {
        make_folder(folder)?;
        let mut rows = VecDeque::new();
        let path = folder.join(JOURNAL);
        let file = JsonLines::resume(&path, |row: AnalysisRow| rows.push_back(row))?;
        let pgn_path = folder.join(GAMES);
        let pgn = File::create(&pgn_path).and_then(|mut pgn| {
            rows.iter().try_for_each(|row| pgn.write_all(row.pgn.as_bytes()))?;
            Ok(pgn)
        });
        let pgn = pgn.map_err(RowError::io(&pgn_path))?;
        Ok((AnalysisJournal { folder: folder.to_owned(), file, pgn }, KnownGames { path, rows }))
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
