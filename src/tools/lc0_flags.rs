//! Translates command lines as Lc0 takes them into ours before they are parsed, so that people's scripts keep working:
//! `-w FILE`, `--no-two-fold-draws`, the configuration file, the names of its modes, and the flags of options that this engine
//! does not need.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;

use super::{Cli, Failure};
use crate::engine::Settings;
use crate::options::{OTHER_NAMES, OptionKind, ignored_option};

/// Our flags that may stand before the command, too.
const EVERYWHERE: [&str; 2] = ["--json", "--offline"];

/// Lc0's flags of one letter, with our flags.
const LETTERS: [(char, &str); 8] = [
    ('w', "weights"),
    ('b', "backend"),
    ('o', "backend-opts"),
    ('t', "threads"),
    ('s', "syzygy-paths"),
    ('l', "logfile"),
    ('c', CONFIG),
    ('v', "verbose-move-stats"),
];
/// The letters that no command of ours uses for something else.
const LETTERS_EVERYWHERE: [char; 2] = ['w', 'b'];
/// The commands without letters of their own; no command at all means `uci`.
const PLAIN_COMMANDS: [&str; 3] = [UCI, "bench", "benchmark"];

const UCI: &str = "uci";
/// The flag that names a configuration file.
const CONFIG: &str = "config";

/// Lc0's flags that are spelt otherwise here.
const SPELLINGS: [(&str, &str); 1] = [("strict-uci-timing", "strict-timing")];

/// Lc0's flags that have no effect in any command, with the reason, if people want to know one.
const WITHOUT_EFFECT: [(&str, &str); 2] =
    [("preload", "the network is loaded at isready"), ("header-only-once", "")];
/// The flag that shows what Lc0 hides; other commands than `uci` have nothing to hide but in their help.
const SHOW_HIDDEN: &str = "show-hidden";
/// Flags of Lc0's `backendbench` that are options of a search, which ours has none of.
const OF_A_SEARCH: [&str; 2] = ["nncache", "policy-softmax-temp"];

/// Lc0's modes that are searches: what they are called here, and a message.
const SEARCHES: [(&str, &str); 2] = [
    ("classic", ""),
    (
        "dag-preview",
        "the search of dag-preview is not here: this is a tree, whose positions share evaluations",
    ),
];
/// Lc0's modes that are not here, with what to use instead.
const MISSING_MODES: [(&str, &str); 3] = [
    ("selfplay", "plays games: see zeitnot match and zeitnot datagen"),
    ("policyhead", "plays by the policy alone: use zeitnot uci and go nodes 1"),
    ("valuehead", "plays by the value of each reply: use zeitnot uci and go nodes N"),
];
/// Our commands that only builds with the feature `lab` have.
const LABORATORY: [&str; 8] =
    ["analyse", "analyze", "match", "tune", "timelab", "movesleft", "report", "datagen"];

#[derive(Debug, Default, PartialEq)]
pub(super) struct Translation {
    /// The arguments, the program's name first.
    pub(super) arguments: Vec<OsString>,
    /// Messages for the user on flags that were left out, and on the configuration file.
    pub(super) notes: Vec<String>,
    /// Whether the help that was asked for is to show all options.
    pub(super) shows_all: bool,
    /// The configuration file whose flags are among the arguments.
    config: Option<ConfigFile>,
}

/// Translates the arguments of the process, the first of which is the program's name. `folder` is the program's.
pub(super) fn translated(
    arguments: impl IntoIterator<Item = OsString>,
    folder: Option<&Path>,
) -> Result<Translation, Failure> {
    let mut arguments = arguments.into_iter().peekable();
    let mut translation =
        Translation { arguments: arguments.next().into_iter().collect(), ..Translation::default() };
    let mut flags = Vec::new();
    while let Some(flag) = arguments.next_if(|first| EVERYWHERE.iter().any(|flag| first == flag)) {
        flags.push(flag);
    }
    let command = arguments.next_if(|first| first.to_str().is_some_and(|first| !first.starts_with('-')));
    let command = translation.take_command(command)?;
    let is_plain = command.as_deref().is_none_or(|command| PLAIN_COMMANDS.contains(&command));
    let plays = command.as_deref().is_none_or(|command| command == UCI);
    let spell = |argument: OsString| match argument.to_str() {
        Some(text) => long(text, is_plain).into(),
        None => argument,
    };
    flags.extend(arguments.map(spell));
    let has = |flag: &str| flags.iter().any(|known| known == flag);
    translation.shows_all = has("--help-all") || has("--show-hidden") && (has("--help") || has("-h"));
    let named = take_config(&mut flags);
    if plays {
        if let Some(file) = ConfigFile::find(named.as_deref(), folder)? {
            translation.notes.push(format!("options from the configuration file {}", file.path.display()));
            flags.splice(0..0, file.lines.iter().map(|(_, flag)| flag.clone()));
            translation.config = Some(file);
        }
    } else if named.is_some() {
        translation
            .notes
            .push("--config has no effect: only the engine itself reads a configuration file".into());
    }
    translation.take_flags(flags, command.as_deref());
    Ok(translation)
}

