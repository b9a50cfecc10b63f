//! Writes games as PGN.

use zeitnot_engine::chess::{Move, Position};

const WIDTH: usize = 100;

/// The text of a game with an empty line behind it.
pub(crate) fn written(
    tags: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
    movetext: &str,
) -> String {
    let tags = tags
        .into_iter()
        .map(|(name, value)| tag(name.as_ref(), value.as_ref()));
    format!("{}\n{}\n", tags.collect::<String>(), wrapped(movetext))
}

/// In SAN. Black's move needs a number behind a comment.
pub(crate) fn numbered(before: &Position, played: Move) -> String {
    let number = before.game_ply() / 2 + 1;
    let dots = if before.turn().is_white() { "." } else { "..." };
    format!("{number}{dots} {}", before.format_san(played))
}

/// The moves of a line, each behind the position before it.
pub(crate) fn with_positions(
    start: &Position,
    moves: impl Iterator<Item = Move>,
) -> impl Iterator<Item = (Position, Move)> {
    let mut next = start.clone();
    moves.map(move |played| {
        let after = next.play(played);
        (std::mem::replace(&mut next, after), played)
    })
}

/// What other programs read in a comment, each with a blank behind it: White's evaluation, the clock after
/// the move, and the time that it took.
pub(crate) fn commands(eval: Option<String>, clock_ms: Option<f64>, used_ms: Option<f64>) -> String {
    let eval = eval.map(|eval| format!("[%eval {eval}] "));
    let clock = clock_ms.map(|ms| format!("[%clk {}] ", hours(ms)));
    let used = used_ms.map(|ms| format!("[%emt {}] ", hours(ms)));
    [eval, clock, used].into_iter().flatten().collect()
}

fn tag(name: &str, value: &str) -> String {
    // A line of its own would end the tag.
    let value = value.replace(char::is_control, " ");
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("[{name} \"{value}\"]\n")
}

fn hours(ms: f64) -> String {
    let ms = ms.max(0.0).round() as u64;
    let seconds = ms / 1000;
    format!(
        "{}:{:02}:{:02}.{:03}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        ms % 1000
    )
}

/// The text in lines of [`WIDTH`]. Commands such as `[%clk 0:01:00]` stay whole, as many programs read them
/// on one line alone.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut column = 0;
    let mut rest = Some(text);
    while let Some(text) = rest {
        let is_command = text.trim_start_matches('{').starts_with("[%");
        let within = if is_command {
            text.find(']').unwrap_or_default()
        } else {
            0
        };
        let end = text[within..].find(' ').map(|end| within + end);
        let word = &text[..end.unwrap_or(text.len())];
        rest = end.map(|end| &text[end + 1..]);
        // At the start of a line these would begin a tag, or escape the line.
        let may_begin_line = is_command || !word.starts_with(['[', '%']);
        if column > 0 && column + 1 + word.len() > WIDTH && may_begin_line {
            lines.push('\n');
            column = 0;
        } else if column > 0 {
            lines.push(' ');
            column += 1;
        }
        lines += word;
        column += word.len();
    }
    lines + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A regression: `timelab --recorded-clocks` refused games of our own matches, whose clocks were broken
    /// over two lines.
    #[test]
    fn commands_are_not_broken_over_lines() {
        let text = "12. Nf3 {[%eval 0.10] [%clk 0:01:00.000] [%emt 0:00:01.000] n=1} ".repeat(60) + "1-0";
        let wrapped = wrapped(&text);
        assert_eq!(wrapped.replace('\n', " ").trim_end(), text);
        for line in wrapped.lines() {
            assert!(
                line.len() <= WIDTH && line.len() > WIDTH / 2 || line.ends_with("1-0"),
                "{line}"
            );
            assert_eq!(line.matches("[%").count(), line.matches(']').count(), "{line}");
        }
    }
}
