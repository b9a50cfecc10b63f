//! The tables of `docs/reference/time-management.md`, made from the declarations of managers, estimators and their parameters.
//!
//! A test holds the page against them. `UPDATE_DOCS=1 cargo test --lib time::documentation` writes them into the page.

use std::fmt::Write;

use super::estimators::moves_left::ESTIMATORS;
use super::managers::{MANAGERS, SmoothParams};
use super::parameters::{ParameterSpec, Preset};

/// A table in Markdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The name by which the page refers to the table.
    pub name: &'static str,
    /// Its lines.
    pub markdown: String,
}

/// Returns all tables.
pub fn tables() -> Vec<Table> {
    vec![
        Table { name: "managers", markdown: managers() },
        Table { name: "smooth", markdown: smooth() },
        Table { name: "moves-left", markdown: estimators() },
        Table { name: "moves-left-parameters", markdown: estimator_parameters() },
        Table { name: "other-managers", markdown: other_managers() },
    ]
}

fn managers() -> String {
    let rows = MANAGERS.iter().map(|manager| vec![code(manager.name), manager.summary.to_owned()]);
    table(&["manager", "in one line"], rows)
}

fn smooth() -> String {
    let smooth = MANAGERS.iter().find(|manager| manager.name == SmoothParams::OWNER);
    let specs = smooth.map(|manager| (manager.parameters)()).unwrap_or_default();
    let rows = specs.iter().map(|spec| {
        vec![code(spec.name), default_value(spec), other_value(spec), spec.allowed.clone(), spec.help.clone()]
    });
    table(&["parameter", "default (`pr1195`)", "`preset=lc0`", "values", "meaning"], rows)
}

fn estimators() -> String {
    let rows = ESTIMATORS.iter().map(|estimator| vec![code(estimator.name), estimator.summary.to_owned()]);
    table(&["estimator", "how it estimates"], rows)
}

fn estimator_parameters() -> String {
    let rows = ESTIMATORS.iter().flat_map(|estimator| {
        (estimator.parameters)().into_iter().map(|spec| {
            vec![
                code(estimator.name),
                code(spec.name),
                spec.default.clone(),
                other_value(&spec),
                spec.allowed.clone(),
                spec.help.clone(),
            ]
        })
    });
    table(&["estimator", "parameter", "default", "`preset=lc0`", "values", "meaning"], rows)
}

fn other_managers() -> String {
    let others = MANAGERS.iter().filter(|manager| manager.name != SmoothParams::OWNER);
    let rows = others.flat_map(|manager| {
        (manager.parameters)()
            .into_iter()
            .map(|spec| vec![code(manager.name), code(spec.name), spec.default, spec.allowed, spec.help])
    });
    table(&["manager", "parameter", "default", "values", "meaning"], rows)
}

/// Returns the default, as code where it is a word.
fn default_value(spec: &ParameterSpec) -> String {
    let is_number = spec.default.parse::<f64>().is_ok();
    if is_number { spec.default.clone() } else { code(&spec.default) }
}

/// Returns the value under `preset=lc0` where it is not the default.
fn other_value(spec: &ParameterSpec) -> String {
    let value = spec.value_under(Preset::Lc0);
    if value == spec.default { String::new() } else { value.to_owned() }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

/// Returns a table in Markdown with a line break at its end.
fn table(heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut text = format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    for row in rows {
        text.push('|');
        for cell in row {
            // Writing to a String does not fail.
            let _ = if cell.is_empty() { write!(text, " |") } else { write!(text, " {cell} |") };
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::estimators::LogLogistic;
    use crate::time::manager_from;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/time-management.md");

    /// Returns the page with the present tables between their marks.
    fn updated(page: &str) -> String {
        let mut page = page.to_owned();
        for Table { name, markdown } in tables() {
            let mark = format!("<!-- table {name}: made by src/time/documentation.rs -->\n");
            let start = page.find(&mark).unwrap_or_else(|| panic!("no mark {mark}")) + mark.len();
            let end = start + page[start..].find("<!-- end of table -->").expect("an end of the table");
            page.replace_range(start..end, &markdown);
        }
        page
    }

    #[test]
    fn the_page_has_the_tables_of_the_code() {
        let page = std::fs::read_to_string(PAGE).unwrap();
        let updated = updated(&page);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(PAGE, updated).unwrap();
        } else {
            assert!(page == updated, "docs are old: run UPDATE_DOCS=1 cargo test --lib time::documentation");
        }
    }

    /// Every documented value is one that the option accepts.
    #[test]
    fn documented_values_are_accepted() {
        let accept = |owner: &str, spec: &ParameterSpec| {
            for value in [&*spec.default, spec.value_under(Preset::Lc0)] {
                let text = format!("{owner}({}={value})", spec.name);
                let text = match owner {
                    "blend" => format!("smooth(blend({}({}={value})))", LogLogistic::OWNER, spec.name),
                    owner if owner.starts_with("mle-") => format!("smooth({text})"),
                    _ => text,
                };
                assert!(manager_from(&text).is_ok(), "{text}");
            }
        };
        for manager in MANAGERS {
            (manager.parameters)().iter().for_each(|spec| accept(manager.name, spec));
        }
        for estimator in ESTIMATORS {
            (estimator.parameters)().iter().for_each(|spec| accept(estimator.name, spec));
        }
    }
}
