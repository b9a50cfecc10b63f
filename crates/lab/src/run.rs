//! A run: what it is, the folder that it alone writes to, and the journal of what it has done.
//!
//! [`Run::claim`] locks the folder and compares its `run.json` with the [`Origin`] of this run: any other is
//! refused. A [`Journal`] has a line for each game: tables, games and pages are made from its rows.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use itertools::Itertools;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::alone::{Lock, OwnFile, lock, open_regular};
use crate::error::LabError;
use crate::rows::{Export, RowError, make_folder, remove_left_over, replace, whole_lines};
use zeitnot_engine::system::host_name;

const FILE: &str = "run.json";
/// The fact that names the precision of a network. Devices choose it unless the user does, so that it is no
/// part of a run's identity.
pub const PRECISION: &str = "precision";
/// Locked as long as a process, which it names, writes to the folder.
const LOCK: &str = "run.lock";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The identity of the run: a hash over all that its results depend on, or empty.
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
    /// Locked, and empty again when the run is over.
    file: File,
    lock: Lock,
}

impl Run {
    /// Makes the folder, or takes that of the same run. `files` are those that it replaces.
    ///
    /// # Errors
    /// Refuses the folder of another run or process, a damaged `run.json`, and files that no run has written.
    /// What it refuses stays as it was.
    pub fn claim(folder: &Path, origin: Origin, files: &[&str]) -> Result<Run, LabError> {
        origin.check(folder, files)?;
        make_folder(folder)?;
        let path = folder.join(LOCK);
        let options = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .clone();
        let mut file = open_regular(&path, &options).map_err(RowError::io(&path))?;
        let lock = lock(&file);
        match lock {
            Lock::Taken => return Err(in_use(folder).into()),
            Lock::Unknown => {}
            Lock::Held => {
                // Nothing depends on the text.
                let _ = file.set_len(0);
                let _ = write!(file, "{} on {}", std::process::id(), host_name());
            }
        }
        // Another process may have come first.
        let known = origin.check(folder, files)?;
        remove_left_over(folder);
        let run = Run {
            origin,
            folder: folder.to_owned(),
            file,
            lock,
        };
        if known.is_none() {
            run.write()?;
        }
        Ok(run)
    }

    /// Whether another process would be kept out.
    pub fn lock(&self) -> Lock {
        self.lock
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

    fn write(&self) -> Result<(), LabError> {
        let path = self.folder.join(FILE);
        let text = serde_json::to_string_pretty(&self.origin).map_err(io::Error::from);
        let written = text.and_then(|text| replace(&path, text + "\n"));
        Ok(written.map_err(RowError::io(&path))?)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // The text says nothing any more. Without locks it may be of another process.
        let _ = self.file.set_len(0);
        // A process that is being started has a copy of the file, which would stay locked for a moment.
        let _ = self.file.unlock();
    }
}

fn in_use(folder: &Path) -> RowError {
    let who = match std::fs::read_to_string(folder.join(LOCK)) {
        Ok(text) if !text.is_empty() => format!("process {text}"),
        _ => "another process".to_owned(),
    };
    let text = format_args!("in use by {who}; wait for its end, or choose another --out");
    RowError::of(folder, text)
}

pub fn check_unused(folder: &Path) -> Result<(), RowError> {
    let opened = open_regular(&folder.join(LOCK), File::options().read(true));
    let taken = opened.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)));
    if taken { Err(in_use(folder)) } else { Ok(()) }
}

impl Origin {
    pub fn of_folder(folder: &Path) -> Option<Origin> {
        let file = open_regular(&folder.join(FILE), File::options().read(true)).ok()?;
        serde_json::from_reader(BufReader::new(file)).ok()
    }

