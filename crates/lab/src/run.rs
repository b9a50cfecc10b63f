//! A run: what it is, the folder that it alone writes to, and the journal of what it has done.
//!
//! [`Run::claim`] locks the folder and compares its `run.json` with the [`Origin`] of this run: the same run
//! goes on, any other is refused. A [`Journal`] has a line for each game. It is what a run knows of itself:
//! tables, games and pages are made from its rows.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::rows::{RowError, check_there, end_of_last_line, make_folder, replace};

const FILE: &str = "run.json";
/// Locked as long as a process writes to the folder, whose number is in it.
const LOCK: &str = "run.lock";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The identity of the run: a hash over all that its results depend on. Empty where nobody asks for it.
    #[serde(default)]
    pub run: String,
    pub command: String,
    /// The program's [`VERSION`](zeitnot_engine::VERSION), with the commit.
    pub version: String,
    pub date: String,
    #[serde(default)]
    pub machine: String,
    /// What else the run depends on, each with its name.
    #[serde(default)]
    pub facts: Vec<(String, String)>,
}

/// A folder that belongs to a run of this process until it is dropped.
#[derive(Debug)]
pub struct Run {
    origin: Origin,
    folder: PathBuf,
    lock: File,
}

impl Run {
    /// Makes the folder, or takes that of the same run. `files` are those that the run replaces.
    ///
    /// # Errors
    /// Refuses the folder of another run or process, a damaged `run.json`, and files that no run has written.
    /// What it refuses stays as it was.
    pub fn claim(folder: &Path, origin: Origin, files: &[&str]) -> Result<Run, LabError> {
        origin.check(folder, files)?;
        make_folder(folder)?;
        let lock = lock(&folder.join(LOCK))?;
        // Another process may have come first.
        let known = origin.check(folder, files)?;
        let run = Run {
            origin,
            folder: folder.to_owned(),
            lock,
        };
        match known {
            Some(_) => Ok(run),
            None => run.write().map(|()| run),
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    pub fn add_facts(&mut self, facts: impl IntoIterator<Item = (String, String)>) -> Result<(), LabError> {
        self.origin.facts.extend(facts);
        self.write()
    }

    /// Refuses a folder whose journal is gone while `exports` of it are there.
    pub(crate) fn check_journal(&self, journal: &str, exports: &[&str]) -> Result<(), RowError> {
        let export = written_in(&self.folder, exports).filter(|_| !self.folder.join(journal).exists());
        let Some(export) = export else { return Ok(()) };
        let remedy = "bring that back, or choose another --out. `report` reads the folder as it is";
        let text = format!("has games of which no {journal} is beside it; {remedy}");
        Err(RowError::of(&export, text))
    }

    fn write(&self) -> Result<(), LabError> {
        let path = self.folder.join(FILE);
        let text = serde_json::to_string_pretty(&self.origin).map_err(io::Error::from);
        Ok(text
            .and_then(|text| replace(&path, text + "\n"))
            .map_err(RowError::io(&path))?)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // The number says nothing any more.
        let _ = self.lock.set_len(0);
    }
}

/// The first of these files that holds anything.
fn written_in(folder: &Path, files: &[&str]) -> Option<PathBuf> {
    let mut paths = files.iter().map(|name| folder.join(name));
    paths.find(|path| path.metadata().is_ok_and(|file| file.len() > 0))
}

/// Locks a file, which is made if it is not there, until the value is dropped.
fn lock(path: &Path) -> Result<File, RowError> {
    let opened = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path);
    let mut file = opened.map_err(RowError::io(path))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Err(in_use(path)),
        // Some network drives know no locks.
        Err(TryLockError::Error(_)) => {}
        // Nothing depends on the number.
        Ok(()) => drop(
            file.set_len(0)
                .and_then(|()| write!(file, "{}", std::process::id())),
        ),
    }
    Ok(file)
}

fn in_use(lock: &Path) -> RowError {
    let number = std::fs::read_to_string(lock)
        .ok()
        .filter(|number| !number.is_empty());
    let who = number.map_or("another process".to_owned(), |number| format!("process {number}"));
    let text = format_args!("in use by {who}; wait for its end, or choose another --out");
    RowError::of(lock.parent().unwrap_or(lock), text)
}

pub fn check_unused(folder: &Path) -> Result<(), RowError> {
    let lock = folder.join(LOCK);
    let taken =
        File::open(&lock).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)));
    if taken { Err(in_use(&lock)) } else { Ok(()) }
}

impl Origin {
    pub fn of_folder(folder: &Path) -> Option<Origin> {
        serde_json::from_str(&std::fs::read_to_string(folder.join(FILE)).ok()?).ok()
    }

    /// Refuses the folder of another run, and one without `run.json` in which one of the `files` is. Returns
    /// the run's own origin if it has begun there.
    pub fn check(&self, folder: &Path, files: &[&str]) -> Result<Option<Origin>, LabError> {
        let path = folder.join(FILE);
        if !path.exists() {
            let what = "a file that no run has written, as no run.json is beside it";
            return written_in(folder, files).map_or(Ok(None), |path| Err(LabError::OtherRun { path, what }));
        }
        let (path, what) = match Origin::of_folder(folder).filter(|origin| !origin.run.is_empty()) {
            None => (path, "no identity of a run that can be read, as it is damaged"),
            Some(known) if known.run == self.run => return Ok(Some(known)),
            Some(_) => (
                folder.to_owned(),
                "another run, of other games or with other options",
            ),
        };
        Err(LabError::OtherRun { path, what })
    }

