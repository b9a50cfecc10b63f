//! What the program tells of itself, as it is declared: `zeitnot options` for people and scripts, `zeitnot
//! completions` for shells, `zeitnot man` for `man`.

use std::path::PathBuf;
use std::{fmt, fs};

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Cli, ExitStatus, Failure, Output, with_all_in_help};
use crate::engine::Settings;
use crate::options::{OptionKind, OptionSpec};

struct OptionTable(Vec<OptionSpec>);

pub(super) fn options(output: &mut Output) -> Result<ExitStatus, Failure> {
    let reference = OptionTable(Settings::listed());
    let options: Vec<OptionJson> = reference.0.iter().map(OptionJson::of).collect();
    output.write(&options, &reference)?;
    Ok(ExitStatus::Success)
}

/// One option as JSON, for scripts. Keys that its kind doesn't have are left out.
#[derive(Debug, Serialize)]
struct OptionJson {
    name: &'static str,
    flag: &'static str,
    /// The type in UCI's `option` line, except that `string` is `number` where only numbers are taken.
    r#type: &'static str,
    default: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    choices: Option<Vec<&'static str>>,
    help: &'static str,
}

impl OptionJson {
    fn of(spec: &OptionSpec) -> OptionJson {
        let (r#type, default, range) = match &spec.kind {
            OptionKind::Switch { default } => ("check", json!(default), None),
            OptionKind::Integer { default, min, max } => {
                ("spin", json!(default), Some((json!(min), json!(max))))
            }
            OptionKind::Decimal { default, min, max } => {
                ("number", json!(default), Some((json!(min), json!(max))))
            }
            OptionKind::Choice { default, .. } => ("combo", json!(default), None),
            OptionKind::Text { default } => ("string", json!(default), None),
            OptionKind::Button => ("button", Value::Null, None),
        };
        let (min, max) = range.unzip();
        let choices = match &spec.kind {
            OptionKind::Choice { choices, .. } => Some(choices.clone()),
            _ => None,
        };
        OptionJson { name: spec.name, flag: spec.flag, r#type, default, min, max, choices, help: spec.help }
    }
}

impl fmt::Display for OptionTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["name", "flag", "default", "range", "help"].map(String::from);
        let rows: Vec<_> = [head].into_iter().chain(self.0.iter().map(row)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let [a, b, c, d] = [0, 1, 2, 3].map(width);
        rows.iter().try_for_each(|[name, flag, default, range, help]| {
            writeln!(f, "{name:<a$}  {flag:<b$}  {default:<c$}  {range:<d$}  {help}")
        })
    }
}

fn row(spec: &OptionSpec) -> [String; 5] {
    let mut help = spec.help.to_owned();
    let range = match &spec.kind {
        OptionKind::Integer { min, max, .. } => format!("{min} to {max}"),
        OptionKind::Decimal { min, max, .. } => format!("{min} to {max}"),
        OptionKind::Choice { choices, .. } => {
            // They would make their own column too wide.
            help += &format!(" One of {}.", choices.join(", "));
            format!("{} words", choices.len())
        }
        OptionKind::Switch { .. } => "true | false".into(),
        OptionKind::Text { .. } => "text".into(),
        OptionKind::Button => "button".into(),
    };
    let flag = if spec.flag.is_empty() { String::new() } else { format!("--{}", spec.flag) };
    [spec.name.into(), flag, spec.default_text(), range, help]
}

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell. Its own documentation says where it looks for the file
    shell: Shell,
}

#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// Write a page for each command (zeitnot.1, zeitnot-bench.1, …) into this folder instead
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(super) fn completions(args: &CompletionsArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut with_all_in_help(Cli::command()), "zeitnot", &mut text);
    write(output, &text)
}

pub(super) fn man(args: &ManArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    // A page names its command's version, and subcommands have none of their own.
    let command = with_all_in_help(Cli::command()).propagate_version(true).disable_help_subcommand(true);
    match &args.out {
        Some(folder) => {
            let failed = |error| Failure::Input(format!("{}: {error}", folder.display()));
            fs::create_dir_all(folder).map_err(failed)?;
            clap_mangen::generate_to(command, folder).map_err(failed)?;
            Ok(ExitStatus::Success)
        }
        None => {
            let mut text = Vec::new();
            Man::new(command).render(&mut text)?;
            write(output, &text)
        }
    }
}

fn write(output: &mut Output, text: &[u8]) -> Result<ExitStatus, Failure> {
    let text = String::from_utf8_lossy(text);
    output.write(&text, &text)?;
    Ok(ExitStatus::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_a_line_under_the_head() {
        let text = OptionTable(Settings::listed()).to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), Settings::listed().len() + 1);
        let threads = lines.iter().find(|line| line.starts_with("Threads ")).unwrap();
        let columns: Vec<_> =
            threads.split("  ").map(str::trim).filter(|column| !column.is_empty()).collect();
        assert_eq!(columns[..4], ["Threads", "--threads", "0", "0 to 256"]);
        let column = |line: &str, word: &str| line.find(word);
        assert_eq!(
            column(lines[0], "help"),
            column(threads, "Number of search threads"),
            "columns are aligned"
        );
    }

    #[test]
    fn scripts_get_numbers_as_numbers() {
        let entry = |name: &str| serde_json::to_value(OptionJson::of(Settings::spec(name).unwrap())).unwrap();
        let threads = entry("Threads");
        assert_eq!(
            (&threads["type"], &threads["default"], &threads["max"]),
            (&json!("spin"), &json!(0), &json!(256))
        );
        assert_eq!(entry("CPuct")["default"], json!(1.745));
        assert_eq!(entry("HistoryFill")["choices"], json!(["no", "fen_only", "always"]));
        assert_eq!(entry("WeightsFile").get("min"), None);
    }
}
