//! What the comment behind a move says of it: commands such as `[%clk 0:01:00]`, `book`, and figures without
//! commands, whose unit only all comments of a game tell.

use super::RecordedMove;
use itertools::Itertools;
use zeitnot_engine::chess::Color;
use zeitnot_engine::files::is_blank;

/// Larger evaluations are cut to this, in centipawns. Above lie the mates.
const LARGEST_CENTIPAWNS: f64 = 15000.0;
/// A mate in n plies is this minus n.
const MATE: i32 = 32000;
/// How programs write figures: a command, the whole comment up to its first comma, or one of its pairs with
/// `=`. A row has the name of command or pair, the fields and what stands between them, what the form is
/// called, and the unit of times that are written without one, ms. Of the fields `t` is a time used, `s` one
/// with its unit, `c` the clock, `h` the clock as `h:mm:ss`, `n` a whole number, `e` the mover's evaluation,
/// and `w` White's.
const FORMS: [(&str, &str, &str, f64); 11] = [
    ("clk", "c", "[%clk]", 1000.0),
    ("emt", "t", "[%emt]", 1000.0),
    ("mt", "t", "mt=", 1.0),
    ("tl", "c", "tl=", 1.0),
    ("ev", "e", "ev=", 1.0),
    ("wv", "w", "wv=", 1.0),
    ("", "e/n s", "fastchess's times", 1000.0),
    ("", "e n/n t n", "OpenBench's times", 1.0),
    ("", "e/n t", "WinBoard's times", 1000.0),
    ("", "e/n t n", "BanksiaGUI's times", 1000.0),
    ("", "h", "ICC's clocks", 1000.0),
];
/// What ends a field.
const ENDS: [char; 2] = [' ', '/'];
/// In comments of the first seasons of TCEC on moves of an opening.
const UNPLAYED: [&str; 2] = ["ev=0.00, d=1, mt=00:00:00,", " s=0 kN/s"];

/// What all comments of a game say of units.
#[derive(Default)]
pub(super) struct Commands {
    /// Of the move at hand, with 1 if it is White's, −1 if Black's.
    place: usize,
    sign: f64,
    /// Of the move at a place, from the mover's point of view.
    evals: Vec<(usize, f64)>,
    /// Evaluations that are whole numbers with a depth behind them.
    whole_evals: usize,
    /// Whether clocks are two whole numbers, such as `1:29`.
    pub(super) has_short_clocks: bool,
    pub(super) has_long_clocks: bool,
    pub(super) time_forms: Vec<&'static str>,
}

impl Commands {
    /// `moves` ends with the one before the comment, by `mover`.
    pub(super) fn apply(&mut self, text: &str, mover: Color, moves: &mut [RecordedMove]) {
        let Some((played, before)) = moves.split_last_mut() else {
            return;
        };
        self.place = before.len();
        self.sign = mover.fold_wb(1.0, -1.0);
        let may_be_book = before.last().is_none_or(|last| last.is_book);
        let mut prose = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("[%") {
            let end = behind.find(']').map_or(behind.len(), |end| end + 1);
            let (command, after) = behind.split_at(end);
            prose += before;
            if !self.take(command.trim_end_matches(']').trim_ascii_start(), played) {
                prose.extend(["[%", command]);
            }
            rest = after;
        }
        let prose = one_line(&(prose + rest));
        self.take_figures(&prose, played);
        let is_unplayed = may_be_book && UNPLAYED.iter().all(|sign| prose.contains(sign));
        played.is_book |= is_unplayed || prose.split(',').next() == Some("book");
        if !prose.is_empty() && prose != "book" {
            played.comments.push(prose);
        }
    }

    /// Takes what is in one of the [`FORMS`], or in pairs. Behind a form may stand words.
    fn take_figures(&mut self, prose: &str, played: &mut RecordedMove) {
        let prose = prose.trim_end_matches(',');
        let has_pairs = prose.split(", ").skip(1).all(|part| part.contains('='));
        for (number, part) in prose.split(", ").enumerate() {
            // In brackets stands what the engine expected.
            let behind = part.strip_prefix('(').and_then(|part| part.split_once(") "));
            let part = behind.map_or(part, |(_, behind)| behind);
            let (name, value) = part.split_once('=').unwrap_or(("", part));
            let is_alone = number == 0 && name.is_empty();
            if !is_alone && !has_pairs || !self.take_form(name, value, played) && is_alone {
                return;
            }
        }
    }

    /// Takes a command such as `clk 0:01:00`, or returns false.
    fn take(&mut self, command: &str, played: &mut RecordedMove) -> bool {
        // Lines may be broken anywhere, so white space says nothing.
        let mut words = command.split_ascii_whitespace();
        let name = words.next().unwrap_or_default();
        let value: String = words.collect();
        if name == "eval" {
            let (value, depth) = value.split_once([',', '/']).unwrap_or((&value, ""));
            // Here `M5` counts moves, as `#5` does.
            return self.take_eval(&value.replace(['M', 'm'], "#"), depth, self.sign, played);
        }
        let is_known = self.take_form(name, &value, played);
        let is_short = value.split(':').count() == 2 && !value.contains('.');
        self.has_short_clocks |= name == "clk" && is_short;
        self.has_long_clocks |= name == "clk" && !is_short && is_known;
        is_known
    }

