//! The time control that a game was played at, as its tags tell it, and the time that its clocks say was
//! used.

use super::RecordedGame;
use zeitnot_engine::chess::Color;
use zeitnot_engine::time::{Millis, TimeControl};

/// A clock may gain this much without an increment, ms: servers round, and give back what the network took.
const TOLERANCE_MS: f64 = 1000.0;
/// Words that say nothing but that what stands before them is an increment.
const WORDS_OF_INCREMENTS: [&str; 9] =
    ["per", "move", "increment", "increments", "inc", "each", "from", "bonus", "added"];

/// A time control of one or several periods, such as `40/7200:20/3600:900+30`.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedControl {
    /// At least one. All but the last have a number of moves. One with a number that is the last repeats.
    periods: Vec<TimeControl>,
}

impl RecordedControl {
    /// Reads the control of the side `color`, or `None` if no tag tells it, or none that can be read.
    pub fn of(game: &RecordedGame, color: Color) -> Option<RecordedControl> {
        let own = color.fold_wb("WhiteTimeControl", "BlackTimeControl");
        RecordedControl::parse(game.tags.get(own).or_else(|| game.tags.get("TimeControl"))?)
    }

    /// Reads the text of a tag `TimeControl`: as the standard has it, or in words such as `15 min. + 10 s.
    /// per move`.
    pub(crate) fn parse(text: &str) -> Option<RecordedControl> {
        let periods: Option<Vec<TimeControl>> =
            text.split(':').map(|period| period.trim().parse().ok()).collect();
        let periods = periods.or_else(|| Some(vec![in_words(text)?]))?;
        let (_, others) = periods.split_last()?;
        others.iter().all(|period| period.moves.is_some()).then_some(RecordedControl { periods })
    }

    /// Returns the first period.
    pub(crate) fn first(&self) -> TimeControl {
        self.periods[0]
    }

    /// Returns the periods behind the first one.
    pub(crate) fn later(&self) -> &[TimeControl] {
        &self.periods[1..]
    }

    /// Says whether each move has a time of its own, as in `1/86400`, a day for each.
    pub(crate) fn is_per_move(&self) -> bool {
        self.first().moves == Some(1)
    }

    /// Returns the rules of move `number` of a side, from 1, and the time that comes with its end.
    fn at(&self, number: u32) -> (TimeControl, Millis) {
        let mut before = number - 1;
        let (last, others) = self.periods.split_last().unwrap_or((&self.periods[0], &[]));
        for (place, period) in others.iter().enumerate() {
            let moves = period.moves.unwrap_or(u32::MAX);
            if before < moves {
                let next = if before + 1 == moves { self.periods[place + 1].time } else { Millis::ZERO };
                return (*period, next);
            }
            before -= moves;
        }
        let is_end = last.moves.is_some_and(|moves| before % moves == moves - 1);
        (*last, if is_end { last.time } else { Millis::ZERO })
    }

    /// Returns the time that a side used for each of its moves, ms, by its clock after each. Its first move
    /// has the number `number`.
    fn used_ms(&self, number: u32, clocks: &[Option<f64>]) -> Vec<Option<f64>> {
        let mut before = Some(self.first().time.0);
        // Some clocks show the time of the next period one move later.
        let mut late = 0.0;
        let used = (number..).zip(clocks).enumerate().map(|(place, (number, &after))| {
            let (rules, next) = self.at(number);
            let before = std::mem::replace(&mut before, after);
            let (before, after) = (before?, after?);
            if self.is_per_move() {
                return Some(rules.time.0 - after);
            }
            let used = before + rules.inc.0 + std::mem::take(&mut late) - after;
            if next == Millis::ZERO {
                return Some(used);
            }
            let then = clocks.get(place + 1).copied().flatten();
            let rises = then.is_some_and(|then| then > after + self.at(number + 1).0.inc.0 + TOLERANCE_MS);
            if rises || after + TOLERANCE_MS < next.0 {
                late = next.0;
                return Some(used);
            }
            Some(used + next.0)
        });
        // A clock that gains time runs by other rules than the tag's.
        used.map(|used| used.filter(|used| *used >= -TOLERANCE_MS).map(|used| used.max(0.0))).collect()
    }
}

/// Returns the time that was used for each move of a game, ms: as recorded, or by the clocks, where the
/// control is known. `other` is the control of games that tell none.
pub(crate) fn used_ms(game: &RecordedGame, other: Option<TimeControl>) -> Vec<Option<f64>> {
    let mut used: Vec<_> = game.moves.iter().map(|played| played.used_ms).collect();
    let turn = game.start.turn();
    for (first, color) in [turn, !turn].into_iter().enumerate() {
        let other = || Some(RecordedControl { periods: vec![other?] });
        let Some(control) = RecordedControl::of(game, color).or_else(other) else { continue };
        let clocks: Vec<_> = game.moves.iter().skip(first).step_by(2).map(|played| played.clock_ms).collect();
        let number = (game.start.game_ply() + first as u32) / 2 + 1;
        let own = used.iter_mut().skip(first).step_by(2);
        own.zip(control.used_ms(number, &clocks)).for_each(|(used, by_clock)| *used = used.or(by_clock));
    }
    used
}

