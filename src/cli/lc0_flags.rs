//! Translates Lc0's command lines into ours before they are parsed, so that scripts keep working: `-w FILE`,
//! `--no-two-fold-draws`, the configuration file, the names of modes, and flags that this engine does not
//! need.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser};

use crate::cli::Cli;
use crate::config_file::{ConfigFile, NO_CONFIG, OF_A_BACKEND};
use crate::output::Failure;
use zeitnot_engine::engine::Settings;
use zeitnot_engine::options::{OTHER_NAMES, OptionKind, ignored_option};

/// Our flags that may also precede the command.
const EVERYWHERE: [&str; 2] = ["--json", "--offline"];

/// Lc0's one-letter flags and ours.
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
/// Letters that mean nothing else in any of our commands.
const LETTERS_EVERYWHERE: [char; 2] = ['w', 'b'];
/// Commands without letters of their own. No command means `uci`.
const PLAIN_COMMANDS: [&str; 3] = [UCI, "bench", "benchmark"];

const UCI: &str = "uci";
/// Names a configuration file.
const CONFIG: &str = "config";

const SPELLINGS: [(&str, &str); 1] = [("strict-uci-timing", "strict-timing")];

/// Former flags of Lc0 and their successors.
const REPLACED: [(&str, &str); 9] = [
    ("debuglog", "--logfile"),
    ("fpu-reduction", "--fpu-value"),
    ("fpu-reduction-at-root", "--fpu-value-at-root"),
    ("futile-search-aversion", "--smart-pruning-factor"),
    ("immediate-time-use", "--time-manager"),
    ("noise", "--noise-epsilon"),
    ("spend-saved-time", "--time-manager"),
    ("sticky-checkmate", "--sticky-endgames"),
    ("time-midpoint-move", "--time-manager"),
];

/// Lc0's flags without effect in any command, and why.
const WITHOUT_EFFECT: [(&str, &str); 4] = [
    ("preload", "the network is loaded at isready"),
    ("header-only-once", ""),
    ("validate-weights", "every model is checked"),
    ("clippy", "zeitnot benchmark recommends a batch size"),
];
/// Shows what Lc0 hides. Only the help of commands other than `uci` hides anything.
const SHOW_HIDDEN: &str = "show-hidden";
/// Search options among the flags of Lc0's `backendbench`, which does not apply to ours.
const OF_A_SEARCH: [&str; 2] = ["nncache", "policy-softmax-temp"];
/// Flags of Lc0's `onnx2leela` that no program reads.
const OF_HEADS: [&str; 3] = ["policy-format", "value-format", "moves-left-format"];

/// Lc0's modes that are searches: our name and a message.
const SEARCHES: [(&str, &str); 2] = [
    ("classic", ""),
    (
        "dag-preview",
        "the search of dag-preview is not here: this is a tree, whose positions share evaluations",
    ),
];
/// Lc0's modes that are missing, and what to use instead.
const MISSING_MODES: [(&str, &str); 4] = [
    ("leela2onnx", "writes ONNX models: use zeitnot convert FILE --output FILE.onnx"),
    ("selfplay", "plays games: see zeitnot match"),
    ("policyhead", "plays by the policy alone: use zeitnot uci and go nodes 1"),
    ("valuehead", "plays by the value of each reply: use zeitnot uci and go nodes N"),
];

const SET_ITSELF: [&str; 2] = ["threads", "minibatch-size"];

#[derive(Debug, Default, PartialEq)]
pub(super) struct Translation {
    head: Vec<OsString>,
    /// Only the lines with an effect here, as our flags.
    config: Option<ConfigFile>,
    flags: Vec<OsString>,
    /// Messages on dropped flags and on the configuration file.
    pub(super) notes: Vec<String>,
    pub(super) shows_all: bool,
    /// This is the engine itself, possibly started by a GUI.
    pub(super) plays: bool,
}

