//! What analysed games have in common: sums over the moves of a phase, a time control or an opponent, as
//! tables and plots.

use serde::{Deserialize, Serialize};

use super::judgement::{Judgement, accuracy};
use super::{AnalysisSummary, SideSummary};
use crate::Phase;
use crate::report::{Align, Bar, BarPlot, Page, Table};
use crate::viewer::low_clock;

/// Most rows of a table of opponents. The others are one row.
const MOST_GROUPS: usize = 15;
/// Most characters of a name beside a plot.
const LONGEST_NAME: usize = 20;

/// Sums over moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct MoveSums {
    pub(super) moves: u32,
    /// Moves that the search would have played too.
    pub(super) best: u32,
    /// Accuracy of the moves, percent.
    pub(super) accuracy: f64,
    /// Winning chances given away, percent.
    pub(super) loss: f64,
    /// Moves that got `?!`, `?` and `??`.
    pub(super) marks: [u32; 3],
    /// Moves that seem bad, with too few visits to judge.
    pub(super) unclear: u32,
    /// Moves whose time is known, those that have a plan, and those that were made with a low clock.
    pub(super) timed: u32,
    pub(super) planned: u32,
    pub(super) low: u32,
    pub(super) used_ms: f64,
    pub(super) planned_ms: f64,
    /// The same as shares of the time that the game began with.
    used_share: f64,
    planned_share: f64,
}

/// The times of a move, ms, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimesOfMove {
    pub(super) used: Option<f64>,
    pub(super) planned: Option<f64>,
    /// The clock before it.
    pub(super) clock: Option<f64>,
    /// The time that the game began with.
    pub(super) base: Option<f64>,
}

impl MoveSums {
    pub(super) fn add(&mut self, judged: Judgement, times: TimesOfMove) {
        self.moves += 1;
        self.best += u32::from(judged.is_best);
        self.accuracy += accuracy(judged.before, judged.after);
        self.loss += judged.loss();
        if let Some(mark) = judged.mark {
            self.marks[mark as usize] += 1;
        }
        self.unclear += u32::from(judged.is_unclear);
        let Some(used) = times.used else { return };
        self.timed += 1;
        self.used_ms += used;
        let base = times.base.unwrap_or(f64::INFINITY);
        self.used_share += used / base;
        let is_low = times.base.zip(times.clock).is_some_and(|(base, clock)| clock < low_clock(base));
        self.low += u32::from(is_low);
        if let Some(planned) = times.planned {
            self.planned += 1;
            self.planned_ms += planned;
            self.planned_share += planned / base;
        }
    }

    pub(super) fn with(self, other: MoveSums) -> MoveSums {
        MoveSums {
            moves: self.moves + other.moves,
            best: self.best + other.best,
            accuracy: self.accuracy + other.accuracy,
            loss: self.loss + other.loss,
            marks: [0, 1, 2].map(|mark| self.marks[mark] + other.marks[mark]),
            unclear: self.unclear + other.unclear,
            timed: self.timed + other.timed,
            planned: self.planned + other.planned,
            low: self.low + other.low,
            used_ms: self.used_ms + other.used_ms,
            planned_ms: self.planned_ms + other.planned_ms,
            used_share: self.used_share + other.used_share,
            planned_share: self.planned_share + other.planned_share,
        }
    }
}

/// Sums over the games that have something in common.
#[derive(Clone, Debug, Default, PartialEq)]
struct Group {
    name: String,
    games: u32,
    /// Points of the player that the table is about.
    points: f64,
    lost_by_clock: u32,
    sums: MoveSums,
}

/// Returns the player whose games these are: the one who plays in all of two or more.
fn owner<'a>(games: &[&'a AnalysisSummary]) -> Option<&'a str> {
    let plays = |name: &str| games.iter().all(|game| game.white.name == name || game.black.name == name);
    let names = games.first().map(|game| [game.white.name.as_str(), game.black.name.as_str()])?;
    let mut owners = names.into_iter().filter(|name| *name != "?" && games.len() > 1 && plays(name));
    // Two who play all games are a match.
    owners.next().filter(|_| owners.next().is_none())
}

/// A player in a game: its figures, its points, and the opponent.
struct Part<'a> {
    side: &'a SideSummary,
    points: f64,
    opponent: &'a str,
    game: &'a AnalysisSummary,
}

/// Returns the parts of the owner, or of all players if there is none.
fn parts<'a>(games: &[&'a AnalysisSummary], owner: Option<&str>) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    for &game in games {
        let white_points = match game.result.as_str() {
            "1-0" => 1.0,
            "0-1" => 0.0,
            _ => 0.5,
        };
        for (side, other, points) in
            [(&game.white, &game.black, white_points), (&game.black, &game.white, 1.0 - white_points)]
        {
            if owner.is_none_or(|owner| side.name == owner) {
                parts.push(Part { side, points, opponent: &other.name, game });
            }
        }
    }
    parts
}

