//! Where the time of a game went, in words that a chess player understands. Numbers in, sentences out.

use super::Remark;
use zeitnot_engine::time::TimeControl;

/// A move and its time, from its player's point of view.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TimedMove {
    /// Its name with number and glyph, as in `15…Rd2??`.
    pub(crate) name: String,
    /// Time used for it, ms.
    pub(crate) used_ms: Option<f64>,
    /// Time that the time manager plans for it, ms.
    pub(crate) planned_ms: Option<f64>,
    /// The clock before it, ms.
    pub(crate) clock_ms: Option<f64>,
    /// Winning chances before it and after it, in percent, where they are known.
    pub(crate) chances: Option<(f64, f64)>,
    /// True if no other move was legal.
    pub(crate) is_forced: bool,
    /// True if it got `?` or `??`.
    pub(crate) is_error: bool,
}

impl TimedMove {
    fn loss(&self) -> f64 {
        self.chances.map_or(0.0, |(before, after)| (before - after).max(0.0))
    }

    /// The time used as a multiple of the planned time, if that is worth comparing.
    fn ratio(&self) -> Option<f64> {
        Some(self.used_ms? / self.planned_ms.filter(|&plan| plan >= LEAST_PLAN)?)
    }

    /// Returns whether it could not change the result: no other move was there, or one side had won before
    /// and after it.
    fn is_idle(&self) -> bool {
        let is_decided = |chances: f64| !(DECIDED..=100.0 - DECIDED).contains(&chances);
        let stays =
            |(before, after)| is_decided(before) && is_decided(after) && f64::abs(before - after) < 50.0;
        self.is_forced || self.chances.is_some_and(stays)
    }
}

/// How a game ended for a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By mate, resignation or whatever else.
    Lost,
    LostOnTime,
    Other,
}

/// Winning chances, in percent, with less or more than which a game is decided.
const DECIDED: f64 = 5.0;
/// A move is rushed with less than this share of the planned time, if that was at least [`LEAST_PLAN`].
const RUSHED: f64 = 1.0 / 3.0;
/// A move is slow with more than so many times the planned time.
const SLOW: f64 = 3.0;
/// A plan for a game that is so many times as long as the time used is longer, and one that is so many times
/// as short is shorter.
const MUCH_MORE: f64 = 1.15;
/// Shorter plans, ms, are passed over: no hand is so quick.
const LEAST_PLAN: f64 = 1000.0;
/// Of the time that a player used, the least share of idle moves that is worth a word.
const WORTH_A_WORD: f64 = 0.03;
/// Winning chances, in percent, with which a game is still open, and so many are to be lost in time trouble
/// if the clock is to blame.
const OPEN: f64 = 25.0;
/// Most moves that a sentence names.
const NAMED: usize = 8;

/// Returns the clock, ms, below which lichess warns a player: an eighth of the time that all begin with, of
/// 10 to 60 seconds. With less than 80 seconds to begin with, an eighth all the same.
pub(crate) fn low_clock(base_ms: f64) -> f64 {
    let eighth = base_ms / 8.0;
    if base_ms < 80_000.0 { eighth } else { eighth.clamp(10_000.0, 60_000.0) }
}

/// Returns the first of a side's moves that it made with a low clock, as far as the clock stayed low.
fn trouble(moves: &[TimedMove], base_ms: f64) -> Option<usize> {
    let is_low = |clock: f64| clock < low_clock(base_ms);
    let start =
        moves.iter().rposition(|played| !played.clock_ms.is_some_and(is_low)).map_or(0, |last| last + 1);
    (start < moves.len()).then_some(start)
}

/// Returns the move from which on the clock decided: the player had a low clock then, with winning chances,
/// and lost them, more quickly than before, and then the game. It lost on time.
pub(crate) fn decided_by_clock(moves: &[TimedMove], base_ms: f64, ending: Ending) -> Option<usize> {
    let start = trouble(moves, base_ms)?;
    let (chances, _) = moves[start].chances?;
    let lost = |moves: &[TimedMove]| moves.iter().map(TimedMove::loss).sum::<f64>();
    let per_move = |moves: &[TimedMove]| lost(moves) / moves.len().max(1) as f64;
    let (before, after) = moves.split_at(start);
    let by_errors = ending == Ending::Lost && lost(after) >= OPEN && per_move(after) > per_move(before);
    (chances >= OPEN && (by_errors || ending == Ending::LostOnTime)).then_some(start)
}

