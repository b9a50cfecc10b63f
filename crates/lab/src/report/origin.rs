//! How a report came about: what its page names at its end, and what lies beside rows as `run.json`.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

const FILE: &str = "run.json";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
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

    pub fn write(&self, folder: &Path) -> io::Result<()> {
        std::fs::write(folder.join(FILE), serde_json::to_string_pretty(self)? + "\n")
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
