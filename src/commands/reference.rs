//! Reference material from declarations: `zeitnot options`, `zeitnot completions` for shells, `zeitnot man`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Result, anyhow, ensure};
use clap::Args;
use clap_complete::Shell;
use clap_mangen::Man;
use serde_json::{Value, json};

use crate::output::{ExitStatus, Output};
use zeitnot_engine::engine::Settings;
use zeitnot_engine::options::{OptionKind, OptionSpec};
use zeitnot_lab::report::{Table, terminal_width, write_fact_in};

const SYNOPSIS: &str = ".SH SYNOPSIS\n";

#[derive(Debug, Args)]
pub(crate) struct OptionsArgs {
    /// List only options with this in their name or flag, in whatever case, or the parameters of the time
    /// manager, estimator or backend of this name
    word: Option<String>,
}

pub(super) fn options(args: &OptionsArgs, output: &mut Output) -> Result<ExitStatus> {
    let word = args.word.as_deref().unwrap_or_default().to_lowercase();
    let has_word = |spec: &OptionSpec| spec.name.to_lowercase().contains(&word) || spec.flag.contains(&word);
    let parameters = Settings::parameters_of(&word);
    let options: Vec<_> =
        parameters.unwrap_or_else(|| Settings::listed().into_iter().filter(has_word).collect());
    ensure!(
        !options.is_empty(),
        "no option has {word:?} in its name; `zeitnot options` lists all"
    );
    let documents: Vec<_> = options.iter().map(document).collect();
    output.write(&documents, &table(&options, terminal_width())?)
}

/// Keys that the option's kind doesn't have are left out. The types are UCI's, except that a `string` of
/// numbers is `number`.
fn document(spec: &OptionSpec) -> Value {
    let default = &*spec.default;
    let (name, default, more) = match &spec.kind {
        OptionKind::Switch => ("check", json!(default == "true"), json!({})),
        OptionKind::Integer { min, max } => (
            "spin",
            json!(default.parse::<i64>().ok()),
            json!({ "min": min, "max": max }),
        ),
        OptionKind::Decimal { min, max } => (
            "number",
            json!(default.parse::<f64>().ok()),
            json!({ "min": min, "max": max }),
        ),
        OptionKind::Choice(choices) => ("combo", json!(default), json!({ "choices": choices })),
        OptionKind::Text => ("string", json!(default), json!({})),
        OptionKind::Button => ("button", Value::Null, json!({})),
    };
    let mut document = json!({
        "name": spec.name, "flag": spec.flag, "type": name, "default": default, "help": spec.help,
    });
    if let (Some(document), Value::Object(more)) = (document.as_object_mut(), more) {
        document.extend(more);
    }
    document
}

/// In columns, or on a terminal in two lines for each option.
fn table(options: &[OptionSpec], width: Option<usize>) -> Result<String, fmt::Error> {
    let mut text = String::new();
    if width.is_none() {
        let table = Table::of("Options", options)
            .words("name", |spec| spec.name)
            .words("flag", |spec| flag(spec))
            .words("default", |spec| &spec.default)
            .words("range", |spec| range(spec))
            .words("help", |spec| help(spec));
        table.table().write(&mut text, None)?;
        return Ok(text);
    }
    for spec in options {
        let mut line = spec.name.to_owned();
        if !spec.default.is_empty() {
            line += &format!(" = {}", spec.default);
        }
        line += &format!(" ({})", range(spec));
        if !spec.flag.is_empty() {
            line += &format!(", {}", flag(spec));
        }
        write_fact_in(&mut text, "", 0, &line, width)?;
        write_fact_in(&mut text, "", 4, &help(spec), width)?;
    }
    Ok(text)
}

fn flag(spec: &OptionSpec) -> String {
    if spec.flag.is_empty() {
        String::new()
    } else {
        format!("--{}", spec.flag)
    }
}

fn range(spec: &OptionSpec) -> String {
    match &spec.kind {
        OptionKind::Integer { min, max } => format!("{min} to {max}"),
        OptionKind::Decimal { min, max } => format!("{min} to {max}"),
        OptionKind::Choice(choices) => format!("{} words", choices.len()),
        OptionKind::Switch => "true | false".into(),
        OptionKind::Text => "text".into(),
        OptionKind::Button => "button".into(),
    }
}

/// With the words of a choice, too wide for a column.
fn help(spec: &OptionSpec) -> String {
    let mut help = spec.help.to_owned();
    if let OptionKind::Choice(choices) = &spec.kind
        && spec.meanings.is_empty()
    {
        help += &format!(" One of {}.", choices.join(", "));
    }
    for (word, meaning) in &spec.meanings {
        help += &format!(" {word}: {meaning}");
    }
    help
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell. Its own documentation says where it looks for the file
    shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write a page for each command (zeitnot.1, zeitnot-bench.1, …) into this folder instead
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// `command` is the whole command line.
pub(super) fn completions(
    args: &CompletionsArgs,
    mut command: clap::Command,
    output: &mut Output,
) -> Result<ExitStatus> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "zeitnot", &mut text);
    output.report(&String::from_utf8_lossy(&text))
}

