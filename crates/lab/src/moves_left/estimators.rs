//! Estimators under test: the time managers', their fits to games, and the best function of the ply, the
//! median of what was left at that ply, which minimises the mean absolute error.
//!
//! Each half of the events is measured with the medians and fits of the other half.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::PositionRow;
use super::statistics::{Unit, median};
use zeitnot_engine::params::{ParamError, Params};
use zeitnot_engine::time::estimators::moves_left::{
    KNOT_KEYS, LogLogistic, MovesLeftEstimator, MovesLeftHead, MovesLeftInput, PieceCountTable,
    estimator_from,
};
use zeitnot_engine::time::{GamePly, Plies};

/// Plies that share one median.
const WIDTH: u32 = 4;
/// Chunks with fewer positions take the median before them.
const FEWEST: u64 = 30;
/// Per half. With fewer, chance adds more than 0.2 moves to the medians' error.
const FEWEST_GAMES: u64 = 100;
/// Cap of plies, because rows may come from any file.
const MOST_PLIES: u32 = 4000;
/// Steps of M.
const STEPS_PER_PLY: f32 = 2.0;
const FACTORS: (f64, f64) = (1.4, 1.001);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovesLeftSource {
    /// The head's output for the position alone.
    Root,
    /// Mean over the searched tree, with its spread.
    Search,
}

/// Of the full moves that the side to move still has to make.
#[derive(Clone, Debug)]
pub struct Estimator {
    /// As in a `TimeManager` string, with its M.
    pub(super) name: String,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    Manager(MovesLeftEstimator, MovesLeftSource),
    PlyMedian(Arc<PlyMedian>),
    /// For each half, the fit to the other one.
    Fitted(Unit, [MovesLeftEstimator; 2]),
}

impl Estimator {
    /// Such as `mle-legacy(midpoint=45.2)`.
    pub fn parse(text: &str, source: MovesLeftSource) -> Result<Estimator, ParamError> {
        let rule = estimator_from("--estimator", &Params::parse(text)?)?;
        let rule = rule.ok_or_else(|| ParamError::Value {
            key: "--estimator".into(),
            value: text.into(),
            expected: "a moves-left estimator such as mle-legacy(midpoint=51.5,steepness=7)".into(),
        })?;
        let name = match source {
            MovesLeftSource::Search if rule.uses_head() => format!("{text} after search"),
            _ => text.to_owned(),
        };
        Ok(Estimator { name, rule: Rule::Manager(rule, source) })
    }

    /// The best function of the ply, cross-fitted.
    pub(super) fn by_ply(medians: Arc<PlyMedian>) -> Estimator {
        Estimator { name: "best by ply".into(), rule: Rule::PlyMedian(medians) }
    }

    pub fn uses_head(&self) -> bool {
        matches!(&self.rule, Rule::Manager(rule, _) if rule.uses_head())
    }

    pub(super) fn uses_search(&self) -> bool {
        self.uses_head() && matches!(&self.rule, Rule::Manager(_, MovesLeftSource::Search))
    }

    /// Full moves, `None` where M is missing.
    pub(crate) fn estimate(&self, row: &PositionRow) -> Option<f64> {
        let (rule, input) = match &self.rule {
            Rule::PlyMedian(medians) => return Some(medians.moves_left(row)),
            Rule::Manager(rule, MovesLeftSource::Root) => (rule, row.input()),
            Rule::Manager(rule, MovesLeftSource::Search) => (rule, row.searched_input()),
            Rule::Fitted(unit, halves) => (&halves[unit.half(row)], row.input()),
        };
        (input.m.is_some() || !rule.uses_head()).then(|| rule.estimate(&input).moves)
    }
}

/// For each input value, counts of positions by the moves left.
type ValueCounts = BTreeMap<u32, BTreeMap<u32, u64>>;

/// Positions of each half, in fixed memory.
#[derive(Clone, Debug)]
pub(super) struct HalfCounts {
    unit: Unit,
    games: [u64; 2],
    /// By the ply, the pieces, and the steps of M.
    by_input: [[ValueCounts; 2]; 3],
}

impl HalfCounts {
    pub(super) fn new(unit: Unit) -> HalfCounts {
        HalfCounts { unit, games: [0; 2], by_input: Default::default() }
    }

