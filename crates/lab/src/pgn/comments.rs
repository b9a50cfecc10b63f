//! What the comment behind a move says of it: commands such as `[%clk 0:01:00]`, and `book`.

use super::RecordedMove;
use zeitnot_engine::chess::Color;

/// Larger evaluations are cut to this, in centipawns. Above lie the mates.
const LARGEST_CENTIPAWNS: f64 = 15000.0;
/// A mate in n plies is this minus n.
const MATE: i32 = 32000;

/// Adds what the comment after a move of `mover` says.
pub(super) fn apply(text: &str, mover: Color, played: &mut RecordedMove) {
    let mut prose = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("[%") {
        let (command, after) = behind.split_once(']').unwrap_or((behind, ""));
        prose += before;
        if !take_command(command.trim_ascii_start(), mover, played) {
            prose.extend(["[%", command, "]"]);
        }
        rest = after;
    }
    let prose = one_line(&(prose + rest));
    match &*prose {
        "" => {}
        "book" => played.is_book = true,
        _ => played.comments.push(prose),
    }
}

/// Takes a command such as `clk 0:01:00`. Returns false if it is for others.
fn take_command(command: &str, mover: Color, played: &mut RecordedMove) -> bool {
    let name = command.split(|c: char| c.is_ascii_whitespace()).next().unwrap_or_default();
    // Lines may be broken anywhere, so white space says nothing.
    let value: String = command[name.len()..].split_ascii_whitespace().collect();
    let value = value.split(',').next().unwrap_or_default();
    match name {
        "eval" => played.centipawns = evaluation(value, mover).or(played.centipawns),
        "clk" => played.clock_ms = time_ms(value).or(played.clock_ms),
        "emt" => played.used_ms = time_ms(value).or(played.used_ms),
        _ => return false,
    }
    true
}

/// Returns text as it can be written within a comment or a variation, at any width of lines: white space is
/// one blank, and braces are brackets.
pub(super) fn one_line(text: &str) -> String {
    let is_space = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}' | '\u{feff}');
    let words: Vec<_> = text.split(is_space).filter(|word| !word.is_empty()).collect();
    words.join(" ").replace('{', "(").replace('}', ")")
}

/// Parses `h:mm:ss.fff`, `mm:ss` or seconds, and returns ms.
fn time_ms(text: &str) -> Option<f64> {
    let part = |part: &str| match part.as_bytes() {
        // Most hours and minutes.
        [digit @ b'0'..=b'9'] => Some(f64::from(digit - b'0')),
        _ => part.parse::<f64>().ok().filter(|part| part.is_finite() && *part >= 0.0),
    };
    let seconds = text.split(':').map(part).try_fold(0.0, |sum, part| Some(60.0 * sum + part?))?;
    Some(1000.0 * seconds)
}

/// Parses pawns or `#n` from White's point of view, and returns centipawns from the mover's.
fn evaluation(text: &str, mover: Color) -> Option<i16> {
    let white = match text.strip_prefix('#') {
        Some(mate) => {
            let moves: i32 = mate.parse().ok()?;
            let plies = moves.unsigned_abs().saturating_mul(2).saturating_sub(1).clamp(1, 1000) as i32;
            if moves < 0 { plies - MATE } else { MATE - plies }
        }
        None => {
            (text.parse::<f64>().ok()? * 100.0).clamp(-LARGEST_CENTIPAWNS, LARGEST_CENTIPAWNS).round() as i32
        }
    };
    i16::try_from(if mover == Color::White { white } else { -white }).ok()
}

#[cfg(test)]
mod tests {
    use shakmaty::Square;

    use super::*;
    use zeitnot_engine::chess::Move;

    fn read_comment(text: &str, mover: Color) -> RecordedMove {
        let mut played = RecordedMove::new(Move::new(Square::E2, Square::E4, None));
        apply(text, mover, &mut played);
        played
    }

    #[test]
    fn times_evaluations_and_book() {
        let played = read_comment("[%eval 0.60] [%emt 0:00:37.918] [%clk 1:29:25.5]", Color::Black);
        assert_eq!((played.centipawns, played.used_ms), (Some(-60), Some(37_918.0)));
        assert_eq!(played.clock_ms, Some(5_365_500.0), "3,600 + 29·60 + 25.5 s");
        assert_eq!(read_comment("[%eval #-5]", Color::White).centipawns, Some(9 - 32000));
        assert_eq!(read_comment("[%eval #5,23]", Color::Black).centipawns, Some(9 - 32000));
        assert!(read_comment(" book ", Color::White).is_book && !played.is_book);
        assert_eq!(read_comment("[%clk 12]", Color::White).clock_ms, Some(12_000.0));
    }

    #[test]
    fn nonsense_says_nothing() {
        let nothing = read_comment("", Color::White);
        for text in
            ["[%clk -1:00]", "[%clk x]", "[%eval nan-]", "[%clk", "[%eval #99999999999]", "[%emt 0:nan]"]
        {
            assert_eq!(read_comment(text, Color::White), nothing, "{text}");
        }
        assert!(read_comment("[%eval #-2147483648]", Color::White).centipawns.is_some());
    }
}