/// Translates the process's arguments, beginning with the program's name. `folder` is the program's.
pub(super) fn translated(
    arguments: impl IntoIterator<Item = OsString>,
    folder: Option<&Path>,
) -> Result<Translation, Failure> {
    let mut arguments = arguments.into_iter().peekable();
    let mut translation =
        Translation { head: arguments.next().into_iter().collect(), ..Translation::default() };
    let mut flags = Vec::new();
    while let Some(flag) = arguments.next_if(|first| EVERYWHERE.iter().any(|flag| first == flag)) {
        flags.push(flag);
    }
    let command = arguments.next_if(|first| first.to_str().is_some_and(|first| !first.starts_with('-')));
    let command = translation.take_command(command)?;
    let is_plain = command.as_deref().is_none_or(|command| PLAIN_COMMANDS.contains(&command));
    translation.plays = command.as_deref().is_none_or(|command| command == UCI);
    let spell = |argument: OsString| match argument.to_str() {
        Some(text) => long(text, is_plain).into(),
        None => argument,
    };
    flags.extend(arguments.map(spell));
    let has = |flag: &str| flags.iter().any(|known| known == flag);
    translation.shows_all = has("--help-all") || has("--show-hidden") && (has("--help") || has("-h"));
    let named = take_config(&mut flags);
    translation.flags = translate(flags, command.as_deref(), &mut translation.notes);
    if let Some(config) = ConfigFile::find(named.as_deref(), folder) {
        translation.take_config(config, command.as_deref())?;
    }
    Ok(translation)
}

