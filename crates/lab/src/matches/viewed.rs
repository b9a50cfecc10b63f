//! The games of a match for the [viewer](crate::viewer), as the comments of `games.pgn` tell them.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use super::match_files::ends_of_games;
use crate::RowError;
use crate::pgn::{Games, RecordedGame, RecordedMove};
use crate::replay::control_of;
use crate::score::MoveScore;
use crate::viewer::{Remark, ViewedGame, ViewedMove, ViewedPosition, move_name};

/// Most games of a page. More would make it heavy.
const MOST: usize = 100;
/// A fall of a player's winning chances from one move to its next, in percent, that is worth a word.
const FALL: f64 = 15.0;
/// Most falls that are listed.
const MOST_FALLS: usize = 10;

/// Returns the first games that lie beside `files` of rows, with their PGN.
pub(super) fn viewed_games(files: &[PathBuf]) -> Result<Vec<(ViewedGame, String)>, RowError> {
    let mut folders: Vec<_> = files.iter().filter_map(|file| file.parent()).collect();
    folders.dedup();
    let mut games = Vec::new();
    for path in folders.into_iter().map(|folder| folder.join("games.pgn")).filter(|path| path.exists()) {
        let mut ends = ends_of_games(&path).map_err(RowError::io(&path))?;
        ends.truncate(MOST - games.len() + 1);
        let mut text = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(ends[ends.len() - 1]).read_to_end(&mut text));
        read.map_err(RowError::io(&path))?;
        for ends in ends.windows(2) {
            let pgn = &text[ends[0] as usize..ends[1] as usize];
            let Some(Ok(recorded)) = Games::new("", pgn).next() else { continue };
            let recorded = RecordedGame { number: number_of(&recorded), ..recorded };
            games.push((viewed_game(&recorded), String::from_utf8_lossy(pgn).into_owned()));
        }
    }
    Ok(games)
}

/// The number of a game in its match, from 1, which the tag `Round` tells as pair and place in it.
fn number_of(game: &RecordedGame) -> u64 {
    let round = game.tags.get("Round").and_then(|round| round.split_once('.')).unwrap_or_default();
    let [pair, place] = [round.0, round.1].map(|text| text.parse::<u64>().unwrap_or(1));
    pair.saturating_sub(1).saturating_mul(2).saturating_add(place)
}

fn viewed_game(game: &RecordedGame) -> ViewedGame {
    let mut board = game.start.clone();
    let (mut positions, mut plies) = (Vec::new(), Vec::new());
    let score = |ply: usize| Some(MoveScore::of_centipawns(game.moves.get(ply)?.centipawns?.into()));
    let chances = |ply: usize| Some(score(ply)?.win_percent());
    let mut falls = Vec::new();
    for (ply, recorded) in game.moves.iter().enumerate() {
        let (mut position, mut played) = (ViewedPosition::default(), ViewedMove::default());
        if !recorded.is_book {
            let before = chances(ply);
            let is_white = board.turn().is_white();
            position.win = before.map(|chances| if is_white { chances } else { 100.0 - chances });
            position.eval = score(ply).map(|score| score.of_white(board.turn())).unwrap_or_default();
            position.ml = told(recorded, "ml");
            let name = move_name(&board, recorded.r#move, "");
            (played.clock, played.used) = (recorded.clock_ms, recorded.used_ms);
            played.planned = told(recorded, "budget").map(|seconds| 1000.0 * seconds);
            let [nodes, new] = ["n", "new"].map(|name| told(recorded, name).unwrap_or_default());
            played.note = format!("{name}: {nodes} nodes in the tree, {new} of them new.");
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
    viewed.figures = figures(game);
    falls.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    falls.truncate(MOST_FALLS);
    falls.sort_by_key(|(_, remark)| remark.plies[0]);
    viewed.turns = falls.into_iter().map(|(_, remark)| remark).collect();
    viewed
}

/// What the comment says as `name=value`.
fn told(played: &RecordedMove, name: &str) -> Option<f64> {
    let mut words = played.comments.iter().flat_map(|comment| comment.split(' '));
    words.find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
}

/// Means of White and Black.
fn figures(game: &RecordedGame) -> Vec<[String; 3]> {
    let first = usize::from(!game.start.turn().is_white());
    let row = |name: &str, digits: usize, value: fn(&RecordedMove) -> Option<f64>| {
        let [white, black] = [first, 1 - first].map(|side| {
            let own = game.moves.iter().skip(side).step_by(2).filter(|played| !played.is_book);
            let values: Vec<_> = own.filter_map(value).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        });
        Some([name.to_owned(), format!("{:.digits$}", white?), format!("{:.digits$}", black?)])
    };
    [
        row("New nodes a move", 0, |played| told(played, "new")),
        row("Seconds a move", 2, |played| Some(played.used_ms? / 1000.0)),
        row("Planned", 2, |played| told(played, "budget").filter(|_| played.used_ms.is_some())),
    ]
    .into_iter()
    .flatten()
    .collect()
}
