//! A game's time control, as its tags and its clocks tell it together, and the time used by its clocks.

use super::RecordedGame;
use itertools::Itertools;
use zeitnot_engine::chess::Color;
use zeitnot_engine::time::{Millis, TimeControl};

/// A clock may gain this much without an increment, ms: servers round, and give back what the network took.
const TOLERANCE_MS: f64 = 1000.0;
/// The first clock may be above what the control allows by this, ms, and by a tenth: on some servers
/// opponents give time.
const GIVEN_MS: f64 = 15_000.0;
/// The first clock that a comment's form gives is above this part of the base time. Else its unit is another.
const LEAST_PART: f64 = 0.05;
/// The first clock of an unhurried game is above this part of the base time.
const USUAL_PART: f64 = 0.5;
/// Where recorded times sum up to more than so many times what a control allows, their unit is another.
const OTHER_UNIT: f64 = 2.0;
/// What people write for the signs of the standard.
const SIGNS: [(&str, &str); 7] = [
    (" plus ", "+"),
    (" with ", "+"),
    (" and ", "+"),
    ("&", "+"),
    (" for ", "/"),
    ("+", " + "),
    ("/", " / "),
];
/// Words that call what stands before them an increment.
const FILLERS: &str = "per move moves increment increments inc each from bonus added game a";

/// A time control of one or several periods, such as `40/7200:20/3600:900+30`.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedControl {
    /// All but the last have a number of moves. One with a number that is the last repeats.
    periods: Vec<TimeControl>,
}

impl RecordedControl {
    /// The control of `color`, or `None` if no tag tells it, or the clocks do not agree.
    pub fn of(game: &RecordedGame, color: Color) -> Option<RecordedControl> {
        game.controls[color as usize].clone()
    }

    /// Reads the text of a tag `TimeControl`: as the standard has it, or in words such as `15 min. + 10 s.
    /// per move`.
    fn parse(text: &str) -> Option<RecordedControl> {
        RecordedControl::of_numbers(text, 1.0)
            .or_else(|| {
                // As in `15|10`.
                let (minutes, inc) = text.split_once('|')?;
                RecordedControl::of_numbers(&format!("{minutes}+{inc}"), 60.0)
            })
            .or_else(|| Some(in_words(text)?.into()))
    }

    /// Reads numbers as the standard has them. The unit of base times, in seconds, is 1 there.
    fn of_numbers(text: &str, unit: f64) -> Option<RecordedControl> {
        let period = |text: &str| {
            let period: TimeControl = text.trim().parse().ok()?;
            Some(TimeControl {
                time: Millis(period.time.0 * unit),
                ..period
            })
        };
        let periods: Vec<_> = text.split(':').map(period).collect::<Option<_>>()?;
        let (_, others) = periods.split_last()?;
        let have_ends = others.iter().all(|period| period.moves.is_some());
        have_ends.then_some(RecordedControl { periods })
    }

    /// The time that a side has for its first `number` moves together, ms.
    fn most(&self, number: u32) -> f64 {
        let base = self.first().time.0;
        if self.is_per_move() {
            return base * f64::from(number);
        }
        let given = (1..=number).map(|number| {
            let (rules, next) = self.at(number);
            rules.inc.0 + next.0
        });
        base + given.sum::<f64>()
    }

    /// Whether a clock may show this after the first `number` moves, or these may have taken so long, and it
    /// is enough of the base time.
    fn allows(&self, number: u32, ms: f64, least_part: f64) -> bool {
        let most = self.most(number);
        ms <= 1.1 * most + most.min(GIVEN_MS) && ms >= least_part * self.first().time.0
    }

    pub(crate) fn first(&self) -> TimeControl {
        self.periods[0]
    }

    pub(crate) fn later(&self) -> &[TimeControl] {
        &self.periods[1..]
    }

    /// Whether each move has a time of its own, as in `1/86400`, a day for each.
    pub(crate) fn is_per_move(&self) -> bool {
        self.first().moves == Some(1)
    }

    /// The rules of move `number`, from 1, and the time that comes with its end.
    fn at(&self, number: u32) -> (TimeControl, Millis) {
        let mut before = number - 1;
        let mut place = 0;
        while let Some(next) = self.periods.get(place + 1) {
            let period = self.periods[place];
            let moves = period.moves.unwrap_or(u32::MAX);
            if before < moves {
                let is_end = before + 1 == moves;
                return (period, if is_end { next.time } else { Millis::ZERO });
            }
            before -= moves;
            place += 1;
        }
        let last = self.periods[place];
        let is_end = last.moves.is_some_and(|moves| before % moves == moves - 1);
        (last, if is_end { last.time } else { Millis::ZERO })
    }