impl Translation {
    /// All arguments, those of the command line last, so that they win.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let lines = self.config.iter().flat_map(|config| config.lines.iter().map(|(_, flag)| flag));
        self.head.iter().chain(lines).chain(&self.flags).cloned().collect()
    }

    /// Adds the configuration file's lines that `command` uses.
    fn take_config(&mut self, mut config: ConfigFile, command: Option<&str>) -> Result<(), Failure> {
        let flags_here = self.flags_of_command(command);
        // Commands that evaluate nothing ignore the file.
        let evaluates = match command {
            Some("setup") => self.is_given("auto") || self.is_given("network"),
            _ => flags_here.iter().any(|flag| flag == "backend"),
        };
        if !self.plays && !evaluates {
            return Ok(());
        }
        if let Some(mistake) = config.mistakes.first().filter(|_| !self.plays) {
            return Err(Failure::Input(mistake.clone()));
        }
        for (number, line) in std::mem::take(&mut config.lines) {
            let mut notes = Vec::new();
            let Some(flag) = translate(vec![line], command, &mut notes).into_iter().next() else {
                self.notes.extend(notes.into_iter().filter(|_| self.plays));
                continue;
            };
            let name = name_of(&flag).unwrap_or_default();
            let has_use = self.plays || flags_here.iter().any(|flag| flag == name);
            if Settings::spec(name).is_err() || has_use && self.is_open(name) {
                config.lines.push((number, flag));
            }
        }
        self.config = Some(config);
        Ok(())
    }

    /// Names the options set by the configuration file, without mistaken lines.
    pub(super) fn config_note(&self, mistakes: &[String]) -> Option<String> {
        let config = self.config.as_ref()?;
        let is_taken = |number| {
            let place = config.place(number) + ":";
            !mistakes.iter().any(|mistake| mistake.starts_with(&place))
        };
        let lines = config.lines.iter().filter(|(number, _)| is_taken(*number));
        let names: Vec<_> = lines.filter_map(|(_, flag)| name_of(flag)).collect();
        let (path, names) = (config.path.display(), names.join(", "));
        let text =
            || format!("options from the configuration file {path}: {names} ({NO_CONFIG} leaves it out)");
        (!names.is_empty()).then(text)
    }

    /// A subcommand's name moves to the head.
    fn flags_of_command(&mut self, command: Option<&str>) -> Vec<String> {
        let mut leaf = command.and_then(|name| Cli::command().find_subcommand(name).cloned());
        let inner = |leaf: &clap::Command, word: &OsString| leaf.find_subcommand(word).cloned();
        while let Some(found) =
            leaf.as_ref().zip(self.flags.first()).and_then(|(leaf, word)| inner(leaf, word))
        {
            self.head.push(self.flags.remove(0));
            leaf = Some(found);
        }
        let arguments = leaf.iter().flat_map(clap::Command::get_arguments);
        arguments.filter_map(|argument| argument.get_long().map(str::to_owned)).collect()
    }

    /// The command line does not set this option, so that the configuration file may.
    fn is_open(&self, flag: &str) -> bool {
        let names_backend = self.is_given("backend") || self.is_given("backends");
        let is_of_command = match self.head.last().and_then(|name| name.to_str()) {
            // It tries all backends, and must not get one.
            Some("doctor") => !OF_A_BACKEND.contains(&flag),
            _ => true,
        };
        let is_replaced = self.is_given(flag)
            || names_backend && OF_A_BACKEND.contains(&flag)
            || self.is_given("backends") && SET_ITSELF.contains(&flag);
        is_of_command && !is_replaced
    }

    fn is_given(&self, name: &str) -> bool {
        self.flags.iter().any(|flag| name_of(flag) == Some(name))
    }

    /// The first line of the configuration file that no command takes, and why.
    pub(super) fn wrong_line(&self) -> Option<(String, clap::Error)> {
        let config = self.config.as_ref()?;
        config.lines.iter().find_map(|(number, flag)| {
            let alone = self.head.iter().take(1).chain([flag]);
            let error = Cli::try_parse_from(alone).err().filter(clap::Error::use_stderr)?;
            Some((format!("{}:", config.place(*number)), error))
        })
    }

    /// Parses the engine's command line without its mistakes: a GUI that gets no answer reports a crash. Also
    /// returns each mistake with its reason and, in the configuration file, its place.
    ///
    /// Fails if a word is the name of a command, since this was no GUI then, and for help and version.
    pub(super) fn parse_what_is_right(&self) -> Result<(Cli, Vec<String>), clap::Error> {
        let mut mistakes = self.config_mistakes();
        let mut right = self.head.clone();
        let lines = self.config.iter().flat_map(|config| {
            config
                .lines
                .iter()
                .map(|(number, flag)| (format!("{}: ", config.place(*number)), vec![flag.clone()]))
        });
        let given = with_values(&self.flags).into_iter().map(|piece| (String::new(), piece));
        for (place, piece) in lines.chain(given) {
            let tried = [&right[..], &piece[..]].concat();
            let wrong = match Cli::try_parse_from(&tried) {
                Ok(cli) => cli.wrong_option(),
                Err(error) if !error.use_stderr() || names_command(&piece[0]) => return Err(error),
                Err(error) => Some(reason_of(&error)),
            };
            match wrong {
                None => right = tried,
                Some(reason) => mistakes.push(format!("{place}{reason}. It is left out")),
            }
        }
        Ok((Cli::try_parse_from(right)?, mistakes))
    }

    pub(super) fn config_path(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|config| config.path.clone())
    }

    pub(super) fn config_mistakes(&self) -> Vec<String> {
        self.config.iter().flat_map(|config| config.mistakes.clone()).collect()
    }

    /// The place of the flag `name` with `value` in the configuration file.
    pub(super) fn place_of(&self, name: &str, value: &str) -> Option<String> {
        let config = self.config.as_ref()?;
        let wanted = OsString::from(format!("--{name}={value}"));
        let (number, _) = config.lines.iter().rfind(|(_, flag)| *flag == wanted)?;
        Some(config.place(*number))
    }

    fn take_command(&mut self, command: Option<OsString>) -> Result<Option<String>, Failure> {
        let Some(command) = command else { return Ok(None) };
        let name = command.to_str().unwrap_or_default();
        if let Some((name, instead)) = MISSING_MODES.iter().find(|(mode, _)| *mode == name) {
            return Err(Failure::Input(format!("{name} is a mode of Lc0 that is not here; it {instead}")));
        }
        let search = SEARCHES.iter().find(|(mode, _)| *mode == name);
        if let Some((_, note)) = search.filter(|(_, note)| !note.is_empty()) {
            self.notes.push((*note).into());
        }
        let command = if search.is_some() { UCI.into() } else { command };
        let name = command.to_string_lossy().into_owned();
        self.head.push(command);
        Ok(Some(name))
    }
}

