//! Tests what commands make of files as people have them: those of `tests/data/wild`, and others that are made here.

use std::fs;

use serde_json::Value;

use crate::common::{assert_refused, data, run, run_json, run_with_input, stderr, stdout, zeitnot};

const MATE: &str = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - -";

fn wild(name: &str) -> String {
    data("wild").join(name).display().to_string()
}

fn solved(file: &str) -> Value {
    run_json(&[
        "solve",
        file,
        "--backend=random",
        "--nodes=200",
        "--threads=1",
        "--json",
    ])
}

/// Returns the positions that a list has, as after UCI's `position`.
fn evaluated(file: &str) -> Vec<String> {
    let output = run(&["eval", file, "--backend=random", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let position = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["network_sha256"].is_null(), "{line}");
        assert_eq!(
            line["backend"],
            "numbers from a hash of the position, seed 0, no network"
        );
        line["position"].as_str().unwrap().into()
    };
    stdout(&output).lines().map(position).collect()
}

/// A regression: some of them were refused, with false reasons.
#[test]
fn suites_are_read_as_they_are_meant() {
    for (file, asked) in [
        ("bom.epd", "bm Rd8#"),
        ("castling.epd", "bm 0-0"),
        ("ctrl-z.epd", "bm Bb5"),
        ("dashes.epd", "bm Rxf4"),
        ("mate.epd", "bm #1"),
        ("semicolon.epd", "bm Rd8#"),
    ] {
        let report = solved(&wild(file));
        assert_eq!(
            (&report["positions"], &report["bad_lines"]),
            (&1.into(), &0.into()),
            "{report}"
        );
        assert_eq!(report["rows"][0]["asked"], asked);
        let is_easy = ["bom.epd", "mate.epd", "semicolon.epd"].contains(&file);
        assert!(
            !is_easy || report["solved"] == 1 && report["mean_nodes"].as_f64() > Some(0.0),
            "{report}"
        );
    }
}

/// A regression: lines that end with NUL were no text.
#[test]
fn what_systems_write_behind_lines_is_not_read() {
    let rows = solved(&wild("nul.epd"))["rows"].clone();
    assert_eq!(
        (&rows[0]["asked"], &rows[1]["asked"]),
        (&"bm Bb5".into(), &"bm Bc4".into()),
        "{rows}"
    );
    assert_eq!(
        solved(&wild("points-below-zero.epd"))["rows"][0]["points"]["most"],
        10
    );
}

/// A regression: what followed a position was passed over.
#[test]
fn what_is_left_over_behind_a_position_is_refused() {
    assert_eq!(
        evaluated(&wild("moves-without-word.txt")),
        ["startpos moves e2e4 e7e5"]
    );
    assert_eq!(
        evaluated(&wild("fen-comma-move.csv")),
        ["fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 moves e2e4"]
    );
    assert_refused(
        &run(&["eval", &wild("three-fields.epd"), "--backend=random"]),
        "line 1: a field is missing before bm",
    );
}

/// A regression: counters with a semicolon were refused, and moves passed over.
#[test]
fn lists_of_positions_have_counters_and_moves() {
    let counters = "fen 8/8/8/8/8/5k2/6q1/7K w - - 99 120";
    let played = "fen rq3rk1/ppp2ppp/1bnpb3/3N2B1/3NP3/7P/PPPQ1PP1/2KR3R w - - 7 14 moves d4e6";
    assert_eq!(evaluated(&wild("fen-moves.txt")), [played]);
    let folder = tempfile::tempdir().unwrap();
    // The position of this file is mate, which no network is asked about.
    let text = fs::read_to_string(data("wild/counter-semicolon.epd"))
        .unwrap()
        .replace("5k2/6q1", "5k2/8");
    let file = folder.path().join("a.epd").display().to_string();
    fs::write(&file, text).unwrap();
    assert_eq!(evaluated(&file), [counters.replace("5k2/6q1", "5k2/8")]);
    let bench = run_json(&[
        "bench",
        "--positions",
        &wild("fen-moves.txt"),
        "--backend=random",
        "--nodes=10",
        "--json",
    ]);
    assert_eq!(bench["positions"][0]["position"], played);
}

/// Returns `text`, which holds letters of Latin-1, in every encoding.
fn encoded(text: &str) -> Vec<Vec<u8>> {
    let marked = format!("\u{feff}{text}");
    vec![
        text.as_bytes().to_vec(),
        marked.as_bytes().to_vec(),
        text.chars()
            .map(|c| u8::try_from(u32::from(c)).unwrap())
            .collect(),
        marked.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        marked.encode_utf16().flat_map(u16::to_be_bytes).collect(),
    ]
}

