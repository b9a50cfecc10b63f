//! Checks the documents: what they link to is there, and guides read as guides should.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex_lite::Regex;

/// Most figures (words that begin with a digit) in 100 words of a guide.
const MOST_FIGURES: f64 = 2.5;
/// Sentences of more words than this are long.
const LONG_SENTENCE: usize = 25;
/// Most long sentences, as a share of all.
const MOST_LONG_SENTENCES: f64 = 0.1;

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the Markdown files of these folders.
fn documents(folders: &[&str]) -> Vec<PathBuf> {
    let entries = folders
        .iter()
        .flat_map(|folder| package().join(folder).read_dir().unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect()
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
    let headings = text
        .lines()
        .filter_map(|line| Some(line.strip_prefix('#')?.trim_start_matches('#').trim()));
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
    // The host of the published repository has a page of releases beside that of the files of a branch.
    let depth = document.strip_prefix(package()).unwrap().components().count() + 1;
    let releases = format!("{}releases", "../".repeat(depth));
    let here = targets.filter(|target| !target.contains("://") && *target != releases);
    here.map(|target| {
        let (path, anchor) = target
            .split_once('#')
            .map_or((&*target, None), |(path, anchor)| (path, Some(anchor.to_owned())));
        let file = if path.is_empty() {
            document.to_owned()
        } else {
            document.with_file_name(path)
        };
        (file, anchor)
    })
    .collect()
}

/// Returns the paths between backticks. Those of the engine's source begin in its folder.
fn paths_in_code(document: &Path) -> Vec<PathBuf> {
    static PATH: LazyLock<Regex> = LazyLock::new(|| {
        pattern("`((crates|src|tests|docs|scripts|models|engine|network|options|search|time)/[^`A-Z *<{]*)`")
    });
    let text = fs::read_to_string(document).unwrap();
    let folder = |top: &str| match top {
        "engine" | "network" | "options" | "search" | "time" => package().join("crates/engine/src"),
        _ => package().to_owned(),
    };
    PATH.captures_iter(&text)
        .map(|path| folder(&path[2]).join(&path[1]))
        .collect()
}

#[test]
fn documents_name_what_is_there() {
    let documents = documents(&[
        "",
        "docs",
        "docs/guide",
        "docs/reference",
        "docs/results",
        "fuzz",
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
            links(document)
                .into_iter()
                .filter(is_dead)
                .map(|link| format!("{document:?}: {link:?}")),
        );
        // Results name files of the commit that they are of.
        if document.parent() != Some(&package().join("docs/results")) {
            let paths = paths_in_code(document).into_iter().filter(|path| !path.exists());
            missing.extend(paths.map(|path| format!("{document:?}: {path:?}")));
        }
    }
    assert!(
        missing.is_empty(),
        "named, but not there:\n{}",
        missing.join("\n")
    );
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
    let text = CODE
        .replace_all(&LINK.replace_all(&ITEM.replace_all(&lines, "\n\n"), "$1"), "CODE")
        .into_owned();
    let words: Vec<&str> = WORD.find_iter(&text).map(|word| word.as_str()).collect();
    let sentences = PARAGRAPH
        .split(&text)
        .flat_map(|block| END.split(block))
        .filter(|text| !text.trim().is_empty());
    let (long, short): (Vec<&str>, Vec<&str>) =
        sentences.partition(|text| text.split_whitespace().count() > LONG_SENTENCE);
    Reading {
        words: words.len(),
        figures: words
            .iter()
            .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
            .count(),
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
        if figures > MOST_FIGURES {
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
    assert!(
        faults.is_empty(),
        "docs/results has the measurements:\n{}",
        faults.join("\n")
    );
}

/// Bounds of what is read from others: the row of the page, what stands there, the file, the pattern of the number there with what it
/// is divided by, and the test that breaks it.
#[rustfmt::skip]
const BOUNDS: [(&str, &str, &str, &str, u64, &str); 38] = [
    ("commands of a GUI", "{} MiB a line", "crates/engine/src/files/lines.rs", "MAX_LINE", 1 << 20, "a_line_without_end_costs_no_memory_and_no_other_line"),
    ("commands of a GUI", "{} lines ahead", "src/uci/input.rs", "MAX_AHEAD", 1, "no_more_lines_are_read_ahead_than_the_limit"),
    ("a GUI that does not", "{} s after", "src/uci/input.rs", "WRITE_PATIENCE", 1, "the_process_ends_although_nobody_reads_what_it_says"),
    ("a GUI that does not", "{} KiB on stderr", "src/uci/output.rs", "MAX_STDERR", 1 << 10, "errors_are_on_stderr_too"),
    ("a log that nobody", "{} MiB waiting", "src/uci/aside.rs", "MAX_WAITING", 1 << 20, "lines_that_nobody_takes_hold_up_nobody_and_are_counted"),
    ("an external engine without", "{} s of silence", "crates/lab/src/uci_process.rs", "SILENCE", 1, "a_program_that_is_no_engine_is_given_up_with_its_last_words"),
    ("an external engine without", "{} times as long", "crates/lab/src/uci_process.rs", "TALK", 1, "an_engine_that_talks_without_end_runs_out_of_time_and_fills_no_memory"),
    ("an external engine without", "{} MiB an answer", "crates/lab/src/uci_process.rs", "MOST_SAID", 1 << 20, "an_engine_that_talks_without_end_runs_out_of_time_and_fills_no_memory"),
    ("an external engine without", "{} lines ahead, each way", "crates/lab/src/uci_process.rs", "MOST_WAITING", 1, "an_engine_that_never_reads_is_given_up"),
    ("an external engine on", "{} s beyond its time", "crates/lab/src/uci_process.rs", "MARGIN", 1, "an_engine_that_crashes_or_talks_without_end_loses_its_games_and_the_match_goes_on"),
    ("an external engine on", "{} s after `quit`", "crates/lab/src/uci_process.rs", "FAREWELL", 1, "an_engine_that_ignores_quit_is_ended"),
    ("the engine of `zeitnot-datagen`", "{} s of silence", "crates/datagen/src/teacher.rs", "LONGEST_SILENCE", 1, "an_engine_that_talks_without_end_runs_out_of_time_and_fills_no_memory"),
    ("clients of `serve`", "{} s until", "src/commands/serve.rs", "SILENCE", 1, "a_vanished_machine_is_asked_for"),
    ("clients of `serve`", "{} for an `id`", "src/serve/query.rs", "MAX_ID", 1, "ids_come_back_as_they_were_written_and_are_short"),
    ("clients of `serve`", "{} MB of unread", "crates/engine/src/engine/memory.rs", "MOST_ANSWERS", 1_000_000, "answers_that_nobody_reads_are_bounded_by_bytes"),
    ("clients of `serve`", "{} clients", "src/commands/serve.rs", "MAX_CLIENTS", 1, "a_client_too_many_is_refused_by_name"),
    ("the server, by", "{} s to connect", "python/zeitnot/client.py", r"(?m)^PATIENCE = (\d+)\.0$", 1, "test_a_server_that_is_none_is_an_error"),
    ("the server, by", "{} MiB a line", "python/zeitnot/client.py", r"(?m)^MAX_LINE = (.+)$", 1 << 20, "test_a_server_that_is_none_is_an_error"),
    ("games, books", "{} MiB inflated", "crates/engine/src/files/content.rs", "ALWAYS_ALLOWED", 1 << 20, "bombs_are_refused_within_their_bounds"),
    ("games, books", "{} times the file", "crates/engine/src/files/content.rs", "MAX_RATIO", 1, "bombs_are_refused_within_their_bounds"),
    ("one game", "{} MiB of text", "crates/lab/src/pgn/draft.rs", "MOST_TEXT", 1 << 20, "games_without_end_need_no_memory"),
    ("one game", "{} KiB a comment", "crates/lab/src/pgn/tokens.rs", "LONGEST", 1 << 10, "long_lines_and_comments_need_no_memory"),
    ("one game", "{} plies", "crates/lab/src/pgn/draft.rs", "MOST_PLIES", 1, "games_without_end_need_no_memory"),
    ("one game", "{} tags", "crates/lab/src/pgn/draft.rs", "MOST_TAGS", 1, "games_without_end_need_no_memory"),
    ("a network file", "{} MiB inflated", "crates/engine/src/network/weights/container.rs", "ALWAYS_ALLOWED", 1 << 20, "a_bomb_with_the_right_first_bytes_is_refused_within_its_bounds"),
    ("a network file", "{} times the file", "crates/engine/src/network/weights/container.rs", "MAX_RATIO", 1, "a_bomb_with_the_right_first_bytes_is_refused_within_its_bounds"),
    ("a network file", "{} layers and fields", "crates/engine/src/network/weights/container.rs", "MAX_STEPS", 1, "a_file_of_countless_empty_layers_is_refused_within_its_bounds"),
    ("parameters", "{} levels", "crates/engine/src/params.rs", "MAX_DEPTH", 1, "faults_name_place_and_remedy"),
    ("endgame tables", "{} open files", "crates/engine/src/tablebase/syzygy.rs", "MOST_OPEN", 1, "more_tables_are_read_than_may_be_open"),
    ("downloads by curl", "{} s to connect", "src/setup/networks.rs", r#""--connect-timeout",\s+"(\d+)""#, 1, "a_download_that_fails_says_why"),
    ("downloads by curl", "{} bytes a second", "src/setup/networks.rs", r#""--speed-limit",\s+"(\d+)""#, 1, "what_curl_ends_with_says_whether_trying_again_helps"),
    ("downloads by curl", "{} attempts", "src/setup/networks.rs", "ATTEMPTS", 1, "a_network_is_fetched_through_whatever_breaks_off_and_then_used"),
    ("downloads by curl", "{} redirects", "src/setup/networks.rs", r#""--max-redirs",\s+"(\d+)""#, 1, "a_download_that_fails_says_why"),
    ("downloads by pip", "{} s for each MB", "src/setup/fetch.rs", "SECONDS_PER_MB", 1, "who_does_not_end_is_ended"),
    ("answers of system tools", "{} s", "crates/engine/src/system/tool.rs", "TOOL_PATIENCE", 1, "who_does_not_end_is_ended"),
    ("answers of system tools", "{} MiB", "crates/engine/src/system/tool.rs", "MOST_WRITTEN", 1 << 20, "who_writes_without_end_finds_the_pipe_closed"),
    ("a backend that `doctor`", "{} s", "src/commands/doctor.rs", "PATIENCE", 1, "a_process_that_takes_too_long_is_ended"),
    ("a device that evaluates", "{} s after `stop`", "crates/engine/src/search/drive/search.rs", "STOP_PATIENCE", 1, "a_device_that_hangs_does_not_hold_up_stop"),
];

/// Returns the files of sources and tests, with their text.
fn sources() -> Vec<(String, String)> {
    fn add(path: &Path, all: &mut Vec<(String, String)>) {
        if path.is_dir() {
            path.read_dir()
                .unwrap()
                .for_each(|entry| add(&entry.unwrap().path(), all));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "rs" || extension == "py")
        {
            let name = path
                .strip_prefix(package())
                .unwrap()
                .display()
                .to_string()
                .replace('\\', "/");
            all.push((name, fs::read_to_string(path).unwrap()));
        }
    }
    let mut all = Vec::new();
    ["src", "crates", "tests", "python"]
        .iter()
        .for_each(|folder| add(&package().join(folder), &mut all));
    all
}

/// Returns the value of an expression such as `Duration::from_secs(10)`, `4 << 20` or `20_000`.
fn value(expression: &str) -> u64 {
    let number = expression
        .trim_start_matches("Duration::from_secs(")
        .trim_end_matches(')')
        .replace('_', "");
    match number.split_once(" << ") {
        Some((number, shift)) => number.parse::<u64>().unwrap() << shift.parse::<u32>().unwrap(),
        None => number.parse().unwrap_or_else(|_| panic!("{expression}")),
    }
}

/// Returns a number with a comma before its last three digits.
fn grouped(number: u64) -> String {
    if number < 1000 {
        number.to_string()
    } else {
        format!("{},{:03}", number / 1000, number % 1000)
    }
}

#[test]
fn bounds_are_those_of_the_code_and_each_is_broken_by_a_test() {
    let (page, sources) = (
        fs::read_to_string(package().join("docs/reference/reliability.md")).unwrap(),
        sources(),
    );
    let mut wrong = Vec::new();
    for (row, words, file, place, unit, test) in BOUNDS {
        let text = &sources
            .iter()
            .find(|(name, _)| name == file)
            .unwrap_or_else(|| panic!("{file}"))
            .1;
        let expression = match place.contains('(') {
            true => pattern(place),
            false => pattern(&format!(r"(?m)const {place}: [^=]+ = (.+);$")),
        };
        let found = expression
            .captures(text)
            .unwrap_or_else(|| panic!("{file}: {place}"));
        let number = value(&found[1]) / unit;
        let spellings = [number.to_string(), grouped(number)].map(|number| words.replace("{}", &number));
        let line = page
            .lines()
            .find(|line| line.starts_with(&format!("| {row}")))
            .unwrap_or_else(|| panic!("{row}"));
        if !spellings.iter().any(|words| line.contains(words)) {
            wrong.push(format!("{file}: {place} is {number}, the page says: {line}"));
        }
        if !sources
            .iter()
            .any(|(_, text)| text.contains(&format!("fn {test}(")) || text.contains(&format!("def {test}(")))
        {
            wrong.push(format!("{place} of {file}: there is no test {test}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn prose_is_told_from_tables_and_code() {
    let reading = read(
        "# 1 2 3; 4\n\nOne [link](a;b.md) of `x; 1` and 2 figures.\n- A point; it ends: here.\n\n| 5 | 6; |\n\n```\n7; 8\n```\n",
    );
    assert_eq!(
        (reading.figures, reading.semicolons, reading.sentences),
        (1, 1, 3)
    );
    let long = "word ".repeat(26);
    assert_eq!(read(&format!("Short. {long}. Short.")).long_sentences.len(), 1);
    let text = "# Two words: `code`!\n```\n# no heading\n```\n";
    assert_eq!(anchors(text), BTreeSet::from(["two-words-code".to_owned()]));
}

/// Commands in documents against the program. They need it whole.
mod commands {
    use std::collections::BTreeMap;
    use std::process::{Command, Output};

    use serde_json::Value;

    use super::*;

    fn zeitnot(arguments: &[&str]) -> Output {
        let mut program = Command::new(env!("CARGO_BIN_EXE_zeitnot"));
        program
            .args(arguments)
            .env("ZEITNOT_OFFLINE", "1")
            .output()
            .unwrap()
    }

    /// Splits a command line as a shell does, up to a comment or a pipe.
    fn shell_words(line: &str) -> Vec<String> {
        static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(?:'[^']*'|"[^"]*"|[^\s'"])+"#));
        let words = WORD
            .find_iter(line)
            .map(|word| word.as_str().replace(['\'', '"'], ""));
        words
            .take_while(|word| !["#", "|", ">", "&&"].contains(&&**word))
            .collect()
    }

    /// Returns the arguments of every call of the program in a page, in blocks and in the text.
    fn calls(text: &str) -> Vec<Vec<String>> {
        static BLOCK: LazyLock<Regex> = LazyLock::new(|| pattern("(?ms)^ *```[a-z]*\n(.*?)^ *```"));
        static INLINE: LazyLock<Regex> = LazyLock::new(|| pattern("`(zeitnot [^`]*)`"));
        let blocks = BLOCK
            .captures_iter(text)
            .map(|block| block[1].replace("\\\n", " "))
            .collect::<Vec<_>>();
        let inline = INLINE.captures_iter(text).map(|call| call[1].replace('\n', " "));
        // A block with prompts shows output, too.
        let is_call_in = |block: &str, line: &&str| !block.starts_with("$ ") || line.starts_with("$ ");
        let in_blocks = blocks
            .iter()
            .flat_map(|block| block.lines().filter(|line| is_call_in(block, line)));
        let lines = in_blocks.map(str::to_owned).chain(inline);
        let words = lines.map(|line| shell_words(line.trim_start_matches("$ ")));
        let is_call = |words: &Vec<String>| {
            words
                .first()
                .is_some_and(|word| ["zeitnot", "./zeitnot", "target/release/zeitnot"].contains(&&**word))
        };
        words.filter(is_call).map(|words| words[1..].to_vec()).collect()
    }

    /// Returns the commands of the program, from its help.
    fn names(help: &str) -> BTreeSet<String> {
        static NAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^  ([a-z0-9]+)  "));
        let (_, list) = help.split_once("Commands:").unwrap();
        let (list, _) = list.split_once("Options:").unwrap();
        NAME.captures_iter(list).map(|name| name[1].to_owned()).collect()
    }

    /// Returns the commands and flags of a call that its help does not have.
    fn unknown(call: &[String], helps: &mut BTreeMap<Vec<String>, String>) -> Vec<String> {
        let mut help = |command: &[String]| {
            let make = || {
                let flags = command
                    .iter()
                    .map(String::as_str)
                    .chain(["--help-all"])
                    .collect::<Vec<_>>();
                String::from_utf8(zeitnot(&flags).stdout).unwrap()
            };
            helps.entry(command.to_vec()).or_insert_with(make).clone()
        };
        let is_name = |word: &&String| word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let mut command = Vec::new();
        if let Some(name) = call.first().filter(is_name) {
            // The other spelling is not listed.
            if name != "analyze" && !names(&help(&[])).contains(name) {
                return vec![name.clone()];
            }
            command.push(name.clone());
        }
        let help = help(&command);
        let flags = call.iter().filter(|word| word.starts_with("--"));
        let flags = flags.map(|flag| flag.split(['=', '…']).next().unwrap_or_default().to_owned());
        let is_known = |flag: &String| pattern(&format!(r"{flag}(?:[^a-z-]|$)")).is_match(&help);
        flags.filter(|flag| flag.len() > 2 && !is_known(flag)).collect()
    }

    #[test]
    fn commands_in_documents_are_there() {
        let (mut helps, mut wrong, mut count) = (BTreeMap::new(), Vec::new(), 0);
        for document in guides().into_iter().chain(documents(&["models"])) {
            for call in calls(&fs::read_to_string(&document).unwrap()) {
                count += 1;
                let unknown = unknown(&call, &mut helps);
                if !unknown.is_empty() {
                    wrong.push(format!("{document:?}: {unknown:?} in zeitnot {}", call.join(" ")));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(count > 60, "{count}");
        let call = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            unknown(&call("benchmark --backend random --movetme 3"), &mut helps),
            ["--movetme"]
        );
        assert_eq!(unknown(&call("mach --games 3"), &mut helps), ["mach"]);
    }

    /// Returns the keys that the page promises, with those of inner objects as `outer.inner`.
    fn promised(cell: &str) -> Vec<String> {
        static KEY: LazyLock<Regex> = LazyLock::new(|| pattern(r"`([a-z0-9_]+)`(?: \(([^)]*)\))?"));
        let inner = |outer: &str, keys: &str| {
            KEY.captures_iter(keys)
                .map(|key| format!("{outer}.{}", &key[1]))
                .collect::<Vec<_>>()
        };
        let keys = KEY.captures_iter(cell);
        keys.flat_map(|key| {
            let mut all = vec![key[1].to_owned()];
            all.extend(
                key.get(2)
                    .map(|keys| inner(&key[1], keys.as_str()))
                    .unwrap_or_default(),
            );
            all
        })
        .collect()
    }

    fn has(document: &Value, key: &str) -> bool {
        let first = |value: &Value| value.get(0).cloned().unwrap_or_else(|| value.clone());
        let document = first(document);
        match key.split_once('.') {
            Some((outer, inner)) => document.get(outer).is_some_and(|value| has(value, inner)),
            None => document.get(key).is_some(),
        }
    }

    #[test]
    fn json_has_the_keys_of_the_page() {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let suite = file("documents.epd", "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - bm Ra8#;\n");
        let position = file("documents.fen", "startpos\n");
        let moves = "1. Nf3 Nf6 2. Ng1 Ng8 ".repeat(6);
        let game = file(
            "documents.pgn",
            &format!("[Result \"1/2-1/2\"]\n\n{moves}1/2-1/2\n"),
        );
        let out = folder.join("documents-tuning");
        // What an earlier run left, if any.
        let _ = fs::remove_dir_all(&out);
        let out = out.to_str().unwrap();
        let network = package().join("models/tiny/zeitnot-tiny.pb.gz");
        let network = network.to_str().unwrap();
        let random = "--backend=random";
        let calls: &[&[&str]] = &[
            &["eval", random, &position],
            &["perft", "2"],
            &["solve", &suite, random, "--nodes=20"],
            &["analyse", &game, random, "--nodes=2", "--tc=60+1"],
            &["options"],
            &["describenet", network],
            &["bench", random, "--nodes=20", "--num-positions=1"],
            &["benchmark", random, "--nodes=20", "--num-positions=1"],
            &[
                "backendbench",
                random,
                "--batches=1,2",
                "--rounds=1",
                "--round-ms=20",
            ],
            &["match", random, "--games=2", "--nodes=2"],
            &[
                "tune",
                random,
                "--games=4",
                "--nodes=2",
                "--params=CPuct=2|3",
                "--out",
                out,
            ],
            &["movesleft", random, "--pgn", &game],
            &[
                "timelab",
                random,
                "--pgn",
                &game,
                "--manager=legacy",
                "--min-moves=2",
            ],
        ];
        let page = fs::read_to_string(package().join("docs/reference/files.md")).unwrap();
        let (_, table) = page.split_once("<!-- keys -->").unwrap();
        let (table, _) = table.split_once("<!-- end of keys -->").unwrap();
        for call in calls {
            let row = table
                .lines()
                .find(|line| line.starts_with(&format!("| `{}` |", call[0])));
            let keys = promised(row.unwrap().splitn(3, '|').last().unwrap());
            assert!(keys.len() > 3, "{row:?}");
            let output = zeitnot(&[call, &["--json"][..]].concat());
            let text = String::from_utf8_lossy(&output.stdout);
            let document: Value = serde_json::from_str(&text).unwrap_or_else(|error| {
                panic!(
                    "{call:?}: {error}: {text}{}",
                    String::from_utf8_lossy(&output.stderr)
                )
            });
            let missing = keys.iter().filter(|key| !has(&document, key)).collect::<Vec<_>>();
            assert!(missing.is_empty(), "{call:?}: {missing:?} are not in {text}");
            assert!(!has(&document, "no_such_key"));
        }
    }
}
