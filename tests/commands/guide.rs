//! Runs every command of README and the guides, in their order, in one empty folder, as a reader would.
//!
//! Commands stand in blocks: those of `sh` line by line, in others behind `$ `. What needs a GPU, the network or other
//! programs has a comment `<!-- not run: why -->` above its block. Numbers are made [small](SMALL) on the way.

use std::path::Path;
use std::process::{Command, Stdio};

use regex_lite::Regex;

use crate::common::stderr;

/// The pages in the order in which a newcomer reads them.
const PAGES: [&str; 14] = [
    "README.md",
    "docs/guide/install.md",
    "docs/guide/play.md",
    "docs/guide/analyse.md",
    "docs/guide/match.md",
    "docs/guide/long-runs.md",
    "docs/guide/tune.md",
    "docs/guide/time-managers.md",
    "docs/guide/moves-left.md",
    "docs/guide/benchmark.md",
    "docs/guide/serve.md",
    "docs/guide/gpu.md",
    "docs/guide/library.md",
    "docs/guide/release.md",
];

/// What makes a command small: flags with the values that take the place of those in the text. Those behind a `+` are added
/// where they are missing.
const SMALL: [(&str, &str); 9] = [
    ("analyse", "--nodes=5 +--backend=random"),
    (
        "match",
        "--games=4 --nodes=5 --tc=0.5+0.01 +--max-plies=10 +--backend=random",
    ),
    (
        "tune",
        "+--games=8 --nodes=5 --tc=0.5+0.01 +--max-plies=10 +--backend=random",
    ),
    ("timelab", "+--max-games=2 +--nps=1000 +--min-moves=1"),
    ("movesleft", "--max-games=2 --sample=8 +--backend=random"),
    (
        "benchmark",
        "+--num-positions=1 +--movetime=20 --batches=1 +--backend=random",
    ),
    (
        "backendbench",
        "--batches=1,8 --rounds=2 +--round-ms=2 +--backend=random",
    ),
    ("bench", "+--backend=random"),
    ("serve", "+--backend=random"),
];

/// The commands of a page that are to be run.
fn commands(text: &str) -> Vec<String> {
    let block = Regex::new(r"(?ms)(<!-- not run: [^>]*-->\n)?^ *```(\w*)\n(.*?)^ *```").unwrap();
    let blocks = block.captures_iter(text).filter(|block| block.get(1).is_none());
    let lines = blocks.flat_map(|block| {
        let is_shell = &block[2] == "sh";
        let text = block[3].replace("\\\n", " ");
        let lines = text
            .lines()
            .map(str::trim)
            .filter_map(|line| line.strip_prefix("$ ").or(is_shell.then_some(line)));
        lines.map(str::to_owned).collect::<Vec<_>>()
    });
    lines
        .map(|line| line.split(" #").next().unwrap_or_default().trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

/// Makes a command small.
fn small(command: &str) -> String {
    let mut words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    for (name, flags) in SMALL {
        let Some(place) = words.iter().position(|word| word == name) else {
            continue;
        };
        for flag in flags.split(' ') {
            let (is_added, flag) = (flag.starts_with('+'), flag.trim_start_matches('+'));
            let (key, value) = flag.split_once('=').unwrap();
            let given = words
                .iter()
                .position(|word| word == key || word.starts_with(&format!("{key}=")));
            match given {
                Some(given) if words[given] == key => words[given + 1] = value.to_owned(),
                Some(given) => words[given] = flag.to_owned(),
                None if is_added => words.insert(place + 1, flag.to_owned()),
                None => {}
            }
        }
        break;
    }
    words.join(" ")
}

#[test]
#[cfg(unix)]
fn every_command_of_the_guides_runs_in_one_folder() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    // What a reader has, or gets elsewhere: games, and books of openings. The rest of the source's folder is there as it is.
    let game = "[White \"Ann\"]\n[Black \"Ben\"]\n[Result \"1-0\"]\n[TimeControl \"180+2\"]\n\n1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0\n\n";
    let games: String = (0..80)
        .map(|event| format!("[Event \"e{event}\"]\n{game}"))
        .collect();
    let openings = std::fs::read_to_string(root.join("tests/data/openings.epd")).unwrap();
    let given = [
        ("game.pgn", game),
        ("games.pgn", game),
        ("tcec-dev.pgn.zst", &games),
        ("book.epd", &openings),
        ("popularpos_lichess_v3.epd", &openings),
        ("popularpos_lichess_v3.epd.zip", &openings),
    ];
    for (name, text) in given {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    for name in ["models", "tests"] {
        std::os::unix::fs::symlink(root.join(name), folder.path().join(name)).unwrap();
    }
    let program = Path::new(env!("CARGO_BIN_EXE_zeitnot")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut run = 0;
    for page in PAGES {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        for command in commands(&text) {
            let child = Command::new("sh")
                .args(["-c", &small(&command)])
                .current_dir(folder.path())
                .env("PATH", &path)
                .env("ZEITNOT_OFFLINE", "1")
                .stdin(Stdio::null())
                .output()
                .unwrap();
            // A comparison of speeds may end with 1, as the text says.
            let is_fine =
                child.status.success() || command.contains("--compare") && child.status.code() == Some(1);
            assert!(
                is_fine,
                "{page}: {command}\nas {}: {}",
                small(&command),
                stderr(&child)
            );
            run += 1;
        }
    }
    assert!(run > 15, "only {run} commands are run");
}

#[test]
fn commands_are_made_small_by_their_rule() {
    let text = "<!-- not run: needs a GPU -->\n```sh\nzeitnot bench\n```\n\n```sh\nzeitnot match --games 100 \\\n  --nodes=7 # a match\n```\n\n```\n$ zeitnot\nanswer\n```\n";
    assert_eq!(
        commands(text),
        ["zeitnot match --games 100    --nodes=7", "zeitnot"]
    );
    let expected = "zeitnot match --backend=random --max-plies=10 --games 4 --nodes=5 --out x";
    assert_eq!(small("zeitnot match --games 100 --nodes=7 --out x"), expected);
}