/// Adds up what has one name, the most games first.
fn grouped<'a>(parts: &'a [Part<'a>], name: impl Fn(&'a Part<'a>) -> &'a str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for part in parts {
        let name = name(part);
        let place = groups.iter().position(|group| group.name == name).unwrap_or_else(|| {
            groups.push(Group { name: name.to_owned(), ..Group::default() });
            groups.len() - 1
        });
        add(&mut groups[place], part);
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.games));
    if groups.len() > MOST_GROUPS {
        let rest = groups.split_off(MOST_GROUPS - 1);
        let start = Group { name: format!("{} others", rest.len()), ..Group::default() };
        groups.push(rest.iter().fold(start, |all, group| Group {
            games: all.games + group.games,
            points: all.points + group.points,
            lost_by_clock: all.lost_by_clock + group.lost_by_clock,
            sums: all.sums.with(group.sums),
            ..all
        }));
    }
    groups
}

fn add(group: &mut Group, part: &Part<'_>) {
    group.games += 1;
    group.points += part.points;
    group.lost_by_clock += u32::from(part.side.lost_by_clock);
    group.sums = part.side.phases.iter().copied().fold(group.sums, MoveSums::with);
}

/// Adds what several games have in common to a page. Nothing to that of one game.
pub(super) fn add_to(page: Page, games: &[&AnalysisSummary]) -> Page {
    if games.len() < 2 {
        return page;
    }
    let owner = owner(games);
    let parts = parts(games, owner);
    let whose = owner.unwrap_or("all players");
    let phases: Vec<_> = Phase::ALL
        .into_iter()
        .map(|phase| {
            let sums = parts.iter().map(|part| part.side.phases[phase as usize]);
            let sums = sums.fold(MoveSums::default(), MoveSums::with);
            Group { name: phase.name().to_owned(), sums, ..Group::default() }
        })
        .collect();
    let mut page = page.heading(&format!("Over all games: {whose}")).paragraph(
        "Accuracy is the mean over the moves. The clock is low with less than an eighth of the time to begin with, at most a minute. \
         The planned time is what the time manager would take with the same clocks.",
    );
    page = section(page, "By phase", &phases);
    let controls = grouped(&parts, |part| part.game.control.as_deref().unwrap_or("no clock"));
    page = section(page, "By time control", &controls);
    match owner {
        Some(_) => section(page, "By opponent", &grouped(&parts, |part| part.opponent)),
        None => section(page, "By player", &grouped(&parts, |part| &part.side.name)),
    }
}

fn section(page: Page, title: &str, groups: &[Group]) -> Page {
    let page = page.table(&table(title, groups));
    plots(title, groups).iter().fold(page, |page, plot| page.figure(&plot.to_svg(), ""))
}

fn table(title: &str, groups: &[Group]) -> Table {
    let has_games = groups.iter().any(|group| group.games > 0);
    let is_timed = groups.iter().any(|group| group.sums.timed > 0);
    let games: &[&str] = if has_games { &["games", "score, %"] } else { &[] };
    let moves = ["moves", "accuracy, %", "?! / ? / ?? in 100 moves"];
    let times: &[&str] = if is_timed { &["s a move", "planned", "with a low clock, %"] } else { &[] };
    let by_clock: &[&str] = if is_timed && has_games { &["lost by the clock"] } else { &[] };
    let numbers: Vec<_> = [games, &moves, times, by_clock].concat();
    let columns = numbers.iter().map(|&name| (name, Align::Right));
    let columns: Vec<_> = [("", Align::Left)].into_iter().chain(columns).collect();
    let mut table = Table::new(title, &columns);
    for Group { name, games, points, lost_by_clock, sums } in groups {
        let per = |sum: f64, count: u32| Some(sum / f64::from(count)).filter(|_| count > 0);
        let figure = |value: Option<f64>| value.map_or("–".into(), |value| format!("{value:.1}"));
        let mut row = vec![name.clone()];
        if has_games {
            row.extend([games.to_string(), figure(per(100.0 * points, *games))]);
        }
        let marks = sums.marks.map(|count| figure(per(100.0 * f64::from(count), sums.moves)));
        row.extend([sums.moves.to_string(), figure(per(sums.accuracy, sums.moves)), marks.join(" / ")]);
        if is_timed {
            row.push(figure(per(sums.used_ms / 1000.0, sums.timed)));
            row.push(figure(per(sums.planned_ms / 1000.0, sums.planned)));
            row.push(figure(per(100.0 * f64::from(sums.low), sums.timed)));
        }
        if is_timed && has_games {
            row.push(lost_by_clock.to_string());
        }
        table.row(row);
    }
    table
}

/// A name as far as a plot has room for it.
fn cut(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return name.to_owned();
    }
    name.chars().take(LONGEST_NAME - 1).chain(['…']).collect()
}