    pub(super) fn add_game(&mut self, rows: &[PositionRow]) {
        let Some(first) = rows.first() else { return };
        let half = self.unit.half(first);
        self.games[half] += 1;
        for row in rows {
            let m = row.m_plies.map(|m| (m * STEPS_PER_PLY).round() as u32);
            let inputs = [Some(row.ply.min(MOST_PLIES)), Some(row.pieces), m];
            for (halves, input) in self.by_input.iter_mut().zip(inputs) {
                let counts = input.map(|input| halves[half].entry(input).or_default());
                counts.into_iter().for_each(|counts| *counts.entry(row.moves_left).or_default() += 1);
            }
        }
    }

    /// Medians by ply, cross-fitted. An error says how many games are missing.
    pub(super) fn medians(&self) -> Result<PlyMedian, String> {
        let [first, second] = self.games;
        let [of_first, of_second] = &self.by_input[0];
        let medians = medians(of_second).zip(medians(of_first));
        let medians = medians.filter(|_| first.min(second) >= FEWEST_GAMES);
        let (of_first, of_second) = medians.ok_or_else(|| {
            format!(
                "\"best by ply\" is left out: it needs {FEWEST_GAMES} games in each half of the {}, and there are {first} and {second}",
                self.unit.plural()
            )
        })?;
        Ok(PlyMedian { unit: self.unit, medians: [of_first, of_second] })
    }

    /// Fits `mle-legacy`, `mle-pieces` and, with a head, `mle-mlh`.
    pub(super) fn fits(&self) -> Vec<FittedFamily> {
        let head = MovesLeftHead::default();
        let curve = LogLogistic::default();
        let families = [
            Family {
                name: "mle-legacy",
                keys: &["midpoint", "steepness"],
                start: vec![curve.midpoint, curve.steepness],
                least: vec![1.0, 0.5],
                make: |p| MovesLeftEstimator::LogLogistic(LogLogistic { midpoint: p[0], steepness: p[1] }),
                input: |ply| MovesLeftInput { game_ply: GamePly(ply), ..MovesLeftInput::default() },
            },
            Family {
                name: "mle-pieces",
                keys: &KNOT_KEYS,
                start: PieceCountTable::default().knots().to_vec(),
                least: vec![1.0; KNOT_KEYS.len()],
                make: |p| {
                    let knots = std::array::from_fn(|knot| p[knot]);
                    MovesLeftEstimator::Pieces(PieceCountTable::through(knots))
                },
                input: |pieces| MovesLeftInput { pieces, ..MovesLeftInput::default() },
            },
            Family {
                name: "mle-mlh",
                keys: &["scale", "floor"],
                start: vec![head.scale, head.floor],
                least: vec![0.01, 1.0],
                make: |p| MovesLeftEstimator::Head(MovesLeftHead { scale: p[0], floor: p[1], caution: 0.0 }),
                input: |m| {
                    let m = Some(Plies(f64::from(m) / f64::from(STEPS_PER_PLY)));
                    MovesLeftInput { m, ..MovesLeftInput::default() }
                },
            },
        ];
        let families = families.into_iter().zip(&self.by_input);
        let known = families.filter(|(_, halves)| halves.iter().any(|half| !half.is_empty()));
        known.map(|(family, halves)| family.fit(self.unit, halves)).collect()
    }
}

/// Thin chunks take the median before them. `None` if all are thin.
fn medians(by_ply: &ValueCounts) -> Option<Vec<f64>> {
    let mut chunks: Vec<BTreeMap<u32, u64>> = Vec::new();
    for (ply, counts) in by_ply {
        let chunk = (ply / WIDTH) as usize;
        chunks.resize(chunks.len().max(chunk + 1), BTreeMap::new());
        counts.iter().for_each(|(&moves, count)| *chunks[chunk].entry(moves).or_default() += count);
    }
    let own = |counts: &BTreeMap<u32, u64>| {
        let is_thin = counts.values().sum::<u64>() < FEWEST;
        median(counts.iter().map(|(&moves, &count)| (moves, count))).filter(|_| !is_thin)
    };
    let mut last = chunks.iter().find_map(own)?;
    let medians = chunks.iter().map(|counts| {
        last = own(counts).unwrap_or(last);
        last
    });
    Some(medians.collect())
}

/// By chunk of plies, for each half, not empty.
#[derive(Clone, Debug)]
pub(super) struct PlyMedian {
    unit: Unit,
    medians: [Vec<f64>; 2],
}

