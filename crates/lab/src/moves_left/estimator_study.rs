//! Compares estimators with the truth: a first pass learns medians, the second adds up figures by group.
//!
//! Only games that were played out have a truth. Of the others, which are told apart by their end, the length
//! is a lower bound, as for censored observations in survival analysis.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ndarray::Array1;
use serde::Serialize;

use super::PositionRow;
use super::estimators::{Estimator, HalfCounts};
use super::statistics::{
    ClockFigures, ClockUse, Difference, EstimatorFigures, FEWEST_UNITS, GroupSums, Joint, SpreadCoverage,
    Unit, bootstrap_weights,
};
use crate::error::LabError;
use crate::pgn::Ending;
use crate::phase::Phase;
use crate::rows::MergedGames;
use zeitnot_engine::options::OptionChoice;

/// With fewer there is no conclusion.
const FEWEST_PLAYED_OUT: u64 = 30;

/// What is counted over all games.
#[derive(Debug, Default)]
pub struct Totals {
    pub(super) games: u64,
    pub positions: u64,
    pub(super) events: BTreeSet<u64>,
    /// Ended by the rules of chess. Only `cut_short` has figures of others.
    pub(super) played_out: u64,
    pub(super) played_out_positions: u64,
    /// By their end.
    pub(super) cut_short: BTreeMap<String, CutShort>,
    /// Estimates against truth, by estimator.
    pub(super) joints: Vec<Joint>,
    /// By estimator, empty if positions are missing.
    pub(super) clocks: Vec<ClockUse>,
    /// Coverage of the truth by the tree's spread.
    pub(super) spread: SpreadCoverage,
}

#[derive(Debug)]
pub struct StudyReport {
    pub totals: Totals,
    pub(super) unit: Unit,
    pub(super) notes: Vec<String>,
    /// The last is the best function of the ply, if there are enough games.
    pub(super) names: Vec<String>,
    /// Of games that were played out, in the order of dimensions and places.
    pub(super) groups: Vec<GroupFigures>,
    /// Every pair, head against pieces first.
    pub(super) differences: Vec<PairDifference>,
}

#[derive(Debug, Serialize)]
pub(super) struct PairDifference {
    pub(super) name: String,
    /// The other, whose error is subtracted.
    pub(super) against: String,
    #[serde(flatten)]
    pub(super) errors: Difference,
}

#[derive(Debug)]
pub(super) struct GroupFigures {
    pub(super) group: Group,
    pub(super) positions: u64,
    /// By [`StudyReport::names`], `None` where one could not estimate.
    pub(super) figures: Vec<Option<EstimatorFigures>>,
}

impl StudyReport {
    pub(super) fn proves_nothing(&self) -> bool {
        self.totals.played_out < FEWEST_PLAYED_OUT
    }

    /// The figures over all games, if any was played out.
    pub(super) fn overall(&self) -> Option<&GroupFigures> {
        self.groups.iter().find(|group| group.group.dimension == ALL)
    }

    pub(super) fn clock_figures(&self) -> Option<Vec<ClockFigures>> {
        let clocks = self.totals.clocks.iter().zip(&self.names);
        let figures: Option<Vec<_>> = clocks.map(|(clock, name)| clock.figures(name)).collect();
        figures.filter(|figures| !figures.is_empty())
    }
}

/// The findings of the rows in these files. The first estimator is the baseline.
pub fn study(files: &[PathBuf], mut estimators: Vec<Estimator>) -> Result<StudyReport, LabError> {
    let unit = unit(files)?;
    let mut counts = HalfCounts::new(unit);
    let mut is_searched = false;
    for game in MergedGames::open(files)? {
        let game = game?;
        if is_played_out(&game) {
            counts.add_game(&game);
        }
        is_searched |= game.iter().any(|row| row.m_search_plies.is_some());
    }
    estimators.retain(|estimator| is_searched || !estimator.uses_search());
    let mut notes = Vec::new();
    match counts.medians() {
        Ok(medians) => estimators.push(Estimator::by_ply(medians)),
        Err(note) => notes.push(note),
    }
    if unit == Unit::Game {
        notes.push(format!(
            "Intervals are by games, of fewer than {FEWEST_UNITS} events: they do not tell how much events differ."
        ));
    }
    let mut sums = Accumulator::new(unit, estimators);
    for game in MergedGames::open(files)? {
        sums.add_game(&game?);
    }
    let played_out = sums.totals.played_out;
    if played_out < FEWEST_PLAYED_OUT {
        notes.insert(0, format!("Too few games were played out ({played_out}) for any conclusion: it needs {FEWEST_PLAYED_OUT}."));
    }
    Ok(sums.report(notes))
}

