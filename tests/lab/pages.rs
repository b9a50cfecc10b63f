//! Tests the pages of all commands: what each names, and in a real browser, if one is here, that nothing is cut off at any width.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use zeitnot_engine::system::tool::output_within;

use crate::common::{skipped, stderr, zeitnot};

/// Returns the page at a path, with `#` and a place in it if any, as a browser sees it after it has run what there is to run; `None`, with a message, where no browser is.
pub fn seen_by_a_browser(page: &str) -> Option<String> {
    // Twice each: under load one may hang.
    let mut browsers = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .flat_map(|name| [name; 2]);
    let seen = browsers.find_map(|browser| {
        // A profile of its own: two browsers with one wait for each other.
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new(browser);
        command
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--virtual-time-budget=3000",
                "--dump-dom",
            ])
            .arg(format!("file://{page}"));
        let output = output_within(&mut command, Duration::from_secs(60)).ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned()).filter(|dom| !dom.is_empty())
    });
    if seen.is_none() {
        skipped("no Chromium is installed to look at the page");
    }
    seen
}

/// Shows the page in frames of three widths, and lists what is wider than its frame.
const FRAMES: &str = r#"<!DOCTYPE html><body><script>
const told = [];
addEventListener('message', ({ data }) => { told.push(data); document.body.dataset.told = told.sort().join('; '); });
for (const width of [390, 900, 1400]) {
  const frame = document.createElement('iframe');
  frame.src = 'index.html#20';
  frame.style = `width:${width}px;height:900px`;
  document.body.append(frame);
}
</script></body>"#;

/// Tells the frame's parent what is cut off. What scrolls in its own box may be wider.
const MEASURE: &str = r#"<script>
setTimeout(() => {
  const cut = document.documentElement.scrollWidth > innerWidth ? ['the page'] : [];
  const figure = document.querySelector('.key-figure');
  if (figure && figure.getBoundingClientRect().bottom > 600) cut.push('the key figure is not on the first screen');
  document.querySelectorAll('body *').forEach((one) => {
    const { left, right, width } = one.getBoundingClientRect();
    const isOut = width > 0 && (left < -1 || right > innerWidth + 1) && !one.closest('.table');
    const isCut = getComputedStyle(one).overflowX === 'hidden' && one.scrollWidth > one.clientWidth && one.tagName !== 'svg';
    if (isOut || isCut) cut.push(`${one.tagName} ${one.className.baseVal ?? one.className}`);
  });
  parent.postMessage(`${innerWidth}: ${cut.slice(0, 5).join(', ') || 'whole'}`, '*');
}, 500);
</script></body>"#;

/// Looks at the page of a folder in three widths.
pub fn assert_nothing_is_cut_off(folder: &Path) {
    let page = folder.join("index.html");
    let html = std::fs::read_to_string(&page).unwrap();
    std::fs::write(&page, html.replace("</body>", MEASURE)).unwrap();
    let frames = folder.join("frames.html");
    std::fs::write(&frames, FRAMES).unwrap();
    let Some(dom) = seen_by_a_browser(&frames.display().to_string()) else {
        return;
    };
    let whole = "data-told=\"1400: whole; 390: whole; 900: whole\"";
    assert!(
        dom.contains(whole),
        "{}: {}",
        folder.display(),
        &dom[dom.find("<body").unwrap()..]
    );
}

/// Shows the page in light and in dark, and lets axe-core (`npm install --global axe-core`) look at it.
pub fn assert_accessible(folder: &Path) {
    let root = Command::new("npm").args(["root", "--global"]).output();
    let root = root
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default();
    let Ok(axe) = std::fs::read_to_string(Path::new(&root).join("axe-core/axe.min.js")) else {
        return skipped("no axe-core is installed to look at the page");
    };
    let tell = "axe.run().then(({ violations }) => { document.body.dataset.axe = violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`).join('; ') || 'none'; })";
    let html = std::fs::read_to_string(folder.join("index.html")).unwrap();
    for scheme in ["light", "dark"] {
        let page = folder.join(format!("{scheme}.html"));
        let html = html.replace(
            "(prefers-color-scheme:dark)",
            if scheme == "dark" { "all" } else { "not all" },
        );
        std::fs::write(
            &page,
            html.replace(
                "</body>",
                &format!("<script>{axe}</script><script>{tell}</script></body>"),
            ),
        )
        .unwrap();
        let Some(dom) = seen_by_a_browser(&page.display().to_string()) else {
            return;
        };
        assert!(
            dom.contains("data-axe=\"none\""),
            "{scheme}: {}",
            &dom[dom.find("<body").unwrap()..]
        );
    }
}

