//! The games of a match for the [viewer](crate::viewer).

use std::path::PathBuf;

use super::Side;
use super::match_files::{PlayedGame, games_in};
use crate::LabError;
use crate::move_rows::MoveRow;
use crate::pgn::{Games, RecordedGame};
use crate::replay::control_of;
use crate::score::MoveScore;
use crate::viewer::{Remark, ViewedGame, ViewedMove, ViewedPosition, move_name};

/// Most games of a page. More would make it heavy.
const MOST: usize = 100;
/// A fall of a player's winning chances from one move to its next, in percent, that is worth a word.
const FALL: f64 = 15.0;
const MOST_FALLS: usize = 10;

/// Returns the first games that lie beside `files` of rows, with their PGN.
pub(super) fn viewed_games(files: &[PathBuf]) -> Result<Vec<(ViewedGame, String)>, LabError> {
    let mut folders: Vec<_> = files.iter().filter_map(|file| file.parent()).collect();
    folders.dedup();
    let mut games = Vec::new();
    for folder in folders {
        for game in games_in(folder)?.take(MOST - games.len()) {
            let game = game?;
            let Some(Ok(recorded)) = Games::new("", game.pgn.as_bytes()).next() else { continue };
            let recorded = RecordedGame { number: game.game.game + 1, ..recorded };
            games.push((viewed_game(&recorded, &game), game.pgn));
        }
    }
    Ok(games)
}

fn viewed_game(game: &RecordedGame, played: &PlayedGame) -> ViewedGame {
    let mut board = game.start.clone();
    let (mut positions, mut plies) = (Vec::new(), Vec::new());
    let first = game.moves.len() - played.moves.len().min(game.moves.len());
    let row = |ply: usize| played.moves.get(ply.checked_sub(first)?);
    let score = |ply: usize| Some(MoveScore::of_centipawns(row(ply)?.centipawns?));
    let chances = |ply: usize| Some(score(ply)?.win_percent());
    let mut falls = Vec::new();
    for (ply, recorded) in game.moves.iter().enumerate() {
        let (mut position, mut played) = (ViewedPosition::default(), ViewedMove::default());
        if let Some(row) = row(ply) {
            let before = chances(ply);
            let is_white = board.turn().is_white();
            position.win = before.map(|chances| if is_white { chances } else { 100.0 - chances });
            position.eval = score(ply).map(|score| score.of_white(board.turn())).unwrap_or_default();
            position.ml = row.moves_left_plies.map(f64::from);
            let name = move_name(&board, recorded.r#move, "");
            (played.clock, played.used, played.planned) = (recorded.clock_ms, row.used_ms, row.budget_ms);
            played.note = format!("{name}: {} nodes in the tree, {} of them new.", row.nodes, row.new_nodes);
            // What it thinks of the move is known at its next one.
            let after = chances(ply + 2);
            if let Some((before, after)) = before.zip(after).filter(|(before, after)| before - after >= FALL)
            {
                let text = format!(
                    "{name}: its player saw winning chances of {before:.0} % before it, and of {after:.0} % a move later."
                );
                falls.push((before - after, Remark { text, plies: vec![ply + 1] }));
            }
        }
        positions.push(position);
        plies.push(played);
        board = board.play(recorded.r#move);
    }
    positions.push(ViewedPosition::default());
    let mut viewed = ViewedGame::new(game, control_of(game), positions, plies);
    viewed.by_players = true;
    viewed.figures = figures(played);
    falls.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    falls.truncate(MOST_FALLS);
    falls.sort_by_key(|(_, remark)| remark.plies[0]);
    viewed.turns = falls.into_iter().map(|(_, remark)| remark).collect();
    viewed
}

fn figures(played: &PlayedGame) -> Vec<[String; 3]> {
    let white = if played.game.a_is_white { Side::A } else { Side::B };
    let row = |name: &str, digits: usize, value: fn(&MoveRow) -> Option<f64>| {
        let [white, black] = [white, white.other()].map(|side| {
            let own = played.moves.iter().filter(|row| Side::of(row) == side);
            let values: Vec<_> = own.filter_map(value).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        });
        Some([name.to_owned(), format!("{:.digits$}", white?), format!("{:.digits$}", black?)])
    };
    [
        row("New nodes a move", 0, |row| Some(row.new_nodes as f64)),
        row("Seconds a move", 2, |row| Some(row.used_ms? / 1000.0)),
        row("Planned", 2, |row| row.budget_ms.filter(|_| row.used_ms.is_some()).map(|ms| ms / 1000.0)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
