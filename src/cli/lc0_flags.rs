//! Translates Lc0's command lines into ours before they are parsed, so that scripts keep working.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::config_file::{ConfigFile, OF_A_BACKEND};
use zeitnot_engine::engine::Settings;
use zeitnot_engine::network::discover::ENDINGS;
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
/// Letters that mean nothing else anywhere.
const LETTERS_EVERYWHERE: [char; 2] = ['w', 'b'];
/// Commands without letters of their own. No command means `uci`.
const PLAIN_COMMANDS: [&str; 3] = [UCI, "bench", "benchmark"];

const UCI: &str = "uci";
/// Names a configuration file …
const CONFIG: &str = "config";
/// … and leaves it out.
const WITHOUT: &str = "no-config";
/// Flags without a value, beside options of the engine.
const SWITCHES: [&str; 7] = [
    SHOW_HIDDEN,
    WITHOUT,
    "json",
    "offline",
    "help",
    "help-all",
    "version",
];

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
    ("clippy", "zeitnot benchmark --batches recommends a batch size"),
];
/// Shows what Lc0 hides. Only the help of commands other than `uci` hides anything.
const SHOW_HIDDEN: &str = "show-hidden";
/// Search options of Lc0's `backendbench`, without effect in ours.
const OF_A_SEARCH: [&str; 2] = ["nncache", "policy-softmax-temp"];
/// Flags of Lc0's `onnx2leela` that no program reads.
const OF_HEADS: [&str; 3] = ["policy-format", "value-format", "moves-left-format"];

/// Said of a mode of Lc0 that is a search.
const NO_DAG: &str =
    "the search of dag-preview is not here: this is a tree, whose positions share evaluations";
/// Lc0's modes that are missing, and what to use instead.
const MISSING_MODES: [(&str, &str); 4] = [
    (
        "leela2onnx",
        "writes ONNX models: use zeitnot convert FILE --output FILE.onnx",
    ),
    ("selfplay", "plays games: see zeitnot match"),
    (
        "policyhead",
        "plays by the policy alone: use zeitnot uci and go nodes 1",
    ),
    (
        "valuehead",
        "plays by the value of each reply: use zeitnot uci and go nodes N",
    ),
];

const SET_ITSELF: [&str; 2] = ["threads", "minibatch-size"];

/// A command line in our words, with what its command uses of the configuration file.
#[derive(Debug, Default)]
pub(super) struct Translation {
    head: Vec<OsString>,
    /// The last one of a name wins. Those of the configuration file come first.
    pub(super) flags: Vec<Flag>,
    pub(super) notes: Vec<String>,
    pub(super) mistakes: Vec<String>,
    pub(super) config: Option<PathBuf>,
    pub(super) shows_all: bool,
    /// This is the engine itself, possibly started by a GUI.
    pub(super) plays: bool,
}

/// A flag with its value, or another word.
#[derive(Debug)]
pub(super) struct Flag {
    pub(super) words: Vec<OsString>,
    /// Where it stands in the configuration file.
    pub(super) place: Option<String>,
}

impl Flag {
    /// Without dashes and value.
    pub(super) fn name(&self) -> &str {
        let flag = self.first().strip_prefix("--").unwrap_or_default();
        flag.split_once('=').map_or(flag, |(name, _)| name)
    }

    fn value(&self) -> OsString {
        match (self.words.get(1), self.first().split_once('=')) {
            (Some(word), _) => word.clone(),
            (None, Some((_, value))) => value.into(),
            (None, None) => OsString::new(),
        }
    }

    fn first(&self) -> &str {
        let first = self.words.first().and_then(|word| word.to_str());
        first.unwrap_or_default()
    }
}

/// Translates arguments to flags of `cli`. `folder` is the program's.
pub(super) fn translated(
    arguments: impl IntoIterator<Item = OsString>,
    cli: &clap::Command,
    folder: Option<&Path>,
) -> Result<Translation> {
    let mut arguments = arguments.into_iter().peekable();
    let mut line = Translation {
        head: arguments.next().into_iter().collect(),
        ..Translation::default()
    };
    let mut words = Vec::new();
    while let Some(flag) = arguments.next_if(|first| EVERYWHERE.iter().any(|flag| first == flag)) {
        words.push(flag);
    }
    let mut command = UCI.to_owned();
    if let Some(mode) = arguments.next_if(|word| word.to_str().is_some_and(|word| !word.starts_with('-'))) {
        command = line.command_of(&mode.to_string_lossy())?;
        line.head.push(OsString::from(&command));
    }
    line.plays = command == UCI;
    words.extend(arguments);
    let has = |word: &str| words.iter().any(|known| known == word);
    line.shows_all = has("--help-all") || has("--show-hidden") && (has("--help") || has("-h"));
    let (config, flags): (Vec<_>, Vec<_>) = line
        .flags_of(words, &command)
        .into_iter()
        .partition(|flag| [CONFIG, WITHOUT].contains(&flag.name()));
    // As with `--no-config`, no value is no file.
    let named = config.last().map(Flag::value);
    if let Some(config) = ConfigFile::find(named.as_deref(), folder) {
        line.take_config(config, &command, cli, &flags)?;
    }
    line.flags.extend(flags);
    Ok(line)
}

