//! Searches for a second, and prints the visits of the moves: `cargo run --release --example search`

use std::error::Error;

use zeitnot_engine::engine::{Engine, Settings};
use zeitnot_engine::time::{Limit, Millis};

/// Searches `position`, as after UCI's `position`, and hands lines of text to `print`.
pub fn search(position: &str, limit: Limit, print: &mut dyn FnMut(String)) -> Result<(), Box<dyn Error>> {
    // Without `for_analysis` a search ends as soon as its move is clear.
    let mut engine = Engine::new(Settings::default().for_analysis())?;
    // Options have UCI's names. Managers are for games on a clock: `Limit::clock`.
    engine.set_option("TimeManager", "smooth(mle-pieces)")?;
    engine.set_position(position)?;
    let (_, found) = engine.search(limit)?;

    found.notes.iter().for_each(|note| print(note.to_string()));
    for (mv, visits) in found.figures.visits() {
        print(format!("{} {visits}", engine.position().format_move(mv)));
    }
    for line in found.info.iter().flat_map(|info| &info.lines) {
        // A move without visits has none.
        let Some(value) = &line.value else { continue };
        // Win minus loss for the side to move, from -1 to 1.
        print(format!(
            "{:+.2} {}",
            value.wl,
            engine.position().format_line(&line.moves).join(" ")
        ));
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let position = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "startpos moves e2e4 e7e5".into());
    search(&position, Limit::movetime(Millis(1000.0)), &mut |line| {
        println!("{line}")
    })
}