    /// Refuses the folder of another run, and one without `run.json` in which one of the `files` is. Returns
    /// the run's own origin if it has begun there.
    pub fn check(&self, folder: &Path, files: &[&str]) -> Result<Option<Origin>, LabError> {
        let path = folder.join(FILE);
        let refuse = |path: &Path, what| {
            Err(LabError::OtherRun {
                path: path.to_owned(),
                what,
            })
        };
        if path.symlink_metadata().is_err() {
            let holds_anything = |path: &PathBuf| path.metadata().is_ok_and(|file| file.len() > 0);
            let mut paths = files.iter().map(|name| folder.join(name));
            return match paths.find(holds_anything) {
                Some(path) => refuse(
                    &path,
                    "a file that no run has written, as no run.json is beside it",
                ),
                None => Ok(None),
            };
        }
        open_regular(&path, File::options().read(true)).map_err(RowError::io(&path))?;
        match Origin::of_folder(folder) {
            Some(known) if !known.run.is_empty() => {
                if known.run != self.run {
                    refuse(folder, "another run, of other games or with other options")
                } else if known.is_of_other_precision(self) {
                    refuse(folder, "a run whose networks were computed in another precision")
                } else {
                    Ok(Some(known))
                }
            }
            _ => refuse(&path, "no identity of a run that can be read, as it is damaged"),
        }
    }

    fn is_of_other_precision(&self, other: &Origin) -> bool {
        let [own, others] = [self, other].map(|origin| {
            let facts = origin.facts.iter();
            Vec::from_iter(facts.filter(|(name, _)| name.starts_with(PRECISION)))
        });
        !own.is_empty() && !others.is_empty() && own != others
    }

    /// Leaves of paths only their last parts, for reports that are passed on.
    pub fn without_folders(self) -> Origin {
        let command = self.command.split(' ').map(without_folder).join(" ");
        Origin { command, ..self }
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = [
            ("machine", &*self.machine),
            ("version", &*self.version),
            ("date", &*self.date),
        ];
        let facts = self.facts.iter().map(|(name, value)| (&**name, &**value));
        facts.chain(own).filter(|(_, value)| !value.is_empty())
    }
}