/// Reads `15 min. + 10 s. per move`, `1 h 30 min + 30 s`, `90' + 30''`: each number has its unit.
fn in_words(text: &str) -> Option<TimeControl> {
    let text = text.to_lowercase().replace("plus", "+");
    let (time, increment) = text.split_once('+').unwrap_or((&text, ""));
    let increment: Vec<_> = words(increment).filter(|word| !WORDS_OF_INCREMENTS.contains(word)).collect();
    let inc = if increment.is_empty() { Millis::ZERO } else { duration(increment.into_iter())? };
    let time = duration(words(time))?;
    (time > Millis::ZERO).then_some(TimeControl { time, inc, moves: None })
}

/// Splits text into numbers and what stands between them, without dots and spaces.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_digit = |c: char| c.is_ascii_digit();
    let parts = text.split(|c: char| c.is_whitespace() || "/,()".contains(c)).flat_map(move |word| {
        let digits = word.find(|c| !is_digit(c)).unwrap_or(word.len());
        let (number, unit) = word.split_at(digits);
        [number, unit.trim_end_matches('.')]
    });
    parts.filter(|part| !part.is_empty())
}

fn duration<'t>(mut words: impl Iterator<Item = &'t str>) -> Option<Millis> {
    let mut seconds = 0.0;
    let mut has_any = false;
    while let Some(word) = words.next() {
        let number: f64 = word.parse().ok()?;
        let unit = match words.next()? {
            "d" | "day" | "days" => 86_400.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
            "m" | "min" | "mins" | "minute" | "minutes" | "'" | "′" => 60.0,
            "s" | "sec" | "secs" | "second" | "seconds" | "''" | "\"" | "″" => 1.0,
            _ => return None,
        };
        seconds += number * unit;
        has_any = true;
    }
    has_any.then(|| Millis::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgn::Games;

    #[test]
    fn controls_are_read_as_people_write_them() {
        let control =
            |time: f64, inc: f64, moves| TimeControl { time: Millis(time), inc: Millis(inc), moves };
        for (text, expected) in [
            ("60+1", &[control(60e3, 1e3, None)][..]),
            ("300", &[control(300e3, 0.0, None)]),
            ("1/86400", &[control(86_400e3, 0.0, Some(1))]),
            ("40/5400+30:1800+30", &[control(5400e3, 30e3, Some(40)), control(1800e3, 30e3, None)]),
            (
                "40/7200:20/3600:900+30",
                &[control(7200e3, 0.0, Some(40)), control(3600e3, 0.0, Some(20)), control(900e3, 30e3, None)],
            ),
            ("15 min. + 10 s. per move", &[control(900e3, 10e3, None)]),
            ("15min+10sec", &[control(900e3, 10e3, None)]),
            ("1 h 30 min plus 30 seconds increment per move", &[control(5400e3, 30e3, None)]),
            ("90' + 30''/move", &[control(5400e3, 30e3, None)]),
            ("10 minutes", &[control(600e3, 0.0, None)]),
        ] {
            assert_eq!(RecordedControl::parse(text).unwrap().periods, expected, "{text}");
        }
        for text in [
            "",
            "-",
            "?",
            "*180",
            "G/60;d5",
            "rapid",
            "15 + 10 per move",
            "5400:1800",
            "40 moves in 2 hours",
            "15 min + 10 per move",
        ] {
            assert_eq!(RecordedControl::parse(text), None, "{text}");
        }
    }

    fn used(control: &str, clocks: &[f64]) -> Vec<Option<f64>> {
        let clocks: Vec<_> = clocks.iter().map(|seconds| Some(1000.0 * seconds)).collect();
        let used = RecordedControl::parse(control).unwrap().used_ms(1, &clocks);
        used.into_iter().map(|used| used.map(|ms| ms / 1000.0)).collect()
    }

    #[test]
    fn clocks_tell_the_time_of_each_move_in_every_period() {
        assert_eq!(used("60+1", &[58.0, 57.0]), [Some(3.0), Some(2.0)]);
        assert_eq!(used("2/60+1:30", &[51.0, 72.0, 60.0]), [Some(10.0), Some(10.0), Some(12.0)]);
        assert_eq!(
            used("2/60+1:30", &[51.0, 42.0, 60.0]),
            [Some(10.0), Some(10.0), Some(12.0)],
            "shown later"
        );
        assert_eq!(
            used("2/60", &[50.0, 100.0, 90.0, 140.0]),
            [Some(10.0), Some(10.0), Some(10.0), Some(10.0)]
        );
        assert_eq!(used("1/86400", &[85_803.0, 85_090.0]), [Some(597.0), Some(1310.0)]);
        assert_eq!(used("60", &[60.4, 90.0, 80.0]), [Some(0.0), None, Some(10.0)], "by other rules");
    }

    #[test]
    fn without_a_control_no_time_is_invented() {
        let moves =
            "1. e4 {[%clk 0:00:50]} e5 {[%clk 0:00:51]} 2. Nf3 {[%clk 0:00:40]} Nc6 {[%emt 0:00:07]} *\n";
        let game =
            |tags: &str| Games::new("text", format!("{tags}\n\n{moves}").as_bytes()).next().unwrap().unwrap();
        assert_eq!(used_ms(&game("[TimeControl \"rapid\"]"), None), [None, None, None, Some(7000.0)]);
        let told = Some("60+0".parse().unwrap());
        assert_eq!(used_ms(&game(""), told), [Some(10_000.0), Some(9000.0), Some(10_000.0), Some(7000.0)]);
        let own = game("[WhiteTimeControl \"60+1\"]\n[BlackTimeControl \"55\"]");
        assert_eq!(used_ms(&own, None), [Some(11_000.0), Some(4000.0), Some(11_000.0), Some(7000.0)]);
    }
}
