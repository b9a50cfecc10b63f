//! Runs the models of the tree's concurrency (`crates/engine/src/search/tree/models.rs`) and of a search's life (`state/models.rs` beside
//! it) under loom, which tries every order of their threads' steps, and every value that a load may return under the orderings given.
//!
//! As they take minutes, they are ignored tests: `cargo test --release --test models -- --ignored` runs all, and
//! `-- --ignored slab` those with that in their name. With `LOOM_MAX_PREEMPTIONS=3` in the environment they take seconds.

// The tree's files bring unit tests, whose helpers nothing calls here, and what only the search uses.
#![allow(dead_code, unused_imports)]

mod network;
mod search;
mod system;

/// Why a rule ends a search.
mod time {
    pub(crate) use zeitnot_engine::time::StopReason;
}

/// The rules, of which the tree uses moves and the game so far.
mod chess {
    pub(crate) use zeitnot_engine::chess::{History, Move};
}

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

fn main() {
    let (flags, filters): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|arg| arg.starts_with('-'));
    let is_wanted = flags
        .iter()
        .any(|flag| ["--ignored", "--include-ignored"].contains(&flag.as_str()));
    let models = search::tree::models::MODELS
        .iter()
        .chain(search::life_models::MODELS)
        .copied();
    if flags.iter().any(|flag| flag == "--list") {
        return models.for_each(|(name, _)| println!("{name}: test"));
    }
    let (mut passed, mut ignored) = (0, 0);
    for (name, model) in models {
        if !is_wanted || !filters.is_empty() && !filters.iter().any(|filter| name.contains(filter)) {
            ignored += 1;
            continue;
        }
        let (begun, runs) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let counted = runs.clone();
        let mut explorer = loom::model::Builder::new();
        explorer.max_branches = 20_000;
        println!("{name} …");
        explorer.check(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            search::sync::thread::spawn(model).join().unwrap();
        });
        println!(
            "    {} orders, {:.1} s",
            runs.load(Ordering::Relaxed),
            begun.elapsed().as_secs_f64()
        );
        passed += 1;
    }
    // In the words of other test programs, for those who add their lines up.
    println!("test result: ok. {passed} passed; 0 failed; {ignored} ignored; 0 measured; 0 filtered out");
}
