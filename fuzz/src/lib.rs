//! What is fuzzed: one function for each kind of input that comes from outside.
//!
//! libFuzzer calls them (`fuzz/bins`), and `tests/fuzz.rs` of the main crate with the committed corpus and simple mutations of it. Each
//! returns whether the input was of use, so that a corpus which no longer is gets noticed.

pub mod library;
pub mod network;
pub mod openings;
pub mod parameters;
pub mod pgn;
pub mod position;
pub mod record;
pub mod rows;
pub mod uci;

/// A target: its name, which is also that of its corpus, and its function.
pub type Target = (&'static str, fn(&[u8]) -> bool);

/// All targets.
pub const TARGETS: [Target; 9] = [
    ("library", library::run),
    ("network", network::run),
    ("openings", openings::run),
    ("parameters", parameters::run),
    ("pgn", pgn::run),
    ("position", position::run),
    ("record", record::run),
    ("rows", rows::run),
    ("uci", uci::run),
];

/// Writes `data` to a file of this name, which lives as long as the folder that is returned with it.
fn file(name: &str, data: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder for the input");
    let path = folder.path().join(name);
    std::fs::write(&path, data).expect("room for the input");
    (folder, path)
}