    /// The time that a side used for each of its moves, ms, by its clock `before` them and after each, the
    /// first one having the `number`.
    fn used_ms(&self, number: u32, mut before: Option<f64>, clocks: &[Option<f64>]) -> Vec<Option<f64>> {
        // Some clocks show the time of the next period one move later.
        let mut late = 0.0;
        let used = (number..).zip(clocks).enumerate();
        let used = used.map(|(place, (number, &after))| {
            let (rules, next) = self.at(number);
            let before = std::mem::replace(&mut before, after);
            let (before, after) = (before?, after?);
            if self.is_per_move() {
                return within(rules.time.0 - after, rules.time.0);
            }
            let before = before + std::mem::take(&mut late);
            let mut used = before + rules.inc.0 - after;
            if next != Millis::ZERO {
                let then = clocks.get(place + 1).copied().flatten();
                let rises = then > Some(after + self.at(number + 1).0.inc.0 + TOLERANCE_MS);
                if rises || after + TOLERANCE_MS < next.0 {
                    late = next.0;
                } else {
                    used += next.0;
                }
            }
            within(used, before)
        });
        used.collect()
    }
}

impl From<TimeControl> for RecordedControl {
    fn from(period: TimeControl) -> RecordedControl {
        RecordedControl {
            periods: vec![period],
        }
    }
}

/// The time used for a move. A clock that gains time, or loses more than it has, runs by other rules.
fn within(used: f64, clock: f64) -> Option<f64> {
    let is_possible = (-TOLERANCE_MS..=clock + TOLERANCE_MS).contains(&used);
    is_possible.then(|| used.clamp(0.0, clock.max(0.0)))
}

/// Brings the tags of the control, the form of the clocks and the first clock of each side to one reading.
/// `are_short` says that all clocks are written as `1:29`: minutes and seconds, or hours and minutes. What
/// fits no reading is left out, as the game's notes say: the control, or clocks and times known by their
/// shape alone.
pub(super) fn settle_time(game: &mut RecordedGame, are_short: bool) {
    let RecordedGame {
        tags,
        start,
        moves,
        notes,
        ..
    } = game;
    let tag = |color: Color| {
        let own = tags.get(color.fold_wb("WhiteTimeControl", "BlackTimeControl"));
        own.or(tags.get("TimeControl")).unwrap_or_default()
    };
    let read = |unit: fn(&str) -> Option<RecordedControl>| {
        [Color::Black, Color::White].map(|color| unit(tag(color)))
    };
    let written = read(RecordedControl::parse);
    let minutes = read(|text| RecordedControl::of_numbers(text, 60.0));
    // Of each side its first clock, or without any all times, and after which move.
    let has_clocks = moves.iter().any(|played| played.clock_ms.is_some());
    let shown = [start.turn(), !start.turn()].map(|color| {
        let first = usize::from(color != start.turn());
        let mut own = moves.iter().skip(first).step_by(2).zip(1..);
        if has_clocks {
            return own.find_map(|(played, number)| Some((color, number, played.clock_ms?)));
        }
        let sum = own.clone().filter_map(|(played, _)| played.used_ms).sum();
        own.last().map(|(_, number)| (color, number, sum))
    });
    // What is shown, times `unit`, as a part of the base time.
    let agree = |controls: &[Option<RecordedControl>; 2], unit: f64, least_part: f64| {
        shown.iter().flatten().all(|&(color, number, ms)| {
            controls[color as usize]
                .as_ref()
                .is_none_or(|control| control.allows(number, unit * ms, least_part))
        })
    };
    let is_by_shape = is_by_shape(&game.time_forms);
    let needs = if has_clocks { "clocks" } else { "times" };
    let usual_part = if has_clocks { USUAL_PART } else { 0.0 };
    let least_part = if has_clocks && is_by_shape {
        LEAST_PART
    } else {
        0.0
    };
    let is_in_minutes =
        agree(&minutes, 1.0, usual_part) && (has_clocks || !agree(&written, 1.0 / OTHER_UNIT, 0.0));
    let name = tag(start.turn());
    let contradiction = format!("contradict its time control {name:?}");
    if has_clocks && !moves.iter().any(|played| played.clock_ms > Some(0.0)) {
        game.controls = written;
        unread(game, "show 0 at all moves");
    } else if are_short && !agree(&written, 1.0, USUAL_PART) && agree(&written, 60.0, USUAL_PART) {
        for played in moves {
            played.clock_ms = played.clock_ms.map(|clock| 60.0 * clock);
        }
        notes.push("its clocks are read as hours and minutes, which its time control needs".into());
        game.controls = written;
    } else if agree(&written, 1.0, least_part) {
        game.controls = written;
    } else if is_in_minutes && minutes.iter().any(Option::is_some) {
        notes.push(format!(
            "its time control {name:?} is read in minutes, which its {needs} need"
        ));
        game.controls = minutes;
    } else if is_by_shape {
        game.controls = written;
        unread(game, &contradiction);
    } else {
        notes.push(format!("its {needs} {contradiction}, which is left out"));
    }
    let is_of_lichess = is_of_lichess(game);
    for (color, _, first) in shown.into_iter().flatten() {
        let control = game.controls[color as usize].as_mut();
        let Some(period) = control.and_then(|control| control.periods.first_mut()) else {
            continue;
        };
        // Berserk: half of the time, and no increment.
        if has_clocks && is_of_lichess && 2.0 * first == period.time.0 {
            period.time = Millis(first);
            period.inc = Millis::ZERO;
        }
    }
    settle_used(game);
}

