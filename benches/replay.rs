//! Plays every time manager through 500 made-up games ([`synthetic`]) at each time control, in virtual time, and prints the share of
//! the clock used, smallest clock, losses on time, insta-moves and variation of nodes. The tables of `docs/time-management.md` come
//! from recorded games and `zeitnot timelab`, not from here. `cargo bench --bench replay` takes minutes; a number as argument plays
//! that many games instead.

use zeitnot::lab::replay::{ReplayOptions, ReplaySummary, replay, synthetic};
use zeitnot::time::{Millis, TimeControl, manager_from};

const MANAGERS: [&str; 10] = [
    "smooth",
    "legacy",
    "alphazero",
    "simple",
    "stockfish",
    "argo",
    "smooth(preset=lc0)",
    "smooth(mle-pieces)",
    "smooth(mle-mlh)",
    "smooth(blend)",
];

const CONTROLS: [(&str, TimeControl); 4] = [
    ("60+0.6", TimeControl { time: Millis(60_000.0), inc: Millis(600.0), moves: None }),
    ("180+2", TimeControl { time: Millis(180_000.0), inc: Millis(2_000.0), moves: None }),
    ("300+0", TimeControl { time: Millis(300_000.0), inc: Millis(0.0), moves: None }),
    ("40/900", TimeControl { time: Millis(900_000.0), inc: Millis(0.0), moves: Some(40) }),
];

fn main() {
    let games = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(500);
    for (name, control) in CONTROLS {
        println!("\n{name}, {games} games\n");
        println!("| manager | clock used | smallest clock, ms | losses | insta-moves | variation of nodes |");
        println!("|---|---|---|---|---|---|");
        for manager in MANAGERS {
            let s = summary(manager, control, games);
            println!(
                "| `{manager}` | {:.1} % | {:.0} | {} | {} | {:.3} |",
                100.0 * s.time_used.value().unwrap_or_default(),
                s.min_clock_ms.unwrap_or_default(),
                s.losses,
                s.instamoves,
                s.nodes_cv.value().unwrap_or_default()
            );
        }
    }
}

/// Replays `games` games and adds them up.
fn summary(manager: &str, control: TimeControl, games: u64) -> ReplaySummary {
    let replayed: Vec<_> = (0..games)
        .map(|seed| {
            let options = ReplayOptions { control, overhead_ms: 50.0, seed, ..ReplayOptions::default() };
            let manager = manager_from(manager).expect("the managers above exist");
            replay(&synthetic::game(seed), manager, &options)
        })
        .collect();
    ReplaySummary::of(&replayed)
}
