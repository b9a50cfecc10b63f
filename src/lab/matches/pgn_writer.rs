//! Writes finished games as PGN, with clock, evaluation, nodes, plies left and budget of each move in its comment.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::game::{GameOutcome, GameRecord, MoveRecord, MoveScore, Termination};
use super::limit::SideLimit;
use crate::chess::{Color, Move, Position, Variant};
use crate::lab::pgn::writing::{hours, tag, write_wrapped};
use crate::version::VERSION;

/// The content of the tags that does not come from the game itself.
#[derive(Clone, Debug)]
pub struct PgnTags<'a> {
    /// `Event`.
    pub event: &'a str,
    /// `White` or `Black` for A and B.
    pub names: [&'a str; 2],
    /// The limits of A and B.
    pub limits: [SideLimit; 2],
}

/// Writes one game, with an empty line behind it.
///
/// # Errors
/// The error of `out`.
pub fn write_pgn(out: &mut impl Write, game: &GameRecord, tags: &PgnTags<'_>) -> io::Result<()> {
    let [white, black] = [game.assignment.white, game.assignment.white.other()].map(|side| side.index());
    tag(out, "Event", tags.event)?;
    tag(out, "Site", "?")?;
    tag(out, "Date", "????.??.??")?;
    tag(out, "Round", &format!("{}.{}", game.assignment.pair + 1, 1 + game.assignment.game % 2))?;
    tag(out, "White", tags.names[white])?;
    tag(out, "Black", tags.names[black])?;
    tag(out, "Result", result(game.outcome))?;
    let first = game.history.position(0);
    if game.history.variant() == Variant::Chess960 {
        tag(out, "Variant", "Chess960")?;
    }
    if !first.is_standard_start() || first.game_ply() > 0 {
        tag(out, "SetUp", "1")?;
        tag(out, "FEN", &first.to_fen())?;
    }
    if tags.limits[white] == tags.limits[black] {
        tag(out, "TimeControl", &time_control(tags.limits[white]))?;
    } else {
        tag(out, "WhiteTimeControl", &time_control(tags.limits[white]))?;
        tag(out, "BlackTimeControl", &time_control(tags.limits[black]))?;
    }
    tag(out, "PlyCount", &(game.history.len() - 1).to_string())?;
    tag(out, "Termination", termination(game.termination))?;
    tag(out, "TerminationDetails", game.termination.word())?;
    tag(out, "Annotator", &format!("Zeitnot {VERSION}"))?;
    writeln!(out)?;
    write_wrapped(out, &movetext(game))?;
    writeln!(out)
}

fn result(outcome: GameOutcome) -> &'static str {
    match outcome {
        GameOutcome::Win(Color::White) => "1-0",
        GameOutcome::Win(Color::Black) => "0-1",
        GameOutcome::Draw => "1/2-1/2",
    }
}

/// Returns the standard's word for the tag `Termination`.
fn termination(termination: Termination) -> &'static str {
    match termination {
        Termination::Rules(_) => "normal",
        Termination::TimeForfeit => "time forfeit",
        Termination::IllegalMove => "rules infraction",
        Termination::Adjudication => "adjudication",
    }
}

fn time_control(limit: SideLimit) -> String {
    match limit {
        SideLimit::Nodes(_) => "-".into(),
        SideLimit::Clock(_) => limit.to_string(),
    }
}

/// Returns all moves with their comments, and the result.
fn movetext(game: &GameRecord) -> String {
    let mut text = String::new();
    for index in 0..game.history.len() - 1 {
        let before = game.history.position(index);
        let after = game.history.position(index + 1);
        let played = index.checked_sub(game.first_position()).map(|own| &game.moves[own]);
        let san = match played {
            Some(played) => before.format_san(played.mv),
            None => move_between(before, after).map(|mv| before.format_san(mv)).unwrap_or_default(),
        };
        // After a comment Black's moves need their number too.
        let dots = if before.turn().is_white() { "." } else { "..." };
        // Writing to a string cannot fail.
        let _ = write!(text, "{}{dots} ", before.game_ply() / 2 + 1);
        let comment = played.map_or("book".into(), |played| comment(played, before.turn()));
        let _ = write!(text, "{san} {{{comment}}} ");
    }
    text.push_str(result(game.outcome));
    text
}

/// Returns the move that led from one position to the next.
pub(super) fn move_between(before: &Position, after: &Position) -> Option<Move> {
    before.legal_moves().iter().copied().find(|&mv| before.play(mv).key() == after.key())
}

/// Returns the comment of a move: commands that other programs read, then figures of ours as `key=value`.
fn comment(played: &MoveRecord, mover: Color) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    if let Some(score) = played.score {
        let _ = write!(text, "[%eval {}] ", eval_of_white(score, mover));
    }
    if let Some(ms) = played.clock_ms {
        let _ = write!(text, "[%clk {}] [%emt {}] ", hours(ms), hours(played.used_ms));
    }
    let _ = write!(text, "n={} new={}", played.nodes, played.new_nodes);
    if let Some(plies) = played.moves_left {
        let _ = write!(text, " ml={plies:.1}");
    }
    if let Some(ms) = played.budget_ms {
        let _ = write!(text, " budget={:.3}", ms / 1000.0);
    }
    let _ = write!(text, " end={}", played.end);
    text
}

/// Writes a score as in `%eval`: pawns from White's point of view, or `#` and the moves to mate.
pub(in crate::lab) fn eval_of_white(score: MoveScore, mover: Color) -> String {
    let sign = if mover.is_white() { 1 } else { -1 };
    match score {
        MoveScore::Centipawns(score) => format!("{:.2}", f64::from(sign * score) / 100.0),
        MoveScore::Mate(moves) => format!("#{}", sign * moves),
    }
}
