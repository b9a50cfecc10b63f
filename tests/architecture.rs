//! Checks the table of layers at the head of each package's `lib.rs` against the sources. Cargo holds the order of the packages.
//!
//! A table names every module of its package from top to bottom, and a module may use those below its own row, never those above.
//! Comments don't count; tests inside the modules do.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex_lite::Regex;

/// Most characters of a line with a comment.
const WIDEST_COMMENT: usize = 110;

/// The packages whose modules have layers.
const PACKAGES: [&str; 3] = ["crates/engine/src", "crates/lab/src", "src"];

const KERNELS: &str = "crates/kernels/src";

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The engine's sources, which hold the network and the rooms of the search.
fn engine_folder() -> PathBuf {
    repository().join(PACKAGES[0])
}

/// All Rust files of the packages.
fn all_files() -> Vec<PathBuf> {
    let folders = PACKAGES.iter().chain(&[KERNELS, "crates/datagen/src"]);
    folders
        .flat_map(|folder| files(&repository().join(folder)))
        .collect()
}

/// Returns the modules that the table names, the top layer first.
fn layers(lib: &str) -> Vec<String> {
    let first_cell = |line: &str| {
        let (cell, _) = line.strip_prefix("//! | ")?.split_once(" | ")?;
        let name = cell.trim_start_matches("[`").trim_start_matches('`');
        let name = name.trim_end_matches("`]").trim_end_matches('`');
        (name != cell).then(|| name.to_owned())
    };
    lib.lines().filter_map(first_cell).collect()
}

/// Returns the modules that are there: folders and files of the package.
fn modules(package: &Path) -> BTreeSet<String> {
    let entries = package.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let name = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    entries
        .map(name)
        .filter(|name| !["lib", "main", "tests"].contains(&&**name))
        .collect()
}

/// Returns the Rust files of a module, in order.
fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let mut entries: Vec<_> = path
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    let is_source = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    entries
        .iter()
        .flat_map(|entry| files(entry))
        .filter(is_source)
        .collect()
}

fn files_of_module(package: &Path, name: &str) -> Vec<PathBuf> {
    let folder = package.join(name);
    let file = folder.with_extension("rs");
    [folder, file]
        .iter()
        .filter(|path| path.exists())
        .flat_map(|path| files(path))
        .collect()
}

