//! Lc0's configuration file: a flag on each line, such as `threads=2`, and `#` comments. `lc0_flags` puts its
//! lines before the command line. `setup --auto` and `benchmark --write` write lines of ours
//! ([`WritableConfig`]).

use std::ffi::{OsStr, OsString};
use std::io::{self, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};

use crate::output::unreadable;
use zeitnot_engine::files::{self, Lines};
use zeitnot_engine::foreign::in_our_words;
use zeitnot_engine::network::folders;
use zeitnot_engine::options::unquoted;
use zeitnot_lab::rows::replace;

/// Looked for beside the program, in this order.
const CONFIG_FILES: [&str; 2] = ["zeitnot.config", "lc0.config"];

/// First looked up beside the configuration, because a GUI may start the engine anywhere.
const FILES: [&str; 2] = ["weights", "syzygy-paths"];

/// The flag that leaves the file out.
pub(crate) const NO_CONFIG: &str = "--no-config";

/// A backend on the command line comes with its own.
pub(crate) const OF_A_BACKEND: [&str; 3] = ["backend", "backend-opts", "fallback"];

fn config_file(folder: &Path) -> Option<PathBuf> {
    CONFIG_FILES
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.is_file())
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct ConfigFile {
    pub(crate) path: PathBuf,
    /// Flags with line numbers from 1.
    pub(crate) lines: Vec<(u64, OsString)>,
    /// Malformed lines, or why the file is unreadable.
    pub(crate) mistakes: Vec<String>,
}

impl ConfigFile {
    /// An empty name means none.
    pub(crate) fn find(named: Option<&OsStr>, folder: Option<&Path>) -> Option<ConfigFile> {
        let path = match named {
            Some(name) => Some(PathBuf::from(name)).filter(|_| !name.is_empty()),
            None => config_file(folder.unwrap_or(Path::new("."))),
        };
        path.map(ConfigFile::read)
    }

    fn read(path: PathBuf) -> ConfigFile {
        let mut file = ConfigFile {
            path,
            ..ConfigFile::default()
        };
        let content = match files::open_text(&file.path, &[".config"]) {
            Ok(text) => text.content,
            Err(error) => {
                let reason = in_our_words(&error);
                file.mistakes = vec![format!("configuration file {}: {reason}", file.path.display())];
                return file;
            }
        };
        let folder = std::path::absolute(&file.path).unwrap_or_default();
        let folder = folder.parent().unwrap_or(Path::new("."));
        for line in Lines::new(BufReader::new(content)) {
            let (number, line) = match line {
                Ok(line) => line,
                Err(error) => {
                    file.mistakes
                        .push(format!("configuration file {}: {error}", file.path.display()));
                    continue;
                }
            };
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let line = line.strip_prefix("--").unwrap_or(line);
            let flag = match line.split_once('=') {
                Some((flag, value)) => format!("{flag}={}", unquoted(value)),
                None => line.to_owned(),
            };
            if let Some(reason) = wrong_form(line) {
                file.mistakes
                    .push(format!("{}: {reason}: {line}", file.place(number)));
            } else {
                file.lines
                    .push((number, format!("--{}", with_files_found(&flag, folder)).into()));
            }
        }
        file
    }

    pub(crate) fn place(&self, number: u64) -> String {
        format!("configuration file {}, line {number}", self.path.display())
    }
}

/// Why a line, without dashes, is not a flag with a value.
fn wrong_form(line: &str) -> Option<&'static str> {
    let (flag, value) = line.split_once('=').unwrap_or((line, ""));
    if flag.starts_with('-') {
        Some("expected --flag=value")
    } else if flag.ends_with(' ') || value.starts_with(' ') {
        Some("blanks around = are not allowed")
    } else if value.contains(" #") && !FILES.contains(&flag) {
        Some("a comment needs a line of its own")
    } else {
        None
    }
}

/// Completes relative paths of files that lie in `folder`.
fn with_files_found(line: &str, folder: &Path) -> String {
    let Some((flag, value)) = line
        .split_once('=')
        .filter(|(flag, _)| FILES.contains(&flag.trim()))
    else {
        return line.into();
    };
    let found = |path: PathBuf| {
        let beside = folder.join(&path);
        if !path.as_os_str().is_empty() && beside.exists() {
            beside
        } else {
            path
        }
    };
    let joined = match flag.trim() {
        "weights" => Ok(found(value.into()).into_os_string()),
        _ => std::env::join_paths(std::env::split_paths(value).map(found)),
    };
    joined.map_or_else(
        |_| line.into(),
        |value| format!("{flag}={}", value.to_string_lossy()),
    )
}

/// First line of our block …
const BEGIN: &str = "# Set by Zeitnot, which replaces these lines:";
/// … and its last.
const END: &str = "# End of what Zeitnot has set.";