impl Translation {
    pub(super) fn arguments(&self) -> Vec<OsString> {
        self.with(self.flags.iter())
    }

    /// Program and command with these flags alone.
    pub(super) fn with<'a>(&'a self, flags: impl IntoIterator<Item = &'a Flag>) -> Vec<OsString> {
        let words = flags.into_iter().flat_map(|flag| &flag.words);
        self.head.iter().chain(words).cloned().collect()
    }

    /// Whether a word is the name of a command of `cli`: this was no GUI then.
    pub(super) fn names_command(&self, cli: &clap::Command) -> bool {
        let mut words = self.flags.iter().filter_map(|flag| flag.words.first());
        words.any(|word| cli.find_subcommand(word).is_some())
    }

    /// Our name of a command or of Lc0's mode.
    fn command_of(&mut self, mode: &str) -> Result<String> {
        if let Some((name, instead)) = MISSING_MODES.iter().find(|(name, _)| *name == mode) {
            bail!("{name} is a mode of Lc0 that is not here; it {instead}");
        }
        match mode {
            "classic" => {}
            "dag-preview" => self.notes.push(NO_DAG.into()),
            _ => return Ok(mode.into()),
        }
        Ok(UCI.into())
    }

    /// Adds the file's lines that `command` uses. `given` are the flags of the command line.
    fn take_config(
        &mut self,
        config: ConfigFile,
        command: &str,
        cli: &clap::Command,
        given: &[Flag],
    ) -> Result<()> {
        let arguments = cli
            .find_subcommand(command)
            .into_iter()
            .flat_map(clap::Command::get_arguments);
        let of_command: Vec<_> = arguments.filter_map(clap::Arg::get_long).collect();
        let is_given = |name: &str| given.iter().any(|flag| flag.name() == name);
        // Commands that evaluate nothing ignore the file.
        let evaluates = match command {
            "setup" => is_given("auto") || is_given("network"),
            _ => of_command.contains(&"backend"),
        };
        if !evaluates {
            return Ok(());
        }
        if let Some(mistake) = config.mistakes.first().filter(|_| !self.plays) {
            bail!("{mistake}");
        }
        // The doctor tries all backends.
        let gets_backend = command == "doctor" || is_given("backend") || is_given("backends");
        let is_replaced = |name: &str| {
            is_given(name)
                || gets_backend && OF_A_BACKEND.contains(&name)
                || is_given("backends") && SET_ITSELF.contains(&name)
        };
        let notes = self.notes.len();
        for (number, line) in &config.lines {
            for flag in self.flags_of(vec![line.clone()], command) {
                let name = flag.name();
                let is_unknown = Settings::spec(name).is_err() && name != CONFIG;
                if is_unknown || of_command.contains(&name) && !is_replaced(name) {
                    self.flags.push(Flag {
                        place: Some(config.place(*number)),
                        ..flag
                    });
                }
            }
        }
        if !self.plays {
            self.notes.truncate(notes);
        }
        self.mistakes = config.mistakes;
        self.config = Some(config.path);
        Ok(())
    }

    /// Drops flags without an effect.
    fn flags_of(&mut self, words: Vec<OsString>, command: &str) -> Vec<Flag> {
        let mut words = words.into_iter().peekable();
        let mut flags = Vec::new();
        while let Some(word) = words.next() {
            let Some(text) = word.to_str().map(|text| long(text, command)) else {
                flags.push(Flag {
                    words: vec![word],
                    place: None,
                });
                continue;
            };
            let (flag, has_value) = match text.split_once('=') {
                Some((flag, _)) => (flag, true),
                None => (&*text, false),
            };
            let name = flag.strip_prefix("--").unwrap_or_default();
            let no_effect = without_effect(name, command);
            let takes_value = match no_effect {
                Some((_, takes_value)) => takes_value,
                None => !name.is_empty() && !SWITCHES.contains(&name) && !is_switch(positive(name)),
            };
            let is_value = |word: &OsString| {
                let word = word.to_string_lossy();
                // A negative number is a value.
                let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
                word.strip_prefix('-').is_none_or(is_number) || name == "weights" && ends_as_network(&word)
            };
            let next = words.next_if(|next| takes_value && !has_value && is_value(next));
            if let Some((reason, _)) = no_effect {
                if !reason.is_empty() {
                    self.notes.push(format!("{flag}: {reason}"));
                }
                continue;
            }
            let word = match name.strip_prefix("no-") {
                Some(switch) if !has_value && is_switch(switch) => {
                    format!("--{}=false", own_spelling(switch))
                }
                _ => text.replacen(name, own_spelling(name), 1),
            };
            let mut of_flag = vec![OsString::from(word)];
            match next {
                Some(file) if ends_as_network(&file.to_string_lossy()) => {
                    of_flag[0].push("=");
                    of_flag[0].push(file);
                }
                next => of_flag.extend(next),
            }
            flags.push(Flag {
                words: of_flag,
                place: None,
            });
        }
        flags
    }
}

