//! What the comment behind a move says of it: commands such as `[%clk 0:01:00]`, and `book`. The unit of some
//! is known when all comments of the game are.

use super::RecordedMove;
use zeitnot_engine::chess::Color;
use zeitnot_engine::files::is_blank;

/// Larger evaluations are cut to this, in centipawns. Above lie the mates.
const LARGEST_CENTIPAWNS: f64 = 15000.0;
/// A mate in n plies is this minus n.
const MATE: i32 = 32000;

/// What all comments of a game say, whose units are to be found.
#[derive(Default)]
pub(super) struct Commands {
    /// The place of a move, and the evaluation from the mover's point of view.
    evals: Vec<(usize, f64)>,
    /// Evaluations that are whole numbers with a depth behind them.
    whole_evals: usize,
    /// Whether clocks are two whole numbers, such as `1:29`.
    pub(super) has_short_clocks: bool,
    pub(super) has_long_clocks: bool,
    pub(super) time_forms: Vec<&'static str>,
}

impl Commands {
    /// Adds what the comment says that follows the last of `moves`, one of `mover`.
    pub(super) fn apply(&mut self, text: &str, mover: Color, moves: &mut [RecordedMove]) {
        let Some((played, before)) = moves.split_last_mut() else {
            return;
        };
        let place = before.len();
        let mut prose = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("[%") {
            let end = behind.find(']').map_or(behind.len(), |end| end + 1);
            let (command, after) = behind.split_at(end);
            prose += before;
            if !self.take(
                command.trim_end_matches(']').trim_ascii_start(),
                mover,
                place,
                played,
            ) {
                prose.extend(["[%", command]);
            }
            rest = after;
        }
        let prose = one_line(&(prose + rest));
        match &*prose {
            "" => {}
            "book" => played.is_book = true,
            _ => {
                self.take_figures(&prose, mover, place, played);
                played.comments.push(prose);
            }
        }
    }

    /// Takes what other programs write without commands: `+0.30/14 3.4s` (cutechess, fastchess), `+0.57 17/28
    /// 583 363004` (OpenBench), `mt=12000 tl=5400000 wv=0.35` (TCEC, in ms), `0:04:57` (ICC, the clock).
    fn take_figures(&mut self, prose: &str, mover: Color, place: usize, played: &mut RecordedMove) {
        let words: Vec<_> = prose.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let ms = |text: &str| match text.strip_suffix('s') {
            Some(seconds) => time_ms(seconds),
            None => time_ms(text).map(|seconds| seconds / 1000.0),
        };
        let is_number = |text: &str| text.parse::<u64>().is_ok();
        let (eval, used, source) = match words[..] {
            [clock] if clock.split(':').count() == 3 => {
                self.set(&mut played.clock_ms, time_ms(clock), "ICC's clocks");
                return;
            }
            [eval, depths, used, nodes] if depths.contains('/') && is_number(nodes) => {
                (eval, ms(used), "OpenBench's times")
            }
            [eval, used, ..] if used.ends_with('s') => match eval.split_once('/') {
                Some((eval, depth)) if is_number(depth) => (eval, ms(used), "fastchess's times"),
                _ => ("", None, ""),
            },
            _ => ("", None, ""),
        };
        if used.is_some() {
            self.set(&mut played.used_ms, used, source);
            self.take_eval(eval, "", Color::White, place);
        }
        for (name, value) in words.iter().filter_map(|word| word.split_once('=')) {
            match name {
                "tl" => self.set(&mut played.clock_ms, ms(value), "tl="),
                "mt" => self.set(&mut played.used_ms, ms(value), "mt="),
                _ => name == "wv" && self.take_eval(value, "", mover, place),
            };
        }
    }

    /// Takes a command such as `clk 0:01:00`. Returns false if it is for others.
    fn take(&mut self, command: &str, mover: Color, place: usize, played: &mut RecordedMove) -> bool {
        let name = command
            .split(|c: char| c.is_ascii_whitespace())
            .next()
            .unwrap_or_default();
        // Lines may be broken anywhere, so white space says nothing.
        let values: String = command[name.len()..].split_ascii_whitespace().collect();
        let (value, depth) = values.split_once([',', '/']).unwrap_or((&values, ""));
        match name {
            "eval" => {
                // `#5`, `+#5`, `M5`, as programs write a mate.
                let number = value.replace(['#', 'M', 'm', '+'], "");
                let is_mate = value.contains(['#', 'M', 'm']) && number != "-";
                let mate = mate(&number, mover).filter(|_| is_mate);
                played.centipawns = mate.or(played.centipawns);
                mate.is_some() || !is_mate && self.take_eval(value, depth, mover, place)
            }
            "clk" => {
                let is_short = value.split(':').count() == 2 && !value.contains('.');
                self.has_long_clocks |= time_ms(value).is_some() && !is_short;
                self.has_short_clocks |= is_short;
                self.set(&mut played.clock_ms, time_ms(value), "[%clk]")
            }
            "emt" => self.set(&mut played.used_ms, time_ms(value), "[%emt]"),
            _ => false,
        }
    }

    /// Takes a time where it is one, says so, and keeps the form in which it is written.
    fn set(&mut self, time: &mut Option<f64>, ms: Option<f64>, form: &'static str) -> bool {
        *time = ms.or(*time);
        if ms.is_some() && !self.time_forms.contains(&form) {
            self.time_forms.push(form);
        }
        ms.is_some()
    }