/// A flag with its new value, `None` to remove it.
pub(crate) type Change<'a> = (&'a str, Option<String>);

/// A configuration file with a block of our lines. All others stay.
#[derive(Debug)]
pub(crate) struct WritableConfig {
    pub(crate) path: PathBuf,
    text: Option<String>,
}

impl WritableConfig {
    /// `path`, or else the program's configuration file, existing or not.
    pub(crate) fn open(path: Option<&Path>) -> Result<WritableConfig> {
        let of_program = || {
            let folder = folders::executable().unwrap_or_default();
            config_file(&folder).unwrap_or_else(|| folder.join(CONFIG_FILES[0]))
        };
        let path = path.map_or_else(of_program, Path::to_path_buf);
        match files::read_text(&path) {
            Ok(text) => Ok(WritableConfig {
                path,
                text: Some(text),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(WritableConfig { path, text: None }),
            Err(error) => Err(unreadable(&path, &error)),
        }
    }

    /// The user's lines that set one of `flags`. They prevent ours.
    pub(crate) fn taken_lines(&self, flags: &[&str]) -> Vec<String> {
        let path = self.path.display();
        let text = self.text.as_deref().unwrap_or_default();
        let mut is_ours = false;
        let mut taken = Vec::new();
        for (number, line) in (1..).zip(text.lines().map(str::trim)) {
            is_ours = line == BEGIN || is_ours && line != END;
            if !is_ours && flags.contains(&flag_of(line)) {
                taken.push(format!("{path}, line {number}, is yours and stays: {line}"));
            }
        }
        taken
    }

    /// Returns what was written, for people.
    pub(crate) fn write(&self, changes: &[Change]) -> Result<String> {
        let old = self.text.as_deref().unwrap_or_default();
        let own = changed_lines(old, changes);
        let path = self.path.display();
        replace(&self.path, with_own_lines(old, &own)).map_err(|error| {
            let reason = in_our_words(&error);
            let flags = own.join(" --");
            anyhow!("cannot write to {path} ({reason}). Start the engine with --{flags}")
        })?;
        let what = if self.text.is_some() {
            "its own lines in"
        } else {
            "a new file"
        };
        Ok(format!("{what} {path}: {}", own.join(", ")))
    }
}

fn own_block(text: &str) -> Option<Range<usize>> {
    let begin = text.find(BEGIN)?;
    Some(begin..begin + text[begin..].find(END)? + END.len())
}

fn changed_lines(text: &str, changes: &[Change]) -> Vec<String> {
    let block = own_block(text).map_or("", |block| &text[block]);
    let is_changed = |line: &str| changes.iter().any(|(flag, _)| *flag == flag_of(line));
    let mut lines = Vec::new();
    for line in block.lines().map(str::trim) {
        if !line.is_empty() && !line.starts_with('#') && !is_changed(line) {
            lines.push(line.to_owned());
        }
    }
    for (flag, value) in changes {
        lines.extend(value.as_ref().map(|value| format!("{flag}={value}")));
    }
    lines
}

fn with_own_lines(text: &str, own: &[String]) -> String {
    let own = format!("{BEGIN}\n{}\n{END}\n", own.join("\n"));
    match own_block(text) {
        Some(block) => {
            let behind = &text[block.end..];
            let rest = behind.strip_prefix("\r\n").or(behind.strip_prefix('\n'));
            format!("{}{own}{}", &text[..block.start], rest.unwrap_or_default())
        }
        None => {
            let newline = if text.is_empty() || text.ends_with('\n') {
                ""
            } else {
                "\n"
            };
            format!("{text}{newline}{own}")
        }
    }
}

/// Without dashes.
fn flag_of(line: &str) -> &str {
    line.split('=')
        .next()
        .unwrap_or_default()
        .trim()
        .trim_start_matches('-')
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn set(text: &str, changes: &[Change]) -> String {
        with_own_lines(text, &changed_lines(text, changes))
    }

    fn to(value: &str) -> Option<String> {
        Some(value.into())
    }

    #[test]
    fn only_our_lines_are_replaced() {
        let gpu = [("backend", to("webgpu")), ("fallback", to("cpu"))];
        assert_eq!(
            set("", &gpu),
            format!("{BEGIN}\nbackend=webgpu\nfallback=cpu\n{END}\n")
        );
        let mine = "# mine\nthreads=2";
        let both = set(mine, &gpu) + "weights=a.pb.gz\n";
        assert!(both.starts_with("# mine\nthreads=2\n# Set by"), "{both}");
        let cpu = [("backend", to("native")), ("fallback", None)];
        let again = set(&both, &cpu);
        assert_eq!(
            again,
            format!("# mine\nthreads=2\n{BEGIN}\nbackend=native\n{END}\nweights=a.pb.gz\n")
        );
        assert_eq!(set(&again, &cpu), again);
        let more = set(&again, &[("minibatch-size", to("8"))]);
        assert!(
            more.contains(&format!(
                "{BEGIN}\nbackend=native\nminibatch-size=8\n{END}\nweights"
            )),
            "{more}"
        );
        assert!(set(&more.replace('\n', "\r\n"), &gpu).contains("\nminibatch-size=8\nbackend=webgpu\n"));
        // Without its end a block is no longer ours.
        assert!(set(&format!("{BEGIN}\nthreads=2\n"), &cpu).contains("threads=2"));
    }

    #[test]
    fn lines_of_the_users_are_told_from_ours() {
        let text = format!("--backend=cuda\n{BEGIN}\nbackend=webgpu\n{END}\nthreads=2\nbackend-opts=gpu=1\n");
        let config = WritableConfig {
            path: "a".into(),
            text: Some(text),
        };
        let taken = |number: u32, line: &str| format!("a, line {number}, is yours and stays: {line}");
        assert_eq!(
            config.taken_lines(&["backend", "backend-opts"]),
            [taken(1, "--backend=cuda"), taken(6, "backend-opts=gpu=1")]
        );
        assert_eq!(config.taken_lines(&["threads"]), [taken(5, "threads=2")]);
    }

    #[test]
    fn what_cannot_be_written_is_named_with_what_to_do_instead() {
        let folder = tempfile::tempdir().unwrap();
        let config = WritableConfig::open(Some(&folder.path().join("none/zeitnot.config"))).unwrap();
        let error = config
            .write(&[("threads", to("2")), ("backend", None)])
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("cannot write to ") && error.ends_with("Start the engine with --threads=2"),
            "{error}"
        );
        let error = WritableConfig::open(Some(folder.path())).unwrap_err().to_string();
        assert!(error.contains("cannot be read"), "{error}");
    }

    #[test]
    fn lines_are_flags() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lc0.config");
        fs::write(
            &path,
            "# mine\n\n--threads=1\r\n  weights=/my nets/a.pb.gz \nsyzygy-fast-play\n",
        )
        .unwrap();
        let flags = [
            (3, "--threads=1"),
            (4, "--weights=/my nets/a.pb.gz"),
            (5, "--syzygy-fast-play"),
        ];
        let lines = flags.map(|(number, flag)| (number, flag.into()));
        let expected = ConfigFile {
            path: path.clone(),
            lines: lines.into(),
            mistakes: Vec::new(),
        };
        assert_eq!(ConfigFile::find(Some(path.as_os_str()), None).unwrap(), expected);
        assert_eq!(ConfigFile::find(Some(OsStr::new("")), Some(folder.path())), None);
        assert_eq!(ConfigFile::find(None, Some(&folder.path().join("none"))), None);
    }

