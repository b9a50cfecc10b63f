//! The tables of the reference, made from the declarations of managers, estimators, backends and their
//! parameters.
//!
//! A test holds the pages against them. `UPDATE_DOCS=1 cargo test --lib documentation` writes them into the
//! pages.

use std::fmt::Write;
use std::path::Path;

use crate::setup::rule_rows;
use zeitnot_engine::network::backends::BACKENDS;
use zeitnot_engine::options::{OptionKind, OptionSpec};
use zeitnot_engine::time::estimators::LogLogistic;
use zeitnot_engine::time::estimators::moves_left::ESTIMATORS;
use zeitnot_engine::time::manager_from;
use zeitnot_engine::time::managers::smooth::Preset;
use zeitnot_engine::time::managers::{MANAGERS, Smooth};
use zeitnot_engine::time::parameters::Named;

fn pages() -> [(&'static str, Vec<(&'static str, String)>); 3] {
    let time = vec![
        ("managers", managers()),
        ("smooth", smooth()),
        ("moves-left", estimators()),
        ("moves-left-parameters", estimator_parameters()),
        ("other-managers", other_managers()),
    ];
    [
        ("reference/time-management.md", time),
        ("reference/backends.md", vec![("parameters", backend_parameters())]),
        ("guide/gpu.md", vec![("gpus", gpus())]),
    ]
}

fn managers() -> String {
    let rows = MANAGERS.iter().map(|manager| vec![code(manager.name), manager.summary.to_owned()]);
    table(&["manager", "in one line"], rows)
}

fn smooth() -> String {
    let smooth = MANAGERS.iter().find(|manager| manager.name == Smooth::NAME);
    let specs = smooth.map(|manager| (manager.parameters)()).unwrap_or_default();
    let results = read_page("results/time-management.md");
    let presets = [Preset::Lc0, Preset::Zeitnot].map(|preset| preset.params().expect("a preset"));
    let rows = specs.iter().map(|spec| {
        let elo = measured(&results, spec.name);
        let [lc0, zeitnot] =
            presets.each_ref().map(|preset| preset.get(spec.name).unwrap_or_default().to_owned());
        vec![code(spec.name), default_value(spec), lc0, zeitnot, allowed(spec), elo, help(spec)]
    });
    let heads = [
        "parameter",
        "`preset=pr1195`",
        "`preset=lc0`",
        "`preset=zeitnot`",
        "values",
        "Elo of another value",
        "meaning",
    ];
    table(&heads, rows)
}

/// Returns what games say of other values of a parameter of `smooth`: of all rows of the table of results
/// that begin with its name the two values, and the Elo of the first at the shorter clock.
fn measured(results: &str, name: &str) -> String {
    let (_, rest) = results.split_once("<!-- table worth -->").expect("the table of results");
    let (rows, _) = rest.split_once("<!-- end of table -->").expect("its end");
    let cells = rows.lines().map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect::<Vec<_>>());
    let of_name = cells.filter(|cells| cells[0].contains(&code(name)));
    let elo = |cells: Vec<&str>| format!("{} against {}: {}", cells[1], cells[2], cells[3]);
    of_name.map(elo).collect::<Vec<_>>().join(". ")
}

fn read_page(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)).unwrap()
}

fn estimators() -> String {
    let rows = ESTIMATORS.iter().map(|estimator| vec![code(estimator.name), estimator.summary.to_owned()]);
    table(&["estimator", "how it estimates"], rows)
}

fn estimator_parameters() -> String {
    let rows = ESTIMATORS.iter().flat_map(|estimator| {
        (estimator.parameters)().into_iter().map(|spec| {
            vec![code(estimator.name), code(spec.name), spec.default_text(), allowed(&spec), help(&spec)]
        })
    });
    table(&["estimator", "parameter", "default", "values", "meaning"], rows)
}

fn other_managers() -> String {
    let others = MANAGERS.iter().filter(|manager| manager.name != Smooth::NAME);
    let rows = others.flat_map(|manager| {
        (manager.parameters)().into_iter().map(|spec| {
            vec![code(manager.name), code(spec.name), spec.default_text(), allowed(&spec), help(&spec)]
        })
    });
    table(&["manager", "parameter", "default", "values", "meaning"], rows)
}

fn backend_parameters() -> String {
    let rows = BACKENDS.iter().flat_map(|backend| {
        (backend.parameters)().into_iter().map(|spec| {
            vec![code(backend.name), code(spec.name), default_value(&spec), allowed(&spec), help(&spec)]
        })
    });
    table(&["backend", "parameter", "default", "values", "meaning"], rows)
}

fn gpus() -> String {
    table(&["GPU", "driver", "compute capability", "provider", "systems"], rule_rows().into_iter())
}

fn default_value(spec: &OptionSpec) -> String {
    let default = spec.default_text();
    if spec.meanings.is_empty() { default } else { code(&default) }
}

fn allowed(spec: &OptionSpec) -> String {
    let bound = |value: f64| if value >= 1e6 { format!("{value:e}") } else { value.to_string() };
    match &spec.kind {
        OptionKind::Integer { min, max, .. } => format!("integers, {min} to {max}"),
        OptionKind::Decimal { min, max, .. } => format!("{} to {}", bound(*min), bound(*max)),
        OptionKind::Choice { choices, .. } => {
            choices.iter().map(|word| code(word)).collect::<Vec<_>>().join(", ")
        }
        _ => spec.expected(),
    }
}

fn help(spec: &OptionSpec) -> String {
    let meaning = |(word, text): &(&str, &str)| format!("{}: {}", code(word), text.trim_end_matches('.'));
    let meanings: Vec<_> = spec.meanings.iter().map(meaning).collect();
    if meanings.is_empty() { spec.help.into() } else { format!("{} {}.", spec.help, meanings.join(". ")) }
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
            let _ = if cell.is_empty() { write!(text, " |") } else { write!(text, " {cell} |") };
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
        let end = start + page[start..].find("<!-- end of table -->").expect("an end of the table");
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
            std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name), updated).unwrap();
        } else {
            assert!(page == updated, "{name} is old: run UPDATE_DOCS=1 cargo test --lib documentation");
        }
    }
}

/// Every documented value is one that the option accepts.
#[test]
fn documented_values_are_accepted() {
    let accept = |owner: &str, spec: &OptionSpec| {
        let value = spec.default_text();
        let text = format!("{owner}({}={value})", spec.name);
        let text = match owner {
            "blend" => format!("smooth(blend({}({}={value})))", LogLogistic::NAME, spec.name),
            owner if owner.starts_with("mle-") => format!("smooth({text})"),
            _ => text,
        };
        assert!(manager_from(&text).is_ok(), "{text}");
    };
    for manager in MANAGERS {
        (manager.parameters)().iter().for_each(|spec| accept(manager.name, spec));
    }
    for estimator in ESTIMATORS {
        (estimator.parameters)().iter().for_each(|spec| accept(estimator.name, spec));
    }
}
