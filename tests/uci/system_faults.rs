//! Tests what the system may do to a session: signals, a clock of the day that jumps.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::engine::Engine;
use crate::common::{program, run_with_input, stdout};

/// The time within which a process must have ended that was told to; long enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn signals_end_the_engine_in_the_middle_of_a_search() {
    use std::os::unix::process::ExitStatusExt;
    for (name, number) in [("TERM", 15), ("INT", 2), ("HUP", 1)] {
        if is_ignored(number) {
            eprintln!(
                "SIG{name} is ignored here, and so it is by every process that is started here: not tested"
            );
            continue;
        }
        let mut engine = Engine::random();
        engine.ask(&["go infinite"], "info");
        let process = &mut engine.process;
        let sent = Command::new("kill")
            .args(["-s", name, &process.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        let began = Instant::now();
        let status = loop {
            if let Some(status) = process.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < PATIENCE, "SIG{name} does not end the process");
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(status.signal(), Some(number as i32), "{status}");
    }
}

/// 64 threads are more than 64 MB have room for. Once one is left, their memory is the system's again.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn memory_of_threads_is_limited_and_comes_back() {
    let mut engine = Engine::start(&["--weights=<built in>", "--backend=native"]);
    let file = format!("/proc/{}/status", engine.process.id());
    let mut resident = |ram_limit: &str, threads: &str| {
        engine.set(&[("RamLimitMb", ram_limit), ("Threads", threads)]);
        let told = engine.search(&["go nodes 4000"]);
        let status = fs::read_to_string(&file).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        let kilobytes: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        let is_short = told.iter().any(|line| line.contains("no room for 64 threads"));
        (kilobytes / 1000, is_short)
    };
    let megabytes = [("64", "1"), ("64", "64"), ("2000", "64"), ("2000", "1")]
        .map(|(ram_limit, threads)| resident(ram_limit, threads));
    let [(few, false), (limited, true), (_, false), (few_again, false)] = megabytes else {
        panic!("{megabytes:?}")
    };
    assert!(limited < few + 64 && few_again < few + 40, "{megabytes:?}");
}

/// What a thread takes beside its stack would end the process.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn a_limit_of_addresses_ends_no_search() {
    for megabytes in [150, 200, 250] {
        let limit = format!("ulimit -v {megabytes}000; exec \"$0\" \"$@\"");
        let own = env!("CARGO_BIN_EXE_zeitnot");
        let mut shell = program(
            Path::new("sh"),
            &["-c", &limit, own, "--backend=random", "--threads=4"],
        );
        let output = run_with_input(&mut shell, "go nodes 60000\n");
        let best = stdout(&output).lines().last().unwrap_or_default();
        let has_move = best.starts_with("bestmove ") && !best.contains("none");
        assert!(output.status.success() && has_move, "{megabytes} MB: {output:?}");
    }
}

/// Returns whether this process ignores a signal: as a shell's background jobs do SIGINT, or what `nohup` starts SIGHUP.
fn is_ignored(number: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_some_and(|mask| {
        let mask = u64::from_str_radix(mask.trim(), 16).expect("a mask in hexadecimal digits");
        mask >> (number - 1) & 1 == 1
    })
}

/// A library crashes that takes itself down while a device's thread is within it.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs a C compiler, and a loader that preloads libraries"]
fn nothing_is_taken_down_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("crashing.c");
    fs::write(
        &source,
        "void abort(void); __attribute__((destructor)) static void end(void) { abort(); }",
    )
    .unwrap();
    let library = compiled(&source, folder.path());
    let mut command = crate::common::zeitnot(&["--backend=random", "--threads=1"]);
    let output = run_with_input(command.env("LD_PRELOAD", library), "go nodes 10\nquit\n");
    assert!(output.status.success(), "{output:?}");
    assert!(stdout(&output).contains("\nbestmove "), "{output:?}");
}

/// The library that a C compiler makes of a file.
#[cfg(target_os = "linux")]
fn compiled(source: &Path, folder: &Path) -> PathBuf {
    let library = folder.join("preloaded.so");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut compile = Command::new(compiler);
    compile
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(source);
    assert!(compile.arg("-ldl").status().unwrap().success());
    library
}

/// The system's clock is set, by hours and in both directions, whenever anybody reads it.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs a C compiler, and a loader that preloads libraries"]
fn time_management_does_not_notice_jumps_of_the_clock() {
    use crate::common::{package_file, zeitnot};

    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let library = compiled(&package_file("tests/uci/clock_jumps.c"), folder.path());
    let mut command = zeitnot(&["--backend=random", "--threads=1"]);
    let mut engine = Engine::spawn(
        command
            .env("LD_PRELOAD", &library)
            .arg(format!("--logfile={}", log.display())),
    );
    let mut position = "position startpos moves".to_owned();
    for turn in 0..8 {
        let go = if turn % 2 == 0 {
            "go movetime 300"
        } else {
            "go wtime 3000 btime 3000 winc 100 binc 100"
        };
        let began = Instant::now();
        let best = engine.best_move(&[&position, go]);
        let elapsed = began.elapsed();
        assert!(elapsed < PATIENCE, "{go}: {elapsed:?}");
        if turn % 2 == 0 {
            assert!(elapsed > Duration::from_millis(50), "{go}: {elapsed:?}");
        }
        position += &format!(" {best}");
    }
    drop(engine);
    // The log has the clock of the day: it shows that the jumps took place.
    let text = fs::read_to_string(log).unwrap();
    let days: std::collections::BTreeSet<_> = text.lines().filter_map(|line| line.get(..10)).collect();
    assert!(days.len() >= 2, "the clock did not jump: {days:?}");
}
