//! Plays ten moves on a clock by a time manager of one's own: `cargo run --release --example manager`

use std::error::Error;
use std::time::{Duration, Instant};
use zeitnot_engine::engine::{Engine, Settings};
use zeitnot_engine::time::{BudgetLimit, Limit, MoveFacts, MoveReport, Stopper, TimeManager};

/// Gives each move a thirtieth of the time that is left.
#[derive(Debug)]
struct Thirtieth;

impl TimeManager for Thirtieth {
    fn start_move(&mut self, facts: &MoveFacts) -> Option<Box<dyn Stopper>> {
        // The clock less what is kept back for lag. A search without a clock has none.
        let budget = facts.available()? / 30.0;
        let report = MoveReport {
            manager: "thirtieth",
            budget,
            ..MoveReport::default()
        };
        Some(Box::new(BudgetLimit::new(facts, report)))
    }
}

/// Plays both sides from `clock` each, and gives the time that each has left.
pub fn play(clock: Duration, inc: Duration) -> Result<[Duration; 2], Box<dyn Error>> {
    let mut clocks = [clock; 2];
    let mut engine = Engine::new(Settings::default())?;
    engine.set_time_manager(|| Box::new(Thirtieth));
    // The network is loaded before a clock runs.
    engine.prepare()?;
    let mut position = "startpos moves".to_owned();
    for ply in 0..20 {
        engine.set_position(&position)?;
        let (clock, begun) = (&mut clocks[ply % 2], Instant::now());
        let (best, _) = engine.search(Limit::clock(*clock, inc))?;
        *clock = clock.saturating_sub(begun.elapsed()) + inc;
        position += &format!(" {}", engine.position().format_move(best));
    }
    Ok(clocks)
}

fn main() -> Result<(), Box<dyn Error>> {
    play(Duration::from_secs(10), Duration::from_millis(100)).map(|left| println!("{left:?} left"))
}
