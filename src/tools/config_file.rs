//! Reads flags from a configuration file, as Lc0 does: one to a line, `--threads=2` or `threads=2`; empty lines and those
//! that begin with `#` are passed over. What stands on the command line comes after them, and wins.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Failure;

/// The files that are looked for beside the program; the first that is there is read.
const NAMES: [&str; 2] = ["zeitnot.config", "lc0.config"];

/// A configuration file that was read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    pub(super) lines: Vec<ConfigLine>,
}

/// A line with a flag.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ConfigLine {
    /// Its number, from 1.
    pub(super) number: usize,
    /// The flag with its value.
    pub(super) flag: OsString,
}

/// Returns the file that `--config` names, or else one that lies in `folder`, the program's. An empty name means none.
///
/// # Errors
/// Fails if a file that was named, or one that is there, cannot be read, or if a line of it is no flag.
pub(super) fn read(named: Option<&OsStr>, folder: Option<&Path>) -> Result<Option<ConfigFile>, Failure> {
    match named {
        Some(name) if name.is_empty() => Ok(None),
        Some(name) => read_file(Path::new(name)).map(Some),
        None => {
            let folder = folder.unwrap_or(Path::new("."));
            let files = NAMES.iter().map(|name| folder.join(name));
            files.into_iter().find(|path| path.is_file()).map(|path| read_file(&path)).transpose()
        }
    }
}

fn read_file(path: &Path) -> Result<ConfigFile, Failure> {
    let refuse = |reason: String| Failure::Input(format!("configuration file {}: {reason}", path.display()));
    let unreadable = |error: io::Error| refuse(format!("cannot be read: {error}"));
    let text = fs::read_to_string(path).map_err(unreadable)?;
    let lines = (1..)
        .zip(text.trim_start_matches('\u{feff}').lines().map(str::trim))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| match flag_of(line) {
            Some(flag) => Ok(ConfigLine { number, flag }),
            None => Err(refuse(format!("line {number}: expected --flag=value: {line}"))),
        })
        .collect::<Result<_, _>>()?;
    Ok(ConfigFile { path: path.into(), lines })
}

/// Returns the flag of a line, with its dashes; `None` if it is one of a single letter.
fn flag_of(line: &str) -> Option<OsString> {
    match line.strip_prefix('-') {
        None => Some(format!("--{line}").into()),
        Some(rest) => rest.starts_with('-').then(|| line.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_flags() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lc0.config");
        fs::write(&path, "# mine\n\n--threads=1\r\n  weights=/my nets/a.pb.gz \nsyzygy-fast-play\n").unwrap();
        let flags = [(3, "--threads=1"), (4, "--weights=/my nets/a.pb.gz"), (5, "--syzygy-fast-play")];
        let lines = flags.map(|(number, flag)| ConfigLine { number, flag: flag.into() });
        let expected = ConfigFile { path: path.clone(), lines: lines.into() };
        assert_eq!(read(Some(path.as_os_str()), None).unwrap(), Some(expected));
        // Beside the program; our own name comes first.
        assert_eq!(read(None, Some(folder.path())).unwrap().unwrap().path, path);
        let own = folder.path().join("zeitnot.config");
        fs::write(&own, "").unwrap();
        assert_eq!(read(None, Some(folder.path())).unwrap().unwrap().path, own);
        assert_eq!(read(Some(OsStr::new("")), Some(folder.path())).unwrap(), None);
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(None, Some(folder.path())).unwrap(), None);
        let path = folder.path().join("bad.config");
        let error = read(Some(path.as_os_str()), None).unwrap_err().to_string();
        assert!(error.contains("bad.config: cannot be read"), "{error}");
        fs::write(&path, "threads=2\n-t 2\n").unwrap();
        let error = read(Some(path.as_os_str()), None).unwrap_err().to_string();
        assert!(error.contains("bad.config: line 2: expected --flag=value: -t 2"), "{error}");
    }
}