fn plots(title: &str, groups: &[Group]) -> Vec<BarPlot> {
    let groups: Vec<_> = groups.iter().filter(|group| group.sums.moves > 0).collect();
    let names: Vec<_> = groups.iter().map(|group| cut(&group.name)).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let bars = |value: &dyn Fn(&MoveSums) -> f64| -> Vec<Bar> {
        groups.iter().map(|group| Bar { value: value(&group.sums), error: None }).collect()
    };
    let accuracy = bars(&|sums| sums.accuracy / f64::from(sums.moves));
    let mut plots =
        vec![BarPlot::new(format!("Accuracy, {}", title.to_lowercase()), "%", &names).series("", &accuracy)];
    let has_plan = |group: &&Group| group.sums.planned > 0 && group.sums.used_share > 0.0;
    if groups.iter().any(has_plan) {
        let share = |sum: f64, count: u32| 100.0 * sum / f64::from(count.max(1));
        let used = bars(&|sums| share(sums.used_share, sums.timed));
        let planned = bars(&|sums| share(sums.planned_share, sums.planned));
        let title = format!("Time of a move, {}", title.to_lowercase());
        let plot = BarPlot::new(title, "% of the time to begin with", &names);
        plots.push(plot.series("used", &used).series("planned", &planned));
    }
    plots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(white: &str, black: &str, result: &str, marks: [u32; 3]) -> AnalysisSummary {
        let sums = MoveSums { moves: 10, accuracy: 900.0, marks, ..MoveSums::default() };
        let side = |name: &str| SideSummary {
            name: name.into(),
            phases: [sums, MoveSums::default(), sums],
            ..SideSummary::default()
        };
        AnalysisSummary {
            game: 1,
            result: result.into(),
            control: None,
            white: side(white),
            black: side(black),
        }
    }

    #[test]
    fn the_games_of_one_player_are_told_by_opponent() {
        let games = [
            game("A", "B", "1-0", [1, 0, 0]),
            game("C", "A", "1-0", [0, 0, 2]),
            game("A", "B", "1/2-1/2", [0, 0, 0]),
        ];
        let games: Vec<_> = games.iter().collect();
        assert_eq!(owner(&games), Some("A"));
        assert_eq!(owner(&games[..1]), None, "one game is nobody's");
        assert_eq!(owner(&[games[0], games[2]]), None, "a match of two");
        let parts = parts(&games, Some("A"));
        let groups = grouped(&parts, |part| part.opponent);
        let found: Vec<_> = groups.iter().map(|group| (&group.name[..], group.games, group.points)).collect();
        assert_eq!(found, [("B", 2, 1.5), ("C", 1, 0.0)]);
        assert_eq!((groups[0].sums.moves, groups[0].sums.marks), (40, [2, 0, 0]));
        let text = table("By opponent", &groups).to_string();
        let words: Vec<_> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert!(words.iter().any(|line| line.starts_with("B 2 75.0 40 90.0 5.0 / 0.0 / 0.0")), "{text}");
        assert!(!text.contains("low clock"), "there are no clocks: {text}");
    }

    #[test]
    fn many_opponents_are_cut() {
        let games: Vec<_> = (0..20).map(|i| game("A", &format!("{i}"), "1-0", [0; 3])).collect();
        let games: Vec<_> = games.iter().collect();
        let parts = parts(&games, Some("A"));
        let groups = grouped(&parts, |part| part.opponent);
        assert_eq!(groups.len(), MOST_GROUPS);
        let last = groups.last().unwrap();
        assert_eq!((last.name.as_str(), last.games, last.points), ("6 others", 6, 6.0));
    }

    #[test]
    fn long_names_are_cut_in_plots() {
        assert_eq!(cut("coffeehouse64"), "coffeehouse64");
        assert_eq!(cut("Ä-name-that-has-no-end-at-all"), "Ä-name-that-has-no-…");
    }

    #[test]
    fn times_are_added_where_they_are_known() {
        let judged = Judgement {
            before: 60.0,
            after: 50.0,
            mark: Some(super::super::Mark::Mistake),
            is_unclear: false,
            mate: None,
            is_best: false,
        };
        let mut sums = MoveSums::default();
        sums.add(judged, TimesOfMove::default());
        let base = Some(180_000.0);
        sums.add(judged, TimesOfMove { used: Some(9_000.0), planned: None, clock: Some(22_499.0), base });
        sums.add(judged, TimesOfMove { used: Some(9_000.0), planned: Some(900.0), clock: base, base });
        assert_eq!((sums.moves, sums.timed, sums.planned, sums.low), (3, 2, 1, 1));
        assert_eq!((sums.used_ms, sums.planned_ms, sums.loss), (18_000.0, 900.0, 30.0));
        assert!((sums.used_share - 0.1).abs() < 1e-9 && (sums.planned_share - 0.005).abs() < 1e-9);
        assert_eq!((sums.marks, sums.with(sums).marks), ([0, 3, 0], [0, 6, 0]));
    }
}