fn run(command: &[&str], out: &Path) -> String {
    let output = zeitnot(command).arg("--out").arg(out).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", stderr(&output));
    std::fs::read_to_string(out.join("index.html")).unwrap()
}

/// Makes the page of each command, and looks at each with its text.
fn each_page(look: impl Fn(&Path, &str)) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = |name: &str| path(name).to_str().unwrap().to_owned();
    let long = "--a=name=A-very-long-name-without-any-space-in-it-as-some-have,CPuct=2.5";
    let games = ["match", "--backend=random", "--max-plies=30", long, "--games=4"];
    let clocks = [&games[..], &["--tc=1+0.01", "--nodestime=1"]].concat();
    run(&clocks, &path("clocks"));
    run(
        &[&games[..], &["--nodes=20", "--sprt=elo0=0,elo1=5"]].concat(),
        &path("nodes"),
    );
    let rows = text("clocks/games.csv");
    run(&["report", &rows, &text("nodes/games.csv")], &path("report"));
    let pgn = text("clocks/games.pgn");
    let managers = [
        "--manager=legacy",
        "--manager=smooth(mle-pieces,move-weight=stakes,init-timeuse=1)",
    ];
    run(
        &[
            &["timelab", "--pgn", &pgn, "--tc=10+0.1", "--min-moves=1"],
            &managers[..],
        ]
        .concat(),
        &path("timelab"),
    );
    run(
        &["movesleft", "--backend=random", "--pgn", &pgn],
        &path("movesleft"),
    );
    let tune = [
        "tune",
        "--backend=random",
        "--nodes=10",
        "--max-plies=20",
        "--games=8",
        "--params=CPuct=2|3,FpuValue=0.3|0.1",
    ];
    run(&tune, &path("tune"));
    run(
        &["benchmark", "--backend=random", "--nodes=50", "--num-positions=3"],
        &path("benchmark"),
    );
    run(
        &[
            "backendbench",
            "--backend=random",
            "--batches=1,8",
            "--rounds=2",
            "--round-ms=2",
        ],
        &path("backendbench"),
    );
    for name in [
        "clocks",
        "nodes",
        "report",
        "timelab",
        "movesleft",
        "tune",
        "benchmark",
        "backendbench",
    ] {
        let html = std::fs::read_to_string(path(name).join("index.html")).unwrap();
        look(&path(name), &html);
    }
}

#[test]
fn every_page_begins_with_its_key_figure_and_names_what_made_it() {
    each_page(|folder, html| {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let (_, body) = html.split_once("</h1>").unwrap();
        assert!(
            body.starts_with("\n<p class=\"key-figure\"><b>"),
            "{name}: {html}"
        );
        for text in [
            "<pre>zeitnot ",
            "<dt>machine</dt>",
            "<dt>version</dt>",
            "<dt>date</dt>",
        ] {
            assert!(html.contains(text), "{name}: {text}");
        }
        if name == "clocks" || name == "nodes" {
            for fact in [
                "<dt>options of A-very-long-name",
                "<dt>network</dt>",
                "<dt>limit</dt>",
                "<dt>openings</dt>",
                "undecided",
            ] {
                assert!(html.contains(fact), "{name}: {fact}");
            }
            // A regression: without clocks, their plots were empty.
            assert_eq!(html.contains("Clock before a move"), name == "clocks", "{name}");
        }
    });
}

#[test]
#[ignore = "needs Chromium"]
fn no_page_is_cut_off_on_a_phone_or_a_wide_window() {
    each_page(|folder, _| assert_nothing_is_cut_off(folder));
}

#[test]
#[ignore = "needs Chromium and axe-core"]
fn every_page_is_accessible() {
    each_page(|folder, _| assert_accessible(folder));
}
