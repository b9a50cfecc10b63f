//! The games of a match for the [viewer](crate::viewer): the moves from `games.pgn`, and what the rows
//! beside it say of them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::match_files::ends_of_games;
use super::match_rows::{MatchMoveRow, MatchRowFiles};
use crate::RowError;
use crate::pgn::{Games, RecordedGame};
use crate::replay::control_of;
use crate::rows::MergedGames;
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
    for folder in folders {
        add_games(folder, &mut games)?;
    }
    Ok(games)
}

fn add_games(folder: &Path, games: &mut Vec<(ViewedGame, String)>) -> Result<(), RowError> {
    let path = folder.join("games.pgn");
    let [_, moves] = MatchRowFiles::paths(folder);
    if !path.exists() || !moves.exists() {
        return Ok(());
    }
    let mut ends = ends_of_games(&path).map_err(RowError::io(&path))?;
    ends.truncate(MOST + 1);
    let mut text = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(ends[ends.len() - 1]).read_to_end(&mut text));
    read.map_err(RowError::io(&path))?;
    let mut rows = MergedGames::<MatchMoveRow>::open(&[moves])?.peekable();
    for ends in ends.windows(2) {
        if games.len() == MOST {
            break;
        }
        let pgn = &text[ends[0] as usize..ends[1] as usize];
        let Some(Ok(recorded)) = Games::new("", pgn).next() else { continue };
        let Some(number) = number_of(&recorded) else { continue };
        let is_before = |rows: &Vec<MatchMoveRow>| rows[0].game < number;
        while rows.next_if(|rows| rows.as_ref().is_ok_and(is_before)).is_some() {}
        let is_it = |rows: &Vec<MatchMoveRow>| rows[0].game == number;
        let of_game = rows.next_if(|rows| rows.as_ref().is_ok_and(is_it)).transpose()?.unwrap_or_default();
        let recorded = RecordedGame { number: number + 1, ..recorded };
        if of_game.len() == recorded.moves.iter().filter(|played| !played.is_book).count() {
            games.push((viewed_game(&recorded, &of_game), String::from_utf8_lossy(pgn).into_owned()));
        }
    }
    Ok(())
}

/// The number of a game in its match, from 0, which the tag `Round` tells as pair and place in it.
fn number_of(game: &RecordedGame) -> Option<u64> {
    let (pair, place) = game.tags.get("Round")?.split_once('.')?;
    let [pair, place] = [pair, place].map(|text| text.parse::<u64>().ok()?.checked_sub(1));
    pair?.checked_mul(2)?.checked_add(place?)
}

/// A game whose moves after the book have these rows.
fn viewed_game(game: &RecordedGame, rows: &[MatchMoveRow]) -> ViewedGame {
    let book = game.moves.len() - rows.len();
    let mut board = game.start.clone();
    let (mut positions, mut plies) = (Vec::new(), Vec::new());
    let chances = |own: usize| Some(MoveScore::of_centipawns(rows.get(own)?.centipawns?).win_percent());
    let mut falls = Vec::new();
    for (ply, recorded) in game.moves.iter().enumerate() {
        let row = ply.checked_sub(book).map(|own| &rows[own]);
        let (mut position, mut played) = (ViewedPosition::default(), ViewedMove::default());
        if let Some(row) = row {
            let before = chances(ply - book);
            let is_white = board.turn().is_white();
            position.win = before.map(|chances| if is_white { chances } else { 100.0 - chances });
            if let Some(score) = row.centipawns {
                position.eval = MoveScore::of_centipawns(score).of_white(board.turn());
            }
            position.ml = row.moves_left_plies.map(f64::from);
            let name = move_name(&board, recorded.r#move, "");
            (played.clock, played.used, played.planned) = (row.clock_ms, row.used_ms, row.budget_ms);
            played.note = format!("{name}: {} nodes in the tree, {} of them new.", row.nodes, row.new_nodes);
            // What it thinks of the move is known at its next one.
            let after = chances(ply - book + 2);
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
    viewed.figures = figures(game, book, rows);
    falls.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    falls.truncate(MOST_FALLS);
    falls.sort_by_key(|(_, remark)| remark.plies[0]);
    viewed.turns = falls.into_iter().map(|(_, remark)| remark).collect();
    viewed
}

/// Means of White and Black.
fn figures(game: &RecordedGame, book: usize, rows: &[MatchMoveRow]) -> Vec<[String; 3]> {
    let first = usize::from(game.start.turn().is_white() != book.is_multiple_of(2));
    let mean = |side: usize, value: &dyn Fn(&MatchMoveRow) -> Option<f64>| {
        let values: Vec<_> = rows.iter().skip((side + 2 - first) % 2).step_by(2).filter_map(value).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let row = |name: &str, digits: usize, value: &dyn Fn(&MatchMoveRow) -> Option<f64>| {
        let [white, black] = [mean(0, value)?, mean(1, value)?].map(|mean| format!("{mean:.digits$}"));
        Some([name.to_owned(), white, black])
    };
    let seconds = |ms: Option<f64>| Some(ms? / 1000.0);
    [
        row("New nodes a move", 0, &|row| Some(row.new_nodes as f64)),
        row("Seconds a move", 2, &|row| seconds(row.used_ms)),
        row("Planned", 2, &|row| seconds(row.used_ms.and(row.budget_ms))),
    ]
    .into_iter()
    .flatten()
    .collect()
}