/// Returns what is to be said of the time of one side, `name`, whose moves have the plies `first`, `first +
/// 2`, … of the game.
pub(crate) fn remarks(
    name: &str,
    (moves, first): (&[TimedMove], usize),
    control: Option<TimeControl>,
    ending: Ending,
) -> Vec<Remark> {
    let whole = moves.iter().filter_map(|played| played.used_ms).sum::<f64>();
    if whole <= 0.0 {
        return Vec::new();
    }
    let side = Side { name, moves, first, whole };
    [
        Some(side.total(control)),
        side.idle(),
        side.slow(),
        side.rushed(),
        side.costliest(),
        control.map(|control| side.clock(control.time.0, ending)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The moves of a player who used some time.
struct Side<'a> {
    name: &'a str,
    moves: &'a [TimedMove],
    /// The ply of the first move.
    first: usize,
    /// Time used for all, ms.
    whole: f64,
}

impl Side<'_> {
    /// A sentence about the moves `chosen`.
    fn remark(&self, text: String, chosen: &[usize]) -> Remark {
        // A position has one ply more before it than the move that leads to it.
        Remark { text, plies: chosen.iter().take(NAMED).map(|own| self.first + 2 * own + 1).collect() }
    }

    fn used(&self, own: usize) -> f64 {
        self.moves[own].used_ms.unwrap_or(0.0)
    }

    /// The moves for which `is_chosen` holds, those that took most time first.
    fn chosen(&self, is_chosen: impl Fn(&TimedMove) -> bool) -> Vec<usize> {
        let is_chosen = |&own: &usize| self.moves[own].used_ms.is_some() && is_chosen(&self.moves[own]);
        let mut chosen: Vec<_> = (0..self.moves.len()).filter(is_chosen).collect();
        chosen.sort_by(|&a, &b| self.used(b).total_cmp(&self.used(a)));
        chosen
    }

    fn is_long(&self, played: &TimedMove) -> bool {
        played.used_ms >= Some((self.whole / 100.0).max(LEAST_PLAN))
    }

    fn total(&self, control: Option<TimeControl>) -> Remark {
        let given = control.filter(|control| control.moves.is_none());
        let given = given.map(|control| control.time.0 + control.inc.0 * self.moves.len() as f64);
        let of_given = given.map_or(String::new(), |given| {
            format!(" of {} and had {} left", time(given), time(given - self.whole))
        });
        let timed = self.moves.iter().filter(|played| played.used_ms.is_some());
        let plan = timed.map(|played| played.planned_ms).sum::<Option<f64>>().map(|planned| {
            let as_much = match planned / self.whole {
                ratio if ratio > MUCH_MORE => "more",
                ratio if ratio < 1.0 / MUCH_MORE => "less",
                _ => "about as much",
            };
            let planned = time(planned);
            format!(" Move for move, with the clock as it was, Zeitnot would take {as_much}: {planned}.")
        });
        let text = format!("{} used {}{of_given}.{}", self.name, time(self.whole), plan.unwrap_or_default());
        self.remark(text, &[])
    }

    /// Time for moves that could not change the result.
    fn idle(&self) -> Option<Remark> {
        let idle = self.chosen(|played| played.is_idle() && self.is_long(played));
        let used = idle.iter().map(|&own| self.used(own)).sum::<f64>();
        let why = "that could not change the result: forced, or the game was decided";
        let text = format!("{} of it went into {} {why}.", time(used), count(idle.len(), "move"));
        (used >= WORTH_A_WORD * self.whole).then(|| self.remark(text, &idle))
    }

    /// Long thinks, and what came of the longest.
    fn slow(&self) -> Option<Remark> {
        let is_slow =
            |played: &TimedMove| !played.is_idle() && self.is_long(played) && played.ratio() > Some(SLOW);
        let slow = self.chosen(is_slow);
        let longest = *slow.first()?;
        let played = &self.moves[longest];
        let found = match played.chances {
            None => "",
            _ if played.loss() >= 5.0 => ", and it was an error all the same",
            _ => ", and it was a good move",
        };
        let more = match slow.len() {
            1 => String::new(),
            all => format!(" In all, {} took more than three times the plan.", count(all, "move")),
        };
        Some(self.remark(format!("{}{found}.{more}", self.against_plan(longest)), &slow))
    }

    /// Mistakes that were made too quickly, and the quickest.
    fn rushed(&self) -> Option<Remark> {
        let is_rushed =
            |played: &TimedMove| played.is_error && played.ratio().is_some_and(|ratio| ratio < RUSHED);
        let rushed = self.chosen(is_rushed);
        let quickest = *rushed.last()?;
        let errors = self.moves.iter().filter(|played| played.is_error).count();
        let which = match (rushed.len(), errors) {
            (1, 1) => "The only mistake".to_owned(),
            (rushed, all) if rushed == all => format!("All {}", count(all, "mistake")),
            (rushed, all) => format!("{rushed} of {}", count(all, "mistake")),
        };
        let example = self.against_plan(quickest);
        Some(
            self.remark(
                format!("{which} came in less than a third of the planned time: {example}."),
                &rushed,
            ),
        )
    }

    fn against_plan(&self, own: usize) -> String {
        let TimedMove { name, planned_ms, .. } = &self.moves[own];
        format!("{name} took {} where the plan is {}", time(self.used(own)), time(planned_ms.unwrap_or(0.0)))
    }

    fn costliest(&self) -> Option<Remark> {
        let by_loss = |&a: &usize, &b: &usize| self.moves[a].loss().total_cmp(&self.moves[b].loss());
        let own = (0..self.moves.len()).max_by(by_loss).filter(|&own| self.moves[own].is_error)?;
        let TimedMove { name, clock_ms, used_ms, .. } = &self.moves[own];
        let (clock, used) = (time((*clock_ms)?), time((*used_ms)?));
        Some(
            self.remark(format!("The costliest move was {name}: {clock} on the clock, {used} used."), &[own]),
        )
    }

    /// Whether the clock decided.
    fn clock(&self, base_ms: f64, ending: Ending) -> Remark {
        let Some(start) = trouble(self.moves, base_ms) else {
            let low = time(low_clock(base_ms));
            return self.remark(
                format!("The clock was not low at the end (less than {low}): it did not decide."),
                &[],
            );
        };
        let TimedMove { name, clock_ms, chances, .. } = &self.moves[start];
        let left = time(clock_ms.unwrap_or(0.0));
        if decided_by_clock(self.moves, base_ms, ending).is_none() {
            return self.remark(
                format!("From {name} on the clock was low ({left}), but it did not decide."),
                &[start],
            );
        }
        let after = &self.moves[start..];
        let end = after.iter().rev().find_map(|played| played.chances).map_or(0.0, |(_, end)| end);
        let then = match ending {
            Ending::LostOnTime => "then the flag fell".to_owned(),
            _ => format!("after {} they were {end:.0} %", count(after.len(), "more move")),
        };
        let chances = chances.map_or(50.0, |(before, _)| before);
        let had = format!("{} had {left} left and winning chances of {chances:.0} %", self.name);
        self.remark(format!("The clock decided from {name} on: {had}, {then}."), &[start])
    }
}

fn count(number: usize, noun: &str) -> String {
    let words = ["no", "one", "two", "three", "four", "five", "six"];
    let number_word = words.get(number).map_or_else(|| number.to_string(), |&word| word.to_owned());
    format!("{number_word} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Writes a time as a player says it: `1.2 s`, `41 s`, `3:05`, `1:02:03`.
pub(crate) fn time(ms: f64) -> String {
    let seconds = (ms / 1000.0).max(0.0);
    let whole = seconds.round() as u64;
    match whole {
        _ if seconds < 9.95 => format!("{seconds:.1} s"),
        0..60 => format!("{whole} s"),
        60..3600 => format!("{}:{:02} min", whole / 60, whole % 60),
        _ => format!("{}:{:02}:{:02} h", whole / 3600, whole / 60 % 60, whole % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A game of 3 minutes: five moves of a side. `(used, planned, clock before, chances before, chances
    /// after)`.
    fn moves(facts: [(f64, f64, f64, f64, f64); 5]) -> Vec<TimedMove> {
        let played =
            |(number, (used, planned, clock, before, after)): (usize, (f64, f64, f64, f64, f64))| TimedMove {
                name: format!("{}.Kf1", number + 1),
                used_ms: Some(1000.0 * used),
                planned_ms: Some(1000.0 * planned),
                clock_ms: Some(1000.0 * clock),
                chances: Some((before, after)),
                is_forced: false,
                is_error: before - after >= 10.0,
            };
        facts.into_iter().enumerate().map(played).collect()
    }

    const BASE: f64 = 180_000.0;

    fn control() -> Option<TimeControl> {
        "180+2".parse().ok()
    }

    fn texts(moves: &[TimedMove], ending: Ending) -> Vec<String> {
        remarks("White", (moves, 0), control(), ending).into_iter().map(|remark| remark.text).collect()
    }

    #[test]
    fn the_clock_is_low_when_lichess_warns() {
        assert_eq!(
            [30.0, 60.0, 80.0, 180.0, 600.0].map(|s| low_clock(1000.0 * s)),
            [3_750.0, 7_500.0, 10_000.0, 22_500.0, 60_000.0]
        );
    }

    #[test]
    fn the_clock_decides_when_open_chances_are_lost_with_a_low_one() {
        let facts = [
            (60.0, 6.0, 180.0, 50.0, 50.0),
            (80.0, 6.0, 120.0, 50.0, 48.0),
            (25.0, 5.0, 40.0, 48.0, 47.0),
            (12.0, 1.0, 15.0, 47.0, 30.0),
            (1.0, 1.0, 3.0, 30.0, 8.0),
        ];
        let lost = moves(facts);
        assert_eq!(trouble(&lost, BASE), Some(3));
        assert_eq!(decided_by_clock(&lost, BASE, Ending::Lost), Some(3));
        assert_eq!(decided_by_clock(&lost, BASE, Ending::Other), None, "it did not lose");
        let text = texts(&lost, Ending::Lost);
        let last = text.last().unwrap();
        assert_eq!(
            last,
            "The clock decided from 4.Kf1 on: White had 15 s left and winning chances of 47 %, after two more moves they were 8 %."
        );
        // Lost before the clock was low.
        let mut earlier = facts;
        (earlier[1].4, earlier[3].3, earlier[3].4, earlier[4].3) = (10.0, 10.0, 9.0, 9.0);
        assert_eq!(decided_by_clock(&moves(earlier), BASE, Ending::Lost), None);
        assert!(texts(&moves(earlier), Ending::Lost).last().unwrap().ends_with("it did not decide."));
        // The flag falls with even chances.
        let mut even = facts;
        (even[3].4, even[4].3, even[4].4) = (47.0, 47.0, 47.0);
        assert_eq!(decided_by_clock(&moves(even), BASE, Ending::Lost), None);
        assert_eq!(decided_by_clock(&moves(even), BASE, Ending::LostOnTime), Some(3));
        // A clock that recovers was no trouble.
        let mut recovered = facts;
        recovered[4].2 = 60.0;
        assert_eq!(trouble(&moves(recovered), BASE), None);
    }

    #[test]
    fn time_for_moves_that_change_nothing_and_rushed_mistakes_are_told() {
        let mut moves = moves([
            (5.0, 6.0, 180.0, 50.0, 50.0),
            (20.0, 5.0, 175.0, 50.0, 50.0),
            (1.0, 6.0, 155.0, 50.0, 30.0),
            (21.0, 6.0, 154.0, 2.5, 2.5),
            (2.0, 6.0, 133.0, 30.0, 29.0),
        ]);
        moves[1].is_forced = true;
        let found = remarks("White", (&moves, 1), control(), Ending::Lost);
        let text: Vec<_> = found.iter().map(|remark| remark.text.as_str()).collect();
        assert_eq!(
            text[0],
            "White used 49 s of 3:10 min and had 2:21 min left. Move for move, with the clock as it was, Zeitnot would take less: 29 s."
        );
        assert!(
            text[1].starts_with("41 s of it went into two moves that could not change the result"),
            "{text:?}"
        );
        assert_eq!(found[1].plies, [8, 4], "the longest first, by the plies before the position");
        assert!(
            text[2].starts_with(
                "The only mistake came in less than a third of the planned time: 3.Kf1 took 1.0 s"
            ),
            "{text:?}"
        );
        assert_eq!(text[3], "The costliest move was 3.Kf1: 2:35 min on the clock, 1.0 s used.");
        assert_eq!(text.len(), 5, "{text:?}");
    }

    #[test]
    fn long_thinks_are_told_with_what_became_of_them() {
        let mut facts = [(5.0, 6.0, 180.0, 50.0, 50.0); 5];
        facts[2].0 = 40.0;
        let text = texts(&moves(facts), Ending::Other);
        assert!(
            text.contains(&"3.Kf1 took 40 s where the plan is 6.0 s, and it was a good move.".to_owned()),
            "{text:?}"
        );
        facts[2].4 = 40.0;
        let text = texts(&moves(facts), Ending::Other);
        assert!(text.iter().any(|text| text.contains("and it was an error all the same")), "{text:?}");
    }

    #[test]
    fn without_clocks_nothing_is_said() {
        assert_eq!(remarks("White", (&[TimedMove::default()], 0), None, Ending::Lost), []);
        let played = TimedMove { used_ms: Some(1500.0), ..TimedMove::default() };
        let found = remarks("Black", (&[played], 1), None, Ending::Lost);
        assert_eq!(found.iter().map(|remark| &remark.text[..]).collect::<Vec<_>>(), ["Black used 1.5 s."]);
    }

    #[test]
    fn times_are_written_as_players_say_them() {
        let texts = [1234.0, 9960.0, 41_400.0, 59_600.0, 185_000.0, 3_723_000.0].map(time);
        assert_eq!(texts, ["1.2 s", "10 s", "41 s", "1:00 min", "3:05 min", "1:02:03 h"]);
    }
}
