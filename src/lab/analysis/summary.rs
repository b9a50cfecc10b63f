//! What an analysis says of each player.

use serde::{Deserialize, Serialize};

use super::AnalysedGame;
use crate::report::{Align, Table};

/// The figures of one side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SideSummary {
    /// The tag `White` or `Black`.
    pub name: String,
    /// Moves, those of the book left out.
    pub moves: u32,
    /// Share of them that the search would have played too.
    pub agreement: f64,
    /// Expected points that a move gave away in the mean, 0 to 1.
    pub mean_loss: f64,
    /// Moves that got `?!`.
    pub inaccuracies: u32,
    /// Moves that got `?`.
    pub mistakes: u32,
    /// Moves that got `??`.
    pub blunders: u32,
    /// Time used, ms, where the game has clocks.
    pub used_ms: Option<f64>,
    /// Time that the time manager would have used for the same moves, ms.
    pub planned_ms: Option<f64>,
}

/// The figures of a game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnalysisSummary {
    /// Its place in the files, from 1; those that were not analysed count.
    pub game: u64,
    /// The tag `Result`.
    pub result: String,
    /// White.
    pub white: SideSummary,
    /// Black.
    pub black: SideSummary,
}

impl AnalysisSummary {
    /// Computes the figures.
    pub fn of(game: &AnalysedGame) -> AnalysisSummary {
        let tag = |name| game.recorded.tags.get(name).unwrap_or("?").to_owned();
        let white_first = game.recorded.start.turn().is_white();
        let side = |is_white: bool, name| side(game, usize::from(is_white != white_first), tag(name));
        AnalysisSummary {
            game: game.recorded.number,
            result: tag("Result"),
            white: side(true, "White"),
            black: side(false, "Black"),
        }
    }
}

/// Computes the figures of the side that makes the `first` move and every second one from there.
fn side(game: &AnalysedGame, first: usize, name: String) -> SideSummary {
    let own = (first..game.recorded.moves.len()).step_by(2);
    let plies: Vec<usize> = own.filter(|&ply| !game.recorded.moves[ply].is_book).collect();
    let judged: Vec<_> = plies.iter().map(|&ply| game.judgement(ply)).collect();
    let count = |glyph| judged.iter().filter(|judged| judged.glyph() == glyph).count() as u32;
    let share = |sum: f64| if judged.is_empty() { 0.0 } else { sum / judged.len() as f64 };
    let time =
        |of: &dyn Fn(usize) -> Option<f64>| plies.iter().filter_map(|&ply| of(ply)).reduce(|a, b| a + b);
    SideSummary {
        name,
        moves: judged.len() as u32,
        agreement: share(judged.iter().filter(|judged| judged.is_best).count() as f64),
        mean_loss: share(judged.iter().map(|judged| judged.loss).sum()),
        inaccuracies: count("?!"),
        mistakes: count("?"),
        blunders: count("??"),
        used_ms: time(&|ply| game.used_ms(ply)),
        planned_ms: time(&|ply| game.planned_ms[ply]),
    }
}

/// Returns the table of both sides of all games.
pub fn table<'a>(games: impl IntoIterator<Item = &'a AnalysisSummary>) -> Table {
    use Align::{Left, Right};
    let columns = [
        ("game", Right),
        ("player", Left),
        ("result", Left),
        ("moves", Right),
        ("as the engine, %", Right),
        ("points given away per move, %", Right),
        ("?!", Right),
        ("?", Right),
        ("??", Right),
        ("time used, s", Right),
        ("by the time manager, s", Right),
    ];
    let mut table = Table::new("", &columns);
    for game in games {
        for (side, result) in [(&game.white, game.result.as_str()), (&game.black, "")] {
            let seconds = |ms: Option<f64>| ms.map_or("–".into(), |ms| format!("{:.1}", ms / 1000.0));
            table.row([
                game.game.to_string(),
                side.name.clone(),
                result.to_owned(),
                side.moves.to_string(),
                format!("{:.0}", 100.0 * side.agreement),
                format!("{:.1}", 100.0 * side.mean_loss),
                side.inaccuracies.to_string(),
                side.mistakes.to_string(),
                side.blunders.to_string(),
                seconds(side.used_ms),
                seconds(side.planned_ms),
            ]);
        }
    }
    table
}
