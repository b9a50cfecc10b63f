//! Translates flags as Lc0 writes them into ours before the command line is parsed, so that people's scripts keep working:
//! `-w FILE`, `--no-two-fold-draws`, and the flags of options that this engine does not need.

use std::ffi::OsString;

use crate::engine::Settings;
use crate::options::{OptionKind, ignored_flag};

/// Lc0's flags of one letter, with our flags.
const LETTERS: [(char, &str); 8] = [
    ('w', "weights"),
    ('b', "backend"),
    ('o', "backend-opts"),
    ('t', "threads"),
    ('s', "syzygy-paths"),
    ('l', "logfile"),
    ('c', "config"),
    ('v', "verbose-move-stats"),
];
/// The letters that no command of ours uses for something else.
const LETTERS_EVERYWHERE: [char; 2] = ['w', 'b'];
/// The commands without letters of their own; no command at all means `uci`.
const PLAIN_COMMANDS: [&str; 3] = ["uci", "bench", "benchmark"];

/// A command line as our parser reads it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Translation {
    /// The arguments, the program's name first.
    pub(super) arguments: Vec<OsString>,
    /// Messages for the user about flags that were left out.
    pub(super) notes: Vec<String>,
}

/// Translates the arguments of the process, the first of which is the program's name.
pub(super) fn translated(arguments: impl IntoIterator<Item = OsString>) -> Translation {
    let mut arguments = arguments.into_iter().peekable();
    let mut translation =
        Translation { arguments: arguments.next().into_iter().collect(), ..Translation::default() };
    let command = arguments.peek().and_then(|first| first.to_str()).filter(|first| !first.starts_with('-'));
    let is_plain = command.is_none_or(|command| PLAIN_COMMANDS.contains(&command));
    while let Some(argument) = arguments.next() {
        let Some(text) = argument.to_str().map(|text| long(text, is_plain)) else {
            translation.arguments.push(argument);
            continue;
        };
        let (flag, value) =
            text.split_once('=').map_or((text.as_str(), None), |(flag, value)| (flag, Some(value)));
        let name = flag.strip_prefix("--").unwrap_or_default();
        if let Some(instead) = ignored_flag(name) {
            // Its value may be the next argument.
            if value.is_none() {
                arguments.next_if(|next| !next.to_string_lossy().starts_with('-'));
            }
            translation.notes.push(format!("{flag} has no effect: {instead}"));
        } else if let Some(switch) =
            name.strip_prefix("no-").filter(|name| value.is_none() && is_switch(name))
        {
            translation.arguments.push(format!("--{switch}=false").into());
        } else {
            translation.arguments.push(text.into());
        }
    }
    translation
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

/// Returns true if our option with this flag is a switch, on or off.
fn is_switch(flag: &str) -> bool {
    Settings::specs().iter().any(|spec| spec.flag == flag && matches!(spec.kind, OptionKind::Switch { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translate(line: &str) -> (String, usize) {
        let Translation { arguments, notes } = translated(line.split(' ').map(OsString::from));
        (arguments.join(" ".as_ref()).into_string().unwrap(), notes.len())
    }

    #[test]
    fn lc0s_flags_become_ours() {
        let same = |line: &str| assert_eq!(translate(line), (line.to_owned(), 0));
        assert_eq!(
            translate("lc0 -w a.pb.gz -t2 -b=trivial").0,
            "lc0 --weights a.pb.gz --threads=2 --backend=trivial"
        );
        assert_eq!(translate("lc0 bench -t 2").0, "lc0 bench --threads 2");
        assert_eq!(translate("lc0 --no-two-fold-draws --no-such").0, "lc0 --two-fold-draws=false --no-such");
        assert_eq!(translate("lc0 eval -w a.pb.gz -x").0, "lc0 eval --weights a.pb.gz -x");
        // A command's own letters.
        same("lc0 match -t 2");
        same("lc0 convert a.pb.gz -o a.onnx");
        same("lc0 --threads=2 --temperature -0.5 uci");
    }

    #[test]
    fn flags_of_what_is_done_otherwise_are_left_out_and_named() {
        let line =
            "lc0 --task-workers=2 --solid-tree-threshold 100 --preload --config=lc0.config --threads=1";
        assert_eq!(translate(line), ("lc0 --threads=1".to_owned(), 4));
        assert_eq!(translate("lc0 -c lc0.config bench"), ("lc0 bench".to_owned(), 1));
    }
}
