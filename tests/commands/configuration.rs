//! Tests that all commands read the configuration file that the engine reads.

use std::fs;

use crate::common::installed::Installed;
use crate::common::{assert_refused, network, stderr, stdout};

/// Copies a network to where it is not found without being named.
fn add_network(installed: &Installed) {
    fs::create_dir(installed.path("nets")).unwrap();
    fs::copy(network("tiny.pb.gz"), installed.path("nets/my.pb.gz")).unwrap();
}

/// A regression: what `setup --auto` and users wrote into the file held for the engine only.
#[test]
fn every_command_that_evaluates_reads_the_configuration_and_says_so_in_one_line() {
    let installed = Installed::new();
    add_network(&installed);
    let path = installed
        .configure("weights=nets/my.pb.gz\nbackend-opts=precision=fp32\nbackend=native\nthreads=1\n");
    let suite = installed.path("suite.epd").display().to_string();
    fs::write(
        &suite,
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - bm e4;\n",
    )
    .unwrap();
    let mut commands = vec![
        vec!["bench", "--nodes=5"],
        vec!["benchmark", "--nodes=5", "--num-positions=1"],
        vec!["backendbench", "--batches=1", "--rounds=1"],
        vec!["accuracy", "--positions=1", "--reference=trivial"],
        vec!["solve", &suite, "--nodes=1"],
        vec!["eval", "startpos"],
        vec!["serve"],
    ];
    commands.push(vec!["match", "--games=2", "--nodes=1", "--max-plies=4"]);
    for command in commands {
        let said = |more: &[&str]| {
            let output = installed.run(&[&command[..], more].concat(), "");
            assert!(output.status.success(), "{command:?}: {}", stderr(&output));
            stderr(&output).to_owned()
        };
        let text = said(&[]);
        let line = format!(
            "zeitnot: options from the configuration file {}: weights, ",
            path.display()
        );
        assert_eq!(text.matches(&line).count(), 1, "{command:?}: {text}");
        assert!(
            text.contains("using ") && text.contains("/my.pb.gz, "),
            "{command:?}: {text}"
        );
        assert!(!text.contains("zeitnot-small"), "{command:?}: {text}");
        for without in [
            &["--no-config", "--backend=trivial"][..],
            &["--config=", "--backend=trivial"],
        ] {
            let text = said(without);
            assert!(
                !text.contains("configuration") && !text.contains("my.pb.gz"),
                "{command:?}: {text}"
            );
        }
        // The command line wins, and a backend that it names comes with its own parameters.
        let text = said(&["--backend=trivial"]);
        assert!(
            text.contains("configuration") && !text.contains("my.pb.gz"),
            "{command:?}: {text}"
        );
    }
    // Commands that evaluate nothing have nothing to do with it.
    let output = installed.run(&["perft", "1"], "");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}

#[test]
fn a_mistake_in_the_configuration_ends_a_command_with_file_and_line() {
    let installed = Installed::new();
    for (lines, place) in [
        ("threads=1\nthread=2\n", "line 2"),
        ("\n-t 2\n", "line 2"),
        ("threads=900\n", "line 1"),
    ] {
        let path = installed.configure(lines);
        let output = installed.run(&["bench", "--backend=trivial", "--nodes=5"], "");
        assert_refused(
            &output,
            &format!("configuration file {}, {place}", path.display()),
        );
        assert_eq!(
            installed
                .run(&["bench", "--backend=trivial", "--nodes=5", "--no-config"], "")
                .status
                .code(),
            Some(0)
        );
    }
}

/// `setup --auto` writes `backend=` into the file: the doctor must try the others all the same.
#[test]
fn the_doctor_and_comparisons_are_not_told_what_they_are_to_find_out() {
    let installed = Installed::new();
    add_network(&installed);
    installed
        .configure("weights=nets/my.pb.gz\nbackend=trivial\nfallback=cpu\nthreads=2\nminibatch-size=7\n");
    let flags = [
        "benchmark",
        "--backends=native(precision=fp32)",
        "--nodes=5",
        "--num-positions=1",
    ];
    let output = installed.run(&flags, "");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("my.pb.gz, "), "{}", stdout(&output));
    let output = installed.run(&["doctor", "--backend=native", "--json"], "");
    assert!(
        stdout(&output).contains("my.pb.gz, ") && !stdout(&output).contains("trivial"),
        "{}",
        stdout(&output)
    );
}