impl PlyMedian {
    fn moves_left(&self, row: &PositionRow) -> f64 {
        let medians = &self.medians[self.unit.half(row)];
        let chunk = (row.ply / WIDTH) as usize;
        medians.get(chunk).or(medians.last()).copied().unwrap_or(1.0).max(1.0)
    }
}

#[derive(Clone, Debug)]
pub(super) struct FittedFamily {
    /// Named after the fit to all games, with the halves' fits inside.
    pub(super) tried: Estimator,
    pub(super) default: Estimator,
}

struct Family {
    name: &'static str,
    keys: &'static [&'static str],
    start: Vec<f64>,
    least: Vec<f64>,
    make: fn(&[f64]) -> MovesLeftEstimator,
    input: fn(u32) -> MovesLeftInput,
}

impl Family {
    fn fit(&self, unit: Unit, halves: &[ValueCounts; 2]) -> FittedFamily {
        let [first, second] = halves;
        let best = self.search(&[first, second]);
        let rounded = self.keys.iter().zip(&best);
        let rounded = rounded.map(|(key, value)| format!("{key}={}", (value * 1e3).round() / 1e3));
        let rounded = rounded.collect::<Vec<_>>();
        let name = format!("{}({})", self.name, rounded.join(","));
        let of_others = [second, first].map(|half| (self.make)(&self.search(&[half])));
        let default = Rule::Manager((self.make)(&self.start), MovesLeftSource::Root);
        FittedFamily {
            tried: Estimator { name, rule: Rule::Fitted(unit, of_others) },
            default: Estimator { name: self.name.to_owned(), rule: default },
        }
    }

    /// Sum of the absolute errors with these parameters.
    fn error(&self, counts: &[&ValueCounts], parameters: &[f64]) -> f64 {
        let estimator = (self.make)(parameters);
        let mut error = 0.0;
        for (&value, left) in counts.iter().flat_map(|counts| counts.iter()) {
            let estimate = estimator.estimate(&(self.input)(value)).moves;
            let errors =
                left.iter().map(|(&moves, &count)| (estimate - f64::from(moves)).abs() * count as f64);
            error += errors.sum::<f64>();
        }
        error
    }

