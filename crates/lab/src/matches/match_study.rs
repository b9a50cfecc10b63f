//! The study of matches, computed from their rows, and its page, with games for the [viewer](crate::viewer).

use std::collections::BTreeMap;
use std::path::PathBuf;

use itertools::Itertools;
use serde_json::json;

use super::Side;
use super::match_files::{MatchGameRow, PlayedGame, games_in};
use super::statistics::{Elo, ResultTally, Sprt};
use super::summary::{MatchSummary, Ranking, different, pruning_table, table};
use crate::error::{LabError, RowError};
use crate::move_rows::{Curves, MoveRow};
use crate::pgn::{Games, RecordedGame, with_positions};
use crate::replay::control_of;
use crate::report::{Page, Plot};
use crate::rows::{GameKey, MergedGames, Row, files_of};
use crate::score::MoveScore;
use crate::viewer::{Remark, ViewedGame, ViewedMove, ViewedPosition, move_name};

/// Fewest games of a point in the course of a match, and at most half of the match: the first points swing
/// wildly.
const FIRST_GAMES: u64 = 20;
const POINTS: usize = 200;
/// More games would make a page heavy.
const MOST_GAMES: usize = 100;
/// A fall of a player's winning chances from one move to its next, in percent, that is told.
const FALL: f64 = 15.0;
const MOST_FALLS: usize = 10;

#[derive(Debug)]
pub struct MatchStudy {
    pub summary: MatchSummary,
    /// The rows of its games, in the order of their numbers.
    games: Vec<MatchGameRow>,
    /// Of A and B.
    curves: [Curves; 2],
}

impl MatchStudy {
    /// Reads files of rows, in any order, and computes the findings of each match in them, with the state of
    /// a sequential test if one is given. Each two engines of a tournament have a match.
    ///
    /// # Errors
    /// [`RowError`] if a file cannot be read or a game is in two of them.
    pub fn read(files: &[PathBuf], sprt: Option<Sprt>) -> Result<Vec<MatchStudy>, RowError> {
        let mut studies = Vec::<MatchStudy>::new();
        let mut without_moves = BTreeMap::new();
        for game in MergedGames::open(&files_of::<MatchGameRow>(files)?)? {
            for row in game? {
                let is_known = |study: &MatchStudy| players(&study.games[0]) == players(&row);
                let known = studies.iter().position(is_known);
                let place = known.unwrap_or_else(|| {
                    let summary = MatchSummary::new([&row.a, &row.b], sprt);
                    studies.push(MatchStudy {
                        summary,
                        games: Vec::new(),
                        curves: Default::default(),
                    });
                    studies.len() - 1
                });
                without_moves.insert(row.game(), ((row.a_moves + row.b_moves) as usize, place));
                studies[place].summary.add(&row);
                studies[place].games.push(row);
            }
        }
        let of_moves = files_of::<MoveRow>(files)?;
        if studies.is_empty() || of_moves.is_empty() {
            return Ok(studies);
        }
        for game in MergedGames::<MoveRow>::open(&of_moves)? {
            let game = game?;
            let key = game[0].game();
            let Some((moves, place)) = without_moves.remove(&key) else {
                return Err(lacking(key));
            };
            if moves != game.len() {
                return Err(lacking(key));
            }
            for row in game {
                studies[place].summary.add_move(&row);
                studies[place].curves[Side::of(&row).index()].add(&row);
            }
        }
        match without_moves.into_iter().find(|(_, (moves, _))| *moves > 0) {
            Some((key, _)) => Err(lacking(key)),
            None => Ok(studies),
        }
    }
}

fn players(row: &MatchGameRow) -> [&str; 3] {
    [&row.match_id, &row.a, &row.b]
}

fn lacking(game: GameKey) -> RowError {
    let text = "rows of it are missing; the command that played it makes games.csv and moves.csv whole";
    RowError(format!("game {game}: {text}"))
}

