//! The study of matches, computed from their rows: the result of each, and means over its games by move
//! number. The page that shows it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Side;
use super::match_rows::MatchGameRow;
use super::statistics::{Elo, ResultTally, Sprt};
use super::summary::{MatchSummary, Ranking, different, pruning_table, table};
use super::viewed::viewed_games;
use crate::move_rows::{Curves, MoveRow};
use crate::report::{Page, Plot};
use crate::rows::{GameKey, MergedGames, Row, files_of};
use crate::viewer::VIEWER;
use crate::{LabError, RowError};
use serde_json::json;

/// Fewest games that a point of the plot of the course of a match rests on, and at most half of the match:
/// the first points swing wildly, but a short match shall have a course too.
const FIRST_GAMES: u64 = 20;
const POINTS: usize = 200;

#[derive(Clone, Debug)]
pub struct MatchStudy {
    pub summary: MatchSummary,
    /// The rows of its games, in the order of their numbers.
    games: Vec<MatchGameRow>,
    /// Of A and B.
    curves: [Curves; 2],
}

impl MatchStudy {
    /// Reads files of rows of games and of moves, in any order, and computes the findings of each match in
    /// them, with the state of a sequential test if one is given. Each two engines of a tournament have a
    /// match.
    ///
    /// # Errors
    /// [`RowError`] if a file cannot be read or a game is in two of them.
    pub fn read(files: &[PathBuf], sprt: Option<Sprt>) -> Result<Vec<MatchStudy>, RowError> {
        let mut studies = Vec::<MatchStudy>::new();
        let mut without_moves = BTreeMap::new();
        for game in MergedGames::<MatchGameRow>::open(&files_of::<MatchGameRow>(files)?)? {
            for row in game? {
                let known = studies.iter().position(|study| players(&study.games[0]) == players(&row));
                let place = known.unwrap_or_else(|| {
                    let summary = MatchSummary::new([&row.a, &row.b], sprt);
                    studies.push(MatchStudy { summary, games: Vec::new(), curves: Default::default() });
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
            let known = without_moves.remove(&key).filter(|(moves, _)| *moves == game.len());
            let Some((_, place)) = known else { return Err(lacking(key)) };
            for row in game {
                studies[place].summary.add_move(&row);
                studies[place].curves[Side::of(&row).index()].add(&row);
            }
        }
        let lacks_moves = without_moves.into_iter().find(|(_, (moves, _))| *moves > 0);
        lacks_moves.map_or(Ok(studies), |(key, _)| Err(lacking(key)))
    }
}

fn players(row: &MatchGameRow) -> [&str; 3] {
    [&row.match_id, &row.a, &row.b]
}

fn lacking(game: GameKey) -> RowError {
    let text = "rows of it are missing; the command that played it makes games.csv and moves.csv whole";
    RowError::Content(format!("game {game}: {text}"))
}

/// Returns the page: results and ranking, then for each match its course and the curves of its
/// clocks.
pub fn page(studies: &[MatchStudy]) -> Page {
    let summaries: Vec<_> = studies.iter().map(|study| study.summary.clone()).collect();
    let ranking = Ranking::of(&summaries);
    let title = match &summaries[..] {
        [summary] => format!("Match: {} against {}", summary.names()[0], summary.names()[1]),
        summaries => format!("Matches: {}", summaries.len()),
    };
    let mut page = Page::new(title);
    let (figure, sentence) = match (&summaries[..], &ranking) {
        ([summary], _) => summary.key_figure(),
        (_, Some(ranking)) => (ranking.best(), "has the most Elo of all players.".into()),
        (summaries, None) => {
            let decided = summaries.iter().filter(|summary| summary.is_decided()).count();
            (
                format!("{decided} of {} matches", summaries.len()),
                "are decided: 0 Elo lies outside their intervals.".into(),
            )
        }
    };
    page = page.key_figure(&figure, &sentence);
    if let [summary] = &summaries[..]
        && let Some(sentence) = summary.sprt_in_words()
    {
        page = page.paragraph(&sentence);
    }
    if let Some(ranking) = &ranking {
        page = page.table(&ranking.table());
    }
    page = page.table(&table(&summaries));
    if let Some(table) = pruning_table(&summaries) {
        page = page.table(&table);
    }
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
        let (line, band) = course(&study.games);
        let course = Plot::new("Course of the match", "games", "Elo of A").band("", &band).line("", &line);
        page = page.plot(&course, "Elo of A by the number of games, with its interval of 95 %.");
        let [of_a, of_b] = &study.curves;
        page = Curves::show(page, &[(a, of_a), (b, of_b)]);
    }
    page
}

/// Adds the games that lie beside the `files` of rows, for a look at each.
pub fn add_games(page: Page, studies: &[MatchStudy], files: &[PathBuf]) -> Result<Page, LabError> {
    let games = viewed_games(files)?;
    if games.is_empty() {
        return Ok(page);
    }
    let all = studies.iter().map(|study| study.games.len()).sum::<usize>();
    let which =
        if games.len() < all { format!(" Here are {} of {all} games.", games.len()) } else { String::new() };
    let about =
        "Each evaluation is that of the engine to move. The planned time is the budget of its time manager.";
    let page = page.heading("Games").paragraph(&format!("{about}{which}"));
    let games: Vec<_> = games.iter().map(|(game, pgn)| json!({ "game": game, "pgn": pgn })).collect();
    Ok(page.program(&VIEWER, &json!({ "games": games })))
}

type LineAndBand = (Vec<(f64, f64)>, Vec<(f64, f64, f64)>);

/// Returns the Elo of A by the number of games, and its interval.
fn course(games: &[MatchGameRow]) -> LineAndBand {
    let games: Vec<_> = different(games).collect();
    let mut tally = ResultTally::default();
    let (mut line, mut band) = (Vec::new(), Vec::new());
    let step = games.len().div_ceil(POINTS).max(1);
    for (index, row) in games.iter().enumerate() {
        tally.add(row.pair, row.half_points.min(2) as u8);
        let is_shown = index % step == step - 1 || index + 1 == games.len();
        let Some(elo) = Elo::of(&tally).filter(|elo| is_shown && elo.low.is_finite() && elo.high.is_finite())
        else {
            continue;
        };
        if tally.games() >= FIRST_GAMES.min(games.len() as u64 / 2) {
            let games = tally.games() as f64;
            line.push((games, elo.elo));
            band.push((games, elo.low, elo.high));
        }
    }
    (line, band)
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
            let (line, band) = course(&(0..count).map(row).collect::<Vec<_>>());
            assert_eq!(line.len(), band.len());
            line.iter().map(|(games, _)| *games as u64).collect::<Vec<_>>()
        };
        for (count, first) in [(8, 4), (20, 10), (21, 10), (40, 20), (100, 20)] {
            let found = points(count);
            assert_eq!(found, (first..=count).collect::<Vec<_>>(), "{count} games");
        }
    }
}