    fn search(&self, counts: &[&ValueCounts]) -> Vec<f64> {
        let mut best = self.start.clone();
        let mut least = self.error(counts, &best);
        let mut factor = FACTORS.0;
        while factor > FACTORS.1 {
            let mut helped = false;
            for place in 0..best.len() {
                for step in [factor, 1.0 / factor] {
                    let mut tried = best.clone();
                    tried[place] = (tried[place] * step).max(self.least[place]);
                    let error = self.error(counts, &tried);
                    if error < least {
                        (best, least, helped) = (tried, error, true);
                    }
                }
            }
            if !helped {
                factor = factor.sqrt();
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_counts_plies_and_estimates_are_full_moves() {
        let row = PositionRow { ply: 40, pieces: 20, m_plies: Some(79.0), ..PositionRow::default() };
        let root = Estimator::parse("mle-mlh", MovesLeftSource::Root).unwrap();
        assert_eq!(root.estimate(&row), Some(40.0), "(1 + 79 plies)/2");
        let search = Estimator::parse("mle-mlh", MovesLeftSource::Search).unwrap();
        assert_eq!(search.estimate(&row), None, "there was no search");
        assert!(Estimator::parse("mle-none", MovesLeftSource::Root).is_err());
        assert!(Estimator::parse("", MovesLeftSource::Root).unwrap_err().to_string().contains("mle-legacy"));
    }

    fn row(event: u64, ply: u32, moves_left: u32) -> PositionRow {
        PositionRow { event, ply, moves_left, ..PositionRow::default() }
    }

    fn events() -> [u64; 2] {
        [0, 1].map(|half| (1..).find(|&event| Unit::Event.half(&row(event, 0, 1)) == half).unwrap())
    }

    /// A regression: such rows exhausted the memory.
    #[test]
    fn numbers_beyond_all_games_cost_no_memory() {
        let mut left = HalfCounts::new(Unit::Event);
        (0..FEWEST).for_each(|_| left.add_game(&[row(events()[0], u32::MAX, u32::MAX)]));
        assert_eq!(medians(&left.by_input[0][0]).unwrap().len(), 1001);
    }

    #[test]
    fn an_event_is_never_tried_on_its_own_half() {
        let [zero, one] = events();
        let mut left = HalfCounts::new(Unit::Event);
        for _ in 0..FEWEST_GAMES {
            left.add_game(&[row(zero, 10, 50)]);
            left.add_game(&[row(one, 10, 20)]);
        }
        let medians = left.medians().unwrap();
        let at = |event, ply| medians.moves_left(&row(event, ply, 0));
        assert_eq!((at(zero, 10), at(one, 9)), (20.0, 50.0));
        assert_eq!(at(one, 500), 50.0, "beyond all games the last one counts");
        assert_eq!(at(one, 0), 50.0, "before all games the first one counts");
    }

    /// A regression: with few games the best function of the ply was one move.
    #[test]
    fn few_games_have_no_best_function_of_the_ply() {
        let [zero, one] = events();
        let mut left = HalfCounts::new(Unit::Event);
        assert!(left.medians().is_err());
        for _ in 0..FEWEST_GAMES {
            left.add_game(&[row(zero, 10, 50)]);
        }
        (0..6).for_each(|_| left.add_game(&[row(one, 10, 20)]));
        let note = left.medians().unwrap_err();
        assert!(
            note.contains("100 games in each half of the events") && note.ends_with("100 and 6"),
            "{note}"
        );
    }

    fn fits(rows: &[PositionRow]) -> Vec<(String, f64, f64)> {
        let mut fitter = HalfCounts::new(Unit::Game);
        rows.chunk_by(|a, b| a.game == b.game).for_each(|game| fitter.add_game(game));
        let mean = |estimator: &Estimator| {
            let error =
                |row: &PositionRow| (estimator.estimate(row).unwrap() - f64::from(row.moves_left)).abs();
            rows.iter().map(error).sum::<f64>() / rows.len() as f64
        };
        let fits = fitter.fits();
        fits.iter().map(|fit| (fit.tried.name.clone(), mean(&fit.tried), mean(&fit.default))).collect()
    }

    #[test]
    fn a_curve_that_made_the_games_is_found_again() {
        let truth = LogLogistic { midpoint: 60.0, steepness: 4.0 };
        let mut rows = Vec::new();
        for game in 0..40 {
            for ply in (0..240).step_by(4) {
                // Symmetric errors leave the median.
                let left = truth.moves_left(GamePly(ply)) + [-3.0, 0.0, 3.0][game as usize % 3];
                let moves_left = left.round().max(1.0) as u32;
                rows.push(PositionRow { game, ply, moves_left, pieces: 32, ..PositionRow::default() });
            }
        }
        let fits = fits(&rows);
        assert_eq!(fits.len(), 2, "no network, no fit of the head");
        let (text, mae, default_mae) = &fits[0];
        let (midpoint, steepness) = (number(text, "midpoint="), number(text, "steepness="));
        assert!((midpoint - 60.0).abs() < 1.5 && (steepness - 4.0).abs() < 0.5, "{text}");
        assert!(*mae < 2.5 && mae < default_mae, "{fits:?}");
        zeitnot_engine::time::manager_from(&format!("smooth({text})")).expect("a TimeManager string");
    }

    #[test]
    fn a_bent_table_that_made_the_games_is_found_again() {
        let knots = [6.0, 10.0, 20.0, 30.0, 40.0];
        let truth = PieceCountTable::through(knots);
        let rows: Vec<_> = (0..40)
            .flat_map(|game| (2..=32).map(move |pieces| (game, pieces)))
            .map(|(game, pieces)| {
                let moves_left = truth.moves_left(pieces).round() as u32;
                PositionRow { game, moves_left, pieces, ..PositionRow::default() }
            })
            .collect();
        let (text, mae, default_mae) = &fits(&rows)[1];
        for (key, moves) in KNOT_KEYS.iter().zip(knots) {
            let found = number(text, &format!("{key}="));
            assert!((found - moves).abs() < 1.0, "{key}: {text}");
        }
        assert!(*mae < 0.5 && mae < default_mae, "{text}: {mae}");
        zeitnot_engine::time::manager_from(&format!("smooth({text})")).expect("a TimeManager string");
    }

    fn number(text: &str, key: &str) -> f64 {
        let rest = text.split_once(key).unwrap().1;
        rest.split([',', ')']).next().unwrap().parse().unwrap()
    }
}
