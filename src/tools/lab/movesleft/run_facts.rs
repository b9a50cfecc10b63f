//! What a run was made with: beside its rows, for the report and for resuming.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::MovesLeftArgs;
use crate::tools::Failure;

/// Name of the file beside the rows.
const FILE: &str = "movesleft.json";

/// The settings that rows depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RunFacts {
    /// The files of games.
    pub(super) pgn: Vec<String>,
    /// Network and backend.
    pub(super) network: String,
    /// Nodes of the search, if there was one.
    pub(super) nodes: Option<u64>,
    /// The filters.
    pub(super) filters: String,
    /// The part of the games.
    pub(super) shard: String,
}

impl RunFacts {
    pub(super) fn of(args: &MovesLeftArgs, network: &str) -> RunFacts {
        RunFacts {
            pgn: args.pgn.iter().map(|file| file.display().to_string()).collect(),
            network: network.to_owned(),
            nodes: args.nodes,
            filters: format!("{:?}", args.filters),
            shard: args.shard.map_or("all".into(), |shard| format!("{shard:?}")),
        }
    }

    /// The facts beside a file of rows, if there are any.
    pub(super) fn beside(rows: &Path) -> Option<RunFacts> {
        let folder = rows.parent()?;
        serde_json::from_str(&std::fs::read_to_string(folder.join(FILE)).ok()?).ok()
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from)?;
        Ok(std::fs::write(folder.join(FILE), text + "\n")?)
    }

    /// Refuses to go on with other settings; without any facts begins anew.
    pub(super) fn check(&self, folder: &Path) -> Result<(), Failure> {
        match RunFacts::beside(&folder.join(FILE)) {
            Some(before) if before != *self => Err(Failure::Input(format!(
                "--resume: {} was begun with other settings, see {FILE} there; begin anew without --resume, or in another folder",
                folder.display()
            ))),
            Some(_) => Ok(()),
            None => self.write(folder),
        }
    }
}
