//! The settings that rows were made with, in a file beside them, for the report and for resuming.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::MovesLeftError;
use crate::lab::rows::RowError;

/// Name of the file beside the rows.
const FILE: &str = "movesleft.json";

/// The settings that rows depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFacts {
    /// The files of recorded games.
    pub pgn: Vec<String>,
    /// The description of network and backend.
    pub network: String,
    /// SHA-256 of the network's file, in hexadecimal; `None` without a network and in files of before there was this entry.
    #[serde(default)]
    pub network_sha256: Option<String>,
    /// Nodes for which each position was searched, if it was.
    pub nodes: Option<u64>,
    /// The filters, as on the command line.
    pub filters: String,
    /// The number of positions of which one was taken.
    #[serde(default)]
    pub sample: u64,
    /// The shard, as text.
    pub shard: String,
    /// Where the rows come from.
    #[serde(default)]
    pub origin: RunOrigin,
}

/// The run that wrote rows. They do not depend on it, so that another one can go on with them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOrigin {
    /// The command.
    pub command: String,
    /// The program's [`VERSION`](crate::version::VERSION), with the commit.
    pub version: String,
    /// The date on which the run began, UTC.
    pub date: String,
}

impl RunFacts {
    /// Reads the facts beside a file of rows, if there are any.
    pub fn beside(rows: &Path) -> Option<RunFacts> {
        let folder = rows.parent()?;
        serde_json::from_str(&std::fs::read_to_string(folder.join(FILE)).ok()?).ok()
    }

    /// Writes the facts into the folder of the rows.
    ///
    /// # Errors
    /// [`MovesLeftError::Rows`] if the file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), MovesLeftError> {
        let path = folder.join(FILE);
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from);
        Ok(text.and_then(|text| std::fs::write(&path, text + "\n")).map_err(RowError::io(&path))?)
    }

    /// Says whether all is the same that rows depend on.
    fn agrees_with(&self, other: &RunFacts) -> bool {
        RunFacts { origin: other.origin.clone(), ..self.clone() } == *other
    }

    /// Checks that rows in the folder, if there are any, were made with these facts, whatever the shard.
    ///
    /// # Errors
    /// [`MovesLeftError::OtherSettings`] if they were made with others.
    pub fn check_but_for_the_shard(&self, folder: &Path) -> Result<(), MovesLeftError> {
        let path = folder.join(FILE);
        let before = RunFacts::beside(&path);
        let is_same = |before: RunFacts| RunFacts { shard: self.shard.clone(), ..before }.agrees_with(self);
        if before.is_none_or(is_same) {
            return Ok(());
        }
        Err(MovesLeftError::OtherSettings { path })
    }

    /// Checks that rows in the folder were made with these facts; writes them if there are none.
    ///
    /// # Errors
    /// [`MovesLeftError::OtherSettings`] if they were made with others, [`MovesLeftError::Rows`] if the file cannot be written.
    pub fn check(&self, folder: &Path) -> Result<(), MovesLeftError> {
        let path = folder.join(FILE);
        match RunFacts::beside(&path) {
            Some(before) if !before.agrees_with(self) => Err(MovesLeftError::OtherSettings { path }),
            Some(_) => Ok(()),
            None => self.write(folder),
        }
    }
}