/// A name that begins with one dash, although flags do.
fn ends_as_network(word: &str) -> bool {
    let is_named_so = ENDINGS.iter().any(|end| word.ends_with(end));
    is_named_so && word.starts_with('-') && !word.starts_with("--")
}

/// Why a flag has no effect in `command`, and whether a value follows.
fn without_effect(name: &str, command: &str) -> Option<(&'static str, bool)> {
    let positive = positive(name);
    if name == SHOW_HIDDEN && command != UCI {
        return Some(("", false));
    }
    if let Some((_, reason)) = WITHOUT_EFFECT.iter().find(|(flag, _)| *flag == positive) {
        return Some((reason, false));
    }
    match command {
        "backendbench" if OF_A_SEARCH.contains(&name) => Some(("has no effect: nothing is searched", true)),
        "onnx2leela" if OF_HEADS.contains(&name) => {
            Some(("has no effect: the names of the outputs tell what they are", true))
        }
        _ => {
            let spec = ignored_option(positive).filter(|spec| spec.flag == positive && positive != CONFIG)?;
            Some((spec.help, !matches!(spec.kind, OptionKind::Switch)))
        }
    }
}

pub(super) fn replacement(error: &str) -> Option<&'static str> {
    REPLACED
        .iter()
        .find(|(old, _)| error.contains(&format!("'--{old}'")))
        .map(|(_, new)| *new)
}

fn positive(name: &str) -> &str {
    name.strip_prefix("no-").unwrap_or(name)
}

/// Other text stays.
fn long(text: &str, command: &str) -> String {
    let mut letters = text.chars();
    let is_plain = PLAIN_COMMANDS.contains(&command);
    let (Some('-'), Some(letter)) = (letters.next(), letters.next()) else {
        return text.into();
    };
    let is_known = is_plain || LETTERS_EVERYWHERE.contains(&letter);
    let known = LETTERS.iter().find(|(known, _)| *known == letter && is_known);
    match (known, letters.as_str()) {
        (None, _) => text.into(),
        (Some((_, flag)), "") => format!("--{flag}"),
        (Some((_, flag)), value) => format!("--{flag}={}", value.trim_start_matches('=')),
    }
}

/// Our spelling of one of Lc0's flags, or of an option's second name.
fn own_spelling(flag: &str) -> &str {
    let second = || OTHER_NAMES.iter().find(|other| other.flag == flag);
    match flag {
        "strict-uci-timing" => "strict-timing",
        _ => second()
            .and_then(|other| Settings::spec(other.name).ok())
            .map_or(flag, |spec| spec.flag),
    }
}