    fn take_eval(&mut self, value: &str, depth: &str, mover: Color, place: usize) -> bool {
        let Some(white) = value.parse().ok().filter(|eval: &f64| eval.is_finite()) else {
            return false;
        };
        self.evals
            .push((place, if mover == Color::White { white } else { -white }));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_whole = is_number(value.strip_prefix('-').unwrap_or(value)) && is_number(depth);
        self.whole_evals += usize::from(is_whole);
        true
    }

    /// Gives the moves their evaluations. Whole numbers with a depth throughout are centipawns, as ChessBase
    /// writes them, all others pawns.
    pub(super) fn settle_evals(&self, moves: &mut [RecordedMove], notes: &mut Vec<String>) {
        let unit = if self.whole_evals == self.evals.len() {
            1.0
        } else {
            100.0
        };
        let mut cut = 0;
        for &(place, eval) in &self.evals {
            let centipawns = (unit * eval).round();
            cut += usize::from(centipawns.abs() > LARGEST_CENTIPAWNS);
            if let Some(played) = moves.get_mut(place) {
                played.centipawns = Some(centipawns.clamp(-LARGEST_CENTIPAWNS, LARGEST_CENTIPAWNS) as i16);
            }
        }
        if cut > 0 {
            notes.push(format!(
                "{cut} evaluations beyond {} pawns are cut to this",
                LARGEST_CENTIPAWNS / 100.0
            ));
        }
    }
}

/// Returns text as it can be written within a comment or a variation, at any width of lines: white space is
/// one blank, and braces are brackets.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<_> = text
        .split(|c| is_blank(c) || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ").replace('{', "(").replace('}', ")")
}

/// Parses `d:hh:mm:ss`, `h:mm:ss.fff`, `mm:ss` or seconds, and returns ms.
fn time_ms(text: &str) -> Option<f64> {
    let part = |part: &str| match part.as_bytes() {
        // Most hours and minutes.
        [digit @ b'0'..=b'9'] => Some(f64::from(digit - b'0')),
        _ => part
            .parse::<f64>()
            .ok()
            .filter(|part| part.is_finite() && *part >= 0.0),
    };
    let parts: Vec<_> = text.split(':').map(part).collect::<Option<_>>()?;
    let (hours, others) = parts.split_at(parts.len().saturating_sub(2));
    // In front of the hours are days.
    let hours = hours.iter().fold(0.0, |sum, part| 24.0 * sum + part);
    Some(1000.0 * others.iter().fold(hours, |sum, part| 60.0 * sum + part))
}

/// Parses the moves to a mate from White's point of view, and returns centipawns from the mover's.
fn mate(moves: &str, mover: Color) -> Option<i16> {
    let moves: i32 = moves.parse().ok()?;
    let plies = moves
        .unsigned_abs()
        .saturating_mul(2)
        .saturating_sub(1)
        .clamp(1, 1000) as i32;
    let white = if moves < 0 { plies - MATE } else { MATE - plies };
    i16::try_from(if mover == Color::White { white } else { -white }).ok()
}

#[cfg(test)]
mod tests {
    use shakmaty::Square;

    use super::*;
    use zeitnot_engine::chess::Move;

    fn read_comment(text: &str, mover: Color) -> RecordedMove {
        let (mut commands, mut notes) = (Commands::default(), Vec::new());
        let mut moves = [RecordedMove::new(Move::new(Square::E2, Square::E4, None))];
        commands.apply(text, mover, &mut moves);
        commands.settle_evals(&mut moves, &mut notes);
        let [played] = moves;
        played
    }

    #[test]
    fn times_evaluations_and_book() {
        let played = read_comment("[%eval 0.60] [%emt 0:00:37.918] [%clk 1:29:25.5]", Color::Black);
        assert_eq!((played.centipawns, played.used_ms), (Some(-60), Some(37_918.0)));
        assert_eq!(played.clock_ms, Some(5_365_500.0), "3,600 + 29·60 + 25.5 s");
        assert_eq!(
            read_comment("[%eval #-5]", Color::White).centipawns,
            Some(9 - 32000)
        );
        assert_eq!(
            read_comment("[%eval #5,23]", Color::Black).centipawns,
            Some(9 - 32000)
        );
        assert!(read_comment(" book ", Color::White).is_book && !played.is_book);
        assert_eq!(read_comment("[%clk 12]", Color::White).clock_ms, Some(12_000.0));
        assert_eq!(
            read_comment("[%clk 2:01:00:05]", Color::White).clock_ms,
            Some(1000.0 * (49.0 * 3600.0 + 5.0))
        );
    }

    #[test]
    fn nonsense_says_nothing() {
        let nothing = read_comment("", Color::White);
        for text in [
            "[%clk -1:00]",
            "[%clk x]",
            "[%eval nan-]",
            "[%eval nan]",
            "[%eval inf]",
            "[%clk",
            "[%eval #99999999999]",
            "[%emt 0:nan]",
        ] {
            let read = read_comment(text, Color::White);
            assert_eq!(read.comments, [text], "what is not understood stays");
            assert_eq!(
                RecordedMove {
                    comments: Vec::new(),
                    ..read
                },
                nothing,
                "{text}"
            );
        }
        assert!(
            read_comment("[%eval #-2147483648]", Color::White)
                .centipawns
                .is_some()
        );
    }
}
