//! The page of analysed games: the viewer, what they have in common, and how it was found.

use super::AnalysisSummary;
use super::journal::AnalysisRow;
use super::judgement::Mark;
use crate::report::{Page, Table};
use serde_json::json;

/// `judged` says what analysed the games, `manager` whose times stand beside the players'. The list of games
/// begins as `player` sees it, if one is named.
pub fn page(games: &[AnalysisRow], player: Option<&str>, judged: &str, manager: &str) -> Page {
    let title = match games {
        [game] => {
            let AnalysisSummary {
                white, black, result, ..
            } = &game.summary;
            format!("{} – {}  {}", white.name, black.name, result.replace("1/2", "½"))
        }
        games => format!("{} games", games.len()),
    };
    let games = games
        .iter()
        .map(|game| json!({ "game": game.viewed, "pgn": game.pgn, "summary": game.summary }));
    let data = json!({ "games": games.collect::<Vec<_>>(), "player": player });
    Page::new(title)
        .paragraph(judged)
        .viewer(&data)
        .heading("How this was found")
        .paragraph(&format!(
            "Winning chances are those of players, as on lichess: a search’s expected score, flattened by a factor that was fitted to \
             lichess’ evaluations. Another UCI engine’s pawns go through lichess’ own formula. The accuracy of moves and games and the limits \
             of ?!, ? and ?? (5, 10 and 15 % of the winning chances) are those that lichess publishes (lichess.org/page/accuracy). \
             A mark needs a loss that the visits can support: at least {:.0} % divided by the cube root of the visits. \
             From {} visits on every loss of 5 % or more gets its mark, with fewer only the larger losses do. Accuracy needs {}. \
             Pawns are those that UCI shows.",
            super::judgement::ERROR_OF_ONE_VISIT,
            super::judgement::visits_for(Mark::Inaccuracy),
            super::judgement::visits_for(Mark::Mistake),
        ))
        .paragraph(&format!(
            "The planned time is what Zeitnot’s time manager would spend on the move with the same clock. It knows the evaluation, how \
             long the game may last, and how much a longer look may change. Manager: {manager}."
        ))
}

pub fn table<'a>(games: impl IntoIterator<Item = &'a AnalysisSummary>) -> Table {
    // Number and result stand in the line of White.
    let sides = games.into_iter().flat_map(|game| {
        let number = game.game.to_string();
        [
            (&game.white, number, &*game.result),
            (&game.black, String::new(), ""),
        ]
    });
    let figure = |value: Option<f64>, none: &str| value.map_or(none.into(), |value| format!("{value:.1}"));
    Table::of("", sides)
        .words("game", |(_, number, _)| number.clone())
        .words("player", |(side, ..)| &side.name)
        .words("result", |(.., result)| *result)
        .numbers("moves", |(side, ..)| side.moves)
        .numbers("accuracy, %", |(side, ..)| {
            figure(
                side.accuracy,
                if side.moves == 0 { "–" } else { "too few visits" },
            )
        })
        .numbers("?!", |(side, ..)| side.inaccuracies)
        .numbers("?", |(side, ..)| side.mistakes)
        .numbers("??", |(side, ..)| side.blunders)
        .numbers("time used, s", |(side, ..)| {
            figure(side.used_ms.map(|ms| ms / 1000.0), "–")
        })
        .table()
}
