//! Tests that what stands in files gets into reports as text, whatever it is: also in a real browser, if one is here.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{stderr, zeitnot};
use crate::pages::seen_by_a_browser;

/// Names that change the page's title if a browser takes them for anything but text.
pub const NAMES: [&str; 3] = [
    "<script>document.title='owned'</script>",
    "x' \"\"></text></svg><img src=x onerror=\"\"document.title='owned'\"\">",
    "&lt;b&gt; ]]> <!-- </style></title><svg onload=\"\"document.title='owned'\"\">\u{1b}[31m",
];

/// Plays two short games and replays them; returns the rows of both commands.
fn rows(folder: &Path) -> [String; 2] {
    let [games, replays] = ["match", "timelab"].map(|name| folder.join(name));
    let pgn = games.join("games.pgn");
    let succeeds = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    };
    let two_games = [
        "match",
        "--backend=random",
        "--nodes=10",
        "--games=2",
        "--max-plies=30",
        "--out",
    ];
    succeeds(zeitnot(&two_games).arg(&games));
    let options = [
        "--backend=random",
        "--manager=legacy",
        "--tc=10+0.1",
        "--min-moves=1",
        "--out",
    ];
    succeeds(
        zeitnot(&["timelab", "--pgn"])
            .arg(pgn)
            .args(options)
            .arg(&replays),
    );
    [games, replays].map(|folder| std::fs::read_to_string(folder.join("games.csv")).unwrap())
}

/// Writes `rows` with `name` in the place of `old`, makes a report and returns its page.
fn page(folder: &Path, rows: &str, old: &str, name: &str) -> PathBuf {
    assert!(rows.contains(old), "{rows}");
    let file = folder.join("rows.csv");
    std::fs::write(&file, rows.replace(old, &format!(",\"{name}\","))).unwrap();
    let out = folder.join("report");
    let output = zeitnot(&["report"])
        .arg(file)
        .arg("--out")
        .arg(&out)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    out.join("index.html")
}

/// Writes the page of each kind of rows with each name in it, and hands it on with its title and the name.
fn each_page(look: impl Fn(&Path, &str, &str)) {
    let made = tempfile::tempdir().unwrap();
    let kinds = [(",A,", "Match"), (",legacy,", "Time managers")];
    for (rows, (old, title)) in rows(made.path()).iter().zip(kinds) {
        for name in NAMES {
            let folder = tempfile::tempdir().unwrap();
            look(&page(folder.path(), rows, old, name), title, name);
        }
    }
}

#[test]
fn names_in_rows_stay_text() {
    each_page(|page, title, _| {
        let html = std::fs::read_to_string(page).unwrap();
        for markup in ["<script", "<img", "<!--", "<svg onload", "\u{1b}"] {
            assert!(!html.contains(markup), "{title}: {markup}");
        }
    });
}

#[test]
#[ignore = "needs Chromium"]
fn names_in_rows_stay_text_in_a_browser() {
    each_page(|page, title, name| {
        let Some(dom) = seen_by_a_browser(&page.display().to_string()) else {
            return;
        };
        assert!(
            dom.contains(&format!("<title>{title}")),
            "{title}: a name was run: {name}"
        );
        assert!(
            !dom.contains("<img") && !dom.contains("<script"),
            "{title}: {name}"
        );
    });
}