#[test]
fn encodings_and_ends_of_lines_are_read_alike() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("suite.txt").display().to_string();
    let config = folder.path().join("own.config").display().to_string();
    for end in ["\n", "\r\n", "\r"] {
        let suite = [
            &format!("{MATE} bm Rd8; id \"Ján\";"),
            "# é",
            "",
            &format!("{MATE} bm Kf1;"),
        ]
        .join(end);
        for bytes in encoded(&suite) {
            fs::write(&file, bytes).unwrap();
            let rows = solved(&file)["rows"].clone();
            assert_eq!(
                (&rows[0]["id"], &rows[1]["id"]),
                (&"Ján".into(), &"line 4".into()),
                "{suite:?}"
            );
            assert_eq!(evaluated(&file).len(), 2);
        }
        for bytes in encoded(&["# é", "threads=1", "no-such-flag=1"].join(end)) {
            fs::write(&config, bytes).unwrap();
            assert_refused(&run(&["--config", &config]), "own.config, line 3:");
        }
        // UTF-16 is for files: whoever sends lines as they come is not looked at first.
        for bytes in &encoded(&["{\"id\":\"Ján\",\"nodes\":3}", "", "rubbish"].join(end))[..3] {
            let output = run_with_input(&mut zeitnot(&["serve", "--backend=random", "--threads=1"]), bytes);
            let answers: Vec<Value> = stdout(&output)
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            assert!(
                answers
                    .iter()
                    .any(|answer| answer["id"] == "Ján" && answer["visits"] == 3),
                "{answers:?}"
            );
            let is_named = |answer: &Value| {
                answer["error"]
                    .as_str()
                    .is_some_and(|text| text.starts_with("line 3: "))
            };
            assert!(answers.iter().any(is_named), "{answers:?}");
        }
    }
}

/// A regression: the file was read as lines of nonsense, or not at all and without its name.
#[test]
fn files_that_are_something_else_are_named_by_every_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.epd").display().to_string();
    for (start, name) in [
        (&fs::read(data("wild/html.pgn")).unwrap()[..], "a web page"),
        (b"\xfd7zXZ\0\0\x04\xe6", "an xz file"),
        (b"7z\xbc\xaf\x27\x1c\0\x04", "a 7z archive"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n",
            "a pointer of Git LFS, not the file",
        ),
        (
            b"8\0/\x008\0/\x008\0/\x008\0",
            "text in UTF-16 without a byte order mark",
        ),
        (b"\x01\x02\x03\x04\0\0\x1f\x7f", "no text but binary data"),
    ] {
        fs::write(&path, start).unwrap();
        for arguments in [
            &["solve", &path, "--backend=random"][..],
            &["eval", &path, "--backend=random"],
            &["bench", "--positions", &path, "--backend=random"],
            &["--config", &path],
        ] {
            let output = run(arguments);
            assert_refused(&output, &format!("it is {name} ("));
            assert!(stderr(&output).contains(&path), "{}", stderr(&output));
        }
        if name.contains("xz") || name.contains("LFS") {
            assert_refused(
                &run(&["describenet", "--weights", &path]),
                &format!("content: {name} ("),
            );
        }
    }
}

#[test]
fn a_suite_is_found_in_its_archive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("suite.zip");
    let mut zip = zip::ZipWriter::new(fs::File::create(&path).unwrap());
    for (name, text) in [("README.md", "See"), ("suites/a.epd", &format!("{MATE} bm Rd8;"))] {
        zip.start_file(name, zip::write::SimpleFileOptions::default())
            .unwrap();
        std::io::Write::write_all(&mut zip, text.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    let output = run(&["solve", path.to_str().unwrap(), "--backend=random", "--nodes=50"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("suites/a.epd is read, ignored: README.md"),
        "{}",
        stderr(&output)
    );
}

/// A regression: `bench` named neither the line nor the position.
#[test]
fn a_bad_position_is_named_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.epd").display().to_string();
    for bad in ["8/8/8/8 w - -", "startpos moves e2e5"] {
        fs::write(&path, format!("# mine\n{MATE}\n{bad}\n")).unwrap();
        assert_refused(
            &run(&["bench", "--positions", &path, "--backend=random"]),
            "a.epd, line 3: ",
        );
    }
}

/// A regression: a pipe to which nobody writes was waited for without end.
#[cfg(unix)]
#[test]
fn a_pipe_is_no_network() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("a.pb.gz");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    for path in [pipe.as_path(), "/dev/zero".as_ref()] {
        let mut command = zeitnot(&["describenet", "--weights", path.to_str().unwrap()]);
        let mut process = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        let begun = std::time::Instant::now();
        while process.try_wait().unwrap().is_none() && begun.elapsed().as_secs() < 60 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let _ = process.kill();
        assert_refused(
            &process.wait_with_output().unwrap(),
            "it is a pipe or a device, name a file on a disk",
        );
    }
}