/// Returns the text without comments.
fn code(text: &str) -> String {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns what is wrong with the comments of a file: lines that are too wide, and semicolons outside of code.
fn faults_of_comments(text: &str) -> Vec<String> {
    let code = Regex::new("`[^`]*`|\"[^\"]*\"").unwrap();
    let (mut faults, mut is_code) = (Vec::new(), false);
    for (line, number) in text.lines().zip(1..) {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']);
        is_code ^= comment.trim_start().starts_with("```");
        let is_table = comment.trim_start().starts_with('|');
        if !is_code && !is_table && line.chars().count() > WIDEST_COMMENT {
            faults.push(format!("{number}: wider than {WIDEST_COMMENT}"));
        }
        if !is_code && code.replace_all(comment, "").contains(';') {
            faults.push(format!("{number}: a semicolon: {comment}"));
        }
    }
    faults
}

#[test]
fn comments_are_sentences_that_fit_a_page() {
    assert_eq!(
        faults_of_comments("let a = 1; // b; c\n/// `a; b`\n//! ```\n// a; b\n//! ```").len(),
        0
    );
    assert_eq!(
        faults_of_comments(&format!("    // a; b\n/// {}", "word ".repeat(25))).len(),
        2
    );
    let faults = all_files().into_iter().flat_map(|file| {
        let faults = faults_of_comments(&fs::read_to_string(&file).unwrap());
        faults
            .into_iter()
            .map(move |fault| format!("{}:{fault}", file.display()))
    });
    let faults: Vec<_> = faults.collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// xboard takes these words for a start that has failed, wherever an engine writes them.
#[test]
fn no_message_has_words_of_a_failed_start() {
    let words = [
        "unknown host",
        "No remote directory",
        "not found",
        "No such file",
        "can't alloc",
        "Permission denied",
    ];
    let mut found = Vec::new();
    for file in all_files() {
        let text = fs::read_to_string(&file).unwrap();
        let (own, _) = text.split_once("#[cfg(test)]\nmod tests").unwrap_or((&text, ""));
        found.extend(
            words
                .iter()
                .filter(|word| code(own).contains(*word))
                .map(|word| format!("{word}: {file:?}")),
        );
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Returns the first names of all paths that begin with `crate::`, those in braces too.
fn used_modules(text: &str) -> BTreeSet<String> {
    names_after("crate::", text)
}

/// Returns the names that follow `start` in paths, those in braces too.
fn names_after(start: &str, text: &str) -> BTreeSet<String> {
    let first = |path: String| path.split("::").next().unwrap().to_owned();
    code(text)
        .split(start)
        .skip(1)
        .flat_map(paths)
        .map(first)
        .collect()
}

/// Returns the path that `text` begins with (`a::b`), or all paths of a group (`a::{b, c::{d, e}}`).
fn paths(text: &str) -> Vec<String> {
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
        .unwrap_or(text.len());
    let (start, rest) = text.split_at(end);
    let Some(group) = rest.strip_prefix('{') else {
        return vec![start.to_owned()];
    };
    let (mut found, mut depth, mut from) = (Vec::new(), 0, 0);
    for (place, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                found.extend(paths(group[from..place].trim_start()));
                from = place + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    found.retain(|path| !path.is_empty());
    found.iter().map(|path| format!("{start}{path}")).collect()
}

/// The files of a package by their modules: `time::facts`, `time` for its `mod.rs`, and nothing for `lib.rs`.
struct Sources(BTreeMap<Vec<String>, Source>);

/// A file without its comments and tests.
struct Source {
    /// `mod.rs` and `lib.rs` are entrances: what they hand on stands in other files.
    is_entrance: bool,
    text: String,
}

impl Sources {
    fn of(package: &Path) -> Sources {
        let source = |file: PathBuf| {
            let path = file.strip_prefix(package).unwrap().with_extension("");
            let mut names: Vec<_> = path
                .iter()
                .map(|name| name.to_str().unwrap().to_owned())
                .collect();
            if ["mod", "lib"].contains(&&*names[names.len() - 1]) {
                names.pop();
            }
            let text = code(&fs::read_to_string(&file).unwrap());
            let (own, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
            let source = Source {
                is_entrance: file.ends_with("mod.rs") || file.ends_with("lib.rs"),
                text: own.to_owned(),
            };
            (names, source)
        };
        let is_test = |file: &PathBuf| {
            file.ends_with("tests.rs")
                || file.ends_with("models.rs")
                || file.iter().any(|name| name == "tests")
        };
        Sources(
            files(package)
                .into_iter()
                .filter(|file| !is_test(file))
                .map(source)
                .collect(),
        )
    }

    /// Returns the file at this path, or at its beginning.
    fn place(&self, item: &[String]) -> Option<(&Vec<String>, &Source)> {
        let mut places = (0..=item.len()).rev().map(|length| &item[..length]);
        places.find_map(|place| self.0.get_key_value(place))
    }

    /// Returns the file in which the item of this path stands: behind an entrance, that from which it is handed on.
    fn home(&self, item: &[String]) -> Option<&Vec<String>> {
        let (module, source) = self.place(item)?;
        let Some(name) = item.get(module.len()).filter(|_| source.is_entrance) else {
            return Some(module);
        };
        let handed_on = Regex::new(r"pub(\([a-z]*\))? use ").unwrap();
        let handed_on = handed_on.split(&source.text).skip(1).flat_map(paths);
        let mut origins = handed_on.filter_map(|path| {
            let origin = absolute(module, &path);
            let is_inside = origin.len() > module.len() && self.0.contains_key(&origin[..=module.len()]);
            match path.strip_suffix("::") {
                Some(_) => {
                    let all = [&origin[..], std::slice::from_ref(name)].concat();
                    let declared =
                        Regex::new(&format!(r"\b(fn|struct|enum|trait|const|static|type) {name}\b"));
                    let source = self.0.get(&origin)?;
                    declared.unwrap().is_match(&source.text).then_some(all)
                }
                None => (is_inside && origin.last() == Some(name)).then_some(origin),
            }
        });
        match origins.next() {
            Some(origin) => self.home(&origin),
            None => Some(module),
        }
    }

    /// Returns the paths of all that the file `own` names, from the package's root.
    fn named_by(&self, own: &[String]) -> Vec<Vec<String>> {
        let text = &self.0[own].text;
        let start = Regex::new(r"(?:^|[^:\w])((?:crate|super|self)::)").unwrap();
        start
            .captures_iter(text)
            .flat_map(|found| paths(&text[found.get(1).unwrap().start()..]))
            .map(|path| absolute(own, &path))
            .collect()
    }

    /// Returns what the file `own` takes from an entrance above it.
    fn by_way_of_a_face(&self, own: &[String]) -> Vec<String> {
        let mut named = self.named_by(own);
        named.retain(|item| {
            self.place(item).is_some_and(|(place, source)| {
                source.is_entrance && place.len() < item.len().min(own.len()) && own.starts_with(place)
            })
        });
        named.iter().map(|item| item.join("::")).collect()
    }

    /// Returns the files that the file `own` uses. What an entrance defines itself does not count.
    fn used_by(&self, own: &[String]) -> BTreeSet<&Vec<String>> {
        let homes = self.named_by(own);
        let homes = homes.iter().filter_map(|item| self.home(item));
        homes
            .filter(|&home| home != own && !self.0[home].is_entrance)
            .collect()
    }
}

/// Returns a path from the package's root, as the module `own` means it.
fn absolute(own: &[String], path: &str) -> Vec<String> {
    let mut place = own.to_vec();
    for name in path.split("::").filter(|name| !name.is_empty()) {
        match name {
            "crate" => place.clear(),
            "super" => drop(place.pop()),
            "self" => {}
            name => place.push(name.to_owned()),
        }
    }
    place
}

/// Two files that use each other are one, whatever their names say.
#[test]
fn no_files_use_each_other_in_a_circle() {
    let (mut circles, mut count) = (Vec::new(), 0);
    for package in PACKAGES.iter().chain([&KERNELS]) {
        let sources = Sources::of(&repository().join(package));
        let used: BTreeMap<_, _> = sources.0.keys().map(|own| (own, sources.used_by(own))).collect();
        count += used.values().map(BTreeSet::len).sum::<usize>();
        for own in sources.0.keys() {
            let (mut reached, mut open) = (BTreeSet::new(), vec![own]);
            while let Some(module) = open.pop() {
                let new = used[module].iter().filter(|module| reached.insert(**module));
                open.extend(new);
            }
            if reached.contains(own) {
                circles.push(own.join("::"));
            }
        }
    }
    assert!(count > 400, "the uses are not found: {count}");
    assert!(circles.is_empty(), "files in circles: {circles:#?}");
}

#[test]
fn every_module_is_in_its_packages_table_once() {
    for package in PACKAGES.map(|package| repository().join(package)) {
        let layers = layers(&fs::read_to_string(package.join("lib.rs")).unwrap());
        assert!(layers.len() >= 4, "the table is not found: {layers:?}");
        let named: BTreeSet<_> = layers.iter().cloned().collect();
        assert_eq!(named.len(), layers.len(), "{layers:?}");
        assert_eq!(
            named,
            modules(&package),
            "the table of {package:?}/lib.rs, and what is there"
        );
    }
}

#[test]
fn no_module_uses_one_above_it() {
    let mut wrong = Vec::new();
    for package in PACKAGES.map(|package| repository().join(package)) {
        let layers = layers(&fs::read_to_string(package.join("lib.rs")).unwrap());
        for (layer, module) in layers.iter().enumerate() {
            for file in files_of_module(&package, module) {
                let used = used_modules(&fs::read_to_string(&file).unwrap());
                let above = layers[..layer].iter().filter(|name| used.contains(*name));
                wrong.extend(above.map(|name| format!("{} uses {name}", file.display())));
            }
        }
    }
    assert!(wrong.is_empty(), "uses of higher layers:\n{}", wrong.join("\n"));
}

/// Returns the rooms that the head of a folder's `mod.rs` lists, the lowest first.
fn rooms(folder: &Path) -> Vec<String> {
    let head = fs::read_to_string(folder.join("mod.rs")).unwrap();
    let room = |line: &str| Some(line.strip_prefix("//! - `")?.split('`').next()?.to_owned());
    head.lines().filter_map(room).collect()
}

/// A face, `mod.rs` or `lib.rs`, is for those outside: a file that came by way of one above it would use what stands above.
#[test]
fn no_file_comes_by_way_of_a_face_above_it() {
    let folders = ["chess", "engine", "network", "search", "time"].map(|room| engine_folder().join(room));
    let (mut wrong, mut count) = (BTreeMap::new(), 0);
    for package in [PACKAGES[0], KERNELS] {
        let package = repository().join(package);
        let sources = Sources::of(&package);
        let is_checked = |own: &Vec<String>| {
            let path = own.iter().fold(package.clone(), |path, name| path.join(name));
            package.ends_with(KERNELS) || folders.iter().any(|folder| path.starts_with(folder))
        };
        for own in sources.0.keys().filter(|own| is_checked(own)) {
            count += 1;
            wrong.insert(own.join("::"), sources.by_way_of_a_face(own));
        }
    }
    wrong.retain(|_, items| !items.is_empty());
    assert!(count > 100, "the files are not found: {count}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn rooms_of_the_search_use_those_below_them_only() {
    let folder = engine_folder().join("search");
    let rooms = rooms(&folder);
    assert_eq!(rooms.len(), 5, "{rooms:?}");
    for (place, room) in rooms.iter().enumerate() {
        for file in files(&folder.join(room)) {
            let mut used = names_after("crate::search::", &fs::read_to_string(&file).unwrap());
            used.retain(|name| name != "sync" && !rooms[..=place].contains(name));
            assert!(used.is_empty(), "{} uses {used:?}", file.display());
        }
    }
}

/// The table at the head of `time/` has its files in the order in which they use each other, the lowest first.
#[test]
fn files_of_time_use_those_above_them_in_its_table() {
    let sources = Sources::of(&engine_folder());
    let head = fs::read_to_string(engine_folder().join("time/mod.rs")).unwrap();
    let row = |line: &str| Some(line.strip_prefix("//! | `")?.split(['`', '/']).next()?.to_owned());
    let rows: Vec<_> = head.lines().filter_map(row).collect();
    for own in sources.0.keys().filter(|own| own.len() > 1 && own[0] == "time") {
        let place = rows.iter().position(|row| *row == own[1]);
        let place = place.unwrap_or_else(|| panic!("{own:?} is not in the table"));
        let mut used = sources.used_by(own);
        used.retain(|used| used[0] == "time" && used.len() > 1 && !rows[..=place].contains(&used[1]));
        assert!(used.is_empty(), "{own:?} uses {used:?}");
    }
}

#[test]
fn items_are_found_behind_entrances() {
    let source = |is_entrance, text: &str| Source {
        is_entrance,
        text: text.to_owned(),
    };
    let path = |path: &str| absolute(&[], path);
    let sources = Sources(BTreeMap::from([
        (
            path("a"),
            source(true, "pub use b::{C, d::E};\npub(crate) use f::*;\nstruct H;"),
        ),
        (path("a::b"), source(true, "mod d;\npub use self::d::C;")),
        (path("a::b::d"), source(false, "pub struct C; pub struct E;")),
        (
            path("a::f"),
            source(false, "use super::{H, b::C};\npub fn g() {}"),
        ),
        (path("k"), source(false, "use crate::a::{C, E, H, g};")),
    ]));
    let used: Vec<_> = sources.used_by(&path("k")).into_iter().cloned().collect();
    assert_eq!(used, [path("a::b::d"), path("a::f")]);
    let of_face = |own| sources.by_way_of_a_face(&path(own));
    assert_eq!((of_face("k"), of_face("a::f")), (vec![], vec!["a::H".to_owned()]));
}

/// A command may use another one that stands below it.
#[test]
fn commands_use_those_below_them_only() {
    let folder = repository().join("src/commands");
    let rooms = rooms(&folder);
    let mut there = modules(&folder);
    there.remove("mod");
    assert_eq!(rooms.iter().cloned().collect::<BTreeSet<_>>(), there);
    for (place, room) in rooms.iter().enumerate() {
        for file in files_of_module(&folder, room) {
            let text = fs::read_to_string(&file).unwrap();
            let (text, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
            let is_inside = file.parent() != Some(&folder) && !file.ends_with("mod.rs");
            let mut used = names_after("crate::commands::", text);
            used.extend(names_after(
                if is_inside { "super::super::" } else { "super::" },
                text,
            ));
            used.retain(|name| there.contains(name) && !rooms[..=place].contains(name));
            assert!(used.is_empty(), "{} uses {used:?}", file.display());
        }
    }
}

/// What is missing is named where it is found. How to install it is known to `setup`, and people are told by `commands` and `uci`.
#[test]
fn the_network_fetches_nothing_and_speaks_to_nobody() {
    let words = [
        "pip install",
        "pip download",
        "apt ",
        "dnf ",
        "sudo ",
        "stderr",
        "eprint",
    ];
    let mut found = Vec::new();
    for file in files(&engine_folder().join("network")) {
        let text = code(&fs::read_to_string(&file).unwrap());
        let (own, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
        found.extend(
            words
                .iter()
                .filter(|word| own.contains(*word))
                .map(|word| format!("{word}: {file:?}")),
        );
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn uses_are_found_in_paths_and_groups_but_not_in_comments() {
    let text = "use crate::{chess::{self, Move}, time::Clock,\n    pgn};\n\
                fn f(x: crate::network::Cache) {} // crate::commands\n/// [`crate::uci`]\npub(crate) use $crate::params;";
    let found: Vec<_> = used_modules(text).into_iter().collect();
    assert_eq!(found, ["chess", "network", "params", "pgn", "time"]);
}

/// A row of the list of unsafe code: the cells of a file.
struct UnsafeRow {
    file: String,
    functions: String,
    tests: String,
}

fn unsafe_rows() -> Vec<UnsafeRow> {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/unsafe.md");
    let text = fs::read_to_string(document).unwrap();
    let row = |line: &str| {
        let cells: Vec<_> = line.split('|').map(|cell| cell.trim().to_owned()).collect();
        let [_, file, functions, _, tests, _] = &cells[..] else {
            return None;
        };
        let file = file.strip_prefix("`crates/")?.strip_suffix('`')?.to_owned();
        Some(UnsafeRow {
            file,
            functions: functions.clone(),
            tests: tests.clone(),
        })
    };
    text.lines().filter_map(row).collect()
}

/// Returns the name that begins after `keyword` in a line of code.
fn name_after(line: &str, keyword: &str) -> Option<String> {
    let (_, rest) = line.split_once(keyword)?;
    Some(
        rest.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect(),
    )
}

/// Returns where a file has the word `unsafe`: functions by name, implementations and traits by their first line.
fn unsafe_places(text: &str) -> BTreeSet<String> {
    let (mut places, mut function) = (BTreeSet::new(), String::new());
    for line in code(text).lines() {
        function = name_after(line, "fn ")
            .filter(|name| !name.is_empty())
            .unwrap_or(function);
        let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        if !words.any(|word| word == "unsafe") {
            continue;
        }
        let item = line
            .split("unsafe ")
            .nth(1)
            .filter(|rest| rest.starts_with("impl ") || rest.starts_with("trait "));
        places.insert(match item {
            Some(item) => item.split([':', '{']).next().unwrap().trim().to_owned(),
            None => function.clone(),
        });
    }
    places
}

#[test]
fn all_unsafe_code_is_listed_with_its_tests() {
    let rows = unsafe_rows();
    let crates = repository().join("crates");
    let sources: Vec<_> = ["engine/src", "kernels/src", "kernels/tests", "../tests/uci"]
        .iter()
        .flat_map(|package| files(&crates.join(package)))
        .map(|path| {
            (
                path.strip_prefix(&crates).unwrap().display().to_string(),
                fs::read_to_string(&path).unwrap(),
            )
        })
        .collect();
    let mut wrong = Vec::new();
    for (file, text) in &sources {
        let places = unsafe_places(text);
        let row = rows.iter().find(|row| row.file == file.replace('\\', "/"));
        let Some(row) = row else {
            wrong.extend(
                (!places.is_empty()).then(|| format!("{file} has unsafe code and no row: {places:?}")),
            );
            continue;
        };
        if places.is_empty() {
            wrong.push(format!("{file} has a row and no unsafe code"));
        }
        let is_listed = |place: &&String| {
            row.functions == "all of `Simd`" || row.functions.contains(&format!("`{place}`"))
        };
        wrong.extend(
            places
                .iter()
                .filter(|place| !is_listed(place))
                .map(|place| format!("{file}: {place} is not listed")),
        );
        let tests = row.tests.split('`').skip(1).step_by(2);
        let is_there = |name: &&str| {
            sources
                .iter()
                .any(|(_, text)| text.contains(&format!("fn {name}(")))
        };
        let missing: Vec<_> = tests.clone().filter(|name| !is_there(name)).collect();
        if tests.count() == 0 || !missing.is_empty() {
            wrong.push(format!(
                "{file}: no test, or tests that are not there: {missing:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "tests/data/unsafe.md:\n{}", wrong.join("\n"));
    assert_eq!(
        rows.iter().map(|row| &row.file).collect::<BTreeSet<_>>().len(),
        rows.len(),
        "two rows of one file"
    );
}

#[test]
fn unsafe_code_is_found_in_blocks_functions_and_implementations() {
    let text = "fn a() { unsafe { b() } }\n// unsafe\nunsafe fn b() {}\nunsafe impl X for Y {}\nfn unsafe_c() {}\n#![warn(unsafe_op_in_unsafe_fn)]";
    let found: Vec<_> = unsafe_places(text).into_iter().collect();
    assert_eq!(found, ["a", "b", "impl X for Y"]);
}