/// Whether no command says what clocks and times are.
fn is_by_shape(forms: &[&str]) -> bool {
    !forms.is_empty() && !forms.iter().any(|form| form.starts_with('['))
}

/// Leaves out all clocks and times, for this `fault`.
fn unread(game: &mut RecordedGame, fault: &str) {
    for played in &mut game.moves {
        played.clock_ms = None;
        played.used_ms = None;
    }
    let forms = game.time_forms.drain(..).join(" and ");
    game.notes.push(format!("{forms} {fault}, and are not read"));
}

/// On lichess the first move does not run down the clock, and has no increment.
fn is_of_lichess(game: &RecordedGame) -> bool {
    let site = game.tags.get("Site");
    site.is_some_and(|site| site.contains("lichess.org"))
}

/// Leaves out recorded times that the clocks contradict.
fn settle_used(game: &mut RecordedGame) {
    let by_clocks = by_clocks(game, None);
    let mut compared = 0;
    let mut contradicted = 0;
    for (played, by_clock) in game.moves.iter_mut().zip(by_clocks) {
        let (Some(used), Some(by_clock)) = (played.used_ms, by_clock) else {
            continue;
        };
        compared += 1;
        if (used - by_clock).abs() > 2.0 * TOLERANCE_MS + 0.1 * by_clock {
            contradicted += 1;
            played.used_ms = None;
        }
    }
    if 2 * contradicted > compared && is_by_shape(&game.time_forms) {
        unread(game, "contradict each other");
    } else if contradicted > 0 {
        game.notes.push(format!(
            "the times of {contradicted} of its moves contradict its clocks: the clocks count"
        ));
    }
}

/// The time used for each move by the clocks, if the control is known. Moves of a book take none.
fn by_clocks(game: &RecordedGame, told: Option<TimeControl>) -> Vec<Option<f64>> {
    let mut used = vec![None; game.moves.len()];
    let turn = game.start.turn();
    for (first, color) in [turn, !turn].into_iter().enumerate() {
        let told = told.map(RecordedControl::from);
        let Some(control) = told.or_else(|| RecordedControl::of(game, color)) else {
            continue;
        };
        let own = game.moves.iter().skip(first).step_by(2);
        let clocks: Vec<_> = own
            .map(|played| if played.is_book { None } else { played.clock_ms })
            .collect();
        let number = (game.start.game_ply() + first as u32) / 2 + 1;
        let before = (!is_of_lichess(game)).then_some(control.first().time.0);
        let by_clock = control.used_ms(number, before, &clocks);
        for (used, by_clock) in used.iter_mut().skip(first).step_by(2).zip(by_clock) {
            *used = by_clock;
        }
    }
    used
}

/// The time used for each move, ms: as recorded, or by the clocks. The user's `told` overrules the tags.
pub(crate) fn used_ms(game: &RecordedGame, told: Option<TimeControl>) -> Vec<Option<f64>> {
    let recorded = |ply: usize| {
        let used = game.moves[ply].used_ms?;
        match ply.checked_sub(2).and_then(|before| game.moves[before].clock_ms) {
            Some(clock) => within(used, clock),
            None => Some(used),
        }
    };
    let by_clocks = by_clocks(game, told).into_iter().enumerate();
    by_clocks
        .map(|(ply, by_clock)| recorded(ply).or(by_clock))
        .collect()
}

