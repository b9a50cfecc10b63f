//! Checks the documents: what they link to is there, and guides read as guides should.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// Most figures (words that begin with a digit) in 100 words of a guide.
const MOST_FIGURES: f64 = 2.5;
/// Pages with formulas, which may have more of them.
const REFERENCES: [&str; 1] = ["docs/time-management.md"];
/// Sentences of more words than this are long.
const LONG_SENTENCE: usize = 25;
/// Most long sentences, as a share of all.
const MOST_LONG_SENTENCES: f64 = 0.1;

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the Markdown files of these folders.
fn documents(folders: &[&str]) -> Vec<PathBuf> {
    let entries = folders.iter().flat_map(|folder| package().join(folder).read_dir().unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// Returns the pages that are read from beginning to end; results are measurements.
fn guides() -> Vec<PathBuf> {
    documents(&["", "docs", "docs/guide", "docs/reference"])
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap()
}

/// Returns the text without code blocks and comments.
fn without_code(text: &str) -> String {
    static CODE: LazyLock<Regex> = LazyLock::new(|| pattern("(?ms)^ *```.*?^ *```|<!--.*?-->"));
    CODE.replace_all(text, "").into_owned()
}

/// Returns the anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let text = without_code(text);
    let headings =
        text.lines().filter_map(|line| Some(line.strip_prefix('#')?.trim_start_matches('#').trim()));
    let anchor = |heading: &str| -> String {
        let kept = heading
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .collect::<String>();
        kept.replace(' ', "-")
    };
    headings.map(anchor).collect()
}

/// Returns the links of a page to files here: path and anchor.
fn links(document: &Path) -> Vec<(PathBuf, Option<String>)> {
    static LINK: LazyLock<Regex> = LazyLock::new(|| pattern(r"\]\(([^)\s]+)\)"));
    let text = without_code(&fs::read_to_string(document).unwrap());
    let targets = LINK.captures_iter(&text).map(|link| link[1].to_owned());
    let here = targets.filter(|target| !target.contains("://"));
    here.map(|target| {
        let (path, anchor) =
            target.split_once('#').map_or((&*target, None), |(path, anchor)| (path, Some(anchor.to_owned())));
        let file = if path.is_empty() { document.to_owned() } else { document.with_file_name(path) };
        (file, anchor)
    })
    .collect()
}

/// Returns the paths between backticks, from the package's folder.
fn paths_in_code(document: &Path) -> Vec<PathBuf> {
    static PATH: LazyLock<Regex> =
        LazyLock::new(|| pattern("`((?:src|tests|docs|scripts|models)/[^`A-Z *<{]*)`"));
    let text = fs::read_to_string(document).unwrap();
    PATH.captures_iter(&text).map(|path| package().join(&path[1])).collect()
}

#[test]
fn documents_name_what_is_there() {
    let documents = documents(&[
        "",
        "docs",
        "docs/guide",
        "docs/reference",
        "docs/results",
        "models",
        "tests/data/goldens",
    ]);
    assert!(documents.len() >= 10, "{documents:?}");
    let mut missing = Vec::new();
    for document in &documents {
        let is_dead = |(file, anchor): &(PathBuf, Option<String>)| match (fs::read_to_string(file), anchor) {
            (Ok(text), Some(anchor)) => !anchors(&text).contains(anchor),
            _ => !file.exists(),
        };
        missing.extend(
            links(document).into_iter().filter(is_dead).map(|link| format!("{document:?}: {link:?}")),
        );
        // Results name files of the commit that they are of.
        if document.parent() != Some(&package().join("docs/results")) {
            let paths = paths_in_code(document).into_iter().filter(|path| !path.exists());
            missing.extend(paths.map(|path| format!("{document:?}: {path:?}")));
        }
    }
    assert!(missing.is_empty(), "named, but not there:\n{}", missing.join("\n"));
}

/// How a page reads.
struct Reading {
    words: usize,
    figures: usize,
    semicolons: usize,
    sentences: usize,
    long_sentences: Vec<String>,
}

/// Reads the prose of a page: headings, tables, code and the targets of links are left out.
fn read(text: &str) -> Reading {
    static ITEM: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^\s*(?:[-*]|\d+\.)\s+"));
    static LINK: LazyLock<Regex> = LazyLock::new(|| pattern(r"!?\[([^\]]*)\]\([^)]*\)"));
    static CODE: LazyLock<Regex> = LazyLock::new(|| pattern("`[^`]*`"));
    static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"[A-Za-z0-9][\w'’.,×%+−-]*"));
    static PARAGRAPH: LazyLock<Regex> = LazyLock::new(|| pattern(r"\n\s*\n"));
    static END: LazyLock<Regex> = LazyLock::new(|| pattern(r"[.!?:]\s+"));
    let text = without_code(text);
    let is_prose = |line: &&str| !line.trim_start().starts_with(['|', '#']);
    let lines = text
        .lines()
        .map(|line| Some(line).filter(is_prose).unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    let text =
        CODE.replace_all(&LINK.replace_all(&ITEM.replace_all(&lines, "\n\n"), "$1"), "CODE").into_owned();
    let words: Vec<&str> = WORD.find_iter(&text).map(|word| word.as_str()).collect();
    let sentences =
        PARAGRAPH.split(&text).flat_map(|block| END.split(block)).filter(|text| !text.trim().is_empty());
    let (long, short): (Vec<&str>, Vec<&str>) =
        sentences.partition(|text| text.split_whitespace().count() > LONG_SENTENCE);
    Reading {
        words: words.len(),
        figures: words.iter().filter(|word| word.starts_with(|c: char| c.is_ascii_digit())).count(),
        semicolons: text.matches(';').count(),
        sentences: long.len() + short.len(),
        long_sentences: long
            .into_iter()
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect(),
    }
}

#[test]
fn guides_are_plain_prose() {
    let mut faults = Vec::new();
    for document in guides() {
        let reading = read(&fs::read_to_string(&document).unwrap());
        let figures = 100.0 * reading.figures as f64 / reading.words.max(1) as f64;
        let long = &reading.long_sentences;
        if figures > MOST_FIGURES && !REFERENCES.iter().any(|page| document.ends_with(page)) {
            faults.push(format!("{document:?}: {figures:.1} figures in 100 words"));
        }
        if reading.semicolons > 0 {
            faults.push(format!("{document:?}: {} semicolons", reading.semicolons));
        }
        if long.len() as f64 > MOST_LONG_SENTENCES * reading.sentences as f64 {
            faults.push(format!(
                "{document:?}: {} of {} sentences are long: {long:#?}",
                long.len(),
                reading.sentences
            ));
        }
    }
    assert!(faults.is_empty(), "docs/results has the measurements:\n{}", faults.join("\n"));
}

#[test]
fn prose_is_told_from_tables_and_code() {
    let reading = read(
        "# 1 2 3; 4\n\nOne [link](a;b.md) of `x; 1` and 2 figures.\n- A point; it ends: here.\n\n| 5 | 6; |\n\n```\n7; 8\n```\n",
    );
    assert_eq!((reading.figures, reading.semicolons, reading.sentences), (1, 1, 3));
    let long = "word ".repeat(26);
    assert_eq!(read(&format!("Short. {long}. Short.")).long_sentences.len(), 1);
    let text = "# Two words: `code`!\n```\n# no heading\n```\n";
    assert_eq!(anchors(text), BTreeSet::from(["two-words-code".to_owned()]));
}