fn unit(files: &[PathBuf]) -> Result<Unit, LabError> {
    let mut events = BTreeSet::new();
    for game in MergedGames::<PositionRow>::open(files)? {
        let game = game?;
        if is_played_out(&game) {
            events.insert(game[0].event);
        }
        if events.len() >= FEWEST_UNITS {
            return Ok(Unit::Event);
        }
    }
    Ok(Unit::Game)
}

#[derive(Clone, Debug, Default)]
struct GroupCells {
    positions: u64,
    units: BTreeSet<u64>,
    cells: Vec<GroupSums>,
}

/// What is left after a position, and what each estimator says of it.
type Told<'a> = (f64, &'a [Option<f64>]);

impl GroupCells {
    fn add_game(&mut self, positions: &[Told<'_>], unit: u64, weights: &Array1<f64>) {
        self.positions += positions.len() as u64;
        self.units.insert(unit);
        let (_, first) = positions[0];
        self.cells.resize_with(first.len(), GroupSums::default);
        for (place, cell) in self.cells.iter_mut().enumerate() {
            let told = positions.iter();
            let told = told.filter_map(|(truth, told)| Some((told[place]?, *truth)));
            cell.add_game(told, weights);
        }
    }
}

/// Games with one end by which they were cut short.
#[derive(Clone, Debug, Default)]
pub(super) struct CutShort {
    pub(super) games: u64,
    pub(super) positions: u64,
    /// In the order of [`StudyReport::names`].
    pub(super) bounds: Vec<Bound>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bound {
    /// With an estimate.
    positions: u64,
    /// With an estimate below what was still played.
    too_low: u64,
    /// Full moves that the estimates were below it.
    missing: f64,
}

impl CutShort {
    fn add_game(&mut self, rows: &[PositionRow], estimates: &[Vec<Option<f64>>]) {
        self.games += 1;
        self.positions += rows.len() as u64;
        for (row, estimates) in rows.iter().zip(estimates) {
            self.bounds.resize(estimates.len(), Bound::default());
            for (bound, estimate) in self.bounds.iter_mut().zip(estimates) {
                if let Some(estimate) = *estimate {
                    bound.add(estimate, row.moves_left.into());
                }
            }
        }
    }
}

impl Bound {
    fn add(&mut self, estimate: f64, played: f64) {
        self.positions += 1;
        self.too_low += u64::from(estimate < played);
        self.missing += (played - estimate).max(0.0);
    }

    /// The share of positions in which the estimate was too low for certain.
    pub(super) fn too_low(&self) -> Option<f64> {
        (self.positions > 0).then(|| self.too_low as f64 / self.positions as f64)
    }

    /// The mean absolute error is at least this, full moves.
    pub(super) fn least_error(&self) -> Option<f64> {
        (self.positions > 0).then(|| self.missing / self.positions as f64)
    }
}

struct Accumulator {
    unit: Unit,
    estimators: Vec<Estimator>,
    groups: BTreeMap<Group, GroupCells>,
    totals: Totals,
    is_complete: bool,
}

impl Accumulator {
    fn new(unit: Unit, estimators: Vec<Estimator>) -> Accumulator {
        Accumulator {
            groups: BTreeMap::new(),
            totals: Totals {
                joints: vec![Joint::default(); estimators.len()],
                clocks: vec![ClockUse::default(); estimators.len()],
                ..Totals::default()
            },
            unit,
            estimators,
            is_complete: true,
        }
    }