/// Results and ranking, then for each match its course and the curves of its clocks.
pub fn page(studies: &[MatchStudy]) -> Page {
    let summaries: Vec<_> = studies.iter().map(|study| study.summary.clone()).collect();
    let ranking = Ranking::of(&summaries);
    let title = match &summaries[..] {
        [summary] => format!("Match: {} against {}", summary.names()[0], summary.names()[1]),
        summaries => format!("Matches: {}", summaries.len()),
    };
    let mut page = Page::new(title);
    if let [summary] = &summaries[..] {
        let (figure, sentence) = summary.key_figure();
        page = page.key_figure(&figure, &sentence);
        if let Some(sentence) = summary.sprt_in_words() {
            page = page.paragraph(&sentence);
        }
    } else if let Some(ranking) = &ranking {
        page = page.key_figure(&ranking.best(), "has the most Elo of all players.");
    } else {
        let decided = summaries.iter().filter(|summary| summary.is_decided()).count();
        let figure = format!("{decided} of {} matches", summaries.len());
        page = page.key_figure(&figure, "are decided: 0 Elo lies outside their intervals.");
    }
    let tables = ranking.iter().map(Ranking::table).chain([table(&summaries)]);
    page = tables
        .chain(pruning_table(&summaries))
        .fold(page, |page, table| page.table(&table));
    page = page.paragraph(
        "Elo is computed from pairs: two games from one opening with colours swapped count as one result. The interval contains the \
         true difference in 95 of 100 such matches. With 0 in it, the match is undecided. Few pairs get a wide one, even if all \
         ended alike. Normalized Elo measures the difference in standard deviations of a game. LOS is how likely A is the stronger one.",
    );
    for study in studies {
        let [a, b] = study.summary.names();
        if studies.len() > 1 {
            page = page.heading(&format!("{a} against {b}"));
        }
        let course = course(&study.games);
        let band = course.iter().map(|(games, elo)| (*games, [elo.low, elo.high]));
        let line = course.iter().map(|(games, elo)| (*games, elo.elo));
        page = page.plot(
            &Plot::new("Course of the match", "games", "Elo of A")
                .band("", band)
                .line("", line),
            "Elo of A by the number of games, with its interval of 95 %.",
        );
        let [of_a, of_b] = &study.curves;
        page = Curves::show(page, &[(a, of_a), (b, of_b)]);
    }
    page
}

/// Adds the games that lie beside the `files` of rows.
pub fn add_games(page: Page, studies: &[MatchStudy], files: &[PathBuf]) -> Result<Page, LabError> {
    let games = viewed_games(files)?;
    if games.is_empty() {
        return Ok(page);
    }
    let all = studies.iter().map(|study| study.games.len()).sum::<usize>();
    let which = if games.len() < all {
        format!(" Here are {} of {all} games.", games.len())
    } else {
        String::new()
    };
    let about =
        "Each evaluation is that of the engine to move. The planned time is the budget of its time manager.";
    let page = page.heading("Games").paragraph(&format!("{about}{which}"));
    let games: Vec<_> = games
        .iter()
        .map(|(game, pgn)| json!({ "game": game, "pgn": pgn }))
        .collect();
    Ok(page.viewer(&json!({ "games": games })))
}

/// The Elo of A by the number of games.
fn course(games: &[MatchGameRow]) -> Vec<(f64, Elo)> {
    let games: Vec<_> = different(games).collect();
    let mut tally = ResultTally::default();
    let step = games.len().div_ceil(POINTS).max(1);
    let first = FIRST_GAMES.min(games.len() as u64 / 2);
    let mut points = Vec::new();
    for (index, row) in games.iter().enumerate() {
        tally.add(row.pair, row.half_points.min(2) as u8);
        let is_shown = index % step == step - 1 || index + 1 == games.len();
        if is_shown
            && tally.games() >= first
            && let Some(elo) = Elo::of(&tally)
            && elo.low.is_finite()
            && elo.high.is_finite()
        {
            points.push((tally.games() as f64, elo));
        }
    }
    points
}

/// The first games that lie beside `files` of rows, with their PGN.
fn viewed_games(files: &[PathBuf]) -> Result<Vec<(ViewedGame, String)>, LabError> {
    let mut folders: Vec<_> = files.iter().filter_map(|file| file.parent()).collect();
    folders.dedup();
    let mut games = Vec::new();
    for folder in folders {
        for game in games_in(folder)?.take(MOST_GAMES - games.len()) {
            let game = game?;
            let Some(Ok(recorded)) = Games::new("", game.pgn.as_bytes()).next() else {
                continue;
            };
            let recorded = RecordedGame {
                number: game.game.game + 1,
                ..recorded
            };
            games.push((viewed_game(&recorded, &game), game.pgn));
        }
    }
    Ok(games)
}