impl Translation {
    pub(super) fn wrong_line(&self) -> Option<(String, clap::Error)> {
        let ConfigFile { path, lines } = self.config.as_ref()?;
        lines.iter().find_map(|(number, flag)| {
            let program = self.arguments.first().cloned();
            let mut alone =
                Translation { arguments: program.into_iter().collect(), ..Translation::default() };
            alone.take_flags(vec![flag.clone()], None);
            let error = Cli::try_parse_from(alone.arguments).err().filter(clap::Error::use_stderr)?;
            Some((format!("configuration file {}, line {number}:", path.display()), error))
        })
    }

    fn take_command(&mut self, command: Option<OsString>) -> Result<Option<String>, Failure> {
        let Some(command) = command else { return Ok(None) };
        let name = command.to_str().unwrap_or_default();
        if cfg!(not(feature = "lab")) && LABORATORY.contains(&name) {
            return Err(Failure::Input("this build has no laboratory; build with --features lab".into()));
        }
        if let Some((name, instead)) = MISSING_MODES.iter().find(|(mode, _)| *mode == name) {
            return Err(Failure::Input(format!("{name} is a mode of Lc0 that is not here; it {instead}")));
        }
        let search = SEARCHES.iter().find(|(mode, _)| *mode == name);
        if let Some((_, note)) = search.filter(|(_, note)| !note.is_empty()) {
            self.notes.push((*note).into());
        }
        let command = if search.is_some() { UCI.into() } else { command };
        let name = command.to_string_lossy().into_owned();
        self.arguments.push(command);
        Ok(Some(name))
    }

    fn take_flags(&mut self, flags: Vec<OsString>, command: Option<&str>) {
        let mut flags = flags.into_iter().peekable();
        while let Some(argument) = flags.next() {
            let Some(text) = argument.to_str() else {
                self.arguments.push(argument);
                continue;
            };
            let (flag, value) =
                text.split_once('=').map_or((text, None), |(flag, value)| (flag, Some(value)));
            let name = flag.strip_prefix("--").unwrap_or_default();
            if let Some((reason, takes_value)) = without_effect(name, command) {
                // Its value may be the next argument.
                if value.is_none() && takes_value {
                    flags.next_if(|next| !next.to_string_lossy().starts_with('-'));
                }
                if !reason.is_empty() {
                    self.notes.push(format!("{flag}: {reason}"));
                }
            } else if let Some(switch) =
                name.strip_prefix("no-").filter(|name| value.is_none() && is_switch(name))
            {
                self.arguments.push(format!("--{}=false", own_spelling(switch)).into());
            } else if own_spelling(name) != name {
                self.arguments.push(text.replacen(name, own_spelling(name), 1).into());
            } else {
                self.arguments.push(argument);
            }
        }
    }
}

/// Returns why a flag, written without dashes in front, has no effect in `command`, and whether a value follows; `None` if it has an
/// effect.
fn without_effect(name: &str, command: Option<&str>) -> Option<(&'static str, bool)> {
    if name == SHOW_HIDDEN && command.is_some_and(|command| command != UCI) {
        return Some(("", false));
    }
    let positive = name.strip_prefix("no-").unwrap_or(name);
    if let Some((_, reason)) = WITHOUT_EFFECT.iter().find(|(flag, _)| *flag == positive) {
        return Some((reason, false));
    }
    if command == Some("backendbench") && OF_A_SEARCH.contains(&name) {
        return Some(("has no effect: nothing is searched", true));
    }
    let spec = ignored_option(positive).filter(|spec| spec.flag == positive)?;
    let takes_value = !matches!(spec.kind, OptionKind::Switch { .. });
    Some((spec.help, takes_value))
}