/// Reads `15 min. + 10 s. per move`, `1 h 30 min + 30 s`, `90' + 30''`, `90min/40m + 30s`: each number has
/// its unit. Days are for each move.
fn in_words(text: &str) -> Option<TimeControl> {
    let mut text = text.to_lowercase();
    if let Some(behind) = text.strip_prefix("g/") {
        text = behind.to_owned();
    }
    for (word, sign) in SIGNS {
        text = text.replace(word, sign);
    }
    let is_filler = |word: &str| FILLERS.split(' ').any(|filler| filler == word);
    let words: Vec<_> = words(&text).filter(|word| !is_filler(word)).collect();
    let parts: Vec<_> = words.split(|word| *word == "+").collect();
    let (time, inc) = match parts[..] {
        [time, inc] => (time, duration(inc)?),
        // Seconds behind minutes are an increment.
        [[.., before, _, last]] if unit_seconds(before) > Some(1.0) && unit_seconds(last) == Some(1.0) => {
            let (time, inc) = words.split_at(words.len() - 2);
            (time, duration(inc)?)
        }
        [time] => (time, Millis::ZERO),
        _ => return None,
    };
    let mut parts = time.splitn(2, |word| *word == "/");
    let time = duration(parts.next()?)?;
    let moves = match parts.next() {
        Some([number] | [number, "m" | "mv", ..]) => Some(number.parse().ok().filter(|moves| *moves > 0)?),
        Some(_) => return None,
        None => text.contains("day").then_some(1),
    };
    (time > Millis::ZERO).then_some(TimeControl { time, inc, moves })
}

fn unit_seconds(word: &str) -> Option<f64> {
    Some(match word {
        "d" | "day" | "days" => 86_400.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
        "m" | "min" | "mins" | "minute" | "minutes" | "'" | "′" | "’" => 60.0,
        "s" | "sec" | "secs" | "second" | "seconds" | "''" | "\"" | "″" | "”" | "’’" => 1.0,
        _ => return None,
    })
}

/// Numbers and what stands between them, without dots and spaces.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = text
        .split(|c: char| c.is_whitespace() || ",()".contains(c))
        .flat_map(|word| {
            let behind = word.trim_start_matches(|c: char| c.is_ascii_digit());
            [&word[..word.len() - behind.len()], behind.trim_end_matches('.')]
        });
    parts.filter(|part| !part.is_empty())
}

