//! Tests that what stands in files gets into reports as text, whatever it is: also in a real browser, if one is here.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{package_file, stderr, zeitnot};

/// Names that change the page's title if a browser takes them for anything but text.
const NAMES: [&str; 3] = [
    "<script>document.title='owned'</script>",
    "x' \"\"></text></svg><img src=x onerror=\"\"document.title='owned'\"\">",
    "&lt;b&gt; ]]> <!-- </style></title><svg onload=\"\"document.title='owned'\"\">\u{1b}[31m",
];

/// Writes rows of the corpus with `name` in the place of `old`, makes a report and returns its page.
fn page(folder: &Path, rows: &str, old: &str, name: &str) -> PathBuf {
    let text = std::fs::read_to_string(package_file("fuzz/corpus/rows").join(rows)).unwrap();
    assert!(text.contains(old));
    let file = folder.join("rows.csv");
    std::fs::write(&file, text.replace(old, &format!(",\"{name}\","))).unwrap();
    let out = folder.join("report");
    let output = zeitnot(&["report"]).arg(file).arg("--out").arg(&out).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    out.join("index.html")
}

/// Returns the page as a browser sees it after it has run what there is to run; `None` where no browser is.
fn seen_by_a_browser(page: &Path) -> Option<String> {
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    browsers.iter().find_map(|browser| {
        let output = Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000", "--dump-dom"])
            .arg(format!("file://{}", page.display()))
            .stderr(Stdio::null())
            .output()
            .ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned()).filter(|dom| !dom.is_empty())
    })
}

#[test]
fn names_in_rows_stay_text() {
    let kinds = [("match-games.csv", ",A,", "Matches"), ("timelab-games.csv", ",legacy,", "Time managers")];
    let mut browsed = 0;
    for (rows, old, title) in kinds {
        for name in NAMES {
            let folder = tempfile::tempdir().unwrap();
            let path = page(folder.path(), rows, old, name);
            let html = std::fs::read_to_string(&path).unwrap();
            for markup in ["<script", "<img", "<!--", "<svg onload", "\u{1b}"] {
                assert!(!html.contains(markup), "{rows}: {markup}");
            }
            if let Some(dom) = seen_by_a_browser(&path) {
                browsed += 1;
                assert!(dom.contains(&format!("<title>{title}")), "{rows}: a name was run: {name}");
                assert!(!dom.contains("<img") && !dom.contains("<script"), "{rows}: {name}");
            }
        }
    }
    if browsed == 0 {
        eprintln!("skipped: no Chromium is here to look at the pages");
    }
}
