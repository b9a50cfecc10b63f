//! Prints each report of a search while it runs: `cargo run --release --example listener`

use std::error::Error;
use std::sync::mpsc::{Sender, channel};

use zeitnot_engine::chess::History;
use zeitnot_engine::engine::{Engine, GoRequest, Listener, Settings};
use zeitnot_engine::time::Limit;
use zeitnot_engine::{
    note::Note,
    search::{Outcome, SearchInfo},
};

/// Passes lines of text on from the search's own thread. Nobody may be listening.
struct Reporter(Sender<String>);

impl Listener for Reporter {
    fn info(&mut self, root: &History, info: &SearchInfo) {
        for line in &info.lines {
            // A move without visits has none.
            let Some(value) = &line.value else { continue };
            let score = value
                .mate
                .map_or_else(|| format!("{:+.3}", value.wl), |moves| format!("#{moves}"));
            let moves = root.format_line(&line.moves).join(" ");
            let _ = self
                .0
                .send(format!("{score} after {} visits: {moves}", info.nodes));
        }
    }

    fn note(&mut self, note: Note) {
        let _ = self.0.send(note.to_string());
    }

    fn answer(&mut self, root: &History, outcome: Option<Outcome>) {
        let _ = self.0.send(
            outcome
                .and_then(|outcome| outcome.best)
                .map_or("no move".into(), |mv| format!("best {}", root.format_move(mv))),
        );
    }
}

/// Searches `position` and hands each line to `print` as soon as it is known.
pub fn search(position: &str, nodes: u64, print: impl FnMut(String)) -> Result<(), Box<dyn Error>> {
    let mut engine = Engine::new(Settings::default())?;
    engine.set_position(position)?;
    let (sender, lines) = channel();
    engine.go(GoRequest::new(Limit::nodes(nodes)), Box::new(Reporter(sender)))?;
    lines.into_iter().for_each(print);
    Ok(())
}

#[allow(dead_code, reason = "a test calls the search itself")]
fn main() -> Result<(), Box<dyn Error>> {
    search("startpos moves e2e4 e7e5", 1000, |line| println!("{line}"))
}