    fn add_game(&mut self, rows: &[PositionRow]) {
        let first = &rows[0];
        let totals = &mut self.totals;
        totals.games += 1;
        totals.positions += rows.len() as u64;
        totals.events.insert(first.event);
        let estimate = |row| {
            let estimators = self.estimators.iter();
            estimators.map(|estimator| estimator.estimate(row)).collect()
        };
        let estimates: Vec<Vec<_>> = rows.iter().map(estimate).collect();
        if !is_played_out(rows) {
            let cut_short = totals.cut_short.entry(first.ending.clone()).or_default();
            return cut_short.add_game(rows, &estimates);
        }
        totals.played_out += 1;
        totals.played_out_positions += rows.len() as u64;
        let mut game: BTreeMap<Group, Vec<Told<'_>>> = BTreeMap::new();
        for (row, estimates) in rows.iter().zip(&estimates) {
            for group in Group::of(row) {
                let told = (row.moves_left.into(), &estimates[..]);
                game.entry(group).or_default().push(told);
            }
            for (joint, estimate) in totals.joints.iter_mut().zip(estimates) {
                if let Some(estimate) = *estimate {
                    joint.add(estimate, row.moves_left);
                }
            }
            if let (Some(m), Some(spread)) = (row.m_search_plies, row.m_spread_plies) {
                totals.spread.add(m.into(), spread.into(), row.plies_left.into());
            }
        }
        let unit = self.unit.of(first);
        let weights = bootstrap_weights(unit);
        for (group, positions) in game {
            let cells = self.groups.entry(group).or_default();
            cells.add_game(&positions, unit, &weights);
        }
        self.play_clocks(rows, &estimates);
    }

    /// If no position is missing.
    fn play_clocks(&mut self, rows: &[PositionRow], estimates: &[Vec<Option<f64>>]) {
        self.is_complete &= rows.is_sorted_by(|a, b| b.ply == a.ply + 1)
            && rows.last().is_none_or(|last| last.plies_left == 1);
        if !self.is_complete {
            return;
        }
        for (place, clock) in self.totals.clocks.iter_mut().enumerate() {
            for side in [0, 1] {
                let own = rows.iter().zip(estimates).filter(|(row, _)| row.ply % 2 == side);
                let own: Option<Vec<f64>> = own.map(|(_, estimates)| estimates[place]).collect();
                if let Some(own) = own {
                    clock.play(&own);
                }
            }
        }
    }

    fn report(mut self, notes: Vec<String>) -> StudyReport {
        if !self.is_complete {
            self.totals.clocks.clear();
        }
        let names: Vec<_> = self.estimators.into_iter().map(|own| own.name).collect();
        let mut differences = Vec::new();
        let mut groups = Vec::new();
        for (group, of_group) in self.groups {
            let GroupCells {
                positions,
                units,
                cells,
            } = of_group;
            let is_all = group.dimension == ALL;
            if is_all {
                differences = self::differences(&names, &cells, units.len());
            }
            let figures = cells.iter().enumerate().map(|(place, cell)| {
                if cell.is_empty() {
                    return None;
                }
                let mut figures = cell.figures(&names[place], &cells[0], units.len());
                if is_all {
                    figures.spearman = self.totals.joints[place].spearman();
                }
                Some(figures)
            });
            groups.push(GroupFigures {
                figures: figures.collect(),
                group,
                positions,
            });
        }
        StudyReport {
            totals: self.totals,
            unit: self.unit,
            notes,
            groups,
            differences,
            names,
        }
    }
}

/// `cells` are those of all games, of so many `units`.
fn differences(names: &[String], cells: &[GroupSums], units: usize) -> Vec<PairDifference> {
    let place = |name: &str| names.iter().position(|known| known == name);
    let foremost = place("mle-mlh").zip(place("mle-pieces"));
    let others = (1..names.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    let others = others.filter(|&(a, b)| foremost != Some((a, b)) && foremost != Some((b, a)));
    let pairs = foremost.into_iter().chain(others);
    let known = pairs.filter(|&(a, b)| !cells[a].is_empty() && !cells[b].is_empty());
    let differences = known.map(|(a, b)| PairDifference {
        name: names[a].clone(),
        against: names[b].clone(),
        errors: cells[a].minus(&cells[b], units),
    });
    differences.collect()
}

/// A way to group positions.
pub(super) struct Dimension {
    /// In the JSON document.
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    /// The place of a position's group among the others, and its name.
    group: fn(&PositionRow) -> Option<(u32, String)>,
}

pub(super) const ALL: usize = 0;
pub(super) const BY_PLY: usize = 1;
/// The first ones have one group.
pub(super) const DIMENSIONS: [Dimension; 6] = [
    Dimension {
        key: "all",
        title: "games that were played out",
        group: |_| Some((0, "all".into())),
    },
    Dimension {
        key: "by_ply",
        title: "plies played",
        group: |row| Some(by_ply(row.ply)),
    },
    Dimension {
        key: "by_phase",
        title: "phase",
        group: |row| Some(by_phase(row.pieces)),
    },
    Dimension {
        key: "by_pieces",
        title: "pieces on the board",
        group: |row| Some(by_pieces(row.pieces)),
    },
    Dimension {
        key: "by_evaluation",
        title: "evaluation |Q|",
        group: |row| Some(by_evaluation(row.q?)),
    },
    Dimension {
        key: "by_termination",
        title: "end of the game",
        group: |row| Some((0, row.ending.clone())),
    },
];

/// Width of [`BY_PLY`].
pub(super) const PLIES: u32 = 20;
/// Later plies are one group.
const LAST_PLY: u32 = 300;
/// By the absolute value of Q, each with the number that ends it.
const EVALUATIONS: [(f32, &str); 5] = [
    (0.1, "below 0.1"),
    (0.3, "0.1–0.3"),
    (0.6, "0.3–0.6"),
    (0.9, "0.6–0.9"),
    (f32::INFINITY, "0.9 and more"),
];

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    /// Of [`DIMENSIONS`].
    pub(super) dimension: usize,
    pub(super) place: u32,
    pub(super) name: String,
}

impl Group {
    pub(super) fn is_open(&self) -> bool {
        self.dimension == BY_PLY && self.place == LAST_PLY
    }

