//! Searches a position with the library, and prints each report: score, visits, principal variation.
//!
//! `cargo run --release --example search -- "startpos moves e2e4 e7e5" 2000`

use std::error::Error;
use std::sync::mpsc::{Sender, channel};

use zeitnot_engine::chess::{History, Move};
use zeitnot_engine::engine::{Engine, GoRequest, Listener, SearchAnswer, Settings};
use zeitnot_engine::note::Note;
use zeitnot_engine::search::SearchInfo;
use zeitnot_engine::time::{GoLimits, Nodes};

/// Hears of the search on the search's own thread, and passes lines of text on.
struct Reporter(Sender<String>);

impl Reporter {
    fn say(&self, line: String) {
        // Nobody may be listening any more.
        let _ = self.0.send(line);
    }
}

impl Listener for Reporter {
    fn info(&mut self, root: &History, info: &SearchInfo) {
        for line in &info.lines {
            // Win minus loss, from the point of view of the side to move.
            let score = line.mate.map_or_else(|| format!("{:+.3}", line.wl), |moves| format!("#{moves}"));
            self.say(format!("{score} after {} visits: {}", info.nodes, format_line(root, &line.moves)));
        }
    }

    fn note(&mut self, note: Note) {
        self.say(note.to_string());
    }

    fn answer(&mut self, root: &History, answer: SearchAnswer) {
        self.say(answer.best.map_or("no legal move".into(), |mv| format!("best {}", root.format_move(mv))));
    }
}

fn format_line(root: &History, moves: &[Move]) -> String {
    let mut game = root.clone();
    let format = |&mv: &Move| {
        let text = game.format_move(mv);
        game.push(mv);
        text
    };
    moves.iter().map(format).collect::<Vec<_>>().join(" ")
}

/// Searches `position`, as after UCI's `position`, and hands each line to `print` as soon as it is known.
///
/// # Errors
/// Fails if the position is refused, or there is no network.
pub fn search(position: &str, nodes: u64, print: impl FnMut(String)) -> Result<(), Box<dyn Error>> {
    let mut engine = Engine::new(Settings::default())?;
    engine.set_option("MultiPV", "2")?;
    engine.set_position(position)?;
    let (sender, lines) = channel();
    let limits = GoLimits { nodes: Some(Nodes(nodes)), ..GoLimits::default() };
    engine.go(GoRequest::new(limits), Box::new(Reporter(sender)))?;
    lines.into_iter().for_each(print);
    Ok(())
}

#[allow(dead_code, reason = "a test calls the search itself")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let position = arguments.next().unwrap_or_else(|| "startpos".into());
    let nodes = arguments.next().map_or(Ok(1000), |nodes| nodes.parse())?;
    search(&position, nodes, |line| println!("{line}"))
}