    /// Leaves of paths only what they end in, for reports that are passed on.
    pub fn without_folders(self) -> Origin {
        let word = |word: &str| {
            let (flag, value) = word.split_at(word.find('=').map_or(0, |place| place + 1));
            let end = value
                .trim_end_matches(['/', '\\'])
                .rsplit(['/', '\\'])
                .next()
                .unwrap_or_default();
            format!("{flag}{end}")
        };
        let command = self.command.split(' ').map(word).collect::<Vec<_>>().join(" ");
        Origin { command, ..self }
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = [
            ("machine", &self.machine),
            ("version", &self.version),
            ("date", &self.date),
        ];
        let facts = self.facts.iter().map(|(name, value)| (name.as_str(), value));
        facts
            .chain(own)
            .map(|(name, value)| (name, value.as_str()))
            .filter(|(_, value)| !value.is_empty())
    }
}

#[derive(Serialize, Deserialize)]
struct Line<R> {
    /// Empty in rows of older versions.
    #[serde(default)]
    run: String,
    #[serde(flatten)]
    row: R,
}

/// A checksum stands before what it is of.
const SUM: &str = "{\"sum\":\"";
const SUM_DIGITS: usize = 8;

/// Lines of JSON, open to be continued.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    run: String,
}

impl Journal {
    /// Opens or makes a journal of the run. `take` gets the rows that are there, in order. Cuts off a
    /// half-written last line, and refuses any other damage by its line.
    pub(crate) fn open<R: DeserializeOwned>(
        run: &Run,
        name: &str,
        mut take: impl FnMut(R) -> Result<(), LabError>,
    ) -> Result<Journal, LabError> {
        let path = run.folder.join(name);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let mut file = file.map_err(RowError::io(&path))?;
        let whole = end_of_last_line(&path).map_err(RowError::io(&path))?;
        rows(&path, Some(run.origin.run.clone()))?.try_for_each(|row| take(row?))?;
        file.set_len(whole)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .map_err(RowError::io(&path))?;
        Ok(Journal {
            path,
            file,
            run: run.origin.run.clone(),
        })
    }

    /// Adds a row, which then survives the end of the program.
    pub fn add(&mut self, row: &impl Serialize) -> Result<(), RowError> {
        let line = serde_json::to_string(&Line {
            run: self.run.clone(),
            row,
        })
        .map_err(io::Error::from);
        let line = line.map(|line| format!("{SUM}{}\",{}\n", sum(&line), &line[1..]));
        let written = line.and_then(|line| self.file.write_all(line.as_bytes()));
        written
            .and_then(|()| check_there(&self.path))
            .map_err(RowError::ended(&self.path))
    }
}

/// Reads the whole rows of a journal. With `run` it refuses those of another one.
pub(crate) fn rows<R: DeserializeOwned>(
    path: &Path,
    run: Option<String>,
) -> Result<impl Iterator<Item = Result<R, LabError>> + use<R>, RowError> {
    let path = path.to_owned();
    let mut lines = BufReader::new(File::open(&path).map_err(RowError::io(&path))?);
    let mut number = 0;
    let mut read = move || -> Result<Option<R>, LabError> {
        let mut line = Vec::new();
        number += 1;
        lines.read_until(b'\n', &mut line).map_err(RowError::io(&path))?;
        let Some(text) = line.strip_suffix(b"\n") else {
            return Ok(None);
        };
        let fault = |text: String| {
            let remedy = "bring the file back as it was, or begin anew in another --out";
            RowError(format!("{}, line {number}: {text}; {remedy}", path.display()))
        };
        let text = str::from_utf8(text).map_err(|error| fault(error.to_string()))?;
        let summed = text
            .strip_prefix(SUM)
            .and_then(|rest| rest.split_at_checked(SUM_DIGITS + 2));
        if let Some((known, rest)) = summed
            && known.get(..SUM_DIGITS) != Some(&*sum(&format!("{{{rest}")))
        {
            return Err(fault("its checksum is another one".into()).into());
        }
        let line: Line<R> = serde_json::from_str(text).map_err(|error| fault(error.to_string()))?;
        if run
            .as_ref()
            .is_some_and(|run| !line.run.is_empty() && line.run != *run)
        {
            return Err(LabError::OtherRun {
                path: path.clone(),
                what: "rows of another run",
            });
        }
        Ok(Some(line.row))
    };
    Ok(std::iter::from_fn(move || read().transpose()))
}

fn sum(text: &str) -> String {
    format!("{:08x}", crc32fast::hash(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_passed_on_names_no_folder() {
        let command = "zeitnot benchmark --weights=/home/me/nets/t1.pb.gz -w C:\\nets\\t2.pb.gz --out out/ --movetime=100".to_owned();
        let origin = Origin {
            command,
            ..Origin::default()
        }
        .without_folders();
        assert_eq!(
            origin.command,
            "zeitnot benchmark --weights=t1.pb.gz -w t2.pb.gz --out out --movetime=100"
        );
    }
}