/// A word of a command line, with what the path in it ends in.
pub fn without_folder(word: &str) -> String {
    let (flag, value) = word.split_at(word.find('=').map_or(0, |place| place + 1));
    let value = value.trim_end_matches(['/', '\\']);
    let folder = value.rfind(['/', '\\']).map_or(0, |place| place + 1);
    format!("{flag}{}", &value[folder..])
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

/// A row of a journal, and what it adds to files made of the journal.
pub trait Entry: Serialize + DeserializeOwned {
    const JOURNAL: &'static str;

    /// The names of these files, and what each begins with.
    fn exports() -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// What each of them gets, in the same order.
    fn texts(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Waiting for the disk may take one part in so many of a run.
const SYNC_DIVISOR: u32 = 50;

/// Lines of JSON, open to be continued, and files made of them: one that is damaged or behind is made anew
/// when the journal is opened. None ever has more than the disk has of the journal.
#[derive(Debug)]
pub struct Journal<R> {
    file: OwnFile,
    path: PathBuf,
    run: String,
    /// With what each gets once the journal is on the disk.
    exports: Vec<(Export, String)>,
    opened: Instant,
    waited_for_disk: Duration,
    rows: PhantomData<fn(R)>,
}

impl<R: Entry> Journal<R> {
    /// Opens or makes a journal of the run. `take` gets its rows, in order. Cuts off a half-written last
    /// line, and refuses other damage by its line, and a journal that has lost rows.
    pub fn open(run: &Run, mut take: impl FnMut(R) -> Result<(), LabError>) -> Result<Journal<R>, LabError> {
        let path = run.folder.join(R::JOURNAL);
        let id = run.origin.run.clone();
        let mut exports = Vec::new();
        for (name, start) in R::exports() {
            let mut export = Export::create(&run.folder.join(name))?;
            export.add(start)?;
            exports.push((export, String::new()));
        }
        let mut whole = 0;
        if path.symlink_metadata().is_ok() {
            for row in rows::<R>(&path, Some(id.clone()))? {
                let row = row?;
                for ((export, _), text) in exports.iter_mut().zip(row.texts()) {
                    export.add(text)?;
                }
                take(row)?;
            }
            whole = whole_lines(&path).map_err(RowError::io(&path))?.1;
        }
        for (export, _) in &exports {
            export.check_is_whole(R::JOURNAL)?;
        }
        for (export, _) in &mut exports {
            export.publish()?;
        }
        Ok(Journal {
            file: OwnFile::open(&path, whole).map_err(RowError::io(&path))?,
            path,
            run: id,
            exports,
            opened: Instant::now(),
            waited_for_disk: Duration::ZERO,
            rows: PhantomData,
        })
    }

    /// Adds a row, which survives the end of the program, and of the system if the disk is quick.
    pub fn add(&mut self, row: &R) -> Result<(), RowError> {
        let line = serde_json::to_string(&Line {
            run: self.run.clone(),
            row,
        });
        let written = line.map_err(io::Error::from).and_then(|line| {
            let summed = format!("{SUM}{}\",{}\n", sum(&line), &line[1..]);
            self.file.append(summed.as_bytes())
        });
        written.map_err(RowError::ended(&self.path))?;
        for ((_, waiting), text) in self.exports.iter_mut().zip(row.texts()) {
            waiting.push_str(&text);
        }
        if self.waited_for_disk * SYNC_DIVISOR <= self.opened.elapsed() {
            self.sync()?;
        }
        Ok(())
    }
}

impl<R> Journal<R> {
    /// Waits until the disk has all rows, and adds them to what is made of them.
    pub fn sync(&mut self) -> Result<(), RowError> {
        let began = Instant::now();
        self.file.sync().map_err(RowError::ended(&self.path))?;
        self.waited_for_disk += began.elapsed();
        for (export, waiting) in &mut self.exports {
            export.add(std::mem::take(waiting))?;
        }
        Ok(())
    }
}

impl<R> Drop for Journal<R> {
    /// What another error ends is kept as well as can be.
    fn drop(&mut self) {
        let _ = self.sync();
    }
}

/// Reads the whole rows of a journal. With `run` it refuses those of another one.
pub(crate) fn rows<R: DeserializeOwned>(
    path: &Path,
    run: Option<String>,
) -> Result<impl Iterator<Item = Result<R, LabError>> + use<R>, RowError> {
    let path = path.to_owned();
    let file = open_regular(&path, File::options().read(true)).map_err(RowError::io(&path))?;
    let mut lines = BufReader::new(file);
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
        if let Some(run) = &run
            && !line.run.is_empty()
            && line.run != *run
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

    #[derive(Debug, Serialize, Deserialize)]
    struct Sample {
        number: u64,
    }

    impl Entry for Sample {
        const JOURNAL: &'static str = "samples.jsonl";

        fn exports() -> Vec<(&'static str, String)> {
            vec![("samples.csv", "number\n".into()), ("samples.txt", String::new())]
        }

        fn texts(&self) -> Vec<String> {
            vec![format!("{}\n", self.number), format!("sample\n{}\n", self.number)]
        }
    }

    fn claimed(folder: &Path) -> Run {
        let origin = Origin {
            run: "a".into(),
            ..Origin::default()
        };
        Run::claim(folder, origin, &[]).unwrap()
    }

    fn opened(run: &Run) -> Result<(Journal<Sample>, usize), LabError> {
        let mut known = 0;
        let journal = Journal::open(run, |_: Sample| {
            known += 1;
            Ok(())
        })?;
        Ok((journal, known))
    }

    fn add(journal: &mut Journal<Sample>, numbers: std::ops::Range<u64>) {
        for number in numbers {
            journal.add(&Sample { number }).unwrap();
        }
    }

    const NAMES: [&str; 3] = ["samples.jsonl", "samples.csv", "samples.txt"];

    fn contents(folder: &Path) -> [Vec<u8>; 3] {
        NAMES.map(|name| std::fs::read(folder.join(name)).unwrap_or_default())
    }

    #[test]
    fn a_run_goes_on_in_its_precision_if_that_was_told() {
        let of = |precision: &str| {
            let facts = [(PRECISION.to_owned(), precision.to_owned())];
            Origin {
                run: "a".into(),
                facts: facts.into_iter().filter(|_| !precision.is_empty()).collect(),
                ..Origin::default()
            }
        };
        let goes_on = |from: &str, to: &str| {
            let folder = tempfile::tempdir().unwrap();
            drop(Run::claim(folder.path(), of(from), &[]).unwrap());
            Run::claim(folder.path(), of(to), &[]).is_ok()
        };
        assert!(goes_on("fp32", "fp32") && !goes_on("fp32", "int16"));
        // Older releases did not tell it.
        assert!(goes_on("", "fp32"));
    }

    /// A regression: the same command wiped sixty games whose journal had been emptied.
    #[test]
    fn a_journal_that_has_lost_rows_costs_none_of_what_was_made_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let run = claimed(folder.path());
        let (mut journal, _) = opened(&run).unwrap();
        add(&mut journal, 0..6);
        journal.sync().unwrap();
        drop(journal);
        let path = folder.path().join(Sample::JOURNAL);
        let whole = contents(folder.path());
        let len = whole[0].len();
        let zeros = vec![0; len];
        let torn = [&whole[0][..len - 9], &[0; 9]].concat();
        for damaged in [&[][..], &whole[0][..len / 3], &whole[0][..len - 1], &zeros, &torn] {
            std::fs::write(&path, damaged).unwrap();
            let refused = opened(&run).unwrap_err().to_string();
            assert!(
                refused.contains("samples.csv: has more than the samples.jsonl"),
                "{refused}"
            );
            assert_eq!(contents(folder.path())[1..], whole[1..]);
        }
        std::fs::remove_file(&path).unwrap();
        assert!(opened(&run).is_err() && !path.exists());
        std::fs::write(&path, &whole[0]).unwrap();
        // What is behind the journal is made up for.
        for kept in [0, 3, whole[1].len() - 1] {
            std::fs::write(folder.path().join("samples.csv"), &whole[1][..kept]).unwrap();
            assert_eq!(opened(&run).unwrap().1, 6);
            assert_eq!(contents(folder.path()), whole);
        }
    }

    #[test]
    fn nothing_is_made_of_rows_that_the_disk_may_not_have() {
        let folder = tempfile::tempdir().unwrap();
        let run = claimed(folder.path());
        let (mut journal, _) = opened(&run).unwrap();
        add(&mut journal, 0..1);
        assert_eq!(contents(folder.path())[1], b"number\n0\n", "a quick disk");
        journal.waited_for_disk = Duration::from_secs(1000);
        add(&mut journal, 1..4);
        assert_eq!(contents(folder.path())[1], b"number\n0\n");
        journal.sync().unwrap();
        assert_eq!(contents(folder.path())[1], b"number\n0\n1\n2\n3\n");
        drop(journal);
        assert_eq!(opened(&run).unwrap().1, 4);
    }

    /// A regression: where a drive knows no locks, two processes wrote into each other's rows.
    #[test]
    fn who_does_not_write_alone_writes_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let run = claimed(folder.path());
        let (mut first, _) = opened(&run).unwrap();
        let (mut second, _) = opened(&run).unwrap();
        // Its table was made anew by the second one.
        assert!(first.add(&Sample { number: 0 }).is_err());
        let refused = second.add(&Sample { number: 7 }).unwrap_err().to_string();
        assert!(refused.contains("another process writes to it"), "{refused}");
        drop((first, second));
        assert_eq!(opened(&run).unwrap().1, 1);
    }

    #[test]
    fn rows_of_another_run_are_refused_and_those_that_name_none_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let run = claimed(folder.path());
        let (mut journal, _) = opened(&run).unwrap();
        add(&mut journal, 0..2);
        drop(journal);
        let path = folder.path().join(Sample::JOURNAL);
        let read = |run: Option<&str>| -> Result<Vec<u64>, LabError> {
            let rows = rows::<Sample>(&path, run.map(str::to_owned))?;
            rows.map(|row| Ok(row?.number)).collect()
        };
        assert_eq!(read(Some("a")).unwrap(), [0, 1]);
        assert_eq!(read(None).unwrap(), [0, 1]);
        assert!(matches!(read(Some("b")), Err(LabError::OtherRun { .. })));
        std::fs::write(&path, "{\"number\":7}\n").unwrap();
        assert_eq!(read(Some("b")).unwrap(), [7]);
    }

    #[test]
    fn a_half_written_line_is_cut_off_and_a_changed_one_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let run = claimed(folder.path());
        let (mut journal, _) = opened(&run).unwrap();
        add(&mut journal, 0..2);
        drop(journal);
        let path = folder.path().join(Sample::JOURNAL);
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}{{\"sum\":\"0")).unwrap();
        let (mut journal, known) = opened(&run).unwrap();
        assert_eq!(known, 2);
        add(&mut journal, 2..3);
        drop(journal);
        assert_eq!(opened(&run).unwrap().1, 3);
        std::fs::write(&path, whole.replacen("\"number\":1", "\"number\":5", 1)).unwrap();
        let refused = opened(&run).unwrap_err().to_string();
        assert!(
            refused.contains("line 2: its checksum is another one"),
            "{refused}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_journal_that_was_removed_is_written_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let run = claimed(folder.path());
        let (mut journal, _) = opened(&run).unwrap();
        add(&mut journal, 0..1);
        std::fs::remove_file(folder.path().join(Sample::JOURNAL)).unwrap();
        let refused = journal.add(&Sample { number: 1 }).unwrap_err().to_string();
        assert!(refused.contains("samples.jsonl"), "{refused}");
    }

    /// A regression: such a run played on for nobody.
    #[cfg(unix)]
    #[test]
    fn a_folder_that_was_made_anew_is_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let run = claimed(&out);
        let (mut journal, _) = opened(&run).unwrap();
        add(&mut journal, 0..1);
        std::fs::remove_dir_all(&out).unwrap();
        let again = claimed(&out);
        let (mut second, known) = opened(&again).unwrap();
        assert_eq!(known, 0);
        let refused = journal.add(&Sample { number: 7 }).unwrap_err().to_string();
        assert!(refused.contains("another file has taken its place"), "{refused}");
        add(&mut second, 0..1);
    }

    /// A regression: the file behind a link was emptied, and a pipe was waited for without a word.
    #[cfg(unix)]
    #[test]
    fn links_and_pipes_in_the_place_of_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        for (number, name) in [LOCK, FILE, Sample::JOURNAL].into_iter().enumerate() {
            for is_link in [true, false] {
                std::fs::write(&victim, "of somebody else").unwrap();
                let out = folder.path().join(format!("{number}{is_link}"));
                std::fs::create_dir(&out).unwrap();
                let path = out.join(name);
                if is_link {
                    std::os::unix::fs::symlink(&victim, &path).unwrap();
                } else {
                    let made = std::process::Command::new("mkfifo").arg(&path).status();
                    assert!(made.unwrap().success());
                }
                let claimed = Run::claim(&out, Origin::default(), &[]);
                let refused = claimed.and_then(|run| opened(&run)).unwrap_err().to_string();
                assert!(
                    refused.contains("a link, a pipe or a folder"),
                    "{name}: {refused}"
                );
                assert_eq!(std::fs::read_to_string(&victim).unwrap(), "of somebody else");
            }
        }
    }

    #[test]
    fn what_a_killed_process_has_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".zeitnot-AbCdEf");
        std::fs::write(&left, "half a table").unwrap();
        claimed(folder.path());
        assert!(!left.exists());
    }

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