/// Takes the flag `--config` with its value out of `flags`; the last one counts.
fn take_config(flags: &mut Vec<OsString>) -> Option<OsString> {
    let mut named = None;
    let mut rest = Vec::new();
    let mut all = std::mem::take(flags).into_iter();
    while let Some(flag) = all.next() {
        let text = flag.to_string_lossy();
        match text.strip_prefix("--").and_then(|text| text.strip_prefix(CONFIG)) {
            Some("") => named = Some(all.next().unwrap_or_default()),
            Some(value) if value.starts_with('=') => named = Some(OsStr::new(&value[1..]).into()),
            _ => rest.push(flag),
        }
    }
    *flags = rest;
    named
}

/// Returns the flag that a flag of one letter stands for; returns all other text as it is.
fn long(text: &str, is_plain: bool) -> String {
    let mut letters = text.chars();
    let known = match (letters.next(), letters.next()) {
        (Some('-'), Some(letter)) if is_plain || LETTERS_EVERYWHERE.contains(&letter) => {
            LETTERS.iter().find(|(known, _)| *known == letter)
        }
        _ => None,
    };
    let Some((_, flag)) = known else { return text.into() };
    match letters.as_str() {
        "" => format!("--{flag}"),
        value => format!("--{flag}={}", value.trim_start_matches('=')),
    }
}

/// Returns our spelling of a flag that Lc0 spells otherwise, or that is an option's second name.
fn own_spelling(flag: &str) -> &str {
    let second = || OTHER_NAMES.iter().find(|other| other.flag == flag);
    match SPELLINGS.iter().find(|(lc0, _)| *lc0 == flag) {
        Some((_, own)) => own,
        None => second().and_then(|other| Settings::spec(other.name).ok()).map_or(flag, |spec| spec.flag),
    }
}

fn is_switch(flag: &str) -> bool {
    let own = own_spelling(flag);
    Settings::specs().iter().any(|spec| spec.flag == own && matches!(spec.kind, OptionKind::Switch { .. }))
}

/// The configuration files that are looked for beside the program; the first that is there is read.
pub(super) const CONFIG_FILES: [&str; 2] = ["zeitnot.config", "lc0.config"];