/// Without dashes and value.
fn name_of(flag: &OsString) -> Option<&str> {
    flag.to_str()?.strip_prefix("--")?.split('=').next()
}

fn names_command(word: &OsString) -> bool {
    word.to_str().is_some_and(|word| Cli::command().find_subcommand(word).is_some())
}

fn reason_of(error: &clap::Error) -> String {
    if let Some(reason) = std::error::Error::source(error) {
        return reason.to_string();
    }
    let text = error.to_string();
    let mut lines = text.lines();
    let what = lines.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    if let Some((_, new)) = REPLACED.iter().find(|(old, _)| what.contains(&format!("'--{old}'"))) {
        return format!("{what} ({new} has replaced it)");
    }
    match lines.find_map(|line| line.trim().strip_prefix("tip: ")) {
        Some(tip) => format!("{what} ({tip})"),
        None => what,
    }
}

fn with_values(flags: &[OsString]) -> Vec<Vec<OsString>> {
    let mut rest = flags.iter().peekable();
    let mut pieces = Vec::new();
    while let Some(flag) = rest.next() {
        let text = flag.to_string_lossy();
        let name = text.strip_prefix("--").unwrap_or_default();
        let stands_alone = name.is_empty()
            || name.contains('=')
            || is_switch(name)
            || [SHOW_HIDDEN, "json", "offline", "help", "help-all", "version"].contains(&name);
        let value = rest.next_if(|next| !stands_alone && !next.to_string_lossy().starts_with("--"));
        pieces.push([flag].into_iter().chain(value).cloned().collect());
    }
    pieces
}

fn translate(flags: Vec<OsString>, command: Option<&str>, notes: &mut Vec<String>) -> Vec<OsString> {
    let mut arguments = Vec::new();
    let mut flags = flags.into_iter().peekable();
    while let Some(argument) = flags.next() {
        let Some(text) = argument.to_str() else {
            arguments.push(argument);
            continue;
        };
        let (flag, value) = text.split_once('=').map_or((text, None), |(flag, value)| (flag, Some(value)));
        let name = flag.strip_prefix("--").unwrap_or_default();
        if let Some((reason, takes_value)) = without_effect(name, command) {
            if value.is_none() && takes_value {
                flags.next_if(|next| !next.to_string_lossy().starts_with('-'));
            }
            if !reason.is_empty() {
                notes.push(format!("{flag}: {reason}"));
            }
        } else if let Some(switch) =
            name.strip_prefix("no-").filter(|name| value.is_none() && is_switch(name))
        {
            arguments.push(format!("--{}=false", own_spelling(switch)).into());
        } else if own_spelling(name) != name {
            arguments.push(text.replacen(name, own_spelling(name), 1).into());
        } else {
            arguments.push(argument);
        }
    }
    arguments
}

/// Why a flag has no effect in `command`, and whether a value follows.
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
    if command == Some("onnx2leela") && OF_HEADS.contains(&name) {
        return Some(("has no effect: the names of the outputs tell what they are", true));
    }
    let spec = ignored_option(positive).filter(|spec| spec.flag == positive)?;
    let takes_value = !matches!(spec.kind, OptionKind::Switch);
    Some((spec.help, takes_value))
}

/// Removes `--config` and `--no-config`, an empty one. The last one counts.
fn take_config(flags: &mut Vec<OsString>) -> Option<OsString> {
    let mut named = None;
    let mut rest = Vec::new();
    let mut all = std::mem::take(flags).into_iter();
    while let Some(flag) = all.next() {
        let text = flag.to_string_lossy();
        if text == NO_CONFIG {
            named = Some(OsString::new());
            continue;
        }
        match text.strip_prefix("--").and_then(|text| text.strip_prefix(CONFIG)) {
            Some("") => named = Some(all.next().unwrap_or_default()),
            Some(value) if value.starts_with('=') => named = Some(OsStr::new(&value[1..]).into()),
            _ => rest.push(flag),
        }
    }
    *flags = rest;
    named
}

/// The long form of a one-letter flag. Other text stays.
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

