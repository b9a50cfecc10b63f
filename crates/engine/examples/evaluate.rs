//! Evaluates positions in batches, by the network alone: `cargo run --release --example evaluate`

use std::error::Error;

use zeitnot_engine::chess::{History, PositionError, Variant};
use zeitnot_engine::engine::{Engine, Settings};

/// Says of each position how good it is for the side to move, and which move is the likeliest.
pub fn evaluate(fens: &[&str]) -> Result<Vec<String>, Box<dyn Error>> {
    let read = |fen: &&str| History::from_fen(fen, Variant::Standard);
    let games: Vec<_> = fens.iter().map(read).collect::<Result<_, PositionError>>()?;
    let mut engine = Engine::new(Settings::default())?;
    let mut lines = Vec::new();
    for (fen, found) in fens.iter().zip(engine.evaluate_all(&games)?) {
        let value = format!("win {:.3}, draw {:.3}, loss {:.3}", found.w, found.d, found.l);
        // A finished game has no moves.
        let likeliest = found.policy.first().map_or("none", |of_move| &of_move.text);
        lines.push(format!("{fen}: {value}, move {likeliest}"));
    }
    Ok(lines)
}

fn main() -> Result<(), Box<dyn Error>> {
    let fens = [
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "7k/6Q1/5K2/8/8/8/8/8 b - - 0 1",
        "3q2k1/8/8/8/8/8/8/3R2K1 w - - 0 1",
    ];
    evaluate(&fens)?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