/// The sum of one or more numbers with units.
fn duration(words: &[&str]) -> Option<Millis> {
    let words: Vec<_> = words.iter().filter(|word| **word != "/").collect();
    if words.is_empty() {
        return None;
    }
    let part = |pair: &[&&str]| Some(unit_seconds(pair.get(1)?)? * pair[0].parse::<f64>().ok()?);
    let seconds: Option<f64> = words.chunks(2).map(part).sum();
    seconds.map(Millis::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgn::Games;

    #[test]
    fn controls_are_read_as_people_write_them() {
        let control = |time: f64, inc: f64, moves| TimeControl {
            time: Millis(time),
            inc: Millis(inc),
            moves,
        };
        for (text, expected) in [
            ("60+1", &[control(60e3, 1e3, None)][..]),
            ("300", &[control(300e3, 0.0, None)]),
            ("1/86400", &[control(86_400e3, 0.0, Some(1))]),
            (
                "40/5400+30:1800+30",
                &[control(5400e3, 30e3, Some(40)), control(1800e3, 30e3, None)],
            ),
            (
                "40/7200:20/3600:900+30",
                &[
                    control(7200e3, 0.0, Some(40)),
                    control(3600e3, 0.0, Some(20)),
                    control(900e3, 30e3, None),
                ],
            ),
            ("15 min. + 10 s. per move", &[control(900e3, 10e3, None)]),
            ("15min+10sec", &[control(900e3, 10e3, None)]),
            (
                "1 h 30 min plus 30 seconds increment per move",
                &[control(5400e3, 30e3, None)],
            ),
            ("90' + 30''/move", &[control(5400e3, 30e3, None)]),
            ("10 minutes", &[control(600e3, 0.0, None)]),
            ("90min/40m+30s/move", &[control(5400e3, 30e3, Some(40))]),
            ("90' / 40 moves", &[control(5400e3, 0.0, Some(40))]),
            ("15 min 10 sec", &[control(900e3, 10e3, None)]),
            ("3 min 2 sec per move", &[control(180e3, 2e3, None)]),
            ("15|10", &[control(900e3, 10e3, None)]),
            ("90 min for 40 moves", &[control(5400e3, 0.0, Some(40))]),
            ("1 h 30 min", &[control(5400e3, 0.0, None)]),
            ("3 days", &[control(259_200e3, 0.0, Some(1))]),
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
            "90'/40m + 30'/end & 30\"/m",
        ] {
            assert_eq!(RecordedControl::parse(text), None, "{text}");
        }
    }

    fn used(control: &str, clocks: &[f64]) -> Vec<Option<f64>> {
        let clocks: Vec<_> = clocks.iter().map(|seconds| Some(1000.0 * seconds)).collect();
        let control = RecordedControl::parse(control).unwrap();
        let used = control.used_ms(1, Some(control.first().time.0), &clocks);
        used.into_iter().map(|used| used.map(|ms| ms / 1000.0)).collect()
    }

    #[test]
    fn clocks_tell_the_time_of_each_move_in_every_period() {
        assert_eq!(used("60+1", &[58.0, 57.0]), [Some(3.0), Some(2.0)]);
        assert_eq!(
            used("2/60+1:30", &[51.0, 72.0, 60.0]),
            [Some(10.0), Some(10.0), Some(12.0)]
        );
        assert_eq!(
            used("2/60+1:30", &[51.0, 42.0, 60.0]),
            [Some(10.0), Some(10.0), Some(12.0)],
            "shown later"
        );
        assert_eq!(
            used("2/60", &[50.0, 100.0, 90.0, 140.0]),
            [Some(10.0), Some(10.0), Some(10.0), Some(10.0)]
        );
        assert_eq!(
            used("1/86400", &[85_803.0, 85_090.0]),
            [Some(597.0), Some(1310.0)]
        );
        assert_eq!(
            used("60", &[60.4, 90.0, 80.0]),
            [Some(0.0), None, Some(10.0)],
            "by other rules"
        );
        assert_eq!(
            used("60+30", &[30.0, 25.0]),
            [Some(60.0), None],
            "more than the clock had"
        );
    }

    /// Base time and increment of both sides, s, the first clock of each, s, and the notes.
    fn settled(tags: &str, clocks: [&str; 2]) -> (Vec<[f64; 2]>, Vec<f64>, String) {
        let text = format!(
            "{tags}\n\n1. e4 {{[%clk {}]}} e5 {{[%clk {}]}} *\n",
            clocks[0], clocks[1]
        );
        let game = Games::new("text", text.as_bytes()).next().unwrap().unwrap();
        let control = |color| {
            let TimeControl { time, inc, .. } = RecordedControl::of(&game, color)?.first();
            Some([time.as_secs(), inc.as_secs()])
        };
        let clocks = game
            .moves
            .iter()
            .filter_map(|played| Some(played.clock_ms? / 1000.0))
            .collect();
        (
            [Color::White, Color::Black]
                .into_iter()
                .filter_map(control)
                .collect(),
            clocks,
            game.notes.join(" "),
        )
    }

    #[test]
    fn control_and_clocks_must_agree() {
        let [minutes, hours, contradict] = ["in minutes", "hours and minutes", "contradict"];
        for (tag, clocks, control, first, note) in [
            (
                "5400+30",
                ["1:30:20", "1:30:10"],
                Some([5400.0, 30.0]),
                5420.0,
                "",
            ),
            (
                "90+30",
                ["1:30:20", "1:30:10"],
                Some([5400.0, 30.0]),
                5420.0,
                minutes,
            ),
            ("3+2", ["0:03:00", "0:03:00"], Some([180.0, 2.0]), 180.0, minutes),
            (
                "40/90+30:30+30",
                ["1:29:00", "1:30:00"],
                Some([5400.0, 30.0]),
                5340.0,
                minutes,
            ),
            ("5400+30", ["1:29", "1:30"], Some([5400.0, 30.0]), 5340.0, hours),
            ("90+30", ["1:29", "1:30"], Some([90.0, 30.0]), 89.0, ""),
            ("180+2", ["3:01", "2:59"], Some([180.0, 2.0]), 181.0, ""),
            ("5400+30", ["1:29", "1:30:10"], Some([5400.0, 30.0]), 89.0, ""),
            ("5400+30", ["0:00:12", "0:00:14"], Some([5400.0, 30.0]), 12.0, ""),
            (
                "5400/40+30:1800+30",
                ["1:30:20", "1:30:10"],
                None,
                5420.0,
                contradict,
            ),
            ("15 min", ["1:30:20", "1:30:10"], None, 5420.0, contradict),
            ("1/86400", ["23:50:00", "2:23:00:00"], None, 85_800.0, contradict),
            (
                "3 days",
                ["2:23:50:00", "2:23:00:00"],
                Some([259_200.0, 0.0]),
                258_600.0,
                "",
            ),
            ("60", ["0:01:15", "0:00:59"], Some([60.0, 0.0]), 75.0, ""),
            ("", ["1:29", "1:30"], None, 89.0, ""),
        ] {
            let (controls, clocks, notes) = settled(&format!("[TimeControl \"{tag}\"]"), clocks);
            assert_eq!(
                (controls, clocks[0]),
                (
                    Vec::from_iter(control.map(|both| [both; 2]).into_iter().flatten()),
                    first
                ),
                "{tag}"
            );
            assert!(
                notes.contains(note) && notes.is_empty() == note.is_empty(),
                "{tag}: {notes}"
            );
        }
        let own = settled(
            "[WhiteTimeControl \"60\"]\n[BlackTimeControl \"300\"]",
            ["0:00:58", "0:04:58"],
        );
        assert_eq!(own.0, [[60.0, 0.0], [300.0, 0.0]]);
    }

    /// A regression: clocks of hours and minutes gave moves of hours.
    #[test]
    fn a_time_that_no_clock_has_is_none() {
        let text = "[TimeControl \"60\"]\n\n1. e4 {[%clk 0:00:50]} e5 2. d4 {[%emt 0:00:51.5] [%clk 0:00:40]} d5 *\n";
        let game = Games::new("text", text.as_bytes()).next().unwrap().unwrap();
        assert_eq!(used_ms(&game, None)[2], Some(10_000.0));
    }

    /// A regression: only clocks were held against the control.
    #[test]
    fn times_that_a_control_does_not_allow_contradict_it() {
        for (control, times, minutes, note) in [
            (
                "60",
                ["[%emt 0:03:45]", "[%emt 0:07:05]"],
                Some(60.0),
                "in minutes, which its times need",
            ),
            ("1", ["+0.3/14 12.0s", "+0.1/12 20.0s"], Some(1.0), "in minutes"),
            ("60", ["[%emt 0:00:45]", "[%emt 0:00:20]"], Some(1.0), ""),
            (
                "15 min",
                ["[%emt 0:40:00]", "[%emt 0:00:20]"],
                None,
                "its times contradict",
            ),
        ] {
            let text = format!(
                "[TimeControl \"{control}\"]\n\n1. e4 {{{}}} e5 {{{}}} *\n",
                times[0], times[1]
            );
            let game = Games::new("text", text.as_bytes()).next().unwrap().unwrap();
            let first =
                RecordedControl::of(&game, Color::White).map(|control| control.first().time.as_secs() / 60.0);
            assert_eq!(first, minutes, "{text}");
            assert!(game.notes.join(" ").contains(note), "{text}: {:?}", game.notes);
        }
    }

    #[test]
    fn without_a_control_no_time_is_invented() {
        let moves =
            "1. e4 {[%clk 0:00:50]} e5 {[%clk 0:00:51]} 2. Nf3 {[%clk 0:00:40]} Nc6 {[%emt 0:00:07]} *\n";
        let game = |tags: &str| {
            Games::new("text", format!("{tags}\n\n{moves}").as_bytes())
                .next()
                .unwrap()
                .unwrap()
        };
        assert_eq!(
            used_ms(&game("[TimeControl \"rapid\"]"), None),
            [None, None, None, Some(7000.0)]
        );
        let told = Some("60+0".parse().unwrap());
        assert_eq!(
            used_ms(&game(""), told),
            [Some(10_000.0), Some(9000.0), Some(10_000.0), Some(7000.0)]
        );
        let own = game("[WhiteTimeControl \"60+1\"]\n[BlackTimeControl \"55\"]");
        assert_eq!(
            used_ms(&own, None),
            [Some(11_000.0), Some(4000.0), Some(11_000.0), Some(7000.0)]
        );
        let overruled = Some("100".parse().unwrap());
        assert_eq!(
            used_ms(&own, overruled)[..2],
            [Some(50_000.0), Some(49_000.0)],
            "the user knows better"
        );
    }
}
