//! The configuration file, as Lc0 has it: a flag to a line, `--threads=2` or `threads=2`; empty lines and those that begin with `#` are
//! passed over. `lc0_flags` puts its lines before what stands on the command line, and `setup --auto` writes one.

use std::ffi::{OsStr, OsString};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use crate::files::{self, Lines};
use crate::foreign::in_our_words;

/// The configuration files that are looked for beside the program; the first that is there is read.
pub(super) const CONFIG_FILES: [&str; 2] = ["zeitnot.config", "lc0.config"];

/// The flags whose values are files to read, or several folders. Relative ones are looked for beside the configuration first: a GUI
/// starts the engine in whatever folder it likes.
const FILES: [&str; 2] = ["weights", "syzygy-paths"];

/// Returns the configuration file that is read in `folder`.
pub(super) fn config_file(folder: &Path) -> Option<PathBuf> {
    CONFIG_FILES.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// A file that was read, or could not be.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    /// Flags with the numbers of their lines, from 1.
    pub(super) lines: Vec<(u64, OsString)>,
    /// What is no flag, or why the file cannot be read; each with file and line.
    pub(super) mistakes: Vec<String>,
}

impl ConfigFile {
    /// Reads the file that `--config` names, or else one that lies in `folder`, the program's. An empty name means none.
    pub(super) fn find(named: Option<&OsStr>, folder: Option<&Path>) -> Option<ConfigFile> {
        let path = match named {
            Some(name) => Some(PathBuf::from(name)).filter(|_| !name.is_empty()),
            None => config_file(folder.unwrap_or(Path::new("."))),
        };
        path.map(ConfigFile::read)
    }

    fn read(path: PathBuf) -> ConfigFile {
        let mut file = ConfigFile { path, ..ConfigFile::default() };
        let content = match files::open_text(&file.path, &[".config"]) {
            Ok(text) => text.content,
            Err(error) => {
                let reason = in_our_words(&error);
                file.mistakes.push(format!("configuration file {}: {reason}", file.path.display()));
                return file;
            }
        };
        let folder = std::path::absolute(&file.path).unwrap_or_default();
        let folder = folder.parent().unwrap_or(Path::new("."));
        for line in Lines::new(BufReader::new(content)) {
            let (number, line) = match line {
                Ok(line) => line,
                Err(error) => {
                    file.mistakes.push(format!("configuration file {}: {error}", file.path.display()));
                    continue;
                }
            };
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let flag = line.strip_prefix("--").unwrap_or(line);
            if flag.starts_with('-') {
                file.mistakes.push(format!("{}: expected --flag=value: {line}", file.place(number)));
            } else {
                file.lines.push((number, format!("--{}", with_files_found(flag, folder)).into()));
            }
        }
        file
    }

    /// Names a line in messages.
    pub(super) fn place(&self, number: u64) -> String {
        format!("configuration file {}, line {number}", self.path.display())
    }
}

/// Returns a flag with its value, in which relative files that lie in `folder` have their whole paths.
fn with_files_found(line: &str, folder: &Path) -> String {
    let Some((flag, value)) = line.split_once('=').filter(|(flag, _)| FILES.contains(&flag.trim())) else {
        return line.into();
    };
    let found = |path: PathBuf| {
        let beside = folder.join(&path);
        if !path.as_os_str().is_empty() && beside.exists() { beside } else { path }
    };
    let joined = match flag.trim() {
        "weights" => Ok(found(value.into()).into_os_string()),
        _ => std::env::join_paths(std::env::split_paths(value).map(found)),
    };
    // What cannot be joined stays as it is.
    joined.map_or_else(|_| line.into(), |value| format!("{flag}={}", value.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_are_flags() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lc0.config");
        fs::write(&path, "# mine\n\n--threads=1\r\n  weights=/my nets/a.pb.gz \nsyzygy-fast-play\n").unwrap();
        let flags = [(3, "--threads=1"), (4, "--weights=/my nets/a.pb.gz"), (5, "--syzygy-fast-play")];
        let lines = flags.map(|(number, flag)| (number, flag.into()));
        let expected = ConfigFile { path: path.clone(), lines: lines.into(), mistakes: Vec::new() };
        assert_eq!(ConfigFile::find(Some(path.as_os_str()), None).unwrap(), expected);
        assert_eq!(ConfigFile::find(Some(OsStr::new("")), Some(folder.path())), None);
        assert_eq!(ConfigFile::find(None, Some(&folder.path().join("none"))), None);
    }

    #[test]
    fn relative_files_are_those_beside_the_configuration_if_they_are_there() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.pb.gz"), "").unwrap();
        fs::create_dir(folder.path().join("tables")).unwrap();
        let beside = |name: &str| folder.path().join(name).display().to_string();
        let separator = if cfg!(windows) { ";" } else { ":" };
        for (line, expected) in [
            ("weights=a.pb.gz", format!("weights={}", beside("a.pb.gz"))),
            ("weights=b.pb.gz", "weights=b.pb.gz".into()),
            ("weights=", "weights=".into()),
            ("weights=<autodiscover>", "weights=<autodiscover>".into()),
            ("logfile=a.pb.gz", "logfile=a.pb.gz".into()),
            (
                &format!("syzygy-paths=tables{separator}elsewhere"),
                format!("syzygy-paths={}{separator}elsewhere", beside("tables")),
            ),
        ] {
            assert_eq!(with_files_found(line, folder.path()), expected, "{line}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bad.config");
        let read = || ConfigFile::find(Some(path.as_os_str()), None).unwrap();
        assert!(read().mistakes[0].contains("bad.config: it does not exist"), "{:?}", read().mistakes);
        fs::write(&path, "threads=2\n-t 2\n").unwrap();
        let ConfigFile { lines, mistakes, .. } = read();
        assert_eq!(lines, [(1, "--threads=2".into())]);
        assert!(mistakes[0].contains("bad.config, line 2: expected --flag=value: -t 2"), "{mistakes:?}");
    }
}