fn viewed_game(game: &RecordedGame, played: &PlayedGame) -> ViewedGame {
    let mut positions = Vec::new();
    let mut plies = Vec::new();
    let mut falls = Vec::new();
    let first = game.moves.len() - played.moves.len().min(game.moves.len());
    let row = |ply: usize| played.moves.get(ply.checked_sub(first)?);
    let score = |ply: usize| Some(MoveScore::of_centipawns(row(ply)?.centipawns?));
    let chances = |ply: usize| Some(score(ply)?.win_percent());
    let boards = with_positions(&game.start, game.moves.iter().map(|recorded| recorded.r#move));
    for (ply, ((board, mv), recorded)) in boards.zip(&game.moves).enumerate() {
        let Some(row) = row(ply) else {
            positions.push(ViewedPosition::default());
            plies.push(ViewedMove::default());
            continue;
        };
        let before = chances(ply);
        let turn = board.turn();
        let name = move_name(&board, mv, "");
        positions.push(ViewedPosition {
            win: before.map(|chances| if turn.is_white() { chances } else { 100.0 - chances }),
            eval: score(ply).map_or(String::new(), |score| score.of_white(turn)),
            ml: row.moves_left_plies.map(f64::from),
            ..ViewedPosition::default()
        });
        plies.push(ViewedMove {
            clock: recorded.clock_ms,
            used: row.used_ms,
            planned: row.budget_ms,
            note: format!(
                "{name}: {} nodes in the tree, {} of them new.",
                row.nodes, row.new_nodes
            ),
            ..ViewedMove::default()
        });
        // What it thinks of the move is known at its next one.
        if let Some(before) = before
            && let Some(after) = chances(ply + 2)
            && before - after >= FALL
        {
            let text = format!(
                "{name}: its player saw winning chances of {before:.0} % before it, and of {after:.0} % a move later."
            );
            let plies = vec![ply + 1];
            falls.push((before - after, Remark { text, plies }));
        }
    }
    positions.push(ViewedPosition::default());
    let mut viewed = ViewedGame::new(game, control_of(game), positions, plies);
    viewed.by_players = true;
    viewed.figures = figures(played);
    falls.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let deepest = falls.into_iter().take(MOST_FALLS).map(|(_, remark)| remark);
    viewed.turns = deepest.sorted_by_key(|remark| remark.plies[0]).collect();
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
        Some([
            name.to_owned(),
            format!("{:.digits$}", white?),
            format!("{:.digits$}", black?),
        ])
    };
    [
        row("New nodes a move", 0, |row| Some(row.new_nodes as f64)),
        row("Seconds a move", 2, |row| Some(row.used_ms? / 1000.0)),
        row("Planned", 2, |row| {
            row.used_ms.and(row.budget_ms).map(|ms| ms / 1000.0)
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A regression: a match of 20 games had a course of one point, which no line shows.
    #[test]
    fn a_short_match_has_a_course_too() {
        let points = |count: u64| {
            let row = |game: u64| {
                let half_points = [2, 1, 0, 2, 1, 1][game as usize % 6];
                let row = json!({
                    "match_id": "id", "game": game, "pair": game / 2, "a": "A", "b": "B", "a_is_white": true,
                    "half_points": half_points, "termination": "checkmate", "opening": "", "a_moves": 1, "b_moves": 1,
                    "a_nodes": 1, "b_nodes": 1, "a_clock_ms": null, "b_clock_ms": null,
                });
                serde_json::from_value(row).unwrap()
            };
            let course = course(&(0..count).map(row).collect::<Vec<_>>());
            course.iter().map(|(games, _)| *games as u64).collect::<Vec<_>>()
        };
        for (count, first) in [(8, 4), (20, 10), (21, 10), (40, 20), (100, 20)] {
            let found = points(count);
            assert_eq!(found, (first..=count).collect::<Vec<_>>(), "{count} games");
        }
    }
}
