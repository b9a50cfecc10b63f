//! Positions of real games, on which evaluations are measured: 24 games from the opening to the endgame that Zeitnot
//! played with itself (`games.txt`, a game a line, moves in UCI's notation).

use std::sync::OnceLock;

use crate::chess::History;
use crate::network::EvalSlot;
use crate::network::encode::InputFormat;

const GAMES: &str = include_str!("games.txt");

/// Returns all positions of the games, each with the game before it, in an order in which neighbours belong to different
/// games and phases.
fn all() -> &'static [History] {
    static ALL: OnceLock<Vec<History>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut positions: Vec<_> = GAMES.lines().flat_map(positions_of).collect();
        // A fixed seed: every run sees the same order.
        fastrand::Rng::with_seed(1).shuffle(&mut positions);
        positions
    })
}

/// Returns the positions of one game in which a move was played.
fn positions_of(game: &str) -> Vec<History> {
    let mut history = History::start();
    let mut positions = Vec::new();
    for text in game.split_ascii_whitespace() {
        let Ok(m) = history.parse_move(text) else {
            unreachable!("the games are part of the program and a test plays them through")
        };
        positions.push(history.clone());
        history.push(m);
    }
    positions
}

/// Returns `count` encoded positions with the policy indices of their legal moves, from the position `first` on; after
/// the last position follows the first.
pub fn encoded(first: usize, count: usize, format: InputFormat) -> Vec<EvalSlot> {
    let positions = all().iter().cycle().skip(first % all().len()).take(count);
    positions.map(|history| EvalSlot::of(history, format.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Variant;

    #[test]
    fn the_games_are_played_through_and_varied() {
        assert!(all().len() > 2000, "{}", all().len());
        let plies: Vec<_> = all().iter().map(|history| history.game_ply()).collect();
        assert!(plies.iter().any(|&ply| ply > 150) && plies.contains(&0));
        let slots = encoded(all().len() - 1, 3, InputFormat::default());
        assert_eq!(slots[1].planes, encoded(0, 1, InputFormat::default())[0].planes);
        assert_ne!(slots[1].planes, slots[2].planes);
        assert!(slots.iter().all(|slot| !slot.moves.is_empty()));
    }

    #[test]
    fn every_game_line_is_legal() {
        for game in GAMES.lines() {
            let text = format!("startpos moves {game}");
            History::from_uci_position(&text, Variant::Standard).unwrap();
        }
    }
}