fn is_switch(flag: &str) -> bool {
    Settings::spec(own_spelling(flag)).is_ok_and(|spec| matches!(spec.kind, OptionKind::Switch))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn translate(line: &str) -> (String, usize) {
        translate_in(Path::new("/no/such/folder"), line)
    }

    fn translate_in(folder: &Path, line: &str) -> (String, usize) {
        let words = line.split(' ').map(OsString::from);
        let translation = translated(words, &Cli::command(), Some(folder)).unwrap();
        (
            translation.arguments().join(" ".as_ref()).into_string().unwrap(),
            translation.notes.len(),
        )
    }

    #[test]
    fn lc0s_command_lines_become_ours() {
        for (lc0, ours, notes) in [
            (
                "lc0 -w a.pb.gz -t2 -b=trivial",
                "lc0 --weights a.pb.gz --threads=2 --backend=trivial",
                0,
            ),
            (
                "lc0 -w -net.pb.gz -t 2",
                "lc0 --weights=-net.pb.gz --threads 2",
                0,
            ),
            ("lc0 bench -t 2", "lc0 bench --threads 2", 0),
            (
                "lc0 --no-two-fold-draws --no-such",
                "lc0 --two-fold-draws=false --no-such",
                0,
            ),
            ("lc0 eval -w a.pb.gz -x", "lc0 eval --weights a.pb.gz -x", 0),
            ("lc0 --strict-uci-timing", "lc0 --strict-timing", 0),
            ("lc0 --strict-uci-timing=true", "lc0 --strict-timing=true", 0),
            ("lc0 --no-strict-uci-timing", "lc0 --strict-timing=false", 0),
            ("lc0 --hash 64 --threads=2", "lc0 --ramlimit-mb 64 --threads=2", 0),
            (
                "lc0 classic --show-hidden -t 2",
                "lc0 uci --show-hidden --threads 2",
                0,
            ),
            ("lc0 benchmark --show-hidden -t 2", "lc0 benchmark --threads 2", 0),
            ("lc0 dag-preview --threads=2", "lc0 uci --threads=2", 1),
            ("lc0 --preload --threads=2", "lc0 --threads=2", 1),
            ("lc0 --no-preload --threads=2", "lc0 --threads=2", 1),
            ("lc0 --config= --threads=2", "lc0 --threads=2", 0),
            (
                "lc0 benchmark --no-config --threads=2",
                "lc0 benchmark --threads=2",
                0,
            ),
            (
                "lc0 backendbench --header-only-once --nncache=9 --fen=x",
                "lc0 backendbench --fen=x",
                1,
            ),
            (
                "lc0 describenet -w a.pb.gz",
                "lc0 describenet --weights a.pb.gz",
                0,
            ),
            ("lc0 match -t 2", "lc0 match -t 2", 0),
            // A regression: these were refused before a command.
            ("lc0 --json perft 1", "lc0 perft --json 1", 0),
            (
                "lc0 --offline --json setup --list",
                "lc0 setup --offline --json --list",
                0,
            ),
            ("lc0 --json -t 2", "lc0 --json --threads 2", 0),
            (
                "lc0 convert a.pb.gz -o a.onnx",
                "lc0 convert a.pb.gz -o a.onnx",
                0,
            ),
            (
                "lc0 --threads=2 --temperature -0.5 uci",
                "lc0 --threads=2 --temperature -0.5 uci",
                0,
            ),
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
        std::fs::write(
            folder.path().join("lc0.config"),
            "weights=a.pb.gz\nbackend=native\nthreads=2\n",
        )
        .unwrap();
        let read = |line: &str| translate_in(folder.path(), &format!("zeitnot {line}")).0;
        let cli = Cli::command();
        let evaluate = cli.get_subcommands().filter(|command| {
            let mut longs = command.get_arguments().filter_map(|arg| arg.get_long());
            longs.any(|long| long == "backend")
        });
        let names = evaluate
            .map(|command| command.get_name().to_owned())
            .filter(|name| name != "setup");
        let names: Vec<_> = names.collect();
        assert!(names.len() >= 8, "{names:?}");
        for name in names {
            let has_backend = name != "doctor";
            assert!(read(&name).contains(" --weights=a.pb.gz"), "{name}");
            assert_eq!(read(&name).contains(" --backend=native"), has_backend, "{name}");
            let own = format!("{name} --backend=trivial");
            assert!(
                read(&own).ends_with(" --backend=trivial") && !read(&own).contains("native"),
                "{name}"
            );
            assert!(
                !read(&format!("{name} --no-config")).contains("a.pb.gz"),
                "{name}"
            );
        }
        for (line, expected) in [
            (
                "--threads=1",
                "zeitnot --weights=a.pb.gz --backend=native --threads=1",
            ),
            (
                "bench -w b.pb.gz",
                "zeitnot bench --backend=native --threads=2 --weights b.pb.gz",
            ),
            (
                "benchmark --backends=native",
                "zeitnot benchmark --weights=a.pb.gz --backends=native",
            ),
            (
                "setup --auto",
                "zeitnot setup --weights=a.pb.gz --backend=native --auto",
            ),
            ("setup", "zeitnot setup"),
            ("describenet x", "zeitnot describenet x"),
            ("perft 1", "zeitnot perft 1"),
        ] {
            assert_eq!(read(line), expected);
        }
    }

    #[test]
    fn modes_that_are_not_here_say_what_is() {
        for (mode, instead) in [
            ("selfplay", "zeitnot match"),
            ("valuehead", "go nodes"),
            ("leela2onnx", "zeitnot convert"),
        ] {
            let words = ["lc0", mode].map(OsString::from);
            let error = translated(words, &Cli::command(), None).unwrap_err().to_string();
            assert!(error.contains(instead), "{error}");
        }
    }
}
