//! Tables of the documents, made from the declarations of managers and estimators, and from the rule that
//! chooses a GPU's library.
//!
//! A test holds the pages against them. `UPDATE_DOCS=1 cargo test --lib documentation` writes them into the
//! pages.

use std::fmt::Write;
use std::path::Path;

use crate::setup::rule_rows;
use zeitnot_engine::options::{OptionChoice, OptionSpec};
use zeitnot_engine::time::estimators::LogLogistic;
use zeitnot_engine::time::estimators::moves_left::ESTIMATORS;
use zeitnot_engine::time::manager_from;
use zeitnot_engine::time::managers::MANAGERS;
use zeitnot_engine::time::managers::smooth::Preset;
use zeitnot_engine::time::parameters::Named;

fn pages() -> [(&'static str, Vec<(&'static str, String)>); 2] {
    let time = vec![
        ("managers", managers()),
        ("presets", presets()),
        ("moves-left", estimators()),
    ];
    [
        ("reference/time-management.md", time),
        ("guide/gpu.md", vec![("gpus", gpus())]),
    ]
}

fn managers() -> String {
    let rows = MANAGERS
        .iter()
        .map(|manager| vec![code(manager.name), manager.summary.to_owned()]);
    table(&["manager", "in one line"], rows)
}

fn presets() -> String {
    let rows = [Preset::Zeitnot, Preset::Lc0].map(|preset| {
        vec![
            code(preset.name()),
            code(&preset.params().expect("a preset").to_string()),
        ]
    });
    table(&["`preset=`", "values"], rows.into_iter())
}

fn read_page(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)).unwrap()
}

fn estimators() -> String {
    let rows = ESTIMATORS
        .iter()
        .map(|estimator| vec![code(estimator.name), estimator.summary.to_owned()]);
    table(&["estimator", "how it estimates"], rows)
}

fn gpus() -> String {
    table(
        &["GPU", "driver", "compute capability", "provider", "systems"],
        rule_rows().into_iter(),
    )
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn table(heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut text = format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    for row in rows {
        text.push('|');
        for cell in row {
            // Writing to a String does not fail.
            let _ = if cell.is_empty() {
                write!(text, " |")
            } else {
                write!(text, " {cell} |")
            };
        }
        text.push('\n');
    }
    text
}

fn updated(page: &str, tables: Vec<(&str, String)>) -> String {
    let mut page = page.to_owned();
    for (name, markdown) in tables {
        let mark = format!("<!-- table {name}: made by src/tests/documentation.rs -->\n");
        let start = page.find(&mark).unwrap_or_else(|| panic!("no mark {mark}")) + mark.len();
        let end = start
            + page[start..]
                .find("<!-- end of table -->")
                .expect("an end of the table");
        page.replace_range(start..end, &markdown);
    }
    page
}

#[test]
fn the_pages_have_the_tables_of_the_code() {
    for (name, tables) in pages() {
        let page = read_page(name);
        let updated = updated(&page, tables);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(
                Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name),
                updated,
            )
            .unwrap();
        } else {
            assert!(
                page == updated,
                "{name} is old: run UPDATE_DOCS=1 cargo test --lib documentation"
            );
        }
    }
}

/// Every default that `zeitnot options` shows is one that the list accepts.
#[test]
fn shown_defaults_are_accepted() {
    let accept = |owner: &str, spec: &OptionSpec| {
        let value = &spec.default;
        let text = format!("{owner}({}={value})", spec.name);
        let text = match owner {
            "blend" => format!("smooth(blend({}({}={value})))", LogLogistic::NAME, spec.name),
            owner if owner.starts_with("mle-") => format!("smooth({text})"),
            _ => text,
        };
        assert!(manager_from(&text).is_ok(), "{text}");
    };
    for manager in MANAGERS {
        (manager.parameters)()
            .iter()
            .for_each(|spec| accept(manager.name, spec));
    }
    for estimator in ESTIMATORS {
        (estimator.parameters)()
            .iter()
            .for_each(|spec| accept(estimator.name, spec));
    }
}