    fn take_form(&mut self, name: &str, text: &str, played: &mut RecordedMove) -> bool {
        let mut forms = FORMS.iter().filter(|form| form.0 == name);
        let found = forms.find_map(|form| Some((form.2, fields(form.1, text, form.3)?)));
        let Some((form, fields)) = found else {
            return false;
        };
        for (letter, value, ms) in fields {
            match letter {
                "c" | "h" => played.clock_ms = ms,
                "s" | "t" => played.used_ms = ms,
                "e" => _ = self.take_eval(value, "", 1.0, played),
                "w" => _ = self.take_eval(value, "", self.sign, played),
                _ => continue,
            }
            let is_time = !["e", "w"].contains(&letter);
            if is_time && !self.time_forms.contains(&form) {
                self.time_forms.push(form);
            }
        }
        true
    }

    /// Takes pawns, or a mate, that are the mover's times `sign`.
    fn take_eval(&mut self, text: &str, depth: &str, sign: f64, played: &mut RecordedMove) -> bool {
        if let Some(plies) = mate(text) {
            let own = sign as i32 * plies;
            // Who has just moved has mated, whatever the sign.
            let score = if own < 0 { -MATE - own } else { MATE - own.max(1) };
            played.centipawns = i16::try_from(score).ok();
            return true;
        }
        let Some(pawns) = number(text).filter(|pawns| pawns.is_finite()) else {
            return false;
        };
        self.evals.push((self.place, sign * pawns));
        let is_whole = is_number(text.strip_prefix('-').unwrap_or(text)) && is_number(depth);
        self.whole_evals += usize::from(is_whole);
        true
    }

    /// Gives the moves their evaluations: centipawns where all are whole numbers with a depth, as ChessBase
    /// writes them, else pawns.
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

/// Text that can stand in a comment or a variation: white space is one blank, and braces are brackets.
pub(super) fn one_line(text: &str) -> String {
    let words = text.split(|c| is_blank(c) || c.is_control());
    let text = words.filter(|word| !word.is_empty()).join(" ");
    text.replace('{', "(").replace('}', ")")
}

/// A field of a form: its letter, what stands there, and that as a time, ms.
type Field<'t> = (&'static str, &'t str, Option<f64>);

/// Reads text that is in the form as a whole.
fn fields<'t>(form: &'static str, text: &'t str, unit: f64) -> Option<Vec<Field<'t>>> {
    let mut found = Vec::new();
    let mut pieces = text.split_inclusive(ENDS);
    for field in form.split_inclusive(ENDS) {
        let piece = pieces.next()?;
        let (letter, end) = field.split_at(1);
        let value = piece.strip_suffix(end)?;
        let ms = time_ms(value, unit);
        let is_valid = match letter {
            "n" => is_number(value),
            "e" | "w" => is_eval(value),
            "s" => value.ends_with('s') && ms.is_some(),
            "h" => value.matches(':').count() == 2 && ms.is_some(),
            _ => ms.is_some(),
        };
        if !is_valid {
            return None;
        }
        found.push((letter, value, ms));
    }
    pieces.next().is_none().then_some(found)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A number, perhaps with a decimal comma.
fn number(text: &str) -> Option<f64> {
    text.replace(',', ".").parse().ok()
}

/// People write scores such as `2.5/4`, and programs evaluations with a sign or two decimals.
fn is_eval(text: &str) -> bool {
    let decimals = text.rsplit(['.', ',']).next().unwrap_or_default();
    let is_written_so = decimals.len() == 2 || text.starts_with(['+', '-']);
    is_written_so && number(text).is_some() || mate(text).is_some()
}

/// Parses `d:hh:mm:ss`, `h:mm:ss.fff`, `mm:ss`, `338ms`, `3.4s`, or a number of `unit` ms, and returns ms.
fn time_ms(text: &str, unit: f64) -> Option<f64> {
    let (text, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(ms), _) => (ms, 1.0),
        (None, Some(seconds)) => (seconds, 1000.0),
        (None, None) if text.contains(':') => (text, 1000.0),
        (None, None) => (text, unit),
    };
    let mut parts = text.rsplit(':');
    let last = number(parts.next()?)?;
    let mut sum = unit * last;
    // The last part alone may have a fraction.
    for unit in [60e3, 3600e3, 86_400e3] {
        let Some(part) = parts.next() else { break };
        sum += unit * f64::from(part.parse::<u32>().ok()?);
    }
    let is_time = sum.is_finite() && last.is_sign_positive() && parts.next().is_none();
    is_time.then_some(sum)
}

/// The plies to a mate, below zero for being mated: `#5` counts moves, `+M5` plies.
fn mate(text: &str) -> Option<i32> {
    if !text.contains(['#', 'M', 'm']) {
        return None;
    }
    let number = text.replace(['#', 'M', 'm', '+', '-'], "");
    let mut plies = number.parse::<u32>().ok()?.min(1000) as i32;
    if text.contains('#') {
        plies = (2 * plies - 1).max(0);
    }
    Some(if text.contains('-') { -plies } else { plies })
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
        // A regression: of nought moves the sign was lost, and the side that mated was mated.
        for (text, mover) in [
            ("#-0", Color::Black),
            ("#0", Color::Black),
            ("-M0", Color::White),
            ("#-1", Color::Black),
        ] {
            let played = read_comment(&format!("[%eval {text}]"), mover);
            assert_eq!(played.centipawns, Some(31_999), "{text}");
        }
        assert_eq!(read_comment("[%emt 1,5]", Color::White).used_ms, Some(1500.0));
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
            "[%clk 1.55:05]",
            "[%emt 0.01:00]",
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
