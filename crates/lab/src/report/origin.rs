//! How a report came about: what its page names at its end, and what lies in the folder of a run as
//! `run.json`.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::rows::{RowError, make_folder};

const FILE: &str = "run.json";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The identity of the run: a hash over all that its results depend on. Empty where nobody asks for it.
    #[serde(default)]
    pub run: String,
    pub command: String,
    /// The program's [`VERSION`](zeitnot_engine::VERSION), with the commit.
    pub version: String,
    /// The date on which the run began, UTC.
    pub date: String,
    #[serde(default)]
    pub machine: String,
    /// What else the run depends on, each with its name.
    #[serde(default)]
    pub facts: Vec<(String, String)>,
}

impl Origin {
    /// Reads the origin of the rows in `folder`, if it is known.
    pub fn of_folder(folder: &Path) -> Option<Origin> {
        serde_json::from_str(&std::fs::read_to_string(folder.join(FILE)).ok()?).ok()
    }

    /// Claims the folder for this run, and says so in its `run.json`. The same run goes on there.
    ///
    /// # Errors
    /// Refuses the folder of another run, and fails if the file cannot be written.
    pub fn claim(&self, folder: &Path) -> Result<(), LabError> {
        self.check(folder)?;
        make_folder(folder)?;
        let path = folder.join(FILE);
        let text = serde_json::to_string_pretty(self).map_err(io::Error::from);
        Ok(text.and_then(|text| std::fs::write(&path, text + "\n")).map_err(RowError::io(&path))?)
    }

    /// Refuses the folder of another run.
    pub fn check(&self, folder: &Path) -> Result<(), LabError> {
        let known = Origin::of_folder(folder).map(|origin| origin.run).unwrap_or_default();
        if !known.is_empty() && known != self.run {
            let what = "another run, of other games or with other options";
            return Err(LabError::OtherRun { path: folder.to_owned(), what });
        }
        Ok(())
    }

    /// Leaves of paths only what they end in, for reports that are passed on.
    pub fn without_folders(self) -> Origin {
        let word = |word: &str| {
            let (flag, value) =
                word.split_once('=').map_or(("", word), |(flag, _)| word.split_at(flag.len() + 1));
            let end = value.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
            format!("{flag}{end}")
        };
        let command = self.command.split(' ').map(word).collect::<Vec<_>>().join(" ");
        Origin { command, ..self }
    }

    /// The facts that are known, each with its name.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = [("machine", &self.machine), ("version", &self.version), ("date", &self.date)];
        let facts = self.facts.iter().map(|(name, value)| (name.as_str(), value));
        facts.chain(own).map(|(name, value)| (name, value.as_str())).filter(|(_, value)| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_passed_on_names_no_folder() {
        let command = "zeitnot benchmark --weights=/home/me/nets/t1.pb.gz -w C:\\nets\\t2.pb.gz --out out/ --movetime=100".to_owned();
        let origin = Origin { command, ..Origin::default() }.without_folders();
        assert_eq!(
            origin.command,
            "zeitnot benchmark --weights=t1.pb.gz -w t2.pb.gz --out out --movetime=100"
        );
    }
}
