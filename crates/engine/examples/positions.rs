//! Searches a hundred positions at once: `cargo run --release --example positions`

use std::sync::mpsc::{Sender, channel};
use std::{error::Error, sync::Arc};

use zeitnot_engine::chess::History;
use zeitnot_engine::engine::{GoRequest, Listener, Settings};
use zeitnot_engine::search::Outcome;
use zeitnot_engine::serve::{Searcher, searches_at_once};
use zeitnot_engine::time::Limit;

/// Passes a position and its best move on.
struct Answers(Sender<String>);

impl Listener for Answers {
    fn answer(&mut self, root: &History, outcome: Option<Outcome>) {
        let best = outcome.and_then(|outcome| outcome.best);
        let best = best.map_or("no move".into(), |mv| root.format_move(mv));
        let _ = self.0.send(format!("{}: {best}", root.current().to_fen()));
    }
}

/// Searches the last position of each game, and hands its best move to `print` as soon as it is found.
pub fn search(games: Vec<History>, nodes: u64, print: impl FnMut(String)) -> Result<(), Box<dyn Error>> {
    let searcher = Searcher::open(Settings::default(), searches_at_once)?;
    let (sender, answers) = channel();
    for game in games {
        let (plies, listener) = ([game.len() - 1], Box::new(Answers(sender.clone())));
        let request = GoRequest::new(Limit::nodes(nodes));
        searcher.submit(vec![searcher.order(Arc::new(game), &plies, request, listener)]);
    }
    drop(sender);
    answers.into_iter().for_each(print);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut games = vec![History::start()];
    while games.len() < 100 {
        let mut next = games[games.len() / 20].clone();
        next.push(next.legal_moves()[games.len() % 20]);
        games.push(next);
    }
    search(games, 100, |line| println!("{line}"))
}
