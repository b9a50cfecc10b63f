//! `zeitnot options`: the reference of all options, as the engine itself declares them.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use super::{ExitStatus, Failure, Output};
use crate::engine::Settings;
use crate::options::{OptionKind, OptionSpec};

/// The list of all options as a table, for people.
struct OptionTable(Vec<OptionSpec>);

/// Runs the command: lists the options.
pub(super) fn run(output: &mut Output) -> Result<ExitStatus, Failure> {
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
        let rows: Vec<[String; 4]> = self.0.iter().map(row).collect();
        let head = ["name", "flag", "default", "range"].map(String::from);
        let width =
            |column: usize| rows.iter().chain([&head]).map(|row| row[column].len()).max().unwrap_or(0);
        let widths = [0, 1, 2, 3].map(width);
        let helps = self.0.iter().map(help);
        for ([name, flag, default, range], help) in
            [&head].into_iter().chain(&rows).zip([String::from("help")].into_iter().chain(helps))
        {
            let [a, b, c, d] = widths;
            writeln!(f, "{name:<a$}  {flag:<b$}  {default:<c$}  {range:<d$}  {help}")?;
        }
        Ok(())
    }
}

/// Returns what an option does. The possible words of a choice stand here, as they would make their own column too wide.
fn help(spec: &OptionSpec) -> String {
    match &spec.kind {
        OptionKind::Choice { choices, .. } => format!("{} One of {}.", spec.help, choices.join(", ")),
        _ => spec.help.into(),
    }
}

/// Returns the name, the flag, the default and the range of an option.
fn row(spec: &OptionSpec) -> [String; 4] {
    let range = match &spec.kind {
        OptionKind::Integer { min, max, .. } => format!("{min} to {max}"),
        OptionKind::Decimal { min, max, .. } => format!("{min} to {max}"),
        OptionKind::Choice { choices, .. } => format!("{} words", choices.len()),
        OptionKind::Switch { .. } => "true | false".into(),
        OptionKind::Text { .. } => "text".into(),
        OptionKind::Button => "button".into(),
    };
    let flag = if spec.flag.is_empty() { String::new() } else { format!("--{}", spec.flag) };
    [spec.name.into(), flag, spec.default_text(), range]
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
        assert_eq!(column(lines[0], "help"), column(threads, "Search threads"), "columns are aligned");
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