/// Returns the configuration file that is read in `folder`.
pub(super) fn config_file(folder: &Path) -> Option<PathBuf> {
    CONFIG_FILES.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// A configuration file, as Lc0 has it: a flag to a line, `--threads=2` or `threads=2`; empty lines and those that begin with `#` are
/// passed over. What stands on the command line comes after them, and wins.
#[derive(Debug, Default, PartialEq)]
struct ConfigFile {
    path: PathBuf,
    /// Flags with their values and the numbers of their lines, from 1.
    lines: Vec<(usize, OsString)>,
}

impl ConfigFile {
    /// Reads the file that `--config` names, or else one that lies in `folder`, the program's. An empty name means none.
    fn find(named: Option<&OsStr>, folder: Option<&Path>) -> Result<Option<ConfigFile>, Failure> {
        let path = match named {
            Some(name) => Some(PathBuf::from(name)).filter(|_| !name.is_empty()),
            None => config_file(folder.unwrap_or(Path::new("."))),
        };
        path.map(ConfigFile::read).transpose()
    }

    fn read(path: PathBuf) -> Result<ConfigFile, Failure> {
        let refuse =
            |reason: String| Failure::Input(format!("configuration file {}: {reason}", path.display()));
        let text = fs::read_to_string(&path).map_err(|error| refuse(format!("cannot be read: {error}")))?;
        let lines = (1..).zip(text.trim_start_matches('\u{feff}').lines().map(str::trim));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let flag = |(number, line): (usize, &str)| match line.strip_prefix('-') {
            None => Ok((number, format!("--{line}").into())),
            Some(rest) if rest.starts_with('-') => Ok((number, line.into())),
            Some(_) => Err(refuse(format!("line {number}: expected --flag=value: {line}"))),
        };
        let lines = lines.map(flag).collect::<Result<_, _>>()?;
        Ok(ConfigFile { path, lines })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translate(line: &str) -> (String, usize) {
        let folder = Path::new("/no/such/folder");
        let words = line.split(' ').map(OsString::from);
        let Translation { arguments, notes, .. } = translated(words, Some(folder)).unwrap();
        (arguments.join(" ".as_ref()).into_string().unwrap(), notes.len())
    }

    #[test]
    fn lc0s_command_lines_become_ours() {
        for (lc0, ours, notes) in [
            ("lc0 -w a.pb.gz -t2 -b=trivial", "lc0 --weights a.pb.gz --threads=2 --backend=trivial", 0),
            ("lc0 bench -t 2", "lc0 bench --threads 2", 0),
            ("lc0 --no-two-fold-draws --no-such", "lc0 --two-fold-draws=false --no-such", 0),
            ("lc0 eval -w a.pb.gz -x", "lc0 eval --weights a.pb.gz -x", 0),
            ("lc0 --strict-uci-timing", "lc0 --strict-timing", 0),
            ("lc0 --strict-uci-timing=true", "lc0 --strict-timing=true", 0),
            ("lc0 --no-strict-uci-timing", "lc0 --strict-timing=false", 0),
            ("lc0 --hash 64 --threads=2", "lc0 --ramlimit-mb 64 --threads=2", 0),
            ("lc0 classic --show-hidden -t 2", "lc0 uci --show-hidden --threads 2", 0),
            ("lc0 benchmark --show-hidden -t 2", "lc0 benchmark --threads 2", 0),
            ("lc0 dag-preview --threads=2", "lc0 uci --threads=2", 1),
            ("lc0 --preload --threads=2", "lc0 --threads=2", 1),
            ("lc0 --no-preload --threads=2", "lc0 --threads=2", 1),
            ("lc0 --config= --threads=2", "lc0 --threads=2", 0),
            ("lc0 benchmark --config=x.config", "lc0 benchmark", 1),
            ("lc0 backendbench --header-only-once --nncache=9 --fen=x", "lc0 backendbench --fen=x", 1),
            ("lc0 describenet -w a.pb.gz", "lc0 describenet --weights a.pb.gz", 0),
            // A command's own letters.
            ("lc0 match -t 2", "lc0 match -t 2", 0),
            // A regression: these were refused before a command.
            ("lc0 --json perft 1", "lc0 perft --json 1", 0),
            ("lc0 --offline --json setup --list", "lc0 setup --offline --json --list", 0),
            ("lc0 --json -t 2", "lc0 --json --threads 2", 0),
            ("lc0 convert a.pb.gz -o a.onnx", "lc0 convert a.pb.gz -o a.onnx", 0),
            ("lc0 --threads=2 --temperature -0.5 uci", "lc0 --threads=2 --temperature -0.5 uci", 0),
        ] {
            assert_eq!(translate(lc0), (ours.to_owned(), notes), "{lc0}");
        }
    }

    #[test]
    fn every_option_that_has_no_effect_is_left_out_and_named() {
        for spec in &crate::options::IGNORED_OPTIONS {
            if spec.flag != CONFIG {
                let line = format!("lc0 --{}={} --threads=1", spec.flag, spec.default_text());
                assert_eq!(translate(&line), ("lc0 --threads=1".to_owned(), 1), "{line}");
            }
        }
        let line = "lc0 --solid-tree-threshold 100 --no-search-spin-backoff --threads=1";
        assert_eq!(translate(line), ("lc0 --threads=1".to_owned(), 2));
    }

    #[test]
    fn modes_that_are_not_here_say_what_is() {
        for (mode, instead) in
            [("selfplay", "zeitnot match"), ("valuehead", "go nodes"), ("policyhead", "go nodes 1")]
        {
            let error = translated(["lc0", mode].map(OsString::from), None).unwrap_err().to_string();
            assert!(error.contains(instead), "{error}");
        }
    }

    #[test]
    fn lines_are_flags() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lc0.config");
        fs::write(&path, "# mine\n\n--threads=1\r\n  weights=/my nets/a.pb.gz \nsyzygy-fast-play\n").unwrap();
        let flags = [(3, "--threads=1"), (4, "--weights=/my nets/a.pb.gz"), (5, "--syzygy-fast-play")];
        let lines = flags.map(|(number, flag)| (number, flag.into()));
        let expected = ConfigFile { path: path.clone(), lines: lines.into() };
        assert_eq!(ConfigFile::find(Some(path.as_os_str()), None).unwrap(), Some(expected));
        assert_eq!(ConfigFile::find(Some(OsStr::new("")), Some(folder.path())).unwrap(), None);
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(ConfigFile::find(None, Some(folder.path())).unwrap(), None);
        let path = folder.path().join("bad.config");
        let error = ConfigFile::find(Some(path.as_os_str()), None).unwrap_err().to_string();
        assert!(error.contains("bad.config: cannot be read"), "{error}");
        fs::write(&path, "threads=2\n-t 2\n").unwrap();
        let error = ConfigFile::find(Some(path.as_os_str()), None).unwrap_err().to_string();
        assert!(error.contains("bad.config: line 2: expected --flag=value: -t 2"), "{error}");
    }
}
