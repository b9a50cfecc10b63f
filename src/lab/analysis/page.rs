//! The page of analysed games: the figures of the players, and a board to step through with graphs, drawn by a program of the
//! page's own. All games are in the one file.

use serde::{Deserialize, Serialize};

use super::pgn::{number, numbered_moves, permille_of_white};
use super::{AnalysedGame, AnalysisRow, AnalysisSummary};
use crate::chess::{Move, Position, Variant};
use crate::lab::matches::{MoveScore, eval_of_white};
use crate::report::{Align, Page, PageProgram, Table};

/// Most plies of a line.
const LONGEST: usize = 14;

/// The program that shows the games.
const VIEWER: PageProgram = PageProgram {
    id: "games",
    style: include_str!("viewer.css"),
    markup: "<noscript><p>The board and the graphs need JavaScript.</p></noscript>\n<div id=\"viewer\"></div>",
    script: include_str!("viewer.js"),
};

/// What the viewer reads of a game.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ViewedGame {
    title: String,
    result: String,
    /// Plies before the first position, and the two of the first move, from which move numbers are counted.
    first: u32,
    /// One more than `moves`.
    positions: Vec<ViewedPosition>,
    moves: Vec<ViewedMove>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct ViewedPosition {
    /// The first field of the FEN.
    board: String,
    /// White's win, draw and loss, permille.
    wdl: [u32; 3],
    /// The evaluation from White's point of view.
    eval: String,
    /// Plies left, as the search sees them.
    ml: Option<f64>,
    /// Plies that were really left.
    left: usize,
    /// The best move, as two squares.
    best: Option<String>,
    lines: Vec<ViewedLine>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct ViewedLine {
    eval: String,
    text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct ViewedMove {
    number: String,
    white: bool,
    san: String,
    glyph: String,
    from: String,
    to: String,
    /// The mover's clock after it, ms.
    clock: Option<f64>,
    /// Time used, ms.
    used: Option<f64>,
    /// Time that the time manager would have used, ms.
    planned: Option<f64>,
}

/// The page. `engine` describes what analysed the games, `plan` whose times are shown beside those of the players.
pub(crate) fn page(games: &[AnalysisRow], engine: &str, manager: &str) -> Page {
    let viewed: Vec<_> = games.iter().map(|game| &game.viewed).collect();
    Page::new("Analysis")
        .paragraph(&format!("By {engine}. The time manager is {manager}."))
        .program(&VIEWER, &serde_json::json!({ "games": viewed }))
        .heading("Players")
        .paragraph(
            "?!, ? and ?? are moves that give away at least 5, 10 and 15 % of a point, as the search expects it, against its best move.",
        )
        .table(&table(games.iter().map(|game| &game.summary)))
}

pub(crate) fn table<'a>(games: impl IntoIterator<Item = &'a AnalysisSummary>) -> Table {
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

/// What the viewer reads of a game.
pub(super) fn viewed_game(game: &AnalysedGame) -> ViewedGame {
    let tag = |name| game.recorded.tags.get(name).unwrap_or("?");
    let boards = game.boards();
    let positions = (0..boards.len()).map(|index| viewed_position(game, &boards[index], index));
    let moves = (0..boards.len() - 1).map(|ply| viewed_move(game, &boards[ply], ply));
    let event = match game.recorded.tags.get("Event") {
        Some(event) if event != "?" => format!(", {event}"),
        _ => String::new(),
    };
    ViewedGame {
        title: format!(
            "{}. {} – {}  {}{event}",
            game.recorded.number,
            tag("White"),
            tag("Black"),
            tag("Result")
        ),
        result: tag("Result").to_owned(),
        first: game.recorded.start.game_ply() + 2,
        positions: positions.collect(),
        moves: moves.collect(),
    }
}

fn viewed_position(game: &AnalysedGame, board: &Position, index: usize) -> ViewedPosition {
    let (found, turn) = (&game.positions[index], board.turn());
    let eval = |score| match score {
        MoveScore::Mate(0) => "mate".to_owned(),
        score => eval_of_white(score, turn),
    };
    let best = found.best();
    let lines = found.lines.iter().filter(|line| !line.moves.is_empty());
    let lines = lines.map(|line| ViewedLine { eval: eval(line.score), text: line_text(board, &line.moves) });
    let fen = board.to_fen();
    ViewedPosition {
        board: fen.split(' ').next().unwrap_or_default().to_owned(),
        wdl: permille_of_white(best, turn),
        eval: eval(best.score),
        ml: best.moves_left,
        left: game.recorded.moves.len() - index,
        best: best.moves.first().map(|&mv| squares(board, mv)),
        lines: lines.collect(),
    }
}

fn squares(board: &Position, mv: Move) -> String {
    board.format_move(mv, Variant::Standard).chars().take(4).collect()
}

fn line_text(start: &Position, moves: &[Move]) -> String {
    numbered_moves(start, &moves[..moves.len().min(LONGEST)]).join(" ")
}

fn viewed_move(game: &AnalysedGame, before: &Position, ply: usize) -> ViewedMove {
    let played = &game.recorded.moves[ply];
    let squares = squares(before, played.r#move);
    let (from, to) = squares.split_at(2);
    ViewedMove {
        number: number(before),
        white: before.turn().is_white(),
        san: before.format_san(played.r#move),
        glyph: game.judgement(ply).glyph().to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
        clock: played.clock_ms,
        used: game.used_ms(ply),
        planned: game.planned_ms[ply],
    }
}
