//! Runs the models of the tree's concurrency (`src/search/tree/models`) under loom, which tries every order of their threads'
//! steps, and every value that a load may return under the orderings given.
//!
//! `cargo test --release --test models` runs all, `cargo test --release --test models -- slab` those with that in their name.

// The tree's files bring unit tests, whose helpers nothing calls here, and what only the search uses.
#![allow(dead_code, unused_imports)]

#[path = "../../src/huge_pages.rs"]
mod huge_pages;
mod network;
mod search;

/// The rules, of which the tree uses moves and the game so far.
mod chess {
    pub(crate) use zeitnot::chess::{History, Move};
}

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

fn main() {
    let filters: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    for &(name, model) in search::tree::models::MODELS {
        if !filters.is_empty() && !filters.iter().any(|filter| name.contains(filter)) {
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
        println!("    {} orders, {:.1} s", runs.load(Ordering::Relaxed), begun.elapsed().as_secs_f64());
    }
}
