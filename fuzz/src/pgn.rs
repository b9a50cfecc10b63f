//! PGN, plain or compressed: games, their comments and clocks, and what the laboratory makes of them.

use zeitnot_datagen::game::labelled;
use zeitnot_datagen::record::{MAGIC, Records, encode};
use zeitnot_lab::pgn::{GameError, Games};
use zeitnot_lab::replay::GameToReplay;

/// More games than an input of a few kilobytes can hold in full.
const MOST_GAMES: usize = 1000;

/// Reads games, replays them and makes records of them, which are read back.
pub fn run(data: &[u8]) -> bool {
    let (_folder, path) = super::file("input.pgn", data);
    let Ok(games) = Games::open(&path) else {
        return false;
    };
    let mut any = false;
    for (number, game) in games.take(MOST_GAMES).enumerate() {
        match game {
            Ok(game) => {
                any |= !game.moves.is_empty();
                if let Some(replay) = GameToReplay::new(number as u64, game, 1) {
                    replay.recorded_control();
                }
            }
            Err(GameError::Broken { .. }) => {}
            Err(GameError::Read { .. }) => break,
        }
    }
    let mut bytes = MAGIC.to_vec();
    let mut written = Vec::new();
    for game in Games::new("input", data).filter_map(|game| labelled(game).ok()) {
        if let Ok(record) = encode(&game) {
            bytes.extend(record);
            written.push(game);
        }
    }
    let read: Vec<_> = Records::new(&bytes)
        .expect("our own")
        .map(|game| game.expect("our own"))
        .collect();
    assert!(
        written
            .iter()
            .map(|game| game.plies.len())
            .eq(read.iter().map(|game| game.plies.len()))
    );
    any
}