    fn of(row: &PositionRow) -> impl Iterator<Item = Group> {
        DIMENSIONS.iter().enumerate().filter_map(|(dimension, of)| {
            let (place, name) = (of.group)(row)?;
            Some(Group {
                dimension,
                place,
                name,
            })
        })
    }
}

fn by_evaluation(q: f32) -> (u32, String) {
    let place = EVALUATIONS.iter().position(|(end, _)| q.abs() < *end);
    let place = place.unwrap_or(EVALUATIONS.len() - 1);
    (place as u32, EVALUATIONS[place].1.to_owned())
}

fn by_ply(ply: u32) -> (u32, String) {
    let first = (ply / PLIES * PLIES).min(LAST_PLY);
    if first == LAST_PLY {
        return (first, format!("{first}+"));
    }
    (first, format!("{first}–{}", first + PLIES - 1))
}

fn is_played_out(game: &[PositionRow]) -> bool {
    Ending::from_name(&game[0].ending).is_some_and(Ending::is_played_out)
}

fn by_phase(pieces: u32) -> (u32, String) {
    let phase = Phase::of(pieces);
    (phase as u32, phase.name().to_owned())
}

fn by_pieces(pieces: u32) -> (u32, String) {
    let groups = [
        (25, "25–32"),
        (19, "19–24"),
        (13, "13–18"),
        (8, "8–12"),
        (0, "2–7"),
    ];
    let place = groups
        .iter()
        .position(|(least, _)| pieces >= *least)
        .unwrap_or_default();
    (place as u32, groups[place].1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{create_rows, csv_of};

    /// 60 games, each its own event, with lengths around those of `mle-legacy`.
    fn study() -> StudyReport {
        let legacy = Estimator::parse("mle-legacy").unwrap().remove(0);
        let row = |game: u64, ply: u32| {
            let scatter = (game * 37 % 60) as f64 - 29.5;
            let row = PositionRow {
                game,
                event: game,
                ply,
                pieces: 32,
                ending: "checkmate".into(),
                ..PositionRow::default()
            };
            let left = legacy.estimate(&row).unwrap() + scatter;
            PositionRow {
                moves_left: left.max(1.0) as u32,
                ..row
            }
        };
        let games = (1..=60).map(|game| (0..40).map(|ply| row(game, ply)).collect());
        studied(&games.collect::<Vec<_>>())
    }

    #[test]
    fn groups_of_many_events_have_intervals() {
        let report = study();
        assert_eq!((report.unit, report.totals.events.len()), (Unit::Event, 60));
        assert!(report.groups[0].figures[0].as_ref().unwrap().ci.is_known());
    }

    #[test]
    fn a_position_is_in_one_group_of_each_dimension() {
        let row = PositionRow {
            ply: 39,
            pieces: 32,
            ending: "repetition".into(),
            ..Default::default()
        };
        let names: Vec<String> = Group::of(&row).map(|group| group.name).collect();
        assert_eq!(
            names,
            ["all", "20–39", "opening", "25–32", "repetition"],
            "no network, no Q"
        );
        let row = PositionRow {
            ply: 777,
            pieces: 3,
            q: Some(-0.95),
            ending: "stalemate".into(),
            ..row
        };
        let names: Vec<String> = Group::of(&row).map(|group| group.name).collect();
        assert_eq!(
            names,
            ["all", "300+", "endgame", "2–7", "0.9 and more", "stalemate"]
        );
    }
    fn game(number: u64, ending: &str, plies: u32) -> Vec<PositionRow> {
        let rows = (0..plies).map(|ply| PositionRow {
            game: number,
            ply,
            plies_left: plies - ply,
            moves_left: (plies - ply).div_ceil(2),
            pieces: 32,
            ending: ending.into(),
            ..PositionRow::default()
        });
        rows.collect()
    }

    fn studied(games: &[Vec<PositionRow>]) -> StudyReport {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        let mut file = create_rows::<PositionRow>(&path).unwrap();
        file.add(csv_of(&games.concat(), false)).unwrap();
        file.publish().unwrap();
        super::study(&[path], Estimator::parse("mle-legacy").unwrap()).unwrap()
    }

    /// A regression: the last ply of resigned and adjudicated games was the truth.
    #[test]
    fn games_that_were_cut_short_change_no_error_and_are_bounds() {
        let mated: Vec<_> = (1..=30).map(|number| game(number, "checkmate", 90)).collect();
        let resigned = (31..=40).map(|number| game(number, "resignation", 20));
        let endless = game(41, "adjudication", 400);
        let alone = studied(&mated);
        let beside = studied(&[mated, resigned.collect(), vec![endless]].concat());
        for key in [
            "estimators",
            "differences",
            "clock",
            "by_ply",
            "by_termination",
            "played_out_games",
        ] {
            assert_eq!(beside.to_json()[key], alone.to_json()[key], "{key}");
        }
        assert_eq!((beside.totals.games, beside.totals.played_out), (41, 30));
        let bound = |end: &str| {
            (
                beside.totals.cut_short[end].games,
                beside.totals.cut_short[end].bounds[0],
            )
        };
        let (games, resigned) = bound("resignation");
        assert_eq!(
            (games, resigned.too_low(), resigned.least_error()),
            (10, Some(0.0), Some(0.0))
        );
        let (games, endless) = bound("adjudication");
        assert!(
            games == 1 && endless.too_low() > Some(0.5) && endless.least_error() > Some(50.0),
            "{endless:?}"
        );
        assert!(!beside.proves_nothing());
    }

    #[test]
    fn few_games_that_were_played_out_prove_nothing() {
        let games = |played_out: u64| {
            let mated = (1..=played_out).map(|number| game(number, "checkmate", 90));
            let others = (played_out + 1..=80).map(|number| game(number, "resignation", 90));
            mated.chain(others).collect::<Vec<_>>()
        };
        for (played_out, said) in [(0, "(0)"), (29, "(29)")] {
            let report = studied(&games(played_out));
            assert!(
                report.notes[0].starts_with("Too few") && report.notes[0].contains(said),
                "{:?}",
                report.notes
            );
            let page = report.to_string();
            assert!(page.contains("Too few games were played out"), "{page}");
        }
        assert!(!studied(&games(30)).notes[0].starts_with("Too few"));
    }

    /// A regression: phases were defined differently here, in `timelab` and in the networks' card.
    #[test]
    fn groups_by_pieces_divide_phases() {
        for pieces in 2..32 {
            let [of_one, of_next] = [by_phase(pieces), by_phase(pieces + 1)];
            assert!(
                of_one == of_next || by_pieces(pieces) != by_pieces(pieces + 1),
                "{} ends amid a group, with {pieces} pieces",
                of_one.1
            );
        }
    }
}