/// `command` is the whole command line.
pub(super) fn man(args: &ManArgs, command: clap::Command, output: &mut Output) -> Result<ExitStatus> {
    // A page names its command's version, and subcommands have none of their own.
    let mut command = command.propagate_version(true).disable_help_subcommand(true);
    command.build();
    match &args.out {
        Some(folder) => {
            let written = fs::create_dir_all(folder).and_then(|()| write_pages(&mut command, folder));
            written.map_err(|error| anyhow!("{}: {error}", folder.display()))?;
            Ok(ExitStatus::Success)
        }
        None => output.report(&page(&mut command)?),
    }
}

fn write_pages(command: &mut clap::Command, folder: &Path) -> io::Result<()> {
    for subcommand in command
        .get_subcommands_mut()
        .filter(|subcommand| !subcommand.is_hide_set())
    {
        write_pages(subcommand, folder)?;
    }
    fs::write(
        folder.join(Man::new(command.clone()).get_filename()),
        page(command)?,
    )
}

/// The next section lists all options.
fn page(command: &mut clap::Command) -> io::Result<String> {
    let usage = command.render_usage().to_string();
    let usage: Vec<_> = usage
        .trim_start_matches("Usage:")
        .lines()
        .map(str::trim)
        .collect();
    let mut text = Vec::new();
    Man::new(command.clone()).render(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let parts = text
        .split_once(SYNOPSIS)
        .and_then(|(before, rest)| Some((before, rest.split_once("\n.SH ")?.1)));
    let Some((before, after)) = parts else {
        return Ok(text.into_owned());
    };
    Ok(format!(
        "{before}{SYNOPSIS}{}\n.SH {after}",
        usage.join("\n.br\n").replace('-', "\\-")
    ))
}

#[cfg(test)]
mod tests {
    use clap::Subcommand;

    use super::*;
    use crate::commands::{Command, uci::UciArgs};

    #[test]
    fn every_option_is_a_line_under_the_head() {
        let text = table(&Settings::listed(), None).unwrap();
        let lines: Vec<_> = text.lines().collect();
        // Below caption, head and line.
        assert_eq!(lines.len(), Settings::listed().len() + 3);
        let threads = lines.iter().find(|line| line.starts_with("Threads ")).unwrap();
        let columns: Vec<_> = threads
            .split("  ")
            .map(str::trim)
            .filter(|column| !column.is_empty())
            .collect();
        assert_eq!(columns[..4], ["Threads", "--threads", "0", "0 to 256"]);
        let column = |line: &str, word: &str| line.find(word);
        assert_eq!(
            column(lines[1], "help"),
            column(threads, "Number of search threads"),
            "columns are aligned"
        );
    }

    #[test]
    fn options_fit_the_terminal() {
        for width in [60, 80, 120] {
            let text = table(&Settings::listed(), Some(width)).unwrap();
            assert!(
                text.lines().all(|line| line.chars().count() <= width),
                "{width}: {text}"
            );
            assert!(text.contains("CPuct = 1.745 (0 to 100), --cpuct\n    "), "{text}");
        }
    }

    #[test]
    fn a_manual_page_has_a_short_synopsis_and_all_options() {
        let command = clap::Command::new("zeitnot")
            .about("An engine")
            .args_conflicts_with_subcommands(true);
        let command = Command::augment_subcommands(UciArgs::augment_args(command));
        let mut command = command
            .mut_args(|arg| arg.hide(false))
            .disable_help_subcommand(true);
        command.build();
        let text = page(&mut command).unwrap();
        let synopsis = text
            .split_once(SYNOPSIS)
            .unwrap()
            .1
            .split("\n.SH ")
            .next()
            .unwrap();
        assert_eq!(synopsis, "zeitnot [OPTIONS]\n.br\nzeitnot <COMMAND>");
        assert!(
            text.contains("\\-\\-cpuct\\-base") && text.contains(".SH DESCRIPTION"),
            "{text}"
        );
    }

    #[test]
    fn scripts_get_numbers_as_numbers() {
        let entry = |name: &str| document(Settings::spec(name).unwrap());
        let threads = entry("Threads");
        assert_eq!(
            (&threads["type"], &threads["default"], &threads["max"]),
            (&json!("spin"), &json!(0), &json!(256))
        );
        assert_eq!(entry("CPuct")["default"], json!(1.745));
        assert_eq!(
            entry("HistoryFill")["choices"],
            json!(["no", "fen_only", "always"])
        );
        assert_eq!(entry("WeightsFile").get("min"), None);
    }
}