    /// Regressions: `--write` refused files of PowerShell, and kept the quotation marks of a copied path.
    #[test]
    fn files_of_windows_are_read_and_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("zeitnot.config");
        let text = "weights=\"C:\\für\\a.pb.gz\"\r\n";
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let windows_1252 = text.chars().map(|letter| letter as u8).collect();
        for bytes in [
            windows_1252,
            [&[0xff, 0xfe], &utf16[..]].concat(),
            format!("\u{feff}{text}").into(),
        ] {
            fs::write(&path, bytes).unwrap();
            let read = || ConfigFile::find(Some(path.as_os_str()), None).unwrap().lines;
            assert_eq!(read(), [(1, "--weights=C:\\für\\a.pb.gz".into())]);
            let config = WritableConfig::open(Some(&path)).unwrap();
            assert_eq!(config.taken_lines(&["weights"]).len(), 1);
            config.write(&[("threads", to("2"))]).unwrap();
            assert_eq!(read()[1..], [(3, "--threads=2".into())]);
        }
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
        assert!(
            read().mistakes[0].contains("bad.config: it does not exist"),
            "{:?}",
            read().mistakes
        );
        for (line, reason) in [
            ("-t 2", "expected --flag=value"),
            ("threads = 1", "blanks around = are not allowed"),
            ("threads=1 # one", "a comment needs a line of its own"),
        ] {
            fs::write(&path, format!("threads=2\n{line}\nweights=my #1.pb.gz\n")).unwrap();
            let ConfigFile { lines, mistakes, .. } = read();
            assert_eq!(
                lines,
                [(1, "--threads=2".into()), (3, "--weights=my #1.pb.gz".into())]
            );
            assert!(
                mistakes[0].ends_with(&format!("bad.config, line 2: {reason}: {line}")),
                "{mistakes:?}"
            );
        }
    }
}