/// Our spelling of one of Lc0's flags, or of an option's second name.
fn own_spelling(flag: &str) -> &str {
    let second = || OTHER_NAMES.iter().find(|other| other.flag == flag);
    match SPELLINGS.iter().find(|(lc0, _)| *lc0 == flag) {
        Some((_, own)) => own,
        None => second().and_then(|other| Settings::spec(other.name).ok()).map_or(flag, |spec| spec.flag),
    }
}

fn is_switch(flag: &str) -> bool {
    let own = own_spelling(flag);
    Settings::specs().iter().any(|spec| spec.flag == own && matches!(spec.kind, OptionKind::Switch))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translate(line: &str) -> (String, usize) {
        let folder = Path::new("/no/such/folder");
        let words = line.split(' ').map(OsString::from);
        let translation = translated(words, Some(folder)).unwrap();
        (translation.arguments().join(" ".as_ref()).into_string().unwrap(), translation.notes.len())
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
            ("lc0 benchmark --no-config --threads=2", "lc0 benchmark --threads=2", 0),
            ("lc0 backendbench --header-only-once --nncache=9 --fen=x", "lc0 backendbench --fen=x", 1),
            ("lc0 describenet -w a.pb.gz", "lc0 describenet --weights a.pb.gz", 0),
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
        for spec in zeitnot_engine::options::IGNORED_OPTIONS.iter() {
            if spec.flag != CONFIG {
                let line = format!("lc0 --{}={} --threads=1", spec.flag, spec.default);
                assert_eq!(translate(&line), ("lc0 --threads=1".to_owned(), 1), "{line}");
            }
        }
        let line = "lc0 --solid-tree-threshold 100 --no-search-spin-backoff --threads=1";
        assert_eq!(translate(line), ("lc0 --threads=1".to_owned(), 2));
    }

    /// A regression: only the engine itself read the file.
    #[test]
    fn every_command_that_evaluates_reads_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("lc0.config"), "weights=a.pb.gz\nbackend=native\nthreads=2\n")
            .unwrap();
        let read = |line: &str| {
            let words = format!("zeitnot {line}");
            let translation = translated(words.split(' ').map(OsString::from), Some(folder.path())).unwrap();
            translation.arguments().join(" ".as_ref()).into_string().unwrap()
        };
        let cli = Cli::command();
        let evaluate = cli.get_subcommands().filter(|command| {
            let mut longs = command.get_arguments().filter_map(|arg| arg.get_long());
            longs.any(|long| long == "backend")
        });
        let names = evaluate.map(|command| command.get_name().to_owned()).filter(|name| name != "setup");
        let names: Vec<_> = names.collect();
        assert!(names.len() >= 8, "{names:?}");
        for name in names {
            let has_backend = name != "doctor";
            assert!(read(&name).contains(" --weights=a.pb.gz"), "{name}");
            assert_eq!(read(&name).contains(" --backend=native"), has_backend, "{name}");
            let own = format!("{name} --backend=trivial");
            assert!(read(&own).ends_with(" --backend=trivial") && !read(&own).contains("native"), "{name}");
            assert!(!read(&format!("{name} --no-config")).contains("a.pb.gz"), "{name}");
        }
        for (line, expected) in [
            ("--threads=1", "zeitnot --weights=a.pb.gz --backend=native --threads=1"),
            ("bench -w b.pb.gz", "zeitnot bench --backend=native --threads=2 --weights b.pb.gz"),
            ("benchmark --backends=native", "zeitnot benchmark --weights=a.pb.gz --backends=native"),
            ("setup --auto", "zeitnot setup --weights=a.pb.gz --backend=native --auto"),
            ("setup", "zeitnot setup"),
            ("describenet x", "zeitnot describenet x"),
            ("perft 1", "zeitnot perft 1"),
        ] {
            assert_eq!(read(line), expected);
        }
    }

    #[test]
    fn modes_that_are_not_here_say_what_is() {
        for (mode, instead) in
            [("selfplay", "zeitnot match"), ("valuehead", "go nodes"), ("leela2onnx", "zeitnot convert")]
        {
            let error = translated(["lc0", mode].map(OsString::from), None).unwrap_err().to_string();
            assert!(error.contains(instead), "{error}");
        }
    }
}
