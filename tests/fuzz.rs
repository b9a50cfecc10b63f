//! Runs the fuzz targets (`fuzz/`) over their committed corpus and over simple mutations of it: what a fuzzer once found stays
//! mended, and the targets keep building, without cargo-fuzz and a nightly compiler.

#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Returns the time for mutations of each target's corpus: three seconds, or what `ZEITNOT_FUZZ_SECONDS` says.
fn time() -> Duration {
    let seconds = std::env::var("ZEITNOT_FUZZ_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(3))
}

/// Returns the inputs of a target's corpus, in the order of their names.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(name);
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Damages an input as a fuzzer does: bytes are changed, cut out, doubled, or taken from another input.
fn mutated(input: &[u8], other: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..random.usize(1..6) {
        let place = random.usize(0..=bytes.len());
        let end = (place + random.usize(0..16)).min(bytes.len());
        match random.u8(0..5) {
            0 => drop(bytes.drain(place..end)),
            1 => bytes.truncate(place.max(1)),
            2 => drop(bytes.splice(place..place, bytes[place..end].to_vec())),
            3 if !other.is_empty() => {
                let from = random.usize(0..other.len());
                let to = (from + random.usize(1..64)).min(other.len());
                drop(bytes.splice(place..end, other[from..to].iter().copied()));
            }
            _ if place < bytes.len() => bytes[place] = random.u8(..),
            _ => {}
        }
    }
    bytes
}

/// Runs the target over its corpus, and for a while over mutations.
fn exercise(name: &str) {
    let (_, run) = targets::TARGETS
        .into_iter()
        .find(|(known, _)| *known == name)
        .expect("a target");
    let inputs = corpus(name);
    let used = inputs.iter().filter(|input| run(input)).count();
    assert!(used > 0, "no input of {name} is accepted any more");
    let mut random = fastrand::Rng::with_seed(7);
    let (time, began, mut runs) = (time(), Instant::now(), 0);
    while began.elapsed() < time {
        let [input, other] = [0, 1].map(|_| &inputs[random.usize(0..inputs.len())]);
        run(&mutated(input, other, &mut random));
        runs += 1;
    }
    println!(
        "{name}: {used} of {} inputs are of use, {runs} mutations",
        inputs.len()
    );
}

macro_rules! targets {
    ($($name:ident),*) => {
        $(#[test] fn $name() { exercise(stringify!($name)); })*

        #[test]
        fn every_target_is_run() {
            let names = [$(stringify!($name)),*];
            assert!(targets::TARGETS.iter().all(|(name, _)| names.contains(name)));
        }
    };
}

targets!(
    library, network, openings, parameters, pgn, position, record, rows, uci
);
