//! Prints each report of a search, which a mate ends: `cargo run --release --example listener`

use std::sync::mpsc::{Sender, channel};
use std::{error::Error, ops::ControlFlow};
use zeitnot_engine::chess::History;
use zeitnot_engine::engine::{Engine, GoRequest, Listener, Settings};
use zeitnot_engine::search::{Outcome, SearchInfo};
use zeitnot_engine::time::Limit;

/// Passes lines of text on from the search's own thread.
struct Reporter(Sender<String>);

impl Listener for Reporter {
    fn info(&mut self, root: &History, info: &SearchInfo) -> ControlFlow<()> {
        for line in &info.lines {
            let Some(value) = &line.value else { continue };
            let moves = root.format_line(&line.moves).join(" ");
            let (wl, visits) = (value.wl, info.nodes);
            let _ = self.0.send(format!("{wl:+.3} after {visits} visits: {moves}"));
            if value.mate.is_some() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
    fn answer(&mut self, root: &History, outcome: Option<Outcome>) {
        let best = outcome.and_then(|outcome| outcome.best);
        let best = best.map_or("no move".into(), |mv| root.format_move(mv));
        let _ = self.0.send(best);
    }
}

/// Searches `position` and hands each line to `print` as soon as it is known.
pub fn search(position: &str, limit: Limit, print: impl FnMut(String)) -> Result<(), Box<dyn Error>> {
    let mut engine = Engine::new(Settings::default())?;
    engine.set_position(position)?;
    let (sender, lines) = channel();
    engine.go(GoRequest::new(limit), Box::new(Reporter(sender)))?;
    lines.into_iter().for_each(print);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    search("startpos", Limit::nodes(1000), |line| println!("{line}"))
}
